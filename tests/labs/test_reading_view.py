"""The lab that reads word by word: in the kernel, and in a page. The models are small and not
trained; those that are shipped are asked as well."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE, serious
from reading import NASTY, LabOnPage, Mounted
from small_readers import RIVAL, ROW, few, lively, published

import heed
from heed.data.vocabulary import Vocabulary
from heed.experiments.export import as_exported
from heed.experiments.language import Reads, TrainedReader
from heed.experiments.table import find
from heed.labs import ReadingLab
from heed.labs.reading import read_by, steered
from heed.labs.site import exported
from heed.layers.lstm import memorise
from heed.models.lstmn import LSTMNLanguageModel

TEXT = "If the key is not in the file, the value is returned."
SHIPPED = [name for name in exported() if isinstance(find(name).task, Reads)]
CLOSE = 1e-4


ROWS = (ROW, RIVAL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both small models with their graphs; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("readers")
    published(folder, few())
    return folder / "trained"


@pytest.fixture
def readers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[TrainedReader]:
    """Both, as if they were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    return [heed.experiments.trained.load(row, folder / row.name) for row in (ROW, RIVAL)]


@pytest.fixture
def lab(readers: list[TrainedReader]) -> Iterator[ReadingLab]:
    made = ReadingLab(*readers, text=TEXT)
    yield made
    made.close()


# ---------------------------------------------------------------------------- the kernel


def test_left_alone_it_says_what_the_models_say(lab, readers):
    ours, theirs = readers
    trace = ours.read(TEXT)
    np.testing.assert_allclose(lab.trace.weights, trace.weights, atol=1e-6)
    assert lab.trace.query == trace.query
    assert lab.trace.key == trace.key
    rows = lab.answer["weights"]
    assert [len(row) for row in rows] == list(range(1, len(rows) + 1))
    np.testing.assert_allclose([sum(row) for row in rows], 1, atol=1e-5)
    for told, reader in ((lab.answer, ours), (lab.answer["rival"], theirs)):
        surprise = reader.surprise(TEXT)
        assert [word for word, _ in surprise] == lab.answer["source"]
        np.testing.assert_allclose(told["bits"], [bits for _, bits in surprise], atol=1e-4)
        last = reader.next_words(TEXT, count=5)
        assert [word for word, _ in told["next"][-1]] == [each.word for each in last]
        assert all(word not in ("<s>", "<pad>") for row in told["next"] for word, _ in row)
    assert lab.answer["alone"] is None
    assert lab.answer["message"] == ""


def test_a_probability_and_a_surprise_are_of_one_distribution(lab):
    seen = 0
    for told in (lab.answer, lab.answer["rival"]):
        for word, row, bits in zip(lab.answer["source"], told["next"], told["bits"], strict=True):
            for guess, probability in row:
                if guess == word:
                    assert -math.log2(probability) == pytest.approx(bits, abs=1e-3)
                    seen += 1
    assert seen


def logits(model: Any, tokens: list[int]) -> torch.Tensor:
    found = []
    with torch.inference_mode():
        state = model.start(1)
        for token in tokens:
            state, out = model.step(state, torch.tensor([token]))
            found.append(out.logits[0])
    return torch.stack(found)


def test_with_all_weight_on_the_last_slot_it_is_an_lstm(readers):
    model = readers[0].model
    tokens = [1, *range(20, 30)]
    h, c = torch.zeros(2, 1, model.config.d_state)
    wanted = []
    with torch.inference_mode():
        for token in tokens:
            x = model.words.read(torch.tensor([token]))
            h, c = memorise(model.lstmn.gates_x(x) + model.lstmn.gates_h(h), c)
            wanted.append(model.words.write(h)[0])
    found = logits(steered(model, look="last"), tokens)
    torch.testing.assert_close(found, torch.stack(wanted), atol=1e-6, rtol=1e-6)
    assert not torch.allclose(found, logits(model, tokens), atol=1e-2)


def test_without_the_null_slot_it_is_the_model_that_never_kept_it(lab, readers):
    model = readers[0].model
    lab.null = False
    first, *others = lab.answer["weights"]
    assert first == [1]
    assert {row[0] for row in others} == {0}
    assert lab.answer["alone"]["bits"] != lab.answer["bits"]
    never = LSTMNLanguageModel(replace(model.config, keep_null=False)).eval()
    never.load_state_dict(model.state_dict())
    with torch.inference_mode():
        wanted = never(readers[0]._tokens(readers[0].words(TEXT))).weights[0]
    np.testing.assert_allclose(lab.trace.weights[0], wanted, atol=1e-6)
    assert model.lstmn.keep_null  # the model itself was not touched


