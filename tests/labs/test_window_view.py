"""The lab that moves Luong's window: in the kernel, and in a page."""

import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PATIENCE, ROOT, Log, serious
from reading import NASTY, LabOnPage

import heed
from heed.experiments.export import export
from heed.experiments.table import find, trained_folder
from heed.labs import WindowLab
from heed.labs.site import copy_assets

TEXT = "a b c d e f g h"
MODELS = {
    "local-p": "luong_local_p_reverse",
    "local-m": "luong_local_m_reverse",
    "global": "luong_global_reverse",
}
D, SIGMA = 3, 1.5


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three networks that turn letters round, exported. What is shipped is never written to."""
    folder = tmp_path_factory.mktemp("trained")
    for name in MODELS.values():
        shutil.copytree(trained_folder() / name, folder / name)
        row = find(name)
        export(heed.load(row, folder / name), row.load())
    return folder


@pytest.fixture(autouse=True)
def shipped_toys(toys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEED_TRAINED", str(toys))


@pytest.fixture
def lab() -> Iterator[WindowLab]:
    made = WindowLab(MODELS, {"local-p": "It says where."}, text=TEXT, row=2)
    yield made
    made.close()


def rows(lab: WindowLab, name: str = "weights") -> np.ndarray:
    return np.array(lab.answer[name])


# ---------------------------------------------------------------------------- the kernel


def test_left_alone_it_says_what_the_model_says() -> None:
    for choice, name in enumerate(MODELS.values()):
        lab = WindowLab(MODELS, text=TEXT, choice=choice)
        said = heed.load(name).translate(TEXT)
        assert lab.answer["target"] == [*said.words, "</s>"]
        assert lab.answer["alone"] is None
        np.testing.assert_allclose(rows(lab), said.weights, atol=1e-6)
        np.testing.assert_array_equal(lab.trace.weights[0], said.weights)
        lab.close()


def test_what_is_used_is_the_softmax_times_the_hill_and_nobody_divides_again(lab) -> None:
    away = np.arange(9) - np.array(lab.answer["places"])[:, None]
    hill = np.exp(-(away**2) / (2 * SIGMA**2))
    np.testing.assert_allclose(rows(lab), rows(lab, "align") * hill, atol=1e-5)
    np.testing.assert_allclose(rows(lab, "align").sum(1), 1, atol=1e-5)
    assert (rows(lab).sum(1) < 0.999).all()
    assert (rows(lab)[np.abs(away) > D] == 0).all()


def test_a_place_by_hand_moves_one_window_or_all(lab: WindowLab) -> None:
    own = lab.answer["places"]
    lab.set_state({"where": "hand", "places": {"2": 1.5}})
    assert lab.answer["places"][2] == 1.5
    assert lab.answer["places"][:2] == own[:2]
    assert lab.answer["alone"] == ["h", "g", "f", "e", "d", "c", "b", "a", "</s>"]
    assert lab.answer["target"] != lab.answer["alone"]
    assert rows(lab)[2, 5:].sum() == 0
    lab.still = 4.0
    assert lab.answer["places"][:4] == [4.0, 4.0, 1.5, 4.0]
    lab.where = "model"  # what was put there waits
    assert lab.answer["places"] == own
    assert lab.answer["alone"] is None


def test_the_number_of_the_word_is_local_m(lab: WindowLab) -> None:
    lab.where = "step"
    assert lab.answer["places"] == list(range(len(lab.answer["target"])))
    assert lab.answer["alone"]
    lab.choice = 1  # that is what local-m does anyway; only the hill is not its own
    assert lab.answer["alone"]
    lab.hill = False
    assert lab.answer["alone"] is None
    lab.where = "model"
    assert lab.answer["places"] == list(range(len(lab.answer["target"])))


@pytest.mark.parametrize("choice", [0, 1])
def test_everything_is_global_attention(lab: WindowLab, choice: int) -> None:
    lab.set_state({"choice": choice, "everything": True})
    np.testing.assert_allclose(rows(lab).sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(rows(lab), rows(lab, "align"))
    wide = WindowLab(MODELS, text=TEXT, choice=choice, radius=60, hill=False)
    assert wide.answer["weights"] == lab.answer["weights"]
    wide.close()


def test_the_widths_do_what_they_say(lab: WindowLab) -> None:
    lab.radius = 1
    assert ((rows(lab) > 0).sum(1) <= 3).all()
    assert lab.window.sigma == 0.5
    lab.set_state({"radius": D, "linked": False, "sigma": 0.3})
    away = np.abs(np.arange(9) - np.array(lab.answer["places"])[:, None])
    assert (rows(lab)[away > 1] < 0.01).all()
    lab.hill = False
    np.testing.assert_allclose(rows(lab).sum(1), 1, atol=1e-5)


def test_global_attention_gets_a_window_where_one_is_held(lab: WindowLab) -> None:
    lab.set_state({"choice": 2, "radius": 1, "everything": False})
    assert lab.answer["places"] == [None] * 9
    assert lab.answer["alone"] is None
    assert not lab.moved
    lab.set_state({"where": "hand", "places": {0: 2.0}})
    assert lab.answer["places"] == [2.0] + [None] * (len(lab.answer["target"]) - 1)
    assert (rows(lab)[0] > 0).nonzero()[0].tolist() == [1, 2, 3]
    np.testing.assert_allclose(rows(lab)[1].sum(), 1, atol=1e-5)


def test_a_window_off_the_page_looks_at_nothing(lab: WindowLab) -> None:
    lab.set_state({"where": "hand", "still": 40})
    assert rows(lab).sum() == 0
    assert rows(lab, "align").sum() == 0


def test_it_begins_as_the_chosen_model_learnt() -> None:
    for choice, hill in enumerate([True, False, False]):
        made = WindowLab(MODELS, choice=choice, text=TEXT)
        assert (made.radius, made.hill, made.linked) == (D, hill, True)
        assert not made.moved
        made.close()
    one = WindowLab("luong_local_p_reverse", text=TEXT, radius=2)
    assert one.choices == [
        {
            **{"label": "", "note": "", "attention": "local_p"},
            **{"radius": D, "sigma": SIGMA, "linked": True, "hill": True},
        }
    ]
    assert one.moved
    one.close()


def test_what_is_not_asked_computes_nothing(lab: WindowLab) -> None:
    before = lab.answer
    lab.set_state({"row": 5})
    assert lab.answer is before


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: WindowLab("bahdanau_grammar"), "window of a Luong, and bahdanau_grammar is a Bah"),
        (lambda: WindowLab({}), "WindowLab needs a model"),
        (lambda: WindowLab(MODELS, {"nobody": "?"}), "a note on 'nobody', but the models are loc"),
        (lambda: WindowLab(MODELS, choice=3), "choice=3, but there are 3"),
        (lambda: WindowLab(MODELS, choices=[]), "are made from its models"),
        (lambda: WindowLab(MODELS, places={"a": 1}), "give places by step, as in {3: 4.5}"),
        (lambda: WindowLab(MODELS, places={0: math.nan}), "a place at nan is not from 0 to 61"),
        (lambda: WindowLab(MODELS, places={math.inf: 1}), "give places by step, as in {3: 4.5}"),
        (lambda: WindowLab(MODELS, radius=0), "radius"),
        (lambda: WindowLab(MODELS, sigma=math.nan), "sigma=nan is no finite number"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    make: Callable[[], WindowLab], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "bahdanau" in said:
        monkeypatch.delenv("HEED_TRAINED")
    with pytest.raises((TypeError, ValueError, traitlets.TraitError)) as caught:
        make()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sent", [{"0": 99}, {"0": -1}, {"x": 1}, [1], {"0": None}, {"0": "z"}])
def test_places_that_are_none_are_left_out(lab: WindowLab, sent: Any) -> None:
    lab.set_state({"where": "hand", "places": {"1": 2}})
    lab.set_state({"places": sent})
    assert lab.places == {"1": 2.0}


def test_a_choice_that_is_none_is_left_out_and_what_came_with_it_is_not(lab: WindowLab) -> None:
    before = lab.answer["count"]
    lab.set_state({"choice": len(MODELS), "text": "a b"})
    assert (lab.choice, lab.text) == (0, "a b")
    assert lab.answer["count"] == before + 1
    assert lab.answer["asked"]["text"] == "a b"


def test_without_a_script_one_look_is_drawn_in_its_three_stages(lab: WindowLab) -> None:
    html = lab.html()
    for part in ("softmax in the window", "Gaussian", "their product, what is used"):
        assert part in html
    assert f"‘f’: the window is around {lab.answer['places'][2]:.1f}, and 0.93 of" in html
    lab.choice = 2
    assert "‘f’ looks through no window" in lab.html()
    assert "Gaussian" not in re.sub("<script.*?</script>", "", lab.html(), flags=re.S)


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


@pytest.fixture(scope="module")
def host(assets: Path, toys: Path) -> None:
    """The toys lie where the page looks for models."""
    copy_assets(assets, MODELS.values(), vendor=ROOT / "book" / "_vendor", trained=toys)


class Opened(LabOnPage):
    box = "An English sentence"

    def text(self, name: str) -> str:
        return self.root.locator(f".heed-{name}").first.inner_text()

    def french(self) -> list[str]:
        return self.root.locator(".heed-words button").all_inner_texts()

    def pick(self, row: int) -> None:
        self.root.locator(".heed-words button").nth(row).click()

    def handle(self) -> Locator:
        return self.root.get_by_role("slider", name="Middle of the window, p").first

    def place(self) -> float:
        return float(self.handle().get_attribute("aria-valuenow") or "nan")

    def choose(self, name: str) -> None:
        self.after(self.root.get_by_label(name, exact=True).click)

    def slide(self, name: str, value: float) -> None:
        self.after(lambda: self.root.get_by_label(name, exact=True).last.fill(str(value)))

    def drawing(self) -> str:
        return self.root.evaluate(
            """root => JSON.stringify([
                [...root.querySelectorAll(".heed-window-picture :is(path, rect, .handle)")].map(
                    (each) => [each.getAttribute("d"), each.getAttribute("x"),
                        each.getAttribute("width"), each.getAttribute("transform"),
                        each.style.display]),
                [...root.querySelectorAll(".heed-window-picture text")].map((e) => e.textContent),
                [...root.querySelectorAll(".heed-map td[data-row]")].map(
                    (each) => [each.dataset.weight, each.className]),
                root.querySelector(".heed-words").innerText,
            ])"""
        )


@pytest.fixture
def opened(quiet: Page, host: None, sheet: Callable[[str], str], lab: WindowLab) -> Opened:
    quiet.set_viewport_size({"width": 1000, "height": 1000})
    quiet.goto(sheet(lab.html()))
    return Opened(quiet)


SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"where": "step"},
    {"where": "hand", "places": {"2": 1.5, "5": 7.3}},
    {"where": "hand", "still": 4.4},
    {"where": "hand", "places": {"0": 0.0}, "still": 6.0, "radius": 1},
    {"where": "model", "places": {"0": 0.0}, "still": 6.0},
    {"radius": 1, "linked": True},
    {"linked": False, "sigma": 0.3},
    {"hill": False},
    {"everything": True},
    {"everything": True, "where": "hand", "still": 2.0},
    {"where": "hand", "still": 40.0},
    {"radius": 7, "where": "step", "hill": True, "linked": False, "sigma": 9.9},
)
TEXTS = (TEXT, "t s r q p o n m l k j i h", "a zyx b", "j", "")


@browser
@pytest.mark.parametrize("choice", range(3), ids=list(MODELS))
def test_the_page_answers_what_the_kernel_answers(bench: Page, host: None, choice: int) -> None:
    """Within 1e-4; over 60 words two float32 programs differ by more."""
    given, wanted = [], []
    for text in TEXTS:
        for settings in SETTINGS:
            lab = WindowLab(MODELS, text=text, choice=choice, **settings)
            told = {name: getattr(lab, name) for name in (*lab.asks, *lab.facts, "models")}
            given.append(told)
            wanted.append({k: v for k, v in lab.answer.items() if k not in {"count", "asked"}})
            lab.close()
    found = bench.evaluate(
        """async (given) => {
            const at = (path) => new URL(`labs/${path}`, location.href).href;
            const engine = await import(at("answers/window.js"));
            const answers = [];
            for (const settings of given) {
                const get = (name) => settings[name];
                const models = await Promise.all(engine.models(get).map(engine.model));
                answers.push(await engine.answer(get, models));
            }
            return answers;
        }""",
        given,
    )
    for here, there, settings in zip(found, wanted, given, strict=True):
        assert list(here) == list(there), settings
        for name, value in there.items():
            if name in {"weights", "align"}:
                np.testing.assert_allclose(here[name], value, atol=1e-4, err_msg=str(settings))
            elif name == "places":
                assert [p is None for p in here[name]] == [p is None for p in value]
                pairs = [(a, b) for a, b in zip(here[name], value, strict=True) if b is not None]
                assert all(abs(a - b) < 1e-3 for a, b in pairs), settings
            else:
                assert here[name] == value, (name, settings)


@browser
def test_the_line_follows_the_mouse_and_the_words_change(opened: Opened) -> None:
    mouse, before, words = opened.page.mouse, opened.drawing(), opened.french()
    assert words[:3] == ["h", "g", "f"]
    start = opened.place()
    box = opened.handle().locator(".grip").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x + 2, y)  # not its middle: it must not jump there
    mouse.down()
    mouse.move(x + 2 - 62 * 4, y + 40, steps=6)  # columns are 62 wide where there is room
    mouse.up()
    expect(opened.handle()).to_have_attribute("aria-valuenow", f"{start - 4:.1f}")
    expect(opened.root.get_by_label("you", exact=True)).to_be_checked()
    alone = opened.root.locator(".heed-window-alone")
    expect(alone).to_have_text("Through its own window it writes: H g f e d c b a")
    assert opened.drawing() != before
    third = opened.root.locator(".heed-words button").nth(2)
    expect(third).not_to_have_text("f")
    mouse.move(x, y)
    assert opened.place() == pytest.approx(start - 4, abs=0.06)  # let go
    opened.after(opened.root.get_by_role("button", name="Back to the network").click)
    expect(alone).to_be_hidden()
    expect(third).to_have_text("f")
    assert opened.french() == words
    assert opened.drawing() == before


@browser
def test_the_line_follows_a_finger_and_the_page_stays(
    browser: Browser, home: str, host: None, sheet: Callable[[str], str], lab: WindowLab
) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 600})
    page, log = context.new_page(), Log(home)
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(sheet(lab.html()))
    opened = Opened(page)
    opened.handle().scroll_into_view_if_needed()
    top, at = page.evaluate("scrollY"), opened.place()
    box = opened.handle().locator(".grip").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for step in range(1, 6):
        touch("touchMove", (x - 15 * step, y + 8 * step))
    touch("touchEnd")
    page.wait_for_function(
        "([handle, at]) => Number(handle.getAttribute('aria-valuenow')) < at - 1",
        arg=[opened.handle().element_handle(), at],
    )
    assert page.evaluate("scrollY") == top
    assert log.complaints == []
    context.close()


@browser
def test_by_keyboard_alone(opened: Opened) -> None:
    keys = opened.page.keyboard
    opened.root.locator(".heed-words button").nth(2).focus()
    keys.press("ArrowRight")
    expect(opened.root.locator(".heed-words button").nth(3)).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(opened.root.locator(".heed-map tr.heed-selected th")).to_have_text("e")
    keys.press("ArrowDown")
    expect(opened.handle()).to_be_focused()
    at = opened.place()
    opened.after(lambda: keys.press("ArrowLeft"))
    assert opened.place() == pytest.approx(at - 0.1, abs=0.051)
    opened.after(lambda: keys.press("Shift+ArrowRight"))
    assert opened.place() == pytest.approx(at + 0.9, abs=0.051)
    opened.after(lambda: keys.press("Home"))
    assert opened.place() == 0
    said = opened.handle().get_attribute("aria-valuetext")
    assert said == "0.0, at ‘a’"
    opened.after(lambda: keys.press("End"))
    assert opened.place() == 9  # S, the end of the sentence counted
    says = opened.root.locator(".heed-window > .heed-says")
    expect(says).to_contain_text("’: the window goes from 6.0 to 12.0.")
    free = "[...document.querySelectorAll('heed-lab :is(input, button, summary, [tabindex])')]"
    assert opened.page.evaluate(f"{free}.every(e => e.dataset.lmSuppressShortcuts === 'true')")


@browser
def test_each_control_changes_the_drawing(opened: Opened) -> None:
    seen = [opened.drawing()]

    def changes(name: str, act: Callable[[], object]) -> None:
        act()
        assert opened.drawing() != seen[-1], name
        seen.append(opened.drawing())

    root = opened.root
    changes("D", lambda: opened.slide("Reach D", 5))
    changes("σ", lambda: opened.slide("Width of the hill σ", 0.4))
    expect(root.get_by_label("σ = D / 2, as in the paper")).not_to_be_checked()
    changes("linked", lambda: opened.choose("σ = D / 2, as in the paper"))
    changes("no hill", lambda: opened.choose("With the Gaussian"))
    changes("hill", lambda: opened.choose("With the Gaussian"))
    changes("everything", lambda: opened.choose("Everything: D ≥ S, σ → ∞"))
    for name in ("Reach D", "Width of the hill σ", "With the Gaussian"):
        expect(root.get_by_label(name, exact=True)).to_be_disabled()
    changes("not everything", lambda: opened.choose("Everything: D ≥ S, σ → ∞"))
    changes("p = t", lambda: opened.choose("the number of the word, p = t (local-m)"))
    changes("place", lambda: opened.slide("Middle of the window, p", 7))
    changes("every word", lambda: opened.choose("every word"))
    changes("a word", lambda: opened.pick(0))
    changes("local-m", lambda: opened.choose("local-m"))
    expect(root.get_by_label("Middle of the window, p").last).to_have_value("0")
    changes("global", lambda: opened.choose("global"))
    expect(root.get_by_text("no window", exact=True)).to_be_visible()
    expect(root.get_by_label("Reach D")).to_be_disabled()
    changes("a window in global", lambda: opened.choose("you"))
    expect(root.get_by_label("Reach D")).to_be_enabled()
    changes("a click", lambda: opened.after(lambda: opened.root.locator(
        ".heed-window-picture").click(position={"x": 60, "y": 120})))  # fmt: skip


@browser
def test_a_place_for_every_word_and_for_one_alone(opened: Opened) -> None:
    opened.choose("the number of the word, p = t (local-m)")
    opened.slide("Middle of the window, p", 6.5)  # the others stay where they were
    places = ["2, 6.5", "3, 3.0"]
    assert [f"{t}, {placed_at(opened, t)}" for t in (2, 3)] == places
    opened.pick(2)
    opened.choose("every word")
    assert {placed_at(opened, t) for t in (0, 3, 5)} == {6.5}
    opened.pick(1)
    opened.choose("‘g’ alone")
    assert placed_at(opened, 1) == 6.5
    assert placed_at(opened, 2) != 6.5


def placed_at(opened: Opened, row: int) -> float:
    opened.pick(row)
    expect(opened.root.locator(".heed-words button").nth(row)).to_have_attribute(
        "aria-pressed", "true"
    )
    return opened.place()


@browser
def test_a_new_sentence_lets_the_window_go(opened: Opened) -> None:
    opened.slide("Middle of the window, p", 1)
    opened.write("a b c d e")
    expect(opened.root.get_by_label("the network (local-p)")).to_be_checked()
    assert opened.french() == ["e", "d", "c", "b", "a", "</s>"]
    expect(opened.root.locator(".heed-words button").first).to_have_attribute(
        "aria-pressed", "true"
    )


@browser
@pytest.mark.parametrize("name", NASTY)
def test_odd_texts_get_a_sensible_picture(opened: Opened, name: str) -> None:
    opened.write(NASTY[name])
    if NASTY[name].strip():
        expect(opened.root.locator(".heed-window-picture .words text").first).to_be_attached()
        assert opened.handle().get_attribute("aria-valuenow")
    else:
        expect(opened.root.locator(".heed-window-frame")).to_be_hidden()
        expect(opened.root.locator(".heed-sheet > .heed-status")).to_have_text(
            "Type an English sentence."
        )
    assert opened.root.locator("img, script:not([type='application/json'])").count() == 0
    assert opened.page.evaluate("document.title") == "Labs"
    assert "NaN" not in opened.drawing()


@browser
def test_the_numbers_are_a_table_and_the_line_says_what_is_left(opened: Opened) -> None:
    opened.root.locator("summary", has_text="The numbers of this look").click()
    cells = opened.root.locator(".heed-numbers tbody").first.locator("tr").nth(5).locator("td")
    align, hill, product = (float(text) for text in cells.all_inner_texts())
    assert product == pytest.approx(align * hill, abs=2e-4)
    says = opened.root.locator(".heed-window > .heed-says")
    expect(says).to_contain_text("The softmax gives out 1.00, and 0.93 of it is left. ‘f’ looks at")


@browser
def test_a_model_that_was_changed_leaves_a_drawing_to_look_at(
    quiet: Page, host: None, sheet: Callable[[str], str]
) -> None:
    trained = heed.load("luong_local_p_reverse")
    trained.model.places.v.weight.data.zero_()
    made = WindowLab(trained, text=TEXT)
    quiet.goto(sheet(made.html()))
    root = quiet.locator("heed-lab")
    expect(root.locator(".heed-words button")).to_have_count(len(made.answer["target"]))
    expect(root.get_by_role("textbox")).to_be_hidden()
    before = root.locator(".handle").get_attribute("transform")
    root.locator(".handle").press("ArrowLeft")
    root.locator(".heed-words button").nth(1).click()
    expect(root.locator(".heed-words button").nth(1)).to_have_attribute("aria-pressed", "true")
    assert root.locator(".handle").get_attribute("transform") == before  # all at S / 2
    made.close()


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Opened, theme: str) -> None:
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.slide("Middle of the window, p", 1)
    opened.root.locator("summary", has_text="The numbers of this look").click()
    assert serious(opened.page) == {}
    opened.choose("global")
    assert serious(opened.page) == {}


@browser
def test_a_phone(opened: Opened) -> None:
    opened.page.set_viewport_size({"width": 360, "height": 740})
    opened.write("a b c d e f g h i j k l m n o p q r s t")
    opened.slide("Middle of the window, p", 1)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    reaches = opened.root.evaluate(
        """root => {
            const right = root.querySelector(".heed-sheet").getBoundingClientRect().right;
            return [...root.querySelectorAll(".heed-sheet :is(p, .heed-control, .heed-scroll)")]
                .filter((each) => each.getBoundingClientRect().right > right + 1)
                .map((each) => each.className);
        }"""
    )
    assert reaches == []
    small = opened.root.locator("button:visible, .reach, input:visible").evaluate_all(
        "all => all.map(e => [e.outerHTML, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)"
    )
    assert small == []


@browser
def test_two_on_a_page_do_not_meet(
    quiet: Page, host: None, sheet: Callable[[str], str], lab: WindowLab
) -> None:
    quiet.goto(sheet(lab.html() * 2))
    one, other = Opened(quiet), Opened(quiet, 1)
    before = other.drawing()
    one.slide("Middle of the window, p", 1)
    assert other.drawing() == before
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
