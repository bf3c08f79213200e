"""The alignment lab in a page: what a reader does, and what is drawn then."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from reader import PATIENCE, Log, serious
from reading import NASTY, LabOnPage

from heed.experiments.export import as_exported
from heed.experiments.trained import load
from heed.labs import AlignmentLab

pytestmark = pytest.mark.browser

TREATY = "The agreement on the European Economic Area was signed in August 1992."
NAMED = "Tom wants to know why Leibniz never wrote back."
SHORT = "The cat is sleeping."
LONG = (
    "When I was a child I lived in a small village near the sea and every evening my father "
    "told us stories about the war."
)


class Lab(LabOnPage):
    box = "An English sentence"

    def line(self, name: str) -> Locator:
        return self.root.get_by_role("toolbar", name=name, exact=True)

    def words(self, name: str) -> list[str]:
        return self.line(name).get_by_role("button").all_text_contents()

    def word(self, name: str, place: int) -> Locator:
        return self.line(name).get_by_role("button").nth(place)

    def weights(self) -> np.ndarray:
        rows = self.root.locator(".heed-cells tbody").evaluate(
            "body => [...body.rows].map(r => [...r.cells].slice(1).map(c => +c.dataset.weight))"
        )
        return np.array(rows)

    def said(self) -> str:
        return self.root.locator(".heed-line-says").text_content() or ""

    def told(self) -> str:
        return self.root.locator(".heed-alignment > .heed-status").text_content() or ""

    def drawing(self) -> str:
        """All that stands there, with its colours: two drawings are the same or they are not."""
        return self.root.locator(".heed-alignment").evaluate(
            'e => e.outerHTML.replace(/ id="[^"]*"| (aria-describedby|for)="[^"]*"/g, \'\')'
        )


@pytest.fixture
def still(quiet: Page) -> Page:
    quiet.emulate_media(reduced_motion="reduce")
    return quiet


@pytest.fixture(scope="module")
def opened(browser: Browser, home: str) -> Iterator[Lab]:
    """A page with a lab, for all tests that leave it as they found it or nearly so."""
    page, log = browser.new_page(reduced_motion="reduce"), Log(home)
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(f"{home}/empty.html")
    page.evaluate(
        """async (html) => {
            document.querySelector("main").insertAdjacentHTML("beforeend", html);
            await import(new URL("labs/page.js", location.href).href);
        }""",
        AlignmentLab("bahdanau_everyday", text=TREATY).html(),
    )
    yield Lab(page)
    page.close()
    assert log.complaints == []


@pytest.fixture
def lab(opened: Lab) -> Lab:
    """The lab as it was at first."""
    page, box = opened.page, opened.root.get_by_label("An English sentence")
    page.mouse.move(1, 1)
    button = opened.root.get_by_role("button", name="Back to the model’s own")
    if button.is_enabled():
        opened.after(button.click)
    if not opened.root.get_by_label("Copy unknown words").is_checked():
        opened.after(opened.root.get_by_label("Copy unknown words").check)
    if box.input_value() != TREATY:
        opened.write(TREATY)
    page.evaluate("document.activeElement.blur()")
    return opened


# ------------------------------------------------------------------------------- the same answers

SETTINGS: list[dict[str, Any]] = [
    {},
    {"text": NAMED, "copy": False},
    {"text": NAMED, "copy": True, "temperature": 2.5},
    {"temperature": 0.3},
    {"hidden": [6]},
    {"hidden": [6, 40, -3]},
    {"hidden": list(range(14))},
    {"look": "uniform"},
    {"look": "uniform", "only": 4, "hidden": [0, 13]},
    {"look": "shuffled", "shuffle": 7},
    {"look": "shuffled", "shuffle": 4_000_000_000, "only": 2, "temperature": 3.0, "hidden": [1, 2]},
    {"look": "yours", "rows": {"4": [1, 2], "6": [6]}},
    {"look": "yours", "rows": {"4": [99]}},
    {"look": "yours", "rows": {"4": [6], "5": [5]}, "hidden": [6]},
    {"look": "yours", "rows": {"4": [1], "5": [2]}, "only": 5},
    {"text": LONG, "width": 4},
    {"text": NAMED, "width": 5, "look": "uniform", "only": 3, "copy": True},
    *({"text": text} for text in NASTY.values()),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_page_and_kernel_give_the_same_answer(bench: Page, settings: dict[str, Any]) -> None:
    trained = as_exported(load("bahdanau_grammar"))
    kernel = AlignmentLab(trained, **{"text": TREATY, **settings})
    wanted = dict(kernel.answer)
    del wanted["count"], wanted["asked"]  # who asks adds them
    given = {name: getattr(kernel, name) for name in (*kernel.settings, "models")}
    found = bench.evaluate(
        """async (given) => {
            const at = (path) => new URL(`labs/${path}`, location.href).href;
            const engine = await import(at("answers/alignment.js"));
            const get = (name) => given[name];
            const models = await Promise.all(engine.models(get).map(engine.model));
            return engine.answer(get, models);
        }""",
        given,
    )
    assert found.keys() == wanted.keys()
    for name in ("source", "known", "target", "copied", "finished", "read", "of", "message"):
        assert found[name] == wanted[name]
    for name in ("target", "copied"):
        assert (found["alone"] or {}).get(name) == (wanted["alone"] or {}).get(name)
    for name in ("weights", "probability"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-4)
    for one, other in ((found, wanted), (found["alone"], wanted["alone"])):
        if one is not None:
            assert one["log_prob"] == pytest.approx(other["log_prob"], abs=1e-3)


# ------------------------------------------------------------------------------- looking


def test_a_french_word_shows_where_it_looks(lab: Lab) -> None:
    place = lab.words("French").index("zone")
    lab.word("French", place).hover()
    area = lab.word("English", lab.words("English").index("area"))
    assert float(area.get_attribute("data-weight") or 0) > 0.9
    assert "‘zone’, it looks at ‘area’ 0.9" in lab.said()
    expect(lab.root.locator("tr.heed-selected")).to_contain_text("zone")


def test_looking_redraws_no_numbers(lab: Lab) -> None:
    lab.root.get_by_text("Numbers", exact=True).click()
    lab.root.locator(".heed-numbers tbody tr").first.wait_for()
    lab.page.evaluate(
        """() => {
            window.redrawn = 0;
            const watch = new MutationObserver((records) => (redrawn += records.length));
            const table = document.querySelector(".heed-numbers table");
            watch.observe(table, { childList: true, subtree: true });
        }"""
    )
    lab.word("French", 2).hover()
    lab.word("French", 4).hover()
    expect(lab.root.locator("tr.heed-selected")).to_contain_text("zone")
    lab.cell(1, 3).hover()
    assert lab.page.evaluate("redrawn") == 0
    lab.root.get_by_text("Numbers", exact=True).click()


def test_an_english_word_shows_who_looks_at_it(lab: Lab) -> None:
    lab.word("English", lab.words("English").index("economic")).hover()
    looker = lab.word("French", lab.words("French").index("économique"))
    assert float(looker.get_attribute("data-weight") or 0) > 0.9
    assert "‘economic’ is looked at when writing ‘économique’" in lab.said()


def test_the_map_lights_up_the_lines(lab: Lab) -> None:
    lab.cell(4, 6).hover()
    expect(lab.word("French", 4)).to_have_class("heed-token heed-lit")
    lab.root.get_by_role("columnheader").nth(5).hover()
    expect(lab.word("English", 5)).to_have_class("heed-token heed-lit")


def test_the_map_stays_under_the_mouse(lab: Lab) -> None:
    lab.write(NAMED)
    lab.word("French", 4).hover()  # the copied name: there is most to say
    tops = set()
    for row in range(len(lab.words("French"))):
        lab.cell(row, 3).hover()
        tops.add(
            lab.root.locator(".heed-cells").evaluate(
                "e => e.getBoundingClientRect().top"
                " - e.closest('heed-lab').getBoundingClientRect().top"
            )
        )
        expect(lab.word("French", row)).to_have_class(re.compile("heed-lit"))
    assert len(tops) == 1
    assert lab.root.locator(".heed-line-says").evaluate("e => getComputedStyle(e).visibility") == (
        "hidden"
    )


def test_arrows_walk_along_a_line_and_across(lab: Lab) -> None:
    lab.word("French", 0).focus()
    for _ in range(4):
        lab.page.keyboard.press("ArrowRight")
    expect(lab.word("French", 4)).to_be_focused()
    assert "‘zone’" in lab.said()
    lab.page.keyboard.press("ArrowUp")
    expect(lab.word("English", 6)).to_be_focused()
    lab.page.keyboard.press("End")
    expect(lab.word("English", len(lab.words("English")) - 1)).to_be_focused()
    lab.page.keyboard.press("Home")
    expect(lab.word("English", 0)).to_be_focused()
    assert "‘the’" in lab.said()


# ------------------------------------------------------------------------------- each control


def test_a_typed_sentence_is_translated(lab: Lab) -> None:
    lab.write(SHORT)
    assert lab.words("English") == ["the", "cat", "is", "sleeping", ".", "</s>"]
    assert lab.words("French") == ["le", "chat", "dort", ".", "</s>"]
    np.testing.assert_allclose(lab.weights().sum(axis=1), 1, atol=1e-3)


def test_each_example_is_another_sentence(lab: Lab) -> None:
    seen = []
    for name in ("a short one", "adjectives that change places", "an unknown name", "a long one"):
        button = lab.root.get_by_role("button", name=name)
        lab.after(button.click)
        seen.append(" ".join(lab.words("English")))
        assert lab.root.get_by_label("An English sentence").input_value() == (
            button.get_attribute("title")
        )
    assert len(set(seen)) == 4


def test_temperature_spreads_the_look_and_says_what_changed(lab: Lab) -> None:
    sharp = lab.weights().max(axis=1).mean()
    slider = lab.root.get_by_label("Temperature")
    slider.focus()
    lab.after(lambda: lab.page.keyboard.press("End"))
    lab.page.wait_for_function("document.querySelector('.heed-alone:not([hidden])')")
    assert lab.weights().max(axis=1).mean() < sharp - 0.3
    alone = lab.root.locator(".heed-alone").inner_text()
    assert "l' accord sur la zone économique européenne" in alone
    assert "log p = −" in alone


def test_hidden_words_are_not_looked_at(lab: Lab) -> None:
    lab.after(lab.word("English", 6).click)
    word = lab.word("English", 6)
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(word).to_have_attribute("aria-label", "area, hidden from the model")
    assert lab.weights()[:, 6].max() < 1e-3
    lab.after(word.click)
    expect(word).to_have_attribute("aria-pressed", "false")
    assert lab.weights()[:, 6].max() > 0.5
    lab.after(lab.root.get_by_role("columnheader").nth(6).click)
    expect(word).to_have_attribute("aria-pressed", "true")


def test_the_last_place_cannot_be_hidden(lab: Lab) -> None:
    lab.write("Cats.")
    for place in (0, 1):
        lab.after(lab.word("English", place).click)
    lab.word("English", 2).click()
    assert "One place must be left" in lab.told()
    expect(lab.word("English", 2)).to_have_attribute("aria-pressed", "false")
    assert lab.weights()[:, 2].min() == 1


def test_a_uniform_look(lab: Lab) -> None:
    lab.after(lambda: lab.root.get_by_label("everywhere alike").check())
    np.testing.assert_allclose(lab.weights(), 1 / 14, atol=1e-3)
    assert lab.root.locator(".heed-alone del").count() > 3
    assert "less sure" in lab.root.locator(".heed-alone").inner_text()


def test_a_shuffled_look_and_another_shuffle(lab: Lab) -> None:
    own = lab.weights()
    lab.after(lambda: lab.root.get_by_label("at the wrong places").check())
    first = lab.weights()
    np.testing.assert_allclose(np.sort(first[0]), np.sort(own[0]), atol=1e-3)
    assert not np.allclose(first[0], own[0], atol=1e-3)
    lab.after(lambda: lab.root.get_by_role("button", name="Shuffle again").click())
    assert not np.allclose(lab.weights()[0], first[0], atol=1e-3)


def test_only_the_word_that_was_picked(lab: Lab) -> None:
    lab.word("French", 4).click()
    lab.after(lambda: lab.root.get_by_label("everywhere alike").check())
    lab.after(lambda: lab.root.get_by_label("only ‘").check())
    first = lab.weights()
    np.testing.assert_allclose(first[4], 1 / 14, atol=1e-3)
    assert first[:4].max(axis=1).min() > 0.5
    lab.after(lab.word("French", 1).click)
    np.testing.assert_allclose(lab.weights()[1], 1 / 14, atol=1e-3)


def test_a_row_of_the_readers_own(lab: Lab) -> None:
    lab.cell(4, 8).click()
    assert lab.root.locator(".heed-mine").count() == 0  # cells are picked only where that is asked
    lab.after(lambda: lab.root.get_by_label("where you say").check())
    lab.after(lab.cell(4, 8).click)
    assert lab.weights()[4, 8] == 1
    lab.after(lab.cell(4, 2).click)
    np.testing.assert_allclose(lab.weights()[4, [2, 8]], 0.5)
    assert lab.root.locator(".heed-mine").count() == 2
    lab.after(lab.cell(4, 8).click)
    assert lab.weights()[4, 2] == 1
    lab.after(lambda: lab.root.get_by_role("button", name="Back to the model’s own").click())
    assert lab.root.locator(".heed-mine").count() == 0


def test_a_beam_finds_another_sentence(lab: Lab) -> None:
    lab.write(LONG)
    greedy = lab.words("French")
    score = lab.root.locator(".heed-score").inner_text()
    lab.root.get_by_label("Beam").focus()
    lab.after(lambda: lab.page.keyboard.press("End"))
    lab.page.wait_for_timeout(300)
    assert lab.words("French") != greedy
    assert lab.root.locator(".heed-score").inner_text() != score


def test_unknown_words_are_shown_and_copied(lab: Lab) -> None:
    lab.write(NAMED)
    assert "Not in the vocabulary, and read as <unk>: leibniz." in lab.told()
    expect(lab.line("English").get_by_role("button", name="leibniz")).to_have_attribute(
        "aria-label", "leibniz, unknown word"
    )
    copied = lab.line("French").get_by_role("button", name="leibniz, copied")
    copied.hover()
    assert "‘leibniz’ is copied from where it looked" in lab.said()
    lab.after(lambda: lab.root.get_by_label("Copy unknown words").uncheck())
    assert "<unk>" in lab.words("French")
    lab.line("French").get_by_role("button", name="<unk>").hover()
    assert "It looks at ‘leibniz’, which could be copied" in lab.said()


def test_what_is_copied_is_copied_in_both_lines(lab: Lab) -> None:
    lab.write(NAMED)
    lab.root.get_by_label("Temperature").focus()
    lab.after(lambda: lab.page.keyboard.press("ArrowRight"))
    lines = lab.root.locator(".heed-alone > p")
    for line in (lines.nth(0), lines.nth(1)):
        expect(line).to_contain_text("pourquoi leibniz n' a jamais écrit")
    expect(lines.nth(2)).to_contain_text("The same words.")
    lab.after(lambda: lab.root.get_by_label("Copy unknown words").uncheck())
    for line in (lines.nth(0), lines.nth(1)):
        expect(line).to_contain_text("pourquoi <unk> n' a jamais écrit")


def test_a_new_sentence_says_what_it_lets_go_of(lab: Lab) -> None:
    lab.word("French", 4).click()
    lab.after(lambda: lab.root.get_by_label("everywhere alike").check())
    lab.after(lambda: lab.root.get_by_label("only ‘").check())
    lab.after(lab.word("English", 3).click)
    lab.write("The cat")
    told = "no word is hidden. The look holds for every word of the new sentence"
    assert told in lab.told()
    lab.write("The cat is")  # and goes on saying so while the reader types
    assert told in lab.told()
    lab.after(lab.word("English", 1).click)
    assert told not in lab.told()
    lab.after(lambda: lab.root.get_by_label("where you say").check())
    lab.after(lab.cell(1, 0).click)
    lab.write(SHORT)
    assert "The cells that you picked belonged to the old sentence." in lab.told()


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (0.7, "2.0"),
        (3.0, "20"),
        (5.3, "about 200"),
        (10.6, "about 40,000"),
        (23.0, "about 10¹⁰"),
        (230.0, "about 10¹⁰⁰"),
    ],
)
def test_a_large_factor_is_round(bench: Page, gap: float, said: str) -> None:
    found = bench.evaluate(
        """async (gap) => {
            const { times } = await import(new URL("labs/alignment.js", location.href).href);
            return times(gap, (key, { number }) => `${key} ${number}`);
        }""",
        gap,
    )
    assert found == said


def test_back_to_the_models_own(lab: Lab) -> None:
    lab.after(lambda: lab.root.get_by_label("everywhere alike").check())
    lab.after(lab.word("English", 3).click)
    lab.after(lambda: lab.root.get_by_role("button", name="Back to the model’s own").click())
    lab.page.mouse.move(1, 1)
    lab.page.evaluate("document.activeElement.blur()")
    lab.page.wait_for_timeout(400)
    assert lab.words("French")[4] == "zone"
    assert lab.root.locator(".heed-alone").is_hidden()
    assert lab.weights().max(axis=1).min() > 0.5


# ------------------------------------------------------------------------------- strange texts


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_strange_texts_are_text(lab: Lab, text: str) -> None:
    lab.write(text)
    told = lab.told()
    assert lab.root.locator("img, b, script").count() == 0
    words = lab.words("English")
    assert len(words) <= 61
    if not text.strip():
        assert words == lab.words("French") == []
        assert "Nothing to translate yet" in told
    else:
        assert words[-1] == "</s>"
        assert lab.weights().shape == (len(lab.words("French")), len(words))
    if len(text.split()) > 60:
        assert "Only the first 60 of 500 words" in told
    if text.startswith("Zyx"):
        assert "none of these words" in told
    assert lab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    lab.write(SHORT)
    assert lab.words("French") == ["le", "chat", "dort", ".", "</s>"]


# ------------------------------------------------------------------------------- everywhere


def test_two_labs_on_a_page(still: Page, sheet: Callable[[str], str]) -> None:
    both = (AlignmentLab("bahdanau_everyday", text=text).html() for text in (TREATY, SHORT))
    still.goto(sheet("".join(both)))
    first, second = Lab(still, 0), Lab(still, 1)
    still.mouse.move(1, 1)
    before = first.drawing()
    second.after(lambda: second.root.get_by_label("everywhere alike").check())
    still.mouse.move(1, 1)
    assert first.drawing() == before
    assert first.weights().max() > 0.9
    assert second.weights().max() < 0.2
    ids = still.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_by_keyboard_alone(lab: Lab) -> None:
    box = lab.root.get_by_label("An English sentence")
    box.focus()
    stops = []
    for _ in range(24):
        lab.page.keyboard.press("Tab")
        stops.append(
            lab.page.evaluate(
                "(e => e.closest('[role=toolbar]')?.ariaLabel ?? (e.closest('[role=grid]') ? 'map'"
                " : e.ariaLabel || e.labels?.[0]?.textContent || e.textContent))"
                "(document.activeElement)"
            )
        )
    once = stops[: stops.index("Numbers")]
    for stop in ("English", "French", "Experiments", "Temperature", "Beam", "map"):
        assert once.count(stop) == 1, once
    lab.word("English", 0).focus()
    for _ in range(6):
        lab.page.keyboard.press("ArrowRight")
    lab.after(lambda: lab.page.keyboard.press("Enter"))
    assert lab.weights()[:, 6].max() < 1e-3
    lab.root.get_by_label("as it likes").focus()
    lab.after(lambda: lab.page.keyboard.press("ArrowDown"))
    assert lab.root.get_by_label("everywhere alike").is_checked()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Page, sheet: Callable[[str], str], theme: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(sheet(AlignmentLab("bahdanau_everyday", text=NAMED, hidden=[1]).html()))
    page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
    lab = Lab(page)
    lab.after(lambda: lab.root.get_by_label("where you say").check())
    lab.after(lab.cell(2, 2).click)
    lab.word("French", 1).hover()
    page.wait_for_timeout(300)
    assert serious(page) == {}


def test_a_phone(still: Page, sheet: Callable[[str], str]) -> None:
    still.set_viewport_size({"width": 360, "height": 740})
    still.goto(sheet(AlignmentLab("bahdanau_everyday", text=LONG).html()))
    lab = Lab(still)
    assert still.evaluate("document.documentElement.scrollWidth") <= 360
    expect(lab.root.get_by_label("Temperature")).to_be_hidden()  # folded, and after the map
    assert lab.root.locator(".heed-map ~ .heed-experiments").count() == 1
    lab.root.get_by_text("Experiments").click()
    expect(lab.root.get_by_label("Temperature")).to_be_visible()
    lab.after(lambda: lab.root.get_by_label("everywhere alike").check())
    assert still.evaluate("document.documentElement.scrollWidth") <= 360
    small = lab.root.locator("button:visible, input:visible, td[tabindex]:visible").evaluate_all(
        "all => all.map(e => [e.textContent, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)"
    )
    assert small == []


def test_the_network_may_go_away(still: Page, sheet: Callable[[str], str]) -> None:
    still.goto(sheet(AlignmentLab("bahdanau_everyday", text=TREATY).html()))
    lab = Lab(still)
    still.context.set_offline(True)
    try:
        lab.write(SHORT)
        lab.after(lambda: lab.root.get_by_label("everywhere alike").check())
        np.testing.assert_allclose(lab.weights(), 1 / 6, atol=1e-3)
    finally:
        still.context.set_offline(False)


def test_places_of_the_old_sentence_are_not_those_of_the_new(
    still: Page, sheet: Callable[[str], str]
) -> None:
    held: list[Route] = []
    still.route(re.compile(r"/models/.*decoder"), lambda route: held.append(route))
    still.goto(sheet(AlignmentLab("bahdanau_everyday", text=TREATY, look="yours").html()))
    root = still.locator("heed-lab")
    root.get_by_label("An English sentence").fill(SHORT)
    expect(root.locator(".heed-alignment")).to_have_attribute("aria-busy", "true")
    root.get_by_role("toolbar", name="English").get_by_role("button").nth(1).click()
    root.locator("td[data-row='2'][data-column='1']").click()
    root.locator("th[data-column='3']").click()
    root.get_by_role("toolbar", name="French").get_by_role("button").nth(1).click()
    for route in held:
        route.continue_()
    lab = Lab(still)
    expect(lab.line("English").get_by_role("button")).to_have_count(6)
    expect(root.locator(".heed-alignment")).to_have_attribute("aria-busy", "false")
    assert root.locator("[aria-pressed=true], .heed-is-hidden, .heed-mine").count() == 0
    lab.after(lab.word("English", 1).click)
    assert lab.weights()[:, 1].max() < 1e-3


def test_a_new_sentence_is_written_word_by_word(quiet: Page, sheet: Callable[[str], str]) -> None:
    quiet.goto(sheet(AlignmentLab("bahdanau_everyday", text=TREATY).html()))
    lab = Lab(quiet)
    unwritten = lab.line("French").locator(".heed-unwritten")
    expect(unwritten).to_have_count(0)
    lab.write(SHORT)
    assert unwritten.count() > 0
    expect(unwritten).to_have_count(0)
    lab.write(TREATY)
    lab.root.get_by_label("everywhere alike").check()  # whoever goes on does not wait for it
    expect(unwritten).to_have_count(0, timeout=100)


def test_no_motion_for_whoever_wants_none(lab: Lab) -> None:
    lab.write(SHORT)
    assert lab.root.locator(".heed-unwritten").count() == 0


def test_without_a_model_there_is_only_to_look(still: Page, sheet: Callable[[str], str]) -> None:
    kernel = AlignmentLab("bahdanau_everyday", text=TREATY)
    kernel.models = []  # as after a change that no page can fetch
    still.goto(sheet(kernel.html()))
    root = still.locator("heed-lab")
    expect(root).to_have_attribute("data-count", "0")
    expect(root.get_by_text("Open the chapter in JupyterLab")).to_be_visible()
    assert (
        root.locator("input:visible, textarea:visible, .heed-examples button:visible").count() == 0
    )
    root.get_by_role("toolbar", name="English").get_by_role("button").nth(6).click()
    assert root.locator(".heed-is-hidden").count() == 0
    root.get_by_role("toolbar", name="French").get_by_role("button", name="zone").hover()
    assert "‘zone’, it looks at ‘area’ 0.9" in root.locator(".heed-line-says").inner_text()