@pytest.mark.parametrize("null", [True, False])
def test_everywhere_alike_is_the_same_share_for_each_slot_there_is(lab, null):
    lab.set_state({"look": "uniform", "null": null})
    for t, row in enumerate(lab.answer["weights"]):
        slots = t + 1 if null or t == 0 else t
        np.testing.assert_allclose(row[-slots:], 1 / slots, atol=1e-6)
        assert sum(row) == pytest.approx(1, abs=1e-5)


def test_temperature_divides_the_scores(lab, readers):
    lab.temperature = 0.5
    with torch.no_grad():
        readers[0].model.lstmn.score.v.weight /= 0.5
    np.testing.assert_allclose(lab.trace.weights[0], readers[0].read(TEXT).weights[0], atol=1e-5)


def test_a_steering_that_is_none_is_refused(readers):
    with pytest.raises(ValueError, match="look='away' is none of own, last, uniform"):
        steered(readers[0].model, look="away")
    with pytest.raises(ValueError, match=r"temperature=9\.0 is not from 0\.1 to 5"):
        steered(readers[0].model, temperature=9.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("look", "last"), ("look", "uniform"), ("null", False), ("temperature", 2.0)],
)
def test_each_switch_changes_the_looks_and_not_what_is_said_alone(lab, name, value):
    before = lab.answer
    setattr(lab, name, value)
    assert lab.answer["count"] == before["count"] + 1
    assert lab.answer["weights"] != before["weights"]
    assert lab.answer["bits"] != before["bits"]
    assert lab.answer["alone"] == {"bits": before["bits"]}
    assert lab.answer["rival"] == before["rival"]


def test_a_step_asks_nobody_and_a_word_beyond_the_last_is_the_last(lab):
    answer = lab.answer
    for word in (3, 99, -1):
        lab.word = word
    assert lab.answer is answer
    html = lab.html()
    lab.word = 99
    page, other = (
        BeautifulSoup(each, "html.parser").select_one(".heed-is-now") for each in (html, lab.html())
    )
    assert page == other
    assert page is not None
    assert page.text == "."
    with pytest.raises(traitlets.TraitError):
        lab.word = -2


def test_without_a_script_the_sentence_and_the_triangle_are_drawn(lab):
    lab.word = 3
    page = BeautifulSoup(lab.html(), "html.parser")
    tokens = page.select(".heed-reading .heed-token")
    assert [each.text for each in tokens] == ["∅", "<s>", *lab.answer["source"][:-1]]
    assert [each.text for each in tokens if "heed-is-now" in each["class"]] == ["key"]
    assert {each.text for each in tokens[5:]} == {
        each.text for each in tokens if "heed-is-unread" in each["class"]
    }
    shades = [int(str(each["style"]).removeprefix("--weight:")) for each in tokens]
    np.testing.assert_allclose(shades[:4], np.multiply(100, lab.answer["weights"][3]), atol=0.51)
    assert not any(shades[4:])
    cells = [
        sum("heed-never" not in (cell.get("class") or []) for cell in row.select("td"))
        for row in page.select("table.heed-cells tbody tr")
    ]
    assert cells == list(range(1, len(cells) + 1))
    assert "After ‘key’ the LSTMN expects" in page.text
    lab.text = ""
    assert "Type an English sentence." in lab.html()
    with pytest.raises(ValueError, match="shows no attention now"):
        _ = lab.trace


def test_numbers_that_are_none_still_make_a_page(readers):
    with torch.no_grad():
        for each in readers:
            each.model.words.output.bias.fill_(math.nan)
        readers[0].model.lstmn.score.v.weight.fill_(math.nan)
    lab = ReadingLab(*readers, text="a file .")
    assert {weight for row in lab.answer["weights"] for weight in row} == {None}
    drawn = BeautifulSoup(lab.html(), "html.parser")
    assert "–" in drawn.select("heed-lab p")[1].text
    assert not re.search("nan|None", drawn.select_one(".heed-sheet").text)  # pyright: ignore
    lab.close()


