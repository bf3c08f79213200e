"""The lab that shows all heads of a Transformer: in the kernel, and in a page. The models are small
and not trained; those that are shipped are asked as well."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from playwright.sync_api import Locator, Page, expect
from reader import serious
from reading import NASTY, LabOnPage, Mounted
from small_transformers import KIND, ROW, SIZES
from small_transformers import exported as made_ready

import heed
from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.evaluation.decoding import translate
from heed.experiments.export import as_exported
from heed.experiments.table import EXPERIMENTS, find
from heed.experiments.trained import load
from heed.labs import HeadsLab
from heed.labs.site import exported
from heed.models.transformer import PLACES, Changed, Changes, Transformer, TransformerConfig

pytestmark = pytest.mark.usefixtures("unchecked")

TEXT = "a b c d e f"
WIDE = replace(
    ROW,
    name="tiny_transformer_wide",
    config=partial(TransformerConfig, **SIZES | {"heads": 4, "encoder_layers": 3}, **KIND),
)
ROWS = (ROW, WIDE)
MODELS = {"three heads": ROW.name, "four": WIDE.name}
SHIPPED = [name for name in exported() if find(name).build is Transformer]
LAYERS = {"encoder": SIZES["encoder_layers"], "decoder": SIZES["decoder_layers"]}
HEADS = SIZES["heads"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both with their graphs, as in ``data/trained``."""
    top = tmp_path_factory.mktemp("transformers")
    return made_ready(top / "trained", top / "runs", *ROWS)


@pytest.fixture
def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are in the table, and lie where shipped models lie."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    for row in ROWS:
        monkeypatch.setitem(EXPERIMENTS, row.name, row)


@pytest.fixture
def lab(shipped: None) -> Iterator[HeadsLab]:
    made = HeadsLab(MODELS, {"four": "One more of each."}, text=TEXT, layer=2, head=3)
    yield made
    made.close()


def maps(lab: HeadsLab, place: str, layer: int, head: int) -> list[list[float]]:
    return lab.answer["maps"][place][layer - 1][head - 1]


# ---------------------------------------------------------------------------- the kernel


def test_left_alone_it_says_what_the_model_says(lab: HeadsLab) -> None:
    for choice, name in enumerate(MODELS.values()):
        lab.choice = choice
        trained = heed.load(name)
        said = trained.translate(TEXT)
        assert lab.answer["target"] == [*said.words, *["</s>"] * said.finished]
        assert lab.answer["alone"] is None
        cross = np.array(lab.answer["maps"]["cross"])
        np.testing.assert_allclose(cross.mean((0, 1)), said.weights, atol=1e-5)


@pytest.mark.parametrize("place", PLACES)
def test_every_head_is_in_the_answer_and_each_row_is_shared_out(lab: HeadsLab, place: str) -> None:
    layers = lab.answer["maps"][place]
    assert [len(heads) for heads in layers] == [HEADS] * LAYERS.get(place, LAYERS["decoder"])
    asks = lab.answer["source" if place == "encoder" else "target"]
    for heads in layers:
        for rows in heads:
            assert len(rows) == len(asks)
            np.testing.assert_allclose([sum(row) for row in rows], 1, atol=1e-4)
    if place == "decoder":  # a word sees those before it and the start
        assert [len(row) for row in maps(lab, place, 1, 1)] == list(range(1, len(asks) + 1))


