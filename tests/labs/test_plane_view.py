"""The plane in a page: points that are moved by mouse, finger and keys, and what answers them."""

import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PATIENCE, Log, serious
from reading import LabOnPage

from heed.labs import PlaneLab
from heed.labs.plane import LABELS, REACH, WIDTHS
from heed.scores import ScoreName

pytestmark = pytest.mark.browser

SCORES = get_args(ScoreName)

NAMES = {
    "additive": "additive",
    "general": "general",
    "dot": "dot",
    "scaled_dot": "scaled dot",
    "content_base": "content-base",
    "unit_content_base": "content-base, β = 1",
    "location_base": "location-base",
}


class Lab(LabOnPage):
    def score(self, name: str) -> None:
        self.after(self.root.get_by_label(NAMES[name], exact=True).click)

    def point(self, name: str) -> Locator:
        start = "Query at" if name == "q" else f"Key {name} at"
        return self.root.get_by_role("button", name=re.compile(f"^{start}"))

    def place(self, name: str) -> tuple[float, float]:
        said = (self.point(name).get_attribute("aria-label") or "").replace("−", "-")
        found = re.search(r" at (-?[\d.]+), (-?[\d.]+)", said)
        assert found
        return float(found[1]), float(found[2])

    def middle(self, name: str) -> tuple[float, float]:
        box = self.point(name).locator(".dot").bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def weights(self) -> list[float]:
        return [float(text) for text in self.root.locator("tbody td:last-child").all_inner_texts()]

    def text(self, name: str) -> str:
        return self.root.locator(f".heed-{name}").first.inner_text()

    def slide(self, name: str, value: float) -> None:
        self.after(lambda: self.root.get_by_label(name).fill(str(value)))

    def drawing(self) -> str:
        """What is drawn, without what the controls show of themselves."""
        return self.root.evaluate(
            """root => JSON.stringify([
                root.querySelector(".heed-plane-picture").outerHTML,
                root.querySelector("canvas").toDataURL(),
                root.querySelector(".heed-plane-table").innerText,
                root.querySelector(".heed-plane-facts").innerText,
                root.querySelector(".heed-plane-gradient").innerText,
            ])"""
        )


@pytest.fixture
def lab(quiet: Page, sheet: Callable[[str], str]) -> Lab:
    quiet.set_viewport_size({"width": 1000, "height": 1000})
    quiet.goto(sheet(PlaneLab().html()))
    return Lab(quiet)


# ------------------------------------------------------------------------------- the same answers


def tried() -> Iterator[dict[str, Any]]:
    """Settings by chance, and some at the edges."""
    dice = random.Random(0)

    def place(reach: float = REACH) -> list[float]:
        return [round(dice.uniform(-reach, reach), 2) for _ in range(2)]

    for score in SCORES:
        for _ in range(30):
            yield {
                "score": score,
                "query": place(),
                "points": [place() for _ in LABELS],
                "d": dice.choice(WIDTHS),
                "strength": round(dice.uniform(0.1, 20), 1),
                "temperature": round(dice.uniform(0.1, 5), 1),
                "picked": dice.randrange(len(LABELS)),
            }
        yield {"score": score, "query": [0.0, 0.0], "points": [[0.0, 0.0]] * len(LABELS)}
        yield {"score": score, "query": [0.0, 3.0], "d": 512, "temperature": 0.1}


def test_page_and_kernel_give_the_same_answer(bench: Page) -> None:
    kernel = PlaneLab()
    given, wanted = [], []
    for settings in tried():
        kernel.set_state(settings)
        given.append({name: getattr(kernel, name) for name in (*kernel.settings, *kernel.facts)})
        wanted.append({k: v for k, v in kernel.answer.items() if k not in {"count", "asked"}})
    found = bench.evaluate(
        """async (given) => {
            const engine = await import(new URL("labs/answers/plane.js", location.href).href);
            return given.map((settings) => engine.answer((name) => settings[name]));
        }""",
        given,
    )
    assert len(found) == len(wanted) == 32 * len(SCORES)
    nothing = 0
    for here, there, settings in zip(found, wanted, given, strict=True):
        assert list(here) == list(there), settings
        nothing += there["gradient"] is None
        for name, value in there.items():
            if value is None or isinstance(value, bool):
                assert here[name] is value, (name, settings)
            else:
                np.testing.assert_allclose(here[name], value, atol=1e-5, err_msg=str(settings))
    assert nothing == 2  # the two cosines at the origin
    kernel.close()


def test_the_page_answers_at_once_and_fetches_no_model(
    quiet: Page, sheet: Callable[[str], str]
) -> None:
    fetched: list[str] = []
    quiet.on("request", lambda request: fetched.append(request.url))
    quiet.goto(sheet(f"<pre></pre>{PlaneLab().html()}"))
    quiet.wait_for_selector("heed-lab[data-live]")  # far below the window
    assert not [url for url in fetched if re.search(r"/(models|ort)/", url)]
    expect(quiet.locator("heed-lab > .heed-status")).to_have_text("Computed in this page.")
    lab = Lab(quiet)
    quiet.context.set_offline(True)
    before = lab.drawing()
    lab.score("dot")
    assert lab.drawing() != before
    quiet.context.set_offline(False)


