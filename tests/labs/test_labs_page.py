"""A lab on a page: the drawn example, the view, the model that comes when the lab comes near."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from reader import PATIENCE, Log
from reading import NASTY, Mounted
from small_readers import untrained

from heed.data.grammar import classic
from heed.experiments.export import as_exported
from heed.experiments.trained import load
from heed.labs import (
    AlignmentLab,
    BottleneckLab,
    LearningLab,
    PredictLab,
    ReadingLab,
    RivalsLab,
    WindowLab,
)

pytestmark = pytest.mark.browser

MODELS = re.compile(r"/(models|ort)/")
LIVE = "heed-lab[data-live]"


@pytest.fixture(scope="module")
def lab() -> str:
    """The element that a cell with a lab leaves in the page."""
    return AlignmentLab(as_exported(load("bahdanau_grammar")), text="the cat sleeps .").html()


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_text_contents()


def write(page: Page, text: str) -> None:
    page.locator("heed-lab textarea").first.fill(text)


def wait_for_answer(page: Page, after: int) -> None:
    page.wait_for_function(
        "count => Number(document.querySelector('heed-lab').dataset.count) > count", arg=after
    )


def count(page: Page) -> int:
    return int(page.locator("heed-lab").first.get_attribute("data-count") or -1)


def test_without_javascript_the_example_is_there(
    browser: Browser, sheet: Callable[[str], str], lab: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(sheet(lab))
    assert page.locator("heed-lab table td").count() >= 9
    expect(page.locator("heed-lab table")).to_be_visible()
    context.close()


def test_the_model_answers_as_soon_as_the_lab_is_in_view(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    quiet.goto(sheet(lab))
    quiet.wait_for_selector(LIVE)
    expect(quiet.locator("heed-lab > .heed-status")).to_contain_text(
        "The model in this page answered in"
    )
    first = texts(quiet, "heed-lab .heed-cells tbody th")
    write(quiet, "the small dog was in the house .")
    wait_for_answer(quiet, count(quiet))
    assert texts(quiet, "heed-lab .heed-cells thead th")[:3] == ["the", "small", "dog"]
    assert texts(quiet, "heed-lab .heed-cells tbody th") != first
    assert float(quiet.locator("heed-lab").get_attribute("data-ms") or 0) > 0


def test_the_live_answer_draws_what_was_computed_in_python(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    quiet.goto(sheet(lab))
    quiet.wait_for_selector("heed-lab[data-count]")
    read = "cells => cells.map((cell) => [cell.textContent, Number(cell.dataset.weight)])"
    before = quiet.locator(".heed-cells tbody td").evaluate_all(read)
    quiet.wait_for_selector(LIVE)
    after = quiet.locator(".heed-cells tbody td").evaluate_all(read)
    assert len(before) == len(after) >= 9
    for (_, one), (_, other) in zip(before, after, strict=True):
        assert one == pytest.approx(other, abs=2e-4)


def test_a_lab_far_away_fetches_nothing_until_it_comes_near(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    fetched: list[str] = []
    quiet.on("request", lambda request: fetched.append(request.url))
    quiet.goto(sheet(f"<pre></pre>{lab}"))
    quiet.wait_for_selector("heed-lab[data-count='0']")
    quiet.wait_for_load_state("networkidle")
    assert [url for url in fetched if MODELS.search(url)] == []
    quiet.locator("heed-lab").scroll_into_view_if_needed()
    quiet.wait_for_selector(LIVE)
    assert len([url for url in fetched if MODELS.search(url)]) == 7
    quiet.evaluate("scrollTo(0, 0)")
    quiet.wait_for_timeout(100)
    quiet.locator("heed-lab").scroll_into_view_if_needed()
    expect(quiet.locator("heed-lab textarea").first).to_have_value("the cat sleeps .")


def test_what_follows_a_lab_stands_still_while_the_lab_shrinks_a_little(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    quiet.goto(sheet(f"{lab}<p id='after'>after</p>"))
    quiet.wait_for_selector(LIVE)

    def after(height: int) -> float:
        """How far below the top of the view the next paragraph begins."""
        return quiet.evaluate(
            """async (height) => {
                const view = document.querySelector(".heed-view");
                view.firstElementChild.style.height = `${height}px`;
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
                const top = (element) => element.getBoundingClientRect().top;
                return top(document.getElementById("after")) - top(view);
            }""",
            height,
        )

    tallest = after(1500)
    assert after(1400) == after(1300) == tallest
    assert after(1000) == pytest.approx(tallest - 500)
    assert after(1100) == pytest.approx(tallest - 400)


def test_labs_of_a_page_share_runtime_and_models(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    other = BottleneckLab("seq2seq_grammar", "bahdanau_grammar").html()
    fetched: list[str] = []
    quiet.on("request", lambda request: fetched.append(request.url))
    quiet.goto(sheet(lab + lab + other))
    for i in range(3):
        each = quiet.locator("heed-lab").nth(i)
        each.scroll_into_view_if_needed()
        expect(each).to_have_attribute("data-live", "true", timeout=PATIENCE)
    files = [url for url in fetched if MODELS.search(url)]
    assert len(files) == len(set(files)) == 3 + 4 + 4
    ids = quiet.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    first = texts(quiet, "heed-lab >> nth=0 >> .heed-cells thead th")
    quiet.locator("heed-lab").nth(1).locator("textarea").first.fill("yes .")
    quiet.wait_for_function(
        "document.querySelectorAll('heed-lab')[1].querySelectorAll('thead th').length === 3"
    )
    assert texts(quiet, "heed-lab >> nth=0 >> .heed-cells thead th") == first


def test_without_a_network_it_goes_on(
    page: Page, home: str, sheet: Callable[[str], str], lab: str
) -> None:
    log = Log(home)
    page.goto(sheet(lab))
    page.wait_for_selector(LIVE)
    page.context.set_offline(True)
    log.watch(page)
    write(page, "yes .")
    wait_for_answer(page, count(page))
    assert texts(page, ".heed-cells thead th") == ["yes", ".", "</s>"]
    assert log.complaints == []
    page.context.set_offline(False)


def test_a_model_that_does_not_come_is_said_in_one_line_and_asked_for_again(
    page: Page, sheet: Callable[[str], str], lab: str
) -> None:
    refused = re.compile(r"/models/.*decoder")
    page.route(refused, lambda route: route.abort())
    page.goto(sheet(lab))
    status = page.locator("heed-lab > .heed-status")
    failed = "The model could not be fetched. Change something to try again."
    expect(status).to_have_text(failed, timeout=PATIENCE)
    assert page.locator(".heed-cells tbody td").count() >= 9  # what was computed stands
    with page.expect_request(refused):
        write(page, "no .")
    expect(status).to_have_text(failed, timeout=PATIENCE)
    page.unroute(refused)
    with page.expect_request(refused, timeout=3000):  # it does not wait for the answer that failed
        write(page, "yes .")
    page.wait_for_selector(LIVE)
    assert texts(page, ".heed-cells thead th") == ["yes", ".", "</s>"]


def test_a_runtime_that_came_in_part_is_fetched_again(
    page: Page, sheet: Callable[[str], str], lab: str
) -> None:
    lost = re.compile(r"/ort/ort-wasm-simd-threaded\.mjs")
    page.route(lost, lambda route: route.abort())
    page.goto(sheet(lab))
    status = page.locator("heed-lab > .heed-status")
    expect(status).to_contain_text("could not be fetched", timeout=PATIENCE)
    page.unroute(lost)
    write(page, "yes .")
    page.wait_for_selector(LIVE)
    assert texts(page, ".heed-cells thead th") == ["yes", ".", "</s>"]


def test_a_script_that_is_sent_as_something_else_is_named(
    page: Page, sheet: Callable[[str], str], lab: str
) -> None:
    page.route(
        re.compile(r"/ort/ort\.wasm\.min\.mjs$"),
        lambda route: route.fulfill(
            response=route.fetch(), content_type="application/octet-stream"
        ),
    )
    page.goto(sheet(lab))
    expect(page.locator("heed-lab > .heed-status")).to_contain_text(
        "the site sends ort.wasm.min.mjs as ‘application/octet-stream’", timeout=PATIENCE
    )
    assert page.locator(".heed-cells tbody td").count() >= 9


@pytest.mark.parametrize(
    "lack",
    [
        "delete window.WebAssembly",
        "delete window.DecompressionStream",
        "WebAssembly.instantiate = () => Promise.reject(new Error('refused'))",
    ],
)
def test_a_browser_that_cannot_run_models_is_told_so(
    page: Page, sheet: Callable[[str], str], lab: str, lack: str
) -> None:
    page.add_init_script(lack)
    page.goto(sheet(lab))
    status = page.locator("heed-lab > .heed-status")
    expect(status).to_contain_text("This browser cannot run the model", timeout=PATIENCE)
    assert page.locator(".heed-cells tbody td").count() >= 9


def test_only_the_last_of_many_changes_is_answered(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    quiet.goto(sheet(lab))
    quiet.wait_for_selector(LIVE)
    before = count(quiet)
    slider = quiet.get_by_label(re.compile("temperature", re.IGNORECASE)).first
    if not slider.is_visible():
        quiet.locator("heed-lab summary").first.click()
    slider.evaluate(
        """(slider) => {
            for (let i = 0; i < 30; i += 1) {
                slider.value = 1 + i / 10;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }
        }"""
    )
    wait_for_answer(quiet, before + 1)
    quiet.wait_for_timeout(500)
    assert count(quiet) - before <= 3


@pytest.mark.parametrize("kind", ["inflated by the host", "plain"])
def test_a_host_may_inflate_what_lies_there_compressed(
    quiet: Page, sheet: Callable[[str], str], assets: Path, lab: str, kind: str
) -> None:
    """GitHub's pages serve .gz as it is; others say Content-Encoding, and the browser inflates."""

    def answer(route: Route) -> None:
        file = assets / route.request.url.split("/some/where/")[1]
        headers = {"content-type": "application/octet-stream"}
        if kind != "plain":
            headers["content-encoding"] = "gzip"
        route.fulfill(body=file.read_bytes(), headers=headers)

    quiet.route(re.compile(r"\.gz$"), answer)
    quiet.goto(sheet(lab))
    quiet.wait_for_selector(LIVE)


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_whatever_is_typed_gets_an_answer(
    quiet: Page, sheet: Callable[[str], str], lab: str, text: str
) -> None:
    quiet.set_viewport_size({"width": 360, "height": 700})
    quiet.goto(sheet(lab))
    quiet.wait_for_selector(LIVE)
    before = count(quiet)
    write(quiet, text)
    wait_for_answer(quiet, before)
    assert quiet.locator("heed-lab :is(img, script:not([type='application/json']))").count() == 0
    assert quiet.evaluate("document.documentElement.scrollWidth") <= 360
    expect(quiet.locator("heed-lab > .heed-status")).not_to_have_attribute("data-fault", "")
    before = count(quiet)
    write(quiet, "the cat sleeps .")
    wait_for_answer(quiet, before)
    assert texts(quiet, ".heed-cells thead th") == ["the", "cat", "sleeps", ".", "</s>"]


