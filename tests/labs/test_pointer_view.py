"""The lab of pointers: in the kernel, and in a page. The networks are small and not trained; those
that are shipped are asked as well."""

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE, serious
from reading import Mounted, answered
from small_pointers import HULLS, ROWS, SORTS, TOURS, published

import heed
from heed.data.tours import hulls
from heed.evaluation.pointing import hull_answers
from heed.experiments.export import as_exported
from heed.experiments.pointing import Points, TrainedPointer
from heed.experiments.table import find
from heed.labs import PointerLab, drawing
from heed.labs.base import strings
from heed.labs.pointer import MOST, STRICT, beyond, hull, judged, scattered, verdict
from heed.labs.site import exported

SHIPPED = [name for name in exported() if isinstance(find(name).task, Points)]
CLOSE = 1e-4
NAMES = {"a tour": TOURS, "the hull": HULLS, "in order": SORTS}
SQUARE = [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9], [0.1, 0.9], [0.5, 0.4]]
say = drawing.sayer(strings())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small models with their graphs; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("pointers")
    published(folder)
    return folder / "trained"


@pytest.fixture
def pointers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, TrainedPointer]:
    """All of them, as if they were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    return {
        name: heed.experiments.trained.load(row, folder / row.name) for name, row in NAMES.items()
    }


@pytest.fixture
def lab(pointers: dict[str, TrainedPointer]) -> Iterator[PointerLab]:
    made = PointerLab(pointers, n=6)
    yield made
    made.close()


# ---------------------------------------------------------------------------- what is right


def test_points_of_a_seed_stay_and_fewer_are_the_first_of_more():
    points = scattered(7, 400)
    assert scattered(7, 20) == points[:20] != scattered(8, 20)
    assert all(0 <= x < 1 and 1000 * x == pytest.approx(round(1000 * x)) for p in points for x in p)
    assert np.mean(points) == pytest.approx(0.5, abs=0.05)


def test_a_hull_is_that_of_scipy_and_points_on_a_line_are_no_corners():
    points = torch.tensor([scattered(seed, 12) for seed in range(200)], dtype=torch.float64)
    for some, right in zip(points.tolist(), hulls(points).tolist(), strict=True):
        assert hull(some) == [key - 1 for key in right if key]
    assert hull(SQUARE) == [0, 1, 2, 3]
    assert hull([*SQUARE, [0.5, 0.1], [0.1, 0.1]]) == [0, 1, 2, 3]
    assert hull([[0.5, 0.5], [0.2, 0.2], [0.9, 0.9]]) == [1, 2]
    assert hull([[0.5, 0.5]] * 3) == [0]


@pytest.mark.parametrize(
    ("order", "finished", "fault", "alike"),
    [
        ([1, 2, 3, 0], True, "", True),
        ([3, 2, 1, 0], True, "", False),  # the other way round is not what was learnt
        ([1, 2, 3, 0], False, "unfinished", False),
        ([1, 2, 1, 0], True, "twice", False),
        ([1, 2], True, "few", False),
        ([0, 2, 1, 3], True, "cross", False),
        ([0, 1, 2], True, "", False),
    ],
)
def test_hulls_are_judged_as_the_evaluation_judges_them(order, finished, fault, alike):
    worth = judged("hull", SQUARE, order, finished=finished)
    assert (worth["fault"], worth["valid"], worth["alike"]) == (fault, not fault, alike)
    points = torch.tensor([SQUARE], dtype=torch.float64)
    keys = torch.tensor([[*(i + 1 for i in order), *[0] * (6 - len(order))]])
    wanted = hull_answers(points, keys, hulls(points), torch.tensor([finished]))
    assert worth["valid"] is bool(wanted.valid)
    assert alike is bool(wanted.exact)
    covered = wanted.covered.item()
    assert worth["covered"] == (None if math.isnan(covered) else pytest.approx(covered))


def test_tours_are_judged_by_the_best_of_all():
    points = scattered(3, 7)

    def length(order):
        ring = zip(order, (*order[1:], order[0]), strict=True)
        return sum(math.dist(points[i], points[j]) for i, j in ring)

    ways = [(0, *rest) for rest in itertools.permutations(range(1, 7))]
    best, worst = min(ways, key=length), max(ways, key=length)
    worth = judged("tour", points, best[::-1], finished=True)
    assert worth["alike"] is worth["valid"] is worth["exact"] is True
    assert worth["best"] == pytest.approx(length(best))
    assert worth["length"] == pytest.approx(length(best))
    worth = judged("tour", points, worst, finished=True)
    assert worth["ratio"] == pytest.approx(length(worst) / length(best))
    assert not worth["alike"]
    for order, finished, fault in (
        (best, False, "unfinished"),
        (best[:-1], True, "left"),
        ((*best[:-1], 0), True, "twice"),
    ):
        worth = judged("tour", points, order, finished=finished)
        assert worth["fault"] == fault
        assert worth["length"] is worth["ratio"] is None
    assert not judged("tour", scattered(3, 13), range(13), finished=True)["exact"]
    assert judged("tour", [[0.5, 0.5]] * 4, range(4), finished=True)["ratio"] == 1


def test_order_is_judged_by_the_steps_back():
    points = [[0.5, 0.1], [0.2, 0.9], [0.8, 0.4], [0.2, 0.3]]
    worth = judged("sort", points, [3, 1, 0, 2], finished=True)
    assert worth["right"] == [1, 3, 0, 2]
    assert worth["alike"] is True  # 3 and 1 are as far to the right
    assert judged("sort", points, [2, 0, 1, 3], finished=True)["falls"] == 2


def told(task: Any, order: list[int], points: Any = SQUARE, *, finished: bool = True) -> str:
    worth = judged(task, points, order, finished=finished)
    return verdict(say, {"order": order, **worth}, len(points))


def test_what_an_answer_is_worth_is_said_in_words():
    assert told("hull", [0, 1, 2, 3]) == "It went round the 4 corners of the hull, and no others."
    assert told("hull", [0, 1, 2]).endswith("4 corners. It covers 50.0 % of the hull’s area.")
    assert told("hull", [0, 2, 1, 3]) == "No answer: sides of its polygon cross."
    assert told("hull", [0, 2]) == "No answer: 2 corners make no polygon."
    assert told("hull", [0, 1, 2], [[0.1, 0.2], [0.2, 0.3], [0.3, 0.4]]).startswith(
        "All points lie"
    )
    assert told("tour", [0, 1, 2, 3]) == "No answer: it leaves out 5."
    assert told("tour", [0, 1, 2, 1]) == "No answer: it points at 2 twice."
    assert told("tour", [0, 1], finished=False) == "No answer: after 2 steps it has not come to ⇐."
    assert told("tour", [0, 4, 1, 2, 3]).endswith("and none is shorter.")
    longer = told("tour", [0, 2, 4, 1, 3])
    assert longer.endswith("times as long.")
    assert "2-opt" in told("tour", list(range(13)), scattered(0, 13))
    assert told("sort", [0, 3, 4, 1, 2]) == "All 5 are in order."
    assert told("sort", [1, 0, 3, 4, 2]).startswith("Not in order: 1 of them")
    choice = {"least": 4, "most": 6}
    assert [beyond(say, choice, n) != "" for n in (3, 4, 6, 7)] == [True, False, False, True]
    assert beyond(say, {"least": None, "most": None}, 3) == ""


# ---------------------------------------------------------------------------- the kernel


@pytest.mark.parametrize("choice", range(3))
@pytest.mark.parametrize("masked", [True, False])
def test_left_alone_it_points_where_the_model_points(lab, pointers, choice, masked):
    lab.set_state({"choice": choice, "masked": masked, "width": 2})
    trained = list(pointers.values())[choice]
    task = lab.choices[choice]["task"]
    points = torch.tensor(lab.points)
    found = trained.point(
        points[:, :1] if task == "sort" else points,
        width=2,
        rule=STRICT[task] if masked else "free",
    )
    answer = lab.answer
    assert answer["order"] == list(found.order)
    assert answer["finished"] is found.finished
    assert answer["task"] == task == ("tour", "hull", "sort")[choice]
    np.testing.assert_allclose(answer["weights"], found.trace.weights[0], atol=1e-6)
    assert lab.trace.query == found.trace.query
    assert lab.models == [row.name for row in ROWS]
    if masked:
        assert answer["fault"] in ("", "cross")


@pytest.mark.parametrize(
    ("name", "value"),
    [("points", SQUARE), ("choice", 1), ("masked", False), ("width", 3)],
)
def test_each_setting_that_asks_is_answered(lab, name, value):
    before = lab.answer
    setattr(lab, name, value)
    assert lab.answer["count"] == before["count"] + 1
    assert lab.answer["asked"][name] == value
    lab.step = 2
    lab.seed = 9
    assert lab.answer["count"] == before["count"] + 1


def test_places_lie_on_the_grid_and_what_a_browser_sends_is_checked(lab):
    lab.points = [[0.12345, 1.0], [0.0, 0.9996], [0.5, 0.5]]
    assert lab.points == [[0.123, 1.0], [0.0, 1.0], [0.5, 0.5]]
    for bad in (SQUARE[:2], SQUARE * 5, [[0.5, 0.5], [0.5, 1.2], [0.1, 0.1]], [[0.5]] * 3, "here"):
        lab.set_state({"points": bad})
        assert len(lab.points) == 3
    lab.set_state({"width": 99, "step": -4, "choice": 1})
    assert (lab.width, lab.step, lab.choice) == (5, 1, 1)
    with pytest.raises(traitlets.TraitError, match=r"2 points, but there may be 3 to 20 of them"):
        lab.points = SQUARE[:2]
    with pytest.raises(traitlets.TraitError, match=r"point 2=\[0.5, nan\] is no place"):
        lab.points = [[0.5, 0.5], [0.5, math.nan], [0.1, 0.1]]


def test_models_of_another_kind_and_facts_are_refused(pointers, monkeypatch):
    with monkeypatch.context() as shipped:
        shipped.delenv("HEED_TRAINED")
        other = heed.load("lstm_recall")
    with pytest.raises(TypeError, match="asks a PointerNetwork, and lstm_recall is a Recall"):
        PointerLab({"a": other})
    with pytest.raises(ValueError, match="needs a model, and got none"):
        PointerLab({})
    with pytest.raises(ValueError, match="a note on 'x', but the models are a tour, the hull, in"):
        PointerLab(pointers, {"x": "a note"})
    with pytest.raises(TypeError, match="the choices of a PointerLab are made from its models"):
        PointerLab(pointers, choices=[])
    with pytest.raises(traitlets.TraitError, match="choice=3, but there are 3"):
        PointerLab(pointers, choice=3)
    with pytest.raises(ValueError, match="n=21, but there may be 3 to 20 points"):
        PointerLab(pointers, n=21)


def test_without_a_script_the_answer_is_drawn_and_told(lab):
    page = BeautifulSoup(lab.html(), "html.parser")
    (picture,) = page.select("svg.heed-pointer-picture[role=img][aria-label]")
    assert len(picture.select("circle.dot")) == len(lab.points) == 6
    assert len(picture.select("path")) == 2
    rows = page.select("table.heed-cells tbody tr")
    assert len(rows) == len(lab.answer["weights"])
    assert verdict(say, lab.answer, 6) in page.text
    assert "more than it ever saw" not in page.text
    lab.points = scattered(0, 9)
    assert "These are 9 points, more than it ever saw" in lab.html()


def test_changed_weights_show(lab):
    before = lab.answer["weights"]
    with torch.no_grad():
        lab._trained[0].model.score.v.weight.mul_(-1)
    lab.refresh()
    assert lab.answer["weights"] != before
    assert lab.models == []  # a page has no such model


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


def same_worth(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """The same, but that one of several tours of one length may be the right one."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if name in ("length", "best", "ratio", "covered") and value is not None:
            assert found[name] == pytest.approx(value, abs=CLOSE), name
        elif name == "right" and wanted["task"] == "tour":
            assert sorted(found[name]) == sorted(value or [])
        else:
            assert found[name] == value, name


