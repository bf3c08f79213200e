"""A lab without JavaScript: the answer that came with the page, as plain HTML.

It is what a reader sees in the first second, in a PDF, and where no script runs. The elements and
classes are those that ``frontend/map.js`` makes, so one style sheet serves both. Every word is
escaped: what somebody typed stays text.
"""

import io
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape

import numpy as np
from jaxtyping import UInt8
from matplotlib.image import imsave

from heed.data.pairs import Link
from heed.labs.palette import colour

WRITTEN = 0.05
"""Smaller weights are left to the colour, as in ``map.js``."""

LARGE = 24
LARGEST = 1_500
"""Cells that are drawn; a larger map would weigh more than the page around it."""

VISIBLE = 0.004
"""Below, a cell has the colour of 0, which is the table's own."""

Say = Callable[..., str]


def sayer(strings: Mapping[str, str]) -> Say:
    """``say("map.key")``: the words of the interface, with {names} filled in."""

    def say(key: str, **values: object) -> str:
        text = strings.get(key, key)
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    return say


def tag(name: str, *content: str, **attributes: str | None) -> str:
    """An element. ``content`` is HTML already; attributes are escaped, ``None`` leaves one out.

    class_ stands for class, and an underscore inside a name for a hyphen.
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{told}>{''.join(content)}</{name}>"


def attention_map(
    say: Say,
    *,
    label: str,
    query: Sequence[str],
    key: Sequence[str],
    weights: Sequence[Sequence[float | int | None]],
    sure: Collection[Link] = (),
    possible: Collection[Link] = (),
    hidden: Collection[int] = (),
    blank: bool = False,
    own: str = "map",
) -> str:
    """The map as a table: a row for each word written, a column for each word looked at. A row of
    weights that is too short ends where there is nothing yet to be looked at.

    sure, possible: gold links (source, target), ringed; hidden: columns that were hidden;
    blank: the words without their weights; own: where the names of the axes stand

    Nothing at all for no words, and for more than ``LARGEST`` cells.
    """
    if not query or not key or len(query) * len(key) > LARGEST:
        return ""

    def cell(i: int, j: int) -> str:
        if not blank and j >= len(weights[i]):
            return tag("td", class_="heed-never")
        rings = [name for name, at in (("sure", sure), ("possible", possible)) if (j, i) in at]
        kinds = ["heed-hidden"] * (j in hidden)
        kinds += ["heed-ring", f"heed-{rings[0]}"] if rings and not blank else []
        classes = " ".join(kinds) or None
        if blank or j in hidden:
            return tag("td", class_=classes)
        weight = float(weights[i][j] or 0)  # None: the model wrote no number
        shade = colour(weight)
        style = f"background:{shade.background};color:{shade.ink}"
        return tag(
            "td",
            share(weight) if weight >= WRITTEN else "",
            class_=classes,
            style=style if weight >= VISIBLE else None,
        )

    def head(word: str, scope: str, hide: bool = False) -> str:
        named = tag("span", escape(word), class_="heed-word")
        return tag("th", named, scope=scope, class_="heed-hidden" if hide else None)

    corner = tag(
        "td",
        tag("span", escape(say(f"{own}.key")), class_="heed-axis-key"),
        tag("span", escape(say(f"{own}.query")), class_="heed-axis-query"),
        class_="heed-corner",
    )
    heads = "".join(head(word, "col", j in hidden) for j, word in enumerate(key))
    rows = (
        tag("tr", head(word, "row"), *(cell(i, j) for j in range(len(key))))
        for i, word in enumerate(query)
    )
    table = tag(
        "table",
        tag("caption", escape(label)),
        tag("thead", tag("tr", corner, heads)),
        tag("tbody", *rows),
        class_="heed-cells heed-blank" if blank else "heed-cells",
        style=None if blank else f"--heed-empty:{colour(0.0).background}",
    )
    large = " heed-large" if max(len(query), len(key)) > LARGE else ""
    return tag(
        "div",
        tag(
            "div",
            tag("div", table, class_="heed-stage"),
            class_="heed-scroll",
            tabindex="0",
            role="region",
            aria_label=label,
        ),
        class_=f"heed-map{large}",
        style=f"--columns:{len(key)}",
    )


def share(weight: float) -> str:
    """.71, and 1 for what rounds to it."""
    text = f"{weight:.2f}"
    return "1" if text == "1.00" else text[1:]


def line(name: str, words: Sequence[str], marked: Collection[int] = (), mark: str = "mark") -> str:
    """A named sentence; the marked words are wrapped in the element ``mark``."""
    said = " ".join(
        tag(mark, escape(word)) if i in marked else escape(word) for i, word in enumerate(words)
    )
    return tag("p", tag("strong", escape(name)), " ", said, class_="heed-line")


def image(picture: UInt8[np.ndarray, "channel row column"]) -> str:
    """The address of a picture that lies in the page itself; a fourth channel is how much it hides
    what is under it."""
    content = io.BytesIO()
    imsave(content, np.moveaxis(picture, 0, -1), format="png", metadata={"Software": "heed"})
    return f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"


def sheet(*content: str, kind: str = "") -> str:
    """What a view stands on. kind: of the lab, where its style is needed."""
    classes = f"heed-sheet heed-{kind}" if kind else "heed-sheet"
    return tag("div", tag("div", *content, class_=classes), class_="heed-view")
