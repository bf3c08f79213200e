"""Quality against length, and every other line plot in which a few models are compared.

A line is told apart by colour, dash and marker together, and its name stands at its end, so no
legend has to be looked up and nobody needs to see colours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from heed.experiments.compare import plus_minus, seeds_of
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes

STYLES: tuple[dict[str, Any], ...] = (
    {"color": RING, "marker": "o", "linestyle": "-"},
    {"color": "#2f80d0", "marker": "s", "linestyle": "--"},
    {"color": "#8a63b8", "marker": "^", "linestyle": "-."},
    {"color": "#1a8f6a", "marker": "D", "linestyle": (0, (5, 1))},
    {"color": "#c2508a", "marker": "v", "linestyle": (0, (1, 1.5))},
    {"color": "#808690", "marker": "x", "linestyle": (0, (7, 2, 1, 2))},
)
"""Each at least 3 to 1 against white and against #121212."""
BACKGROUND: dict[str, Any] = {"color": INK, "marker": "", "linestyle": ":"}
"""For a line that is there to compare with: chance, a baseline, an ideal."""


Numbers = Sequence[float | int]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line: points, perhaps with a spread up and down and a width to both sides."""

    x: Numbers
    y: Numbers
    spread: Numbers | None = None
    width: Numbers | None = None
    background: bool = False

    def __post_init__(self) -> None:
        for name in ("y", "spread", "width"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.x):
                raise ValueError(f"{len(self.x)} points, but {len(given)} values of {name}")


def line_plot(
    curves: Mapping[str, Curve],
    *,
    x: str,
    y: str,
    alt: str,
    xlim: tuple[float | int, float | int] | None = None,
    ylim: tuple[float | int, float | int] | None = None,
    size: tuple[float, float] = (6.2, 3.4),
) -> Picture:
    """The curves, each with its name at its last point. x, y: what the axes count, with units."""
    if not curves:
        raise ValueError("a plot of no curves shows nothing")
    figure = Figure(figsize=size)
    axes = figure.add_subplot()
    styles = iter(STYLES)
    ends: list[tuple[float, float, str, Any]] = []
    for name, curve in curves.items():
        style = BACKGROUND if curve.background else next(styles)
        axes.errorbar(
            curve.x,
            curve.y,
            yerr=curve.spread,
            xerr=curve.width,
            capsize=0,
            elinewidth=1.0,
            linewidth=1.8,
            markersize=5,
            **style,
        )
        reach = curve.width[-1] if curve.width else 0  # a name must not stand on the bar
        ends.append((curve.x[-1] + reach, curve.y[-1], name, style["color"]))
    if xlim:
        axes.set_xlim(*xlim)
    if ylim:
        axes.set_ylim(*ylim)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    low, high = axes.get_ylim()
    right = max(end for end, _, _, _ in ends)
    heights = apart([height for _, height, _, _ in ends], gap=0.075 * (high - low))
    for (_, _, name, colour), height in zip(ends, heights, strict=True):
        axes.annotate(
            name,
            (right, height),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )
    return picture(_plain(figure), alt)


def apart(heights: Numbers, *, gap: float) -> list[float]:
    """The heights, moved as little as order allows until no two are nearer than ``gap``."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    moved = [float(height) for height in heights]
    for _ in range(100):
        clash = False
        for below, above in pairwise(order):
            missing = gap - (moved[above] - moved[below])
            if missing > 1e-9 * gap:
                moved[below] -= missing / 2
                moved[above] += missing / 2
                clash = True
        if not clash:
            break
    return moved


def _plain(figure: Figure) -> Figure:
    for axes in figure.axes:
        plain_axes(axes)
        axes.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
    return figure


def ends(bucket: str) -> tuple[int, int]:
    """``"9-15"`` as (9, 15)."""
    low, _, high = bucket.partition("-")
    return int(low), int(high)


def quality_by_length(
    models: Mapping[str, Mapping[str, Mapping[str, Any]]],
    *,
    measure: str = "BLEU",
) -> Picture:
    """A measure against source length, a line a model, mean and spread over seeds.

    models: name to show -> the card's group (``card.metrics["bleu_by_length"]``): bucket
        (``"9-15"``) -> ``{"mean", "std", "seeds"}``. Each point stands in the middle of its
        bucket, the bar to both sides is the bucket, the bar up and down the spread.
    """
    curves, spoken = {}, []
    for name, by_bucket in models.items():
        filled = [bucket for bucket, of in by_bucket.items() if of["mean"] is not None]
        spans = [ends(bucket) for bucket in filled]
        means = [by_bucket[bucket]["mean"] for bucket in filled]
        spreads = [by_bucket[bucket]["std"] for bucket in filled]
        curves[name] = Curve(
            x=[(low + high) / 2 for low, high in spans],
            y=means,
            spread=spreads,
            width=[(high - low) / 2 for low, high in spans],
        )
        told = [f"{bucket} words {plus_minus(by_bucket[bucket])}" for bucket in filled]
        seeds = max(seeds_of(by_bucket[bucket]) for bucket in filled)
        over = f"over {seeds} seeds" if seeds > 1 else "of one seed"
        spoken.append(f"{name}, {over}: {', '.join(told)}")
    return line_plot(
        curves,
        x="words in the source sentence",
        y=measure,
        ylim=(0, 102) if measure == "BLEU" else None,
        alt=f"{measure} against sentence length. {'; '.join(spoken)}.",
    )
