"""The lab of episodes: in the kernel, and in a page. The network is small and not trained; those
that are shipped are asked as well."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from playwright.sync_api import Page, expect
from reader import PATIENCE, serious
from reading import Mounted, answered
from small_learners import BANDIT, GLYPHS, published, untrained

import heed
from heed.data.glyphs import PARTS, SIDE, glyphs
from heed.experiments.episodes import TrainedLearner
from heed.experiments.export import as_exported
from heed.experiments.table import find
from heed.experiments.trained import load
from heed.labs import EpisodeLab, drawing, strokes
from heed.labs.base import strings
from heed.labs.episode import dealt, remarks, verdict
from heed.labs.site import exported
from heed.models.snail import SNAIL

ROWS = (GLYPHS,)
SHIPPED = [name for name in exported() if find(name).build is SNAIL]
CLOSE = 1e-4
HOOK = "4040c040c0c0"
CROSS = "3030d0d0 d03030d0"
say = drawing.sayer(strings())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small network with its graph; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("episodes")
    published(folder, ROWS)
    return folder / "trained"


@pytest.fixture
def learner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TrainedLearner:
    """As if it were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    found = load(GLYPHS, folder / GLYPHS.name)
    assert isinstance(found, TrainedLearner)
    return found


@pytest.fixture
def lab(learner: TrainedLearner) -> Iterator[EpisodeLab]:
    made = EpisodeLab(learner, shots=2)
    yield made
    made.close()


# ---------------------------------------------------------------------------- drawings


def test_a_text_says_where_the_pen_went():
    lines = [[(0.0, 28.0), (14.125, 3.5)], [(7.0, 7.0)]]
    text = strokes.told(lines)
    assert text == "00e0711c 3838"
    assert strokes.strokes_of(text) == lines
    assert strokes.strokes_of("") == []
    assert strokes.told([[(-3.0, 40.0)]]) == "00e0"  # the edge of the sheet
    assert strokes.character_of("@3.1") == 3
    assert strokes.character_of(text) is strokes.character_of("") is None


@pytest.mark.parametrize("text", ["", HOOK, CROSS, "@0.0", "@23.5"])
def test_what_is_a_drawing_passes(text):
    assert strokes.checked(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (3, "the drawing 3 is no text"),
        ("40", "is neither strokes nor a stored one"),
        ("4040 ", "is neither strokes nor a stored one"),
        ("40g0", "is neither strokes nor a stored one"),
        ("@24.0", "is not among those of 24 characters, 6 of each"),
        ("@0.6", "is not among those of 24 characters, 6 of each"),
        ("4040" * 1001, "a drawing of 4004 characters; 4000 are the most"),
    ],
)
def test_what_is_none_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        strokes.checked(text)


def test_a_drawing_is_brought_to_the_size_of_training():
    small, large = [[(1.0, 1.0), (3.0, 2.0)]], [[(0.0, 0.0), (28.0, 14.0)]]
    for line, size in ((small, 14.0), (large, 23.8)):
        (points,) = strokes.fitted(line)
        spread = np.ptp(points, axis=0)
        assert spread.max() == pytest.approx(size)
        assert spread[1] == pytest.approx(size / 2)  # its shape stays
    middle = np.mean(strokes.fitted(small)[0], axis=0)
    np.testing.assert_allclose(middle, 14 - 4.2)
    right = [[(6.0, 6.0), (22.0, 20.0)]]
    np.testing.assert_allclose(strokes.fitted(right), right)
    assert strokes.fitted([[(14.0, 14.0)]]) == [[(14.0, 14.0)]]
    assert strokes.fitted([]) == []


def test_ink_is_dark_where_the_pen_went_and_a_dot_is_one():
    picture = strokes.picture(strokes.told([[(4.0, 14.0), (24.0, 14.0)]]))
    assert picture.shape == (SIDE, SIDE)
    assert picture[13:15, 6:22].min() > 0.79  # half a pixel from the line: 0.8 + 0.5 − 0.5
    assert picture[:11].max() == picture[17:].max() == 0
    dot = strokes.picture(strokes.told([[(14.0, 14.0)]]))
    assert 0 < dot.sum() < 6
    assert strokes.picture("").sum() == 0