@browser
def test_the_page_judges_as_the_kernel_does(bench: Page):
    dice = torch.Generator().manual_seed(5)
    cases, grid = [], [[x / 4, y / 4] for x in range(4) for y in range(3)]
    flat = [[x / 10, x / 10] for x in (3, 1, 8, 5)]
    for points in (*(scattered(s, 3 + s) for s in range(15)), grid, flat, SQUARE):
        n = len(points)
        for task in ("tour", "hull", "sort"):
            right = judged(task, points, [], finished=False)["right"]
            free = torch.randint(n, (n,), generator=dice).tolist()
            for order in (right, torch.randperm(n, generator=dice).tolist(), free, free[:2]):
                cases.append({"task": task, "points": points, "order": order, "finished": True})
    cases[0]["finished"] = False
    found = in_page(
        bench,
        """const { judged, scattered } = await import(at("tours.js"));
        return [
            scattered(4294967295, 20),
            given.map(({ task, points, order, finished }) => judged(task, points, order, finished)),
        ];""",
        cases,
    )
    assert found[0] == scattered(2**32 - 1, 20)
    faults = set()
    for case, worth in zip(cases, found[1], strict=True):
        wanted = judged(**case)
        same_worth(worth, wanted)
        faults.add(wanted["fault"])
        clear = case["points"] not in (grid, flat) and case["task"] == "tour"
        if clear:  # only one tour is the shortest
            assert worth["right"] == wanted["right"]
    assert faults == {"", "unfinished", "twice", "left", "few", "cross"}


