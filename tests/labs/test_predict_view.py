"""Predict, then reveal, in a page: mark, reveal, count."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from reader import PATIENCE, Log, serious
from reading import NASTY, LabOnPage

from heed.data.grammar import Grammar, classic
from heed.experiments.export import as_exported
from heed.labs import PredictLab

pytestmark = pytest.mark.browser

OWN = "Your own English sentence"


class Lab(LabOnPage):
    box = OWN

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def text(self, name: str) -> str:
        return self.root.locator(f".heed-{name}").first.inner_text()

    def marks(self) -> list[tuple[int, int]]:
        """Where the reader's marks are: row and column."""
        return [
            tuple(each)
            for each in self.root.locator("td.heed-mine").evaluate_all(
                "all => all.map(e => [+e.dataset.row, +e.dataset.column])"
            )
        ]

    def rows(self) -> list[str]:
        return self.root.locator(".heed-cells tbody th").all_text_contents()


@pytest.fixture(scope="module")
def kernel() -> PredictLab:
    return PredictLab("bahdanau_grammar", [classic(), Grammar(7).pair(6, 10)])


def put(page: Page, kernel: PredictLab) -> None:
    """A lab as it comes from the kernel, in place of the one that was there."""
    page.evaluate(
        """async (html) => {
            document.querySelector("heed-lab")?.remove();
            document.querySelector("main").insertAdjacentHTML("beforeend", html);
            await import(new URL("labs/page.js", location.href).href);
        }""",
        kernel.html(),
    )


def show(page: Page, kernel: PredictLab) -> Lab:
    put(page, kernel)
    return Lab(page)


@pytest.fixture(scope="module")
def tab(browser: Browser, home: str) -> Iterator[Page]:
    page, log = browser.new_page(reduced_motion="reduce"), Log(home)
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(f"{home}/empty.html")
    yield page
    page.close()
    assert log.complaints == []


@pytest.fixture
def lab(tab: Page, kernel: PredictLab) -> Lab:
    tab.set_viewport_size({"width": 1000, "height": 900})
    tab.evaluate("localStorage.clear()")
    return show(tab, kernel)


def first_looks(kernel: PredictLab, example: int = 0) -> list[int]:
    weights = kernel.examples[example]["weights"][:-1]
    return [int(np.argmax(row)) for row in weights]


# ------------------------------------------------------------------------------- the same answers


@pytest.mark.parametrize("settings", [
    {"example": 0},
    {"example": 1},
    {"example": -1, "text": "The black cat slept in the castle."},
    {"example": -1, "text": ""},
    {"example": -1, "text": NASTY["markup"]},
    {"example": -1, "text": NASTY["500 words"]},
], ids=str)  # fmt: skip
def test_page_and_kernel_give_the_same_answer(
    bench: Page, kernel: PredictLab, settings: dict[str, Any]
) -> None:
    wanted = PredictLab(as_exported(kernel.trained), kernel._pairs, **settings)
    given = {name: getattr(wanted, name) for name in (*wanted.settings, *wanted.facts, "models")}
    found = bench.evaluate(
        """async (given) => {
            const at = (path) => new URL(`labs/${path}`, location.href).href;
            const engine = await import(at("answers/predict.js"));
            const get = (name) => given[name];
            const models = await Promise.all(engine.models(get).map(engine.model));
            return engine.answer(get, models);
        }""",
        given,
    )
    expected = {
        name: each for name, each in wanted.answer.items() if name not in {"count", "asked"}
    }
    np.testing.assert_allclose(found.pop("weights"), expected.pop("weights"), atol=1e-4)
    assert found == expected


# ------------------------------------------------------------------------------- playing


def test_nothing_is_given_away_before_it_is_revealed(lab: Lab) -> None:
    cells = lab.root.locator(".heed-cells tbody td")
    assert set(cells.all_text_contents()) == {""}
    assert cells.evaluate_all(
        "all => all.some(e => e.style.backgroundColor || e.dataset.weight)"
    ) is (False)
    assert lab.root.locator(".heed-sure, .heed-possible").count() == 0
    assert "</s>" not in lab.rows()