def test_stored_characters_are_held_out_and_drawn_as_in_training():
    source, stored = glyphs(), strokes.stored()
    assert len(stored) == strokes.SCRIPTS * strokes.EACH
    names = {
        name.split(" letter ")[0].split(" hieroglyphic")[0].split(" syllable")[0]
        for name in (each["name"] for each in stored)
    }
    assert len(names) == strokes.SCRIPTS
    test = {source.names[i] for i in range(len(source.names)) if i % 10 in PARTS["test"]}
    assert {name.split()[0].lower() for name in names} <= {
        part.lower() for name in test for part in name.replace("_", " ").split()
    }
    for each in stored:
        assert len({*each["drawings"]}) == strokes.DRAWINGS
        for text in each["drawings"]:
            assert strokes.checked(text) == text
            assert 10 < strokes.picture(text).sum() < 250


# ---------------------------------------------------------------------------- the kernel


def test_a_deal_stays_and_asks_for_a_drawing_that_is_not_shown():
    first = dealt(0, 5, 5)
    assert dealt(0, 5, 5) == first != dealt(1, 5, 5)
    for seed in range(20):
        deal = dealt(seed, 5, 3)
        shown = [text for row in deal["cells"] for text in row]
        assert len({*shown, deal["query"]}) == 16
        assert sorted(deal["labels"]) == [0, 1, 2, 3, 4]
        rows = [{strokes.character_of(text) for text in row} for row in deal["cells"]]
        assert {strokes.character_of(deal["query"])} in rows


def test_it_answers_what_the_model_answers(lab, learner):
    shown = lab.answer["shown"]
    assert sorted(shown) == [[i, j] for i in range(5) for j in range(2)] != shown
    found = learner.ask(
        torch.stack([strokes.picture(lab.cells[i][j]) for i, j in shown]),
        torch.tensor([lab.labels[i] for i, _ in shown]),
        strokes.picture(lab.query),
    )
    np.testing.assert_allclose(lab.answer["probabilities"], found.probabilities, atol=1e-6)
    assert lab.answer["label"] == found.label
    np.testing.assert_allclose(lab.answer["weights"], found.trace.weights[:, -1], atol=1e-6)
    assert lab.answer["blocks"] == ["attention 1", "attention 2", "attention 3"]
    assert lab.trace.query.labels == ("?",)
    assert lab.trace.key.labels[-1] == "?"
    assert lab.models == [GLYPHS.name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cells", [[HOOK], [CROSS], [""], ["@3.0"], ["@4.1"]]),
        ("query", HOOK),
        ("labels", [4, 3, 2, 1, 0]),
        ("order", 5),
    ],
)
def test_each_setting_that_asks_is_answered(lab, name, value):
    before = lab.answer
    setattr(lab, name, value)
    assert lab.answer["count"] == before["count"] + 1
    assert lab.answer["asked"][name] == value
    assert lab.answer["probabilities"] != before["probabilities"]
    lab.block, lab.seed = 1, 9
    assert lab.answer["count"] == before["count"] + 1


def test_what_is_empty_is_not_shown_and_nothing_shown_is_not_asked(lab):
    lab.cells = [["", HOOK], ["", ""], [CROSS, ""], ["", ""], ["", ""]]
    assert sorted(lab.answer["shown"]) == [[0, 1], [2, 0]]
    assert [len(row) for row in lab.answer["weights"]] == [3, 3, 3]
    lab.query = ""
    assert sum(lab.answer["probabilities"]) == pytest.approx(1, abs=1e-5)
    lab.cells = [["", ""]] * 5
    assert lab.answer["message"] == "nothing"
    assert lab.answer["probabilities"] == lab.answer["shown"] == []
    assert lab.answer["label"] == -1
    with pytest.raises(ValueError, match="shows no attention now"):
        _ = lab.trace
    assert "Nothing is shown yet" in lab.html()


def test_what_a_browser_sends_is_checked(lab):
    before = lab.cells
    for bad in ([["@0.0"]] * 4, [["@0.0"] * 6] * 5, [["zz"]] * 5, [[3]] * 5, "here", [[]] * 5):
        lab.set_state({"cells": bad})
        assert lab.cells == before
    lab.set_state({"labels": [0, 1, 2, 3, 3], "query": "40"})
    assert sorted(lab.labels) == [0, 1, 2, 3, 4]
    lab.set_state({"order": -4, "block": 99})
    assert (lab.order, lab.block) == (0, 99)
    with pytest.raises(traitlets.TraitError, match="cells must be 5 rows of equally many drawings"):
        lab.cells = [["@0.0"], ["@1.0", "@1.1"], [""], [""], [""]]
    with pytest.raises(traitlets.TraitError, match="are not the numbers 0 to 4, each once"):
        lab.labels = [0, 1, 2, 3, 5]
    with pytest.raises(traitlets.TraitError, match="is neither strokes nor a stored one"):
        lab.query = "hello"


