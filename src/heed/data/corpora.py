"""Which sentences an experiment learns from: a frozen config that can be loaded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch

from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary


class CorpusError(ValueError):
    """A corpus that is not there, or not what it should be."""


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Sentences to learn from, to check on, to be tested with.

    tests: by the name of where they come from; the first is what the plain metrics are about
    watched: a few fixed sentences that are looked at all through training
    credits, licence: whose they are, and under what terms; they stand on every card
    """

    train: list[Pair]
    valid: list[Pair]
    tests: dict[str, list[Pair]]
    source_vocab: Vocabulary
    target_vocab: Vocabulary
    watched: tuple[Pair, ...] = ()
    credits: tuple[str, ...] = ()
    licence: str = ""

    @property
    def test(self) -> list[Pair]:
        """The first set of test sentences."""
        return next(iter(self.tests.values()))


@runtime_checkable
class Data(Protocol):
    """The config of a corpus: frozen, JSON can say it, and it loads the same thing each time."""

    def load(self, *, tatoeba: Path | None = None) -> Corpus: ...


@dataclass(frozen=True, kw_only=True)
class ReverseData:
    """Letters to be written back to front: a toy that a small model learns within a minute.

    Gold links run down the other diagonal. Lengths are even from 3 to ``longest``.
    """

    letters: int = 20
    longest: int = 12
    pairs: int = 8_000
    held_out: int = 400
    seed: int = 0

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        """Draw the pairs; no sentence occurs twice."""
        generator = torch.Generator().manual_seed(self.seed)
        alphabet = [f"{chr(ord('a') + i % 26)}{i // 26 or ''}" for i in range(self.letters)]
        sentences: dict[tuple[str, ...], None] = {}
        while len(sentences) < self.pairs + 2 * self.held_out:
            length = int(torch.randint(3, self.longest + 1, (), generator=generator))
            drawn = torch.randint(self.letters, (length,), generator=generator).tolist()
            sentences[tuple(alphabet[i] for i in drawn)] = None
        pairs = [_reversed(words) for words in sentences]
        valid, test = pairs[: self.held_out], pairs[self.held_out : 2 * self.held_out]
        vocabulary = Vocabulary(tuple(alphabet))
        return Corpus(
            train=pairs[2 * self.held_out :],
            valid=valid,
            tests={"reverse": test},
            source_vocab=vocabulary,
            target_vocab=vocabulary,
            watched=spread_out(test, count=4, longest=25),
            licence="generated here",
        )


def _reversed(words: tuple[str, ...]) -> Pair:
    links = frozenset((len(words) - 1 - j, j) for j in range(len(words)))
    return Pair(source=words, target=words[::-1], sure=links, possible=links)


def spread_out(pairs: Sequence[Pair], *, count: int, longest: int) -> tuple[Pair, ...]:
    """``count`` pairs from short to long, none of more than ``longest`` words."""
    short = sorted(
        (pair for pair in pairs if max(len(pair.source), len(pair.target)) <= longest),
        key=lambda pair: (len(pair.source), pair.source),
    )
    return tuple(short[(2 * i + 1) * len(short) // (2 * count)] for i in range(count)) if short else ()


@dataclass(frozen=True, kw_only=True)
class GrammarData:
    """The English-French grammar with gold alignments."""

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        raise CorpusError("the grammar is not there yet")


@dataclass(frozen=True, kw_only=True)
class EverydayData:
    """Tatoeba's English-French sentences, with some of the grammar's among them."""

    grammar: GrammarData = field(default_factory=GrammarData)

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        raise CorpusError("Tatoeba is not there yet")


def fetch(corpus: str, to: Path | None = None) -> Path:
    """Download a corpus by name; the path where it lies now."""
    if corpus != "tatoeba":
        raise CorpusError(f"there is no corpus {corpus!r} to fetch; there is tatoeba")
    from heed.data import tatoeba

    return tatoeba.fetch(to)
