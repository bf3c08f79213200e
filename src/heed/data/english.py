"""Everyday English sentences of Tatoeba's volunteers, for language models.

They are the English side of ``heed.data.tatoeba``, each once, in the parts that it cuts. The text
is no part of this repository.
"""

from dataclasses import dataclass
from pathlib import Path

from heed.data import tatoeba as tatoeba_file
from heed.data.prose import Prose, from_short_to_long
from heed.data.text import tokenize
from heed.data.vocabulary import Vocabulary

SURVEYED = "She is eating a green apple."
"""The sentence of the survey's second figure (Weng 2018)."""

OURS = (SURVEYED, "The old man was reading a newspaper, so he did not see the dog.")
"""Watched all through training; in none of the parts."""


@dataclass(frozen=True, kw_only=True)
class EnglishData:
    """``words`` words are known, the most frequent ones; sentences have ``longest`` words at most,
    punctuation marks among them."""

    words: int = 3_000
    longest: int = 20

    def load(self, *, tatoeba: Path | None = None) -> Prose:
        """Read Tatoeba where ``tatoeba.find`` sees it: some seconds."""
        found = tatoeba_file.load(tatoeba_file.find(tatoeba), longest_source=self.longest)
        watched = [tuple(tokenize(line, "en")) for line in OURS]
        train, valid, test = (
            [words for words in dict.fromkeys(pair.source for pair in part) if words not in watched]
            for part in (found.train, found.valid, found.test)
        )
        return Prose(
            train=train,
            valid=valid,
            test=test,
            vocabulary=Vocabulary.build(train, max_size=self.words),
            watched=(*watched, *from_short_to_long(valid, count=4)),
            credits=(tatoeba_file.CREDIT,),
            licence=tatoeba_file.LICENCE,
            sha256=found.sha256,
        )
