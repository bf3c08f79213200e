"""A training step against sentence length: what has to wait, and how long it takes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from heed.data.batches import Batch
from heed.data.vocabulary import SPECIALS
from heed.evaluation.chains import in_sequence
from heed.training.objectives import translation_loss
from heed.viz.heatmap import Picture, picture, plain_axes
from heed.viz.length import STYLES


@dataclass(frozen=True, kw_only=True)
class Step:
    """The step of one model on sentences of ``words`` words a side.

    chain: operations on the longest way, see ``in_sequence``; the same on every machine
    seconds: forward and backward, the fastest of some runs, here and now
    """

    words: int
    chain: int
    seconds: float


def measure_steps(
    model: Any,
    sizes: tuple[int, int],
    *,
    words: Sequence[int],
    sentences: int = 8,
    runs: int = 3,
) -> list[Step]:
    """Steps on random sentences of each length, without an optimiser.

    sizes: how many words the vocabularies of source and target have
    """
    was_training, found = model.training, []
    model.train()
    for count in words:
        source, target = (torch.randint(len(SPECIALS), size, (sentences, count)) for size in sizes)
        lengths = torch.full((sentences,), count)
        batch, taken, chain = Batch(source, lengths, target, lengths), [], 0
        for _ in range(runs):
            began = time.perf_counter()
            loss = translation_loss(model, batch)
            reached = time.perf_counter()
            chain = chain or in_sequence(loss)
            counted = time.perf_counter()
            loss.backward()
            taken.append(time.perf_counter() - counted + reached - began)
            model.zero_grad(set_to_none=True)
        found.append(Step(words=count, chain=chain, seconds=min(taken)))
    model.train(was_training)
    return found


def chains(models: Mapping[str, Sequence[Step]]) -> Picture:
    """Left the longest chain, right the time, both against words a sentence, on log scales."""
    figure = Figure(figsize=(7.8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    said = []
    for (name, steps), style in zip(models.items(), STYLES, strict=False):
        words = [each.words for each in steps]
        chain = [each.chain for each in steps]
        milliseconds = [each.seconds * 1e3 for each in steps]
        for axes, values in ((left, chain), (right, milliseconds)):
            axes.plot(words, values, markersize=4, linewidth=1.8, **style)
            axes.annotate(
                name,
                (words[-1], values[-1]),
                xytext=(7, 0),
                textcoords="offset points",
                color=style["color"],
                va="center",
            )
        said.append(
            f"{name}: a chain of {chain[0]:,} operations at {words[0]} words and of "
            f"{chain[-1]:,} at {words[-1]}, {milliseconds[0]:.0f} and {milliseconds[-1]:.0f} "
            "milliseconds"
        )
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("words on each side")
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        plain_axes(axes)
        axes.tick_params(which="both", colors=left.xaxis.label.get_color())
    left.set_ylabel("operations in sequence")
    right.set_ylabel("milliseconds a training step")
    return picture(
        figure,
        "A training step against sentence length, on log scales. Left, how many operations must "
        f"wait for each other; right, the time. {'; '.join(said)}. Times differ from machine to "
        "machine.",
    )
