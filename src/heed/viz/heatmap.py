"""One attention map as a picture that works on paper, on black, and by ear.

The picture is SVG made by matplotlib: transparent, with mid-grey lettering that can be read on a
white and on a black page, cividis pinned to 0–1. It comes with a description for whoever
cannot see it, and that description names what matters, not that there is a picture.
"""

import io
from collections.abc import Collection
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from heed.trace import AttentionTrace

INK = "#7a7a7a"
"""Contrast with white 4.3, with #121212 4.4: the one grey that serves both themes."""
RING = "#e8590c"

SPEECH_LIMIT = 24
"""Rows that a description spells out; a longer map says how many it left unsaid."""


@dataclass(frozen=True)
class Picture:
    """An SVG with its description. Notebooks and the page show it; ``svg`` can be saved."""

    svg: str
    alt: str

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"

    def _repr_html_(self) -> str:
        at = self.svg.index("<svg")
        opened = self.svg[at:].replace(
            "<svg", f'<svg role="img" aria-label="{escape(self.alt, quote=True)}"', 1
        )
        return f'<figure class="heed-picture">{opened}</figure>'


def picture(figure: Figure, alt: str) -> Picture:
    """A matplotlib figure as a ``Picture``: the same bytes on every run, text kept as text."""
    if not alt.strip():
        raise ValueError("a picture needs alt text that says what to see")
    sink = io.StringIO()
    settings: dict[Any, str] = {
        "svg.hashsalt": "heed",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
    }
    with matplotlib.rc_context(settings):
        figure.savefig(
            sink, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
    return Picture(sink.getvalue(), alt)


def plain_axes(axes: Axes) -> Axes:
    """Ink that both themes can show, and no box around the plot."""
    for spine in axes.spines.values():
        spine.set_color(INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    for label in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label.set_color(INK)
    return axes


def spoken(trace: AttentionTrace, head: int = 0) -> str:
    """The map as sentences: writing 'maison', looks at 'house' 0.71."""
    weights, rows = trace.weights[head], []
    for label, row in zip(trace.query.labels[:SPEECH_LIMIT], weights, strict=False):
        best = int(row.argmax())
        rows.append(f"writing '{label}', looks at '{trace.key.labels[best]}' {row[best]:.2f}")
    left = len(trace.query.labels) - SPEECH_LIMIT
    return "; ".join(rows) + (f"; and {left} more rows" if left > 0 else "") + "."


def draw_map(axes: Axes, trace: AttentionTrace, *, head: int = 0) -> None:
    """The cells and the names along both sides, on axes that may belong to a larger figure."""
    rows, columns = trace.weights[head].shape
    axes.imshow(trace.weights[head], cmap="cividis", vmin=0.0, vmax=1.0, aspect="equal")
    axes.set_xticks(range(columns), trace.key.labels, rotation=90)
    axes.set_yticks(range(rows), trace.query.labels)
    axes.xaxis.tick_top()
    axes.set_xlabel("looked at")
    axes.xaxis.set_label_position("top")
    axes.set_ylabel("looks from")
    plain_axes(axes)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def ring(axes: Axes, query: int, key: int, *, dashed: bool = False) -> None:
    """Mark one cell."""
    style = (0, (2.0, 1.6)) if dashed else "solid"
    axes.add_patch(
        Rectangle(
            (key - 0.5, query - 0.5),
            1,
            1,
            fill=False,
            edgecolor=RING,
            linewidth=1.6,
            linestyle=style,
        )
    )


def in_a_cell(weight: float) -> str:
    """A weight where there is little room: .71, and 1 from 0.995 on."""
    return f"{weight:.2f}"[1:] if weight < 0.995 else "1"


def heatmap(
    trace: AttentionTrace,
    *,
    head: int = 0,
    ringed: Collection[tuple[int, int]] = (),
    title: str | None = None,
    numbers: bool = False,
    cell: float = 0.34,
) -> Picture:
    """The map of one head: keys from left to right, queries from top to bottom.

    ringed: cells (query, key) to mark, for instance gold links. numbers: write each weight that
    reaches 0.1 into its cell. cell: inches a side.
    """
    weights = trace.weights[head]
    rows, columns = weights.shape
    figure = Figure(figsize=(columns * cell + 1.6, rows * cell + 1.2))
    axes = figure.add_subplot()
    draw_map(axes, trace, head=head)
    for query, key in ringed:
        ring(axes, query, key)
    if numbers:
        for query, key in np.argwhere(weights >= 0.1):
            value = weights[query, key]
            colour = "#111111" if value > 0.55 else "#ffffff"
            inside = in_a_cell(value)
            axes.text(key, query, inside, color=colour, ha="center", va="center", fontsize=7)
    if title:
        axes.set_title(title, color=INK)
    return picture(figure, f"{title or trace.name}. {spoken(trace, head)}")
