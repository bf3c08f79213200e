"""The front end of the labs in a real browser: its modules, the runtime and the models, served in
a folder of a host, as the book's pages have them."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page
from reader import PATIENCE, ROOT, Log, serving

VENDOR = ROOT / "book" / "_vendor"

SHEETS = count()
SHEET = """<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Labs</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="labs/labs.css">
<style>
  html { background: #fff; color: #222832; }
  html[data-theme="dark"] { background: #121212; color: #ced6dd; --pst-color-text-base: #ced6dd; }
  body { font: 16px/1.65 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 1rem; }
  pre { height: 3000px; }
</style>
</head>
<body><main><h1>Labs</h1>%s</main></body>
</html>
"""


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages of the book fetch, and an empty page beside it."""
    from heed.labs.site import copy_assets, exported

    if not (VENDOR / "ort").is_dir():
        subprocess.run(["make", "book/_vendor/.stamp"], cwd=ROOT, check=True)
    top = tmp_path_factory.mktemp("host")
    folder = top / "some" / "where"
    copy_assets(folder, exported(), vendor=VENDOR)
    (folder / "empty.html").write_text(SHEET % "", "utf-8")
    return folder


@pytest.fixture(scope="session")
def home(assets: Path) -> Iterator[str]:
    """The address of that folder, below the host's root."""
    with serving(assets.parents[1]) as host:
        yield f"{host}/some/where"


@pytest.fixture(scope="module")
def models(
    request: pytest.FixtureRequest, assets: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """A module's small models, ``ROWS`` in its own ``folder``, beside the shipped ones."""
    from heed.labs.site import copy_assets

    out = tmp_path_factory.mktemp("out")
    names = [row.name for row in request.module.ROWS]
    copy_assets(out, names, vendor=VENDOR, trained=request.getfixturevalue("folder"))
    for name in names:
        shutil.copytree(out / "models" / name, assets / "models" / name)
    yield
    for name in names:
        shutil.rmtree(assets / "models" / name)


@pytest.fixture
def sheet(assets: Path, home: str) -> Iterator[Callable[[str], str]]:
    """sheet(html) -> the address of a page with that in its body and page.js in its head."""
    written: list[Path] = []

    def write(body: str) -> str:
        file = assets / f"sheet-{next(SHEETS)}.html"  # an address is never used for a second page
        module = '<script type="module" src="labs/page.js"></script>'
        file.write_text((SHEET % body).replace("</head>", f"{module}</head>"), "utf-8")
        written.append(file)
        return f"{home}/{file.name}"

    yield write
    for file in written:
        file.unlink()


@pytest.fixture
def quiet(page: Page, home: str) -> Iterator[Page]:
    """A page that must say nothing in the console and ask no other host, whatever happens to it."""
    log = Log(home)
    log.watch(page)
    yield page
    assert log.complaints == []


@pytest.fixture(scope="session")
def bench(tabs: BrowserContext, home: str) -> Iterator[Page]:
    """One page for all tests that only call modules: what a test loads stays loaded."""
    page = tabs.new_page()
    page.set_default_timeout(PATIENCE)
    log = Log(home)
    log.watch(page)
    page.goto(f"{home}/empty.html")
    yield page
    page.close()
    assert log.complaints == []


@pytest.fixture(scope="session")
def call(bench: Page) -> Callable[..., Any]:
    """call("text.js", "tokenize", text, "en"): what a function of a module gives back."""

    def run(module: str, name: str, *arguments: Any) -> Any:
        return bench.evaluate(
            """async ([module, name, given]) => {
                const found = await import(new URL(`labs/${module}`, location.href).href);
                return found[name](...given);
            }""",
            [module, name, list(arguments)],
        )

    return run
