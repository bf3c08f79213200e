"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import math

import pytest
import torch

from heed.exercises import ch10
from heed.models.transformer import EncoderLayer, base

# ---------------------------------------------------------------------------- 1


def test_one_look():
    assert ch10.one_look.check((3 * 4 + 1 * 8) / 4)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ((3 * 4 + 1 * 8 + 6 * 100) / 10, "see word 3"),
        ((9 * 4 + 8) / 10, "forgot to divide"),
        ((math.sqrt(3) * 4 + 8) / (math.sqrt(3) + 1), "divided by d_k"),
        ((3 * 4 + 1 * 8) / 10, "struck out the third afterwards"),
        (4, "look at itself"),
        (6, "plain mean"),
        (-1, "Divide each product"),
        ("five", "Divide each product"),
    ],
)
def test_one_look_hints(answer, hint):
    verdict = ch10.one_look.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 2


def test_layer_size_is_what_the_paper_s_layer_has():
    with torch.device("meta"):
        layer = EncoderLayer(base(vocab=100))
    assert ch10.layer_size.check(sum(each.numel() for each in layer.parameters()))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (3_150_336 - 512 * 512, "W^O"),
        (3_150_336 - 2048 - 512, "have biases"),
        (3_150_336 - 2048, "a gain and a bias"),
        (3_150_336 - 1024, "two norms"),
        (3_150_336 + 7 * 4 * 512 * 512, "512 × 64"),
        (3_150_336.5, "Four matrices"),
        (65_000_000, "Four matrices"),
    ],
)
def test_layer_size_hints(answer, hint):
    verdict = ch10.layer_size.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 3


def turned(w, k, *, sign=1):
    c, s = math.cos(w * k), sign * math.sin(w * k)
    return [[c, s], [-s, c]]


def test_turn():
    assert ch10.turn.check(turned)
    assert ch10.turn.check(lambda w, k: torch.tensor(turned(w, k)))


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda w, k: None, "None so far"),
        (lambda w, k: turned(w, k, sign=-1), "turns backwards"),
        (lambda w, k: turned(w, 1), "by one place"),
        (lambda w, k: turned(1, k), "Where is ω"),
        (lambda w, k: [[1, 0], [0, 1]], "sin(a + b)"),
        (lambda w, k: [1, 0], "sin(a + b)"),
        (lambda w, k: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_turn_hints(wrong, hint):
    verdict = ch10.turn.check(wrong)
    assert not verdict
    assert hint in verdict.message


def test_the_turn_moves_a_place_of_the_package():
    from heed.layers.positions import Sinusoids

    places = Sinusoids(d_model=2)(8)  # one frequency, 1
    torch.testing.assert_close(places[2] @ torch.tensor(turned(1.0, 5.0)).T, places[7])


# ---------------------------------------------------------------------------- 4


def looked(x, W_q, W_k, W_v, W_o, h, *, root=None, every=False, join=True, cut=True):
    parts = []
    for head in range(h if cut else 1):
        d_k = x.shape[1] // (h if cut else 1)
        own = slice(head, None, h) if every else slice(head * d_k, (head + 1) * d_k)
        q, k, v = ((x @ each)[:, own] for each in (W_q, W_k, W_v))
        parts.append(((q @ k.T) / (root or d_k) ** 0.5).softmax(-1) @ v)
    out = torch.cat(parts, -1)
    return out @ W_o if join else out


def test_heads():
    assert ch10.heads.check(looked)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"cut": False}, "one head as wide"),
        ({"root": 12}, "divided by √d."),
        ({"root": 1}, "forgot to divide"),
        ({"join": False}, "W_o is missing"),
        ({"every": True}, "every h-th column"),
        ({"root": 3}, "Each looks for itself"),
    ],
)
def test_heads_hints(wrong, hint):
    verdict = ch10.heads.check(lambda *given: looked(*given, **wrong))
    assert not verdict
    assert hint in verdict.message


def test_heads_says_what_is_missing():
    assert "None so far" in ch10.heads.check(lambda *given: None).message
    assert "TypeError" in ch10.heads.check(lambda x: x).message


# ---------------------------------------------------------------------------- 5


def moved(decoder, ts, *, behind=1, last=None):
    """Whether outputs up to t move when the words from t + behind on are others."""
    torch.manual_seed(3)
    x, other = torch.randn(2, 6, 8)
    for t in ts:
        changed = torch.cat([x[: t + behind], other[t + behind : last]])
        changed = torch.cat([changed, x[len(changed) :]])
        if not torch.allclose(decoder(changed)[: t + 1], decoder(x)[: t + 1], atol=1e-6):
            return True
    return False


def test_looks_ahead():
    assert ch10.looks_ahead.check(lambda decoder: moved(decoder, range(5)))


def test_a_gradient_tells_it_too():
    def by_gradient(decoder):
        x = torch.randn(6, 8, generator=torch.Generator().manual_seed(1), requires_grad=True)
        for t in range(5):
            (gradient,) = torch.autograd.grad(decoder(x)[t].sum(), x)
            if gradient[t + 1 :].abs().max() > 0:
                return True
        return False

    assert ch10.looks_ahead.check(by_gradient)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda decoder: None, "None so far"),
        (lambda decoder: True, "the same of all six"),
        (lambda decoder: moved(decoder, range(4), behind=2), "one word too many"),
        (lambda decoder: moved(decoder, range(1, 5), behind=0), "A word may see itself"),
        (lambda decoder: not moved(decoder, range(5)), "other way round"),
    ],
)
def test_looks_ahead_hints(wrong, hint):
    verdict = ch10.looks_ahead.check(wrong)
    assert not verdict
    assert hint in verdict.message


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("second layer only", "the first is not"),
        ("masked afterwards", "struck out after the softmax"),
    ],
)
def test_whoever_is_taken_in_by_one_hears_of_that_one(name, hint):
    odd = next(decoder for each, decoder, _ in ch10._suspects() if each == name)
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(2))
    verdict = ch10.looks_ahead.check(
        lambda decoder: moved(decoder, range(5)) != torch.equal(decoder(x), odd(x))
    )
    assert not verdict
    assert hint in verdict.message
