"""Exercises of chapter 13, one sentence through the years."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _near(wanted: float) -> Callable[[Any], bool]:
    return lambda answer: abs(float(answer) - wanted) <= 0.006


# ------------------------------------------------------------------ 1: hide a word, with a pencil

WEIGHTS, VALUES = (0.6, 0.3, 0.1), (10.0, 20.0, 80.0)


def _mixed(weights: Sequence[float]) -> float:
    return sum(a * v for a, v in zip(weights, VALUES, strict=True))


hidden = Exercise(
    right=_near(_mixed((0.0, 0.75, 0.25))),
    praise="The two that are left share the whole look, in their old proportion of 3 to 1. It "
    "comes home with 35 instead of 20.",
    otherwise="The first word cannot be looked at. Whatever the scores of the others were, their "
    "softmax adds up to one, and 0.3 is to 0.1 as before.",
    usual=(
        (
            _near(_mixed((0.0, 0.3, 0.1))),
            "You left a hole: 0.3 and 0.1 add up to 0.4. The mask comes before the softmax, so "
            "what is left adds up to one.",
        ),
        (_near(_mixed((0.0, 0.5, 0.5))), "Not half and half: one score is still larger."),
        (_near(_mixed(WEIGHTS)), "That is the look with nothing hidden."),
        (_near(_mixed((1 / 3, 1 / 3, 1 / 3))), "Those are even weights over all three."),
        (_near(0.75), "That is a weight. What does the look bring home?"),
    ),
)


# ------------------------------------------------------------------ 2: leave one out

_WORTH = {"the": 0.25, "cat": 2.0, "sleeps": 4.0, ".": 0.5}
SENTENCES = (("the", "cat", "sleeps", "."), ("cat", "cat", "."), ("sleeps",))


def score(words: Sequence[str]) -> float:
    """A stand-in for log p of the right word: it knows some words, and that they come in order."""
    pairs = sum(a == "the" and b == "cat" for a, b in pairwise(words))
    return sum(_WORTH.get(word, 0.0) for word in words) + 3.0 * pairs - 10.0


def _falls(words: Sequence[str], *, sign: int = 1, every: bool = False) -> list[float]:
    def without(j: int) -> list[str]:
        if every:
            return [word for word in words if word != words[j]]
        return [*words[:j], *words[j + 1 :]]

    return [sign * (score(words) - score(without(j))) for j in range(len(words))]


def _leaves(**options: Any) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        said = [answer(score, list(words)) for words in SENTENCES]
        if any(each is None for each in said):
            return False
        given = [list(each) for each in said]
        wanted = [_falls(words, **options) for words in SENTENCES]
        return [len(each) for each in given] == [len(each) for each in wanted] and all(
            math.isclose(a, b, abs_tol=1e-6)
            for mine, own in zip(given, wanted, strict=True)
            for a, b in zip(mine, own, strict=True)
        )

    return test


def _answers(answer: Any) -> list[float]:
    return list(answer(score, list(SENTENCES[0])))


leave_one_out = Exercise(
    right=_leaves(),
    praise="In this stand-in, “the” is worth 3.25 before “cat”, though by itself it is worth "
    "0.25. What a word is worth depends on who else is there.",
    otherwise="For each place j: the words before j and those behind it, without j. How much less "
    "is their score than that of the whole sentence?",
    usual=(
        (lambda answer: answer(score, list(SENTENCES[0])) is None, _DOTS),
        (_leaves(sign=-1), "The other way round: a fall is what was there minus what is left."),
        (
            _leaves(every=True),
            "One sentence has a word twice. Leave out the one at place j, not all that look "
            "like it.",
        ),
        (
            lambda answer: _answers(answer) == [_WORTH[word] for word in SENTENCES[0]],
            "You scored words by themselves. Score the sentence without them.",
        ),
    ),
)


# ------------------------------------------------------------------ 3: does the map agree?

_MAP = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.4, 0.5, 0.1], [0.3, 0.3, 0.4]])
_FALLS = torch.tensor([[6.0, 1.0, 0.0], [0.5, 3.0, 0.2], [0.1, 9.0, 0.3], [-1.0, -2.0, -0.5]])


def _share(map_: Tensor, falls: Tensor, *, dim: int = -1, absolute: bool = False) -> float:
    cost = falls.abs() if absolute else falls
    return float((map_.argmax(dim) == cost.argmax(dim)).float().mean())


def _agreed(**options: Any) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for a, b in ((_MAP, _FALLS), (_MAP[:2], _FALLS[:2])):
            said = answer(a, b)
            if said is None or not math.isclose(float(said), _share(a, b, **options), abs_tol=1e-5):
                return False
        return True

    return test


agrees = Exercise(
    right=_agreed(),
    praise="Rows that agree, divided by rows. The fourth agrees although no removal there costs "
    "anything: the best of the bad counts, too.",
    otherwise="A row is a French word. Where is its largest weight, where its largest fall? The "
    "share of rows in which that is the same place.",
    usual=(
        (lambda answer: answer(_MAP, _FALLS) is None, _DOTS),
        (_agreed(dim=0), "You went down the columns. A row is a French word."),
        (
            _agreed(absolute=True),
            "A fall below zero is a gain: without that English word the French one got "
            "likelier. Do not turn it round.",
        ),
        (
            lambda answer: float(answer(_MAP, _FALLS)) == _share(_MAP, _FALLS) * len(_MAP),
            "That is how many rows agree. Divide by the number of rows.",
        ),
    ),
)


# ------------------------------------------------------------------ 4: other weights, same context

LEAST = 0.05
"""How far, in total variation, other weights must be from the first."""


def _cases() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(13)
    found = []
    for keys, width in ((4, 1), (5, 2), (7, 3)):
        raw = torch.rand(keys, generator=generator, dtype=torch.float64) + 0.5
        values = torch.randn(keys, width, generator=generator, dtype=torch.float64)
        found.append((raw / raw.sum(), values))
    return found


def _given(answer: Any) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The cases with what is said to each; none of those to which nothing is said."""
    said = [(a, v, answer(a.clone(), v.clone())) for a, v in _cases()]
    return [
        (a, v, torch.as_tensor(other, dtype=torch.float64))
        for a, v, other in said
        if other is not None
    ]


