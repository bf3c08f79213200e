"""The built book, served as a reader gets it, in a real browser."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser
from reader import ROOT, Visit, look_at, pages, serving


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built book; make builds it where it is missing or out of date, for the
    first of the test processes that asks."""
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MAKELEVEL"}}
    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / ".lock"):
        done = subprocess.run(
            ["make", "html"], cwd=ROOT, text=True, capture_output=True, env=environment
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def address(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the book is served: in a folder of the host, as on GitHub Pages, so that a link to
    the host's root is found out."""
    top = tmp_path_factory.mktemp("server")
    (top / "somewhere").mkdir()
    (top / "somewhere" / "book").symlink_to(site)
    with serving(top) as host:
        yield f"{host}/somewhere/book"


@pytest.fixture(scope="module", params=pages())
def visit(request: pytest.FixtureRequest, browser: Browser, address: str) -> Visit:
    """What each page is like. All tests of one page come together, so that it is looked at once."""
    return look_at(browser, address, request.param)