def test_marks_are_set_moved_and_taken_back(lab: Lab) -> None:
    lab.cell(0, 3).click()
    assert lab.marks() == [(0, 3)]
    lab.cell(0, 1).click()
    lab.cell(2, 2).click()
    assert lab.marks() == [(0, 1), (2, 2)]
    assert "2 of 14 rows marked" in lab.text("left")
    lab.cell(2, 2).click()
    assert lab.marks() == [(0, 1)]


def test_a_perfect_prediction(lab: Lab, kernel: PredictLab) -> None:
    looks = first_looks(kernel)
    for row, column in enumerate(looks):
        lab.cell(row, column).click()
    lab.press("Reveal")
    assert lab.text("result") == f"{len(looks)} of {len(looks)} first looks"
    assert "No surprise" in lab.text("verdict")
    weights = np.array(kernel.examples[0]["weights"])[: len(looks)]
    assert f"{weights.max(axis=1).mean():.2f} of the weight" in lab.text("verdict")


def test_score_surprise_and_gold(lab: Lab, kernel: PredictLab) -> None:
    weights = np.array(kernel.examples[0]["weights"])
    row = lab.rows().index("zone")
    looks = first_looks(kernel)
    assert looks[row] != 4  # it looks at area, and the reader will say european
    lab.cell(0, looks[0]).click()
    lab.cell(row, 4).click()
    lab.press("Reveal")
    assert lab.text("result") == "1 of 2 first looks"
    verdict = lab.text("verdict")
    assert f"{weights[[0, row], [looks[0], 4]].mean():.2f} of the weight" in verdict
    assert "writing ‘zone’, you said ‘european’ (0.00); it looks most at ‘area’" in verdict
    assert "On a gold link: 1 of your 2 marks, 2 of the model’s" in verdict
    assert lab.marks() == [(0, looks[0]), (row, 4)]
    sure = kernel.examples[0]["sure"]
    assert lab.root.locator(".heed-cells td.heed-sure").count() == len(sure)
    assert lab.root.locator(".heed-cells td.heed-possible").count() > 0
    shown = lab.cell(row, looks[row]).get_attribute("data-weight")
    assert float(shown or 0) == pytest.approx(weights[row, looks[row]], abs=1e-3)
    lab.cell(5, 5).click()  # what is revealed is no longer marked
    assert len(lab.marks()) == 2


def test_nothing_marked_nothing_counted(lab: Lab) -> None:
    lab.cell(0, 0).click()
    expect(lab.button("Reveal")).to_be_visible()
    lab.cell(0, 0).click()
    expect(lab.button("Reveal")).to_have_count(0)
    lab.press("Reveal without a guess")
    assert "You marked nothing" in lab.text("verdict")
    assert lab.root.locator(".heed-tally").is_hidden()


def test_the_tally_goes_on_and_counts_a_sentence_once(lab: Lab, kernel: PredictLab) -> None:
    lab.cell(0, first_looks(kernel)[0]).click()
    lab.cell(1, 9).click()
    lab.press("Reveal")
    assert lab.text("tally") == "So far: 1 of 2 first looks in one sentence."
    lab.press("Try this sentence again")
    assert lab.marks() == []
    lab.cell(0, first_looks(kernel)[0]).click()
    lab.press("Reveal")
    assert lab.text("tally") == "So far: 1 of 2 first looks in one sentence."
    lab.press("Next sentence")
    assert "Sentence 2 of 2" in lab.text("question")
    lab.cell(0, first_looks(kernel, 1)[0]).click()
    lab.press("Reveal")
    assert lab.text("tally") == "So far: 2 of 3 first looks in 2 sentences."
    again = show(lab.page, kernel)
    assert again.text("tally") == "So far: 2 of 3 first looks in 2 sentences."
    again.press("Start the count again")
    assert again.root.locator(".heed-tally").is_hidden()
    assert lab.page.evaluate("localStorage.getItem('heed-predict-tally')") == "{}"