def test_models_that_know_other_words_or_are_of_another_kind_are_refused(readers):
    ours, theirs = readers
    with pytest.raises(ValueError, match="tiny_lstmn and tiny_lstm know different words"):
        ReadingLab(ours, replace(theirs, vocabulary=Vocabulary(("a", "b"))))
    with pytest.raises(
        TypeError, match="shows the looks of a LSTMNLanguageModel, and tiny_lstm is"
    ):
        ReadingLab(theirs, theirs)
    with pytest.raises(TypeError, match="holds against it a LSTMLanguageModel, and tiny_lstmn is"):
        ReadingLab(ours, ours)


def test_another_model_and_changed_weights_show(lab, readers):
    before = lab.answer
    torch.manual_seed(5)
    config = readers[0].model.config
    lab.trained = lively(LSTMNLanguageModel, config)
    assert lab.answer["weights"] != before["weights"]
    assert lab.models == []  # a page has no such model
    lab.trained = readers[0]
    assert lab.answer["weights"] == before["weights"]
    assert lab.models == ["tiny_lstmn", "tiny_lstm"]
    with torch.no_grad():
        readers[1].model.words.output.bias[7] += 3
    lab.refresh()
    assert lab.answer["rival"] != before["rival"]
    assert lab.answer["bits"] == before["bits"]
    with pytest.raises(ValueError, match="this model has 11 words, but the lab's vocabulary has"):
        lab.trained = lively(LSTMNLanguageModel, replace(config, vocab=11))


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


class OnPage(LabOnPage):
    box = "A sentence, as in a manual"

    def now(self) -> str:
        return self.root.locator(".heed-is-now").inner_text()

    def words(self) -> Locator:
        return self.root.locator(".heed-words button")

    def looked(self) -> dict[str, str]:
        """What the line shows under its words."""
        return self.root.evaluate(
            """(root) => Object.fromEntries([...root.querySelectorAll(".heed-token[data-weight]")]
                .map((each) => [each.textContent, each.dataset.weight]))"""
        )


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: ReadingLab) -> OnPage:
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


@browser
def test_a_word_that_is_picked_is_the_one_being_read(opened: OnPage, lab: ReadingLab):
    assert opened.now() == "."
    count = opened.root.get_attribute("data-count")
    opened.words().nth(4).click()
    assert opened.now() == "key"
    row = lab.answer["weights"][3]
    shown = {word: f"{w:.2f}" for word, w in zip(["∅", "<s>", "if", "the"], row, strict=True)}
    assert opened.looked() == {word: w for word, w in shown.items() if float(w) >= 0.05}
    expect(opened.root.locator(".heed-guesses caption")).to_have_text(
        "After ‘key’, what comes next?"
    )
    likely = [word for word, _ in lab.answer["next"][3]]
    cells = opened.root.locator(".heed-guesses tbody td:nth-of-type(1) span")
    expect(cells).to_have_text(["the end" if word == "</s>" else word for word in likely])
    came = opened.root.locator(".heed-came")
    expect(came).to_contain_text("Then came ‘is’")
    expect(came).to_contain_text(f"{lab.answer['bits'][3]:.1f} bits")
    opened.words().nth(0).click()  # the null slot is no word
    assert opened.now() == "<s>"
    opened.words().last.click()
    expect(came).to_contain_text("Then it ended")
    assert opened.root.get_attribute("data-count") == count  # nobody was asked