def test_the_maps_are_those_of_the_model_reading_what_it_wrote(lab: HeadsLab) -> None:
    lab.off = [("cross", 1, 2)]
    trained = heed.load(ROW.name)
    words = [word for word in lab.answer["target"] if word != "</s>"]
    pair = Pair(source=tuple(TEXT.split()), target=tuple(words))
    batch = encode_batch([pair], trained.source_vocab, trained.target_vocab)
    changes = Changes(off=(("cross", 1, 2),))
    with torch.inference_mode():
        found = trained.model(
            batch.source, batch.source_lengths, batch.target[:, :-1], changes=changes
        ).maps
    for place in PLACES:
        for layer, heads in enumerate(lab.answer["maps"][place], 1):
            for head, rows in enumerate(heads):
                wanted = found[f"{place} {layer}"][0, head]
                for row, looks in enumerate(rows):
                    np.testing.assert_allclose(looks, wanted[row, : len(looks)], atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"off": [("encoder", 1, 1), ("encoder", 2, 3), ("cross", 2, 1)]},
        {"off": [("decoder", 1, 1), ("decoder", 1, 2), ("decoder", 1, 3)]},
        {"source_shift": 11},
        {"target_shift": 5},
        {"source_places": False},
        {"target_places": False, "off": [("cross", 1, 3)]},
    ],
)
def test_what_is_done_to_it_is_done_to_the_model(lab: HeadsLab, settings: dict[str, Any]) -> None:
    before = lab.answer
    lab.set_state(settings)
    trained = heed.load(ROW.name)
    said: dict[str, Any] = settings | {"off": tuple(map(tuple, settings.get("off", ())))}
    model = Changed(trained.model, Changes(**said))
    (wanted,) = translate(model, [TEXT.split()], trained.source_vocab, trained.target_vocab)
    assert lab.answer["target"] == [*wanted.words, *["</s>"] * wanted.finished]
    assert lab.answer["alone"] == before["target"]
    assert lab.answer["maps"] != before["maps"]
    lab.set_state({name: HeadsLab.class_traits()[name].default() for name in settings})
    assert lab.answer["alone"] is None
    assert lab.answer["maps"] == before["maps"]


def test_a_head_that_the_other_model_lacks_waits_for_the_one_that_has_it(lab: HeadsLab) -> None:
    lab.set_state({"choice": 1, "off": [["encoder", 3, 4]]})
    assert lab.answer["alone"]
    lab.choice = 0
    assert lab.answer["alone"] is None
    lab.choice = 1
    assert lab.answer["alone"]


def test_the_trace_is_the_large_map(lab: HeadsLab) -> None:
    assert lab.trace.name == "cross 2.3"
    assert lab.trace.query.labels == tuple(lab.answer["target"])
    assert lab.trace.key.labels == tuple(lab.answer["source"])
    before = lab.answer
    lab.set_state({"place": "decoder", "layer": 1, "head": 2})
    assert lab.answer is before  # nobody is asked
    assert lab.trace.name == "decoder 1.2"
    assert lab.trace.key.labels == ("<s>", *lab.answer["target"][:-1])
    assert (np.triu(lab.trace.weights[0], 1) == 0).all()
    np.testing.assert_allclose(lab.trace.weights[0].sum(1), 1, atol=1e-4)
    lab.set_state({"place": "encoder", "layer": 9, "head": 9})
    assert lab.trace.name == "encoder 2.3"  # the last that there is
    np.testing.assert_allclose(lab.trace.weights[0], maps(lab, "encoder", 2, 3), atol=1e-6)


