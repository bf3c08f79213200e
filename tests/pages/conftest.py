"""The built book, served as a reader gets it, in a real browser."""

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from reader import ROOT, Visit, look_at, serving


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built book; make builds it where it is missing or out of date."""
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MAKELEVEL"}}
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


@pytest.fixture(scope="session")
def visit(browser: Browser, address: str) -> Callable[[str], Visit]:
    """visit("book/welcome"): each page is looked at once, however many tests ask."""
    return cache(lambda name: look_at(browser, address, name))
