"""Masks and axes in a page: each switch breaks the promises that it should, and says so."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from reader import serious
from reading import LabOnPage, Mounted

from heed.labs import MaskLab
from heed.labs.mask import WORDS

pytestmark = pytest.mark.browser

WIRINGS = [
    {"padding": padding, "causal": causal, "over": over, "swapped": swapped}
    for padding, causal, over, swapped in product(
        ("before", "after", "none"), (False, True), ("keys", "queries"), (False, True)
    )
]

LABELS = {
    ("padding", "before"): "before the softmax",
    ("padding", "after"): "after it",
    ("padding", "none"): "not at all",
    ("over", "keys"): "the keys",
    ("over", "queries"): "the queries",
    ("causal", True): "Causal mask",
    ("swapped", True): "Query and key swapped",
}

PROMISES = {
    "sum": "The shares of each real word add up to one.",
    "padding": "Nothing falls on padding.",
    "filling": "What stands on the padding makes no difference.",
    "ahead": "A word does not see the words behind it.",
    "question": "A word’s question moves its own row alone.",
}


class Lab(LabOnPage):
    def wire(self, **changes: Any) -> None:
        for each in changes.items():
            self.after(self.root.get_by_label(LABELS[each], exact=True).click)

    def row(self, promise: str) -> Locator:
        return self.root.locator(".heed-meter tbody tr", has_text=PROMISES[promise])

    def said(self, verdict: str) -> set[str]:
        """The promises of which the meter says this."""
        words = {name: self.row(name).locator("td").last.inner_text() for name in PROMISES}
        return {name for name, word in words.items() if word == verdict}

    def leak(self, promise: str) -> float:
        return float(self.row(promise).locator(".heed-leak-number").inner_text())

    def sums(self) -> list[float]:
        return [float(text) for text in self.root.locator("td.heed-sum").all_inner_texts()]

    def weights(self) -> np.ndarray:
        found = self.root.locator(".heed-cells td[data-row]").evaluate_all(
            "all => all.map(e => Number(e.dataset.weight))"
        )
        return np.array(found).reshape(len(WORDS), len(WORDS))

    def explained(self) -> str:
        return self.root.locator(".heed-wiring").inner_text()


@pytest.fixture
def lab(quiet: Page, sheet: Callable[[str], str]) -> Lab:
    quiet.set_viewport_size({"width": 1000, "height": 1000})
    quiet.goto(sheet(MaskLab().html()))
    return Lab(quiet)


# ------------------------------------------------------------------------------- the same answers


def test_page_and_kernel_give_the_same_answer(bench: Page) -> None:
    kernel = MaskLab()
    given, wanted = [], []
    for settings in WIRINGS:
        kernel.set_state(settings)
        given.append({name: getattr(kernel, name) for name in (*kernel.settings, *kernel.facts)})
        wanted.append(kernel.answer)
    found = bench.evaluate(
        """async (given) => {
            const engine = await import(new URL("labs/answers/mask.js", location.href).href);
            return given.map((settings) => engine.answer((name) => settings[name]));
        }""",
        given,
    )
    assert len(found) == 24
    for here, there, settings in zip(found, wanted, WIRINGS, strict=True):
        assert set(here) == set(there) - {"count", "asked"}
        for name in ("weights", "sums"):
            np.testing.assert_allclose(here[name], there[name], atol=1e-5, err_msg=str(settings))
        assert list(here["leaks"]) == list(there["leaks"])
        assert here["leaks"] == pytest.approx(there["leaks"], abs=1e-5), settings
    kernel.close()


def test_the_page_answers_at_once_and_fetches_no_model(
    quiet: Page, sheet: Callable[[str], str]
) -> None:
    fetched: list[str] = []
    quiet.on("request", lambda request: fetched.append(request.url))
    quiet.goto(sheet(f"<pre></pre>{MaskLab().html()}"))
    quiet.wait_for_selector("heed-lab[data-live]")
    assert not [url for url in fetched if re.search(r"/(models|ort)/", url)]
    expect(quiet.locator("heed-lab > .heed-status")).to_have_text("Computed in this page.")


# ------------------------------------------------------------------------------- each switch

NONE: set[str] = set()


@pytest.mark.parametrize(
    ("changes", "broken", "explained"),
    [
        ({}, NONE, "As a reader needs it"),
        ({"causal": True}, NONE, "As a writer needs it"),
        ({"padding": "after"}, {"sum", "filling"}, "The mask comes too late"),
        ({"padding": "none"}, {"padding", "filling"}, "Nothing hides the padding"),
        ({"over": "queries"}, {"sum", "filling", "question"}, "down the columns"),
        ({"swapped": True}, {"question"}, "have changed places"),
        ({"causal": True, "swapped": True}, {"question"}, "have changed places"),
        ({"causal": True, "padding": "none"}, NONE, "there and cannot be seen"),
        ({"causal": True, "padding": "after"}, NONE, "there and cannot be seen"),
        (
            {"causal": True, "over": "queries"},
            {"sum", "filling", "ahead", "question"},
            "words ahead still leak in",
        ),
    ],
    # Sorted: a test must be called the same in every process.
    ids=lambda each: str(sorted(each) if isinstance(each, set) else each),
)
def test_a_switch_breaks_these_promises_and_no_others(
    lab: Lab, changes: dict[str, Any], broken: set[str], explained: str
) -> None:
    lab.wire(**changes)
    assert lab.said("broken") == broken
    reader = NONE if changes.get("causal") else {"ahead"}
    assert lab.said("a reader may") == reader
    assert lab.said("holds") == set(PROMISES) - broken - reader
    for name in PROMISES:
        assert (lab.leak(name) > 0) is (name in broken | reader)
    assert explained in lab.explained()


def test_the_sums_of_the_rows_stand_beside_them(lab: Lab) -> None:
    assert lab.sums() == [1] * 7
    for changes in ({"padding": "after"}, {"over": "queries"}):
        lab.wire(**changes)
        assert min(lab.sums()) < 0.9
        np.testing.assert_allclose(lab.sums(), lab.weights().sum(axis=1), atol=0.006)
    head = lab.root.locator(".heed-cells thead th").last
    expect(head).to_have_text("sum")


def test_each_control_changes_the_map_and_reset_takes_all_back(lab: Lab) -> None:
    reset = lab.root.get_by_role("button", name="As it should be")
    expect(reset).to_be_disabled()
    right = lab.weights()
    before = right
    for each in (("swapped", True), ("causal", True), ("over", "queries"), ("padding", "none")):
        lab.wire(**dict([each]))
        now = lab.weights() if each[0] != "padding" else None
        if now is not None:  # behind a causal mask, that of padding is not seen
            assert abs(now - before).max() > 0.05, each
            before = now
    lab.after(reset.click)
    np.testing.assert_array_equal(lab.weights(), right)
    expect(reset).to_be_disabled()
    assert lab.root.get_by_label("before the softmax", exact=True).is_checked()
    assert not lab.root.get_by_label("Causal mask").is_checked()
    lab.wire(padding="none")
    assert abs(lab.weights() - right).max() > 0.05


def test_the_map_speaks_of_words_that_look(lab: Lab) -> None:
    lab.cell(1, 4).click()
    expect(lab.root.locator(".heed-says")).to_have_text(re.compile(r"^‘cat’ looks at ‘\.’ 0\.\d\d"))
    assert "writing" not in lab.root.inner_text()


def test_a_guess_comes_before_the_meter(lab: Lab) -> None:
    lab.root.get_by_label("Guess first").check()
    meter, show = (
        lab.root.locator(".heed-meter"),
        lab.root.get_by_role("button", name="Show the meter"),
    )
    lab.wire(padding="after")
    expect(meter).to_be_hidden()
    expect(lab.root.locator(".heed-wiring")).to_be_hidden()
    for name in ("sum", "padding"):
        lab.root.get_by_label(PROMISES[name]).check()
    show.click()
    expect(meter).to_be_visible()
    expect(show).to_be_hidden()
    # sum, ahead and question as said; padding holds, filling breaks
    expect(lab.root.get_by_text("3 of 5 as you said")).to_be_visible()
    expect(lab.row("padding")).to_contain_text("holds (you said: breaks)")
    expect(lab.row("filling")).to_contain_text("broken (you said: holds)")
    lab.wire(padding="none")  # another wiring, another guess
    expect(meter).to_be_hidden()
    assert not lab.root.get_by_label(PROMISES["sum"]).is_checked()
    lab.root.get_by_label("Guess first").uncheck()
    expect(meter).to_be_visible()
    assert "you said" not in lab.root.inner_text()


def test_a_guess_is_about_one_wiring_and_no_other_that_a_notebook_brings(bench: Page) -> None:
    shown = Mounted(bench, MaskLab().html())
    shown.root.get_by_label("Guess first").check()
    shown.root.get_by_role("button", name="Show the meter").click()
    expect(shown.root.get_by_text("5 of 5 as you said")).to_be_visible()
    shown.give(padding="none")
    expect(shown.root.locator(".heed-meter")).to_be_hidden()
    expect(shown.root.get_by_role("button", name="Show the meter")).to_be_visible()


# ------------------------------------------------------------------------------- everywhere


def test_by_keyboard_alone(lab: Lab) -> None:
    keys, here = lab.page.keyboard, "document.activeElement"
    lab.root.get_by_label("before the softmax", exact=True).focus()
    lab.after(lambda: keys.press("ArrowRight"))
    assert lab.said("broken") == {"sum", "filling"}
    keys.press("Tab")
    lab.after(lambda: keys.press("ArrowRight"))
    assert "down the columns" in lab.explained()
    keys.press("Tab")
    lab.after(lambda: keys.press(" "))
    assert "words ahead" in lab.explained()
    keys.press("Tab")
    lab.after(lambda: keys.press(" "))
    keys.press("Tab")
    assert lab.page.evaluate(f"{here}.textContent") == "As it should be"
    lab.after(lambda: keys.press("Enter"))
    assert lab.said("broken") == NONE
    free = "[...document.querySelectorAll('heed-lab :is(input, button, summary)')]"
    assert lab.page.evaluate(f"{free}.every(e => e.dataset.lmSuppressShortcuts === 'true')")


def test_axe_finds_nothing_serious(lab: Lab) -> None:
    lab.wire(padding="after")
    for theme in ("light", "dark"):
        lab.page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        for guess in (False, True):
            lab.root.get_by_label("Guess first").set_checked(guess)
            lab.page.wait_for_timeout(200)
            assert serious(lab.page) == {}, (theme, guess)


def test_a_phone(lab: Lab) -> None:
    lab.page.set_viewport_size({"width": 360, "height": 740})
    for changes in ({"padding": "none"}, {"over": "queries"}, {"causal": True}):
        lab.wire(**changes)
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= 360
    scroll = lab.root.locator(".heed-map .heed-scroll").first
    assert scroll.evaluate("e => e.scrollWidth <= e.clientWidth")  # the sums are in view
    small = lab.root.locator("button:visible, td[tabindex]:visible, input:visible").evaluate_all(
        "all => all.map(e => [e.outerHTML, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)"
    )
    assert small == []


def test_two_labs_on_a_page_do_not_meet(quiet: Page, sheet: Callable[[str], str]) -> None:
    quiet.goto(sheet(MaskLab().html() * 2))
    one, other = Lab(quiet), Lab(quiet, 1)
    before = other.weights()
    one.wire(padding="none")
    np.testing.assert_array_equal(other.weights(), before)
    assert other.said("broken") == NONE
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