def test_a_model_that_was_changed_answers_anew(lab: HeadsLab) -> None:
    trained = load(ROW, heed.load(ROW.name).folder)
    made = HeadsLab(trained, text=TEXT, off=[("cross", 1, 1)])
    before = made.answer
    with torch.no_grad():
        trained.model.output.weight.neg_()
    made.refresh()
    assert made.answer["target"] != before["target"]
    assert made.answer["alone"] != before["alone"]
    assert made.models == []
    made.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: HeadsLab("bahdanau_grammar"), "the heads of a Transformer, and bahdanau_grammar"),
        (lambda: HeadsLab({}), "HeadsLab needs a model"),
        (lambda: HeadsLab(MODELS, off=[("cross", 1)]), "off=('cross', 1): give heads by place"),
        (
            lambda: HeadsLab(MODELS, off=[("crosses", 1, 1)]),
            "give heads by place, layer and number",
        ),
        (lambda: HeadsLab(MODELS, off=[("cross", 0, 1)]), "give heads by place, layer and number"),
        (
            lambda: HeadsLab(MODELS, off=[("cross", 1, 1.5)]),
            "give heads by place, layer and number",
        ),
        (lambda: HeadsLab(MODELS, place="elsewhere"), "place"),
        (lambda: HeadsLab(MODELS, source_shift=-1), "source_shift"),
        (lambda: HeadsLab(MODELS, choice=2), "choice=2, but there are 2"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    make: Callable[[], HeadsLab],
    said: str,
    shipped: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "bahdanau" in said:
        monkeypatch.delenv("HEED_TRAINED")
    with pytest.raises((TypeError, ValueError, traitlets.TraitError)) as caught:
        make()
    assert said in str(caught.value)


@pytest.mark.parametrize("sent", ["cross", [["cross", 1]], [1], [["cross", 1, "1"]], [None], 7])
def test_heads_that_are_none_are_left_out(lab: HeadsLab, sent: Any) -> None:
    lab.set_state({"off": [["cross", 1, 2]]})
    lab.set_state({"off": sent})
    assert lab.off == [["cross", 1, 2]]


def test_without_a_script_the_large_map_is_drawn(lab: HeadsLab) -> None:
    lab.set_state({"off": [["encoder", 1, 2]], "place": "encoder", "layer": 1, "head": 2})
    html = re.sub("<script.*?</script>", "", lab.html(), flags=re.S)
    for part in (
        "reading",
        "Layer 1, head 2: switched off",
        "If nothing is done to it, it writes:",
    ):
        assert part in html
    assert html.count("<td") > len(lab.answer["source"]) ** 2
    lab.text = ""
    assert "<table" not in lab.html()


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


class Opened(LabOnPage):
    box = "An English sentence"

    def french(self) -> list[str]:
        return self.root.locator(".heed-words button").all_inner_texts()

    def thumbnail(self, layer: int, head: int) -> Locator:
        return self.root.get_by_role("button", name=re.compile(f"^Layer {layer}, head {head}"))

    def switch(self, layer: int, head: int) -> Locator:
        return self.root.get_by_role("switch", name=f"Layer {layer}, head {head} is on")

    def place(self, name: str) -> None:
        self.root.get_by_role("radio", name=f"({name})").click()

    def says(self) -> Locator:
        return self.root.locator(".heed-heads > .heed-says")

    def drawing(self) -> str:
        return self.root.evaluate(
            """root => JSON.stringify([
                [...root.querySelectorAll(".heed-map")].filter((each) => each.checkVisibility())
                    .flatMap((each) => [...each.querySelectorAll("td[data-row], th")])
                    .map((each) => [each.dataset.weight, each.className, each.innerText]),
                [...root.querySelectorAll(".heed-thumbnail canvas")].map((e) => e.toDataURL()),
                [...root.querySelectorAll(".heed-head")].map((each) => each.className),
                root.querySelector(".heed-words").innerText,
                root.querySelector(".heed-heads-name").innerText,
                root.querySelector(".heed-heads-alone").innerText,
            ])"""
        )


@pytest.fixture
def opened(quiet: Page, models: None, sheet: Callable[[str], str], lab: HeadsLab) -> Opened:
    quiet.set_viewport_size({"width": 1000, "height": 1000})
    quiet.goto(sheet(lab.html()))
    return Opened(quiet)


SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"off": [["encoder", 1, 1], ["decoder", 2, 3], ["cross", 1, 2]]},
    {"off": [["cross", 1, head] for head in (1, 2, 3)], "source_shift": 3},
    {"off": [["encoder", 3, 4], ["cross", 2, 4]]},
    {"source_shift": 60, "target_shift": 7},
    {"source_places": False},
    {"target_places": False, "target_shift": 9},
    {"source_places": False, "target_places": False, "off": [["decoder", 1, 1]]},
)
TEXTS = (
    *(TEXT, "a", "b a", "c c c c", "d e", "h g f e d c b a", "a zyx b", "f e d", "g h", "e a e"),
    *("b b a a", "c d e f g", "a b c d e f g h a", "h", "d c b", "", "g f e d c b a h", "a h"),
    *("b c d e", "e f g h a b c", "h a h a h a", "c b a b c"),
)