def test_models_of_another_kind_and_facts_are_refused(learner):
    with pytest.raises(TypeError, match="shows episodes to a SNAIL, and tiny_bandit is a SNAILPo"):
        EpisodeLab(untrained(BANDIT))
    with pytest.raises(TypeError, match="the stored of an EpisodeLab cannot be given"):
        EpisodeLab(learner, stored=[])
    with pytest.raises(ValueError, match="shots=6 must be from 1 to 5"):
        EpisodeLab(learner, shots=6)


class Said:
    """What the words are made from."""

    def __init__(self, cells: list[list[str]], query: str, label: int, message: str = "") -> None:
        self.cells, self.query, self.labels = cells, query, [2, 0, 1]
        found = [] if message else [0.1, 0.2, 0.7]
        self.answer = {"probabilities": found, "label": label, "message": message}


def test_words_say_what_it_answers_and_what_is_odd():
    cells = [["@0.1", ""], ["@1.0", ""], [HOOK, ""]]
    assert verdict(say, Said(cells, HOOK, 2)) == "It answers label 3, with 0.70."
    assert verdict(say, Said(cells, "@0.2", 2)).endswith("0.70: right.")
    assert verdict(say, Said(cells, "@1.2", 2)).endswith("wrong. The query is of label 1.")
    assert verdict(say, Said(cells, "@9.2", 2)).endswith("0.70.")
    assert verdict(say, Said(cells, "", -1, "nothing")) == ""
    assert remarks(say, Said(cells, "@0.2", 2)) == []
    (blank,) = remarks(say, Said(cells, "", 2))
    assert blank.startswith("The query is an empty sheet.")
    (same,) = remarks(say, Said(cells, HOOK, 2))
    assert same == "The query is the very drawing that was shown with label 2."
    twice, missing = [[HOOK], [CROSS], [HOOK]], [[""], [HOOK], [""]]
    (one,) = remarks(say, Said(twice, "@0.2", 2))
    assert one.startswith("The same drawing is shown with labels 2, 3:")
    (two,) = remarks(say, Said(missing, CROSS, 2))
    assert two.startswith("Nothing is shown with label 2, 3:")
    (none,) = remarks(say, Said([[""]] * 3, "", -1, "nothing"))
    assert none.startswith("Nothing is shown yet")


def test_without_a_script_the_episode_is_drawn_and_told(lab):
    page = BeautifulSoup(lab.html(), "html.parser")
    figures = page.select(".heed-episode-strip[role=img] figure")
    assert len(figures) == 6
    assert (
        figures[1].text
        == f"label {lab.labels[0] + 1}: {lab.answer['probabilities'][lab.labels[0]]:.2f}"
    )
    assert len(page.select("table.heed-cells")) == 3
    assert verdict(say, lab) in page.text
    assert "Noto" in page.text


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


def in_page(bench: Page, body: str, given: Any) -> Any:
    return bench.evaluate(
        f"""async (given) => {{
            const at = (path) => new URL(`labs/${{path}}`, location.href).href;
            {body}
        }}""",
        given,
    )


@browser
def test_the_page_draws_and_deals_as_the_kernel_does(bench: Page):
    texts = ["", HOOK, CROSS, "7070", *(f"@{c}.{c % 6}" for c in range(24)), "0000ffff", "10101018"]
    found = in_page(
        bench,
        """const { picture, told, strokesOf, thinned } = await import(at("strokes.js"));
        const { dealt } = await import(at("episodes.js"));
        return {
            ink: given.texts.map((text) => Array.from(picture(text, given.stored))),
            again: given.texts.map((text) => told(strokesOf(text, given.stored))),
            deals: given.seeds.map((seed) => dealt(seed, 5, 1 + (seed % 5), given.stored)),
            thin: [
                thinned([[0, 0], [5, 0.1], [10, 0], [10, 5], [10, 10]]),
                thinned([[3, 3]]),
                thinned([[3, 3], [9, 9], [3, 3]]),
            ],
        };""",
        {"texts": texts, "stored": strokes.stored(), "seeds": [0, 1, 7, 4_294_967_295]},
    )
    for text, ink, again in zip(texts, found["ink"], found["again"], strict=True):
        np.testing.assert_allclose(ink, strokes.picture(text).flatten(), atol=1e-5)
        assert again == strokes.told(strokes.strokes_of(text))
    for seed, deal in zip([0, 1, 7, 4_294_967_295], found["deals"], strict=True):
        assert deal == dealt(seed, 5, 1 + seed % 5)
    assert found["thin"] == [[[0, 0], [10, 0], [10, 10]], [[3, 3]], [[3, 3], [9, 9], [3, 3]]]


