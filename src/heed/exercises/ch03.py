"""Exercises of chapter 3, additive attention."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from heed.attention import masked_softmax
from heed.book import Exercise
from heed.scores import Additive, Cosine, Location, ScaledDot

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _near(expected: Sequence[float], *, within: float = 0.006) -> Callable[[Any], bool]:
    """Whether an answer is this list of numbers, to about two digits."""
    wanted = torch.tensor(expected, dtype=torch.float64)

    def test(answer: Any) -> bool:
        given = torch.as_tensor(answer, dtype=torch.float64)
        return given.shape == wanted.shape and bool((given - wanted).abs().max() <= within)

    return test


# ------------------------------------------------------------------ 1: a mask, with a pencil

_SCORES = torch.tensor([2.0, 1.0, 0.0])
_KEEP = torch.tensor([True, True, False])
_UNMASKED = _SCORES.softmax(0)

masked = Exercise(
    right=_near(masked_softmax(_SCORES[None], _KEEP[None])[0].tolist()),
    praise="Left out before the softmax, so the two that stay add up to one.",
    otherwise="Cross the third score out. What is the softmax of 2 and 1 alone?",
    usual=(
        (
            _near(_UNMASKED.tolist()),
            "The third place still gets something. It may not be looked at.",
        ),
        (
            _near((_UNMASKED * _KEEP).tolist()),
            "These add up to 0.91. You left the third out after the softmax; do it before.",
        ),
        (
            _near([2 / 3, 1 / 3, 0.0], within=0.003),
            "You divided the scores by their sum. The softmax divides their exponentials: "
            "e² and e¹.",
        ),
    ),
)

# ------------------------------------------------------------------ 2: the score in plain torch


def _cases() -> list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]]:
    """s, H, W, U, v with sizes that cannot be mixed up."""
    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return [
        (draw(d_q), draw(n, d_k), draw(d, d_q), draw(d, d_k), draw(d))
        for n, d_q, d_k, d in ((5, 2, 3, 7), (1, 4, 2, 3))
    ]


def _scores(wanted: Callable[..., Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for case in _cases():
            given, right = answer(*case), wanted(*case)
            if not isinstance(given, Tensor) or given.shape != right.shape:
                return False
            if not torch.allclose(given, right):
                return False
        return True

    return test


additive = Exercise(
    right=_scores(lambda s, H, W, U, v: torch.tanh(W @ s + H @ U.T) @ v),
    praise="That is Additive.compare, without its batch and its many queries.",
    otherwise="One score a key. For key h it is v · tanh(W s + U h); H has a key in each row.",
    usual=(
        (lambda answer: answer(*_cases()[0]) is None, _DOTS),
        (
            _scores(lambda s, H, W, U, v: (W @ s + H @ U.T) @ v),
            "The tanh is missing. Without it the question shifts all scores alike, and the "
            "softmax does not see it: every query would look at the same place.",
        ),
        (
            _scores(lambda s, H, W, U, v: (torch.tanh(W @ s) + torch.tanh(H @ U.T)) @ v),
            "Add first, then take one tanh of the sum. With two, the question shifts all "
            "scores alike, and the softmax does not see it.",
        ),
        (
            _scores(lambda s, H, W, U, v: (torch.tanh(W @ s + H @ U.T) @ v).softmax(0)),
            "These are weights already. The score comes before the softmax.",
        ),
        (
            _scores(lambda s, H, W, U, v: (torch.tanh(W @ s + H @ U.T) @ v)[:, None]),
            "Right numbers, one axis too many: give one number a key, of shape (n,).",
        ),
    ),
)

# ------------------------------------------------------------------ 3: an error rate by hand

error_rate = Exercise(
    right=lambda answer: abs(float(answer) - 2 / 11) < 0.006,
    praise="1 − (4 + 5) / (6 + 5): links that are only possible help what was found, and harm "
    "nothing when they are left out.",
    otherwise="Count four numbers first: |A|, |S|, |A ∩ S| and |A ∩ P|. P contains S.",
    usual=(
        (
            lambda answer: abs(float(answer) - 9 / 11) < 0.006,
            "That is how much is right. The error rate is what is missing to one.",
        ),
        (
            lambda answer: abs(float(answer) - 1 / 5) < 0.006,
            "One sure link of five was missed: that looks at S only. The wrong link counts too.",
        ),
        (
            lambda answer: abs(float(answer) - 1 / 6) < 0.006,
            "One link of six is wrong: that looks at A only. The missed sure link counts too.",
        ),
        (
            lambda answer: abs(float(answer) - 3 / 11) < 0.006,
            "You counted the possible link as wrong. It is in P, so |A ∩ P| is 5.",
        ),
        (
            lambda answer: abs(float(answer) - 6 / 11) < 0.006,
            "|A ∩ P| is 5, not 1: P contains the sure links as well.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: does it look at all?

Attend = Callable[[Tensor, Tensor], Tensor]


def _of(score: Callable[[Tensor, Tensor], Tensor]) -> Attend:
    return lambda query, keys: score(query, keys).softmax(-1)


def _last_alone(query: Tensor, keys: Tensor) -> Tensor:
    return (keys[-1, 0] * torch.arange(len(keys))).softmax(0).expand(len(query), -1)


def _suspects() -> list[tuple[str, Attend, bool]]:
    """Name, how it gets its weights, and whether they depend on the keys. Four numbers a vector."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(8)
        learnt = Additive(d_q=4, d_k=4, d_hidden=5).requires_grad_(False)
        blind = Location(d_q=4, max_keys=12).requires_grad_(False)
    return [
        ("Additive", _of(learnt), True),
        ("ScaledDot", _of(ScaledDot()), True),
        ("Cosine", _of(Cosine()), True),
        ("the last key alone", _last_alone, True),
        ("Location", _of(blind), False),
        ("everywhere alike", lambda q, k: torch.full((len(q), len(k)), 1 / len(k)), False),
    ]  # fmt: skip


