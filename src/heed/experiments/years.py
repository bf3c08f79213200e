"""The translators of the book beside each other, year by year: one table, made from their cards."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heed.data.grammar import Grammar
from heed.evaluation.decoding import translate
from heed.experiments.cards import Card
from heed.experiments.compare import plus_minus
from heed.experiments.table import Experiment, find
from heed.experiments.trained import load
from heed.experiments.translation import TrainedTranslator

YEARS = {
    "2014 one vector": "seq2seq_grammar",
    "2014 additive": "bahdanau_grammar",
    "2015 global": "luong_global_grammar",
    "2015 local-p": "luong_local_p_grammar",
    "2016 self-attending": "lstmn_grammar",
    "2017 Transformer": "transformer_grammar",
}
"""What a reader sees -> the row: the same sentences, about the same size."""


def trained_years() -> dict[str, str]:
    """Those of ``YEARS`` that have weights."""
    return {
        label: name for label, name in YEARS.items() if (find(name).folder / "card.json").exists()
    }


@dataclass(frozen=True, kw_only=True)
class YearsTable:
    """BLEU, AER, size and times of some rows. A row without weights, whose card is None, says so.

    seconds: label -> seconds a sentence, one number a turn, here and now; see ``sentence_times``
    """

    cards: Mapping[str, Card | None]
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def table(self) -> list[list[str]]:
        """Header and rows, as text."""
        header = ["", "BLEU", "AER", "parameters", "minutes trained", "seeds"]
        rows = [
            [
                label,
                plus_minus(card.metrics["bleu"]),
                plus_minus(card.metrics["aer"], digits=3) if "aer" in card.metrics else "–",
                f"{card.parameters:,}",
                f"{card.seconds / 60:.0f}",
                str(len(card.seeds)) + ("" if card.complete else "*"),
            ]
            if card
            else [label, *["–"] * 5]
            for label, card in self.cards.items()
        ]
        if self.seconds:
            header.append("ms a sentence")
            for row in rows:
                row.append(_milliseconds(self.seconds.get(row[0], ())))
        return [header, *rows]

    @property
    def notes(self) -> list[str]:
        """What has to be known to read the table."""
        notes = ["minutes trained: one seed, on one of two processor cores"]
        if any(card and not card.complete for card in self.cards.values()):
            notes.append("* not all planned seeds have gone all their steps yet")
        if missing := [label for label, card in self.cards.items() if card is None]:
            notes.append(f"no weights yet: {', '.join(missing)}")
        if self.seconds:
            turns = max(map(len, self.seconds.values()))
            notes.append(
                "ms a sentence: greedy, one sentence at a time, one thread, here and now; median "
                f"of {turns} turns ± half of their middle half"
            )
        return notes

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in self.table
        ]
        names = [row[0].ljust(widths[0]) for row in self.table]
        rows = [f"{name}  {line}" for name, line in zip(names, lines, strict=True)]
        return "\n".join([*rows, *self.notes])

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        header, *rows = self.table
        numbers = [[cell.replace(" ± ", "\u00a0±\u00a0") for cell in row] for row in rows]
        lines = [header, ["---", *("---:" for _ in header[1:])], *numbers]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "".join(f"\n\n{note}".replace("\n* ", "\n\\* ") for note in self.notes)
        return {"text/plain": str(self), "text/markdown": table + notes}


def years_table(
    years: Mapping[str, str] = YEARS,
    *,
    timed: bool = False,
    experiments: Mapping[str, Experiment] | None = None,
) -> YearsTable:
    """The table of these rows. timed: measure what a sentence takes, too; some ten seconds."""
    folders = {label: find(name, experiments).folder for label, name in years.items()}
    cards = {
        label: Card.read(folder) if (folder / "card.json").exists() else None
        for label, folder in folders.items()
    }
    there = {label: years[label] for label, card in cards.items() if card}
    return YearsTable(cards=cards, seconds=sentence_times(there) if timed else {})


def sentence_times(
    years: Mapping[str, str], *, sentences: int = 8, repeats: int = 5
) -> dict[str, list[float]]:
    """Seconds a sentence of 10 to 20 words takes each row, alone and greedily; the rows in turn,
    again and again, so that what else the machine does meets all alike."""
    draw = Grammar(7)
    sources = [draw.pair(10, 20).source for _ in range(sentences)]
    seconds: dict[str, list[float]] = {label: [] for label in years}
    models: dict[str, Any] = {label: load(name) for label, name in years.items()}
    for turn in range(repeats + 1):
        for label, trained in models.items():
            assert isinstance(trained, TrainedTranslator)
            start = time.perf_counter()
            for source in sources[: sentences if turn else 1]:  # the first turn warms up
                translate(trained.model, [source], trained.source_vocab, trained.target_vocab)
            if turn:
                seconds[label].append((time.perf_counter() - start) / sentences)
    return seconds


def _milliseconds(seconds: Sequence[float]) -> str:
    if not seconds:
        return "–"
    said = f"{1000 * statistics.median(seconds):.0f}"
    if len(seconds) < 2:
        return said
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return f"{said} ± {1000 * (high - low) / 2:.0f}"
