"""Sentences of Python documentation, for language models: they lie in ``data/prose``."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heed.data.text import tokenize
from heed.data.vocabulary import Vocabulary

PROSE = Path(__file__).resolve().parents[3] / "data" / "prose" / "sentences.txt"
CREDITS = (
    "Python standard library, © 2001-2023 Python Software Foundation",
    "NumPy, © NumPy Developers",
    "SciPy, © Enthought, SciPy Developers",
    "scikit-learn, © the scikit-learn developers",
)
LICENCE = "PSF-2.0 (Python), BSD-3-Clause (NumPy, SciPy, scikit-learn); see data/prose/SOURCE.md"

OURS = (
    "Return the name of the file that was opened by the caller.",
    "If the key is not in the dictionary, the default value is returned instead of the key.",
)
"""Watched all through training; in none of the parts."""

Sentence = tuple[str, ...]


class ProseError(ValueError):
    """The sentences are not there, or not text."""


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Sentences to learn from, to check on, to be tested with, as words.

    watched: a few fixed sentences that are looked at all through training
    sha256: fingerprint of the file that they were read from
    """

    train: list[Sentence]
    valid: list[Sentence]
    test: list[Sentence]
    vocabulary: Vocabulary
    watched: tuple[Sentence, ...]
    credits: tuple[str, ...]
    licence: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class ProseData:
    """``words`` words are known, the most frequent ones; ``held_out`` sentences each for
    validation and test, drawn with ``seed``. No sentence is in two of the parts."""

    words: int = 3_000
    held_out: int = 800
    seed: int = 0

    def load(self, path: Path = PROSE) -> Prose:
        """Read and cut the sentences: about a second."""
        try:
            content = path.read_bytes()
            lines = content.decode("utf-8").splitlines()
        except FileNotFoundError:
            raise ProseError(f"there is no {path}; it is part of the repository") from None
        except UnicodeDecodeError:
            raise ProseError(f"{path} is not UTF-8 text") from None
        watched = [tuple(tokenize(line, "en")) for line in OURS]
        cut = (tuple(tokenize(line, "en")) for line in lines)
        sentences = [words for words in dict.fromkeys(cut) if words and words not in watched]
        if len(sentences) <= 2 * self.held_out:
            raise ProseError(
                f"{len(sentences)} sentences in {path} leave none to learn from "
                f"when 2 × {self.held_out} are held out"
            )
        random.Random(self.seed).shuffle(sentences)
        valid, test = sentences[: self.held_out], sentences[self.held_out : 2 * self.held_out]
        train = sentences[2 * self.held_out :]
        return Prose(
            train=train,
            valid=valid,
            test=test,
            vocabulary=Vocabulary.build(train, max_size=self.words),
            watched=(*watched, *from_short_to_long(valid, count=4)),
            credits=CREDITS,
            licence=LICENCE,
            sha256=hashlib.sha256(content).hexdigest(),
        )


def from_short_to_long(sentences: Sequence[Sentence], *, count: int) -> tuple[Sentence, ...]:
    """``count`` of the sentences, evenly over the lengths there are."""
    ordered = sorted(sentences, key=lambda words: (len(words), words))
    return tuple(ordered[(2 * i + 1) * len(ordered) // (2 * count)] for i in range(count))