@pytest.mark.parametrize("stored", ["nonsense", "[]", '{"a": 3}', "null"])
def test_a_damaged_tally_is_no_tally(lab: Lab, kernel: PredictLab, stored: str) -> None:
    lab.page.evaluate("stored => localStorage.setItem('heed-predict-tally', stored)", stored)
    again = show(lab.page, kernel)
    assert again.root.locator(".heed-tally").is_hidden()
    again.cell(0, 0).click()
    again.press("Reveal")
    assert "one sentence" in again.text("tally")


def test_by_keyboard_alone(lab: Lab, kernel: PredictLab) -> None:
    keyboard = lab.page.keyboard
    lab.page.evaluate("document.activeElement.blur()")
    keyboard.press("Tab")
    expect(lab.cell(0, 0)).to_be_focused()
    looks = first_looks(kernel)
    for row, column in enumerate(looks):
        at = lab.page.evaluate("+document.activeElement.dataset.column")
        assert lab.page.evaluate("+document.activeElement.dataset.row") == row
        for _ in range(abs(column - at)):
            keyboard.press("ArrowRight" if column > at else "ArrowLeft")
        keyboard.press("Enter")
    expect(lab.button("Reveal")).to_be_focused()
    keyboard.press("Enter")
    assert lab.text("result") == f"{len(looks)} of {len(looks)} first looks"
    expect(lab.root.locator(".heed-verdict")).to_be_focused()
    for _ in range(12):
        keyboard.press("Shift+Tab")
        if lab.page.evaluate("document.activeElement.textContent") == "Next sentence":
            break
    keyboard.press("Enter")
    assert "Sentence 2 of 2" in lab.text("question")
    expect(lab.cell(0, 0)).to_be_focused()


# ------------------------------------------------------------------------------- own sentences


def test_a_sentence_of_ones_own(lab: Lab) -> None:
    lab.after(lambda: lab.press("Your own sentence"))
    expect(lab.root.get_by_label(OWN)).to_be_focused()
    assert "Type an English sentence" in lab.text("predict > .heed-status")
    assert lab.root.locator(".heed-cells").is_hidden()
    lab.write("The black cat slept.")
    assert lab.rows()[:3] == ["le", "chat", "noir"]
    assert set(lab.root.locator(".heed-cells tbody td").all_text_contents()) == {""}
    lab.cell(1, 2).click()
    lab.press("Reveal")
    assert re.fullmatch(r"[01] of 1 first looks", lab.text("result"))
    assert "gold" not in lab.root.locator(".heed-rings").inner_text()
    lab.press("Next sentence")
    assert "Sentence 1 of 2" in lab.text("question")


def test_a_mark_asks_nobody_and_is_drawn_once(lab: Lab) -> None:
    lab.after(lambda: lab.press("Your own sentence"))
    lab.write("The black cat slept.")
    before = lab.root.get_attribute("data-count")
    lab.page.evaluate(
        """() => {
            window.drawn = 0;
            new MutationObserver((records) => (drawn += records.length)).observe(
                document.querySelector(".heed-rings"), { childList: true });
        }"""
    )
    lab.cell(1, 2).click()
    assert lab.marks() == [(1, 2)]
    lab.page.wait_for_timeout(300)
    assert lab.root.get_attribute("data-count") == before
    assert lab.page.evaluate("drawn") == 1


