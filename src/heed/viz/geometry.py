"""What a score likes, as level lines in the plane; what the axes of a map of weights are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from torch import Tensor

from heed.attention import Attention, masked_softmax
from heed.data.batches import encode_source
from heed.data.pairs import Pair
from heed.data.vocabulary import EOS, SPECIALS
from heed.experiments.trained import Trained
from heed.masks import window
from heed.scores import Location, ScaledDot, Score
from heed.trace import AttentionTrace
from heed.viz.alignment import gold_map
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes

FINE = 121
"""Points a side at which a score is evaluated."""


def level_lines(
    scores: Mapping[str, Score],
    query: Float[Tensor, " two"],
    keys: Mapping[str, Float[Tensor, " two"]],
    *,
    reach: float = 5.0,
    columns: int = 3,
) -> Picture:
    """A panel a score: what it gives to a key at each place of the plane, for one query.

    Bright is high. White lines join places of equal score; between two of them the score changes
    by a tenth of what it changes over the panel. The arrow is the query, dots are the keys. A
    score that is blind to keys has no lines: its panel is one colour.
    """
    line = torch.linspace(-reach, reach, FINE)
    x, y = torch.meshgrid(line, line, indexing="xy")
    places = torch.stack([x.reshape(-1), y.reshape(-1)], 1)
    rows = -(-len(scores) // columns)
    # Without room between the rows, the ticks of a panel touch the title of the one below.
    roomy = ConstrainedLayoutEngine(h_pad=0.12)
    figure = Figure(figsize=(2.35 * columns, 2.6 * rows), layout=roomy)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    said = []
    for axes in grid.flat[len(scores) :]:
        axes.axis("off")
    for axes, (name, score) in zip(grid.flat, scores.items(), strict=False):
        height = _heights(score, query, places).reshape(FINE, FINE)
        lowest, change = float(height.min()), float(np.ptp(height))
        share = (height - lowest) / change if change > 1e-6 else np.full_like(height, 0.5)
        # Ten flat bands: as an image they weigh a hundredth of what they do as outlines.
        axes.imshow(
            np.clip(np.floor(10 * share) / 9, 0, 1),
            cmap="cividis",
            vmin=0,
            vmax=1,
            origin="lower",
            extent=(-reach, reach, -reach, reach),
            interpolation="nearest",
        )
        if change > 1e-6:
            axes.contour(
                x, y, share, levels=np.arange(1, 10) / 10, colors="#ffffff", linewidths=0.5,
                linestyles="solid",
            )  # fmt: skip
        axes.annotate(
            "",
            query.tolist(),
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": RING, "linewidth": 2},
        )
        _dots(axes, keys, reach)
        axes.set_title(name, color=INK, fontsize=10)
        axes.set_aspect("equal")
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
        plain_axes(axes)
        axes.tick_params(labelsize=8)
        said.append(f"{name}: {_best(score, query, keys)}")
    for axes in grid[-1]:
        axes.set_xlabel("key, first number", fontsize=9)
    for row in grid:
        row[0].set_ylabel("key, second number", fontsize=9)
    return picture(
        figure,
        f"Level lines of each score over the place of a key, for one query. {'. '.join(said)}.",
    )


@torch.no_grad()
def _heights(
    score: Score, query: Float[Tensor, " two"], places: Float[Tensor, "place two"]
) -> Float[np.ndarray, " place"]:
    if isinstance(score, Location):  # its scores are about places in a row, not in a plane
        return np.zeros(len(places))
    return score(query[None], places)[0].numpy()


@torch.no_grad()
def _best(
    score: Score, query: Float[Tensor, " two"], keys: Mapping[str, Float[Tensor, " two"]]
) -> str:
    if isinstance(score, Location):
        return "one colour everywhere, for it does not see the key"
    found = score(query[None], torch.stack(list(keys.values())))[0].tolist()
    ranked = sorted(zip(keys, found, strict=True), key=lambda each: -each[1])
    return "keys from best to worst " + ", ".join(f"{name} {value:.2f}" for name, value in ranked)


def _dots(axes: Axes, keys: Mapping[str, Float[Tensor, " two"]], reach: float) -> None:
    for name, (x, y) in ((name, key.tolist()) for name, key in keys.items()):
        outward = x > 0.7 * reach  # there is no room for a word to the right of it
        axes.scatter([x], [y], s=26, color=RING, edgecolor="#ffffff", linewidth=1, zorder=4)
        axes.annotate(
            name,
            (x, y),
            xytext=(-5, 4) if outward else (5, 4),
            textcoords="offset points",
            ha="right" if outward else "left",
            fontsize=9,
            color="#ffffff",
            zorder=5,
            bbox={"boxstyle": "round,pad=0.12", "facecolor": "#000000", "alpha": 0.55, "lw": 0},
        )


# ------------------------------------------------------------------------ what the axes are


@dataclass(frozen=True, kw_only=True)
class KindOfAttention:
    """A row of the survey's second table, as a map that a network made.

    asks, asked: which set a row and a column of the map stands for
    keep: the cells that may be bright
    drawn: whether a row takes one value, drawn with its weights, and not their mixture
    """

    name: str
    trace: AttentionTrace
    asks: str
    asked: str
    keep: Bool[np.ndarray, "query key"]
    drawn: bool = False

    @property
    def looked_at(self) -> str:
        """All columns in every row, or some."""
        counts = self.keep.sum(-1)
        if counts.min() == self.keep.shape[-1]:
            return "all"
        return f"{counts.min()} to {counts.max()} of {self.keep.shape[-1]}"

    @property
    def taken(self) -> str:
        """What a row takes home."""
        return "one, drawn" if self.drawn else "a mixture"


def kinds_of(
    trained: Trained, pair: Pair, *, radius: int = 2, seed: int = 0
) -> list[KindOfAttention]:
    """One sentence in four maps: self, global and soft, local, hard.

    The last three are one network's, while it is made to write the target. ``local`` puts a window
    of ``radius`` words around each row's brightest cell before the softmax, ``hard`` draws a cell
    a row. For ``self`` the encoder's vectors ask each other, by scaled dot products that nobody
    trained for it.
    """
    soft = gold_map(trained, pair)
    weights = torch.from_numpy(soft.weights[0])
    words = (*pair.source, SPECIALS[EOS])
    with torch.inference_mode():
        encoded = trained.model.encode(*encode_source([pair.source], trained.source_vocab))
        h = encoded.annotations
        itself = Attention(ScaledDot())(h, h, h).weights[0]
    near = window(weights.argmax(-1), radius, len(words))
    local = masked_softmax(weights.log(), near)
    chance = torch.Generator().manual_seed(seed)
    taken = torch.multinomial(weights, 1, generator=chance)
    hard = torch.zeros_like(weights).scatter(1, taken, 1.0)
    french, english = "French words", "English words"
    rows = (
        ("self", itself, words, english, None, False),
        ("global, soft", weights, pair.target, french, None, False),
        ("local, soft", local, pair.target, french, near.numpy(), False),
        ("global, hard", hard, pair.target, french, None, True),
    )
    return [
        KindOfAttention(
            name=name,
            trace=AttentionTrace.of(name, table.numpy(), query=query, key=words),
            asks=asks,
            asked=english,
            keep=np.ones(table.shape, dtype=bool) if keep is None else keep,
            drawn=drawn,
        )
        for name, table, query, asks, keep, drawn in rows
    ]


def kinds_of_attention(
    kinds: Sequence[KindOfAttention], *, columns: int = 2, framed: str | None = None
) -> Picture:
    """Their maps side by side: who asks downwards, who is asked to the right.

    framed: a word that asks; its row is framed wherever there is one
    """
    rows = -(-len(kinds) // columns)
    figure = Figure(figsize=(3.5 * columns, 3.5 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    said = []
    for axes in grid.flat[len(kinds) :]:
        axes.axis("off")
    cells = None
    for axes, kind in zip(grid.flat, kinds, strict=False):
        shape = kind.trace.weights.shape[1:]
        cells = axes.imshow(
            kind.trace.weights[0], cmap="cividis", vmin=0.0, vmax=1.0, aspect="equal"
        )
        for row, word in enumerate(kind.trace.query.labels):
            if word == framed:
                axes.add_patch(
                    Rectangle(
                        (-0.5, row - 0.5), shape[1], 1, fill=False, edgecolor=RING, linewidth=1.4
                    )
                )
        axes.set_xticks(range(shape[1]), kind.trace.key.labels, rotation=90, fontsize=8)
        axes.set_yticks(range(shape[0]), kind.trace.query.labels, fontsize=8)
        axes.set_xlabel(f"asked: {kind.asked}")
        axes.set_ylabel(f"ask: {kind.asks}")
        axes.set_title(kind.name, color=INK, fontsize=11)
        plain_axes(axes)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        said.append(
            f"{kind.name}: {kind.asks} ask {kind.asked}, each looks at {kind.looked_at} and takes "
            f"{kind.taken}{_row_of(framed, kind)}"
        )
    if cells is not None:
        bar = figure.colorbar(cells, ax=grid, shrink=0.5, aspect=30, ticks=[0, 0.5, 1])
        bar.set_label("weight", color=INK)
        bar.ax.tick_params(colors=INK, labelsize=8)
        bar.outline.set_visible(False)  # type: ignore[operator]
    return picture(figure, f"Kinds of attention as maps of one sentence. {'. '.join(said)}.")


def _row_of(word: str | None, kind: KindOfAttention) -> str:
    """What the framed row looks at, in words."""
    if word not in kind.trace.query.labels:
        return ""
    row = kind.trace.weights[0, kind.trace.query.labels.index(word)]
    looks = [f"{kind.trace.key.labels[i]} {row[i]:.2f}" for i in np.argsort(-row, kind="stable")]
    seen = ", ".join(looks[: min(3, int((row >= 0.005).sum()))])
    return f"; {word} looks at {seen}"
