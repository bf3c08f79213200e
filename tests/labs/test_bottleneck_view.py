"""The bottleneck lab as its readers get it: a story grows, and comes back in two ways."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE, serious
from reading import NASTY, answered

from heed.data.text import tokenize
from heed.experiments.export import as_exported
from heed.experiments.trained import load
from heed.labs import BottleneckLab
from heed.viz.bottleneck import common

pytestmark = pytest.mark.browser

STORY = [
    "The minister signed the agreement",
    "in the castle because the farmers were tired",
    ", but the young queen did not read the letter that her old brother had written",
]
WHOLE = (
    "The minister signed the agreement in the castle because the farmers were tired, but the "
    "young queen did not read the letter that her old brother had written."
)
START = "The minister signed the agreement."
GOLD = [
    "le ministre a signé l' accord",
    "dans le château parce que les agriculteurs étaient fatigués",
    ", mais la jeune reine n' a pas lu la lettre que son vieux frère avait écrite",
]
OWN = "The old minister signed the letter and the cat slept in the garden."


@pytest.fixture(scope="module")
def lab() -> BottleneckLab:
    fixed, attended = (as_exported(load(name)) for name in ("seq2seq_grammar", "bahdanau_grammar"))
    return BottleneckLab(fixed, attended, story=STORY, gold=GOLD, text=START)


@pytest.fixture
def opened(quiet: Page, sheet: Callable[[str], str], lab: BottleneckLab) -> Locator:
    """The lab, with its model at work."""
    lab.text = START
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_have_attribute("data-live", "true", timeout=PATIENCE)
    return root


def line(root: Locator, place: int) -> Locator:
    return root.locator(".heed-line-words").nth(place)


def look(root: Locator) -> dict[str, Any]:
    """All that a control may change."""
    return root.evaluate(
        """root => ({
            lines: [...root.querySelectorAll('.heed-line-words')].map(e => e.innerHTML),
            count: root.querySelector('.heed-count').textContent,
            dots: root.querySelectorAll('.heed-strip .dot, .heed-strip .own').length,
            here: root.querySelector('.heed-strip .here')?.getAttribute('cx'),
            told: root.querySelector('.heed-strip').getAttribute('aria-label'),
            vector: [...root.querySelectorAll('.heed-vector .numbers')].map(c => c.toDataURL()),
            moved: [...root.querySelectorAll('.heed-vector .moved')].map(c => c.toDataURL()),
        })"""
    )


# ------------------------------------------------------------------- the same answers


@pytest.mark.parametrize("text", [START, WHOLE, "She will admire Louis.", *NASTY.values()])
def test_the_page_answers_as_python_does(bench: Page, lab: BottleneckLab, text: str) -> None:
    here = bench.evaluate(
        """async ([text, names]) => {
            const engine = await import(new URL("labs/answers/bottleneck.js", location.href).href);
            const models = await Promise.all(engine.models(() => names).map(engine.model));
            return engine.answer((name) => ({text})[name], models);
        }""",
        [text, lab.models],
    )
    lab.text = text
    there = {name: value for name, value in lab.answer.items() if name not in {"count", "asked"}}
    state = (here.pop("state"), there.pop("state"))
    weights = [each["attended"].pop("weights") for each in (here, there)]
    assert here == there
    assert state[0]["names"] == state[1]["names"]
    for a, b in ((state[0]["values"], state[1]["values"]), weights):
        assert [len(row) for row in a] == [len(row) for row in b]
        assert all(x == pytest.approx(y, abs=1e-4) for x, y in zip(a, b, strict=True))


def test_what_came_through_is_what_python_says(call: Callable[..., Any]) -> None:
    draw = random.Random(7)
    for _ in range(60):
        a, b = (draw.choices("abcd", k=draw.randrange(12)) for _ in range(2))
        assert call("lcs.js", "common", a, b) == [list(pair) for pair in common(a, b)]


def test_the_story_grows_by_words_and_ends_each_time(call: Callable[..., Any]) -> None:
    stops = call("bottleneck.js", "tellings", STORY)
    lengths = [len(tokenize(stop["text"], "en")) for stop in stops]
    assert [stop["words"] for stop in stops] == lengths == sorted(set(lengths))
    assert stops[4]["text"] == START
    assert stops[-1]["text"] == WHOLE
    assert all(stop["text"].endswith(".") and " ," not in stop["text"] for stop in stops)


# ------------------------------------------------------------------- what a reader sees


def test_the_page_shows_the_computed_answer_before_any_model_has_come(
    page: Page, sheet: Callable[[str], str], lab: BottleneckLab
) -> None:
    lab.text = START
    page.route("**/ort/**", lambda route: route.abort())
    page.goto(sheet(lab.html()))
    expect(page.locator(".heed-count")).to_have_text(
        "7 of 7 French words and marks came through the vector."
    )
    expect(page.locator(".heed-vector .numbers")).to_have_count(4)


def test_a_page_without_its_model_shows_no_control(
    quiet: Page, sheet: Callable[[str], str], lab: BottleneckLab
) -> None:
    lab.text = START
    names = '"models":["seq2seq_grammar","bahdanau_grammar"]'
    assert names in lab.html()
    quiet.goto(sheet(lab.html().replace(names, '"models":[]')))
    expect(quiet.locator(".heed-count")).to_contain_text("came through the vector")
    for control in quiet.locator("heed-lab :is(input, textarea, button)").all():
        expect(control).to_be_hidden()


@pytest.mark.parametrize(("story", "there"), [([], 0), (["Sleep"], 0), (["She sleeps"], 1)])
def test_a_story_of_no_steps_has_no_slider(
    quiet: Page, sheet: Callable[[str], str], story: list[str], there: int
) -> None:
    made = BottleneckLab("seq2seq_grammar", "bahdanau_grammar", story=story, text="the cat .")
    quiet.goto(sheet(made.html()))
    quiet.locator("heed-lab textarea").wait_for()
    assert quiet.get_by_role("slider").count() == there


def test_each_step_of_the_slider_changes_all_that_is_drawn(opened: Locator) -> None:
    slider = opened.get_by_role("slider", name="Length of the story")
    assert slider.get_attribute("aria-valuetext") == "6 words and marks"
    slider.focus()
    before = look(opened)
    for dots in (2, 3, 4):
        answered(opened, lambda: opened.page.keyboard.press("ArrowRight"))
        now = look(opened)
        assert now["dots"] == dots
        assert now["lines"][0] != before["lines"][0]
        for part in ("told", "here", "vector", "moved"):
            assert now[part] != before[part], part
        before = now
    expect(opened.get_by_label("Or write your own")).to_have_value(
        "The minister signed the agreement in the castle."
    )
    expect(opened.locator(".heed-says")).to_contain_text("From 8 to 9 words and marks")


def test_the_slider_follows_the_mouse(opened: Locator) -> None:
    box = opened.get_by_role("slider").bounding_box()
    assert box
    right, middle = box["x"] + box["width"] - 2, box["y"] + box["height"] / 2
    answered(opened, lambda: opened.page.mouse.click(right, middle))
    expect(opened.get_by_label("Or write your own")).to_have_value(WHOLE)
    assert "mais la jeune reine" in line(opened, 2).inner_text()


def test_what_is_lost_and_what_is_made_up_is_marked_and_said(opened: Locator) -> None:
    answered(opened, lambda: opened.get_by_label("Or write your own").fill(WHOLE))
    lost, made_up = opened.locator(".heed-lost"), opened.locator(".heed-made-up")
    assert lost.count() > 0
    assert made_up.count() > 0
    assert all(text.endswith("(lost)") for text in lost.all_text_contents())
    assert all(text.endswith("(made up)") for text in made_up.all_text_contents())
    how = "e => getComputedStyle(e).textDecoration"
    assert "line-through" in lost.first.evaluate(how)
    assert "wavy" in made_up.first.evaluate(how)
    assert line(opened, 2).locator("span").count() == 0
    expect(opened.locator("[role=status].heed-said")).to_contain_text("came through the vector")


def test_the_count_is_that_of_the_unmarked_words(opened: Locator) -> None:
    answered(opened, lambda: opened.get_by_label("Or write your own").fill(WHOLE))
    kept, every = (
        len(words)
        for words in (
            line(opened, 1).evaluate(
                "e => [...e.childNodes].filter(n => n.nodeType === 3)"
                ".map(n => n.textContent).join(' ').trim().split(/\\s+/)"
            ),
            line(opened, 2).inner_text().split(),
        )
    )
    expect(opened.locator(".heed-count")).to_have_text(
        f"{kept} of {every} French words and marks came through the vector."
    )


def note(root: Locator) -> str:
    """What is said about the marks."""
    return " ".join(root.locator(".heed-bottleneck > .heed-note").all_text_contents())


def test_of_a_whole_clause_the_right_french_is_known(
    opened: Locator, quiet: Page, sheet: Callable[[str], str], lab: BottleneckLab
) -> None:
    assert "Here it is the right French, word for word." in note(opened)
    opened.get_by_role("slider").focus()
    answered(opened, lambda: opened.page.keyboard.press("ArrowRight"))
    assert "nobody wrote down the right French" in note(opened)
    lab.text = START
    html = lab.html()
    assert '"gold":[["le",' in html
    quiet.goto(sheet(html.replace('"gold":[["le",', '"gold":[["ce",')))
    root = quiet.locator("heed-lab")
    expect(root.locator(".heed-count")).to_be_visible()
    assert "Here it is not right itself. Right would be: ce ministre a signé" in note(root)


def test_of_the_readers_own_sentence_only_the_difference_is_told(opened: Locator) -> None:
    answered(opened, lambda: opened.get_by_label("Or write your own").fill(OWN))
    expect(opened.locator(".heed-count")).to_contain_text(
        "are those of the network that looks back"
    )
    assert "Nobody here knows the right French of this sentence" in note(opened)
    marked = opened.locator(".heed-lost, .heed-made-up").all_text_contents()
    assert any(text.endswith("(its French differs)") for text in marked)
    assert all(text.endswith("differs)") for text in marked)
    slider = opened.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "your own sentence"
    expect(opened.locator(".heed-strip + .heed-note")).to_be_visible()
    slider.focus()
    answered(opened, lambda: opened.page.keyboard.press("ArrowRight"))
    assert slider.get_attribute("aria-valuetext") == "7 words and marks"
    expect(opened.locator(".heed-count")).to_contain_text("came through the vector")


def test_another_sentence_is_not_compared_with_the_one_before(opened: Locator) -> None:
    box, says = opened.get_by_label("Or write your own"), opened.locator(".heed-says")
    expect(says).to_contain_text("Tell it one word more")
    answered(opened, lambda: box.fill(OWN))
    expect(says).to_contain_text("This is another sentence than before")
    assert opened.locator(".heed-vector").get_attribute("data-moved") == ""
    answered(opened, lambda: box.fill(OWN.replace("garden", "castle")))
    expect(says).to_contain_text("One word changed")
    answered(opened, lambda: box.fill(OWN.replace("old ", "")))
    expect(says).to_contain_text("This is another sentence than before")  # two places at once
    answered(opened, lambda: box.fill(OWN))
    expect(says).to_contain_text("From 13 to 14 words and marks")


@pytest.mark.parametrize(
    ("before", "now", "wanted"),
    [
        ("a b .", "a b c .", True),
        ("a b c d .", "a .", True),
        ("a b .", "a c .", True),
        ("a b .", "c d .", False),
        ("a b c .", "b c a .", False),
        ("a b c d .", "b a d c .", False),
        ("a .", "b .", True),
    ],
)
def test_a_sentence_is_the_same_one_while_it_is_changed_at_one_place(
    call: Callable[..., Any], before: str, now: str, wanted: bool
) -> None:
    assert call("bottleneck.js", "related", before.split(), now.split()) is wanted


def test_the_vector_has_the_same_size_whatever_it_holds(opened: Locator) -> None:
    numbers = opened.locator(".heed-vector .numbers")
    sizes = set()
    for text in ("The cat sleeps.", WHOLE):
        answered(opened, lambda text=text: opened.get_by_label("Or write your own").fill(text))
        sizes.add(tuple(numbers.evaluate_all("all => all.map(c => c.width)")))
    assert sizes == {(192,) * 4}
    label = opened.locator(".heed-vector").get_attribute("aria-label")
    assert label
    assert "768 numbers" in label


def test_the_same_text_again_moves_nothing(opened: Locator) -> None:
    box = opened.get_by_label("Or write your own")
    answered(opened, lambda: box.fill("The minister signed the letter."))
    moved = opened.locator(".heed-vector").get_attribute("data-moved")
    assert int(moved or 0) > 0
    answered(opened, lambda: box.fill("the minister signed the letter ."))
    assert opened.locator(".heed-vector").get_attribute("data-moved") == moved


def test_an_example_is_told_and_a_stranger_is_named(opened: Locator) -> None:
    opened.get_by_role("button", name="She will admire Louis.").click()
    expect(line(opened, 2)).to_have_text("elle admirera louis .")
    expect(opened.locator(".heed-strip .own")).to_have_count(1)
    opened.get_by_role("button", name="Leibniz").click()
    expect(opened.locator(".heed-strange")).to_have_text("leibniz (unknown)")
    expect(opened.locator(".heed-remark")).to_contain_text("leibniz")


def test_the_strip_keeps_the_latest_sentences_of_the_readers_own(
    quiet: Page, home: str, lab: BottleneckLab
) -> None:
    lab.text = "She will admire Louis."
    quiet.goto(f"{home}/empty.html")
    dots = quiet.evaluate(
        """async (html) => {
            const here = (name) => new URL(`labs/${name}`, location.href).href;
            const { render } = await import(here("bottleneck.js"));
            const { store } = await import(here("store.js"));
            const page = new DOMParser().parseFromString(html, "text/html");
            const given = JSON.parse(page.querySelector("script").textContent);
            const model = store({ ...given, ...given.settings, strings: {} });
            const el = document.querySelector("main");
            render({ model, el });
            const own = () => el.querySelectorAll(".heed-strip .own").length;
            const seen = [];
            for (let count = 0; count < 30; count += 1) {
                const source = [...given.answer.source, `word${count}`];
                const known = source.map(() => true);
                model.set("answer", { ...given.answer, source, known, lost: [], count });
                await new Promise(requestAnimationFrame);
                seen.push(own());
            }
            return seen;
        }""",
        lab.html(),
    )
    assert dots[5] > dots[1]
    assert max(dots) == dots[-1] == 12


def test_whatever_is_typed_gets_a_sentence_and_stays_text(opened: Locator) -> None:
    box, remark = opened.get_by_label("Or write your own"), opened.locator(".heed-remark")
    opened.page.set_viewport_size({"width": 360, "height": 780})
    told = {
        "empty": "Nothing to read yet",
        "500 words": "Only the first 60 of 500 words",
        "blank": "Nothing to read yet",
        "only unknown words": "Not one of these words",
        "emoji": "read as <unk>: ",
        "right to left": "read as <unk>: שלום",
        "digits": "read as <unk>",
        "one long word": "Not one of these words",
        "markup": "read as <unk>: <",
    }
    for odd, sentence in told.items():
        answered(opened, lambda odd=odd: box.fill(NASTY[odd]))
        expect(remark).to_contain_text(sentence)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360, odd
    assert opened.locator("img, b:not(.heed-line > b), script").count() == 0
    assert opened.page.title() == "Labs"
    answered(opened, lambda: box.fill("The cat sleeps."))  # and it is none the worse for it
    expect(remark).to_be_hidden()


def test_by_keyboard_alone(opened: Locator) -> None:
    keys, page = opened.page.keyboard, opened.page
    keys.press("Tab")
    assert page.evaluate("document.activeElement.type") == "range"
    answered(opened, lambda: keys.press("End"))
    keys.press("Tab")
    assert page.evaluate("document.activeElement.value") == WHOLE
    keys.press("Control+a")
    answered(opened, lambda: keys.type("The cat sleeps."))
    expect(line(opened, 2)).to_have_text("le chat dort .")
    keys.press("Tab")
    answered(opened, lambda: keys.press("Enter"))
    expect(line(opened, 2)).to_have_text("elle admirera louis .")
    free = "[...document.querySelectorAll('heed-lab :is(input, textarea, button, summary)')]"
    assert page.evaluate(f"{free}.every(e => e.dataset.lmSuppressShortcuts === 'true')")


def test_two_labs_on_a_page_do_not_meet(
    quiet: Page, sheet: Callable[[str], str], lab: BottleneckLab
) -> None:
    lab.text = START
    quiet.goto(sheet(lab.html() * 2))
    one, other = quiet.locator("heed-lab").all()
    for root in (one, other):
        expect(root).to_have_attribute("data-live", "true", timeout=PATIENCE)
    before = look(other)
    answered(one, lambda: one.get_by_label("Or write your own").fill("The cat sleeps."))
    expect(line(one, 2)).to_have_text("le chat dort .")
    assert look(other) == before
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_it_goes_on_when_the_network_is_gone(opened: Locator) -> None:
    opened.page.context.set_offline(True)
    answered(opened, lambda: opened.get_by_label("Or write your own").fill(WHOLE))
    assert "mais la jeune reine" in line(opened, 2).inner_text()
    opened.page.context.set_offline(False)


def test_axe_finds_nothing_serious(opened: Locator) -> None:
    answered(opened, lambda: opened.get_by_label("Or write your own").fill(WHOLE + " Leibniz"))
    for theme in ("light", "dark"):
        opened.page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert serious(opened.page) == {}, theme