ANSWERS = """async (given) => {
    const at = (path) => new URL(`labs/${path}`, location.href).href;
    const engine = await import(at("answers/heads.js"));
    const answers = [];
    for (const settings of given) {
        const get = (name) => settings[name];
        const models = await Promise.all(engine.models(get).map(engine.model));
        answers.push(await engine.answer(get, models));
    }
    return answers;
}"""


def compare(bench: Page, labs: list[HeadsLab]) -> None:
    """The page's answers to what the labs are asked, with those of the labs: within 1e-4."""
    given = [
        {name: getattr(lab, name) for name in (*lab.asks, *lab.facts, "models")} for lab in labs
    ]
    for here, lab in zip(bench.evaluate(ANSWERS, given), labs, strict=True):
        there = {k: v for k, v in lab.answer.items() if k not in {"count", "asked"}}
        assert list(here) == list(there)
        for name, value in there.items():
            if name != "maps":
                assert here[name] == value, (name, lab.text)
        for place in PLACES:
            assert len(here["maps"][place]) == len(there["maps"][place])
            for mine, yours in zip(here["maps"][place], there["maps"][place], strict=True):
                for one, other in zip(mine, yours, strict=True):
                    for row, wanted in zip(one, other, strict=True):
                        np.testing.assert_allclose(row, wanted, atol=1e-4, err_msg=lab.text)
        lab.close()


@browser
@pytest.mark.parametrize("choice", range(2), ids=list(MODELS))
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, shipped: None, choice: int
) -> None:
    compare(
        bench,
        [
            HeadsLab(MODELS, text=text, choice=choice, **SETTINGS[(i + k) % len(SETTINGS)])
            for i, text in enumerate(TEXTS)
            for k in (0, 3)
        ],
    )


@browser
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_answers_alike(bench: Page, name: str) -> None:
    text = "She will admire Louis ." if "reverse" not in name and "copy" not in name else TEXT
    compare(bench, [HeadsLab(as_exported(heed.load(name)), text=text, **each) for each in SETTINGS])


@browser
def test_a_switch_turns_a_head_off_and_the_words_change(opened: Opened, lab: HeadsLab) -> None:
    before, words = opened.drawing(), opened.french()
    expect(opened.says()).to_contain_text("Nothing is done to it.")
    expect(opened.root.locator(".heed-heads-alone")).to_be_hidden()
    opened.after(opened.switch(2, 3).click)
    lab.off = [("cross", 2, 3)]
    assert opened.french() == lab.answer["target"] != words
    changed = opened.root.locator(".heed-words .heed-is-changed")
    expect(changed.first).to_have_accessible_name(re.compile("not what it writes if nothing is"))
    expect(opened.root.locator(".heed-heads-alone")).to_contain_text("If nothing is done to it")
    expect(opened.says()).to_have_text(re.compile(r"^One head is off\. \d+ of \d+ words are other"))
    opened.after(opened.switch(1, 1).click)
    expect(opened.says()).to_contain_text("2 heads are off.")
    expect(opened.root.locator(".heed-head-off")).to_have_count(2)
    expect(opened.root.locator(".heed-heads-name")).to_contain_text("head 3: switched off")
    opened.place("encoder")
    expect(opened.root.locator(".heed-head-off")).to_have_count(0)
    opened.place("cross")
    opened.after(opened.root.get_by_role("button", name="Undo everything").click)
    assert (opened.french(), opened.drawing()) == (words, before)
    expect(opened.root.get_by_role("button", name="Undo everything")).to_be_disabled()


@browser
def test_a_thumbnail_is_the_map_in_small(opened: Opened, lab: HeadsLab) -> None:
    for place in PLACES:
        opened.place(place)
        for layer, head in ((1, 1), (2, 2)):
            opened.thumbnail(layer, head).click()
            name = opened.root.locator(".heed-heads-name")
            expect(name).to_have_text(f"Layer {layer}, head {head}")
            rows = maps(lab, place, layer, head)
            found = opened.root.locator(".heed-map:visible td[data-weight]")
            weights = [
                float(each) for each in found.evaluate_all("e => e.map(c => c.dataset.weight)")
            ]
            np.testing.assert_allclose(weights, [w for row in rows for w in row], atol=1e-3)
            pixels, wide = opened.thumbnail(layer, head).locator("canvas").evaluate(PIXELS)
            shades = np.array(pixels).reshape(len(rows), wide, 4)
            assert (shades[..., 3] > 0).sum(1).tolist() == [len(row) for row in rows]
            for row, shade in zip(rows, shades, strict=True):
                red = shade[: len(row), 0]  # cividis: the more weight, the more red
                assert red[np.argmax(row)] == red.max()