@browser
def test_steps_go_by_keyboard_slider_and_map(opened: OnPage):
    page, root = opened.page, opened.root
    opened.words().nth(4).focus()
    assert opened.now() == "key"
    page.keyboard.press("ArrowLeft")
    assert opened.now() == "the"
    page.keyboard.press("End")
    assert opened.now() == "."
    slider = root.get_by_label("Reading", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    assert opened.now() == "<s>"
    page.keyboard.press("ArrowRight")
    assert opened.now() == "if"
    page.keyboard.press("Shift+Tab")  # back to the line, where the word is that is being read
    assert page.evaluate("document.activeElement.textContent") == "if"
    opened.cell(5, 2).click()
    assert opened.now() == "not"
    expect(root.locator("tr.heed-selected th")).to_have_text("not")
    root.locator(".heed-map tbody th").nth(2).click()
    assert opened.now() == "the"


@browser
def test_the_pointer_that_passes_over_a_word_changes_nothing(opened: OnPage):
    opened.words().nth(4).click()
    opened.words().nth(2).hover()
    assert opened.now() == "key"


@browser
def test_who_types_stays_at_the_last_word_and_who_went_back_stays_there(opened: OnPage):
    opened.write("the value of")
    assert opened.now() == "of"
    opened.write("the value of the file")
    assert opened.now() == "file"
    opened.words().nth(2).click()
    opened.write("the value of the file .")
    assert opened.now() == "the"
    opened.write("the")
    assert opened.now() == "the"


@browser
def test_words_that_are_not_known_are_shown_as_such(opened: OnPage):
    opened.write("the zyxqwv is returned")
    expect(opened.root.locator(".heed-sheet .heed-status")).to_have_text(
        "Not in the vocabulary, and read as <unk>: zyxqwv."
    )
    expect(opened.root.locator(".heed-is-unknown")).to_have_text("zyxqwv")
    opened.write("zyxqwv vwq")
    expect(opened.root.locator(".heed-sheet .heed-status")).to_contain_text("none of these words")


@browser
def test_switches_change_the_looks_and_say_what_the_model_alone_would_have_said(opened: OnPage):
    root = opened.root
    whole = root.locator(".heed-whole")
    opened.words().nth(4).click()
    before = opened.looked()
    opened.after(lambda: root.get_by_label("at the last slot only", exact=True).check(force=True))
    assert opened.looked() == {"the": "1.00"}
    expect(whole).to_contain_text("when it is left alone")
    opened.after(lambda: root.get_by_label("everywhere alike", exact=True).check(force=True))
    assert set(opened.looked().values()) == {"0.25"}
    opened.after(lambda: root.get_by_label("The null slot").uncheck(force=True))
    assert set(opened.looked().values()) == {"0.33"}
    assert "∅" not in opened.looked()
    opened.after(root.get_by_role("button", name="Back to the model").click)
    assert opened.looked() == before
    expect(whole).not_to_contain_text("when it is left alone")
    temperature = root.get_by_label("Temperature")
    temperature.focus()
    opened.after(lambda: opened.page.keyboard.press("Home"))
    assert opened.looked() != before


@browser
def test_a_surprise_that_is_no_number_adds_up_to_none(bench: Page, lab: ReadingLab):
    shown = Mounted(bench, lab.html())
    nothing = [None] * len(lab.answer["bits"])
    shown.give(answer={"bits": nothing, "count": 2})
    expect(shown.root.locator(".heed-whole")).to_contain_text(
        "Surprise of the whole sentence: – bits for the LSTMN, as if each word were one of –"
    )


def test_an_example_is_read_when_it_is_picked(opened: OnPage):
    opened.after(opened.root.locator(".heed-examples button").nth(2).click)
    expect(opened.root.get_by_role("textbox")).to_have_value(re.compile("^The function"))
    expect(opened.words().nth(3)).to_have_text("function")


@browser
def test_whatever_is_typed_is_text_and_is_answered(opened: OnPage, readers: Any):
    for name, text in NASTY.items():
        opened.write(text)
        assert opened.root.locator("img, script:not([type])").count() == 0
        twin = ReadingLab(*readers, text=text)
        shown = opened.root.locator(".heed-map tbody tr:visible th").all_inner_texts()
        words = twin.answer["source"][:-1]
        assert shown == (["<s>", *words] if words else []), name
        twin.close()


STEERINGS = [
    {},
    {"look": "last"},
    {"look": "uniform"},
    {"look": "uniform", "null": False},
    {"look": "last", "null": False, "temperature": 3.0},
    {"null": False},
    {"temperature": 0.3},
    {"null": False, "temperature": 2.5},
]


@browser
@pytest.mark.parametrize("steering", STEERINGS, ids=str)
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, readers: list[TrainedReader], steering: dict[str, Any]
):
    texts = [TEXT, "the", "zyx the value", "", "zyx", "the value " * 40, NASTY["emoji"]]
    for text in texts:
        made = ReadingLab(*map(as_exported, readers), text=text, **steering)
        settings = {name: getattr(made, name) for name in made.settings}
        found = bench.evaluate(
            """async (facts) => {
                const at = (path) => new URL(`labs/${path}`, location.href).href;
                const engine = await import(at("answers/reading.js"));
                const get = (name) => facts[name];
                const models = await Promise.all(engine.models(get).map(engine.model));
                return engine.answer(get, models);
            }""",
            {**settings, "models": made.models},
        )
        wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
        assert found.keys() == wanted.keys()
        for key in ("source", "known", "read", "of", "message"):
            assert found[key] == wanted[key]
        assert alike(found["weights"], wanted["weights"])
        for one, other in ((found, wanted), (found["rival"], wanted["rival"])):
            assert alike([one["bits"]], [other["bits"]], close=5 * CLOSE)
            for ours, theirs in zip(one["next"], other["next"], strict=True):
                assert [w for w, _ in ours] == [w for w, _ in theirs]
                assert alike([[p for _, p in ours]], [[p for _, p in theirs]])
        assert (found["alone"] is None) == (wanted["alone"] is None)
        if found["alone"]:
            assert alike([found["alone"]["bits"]], [wanted["alone"]["bits"]], close=5 * CLOSE)
        made.close()