def test_a_model_that_was_changed_is_not_mistaken_for_the_shipped_one(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    fetched: list[str] = []
    quiet.on("request", lambda request: fetched.append(request.url))
    changed = re.sub(r'"models":\[[^\]]*\]', '"models":[]', lab)
    assert changed != lab
    quiet.goto(sheet(changed))
    expect(quiet.locator("heed-lab > .heed-status")).to_contain_text("was changed in the notebook")
    quiet.wait_for_load_state("networkidle")
    assert [url for url in fetched if MODELS.search(url)] == []


def test_a_lab_that_was_removed_rests_and_comes_back(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    quiet.goto(sheet(lab))
    quiet.wait_for_selector(LIVE)
    before = count(quiet)
    quiet.evaluate(
        """() => {
            window.removed = document.querySelector("heed-lab");
            const box = removed.querySelector("textarea");
            box.value = "yes .";
            box.dispatchEvent(new Event("input"));
            removed.remove();
        }"""
    )
    quiet.wait_for_timeout(500)
    assert quiet.evaluate("Number(removed.dataset.count)") == before
    quiet.evaluate("document.querySelector('main').append(removed)")
    expect(quiet.locator("heed-lab textarea").first).to_have_value("the cat sleeps .")
    assert quiet.locator("heed-lab textarea").count() == 1
    write(quiet, "no .")
    quiet.wait_for_function("document.querySelectorAll('heed-lab thead th').length === 3")


KINDS = {
    "alignment": lambda: AlignmentLab("bahdanau_grammar", text="the cat sleeps ."),
    "bottleneck": lambda: BottleneckLab("seq2seq_grammar", "bahdanau_grammar", text="the cat ."),
    "learning": lambda: LearningLab("bahdanau_grammar"),
    "predict": lambda: PredictLab("bahdanau_grammar", [], text="the cat sleeps ."),
}

SHOWN = {
    **KINDS,
    "alignment": lambda: AlignmentLab("bahdanau_grammar", text="the cat sleeps .", temperature=2),
    "predict": lambda: PredictLab("bahdanau_grammar", [classic()], shown=True, marks={0: 1}),
    "learning": lambda: LearningLab("bahdanau_grammar", [classic()]),
}


def without_numbers(value: Any, key: str = "") -> Any:
    """The same with null for all that a model computed."""
    if isinstance(value, dict):
        return {name: without_numbers(each, name) for name, each in value.items()}
    if isinstance(value, list) and key == "loss":
        return [[step, None, None] for step, *_ in value]
    if isinstance(value, list):
        return [without_numbers(each, key) for each in value]
    computed = key in {"weights", "probability", "log_prob", "values", "right"}
    return None if computed and isinstance(value, int | float) else value


STOPPED = """async ([kind, html]) => {
    const here = (name) => new URL(`labs/${name}`, location.href).href;
    const [{ render }, { store }] = await Promise.all([`${kind}.js`, "store.js"].map(
        (name) => import(here(name))));
    const strings = await (await fetch(here("strings.en.json"))).json();
    const page = new DOMParser().parseFromString(html, "text/html");
    const { settings, answer, ...facts } = JSON.parse(page.querySelector("script").textContent);
    const model = store({ ...facts, ...settings, answer, strings });

    const listening = [];
    const counted = (target, add, remove) => {
        const [on, off] = [target[add].bind(target), target[remove].bind(target)];
        target[add] = (event, ...rest) => (listening.push(event), on(event, ...rest));
        target[remove] = (event, ...rest) => {
            listening.splice(listening.indexOf(event), 1);
            off(event, ...rest);
        };
    };
    counted(model, "on", "off");
    counted(window, "addEventListener", "removeEventListener");
    let saved = 0;
    const el = document.createElement("div");
    document.querySelector("main").append(el);
    const stop = render({ model, el });
    const begun = listening.length;
    model.save_changes = () => (saved += 1);
    const play = [...el.querySelectorAll("button")].find((each) => each.textContent === "Play");
    play?.click();
    const box = el.querySelector("textarea");
    if (box) box.value = "yes .";
    box?.dispatchEvent(new Event("input"));
    const before = saved;
    stop();
    box?.dispatchEvent(new Event("blur"));
    const drawn = el.innerHTML;
    await new Promise((done) => setTimeout(done, 1100));
    return { begun, left: listening, saved: saved - before, same: el.innerHTML === drawn };
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_that_was_stopped_does_nothing(quiet: Page, home: str, kind: str) -> None:
    quiet.goto(f"{home}/empty.html")
    found = quiet.evaluate(STOPPED, [kind, KINDS[kind]().html()])
    assert found.pop("begun") > 0
    assert found == {"left": [], "saved": 0, "same": True}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "learning"])
def test_page_and_kernel_are_asked_by_the_same_settings(bench: Page, kind: str) -> None:
    asks = bench.evaluate(
        "async (kind) => (await import("
        "new URL(`labs/answers/${kind}.js`, location.href).href)).settings",
        kind,
    )
    assert sorted(asks) == sorted(KINDS[kind]().asks)


def test_a_view_that_fails_leaves_the_example(
    page: Page, sheet: Callable[[str], str], lab: str
) -> None:
    faults: list[Any] = []
    page.on("console", lambda message: faults.append(message.text))
    page.route(
        re.compile(r"/labs/alignment\.js$"),
        lambda route: route.fulfill(
            content_type="text/javascript",
            body="export function render() { throw new Error('no view'); }",
        ),
    )
    page.goto(sheet(lab))
    page.wait_for_load_state("networkidle")
    assert page.locator("heed-lab table td").count() >= 9
    assert any("no view" in fault for fault in faults)
    expect(page.locator("heed-lab > .heed-status")).to_contain_text("This lab did not load")


def test_colours_that_mean_something_survive_forced_colours(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    quiet.emulate_media(forced_colors="active")
    quiet.goto(sheet(lab))
    quiet.wait_for_selector(LIVE)
    quiet.locator("heed-lab details").evaluate_all("all => all.forEach((each) => each.open = true)")
    colour = "all => [...new Set(all.map((each) => getComputedStyle(each).backgroundColor))]"
    assert len(quiet.locator(".heed-cells tbody td").evaluate_all(colour)) > 3
    chosen = quiet.locator(".heed-options input:checked + span").evaluate_all(colour)
    others = quiet.locator(".heed-options input:not(:checked) + span").evaluate_all(colour)
    assert chosen
    assert others
    assert not set(chosen) & set(others)
    switch = quiet.locator(".heed-switch").first
    switch.set_checked(True)
    on = switch.evaluate("each => getComputedStyle(each).backgroundColor")
    switch.set_checked(False)
    assert switch.evaluate("each => getComputedStyle(each).backgroundColor") != on


def test_weights_that_are_no_numbers_are_drawn_as_none(
    quiet: Page, sheet: Callable[[str], str], lab: str
) -> None:
    rows = re.search(r'"weights":(\[\[.*?\]\])', lab)
    assert rows
    nothing = re.sub(r"[\d.e-]+", "null", rows[1])
    lab = re.sub(r'"models":\[[^\]]*\]', '"models":[]', lab.replace(rows[1], nothing))
    quiet.goto(sheet(lab))
    quiet.wait_for_selector("heed-lab[data-count='0']")
    assert quiet.locator(".heed-cells tbody td").count() >= 9
    quiet.locator(".heed-cells tbody td").nth(1).hover()


@pytest.mark.parametrize("kind", sorted(SHOWN))
def test_numbers_that_are_none_are_written_nowhere(
    quiet: Page, sheet: Callable[[str], str], kind: str
) -> None:
    """Of a model that wrote NaN; in the page and from a kernel they come as null."""
    made = SHOWN[kind]()
    found = re.search(r"<script[^>]*>(.*?)</script>", made.html(), re.S)
    assert found
    given = json.loads(found[1])
    for part in ("answer", "examples", "data"):
        if part in given:
            given[part] = without_numbers(given[part])
    html = made.html().replace(found[1], json.dumps(given).replace("<", "\\u003c"))
    html = re.sub(r'"models": \[[^\]]*\]', '"models": []', html)
    quiet.goto(sheet(html))
    quiet.wait_for_selector("heed-lab[data-count='0'] .heed-sheet")
    for control in quiet.locator("heed-lab :is(td, th, button):visible").all()[:15]:
        control.hover()
        control.click()
    said = quiet.locator("heed-lab").evaluate(
        """lab => [...lab.querySelectorAll("*")].flatMap((e) => [
            ...[...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent),
            ...["aria-label", "aria-valuetext", "title", "d", "cy"].map((a) => e.getAttribute(a)),
        ]).filter((text) => text !== null && /null|NaN|undefined|Infinity/.test(text))"""
    )
    assert said == []


def test_an_answer_that_failed_keeps_nobody_waiting(
    page: Page, sheet: Callable[[str], str], lab: str
) -> None:
    page.route(
        re.compile(r"/answers/alignment\.js$"),
        lambda route: route.fulfill(
            content_type="text/javascript",
            body="export const settings = ['text']; export const models = () => [];"
            "export const model = () => {};"
            "export async function answer() { throw new Error('no answer'); }",
        ),
    )
    page.goto(sheet(lab))
    status = page.locator("heed-lab > .heed-status")
    expect(status).to_contain_text("The model could not answer that")
    assert count(page) == 1
    write(page, "yes .")
    expect(page.locator("heed-lab")).to_have_attribute("data-count", "2", timeout=3000)


FAILING: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "reading": (lambda: ReadingLab(*untrained(), text="a file ."), {"text": "a name ."}),
    "rivals": (
        lambda: RivalsLab({"a": "bahdanau_grammar", "b": "seq2seq_grammar"}, text="the cat ."),
        {"choice": 1},
    ),
    "window": (lambda: WindowLab("luong_local_p_reverse", text="a b"), {"text": "b a"}),
}


@pytest.mark.parametrize("kind", sorted(FAILING))
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, kind: str) -> None:
    make, changes = FAILING[kind]
    Mounted(bench, make().html()).fails(**changes)


@pytest.mark.parametrize("lost", [r"/labs/strings\.en\.json$", r"/labs/alignment\.js$"])
def test_a_lab_that_came_in_part_says_so(
    page: Page, sheet: Callable[[str], str], lab: str, lost: str
) -> None:
    page.route(re.compile(lost), lambda route: route.fulfill(status=503, body="{}"))
    page.goto(sheet(lab))
    expect(page.locator("heed-lab > .heed-status")).to_contain_text("This lab did not load")
    assert page.locator("heed-lab table td").count() >= 9
