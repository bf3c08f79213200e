"""Masked softmax and the four steps of attention."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from heed.attention import Attention, masked_softmax
from heed.masks import padding
from heed.scores import Additive, Dot, ScaledDot

B, Q, K, D, D_V = 2, 3, 5, 7, 11  # primes: no two axes can be confused
LENGTHS = torch.tensor([3, 5])


def looks(*batch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A query, keys and values in double precision."""
    return (
        torch.randn(*batch, Q, D, dtype=torch.float64),
        torch.randn(*batch, K, D, dtype=torch.float64),
        torch.randn(*batch, K, D_V, dtype=torch.float64),
    )


# --- masked softmax --------------------------------------------------------------------------


def test_the_softmax_is_what_one_can_work_out_on_paper():
    scores = torch.tensor([[math.log(1), math.log(2), math.log(3), math.log(4)]])
    assert_close(masked_softmax(scores), torch.tensor([[0.1, 0.2, 0.3, 0.4]]))
    keep = torch.tensor([[True, False, True, False]])
    assert_close(masked_softmax(scores, keep), torch.tensor([[0.25, 0.0, 0.75, 0.0]]))


@given(st.integers(1, 5), st.integers(1, 7), st.data())
def test_kept_places_share_all_the_weight_and_the_others_get_exactly_none(queries, keys, data):
    cells = st.lists(st.booleans(), min_size=queries * keys, max_size=queries * keys)
    keep = torch.tensor(data.draw(cells)).reshape(queries, keys)
    numbers = st.floats(-80, 80, width=32)
    scores = torch.tensor(
        data.draw(st.lists(numbers, min_size=queries * keys, max_size=queries * keys))
    ).reshape(queries, keys)
    weights = masked_softmax(scores, keep)
    assert (weights >= 0).all()
    assert (weights[~keep] == 0).all()
    expected = keep.any(dim=-1).float()  # 1, or 0 where a query may look nowhere
    assert_close(weights.sum(dim=-1), expected, rtol=0, atol=1e-6)


def test_masking_is_the_same_as_leaving_the_places_out():
    scores = torch.randn(Q, K, dtype=torch.float64)
    keep = torch.tensor([True, False, True, True, False]).expand(Q, K)
    weights = masked_softmax(scores, keep)
    assert_close(weights[:, [0, 2, 3]], scores[:, [0, 2, 3]].softmax(dim=-1))


def test_a_mask_that_keeps_everything_changes_nothing():
    scores = torch.randn(B, Q, K)
    assert torch.equal(masked_softmax(scores, torch.ones(B, Q, K).bool()), masked_softmax(scores))


def test_one_mask_row_serves_all_queries_and_one_mask_all_sentences():
    scores = torch.randn(B, Q, K)
    row = padding(LENGTHS, K)  # [batch, 1, key]
    assert torch.equal(masked_softmax(scores, row), masked_softmax(scores, row.expand(B, Q, K)))
    square = torch.rand(Q, K) > 0.5
    assert torch.equal(
        masked_softmax(scores, square), masked_softmax(scores, square.expand(B, Q, K))
    )


def test_adding_a_number_to_every_score_changes_no_weight():
    scores = torch.randn(B, Q, K, dtype=torch.float64)
    keep = padding(LENGTHS, K)
    assert_close(masked_softmax(scores + 7.5, keep), masked_softmax(scores, keep))


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_huge_scores_do_not_overflow(size):
    scores = torch.tensor([[size, -size, 0.0]])
    keep = torch.tensor([[True, True, False]])
    assert masked_softmax(scores, keep).tolist() == [[1.0, 0.0, 0.0]]


def test_a_masked_score_may_be_anything_even_infinite():
    scores = torch.tensor([[0.0, 0.0, float("inf"), float("nan")]])
    keep = torch.tensor([[True, True, False, False]])
    assert masked_softmax(scores, keep).tolist() == [[0.5, 0.5, 0.0, 0.0]]


def test_a_mask_is_stronger_than_any_score():
    """Filling masked places with −10⁹, as much public code does, would turn this one round."""
    scores = torch.tensor([[-1e12, -1e12, 0.0]])
    keep = torch.tensor([[True, True, False]])
    assert masked_softmax(scores, keep).tolist() == [[0.5, 0.5, 0.0]]


def test_a_score_that_is_not_a_number_is_not_swept_under_the_mask():
    scores = torch.tensor([[0.0, float("nan"), 0.0]])
    keep = torch.tensor([[True, True, False]])
    assert masked_softmax(scores, keep).isnan().any()


def test_a_query_with_nothing_to_look_at_gets_zeros_and_a_finite_zero_gradient():
    scores = torch.randn(Q, K, dtype=torch.float64, requires_grad=True)
    keep = torch.ones(Q, K, dtype=torch.bool)
    keep[1] = False
    weights = masked_softmax(scores, keep)
    assert (weights[1] == 0.0).all()
    (weights * torch.randn(Q, K)).sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert (scores.grad[1] == 0.0).all()
    assert (scores.grad[0] != 0.0).all()


def test_no_nan_arises_on_the_way_so_a_hunt_for_one_finds_nothing_here():
    scores = torch.randn(Q, K, requires_grad=True)
    keep = torch.ones(Q, K, dtype=torch.bool)
    keep[1] = False
    with torch.autograd.set_detect_anomaly(True):
        masked_softmax(scores, keep).square().sum().backward()


