"""A network that points: its wiring beside one that blends, where it points step by step, how it
learns to, and how its answers look."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from heed.experiments.cards import Card
from heed.experiments.pointing import Answer
from heed.trace import AttentionTrace
from heed.viz.heatmap import INK, RING, Picture, heatmap, picture, plain_axes
from heed.viz.length import STYLES, apart
from heed.viz.paths import Arrow, Wiring

BLENDING = Wiring(
    name="Bahdanau: blend, then name",
    said="the state d of i asks the encoder's e, the weights a mix them to c of i, from that and "
    "the state one of the words is named, and the word's vector E y is fed to the next step",
    parts={
        "$d_i$": (0.0, 1.0),
        "$a^i$": (0.0, 2.1),
        "$c_i$": (1.15, 2.1),
        "words": (2.4, 2.1),
        "$e_1 … e_n$": (0.55, 3.2),
        "$E y_{i-1}$": (0.0, 0.0),
        "$E y_i$": (2.4, 0.0),
    },
    arrows=(
        Arrow(start="$d_i$", end="$a^i$", kind="path"),
        Arrow(start="$a^i$", end="$c_i$", number=1, kind="path"),
        Arrow(start="$c_i$", end="words", number=2, kind="path"),
        Arrow(start="words", end="$E y_i$", number=3, kind="fed"),
        Arrow(start="$d_i$", end="words"),
        Arrow(start="$e_1 … e_n$", end="$a^i$"),
        Arrow(start="$e_1 … e_n$", end="$c_i$"),
        Arrow(start="$E y_{i-1}$", end="$d_i$"),
    ),
)
"""In the letters of Vinyals et al. (2015, section 2.2), but c_i for what they call d'_i. In chapter
3 the state that asks is the one before the step."""

POINTING = Wiring(
    name="Vinyals: point",
    said="the state d of i asks the encoder's e and the end's; the weights are the answer, the "
    "place C of i; and the input that stands there, x of C, is fed to the next step",
    parts={
        "$d_i$": (0.0, 1.0),
        "$a^i$": (0.0, 2.1),
        "$C_i$": (2.3, 2.1),
        "$e_0, e_1 … e_n$": (0.55, 3.2),
        "$x_{C_{i-1}}$": (0.0, 0.0),
        "$x_{C_i}$": (2.3, 0.0),
        "$x_1 … x_n$": (1.15, 0.95),
    },
    arrows=(
        Arrow(start="$d_i$", end="$a^i$", kind="path"),
        Arrow(start="$a^i$", end="$C_i$", number=2, kind="path"),
        Arrow(start="$C_i$", end="$x_{C_i}$", number=3, kind="fed"),
        Arrow(start="$x_1 … x_n$", end="$x_{C_i}$"),
        Arrow(start="$e_0, e_1 … e_n$", end="$a^i$"),
        Arrow(start="$x_{C_{i-1}}$", end="$d_i$"),
    ),
)

# ------------------------------------------------------------------ one answer


def sorting(numbers: Float[Tensor, " point"], answer: Answer) -> Picture:
    """The distribution of each step over the numbers, in the order in which they were read."""
    names = [f"{number:.2f}" for number in numbers.tolist()]
    steps = [*(names[at] for at in answer.order), *["⇐"] * answer.finished]
    weights = torch.from_numpy(answer.trace.weights[0].copy())
    # What is 1 to two digits is drawn as 1: the map writes ".00" for 0.997.
    sure = weights.amax(dim=1) >= 0.995
    weights[sure] = torch.nn.functional.one_hot(weights[sure].argmax(dim=1), len(names) + 1).float()
    trace = AttentionTrace.of(
        "pointer",
        weights,
        query=[f"{step}. {name}" for step, name in enumerate(steps, 1)],
        key=["⇐", *names],
        heads=("pointer",),
    )
    return heatmap(trace, numbers=True, title="Each row points at one number")


def fingers(
    points: Float[Tensor, "point 2"], answer: Answer, *, columns: int = 4, most: int = 8
) -> Picture:
    """Step by step: where it has been, and how likely each point is next.

    A disc's area is the probability of its point; the cross is ⇐. Ringed: what was pointed at.
    """
    weights = answer.trace.weights[0]
    count = min(len(weights), most)
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(1.9 * columns, 2.15 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    said = []
    for axes in grid.flat[count:]:
        axes.axis("off")
    for step, axes in zip(range(count), grid.flat, strict=False):
        _plane(axes, points)
        been = torch.tensor(answer.order[:step], dtype=torch.long)
        axes.plot(*points[been].T.numpy(), color=INK, linewidth=1.2)
        likely = weights[step]
        axes.scatter(*points.T.numpy(), s=260 * likely[1:], color=RING, alpha=0.65, linewidths=0)
        end = step >= len(answer.order)
        at, share = (0, likely[0]) if end else (answer.order[step] + 1, 0.0)
        if end:
            axes.set_title(f"{step + 1}. ⇐ {share:.2f}", color=INK, fontsize=9)
            said.append(f"then ⇐, {share:.2f}")
        else:
            share = likely[at]
            axes.scatter(
                *points[at - 1].numpy(), s=330, facecolor="none", edgecolor=RING, linewidth=1.6
            )
            axes.set_title(f"{step + 1}. point {at}, {share:.2f}", color=INK, fontsize=9)
            said.append(f"point {at}, {share:.2f}")
    left = len(weights) - count
    more = f"; and {left} more steps" if left else ""
    return picture(
        figure,
        f"{len(points)} points in a square, and step by step how likely each is to be pointed at: "
        f"{', '.join(said)}{more}.",
    )


def routes(
    points: Float[Tensor, "point 2"],
    orders: Mapping[str, Sequence[int]],
    *,
    columns: int = 4,
    numbered: bool = True,
) -> Picture:
    """The same points with a closed way through some of them, once for each name.

    orders: points from 0 on. Ringed: where the way begins.
    """
    if not orders:
        raise ValueError("no ways to show")
    columns = min(columns, len(orders))
    rows = -(-len(orders) // columns)
    figure = Figure(figsize=(1.95 * columns, 2.25 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    said = []
    for axes in grid.flat[len(orders) :]:
        axes.axis("off")
    for axes, (name, order) in zip(grid.flat, orders.items(), strict=False):
        _plane(axes, points, numbered=numbered)
        way = points[torch.tensor([*order, *order[:1]], dtype=torch.long)]
        axes.plot(*way.T.numpy(), color=RING, linewidth=1.6)
        axes.scatter(*way[:1].T.numpy(), s=90, facecolor="none", edgecolor=RING, linewidth=1.4)
        axes.set_title(name, color=INK, fontsize=9)
        said.append(f"{name}: {' '.join(str(at + 1) for at in order)}")
    return picture(figure, f"{len(points)} points in a square. {'; '.join(said)}.")


def _plane(axes: Axes, points: Float[Tensor, "point 2"], *, numbered: bool = True) -> None:
    """The points, small and grey, and their numbers beside them."""
    axes.scatter(*points.T.numpy(), s=12, color=INK, linewidths=0)
    for number, (x, y) in enumerate(points.tolist(), 1):
        if numbered:
            axes.annotate(
                str(number),
                (x, y),
                xytext=(4, 4),
                textcoords="offset points",
                color=INK,
                fontsize=7,
            )
    low = points.amin(dim=0) - 0.08 * (points.amax(dim=0) - points.amin(dim=0)) - 0.02
    high = points.amax(dim=0) + 0.08 * (points.amax(dim=0) - points.amin(dim=0)) + 0.02
    axes.set_xlim(min(-0.05, float(low[0])), max(1.05, float(high[0])))
    axes.set_ylim(min(-0.05, float(low[1])), max(1.05, float(high[1])))
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(INK)
        spine.set_alpha(0.4)


# ------------------------------------------------------------------ learning, and beyond it


def problems_learnt(card: Card) -> dict[str, tuple[list[float], list[float]]]:
    """For each seed: thousands of problems seen, and the loss on held-out ones in nats a step."""
    batch = card.train["batch_size"]
    return {
        seed: (
            [each["step"] * batch / 1_000 for each in points if "valid_loss" in each],
            [each["valid_loss"] for each in points if "valid_loss" in each],
        )
        for seed, points in card.curves.items()
    }


def learning(cards: Mapping[str, Card], *, least: float = 1e-3) -> Picture:
    """The held-out loss over the problems seen: a colour a network, a line a seed.

    What is below ``least`` is drawn there: a logarithm has no 0.
    """
    figure = Figure(figsize=(6.6, 3.4), layout="constrained")
    axes = figure.add_subplot()
    told = []
    for (name, card), style in zip(cards.items(), STYLES, strict=False):
        look: dict[str, Any] = {"color": style["color"], "linestyle": style["linestyle"]}
        end = None
        for seed, (seen, losses) in problems_learnt(card).items():
            if not seen:
                continue  # stopped before its first look
            axes.plot(
                seen,
                [max(loss, least) for loss in losses],
                marker=style["marker"],
                markersize=3,
                linewidth=1.2,
                **look,
            )
            told.append(
                f"{name}, seed {seed}: {losses[0]:.2g} nats a step after {seen[0]:,.0f} thousand "
                f"problems, {losses[-1]:.2g} after {seen[-1]:,.0f} thousand"
            )
            end = seen[-1], max(losses[-1], least)
        if end is None:
            continue
        axes.annotate(
            name,
            end,
            xytext=(6, 0),
            textcoords="offset points",
            color=style["color"],
            va="center",
            annotation_clip=False,
        )
    axes.set_yscale("log")
    axes.set_xlabel("thousands of problems seen")
    axes.set_ylabel("loss on held-out problems\n(nats a step, log scale)")
    plain_axes(axes)
    return picture(figure, f"Loss while learning. {'; '.join(told)}.")


Lines = Mapping[str, Mapping[int, float]]
"""Name of a line -> number of points -> value."""


def beyond(panels: Mapping[str, Lines], *, trained: tuple[int, int]) -> Picture:
    """Quality over the number of points, a panel a measure; the range of training is shaded."""
    if not panels:
        raise ValueError("no panels to show")
    figure = Figure(figsize=(3.7 * len(panels), 3.2), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    told = []
    for axes, (measure, lines) in zip(row, panels.items(), strict=True):
        axes.axvspan(*trained, color=INK, alpha=0.15, linewidth=0)
        drawn = list(zip(lines.items(), STYLES, strict=False))
        for (name, values), style in drawn:
            axes.plot(
                list(values),
                list(values.values()),
                label=name,
                linewidth=1.6,
                markersize=4,
                **style,
            )
            heard = ", ".join(f"{n} points {value:.3g}" for n, value in values.items())
            told.append(f"{measure}, {name}: {heard}")
        plain_axes(axes)
        low, high = axes.get_ylim()
        ends = [list(values.items())[-1] for (_, values), _ in drawn]
        heights = apart([value for _, value in ends], gap=0.08 * (high - low))
        for ((name, _), style), (n, _), height in zip(drawn, ends, heights, strict=True):
            axes.annotate(
                name,
                (n, height),
                xytext=(7, 0),
                textcoords="offset points",
                color=style["color"],
                va="center",
                fontsize=9,
                annotation_clip=False,
            )
        axes.set_xlabel("points")
        axes.set_ylabel(measure)
    least, most = trained
    return picture(figure, f"Trained on {least} to {most} points (shaded). {'; '.join(told)}.")
