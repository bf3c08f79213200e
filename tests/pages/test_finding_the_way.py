"""What a reader uses on the way: the next page, the search, the glossary, a notebook to take along,
the light, the note of when a chapter was run."""

from functools import cache
from pathlib import Path

import nbformat
import pytest
from book_status import Chapter, stamp
from bs4 import BeautifulSoup
from playwright.sync_api import Page
from reader import ROOT, Log, pages, settle

PAGES = pages()
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
every_page = pytest.mark.parametrize("name", PAGES)
every_chapter = pytest.mark.parametrize("name", CHAPTERS)

pytestmark = pytest.mark.browser


@cache
def soup(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text("utf-8"), "lxml")


def target(site: Path, name: str, link: str) -> str:
    """The page that `link` on the page `name` leads to, as in chapters/03_additive."""
    file = (site / f"{name}.html").parent / link
    return file.resolve().relative_to(site.resolve()).with_suffix("").as_posix()


@every_page
def test_previous_and_next_walk_through_the_whole_book(site: Path, name: str) -> None:
    page, place = soup(site / f"{name}.html"), PAGES.index(name)
    for way, neighbours in (
        ("left-prev", PAGES[:place][-1:]),
        ("right-next", PAGES[place + 1 :][:1]),
    ):
        links = [str(link["href"]) for link in page.select(f"a.{way}")]
        assert [target(site, name, link) for link in links] == neighbours


@every_page
def test_every_page_has_the_search_and_the_switch_for_the_light(site: Path, name: str) -> None:
    page = soup(site / f"{name}.html")
    forms = page.select("form.bd-search[action$='search.html'] input[name=q][aria-label]")
    assert forms
    assert page.select("button.theme-switch-button[aria-label]")


@every_chapter
def test_a_chapter_can_be_taken_along_as_a_notebook(site: Path, name: str) -> None:
    (link,) = soup(site / f"{name}.html").select("a.btn-download-source-button")
    file = (site / f"{name}.html").parent / str(link["href"])
    assert file.suffix == ".ipynb"
    assert file.read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()


@every_page
def test_a_term_says_what_it_means(site: Path, name: str) -> None:
    terms = soup(site / f"{name}.html").select("a.reference:has(.std-term)")
    dumb = [term.text for term in terms if len(str(term.get("title", "")).split()) < 3]
    assert dumb == []


def test_a_meaning_is_one_sentence_that_can_be_read_aloud(site: Path) -> None:
    titles = {
        str(term["title"])
        for name in PAGES
        for term in soup(site / f"{name}.html").select("a.reference:has(.std-term)")
    }
    assert len(titles) > 20
    odd = [
        title for title in titles if not title.endswith((".", "?")) or set(title) & set("\\{}$`")
    ]
    assert odd == []


@every_chapter
def test_a_chapter_ends_with_the_note_of_its_run(site: Path, name: str) -> None:
    notebook = nbformat.read(ROOT / f"{name}.ipynb", as_version=4)
    words = stamp(notebook.metadata.get("heed", {}).get("run", {}))
    notes = soup(site / f"{name}.html").select("article .heed-stamp")
    assert [note.text for note in notes] == ([words] if words else [])


def test_the_status_page_knows_every_chapter(site: Path) -> None:
    (chapters, _) = soup(site / "book" / "status.html").select("article table")
    rows = [[cell.text.strip() for cell in row.select("td")] for row in chapters.select("tbody tr")]
    links = [str(link["href"]) for link in chapters.select("td:first-child a")]
    assert [target(site, "book/status", link) for link in links] == sorted(CHAPTERS)
    for name, row in zip(sorted(CHAPTERS), rows, strict=True):
        facts = Chapter.read(ROOT / f"{name}.ipynb")
        assert row[3:5] == [str(facts.cells), str(facts.exercises)]
        assert row[6] == str(len(facts.models))


def test_the_switch_changes_the_light_and_the_next_page_remembers(page: Page, address: str) -> None:
    log = Log(address)
    log.watch(page)
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}/{PAGES[0]}.html")
    settle(page)
    mode = "document.documentElement.dataset.mode"
    seen = [page.evaluate(mode)]
    for _ in range(2):
        page.locator("button.theme-switch-button:visible").first.click()
        seen.append(page.evaluate(mode))
    assert sorted(seen) == ["auto", "dark", "light"]
    page.goto(f"{address}/{PAGES[1]}.html")
    assert page.evaluate(mode) == seen[-1]
    assert log.complaints == []
