"""From word objects to a ``Pair``: contraction, elision, a/an, and links as positions."""

from itertools import pairwise
from sys import intern

from heed.data.grammar.morphology import opens_with_vowel, takes_an
from heed.data.grammar.words import Phrase, Word
from heed.data.pairs import Link, Pair

_CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}
_ELIDING = frozenset(["le", "la", "de", "ne", "que", "se", "je", "me"])


def contract(fr: list[Word]) -> list[Word]:
    """« de le ministre » → « du ministre »; but « de l'accord », and « de le voir »."""
    out: list[Word] = []
    for k, word in enumerate(fr):
        if word.article and out:
            merged = _CONTRACTIONS.get((out[-1].text, word.text))
            vowel_follows = k + 1 < len(fr) and opens_with_vowel(fr[k + 1].text)
            if merged and not (word.text == "le" and vowel_follows):
                first = out.pop()
                named = () if "partitive" in first.phenomena else ("contraction",)
                word = Word(
                    merged,
                    first.sure or word.sure,
                    first.sure + first.possible + word.sure + word.possible,
                    *first.phenomena,
                    *word.phenomena,
                    *named,
                )
        out.append(word)
    return out


def elide(fr: list[Word]) -> None:
    """« le accord » → « l' accord », « si il » → « s' il », in place."""
    for word, following in pairwise(fr):
        text = word.text
        if (text in _ELIDING and opens_with_vowel(following.text)) or (
            text == "si" and following.text in ("il", "ils")
        ):
            word.text = text[:-1] + "'"
            word.phenomena += ("elision",)


def surface(phrase: Phrase) -> Pair:
    """The finished pair of sentences with its links and phenomena."""
    en, fr = phrase.en, contract(phrase.fr)
    elide(fr)
    for word, following in pairwise(en):
        if word.text == "a" and takes_an(following.text):
            word.text = "an"
    place = {id(word): i for i, word in enumerate(en)}
    sure: set[Link] = set()
    possible: set[Link] = set()
    phenomena: dict[str, set[Link]] = {}
    for j, word in enumerate(fr):
        surely = [(place[id(w)], j) for w in word.sure]
        links = surely + [(place[id(w)], j) for w in word.possible]
        sure.update(surely)
        possible.update(links)
        for name in word.phenomena:
            phenomena.setdefault(name, set()).update(links)
    return Pair(
        source=tuple([intern(w.text) for w in en]),
        target=tuple([intern(w.text) for w in fr]),
        sure=frozenset(sure),
        possible=frozenset(possible),
        phenomena={name: frozenset(links) for name, links in sorted(phenomena.items())},
        tags=frozenset(phenomena),
    )
