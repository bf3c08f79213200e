"""Masks: True means that this query may look at this key."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from heed.masks import causal, padding, strictly_causal, window

B, Q, K, D = 2, 3, 5, 7  # primes: no two axes can be confused


def test_padding_keeps_the_words_of_each_sentence_and_nothing_after_them():
    keep = padding(torch.tensor([2, 0, 3]), 4)
    assert keep.int().tolist() == [[[1, 1, 0, 0]], [[0, 0, 0, 0]], [[1, 1, 1, 0]]]


@given(st.lists(st.integers(0, 11), min_size=1, max_size=7), st.integers(0, 3))
def test_padding_keeps_as_many_keys_as_the_sentence_is_long(lengths, spare):
    longest = max(lengths) + spare
    keep = padding(torch.tensor(lengths), longest)
    assert keep.shape == (len(lengths), 1, longest)
    assert keep.sum(dim=-1).flatten().tolist() == lengths
    drops = (keep.int().diff(dim=-1) > 0).any()
    assert not drops, "a key is kept after one that is not"


def test_a_causal_mask_lets_a_query_look_at_itself_and_what_came_before():
    assert causal(3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_strictly_causal_mask_lets_the_first_query_look_at_nothing():
    assert strictly_causal(3).int().tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_two_causal_masks_differ_by_the_diagonal(steps):
    assert torch.equal(causal(steps) ^ strictly_causal(steps), torch.eye(steps).bool())


def test_a_window_keeps_the_radius_on_both_sides_and_stops_at_the_edges():
    keep = window(torch.tensor([0, 2, 4]), 1, 5)
    assert keep.int().tolist() == [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1]]


def test_a_window_may_be_centred_between_two_words():
    keep = window(torch.tensor([[2.5], [1.9]]), 1, 5)
    assert keep.shape == (2, 1, 5)
    assert keep.int().tolist() == [[[0, 0, 1, 1, 0]], [[0, 1, 1, 0, 0]]]


@given(st.integers(1, 13), st.integers(0, 5), st.data())
def test_a_window_agrees_with_a_loop(longest, radius, data):
    centres = data.draw(st.lists(st.floats(-2, 15, width=32), min_size=1, max_size=4))
    keep = window(torch.tensor(centres), radius, longest)
    # The same subtraction in single precision, where the radius may fall on the edge.
    for q, centre in enumerate(torch.tensor(centres)):
        for k in range(longest):
            assert keep[q, k] == (abs(k - centre) <= radius)


@pytest.mark.parametrize(
    "keep",
    [
        padding(torch.tensor([3, 5]), 5),
        causal(5),
        strictly_causal(5),
        window(torch.tensor([1, 2, 3]), 1, 5),
    ],
    ids=["padding", "causal", "strictly_causal", "window"],
)
def test_every_mask_is_boolean_and_survives_being_joined(keep):
    assert keep.dtype == torch.bool
    assert torch.equal(keep & torch.tensor(True), keep)


def test_masks_mean_what_pytorch_means_by_them():
    q, k, v = torch.randn(3, B, K, D)
    assert_close(
        scaled_dot_product_attention(q, k, v, attn_mask=causal(K)),
        scaled_dot_product_attention(q, k, v, is_causal=True),
    )
    lengths = torch.tensor([3, 5])
    whole = scaled_dot_product_attention(q, k, v, attn_mask=padding(lengths, K))
    for b, n in enumerate(lengths.tolist()):
        alone = scaled_dot_product_attention(q[b], k[b, :n], v[b, :n])
        assert_close(whole[b], alone)


def test_joined_masks_let_through_what_both_let_through():
    keep = padding(torch.tensor([2, 4]), 4) & causal(4)
    assert keep.shape == (2, 4, 4)
    for b, n in enumerate([2, 4]):
        for q in range(4):
            for k in range(4):
                assert keep[b, q, k] == (k < n and k <= q)


def test_a_window_may_reach_half_a_word_further_or_lie_beyond_the_sentence():
    keep = window(torch.tensor([2.5, 4.4, 9.0]), 1.5, 5)
    assert keep.int().tolist() == [[0, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
