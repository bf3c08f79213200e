"""Trained rows side by side: the numbers of their cards in one table, and what they let us say."""

import fnmatch
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from heed.data.batches import Batch
from heed.data.vocabulary import BOS, SPECIALS, Vocabulary
from heed.experiments.cards import Card, CardError
from heed.experiments.table import EXPERIMENTS, Experiment, find
from heed.experiments.trained import load
from heed.experiments.translation import TrainedTranslator
from heed.training.loop import adam, precision
from heed.training.objectives import translation_loss

DIGITS = {
    "bleu": 1,
    "exact_match": 3,
    "aer": 3,
    "entropy": 2,
    "valid_loss": 3,
    "perplexity": 1,
    "accuracy": 3,
}
"""Of the metrics that a table shows if nobody asks for others, and of those made from them
(``bleu_longer``)."""


def plus_minus(result: Mapping[str, Any], *, digits: int = 1, times: float | int = 1) -> str:
    """``"71.2 ± 0.8"``; a result of one seed has no spread to show."""
    mean = f"{times * result['mean']:.{digits}f}"
    return mean if seeds_of(result) < 2 else f"{mean} ± {times * result['std']:.{digits}f}"


def verdict(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """What two results over seeds say about each other, in words that do not say too much.

    ``"higher"`` or ``"lower"`` only where the means lie further apart than both spreads together;
    else ``"no difference seen"``. Fewer than two seeds on a side have no spread to compare with.
    """
    if min(seeds_of(first), seeds_of(second)) < 2:
        return "too few seeds to say"
    distance = first["mean"] - second["mean"]
    if abs(distance) <= first["std"] + second["std"]:
        return "no difference seen"
    return "higher" if distance > 0 else "lower"


def seeds_of(result: Mapping[str, Any]) -> int:
    """How many seeds have a number."""
    return sum(seed is not None for seed in result["seeds"])


@dataclass(frozen=True)
class Comparison:
    """The cards of some rows, and the metrics that stand in the table."""

    cards: Mapping[str, Card]
    metrics: Sequence[str]
    missing: Sequence[str] = ()

    def column(self, metric: str) -> dict[str, dict[str, Any]]:
        """A metric of every row: name -> ``{"mean", "std", "seeds"}``."""
        return {name: _result(card, metric) for name, card in self.cards.items()}

    def verdicts(self, metric: str, *, against: str) -> dict[str, str]:
        """Every other row's metric against that of one: see ``verdict``."""
        if against not in self.cards:
            raise CardError(f"{against!r} is not among the rows: {', '.join(self.cards)}")
        column = self.column(metric)
        return {
            name: verdict(result, column[against])
            for name, result in column.items()
            if name != against
        }

    def __str__(self) -> str:
        header = ["", "parameters", "seeds", *self.metrics]
        rows = [
            [
                name,
                f"{card.parameters:,}",
                str(len(card.seeds)) + ("" if card.complete else "*"),
                *(
                    plus_minus(_result(card, m), digits=DIGITS.get(_known(m) or m, 2))
                    for m in self.metrics
                ),
            ]
            for name, card in self.cards.items()
        ]
        lines = _aligned([header, *rows])
        if any(not card.complete for card in self.cards.values()):
            lines.append("* not all planned seeds have gone all their steps yet")
        lines += [f"{name}: no weights yet" for name in self.missing]
        return "\n".join(lines)


def compare(
    names: Iterable[str],
    metrics: Sequence[str] = (),
    *,
    experiments: Mapping[str, Experiment] | None = None,
) -> Comparison:
    """The shipped rows of these names; ``*`` stands for anything: ``"bahdanau_*_short"``.

    metrics: names on the cards (a dot goes into a group); if none are given, those of ``DIGITS``
        that every card has. ``UnknownExperiment`` for a name of no row, ``CardError`` for rows of
        which none is trained, and for a metric that a card lacks.
    """
    known = EXPERIMENTS if experiments is None else experiments
    chosen: dict[str, Experiment] = {}
    for name in names:
        for match in fnmatch.filter(known, name) or [name]:
            chosen[match] = find(match, known)
    cards = {
        name: Card.read(row.folder)
        for name, row in chosen.items()
        if (row.folder / "card.json").exists()
    }
    if not cards:
        raise CardError(f"nothing trained to compare under {', '.join(chosen) or 'no name'}")
    shared = [
        metric
        for metric in next(iter(cards.values())).metrics
        if _known(metric) and all(_is_number(card, metric) for card in cards.values())
    ]
    return Comparison(
        cards=cards,
        metrics=tuple(metrics) or tuple(shared),
        missing=tuple(name for name in chosen if name not in cards),
    )


def step_times(
    names: Sequence[str], *, rows: int = 64, words: int = 20, repeats: int = 7
) -> dict[str, float]:
    """Seconds of a training step (forward, backward, Adam) of each translator, as trained.

    All are measured in turn, again and again, and the median is taken: whatever else the machine
    does meets all of them. One batch of ``rows`` sentences of ``words`` words a side.
    """
    steps = {name: _step(name, rows, words) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(repeats + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if number:  # the first one warms up
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}


def _step(name: str, rows: int, words: int) -> Any:
    trained = load(name)
    if not isinstance(trained, TrainedTranslator):
        raise TypeError(f"{name} is no translator: no step of it can be timed here")
    config = find(name).train
    generator = torch.Generator().manual_seed(0)

    def sentences(vocabulary: Vocabulary) -> torch.Tensor:
        return torch.randint(len(SPECIALS), len(vocabulary), (rows, words + 1), generator=generator)

    source, target = sentences(trained.source_vocab), sentences(trained.target_vocab)
    target[:, 0] = BOS
    lengths = torch.full((rows,), words + 1)
    batch = Batch(source, lengths, target, lengths)
    model: Any = trained.model.train()
    optimiser = adam(model, config)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with precision(config.precision, torch.device("cpu")):
            loss = translation_loss(model, batch)
        loss.backward()
        optimiser.step()

    return step


def _result(card: Card, metric: str) -> dict[str, Any]:
    card.number(metric)  # refuses what is no number
    place: Any = card.metrics
    for part in metric.split("."):
        place = place[part]
    return place


def _is_number(card: Card, metric: str) -> bool:
    try:
        card.number(metric)
    except CardError:
        return False
    return True


def _known(metric: str) -> str | None:
    """The name in ``DIGITS`` that a metric is made from."""
    return next((k for k in DIGITS if metric == k or metric.startswith((f"{k}_", f"{k}."))), None)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
