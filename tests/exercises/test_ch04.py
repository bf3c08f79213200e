"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import math

import pytest
import torch
from torch.nn.functional import cosine_similarity, softplus

from heed.evaluation.leaks import Wiring
from heed.exercises import ch04

# ---------------------------------------------------------------------------- 1


def test_bound():
    assert ch04.bound.check(2.72 / (2.72 + 9 / 2.72))
    assert ch04.bound.check(0.45)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        (0.232, "point the other way"),
        (0.425, "one of the ten"),
        (0.1, "everywhere alike"),
        (1.0, "never gives all to one"),
        (0.3, "How small can a cosine get"),
    ],
)
def test_bound_hints(answer, hint):
    verdict = ch04.bound.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def strength(n, w):
    return math.log((n - 1) * w / (1 - w)) / 2


def test_strength():
    assert ch04.strength.check(strength)


def test_strength_puts_the_bound_where_it_should_be():
    from heed.viz.saturation import sharpest

    assert sharpest(20, strength(20, 0.9)) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda n, w: None, "None so far"),
        (lambda n, w: 2 * strength(n, w), "Twice too much"),
        (lambda n, w: math.log(n * w / (1 - w)) / 2, "n − 1 others"),
        (lambda n, w: n * w, "Solve w ="),
    ],
)
def test_strength_hints(answer, hint):
    verdict = ch04.strength.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 3


def test_saturates():
    assert ch04.saturates.check(128)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (64, "pass keys=100"),
        (8, "near a half"),
        (16, "near a half"),
        (32, "near a half"),
        (256, "not for the first time"),
        (512, "not for the first time"),
        (2, "Call"),
    ],
)
def test_saturates_hints(answer, hint):
    verdict = ch04.saturates.check(answer)
    assert not verdict
    assert hint in verdict.message


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_which_width_saturates_does_not_hang_on_the_draw(seed):
    from heed.scores import Dot
    from heed.viz.saturation import sharpness

    narrow, wide = (sharpness(Dot(), d, keys=100, seed=seed).largest for d in (64, 128))
    assert narrow < 0.8 < wide
    narrow, wide = (sharpness(Dot(), d, seed=seed).largest for d in (32, 64))
    assert narrow < 0.8 < wide  # with twenty keys, as the first hint supposes


# ---------------------------------------------------------------------------- 4


def test_cooled():
    assert ch04.cooled.check(lambda weights, d: (weights.log() / math.sqrt(d)).softmax(-1))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda w, d: None, "None so far"),
        (lambda w, d: w / math.sqrt(d), "not the weights"),
        (lambda w, d: (w / math.sqrt(d)).softmax(-1), "weights for scores"),
        (lambda w, d: w ** (1 / math.sqrt(d)), "do not add up"),
        (lambda w, d: (w.log() / d).softmax(-1), "Too warm"),
        (lambda w, d: w, "logarithm of a weight"),
    ],
)
def test_cooled_hints(answer, hint):
    verdict = ch04.cooled.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 5


def test_fault():
    assert ch04.fault.check(Wiring(padding="none", swapped=True))


def test_only_one_wiring_reads_like_that():
    from itertools import product

    wirings = [
        Wiring(padding=padding, causal=causal, over=over, swapped=swapped)
        for padding, causal, over, swapped in product(
            ("before", "after", "none"), (True, False), ("keys", "queries"), (True, False)
        )
    ]
    assert sum(bool(ch04.fault.check(each)) for each in wirings) == 1


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (Wiring(padding="none"), "Whose question"),
        (Wiring(swapped=True), "fall on padding"),
        (Wiring(padding="after", swapped=True), "after the softmax"),
        (Wiring(over="queries", padding="none"), "add up to one"),
        (Wiring(causal=True, padding="none", swapped=True), "causal mask"),
        ("swapped", "One meter at a time"),
    ],
)
def test_fault_hints(answer, hint):
    verdict = ch04.fault.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 6


def cosines(s, H):
    return cosine_similarity(s[:, None], H[None], dim=-1)


@pytest.mark.parametrize("positive", [softplus, torch.exp, lambda x: 1 + x**2])
def test_says_how_strongly(positive):
    assert ch04.says_how_strongly.check(lambda s, H, w: positive(s @ w)[:, None] * cosines(s, H))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda s, H, w: None, "None so far"),
        (lambda s, H, w: 3 * cosines(s, H), "same strength"),
        (lambda s, H, w: (s @ w)[:, None] * cosines(s, H), "negative"),
        (lambda s, H, w: softplus(H @ w)[None] * cosines(s, H), "from key to key"),
        (lambda s, H, w: softplus(s @ w), "ValueError"),
    ],
)
def test_says_how_strongly_hints(answer, hint):
    verdict = ch04.says_how_strongly.check(answer)
    assert not verdict
    assert hint in verdict.message
