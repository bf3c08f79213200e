"""The eye and the box in a page: moved by mouse, finger and keys, with what both show."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from reader import PATIENCE, Log, serious
from reading import LabOnPage

from heed.labs import LookingLab
from heed.labs.looking import room, sight
from heed.layers.fovea import fovea, pyramid, share_seen

pytestmark = pytest.mark.browser


class Lab(LabOnPage):
    def text(self, name: str) -> str:
        return self.root.locator(f".heed-{name}").inner_text()

    def eye(self) -> tuple[float, float]:
        ring = self.root.locator("circle.heed-looking-eye")
        return float(ring.get_attribute("cx") or "nan"), float(ring.get_attribute("cy") or "nan")

    def stage(self) -> Any:
        return self.root.locator(".heed-looking-stage")

    def drawing(self) -> str:
        """What is drawn, when it stands still."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done(1)))")
        self.page.wait_for_timeout(60)
        return self.root.evaluate(
            """root => JSON.stringify([...root.querySelectorAll("canvas")]
                .filter((each) => each.checkVisibility()).map((each) => each.toDataURL()))
                + root.querySelector(".heed-looking-stage svg").innerHTML"""
        )


@pytest.fixture
def looking(quiet: Page, sheet: Callable[[str], str]) -> Lab:
    quiet.set_viewport_size({"width": 1000, "height": 1000})
    quiet.goto(sheet(LookingLab().html()))
    return Lab(quiet)


@pytest.fixture
def hiding(quiet: Page, sheet: Callable[[str], str]) -> Lab:
    quiet.set_viewport_size({"width": 1000, "height": 1000})
    quiet.goto(sheet(LookingLab(mode="hide").html()))
    return Lab(quiet)


# ------------------------------------------------------------------------------- the same answers


def test_page_and_kernel_give_the_same_answer(bench: Page) -> None:
    dice, kernel = random.Random(0), LookingLab()
    given, wanted = [], []
    for hidden in (0, 15, 191, *(dice.randrange(192) for _ in range(17))):
        settings = {
            "hidden": hidden,
            "temperature": 10 ** dice.uniform(-4, 1),
            "mirror": dice.random() < 0.5,
        }
        kernel.set_state(settings)
        given.append({name: getattr(kernel, name) for name in kernel.settings})
        wanted.append({k: v for k, v in kernel.answer.items() if k not in {"count", "asked"}})
    found = bench.evaluate(
        """async ([given, sight]) => {
            const engine = await import(new URL("labs/answers/looking.js", location.href).href);
            return given.map((settings) =>
                engine.answer((name) => (name === "sight" ? sight : settings[name])));
        }""",
        [given, sight()],
    )
    for here, there, settings in zip(found, wanted, given, strict=True):
        assert list(here) == list(there)
        for name, value in there.items():
            np.testing.assert_allclose(
                here[name], value, atol=1e-4, err_msg=f"{name} of {settings}"
            )
    kernel.close()


def test_page_and_kernel_see_the_same(bench: Page) -> None:
    looks = [(160, 92, 20), (0, 0, 4), (320, 240, 160), (71.3, 31.9, 55.5)]
    found = bench.evaluate(
        """async ([looks, sight]) => {
            const here = (name) => import(new URL(`labs/${name}`, location.href).href);
            const [eye, patches] = await Promise.all([here("fovea.js"), here("patches.js")]);
            const { rows, columns } = sight;
            const picture = patches.unpacked(sight);
            const levels = eye.pyramid(picture, sight);
            return looks.map(([x, y, half]) => {
                const seen = eye.fovea(levels, { rows, columns, x, y, half });
                const some = Array.from(seen.filter((_, i) => i % 97 === 0));
                return [some, eye.shareSeen({ rows, columns, x, y, half })];
            });
        }""",
        [looks, sight()],
    )
    levels = pyramid(room())
    for (some, part), (x, y, half) in zip(found, looks, strict=True):
        seen = fovea(levels, at=(x, y), half=half)
        np.testing.assert_allclose(some, seen.flatten()[::97].numpy(), atol=1e-4)
        assert part == pytest.approx(share_seen(240, 320, at=(x, y), half=half), abs=1e-6)


# ------------------------------------------------------------------------------- the eye


def test_the_eye_follows_mouse_and_keys_and_needs_no_answer(looking: Lab) -> None:
    seen = looking.drawing()
    box = looking.stage().bounding_box()
    looking.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 8)
    assert looking.drawing() != seen
    assert looking.eye() == pytest.approx((80, 30), abs=1)
    looking.page.mouse.move(box["x"] + box["width"] / 2, box["y"] - 40)
    looking.stage().focus()
    x, y = looking.eye()
    for key in ("ArrowRight", "ArrowDown", "Shift+ArrowDown"):
        looking.page.keyboard.press(key)
    looking.drawing()
    assert looking.eye() == pytest.approx((x + 4, y + 24), abs=0.1)
    for _ in range(30):
        looking.page.keyboard.press("Shift+ArrowLeft")
    looking.drawing()
    assert looking.eye()[0] == 0  # not out of the picture
    assert "of the picture’s numbers" in looking.text("says")
    assert int(looking.root.get_attribute("data-count") or 0) <= 1


