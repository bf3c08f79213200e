"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.exercises import ch11


def verdict_of(exercise, answer):
    verdict = exercise.check(answer)
    assert not verdict
    return verdict.message


# ---------------------------------------------------------------------------- 1


def test_enough():
    assert ch11.enough.check([1, 2, 4, 8, 16])
    assert ch11.enough.check([16, 8, 4, 2, 1])


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ([2, 4, 8, 16, 32], "to the letter"),
        ([2, 4, 8, 16], "Which sum of these is 1?"),
        ([1, 2, 4, 8], "15 steps back"),
        ([1] * 25, "more layers than it needs"),
        ([1, 8, 16], "leaves out steps"),
        ([1, 2], "from 1 on"),
    ],
)
def test_enough_hints(answer, hint):
    assert hint in verdict_of(ch11.enough, answer)


# ---------------------------------------------------------------------------- 2


def test_equally_good():
    assert ch11._pulled() == "A"
    assert ch11.equally_good.check((2 / 3, 4 / 6, "A"))
    assert ch11.equally_good.check((0.667, 0.667, " a"))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ((2 / 3, 2 / 3), "Three things"),
        ((1.0, 0.75, "A"), "wins over pulls"),
        ((2 / 3, 2 / 3, "B"), "The means are right"),
        ((0.5, 0.5, "A"), "less known"),
    ],
)
def test_equally_good_hints(answer, hint):
    assert hint in verdict_of(ch11.equally_good, answer)


# ---------------------------------------------------------------------------- 3


def padded(x, past, now, R):
    before = torch.cat([torch.zeros(R, x.shape[1], dtype=x.dtype), x])[: len(x)]
    return before @ past.T + x @ now.T


def test_convolution():
    assert ch11.convolution.check(padded)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda x, past, now, R: None, "None so far"),
        (lambda x, past, now, R: x[:-R] @ past.T + x[R:] @ now.T, "Some steps are missing"),
        (lambda x, past, now, R: x.roll(R, 0) @ past.T + x @ now.T, "roll goes round"),
        (
            lambda x, past, now, R: padded(x.flip(0), past, now, R).flip(0),
            "That is the future",
        ),
        (lambda x, past, now, R: padded(x, now, past, R), "W_past to the present"),
        (lambda x, past, now, R: padded(x, past, now, 1), "by one step each time"),
        (lambda x, past, now, R: x @ now.T, "zeros before the first row"),
        (lambda x, past, now, R: 1 / 0, "raised"),
    ],
)
def test_convolution_hints(answer, hint):
    assert hint in verdict_of(ch11.convolution, answer)


# ---------------------------------------------------------------------------- 4


def test_without_a_label():
    assert ch11.without_a_label.check(0.2)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        (1.0, "in this episode"),
        (0.0, "now and then"),
        (1 / 6, "none of them"),
        (0.5, "What can it know?"),
    ],
)
def test_without_a_label_hints(answer, hint):
    assert hint in verdict_of(ch11.without_a_label, answer)


# ---------------------------------------------------------------------------- 5


def tries(*, last=1, steps=6):
    """Change the last step and compare what comes out before it."""

    def answer(block):
        x = torch.arange(4.0 * steps, dtype=torch.float64).sin().reshape(1, steps, 4)
        other = x.clone()
        other[:, -1] += 1
        return not torch.equal(block(x)[:, : steps - last], block(other)[:, : steps - last])

    return answer


def test_sees_the_future():
    assert ch11.sees_the_future.check(tries())


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda block: None, "None so far"),
        (tries(last=0), "the same of all"),
        (tries(last=2), "centred convolution"),
        (lambda block: 1 / 0, "raised"),
    ],
)
def test_sees_the_future_hints(answer, hint):
    assert hint in verdict_of(ch11.sees_the_future, answer)


def test_whoever_is_taken_in_by_the_mask_is_told_so():
    calls = iter([False, False, False, True] * 20)
    by_order = {}

    def by_weights(block):
        # The same verdict for a block however often it is asked.
        key = tuple(block(torch.ones(1, 3, 4, dtype=torch.float64)).flatten().tolist())
        return by_order.setdefault(key, next(calls))

    assert "softmax over queries" in verdict_of(ch11.sees_the_future, by_weights)


def test_the_suspects_are_what_they_are_said_to_be():
    for name, block, ahead in ch11._suspects():
        assert tries()(block) == ahead, name
