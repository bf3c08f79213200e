"""Labs in JupyterLab, where the kernel answers: each control by mouse and by keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from notebook_in_lab import Jupyter, Opened, Tried, chapters_with_labs
from playwright.sync_api import Browser, Locator

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def notebook(browser: Browser, jupyter: Jupyter) -> Iterator[Opened]:
    opened = Opened(browser, jupyter, "labs.ipynb")
    opened.run_all()
    yield opened
    opened.close()


def lab(notebook: Opened, kind: str) -> Tried:
    return Tried(notebook, notebook.page.locator(f".jp-OutputArea .heed-lab:has(.heed-{kind})"))


# Where the focus is, from the lab's point of view.
FOCUS = """
(lab) => {
  const now = document.activeElement;
  if (lab.contains(now)) return "the lab";
  return now.classList.contains("jp-Cell") ? "a cell of the notebook" : now.outerHTML.slice(0, 80);
}
"""


def key(tried: Tried, control: Locator, *keys: str) -> None:
    """Press the keys. Some time after a click JupyterLab focuses the cell that was clicked in, as a
    whole: then whoever is at the keyboard goes back to the control and begins again."""
    for _ in range(3):
        control.focus()
        for each in keys:
            focus = tried.lab.evaluate(FOCUS)
            if focus != "the lab":
                break
            tried.page.keyboard.press(each)
        else:
            return
        assert focus == "a cell of the notebook", f"before {each} the focus went to {focus}"
    raise AssertionError(f"JupyterLab took the focus three times, at last before {each}")


def test_the_alignment_lab_obeys_the_mouse(notebook: Opened) -> None:
    tried = lab(notebook, "alignment")
    root = tried.lab
    temperature, beam = root.get_by_label("Temperature"), root.get_by_label("Beam")
    tried.changes("temperature", lambda: tried.drag(temperature, 0.5))
    tried.changes("beam", lambda: tried.drag(beam, 1.0))
    tried.changes("reset", root.get_by_role("button", name="Back to the model").click)
    tried.changes("uniform", root.get_by_label("everywhere alike", exact=True).click)
    tried.changes("shuffled", root.get_by_label("at the wrong places", exact=True).click)
    tried.changes("shuffle again", root.get_by_role("button", name="Shuffle again").click)
    root.locator(".heed-map tbody th").nth(1).click()
    tried.changes("one word only", root.get_by_label("only ‘").click)
    tried.changes("every word", root.get_by_label("every word", exact=True).click)
    tried.changes("reset", root.get_by_role("button", name="Back to the model").click)
    root.get_by_label("where you say", exact=True).click()
    tried.changes("a cell", root.locator(".heed-map tbody tr").nth(1).locator("td").nth(5).click)
    tried.changes("reset", root.get_by_role("button", name="Back to the model").click)
    tried.changes("a hidden word", root.locator(".heed-words button").nth(1).click)
    tried.changes("the word shown", root.locator(".heed-words button").nth(1).click)
    tried.changes("no copies", root.get_by_label("Copy unknown words").click)
    tried.changes("copies", root.get_by_label("Copy unknown words").click)
    tried.changes("an example", root.locator(".heed-examples button").first.click)
    assert not notebook.faults()


def test_the_alignment_lab_obeys_the_keyboard(notebook: Opened) -> None:
    tried = lab(notebook, "alignment")
    root = tried.lab
    box = root.get_by_label("An English sentence")
    tried.changes("text", lambda: box.fill("I met Leibniz at the station yesterday."))
    temperature, beam = root.get_by_label("Temperature"), root.get_by_label("Beam")
    tried.changes("temperature", lambda: key(tried, temperature, *["ArrowRight"] * 10))
    assert temperature.input_value() == "2"
    tried.changes("temperature", lambda: key(tried, temperature, *["ArrowLeft"] * 10))
    tried.changes("beam", lambda: key(tried, beam, "ArrowRight"))
    tried.changes("beam", lambda: key(tried, beam, "ArrowLeft"))
    own = root.get_by_label("as it likes", exact=True)
    tried.changes("uniform", lambda: key(tried, own, "ArrowDown"))
    uniform = root.get_by_label("everywhere alike", exact=True)
    tried.changes("shuffled", lambda: key(tried, uniform, "ArrowDown"))
    again = root.get_by_role("button", name="Shuffle again")
    tried.changes("shuffle again", lambda: key(tried, again, "Enter"))
    shuffled = root.get_by_label("at the wrong places", exact=True)
    key(tried, shuffled, "ArrowDown")
    first = root.locator(".heed-map tbody td").first
    tried.changes("a cell", lambda: key(tried, first, "End", "ArrowLeft", "Enter"))
    tried.changes("the cell again", lambda: key(tried, first, "End", "ArrowLeft", " "))
    reset = root.get_by_role("button", name="Back to the model")
    if reset.is_enabled():
        key(tried, reset, "Enter")
    word = root.locator(".heed-words button").first
    tried.changes("a hidden word", lambda: key(tried, word, "ArrowRight", "Enter"))
    hidden = root.locator(".heed-words button").nth(1)
    tried.changes("the word shown", lambda: key(tried, hidden, "Enter"))
    copy = root.get_by_label("Copy unknown words")
    tried.changes("no copies", lambda: key(tried, copy, " "))
    tried.changes("copies", lambda: key(tried, copy, " "))
    typed = "<b>the cat</b> sleeps"

    def type_it() -> None:
        box.press("Control+a")
        tried.page.keyboard.type(typed)

    tried.changes("typed text", type_it)
    assert box.input_value() == typed  # no key of it was taken for a command of the notebook
    assert root.locator(".heed-map b").count() == 0
    assert not notebook.faults()


def test_the_bottleneck_lab_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "bottleneck")
    root = tried.lab
    length = root.get_by_label("Length of the story")
    tried.changes("length", lambda: tried.drag(length, 0.4))
    tried.changes("length", lambda: key(tried, length, "ArrowRight", "ArrowRight"))
    box = root.get_by_label("Or write your own")
    tried.changes("text", lambda: box.fill("the cat was sleeping in the garden ."))
    tried.changes("an example", root.get_by_role("button", name="she will admire").click)
    assert not notebook.faults()


def test_the_predict_lab_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "predict")
    root = tried.lab
    row = root.locator(".heed-map tbody tr")
    tried.changes("a mark", row.nth(0).locator("td").nth(0).click)
    second = row.nth(1).locator("td").first
    tried.changes("a mark by key", lambda: key(tried, second, "ArrowRight", "Enter"))
    tried.changes("reveal", root.get_by_role("button", name="Reveal").click)
    again = root.get_by_role("button", name="Try this sentence again")
    tried.changes("again", lambda: key(tried, again, "Enter"))
    reveal = root.get_by_role("button", name="Reveal")
    tried.changes("reveal by key", lambda: key(tried, reveal, "Enter"))
    tried.changes("next", root.get_by_role("button", name="Next sentence").click)
    root.get_by_role("button", name="Your own sentence").click()
    box = root.get_by_label("Your own English sentence")
    tried.changes("text", lambda: box.fill("the cat was sleeping ."))
    tried.changes("reveal", root.get_by_role("button", name="Reveal").click)
    assert not notebook.faults()


def test_the_learning_lab_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "learning")
    root = tried.lab
    moment = root.get_by_label("Moment of training")
    tried.changes("moment", lambda: tried.drag(moment, 0.5))
    tried.changes("moment", lambda: key(tried, moment, *["ArrowRight"] * 4))
    sentence = root.get_by_label("Sentence", exact=True)
    tried.changes("sentence", lambda: key(tried, sentence, "ArrowDown", "Enter"))
    play = root.get_by_role("button", name="Play")
    tried.changes("play", play.click)
    assert not notebook.faults()


def test_the_plane_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "plane")
    root = tried.lab
    query, first = (root.locator(f".point.{kind}").first for kind in ("query", "key"))
    tried.changes("query by key", lambda: key(tried, query, "ArrowUp", "Shift+ArrowLeft"))
    tried.changes("a key by key", lambda: key(tried, first, "ArrowDown"))
    tried.changes("the watched key", lambda: key(tried, first, "Enter"))
    tried.changes("a key by mouse", lambda: pull(tried, first))
    tried.changes("query by mouse", lambda: pull(tried, query))
    plane = root.locator(".heed-plane-picture")
    tried.changes("query by a click", lambda: plane.click(position={"x": 40, "y": 40}))
    tried.changes("width", lambda: tried.drag(root.get_by_label("Width d"), 0.5))
    tried.changes("temperature", lambda: tried.drag(root.get_by_label("Temperature"), 0.9))
    tried.changes("score", root.get_by_label("content-base", exact=True).click)
    tried.changes("strength", lambda: tried.drag(root.get_by_label("Strength"), 0.9))
    tried.changes("reset", root.get_by_role("button", name="As it was").click)
    assert not notebook.faults()


def pull(tried: Tried, point: Locator) -> None:
    """Drag a point of the plane to the left and down."""
    point.scroll_into_view_if_needed()
    box = point.locator(".dot").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tried.page.mouse.move(x, y)
    tried.page.mouse.down()
    tried.page.mouse.move(x - 30, y + 20, steps=5)
    tried.page.mouse.up()


def test_the_eye_and_the_box_obey(notebook: Opened) -> None:
    tried = lab(notebook, "looking")
    root = tried.lab
    stage = root.locator(".heed-looking-stage")
    tried.changes("the eye by mouse", lambda: stage.hover(position={"x": 40, "y": 30}))
    tried.changes("the eye by key", lambda: key(tried, stage, "ArrowRight", "Shift+ArrowDown"))
    tried.changes("a wider eye", lambda: tried.drag(root.get_by_label("Half as fine at"), 0.8))
    tried.changes("hide", root.get_by_label("hide a patch", exact=True).click)
    tried.changes("a patch by mouse", lambda: stage.click(position={"x": 40, "y": 30}))
    tried.changes("a patch by key", lambda: key(tried, stage, "ArrowDown", "ArrowRight"))
    tried.changes("an example", root.get_by_role("button", name="the blanket").click)
    tried.changes("temperature", lambda: tried.drag(root.get_by_label("Temperature"), 0.7))
    tried.changes("no mirror", root.get_by_label("Mirrored patches may answer").click)
    assert not notebook.faults()


def test_the_verbs_obey(notebook: Opened) -> None:
    tried = lab(notebook, "eating")
    group = tried.lab.get_by_role("group", name="She is …", exact=True)
    tried.changes("a verb", group.get_by_label("reading", exact=True).click)
    other = tried.lab.get_by_role("group", name="Held against: she is …")
    tried.changes("the other verb", other.get_by_label("wearing", exact=True).click)
    tried.changes("what follows", tried.lab.get_by_label("a green", exact=True).click)
    assert not notebook.faults()


def test_the_masks_obey(notebook: Opened) -> None:
    tried = lab(notebook, "mask")
    root = tried.lab
    tried.changes("after", root.get_by_label("after it", exact=True).click)
    tried.changes("queries", root.get_by_label("the queries", exact=True).click)
    tried.changes("swapped", root.get_by_label("Query and key swapped").click)
    causal = root.get_by_label("Causal mask")
    tried.changes("causal", lambda: key(tried, causal, " "))
    tried.changes("reset", root.get_by_role("button", name="As it should be").click)
    tried.changes("guess first", root.get_by_label("Guess first").click)
    tried.changes("the meter", root.get_by_role("button", name="Show the meter").click)
    assert not notebook.faults()


def test_the_rivals_obey(notebook: Opened) -> None:
    tried = lab(notebook, "rivals")
    tried.changes("by mouse", tried.lab.get_by_label("one vector", exact=True).click)
    first = tried.lab.get_by_label("one vector", exact=True)
    tried.changes("by key", lambda: key(tried, first, "ArrowLeft"))
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat was sleeping ."))
    assert not notebook.faults()


def test_the_years_obey(notebook: Opened) -> None:
    tried = lab(notebook, "years")
    switch = tried.lab.get_by_role("checkbox", name="one vector")
    tried.changes("one more", switch.click)
    tried.changes("one less by key", lambda: key(tried, switch, " "))
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat was sleeping ."))
    assert not notebook.faults()


def test_the_window_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "window")
    root = tried.lab
    line = root.locator(".heed-window-picture .handle")
    tried.changes("the line by key", lambda: key(tried, line, "ArrowLeft", "Shift+ArrowLeft"))
    tried.changes("the line by mouse", lambda: aside(tried, line))
    place = root.get_by_label("Middle of the window, p").last
    tried.changes("its slider", lambda: tried.drag(place, 0.2))
    tried.changes("every word", root.get_by_label("every word", exact=True).click)
    tried.changes("D", lambda: tried.drag(root.get_by_label("Reach D"), 0.0))
    tried.changes("σ", lambda: key(tried, root.get_by_label("Width of the hill σ"), "PageUp"))
    tried.changes("σ = D / 2", root.get_by_label("σ = D / 2, as in the paper").click)
    tried.changes("no hill", root.get_by_label("With the Gaussian").click)
    tried.changes("everything", root.get_by_label("Everything: D ≥ S, σ → ∞").click)
    tried.changes("back", root.get_by_role("button", name="Back to the network").click)
    word = root.locator(".heed-words button").nth(2)
    tried.changes("a word by key", lambda: key(tried, word, "ArrowRight"))
    tried.changes("a word on the map", root.locator(".heed-map tbody th").nth(1).click)
    tried.changes("p = t", root.get_by_label("the number of the word, p = t (local-m)").click)
    tried.changes("another network", root.get_by_label("global", exact=True).click)
    tried.changes("text", lambda: root.locator("textarea").fill("k l m n"))
    assert not notebook.faults()


def test_the_heads_obey(notebook: Opened) -> None:
    tried = lab(notebook, "heads")
    root = tried.lab
    small = root.get_by_role("button", name="Layer 2, head 2")
    tried.changes("a head by mouse", small.click)
    tried.changes("a head by key", lambda: key(tried, small, "ArrowLeft"))
    tried.changes("a switch", root.get_by_role("switch", name="Layer 2, head 3 is on").click)
    switch = root.get_by_role("switch", name="Layer 2, head 1 is on")
    tried.changes("a switch by key", lambda: key(tried, switch, " "))
    tried.changes("the encoder", root.get_by_role("radio", name="(encoder)").click)
    tried.changes("a word of the map", root.locator(".heed-map:visible tbody th").nth(1).click)
    tried.changes("the decoder", root.get_by_role("radio", name="(decoder)").click)
    shift = root.get_by_label("Places left free before the English")
    tried.changes("English moved", lambda: tried.drag(shift, 0.3))
    shift = root.get_by_label("Places left free before the French")
    tried.changes("French moved", lambda: key(tried, shift, "PageUp"))
    for side in ("English", "French"):
        placed = root.get_by_label(f"{side} words are told their places")
        tried.changes(f"{side} without places", placed.click)
    tried.changes("a word", root.locator(".heed-words button").nth(1).click)
    tried.changes("another network", root.get_by_label("four", exact=True).click)
    tried.changes("text", lambda: root.locator("textarea").fill("the minister signed ."))
    tried.changes("undone", root.get_by_role("button", name="Undo everything").click)
    assert not notebook.faults()


def aside(tried: Tried, line: Locator) -> None:
    """Drag the middle of the window to the left."""
    line.scroll_into_view_if_needed()
    box = line.locator(".grip").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tried.page.mouse.move(x, y)
    tried.page.mouse.down()
    tried.page.mouse.move(x - 90, y + 20, steps=5)
    tried.page.mouse.up()


def test_the_reader_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "reading")
    root = tried.lab
    word = root.locator(".heed-words button")
    tried.changes("a word", word.nth(4).click)
    tried.changes("a word by key", lambda: key(tried, word.nth(4), "ArrowLeft"))
    place = root.get_by_label("Reading", exact=True)
    tried.changes("the slider", lambda: tried.drag(place, 1.0))
    tried.changes("the slider by key", lambda: key(tried, place, "ArrowLeft"))
    tried.changes("a row of the map", root.locator(".heed-map tbody th").nth(3).click)
    tried.changes("the last slot", root.get_by_label("at the last slot only", exact=True).click)
    last = root.get_by_label("at the last slot only", exact=True)
    tried.changes("everywhere", lambda: key(tried, last, "ArrowDown"))
    tried.changes("no null slot", root.get_by_label("The null slot").click)
    tried.changes("reset", root.get_by_role("button", name="Back to the model").click)
    temperature = root.get_by_label("Temperature")
    tried.changes("temperature", lambda: tried.drag(temperature, 0.9))
    tried.changes("text", lambda: root.locator("textarea").fill("the value is returned ."))
    tried.changes("an example", root.locator(".heed-examples button").nth(1).click)
    assert not notebook.faults()


def test_the_picture_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "picture")
    root = tried.lab
    animal = root.locator(".heed-scene-animal").first
    tried.changes("an animal by mouse", lambda: haul(tried, animal))
    tried.changes("an animal by key", lambda: key(tried, animal, "ArrowDown", "Shift+ArrowRight"))
    tried.changes("its size by key", lambda: key(tried, animal, "-"))
    tried.changes("its size", lambda: tried.drag(root.get_by_label("Size"), 0.0))
    tried.changes("its colour", root.get_by_label("yellow", exact=True).click)
    kind = root.get_by_label("Animal", exact=True)
    tried.changes("what it is", lambda: kind.select_option("horse"))
    tried.changes("its drawing", root.get_by_role("radio", name="silhouette 3").click)
    tried.changes("mirrored", root.get_by_label("Mirrored").click)
    tried.changes("one more", root.get_by_role("button", name="Add an animal").click)
    tried.changes("one less", root.get_by_role("button", name="Take it away").click)
    tried.changes("where", root.get_by_label("at night", exact=True).click)
    word = root.locator(".heed-words button")
    tried.changes("a word", word.nth(2).click)
    tried.changes("a word by key", lambda: key(tried, word.nth(2), "ArrowRight"))
    tried.changes("the slider", lambda: tried.drag(root.get_by_label("Word", exact=True), 0.0))
    tried.changes("play", root.get_by_role("button", name="Play").click)
    tried.changes("hard", root.get_by_label("hard", exact=True).click)
    tried.changes("the first word", word.first.click)
    tried.changes("drawn places", root.get_by_label("a place that is drawn", exact=True).click)
    tried.changes("drawn again", root.get_by_role("button", name="Sample again").click)
    root.get_by_label("close places", exact=True).click()
    place = root.locator(".heed-scene-cells button")
    tried.changes("a place closed", place.nth(20).click)
    tried.changes("one by key", lambda: key(tried, place.first, "ArrowRight", "Enter"))
    tried.changes("all open", root.get_by_role("button", name="Open all places").click)
    root.get_by_label("move animals", exact=True).click()
    tried.changes("another scene", root.get_by_role("button", name="Another scene").click)
    tried.changes("back", root.get_by_role("button", name="Back to the start").click)
    assert not notebook.faults()


def test_the_twins_obey(notebook: Opened) -> None:
    tried = lab(notebook, "twins")
    root = tried.lab
    knob, point = root.locator(".heed-twins-knob"), root.locator(".heed-twins-point")
    tried.changes("z by mouse", lambda: haul(tried, knob))
    tried.changes("z by key", lambda: key(tried, knob, "ArrowDown", "Shift+ArrowLeft"))
    tried.changes("the point by mouse", lambda: haul(tried, point))
    tried.changes("the point by key", lambda: key(tried, point, "ArrowRight", "Shift+ArrowDown"))
    stage = root.locator(".heed-twins-stage")
    tried.changes("a place", lambda: stage.click(position={"x": 200, "y": 40}))
    tried.changes("the left thing", root.get_by_label("the left thing", exact=True).click)
    tried.changes("the right thing", root.get_by_label("the right thing", exact=True).click)
    gamma = root.get_by_label("Strength γ")
    tried.changes("γ by mouse", lambda: tried.drag(gamma, 0.2))
    tried.changes("γ by key", lambda: key(tried, gamma, "Home"))
    tried.changes("no fog", root.get_by_label("Show where it looks").click)
    tried.changes("the fog", root.get_by_label("Show where it looks").click)
    tried.changes("another one", root.get_by_role("button", name="Another one").click)
    tried.changes("the other net", root.get_by_label("DCGAN", exact=True).click)
    tried.changes("back", root.get_by_role("button", name="Back to the start").click)
    assert not notebook.faults()


def test_the_tape_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "tape")
    root = tried.lab
    bit = root.locator(".heed-tape-grid[role='grid'] td")
    tried.changes("a bit by mouse", bit.nth(2).click)
    tried.changes("a bit by key", lambda: key(tried, bit.nth(2), "ArrowDown", " "))
    tried.changes("another", root.get_by_role("button", name="Another pattern").click)
    vectors = root.get_by_role("slider", name="Vectors")
    tried.changes("length by mouse", lambda: tried.drag(vectors, 0.3))
    step = root.get_by_role("slider", name="Step", exact=True)
    tried.changes("step by mouse", lambda: tried.drag(step, 0.2))
    tried.changes("step by key", lambda: key(tried, step, "ArrowRight"))
    tried.changes("one step on", root.get_by_role("button", name="One step on").click)
    tried.changes("play", root.get_by_role("button", name="Play").click)
    tried.changes("a hand", root.get_by_role("button", name="g = 1").click)
    reader = root.get_by_role("group", name="Read head")
    tried.changes("γ by key", lambda: key(tried, reader.get_by_label("Focus γ"), "Home"))
    tried.changes("g given back", reader.get_by_label("g by hand").click)
    tried.changes("from now on", root.get_by_role("button", name="From this step on").click)
    tried.changes("hands off", root.get_by_role("button", name="Hands off").click)
    tried.changes("back", root.get_by_role("button", name="Back to the start").click)
    assert not notebook.faults()


def test_the_pointers_obey(notebook: Opened) -> None:
    tried = lab(notebook, "pointer")
    root = tried.lab
    point = root.locator(".heed-pointer-picture .point")
    tried.changes("a point by mouse", lambda: haul(tried, point.nth(3).locator("circle").first))
    tried.changes("a point by key", lambda: key(tried, point.nth(2), "ArrowUp", "Shift+ArrowLeft"))
    tried.changes("it is removed", lambda: key(tried, point.nth(2), "Delete"))
    picture = root.locator(".heed-pointer-picture")
    tried.changes("a tap", lambda: picture.click(position={"x": 60, "y": 60}))
    tried.changes("one more", root.get_by_role("button", name="Add a point").click)
    tried.changes("one less", root.get_by_role("button", name="Remove point").click)
    step = root.get_by_label("Step", exact=True)
    tried.changes("a step by mouse", lambda: tried.drag(step, 0.8))
    tried.changes("a step by key", lambda: key(tried, step, "Home"))
    tried.changes("it plays", root.get_by_role("button", name="Play").click)
    key(tried, step, "End")  # that ends the play, too
    count = root.get_by_role("slider", name="Points")
    tried.changes("more points", lambda: key(tried, count, "End"))
    tried.changes("fewer", lambda: tried.drag(count, 0.3))
    tried.changes("another one", root.get_by_role("button", name="Another one").click)
    tried.changes("nothing forbidden", root.get_by_label("Forbid what").click)
    tried.changes("the right one hides", root.get_by_label("Show what is right").click)
    tried.changes("the hull", root.get_by_label("the hull", exact=True).click)
    tried.changes("sorted", root.get_by_label("in order", exact=True).click)
    tried.changes("back", root.get_by_role("button", name="Back to the start").click)
    assert not notebook.faults()


def test_the_episode_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "episode")
    root = tried.lab
    cell = root.locator(".heed-episode-cell")
    tried.changes("a cell by mouse", cell.nth(3).click)
    tried.changes("a cell by key", lambda: key(tried, cell.nth(3), "ArrowUp"))
    tried.changes("it is emptied", lambda: key(tried, cell.nth(1), "Delete"))
    pad = root.locator(".heed-episode-pad")
    tried.changes("a stroke", lambda: haul(tried, pad))
    tried.changes("undone", root.get_by_role("button", name="Undo").click)
    tried.changes("done again", root.get_by_role("button", name="Redo").click)
    tried.changes("cleared", root.get_by_role("button", name="Clear").click)
    stored = root.locator(".heed-episode-stored")
    tried.changes("a stored one by mouse", stored.nth(5).click)
    tried.changes("one by key", lambda: key(tried, stored.nth(5), "ArrowRight", "Enter"))
    shots = root.get_by_role("slider", name="Drawings of each")
    tried.changes("more drawings", lambda: key(tried, shots, "End"))
    tried.changes("fewer", lambda: tried.drag(shots, 0.3))
    tried.changes("another block", root.get_by_label("attention 1", exact=True).click)
    for name in ("Show in another order", "Deal labels anew", "Other characters"):
        tried.changes(name, root.get_by_role("button", name=name).click)
    tried.changes("back", root.get_by_role("button", name="Back to the start").click)
    assert not notebook.faults()


def test_the_bandit_obeys(notebook: Opened) -> None:
    tried = lab(notebook, "bandit")
    root = tried.lab
    arm = root.get_by_role("button", name="Arm 2")
    tried.changes("a pull by mouse", arm.click)
    tried.changes("a pull by key", lambda: key(tried, arm, "4"))
    tried.changes("ten more", root.get_by_role("button", name="The same arm").click)
    when = root.get_by_role("slider", name="Pull of SNAIL")
    tried.changes("a pull is looked at", lambda: tried.drag(when, 0.4))
    tried.changes("the next one by key", lambda: key(tried, when, "ArrowRight"))
    tried.changes("another block", root.get_by_label("attention 1", exact=True).click)
    tried.changes("the likeliest", root.get_by_label("its likeliest arm").click)
    tried.changes("the end", root.get_by_role("button", name="Pull as SNAIL does").click)
    tried.changes("again", root.get_by_role("button", name="Begin again").click)
    # Before the first pull all bandits look alike.
    tried.changes("a pull of the next game", arm.click)
    tried.changes("another", root.get_by_role("button", name="Another bandit").click)
    tried.changes("a pull of another", arm.click)
    tried.changes("back", root.get_by_role("button", name="Back to the start").click)
    assert not notebook.faults()


def haul(tried: Tried, animal: Locator) -> None:
    """Drag an animal, or a dot, a little to the right and up."""
    animal.scroll_into_view_if_needed()
    box = animal.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tried.page.mouse.move(x, y)
    tried.page.mouse.down()
    tried.page.mouse.move(x + 40, y - 30, steps=5)
    tried.page.mouse.up()


def test_a_changed_model_shows_after_its_cell(notebook: Opened) -> None:
    tried = lab(notebook, "alignment")
    tried.changes(
        "weights in place",
        lambda: notebook.run(
            "with torch.no_grad():\n    lab.model.attention.score.v.weight.neg_()"
        ),
    )
    tried.changes("a setting in Python", lambda: notebook.run("lab.temperature = 3"))
    assert tried.lab.get_by_label("Temperature").input_value() == "3"
    tried.changes("another model", lambda: notebook.run("lab.trained = 'bahdanau_grammar'"))
    assert not notebook.faults()


def test_two_views_of_one_lab_stay_together(notebook: Opened) -> None:
    notebook.run("lab.temperature = 1\nlab")
    views = notebook.page.locator(".jp-OutputArea .heed-lab:has(.heed-alignment)")
    views.nth(1).wait_for()
    second = Tried(notebook, views.nth(1))
    second.changes("text", lambda: second.lab.locator("textarea").fill("she admires louis ."))
    first = Tried(notebook, views.first)
    assert first.drawing() == second.drawing()
    assert not notebook.faults()


def test_before_it_is_run_a_committed_lab_is_a_drawn_map(
    browser: Browser, jupyter: Jupyter
) -> None:
    opened = Opened(browser, jupyter, "committed.ipynb")
    try:
        rows = opened.page.locator(".jp-OutputArea table.heed-cells tbody tr")
        rows.first.wait_for()
        assert [row.locator("th").inner_text() for row in rows.all()][:3] == [
            "le",
            "vieux",
            "ministre",
        ]
        assert not opened.faults()
    finally:
        opened.close()


# ---------------------------------------------------------------------------- the chapters


def alignment_of_a_chapter(tried: Tried) -> None:
    temperature = tried.lab.get_by_label("Temperature")
    tried.changes("temperature", lambda: tried.drag(temperature, 1.0))
    tried.changes("temperature", lambda: key(tried, temperature, "Home"))
    tried.changes("uniform", tried.lab.get_by_label("everywhere alike", exact=True).click)
    tried.changes("reset", tried.lab.get_by_role("button", name="Back to the model").click)
    word = tried.lab.locator(".heed-words button").first
    tried.changes("a hidden word", lambda: key(tried, word, "ArrowRight", "Enter"))
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("She sleeps ."))


def bottleneck_of_a_chapter(tried: Tried) -> None:
    length = tried.lab.get_by_label("Length of the story")
    tried.changes("length", lambda: tried.drag(length, 0.3))
    tried.changes("length", lambda: key(tried, length, "End"))
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat is sleeping ."))


def predict_of_a_chapter(tried: Tried) -> None:
    cell = tried.lab.locator(".heed-map tbody td").first
    tried.changes("a mark", cell.click)
    tried.changes("a mark by key", lambda: key(tried, cell, "ArrowDown", "ArrowRight", "Enter"))
    tried.changes("reveal", tried.lab.get_by_role("button", name="Reveal").click)


def learning_of_a_chapter(tried: Tried) -> None:
    moment = tried.lab.get_by_label("Moment of training")
    tried.changes("moment", lambda: tried.drag(moment, 0.4))
    tried.changes("moment", lambda: key(tried, moment, "End"))


def plane_of_a_chapter(tried: Tried) -> None:
    query = tried.lab.locator(".point.query")
    tried.changes("query by key", lambda: key(tried, query, "ArrowUp", "ArrowLeft"))
    tried.changes("query by mouse", lambda: pull(tried, query))
    tried.changes("score", tried.lab.get_by_label("dot", exact=True).click)
    tried.changes("width", lambda: tried.drag(tried.lab.get_by_label("Width d"), 0.5))


def looking_of_a_chapter(tried: Tried) -> None:
    stage = tried.lab.locator(".heed-looking-stage")
    tried.lab.get_by_label("look around", exact=True).check()
    tried.changes("the eye by key", lambda: key(tried, stage, "ArrowRight", "Shift+ArrowDown"))
    tried.changes("hide", tried.lab.get_by_label("hide a patch", exact=True).click)
    tried.changes("a patch by key", lambda: key(tried, stage, "ArrowDown"))


def eating_of_a_chapter(tried: Tried) -> None:
    tried.changes("what follows", tried.lab.get_by_label("a green", exact=True).click)


def mask_of_a_chapter(tried: Tried) -> None:
    tried.changes("none", tried.lab.get_by_label("not at all", exact=True).click)
    tried.changes("causal", tried.lab.get_by_label("Causal mask").click)
    tried.changes("reset", tried.lab.get_by_role("button", name="As it should be").click)


def rivals_of_a_chapter(tried: Tried) -> None:
    tried.changes("another", tried.lab.get_by_label("location-base", exact=True).click)
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat was sleeping ."))


def years_of_a_chapter(tried: Tried) -> None:
    tried.changes("a switch", tried.lab.get_by_role("checkbox", name="2014 one vector").click)
    tried.changes("an example", tried.lab.locator(".heed-examples button").first.click)
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat was sleeping ."))


def window_of_a_chapter(tried: Tried) -> None:
    line = tried.lab.locator(".heed-window-picture .handle")
    tried.changes("the line by key", lambda: key(tried, line, "Shift+ArrowLeft"))
    tried.changes("the line by mouse", lambda: aside(tried, line))
    tried.changes("D", lambda: tried.drag(tried.lab.get_by_label("Reach D"), 0.0))
    tried.changes("everything", tried.lab.get_by_label("Everything: D ≥ S, σ → ∞").click)
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat was sleeping ."))


def heads_of_a_chapter(tried: Tried) -> None:
    small = tried.lab.get_by_role("button", name="Layer 1, head 2")
    tried.changes("a head by mouse", small.click)
    tried.changes("a head by key", lambda: key(tried, small, "ArrowRight"))
    switch = tried.lab.get_by_role("switch", name="Layer 1, head 1 is on")
    tried.changes("a switch", switch.click)
    tried.changes("placeless", tried.lab.get_by_label("English words are told their places").click)
    tried.changes("undone", tried.lab.get_by_role("button", name="Undo everything").click)
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the cat was sleeping ."))


def reading_of_a_chapter(tried: Tried) -> None:
    tried.changes("a word", tried.lab.locator(".heed-words button").nth(3).click)
    place = tried.lab.get_by_label("Reading", exact=True)
    tried.changes("the slider by key", lambda: key(tried, place, "ArrowRight"))
    tried.changes("everywhere", tried.lab.get_by_label("everywhere alike", exact=True).click)
    tried.changes("reset", tried.lab.get_by_role("button", name="Back to the model").click)
    tried.changes("text", lambda: tried.lab.locator("textarea").fill("the value is returned ."))


def picture_of_a_chapter(tried: Tried) -> None:
    animal = tried.lab.locator(".heed-scene-animal").first
    tried.changes("an animal by mouse", lambda: haul(tried, animal))
    tried.changes("an animal by key", lambda: key(tried, animal, "ArrowDown"))
    tried.changes("a word", tried.lab.locator(".heed-words button").nth(2).click)
    tried.changes("where", tried.lab.get_by_label("on sand", exact=True).click)


def twins_of_a_chapter(tried: Tried) -> None:
    knob, point = (tried.lab.locator(f".heed-twins-{each}") for each in ("knob", "point"))
    tried.changes("z by key", lambda: key(tried, knob, "Shift+ArrowLeft"))
    tried.changes("z by mouse", lambda: haul(tried, knob))
    tried.changes("the point by key", lambda: key(tried, point, "ArrowDown"))
    tried.changes("γ", lambda: tried.drag(tried.lab.get_by_label("Strength γ"), 0.0))
    tried.changes("another one", tried.lab.get_by_role("button", name="Another one").click)


def tape_of_a_chapter(tried: Tried) -> None:
    bit = tried.lab.locator(".heed-tape-grid[role='grid'] td")
    tried.changes("a bit by mouse", bit.nth(3).click)
    tried.changes("a bit by key", lambda: key(tried, bit.nth(3), "ArrowRight", " "))
    step = tried.lab.get_by_role("slider", name="Step", exact=True)
    tried.changes("step by key", lambda: key(tried, step, "ArrowLeft"))
    tried.changes("a hand", tried.lab.get_by_role("button", name="no shift").click)
    tried.changes("hands off", tried.lab.get_by_role("button", name="Hands off").click)


def pointer_of_a_chapter(tried: Tried) -> None:
    point = tried.lab.locator(".heed-pointer-picture .point").nth(1)
    tried.changes("a point by key", lambda: key(tried, point, "Shift+ArrowLeft"))
    tried.changes("a point by mouse", lambda: haul(tried, point))
    step = tried.lab.get_by_label("Step", exact=True)
    tried.changes("a step", lambda: key(tried, step, "End"))
    tried.changes("another one", tried.lab.get_by_role("button", name="Another one").click)


def episode_of_a_chapter(tried: Tried) -> None:
    cell = tried.lab.locator(".heed-episode-cell")
    tried.changes("it is emptied", lambda: key(tried, cell.nth(0), "Delete"))
    tried.changes("a stroke", lambda: haul(tried, tried.lab.locator(".heed-episode-pad")))
    tried.changes("anew", tried.lab.get_by_role("button", name="Deal labels anew").click)
    tried.changes("others", tried.lab.get_by_role("button", name="Other characters").click)


def bandit_of_a_chapter(tried: Tried) -> None:
    arm = tried.lab.get_by_role("button", name="Arm 1")
    tried.changes("a pull by mouse", arm.click)
    tried.changes("a pull by key", lambda: key(tried, arm, "3"))
    tried.changes("another", tried.lab.get_by_role("button", name="Another bandit").click)


TRIALS = {
    "heed-alignment": alignment_of_a_chapter,
    "heed-bottleneck": bottleneck_of_a_chapter,
    "heed-predict": predict_of_a_chapter,
    "heed-learning": learning_of_a_chapter,
    "heed-plane": plane_of_a_chapter,
    "heed-mask": mask_of_a_chapter,
    "heed-looking": looking_of_a_chapter,
    "heed-eating": eating_of_a_chapter,
    "heed-rivals": rivals_of_a_chapter,
    "heed-years": years_of_a_chapter,
    "heed-reading": reading_of_a_chapter,
    "heed-window": window_of_a_chapter,
    "heed-heads": heads_of_a_chapter,
    "heed-picture": picture_of_a_chapter,
    "heed-twins": twins_of_a_chapter,
    "heed-tape": tape_of_a_chapter,
    "heed-pointer": pointer_of_a_chapter,
    "heed-episode": episode_of_a_chapter,
    "heed-bandit": bandit_of_a_chapter,
}


@pytest.mark.parametrize("chapter", chapters_with_labs(), ids=lambda path: path.stem)
def test_the_labs_of_a_chapter_obey(browser: Browser, jupyter: Jupyter, chapter: Path) -> None:
    opened = Opened(browser, jupyter, chapter.name)
    try:
        opened.run_all()
        found = opened.labs()
        assert found
        for each in found:
            kind = each.locator(".heed-sheet").get_attribute("class") or ""
            (trial,) = (trial for name, trial in TRIALS.items() if name in kind.split())
            trial(Tried(opened, each))
        assert not opened.faults()
    finally:
        opened.close()
