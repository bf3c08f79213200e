"""Every page as its readers get it: quiet, whole, light, on a phone, by ear, in both themes."""

import re
from base64 import b64decode
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Page
from reader import ROOT, Log, Visit, pages, settle

HEAVIEST = 1_200_000  # bytes, gzipped, of a page before its lab

PAGES = pages()
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
every_page = pytest.mark.parametrize("name", PAGES)

pytestmark = pytest.mark.browser


def test_a_page_is_quiet_and_asks_no_other_host(visit: Visit) -> None:
    log = visit.log
    assert log.console == []
    assert log.elsewhere == []
    assert log.missing == []


def test_every_equation_is_set(visit: Visit) -> None:
    assert visit.equations_set == visit.equations


def test_there_are_equations_to_set(site: Path) -> None:
    assert len(soup(site / "book" / "notation.html").select(".math")) > 20


def test_a_phone_needs_no_scrolling_sideways(visit: Visit) -> None:
    assert set(visit.widths) == {360, 390}
    for width, widest in visit.widths.items():
        assert widest <= width


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing_serious(visit: Visit, look: str) -> None:
    assert visit.axe[look] == {}


def test_every_picture_says_what_it_shows(visit: Visit) -> None:
    assert visit.silent_pictures == []


def test_a_page_is_light(visit: Visit) -> None:
    sizes = visit.sizes
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    assert sum(sizes.values()) <= HEAVIEST, largest


def test_the_front_door_leads_to_the_welcome_page(page: Page, address: str) -> None:
    log = Log(address)
    log.watch(page)
    page.goto(f"{address}/")
    page.wait_for_url(f"**/{PAGES[0]}.html")
    settle(page)
    assert log.complaints == []


def test_the_front_door_is_a_page_with_a_way_in_for_everybody(site: Path) -> None:
    """Where it names no icon a browser asks the host's root for one, which is not ours; one that
    it had to fetch would be broken off."""
    door = soup(site / "index.html")
    assert door.select_one("html")["lang"] == "en"
    assert door.title.text == yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    icon, way = door.select_one("link[rel=icon]")["href"], door.select_one("main a")["href"]
    assert icon.startswith("data:image/svg+xml;base64,")
    assert b64decode(icon.partition(",")[2]) == (site / "_static" / "favicon.svg").read_bytes()
    assert way == f"{PAGES[0]}.html"
    assert door.select_one("meta[http-equiv=refresh]")["content"] == f"0; url={way}"
    assert door.select_one("main a").text


def test_search_finds_and_asks_no_other_host(page: Page, address: str) -> None:
    log = Log(address)
    log.watch(page)
    page.goto(f"{address}/search.html?q=bottleneck")
    page.locator("#search-results li").first.wait_for()
    settle(page)
    assert log.complaints == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_rocket_opens_this_chapter_in_binder(site: Path, name: str) -> None:
    rocket = "a[href^='https://mybinder.org/']"
    links = [str(a["href"]) for a in soup(site / f"{name}.html").select(rocket)]
    assert len(links) == 1
    place = rf"/v2/gh/[\w-]+/[\w-]+/main\?urlpath=lab/tree/{name}\.ipynb"
    assert re.fullmatch(rf"https://mybinder\.org{place}", links[0])


@cache
def soup(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text("utf-8"), "lxml")


@cache
def places(file: Path) -> set[str]:
    return {str(tag["id"]) for tag in soup(file).find_all(id=True)}


@every_page
def test_every_inner_link_arrives(site: Path, name: str) -> None:
    """The file is there, and the place in it too."""
    here = site / f"{name}.html"
    broken = []
    for link in soup(here).select("a[href]"):
        target = urlsplit(str(link["href"]))
        if target.scheme or target.netloc:
            continue
        file = (here.parent / unquote(target.path)).resolve() if target.path else here
        place = unquote(target.fragment) if file.suffix == ".html" else ""
        if not file.is_file() or (place and place not in places(file)):
            broken.append(link["href"])
    assert broken == []
