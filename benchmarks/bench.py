"""What a chapter and a page cost a reader, against what the book promises.

    make bench                                    everything
    .venv/bin/python benchmarks/bench.py pages    only the pages, or only: chapters

Chapters run as shipped, each in a process of its own; the memory is the largest that this process
or its kernel ever held. Pages are opened in Chromium; the weight is what was fetched, gzipped.
The exit code is 1 where a promise is broken.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

SECONDS = 60
GIGABYTES = 1.5
PAGE_MEGABYTES = 1.2

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", choices=[[], "chapters", "pages"])
    parser.add_argument("--chapter", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.chapter:
        return measure(asked.chapter)

    kept = True
    for title, rows in (("chapters", chapters), ("pages", pages)):
        if asked.what and title not in asked.what:
            continue
        print(f"\n{title}")
        for name, figures, good in rows():
            kept &= good
            print(f"  {name:26} {figures}   {'' if good else 'too much'}", flush=True)
    return sys.exit(not kept)


if __name__ == "__main__":
    main()