# ------------------------------------------------------------------------------- moving points


@pytest.mark.parametrize("name", ["q", "A", "F"])
def test_a_point_follows_the_mouse(lab: Lab, name: str) -> None:
    mouse, before = lab.page.mouse, lab.weights()
    x, y = lab.middle(name)
    at = lab.place(name)
    side = (lab.root.locator(".heed-plane-picture").bounding_box() or {})["width"]
    mouse.move(x + 3, y - 2)  # not its middle: it must not jump there
    mouse.down()
    mouse.move(x + 3 - side / 6, y - 2 + side / 12, steps=4)  # one to the left, half a one down
    mouse.up()
    expected = (at[0] - 1, at[1] - 0.5)
    assert lab.place(name) == pytest.approx(expected, abs=0.03)
    here = lab.middle(name)
    assert here == pytest.approx((x - side / 6, y + side / 12), abs=2)
    assert lab.weights() != before
    mouse.move(x, y)
    assert lab.middle(name) == here  # let go


def test_a_point_follows_a_finger_and_the_page_stays(
    browser: Browser, home: str, sheet: Callable[[str], str]
) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 500})
    page, log = context.new_page(), Log(home)
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(sheet(PlaneLab().html()))
    lab = Lab(page)
    lab.point("C").scroll_into_view_if_needed()
    top, at = page.evaluate("scrollY"), lab.place("C")
    x, y = lab.middle("C")
    finger = context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for step in range(1, 6):
        touch("touchMove", (x - 10 * step, y + 12 * step))
    touch("touchEnd")
    page.wait_for_timeout(500)
    expect(lab.point("C")).to_have_attribute("aria-pressed", "true")
    assert lab.place("C")[0] < at[0] - 0.5
    assert lab.place("C")[1] < at[1] - 0.5
    assert page.evaluate("scrollY") == top
    assert log.complaints == []
    context.close()


def test_a_click_on_the_plane_brings_the_query_there(lab: Lab) -> None:
    box = lab.root.locator(".heed-plane-picture").bounding_box()
    assert box
    lab.after(lambda: lab.page.mouse.click(box["x"] + box["width"] / 4, box["y"] + 20))
    assert lab.place("q")[0] == pytest.approx(-1.5, abs=0.03)
    assert lab.place("q")[1] > 2.5


def test_by_keyboard_alone(lab: Lab) -> None:
    keys, here = lab.page.keyboard, "document.activeElement"
    lab.root.get_by_label("Temperature").focus()
    seen = []
    for _ in range(7):
        keys.press("Tab")
        seen.append(lab.page.evaluate(f"{here}.getAttribute('aria-label')").split(" at ")[0])
    assert seen == [*(f"Key {label}" for label in LABELS), "Query"]
    at = lab.place("q")
    lab.after(lambda: keys.press("ArrowUp"))
    lab.after(lambda: keys.press("Shift+ArrowLeft"))
    assert lab.place("q") == pytest.approx((at[0] - 0.5, at[1] + 0.1))
    keys.press("Shift+Tab")
    lab.after(lambda: keys.press("Enter"))
    expect(lab.point("F")).to_have_attribute("aria-pressed", "true")
    assert lab.root.get_by_label("F", exact=True).is_checked()
    for _ in range(9):
        keys.press("Shift+ArrowRight")
    lab.page.wait_for_timeout(100)
    assert lab.place("F")[0] == 3  # not beyond the plane
    lab.page.wait_for_timeout(600)
    assert lab.text("says").startswith("The query at 1, −0.2 looks at")
    free = "[...document.querySelectorAll('heed-lab :is(input, button, [tabindex])')]"
    assert lab.page.evaluate(f"{free}.every(e => e.dataset.lmSuppressShortcuts === 'true')")


# ------------------------------------------------------------------------------- controls


def test_each_control_changes_the_drawing(lab: Lab) -> None:
    seen = [lab.drawing()]

    def changed() -> None:
        assert lab.drawing() != seen[-1]
        seen.append(lab.drawing())

    lab.slide("Temperature", 0.5)
    changed()
    for score in SCORES:
        if score != "scaled_dot":
            lab.score(score)
            changed()
        if score == "content_base":
            lab.slide("Strength β", 8)
            changed()
    for score in ("dot", "scaled_dot"):
        lab.score(score)
        lab.slide("Width d", 3)
        changed()
        lab.slide("Width d", 1)
    lab.after(lambda: lab.root.get_by_label("C", exact=True).click())
    changed()
    reset = lab.root.get_by_role("button", name="As it was")
    lab.after(reset.click)
    expect(reset).to_be_disabled()
    fresh = seen[0]
    assert lab.drawing() == fresh


