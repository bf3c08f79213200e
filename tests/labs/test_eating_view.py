"""Two verbs and what is expected after them: in the kernel, and in a page. The model is small and
not trained; the shipped one is asked as well."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from reader import serious
from reading import LabOnPage
from small_readers import RIVAL, ROW, few, published

import heed
from heed.evaluation.expecting import COLOURS, FOODS, probability
from heed.experiments.language import TrainedReader
from heed.labs import EatingLab
from heed.labs.eating import GUESSES, TAILS, VERBS

pytestmark = pytest.mark.browser

ROWS = (ROW, RIVAL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eaters")
    published(folder, few())
    return folder / "trained"


@pytest.fixture
def reader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TrainedReader:
    """As if it were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    return heed.experiments.trained.load(ROW, folder / ROW.name)


@pytest.fixture
def lab(reader: TrainedReader) -> Iterator[EatingLab]:
    made = EatingLab(reader)
    yield made
    made.close()


class Lab(LabOnPage):
    def group(self, name: str) -> Any:
        return self.root.get_by_role("group", name=name, exact=True)

    def drawing(self) -> str:
        return self.root.locator(".heed-eating-two").inner_text()


def test_the_kernel_says_what_the_model_says(lab, reader):
    side = lab.answer["sides"][0]
    assert side["words"] == ["she", "is", "eating", "a"]
    best = reader.next_words(side["words"], count=GUESSES)
    assert [word for word, _ in side["next"]] == [each.word for each in best]
    for name, group in (("food", FOODS), ("colour", COLOURS)):
        whole = probability(reader.model, reader.vocabulary, [side["words"]], group)
        assert side[name] == pytest.approx(float(whole[0]), abs=1e-5)
    np.testing.assert_allclose(
        side["weights"], reader.read(side["words"]).weights[0, -1], atol=1e-5
    )
    assert lab.trace.key.labels == ("∅", "<s>", "she", "is", "eating")
    with pytest.raises(TypeError, match="same for everybody"):
        EatingLab(reader, choices={})


def test_the_example_is_drawn_without_a_script(lab):
    html = lab.html()
    assert "she is eating a …" in html
    assert "she is seeing a …" in html
    assert html.count("<tr>") == 2 * GUESSES


def every(lab: EatingLab) -> list[dict[str, Any]]:
    """All tails, and all verbs on either side."""
    return [
        {"verb": VERBS[i % len(VERBS)], "other": VERBS[(i + 3) % len(VERBS)], "tail": tail}
        for i, tail in enumerate((*TAILS, "a"))
    ]


@pytest.mark.usefixtures("models")
def test_page_and_kernel_give_the_same_answer(bench: Page, lab: EatingLab) -> None:
    same_in_page(bench, lab, ROW.name)


@pytest.mark.parametrize("name", ["lstmn_english"])
def test_the_shipped_model_answers_in_a_page_as_in_a_kernel(bench: Page, name: str) -> None:
    from heed.experiments.export import as_exported

    trained = heed.load(name)
    made = EatingLab(as_exported(trained))
    same_in_page(bench, made, name)
    made.close()


def same_in_page(bench: Page, lab: EatingLab, name: str) -> None:
    given, wanted = [], []
    for settings in every(lab):
        lab.set_state(settings)
        given.append({**settings, "choices": lab.choices, "models": [name]})
        wanted.append(lab.answer["sides"])
    found = bench.evaluate(
        """async (given) => {
            const engine = await import(new URL("labs/answers/eating.js", location.href).href);
            const answers = [];
            for (const settings of given) {
                const get = (name) => settings[name];
                const asked = await Promise.all(engine.models(get).map(engine.model));
                answers.push((await engine.answer(get, asked)).sides);
            }
            return answers;
        }""",
        given,
    )
    for here, there in zip(found, wanted, strict=True):
        for one, other in zip(here, there, strict=True):
            assert list(one) == list(other)
            assert one["words"] == other["words"]
            close = 1e-4
            assert [p for _, p in one["next"]] == pytest.approx(
                [p for _, p in other["next"]], abs=close
            )
            for part in ("food", "colour", "weights"):
                np.testing.assert_allclose(one[part], other[part], atol=close)


@pytest.fixture
def page_of(models: None, quiet: Page, sheet: Callable[[str], str], lab: EatingLab) -> Lab:
    quiet.set_viewport_size({"width": 1000, "height": 900})
    quiet.goto(sheet(lab.html()))
    return Lab(quiet)


def test_each_control_changes_the_words_and_a_phone_shows_all(page_of: Lab) -> None:
    seen = [page_of.drawing()]
    for group, option in (
        ("She is …", "reading"),
        ("Held against: she is …", "wearing"),
        ("and then", "a green"),
    ):
        page_of.after(page_of.group(group).get_by_label(option, exact=True).click)
        assert page_of.drawing() not in seen
        seen.append(page_of.drawing())
    assert "she is reading a green …" in seen[-1]
    assert "she is wearing a green …" in seen[-1]
    said = page_of.root.locator(".heed-says").inner_text()
    assert "after reading" in said
    assert not math.isnan(float(said.split(": ")[1].split(" %")[0]))
    page_of.group("and then").get_by_label("a green", exact=True).focus()
    page_of.after(lambda: page_of.page.keyboard.press("ArrowRight"))
    assert "she is reading a red …" in page_of.drawing()
    for theme in ("light", "dark"):
        page_of.page.evaluate("t => (document.documentElement.dataset.theme = t)", theme)
        assert serious(page_of.page) == {}, theme
    page_of.page.set_viewport_size({"width": 360, "height": 740})
    page_of.page.wait_for_timeout(100)
    assert page_of.page.evaluate("document.documentElement.scrollWidth") <= 360
