"""The lab of the years: several translators side by side, in the kernel, and in a page."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import traitlets
from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE, serious

import heed
from heed.experiments.export import as_exported
from heed.experiments.trained import load
from heed.labs import YearsLab

TEXT = "the cat sleeps ."
MODELS = {
    "one vector": "seq2seq_grammar",
    "additive": "bahdanau_grammar",
    "Transformer": "transformer_grammar",
}


@pytest.fixture(scope="module")
def first() -> YearsLab:
    return YearsLab(MODELS, {"additive": "It looks back."}, text=TEXT, shown=[1])


@pytest.fixture
def lab(first: YearsLab) -> YearsLab:
    first.text, first.shown = TEXT, [1]
    return first


# ---------------------------------------------------------------------------- the kernel


def test_who_is_shown_translates_and_nobody_else(lab):
    one, two, three = lab.answer["years"]
    assert one is three is None
    assert two["target"][:2] == ["le", "chat"]
    lab.shown = [2, 0, 2]
    assert lab.shown == [0, 2]
    one, two, three = lab.answer["years"]
    assert two is None
    assert one["weights"] == []
    assert np.allclose(np.array(three["weights"]).sum(axis=1), 1)
    assert lab.trace.name == "Transformer"
    lab.shown = []
    assert lab.answer["years"] == [None] * 3
    with pytest.raises(ValueError, match="shows no attention now"):
        _ = lab.trace


def test_each_brings_its_quality_by_length_from_its_card(lab):
    there = load("seq2seq_grammar").card.metrics["bleu_by_length"]["9-15"]
    quality = lab.choices[0]["quality"]
    assert list(quality) == ["3-8", "9-15", "16-25", "26-45", "46-60"]
    assert quality["9-15"] == [round(there["mean"], 2), round(there["std"], 2)]
    assert 1.5 < lab.choices[2]["megabytes"] < 3


def test_what_cannot_be_shown_is_refused(lab):
    with pytest.raises(traitlets.TraitError, match="3 is no place from 0 to 2"):
        lab.shown = [0, 3]
    with pytest.raises(ValueError, match="nothing to compare with 1 model"):
        YearsLab({"alone": "bahdanau_grammar"})
    with pytest.raises(TypeError, match="lstmn_prose does not translate"):
        YearsLab({"a": "bahdanau_grammar", "b": "lstmn_prose"})
    before = lab.answer["count"]
    lab.set_state({"shown": ["x"]})
    assert (lab.shown, lab.answer["count"]) == ([1], before + 1)


def test_without_a_script_there_are_maps_and_the_numbers(lab):
    lab.shown = [0, 1]
    html = lab.html()
    assert "Where it looks (additive)" in html
    assert "Where it looks (one vector)" not in html
    assert "BLEU on test sentences" in html


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


@pytest.fixture
def opened(quiet: Page, sheet: Callable[[str], str], lab: YearsLab) -> Locator:
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_have_attribute("data-live", "true", timeout=PATIENCE)
    return root


def asks(root: Locator, what: Callable[[], Any]) -> None:
    before = root.get_attribute("data-count")
    what()
    expect(root).not_to_have_attribute("data-count", before or "", timeout=PATIENCE)


@browser
def test_a_model_is_fetched_when_it_is_asked_for_and_stands_beside_the_others(opened: Locator):
    fetched: list[str] = []
    opened.page.on("request", lambda request: fetched.append(request.url))
    cards = opened.locator(".heed-years-card:visible")
    expect(cards).to_have_count(1)
    switch = opened.get_by_role("checkbox", name="one vector")
    expect(opened.get_by_text(re.compile(r"^\d\.\d MB more to fetch$"))).to_have_count(2)
    asks(opened, switch.check)
    assert any("seq2seq_grammar" in url for url in fetched)
    assert not any("transformer_grammar" in url for url in fetched)
    expect(cards).to_have_count(2)
    expect(cards.nth(0)).to_contain_text("No map")
    expect(cards.nth(1).locator(".heed-cells")).to_be_visible()
    expect(opened.get_by_text(re.compile(r"^\d\.\d MB more to fetch$"))).to_have_count(1)
    asks(opened, switch.uncheck)
    expect(cards).to_have_count(1)


@browser
def test_the_mark_stands_at_the_readers_length(opened: Locator):
    mark, says = opened.locator(".here"), opened.locator(".heed-years > .heed-says")
    expect(says).to_contain_text("Yours has 4 words and marks. On test sentences of 3 to 8: one")
    before = mark.get_attribute("d")
    asks(opened, lambda: opened.get_by_role("textbox").fill("the cat and the dog and the cat ."))
    assert mark.get_attribute("d") != before
    expect(opened.locator(".yours")).to_have_text("yours: 9")
    expect(says).to_contain_text("of 9 to 15: one vector 29.1, additive 99.6")
    asks(opened, lambda: opened.get_by_role("textbox").fill("cat ."))
    expect(says).to_contain_text("no sentence of that length")
    asks(opened, lambda: opened.get_by_role("textbox").fill(""))
    expect(mark).to_have_count(0)
    expect(opened.locator(".heed-years > .heed-status")).to_have_text("Type an English sentence.")


@browser
def test_markup_stays_text(opened: Locator):
    opened.get_by_role("textbox").fill("<img src=x onerror=alert(1)> cat")
    expect(opened.locator(".heed-years > .heed-status")).to_contain_text("img")
    assert opened.locator("img").count() == 0


@browser
def test_the_page_answers_what_the_kernel_answers(opened: Locator):
    lab = YearsLab({name: as_exported(heed.load(row)) for name, row in MODELS.items()}, text=TEXT)
    for text in (TEXT, "the old minister signed the agreement in august 1992 ."):
        lab.text = text
        found: dict[str, Any] = opened.evaluate(
            """async (root, facts) => {
                const at = (path) => new URL(`labs/${path}`, location.href).href;
                const engine = await import(at("answers/years.js"));
                const get = (name) => facts[name];
                const models = await Promise.all(engine.models(get).map(engine.model));
                return engine.answer(get, models);
            }""",
            {
                "text": text,
                "shown": [0, 1, 2],
                "models": list(MODELS.values()),
                "choices": [{}] * 3,
            },
        )
        assert found["source"] == lab.answer["source"]
        for here, there in zip(found["years"], lab.answer["years"], strict=True):
            assert here["target"] == there["target"]
            assert np.allclose(here["weights"], there["weights"], atol=1e-4)


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_used_by_keyboard_and_nothing_is_in_the_way(opened: Locator, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.get_by_role("checkbox", name="additive").focus()
    asks(opened, lambda: opened.page.keyboard.press("Space"))
    expect(opened.locator(".heed-years-card:visible")).to_have_count(0)
    asks(opened, lambda: opened.page.keyboard.press("Space"))
    opened.locator(".heed-years-card:visible td[data-row]").first.focus()
    opened.page.keyboard.press("ArrowDown")
    expect(opened.locator(".heed-years-card:visible .heed-says")).to_contain_text("chat")
    assert serious(opened.page) == {}


@browser
def test_a_phone_needs_no_sideways_scrolling(opened: Locator):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