def test_nothing_is_marked_in_a_sentence_that_is_not_there(
    quiet: Page, home: str, kernel: PredictLab
) -> None:
    held: list[Route] = []
    quiet.route(re.compile(r"/models/.*decoder"), lambda route: held.append(route))
    quiet.goto(f"{home}/empty.html")
    put(quiet, kernel)
    root = quiet.locator("heed-lab")
    root.get_by_role("button", name="Your own sentence").click()
    root.get_by_label(OWN).fill("The black cat slept.")
    expect(root.locator(".heed-map")).to_be_hidden()
    expect(root.get_by_role("button", name="Reveal")).to_be_hidden()
    root.locator("td[data-row='1'][data-column='9']").evaluate("cell => cell.click()")
    expect(root.get_by_role("button", name="Next sentence")).to_be_visible()
    quiet.wait_for_timeout(300)
    for route in held:
        route.continue_()
    expect(root.locator(".heed-cells tbody th").first).to_have_text("le", timeout=PATIENCE)
    expect(root.locator(".heed-cells thead th")).to_have_count(6)
    lab = Lab(quiet)
    assert lab.marks() == []
    assert lab.text("left").startswith("0 of ")


def test_a_model_that_fails_in_the_notebook_is_said(quiet: Page, home: str) -> None:
    quiet.goto(f"{home}/empty.html")
    said = quiet.evaluate(
        """async () => {
            const here = (name) => new URL(`labs/${name}`, location.href).href;
            const { render } = await import(here("predict.js"));
            const { store } = await import(here("store.js"));
            const asked = { example: -1, text: "yes" };
            const answer = { source: ["yes", "</s>"], known: [true, true], target: ["oui"] };
            const model = store({
                ...{ example: -1, text: "yes", marks: {}, shown: false, strings: {} },
                answer: { ...answer, weights: [[1, 0]], message: "", asked, count: 1 },
            });
            const el = document.querySelector("main");
            render({ model, el });
            const status = () => el.querySelector(".heed-status").textContent;
            const seen = [status()];
            model.set("text", "no");
            seen.push(status());
            model.set("answer", { ...model.get("answer"), message: "failed", count: 2 });
            return [...seen, status()];
        }"""
    )
    assert said[:2] == ["", ""]
    assert "failed" in said[2]


TOLD = {
    "empty": "Type an English sentence",
    "blank": "Type an English sentence",
    "markup": "read as <unk>: <",
    "500 words": "Only the first 60 of 500",
    "emoji": "read as <unk>: ",
    "right to left": "שלום",
    "only unknown words": "none of these words",
    "one long word": "none of these words",
}


@pytest.mark.parametrize(("text", "told"), [(NASTY[name], TOLD[name]) for name in TOLD], ids=TOLD)
def test_strange_texts_are_text(lab: Lab, text: str, told: str) -> None:
    lab.after(lambda: lab.press("Your own sentence"))
    lab.write("The cat.")
    lab.write(text)
    assert told in lab.text("predict > .heed-status")
    assert lab.root.locator("img, b").count() == 0
    assert lab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    lab.write("The cat.")
    assert len(lab.rows()) > 1


# ------------------------------------------------------------------------------- everywhere


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("open_", [False, True], ids=["covered", "revealed"])
def test_axe_finds_nothing_serious(
    page: Page, home: str, kernel: PredictLab, theme: str, open_: bool
) -> None:
    page.goto(f"{home}/empty.html")
    lab = show(page, kernel)
    page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
    lab.cell(0, 0).click()
    lab.cell(1, 4).click()
    if open_:
        lab.press("Reveal")
    page.wait_for_timeout(300)
    assert serious(page) == {}


def test_a_phone(lab: Lab) -> None:
    lab.page.set_viewport_size({"width": 360, "height": 740})
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 360
    lab.cell(3, 12).click()
    lab.press("Reveal")
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 360
    small = lab.root.locator("button:visible, td[tabindex]:visible").evaluate_all(
        "all => all.map(e => [e.textContent, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)"
    )
    assert small == []


def test_the_network_may_go_away(lab: Lab) -> None:
    lab.page.context.set_offline(True)
    try:
        lab.after(lambda: lab.press("Your own sentence"))
        lab.write("The cat slept.")
        assert "chat" in lab.rows()
    finally:
        lab.page.context.set_offline(False)
