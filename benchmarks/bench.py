"""What a chapter and a page cost a reader, against what the book promises.

    make bench                                    everything
    .venv/bin/python benchmarks/bench.py pages    only the pages, or only: chapters, labs

Chapters run as shipped, each in a process of its own; the memory is the largest that this process
or its kernel ever held. Pages are opened in Chromium; the weight is what was fetched, gzipped. The
first answer of a lab counts from the moment it comes near the window, in a fresh browser; a control
counts from its input event to the frame after the drawing, median of 50. Both medians are printed:
of the first 50 moves, which the promise is about, and of 50 more, when the browser has compiled
what it runs often. Only a page's first lab starts cold: those below it load while one scrolls.
The exit code is 1 where a promise is broken.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

SECONDS = 60
GIGABYTES = 1.5
PAGE_MEGABYTES = 1.2
LAB_MEGABYTES = 6.0
FIRST_MS = 2_000
MOVE_MS = 50
MOVES = 50

Row = tuple[str, str, bool]


def measure(path: Path) -> None:
    """Run one chapter into a throw-away copy and print seconds and bytes as JSON."""
    import resource

    import run_chapters

    with tempfile.TemporaryDirectory() as folder:
        seconds = run_chapters.run(path, Path(folder) / path.name, {})
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 1 if platform.system() == "Darwin" else 1024
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) * unit
    print(json.dumps({"seconds": seconds, "bytes": peak}))


def chapters() -> Iterator[Row]:
    import run_chapters

    for path in run_chapters.chapters([]):
        done = subprocess.run(
            [sys.executable, __file__, "--chapter", str(path)],
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
        seconds, size = found["seconds"], found["bytes"] / 1e9
        yield (
            f"chapters/{path.stem}",
            f"{seconds:6.1f} s of {SECONDS}   {size:5.2f} GB of {GIGABYTES}",
            seconds <= SECONDS and size <= GIGABYTES,
        )


def pages() -> Iterator[Row]:
    import reader
    from chromium import ARGUMENTS, find
    from playwright.sync_api import sync_playwright

    with reader.serving(ROOT / "_build" / "html") as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
        for name in reader.pages():
            size = sum(reader.weigh(browser, home, name).values()) / 1e6
            yield name, f"{size:6.2f} MB of {PAGE_MEGABYTES}", size <= PAGE_MEGABYTES
        browser.close()


MOVE = """
async ([index, moves, asks]) => {
  const lab = document.querySelectorAll("heed-lab")[index];
  const slider = lab.querySelector("input[type=range]");
  const cells = [...lab.querySelectorAll("tbody td")];
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const answered = async (before) => {
    while (asks && lab.dataset.count === before) {
      await new Promise((done) => setTimeout(done, 0));
    }
  };
  const [low, high] = slider ? [Number(slider.min), Number(slider.max)] : [0, cells.length - 1];
  const times = [];
  for (let k = 0; k < moves; k++) {
    const before = lab.dataset.count;
    const place = low + (high - low) * ((k * 0.37 + 0.11) % 1);
    if (slider) slider.value = place;
    const start = performance.now();
    if (slider) slider.dispatchEvent(new Event("input", {bubbles: true}));
    else cells[Math.round(place)].click();
    await answered(before);
    await frame();
    times.push(performance.now() - start);
  }
  return times;
}
"""
"""Moves a lab's first slider up and down, or clicks here and there in a map that has none;
milliseconds until each answer is drawn. Where the control asks no model, nothing is awaited but
the drawing."""

ASKS = """
async ([index, patience]) => {
  const lab = document.querySelectorAll("heed-lab")[index];
  const slider = lab.querySelector("input[type=range]");
  const before = lab.dataset.count;
  if (slider) {
    slider.value = Number(slider.value) === Number(slider.min) ? slider.max : slider.min;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
  } else {
    lab.querySelector("tbody td").click();
  }
  const start = performance.now();
  while (lab.dataset.count === before && performance.now() - start < patience) {
    await new Promise((done) => setTimeout(done, 10));
  }
  return lab.dataset.count !== before;
}
"""
"""Whether a lab's model is asked when that control moves: tried once, since only some are."""

LIVE = "lab => lab.querySelector(':scope > .heed-status').textContent !== ''"
"""Whether a lab answers in the page. Its own line says so; views have other ones of that class."""


def labs() -> Iterator[Row]:
    """For each page its runtime and models; for each lab its first answer and its slider."""
    import reader
    from chromium import ARGUMENTS, find
    from playwright.sync_api import sync_playwright

    with reader.serving(ROOT / "_build" / "html") as home, sync_playwright() as playwright:
        for name in reader.pages():
            browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
            page, log = browser.new_page(), reader.Log(home)
            page.set_default_timeout(reader.PATIENCE)
            log.watch(page)
            page.goto(f"{home}/{name}.html")
            page.wait_for_load_state("networkidle")
            elements = page.locator("heed-lab")
            for index in range(elements.count()):
                lab = elements.nth(index)
                kind = lab.get_attribute("kind")
                live = lab.evaluate(LIVE)
                start = time.perf_counter()
                lab.scroll_into_view_if_needed()
                if live:
                    lab.and_(page.locator("[data-live]")).wait_for()
                first = 1000 * (time.perf_counter() - start)
                asks = live and page.evaluate(ASKS, [index, FIRST_MS])
                cold, moved = (
                    statistics.median(page.evaluate(MOVE, [index, MOVES, asks])) for _ in range(2)
                )
                yield (
                    f"{name} {kind}",
                    f"first answer {first:5.0f} ms of {FIRST_MS}   "
                    f"a control {cold:5.1f}, then {moved:5.1f} ms of {MOVE_MS}",
                    first <= FIRST_MS and cold <= MOVE_MS,
                )
            if elements.count():
                page.wait_for_load_state("networkidle")
                weight = sum(
                    size
                    for url, size in log.sizes().items()
                    if "/_static/ort/" in url or "/_static/models/" in url
                )
                yield (
                    f"{name} runtime, models",
                    f"{weight / 1e6:6.2f} MB of {LAB_MEGABYTES}",
                    weight / 1e6 <= LAB_MEGABYTES,
                )
            browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", choices=[[], "chapters", "pages", "labs"])
    parser.add_argument("--chapter", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.chapter:
        return measure(asked.chapter)

    kept = True
    for title, rows in (("chapters", chapters), ("pages", pages), ("labs", labs)):
        if asked.what and title not in asked.what:
            continue
        print(f"\n{title}")
        for name, figures, good in rows():
            kept &= good
            print(f"  {name:36} {figures}   {'' if good else 'too much'}", flush=True)
    return sys.exit(not kept)


if __name__ == "__main__":
    main()
