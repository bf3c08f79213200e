"""Exercises of chapter 11, SNAIL."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.evaluation.bandits import gittins_indices
from heed.layers.temporal import AttentionBlock, CausalConvolution

_DOTS = "Your function returned None so far. Replace the dots."

# ------------------------------------------------------------------ 1: which dilations?

_LONGEST = 26


def _lags(dilations: Iterable[int]) -> set[int]:
    found = {0}
    for dilation in dilations:
        found |= {lag + dilation for lag in found}
    return found


def _list(wanted: Iterable[int]) -> Callable[[Any], bool]:
    return lambda answer: [int(each) for each in answer] == list(wanted)


enough = Exercise(
    right=lambda answer: sorted(int(each) for each in answer) == [1, 2, 4, 8, 16],
    praise="Five layers, and every lag from 0 to 31 is one sum of some of them. ⌈log₂ 26⌉ is 5.",
    otherwise="Take them from 1 on, each twice the one before. How far back do all of them "
    "together go? It must be 25 at least.",
    usual=(
        (
            _list((2, 4, 8, 16, 32)),
            "That is the paper's pseudocode to the letter. Which sum of these is 1?",
        ),
        (_list((2, 4, 8, 16)), "Which sum of these is 1?"),
        (_list((1, 2, 4, 8)), "Together they go 15 steps back. The first of 26 is 25 back."),
        (
            lambda answer: set(range(_LONGEST)) <= _lags(int(each) for each in answer),
            "That sees everything, and has more layers than it needs. Double each time.",
        ),
        (
            lambda answer: max(_lags(int(each) for each in answer)) >= _LONGEST - 1,
            "It goes back far enough, and leaves out steps on the way. Which sum is 1? Which is 3?",
        ),
    ),
)

# ------------------------------------------------------------------ 2: equally good so far

_KNOWN = ((1, 0), (3, 1))
"""Wins and losses of arm A and arm B."""
_LEFT = 50


def _pulled() -> str:
    a, b = (float(gittins_indices(60)[_LEFT, won, lost]) for won, lost in _KNOWN)
    return "A" if a > b else "B"


def _means(answer: Any) -> tuple[float, float]:
    return float(answer[0]), float(answer[1])


def _near(answer: Any, a: float, b: float) -> bool:
    one, other = _means(answer)
    return abs(one - a) < 0.01 and abs(other - b) < 0.01


equally_good = Exercise(
    right=lambda answer: _near(answer, 2 / 3, 2 / 3) and str(answer[2]).strip().upper() == "A",
    praise="Equal today. But A has been tried once, and may be anything; if it is good, there are "
    "49 pulls left to enjoy it. If it is bad, it costs little to find out. Greedy does not see "
    "the difference.",
    otherwise="(wins + 1) / (pulls + 2), for both; and then: which of them is less known?",
    usual=(
        (
            lambda answer: len(answer) != 3,
            "Three things: the mean of A, that of B, and the name of the arm.",
        ),
        (
            lambda answer: _near(answer, 1.0, 0.75),
            "That is wins over pulls. One win of one is no proof that an arm always pays: before "
            "the first pull every p is equally likely. (wins + 1) / (pulls + 2).",
        ),
        (
            lambda answer: _near(answer, 2 / 3, 2 / 3) and str(answer[2]).strip().upper() == "B",
            "The means are right. B is the safe one; what you learn by pulling it is little. With "
            "50 pulls left, what is it worth to learn?",
        ),
    ),
)

# ------------------------------------------------------------------ 3: a causal convolution


def _inputs() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(11)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return normal(7, 3), normal(2, 3), normal(2, 3)


def _causal(x: Tensor, past: Tensor, now: Tensor, R: int) -> Tensor:
    layer = CausalConvolution(d_input=x.shape[1], d_output=len(now), dilation=R).double()
    with torch.no_grad():
        layer.W.weight.copy_(torch.cat([past, now], dim=1))
        layer.W.bias.zero_()
        return layer(x[None])[0]


def _ahead(x: Tensor, past: Tensor, now: Tensor, R: int) -> Tensor:
    """As if the sequence ran the other way."""
    return _causal(x.flip(0), past, now, R).flip(0)


def _round(x: Tensor, past: Tensor, now: Tensor, R: int) -> Tensor:
    return x.roll(R, 0) @ past.T + x @ now.T


def _swapped(x: Tensor, past: Tensor, now: Tensor, R: int) -> Tensor:
    return _causal(x, now, past, R)


def _one_back(x: Tensor, past: Tensor, now: Tensor, R: int) -> Tensor:
    return _causal(x, past, now, 1)


def _gives(wanted: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for R in (1, 2, 4):
            given = answer(*(each.clone() for each in _inputs()), R)
            expected = wanted(*_inputs(), R)
            if given is None or given.shape != expected.shape:
                return False
            if not torch.allclose(given.double(), expected, atol=1e-6):
                return False
        return True

    return test


def _shorter(answer: Any) -> bool:
    given = answer(*_inputs(), 2)
    return given is not None and given.shape == (5, 2)


convolution = Exercise(
    right=_gives(_causal),
    praise="Zeros come before the first step, and nothing from behind the last.",
    otherwise="y_t = W_past x_{t−R} + W_now x_t, a row of x for each t; x is zeros before the "
    "first row.",
    usual=(
        (lambda answer: answer(*_inputs(), 1) is None, _DOTS),
        (
            _shorter,
            "Some steps are missing: there is an output for each step. Before the first one stand "
            "zeros.",
        ),
        (_gives(_round), "What leaves at the end comes in at the beginning. roll goes round."),
        (_gives(_ahead), "You look ahead, to t + R. That is the future."),
        (_gives(_swapped), "You gave W_past to the present and W_now to the past."),
        (_gives(_one_back), "You go back by one step each time. It is R steps."),
    ),
)

# ------------------------------------------------------------------ 4: how often by chance

_WAYS = 5


def _number(wanted: float) -> Callable[[Any], bool]:
    return lambda answer: abs(float(answer) - wanted) < 5e-3


without_a_label = Exercise(
    right=_number(1 / _WAYS),
    praise="One in five. Labels are dealt anew in each episode, so the drawing alone says nothing "
    "of its label; who cannot see the others can only guess.",
    otherwise="It sees one drawing of an unknown character. Five labels were dealt at random. What "
    "can it know?",
    usual=(
        (
            _number(1.0),
            "It would have to know which label the character got *in this episode*. Nobody told.",
        ),
        (_number(0.0), "Even who knows nothing is right now and then."),
        (_number(1 / (_WAYS + 1)), "There are five labels; the question is none of them."),
    ),
)

# ------------------------------------------------------------------ 5: who sees the future?

Block = Callable[[Tensor], Tensor]


def _attention(over: Any) -> Block:
    torch.manual_seed(5)
    block = AttentionBlock(d_input=4, d_key=3, d_value=2, over=over).double()
    return lambda x: block(x).x.detach()


def _convolution() -> Block:
    torch.manual_seed(5)
    layer = CausalConvolution(d_input=4, d_output=3, dilation=2).double()
    return lambda x: layer(x).detach()


def _centred() -> Block:
    """A convolution as libraries pad it by themselves: as much on the right as on the left."""
    torch.manual_seed(5)
    layer = torch.nn.Conv1d(4, 3, 3, padding=1).double()
    return lambda x: layer(x.mT).mT.detach()


def _suspects() -> list[tuple[str, Block, bool]]:
    """Name, block, and whether an output depends on a later input."""
    return [
        ("attention over keys", _attention("keys"), False),
        ("attention over queries", _attention("queries"), True),
        ("a causal convolution", _convolution(), False),
        ("a centred convolution", _centred(), True),
    ]


def _judge(answer: Any) -> list[tuple[str, bool, bool]]:
    return [(name, bool(answer(block)), ahead) for name, block, ahead in _suspects()]


def _wrong_about(word: str) -> Callable[[Any], bool]:
    return lambda answer: any(
        word in name and given != ahead for name, given, ahead in _judge(answer)
    )


sees_the_future = Exercise(
    right=lambda answer: all(given == ahead for _, given, ahead in _judge(answer)),
    praise="Change the end, look at the beginning. The mask was there in both attentions, and one "
    "of them looked ahead all the same: its softmax summed over what was still to come.",
    otherwise="Give the block some x of shape (1, steps, 4). Change the last step only. Does any "
    "output before the last step change?",
    usual=(
        (lambda answer: answer(_suspects()[0][1]) is None, _DOTS),
        (
            lambda answer: len({given for _, given, _ in _judge(answer)}) == 1,
            "You say the same of all of them. The output of the step that you changed may change; "
            "leave it out.",
        ),
        (
            _wrong_about("over queries"),
            "You were taken in by the softmax over queries. Its weights are 0 for later steps, and "
            "yet a later step changes them. Compare outputs, not weights' zeros.",
        ),
        (
            _wrong_about("centred"),
            "You were taken in by the centred convolution. It looks one step ahead: look at the "
            "last step but one.",
        ),
    ),
)