@browser
@pytest.mark.parametrize("name", [*(row.name for row in ROWS), *SHIPPED])
def test_the_page_points_as_pytorch_does(
    bench: Page, models: None, pointers: Any, name: str, monkeypatch: pytest.MonkeyPatch
):
    small = {each.card.experiment: each for each in pointers.values()}
    monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(small.get(name) or heed.load(name))
    assert isinstance(trained, TrainedPointer)
    wide = trained.model.config.d_input
    ways = [("each_once", 1), ("polygon", 3), ("free", 1), ("free", 2)]
    cases = [
        {"points": scattered(17 * n + k, n), "rule": rule, "width": width}
        for n in (3, 7, 10, 20)
        for k in range(5)
        for rule, width in ways
    ]
    found = in_page(
        bench,
        """const { model } = await import(at("pointings.js"));
        const network = await model(given.name);
        const told = [];
        for (const { points, rule, width } of given.cases) {
            told.push(await network.point(points, { rule, width }));
        }
        return told;""",
        {"name": name, "cases": cases},
    )
    for case, each in zip(cases, found, strict=True):
        points = torch.tensor(case["points"])[:, :wide]
        wanted = trained.point(points, width=case["width"], rule=case["rule"])
        assert each["order"] == list(wanted.order), case
        assert each["finished"] is wanted.finished
        assert each["logProb"] == pytest.approx(wanted.log_prob, abs=2e-3)
        np.testing.assert_allclose(each["weights"], wanted.trace.weights[0], atol=CLOSE, rtol=0)