def _says(name: str, wrong: bool) -> Callable[[Any], bool]:
    """Whether an answer says this of a suspect, and is right about all that come before it."""

    def test(answer: Any) -> bool:
        for suspect, attend, depends in _suspects():
            if suspect == name:
                return bool(answer(attend)) is wrong
            if bool(answer(attend)) is not depends:
                return False
        return False

    return test


looks_at_source = Exercise(
    right=lambda answer: all(bool(answer(attend)) is true for _, attend, true in _suspects()),
    praise="It convicts Location and lets the others go. Three lines, and six years of issues "
    "would not have been needed.",
    otherwise="Draw a query and keys, get the weights; draw other keys, keep the query, get "
    "them again. Are they the same?",
    usual=(
        (lambda answer: answer(_suspects()[0][1]) is None, _DOTS),
        (
            lambda answer: all(bool(answer(attend)) for _, attend, _ in _suspects()),
            "It says yes to everything, even to one that looks everywhere alike.",
        ),
        (
            _says("Location", True),
            "It says that Location looks at the keys. Did the query change as well? "
            "Keep the query and change nothing but the keys.",
        ),
        (
            _says("Cosine", False),
            "It says that Cosine does not look. Did you only make the keys longer? "
            "Cosine sees no lengths. Draw new ones.",
        ),
        (
            _says("the last key alone", False),
            "One of the suspects looks at the last key only, and you say that it looks at "
            "none. Change all keys, not one.",
        ),
    ),
)

# ------------------------------------------------------------------ 5: what moves first

moves_first = Exercise(
    right=lambda answer: set(answer) == {"v"},
    praise="W and U get their gradient through v, and v is 0. So v moves first, and only "
    "then can the other two. A slow start, built in.",
    otherwise="The score is v · tanh(W s + U h). Differentiate it by each of the three, then "
    "put v = 0.",
    usual=(
        (
            lambda answer: set(answer) == {"W", "U", "v"},
            "The derivative by W has v as a factor, and v is 0. Try it: build Additive, set v "
            "to 0, call backward, print the gradients.",
        ),
        (
            lambda answer: set(answer) == {"W", "U"},
            "The other way round: their derivatives have v as a factor, and v is 0.",
        ),
        (
            lambda answer: len(answer) == 0,
            "The derivative by v is tanh(W s + U h), and W and U are small, but not 0.",
        ),
    ),
)
