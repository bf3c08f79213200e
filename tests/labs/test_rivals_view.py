"""The lab that changes between translators: in the kernel, and in a page."""

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
from heed.labs import RivalsLab

TEXT = "the cat sleeps ."
MODELS = {"attention": "bahdanau_grammar", "one vector": "seq2seq_grammar"}


@pytest.fixture
def lab() -> RivalsLab:
    return RivalsLab(MODELS, {"one vector": "It remembers, it does not look."}, text=TEXT)


# ---------------------------------------------------------------------------- the kernel


def test_another_choice_is_another_model(lab):
    first = lab.answer
    assert lab.trace.weights.shape == (1, len(first["target"]), len(first["source"]))
    assert np.allclose(np.array(first["weights"]).sum(axis=1), 1)
    lab.choice = 1
    assert lab.answer["count"] == first["count"] + 1
    assert lab.answer["weights"] == []
    assert lab.answer["target"] != first["target"]
    with pytest.raises(ValueError, match="shows no attention now"):
        _ = lab.trace


def test_bits_are_the_mean_entropy_of_the_rows(lab):
    rows = np.array(lab.answer["weights"])
    logs = np.log2(rows, out=np.zeros_like(rows), where=rows > 0)
    assert lab.answer["bits"] == pytest.approx(-(rows * logs).sum(axis=1).mean(), abs=1e-5)


def test_what_cannot_be_switched_between_is_refused(lab):
    with pytest.raises(ValueError, match="nothing to switch between with 1 model"):
        RivalsLab({"alone": "bahdanau_grammar"})
    with pytest.raises(ValueError, match="a note on 'nobody', but the models are attention, one"):
        RivalsLab(MODELS, {"nobody": "?"})
    with pytest.raises(traitlets.TraitError, match="choice=2, but there are 2"):
        lab.choice = 2
    with pytest.raises(TypeError, match="are made from its models"):
        RivalsLab(MODELS, choices=[])


def test_a_choice_that_is_none_is_left_out(lab):
    before = lab.answer["count"]
    lab.set_state({"choice": 2})
    assert (lab.choice, lab.answer["count"]) == (0, before + 1)


def test_without_a_script_the_map_of_the_chosen_model_is_drawn(lab):
    assert "Where it looks (attention)" in lab.html()
    assert "chat" in lab.html()
    lab.choice = 1
    assert "Where it looks" not in lab.html()
    assert "French, by one vector" in lab.html()


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


@pytest.fixture
def opened(quiet: Page, sheet: Callable[[str], str], lab: RivalsLab) -> Locator:
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_have_attribute("data-live", "true", timeout=PATIENCE)
    return root


def french(root: Locator) -> str:
    return root.locator(".heed-french").inner_text()


def choose(root: Locator, name: str) -> None:
    before = root.get_attribute("data-count")
    root.get_by_role("radio", name=name).check(force=True)
    expect(root).not_to_have_attribute("data-count", before or "", timeout=PATIENCE)


@browser
def test_a_switch_changes_the_french_and_the_map_and_both_stay_in_a_list(opened: Locator):
    said = french(opened)
    expect(opened.locator(".heed-cells")).to_be_visible()
    expect(opened.locator(".heed-sofar")).to_be_hidden()
    choose(opened, "one vector")
    assert french(opened) != said
    expect(opened.locator(".heed-cells")).to_be_hidden()
    expect(opened.get_by_text("It remembers, it does not look.")).to_be_visible()
    rows = opened.locator(".heed-sofar tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(said)
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")
    choose(opened, "attention")
    assert french(opened) == said
    expect(rows.nth(0)).to_have_attribute("aria-current", "true")


@browser
def test_a_new_sentence_begins_a_new_list(opened: Locator):
    choose(opened, "one vector")
    box = opened.get_by_role("textbox")
    box.fill("the dog sleeps .")
    expect(opened.locator(".heed-french")).to_have_text(re.compile("chien"))
    expect(opened.locator(".heed-sofar")).to_be_hidden()
    box.fill("")
    expect(opened.locator(".heed-french")).to_have_text("–")
    expect(opened.locator(".heed-status").first).to_have_text("Type an English sentence.")


@browser
def test_markup_stays_text(opened: Locator):
    opened.get_by_role("textbox").fill("<img src=x onerror=alert(1)> cat")
    expect(opened.locator(".heed-sheet .heed-status")).to_contain_text("img")
    assert opened.locator("img").count() == 0


@browser
def test_the_page_answers_what_the_kernel_answers(opened: Locator):
    lab = RivalsLab({name: as_exported(heed.load(row)) for name, row in MODELS.items()}, text=TEXT)
    for place, name in enumerate(MODELS):
        lab.choice = place
        if place:
            choose(opened, name)
        found: dict[str, Any] = opened.evaluate(
            """async (root, facts) => {
                const at = (path) => new URL(`labs/${path}`, location.href).href;
                const engine = await import(at("answers/rivals.js"));
                const get = (name) => facts[name];
                const models = await Promise.all(engine.models(get).map(engine.model));
                return engine.answer(get, models);
            }""",
            {"text": TEXT, "choice": place, "models": list(MODELS.values())},
        )
        assert found["target"] == lab.answer["target"]
        assert np.allclose(found["weights"], lab.answer["weights"], atol=1e-4)
        assert found["bits"] == pytest.approx(lab.answer["bits"], abs=1e-3)


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_used_by_keyboard_and_nothing_is_in_the_way(opened: Locator, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.get_by_role("radio", name="attention").focus()
    opened.page.keyboard.press("ArrowRight")
    expect(opened.get_by_role("radio", name="one vector")).to_be_checked()
    expect(opened.locator(".heed-sofar tbody tr")).to_have_count(2, timeout=PATIENCE)
    assert serious(opened.page) == {}


@browser
def test_a_phone_needs_no_sideways_scrolling(opened: Locator):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