SETTINGS = [
    {},
    {"points": scattered(4, 3)},
    {"points": scattered(5, 20), "width": 5},
    {"points": scattered(6, 12), "masked": False},
    {"choice": 1, "points": scattered(7, 9)},
    {"choice": 1, "masked": False, "width": 3},
    {"choice": 2, "points": scattered(9, 15), "width": 2},
    {"choice": 2, "masked": False},
]


@browser
@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, pointers: dict[str, TrainedPointer], settings: dict[str, Any]
):
    made = PointerLab({name: as_exported(each) for name, each in pointers.items()}, **settings)
    facts = {name: getattr(made, name) for name in (*made.settings, *made.facts, "models")}
    found = in_page(
        bench,
        """const engine = await import(at("answers/pointer.js"));
        const get = (name) => given[name];
        const models = await Promise.all(engine.models(get).map(engine.model));
        return engine.answer(get, models);""",
        facts,
    )
    wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
    np.testing.assert_allclose(found.pop("weights"), wanted.pop("weights"), atol=CLOSE, rtol=0)
    assert found.pop("log_prob") == pytest.approx(wanted.pop("log_prob"), abs=2e-3)
    same_worth(found, wanted)
    made.close()


# ---------------------------------------------------------------------------- the view


class OnPage:
    """The lab, once its models are at work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("heed-lab")
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)
        self.points = self.root.locator(".heed-pointer-picture .point")
        self.ground = self.root.locator(".heed-pointer-picture .ground")

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)
        expect(self.root.locator(".heed-sheet")).to_have_attribute("aria-busy", "false")

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Of a place of the square."""
        box = self.ground.bounding_box()
        assert box
        return box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"]

    def places(self) -> list[tuple[float, float]]:
        """Where the points say that they are."""
        labels = self.points.evaluate_all("all => all.map((g) => g.getAttribute('aria-label'))")
        words = [label.split(",")[1:] for label in labels]
        return [(float(x.split()[0]), float(y.split()[0])) for x, y in words]

    def shows(self, lab: PointerLab) -> None:
        """That it draws what the kernel would, at the step where it is."""
        answer = lab.answer
        step = self.root.get_by_label("Step", exact=True)
        at = min(lab.step, len(answer["weights"]))
        expect(step).to_have_attribute("aria-valuetext", f"{at} of {len(answer['weights'])}")
        order = [*(str(i + 1) for i in answer["order"]), *["⇐"] * answer["finished"]]
        said = self.root.locator(".heed-pointer-order")
        expect(said).to_have_text(f"It points at {', '.join(order)}.")
        expect(self.root.locator(".heed-verdict")).to_have_text(
            verdict(say, answer, len(lab.points))
        )
        discs = self.points.locator(".weight").evaluate_all(
            "all => all.map((c) => +c.getAttribute('r'))"
        )
        row = answer["weights"][at - 1]
        np.testing.assert_allclose(discs, [22 * w**0.5 for w in row[1:]], atol=0.3)
        expect(self.root.locator(".heed-pointer-end")).to_have_text(f"⇐ {row[0]:.2f}")
        np.testing.assert_allclose(self.places(), lab.points, atol=0.0051)

    def pull(self, what: Locator, to: tuple[float, float]) -> None:
        """By the mouse, to this place of the square."""
        box = what.locator(".dot").bounding_box()
        assert box
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.mouse.down()
        self.page.mouse.move(*self.pixel(*to), steps=4)
        self.page.mouse.up()


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: PointerLab) -> OnPage:
    quiet.set_viewport_size({"width": 1000, "height": 1200})
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


