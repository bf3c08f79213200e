"""Attention while it is learnt: maps at moments of training, and when the diagonal appears."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from heed.data.pairs import Pair
from heed.evaluation.alignment import link_precision, links_from_weights
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes
from heed.viz.length import STYLES

Maps = Float[np.ndarray, "moment _ _"]
"""Where the model looked on one sentence: moment × target step × source position."""


def precision_by_moment(maps: Sequence[Maps], pairs: Sequence[Pair]) -> list[float]:
    """How many first looks are on a gold link, at each moment, over all watched sentences.

    maps: for each pair its maps, as ``Trained.maps`` gives them
    """
    if len(maps) != len(pairs):
        raise ValueError(f"maps of {len(maps)} sentences, but {len(pairs)} pairs")
    possible = [pair.possible for pair in pairs]
    return [
        link_precision(
            [
                links_from_weights(each[moment], len(pair.source), len(pair.target))
                for each, pair in zip(maps, pairs, strict=True)
            ],
            possible,
        )
        for moment in range(len(maps[0]))
    ]


def first_reaching(steps: Sequence[int], values: Sequence[float], level: float) -> int | None:
    """The first step whose value is at least ``level``; ``None`` if none is."""
    return next((s for s, value in zip(steps, values, strict=True) if value >= level), None)


def telling(maps: Maps, count: int) -> list[int]:
    """``count`` moments between which the map moved about as far each time, first and last
    among them: none of many that look alike, all of the turn."""
    count = min(count, len(maps))
    moved = np.abs(np.diff(maps, axis=0)).sum(axis=(1, 2)) + 1e-6
    gone = np.concatenate([[0.0], np.cumsum(moved)])
    chosen = [int(np.abs(gone - share * gone[-1]).argmin()) for share in np.linspace(0, 1, count)]
    for place in range(1, count):  # one leap may hold several shares: then its neighbours
        chosen[place] = max(chosen[place], chosen[place - 1] + 1)
    for place in range(count - 1, 0, -1):
        chosen[place] = min(chosen[place], len(maps) - count + place)
    return chosen


def moments(
    steps: Sequence[int], maps: Maps, pair: Pair, *, count: int = 8, columns: int = 4
) -> Picture:
    """The map of one sentence at ``count`` moments of its training, from left to right.

    The moments are those between which the map moved most (``telling``).
    """
    shown = telling(maps, count)
    rows = -(-len(shown) // columns)
    height = 1.75 * len(pair.target) / len(pair.source)
    figure = Figure(
        figsize=(1.75 * columns + 0.9, (height + 0.3) * rows + 0.8), layout="constrained"
    )
    grid = figure.subplots(rows, columns, squeeze=False)
    said = []
    for axes in grid.flat[len(shown) :]:
        axes.axis("off")
    for place, moment in enumerate(shown):
        axes = grid.flat[place]
        table = maps[moment][: len(pair.target), : len(pair.source)]
        axes.imshow(table, cmap="cividis", vmin=0.0, vmax=1.0, aspect="equal")
        axes.set_title(f"step {steps[moment]:,}", color=INK, fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
        if place % columns == 0:
            axes.set_yticks(range(len(pair.target)), pair.target, fontsize=6)
        if place >= len(shown) - columns:
            axes.set_xticks(range(len(pair.source)), pair.source, rotation=90, fontsize=6)
        plain_axes(axes)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        links = links_from_weights(maps[moment], len(pair.source), len(pair.target))
        said.append(f"step {steps[moment]:,}: {len(links & pair.possible)}")
    return picture(
        figure,
        f"The attention map of one sentence at {len(shown)} moments of training. Of its "
        f"{len(pair.target)} French words, so many look first at a gold-linked word: "
        f"{', '.join(said)}.",
    )


def learning_curve(
    steps: Sequence[int],
    precision: Sequence[float],
    losses: Sequence[Mapping[str, int | float]],
    *,
    mark: int | None = None,
) -> Picture:
    """Link precision and held-out loss over training, one above the other, on a log scale of steps.

    losses: points with ``step`` and ``valid_loss``, as a card's curves have them
    mark: a step to draw a line at
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    # Step 0 has no place on a log scale; it stands where the first half step would be.
    first = min(step for step in steps if step) / 2
    above.plot([step or first for step in steps], precision, color=RING, marker="o", markersize=3.5)
    above.set_ylim(0, 1.05)
    above.set_ylabel("first looks on\na gold link")
    places, values = [each["step"] for each in losses], [each["valid_loss"] for each in losses]
    below.plot(places, values, color=STYLES[1]["color"], marker="s", markersize=3)
    below.set_ylim(bottom=0)
    below.set_ylabel("loss on held-out\nsentences (nats a word)")
    below.set_xlabel("steps of training (log scale)")
    below.set_xscale("log")
    for axes in (above, below):
        plain_axes(axes)
        if mark:
            axes.axvline(mark, color=INK, linewidth=1, linestyle=(0, (3, 2)))
    said = f"it starts at {precision[0]:.2f} and ends at {precision[-1]:.2f}"
    if mark:
        above.annotate(
            f"step {mark:,}", (mark, 0.04), xytext=(5, 0), textcoords="offset points", color=INK
        )
        at = precision[list(steps).index(mark)] if mark in steps else float("nan")
        said += f", with {at:.2f} at step {mark:,}, which is marked"
    return picture(
        figure,
        f"Share of first looks that are on a gold link, over the steps of training: {said}. "
        f"Below it the loss on held-out sentences, from {values[0]:.2f} at step {places[0]:,} "
        f"to {values[-1]:.2f} at step {places[-1]:,}.",
    )
