"""The wiring of an LSTMN beside a second tape, maps beside each other, and what a tape costs."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from torch import Tensor, nn

from heed.models.lstmn import LSTMN
from heed.trace import AttentionTrace
from heed.viz.cost import storage
from heed.viz.heatmap import INK, RING, Picture, draw_map, picture, plain_axes, ring, spoken
from heed.viz.length import STYLES

SOURCE, TARGET = "#2f80d0", "#8a63b8"

# ------------------------------------------------------------------------------------- fusion

Point = tuple[float | int, float | int]


def fusion() -> Picture:
    """Where the source comes in, drawn twice: at the output (shallow), in the memory (deep)."""
    figure = Figure(figsize=(7.6, 3.3))
    for axes, deep in zip(figure.subplots(1, 2), (False, True), strict=True):
        _wired(axes, deep=deep)
    return picture(
        figure,
        "Two wirings of a decoder with two tapes, its own and that of the source. In both, a word "
        "looks at both tapes, and what it finds on its own tape goes into the memory c. Shallow: "
        "what it finds in the source goes past the memory, straight to the output. Deep: it goes "
        "through a gate r into the memory, and from there into every later look.",
    )


def _wired(axes: Axes, *, deep: bool) -> None:
    axes.set_axis_off()
    axes.set_xlim(-0.2, 5.2)
    axes.set_ylim(-0.9, 4.1)
    axes.set_title("deep fusion" if deep else "shallow fusion", color=INK)
    for left, name, colour in ((0.0, "source tape", SOURCE), (3.2, "own tape", TARGET)):
        for slot in range(4):
            _box(axes, (left + 0.45 * slot + 0.2, 0.0), (0.36, 0.4), colour)
        axes.text(left + 0.88, -0.6, name, color=colour, ha="center", va="center")
    _box(axes, (4.08, 1.95), (0.8, 0.7), TARGET, "c")
    _box(axes, (2.4, 3.6), (1.9, 0.6), INK, "next word")
    _arrow(axes, (4.08, 0.3), (4.08, 1.58), TARGET, "h̃, c̃", (4.65, 0.95))
    _arrow(axes, (4.08, 2.32), (3.1, 3.28), TARGET, "h", (3.9, 2.95))
    if deep:
        _arrow(axes, (0.88, 0.3), (1.95, 0.92), RING, "γ̃, α̃", (0.8, 0.85))
        _box(axes, (2.2, 1.06), (0.46, 0.46), RING, "r")
        _arrow(axes, (2.45, 1.2), (3.66, 1.87), RING)
    else:
        _arrow(axes, (0.88, 0.3), (1.75, 3.28), RING, "γ̃", (0.95, 1.8))


def _box(axes: Axes, centre: Point, size: Point, colour: str, name: str = "") -> None:
    (x, y), (width, height) = centre, size
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor="none",
            edgecolor=colour,
            linewidth=1.4,
        )
    )
    axes.text(x, y, name, color=colour, ha="center", va="center")


def _arrow(
    axes: Axes, start: Point, end: Point, colour: str, name: str = "", at: Point = (0, 0)
) -> None:
    arrow = FancyArrowPatch(
        start,
        end,
        arrowstyle="-|>",
        mutation_scale=11,
        linewidth=1.6,
        color=colour,
        shrinkA=0,
        shrinkB=0,
    )
    axes.add_patch(arrow)
    axes.text(*at, name, color=colour, ha="center", va="center")


# ----------------------------------------------------------------------------------- maps


def tape_map(
    trace: AttentionTrace, *, ringed: Collection[tuple[int, int]] = (), cell: float = 0.36
) -> Picture:
    """The map of a reader that looks at its own tape. ringed: cells (row, column) to mark."""
    rows, columns = trace.weights[0].shape
    figure = Figure(figsize=(columns * cell + 1.6, rows * cell + 1.2))
    axes = figure.add_subplot()
    draw_map(axes, trace)
    for row, column in ringed:
        ring(axes, row, column)
    marked = [
        f"Ringed: {trace.query.labels[row]} at {trace.key.labels[column]}, "
        f"{trace.weights[0, row, column]:.2f}."
        for row, column in ringed
    ]
    return picture(figure, " ".join([f"Who looks at which slot. {_read_out(trace)}", *marked]))


def _read_out(trace: AttentionTrace) -> str:
    """``spoken``, for who reads and does not write."""
    return spoken(trace).replace("writing '", "reading '")


def side_by_side(maps: Mapping[str, AttentionTrace], *, cell: float = 0.3) -> Picture:
    """Maps next to each other, each under its name, on one colour scale."""
    if not maps:
        raise ValueError("no map, no picture")
    shapes = [trace.weights[0].shape for trace in maps.values()]
    widths = [columns for _, columns in shapes]
    size = (sum(widths) * cell + 1.5 * len(maps), max(rows for rows, _ in shapes) * cell + 1.6)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(maps), squeeze=False, width_ratios=widths)[0]
    for axes, (name, trace) in zip(grid, maps.items(), strict=True):
        draw_map(axes, trace)
        axes.set_title(name, color=INK)
    return picture(figure, " ".join(f"{name}: {_read_out(trace)}" for name, trace in maps.items()))


# --------------------------------------------------------------------------------------- cost


@dataclass(frozen=True, kw_only=True)
class ReadingCost:
    """Reading ``length`` words once, to learn from them: forwards, and the gradient back.

    seconds: the fastest of some runs; another machine, another number
    kept: bytes that the forward pass leaves for the backward pass, parameters and input not
        counted; what ``nn.LSTM`` hides from autograd in one block counts, too
    """

    length: int
    seconds: float
    kept: int


def measure_reading(
    layer: LSTMN | nn.LSTM, *, length: int, batch: int = 4, runs: int = 3
) -> ReadingCost:
    """Time and memory of a layer on random vectors."""
    d = layer.input_size if isinstance(layer, nn.LSTM) else layer.gates_x.in_features
    x = torch.randn(batch, length, d, requires_grad=True)
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        _read(layer, x).sum().backward()
        taken.append(time.perf_counter() - began)
    return ReadingCost(length=length, seconds=min(taken), kept=_kept(layer, x))


def _read(layer: Any, x: Tensor) -> Tensor:
    return layer(x)[0] if isinstance(layer, nn.LSTM) else layer(x).h


def _kept(layer: Any, x: Tensor) -> int:
    known = {storage(each) for each in (x, *layer.parameters())}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if storage(tensor) not in known:
            saved[storage(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        held = _read(layer, x)  # or a freed storage could lend its address to the next one
    del held
    return sum(saved.values())


def reading_cost(costs: Mapping[str, Sequence[ReadingCost]]) -> Picture:
    """Time and memory for one word against the length of the text, a line a layer."""
    figure = Figure(figsize=(7.8, 3.2), layout="constrained")
    time_axes, memory_axes = figure.subplots(1, 2)
    said = []
    for (name, line), style in zip(costs.items(), STYLES, strict=False):
        lengths = [each.length for each in line]
        microseconds = [each.seconds / each.length * 1e6 for each in line]
        kilobytes = [each.kept / each.length / 1e3 for each in line]
        for axes, values in ((time_axes, microseconds), (memory_axes, kilobytes)):
            axes.plot(lengths, values, markersize=4, linewidth=1.8, **style)
            axes.annotate(
                name,
                (lengths[-1], values[-1]),
                xytext=(7, 0),
                textcoords="offset points",
                color=style["color"],
                va="center",
            )
        said.append(
            f"{name} keeps {kilobytes[0]:.0f} kB a word at length {lengths[0]} "
            f"and {kilobytes[-1]:.0f} kB a word at {lengths[-1]}"
        )
    for axes in (time_axes, memory_axes):
        axes.set_xlabel("words in the text")
        axes.set_ylim(bottom=0)
        plain_axes(axes)
    time_axes.set_ylabel("microseconds a word")
    memory_axes.set_ylabel("kB a word, kept for\nthe backward pass")
    return picture(
        figure,
        "Cost of a word against the length of the text. Left: time to read it and to learn from "
        f"it; right: memory. {'; '.join(said)}. Times differ from machine to machine.",
    )
