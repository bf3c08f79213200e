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


@dataclass(frozen=True, kw_only=True)
class Times:
    """What a training step of some rows takes beside that of one of them, on this machine.

    Cards come from machines that did other things at the same time, so nothing on them says what
    a step takes. Here all are measured in turn, again and again: what else the machine does meets
    all alike, and a ratio is taken within a turn.

    seconds: name -> one a turn; to: the row that the others are held against
    """

    seconds: Mapping[str, Sequence[float]]
    to: str

    def turns(self, name: str) -> list[float]:
        """How many times as long as a step of ``to``, turn by turn."""
        pairs = zip(self.seconds[name], self.seconds[self.to], strict=True)
        return [mine / other for mine, other in pairs]

    def median(self, name: str) -> float:
        return statistics.median(self.turns(name))

    def half(self, name: str) -> float:
        """Half the width of the middle half of the turns: a spread that no single hiccup moves."""
        turns = self.turns(name)
        if len(turns) < 2:
            return 0.0
        low, _, high = statistics.quantiles(turns, n=4, method="inclusive")
        return (high - low) / 2

    def said(self, name: str) -> str:
        """``"1.07 ± 0.02"``"""
        return f"{self.median(name):.2f} ± {self.half(name):.2f}"

    @property
    def legend(self) -> str:
        return (
            f"step: a training step, here and now, × that of {self.to}; "
            f"median of {len(self.seconds[self.to])} turns ± half of their middle half"
        )


def fastest(seconds: Mapping[str, Sequence[float]]) -> str:
    """The row whose step takes least, by its median."""
    return min(seconds, key=lambda name: statistics.median(seconds[name]))


@dataclass(frozen=True)
class Comparison:
    """The cards of some rows, and the metrics that stand in the table; a page shows it as one.

    times: what a step takes, if that was measured; in the last column
    """

    cards: Mapping[str, Card]
    metrics: Sequence[str]
    missing: Sequence[str] = ()
    times: Times | None = None

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

    @property
    def _table(self) -> list[list[str]]:
        header = ["", "parameters", "seeds", *self.metrics, *(["step"] if self.times else [])]
        rows = [
            [
                name,
                f"{card.parameters:,}",
                str(len(card.seeds)) + ("" if card.complete else "*"),
                *(
                    plus_minus(_result(card, m), digits=DIGITS.get(_known(m) or m, 2))
                    for m in self.metrics
                ),
                *([self.times.said(name)] if self.times else []),
            ]
            for name, card in self.cards.items()
        ]
        return [header, *rows]

    @property
    def _notes(self) -> list[str]:
        notes = [self.times.legend] if self.times else []
        if any(not card.complete for card in self.cards.values()):
            notes.append("* not all planned seeds have gone all their steps yet")
        return notes + [f"{name}: no weights yet" for name in self.missing]

    def __str__(self) -> str:
        return "\n".join([*_aligned(self._table), *self._notes])

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        header, *rows = self._table
        names = [title.replace("_", " ") for title in header]  # a narrow page can break them
        numbers = [[cell.replace(" ± ", "\u00a0±\u00a0") for cell in row] for row in rows]
        lines = [names, ["---", *("---:" for _ in header[1:])], *numbers]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "".join(f"\n\n{note}".replace("\n* ", "\n\\* ") for note in self._notes)
        return {"text/plain": str(self), "text/markdown": table + notes}


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
    names: Mapping[str, str] | Sequence[str],
    *,
    to: str | None = None,
    rows: int = 64,
    words: int = 20,
    repeats: int = 7,
) -> Times:
    """Time a training step (forward, backward, Adam) of each translator, as trained.

    names: rows; or what to call each -> its row
    to: the row, by what it is called, that the others are held against; if none, the fastest
    rows, words: of the one batch, ``rows`` sentences of ``words`` words a side
    """
    called = dict(names) if isinstance(names, Mapping) else {name: name for name in names}
    if to is not None and to not in called:
        raise CardError(f"{to!r} is not among the rows: {', '.join(called)}")
    steps = {name: _step(row, rows, words) for name, row in called.items()}
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(repeats + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if turn:  # the first one warms up
                seconds[name].append(time.perf_counter() - start)
    return Times(seconds=seconds, to=to or fastest(seconds))


def _step(name: str, rows: int, words: int) -> Any:
    trained = load(name)
    if not isinstance(trained, TrainedTranslator):
        raise CardError(f"{name} is no translator: no step of it can be timed here")
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
