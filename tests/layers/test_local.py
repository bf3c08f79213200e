"""Attention within a window, against a loop over the words and the formulas of section 3.2."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from heed.attention import Attention
from heed.layers.local import LocalAttention, Monotonic, Predicted, gaussian
from heed.masks import padding
from heed.scores import Dot, General

B, Q, K, D = 2, 3, 7, 5  # primes: no two axes can be confused
LENGTHS = torch.tensor([7, 4])
KEEP = padding(LENGTHS, K)


def slow_weights(
    scores: list[float], place: float, radius: float, sigma: float | None, renormalise: bool
) -> list[float]:
    """The weights of one query over the words of one sentence."""
    inside = [s for s in range(len(scores)) if abs(s - place) <= radius]
    total = sum(math.exp(scores[s]) for s in inside)
    weights = [0.0] * len(scores)
    for s in inside:
        weights[s] = math.exp(scores[s]) / total
        if sigma is not None:
            weights[s] *= math.exp(-((s - place) ** 2) / (2 * sigma**2))
    if renormalise and inside:
        whole = sum(weights)
        weights = [weight / whole for weight in weights]
    return weights


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.randn(B, Q, D).double(),
        torch.randn(B, K, D).double(),
        torch.randn(B, K, 2).double(),
    )


@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("sigma", [None, 0.7, 5.0])
@pytest.mark.parametrize("radius", [1, 2, 2.5, 10])
def test_it_agrees_with_a_loop(radius, sigma, renormalise):
    query, keys, values = inputs()
    places = torch.tensor([[0.0, 2.5, 6.9], [3.0, 1.2, 5.5]]).double()
    local = LocalAttention(Dot(), radius=radius, sigma=sigma, renormalise=renormalise)
    found = local.look(query, keys, values, places=places, keep=KEEP)
    for b, n in enumerate(LENGTHS.tolist()):
        for q in range(Q):
            scores = [float(query[b, q] @ keys[b, s]) for s in range(n)]
            weights = slow_weights(scores, places[b, q].item(), radius, sigma, renormalise)
            expected = torch.tensor(weights + [0.0] * (K - n), dtype=torch.float64)
            assert_close(found.weights[b, q], expected, rtol=0, atol=1e-9)
            context = sum(weight * values[b, s] for s, weight in enumerate(weights))
            assert_close(found.context[b, q], context, rtol=0, atol=1e-9)


def test_what_is_outside_the_window_or_the_sentence_gets_exactly_nothing():
    query, keys, values = inputs()
    places = torch.rand(B, Q).double() * LENGTHS[:, None]
    for sigma in (None, 1.0):
        local = LocalAttention(Dot(), radius=2, sigma=sigma)
        weights = local.look(query, keys, values, places=places, keep=KEEP).weights
        for b, n in enumerate(LENGTHS.tolist()):
            for q in range(Q):
                for s in range(K):
                    inside = s < n and abs(s - places[b, q].item()) <= 2
                    assert (weights[b, q, s] > 0) == inside


def test_without_a_gaussian_the_weights_sum_to_one_and_with_it_to_less():
    query, keys, values = inputs()
    places = torch.rand(B, Q).double() * LENGTHS[:, None]

    def total(**options) -> Tensor:
        local = LocalAttention(Dot(), radius=2, **options)
        return local.look(query, keys, values, places=places, keep=KEEP).weights.sum(dim=-1)

    ones = torch.ones(B, Q).double()
    assert_close(total(), ones)
    assert (total(sigma=1.0) < 0.999).all()
    assert (total(sigma=1.0) > 0.0).all()
    assert_close(total(sigma=1.0, renormalise=True), ones)


def test_a_window_over_everything_and_a_flat_gaussian_are_global_attention():
    query, keys, values = (each.float() for each in inputs())
    score = General(d_q=D, d_k=D)
    places = torch.rand(B, Q) * LENGTHS[:, None]
    whole = Attention(score)(query, keys, values, keep=KEEP)
    for sigma in (None, 1e6, math.inf):
        local = LocalAttention(score, radius=K, sigma=sigma)
        found = local.look(query, score.prepare(keys), values, places=places, keep=KEEP)
        assert_close(found.weights, whole.weights, rtol=0, atol=1e-5)
        assert_close(found.context, whole.context, rtol=0, atol=1e-5)


@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("sigma", [None, 1.0])
def test_an_empty_window_gives_zeros_and_a_finite_gradient(sigma, renormalise):
    query, keys, values = (each.requires_grad_() for each in inputs())
    places = torch.tensor([[2.0, 9.5, 1.0], [2.0, 6.1, 30.0]]).double().requires_grad_()
    local = LocalAttention(Dot(), radius=2, sigma=sigma, renormalise=renormalise)
    found = local.look(query, keys, values, places=places, keep=KEEP)
    empty = torch.tensor([[False, True, False], [False, True, True]])
    assert (found.weights[empty] == 0.0).all()
    assert (found.context[empty] == 0.0).all()
    assert (found.weights[~empty].sum(dim=-1) > 0.0).all()
    found.context.square().sum().backward()
    for leaf in (query, keys, values, *([places] if sigma else [])):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
    assert query.grad is not None
    assert (query.grad[empty] == 0.0).all()


def test_only_through_the_gaussian_does_the_place_get_a_gradient():
    query, keys, values = inputs()
    places = torch.full((B, Q), 2.2).double().requires_grad_()
    LocalAttention(Dot(), radius=2, sigma=1.0).look(
        query, keys, values, places=places, keep=KEEP
    ).context.sum().backward()
    assert places.grad is not None
    assert (places.grad != 0.0).all()
    flat = LocalAttention(Dot(), radius=2).look(query, keys, values, places=places, keep=KEEP)
    assert not flat.context.requires_grad


def test_its_gradients_are_those_of_its_numbers():
    query, keys, values = (each.requires_grad_() for each in inputs())
    places = torch.tensor([[0.3, 2.6, 6.1], [0.4, 1.2, 2.7]]).double().requires_grad_()
    local = LocalAttention(Dot(), radius=2, sigma=1.5)

    def context(q: Tensor, k: Tensor, v: Tensor, p: Tensor) -> Tensor:
        return local.look(q, k, v, places=p, keep=KEEP).context

    assert torch.autograd.gradcheck(context, (query, keys, values, places))


# --- the place -------------------------------------------------------------------------------


def test_the_monotonic_place_is_the_number_of_the_word_being_written():
    steps = torch.arange(Q).float().expand(B, Q)
    places = Monotonic()(torch.randn(B, Q, D), steps, LENGTHS)
    assert places.tolist() == [[0.0, 1.0, 2.0]] * B


def test_the_predicted_place_agrees_with_its_formula():
    where = Predicted(d_q=D, d_hidden=3).double()
    query, steps = torch.randn(B, Q, D).double(), torch.zeros(B, Q).double()
    places = where(query, steps, LENGTHS)
    W, v = where.W.weight.detach(), where.v.weight[0].tolist()
    for b, n in enumerate(LENGTHS.tolist()):
        for q in range(Q):
            inner = [math.tanh(float(row @ query[b, q])) for row in W]
            part = sum(v_k * x for v_k, x in zip(v, inner, strict=True))
            assert places[b, q].item() == pytest.approx(n / (1 + math.exp(-part)), abs=1e-9)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5), st.floats(0.1, 3.0))
def test_the_predicted_place_lies_inside_the_sentence(lengths, scale):
    where = Predicted(d_q=D, d_hidden=3)
    query = scale * torch.randn(len(lengths), Q, D)
    steps = torch.zeros(len(lengths), Q)
    places = where(query, steps, torch.tensor(lengths))
    assert (places > 0.0).all()
    assert (places < torch.tensor(lengths)[:, None]).all()


def test_the_predicted_place_is_not_rounded_by_bfloat16():
    where = Predicted(d_q=D, d_hidden=3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        places = where(torch.randn(B, Q, D), torch.zeros(B, Q), LENGTHS)
    assert places.dtype == torch.float32


def test_the_gaussian_is_one_at_the_place_and_falls_alike_on_both_sides():
    bell = gaussian(torch.tensor([3.0, 2.5]).double(), 1.5, K)
    assert bell[0, 3] == 1.0
    assert_close(bell[0], bell[0].flip(0))
    assert bell[0, 4].item() == pytest.approx(math.exp(-1 / 4.5), abs=1e-12)
    assert bell[1, 2].item() == bell[1, 3].item() == pytest.approx(math.exp(-0.25 / 4.5), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0}, r"^radius=0, but a window reaches 1 word to each side or more$"),
        ({"radius": 2, "sigma": 0.0}, r"^sigma=0.0 must be a positive number of words$"),
    ],
)
def test_a_window_of_no_width_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LocalAttention(Dot(), **options)