def moved(points: list[list[float]], i: int, place: Any) -> list[list[float]]:
    return [list(place) if j == i else each for j, each in enumerate(points)]


@browser
def test_points_are_pulled_and_pushed_added_and_removed(opened: OnPage, lab: PointerLab):
    opened.shows(lab)
    opened.after(lambda: opened.pull(opened.points.nth(1), (0.8, 0.25)))
    x, y = opened.places()[1]
    assert (x, y) == (pytest.approx(0.8, abs=0.02), pytest.approx(0.25, abs=0.02))
    opened.points.nth(2).focus()
    x, y = opened.places()[2]
    for keys in ("ArrowRight", "Shift+ArrowUp"):
        opened.after(lambda: opened.page.keyboard.press(keys))  # noqa: B023
    assert opened.places()[2] == (
        pytest.approx(x + 0.02, abs=0.011),
        pytest.approx(y + 0.1, abs=0.011),
    )
    opened.after(lambda: opened.page.mouse.click(*opened.pixel(0.95, 0.95)))
    expect(opened.points).to_have_count(7)
    assert opened.places()[6] == (pytest.approx(0.95, abs=0.01), pytest.approx(0.95, abs=0.01))
    opened.points.nth(0).focus()
    opened.after(lambda: opened.page.keyboard.press("Delete"))
    expect(opened.points).to_have_count(6)
    expect(opened.points.nth(0)).to_be_focused()
    opened.after(opened.root.get_by_role("button", name="Add a point").click)
    expect(opened.points).to_have_count(7)
    opened.points.nth(4).focus()
    opened.after(opened.root.get_by_role("button", name="Remove point 5").click)
    expect(opened.points).to_have_count(6)
    for _ in range(3):
        opened.after(opened.root.get_by_role("button", name="Remove point").click)
    expect(opened.root.get_by_role("button", name="Remove point")).to_be_disabled()
    opened.after(opened.root.get_by_role("button", name="Back to the start").click)
    opened.shows(lab)