# A copy is read: Chromium complains of a canvas on screen that is read again and again.
PIXELS = """canvas => {
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height);
    const brush = copy.getContext("2d", { willReadFrequently: true });
    brush.drawImage(canvas, 0, 0);
    return [[...brush.getImageData(0, 0, width, height).data], width];
}"""


@browser
def test_by_keyboard_alone(opened: Opened) -> None:
    keys = opened.page.keyboard
    opened.thumbnail(2, 3).focus()
    keys.press("ArrowLeft")
    expect(opened.thumbnail(2, 2)).to_be_focused()
    expect(opened.thumbnail(2, 2)).to_have_attribute("aria-pressed", "true")
    expect(opened.root.locator(".heed-heads-name")).to_have_text("Layer 2, head 2")
    keys.press("ArrowUp")
    keys.press("ArrowUp")  # there is none above
    expect(opened.thumbnail(1, 2)).to_be_focused()
    for layer, head in ((1, 3), (2, 1)):  # the next layer begins where one ends
        keys.press("ArrowRight")
        expect(opened.thumbnail(layer, head)).to_be_focused()
    for _ in range(2):
        keys.press("ArrowLeft")
    keys.press("Tab")
    expect(opened.switch(1, 2)).to_be_focused()
    opened.after(lambda: keys.press("Space"))
    expect(opened.switch(1, 2)).not_to_be_checked()
    keys.press("ArrowRight")
    expect(opened.switch(1, 3)).to_be_focused()
    expect(opened.root.locator(".heed-heads-name")).to_have_text("Layer 1, head 3")
    opened.root.locator(".heed-words button").nth(1).focus()
    expect(opened.root.locator(".heed-map:visible tr.heed-selected th")).to_have_count(1)
    keys.press("ArrowDown")
    expect(
        opened.root.locator(".heed-map:visible td[data-row='1'][data-column='0']")
    ).to_be_focused()
    free = "[...document.querySelectorAll('heed-lab :is(input, button, summary, [tabindex])')]"
    assert opened.page.evaluate(f"{free}.every(e => e.dataset.lmSuppressShortcuts === 'true')")


@browser
def test_each_control_changes_the_drawing(opened: Opened) -> None:
    seen = [opened.drawing()]

    def changes(name: str, act: Callable[[], object], *, asks: bool = True) -> None:
        if asks:
            opened.after(act)
        else:
            act()
        assert opened.drawing() != seen[-1], name
        seen.append(opened.drawing())

    root = opened.root
    shift = root.get_by_label("Places left free before the English")
    changes("encoder", lambda: opened.place("encoder"), asks=False)
    changes("decoder", lambda: opened.place("decoder"), asks=False)
    changes("a head", opened.thumbnail(1, 1).click, asks=False)
    changes("a switch", opened.switch(1, 2).click)
    changes("English moved", lambda: shift.fill("9"))
    changes(
        "French moved", lambda: root.get_by_label("Places left free before the French").fill("4")
    )
    changes("English placeless", root.get_by_label("English words are told their places").click)
    expect(shift).to_be_disabled()
    changes("French placeless", root.get_by_label("French words are told their places").click)
    expect(opened.says()).to_contain_text("One head is off. No English word is told its place.")
    changes("a word", root.locator(".heed-words button").nth(2).click, asks=False)
    changes("a model", root.get_by_label("four", exact=True).click)
    expect(root.locator(".heed-note").first).to_have_text("One more of each.")
    changes("a text", lambda: root.get_by_role("textbox").fill("b a"))
    changes("undone", root.get_by_role("button", name="Undo everything").click)


