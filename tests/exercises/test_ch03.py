"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.exercises import ch03
from heed.scores import Additive

# ---------------------------------------------------------------------------- 1


def test_masked():
    assert ch03.masked.check([0.73, 0.27, 0])
    assert ch03.masked.check([*torch.tensor([2.0, 1.0]).softmax(0).tolist(), 0.0])


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ([0.67, 0.24, 0.09], "still gets something"),
        ([0.67, 0.24, 0.0], "after the softmax"),
        ([0.667, 0.333, 0.0], "by their sum"),
        ([0.5, 0.5, 0.0], "Cross the third"),
        ([0.73, 0.27], "Cross the third"),
        ("what", "Cross the third"),
    ],
)
def test_masked_hints(answer, hint):
    verdict = ch03.masked.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def additive(s, H, W, U, v):
    return torch.tanh(W @ s + H @ U.T) @ v


def one_by_one(s, H, W, U, v):
    return torch.stack([v @ torch.tanh(W @ s + U @ h) for h in H])


@pytest.mark.parametrize("solution", [additive, one_by_one])
def test_additive(solution):
    assert ch03.additive.check(solution)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda *_: None, "None so far"),
        (lambda s, H, W, U, v: (W @ s + H @ U.T) @ v, "tanh is missing"),
        (lambda s, H, W, U, v: (torch.tanh(W @ s) + torch.tanh(H @ U.T)) @ v, "one tanh"),
        (lambda *case: additive(*case).softmax(0), "weights already"),
        (lambda *case: additive(*case)[:, None], "one axis too many"),
        (lambda s, H, W, U, v: torch.tanh(W @ s - H @ U.T) @ v, "One score a key"),
        (lambda s, H, W, U, v: W @ H, "RuntimeError"),
    ],
)
def test_additive_hints(answer, hint):
    verdict = ch03.additive.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_additive_is_the_class():
    from heed.exercises.ch03 import _cases

    for s, H, W, U, v in _cases():
        score = Additive(d_q=len(s), d_k=H.shape[1], d_hidden=len(v)).double()
        score.W.weight.data, score.U.weight.data, score.v.weight.data = W, U, v[None]
        torch.testing.assert_close(score(s[None], H)[0], additive(s, H, W, U, v))


# ---------------------------------------------------------------------------- 3


def test_error_rate():
    from heed.evaluation.metrics import alignment_error_rate

    sure = {(i, i) for i in range(5)}
    found = {(0, 0), (1, 1), (2, 2), (3, 3), (5, 4), (6, 5)}
    measured = alignment_error_rate([found], [sure], [sure | {(5, 4)}])
    assert ch03.error_rate.check(measured)
    assert ch03.error_rate.check(0.18)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (9 / 11, "how much is right"),
        (0.2, "S only"),
        (1 / 6, "A only"),
        (3 / 11, "counted the possible"),
        (6 / 11, "P contains the sure"),
        (0.5, "Count four numbers"),
    ],
)
def test_error_rate_hints(answer, hint):
    verdict = ch03.error_rate.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 4


def looks_at_source(attend):
    query, keys, others = torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 4)
    return not torch.allclose(attend(query, keys), attend(query, others))


def changing(query=False, scale=False, first=False):
    def answer(attend):
        q, k = torch.randn(1, 4), torch.randn(6, 4)
        others = torch.randn(6, 4)
        if scale:
            others = 2 * k
        if first:
            others = torch.cat([torch.randn(1, 4), k[1:]])
        return not torch.allclose(attend(q, k), attend(torch.randn(1, 4) if query else q, others))

    return answer


def test_looks_at_source():
    assert ch03.looks_at_source.check(looks_at_source)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda attend: None, "None so far"),
        (changing(query=True), "Did the query change"),
        (changing(scale=True), "only make the keys longer"),
        (changing(first=True), "Change all keys"),
        (lambda attend: True, "yes to everything"),
        (lambda attend: False, "Draw a query"),
    ],
)
def test_looks_at_source_hints(answer, hint):
    verdict = ch03.looks_at_source.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 5


def test_moves_first():
    assert ch03.moves_first.check({"v"})
    score = Additive(d_q=3, d_k=3, d_hidden=4)
    torch.nn.init.zeros_(score.v.weight)
    weights = score(torch.randn(2, 3), torch.randn(5, 3)).softmax(-1)
    (weights * torch.randn_like(weights)).sum().backward()
    moved = {name for name in "WUv" if getattr(score, name).weight.grad.abs().max() > 0}
    assert ch03.moves_first.check(moved)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ({"W", "U", "v"}, "v as a factor"),
        ({"W", "U"}, "other way round"),
        (set(), "small, but not 0"),
        ({"U"}, "Differentiate"),
    ],
)
def test_moves_first_hints(answer, hint):
    verdict = ch03.moves_first.check(answer)
    assert not verdict
    assert hint in verdict.message
