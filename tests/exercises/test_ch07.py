"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import math

import pytest
import torch

from heed.exercises import ch07

# ---------------------------------------------------------------------------- 1

THIRD = 1 / 3
RIGHT = [0, THIRD * 0.135, THIRD, THIRD * 0.135, 0]


def test_pencil():
    assert ch07.pencil.check(RIGHT)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ([each / sum(RIGHT) for each in RIGHT], "leaves it at that"),
        ([0, THIRD * math.exp(-0.5), THIRD, THIRD * math.exp(-0.5), 0], "It is D / 2"),
        ([0, 0.135, 1, 0.135, 0], "Gaussian alone"),
        ([0, 0.2 * 0.135, 0.2, 0.2 * 0.135, 0], "over all five"),
        ([0, THIRD, THIRD, THIRD, 0], "That is local-m"),
        ([0.2] * 5, "Two steps"),
        ([1.0], "Two steps"),
    ],
)
def test_pencil_hints(answer, hint):
    verdict = ch07.pencil.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def local_p(scores, place, D, S, *, sigma=0.5, whole=False, padded=False, again=False):
    s = torch.arange(len(scores))
    near = (s - place).abs() <= D
    real = s < (len(scores) if padded else S)
    align = scores.masked_fill(~(real if whole else real & near), -torch.inf).softmax(0)
    weights = align * torch.exp(-((s - place) ** 2) / (2 * (sigma * D) ** 2)) * near
    return weights / weights.sum() if again else weights


def test_local_p():
    assert ch07.local_p.check(local_p)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"again": True}, "divided by the sum"),
        ({"sigma": 1.0}, "It is D / 2"),
        ({"padded": True}, "belong to no word"),
        ({"whole": True}, "over the whole sentence"),
        ({"sigma": 3.0}, "Fill the scores outside"),
    ],
)
def test_local_p_hints(wrong, hint):
    verdict = ch07.local_p.check(lambda *case: local_p(*case, **wrong))
    assert not verdict
    assert hint in verdict.message


def test_local_p_says_what_is_missing_and_what_broke():
    assert "None so far" in ch07.local_p.check(lambda scores, place, D, S: None).message
    assert "NaN" in ch07.local_p.check(lambda scores, *_: scores * torch.nan).message
    assert "raised" in ch07.local_p.check(lambda *_: 1 / 0).message


# ---------------------------------------------------------------------------- 3


def test_reached():
    assert ch07.reached.check({4, 5, 6, 7})
    assert ch07.reached.check([7, 6, 5, 4])


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ({5, 6, 7, 8}, "counted from 1"),
        (range(3, 9), "by two a step"),
        ({5, 6}, "D = 1"),
        (range(12), "local-m would not fail"),
        ({0}, "The window is centred at t"),
    ],
)
def test_reached_hints(answer, hint):
    verdict = ch07.reached.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 4


def test_without_hill():
    assert ch07.without_hill.check({"W_a", "W_c"})


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ({"W_a", "W_c", "W_p", "v_p"}, "nothing flows back"),
        ({"W_p", "v_p"}, "The other way round"),
        ({"W_c"}, "inside the window"),
        ({"W_a"}, "derivative of a comparison"),
    ],
)
def test_without_hill_hints(answer, hint):
    verdict = ch07.without_hill.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 5


def padding_moves(place):
    h = torch.randn(2, 4)
    alone = place(h[:1], torch.tensor([5]), 5)
    beside = place(h, torch.tensor([5, 9]), 12)
    return not torch.allclose(alone[0], beside[0])


def wider_only(place):
    h, lengths = torch.randn(2, 4), torch.tensor([5, 9])
    return not torch.allclose(place(h, lengths, 9), place(h, lengths, 12))


def test_padding_moves():
    assert ch07.depends_on_padding.check(padding_moves)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda place: None, "None so far"),
        (wider_only, "the one that asks its neighbours"),
        (lambda place: True, "You accused an innocent one"),
    ],
)
def test_padding_moves_hints(answer, hint):
    verdict = ch07.depends_on_padding.check(answer)
    assert not verdict
    assert hint in verdict.message