@browser
def test_an_answer_comes_while_a_point_is_still_being_pulled(opened: OnPage):
    box = opened.points.nth(0).locator(".dot").bounding_box()
    assert box
    mouse = opened.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    for place in ((0.3, 0.9), (0.9, 0.5)):
        opened.after(lambda: mouse.move(*opened.pixel(*place), steps=2))  # noqa: B023
    mouse.up()


@browser
def test_more_points_are_scattered_and_more_than_it_saw_is_said(opened: OnPage, lab: PointerLab):
    count = opened.root.get_by_role("slider", name="Points")
    told = opened.root.locator(".heed-pointer-beyond")
    expect(told).to_be_hidden()
    count.focus()
    opened.after(lambda: opened.page.keyboard.press("End"))
    lab.points = scattered(0, MOST)
    opened.shows(lab)
    expect(told).to_have_text(beyond(say, lab.choices[0], MOST))
    expect(opened.root.get_by_role("button", name="Add a point")).to_be_disabled()
    expect(opened.root.get_by_text("There is no room for more than 20 points.")).to_be_visible()
    before = opened.root.get_attribute("data-count")
    opened.page.mouse.click(*opened.pixel(0.02, 0.98))
    expect(opened.points).to_have_count(MOST)
    assert opened.root.get_attribute("data-count") == before
    expect(opened.root.locator(".heed-pointer-legend")).to_contain_text("2-opt")
    opened.after(opened.root.get_by_role("button", name="Another one").click)
    lab.points = scattered(1, MOST)
    opened.shows(lab)


@browser
def test_steps_are_walked_through_and_played(opened: OnPage, lab: PointerLab):
    step = opened.root.get_by_label("Step", exact=True)
    step.focus()
    before = opened.root.get_attribute("data-count")
    opened.page.keyboard.press("Home")
    lab.step = 1
    opened.shows(lab)
    says = opened.root.locator(".heed-says")
    first = lab.answer["order"][0] + 1
    expect(says).to_contain_text(f"Step 1: it begins, and points at point {first} with")
    opened.page.keyboard.press("End")
    lab.step = len(lab.answer["weights"])
    opened.shows(lab)
    expect(says).to_contain_text(f"Step {lab.step}: at point {lab.answer['order'][-1] + 1}, it")
    opened.root.get_by_role("button", name="Play").click()
    expect(step).to_have_attribute("aria-valuetext", f"2 of {lab.step}")
    opened.root.get_by_role("button", name="Stop").click()
    expect(opened.root.get_by_role("button", name="Play")).to_be_visible()
    assert opened.root.get_attribute("data-count") == before  # nobody was asked


