"""All heads of a Transformer at once: their maps in little, and what each of them is worth."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heed.evaluation.heads import Head
from heed.models.transformer import PLACES, Place
from heed.trace import AttentionTrace
from heed.viz.heatmap import INK, RING, Picture, picture

NAMES: dict[Place, str] = {
    "encoder": "encoder: the source at itself",
    "decoder": "decoder: the target at itself",
    "cross": "cross: the target at the source",
}

ROOMY = 4
"""With so many heads beside each other, a map is large enough for words along its sides."""


def maps_of_heads(traces: Mapping[str, AttentionTrace], place: Place) -> Picture:
    """The maps of one place, a row a layer and a column a head, on one scale from 0 to 1.

    traces: by place and layer, as ``heed.evaluation.heads.head_traces`` gives them. Words stand at
        the left and at the bottom, where there is room for them.
    """
    shown = [trace for name, trace in traces.items() if name.startswith(f"{place} ")]
    if not shown:
        raise ValueError(f"there is no map of {place!r} among {', '.join(traces)}")
    layers, heads = len(shown), len(shown[0].heads)
    rows, columns = shown[0].weights.shape[1:]
    wide = 7.6 / heads
    figure = Figure(
        figsize=(7.6 + 0.5, (wide * rows / columns + 0.18) * layers + 0.5), layout="constrained"
    )
    grid = figure.subplots(layers, heads, squeeze=False)
    said = []
    for layer, trace in enumerate(shown):
        for head in range(heads):
            axes = grid[layer, head]
            axes.imshow(trace.weights[head], cmap="cividis", vmin=0.0, vmax=1.0, aspect="equal")
            _bare(axes)
            if heads <= ROOMY and head == 0:
                axes.set_yticks(range(rows), trace.query.labels, fontsize=7)
            if heads <= ROOMY and layer == layers - 1:
                axes.set_xticks(range(columns), trace.key.labels, fontsize=7, rotation=90)
            axes.tick_params(colors=INK, length=0)
            if layer == 0:
                axes.set_title(f"head {head + 1}", color=INK, fontsize=10)
            if head == 0:
                axes.set_ylabel(f"layer {layer + 1}", color=INK, fontsize=10)
            said.append(f"layer {layer + 1} head {head + 1} {_most(trace, head)}")
    figure.supxlabel("looked at →", color=INK, fontsize=10)
    figure.supylabel("← looks from", color=INK, fontsize=10)
    sentence = " ".join(shown[0].key.labels)
    return picture(
        figure,
        f"{layers * heads} small maps, {NAMES[place]}, of the sentence {sentence}. "
        f"Mean largest share of a look: {'; '.join(said)}.",
    )


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(INK)
    axes.spines[:].set_linewidth(0.5)


def _most(trace: AttentionTrace, head: int) -> str:
    return f"{trace.weights[head].max(axis=-1).mean():.2f}"


def worth_of_heads(worth: Mapping[Head, float]) -> Picture:
    """What each head is worth, a cell a head, the three places side by side on one scale.

    worth: nats a word that are lost when the head is off, see ``heed.evaluation.heads.worth``;
        printed in thousandths. The head that is missed most is ringed.
    """
    if not worth:
        raise ValueError("no heads, nothing to draw")
    places: list[Place] = [place for place in PLACES if any(head[0] == place for head in worth)]
    top, best = max(worth.values()), max(worth, key=lambda head: worth[head])
    figure = Figure(figsize=(2.75 * len(places), 2.5), layout="constrained")
    row = figure.subplots(1, len(places), squeeze=False)[0]
    for axes, place in zip(row, places, strict=True):
        table = _table(worth, place)
        axes.imshow(table, cmap="cividis", vmin=0.0, vmax=max(top, 1e-9), aspect="auto")
        for (layer, head), value in np.ndenumerate(table):
            dark = value < 0.55 * top
            axes.text(head, layer, f"{round(1000 * value)}", ha="center", va="center", fontsize=9,
                      color="#ffffff" if dark else "#111111")  # fmt: skip
        axes.set_xticks(range(table.shape[1]), [f"{n}" for n in range(1, table.shape[1] + 1)])
        axes.set_yticks(range(table.shape[0]), [f"{n}" for n in range(1, table.shape[0] + 1)])
        axes.set_xlabel("head", color=INK)
        axes.set_ylabel("layer", color=INK)
        axes.set_title(place, color=INK, fontsize=11)
        axes.tick_params(colors=INK, length=0)
        axes.spines[:].set_visible(False)
        if place == best[0]:
            axes.plot(best[2] - 1, best[1] - 1, "o", markersize=29, fillstyle="none", color=RING,
                      markeredgewidth=1.8)  # fmt: skip
    said = "; ".join(
        f"{place} layer {layer}: "
        + ", ".join(f"{round(1000 * value)}" for value in _table(worth, place)[layer - 1])
        for place in places
        for layer in range(1, len(_table(worth, place)) + 1)
    )
    place, layer, head = best
    return picture(
        figure,
        "Thousandths of a nat a word that are lost when one head is off, a cell a head. Missed "
        f"most: {place} layer {layer} head {head}, {round(1000 * worth[best])}. {said}.",
    )


def _table(worth: Mapping[Head, float], place: Place) -> np.ndarray:
    own = {(layer, head): value for (at, layer, head), value in worth.items() if at == place}
    layers, heads = (max(each) for each in zip(*own, strict=True))
    table = np.full((layers, heads), np.nan)
    for (layer, head), value in own.items():
        table[layer - 1, head - 1] = value
    return table
