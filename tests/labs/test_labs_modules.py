"""The front end as one text, the colours, and the words of the interface."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from heed import labs
from heed.labs import modules
from heed.labs.drawing import attention_map, sayer, share, tag
from heed.labs.palette import colour, diverging

KINDS = [name.removesuffix("Lab").lower() for name in labs.__all__]


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text)


def test_modules_come_after_what_they_import(tmp_path: Path) -> None:
    write(
        tmp_path,
        top='import {a} from "./left.js";\nimport {b, c} from "./right.js";\n',
        left='import {d} from "./low.js";\n',
        right='import {d} from "./low.js";\n',
        low="export const d = 1;\n",
    )
    assert list(modules.needed("top.js", tmp_path)) == ["low.js", "left.js", "right.js", "top.js"]


@pytest.mark.parametrize(
    "line",
    [
        'import x from "./low.js";',
        'import * as x from "./low.js";',
        'import "./low.js";',
        'import {d} from "elsewhere";',
        'import {\n  d,\n} from "./low.js";',
    ],
)
def test_an_import_that_cannot_travel_is_refused(tmp_path: Path, line: str) -> None:
    write(tmp_path, top=f"{line}\n", low="export const d = 1;\n")
    with pytest.raises(ValueError, match=r"top\.js: write "):
        modules.needed("top.js", tmp_path)


def test_a_ring_of_imports_is_named(tmp_path: Path) -> None:
    write(tmp_path, a='import {b} from "./b.js";\n', b='import {a} from "./a.js";\n')
    with pytest.raises(ValueError, match=r"a\.js → b\.js → a\.js"):
        modules.needed("a.js", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_every_view_can_travel(kind: str) -> None:
    needed = modules.needed(f"{kind}.js")
    assert list(needed)[-1] == f"{kind}.js"
    assert re.search(r"export function render\(", needed[f"{kind}.js"])
    assert not any(name.startswith(("page", "runtime", "answers")) for name in needed)


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_the_loader_gives_anywidget_a_view(page: Page, kind: str) -> None:
    page.goto("about:blank")
    found = page.evaluate(
        """async (text) => {
          const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          const { render } = (await import(url)).default;
          const el = document.createElement("div");
          const model = { get() { throw new Error("a view asks its model"); } };
          return render({ el, model }).catch((fault) => [el.className, fault.message]);
        }""",
        modules.bundle(f"{kind}.js"),
    )
    assert found == ["heed-lab", "a view asks its model"]


@pytest.mark.browser
def test_colours_are_those_of_the_page(page: Page) -> None:
    page.goto("about:blank")
    places = [i / 400 for i in range(401)] + [-1.0, 2.0]
    theirs = page.evaluate(
        """async ([text, places]) => {
          const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          const { colour, diverging } = await import(url);
          const told = ({ background, ink }) => [background, ink];
          return [
            places.map((x) => told(colour(x))),
            places.map((x) => told(diverging(2 * x - 1))),
          ];
        }""",
        [(modules.FRONTEND / "palette.js").read_text("utf-8"), places],
    )
    ours = [
        [[each.background, each.ink] for each in map(colour, places)],
        [[each.background, each.ink] for each in (diverging(2 * x - 1) for x in places)],
    ]
    assert ours == theirs


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_ink_can_be_read_on_every_colour() -> None:
    shades = [colour(i / 255) for i in range(256)] + [diverging(i / 100 - 1) for i in range(201)]
    for shade in shades:
        low, high = sorted(map(luminance, (shade.background, shade.ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_the_words_of_the_interface_are_flat_and_belong_to_somebody() -> None:
    words = json.loads((modules.FRONTEND / "strings.en.json").read_text("utf-8"))
    prefixes = {*KINDS, "map", "page", "remarks"}
    assert all(isinstance(text, str) and text for text in words.values())
    assert {key.split(".")[0] for key in words} <= prefixes


# ---------------------------------------------------------------------------- drawing


def test_numbers_are_short() -> None:
    assert [share(w) for w in (0.05, 0.714, 0.996, 1.0)] == [".05", ".71", "1", "1"]


def test_tags_are_escaped_where_they_must_be() -> None:
    assert tag("p", "a", class_="x", title='"<') == '<p class="x" title="&quot;&lt;">a</p>'


def test_a_map_marks_gold_and_hidden() -> None:
    html = attention_map(
        sayer({}),
        label="L",
        query=["q"],
        key=["a", "b", "c"],
        weights=[[0.9, 0.0, 0.1]],
        sure=[(0, 0)],
        possible=[(0, 0), (2, 0)],
        hidden=[1],
    )
    cells = re.findall(r"<td[^>]*>[^<]*</td>", html)
    assert "heed-ring heed-sure" in cells[0]
    assert ">.90<" in cells[0]
    assert "heed-hidden" in cells[1]
    assert "heed-ring heed-possible" in cells[2]


def test_a_map_too_large_for_a_page_is_not_drawn() -> None:
    words = [str(i) for i in range(40)]
    weights = [[0.0] * 40] * 40
    assert attention_map(sayer({}), label="L", query=words, key=words, weights=weights) == ""