def test_the_slider_makes_the_eye_wider(looking: Lab) -> None:
    before, part = looking.drawing(), looking.text("says")
    looking.root.get_by_label("Half as fine at").fill("120")
    assert looking.drawing() != before
    assert looking.text("says") != part
    assert looking.root.locator("circle.heed-looking-eye").get_attribute("r") == "120"
    assert not looking.root.get_by_label("Temperature").is_visible()


def test_the_eye_follows_a_finger_and_the_page_stays(
    browser: Browser, home: str, sheet: Callable[[str], str]
) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 500})
    page, log = context.new_page(), Log(home)
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(sheet(f"{LookingLab().html()}<pre></pre>"))
    lab = Lab(page)
    lab.stage().scroll_into_view_if_needed()
    box, top = lab.stage().bounding_box(), page.evaluate("scrollY")
    finger = context.new_cdp_session(page)
    x, y = box["x"] + 60, box["y"] + 200
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]),
        *(("touchMove", [{"x": x + 10 * i, "y": y - 15 * i}]) for i in range(1, 9)),
        ("touchEnd", []),
    ):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    lab.drawing()
    scale = 320 / box["width"]
    assert lab.eye() == pytest.approx((140 * scale, 80 * scale), abs=2)
    assert page.evaluate("scrollY") == top
    assert log.complaints == []
    context.close()


# ------------------------------------------------------------------------------- the box


def test_a_click_hides_a_patch_and_the_other_ear_tells(hiding: Lab) -> None:
    box = hiding.stage().bounding_box()
    hiding.after(
        lambda: hiding.page.mouse.click(
            box["x"] + box["width"] * 9.5 / 16, box["y"] + box["height"] * 2.5 / 12
        )
    )
    assert "Hidden: row 3, column 10." in hiding.text("says")
    assert "row 3, column 7, mirrored: 1.00" in hiding.text("says")
    first = hiding.root.locator(".heed-looking-table tbody tr").first.inner_text()
    assert first.split() == ["row", "3,", "column", "7,", "mirrored", "1.00"]
    hiding.after(hiding.root.get_by_label("Mirrored patches may answer").click)
    assert "mirrored" not in hiding.text("says")


def test_each_control_changes_the_drawing(hiding: Lab) -> None:
    seen = [hiding.drawing()]

    def changes(act: Callable[[], object]) -> None:
        hiding.after(act)
        seen.append(hiding.drawing())
        assert seen[-1] not in seen[:-1]

    for name in ("the jumper", "a tile", "the blanket", "the moon", "the apple"):
        changes(hiding.root.get_by_role("button", name=name).click)
    changes(lambda: hiding.root.get_by_label("Temperature").fill("-1.3"))
    changes(lambda: hiding.root.get_by_label("Mirrored patches may answer").press(" "))
    hiding.stage().focus()
    changes(lambda: hiding.page.keyboard.press("ArrowUp"))
    hiding.root.get_by_label("look around").check()
    assert hiding.drawing() not in seen


def test_the_box_stays_in_the_picture(hiding: Lab) -> None:
    hiding.stage().focus()
    for _ in range(14):
        hiding.page.keyboard.press("ArrowUp")
    expect(hiding.root.locator(".heed-says")).to_contain_text("Hidden: row 1, column 7.")
    hiding.page.keyboard.press("ArrowUp")
    hiding.page.wait_for_timeout(100)
    assert "Hidden: row 1, column 7." in hiding.text("says")


def test_an_answer_is_drawn_in_time(hiding: Lab) -> None:
    took = []
    hiding.stage().focus()
    for key in ("ArrowDown", "ArrowRight") * 8:
        hiding.after(lambda key=key: hiding.page.keyboard.press(key))
        took.append(float(hiding.root.get_attribute("data-ms") or 0))
    assert sorted(took)[8] < 50


# ------------------------------------------------------------------------------- everywhere


def test_axe_finds_nothing_serious_and_a_phone_shows_all(hiding: Lab) -> None:
    for mode in ("look around", "hide a patch"):
        hiding.root.get_by_label(mode).check()
        hiding.page.set_viewport_size({"width": 1000, "height": 1000})
        for theme in ("light", "dark"):
            hiding.page.evaluate("t => (document.documentElement.dataset.theme = t)", theme)
            assert serious(hiding.page) == {}, (mode, theme)
        hiding.page.set_viewport_size({"width": 360, "height": 740})
        hiding.page.wait_for_timeout(100)
        assert hiding.page.evaluate("document.documentElement.scrollWidth") <= 360
        small = hiding.root.locator("button:visible, input:visible").evaluate_all(
            "all => all.map(e => [e.outerHTML, e.getBoundingClientRect()])"
            ".filter(([, box]) => box.width < 24 || box.height < 24)"
        )
        assert small == []
