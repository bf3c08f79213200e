"""That axe is asked about five pieces of text of each look only hides no fault."""

import pytest
from playwright.sync_api import Page
from reader import serious

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en"><head><title>Text</title><style>
body { background: #fff; color: #555; }
p { margin: 0; }
.dark { background: #333; }
.pale { opacity: 0.5; }
.over { position: absolute; top: 300px; left: 0; }
.shifted { position: relative; top: 300px; }
.raised { margin-top: -40px; }
.black { background: #000; width: 400px; height: 100px; margin: 20px 0; }
</style></head><body><main><h1>Text</h1>%s%s</main></body></html>"""
GOOD = "<p>easy to read</p>" * 20


def faults(page: Page, last: str) -> dict[str, list[str]]:
    page.set_content(PAGE % (GOOD, last))
    return serious(page)


def test_what_is_easy_to_read_is(page: Page) -> None:
    assert faults(page, "<p>so is this</p>") == {}
    left = page.locator("[data-axe-alike]").count()
    assert left == 16  # five of 21 paragraphs were looked at


@pytest.mark.parametrize(
    "last",
    [
        "<p class=dark>on a dark ground</p>",
        "<div class=dark><div><p>deep in it</p></div></div>",
        "<div class=pale><p>shining through</p></div>",
        "<div class=pale><div class=pale><p>twice</p></div></div>",
        "<p style='color: #aaa'>in grey</p>",
        "<p style='color: #777; font-size: 12px'>small</p>",
        "<div class=black></div><p class=raised>above another thing</p>",
        "<p style='background-image: linear-gradient(#555, #555)'>a</p><p class=dark>and dark</p>",
    ],
)
def test_the_one_that_is_not_is_found(page: Page, last: str) -> None:
    assert set(faults(page, last)) == {"color-contrast"}


def test_the_same_text_over_something_else_is_found(page: Page) -> None:
    ground = "<div class=black style='position: absolute; top: 300px; left: 0; margin: 0'></div>"
    assert set(faults(page, f"{ground}<p class=over>over it</p>")) == {"color-contrast"}


def test_an_old_mark_does_not_hide_a_new_fault(page: Page) -> None:
    assert faults(page, "") == {}
    page.add_style_tag(content="p { color: #ccc !important; }")
    assert set(serious(page)) == {"color-contrast"}
