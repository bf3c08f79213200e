"""The map of a reader with a tape, and the wiring of an LSTMN beside a second one."""

from collections.abc import Collection

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from heed.trace import AttentionTrace
from heed.viz.heatmap import INK, RING, Picture, draw_map, picture, ring, spoken

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
