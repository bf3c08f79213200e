"""Answers to the exercises of chapter 1: right ones, and the usual wrong ones."""

import math

import pytest
import torch

from heed.exercises import ch01
from heed.layers.patches import Nearness


@pytest.mark.parametrize(
    ("exercise", "right", "wrong"),
    [
        (ch01.coarser, 4, {3: "sum", 0.25: "1/R", 2: "level", 16: "both directions"}),
        (ch01.grey, 90, {35: "alone", 128.3: "plain mean", 165: "minus", 157.5: "add up"}),
    ],
)
def test_numbers(exercise, right, wrong):
    assert exercise.check(right)
    assert not exercise.check(...)
    for answer, hint in wrong.items():
        verdict = exercise.check(answer)
        assert not verdict
        assert hint in verdict.message
    assert exercise.otherwise in exercise.check(77).message


def looked(query, keys, temperature):
    return (-((query - keys) ** 2).mean(1) / temperature).softmax(0)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda q, k, t: None, "dots"),
        (lambda q, k, t: Nearness(t)(q[None], k)[0], "softmax"),
        (lambda q, k, t: (-((q - k) ** 2).sum(1) / t).softmax(0), "not their sum"),
        (lambda q, k, t: (((q - k) ** 2).mean(1) / t).softmax(0), "minus"),
        (lambda q, k, t: (-((q - k) ** 2).mean(1).sqrt() / t).softmax(0), "root"),
        (lambda q, k, t: (k @ q).softmax(0), "Subtract"),
    ],
)
def test_weights(answer, hint):
    assert ch01.weights.check(looked)
    verdict = ch01.weights.check(answer)
    assert not verdict
    assert hint in verdict.message


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda a, b: None, "dots"),
        (lambda a, b: (b / a).log2().mean(), "round"),
        (lambda a, b: (a / b).log().mean(), "nats"),
        (lambda a, b: (a.mean() / b.mean()).log2(), "mean first"),
        (lambda a, b: (a - b).mean(), "difference"),
        (lambda a, b: (a / b).mean(), "log₂"),
    ],
)
def test_bits(answer, hint):
    assert ch01.bits.check(lambda a, b: (a / b).log2().mean())
    assert ch01.bits.check(lambda a, b: sum(map(math.log2, (a / b).tolist())) / len(a))
    verdict = ch01.bits.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_the_apple_fools_it_and_the_ear_does_not():
    assert ch01.fool.check(10 * 16 + 12)
    for answer, hint in ((2 * 16 + 6, "nearly right"), (192, "192 patches"), (-1, "192 patches")):
        verdict = ch01.fool.check(answer)
        assert not verdict
        assert hint in verdict.message
    assert "log" not in ch01.fool.check(torch.tensor(3)).message
