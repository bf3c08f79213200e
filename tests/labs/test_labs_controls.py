"""Controls, the store of the page, and the rule of asking."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from reader import PATIENCE, serious

pytestmark = pytest.mark.browser

SHOW = """async () => {
    const controls = await import(new URL("labs/controls.js", location.href).href);
    const { slider, choice, toggle, textBox, button, group } = controls;
    window.heard = [];
    const onInput = (value) => window.heard.push(value);
    const options = [
        { value: "own", label: "its own way" },
        { value: "uniform", label: "everywhere alike" },
    ];
    window.made = {
        slider: slider({
            label: "Temperature", min: 0.1, max: 5, step: 0.1, value: 1,
            format: (x) => x.toFixed(1), help: "Below 1 it is sharper.", onInput,
        }),
        choice: choice({ label: "Where it looks", options, value: "own", onInput }),
        toggle: toggle({ label: "Copy names", value: true, onInput }),
        textBox: textBox({ label: "A sentence", value: "Yes.", onInput }),
        button: button({ label: "Reset", onPress: () => onInput("pressed") }),
    };
    const lab = document.createElement("div");
    lab.className = "heed-lab";
    lab.append(group("Controls", ...Object.values(made).map((each) => each.element)));
    document.querySelector("main").append(lab);
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """In a profile of its own: where a test stops the clock, it stops for all pages of the profile,
    the later ones too."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()


@pytest.fixture
def shown(quiet: Page, home: str) -> Page:
    quiet.goto(f"{home}/empty.html")
    quiet.evaluate(SHOW)
    return quiet


def heard(page: Page) -> list[Any]:
    return page.evaluate("window.heard.splice(0)")


def test_each_control_has_a_name_and_a_role(shown: Page) -> None:
    expect(shown.get_by_role("slider", name="Temperature")).to_have_accessible_description(
        "Below 1 it is sharper."
    )
    expect(shown.get_by_role("group", name="Where it looks")).to_be_visible()
    expect(shown.get_by_role("radio", name="its own way")).to_be_checked()
    expect(shown.get_by_role("checkbox", name="Copy names")).to_be_checked()
    expect(shown.get_by_role("textbox", name="A sentence")).to_have_value("Yes.")
    expect(shown.get_by_role("button", name="Reset")).to_be_visible()
    assert shown.evaluate(
        "[...document.querySelectorAll('.heed-lab :is(input, textarea, button)')]"
        ".every((each) => each.dataset.lmSuppressShortcuts === 'true')"
    )


def test_the_keyboard_moves_each_of_them(shown: Page) -> None:
    keys = shown.keyboard
    keys.press("Tab")
    keys.press("ArrowRight")
    assert heard(shown) == [1.1]
    expect(shown.locator("output")).to_have_text("1.1")
    keys.press("Tab")
    keys.press("ArrowDown")
    assert heard(shown) == ["uniform"]
    keys.press("Tab")
    keys.press("Space")
    assert heard(shown) == [False]
    keys.press("Tab")
    keys.press("End")
    keys.type(" No")
    keys.press("Enter")
    assert heard(shown) == ["Yes. No"]
    keys.press("Tab")
    keys.press("Enter")
    assert heard(shown) == ["pressed"]


def test_typing_is_told_after_a_pause_and_once(shown: Page) -> None:
    """The page's clock is the test's: on a busy machine two keys lie further apart than a pause."""
    shown.clock.install()
    shown.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    box = shown.get_by_role("textbox")
    for letter in "abc":
        box.press_sequentially(letter)
        shown.clock.run_for(140)
        assert heard(shown) == []
    shown.clock.run_for(20)
    assert heard(shown) == ["Yes.abc"]
    shown.clock.run_for(1_000)
    assert heard(shown) == []
    box.fill("left")
    shown.get_by_role("button").focus()
    assert heard(shown) == ["left"]
    shown.clock.run_for(1_000)
    assert heard(shown) == []


def test_a_stopped_text_box_tells_nothing(shown: Page) -> None:
    shown.clock.install()
    shown.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    shown.get_by_role("textbox").press_sequentially("abc")
    shown.evaluate("made.textBox.stop()")
    shown.get_by_role("button").focus()
    shown.clock.run_for(1_000)
    assert heard(shown) == []


@pytest.mark.parametrize(("value", "said"), [(60, "60.0"), (1.04, "1.0")])
def test_a_slider_says_what_was_set_where_its_thumb_cannot_stand(
    shown: Page, value: float, said: str
) -> None:
    """A kernel may set what no reader could."""
    slider = shown.get_by_role("slider")
    shown.evaluate("value => (made.slider.value = value)", value)
    assert shown.evaluate("made.slider.value") == value
    expect(shown.locator("output")).to_have_text(said)
    expect(slider).to_have_attribute("aria-valuetext", said)
    assert heard(shown) == []
    slider.press("ArrowLeft")
    assert heard(shown)[0] <= 5


def test_setting_a_value_shows_it_and_calls_nobody(shown: Page) -> None:
    shown.evaluate(
        """() => {
            made.slider.value = 2.5;
            made.choice.value = "uniform";
            made.toggle.value = false;
            made.textBox.value = "another";
        }"""
    )
    expect(shown.locator("output")).to_have_text("2.5")
    assert shown.evaluate(
        "[made.slider.value, made.choice.value, made.toggle.value, made.textBox.value]"
    ) == [2.5, "uniform", False, "another"]
    shown.wait_for_timeout(250)
    assert heard(shown) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_controls_are_large_enough_and_axe_is_content(shown: Page, theme: str) -> None:
    shown.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    targets = ".heed-lab :is(input[type=range], label:has(input), .heed-switch, textarea, button)"
    for target in shown.locator(targets).all():
        box = target.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 24
    assert serious(shown) == {}


def test_the_focus_can_be_seen(shown: Page) -> None:
    for _ in range(5):
        shown.keyboard.press("Tab")
        outline, border, before = shown.evaluate(
            """() => {
                const each = document.activeElement;
                const style = getComputedStyle(each);
                const border = style.borderBottomColor;
                const outline = parseFloat(style.outlineWidth) * (style.outlineStyle !== "none");
                each.blur();
                const before = getComputedStyle(each).borderBottomColor;
                each.focus({ focusVisible: true });
                return [outline, border, before];
            }"""
        )
        assert outline >= 2 or border != before


# ------------------------------------------------------------------------ store and asking

ASK = """async () => {
    const here = (name) => new URL(`labs/${name}`, location.href).href;
    const { store } = await import(here("store.js"));
    const { asker } = await import(here("asking.js"));
    const model = store({ x: 0, y: 0, answer: { count: 0 } });
    const sent = [];
    model.on("saved", () => sent.push([model.get("x"), model.get("y")]));
    const ask = asker(model);
    const answer = (count) => model.set("answer", { count });
    return run();

    function run() {
        const seen = [];
        const look = () => seen.push(sent.splice(0));
        ask({ x: 1 });
        look();
        ask({ x: 2 });
        ask({ x: 3, y: 1 });
        look();
        answer(0);
        look();
        answer(1);
        look();
        answer(2);
        look();
        ask({ y: 2 });
        look();
        answer(3);
        ask({ x: 3, y: 2 }); // as they are
        look();
        ask({ x: 4 }); // and nobody waits for an answer to that
        look();
        answer(4);
        ask.stop();
        ask({ x: 5 });
        look();
        return seen;
    }
}"""


def test_while_an_answer_is_outstanding_only_the_latest_settings_wait(bench: Page) -> None:
    assert bench.evaluate(ASK) == [
        *([[1, 0]], [], [], [[3, 1]], [], [[3, 2]]),
        *([], [[4, 2]], []),
    ]


def test_who_never_answers_is_asked_again_after_five_seconds(shown: Page) -> None:
    shown.clock.install()
    shown.evaluate(
        """async () => {
            const here = (name) => new URL(`labs/${name}`, location.href).href;
            const { store } = await import(here("store.js"));
            const { asker } = await import(here("asking.js"));
            const model = store({ x: 0, answer: { count: 0 } });
            window.sent = [];
            model.on("saved", () => window.sent.push(model.get("x")));
            const ask = asker(model);
            ask({ x: 1 });
            ask({ x: 2 });
        }"""
    )
    shown.clock.run_for(4000)
    assert shown.evaluate("window.sent") == [1]
    shown.clock.run_for(1500)
    assert shown.evaluate("window.sent") == [1, 2]


def test_the_store_keeps_the_habits_of_a_widgets_model(bench: Page) -> None:
    assert bench.evaluate(
        """async () => {
            const { store } = await import(new URL("labs/store.js", location.href).href);
            const model = store({ a: 1, list: [1, 2] });
            const log = [];
            const heard = (_, value) => log.push(["a", value]);
            model.on("change:a", heard);
            model.on("change:list change:b", (_, value) => log.push(["other", value]));
            model.on("change", () => log.push("change"));
            model.set("a", 2);
            model.set("a", 2);
            model.set({ a: 3, b: 4 });
            model.set("list", [1, 2]);
            model.set("list", [2]);
            model.off("change:a", heard);
            model.set("a", 5);
            return [log, model.get("a"), model.get("missing") === undefined];
        }"""
    ) == [
        [
            ["a", 2], "change",
            ["a", 3], ["other", 4], "change",
            ["other", [2]], "change",
            "change",
        ],
        5,
        True,
    ]  # fmt: skip


def test_words_are_filled_in(bench: Page) -> None:
    assert bench.evaluate(
        """async () => {
            const { say } = await import(new URL("labs/say.js", location.href).href);
            const strings = { greet: "{who} looks at {what}, {who}!", odd: "{toString} {n}" };
            return [
                say(strings, "greet", { who: "<b>", what: "$1" }),
                say(strings, "odd", { n: 0 }),
                say(strings, "missing"),
            ];
        }"""
    ) == ["<b> looks at $1, <b>!", "{toString} 0", "missing"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"source": ["the", "</s>"], "known": [True, True], "message": ""}, ""),
        ({"source": [], "known": [], "message": "empty"}, "mine.message.empty"),
        (
            {"source": ["x", "the", "x", "y"], "known": [False, True, False, False], "message": ""},
            "remarks.strange x, y",
        ),
        ({"source": ["x"], "known": [False], "message": "unknown"}, "mine.message.unknown"),
        ({"source": ["the"], "known": [True], "message": "failed"}, "remarks.failed"),
        (
            {"source": ["x"], "known": [False], "message": "long", "read": 60, "of": 90},
            "remarks.long 60 90 remarks.strange x",
        ),
        (
            {"source": list("abcdefghi"), "known": [False] * 9, "message": ""},
            "remarks.strange a, b, c, d, e, f, g, h …",
        ),
    ],
)
def test_what_is_said_about_a_text(bench: Page, answer: dict[str, Any], said: str) -> None:
    found = bench.evaluate(
        """async (answer) => {
            const here = (name) => new URL(`labs/${name}`, location.href).href;
            const { remarks } = await import(here("remarks.js"));
            const { sayer } = await import(here("say.js"));
            const strings = {
                "remarks.long": "remarks.long {read} {of}",
                "remarks.strange": "remarks.strange {words}",
                "mine.message.empty": "mine.message.empty",
            };
            return remarks(answer, strings, sayer(strings, "mine"));
        }""",
        answer,
    )
    assert found == said


def test_a_weight_that_is_no_number_is_written_as_a_dash(call: Callable[..., Any]) -> None:
    assert [call("say.js", "share", each) for each in (None, 0)] == ["–", "0.00"]
