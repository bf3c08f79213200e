"""Exercises of chapter 4, six scores."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.evaluation.leaks import Wiring, leaks
from heed.scores import Dot
from heed.viz.saturation import sharpest, sharpness

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _is(wanted: float, *, within: float = 0.006) -> Callable[[Any], bool]:
    """Whether an answer is this number, to about two digits."""
    return lambda answer: abs(float(answer) - wanted) <= within


# ------------------------------------------------------------------ 1: the bound, with a pencil

_KEYS = 10

bound = Exercise(
    right=_is(sharpest(_KEYS)),
    praise="e / (e + 9/e): the best key at cosine 1, all the others at −1. Not even half of the "
    "attention, at the best of times.",
    otherwise="Put the one key where its cosine is largest and the nine others where theirs are "
    "smallest. How small can a cosine get? Then take the softmax.",
    usual=(
        (
            _is(math.e / (math.e + 9)),
            "Your nine others have cosine 0. It can get smaller than that: they may point the "
            "other way.",
        ),
        (
            _is(math.e / (math.e + 10 / math.e)),
            "You counted ten others. The one that is looked at is one of the ten.",
        ),
        (_is(0.1), "That is looking everywhere alike. Let one key fit as well as a key can."),
        (_is(1.0), "A softmax of finite scores never gives all to one. What do the others keep?"),
    ),
)

# ------------------------------------------------------------------ 2: the strength it takes


def _beta(n: int, weight: float) -> float:
    return 0.5 * math.log((n - 1) * weight / (1 - weight))


_ASKED = ((20, 0.9), (20, 0.5), (3, 0.99), (1000, 0.9))


def _for_all(wanted: Callable[[int, float], float]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given = [(answer(n, weight), wanted(n, weight)) for n, weight in _ASKED]
        return all(each is not None and abs(float(each) - right) < 1e-4 for each, right in given)

    return test


strength = Exercise(
    right=_for_all(_beta),
    praise="β = ½ ln((n − 1) w / (1 − w)). It grows with the logarithm of n: fifty times the keys "
    "cost about two more.",
    otherwise="Solve w = e^β / (e^β + (n − 1) e^−β) for β. Divide above and below by e^β first.",
    usual=(
        (lambda answer: answer(*_ASKED[0]) is None, _DOTS),
        (
            _for_all(lambda n, weight: 2 * _beta(n, weight)),
            "Twice too much. From cosine 1 to cosine −1 it is 2, so the scores lie 2β apart.",
        ),
        (
            _for_all(lambda n, weight: math.log((n - 1) * weight / (1 - weight))),
            "Twice too much. From cosine 1 to cosine −1 it is 2, so the scores lie 2β apart.",
        ),
        (
            _for_all(lambda n, weight: 0.5 * math.log(n * weight / (1 - weight))),
            "Nearly: there are n − 1 others, not n.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: where a dot saturates

_WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
_CROWD = 100


def _first_width(above: float, keys: int) -> int:
    return next(d for d in _WIDTHS if sharpness(Dot(), d, keys=keys).largest > above)


saturates = Exercise(
    right=lambda answer: int(answer) == _first_width(0.8, _CROWD),
    praise="Five times as many keys, and twice the width is enough to make one of them nearly "
    "certain again, on numbers that mean nothing.",
    otherwise="Call sharpness(Dot(), d, keys=100) for each width of the figure and look at "
    ".largest. Which is the first above 0.8?",
    usual=(
        (
            lambda answer: int(answer) == _first_width(0.8, 20),
            "So it is with twenty keys. There are a hundred here: pass keys=100.",
        ),
        (
            lambda answer: int(answer) in (8, 16, 32),
            "That is near a half, not near 0.8: a hundred keys have more to share out.",
        ),
        (
            lambda answer: int(answer) in (256, 512),
            "It is above 0.8 there, but not for the first time.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: scaling is a temperature


def _weights(d: int, scale: float) -> tuple[Tensor, Tensor]:
    """Weights of the plain dot product on four questions, and of one that is scaled."""
    generator = torch.Generator().manual_seed(d)
    scores = torch.randn(4, 6, generator=generator, dtype=torch.float64) * scale
    return scores.softmax(-1), (scores / math.sqrt(d)).softmax(-1)


_DRAWN = [(d, *_weights(d, scale)) for d, scale in ((4, 1.0), (9, 2.0), (64, 5.0))]


def _turns(wanted: Callable[[Tensor, int], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for d, plain, _ in _DRAWN:
            given = answer(plain, d)
            if (
                given is None
                or given.shape != plain.shape
                or not torch.allclose(given, wanted(plain, d))
            ):
                return False
        return True

    return test


def _cooled(weights: Tensor, d: int) -> Tensor:
    raised = weights ** (1 / math.sqrt(d))
    return raised / raised.sum(-1, keepdim=True)


cooled = Exercise(
    right=_turns(_cooled),
    praise="Raise to the power 1/√d, then make the row add up to one. So √d adds nothing to the "
    "dot product that a temperature would not.",
    otherwise="The logarithm of a weight is its score, but for a number that the whole row shares. "
    "Divide that by √d and take the softmax again.",
    usual=(
        (lambda answer: answer(_DRAWN[0][1], 4) is None, _DOTS),
        (
            _turns(lambda weights, d: weights / math.sqrt(d)),
            "These rows add up to 1/√d. It is the scores that are divided, not the weights.",
        ),
        (
            _turns(lambda weights, d: (weights / math.sqrt(d)).softmax(-1)),
            "You took weights for scores. Which scores would have given these weights?",
        ),
        (
            _turns(lambda weights, d: weights ** (1 / math.sqrt(d))),
            "Nearly: these rows do not add up to one.",
        ),
        (
            _turns(
                lambda weights, d: weights ** (1 / d) / (weights ** (1 / d)).sum(-1, keepdim=True)
            ),
            "Too warm: you divided by d, not by its root.",
        ),
    ),
)

# ------------------------------------------------------------------ 5: read the meters

_WIRED = Wiring(padding="none", swapped=True)
reading: dict[str, float] = dict(leaks(_WIRED))
"""What the meters say of the layer in the exercise."""


def _wired(**said: Any) -> Callable[[Any], bool]:
    return lambda answer: all(getattr(answer, name) == value for name, value in said.items())


fault = Exercise(
    right=lambda answer: leaks(answer) == reading,
    praise="Rows that add up: a softmax over keys, with nothing struck out after it. Padding that "
    "gets something: no mask. Others' rows that move: swapped.",
    otherwise="One meter at a time. The rows add up to one: what does that exclude?",
    usual=(
        (
            _wired(causal=True),
            "With a causal mask no word sees those behind it, and padding stands behind. But the "
            "meter for it is not at 0.",
        ),
        (_wired(over="queries"), "Then the rows would not add up to one, and these do."),
        (
            _wired(padding="after"),
            "What is struck out after the softmax leaves rows that do not add up, and these do.",
        ),
        (_wired(padding="before"), "Then nothing would fall on padding. Something does."),
        (
            _wired(padding="none", swapped=False),
            "That explains the padding. But one word's question moves other rows, too. Whose "
            "question is asked?",
        ),
    ),
)

# ------------------------------------------------------------------ 6: the query says how strongly


def _draw() -> tuple[Tensor, Tensor, Tensor]:
    """Five queries and seven keys of four numbers, and a vector to make β from."""
    generator = torch.Generator().manual_seed(6)
    s, H, w = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((5, 4), (7, 4), (4,))
    )
    return s, H, w


def _cosines(s: Tensor, H: Tensor) -> Tensor:
    return torch.nn.functional.cosine_similarity(s[:, None], H[None], dim=-1)


def _strengths(answer: Any) -> Tensor:
    """β of each query and key, as the answer has it."""
    s, H, w = _draw()
    given = answer(s, H, w)
    if given.shape != (5, 7):
        raise ValueError(f"scores of shape {tuple(given.shape)}, not (5, 7): query × key")
    return given / _cosines(s, H)


def _one_each(strengths: Tensor) -> bool:
    return bool((strengths - strengths[:, :1]).abs().max() < 1e-6)


def _differ(strengths: Tensor) -> bool:
    return bool((strengths[1:, 0] - strengths[0, 0]).abs().max() > 1e-3)


def _right_strength(answer: Any) -> bool:
    if answer(*_draw()) is None:
        return False
    found = _strengths(answer)
    return _one_each(found) and _differ(found) and bool((found > 0).all())


says_how_strongly = Exercise(
    right=_right_strength,
    praise="Every query says how strongly it means it. That is the NTM's key strength; chapter 8 "
    "takes it up.",
    otherwise="Multiply the cosines by one positive number a query, made from that query and w.",
    usual=(
        (lambda answer: answer(*_draw()) is None, _DOTS),
        (
            lambda answer: _one_each(_strengths(answer)) and not _differ(_strengths(answer)),
            "Every query has the same strength. Make it from the query: s @ w has one number for "
            "each.",
        ),
        (
            lambda answer: _one_each(_strengths(answer)) and bool((_strengths(answer) < 0).any()),
            "Some strengths are negative: that query looks for what fits least. Send s @ w through "
            "something that is always positive.",
        ),
        (
            lambda answer: not _one_each(_strengths(answer)),
            "The strength differs from key to key. It is the query that says it, for all its keys.",
        ),
    ),
)