@browser
def test_the_page_says_what_the_kernel_says(bench: Page):
    cells = [["@0.1", HOOK], ["@1.0", ""], [HOOK, ""]]
    cases = [
        Said(cells, query, label)
        for query in ("", HOOK, CROSS, "@0.3", "@1.1", "@5.5")
        for label in range(3)
    ]
    cases += [Said([[""], [HOOK], [""]], HOOK, 0), Said([[""]] * 3, HOOK, -1, "nothing")]
    found = in_page(
        bench,
        """const { remarks, verdict } = await import(at("episodes.js"));
        const { sayer } = await import(at("say.js"));
        const tell = sayer(given.strings, "episode");
        return given.cases.map((each) => [verdict(tell, each), ...remarks(tell, each)]);""",
        {"cases": [vars(each) for each in cases], "strings": strings()},
    )
    assert found == [[verdict(say, each), *remarks(say, each)] for each in cases]


@browser
@pytest.mark.parametrize("name", [GLYPHS.name, *SHIPPED])
def test_the_page_computes_what_pytorch_computes(
    bench: Page, models: None, learner: TrainedLearner, name: str, monkeypatch: pytest.MonkeyPatch
):
    if name != GLYPHS.name:
        monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(learner if name == GLYPHS.name else heed.load(name))
    assert isinstance(trained, TrainedLearner)
    ways, most = trained.model.config.ways, trained.model.config.longest - 1
    lengths = sorted({1, ways, *(ways * n for n in (2, 3, 5) if ways * n <= most)})
    cases = []
    for seed in range(20):
        count = lengths[seed % len(lengths)]
        texts = [f"@{(seed + k) % 24}.{(k * seed) % 6}" for k in range(count + 1)]
        cases.append(
            {
                "texts": texts[:-1],
                "asked": texts[-1] if seed % 7 else "",
                "labels": [(seed * k + k) % ways for k in range(count)],
            }
        )
    found = in_page(
        bench,
        """const { model } = await import(at("learners.js"));
        const { picture } = await import(at("strokes.js"));
        const network = await model(given.name);
        const ink = (text) => picture(text, given.stored);
        const told = [];
        for (const { texts, asked, labels } of given.cases) {
            told.push(await network.ask(texts.map(ink), labels, ink(asked)));
        }
        return told;""",
        {"name": name, "cases": cases, "stored": strokes.stored()},
    )
    for case, each in zip(cases, found, strict=True):
        wanted = trained.ask(
            torch.stack([strokes.picture(text) for text in case["texts"]]),
            torch.tensor(case["labels"]),
            strokes.picture(case["asked"]),
        )
        np.testing.assert_allclose(each["probabilities"], wanted.probabilities, atol=CLOSE, rtol=0)
        if wanted.trace is None:
            assert each["weights"] == []
        else:
            looks = wanted.trace.weights[:, -1]
            np.testing.assert_allclose(each["weights"], looks, atol=CLOSE, rtol=0)


SETTINGS: list[dict[str, Any]] = [
    {},
    {"shots": 1},
    {"shots": 5, "order": 3},
    {"labels": [3, 4, 0, 1, 2], "query": HOOK},
    {"cells": [[HOOK, ""], [CROSS, "7070"], ["", ""], ["@1.1", ""], ["", "@2.2"]], "query": ""},
    {"cells": [[""]] * 5},
]


