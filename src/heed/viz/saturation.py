"""How sharp weights can get: the bound of a cosine, and what width does to a dot product."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from heed.scores import Score
from heed.viz.heatmap import INK, Picture, picture, plain_axes
from heed.viz.length import STYLES, apart


def sharpest(keys: int, strength: float | int = 1.0) -> float:
    """The largest weight that β cos(s, h) can give one of n keys:

        e^β / (e^β + (n − 1) e^−β)

    One key points where the query points, cos = 1; all the others point the other way, cos = −1.
    """
    if keys < 1:
        raise ValueError(f"keys={keys}: there must be one to look at")
    return 1 / (1 + (keys - 1) * math.exp(-2 * strength))


def bound_picture(
    measured: Mapping[str, Mapping[int, float]], *, strengths: Sequence[float | int] = (1.0,)
) -> Picture:
    """The bound over the number of keys, a line a strength, and dots for what networks reach.

    measured: name of a network -> number of keys -> largest weight it ever gave among so many
    """
    figure = Figure(figsize=(6.2, 3.4))
    axes = figure.add_subplot()
    most = max(max(each) for each in measured.values())
    counts = list(range(2, most + 1))
    said = []
    for strength in strengths:
        line = [sharpest(n, strength) for n in counts]
        axes.plot(counts, line, color=INK, linewidth=1.4, linestyle=":")
        axes.annotate(
            f"bound, β = {strength:g}",
            (counts[-1], line[-1]),
            xytext=(8, 0),
            textcoords="offset points",
            color=INK,
            va="center",
            annotation_clip=False,
        )
        said.append(
            f"with β = {strength:g} no weight can exceed {line[counts.index(5)]:.2f} among 5 keys "
            f"and {line[-1]:.2f} among {most}"
        )
    ends = [list(each.values())[-1] for each in measured.values()]
    heights = apart(ends, gap=0.08)
    for (name, points), style, height in zip(measured.items(), STYLES, heights, strict=False):
        axes.scatter(
            list(points), list(points.values()), s=16, color=style["color"], marker=style["marker"]
        )
        axes.annotate(
            name,
            (max(points), height),
            xytext=(8, 0),
            textcoords="offset points",
            color=style["color"],
            va="center",
            annotation_clip=False,
        )
        last = max(points)
        said.append(f"{name} reaches {points[last]:.2f} among {last}")
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    axes.set_xlabel("keys to choose from")
    axes.set_ylabel("largest weight")
    plain_axes(axes)
    return picture(figure, f"The largest weight over the number of keys: {'; '.join(said)}.")


# --------------------------------------------------------------------------- width of a dot


@dataclass(frozen=True, kw_only=True)
class Sharpness:
    """A score on random vectors of width d, whose numbers have mean 0 and variance 1.

    variance: of the scores; largest: mean of the largest weight; gradient: mean norm of the
        softmax's Jacobian, that is, how far the weights still move when a score moves
    """

    d: int
    variance: float
    largest: float
    gradient: float


@torch.no_grad()
def sharpness(
    score: Score, d: int, *, keys: int = 20, queries: int = 500, seed: int = 0
) -> Sharpness:
    """Draw queries, and for each of them its own keys; see what the softmax makes of them."""
    generator = torch.Generator().manual_seed(seed)
    asked = torch.randn(queries, 1, d, generator=generator)
    scores = score(asked, torch.randn(queries, keys, d, generator=generator)).squeeze(1)
    weights = scores.softmax(-1)
    return Sharpness(
        d=d,
        variance=float(scores.var()),
        largest=float(weights.max(-1).values.mean()),
        gradient=float(jacobian(weights).flatten(1).norm(dim=1).mean()),
    )


def jacobian(weights: Float[Tensor, "row key"]) -> Float[Tensor, "row key key"]:
    """∂α_i / ∂e_j = α_i (1[i = j] − α_j), for each row of weights."""
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def sharpness_picture(found: Mapping[str, Sequence[Sharpness]]) -> Picture:
    """Variance, largest weight and gradient over the width, a line a score."""
    figure = Figure(figsize=(8.0, 2.7), layout="constrained")
    row = figure.subplots(1, 3)
    panels = (
        ("variance", "variance of the scores"),
        ("largest", "largest weight of 20"),
        ("gradient", "gradient through the softmax"),
    )
    said = []
    for axes, (what, label) in zip(row, panels, strict=True):
        for (name, line), style in zip(found.items(), STYLES, strict=False):
            widths = [each.d for each in line]
            values = [getattr(each, what) for each in line]
            axes.plot(widths, values, markersize=4, linewidth=1.8, **style)
            axes.annotate(
                name,
                (widths[-1], values[-1]),
                xytext=(6, 0),
                textcoords="offset points",
                color=style["color"],
                va="center",
                fontsize=9,
            )
            said.append(
                f"{label} of {name} {values[0]:.2g} at width {widths[0]} and {values[-1]:.2g} at "
                f"{widths[-1]}"
            )
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.set_xticks([2, 8, 32, 128, 512])
        axes.set_xlabel("d, width of query and key")
        axes.set_ylabel(label)
        if what == "variance":
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            axes.set_ylim(bottom=0)
        plain_axes(axes)
        axes.tick_params(which="both", colors=INK, labelsize=8)
    return picture(figure, f"What width does to a score on random vectors: {'; '.join(said)}.")
