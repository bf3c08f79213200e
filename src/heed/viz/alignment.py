"""Where a translator looks, beside where it should: maps with gold links, and errors by phenomenon.

    python -m heed.viz.alignment [FOLDER]

writes the map of the 1992 sentence from the shipped weights: ``alignment-1992.svg`` and ``.png``,
the picture that stands in the README.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from heed.data.batches import encode_batch
from heed.data.grammar import classic
from heed.data.pairs import Link, Pair
from heed.data.vocabulary import EOS, SPECIALS
from heed.evaluation.alignment import links_from_weights
from heed.evaluation.decoding import Translation, forced_weights
from heed.experiments.trained import Trained, load
from heed.trace import AttentionTrace
from heed.viz.heatmap import INK, RING, Picture, draw_map, picture, plain_axes, ring, spoken
from heed.viz.length import STYLES

MEAN = STYLES[1]["color"]


def gold_map(trained: Trained, pair: Pair) -> AttentionTrace:
    """Where the model looks while it is made to write the gold target of a pair."""
    batch = encode_batch([pair], trained.source_vocab, trained.target_vocab)
    weights = forced_weights(trained.model, batch)
    if weights is None:
        raise ValueError("a map is drawn from attention, and this model has none")
    return AttentionTrace.of(
        trained.card.experiment,
        weights[0][: len(pair.target)],
        query=pair.target,
        key=(*pair.source, SPECIALS[EOS]),
    )


def free_map(translation: Translation) -> AttentionTrace:
    """Where the model looked while it wrote what it wanted."""
    if translation.weights is None:
        raise ValueError("a map is drawn from attention, and there was none")
    rows = len(translation.weights)
    return AttentionTrace.of(
        "translation",
        translation.weights,
        query=(*translation.words, SPECIALS[EOS])[:rows],
        key=(*translation.source, SPECIALS[EOS]),
    )


def first_looks(trace: AttentionTrace, pair: Pair) -> list[tuple[str, str, bool]]:
    """Each target word, the source word that it looks at most, and whether gold links the two.

    A word that looks most at the source's end has ``</s>`` there, and is not linked.
    """
    sizes = len(pair.source), len(pair.target)
    found = {j: i for i, j in links_from_weights(trace.weights[0], *sizes)}
    return [
        (
            word,
            pair.source[found[j]] if j in found else SPECIALS[EOS],
            (found.get(j, -1), j) in pair.possible,
        )
        for j, word in enumerate(pair.target)
    ]


def wrong_looks(
    links: Sequence[AbstractSet[Link]], pairs: Sequence[Pair]
) -> dict[str, Counter[str]]:
    """For each target word, what it looked at where no gold link goes; the worst words first.

    links: for each pair what the model found, one link a target word at most
    """
    looks: dict[str, Counter[str]] = {}
    for found, pair in zip(links, pairs, strict=True):
        for i, j in sorted(found - pair.possible):
            looks.setdefault(pair.target[j], Counter())[pair.source[i]] += 1
    return dict(sorted(looks.items(), key=lambda item: -item[1].total()))


def alignment(
    trace: AttentionTrace, pair: Pair, *, frame: str | None = None, title: str | None = None
) -> Picture:
    """The map of a pair: sure links ringed, possible ones ringed with dashes.

    frame: a phenomenon of the pair; the block of cells that its links span gets a frame.
    """
    looks = first_looks(trace, pair)
    right = sum(linked for *_, linked in looks)
    return picture(
        _drawn(trace, pair, frame=frame, title=title),
        f"{title or 'Attention map'}. Rows are French words, columns English ones. {right} of "
        f"{len(looks)} French words look most at an English word that gold links to them: "
        f"{spoken(trace)}",
    )


def _drawn(
    trace: AttentionTrace, pair: Pair, *, frame: str | None = None, title: str | None = None
) -> Figure:
    rows, columns = trace.weights[0].shape
    figure = Figure(figsize=(columns * 0.36 + 1.8, rows * 0.36 + 1.4))
    axes = figure.add_subplot()
    draw_map(axes, trace)
    for i, j in sorted(pair.possible):
        ring(axes, j, i, dashed=(i, j) not in pair.sure)
    if frame is not None:
        _frame(axes, pair.phenomena[frame], frame)
    if title:
        axes.set_title(title, color=INK)
    return figure


def _frame(axes: Any, links: Iterable[Link], name: str) -> None:
    keys, queries = zip(*links, strict=True)
    left, top = min(keys) - 0.5, min(queries) - 0.5
    width, height = max(keys) - min(keys) + 1, max(queries) - min(queries) + 1
    margin = 0.12
    axes.add_patch(
        Rectangle(
            (left - margin, top - margin),
            width + 2 * margin,
            height + 2 * margin,
            fill=False,
            edgecolor="#ffffff",
            linewidth=1.4,
        )
    )
    axes.annotate(
        name,
        (left + width, top + height / 2),
        xytext=(8, 0),
        textcoords="offset points",
        color="#ffffff",
        va="center",
        fontsize=9,
    )


def errors_by_phenomenon(
    metrics: Mapping[str, Any], *, group: str = "aer_by_phenomenon", whole: str = "aer"
) -> Picture:
    """Alignment error rate of each phenomenon, worst first: a dot a seed, a stroke for the mean.

    metrics: those of a card.
    """
    ranked = sorted(metrics[group].items(), key=lambda item: -item[1]["mean"])
    figure = Figure(figsize=(6.4, 0.2 * len(ranked) + 1.1), layout="constrained")
    axes = figure.add_subplot()
    for row, (_, spread) in enumerate(ranked):
        seeds = [value for value in spread["seeds"] if value is not None]
        axes.plot([0, spread["mean"]], [row, row], color=INK, linewidth=0.6, alpha=0.6)
        axes.scatter(seeds, [row] * len(seeds), s=16, color=RING, zorder=3)
        axes.plot([spread["mean"]] * 2, [row - 0.35, row + 0.35], color=MEAN, linewidth=2, zorder=4)
    axes.axvline(metrics[whole]["mean"], color=MEAN, linewidth=1, linestyle=(0, (3, 2)))
    axes.annotate(
        "all links",
        (metrics[whole]["mean"], len(ranked) - 0.4),
        xytext=(4, 0),
        textcoords="offset points",
        color=MEAN,
        fontsize=9,
        va="bottom",
    )
    axes.set_yticks(range(len(ranked)), [name for name, _ in ranked])
    axes.set_ylim(len(ranked) - 0.3, -0.7)
    axes.set_xlim(left=0)
    axes.set_xlabel("alignment error rate (0 is perfect)")
    plain_axes(axes)
    axes.tick_params(axis="y", length=0)
    said = "; ".join(f"{name} {spread['mean']:.2f}" for name, spread in ranked)
    return picture(
        figure,
        f"Alignment error rate by phenomenon, mean of the seeds, worst first: {said}. "
        f"All links together: {metrics[whole]['mean']:.2f}.",
    )


def main(arguments: Sequence[str]) -> None:
    """Write the README's picture."""
    folder = Path(arguments[0]) if arguments else Path("book/_static")
    pair = classic()
    trace = gold_map(load("bahdanau_grammar"), pair)
    turned = "mirrored adjectives"
    (folder / "alignment-1992.svg").write_text(alignment(trace, pair, frame=turned).svg, "utf-8")
    _drawn(trace, pair, frame=turned).savefig(
        folder / "alignment-1992.png",
        dpi=160,
        transparent=True,
        bbox_inches="tight",
        metadata={"Software": None},
    )
    print(f"{folder / 'alignment-1992.svg'} and .png")


if __name__ == "__main__":
    main(sys.argv[1:])
