"""Which sentences an experiment learns from: a frozen config that can be loaded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch

from heed.data import tatoeba as tatoeba_file
from heed.data.grammar import GrammarConfig, classic, grammar
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
    sha256: fingerprints of the files that they were read from
    """

    train: list[Pair]
    valid: list[Pair]
    tests: dict[str, list[Pair]]
    source_vocab: Vocabulary
    target_vocab: Vocabulary
    watched: tuple[Pair, ...] = ()
    credits: tuple[str, ...] = ()
    licence: str = ""
    sha256: dict[str, str] = field(default_factory=dict)

    @property
    def test(self) -> list[Pair]:
        """The first set of test sentences."""
        return next(iter(self.tests.values()))


@runtime_checkable
class Data(Protocol):
    """The config of a corpus: a frozen dataclass that JSON can say; loads always the same."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

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
        return _letters(self, "reverse", lambda n: range(n)[::-1])


@dataclass(frozen=True, kw_only=True)
class CopyData:
    """Letters to be written as they are; all else as in ``ReverseData``, the sources too.

    Gold links run down the diagonal.
    """

    letters: int = 20
    longest: int = 12
    pairs: int = 8_000
    held_out: int = 400
    seed: int = 0

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        """Draw the pairs; no sentence occurs twice."""
        return _letters(self, "copy", range)


def _letters(
    data: ReverseData | CopyData, name: str, order: Callable[[int], Sequence[int]]
) -> Corpus:
    """Random letters, to be written in an order that the sentence's length decides."""
    generator = torch.Generator().manual_seed(data.seed)
    alphabet = [f"{chr(ord('a') + i % 26)}{i // 26 or ''}" for i in range(data.letters)]
    sentences: dict[tuple[str, ...], None] = {}
    while len(sentences) < data.pairs + 2 * data.held_out:
        length = int(torch.randint(3, data.longest + 1, (), generator=generator))
        drawn = torch.randint(data.letters, (length,), generator=generator).tolist()
        sentences[tuple(alphabet[i] for i in drawn)] = None
    pairs = [_rearranged(words, order(len(words))) for words in sentences]
    valid, test = pairs[: data.held_out], pairs[data.held_out : 2 * data.held_out]
    vocabulary = Vocabulary(tuple(alphabet))
    return Corpus(
        train=pairs[2 * data.held_out :],
        valid=valid,
        tests={name: test},
        source_vocab=vocabulary,
        target_vocab=vocabulary,
        watched=spread_out(test, count=4, longest=25),
        licence="generated here",
    )


def _rearranged(words: tuple[str, ...], order: Sequence[int]) -> Pair:
    links = frozenset((i, j) for j, i in enumerate(order))
    return Pair(source=words, target=tuple(words[i] for i in order), sure=links, possible=links)


