"""What every test shares. It must not import heed: the shape checks hook in at first import."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

torch.set_num_threads(1)  # recurrent models are faster so, and two runs give the same bits

# The same examples on every run and no clock: a red test is red for everybody.
settings.register_profile("book", derandomize=True, deadline=None, database=None, max_examples=100)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Each test starts from the same random numbers, whichever tests ran before it."""
    torch.manual_seed(0)


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


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    from reader import PATIENCE

    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()