def test_a_query_without_a_view_does_not_disturb_its_neighbours():
    scores = torch.randn(Q, K, dtype=torch.float64)
    keep = torch.ones(Q, K, dtype=torch.bool)
    keep[1] = False
    assert_close(masked_softmax(scores, keep)[[0, 2]], scores[[0, 2]].softmax(dim=-1))


def test_a_masked_place_sends_no_gradient_back():
    scores = torch.randn(Q, K, requires_grad=True)
    keep = torch.tensor([True, True, False, True, False]).expand(Q, K)
    (masked_softmax(scores, keep) * torch.randn(Q, K)).sum().backward()
    assert scores.grad is not None
    assert (scores.grad[~keep] == 0.0).all()
    assert (scores.grad[keep] != 0.0).all()


def test_the_masked_softmax_passes_a_gradient_check():
    scores = torch.randn(Q, K, dtype=torch.float64, requires_grad=True)
    keep = torch.rand(Q, K) > 0.4
    keep[2] = False
    assert torch.autograd.gradcheck(lambda e: masked_softmax(e, keep), scores)


# --- attention -------------------------------------------------------------------------------


def test_the_context_is_the_weighted_mean_of_the_values():
    query, keys, values = looks(B)
    attended = Attention(ScaledDot())(query, keys, values, keep=padding(LENGTHS, K))
    assert attended.context.shape == (B, Q, D_V)
    for b in range(B):
        for q in range(Q):
            expected = torch.zeros(D_V, dtype=torch.float64)
            for k in range(K):
                expected += attended.weights[b, q, k] * values[b, k]
            assert_close(attended.context[b, q], expected, rtol=0, atol=1e-12)


def test_the_weights_come_from_the_keys_and_the_context_from_the_values():
    query, keys, values = looks(B)
    attention = Attention(Dot())
    first = attention(query, keys, values)
    second = attention(query, keys, torch.randn_like(values))
    assert torch.equal(first.weights, second.weights)
    assert not torch.allclose(first.context, second.context)


def test_the_context_never_leaves_the_range_of_the_values_it_may_see():
    query, keys, values = looks(B)
    context = Attention(Dot())(query, keys, values, keep=padding(LENGTHS, K)).context
    for b, n in enumerate(LENGTHS.tolist()):
        low, high = values[b, :n].amin(dim=0), values[b, :n].amax(dim=0)
        assert (context[b] >= low - 1e-12).all()
        assert (context[b] <= high + 1e-12).all()


def test_equal_keys_are_looked_at_equally():
    query, keys, values = looks(B)
    keys = keys[:, :1].expand(B, K, D)
    keep = padding(LENGTHS, K)
    attended = Attention(Additive(d_q=D, d_k=D, d_hidden=3).double())(
        query, keys, values, keep=keep
    )
    for b, n in enumerate(LENGTHS.tolist()):
        expected = torch.full((Q, n), 1 / n, dtype=torch.float64)
        assert_close(attended.weights[b, :, :n], expected)
        assert_close(attended.context[b], values[b, :n].mean(dim=0).expand(Q, D_V))


def test_looking_at_prepared_keys_is_the_same_as_looking_at_keys():
    query, keys, values = looks(B)
    attention = Attention(Additive(d_q=D, d_k=D, d_hidden=3).double())
    keep = padding(LENGTHS, K)
    at_once = attention(query, keys, values, keep=keep)
    prepared = attention.score.prepare(keys)
    later = attention.look(query, prepared, values, keep=keep)
    assert torch.equal(at_once.weights, later.weights)
    assert torch.equal(at_once.context, later.context)


def test_asking_one_query_at_a_time_gives_the_same_answers():
    query, keys, values = looks(B)
    attention = Attention(ScaledDot())
    whole = attention(query, keys, values)
    for q in range(Q):
        one = attention(query[:, q : q + 1], keys, values)
        assert_close(one.weights, whole.weights[:, q : q + 1])
        assert_close(one.context, whole.context[:, q : q + 1])


def test_heads_are_just_another_leading_axis():
    query, keys, values = looks(B, 3)
    keep = padding(LENGTHS, K).unsqueeze(1)
    attended = Attention(ScaledDot())(query, keys, values, keep=keep)
    assert attended.weights.shape == (B, 3, Q, K)
    for head in range(3):
        alone = Attention(ScaledDot())(
            query[:, head], keys[:, head], values[:, head], keep=padding(LENGTHS, K)
        )
        assert_close(attended.context[:, head], alone.context)


def test_a_batch_of_nothing_but_one_query_and_keys_needs_no_batch_axis():
    query, keys, values = looks()
    attended = Attention(Dot())(query, keys, values)
    assert attended.weights.shape == (Q, K)
    assert attended.context.shape == (Q, D_V)


def test_attention_keeps_no_memory_of_what_it_saw():
    attention = Attention(ScaledDot())
    first = attention(*looks(B))
    assert not any(isinstance(value, torch.Tensor) for value in vars(attention).values())
    assert list(attention.state_dict()) == []
    torch.manual_seed(1)
    query, keys, values = looks(B)
    again = [attention(query, keys, values).context for _ in range(2)]
    assert torch.equal(*again)
    assert not torch.equal(again[0], first.context)


def test_an_empty_memory_gives_an_empty_map_and_a_zero_context():
    query, keys, values = torch.randn(B, Q, D), torch.randn(B, 0, D), torch.randn(B, 0, D_V)
    for keep in (None, torch.ones(B, 1, 0, dtype=torch.bool)):
        attended = Attention(Dot())(query, keys, values, keep=keep)
        assert attended.weights.shape == (B, Q, 0)
        assert (attended.context == 0.0).all()