def spread_out(pairs: Sequence[Pair], *, count: int, longest: int) -> tuple[Pair, ...]:
    """``count`` pairs from short to long, none of more than ``longest`` words."""
    short = sorted(
        (pair for pair in pairs if max(len(pair.source), len(pair.target)) <= longest),
        key=lambda pair: (len(pair.source), pair.source),
    )
    if not short:
        return ()
    return tuple(short[(2 * i + 1) * len(short) // (2 * count)] for i in range(count))


@dataclass(frozen=True, kw_only=True)
class GrammarData:
    """The English-French grammar with gold alignments; no network, no file.

    ``drawn`` says how many sentences of which lengths. The sentence of Bahdanau's Figure 3 is
    in none of the parts: it is watched.
    """

    drawn: GrammarConfig = field(
        default_factory=lambda: GrammarConfig(sentences=60_000, valid=500, test=1_500)
    )

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        """Draw the sentences: about half a minute."""
        corpus, figure = grammar(self.drawn), classic()
        train, valid, test = (
            [pair for pair in part if pair.source != figure.source]
            for part in (corpus.train, corpus.valid, corpus.test)
        )
        return Corpus(
            train=train,
            valid=valid,
            tests={"grammar": test},
            source_vocab=Vocabulary.build((pair.source for pair in train), max_size=10_000),
            target_vocab=Vocabulary.build((pair.target for pair in train), max_size=10_000),
            watched=(figure, *spread_out(valid, count=7, longest=25)),
            credits=("Sentences derived by the grammar of this book, with their alignments",),
            licence="MIT, as the code that derives them",
        )


@dataclass(frozen=True, kw_only=True)
class LargeGrammarData:
    """All that ``GrammarData`` has, and twice as many sentences more to learn from.

    Vocabularies, validation and tests are the same to the word.
    """

    base: GrammarData = field(default_factory=GrammarData)
    more: GrammarConfig = field(
        default_factory=lambda: GrammarConfig(sentences=120_000, valid=0, test=0, seed=1)
    )

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        """Draw both: a minute and a half."""
        corpus = self.base.load()
        seen = {pair.source for pair in corpus.train} | {classic().source}
        fresh = [pair for pair in grammar(self.more).train if pair.source not in seen]
        return replace(corpus, train=corpus.train + fresh)


@dataclass(frozen=True, kw_only=True)
class ShortGrammarData:
    """Sentences of the grammar up to some length to learn from; tests of the same lengths
    (``inside``) and of half as many words again (``longer``), to see what carries over.
    """

    drawn: GrammarConfig = field(
        default_factory=lambda: GrammarConfig(sentences=60_000, valid=500, test=1_000, longest=30)
    )
    beyond: GrammarConfig = field(
        default_factory=lambda: GrammarConfig(
            sentences=0, valid=0, test=300, shortest=43, longest=47
        )
    )

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        """Draw both: about half a minute."""
        corpus = GrammarData(drawn=self.drawn).load()
        longer = grammar(self.beyond).test
        return replace(corpus, tests={"inside": corpus.test, "longer": longer})


@dataclass(frozen=True, kw_only=True)
class EverydayData:
    """Tatoeba's English-French sentences, with some of the grammar's among them.

    The grammar brings long sentences and gold alignments. Vocabularies hold the most frequent
    words of both; the rest is ``<unk>``. Tests: held-out English sentences of Tatoeba with all
    their translations, and the test sentences of the grammar.
    """

    grammar: GrammarConfig = field(
        default_factory=lambda: GrammarConfig(sentences=40_000, valid=500, test=1_500)
    )
    source_words: int = 5_000
    target_words: int = 6_500
    longest_source: int = 30
    longest_target: int = 40

    def load(self, *, tatoeba: Path | None = None) -> Corpus:
        """Read Tatoeba where ``tatoeba.find`` sees it, and draw the grammar's part."""
        everyday = tatoeba_file.load(
            tatoeba_file.find(tatoeba),
            longest_source=self.longest_source,
            longest_target=self.longest_target,
        )
        drawn = GrammarData(drawn=self.grammar).load()
        train = everyday.train + drawn.train
        return Corpus(
            train=train,
            valid=everyday.valid,
            tests={"tatoeba": everyday.test} | drawn.tests,
            source_vocab=Vocabulary.build(
                (pair.source for pair in train), max_size=self.source_words
            ),
            target_vocab=Vocabulary.build(
                (pair.target for pair in train), max_size=self.target_words
            ),
            watched=(*drawn.watched[:4], *spread_out(everyday.valid, count=4, longest=25)),
            credits=(tatoeba_file.CREDIT, *drawn.credits),
            licence=f"{tatoeba_file.LICENCE} (Tatoeba); {drawn.licence}",
            sha256={"tatoeba": everyday.sha256},
        )


def fetch(corpus: str, to: Path | None = None) -> Path:
    """Download a corpus by name; the path where it lies now."""
    if corpus != "tatoeba":
        raise CorpusError(f"there is no corpus {corpus!r} to fetch; there is tatoeba")
    return tatoeba_file.fetch(to)
