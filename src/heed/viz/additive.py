"""What goes on inside an additive score."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from heed.scores import Additive
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes

BLUE = "#3b82c4"
"""With ``RING`` the second colour of a plot: both can be read on white and on black."""


def tanh_units(
    score: Additive,
    queries: Mapping[str, Float[Tensor, " d_q"]],
    keys: Float[Tensor, "key d_k"],
    words: Sequence[str],
    units: Sequence[str],
) -> Picture:
    """Where each word comes to lie on each hidden unit's tanh: a row a query, a column a unit.

    W s moves all words of a panel together; U h sets them apart. On the slope a unit tells them
    apart, on the plateau it does not.

    queries: what is asked, by name; units: a name for each hidden unit
    """
    with torch.no_grad():
        apart = score.U(keys)
        moved = {name: score.W(query) for name, query in queries.items()}
    if apart.shape != (len(words), len(units)):
        raise ValueError(
            f"keys and units make {tuple(apart.shape)}, "
            f"not {len(words)} words by {len(units)} units"
        )
    places = {name: (shift + apart).numpy() for name, shift in moved.items()}
    reach = max(3.0, *(float(np.abs(place).max()) + 0.8 for place in places.values()))
    line = np.linspace(-reach, reach, 201)
    figure = Figure(figsize=(3.6 * len(units), 2.1 * len(queries)), layout="constrained")
    grid = figure.subplots(len(queries), len(units), squeeze=False, sharex=True, sharey=True)
    said = []
    for row, (asked, place) in zip(grid, places.items(), strict=True):
        for k, axes in enumerate(row):
            axes.plot(line, np.tanh(line), color=INK, linewidth=1)
            axes.axvline(float(moved[asked][k]), color=BLUE, linewidth=1, linestyle=(0, (2, 2)))
            x = place[:, k]
            axes.scatter(x, np.tanh(x), color=RING, zorder=3, s=22)
            _name(axes, x, words)
            axes.set_ylim(-1.5, 1.5)
            axes.set_yticks([-1, 0, 1])
            plain_axes(axes)
            spread = float(np.tanh(x).max() - np.tanh(x).min())
            said.append(f"{asked}: {units[k]} spreads the words over {spread:.2f} of its range")
        row[0].set_ylabel(asked, color=INK)
    for k, axes in enumerate(grid[0]):
        axes.set_title(units[k], color=INK, fontsize=10)
    for k, axes in enumerate(grid[-1]):
        axes.set_xlabel(f"(W s + U h) of unit {k + 1}", color=INK)
    return picture(
        figure, f"Each word as a dot on the tanh of each hidden unit. {'. '.join(said)}."
    )


def _name(axes: Axes, x: Float[np.ndarray, " key"], words: Sequence[str]) -> None:
    """Words beside their dots; those on the same spot share one label."""
    spots: dict[float, list[str]] = {}
    for at, word in zip(x, words, strict=True):
        spots.setdefault(round(float(at), 3), []).append(word if word.isalnum() else f"“{word}”")
    for turn, (at, here) in enumerate(sorted(spots.items())):
        on_slope = abs(at) < 1.2
        up = not on_slope and (at > 0) == (turn % 2 == 0)
        axes.annotate(
            ", ".join(here),
            (at, float(np.tanh(at))),
            xytext=(8, -2) if on_slope else (0, 7 if up else -9),
            textcoords="offset points",
            ha="center" if up or (at < 0 and not on_slope) else "left",
            va="top" if on_slope or not up else "bottom",
            fontsize=8,
            color=INK,
        )
