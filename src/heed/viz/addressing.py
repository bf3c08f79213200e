"""A memory that is written and addressed softly: one write, four stages, and a focus that melts."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from heed.layers.addressing import Aim, content, interpolate, sharpen, shift, write
from heed.viz.heatmap import INK, RING, Picture, in_a_cell, picture, plain_axes

SIGNED = "PuOr"
"""For numbers around 0: white in the middle, dark at both ends, safe for the colour-blind."""

# ------------------------------------------------------------------ one write


def soft_write(
    memory: Float[Tensor, "slot d"],
    weights: Float[Tensor, " slot"],
    erase: Float[Tensor, " d"],
    add: Float[Tensor, " d"],
) -> Picture:
    """A memory before, after the erasing and after the adding, with the weights at its side."""
    nothing = torch.zeros_like(add)
    rubbed, written = (
        write(memory[None], weights[None, None], erase[None, None], each[None, None])[0]
        for each in (nothing, add)
    )
    panels = {"before": memory, "erased": rubbed, "added": written}
    slots, wide = memory.shape
    figure = Figure(figsize=(1.5 + 2.0 * len(panels), 0.42 * slots + 0.8), layout="constrained")
    columns = figure.subplots(1, 1 + len(panels), width_ratios=[0.7, *[wide] * len(panels)])
    _cells(columns[0], weights[:, None], cmap="cividis", low=0.0, digits=2)
    columns[0].set_title("w", color=INK, fontsize=10)
    columns[0].set_ylabel("slot")
    columns[0].set_yticks(range(slots))
    for axes, (name, table) in zip(columns[1:], panels.items(), strict=True):
        _cells(axes, table, cmap=SIGNED, low=-1.0, digits=2)
        axes.set_title(name, color=INK, fontsize=10)
    rows = "; ".join(
        f"slot {slot}, weight {weight:.2f}: {_listed(memory[slot])} becomes "
        f"{_listed(rubbed[slot])} and then {_listed(written[slot])}"
        for slot, weight in enumerate(weights.tolist())
        if weight > 0
    )
    return picture(
        figure,
        f"A memory of {slots} slots before a write, after erasing and after adding. {rows}. "
        "Slots of weight 0 stay as they were.",
    )


def _cells(axes: Axes, table: Float[Tensor, "row column"], *, cmap: str, low: float, digits: int):
    """A table as coloured cells with their numbers."""
    image = axes.imshow(table.numpy(), cmap=cmap, vmin=low, vmax=1.0, aspect="auto")
    for (row, column), value in zip(
        ((r, c) for r in range(table.shape[0]) for c in range(table.shape[1])),
        table.flatten().tolist(),
        strict=True,
    ):
        red, green, blue, _ = image.cmap(image.norm(value))
        light = 0.3 * red + 0.6 * green + 0.1 * blue > 0.5
        axes.text(
            column,
            row,
            f"{value + 0:.{digits}f}",
            color="#111111" if light else "#ffffff",
            ha="center",
            va="center",
            fontsize=8,
        )
    axes.set_xticks([])
    axes.set_yticks([])
    plain_axes(axes)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _listed(numbers: Float[Tensor, " d"]) -> str:
    return "[" + ", ".join(f"{number + 0:.2f}" for number in numbers.tolist()) + "]"


# ------------------------------------------------------------------ four stages


def four_stages(
    memory: Float[Tensor, "slot d"], before: Float[Tensor, " slot"], aim: Aim
) -> Picture:
    """What the four stages make of a head's weights, as strips under each other.

    aim: of one sequence and one head. Above the strips stands the memory, a column a slot.
    """
    if aim.strength.numel() != 1:
        raise ValueError(f"an aim of {aim.strength.numel()} heads: these strips show one")
    strips = stages(memory, before, aim)
    strength, gate, focus = (float(each) for each in (aim.strength, aim.gate, aim.focus))
    shares = ", ".join(f"{share:g}" for share in rounded(aim.shifts.flatten()))
    formulas = {
        "before": "where the head was:  w before",
        "content": f"1  content, β = {strength:g}:  softmax of β · cosine(k, M)",
        "interpolate": f"2  interpolate, g = {gate:g}:  g · content + (1 − g) · before",
        "shift": f"3  shift, s = ({shares}):  Σ w(j) · s(i − j), round the ring",
        "sharpen": f"4  sharpen, γ = {focus:g}:  w to the power γ, divided by the sum",
    }
    slots, wide = memory.shape
    figure = Figure(figsize=(7.0, 1.0 + 1.0 * len(strips)), layout="constrained")
    top, *rest = figure.subplots(
        1 + len(strips), 1, sharex=True, height_ratios=[0.25 * wide, *[1.0] * len(strips)]
    )
    top.imshow(memory.T.numpy(), cmap=SIGNED, vmin=-1.0, vmax=1.0, aspect="auto")
    top.set_yticks([])
    _titled(top, f"the memory M, a column a slot; the key is k = {_listed(aim.key.flatten())}")
    said = []
    for axes, (name, heights) in zip(rest, strips.items(), strict=True):
        colour = INK if name == "before" else RING
        axes.bar(range(slots), heights.tolist(), width=0.6, color=colour)
        _numbered(axes, heights)
        axes.set_ylim(0, 1.25)
        axes.set_yticks([0, 1])
        _titled(axes, formulas[name])
        told = (f"slot {i} {h:.2f}" for i, h in enumerate(heights.tolist()) if h >= 0.05)
        said.append(f"{name}: {', '.join(told)}")
    rest[-1].set_xticks(range(slots))
    rest[-1].set_xlabel("slot")
    rest[-1].set_xlim(-0.6, slots - 0.4)
    return picture(
        figure,
        f"A memory of {slots} slots and, under it, the weights of one head after each stage of "
        f"addressing. {'. '.join(said)}.",
    )


def stages(
    memory: Float[Tensor, "slot d"], before: Float[Tensor, " slot"], aim: Aim
) -> dict[str, Float[Tensor, " slot"]]:
    """The weights of one head as they come in, and after each of the four stages."""
    was = before[None, None]
    found = content(memory[None], aim.key, aim.strength)
    mixed = interpolate(found, was, aim.gate)
    moved = shift(mixed, aim.shifts)
    sharp = sharpen(moved, aim.focus)
    named = {"before": was, "content": found, "interpolate": mixed, "shift": moved}
    return {name: each[0, 0] for name, each in (named | {"sharpen": sharp}).items()}


def rounded(numbers: Float[Tensor, " n"]) -> list[float]:
    """To two digits, as a formula shows them."""
    return [round(number, 2) for number in numbers.tolist()]


def _numbered(axes: Axes, heights: Float[Tensor, " slot"]) -> None:
    for slot, height in enumerate(heights.tolist()):
        if height >= 0.005:
            axes.annotate(
                in_a_cell(height),
                (slot, height),
                xytext=(0, 2),
                textcoords="offset points",
                color=INK,
                fontsize=7,
                ha="center",
            )


def _titled(axes: Axes, title: str) -> None:
    plain_axes(axes)
    axes.set_title(title, color=INK, fontsize=9, loc="left", pad=3)


# ------------------------------------------------------------------ a focus that melts


def drift(
    shifts: Sequence[float], focus: float | int, *, slots: int, steps: int
) -> Float[Tensor, "step slot"]:
    """A head that starts on slot 0 and is shifted again and again, sharpened each time."""
    weights = torch.zeros(1, 1, slots)
    weights[..., 0] = 1.0
    share, gamma = torch.tensor([[shifts]]), torch.full((1, 1), float(focus))
    trail = [weights]
    for _ in range(steps):
        trail.append(sharpen(shift(trail[-1], share), gamma))
    return torch.cat(trail)[:, 0]


def melting(
    shifts: Sequence[float], focuses: Sequence[float | int], *, slots: int = 24, steps: int = 16
) -> Picture:
    """``drift`` for several γ, side by side: steps from top to bottom."""
    figure = Figure(figsize=(3.4 * len(focuses), 2.9), layout="constrained")
    said = []
    for axes, focus in zip(
        figure.subplots(1, len(focuses), squeeze=False, sharey=True)[0], focuses, strict=True
    ):
        trail = drift(shifts, focus, slots=slots, steps=steps)
        axes.imshow(trail.numpy(), cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
        axes.set_xlabel("slot")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        _titled(axes, f"γ = {focus:g}")
        axes.spines[:].set_visible(False)
        last = trail[-1]
        said.append(
            f"γ = {focus:g}: after {steps} steps the heaviest slot, {int(last.argmax())}, has "
            f"{last.max():.2f}"
        )
    figure.axes[0].set_ylabel("step")
    shares = ", ".join(f"{share:g}" for share in shifts)
    return picture(
        figure,
        f"The weights of a head, step by step, when every shift is ({shares}). {'; '.join(said)}.",
    )