@browser
def test_the_switch_the_rule_and_the_beam_change_the_answer(opened: OnPage, lab: PointerLab):
    root = opened.root
    opened.after(lambda: root.get_by_label("Forbid what").uncheck(force=True))
    lab.masked = False
    opened.shows(lab)
    beam = root.get_by_role("slider", name="Beam")
    beam.focus()
    opened.after(lambda: opened.page.keyboard.press("End"))
    lab.width = 5
    opened.shows(lab)
    opened.after(lambda: root.get_by_label("the hull", exact=True).check(force=True))
    lab.choice = 1
    opened.shows(lab)
    opened.after(lambda: root.get_by_label("Forbid what").check(force=True))
    lab.masked = True
    opened.shows(lab)
    opened.after(lambda: root.get_by_label("in order", exact=True).check(force=True))
    lab.choice = 2
    opened.shows(lab)
    expect(root.get_by_text("reads only how far to the right")).to_be_visible()
    right = root.locator(".heed-pointer-picture .right")
    assert right.get_attribute("d")
    root.get_by_label("Show what is right").uncheck(force=True)
    expect(right).to_have_attribute("d", "")


@browser
def test_numbers_are_those_of_the_step(opened: OnPage, lab: PointerLab):
    opened.root.locator(".heed-numbers summary").click()
    rows = opened.root.locator(".heed-numbers tbody tr")
    expect(rows).to_have_count(7)
    weights = rows.locator("td:nth-child(3)").all_inner_texts()
    np.testing.assert_allclose([float(w) for w in weights], lab.answer["weights"][2], atol=6e-4)
    when = rows.locator("td:nth-child(4)").all_inner_texts()
    assert when[1:] == [str(lab.answer["order"].index(i) + 1) for i in range(6)]


@browser
def test_fingers_add_points_and_pull_them(models: None, browser: Any, sheet: Any, lab: PointerLab):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(sheet(lab.html()))
    opened = OnPage(page)
    opened.ground.scroll_into_view_if_needed()
    opened.after(lambda: page.touchscreen.tap(*opened.pixel(0.03, 0.97)))
    expect(opened.points).to_have_count(7)
    box = opened.points.nth(6).locator(".dot").bounding_box()
    assert box
    page.touchscreen.tap(box["x"] + 3, box["y"] + 3)
    expect(opened.points).to_have_count(7)  # a tap on a point takes it, and adds none
    opened.after(opened.root.get_by_role("button", name="Remove point 7").tap)
    expect(opened.points).to_have_count(6)
    context.close()


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.root.locator(".heed-numbers summary").click()
    assert serious(opened.page) == {}


@browser
def test_a_phone_needs_no_sideways_scrolling_and_fingers_find_their_aim(opened: OnPage):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
    sizes = opened.root.locator(
        "button:visible, summary:visible, .heed-options label:visible"
    ).evaluate_all("all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight))")
    assert min(sizes) >= 24
    reach = opened.points.first.locator(".reach").bounding_box()
    assert reach
    assert min(reach["width"], reach["height"]) >= 24


@browser
def test_a_model_that_was_changed_leaves_only_the_picture(
    quiet: Page, sheet: Callable[[str], str], lab: PointerLab
):
    with torch.no_grad():
        lab._trained[0].model.score.v.weight.mul_(-1)
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    for name in ("Another one", "Add a point", "Remove", "Back to the start"):
        expect(root.get_by_role("button", name=name)).to_be_hidden()
    expect(root.get_by_role("slider", name="Points")).to_be_hidden()
    step = root.get_by_label("Step", exact=True)
    step.focus()
    quiet.keyboard.press("End")  # what was computed is there to be looked at
    last = len(lab.answer["weights"])
    expect(step).to_have_attribute("aria-valuetext", f"{last} of {last}")


@browser
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: PointerLab):
    Mounted(bench, lab.html()).fails(masked=False)
