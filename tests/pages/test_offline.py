"""The zip for places without a network: unpacked, served as its START.txt says, and read in a
browser that reaches nothing else."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from bs4 import BeautifulSoup
from offline import LARGEST, ROOT, START, TOP, pack
from playwright.sync_api import Browser, BrowserContext, Page
from reader import PATIENCE, Log, pages, settle

PAGES = pages()

# ------------------------------------------------------------------ what lies in it


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """A built book of one page, and a repository of one tracked file and one that is not."""
    site, root = tmp_path / "site", tmp_path / "root"
    (site / "chapters").mkdir(parents=True)
    root.mkdir()
    for file in ("index.html", "chapters/02.html", ".stamp"):
        (site / file).write_text(f"<p>{file}")
    (root / "kept.py").write_text("#!/usr/bin/env python\n")
    (root / "not-kept").write_text("")
    for command in (["init", "--quiet"], ["add", "kept.py"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return site, root


def test_the_zip_holds_the_pages_and_what_git_tracks(
    small: tuple[Path, Path], tmp_path: Path
) -> None:
    site, root = small
    pack(site, tmp_path / "book.zip", root)
    with ZipFile(tmp_path / "book.zip") as book:
        assert book.namelist() == [
            f"{TOP}/{name}"
            for name in (
                "START.txt",
                "index.html",
                "pages/chapters/02.html",
                "pages/index.html",
                "source/kept.py",
            )
        ]
        assert book.read(f"{TOP}/pages/index.html") == b"<p>index.html"
        rights = [info.external_attr >> 16 & 0o777 for info in book.infolist()]
        assert rights == [0o644] * 4 + [0o755]


def test_the_same_book_makes_the_same_zip(small: tuple[Path, Path], tmp_path: Path) -> None:
    site, root = small
    pack(site, tmp_path / "first.zip", root)
    os.utime(site / "index.html", (1e9, 1e9))
    (root / "kept.py").chmod(0o600)
    pack(site, tmp_path / "second.zip", root)
    first, second = ((tmp_path / f"{name}.zip").read_bytes() for name in ("first", "second"))
    assert first == second


def test_without_a_built_book_there_is_no_zip(small: tuple[Path, Path], tmp_path: Path) -> None:
    site, root = small
    (site / "index.html").unlink()
    with pytest.raises(ValueError, match="holds no built book; make html builds it"):
        pack(site, tmp_path / "book.zip", root)
    assert not list(tmp_path.glob("*book.zip*"))


def test_a_zip_that_fails_half_way_leaves_the_old_one(
    small: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, root = small
    (tmp_path / "book.zip").write_text("the old one")

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(ZipFile, "writestr", full)
    with pytest.raises(OSError, match="no space left"):
        pack(site, tmp_path / "book.zip", root)
    assert [file.name for file in tmp_path.glob("*book.zip*")] == ["book.zip"]
    assert (tmp_path / "book.zip").read_text() == "the old one"


# ------------------------------------------------------------------ read without a network


@pytest.fixture(scope="module")
def unpacked(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that comes out of the zip of the whole book."""
    place = tmp_path_factory.mktemp("offline")
    size = pack(site, place / "book.zip")
    assert size <= LARGEST
    with ZipFile(place / "book.zip") as book:
        book.extractall(place)
    (place / "book.zip").unlink()
    return place / TOP


@pytest.fixture(scope="module")
def home(unpacked: Path) -> Iterator[str]:
    """Where the pages are, once the command of START.txt has been given (on a free port)."""
    (command,) = re.findall(r"^2\. python (-m http\.server .*)$", START, re.MULTILINE)
    server = subprocess.Popen(
        [sys.executable, "-u", *command.split(), "0"],
        cwd=unpacked,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    found = re.search(r"port (\d+)", server.stdout.readline())
    assert found is not None
    yield f"http://127.0.0.1:{found[1]}"
    server.terminate()
    server.wait()
    server.stdout.close()


@pytest.fixture(scope="module")
def island(browser: Browser, home: str) -> Iterator[BrowserContext]:
    """A browser whose every request to anywhere else is refused."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.route(lambda url: not url.startswith(home), lambda route: route.abort())
    yield context
    context.close()


@pytest.fixture
def opened(island: BrowserContext, home: str) -> Iterator[tuple[Page, Log]]:
    page, log = island.new_page(), Log(home)
    log.watch(page)
    yield page, log
    page.close()


def asks(unpacked: Path, name: str) -> list[bool]:
    """Of each lab of a page: whether it answers there, as the page itself says."""
    labs = BeautifulSoup((unpacked / "pages" / f"{name}.html").read_text("utf-8"), "lxml")
    facts = [json.loads(lab.script.string) for lab in labs.select("heed-lab")]
    return [fact["asks"] and fact["models"] != [] for fact in facts]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_and_its_labs_work_without_a_network(
    opened: tuple[Page, Log], unpacked: Path, home: str, name: str
) -> None:
    page, log = opened
    page.goto(f"{home}/{name}.html")
    labs = page.locator("heed-lab")
    for index, answers in enumerate(asks(unpacked, name)):
        labs.nth(index).scroll_into_view_if_needed()
        waited_for = "[data-live]" if answers else "[data-count]"
        labs.nth(index).and_(page.locator(waited_for)).wait_for()
    settle(page)
    assert log.complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_a_sentence_of_ones_own_is_translated_without_a_network(
    opened: tuple[Page, Log], home: str
) -> None:
    page, log = opened
    page.goto(f"{home}/chapters/03_additive.html")
    lab = page.locator("heed-lab[kind=alignment]")
    lab.scroll_into_view_if_needed()
    lab.get_by_label("An English sentence").fill("I like cats.")
    lab.get_by_text("chats").first.wait_for()
    fetched = {answer.url.rpartition("/")[2] for answer in log.fetched}
    assert {"ort-wasm-simd-threaded.wasm.gz", "decoder.onnx.gz"} <= fetched
    assert log.complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_search_finds_without_a_network(opened: tuple[Page, Log], home: str) -> None:
    page, log = opened
    page.goto(f"{home}/search.html?q=bottleneck")
    page.locator("#search-results li").first.wait_for()
    settle(page)
    assert log.complaints == []


def test_notebooks_weights_data_and_licences_come_along(unpacked: Path) -> None:
    for name in ("Makefile", "LICENSE", "LICENSE-text", "README.md", "requirements.txt"):
        assert (unpacked / "source" / name).read_bytes() == (ROOT / name).read_bytes()
    chapters = [page for page in PAGES if page.startswith("chapters/")]
    for file in [f"{name}.ipynb" for name in chapters]:
        assert (unpacked / "source" / file).read_bytes() == (ROOT / file).read_bytes()
    weights = {file.parent.name for file in (ROOT / "data" / "trained").glob("*/card.json")}
    packed = (unpacked / "source" / "data" / "trained").glob("*/model.safetensors")
    assert {file.parent.name for file in packed} >= weights - untracked()


def untracked() -> set[str]:
    """Models that somebody works on: not yet in git, so not in the zip."""
    listed = subprocess.run(
        ["git", "ls-files", "--others", "data/trained"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {Path(line).parent.name for line in listed.splitlines()}


def test_a_server_in_the_folder_above_leads_to_the_pages(unpacked: Path) -> None:
    door = BeautifulSoup((unpacked / "index.html").read_text("utf-8"), "lxml")
    way = unpacked / door.select_one("a")["href"] / "index.html"
    assert way.is_file()
    assert (unpacked / "START.txt").read_text("utf-8") == START