def alike(found: list[list[float]], wanted: list[list[float]], close: float = CLOSE) -> bool:
    """Rows of the same lengths with nearly the same numbers."""
    return [len(row) for row in found] == [len(row) for row in wanted] and all(
        np.allclose(a, b, atol=close, rtol=0) for a, b in zip(found, wanted, strict=True)
    )


SENTENCES = [
    *("the file is closed", "return the value", "if the key is not in the list", "a", "zyx ."),
    *("the function returns a new array of the same shape", "this method raises an error"),
    *("return true if the object is a string", "the default is none", "see also the notes below"),
    *("use this for small values of the input", "the name of the file", "an array of numbers"),
    *("if not given , the default value is used", "the number of bytes that were read", "new"),
    *("data that does not fit is ignored", "the result is a tuple of two arrays", "the"),
    " ".join(["the value of the key is"] * 10),
]


@browser
@pytest.mark.parametrize("name", [ROW.name, RIVAL.name, *SHIPPED])
def test_probabilities_and_weights_are_those_of_pytorch(
    bench: Page, models: None, readers: list[TrainedReader], name: str, monkeypatch: Any
):
    small = {each.card.experiment: each for each in readers}
    monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(small.get(name) or heed.load(name))
    words = [sentence.split() for sentence in SENTENCES]
    many = min(300, len(trained.vocabulary) - 2)  # all but <pad> and <s>, of a small one
    found = bench.evaluate(
        """async ([name, sentences, guesses]) => {
            const { model } = await import(new URL("labs/readers.js", location.href).href);
            const reader = await model(name);
            const found = [];
            for (const words of sentences) {
                const { weights, next, bits } = await reader.read(words, { guesses });
                const rows = weights?.map((row) => [...row]) ?? null;
                const logs = next.map((row) => row.map(([w, p]) => [w, Math.log(p)]));
                found.push({ weights: rows, logs, bits });
            }
            return found;
        }""",
        [name, words, many],
    )
    for each, sentence in zip(found, words, strict=True):
        wanted = read_by(trained.model, trained, sentence)
        with torch.inference_mode():
            logs = trained.model(trained._tokens(sentence)).logits[0].log_softmax(dim=-1)
        for row, there in zip(each["logs"], logs.tolist(), strict=True):
            assert len(row) == many
            here = {word: log for word, log in row if word in trained.vocabulary}
            numbers = trained.vocabulary.encode(list(here))
            assert alike([list(here.values())], [[there[number] for number in numbers]])
        np.testing.assert_allclose(each["bits"], wanted.bits, atol=3 * CLOSE)
        assert (each["weights"] is None) == (wanted.weights is None)
        if wanted.weights is not None:
            triangle = [row[: t + 1] for t, row in enumerate(wanted.weights.tolist())]
            assert alike(each["weights"], triangle)


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    for word in (1, 5):
        opened.words().nth(word).click()
        assert serious(opened.page) == {}
    label = opened.words().nth(5).get_attribute("aria-label")
    assert label == "is, being read"
    bars = opened.root.locator(".heed-bits")
    expect(bars).to_have_attribute("aria-label", re.compile("^Surprise at each word.*key "))


@browser
def test_a_phone_needs_no_sideways_scrolling(opened: OnPage):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
    opened.write(NASTY["one long word"])
    assert opened.page.evaluate(wide) <= 0
    sizes = opened.words().evaluate_all(
        "all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight))"
    )
    assert min(sizes) >= 24


@browser
def test_a_model_that_was_changed_leaves_only_steps(
    quiet: Page, sheet: Callable[[str], str], lab: ReadingLab
):
    with torch.no_grad():
        lab.trained.model.words.output.bias[5] += 1
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    expect(root.get_by_role("textbox")).to_be_hidden()
    expect(root.get_by_label("Temperature")).to_be_hidden()
    root.locator(".heed-words button").nth(4).click()
    expect(root.locator(".heed-is-now")).to_have_text("key")
