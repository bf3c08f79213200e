"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.exercises import ch13

# ---------------------------------------------------------------------------- 1


def test_hidden():
    assert ch13.hidden.check((0.3 * 20 + 0.1 * 80) / 0.4)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        (14, "left a hole"),
        (50, "Not half and half"),
        (20, "nothing hidden"),
        (36.67, "even weights over all three"),
        (30, "cannot be looked at"),
        (0.75, "That is a weight"),
        ("x", "cannot be looked at"),
    ],
)
def test_hidden_hints(answer, hint):
    verdict = ch13.hidden.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def falls(score, words):
    whole = score(words)
    return [whole - score(words[:j] + words[j + 1 :]) for j in range(len(words))]


def test_leave_one_out():
    assert ch13.leave_one_out.check(falls)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda score, words: None, "returns None"),
        (lambda score, words: [-fall for fall in falls(score, words)], "other way round"),
        (
            lambda score, words: [
                score(words) - score([w for w in words if w != word]) for word in words
            ],
            "at place j",
        ),
        (
            lambda score, words: [score([word]) - score([]) for word in words],
            "without them",
        ),
        (lambda score, words: falls(score, words)[:-1], "For each place"),
        (lambda score, words: words.missing, "raised AttributeError"),
    ],
)
def test_leave_one_out_hints(answer, hint):
    verdict = ch13.leave_one_out.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 3


def test_agrees():
    assert ch13.agrees.check(lambda a, b: (a.argmax(1) == b.argmax(1)).float().mean())


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda a, b: None, "returns None"),
        (lambda a, b: (a.argmax(0) == b.argmax(0)).float().mean(), "down the columns"),
        (lambda a, b: (a.argmax(1) == b.abs().argmax(1)).float().mean(), "a gain"),
        (lambda a, b: (a.argmax(1) == b.argmax(1)).sum(), "Divide by the number"),
        (lambda a, b: 1.0, "A row is a French word"),
    ],
)
def test_agrees_hints(answer, hint):
    verdict = ch13.agrees.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 4


def along(weights, values, *, ones=True, how_far=1.0):
    sides = [values, torch.ones_like(values[:, :1])] if ones else [values]
    _, _, basis = torch.linalg.svd(torch.cat(sides, 1).T)
    direction = basis[-1]
    if direction.min() >= 0:
        direction = -direction
    most = (weights / -direction)[direction < 0].min()
    return weights + how_far * most * direction


def test_other_weights():
    assert ch13.other_weights.check(along)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda weights, values: None, "returns None"),
        (lambda weights, values: weights, "the same weights"),
        (lambda weights, values: along(weights, values, how_far=1.5), "below zero"),
        (lambda weights, values: along(weights, values, ones=False), "add up to one"),
        (lambda weights, values: weights.flip(0), "context has moved"),
        (lambda weights, values: weights[1:], "Look for a direction"),
    ],
)
def test_other_weights_hints(answer, hint):
    verdict = ch13.other_weights.check(answer)
    assert not verdict
    assert hint in verdict.message