@browser
def test_what_stands_in_the_encoder_is_english_and_a_french_word_leads_back(opened: Opened) -> None:
    opened.place("encoder")
    expect(opened.root.locator(".heed-map:visible .heed-axis-query")).to_have_text("reading")
    expect(opened.root.locator(".heed-words [aria-pressed='true']")).to_have_count(0)
    opened.root.locator(".heed-words button").nth(2).click()
    expect(opened.root.get_by_role("radio", name="(cross)")).to_be_checked()
    expect(opened.root.locator(".heed-words button").nth(2)).to_have_attribute(
        "aria-pressed", "true"
    )


@browser
@pytest.mark.parametrize("name", NASTY)
def test_odd_texts_get_a_sensible_picture(opened: Opened, name: str) -> None:
    opened.write(NASTY[name])
    if NASTY[name].strip():
        expect(opened.root.locator(".heed-map:visible td").first).to_be_attached()
    else:
        expect(opened.root.locator(".heed-heads-board")).to_be_hidden()
        expect(opened.root.locator(".heed-sheet > .heed-status")).to_have_text(
            "Type an English sentence."
        )
    assert opened.root.locator("img, script:not([type='application/json'])").count() == 0
    assert opened.page.evaluate("document.title") == "Labs"
    assert "NaN" not in opened.drawing()


@browser
def test_unknown_words_are_shown_as_such(opened: Opened) -> None:
    opened.write("a zyx b")
    expect(opened.root.locator(".heed-status").first).to_contain_text("read as <unk>: zyx.")
    strange = opened.root.locator(".heed-map:visible th.heed-unknown")
    expect(strange.filter(has_text="zyx")).to_have_count(1)
    opened.place("encoder")
    expect(strange.filter(has_text="zyx")).to_have_count(2)


@browser
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: HeadsLab) -> None:
    Mounted(bench, lab.html()).fails(text="b a")


@browser
def test_a_model_that_was_changed_leaves_a_drawing_to_look_at(
    quiet: Page, models: None, sheet: Callable[[str], str], shipped: None
) -> None:
    trained = heed.load(ROW.name)
    trained.model.output.weight.data.neg_()
    made = HeadsLab(trained, text=TEXT)
    quiet.goto(sheet(made.html()))
    root = quiet.locator("heed-lab")
    expect(root.locator(".heed-words button")).to_have_count(len(made.answer["target"]))
    expect(root.get_by_role("textbox")).to_be_hidden()
    expect(root.get_by_role("switch", name="Layer 1, head 1 is on")).to_be_disabled()
    root.get_by_role("button", name="Layer 2, head 2").click()
    expect(root.locator(".heed-heads-name")).to_have_text("Layer 2, head 2")
    made.close()


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Opened, theme: str) -> None:
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.after(opened.switch(2, 1).click)
    opened.root.locator("summary:visible", has_text="Numbers").click()
    assert serious(opened.page) == {}
    opened.place("encoder")
    assert serious(opened.page) == {}


@browser
def test_a_phone(opened: Opened) -> None:
    opened.page.set_viewport_size({"width": 360, "height": 740})
    opened.after(opened.root.get_by_label("four", exact=True).click)
    opened.write("a b c d e f g h a b c d e f g h")
    opened.after(opened.switch(1, 4).click)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    reaches = opened.root.evaluate(
        """root => {
            const right = root.querySelector(".heed-sheet").getBoundingClientRect().right;
            return [...root.querySelectorAll(
                ".heed-sheet :is(p, .heed-control, .heed-scroll, .heed-head)")]
                .filter((each) => each.getBoundingClientRect().right > right + 1)
                .map((each) => each.className);
        }"""
    )
    assert reaches == []
    small = opened.root.locator("button:visible, input:visible").evaluate_all(
        "all => all.map(e => [e.outerHTML, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)"
    )
    assert small == []


@browser
def test_two_on_a_page_do_not_meet(
    quiet: Page, models: None, sheet: Callable[[str], str], lab: HeadsLab
) -> None:
    quiet.goto(sheet(lab.html() * 2))
    one, other = Opened(quiet), Opened(quiet, 1)
    before = other.drawing()
    one.after(one.switch(2, 1).click)
    assert other.drawing() == before
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
