"""Exercises of chapter 2, the bottleneck."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.data.vocabulary import BOS, EOS, PAD
from heed.evaluation.decoding import greedy
from heed.layers.gru import reverse_each
from heed.models.seq2seq import Seq2Seq

_DOTS = "It returns None so far: replace the dots."


def _all(function: Callable[..., Any], cases: list[tuple[tuple, Any]]) -> bool:
    return all(function(*arguments) == answer for arguments, answer in cases)


# ------------------------------------------------------------------ 1: as wide as the paper's

width = Exercise(
    right=lambda answer: answer == 2_000,
    praise="Two layers, an h and a c in each: 4 vectors of 2,000 numbers are 8,000.",
    otherwise="Count the vectors that are handed over first. How wide must each be to make 8,000?",
    usual=(
        (
            lambda answer: answer == 4_000,
            "With 4,000 a layer you hand over twice as much: each layer gives its h and its c.",
        ),
        (
            lambda answer: answer == 8_000,
            "8,000 is all of it. It is shared out over the layers, and over h and c.",
        ),
        (
            lambda answer: answer == 1_000,
            "1,000 is the paper's width, with four layers. Ours has two.",
        ),
    ),
)

# ------------------------------------------------------------------ 2: how long a word must wait

_LAGS = [
    ((i, j, n, reverse), 2 + i + j if reverse else n + 1 + j - i)
    for n in (1, 5, 12)
    for i in (0, n - 1)
    for j in (0, 3, n)
    for reverse in (True, False)
]


def _lags(wrong: Callable[[int, int, int, bool], int]) -> Callable[[Any], bool]:
    """Whether an answer computes this instead."""
    return lambda answer: _all(answer, [(case, wrong(*case)) for case, _ in _LAGS])


lag = Exercise(
    right=lambda answer: _all(answer, _LAGS),
    praise="Forward, every word waits about as long as the sentence is; "
    "reversed, the first waits 2 steps and the last waits longest.",
    otherwise="Write down the step at which word i is read and the one at which word j is "
    "written, for a sentence of two words, and subtract.",
    usual=(
        (lambda answer: answer(0, 0, 5, False) is None, _DOTS),
        (
            _lags(lambda i, j, n, r: 1 + i + j if r else n + j - i),
            "One step too few everywhere: the encoder also reads </s>.",
        ),
        (
            _lags(lambda i, j, n, r: n + 1 + j - i if r else 2 + i + j),
            "The two cases are exchanged. Which encoder reads word 0 last?",
        ),
        (
            _lags(lambda i, j, n, r: n + 1 + j - i),
            "It does not depend on reverse yet: turned round, word i is read at step n − i.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: turn round, then pad

_SOURCE = torch.tensor(
    [[5, 6, 7, 8, EOS], [9, 10, EOS, PAD, PAD], [11, EOS, PAD, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]]
)
_LENGTHS = torch.tensor([5, 3, 2, 1])


def _gives(wrong: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given = answer(_SOURCE.clone(), _LENGTHS.clone())
        return isinstance(given, Tensor) and torch.equal(given, wrong(_SOURCE, _LENGTHS))

    return test


turn_round = Exercise(
    right=_gives(lambda source, lengths: reverse_each(source, lengths - 1)),  # type: ignore[arg-type, return-value]
    praise="Words turned, </s> still last, padding still behind it: "
    "a sentence gives the same vector alone and in a batch.",
    otherwise="Try one row by eye: [9, 10, 2, 0, 0] of length 3 must become [10, 9, 2, 0, 0].",
    usual=(
        (lambda answer: answer(_SOURCE.clone(), _LENGTHS.clone()) is None, _DOTS),
        (
            _gives(lambda source, lengths: source.flip(1)),
            "The padding stands in front now. The encoder of a short sentence would read "
            "<pad> first, and how many depends on its neighbours in the batch.",
        ),
        (
            _gives(lambda source, lengths: reverse_each(source, lengths)),  # type: ignore[arg-type, return-value]
            "</s> was turned round too, so it is read first. The length counts it: "
            "there is one word less to turn.",
        ),
        (
            _gives(lambda source, lengths: source),
            "Nothing has moved.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: write with step


def writing(model: Seq2Seq, source: Tensor, source_lengths: Tensor) -> Exercise:
    """Greedy decoding of one sentence by hand; the answer is ``write(model, encoded, limit)``."""
    right = greedy(model, source, source_lengths)[0].tokens
    limit = len(right) + 5

    def given(answer: Any) -> list[int] | None:
        with torch.no_grad():
            words = answer(model, model.encode(source, source_lengths), limit)
        return None if words is None else [int(word) for word in words]

    def stuck(first: int, *, keep_state: bool) -> list[int]:
        """What a usual slip writes: another first token, or a state that is never taken on."""
        with torch.no_grad():
            encoded = model.encode(source, source_lengths)
            state, token, words = model.start(encoded), torch.tensor([first]), []
            while len(words) < limit:
                after, out = model.step(state, token, encoded)
                token = out.logits.argmax(-1)
                if token.item() == EOS:
                    break
                words.append(int(token))
                state = after if keep_state else state
        return words

    return Exercise(
        right=lambda answer: given(answer) == right,
        praise="Word for word what heed.evaluation.decoding.greedy writes.",
        otherwise="Start from model.start(encoded) and BOS. Each step gives a new state and "
        "logits; the largest logit is the next word, and it is fed to the next step.",
        usual=(
            (lambda answer: given(answer) is None, _DOTS),
            (
                lambda answer: given(answer) == [*right, EOS],
                "Nearly: EOS says that the sentence is over; it is no word of it.",
            ),
            (
                lambda answer: (
                    (words := given(answer) or [])[: len(right) + 1] == [*right, EOS]
                    and len(words) > len(right) + 1
                ),
                "It goes on writing after EOS. Stop there.",
            ),
            (
                lambda answer: given(answer) == stuck(EOS, keep_state=True) != right,
                "The first token fed must be BOS, as it was in training; you fed EOS.",
            ),
            (
                lambda answer: given(answer) == stuck(BOS, keep_state=False) != right,
                "Every step starts from the same state. Take the new one along: "
                "state, out = model.step(state, …).",
            ),
        ),
    )


# ------------------------------------------------------------------ 5: fewer bits

_VALUES = torch.stack([torch.linspace(-1, 1, 40), torch.linspace(0, 4, 40).sqrt()], dim=1)


def _rounded(values: Tensor, bits: int) -> Tensor:
    low, high = values.amin(0), values.amax(0)
    steps = 2**bits - 1
    return low + (high - low) * torch.round((values - low) / (high - low) * steps) / steps


def _rounds(wrong: Callable[[Tensor, int], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given = [(answer(_VALUES.clone(), bits), wrong(_VALUES, bits)) for bits in (1, 2, 5)]
        return all(isinstance(g, Tensor) and torch.allclose(g, w, atol=1e-5) for g, w in given)

    return test


rounding = Exercise(
    right=_rounds(_rounded),
    praise="Now use it: how coarse may the vector get before short sentences suffer, "
    "and before long ones do?",
    otherwise="For each number (column): lowest value → 0, highest → 2**bits − 1, round, and back.",
    usual=(
        (lambda answer: answer(_VALUES.clone(), 2) is None, _DOTS),
        (
            _rounds(
                lambda values, bits: (
                    values.min()
                    + (values.max() - values.min())
                    * torch.round(
                        (values - values.min()) / (values.max() - values.min()) * (2**bits - 1)
                    )
                    / (2**bits - 1)
                )
            ),
            "One range for all numbers: a number that hardly varies gets one level only. "
            "Take lowest and highest of each column.",
        ),
        (
            lambda answer: all(
                len(answer(_VALUES.clone(), bits)[:, 0].unique()) > 2**bits for bits in (1, 2)
            ),
            "There are more than 2**bits different values in a column: it has one level too many.",
        ),
    ),
)
