"""Exercises of chapter 12, pixels that look at each other."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.data.twins import HALF, TwinData, paint

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _is(wanted: float | int, *, within: float = 0.006) -> Callable[[Any], bool]:
    """Whether an answer is this number, to about two digits."""
    return lambda answer: abs(float(answer) - wanted) <= within


# ------------------------------------------------------------------ 1: how far it sees


def _seen(layers: int, *, kernel: int = 4, stride: int = 2) -> int:
    """Pixels in a row that a place has seen after so many convolutions."""
    seen, step = 1, 1
    for _ in range(layers):
        seen, step = seen + (kernel - 1) * step, step * stride
    return seen


seen = Exercise(
    right=_is(_seen(4)),
    praise="22 and three steps more, and after three layers a step is 8 pixels long. Now a place "
    "would see nearly the whole picture, and both things in it.",
    otherwise="Two places side by side are 2 pixels apart after one layer, 4 after two, 8 after "
    "three. A fourth layer sees four such places in a row.",
    usual=(
        (_is(2 * _seen(3)), "Twice 22? Four places overlap. Add three steps to the first one."),
        (_is(4 * _seen(3)), "Four times 22? The four places overlap. They are 8 pixels apart."),
        (_is(_seen(3) + 3), "Three steps more, yes. How long is a step after three layers?"),
        (
            _is(_seen(3) + 4 * 8),
            "Four places in a row have three gaps between them.",
        ),
        (_is(_seen(3)), "That is what three layers see."),
    ),
)

# ------------------------------------------------------------------ 2: who looks where

_PIXELS = torch.tensor([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0], [1.0, 1.0, -1.0], [0.5, 0.0, 2.0]])
_W_F = torch.tensor([[1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
_W_G = torch.tensor([[0.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
"""Four pixels of three channels, and two channels for keys and queries."""


def _looks(x: Tensor, w_f: Tensor, w_g: Tensor) -> Tensor:
    return ((x @ w_g.T) @ (x @ w_f.T).T).softmax(dim=1)


def _gives(wanted: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        found, right = answer(_PIXELS, _W_F, _W_G), wanted(_PIXELS, _W_F, _W_G)
        return found.shape == right.shape and torch.allclose(found, right, atol=1e-5)

    return test


def _silent(answer: Any) -> bool:
    return answer(_PIXELS, _W_F, _W_G) is None


looks = Exercise(
    right=lambda answer: not _silent(answer) and _gives(_looks)(answer),
    praise="Row j is one look, and it adds up to 1.",
    otherwise="s[i, j] = f(x_i) · g(x_j). Softmax over i, the pixel that is looked at; and hand "
    "back weights[j, i], so that each row is a look.",
    usual=(
        (_silent, _DOTS),
        (
            _gives(lambda x, f, g: ((x @ g.T) @ (x @ f.T).T).softmax(dim=0)),
            "Your columns add up to 1. Then pixels compete for being looked *from*. A row is a "
            "look, and it is the row that must add up.",
        ),
        (
            _gives(lambda x, f, g: _looks(x, f, g).T),
            "The right numbers, lying on their side: weights[j, i], who looks comes first.",
        ),
        (
            _gives(lambda x, f, g: _looks(x, g, f)),
            "f and g are exchanged. f is of the pixel that is looked at, g of the one that looks.",
        ),
        (
            _gives(lambda x, f, g: ((x @ g.T) @ (x @ f.T).T / len(f) ** 0.5).softmax(dim=1)),
            "Divided by √d. That is the Transformer. This paper does not do it.",
        ),
        (
            _gives(lambda x, f, g: (x @ g.T) @ (x @ f.T).T),
            "These are the scores. The softmax is missing.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: the very first step

_PARTS = {"f", "g", "h", "gamma"}

first_step = Exercise(
    right=lambda answer: set(answer) == {"gamma"},
    praise="Whatever comes from o is multiplied by γ, on the way back too. So the door moves "
    "first, to whichever side o happens to be of use at, and only then do f, g and h learn.",
    otherwise="y = γ o + x, and γ = 0. What is ∂y/∂γ? And what stands in front of ∂o/∂W?",
    usual=(
        (
            lambda answer: set(answer) == _PARTS,
            "All four? The gradient of f, g and h comes through o, and o is multiplied by γ.",
        ),
        (
            lambda answer: set(answer) == set(),
            "Then it would stay 0 for ever. ∂y/∂γ is o, and o is not 0.",
        ),
        (
            lambda answer: set(answer) == {"f", "g", "h"},
            "The other way round. ∂y/∂γ = o; and ∂y/∂W = γ ∂o/∂W.",
        ),
        (
            lambda answer: set(answer) == {"gamma", "h"},
            "h is in the sum o as well, and all of o is multiplied by γ.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: the hinge, with a pencil

_REAL, _DRAWN = (2.0, 0.5), (-0.3, -2.0)


def _hinges(real: tuple[float, ...], drawn: tuple[float, ...]) -> tuple[float, float]:
    """L_D and L_G of some scores."""
    judge = sum(max(0.0, 1 - s) for s in real) / len(real)
    judge += sum(max(0.0, 1 + s) for s in drawn) / len(drawn)
    return judge, -sum(drawn) / len(drawn)


def _pair(*wanted: float | int) -> Callable[[Any], bool]:
    return lambda answer: (
        len(answer) == 2 and all(_is(w)(a) for w, a in zip(wanted, answer, strict=True))
    )


_JUDGE, _DRAWER = _hinges(_REAL, _DRAWN)

hinges = Exercise(
    right=_pair(_JUDGE, _DRAWER),
    praise="Of four pictures only two teach D anything: the 0.5 and the −0.3. For G there is no "
    "hinge; the −2 pulls as hard as the rest.",
    otherwise="L_D: the mean of max(0, 1 − s) over the real ones, and of max(0, 1 + s) over the "
    "drawn ones. L_G: the mean of −s over the drawn ones.",
    usual=(
        (
            _pair((-1 + 0.5) / 2 + (0.7 - 1) / 2, _DRAWER),
            "Without the hinge. Nothing below 0 is paid out.",
        ),
        (_pair(2 * _JUDGE, 2 * _DRAWER), "These are sums. Take means."),
        (_pair(2 * _JUDGE, _DRAWER), "The first is a sum. Take means, of each kind by itself."),
        (_pair(_JUDGE / 2, _DRAWER), "Two means, of each kind by itself, are added up."),
        (_pair(_JUDGE, -_DRAWER), "G goes down its loss, and wants scores to go up."),
        (
            _pair(_JUDGE, (0.7 + 0) / 2),
            "G has no hinge: it is −s, however bad the picture is.",
        ),
        (_pair(_DRAWER, _JUDGE), "The other way round: first D, then G."),
    ),
)

# ------------------------------------------------------------------ 5: forgers

Judge = Callable[[Tensor], Tensor]
"""Pictures -> a score each: what it thinks of the left half, plus what it thinks of the right."""


def _crowd() -> Tensor:
    """Twelve twins on one ground."""
    generator = torch.Generator().manual_seed(7)
    return paint(TwinData().things(12, generator), torch.full((12, 3), 0.96)).float() / 255


def _blind(seed: int) -> Judge:
    """Some judge that sees no two halves at once."""
    generator = torch.Generator().manual_seed(seed)
    first, second = (torch.randn(2, 3 * 32 * HALF, 8, generator=generator) / 30).unbind(0)

    def judge(pictures: Tensor) -> Tensor:
        left, right = (half.flatten(1) for half in pictures.split(HALF, dim=-1))
        return (torch.tanh(left @ first) + torch.tanh(right @ second)).sum(dim=1)

    return judge


def _forged(answer: Any) -> tuple[Tensor, Any]:
    """A crowd, and what the forger makes of it."""
    real = _crowd()
    return real, answer(real.clone())


def _fools(answer: Any) -> bool:
    """Whether no judge that is blind to pairs sees a difference on average."""
    real, forged = _forged(answer)
    return forged.shape == real.shape and all(
        torch.allclose(judge(forged).mean(), judge(real).mean(), atol=1e-4)
        for judge in map(_blind, range(4))
    )


def _kept(answer: Any) -> int:
    """How many pictures are still a left half with its own right half."""
    real, forged = _forged(answer)
    return int((forged[:, None] == real[None]).flatten(2).all(dim=2).any(dim=1).sum())


forge = Exercise(
    right=lambda answer: _forged(answer)[1] is not None and _fools(answer) and not _kept(answer),
    praise="Every half is real, and no pair is. A judge that adds up what it thinks of the two "
    "halves gives your crowd the very same average. Only who sees both at once can tell.",
    otherwise="On average the judges see a difference. They know every left half and every right "
    "half of the real crowd: all of these must be there, each once, and each on its own side.",
    usual=(
        (lambda answer: _forged(answer)[1] is None, _DOTS),
        (
            lambda answer: _fools(answer) and _kept(answer) == 12,
            "These are the twins themselves. The crowd may be in another order; its pairs must "
            "be new.",
        ),
        (
            lambda answer: _fools(answer) and _kept(answer) > 0,
            "It fools them, but some pictures are still the real ones. A random order may leave "
            "some right half where it was. Shift by one instead.",
        ),
        (
            lambda answer: torch.equal(_forged(answer)[1], _crowd().flip(-1)),
            "Mirror images are still twins, and a judge of left halves now sees right ones.",
        ),
        (
            lambda answer: _forged(answer)[1].shape != _crowd().shape,
            "Hand back as many pictures, of the same size.",
        ),
    ),
)
