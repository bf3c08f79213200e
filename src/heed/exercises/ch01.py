"""Exercises of chapter 1, looking."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.data.parlour import PATCH, parlour
from heed.layers.patches import Nearness, Patches, cut, error, even, guess

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _is(wanted: float | int, *, within: float = 0.006) -> Callable[[Any], bool]:
    return lambda answer: abs(float(answer) - wanted) <= within


# ------------------------------------------------------------------ 1: how coarse, with a pencil

HALF, AWAY = 20, 60
"""e₂ and e, in pixels."""

coarser = Exercise(
    right=_is(1 + AWAY / HALF),
    praise="R = 20 / (20 + 60) = ¼, so a detail must be four times as large. That is level 2: two "
    "doublings.",
    otherwise="R = e₂ / (e₂ + e) says how fine the eye sees there. A detail must be 1/R times as "
    "large.",
    usual=(
        (_is(AWAY / HALF), "You divided e by e₂. R has the sum e₂ + e under the line."),
        (_is(HALF / (HALF + AWAY)), "That is R itself. The question is how much larger: 1/R."),
        (_is(math.log2(1 + AWAY / HALF)), "That is the level. Each level doubles the size."),
        (_is((1 + AWAY / HALF) ** 2), "That is the saving in pixels, in both directions at once."),
    ),
)

# ------------------------------------------------------------------ 2: a guess, with a pencil

TAU = 0.01
_UNLIKE, _GREYS = (0.0, TAU * math.log(2), TAU * math.log(4)), (35.0, 140.0, 210.0)


def _mixed(scores: tuple[float, ...]) -> float:
    raised = [math.exp(score) for score in scores]
    return sum(r * g for r, g in zip(raised, _GREYS, strict=True)) / sum(raised)


_SCORES = tuple(-each / TAU for each in _UNLIKE)

grey = Exercise(
    right=_is(_mixed(_SCORES), within=0.5),
    praise="Scores 0, −ln 2, −ln 4; shares 4/7, 2/7, 1/7; so 20 + 40 + 30.",
    otherwise="Score: minus the difference, divided by τ. Then e to each, divided by the sum of "
    "all three. Then each grey by its share.",
    usual=(
        (_is(_GREYS[0], within=0.5), "That is the most similar one alone. The others have a say."),
        (_is(sum(_GREYS) / 3, within=0.5), "That is the plain mean. The rings are not all alike."),
        (
            _is(_mixed(tuple(-score for score in _SCORES)), within=0.5),
            "The least similar ring had the most to say. Mind the minus.",
        ),
        (
            _is(sum(math.exp(s) * g for s, g in zip(_SCORES, _GREYS, strict=True)), within=0.5),
            "Your shares do not add up to one. Divide by their sum.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: the weights in a few lines


def _drawn() -> tuple[Tensor, Tensor, float]:
    generator = torch.Generator().manual_seed(1)
    query = torch.rand(12, generator=generator, dtype=torch.float64)
    keys = torch.rand(5, 12, generator=generator, dtype=torch.float64)
    return query, keys, 0.05


def _weights(*, mean: bool = True, minus: bool = True, root: bool = False) -> Tensor:
    """What the look gives; the options are what goes wrong."""
    query, keys, temperature = _drawn()
    unlike = (query - keys) ** 2
    unlike = unlike.mean(1) if mean else unlike.sum(1)
    unlike = unlike.sqrt() if root else unlike
    return ((-unlike if minus else unlike) / temperature).softmax(0)


def _gives(wanted: Callable[[], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given = answer(*_drawn())
        return (
            given is not None
            and given.shape == (5,)
            and torch.allclose(given.double(), wanted(), atol=1e-6)
        )

    return test


def _scores() -> Tensor:
    query, keys, temperature = _drawn()
    return Nearness(temperature)(query[None], keys)[0]


weights = Exercise(
    right=_gives(_weights),
    praise="The same as the package's Attention(Nearness(τ)). That was your first attention.",
    otherwise="Subtract the query from each key, square, take the mean over each row. Divide minus "
    "that by the temperature. The softmax makes shares of it.",
    usual=(
        (lambda answer: answer(*_drawn()) is None, _DOTS),
        (_gives(_scores), "Those are the scores. A softmax makes them positive, with sum one."),
        (_gives(lambda: _weights(mean=False)), "Take the mean of the squares, not their sum."),
        (
            _gives(lambda: _weights(minus=False)),
            "The least similar key got the most. Mind the minus.",
        ),
        (_gives(lambda: _weights(root=True)), "No root: the mean of the squares as it is."),
    ),
)

# ------------------------------------------------------------------ 4: how many bits?

_WITH, _WITHOUT = (0.2, 0.1, 0.4), (0.05, 0.05, 0.05)


def _bits(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    pairs = zip(one, other, strict=True)
    return sum(math.log2(a / b) for a, b in pairs) / len(one)


def _says(wanted: float) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given = answer(torch.tensor(_WITH), torch.tensor(_WITHOUT))
        return given is not None and abs(float(given) - wanted) < 1e-4

    return test


bits = Exercise(
    right=_says(_bits(_WITH, _WITHOUT)),
    praise="Twice as likely is one bit, four times two, eight times three: two on average.",
    otherwise="Divide, frame by frame, then log₂, then the mean.",
    usual=(
        (lambda answer: answer(torch.tensor(_WITH), torch.tensor(_WITHOUT)) is None, _DOTS),
        (_says(-_bits(_WITH, _WITHOUT)), "Turned round: how much *more* likely after the verb?"),
        (_says(math.log(2) * _bits(_WITH, _WITHOUT)), "Those are nats. Bits come from log₂."),
        (
            _says(math.log2(sum(_WITH) / sum(_WITHOUT))),
            "You took the mean first. One frame with a large probability then hides the others.",
        ),
        (
            _says(sum(_WITH) / 3 - sum(_WITHOUT) / 3),
            "That is a difference. How many times as likely?",
        ),
    ),
)

# ------------------------------------------------------------------ 5: fool it


@cache
def _patches() -> Patches:
    return cut(parlour().double() / 255, size=PATCH)


def _errors(number: int) -> tuple[float, float]:
    """Of the guess, and of looking everywhere alike."""
    truth = _patches().contents[number]
    found = guess(_patches(), number).content
    return float(error(found, truth)), float(error(even(_patches(), number), truth))


WORSE = 30
"""255ths by which the guess must be worse."""


def _fooled(answer: Any) -> bool:
    mine, alike = _errors(int(answer))
    return mine >= alike + WORSE


fool = Exercise(
    right=_fooled,
    praise="It is sure, and wrong. What surrounds the patch says nothing of what is in it, and who "
    "looks at nothing in particular does better.",
    otherwise=f"There the guess is not worse by {WORSE}. Which things stand in surroundings that "
    "are elsewhere, too, without the thing?",
    usual=(
        (
            lambda answer: not 0 <= int(answer) < _patches().count,
            "There are 192 patches, numbered from 0, row by row.",
        ),
        (
            lambda answer: _errors(int(answer))[0] < 20,
            "There it is nearly right. Look for something that is in the picture only once.",
        ),
    ),
)
