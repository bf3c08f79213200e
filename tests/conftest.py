"""What every test shares. It must not import heed: the shape checks hook in at first import."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import settings
from jaxtyping import config, install_import_hook

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PACKAGE = Path(__file__).parents[1] / "src" / "heed"


def speaks_of_shapes() -> Iterator[str]:
    """The modules that say shapes. The others have none to be checked, and draw words by the
    hundred thousand: with a check at each call that took thirty times as long."""
    for file in PACKAGE.rglob("*.py"):
        if "jaxtyping" in file.read_text("utf-8"):
            parts = file.with_suffix("").relative_to(PACKAGE.parent).parts
            yield ".".join(parts).removesuffix(".__init__")


install_import_hook(list(speaks_of_shapes()), "beartype.beartype")
torch.set_num_threads(1)  # recurrent models are faster so, and two runs give the same bits

# The same examples on every run and no clock: a red test is red for everybody.
settings.register_profile("book", derandomize=True, deadline=None, database=None, max_examples=100)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Each test starts from the same random numbers, whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def unchecked() -> Iterator[None]:
    """For modules that take models through ten thousand steps to compare numbers: no shapes are
    checked, which would take more than half of the time. Other tests call the same functions."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One Chromium for all tests that drive one; Playwright allows no second at the same time."""
    from chromium import ARGUMENTS, find
    from playwright.sync_api import sync_playwright

    program = find()
    assert program is not None, "no Chromium; run make test, or set CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tabs(browser: "Browser") -> "Iterator[BrowserContext]":
    """One profile for all tests that need no special one. Its pages live in one process, where
    WebAssembly that one of them has compiled is there for the next."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def page(tabs: "BrowserContext") -> "Iterator[Page]":
    from reader import PATIENCE

    page = tabs.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    if page.url.startswith("http"):  # what a page keeps for its reader's next visit
        page.evaluate("localStorage.clear()")
    page.close()