@browser
@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, learner: TrainedLearner, settings: dict[str, Any]
):
    made = EpisodeLab(as_exported(learner), **settings)
    facts = {name: getattr(made, name) for name in (*made.settings, *made.facts, "models")}
    found = in_page(
        bench,
        """const engine = await import(at("answers/episode.js"));
        const get = (name) => given[name];
        const models = await Promise.all(engine.models(get).map(engine.model));
        return engine.answer(get, models);""",
        facts,
    )
    wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
    for name in ("weights", "probabilities"):
        given, own = found.pop(name), wanted.pop(name)
        assert np.shape(given) == np.shape(own)
        np.testing.assert_allclose(given, own, atol=CLOSE, rtol=0)
    assert found == wanted
    made.close()


# ---------------------------------------------------------------------------- the view


class OnPage:
    """The lab, once its model is at work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("heed-lab")
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)
        self.pad = self.root.locator(".heed-episode-pad")

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)
        expect(self.root.locator(".heed-sheet")).to_have_attribute("aria-busy", "false")

    def press(self, *names: str) -> None:
        for name in names:
            self.after(self.root.get_by_role("button", name=name, exact=True).click)

    def cell(self, row: int, column: int) -> Any:
        return self.root.locator(f"[data-row='{row}'][data-column='{column}']")

    def line(self, *points: tuple[float, float]) -> None:
        """Draw with the mouse, in shares of the pad."""
        box = self.pad.bounding_box()
        assert box
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=4)
        self.page.mouse.up()

    def shows(self, lab: EpisodeLab) -> None:
        """That it draws what the kernel would."""
        answer = lab.answer
        block = lab.block if lab.block >= 0 else len(answer["blocks"]) - 1
        scores = self.root.locator(".heed-episode-score span")
        wanted = [f"{answer['probabilities'][label]:.2f}" for label in lab.labels]
        expect(scores).to_have_text(wanted)
        heads = [f"label {label + 1}" for label in lab.labels]
        expect(self.root.locator(".heed-episode-label")).to_have_text(["Query", *heads])
        expect(self.root.locator(".heed-verdict")).to_have_text(verdict(say, lab))
        for (i, j), weight in zip(answer["shown"], answer["weights"][block][:-1], strict=True):
            shown = self.cell(i, j).locator(".heed-episode-weight").inner_text()
            assert float(shown) == pytest.approx(weight, abs=0.0051)
            bars = self.cell(i, j).locator(".heed-episode-looks i")
            tall = bars.evaluate_all("all => all.map((i) => +i.style.getPropertyValue('--part'))")
            k = answer["shown"].index([i, j])
            np.testing.assert_allclose(tall, [row[k] for row in answer["weights"]], atol=6e-4)
        lines = self.root.locator(".heed-episode-remarks li").all_inner_texts()
        assert lines == remarks(say, lab)


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: EpisodeLab) -> OnPage:
    quiet.set_viewport_size({"width": 1000, "height": 1300})
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


@browser
def test_who_draws_is_answered(opened: OnPage, lab: EpisodeLab):
    opened.shows(lab)
    opened.cell(1, 1).click()
    opened.press("Clear")
    name = f"label {lab.labels[1] + 1}, drawing 2"
    own = re.compile(rf"{name}: your drawing\. Looked at with 0\.")
    expect(opened.cell(1, 1)).to_have_attribute("aria-label", f"{name}: empty.")
    opened.after(lambda: opened.line((0.2, 0.2), (0.8, 0.2), (0.8, 0.8)))
    opened.after(lambda: opened.line((0.2, 0.8), (0.5, 0.5)))
    drawn = "2d2db42db4b4 2db47070"
    cells = [list(row) for row in lab.cells]
    cells[1][1] = drawn
    lab.cells = cells
    # The mouse moves by whole pixels of the screen.
    expect(opened.cell(1, 1)).to_have_attribute("aria-label", own)
    got = float(opened.root.locator(".heed-episode-score span").first.inner_text())
    assert got == pytest.approx(lab.answer["probabilities"][lab.labels[0]], abs=0.02)
    opened.press("Undo", "Undo", "Undo")
    expect(opened.root.get_by_role("button", name="Undo")).to_be_disabled()
    opened.press("Redo", "Redo")
    expect(opened.cell(1, 1)).to_have_attribute("aria-label", own)
    opened.press("Back to the start")
    lab.cells = dealt(0, 5, 2)["cells"]
    opened.shows(lab)


@browser
def test_by_keyboard_a_stored_character_is_put_into_a_cell(opened: OnPage, lab: EpisodeLab):
    page = opened.page
    opened.cell(-1, 0).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(opened.cell(1, 1)).to_be_focused()
    opened.after(lambda: page.keyboard.press("Delete"))
    cells = [list(row) for row in lab.cells]
    cells[1][1] = ""
    lab.cells = cells
    opened.shows(lab)
    page.keyboard.press("Enter")
    tray = opened.root.locator(".heed-episode-stored")
    expect(tray.nth(0)).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(tray.nth(22)).to_be_focused()
    opened.after(lambda: page.keyboard.press("Enter"))
    used = {lab.query, *(text for row in cells for text in row)}
    cells[1][1] = next(f"@22.{k}" for k in range(6) if f"@22.{k}" not in used)
    lab.cells = [list(row) for row in cells]
    opened.shows(lab)
    page.keyboard.press("Escape")
    expect(opened.cell(1, 1)).to_be_focused()


@browser
def test_labels_order_and_characters_are_dealt_anew(opened: OnPage, lab: EpisodeLab):
    opened.press("Show in another order")
    lab.order = 1
    opened.shows(lab)
    opened.press("Other characters")
    deal = dealt(1, 5, 2)
    lab.set_state({"seed": 1, **deal})
    opened.shows(lab)
    opened.press("Deal labels anew")
    heads = opened.root.locator(".heed-episode-label").all_inner_texts()[1:]
    labels = [int(head.split()[1]) - 1 for head in heads]
    assert labels != lab.labels
    lab.labels = labels
    opened.shows(lab)  # the answer follows


@browser
def test_more_drawings_are_shown_and_each_block_can_be_watched(opened: OnPage, lab: EpisodeLab):
    shots = opened.root.get_by_role("slider", name="Drawings of each")
    shots.focus()
    opened.after(lambda: opened.page.keyboard.press("Home"))
    lab.cells = [row[:1] for row in lab.cells]
    opened.shows(lab)
    opened.after(lambda: opened.page.keyboard.press("End"))
    expect(opened.root.locator("[data-row='4']")).to_have_count(5)
    before = opened.root.get_attribute("data-count")
    weights = opened.root.locator(".heed-episode-weight")
    third = weights.all_inner_texts()
    opened.root.get_by_label("attention 1", exact=True).check(force=True)
    assert weights.all_inner_texts() != third
    expect(opened.root.locator(".heed-says")).to_contain_text("attention 1: the query looks")
    assert opened.root.get_attribute("data-count") == before  # nobody was asked
    opened.root.locator(".heed-numbers summary").click()
    expect(opened.root.locator(".heed-numbers tbody tr")).to_have_count(26)


@browser
def test_a_finger_draws(models: None, browser: Any, sheet: Any, lab: EpisodeLab):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(sheet(lab.html()))
    opened = OnPage(page)
    opened.cell(0, 0).tap()
    opened.after(opened.root.get_by_role("button", name="Clear").tap)
    opened.pad.scroll_into_view_if_needed()
    box = opened.pad.bounding_box()
    assert box
    opened.after(lambda: page.touchscreen.tap(box["x"] + 60, box["y"] + 80))
    expect(opened.cell(0, 0)).to_have_attribute("aria-label", re.compile("your drawing"))
    context.close()


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.root.locator(".heed-numbers summary").click()
    assert serious(opened.page) == {}


@browser
def test_a_phone_needs_no_sideways_scrolling_and_fingers_find_their_aim(opened: OnPage):
    shots = opened.root.get_by_role("slider", name="Drawings of each")
    shots.focus()
    opened.after(lambda: opened.page.keyboard.press("End"))
    opened.root.locator(".heed-numbers summary").click()
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
    sizes = opened.root.locator(
        "button:visible, summary:visible, .heed-episode-cell, .heed-options label:visible"
    ).evaluate_all("all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight))")
    assert min(sizes) >= 24


@browser
def test_a_model_that_was_changed_leaves_only_the_picture(
    quiet: Page, sheet: Callable[[str], str], lab: EpisodeLab
):
    with torch.no_grad():
        lab.learner.model.output.weight.mul_(-1)
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    for name in ("Other characters", "Deal labels anew", "Clear", "Back to the start"):
        expect(root.get_by_role("button", name=name)).to_be_hidden()
    expect(root.locator(".heed-verdict")).to_have_text(verdict(say, lab))
    root.get_by_label("attention 2", exact=True).check(force=True)  # to be looked at


@browser
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: EpisodeLab):
    Mounted(bench, lab.html()).fails(query=HOOK)