def _all(test: Callable[[Tensor, Tensor, Tensor], bool]) -> Callable[[Any], bool]:
    return lambda answer: all(test(*each) for each in _given(answer))


def _some(test: Callable[[Tensor, Tensor, Tensor], bool]) -> Callable[[Any], bool]:
    return lambda answer: any(test(*each) for each in _given(answer))


def _is_look(own: Tensor, _: Tensor, other: Tensor) -> bool:
    return (
        other.shape == own.shape
        and bool((other >= -1e-9).all())
        and abs(float(other.sum()) - 1) < 1e-6
    )


def _same_context(own: Tensor, values: Tensor, other: Tensor) -> bool:
    return torch.allclose(other @ values, own @ values, atol=1e-6)


def _far(own: Tensor, _: Tensor, other: Tensor) -> bool:
    return float((own - other).abs().sum()) / 2 >= LEAST


other_weights = Exercise(
    right=lambda answer: (
        len(_given(answer)) == len(_cases())
        and all(_is_look(*e) and _same_context(*e) and _far(*e) for e in _given(answer))
    ),
    praise="Other weights, the same context, and so the same word. Of a sentence longer than a "
    "context is wide there are always such. The network's own widths are larger than its "
    "sentences are long; there you would have to search.",
    otherwise="Look for a direction d with Σ d = 0 and dᵀV = 0, and go along it as far as no "
    "weight gets below zero.",
    usual=(
        (lambda answer: answer(*_cases()[0]) is None, _DOTS),
        (
            _all(lambda own, values, other: not _far(own, values, other)),
            "Those are (nearly) the same weights. Go further.",
        ),
        (
            _some(lambda own, values, other: bool((other < -1e-9).any())),
            "A weight below zero is none. Do not go that far.",
        ),
        (
            _some(
                lambda own, values, other: (
                    other.shape == own.shape and abs(float(other.sum()) - 1) >= 1e-6
                )
            ),
            "They do not add up to one. The direction must have Σ d = 0: put a column of ones "
            "beside V.",
        ),
        (
            _some(lambda own, values, other: not _same_context(own, values, other)),
            "The context has moved. The direction must be orthogonal to every column of V.",
        ),
    ),
)
