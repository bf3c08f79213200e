"""Words to numbers and back."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")


@dataclass(frozen=True)
class Vocabulary:
    """``words`` (the ordinary ones); the four specials come before them, at 0 to 3."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        twice = next((w for w, n in Counter(SPECIALS + self.words).items() if n > 1), None)
        if twice is not None:
            raise ValueError(f"the word {twice!r} stands in the vocabulary twice")

    @classmethod
    def build(
        cls, sentences: Iterable[Sequence[str]], *, max_size: int, min_count: int = 1
    ) -> "Vocabulary":
        """The most frequent words; equal counts go by spelling, so the result is always the same.

        A word of the text that is spelt like a special is left out.
        """
        counts = Counter(word for sentence in sentences for word in sentence)
        for special in SPECIALS:
            counts.pop(special, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(tuple(word for word in ranked[:max_size] if counts[word] >= min_count))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(SPECIALS + self.words)}

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def encode(self, words: Iterable[str]) -> list[int]:
        """Numbers of the words; a word that is not in the vocabulary becomes ``UNK``."""
        index = self._index
        return [index.get(word, UNK) for word in words]

    def decode(self, ids: Iterable[int]) -> list[str]:
        every = SPECIALS + self.words
        return [every[i] for i in ids]
