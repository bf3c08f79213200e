"""Translating, and counting besides what is right to the word: by length, and word by word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed.data.corpora import Data
from heed.data.pairs import Pair
from heed.evaluation.decoding import Translation, translate
from heed.evaluation.metrics import by_length, exact_match
from heed.experiments.translation import Translates, Translating, short


@dataclass(frozen=True, kw_only=True)
class TranslatesExactly(Translates):
    """As ``Translates``; its cards have two numbers more, see ``Exactly``."""

    def load(self, data: Data, places: Mapping[str, Path]) -> "Exactly":
        """The corpus of a row."""
        return Exactly(data.load(tatoeba=places.get("tatoeba")), width=self.width)


class Exactly(Translating):
    """One corpus, seen from the runner."""

    def small(self) -> "Exactly":
        """Short sentences only."""
        return Exactly(short(self.corpus), width=self.width)

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """All that ``Translating`` measures, and of the first test sentences:

        exact_match_by_length: ``exact_match`` of each bucket of source length
        words_right: see there
        """
        metrics, settings = super().evaluate(model)
        pairs = self.corpus.test
        said = translate(model, pairs, self.source_vocab, self.target_vocab, width=self.width)
        metrics["exact_match_by_length"] = {
            name: exact_match([said[i].words for i in rows], [pairs[i].accepted for i in rows])
            for name, rows in by_length(pairs).items()
        }
        metrics["words_right"] = words_right(said, pairs)
        return metrics, settings


def words_right(said: Sequence[Translation], pairs: Sequence[Pair]) -> float:
    """Share of the target's words that stand at their own place in what was written.

    The ``EOS`` counts as one, so that it costs to stop late or never. Nobody helps: after a word
    that was left out, all those behind it are wrong.
    """
    right = total = 0
    for each, pair in zip(said, pairs, strict=True):
        right += sum(a == b for a, b in zip(each.words, pair.target, strict=False))
        right += each.finished and len(each.words) == len(pair.target)
        total += len(pair.target) + 1
    return right / total
