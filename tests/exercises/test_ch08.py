"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch
import torch.nn.functional as F

from heed.exercises import ch08
from heed.layers.addressing import Aim
from heed.models.ntm import Commands, MemoryState

# ---------------------------------------------------------------------------- 1


def test_half_written():
    assert ch08.half_written.check([1.25, 0.0])


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ([1.0, 0.0], "rubbed all of it out"),
        ([2.25, 1.0], "added all of a"),
        ([2.0, 1.0], "a head with w = 1"),
        ([1.5, 0.0], "rubbed nothing out"),
        ([0.75, 0.0], "added first"),
        ([0.5, -1.0], "Number by number"),
        ([1.25], "Number by number"),
    ],
)
def test_half_written_hints(answer, hint):
    verdict = ch08.half_written.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def turned(w, s, *, way=1, edge=False, middle=None):
    reach, out = len(s) // 2 if middle is None else middle, torch.zeros_like(w)
    for j in range(len(w)):
        for k in range(len(s)):
            to = j + way * (k - reach)
            if 0 <= to < len(w) or not edge:
                out[to % len(w)] += w[j] * s[k]
    return out


def test_round_the_ring():
    assert ch08.round_the_ring.check(turned)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"way": -1}, "the other way"),
        ({"edge": True}, "fall off its ends"),
        ({"middle": 0}, "s[0] for s(0)"),
        ({"middle": 2}, "For each slot i"),
    ],
)
def test_round_the_ring_hints(wrong, hint):
    verdict = ch08.round_the_ring.check(lambda w, s: turned(w, s, **wrong))
    assert not verdict
    assert hint in verdict.message


def test_round_the_ring_says_what_is_missing_and_what_broke():
    assert "None so far" in ch08.round_the_ring.check(lambda w, s: None).message
    assert "raised" in ch08.round_the_ring.check(lambda w, s: 1 / 0).message


# ---------------------------------------------------------------------------- 3


def test_full():
    assert ch08.full.check({0, 1})


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ({128, 129}, "goes round the ring, too"),
        ({0, 1, 128, 129}, "Half of that"),
        ({1, 2}, "counted from 1"),
        (set(range(130)), "written once only"),
        (set(), "Two vectors"),
        ({5}, "back on slot 0"),
    ],
)
def test_full_hints(answer, hint):
    verdict = ch08.full.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 4


def test_backwards():
    assert ch08.backwards.check(lambda n: [(False, 0)] + [(False, -1)] * (n - 1))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda n: None, "None so far"),
        (lambda n: [(False, -1)] * (n + 1), "as many moves as vectors"),
        (lambda n: [(False, -2)] * n, "one slot a step"),
        (lambda n: [(k == 0, int(k > 0)) for k in range(n)], "order they came in"),
        (lambda n: [(False, -1)] * n, "before the first look"),
        (lambda n: [(False, 0)] * n, "Each step first moves"),
        (lambda n: 1 / 0, "raised"),
    ],
)
def test_backwards_hints(answer, hint):
    verdict = ch08.backwards.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 5


def asks(*, erase=0.0, compare=False, steps=1):
    """Add ones on slot 0 and look; the options are what goes wrong."""

    def answer(machine):
        here = F.one_hot(torch.zeros(1, 1, dtype=torch.long), 4).float()
        state = MemoryState(torch.zeros(1, 4, 2), torch.zeros(1, 1, 2), here, here)
        one, stay = torch.ones(1, 1), torch.tensor([[[0.0, 1.0, 0.0]]])
        aim = Aim(torch.zeros(1, 1, 2), one, 0 * one, stay, one)
        ones = torch.ones(1, 1, 2)
        for _ in range(steps):
            state = machine(state, Commands(aim, aim, erase * ones, ones))
        if compare:
            return torch.equal(state.reads[0, 0], state.memory[0, 0])
        return bool(state.reads.abs().sum() > 0.5)

    return answer


def test_reads_its_own_writing():
    assert ch08.reads_its_own_writing.check(asks())


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda machine: None, "None so far"),
        (asks(erase=1.0), "Leave e at 0"),
        (asks(compare=True), "keeps nothing"),
        (lambda machine: True, "the same of all"),
        (lambda machine: not asks()(machine), "keeps nothing"),
        (lambda machine: 1 / 0, "raised"),
    ],
)
def test_reads_its_own_writing_hints(answer, hint):
    verdict = ch08.reads_its_own_writing.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_the_suspects_are_what_they_are_said_to_be():
    for name, machine, fresh in ch08._suspects():
        assert asks()(machine) == fresh, name
