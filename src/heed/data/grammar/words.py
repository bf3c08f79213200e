"""Word objects, and the two-sided phrases made of them.

A French word knows the English words it renders. So a rule may reorder, merge, drop and move
words as French wants; positions are counted once, at the very end, and the links are exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from heed.data.grammar.lexicon import Kinds, Noun


class Word:
    """One token. ``sure`` and ``possible`` are the English words that a French word renders."""

    __slots__ = ("article", "phenomena", "possible", "sure", "text")

    def __init__(
        self,
        text: str,
        sure: Iterable["Word"] = (),
        possible: Iterable["Word"] = (),
        *phenomena: str,
        article: bool = False,
    ) -> None:
        self.text = text
        self.sure = tuple(sure)
        self.possible = tuple(possible)
        self.phenomena = phenomena
        self.article = article  # only an article contracts: « du », but « de le voir »


@dataclass(slots=True)
class Phrase:
    """English words and French words that mean the same."""

    en: list[Word] = field(default_factory=list)
    fr: list[Word] = field(default_factory=list)

    def __add__(self, other: "Phrase") -> "Phrase":
        return Phrase(self.en + other.en, self.fr + other.fr)


@dataclass(slots=True)
class NounPhrase(Phrase):
    """A noun phrase, pronoun or name, with what others must agree with."""

    feminine: bool = False
    plural: bool = False
    person: int = 3
    kinds: Kinds = frozenset()
    noun: Noun | None = None

    @property
    def agreement(self) -> str:
        """Person and number: "3s", "3p", "1s", "1p", "2p"."""
        return f"{self.person}{'p' if self.plural else 's'}"


def words(text: str) -> list[Word]:
    """English words without further ado."""
    return [Word(w) for w in text.split()]


def fixed(english: str, french: str, sure: str, possible: str = "", *phenomena: str) -> Phrase:
    """An expression learnt as a whole, its links written "0-1 1-0" (English-French)."""
    en = words(english)
    links: dict[str, dict[int, list[Word]]] = {"sure": {}, "possible": {}}
    for name, text in (("sure", sure), ("possible", possible)):
        for pair in text.split():
            i, j = pair.split("-")
            links[name].setdefault(int(j), []).append(en[int(i)])
    fr = [
        Word(w, links["sure"].get(j, ()), links["possible"].get(j, ()), *phenomena)
        for j, w in enumerate(french.split())
    ]
    return Phrase(en, fr)