@pytest.mark.parametrize("score", SCORES)
def test_only_controls_that_do_something_are_shown(lab: Lab, score: str) -> None:
    if score != "scaled_dot":
        lab.score(score)
    width, strength = (lab.root.get_by_label(name) for name in ("Width d", "Strength β"))
    assert width.is_visible() is (score in ("dot", "scaled_dot"))
    assert strength.is_visible() is (score == "content_base")
    assert lab.root.get_by_label("Temperature").is_visible()
    assert lab.text("formula").startswith("score(q, ")
    assert "{" not in lab.text("note")


def test_the_location_based_score_does_not_see_the_keys(lab: Lab) -> None:
    lab.score("location_base")
    before, facts = lab.weights(), lab.text("plane-facts")
    lab.point("B").focus()
    lab.after(lambda: lab.page.keyboard.press("Shift+ArrowDown"))
    assert lab.weights() == before
    assert lab.text("plane-facts") != facts  # the context
    lab.point("q").focus()
    lab.after(lambda: lab.page.keyboard.press("Shift+ArrowDown"))
    assert lab.weights() != before


def test_a_saturated_softmax_has_no_arrow(lab: Lab) -> None:
    arrow = lab.root.locator(".slope")
    assert arrow.get_attribute("d")
    assert "saturated" not in lab.text("plane-gradient")
    lab.score("dot")
    lab.slide("Width d", 9)
    assert arrow.get_attribute("d") == ""
    assert "the softmax is saturated" in lab.text("plane-gradient")
    assert max(lab.weights()) == 1


def test_the_arrow_points_where_the_weight_grows(lab: Lab) -> None:
    weight = lab.weights()[1]
    x, y = (
        float(part.replace("−", "-"))
        for part in re.findall(r"−?\d\.\d{3}", lab.text("plane-gradient"))[:2]
    )
    lab.point("q").focus()
    towards = "ArrowUp" if abs(y) > abs(x) else "ArrowRight"
    assert max(x, y) > 0.1
    lab.after(lambda: lab.page.keyboard.press(towards))
    grown = lab.weights()[1] - weight
    assert grown == pytest.approx(0.1 * max(x, y), abs=0.012)
    shown = lab.root.locator(".slope").evaluate("e => e.getBBox().height")
    side = lab.root.locator(".heed-plane-picture").evaluate("e => e.clientWidth")
    assert shown == pytest.approx(3 * y * side / 6, abs=14)  # less where it begins, more its head


def test_a_cosine_at_the_origin_is_said_in_words(lab: Lab) -> None:
    lab.score("content_base")
    lab.point("q").focus()
    keys = lab.page.keyboard
    for key, times in (("Shift+ArrowLeft", 3), ("ArrowUp", 3)):
        for _ in range(times):
            lab.after(lambda key=key: keys.press(key))
    assert lab.place("q") == (0, 0)
    assert "a cosine no gradient" in lab.text("plane-gradient")
    assert lab.root.locator(".slope").get_attribute("d") == ""


def test_the_weight_stays_below_the_bound_that_is_told(lab: Lab) -> None:
    lab.score("unit_content_base")
    bound = math.e / (math.e + 5 / math.e)
    assert f"no weight here can exceed {bound:.2f}" in lab.text("note")
    assert max(lab.weights()) < bound


# ------------------------------------------------------------------------------- everywhere


def test_two_planes_on_a_page_do_not_meet(quiet: Page, sheet: Callable[[str], str]) -> None:
    quiet.goto(sheet(PlaneLab().html() * 2))
    one, other = Lab(quiet), Lab(quiet, 1)
    before = other.drawing()
    one.score("dot")
    one.point("q").focus()
    one.after(lambda: quiet.keyboard.press("ArrowUp"))
    assert other.drawing() == before
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_axe_finds_nothing_serious(lab: Lab) -> None:
    for theme in ("light", "dark"):
        lab.page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        for score in ("scaled_dot", "content_base"):
            lab.root.get_by_label(NAMES[score], exact=True).check()
            assert serious(lab.page) == {}, (theme, score)


def test_a_phone(lab: Lab) -> None:
    lab.page.set_viewport_size({"width": 360, "height": 740})
    for score in ("location_base", "content_base", "dot"):
        lab.score(score)
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= 360
    lab.page.wait_for_timeout(200)
    inside = lab.root.locator(".heed-plane-picture").evaluate(
        """picture => {
            const [inner, outer] = [picture, picture.closest(".heed-sheet")].map(
                (each) => each.getBoundingClientRect());
            return inner.left >= outer.left && inner.right <= outer.right && inner.width > 250;
        }"""
    )
    assert inside
    small = lab.root.locator("button:visible, .reach, input:visible").evaluate_all(
        "all => all.map(e => [e.outerHTML, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)"
    )
    assert small == []


def test_an_answer_is_drawn_in_time(lab: Lab) -> None:
    took = []
    lab.score("additive")
    lab.point("q").focus()
    for key in ("ArrowUp", "ArrowLeft") * 10:
        lab.after(lambda key=key: lab.page.keyboard.press(key))
        took.append(float(lab.root.get_attribute("data-ms") or 0))
    assert sorted(took)[10] < 50
