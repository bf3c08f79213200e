"""The attention map: a table that is a picture, by mouse, by finger, by keyboard and by ear."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PATIENCE, serious

from heed.labs.palette import colour, diverging

pytestmark = pytest.mark.browser

KEY = ["the", "white", "house", "</s>"]
QUERY = ["la", "maison", "blanche"]
WEIGHTS = [[0.9, 0.06, 0.03, 0.01], [0.18, 0.07, 0.7149, 0.0351], [0.001, 0.999, 0.0, 0.0]]

SHOW = """async ([trace, marks]) => {
    const here = (name) => new URL(`labs/${name}`, location.href).href;
    const { attentionMap } = await import(here("map.js"));
    const strings = await (await fetch(here("strings.en.json"))).json();
    const map = attentionMap({ strings, label: "Attention" });
    const lab = document.createElement("div");
    lab.className = "heed-lab";
    lab.append(map.element);
    document.querySelector("main").append(lab);
    window.map = map;
    window.picked = [];
    window.visited = [];
    map.onPick((...place) => window.picked.push(place));
    map.onCursor((...place) => window.visited.push(place));
    map.draw(trace, marks);
}"""


class Map:
    """A map on a page."""

    def __init__(self, page: Page, home: str) -> None:
        self.page = page
        page.goto(f"{home}/empty.html")

    def show(self, marks: dict[str, Any] | None = None, **trace: Any) -> "Map":
        whole = {"query": QUERY, "key": KEY, "weights": WEIGHTS} | trace
        self.page.evaluate(SHOW, [whole, marks or {}])
        return self

    def draw(self, trace: dict[str, Any], marks: dict[str, Any] | None = None) -> None:
        whole = {"query": QUERY, "key": KEY, "weights": WEIGHTS} | trace
        self.page.evaluate("([trace, marks]) => map.draw(trace, marks)", [whole, marks or {}])

    def cell(self, row: int, column: int) -> Locator:
        return self.page.locator(f".heed-cells [data-row='{row}'][data-column='{column}']")

    @property
    def says(self) -> Locator:
        return self.page.locator(".heed-says")

    @property
    def focused(self) -> list[str]:
        return self.page.evaluate(
            "[document.activeElement.dataset.row, document.activeElement.dataset.column]"
        )

    def told(self, name: str) -> list[list[int]]:
        return self.page.evaluate(f"window.{name}.splice(0)")


@pytest.fixture
def map(quiet: Page, home: str) -> Map:
    return Map(quiet, home)


def rgb(colour: str) -> str:
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:], 16)})"


# ------------------------------------------------------------------------ a triangle


def test_a_row_ends_where_there_is_nothing_yet_to_be_looked_at(map: Map) -> None:
    triangle = [[1.0], [0.4, 0.6], [0.0, 0.3, 0.7]]
    map.show({"pick": True}, weights=triangle, key=["∅", "la", "maison"])
    never = map.page.locator(".heed-cells td.heed-never")
    places = never.evaluate_all("all => all.map((cell) => [cell.dataset.row, cell.dataset.column])")
    assert places == [["0", "1"], ["0", "2"], ["1", "2"]]
    assert map.cell(0, 2).get_attribute("data-weight") is None
    assert map.cell(2, 0).get_attribute("data-weight") == "0.0000"
    ground = "(cell) => getComputedStyle(cell).backgroundColor"
    assert map.cell(0, 2).evaluate(ground) == "rgba(0, 0, 0, 0)"
    assert map.cell(2, 0).evaluate(ground) == rgb(colour(0.0).background)
    map.cell(1, 2).focus()
    expect(map.says).to_have_text("writing ‘maison’, looks at ‘maison’ –, ‘la’ 0.60, ‘∅’ 0.40")
    map.draw({"weights": [[0.2, 0.3, 0.5]] * 3, "key": ["∅", "la", "maison"]})
    expect(never).to_have_count(0)
    assert map.cell(0, 2).get_attribute("data-weight") == "0.5000"


def test_a_lab_may_say_it_in_its_own_words(map: Map) -> None:
    map.page.evaluate(
        SHOW.replace("strings, label", 'own: "reading.map", strings, label'),
        [
            {"query": QUERY, "key": KEY, "weights": WEIGHTS},
            {"row": 0},
        ],
    )
    expect(map.says).to_have_text("reading ‘la’, looks at ‘the’ 0.90, ‘white’ 0.06")
    expect(map.page.locator(".heed-axis-query")).to_have_text("reading")
    expect(map.page.locator(".heed-legend-word")).to_have_text("weight")  # not said otherwise


# ------------------------------------------------------------------------ colours


def test_page_and_python_have_the_same_colours(bench: Page) -> None:
    found = bench.evaluate(
        """async () => {
            const { colour, diverging } = await import(
                new URL("labs/palette.js", location.href).href
            );
            const ladder = Array.from({ length: 1201 }, (_, i) => -1.1 + i / 500);
            return ladder.map((x) => [x, colour(x), diverging(x)]);
        }"""
    )
    assert len(found) == 1201
    for x, one, other in found:
        assert one == vars(colour(float(x)))
        assert other == vars(diverging(float(x)))


# ------------------------------------------------------------------------ drawing


def test_a_map_is_a_table_with_names_and_written_weights(map: Map) -> None:
    map.show()
    table = map.page.get_by_role("grid", name="Attention")
    assert table.get_by_role("columnheader").all_text_contents() == KEY
    assert table.get_by_role("rowheader").all_text_contents() == QUERY
    rows = table.locator("tbody tr")
    written = [row.locator("td").all_text_contents() for row in rows.all()]
    assert written == [[".90", ".06", "", ""], [".18", ".07", ".71", ""], ["", "1", "", ""]]
    expect(table.locator("caption")).to_have_text("Attention")
    for i, row in enumerate(WEIGHTS):
        for j, weight in enumerate(row):
            shade = colour(weight)
            expect(map.cell(i, j)).to_have_css("background-color", rgb(shade.background))
            expect(map.cell(i, j)).to_have_css("color", rgb(shade.ink))


def test_a_redraw_keeps_the_cells_and_a_new_shape_is_drawn_too(map: Map) -> None:
    map.show()
    map.page.evaluate("window.before = [...document.querySelectorAll('.heed-cells td, th')]")
    map.draw({"weights": [[0.25] * 4] * 3, "query": ["ma", "maison", "verte"]})
    cells = "[...document.querySelectorAll('.heed-cells td, th')]"
    assert map.page.evaluate(f"{cells}.every((cell, i) => cell === before[i])")
    expect(map.cell(0, -1)).to_have_text("ma")
    expect(map.cell(2, 3)).to_have_text(".25")
    shapes = [(1, 1), (5, 2), (2, 6), (60, 60), (0, 0), (3, 4)]
    for rows, columns in shapes:
        weights = [[(i + j) % 7 / 7 for j in range(columns)] for i in range(rows)]
        names = {"query": [f"q{i}" for i in range(rows)], "key": [f"k{j}" for j in range(columns)]}
        map.draw({"weights": weights, **names})
        grid = map.page.locator(".heed-cells")
        assert grid.locator("tbody td").count() == rows * columns
        assert grid.locator("tbody th").count() == rows
        assert grid.locator("thead th").count() == columns
        if rows:
            last = map.cell(rows - 1, columns - 1)
            shade = colour(weights[-1][-1])
            expect(last).to_have_css("background-color", rgb(shade.background))
    assert map.page.locator(".heed-cells [tabindex='0']").count() == 1


def test_marks_are_drawn_and_go_away(map: Map) -> None:
    map.show(
        {
            "rings": [[0, 0, "sure"], [1, 2, "possible"], [2, 1, "mine"]],
            "hidden": [3],
            "row": 1,
            "unknown": [1],
            "unsure": [2],
        }
    )
    for place, name in (((0, 0), "sure"), ((1, 2), "possible"), ((2, 1), "mine")):
        assert name in (map.cell(*place).get_attribute("class") or "")
    assert all(map.cell(row, 3).text_content() == "" for row in range(3))
    assert map.page.locator("tr.heed-selected").all_text_contents() == ["maison.18.07.71"]
    assert map.page.locator("th.heed-unknown").all_text_contents() == ["white", "blanche"]
    assert map.page.locator("th.heed-hidden").all_text_contents() == ["</s>"]
    map.draw({})
    for name in ("ring", "hidden", "selected", "unknown"):
        assert map.page.locator(f".heed-map .heed-{name}").count() == 0


def test_a_blank_map_gives_nothing_away(map: Map) -> None:
    map.show({"blank": True, "pick": True})
    assert map.page.locator(".heed-cells tbody td").all_text_contents() == [""] * 12
    assert map.page.locator("[data-weight]").count() == 0
    assert (
        map.page.evaluate(
            "new Set([...document.querySelectorAll('.heed-cells tbody td')]"
            ".map((cell) => getComputedStyle(cell).backgroundColor)).size"
        )
        == 1
    )
    map.cell(1, 2).hover()
    expect(map.says).to_have_text("writing ‘maison’, looks at ‘house’?")
    expect(map.page.get_by_text("Numbers", exact=True)).to_be_hidden()
    map.draw({})
    expect(map.cell(0, 0)).to_have_text(".90")


def test_words_are_text_and_never_markup(map: Map) -> None:
    nasty = ["<img src=x onerror=alert(1)>", "</table>", "&amp;", "x" * 400]
    map.show(key=nasty)
    map.page.get_by_text("Numbers", exact=True).click()
    assert map.page.locator(".heed-cells thead th").all_text_contents() == nasty
    assert map.page.locator(".heed-numbers thead th").all_text_contents() == nasty
    assert map.page.locator("img").count() == 0
    map.cell(0, 0).hover()
    expect(map.says).to_contain_text("‘<img src=x onerror=alert(1)>’ 0.90")


# ------------------------------------------------------------------------ mouse and finger


def test_the_mouse_lights_a_row_and_a_column_and_the_line_says_what(map: Map) -> None:
    map.show()
    expect(map.says).to_have_text("Point at a cell, or move with the arrow keys.")
    map.cell(1, 2).hover()
    expect(map.says).to_have_text(
        "writing ‘maison’, looks at ‘house’ 0.71, ‘the’ 0.18, ‘white’ 0.07"
    )
    assert map.page.locator("th.heed-on").all_text_contents() == ["house", "maison"]
    bands = [box for band in map.page.locator(".heed-band").all() if (box := band.bounding_box())]
    cell = map.cell(1, 2).bounding_box()
    assert cell is not None
    assert len(bands) == 2
    for band in bands:
        assert band["x"] <= cell["x"]
        assert band["y"] <= cell["y"]
        assert band["x"] + band["width"] >= cell["x"] + cell["width"]
        assert band["y"] + band["height"] >= cell["y"] + cell["height"]
    map.cell(1, 3).hover()  # what is pointed at comes first
    expect(map.says).to_have_text(
        "writing ‘maison’, looks at ‘</s>’ 0.04, ‘house’ 0.71, ‘the’ 0.18"
    )
    map.cell(-1, 1).hover()
    expect(map.says).to_have_text(
        "‘white’ is looked at when writing ‘blanche’ 1.00, ‘maison’ 0.07, ‘la’ 0.06"
    )
    map.cell(-1, 3).hover()
    expect(map.says).to_have_text("hardly any word looks at ‘</s>’")
    map.page.mouse.move(5, 5)
    expect(map.says).to_have_text("Point at a cell, or move with the arrow keys.")
    assert map.page.locator(".heed-band:visible").count() == 0
    assert map.told("visited") == [[1, 2], [1, 3], [-1, 1], [-1, 3], [-1, -1]]


def test_the_line_follows_a_redraw(map: Map) -> None:
    map.show({"row": 0})
    expect(map.says).to_have_text("writing ‘la’, looks at ‘the’ 0.90, ‘white’ 0.06")
    map.cell(2, 1).hover()
    map.draw({"weights": [[0.25] * 4] * 3})
    expect(map.says).to_contain_text("writing ‘blanche’, looks at ‘white’ 0.25")


def test_another_row_is_selected_and_nothing_else_redrawn(map: Map) -> None:
    map.show({"row": 0})
    map.page.get_by_text("Numbers", exact=True).click()
    expect(map.page.locator(".heed-numbers tbody tr")).to_have_count(3)
    map.page.evaluate(
        """() => {
            window.redrawn = [];
            const watch = new MutationObserver((records) => redrawn.push(...records));
            for (const table of document.querySelectorAll(".heed-map table"))
                watch.observe(table, { childList: true, characterData: true, subtree: true });
        }"""
    )
    map.page.evaluate("map.select(2)")
    assert map.page.locator("tr.heed-selected th").all_text_contents() == ["blanche"]
    expect(map.says).to_contain_text("writing ‘blanche’")
    map.draw({}, {"row": 2})
    assert map.page.evaluate("redrawn.length") == 0
    map.draw({"weights": [[0.25] * 4] * 3})
    map.page.wait_for_function("redrawn.length > 0")


@pytest.mark.parametrize(
    ("marks", "picked"),
    [
        ({}, []),
        ({"pick": True}, [[1, 2]]),
        ({"heads": True}, [[-1, 2], [1, -1]]),
        ({"pick": True, "heads": True}, [[1, 2], [-1, 2], [1, -1]]),
    ],
    ids=["nothing", "cells", "words", "both"],
)
def test_only_what_may_be_picked_is_picked(
    map: Map, marks: dict[str, bool], picked: list[list[int]]
) -> None:
    places = [(1, 2), (-1, 2), (1, -1)]
    map.show(marks)
    for place in places:
        map.cell(*place).click()
    assert map.told("picked") == picked
    for place in places:
        map.cell(*place).focus()
        map.page.keyboard.press("Enter")
    assert map.told("picked") == picked
    for place in places:
        map.cell(*place).focus()
        map.page.keyboard.press("Space")
    assert map.told("picked") == picked


def test_a_finger_picks_and_reads(browser: Browser, home: str) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    map = Map(page, home).show({"pick": True})
    map.cell(1, 2).tap()
    assert map.told("picked") == [[1, 2]]
    expect(map.says).to_contain_text("writing ‘maison’, looks at ‘house’ 0.71")
    context.close()


# ------------------------------------------------------------------------ keyboard


def test_the_keyboard_walks_the_map_from_one_tab_stop(map: Map) -> None:
    map.show({"pick": True})
    keys = map.page.keyboard
    keys.press("Tab")
    assert map.focused == ["0", "0"]
    walk = [
        ("ArrowRight", ["0", "1"]),
        ("ArrowDown", ["1", "1"]),
        ("End", ["1", "3"]),
        ("ArrowRight", ["1", "3"]),
        ("Home", ["1", "0"]),
        ("ArrowLeft", ["1", "-1"]),
        ("ArrowUp", ["0", "-1"]),
        ("ArrowUp", ["0", "-1"]),  # not into the corner
        ("ArrowRight", ["0", "0"]),
        ("ArrowUp", ["-1", "0"]),
        ("ArrowDown", ["0", "0"]),
        ("Control+End", ["2", "3"]),
        ("PageUp", ["0", "3"]),
        ("PageDown", ["2", "3"]),
        ("Control+Home", ["0", "0"]),
    ]
    for key, place in walk:
        keys.press(key)
        assert map.focused == place, key
    expect(map.says).to_contain_text("writing ‘la’")
    keys.press("Enter")
    assert map.told("picked") == [[0, 0]]
    keys.press("Control+End")
    keys.press("Tab")
    assert map.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    keys.press("Shift+Tab")
    assert map.focused == ["2", "3"]  # it comes back to where it was


def test_a_view_can_put_the_focus(map: Map) -> None:
    map.show()
    map.page.evaluate("map.focus(2, 1)")
    assert map.focused == ["2", "1"]
    assert map.page.evaluate("map.cursor") == [2, 1]
    map.draw({"query": ["la"], "weights": [WEIGHTS[0]]})  # its row is gone
    assert map.page.evaluate("map.cursor") is None
    assert map.page.locator(".heed-cells [tabindex='0']").count() == 1


def test_jupyterlab_is_asked_to_leave_the_keys_alone(map: Map) -> None:
    map.show()
    map.page.get_by_text("Numbers", exact=True).click()
    assert map.page.locator(".heed-map [tabindex], .heed-map button").count() > 15
    assert map.page.evaluate(
        "[...document.querySelectorAll('.heed-map :is([tabindex], button, summary)')]"
        ".every((each) => each.dataset.lmSuppressShortcuts === 'true')"
    )


# ------------------------------------------------------------------------ numbers


def test_the_numbers_can_be_read_and_copied(map: Map) -> None:
    map.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    map.show()
    map.page.get_by_text("Numbers", exact=True).click()
    rows = map.page.locator(".heed-numbers tbody tr")
    assert rows.nth(1).locator("td").all_text_contents() == ["0.1800", "0.0700", "0.7149", "0.0351"]
    map.draw({"weights": [[0.25] * 4] * 3})
    assert rows.nth(1).locator("td").first.text_content() == "0.2500"
    map.page.get_by_role("button", name="Copy").click()
    expect(map.page.get_by_text("Copied.")).to_be_visible()
    lines = map.page.evaluate("navigator.clipboard.readText()").split("\n")
    assert lines[0].split("\t") == ["", *KEY]
    assert lines[2].split("\t") == ["maison", "0.2500", "0.2500", "0.2500", "0.2500"]


# ------------------------------------------------------------------------ every screen


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_map(map: Map, theme: str) -> None:
    map.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    ladder = [[(4 * i + j) / 11 for j in range(4)] for i in range(3)]
    map.show({"hidden": [3], "unknown": [1], "row": 1, "rings": [[0, 0, "sure"]]}, weights=ladder)
    map.page.get_by_text("Numbers", exact=True).click()
    map.cell(1, 1).hover()
    map.page.wait_for_timeout(200)
    assert serious(map.page) == {}


@pytest.mark.parametrize("words", [3, 20, 60])
def test_a_phone_scrolls_the_map_and_not_the_page(map: Map, words: int) -> None:
    map.page.set_viewport_size({"width": 360, "height": 700})
    names = [f"constitutionnellement{i}" for i in range(words)]
    map.show(query=names, key=names, weights=[[1 / words] * words] * words)
    assert map.page.evaluate("document.documentElement.scrollWidth") <= 360
    cell = map.cell(0, 0).bounding_box()
    assert cell is not None
    assert cell["width"] >= 24
    assert cell["height"] >= 24
    map.page.evaluate(f"map.focus(0, {words - 1})")
    map.page.wait_for_timeout(100)
    last, head = map.cell(0, words - 1).bounding_box(), map.cell(0, -1).bounding_box()
    assert last is not None
    assert head is not None
    assert head["x"] >= 0  # the words that are written stay
    assert last["x"] >= head["x"] + head["width"] - 1
    assert last["x"] + last["width"] <= 360


def test_nothing_moves_for_who_wants_no_motion(map: Map) -> None:
    map.page.emulate_media(reduced_motion="reduce")
    map.show()
    map.cell(0, 0).hover()
    moving = map.page.evaluate(
        "[...document.querySelectorAll('.heed-map *')]"
        ".filter((each) => getComputedStyle(each).transitionDuration !== '0s').length"
    )
    assert moving == 0


@pytest.mark.parametrize(("words", "most"), [(15, 40), (60, 400)])
def test_a_map_is_redrawn_quickly(map: Map, words: int, most: float) -> None:
    """In milliseconds of the page's own processor time: what else the machine does is not asked."""
    names = [f"w{i}" for i in range(words)]
    map.show(query=names, key=names, weights=[[0.0] * words] * words)
    session = map.page.context.new_cdp_session(map.page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration") * 1000

    before = spent()
    map.page.evaluate(
        """(names) => {
            for (let k = 1; k <= 10; k += 1) {
                const weights = names.map((_, i) => names.map((_, j) => (i * 7 + j * k) % 11 / 10));
                map.draw({ query: names, key: names, weights });
                document.body.offsetHeight;
            }
        }""",
        names,
    )
    assert (spent() - before) / 10 < most
