"""Watch it being learnt, as its readers get it: a slider over the moments of a training."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from reader import serious

import heed
from heed.data.pairs import Pair
from heed.labs import LearningLab
from heed.viz.bottleneck import common

pytestmark = pytest.mark.browser

SHORT = ("she", "will", "admire", "louis", ".")
LINKS = frozenset({(0, 0), (1, 1), (2, 1), (3, 2), (4, 3)})
GOLD = Pair(
    source=SHORT,
    target=("elle", "admirera", "louis", "."),
    sure=LINKS,
    possible=LINKS,
)
LAST = 29


@pytest.fixture(scope="module")
def trained() -> Any:
    return heed.load("bahdanau_grammar")


@pytest.fixture(scope="module")
def lab(trained: Any) -> LearningLab:
    return LearningLab(trained, [GOLD])


@pytest.fixture
def opened(quiet: Page, sheet: Callable[[str], str], lab: LearningLab) -> Locator:
    lab.sentence, lab.moment = 0, LAST
    quiet.goto(sheet(lab.html()))
    quiet.locator(".heed-curves .marker").wait_for()
    return quiet.locator("heed-lab")


def slider(root: Locator) -> Locator:
    return root.get_by_role("slider", name="Moment of training")


def weights(root: Locator) -> np.ndarray:
    return np.array(
        root.evaluate(
            "root => [...root.querySelectorAll('.heed-cells tbody tr')]"
            ".map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.weight)))"
        )
    )


def look(root: Locator) -> dict[str, Any]:
    return root.evaluate(
        """root => ({
            map: root.querySelector('.heed-cells').innerHTML,
            said: root.querySelector('.heed-line-words').innerHTML,
            count: root.querySelector('.heed-count').textContent,
            marker: root.querySelector('.marker').style.transform,
        })"""
    )


def at(root: Locator) -> int:
    return int(slider(root).input_value())


def beyond(root: Locator, moment: int) -> None:
    """Wait until it has played beyond a moment."""
    given = [root.element_handle(), moment]
    root.page.wait_for_function("([e, m]) => e.querySelector('.heed-range').value > m", arg=given)


def test_each_moment_is_drawn_as_it_was_kept(opened: Locator, trained: Any) -> None:
    steps, maps = trained.maps()
    seen = []
    slider(opened).focus()
    for moment in (LAST, 22, 17, 0):
        slider(opened).fill(str(moment))
        np.testing.assert_allclose(weights(opened), maps[0][moment], atol=1e-4)
        assert slider(opened).get_attribute("aria-valuetext") == f"step {steps[moment]:,} of 3,000"
        seen.append(look(opened))
    for one, other in pairwise(seen):
        assert all(one[part] != other[part] for part in one), (one, other)


def test_what_it_says_is_marked_where_it_is_wrong(opened: Locator, trained: Any) -> None:
    card = trained.card
    for moment in (19, LAST):
        slider(opened).fill(str(moment))
        said, goal = card.moments[moment]["said"][0].split(), card.inputs[0]["target"]
        right = [i for i, _ in common(said, goal)]
        line = opened.locator(".heed-line-words")
        plain = line.evaluate(
            "e => [...e.childNodes].filter(n => n.nodeType === 3)"
            ".map(n => n.textContent).join(' ').split(/\\s+/).filter(Boolean)"
        )
        assert plain == [said[i] for i in right]
        expect(opened.locator(".heed-count")).to_contain_text(
            f"{len(right)} of {len(goal)} French words and marks are right"
        )
    assert len(plain) == len(goal)  # at the end all is


def test_the_curve_is_another_slider(opened: Locator) -> None:
    page, curve = opened.page, opened.locator(".heed-curves")
    curve.scroll_into_view_if_needed()
    dots = curve.locator("path.line.loss").bounding_box()
    assert dots
    middle = dots["y"] + dots["height"] / 2
    page.mouse.move(dots["x"] + dots["width"] - 1, middle)
    page.mouse.down()
    assert at(opened) == LAST
    seen = [look(opened)]
    for left in (0.4, 0.7):  # dragged on to the left
        page.mouse.move(dots["x"] + dots["width"] * (1 - left), middle)
        seen.append(look(opened))
    page.mouse.up()
    assert at(opened) < LAST
    assert len({each["map"] for each in seen}) == 3
    here = at(opened)
    page.mouse.move(dots["x"] + dots["width"], middle)
    assert at(opened) == here  # let go


def test_the_marker_stands_at_its_step(opened: Locator, lab: LearningLab) -> None:
    ticks = opened.locator(".heed-curves text[text-anchor=middle]")
    places = {t.text_content(): float(t.get_attribute("x") or 0) for t in ticks.all()}
    steps = lab.data["steps"]
    slider(opened).fill(str(steps.index(10)))
    moved = opened.locator(".marker").evaluate("e => new DOMMatrix(e.style.transform).e")
    assert moved == pytest.approx(places["10"], abs=0.5)


def test_another_sentence_brings_its_own_map(opened: Locator, lab: LearningLab) -> None:
    assert opened.locator(".heed-curves .line.right").count() == 0
    choice = opened.get_by_role("combobox")
    choice.focus()
    opened.page.keyboard.press("ArrowDown")
    expect(choice).to_have_value(" ".join(SHORT))
    assert weights(opened).shape == (5, 6)
    heads = opened.locator(".heed-cells thead th").all_inner_texts()
    assert heads == [*SHORT, "</s>"]
    # this one has gold links
    assert opened.locator(".heed-curves .line.right").count() == 1
    share = round(100 * lab.data["inputs"][1]["right"][LAST])
    expect(opened.locator(".heed-count")).to_contain_text(f"{share} % of the first looks")
    rings = opened.locator(".heed-cells td.heed-ring")
    assert rings.count() == len(LINKS)
    assert rings.first.get_attribute("data-row") == rings.first.get_attribute("data-column") == "0"
    expect(opened.get_by_text("Ringed: gold links")).to_be_visible()
    expect(opened.get_by_text("The rows are the right French, which it is made to")).to_be_visible()
    choice.select_option(index=2)
    assert rings.count() == 0
    expect(opened.get_by_text("Ringed: gold links")).to_be_hidden()
    expect(opened.locator(".heed-count")).not_to_contain_text("first looks")


def test_it_plays_when_asked_and_only_then(opened: Locator) -> None:
    page, play = opened.page, opened.get_by_role("button", name="Play")
    slider(opened).fill("5")
    page.wait_for_timeout(700)
    assert at(opened) == 5
    play.press("Enter")
    pause = opened.get_by_role("button", name="Pause")
    beyond(opened, 6)
    pause.press("Enter")
    held = at(opened)
    page.wait_for_timeout(700)
    assert at(opened) == held
    slider(opened).fill(str(LAST - 2))
    play.press("Enter")
    expect(slider(opened)).to_have_value(str(LAST))
    expect(play).to_be_visible()  # it has stopped by itself
    play.press("Enter")
    assert at(opened) < LAST  # and begins anew
    slider(opened).press("End")
    expect(play).to_be_visible()  # whoever takes the slider has it


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_nothing_glides_for_who_wants_no_motion(opened: Locator, motion: Any) -> None:
    opened.page.emulate_media(reduced_motion=motion)
    slider(opened).fill("0")
    opened.get_by_role("button", name="Play").click()
    lasts = opened.locator(".marker").evaluate("e => getComputedStyle(e).transitionDuration")
    assert (lasts == "0s") == (motion == "reduce")
    beyond(opened, 1)


def test_by_keyboard_alone(opened: Locator) -> None:
    keys, page = opened.page.keyboard, opened.page
    for name in ("Sentence", "Play", "Moment of training"):
        keys.press("Tab")
        here = "document.activeElement"
        assert page.evaluate(f"({here}.labels?.[0] ?? {here}).textContent") == name
    keys.press("Home")
    assert at(opened) == 0
    keys.press("Tab")
    keys.press("ArrowRight")
    expect(opened.locator(".heed-under .heed-says")).to_contain_text("looks at")
    free = "[...document.querySelectorAll('heed-lab :is(input, select, button, summary)')]"
    assert page.evaluate(f"{free}.every(e => e.dataset.lmSuppressShortcuts === 'true')")


def test_two_labs_on_a_page_do_not_meet(
    quiet: Page, sheet: Callable[[str], str], lab: LearningLab
) -> None:
    lab.sentence, lab.moment = 0, LAST
    quiet.goto(sheet(lab.html() * 2))
    one, other = quiet.locator("heed-lab").all()
    for root in (one, other):
        root.locator(".marker").wait_for()
    before = look(other)
    slider(one).fill("3")
    one.get_by_role("combobox").select_option(index=1)
    assert look(other) == before
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_it_needs_no_network_and_no_model(opened: Locator) -> None:
    asked: list[str] = []
    opened.page.on("request", lambda request: asked.append(request.url))
    opened.page.context.set_offline(True)
    before = look(opened)
    slider(opened).fill("12")
    opened.get_by_role("combobox").select_option(index=3)
    assert look(opened) != before
    assert asked == []
    opened.page.context.set_offline(False)


def test_words_that_look_like_markup_stay_text(
    quiet: Page, sheet: Callable[[str], str], lab: LearningLab
) -> None:
    nasty = "<img src=x onerror=\"document.title='broken'\">"
    data = json.loads(json.dumps(lab.data))
    first = data["inputs"][0]
    first["source"][0] = first["target"][0] = nasty
    first["said"] = [f"{nasty} </script>"] * len(first["said"])
    other = LearningLab(lab._trained)
    other.data = data
    quiet.goto(sheet(other.html()))
    quiet.locator(".marker").wait_for()
    assert nasty.split()[0] in quiet.locator(".heed-line-words").inner_text()
    assert quiet.locator("img").count() == 0
    assert quiet.title() == "Labs"


def test_a_phone_needs_no_scrolling_sideways(opened: Locator) -> None:
    page = opened.page
    page.set_viewport_size({"width": 360, "height": 780})
    for sentence in range(opened.locator("option").count()):
        opened.get_by_role("combobox").select_option(index=sentence)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    widths = opened.locator(".heed-curves").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert widths[0] == widths[1]


def test_the_step_is_whole_on_a_narrow_phone(opened: Locator) -> None:
    opened.page.set_viewport_size({"width": 320, "height": 780})
    value = opened.locator(".heed-value")
    expect(value).to_have_text("step 3,000 of 3,000")
    assert value.evaluate(
        """value => {
            const words = document.createRange();
            words.selectNodeContents(value);
            const [inner, outer] = [words, value.closest(".heed-sheet, .heed-view")].map(
                (each) => each.getBoundingClientRect());
            return inner.right <= outer.right && inner.left >= outer.left;
        }"""
    )


def test_an_old_browser_draws_the_curves_once(
    quiet: Page, sheet: Callable[[str], str], lab: LearningLab
) -> None:
    quiet.add_init_script("delete window.ResizeObserver")
    quiet.goto(sheet(lab.html()))
    quiet.locator(".heed-curves .marker").wait_for()


def test_axe_finds_nothing_serious(opened: Locator) -> None:
    slider(opened).fill("18")
    opened.get_by_role("combobox").select_option(index=1)
    for theme in ("light", "dark"):
        opened.page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert serious(opened.page) == {}, theme
