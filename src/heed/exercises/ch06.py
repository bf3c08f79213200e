"""Exercises of chapter 6, looking at pictures softly and hard."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _is(wanted: float | int, *, within: float = 0.006) -> Callable[[Any], bool]:
    """Whether an answer is this number, to about two digits."""
    return lambda answer: abs(float(answer) - wanted) <= within


# ------------------------------------------------------------------ 1: the floor, with a pencil

_PLACES, _WORDS = 9, 3

floor = Exercise(
    right=_is(_PLACES * (1 - _WORDS / _PLACES) ** 2),
    praise="Each place gets a third, lacks two thirds, and 9 · (2/3)² = 4. Nobody can do better.",
    otherwise="Three words hand out 3 in all, over nine places. Share it out evenly, and add up "
    "(1 − share)² over the places.",
    usual=(
        (_is(0.0), "Each place would need 1, nine in all. How much do three words hand out?"),
        (
            _is((1 - _WORDS / _PLACES) ** 2),
            "That is one place. The sum goes over nine.",
        ),
        (
            _is(_PLACES - _WORDS),
            "Did you forget the square? Or look at one place a word: six places then cost 1 each. "
            "Even shares are cheaper.",
        ),
    ),
)

# ------------------------------------------------------------------ 2: one draw's estimate

_ALPHA = (0.2, 0.5, 0.3)
_PLACE, _REWARD, _BASELINE = 1, -1.0, -3.0


def _estimated(alpha: Tensor, place: int, reward: float, baseline: float) -> Tensor:
    chosen = torch.zeros_like(alpha)
    chosen[place] = 1.0
    return (reward - baseline) * (chosen - alpha)


def _gives(wanted: Callable[[Tensor, int, float, float], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for place in range(3):
            given = torch.tensor(_ALPHA, dtype=torch.float64), place, _REWARD, _BASELINE
            found, right = answer(*given), wanted(*given)
            if found.shape != right.shape or not torch.allclose(found.double(), right):
                return False
        return True

    return test


def _by_weights(alpha: Tensor, place: int, reward: float, baseline: float) -> Tensor:
    """∂ log α_s / ∂α instead of ∂ / ∂e."""
    found = torch.zeros_like(alpha)
    found[place] = (reward - baseline) / alpha[place]
    return found


def _one_hot(alpha: Tensor, place: int, reward: float, baseline: float) -> Tensor:
    return _estimated(alpha, place, reward, baseline) + (reward - baseline) * alpha


def _silent(answer: Any) -> bool:
    return answer(torch.tensor(_ALPHA, dtype=torch.float64), _PLACE, _REWARD, _BASELINE) is None


estimate = Exercise(
    right=lambda answer: not _silent(answer) and _gives(_estimated)(answer),
    praise="The score of the place that was drawn goes up by 1 − α, all others go down by their α: "
    "if it went better than usual.",
    otherwise="log α_s = e_s − log Σ exp(e). Its derivative by e_i is 1 − α_i at the place drawn "
    "and −α_i elsewhere. Then times how much better than usual it went.",
    usual=(
        (_silent, _DOTS),
        (
            _gives(lambda a, s, r, b: _estimated(a, s, r, 0.0)),
            "And the baseline? Credit a look with what it got above the usual.",
        ),
        (
            _gives(lambda a, s, r, b: -_estimated(a, s, r, b)),
            "The sign is turned round. This is to be climbed: what went well must become likelier.",
        ),
        (
            _gives(_by_weights),
            "That is the derivative by the weights α. Asked for is that by the scores e, through "
            "the softmax.",
        ),
        (
            _gives(_one_hot),
            "You forgot that the other scores share in the sum: −α_i, at every place.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: luck, counted

_TWO_REWARDS = (10.0, 12.0)


def _variances(rewards: tuple[float, float], baseline: float) -> float:
    """Of the estimate for the first of two scores, both weights ½."""
    first, second = (
        (reward - baseline) * sign / 2 for reward, sign in zip(rewards, (1, -1), strict=True)
    )
    return ((first - second) / 2) ** 2


def _pair(*wanted: float | int) -> Callable[[Any], bool]:
    return lambda answer: (
        len(answer) == 2 and all(_is(w)(a) for w, a in zip(wanted, answer, strict=True))
    )


_WITHOUT, _WITH = _variances(_TWO_REWARDS, 0.0), _variances(_TWO_REWARDS, 11.0)

luck = Exercise(
    right=_pair(_WITHOUT, _WITH),
    praise="Without: 5 or −6, mean −½, each 5½ away. With: −½, whatever falls. All of it was luck.",
    otherwise="One draw's estimate for the first score is (reward − b)·(1 − ½) if it was drawn, "
    "and (reward − b)·(−½) if not. The variance is the mean square of what the two are away from "
    "their mean.",
    usual=(
        (_pair(_WITH, _WITHOUT), "The other way round: first without, then with."),
        (
            _pair(math.sqrt(_WITHOUT), _WITH),
            "5½ is how far each is from the mean. The variance is its square.",
        ),
        (
            _pair((5**2 + 6**2) / 2, 0.25),
            "Those are mean squares. Take the squared mean, ¼, away.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: eyes closed

closed = Exercise(
    right=lambda answer: set(answer) == {"weights", "words"},
    praise="h₀ has seen the mean of all annotations. It colours every h, so the scores and the "
    "words. Only ẑ is 0. A map can move and mean nothing.",
    otherwise="Two ways lead from the picture into the decoder. β shuts one of them.",
    usual=(
        (
            lambda answer: set(answer) == set(),
            "And where does h₀ come from?",
        ),
        (
            lambda answer: "context" in answer,
            "ẑ is β times something. With β = 0 it is 0, whatever the picture.",
        ),
        (
            lambda answer: set(answer) == {"weights"},
            "The weights, yes. But h₀ has seen the picture too, and the words come from h.",
        ),
        (
            lambda answer: set(answer) == {"words"},
            "And the scores? They compare h with annotations, and those are the picture.",
        ),
    ),
)

# ------------------------------------------------------------------ 5: who is honest

Estimate = Callable[[Tensor, int, Tensor], Tensor]
"""(scores, place drawn, reward of each place) -> what it says the gradient by the scores is."""


def _slope(scores: Tensor, place: int) -> Tensor:
    """∂ log α_place / ∂ scores."""
    return torch.eye(len(scores), dtype=scores.dtype)[place] - scores.softmax(0)


def _plain(scores: Tensor, place: int, rewards: Tensor) -> Tensor:
    return rewards[place] * _slope(scores, place)


def _constant(scores: Tensor, place: int, rewards: Tensor) -> Tensor:
    return (rewards[place] - 7.0) * _slope(scores, place)


def _expected(scores: Tensor, place: int, rewards: Tensor) -> Tensor:
    """Its baseline is made of all rewards, whichever place was drawn."""
    return (rewards[place] - scores.softmax(0) @ rewards) * _slope(scores, place)


def _sees_itself(scores: Tensor, place: int, rewards: Tensor) -> Tensor:
    """Its baseline has the reward of this very draw in it."""
    baseline = 0.9 * -2.0 + 0.1 * rewards[place]
    return (rewards[place] - baseline) * _slope(scores, place)


def _better_or_worse(scores: Tensor, place: int, rewards: Tensor) -> Tensor:
    """Only whether it went well, and not how well."""
    return torch.sign(rewards[place] + 2.0) * _slope(scores, place)


def _no_softmax(scores: Tensor, place: int, rewards: Tensor) -> Tensor:
    return rewards[place] * torch.eye(len(scores), dtype=scores.dtype)[place]


_SUSPECTS: tuple[tuple[Estimate, bool], ...] = (
    (_plain, True),
    (_constant, True),
    (_expected, True),
    (_sees_itself, False),
    (_better_or_worse, False),
    (_no_softmax, False),
)


def _judged(answer: Any) -> list[bool]:
    torch.manual_seed(0)
    found = [answer(suspect) for suspect, _ in _SUSPECTS]
    if any(each is None for each in found):
        raise TypeError("no verdict")
    return [bool(each) for each in found]


def _verdicts(*wanted: bool) -> Callable[[Any], bool]:
    return lambda answer: _judged(answer) == list(wanted)


def _says_nothing(answer: Any) -> bool:
    return answer(_plain) is None


honest = Exercise(
    right=lambda answer: (
        not _says_nothing(answer) and _judged(answer) == [innocent for _, innocent in _SUSPECTS]
    ),
    praise="Every place once, weighed by its α: a mean without luck. A baseline may be anything, "
    "as long as it does not know what was drawn.",
    otherwise="Four places are few. Ask for the estimate of each, weigh it by that place's α, add "
    "up, and hold it against the gradient of Σ α r by autograd.",
    usual=(
        (_says_nothing, _DOTS),
        (
            _verdicts(True, True, True, True, False, False),
            "One got away: its baseline has a tenth of this draw's own reward in it. It points the "
            "right way and is too short. Compare the numbers.",
        ),
        (
            _verdicts(True, False, False, False, False, False),
            "Two were convicted for having a baseline. That is allowed: the slopes of log α, "
            "weighed by α, add up to nothing.",
        ),
        (
            lambda answer: _judged(answer)[0] is False,
            "The plain one was convicted, and it is the very rule of the chapter. Did you draw "
            "places and compare? Then luck spoke. Weigh every place by its α.",
        ),
        (
            lambda answer: all(_judged(answer)),
            "Three of them are not honest. Compare with the exact gradient.",
        ),
    ),
)
