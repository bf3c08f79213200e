"""Exercises of chapter 7, global and local."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from heed.attention import masked_softmax
from heed.book import Exercise
from heed.layers.local import gaussian
from heed.masks import window

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _near(wanted: Sequence[float | int], *, within: float | int = 0.006) -> Callable[[Any], bool]:
    """Whether an answer is this list of numbers, to about two digits."""
    expected = torch.tensor(wanted, dtype=torch.float64)

    def test(answer: Any) -> bool:
        given = torch.as_tensor(answer, dtype=torch.float64)
        return given.shape == expected.shape and bool((given - expected).abs().max() <= within)

    return test


# ------------------------------------------------------------------ 1: a window, with a pencil


def _pencil(sigma: float | int) -> list[float]:
    """Five words around place 2, all with the same score, seen through D = 1."""
    away = torch.arange(5.0) - 2
    inside = away.abs() <= 1
    return (inside / inside.sum() * torch.exp(-(away**2) / (2 * sigma**2))).tolist()


_PENCIL = _pencil(0.5)

pencil = Exercise(
    right=_near(_PENCIL),
    praise="A third each, and then the hill takes from the two beside. What is left does not sum "
    "to one, and nobody divides again.",
    otherwise="Two steps. Which words are inside, and what would they get from a softmax? Then "
    "multiply each by the Gaussian: 1 at the place, exp(−1 / 2σ²) one word away, σ = D / 2.",
    usual=(
        (
            _near([each / sum(_PENCIL) for each in _PENCIL]),
            "These sum to one. The paper multiplies and leaves it at that.",
        ),
        (_near(_pencil(1.0)), "You took σ = D. It is D / 2."),
        (
            _near([3 * each for each in _PENCIL]),
            "That is the Gaussian alone. The softmax inside the window has given a third to each.",
        ),
        (
            _near([0.2 * 3 * each for each in _PENCIL]),
            "Your softmax ran over all five. It runs over the window alone.",
        ),
        (_near([0, 1 / 3, 1 / 3, 1 / 3, 0]), "That is local-m. Now the Gaussian."),
    ),
)

# ------------------------------------------------------------------ 2: local-p in plain torch


def _local(
    scores: Tensor,
    place: float | int,
    D: float | int,
    S: int,
    *,
    sigma: float | int = 0.5,
    whole: bool = False,
    padded: bool = False,
    again: bool = False,
) -> Tensor:
    """Weights of one query; the options are what goes wrong."""
    at = torch.tensor([place], dtype=scores.dtype)
    keys = torch.arange(len(scores))
    inside = window(at, D, len(scores))[0]
    keep = torch.ones_like(inside) if padded else keys < S
    align = masked_softmax(scores[None], (keep if whole else keep & inside)[None])[0]
    weights = align * gaussian(at, sigma * D, len(scores))[0] * inside
    return weights / weights.sum() if again else weights


_SCORES = torch.randn(9, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
_ASKED = ((_SCORES, 3.4, 2, 9), (_SCORES, 5.7, 2, 7), (_SCORES, 0.2, 3, 9))


def _as(**wrong: Any) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for case in _ASKED:
            given = answer(*case)
            if given is None or not torch.allclose(given, _local(*case, **wrong), atol=1e-6):
                return False
        return True

    return test


local_p = Exercise(
    right=_as(),
    praise="Mask, softmax, Gaussian, and no more. Padding and everything beyond D get exactly 0.",
    otherwise="Fill the scores outside the window, and from S on, with −∞. Take the softmax. Then "
    "multiply by exp(−(s − p)² / 2σ²) with σ = D / 2. Places count from 0.",
    usual=(
        (lambda answer: answer(*_ASKED[0]) is None, _DOTS),
        (_as(again=True), "You divided by the sum at the end. The paper does not."),
        (_as(sigma=1.0), "You took σ = D. It is D / 2."),
        (
            _as(padded=True),
            "Right while there is no padding. The scores from place S on belong to no word.",
        ),
        (
            _as(whole=True),
            "Your softmax ran over the whole sentence, and the window came after it. Words that "
            "may not be looked at have taken their share.",
        ),
        (
            lambda answer: bool(answer(*_ASKED[0]).isnan().any()),
            "There is a NaN in it. A softmax in which all scores are −∞ has nothing to divide by.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: what local-m still gets

LETTERS, REACH = 12, 3


def _reached(radius: float | int) -> set[int]:
    return {t for t in range(LETTERS) if abs((LETTERS - 1 - t) - t) <= radius}


def _set(wanted: Iterable[int]) -> Callable[[Any], bool]:
    return lambda answer: {int(each) for each in answer} == set(wanted)


reached = Exercise(
    right=_set(_reached(REACH)),
    praise="The letter for step t lies at 11 − t, and |11 − 2t| ≤ 3 leaves the middle. The two "
    "diagonals cross there and nowhere else.",
    otherwise="Step t must write the letter at place 11 − t. The window is centred at t. For which "
    "t is the one within 3 of the other?",
    usual=(
        (
            _set({t + 1 for t in _reached(REACH)}),
            "These are counted from 1. Our steps and places count from 0.",
        ),
        (
            _set(range(LETTERS // 2 - REACH, LETTERS // 2 + REACH)),
            "The step and the letter walk towards each other, one word each. The distance between "
            "them shrinks by two a step.",
        ),
        (_set(_reached(1)), "That would be D = 1."),
        (_set(range(LETTERS)), "Then local-m would not fail. Where is the letter of step 0?"),
    ),
)

# ------------------------------------------------------------------ 4: who learns without a hill


def _names(*wanted: str) -> Callable[[Any], bool]:
    return lambda answer: {str(each) for each in answer} == set(wanted)


without_hill = Exercise(
    right=_names("W_a", "W_c"),
    praise="A window's edge moves by whole words. Between two jumps the loss does not know about "
    "p_t at all, so W_p and v_p stand still.",
    otherwise="Where does p_t enter? In a comparison, |s − p_t| ≤ D, and nowhere else once the "
    "Gaussian is gone. What is the derivative of a comparison?",
    usual=(
        (
            _names("W_a", "W_c", "W_p", "v_p"),
            "All four stand in the forward pass. But a mask is true or false; nothing flows back "
            "through it.",
        ),
        (_names("W_p", "v_p"), "The other way round: those are the two that need the Gaussian."),
        (_names("W_c"), "W_c does. And the scores inside the window, are they not differentiable?"),
    ),
)

# ------------------------------------------------------------------ 5: whose length is S?

Places = Callable[[Tensor, Tensor, int], Tensor]


def _suspects() -> list[tuple[str, Places, bool]]:
    """Name, place(h, lengths, width), and whether padding moves it."""

    def part(h: Tensor) -> Tensor:
        return torch.sigmoid(h.sum(-1))

    return [
        ("takes each sentence's length", lambda h, lengths, width: lengths * part(h), False),
        ("takes the width of the batch", lambda h, lengths, width: width * part(h), True),
        (
            "takes the longest sentence's length",
            lambda h, lengths, width: lengths.max() * part(h),
            True,
        ),
        ("is as the authors' code has it", lambda h, lengths, width: 1 + (lengths - 1) * part(h),
         False),
        (
            "takes the width, but only if somebody is padded",
            lambda h, lengths, width: (
                (width if bool((lengths < width).any()) else lengths) * part(h)
            ),
            True,
        ),
    ]  # fmt: skip


def _judge(answer: Any) -> list[tuple[str, bool, bool]]:
    return [(name, bool(answer(place)), moved) for name, place, moved in _suspects()]


def _fooled_by(word: str) -> Callable[[Any], bool]:
    return lambda answer: any(
        word in name and said != moved for name, said, moved in _judge(answer)
    )


depends_on_padding = Exercise(
    right=lambda answer: all(said == moved for _, said, moved in _judge(answer)),
    praise="A sentence must get the same places alone and in company. That one test finds all of "
    "them.",
    otherwise="Ask for the places of a short sentence twice: alone, unpadded, and beside a long "
    "one in a wide batch. Does its row stay the same?",
    usual=(
        (
            lambda answer: answer(_suspects()[0][1]) is None,
            _DOTS,
        ),
        (
            _fooled_by("longest"),
            "You were taken in by the one that asks its neighbours: its S is the longest "
            "sentence's. Change the company, not only the width.",
        ),
        (
            _fooled_by("only if"),
            "One of them behaves as long as nobody is padded. Compare with the sentence alone.",
        ),
        (
            _fooled_by("authors"),
            "You accused an innocent one. S − 1 times a share, plus one, is each sentence's own "
            "affair.",
        ),
    ),
)
