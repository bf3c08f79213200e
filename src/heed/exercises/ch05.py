"""Exercises of chapter 5, reading with self-attention."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


def _is(wanted: float, *, within: float = 0.006) -> Callable[[Any], bool]:
    """Whether an answer is this number, to about two digits."""
    return lambda answer: abs(float(answer) - wanted) <= within


# ------------------------------------------------------------------ 1: one look, with a pencil

_SCORES, _MEMORIES = (math.log(2), 0.0, 0.0), (0.0, 8.0, 4.0)


def _mixed(scores: tuple[float, ...], memories: tuple[float, ...]) -> float:
    shares = [math.exp(score) for score in scores]
    return sum(s * m for s, m in zip(shares, memories, strict=True)) / sum(shares)


memory = Exercise(
    right=_is(_mixed(_SCORES, _MEMORIES)),
    praise="Shares ½, ¼, ¼, so 0 + 2 + 1. The null slot took half of the look and gave nothing.",
    otherwise="First the three shares: exp of each score, divided by the sum of all three. Then "
    "each memory by its share.",
    usual=(
        (
            _is(_mixed(_SCORES[1:], _MEMORIES[1:])),
            "You left the null slot out. It holds nothing, but its share counts.",
        ),
        (_is(8.0), "That is the largest memory. A look brings home a mixture."),
        (
            _is(sum(s * m for s, m in zip(_SCORES, _MEMORIES, strict=True))),
            "You mixed by the scores. Send them through the softmax first.",
        ),
        (_is(_mixed((0.0,) * 3, _MEMORIES)), "That is looking everywhere alike."),
    ),
)

# ------------------------------------------------------------------ 2: the look in a few lines

_NAMES = ("x", "h_tilde", "H", "C", "W_h", "W_x", "W_s", "v")


def _drawn() -> dict[str, Tensor]:
    """A word of three numbers, four slots of five, six hidden units."""
    generator = torch.Generator().manual_seed(5)
    shapes = ((3,), (5,), (4, 5), (4, 5), (6, 5), (6, 3), (6, 5), (6,))
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, shape in zip(_NAMES, shapes, strict=True)
    }


def _looked(
    x: Tensor,
    h_tilde: Tensor,
    H: Tensor,
    C: Tensor,
    W_h: Tensor,
    W_x: Tensor,
    W_s: Tensor,
    v: Tensor,
    *,
    asks: bool = True,
    own: bool = False,
) -> tuple[Tensor, Tensor]:
    """h̃_t and c̃_t. ``asks=False`` forgets the last summary, ``own`` scores C by itself."""
    question = W_x @ x + (W_s @ h_tilde if asks else 0)
    s = (torch.tanh(H @ W_h.T + question) @ v).softmax(0)
    over_c = (torch.tanh(C @ W_h.T + question) @ v).softmax(0) if own else s
    return s @ H, over_c @ C


def _gives(wanted: Callable[..., tuple[Tensor, Tensor]], **how: bool) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given = _drawn()
        found = answer(*given.values())
        return len(found) == 2 and all(
            one.shape == other.shape and torch.allclose(one, other)
            for one, other in zip(found, wanted(**given, **how), strict=True)
        )

    return test


def _swapped(**given: Any) -> tuple[Tensor, Tensor]:
    h, c = _looked(**given)
    return c, h


look = Exercise(
    right=lambda answer: answer(*_drawn().values()) is not None and _gives(_looked)(answer),
    praise="That is LSTMN.look, for one text and without its cache of W_h h_i.",
    otherwise="Three lines: the scores of all slots, their softmax, and both tapes mixed by it. "
    "Return the two mixtures, h̃ first.",
    usual=(
        (lambda answer: answer(*_drawn().values()) is None, _DOTS),
        (
            _gives(_looked, asks=False),
            "You left out W_s h_tilde: where it looked last is part of the question.",
        ),
        (
            _gives(_looked, own=True),
            "You looked at the memories by themselves. The weights found on H serve both tapes.",
        ),
        (_gives(_swapped), "Nearly: h̃ comes first, then c̃."),
        (
            lambda answer: isinstance(answer(*_drawn().values()), Tensor),
            "One vector came back. There are two tapes: return h̃ and c̃.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: how many comparisons

_WORDS = 20

comparisons = Exercise(
    right=lambda answer: int(answer) == _WORDS * (_WORDS + 1) // 2,
    praise="1 + 2 + … + 20. Twice the words, about four times the work.",
    otherwise="The first word finds one slot, the null slot. The second finds two. Add up.",
    usual=(
        (
            lambda answer: int(answer) == _WORDS * (_WORDS - 1) // 2,
            "You forgot the null slot. It is asked every time.",
        ),
        (
            lambda answer: int(answer) == _WORDS**2,
            "That is everybody asking everybody. Here nobody asks about words yet to come.",
        ),
        (
            lambda answer: int(answer) == _WORDS,
            "That is one comparison a word, as in an LSTM. The tape grows.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: forced two slots back

ancestors = Exercise(
    right=lambda answer: set(answer) == {1, 3, 5, 7},
    praise="Two LSTMs that take turns, one for the odd words and one for the even ones, and "
    "neither hears of the other.",
    otherwise="h₇ is made from word 7 and the slot it goes on from, slot 5. From what was that "
    "one made?",
    usual=(
        (
            lambda answer: set(answer) == {5, 7},
            "Slot 5 is not only word 5. It, too, went on from another slot.",
        ),
        (lambda answer: set(answer) == {1, 3, 5}, "And word 7 itself?"),
        (
            lambda answer: set(answer) == set(range(1, 8)),
            "That would be an LSTM. Where could h₇ have heard of word 6?",
        ),
        (
            lambda answer: set(answer) == {6, 7} or set(answer) == {2, 4, 6},
            "It goes on from t − 2. For word 7 that is slot 5.",
        ),
    ),
)

# ------------------------------------------------------------------ 5: who has read ahead

Read = Callable[[Tensor], Tensor]


def _keeps(x: Tensor) -> Tensor:
    """An honest reader: what it says of a word depends on that word and those before it."""
    return torch.tanh(x.cumsum(0))


def _last_wins(x: Tensor) -> Tensor:
    return x.clone()


def _next_word(x: Tensor) -> Tensor:
    return x + torch.cat([x[1:], torch.zeros_like(x[:1])])


def _only_the_end(x: Tensor) -> Tensor:
    """Honest everywhere but in its first state, which has peeked at the last word."""
    out = _keeps(x).clone()
    out[0] = out[0] + 0.1 * x[-1]
    return out


def _how_long(x: Tensor) -> Tensor:
    """Looks at no later word, but knows how many there are."""
    return _keeps(x) / len(x)


def _backwards(x: Tensor) -> Tensor:
    return torch.tanh(x.flip(0).cumsum(0).flip(0))


_READERS: tuple[tuple[Read, bool], ...] = (
    (_keeps, False),
    (_last_wins, False),
    (_next_word, True),
    (_only_the_end, True),
    (_how_long, True),
    (_backwards, True),
)


def _convicts(answer: Any) -> list[bool]:
    torch.manual_seed(0)
    found = [answer(read) for read, _ in _READERS]
    if any(each is None for each in found):
        raise TypeError("no verdict")
    return [bool(each) for each in found]


def _verdicts(*wanted: bool) -> Callable[[Any], bool]:
    return lambda answer: _convicts(answer) == list(wanted)


def _says_nothing(answer: Any) -> bool:
    return answer(_keeps) is None


peeks = Exercise(
    right=lambda answer: (
        not _says_nothing(answer) and _convicts(answer) == [guilty for _, guilty in _READERS]
    ),
    praise="Stop reading early, and an honest reader has said the same up to there. Whoever counts "
    "ahead is caught with it, too.",
    otherwise="Read a text, then read only a beginning of it. What was said about the beginning "
    "must be the same, for every beginning.",
    usual=(
        (_says_nothing, _DOTS),
        (
            _verdicts(False, False, True, True, False, True),
            "One got away: it looks at no later word, but it knows how many there are. Change "
            "how many there are.",
        ),
        (
            _verdicts(False, False, True, False, True, True),
            "One got away: it has peeked only once, from its first word to the last. Compare "
            "all the states, for all beginnings.",
        ),
        (
            _verdicts(False, False, True, False, False, True),
            "Two got away. One has peeked only once; the other looks at no word, but counts them.",
        ),
        (
            lambda answer: _convicts(answer)[:2] != [False, False],
            "An honest reader was convicted. What it says of a word may depend on that word, and "
            "on those before it.",
        ),
    ),
)
