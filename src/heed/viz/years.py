"""Several models beside each other: their maps on one scale, and what happens to their words when
a look is changed."""

from collections.abc import Mapping
from math import ceil

from matplotlib.figure import Figure

from heed.evaluation.faithfulness import Faithfulness
from heed.trace import AttentionTrace
from heed.viz.heatmap import INK, Picture, draw_map, picture, plain_axes, spoken
from heed.viz.length import STYLES

ACROSS = 2
"""Maps in a row: on a phone their words can still be read."""


def side_by_side(traces: Mapping[str, AttentionTrace], *, cell: float = 0.25) -> Picture:
    """The first head of each trace, all from 0 to 1, under the names given.

    cell: inches a side
    """
    if not traces:
        raise ValueError("there is no map to put beside another")
    across = min(ACROSS, len(traces))
    down = ceil(len(traces) / across)
    rows = max(trace.weights.shape[1] for trace in traces.values())
    columns = max(trace.weights.shape[2] for trace in traces.values())
    size = ((columns * cell + 1.3) * across, (rows * cell + 1.5) * down)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (name, trace) in zip(grid, traces.items(), strict=False):
        draw_map(axes, trace)
        axes.tick_params(labelsize=8)
        axes.set_title(name, color=INK, fontsize=11)
    for axes in grid[len(traces) :]:
        axes.set_axis_off()
    said = (f"{name}: {spoken(trace)}" for name, trace in traces.items())
    return picture(figure, f"Maps on one scale from 0 to 1. {' '.join(said)}")


def turned_by(found: Mapping[str, Faithfulness]) -> Picture:
    """How many words become other ones, by what was done to the look they came from: a row for
    each change, a point for each model, with its standard error."""
    names = {
        "hidden most": "word looked at most: hidden",
        "removed most": "… removed",
        "hidden random": "another word: hidden",
        "removed random": "… removed",
        "uniform": "even weights",
        "permuted": "shuffled weights",
    }
    figure = Figure(figsize=(6.4, 3.6))
    axes = figure.add_subplot()
    spoken_of = []
    for i, (label, each) in enumerate(found.items()):
        style = STYLES[1:][i % (len(STYLES) - 1)]  # the first is the one that does not look
        shares = [each.effects[change].turned for change in names]
        away = (i - (len(found) - 1) / 2) * 0.14
        axes.errorbar(
            [100 * share.mean for share in shares],
            [row + away for row in range(len(names))],
            xerr=[100 * share.error for share in shares],
            linestyle="",
            marker=style["marker"],
            color=style["color"],
            markersize=6,
            label=label,
        )
        told = zip(names.values(), shares, strict=True)
        spoken_of.append(f"{label}: {', '.join(f'{n} {100 * s.mean:.0f}' for n, s in told)}")
    axes.set_yticks(range(len(names)), list(names.values()))
    axes.invert_yaxis()
    axes.set_xlim(-2, 102)
    axes.set_xlabel("words that become another word, %")
    plain_axes(axes)
    axes.grid(axis="x", color=INK, alpha=0.25, linewidth=0.6)
    legend = axes.legend(frameon=False, loc="center", fontsize=9)
    for text in legend.get_texts():
        text.set_color(INK)
    return picture(figure, f"Words that become another word, percent. {'; '.join(spoken_of)}.")
