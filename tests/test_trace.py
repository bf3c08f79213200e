"""AttentionTrace: a map with a name on every row and column, and no way to mix them up."""

import dataclasses

import numpy as np
import pytest
import torch

from heed.trace import AttentionTrace, Axis

ENGLISH = ("the", "cat", "sleeps")
FRENCH = ("le", "chat", "dort", "</s>", "!")


def test_a_map_from_a_model_gets_its_names_and_one_head():
    weights = torch.rand(5, 3)
    trace = AttentionTrace.of("cross", weights, query=FRENCH, key=ENGLISH)
    assert trace.weights.shape == (1, 5, 3)
    assert np.array_equal(trace.weights[0], weights.numpy())
    assert trace.query == Axis(FRENCH)
    assert trace.key == Axis(ENGLISH)
    assert trace.heads == ("head 1",)
    assert trace.name == "cross"


def test_heads_keep_their_order_and_may_have_names_of_their_own():
    weights = torch.rand(2, 5, 3)
    trace = AttentionTrace.of("cross", weights, query=FRENCH, key=ENGLISH)
    assert trace.heads == ("head 1", "head 2")
    assert np.array_equal(trace.weights, weights.numpy())
    named = AttentionTrace.of("cross", weights, query=FRENCH, key=ENGLISH, heads=["left", "right"])
    assert named.heads == ("left", "right")


def test_a_map_leaves_the_graph_behind():
    weights = torch.rand(5, 3, requires_grad=True).softmax(dim=-1)
    trace = AttentionTrace.of("cross", weights, query=FRENCH, key=ENGLISH)
    assert isinstance(trace.weights, np.ndarray)


def test_an_array_and_a_map_in_half_precision_will_do():
    array = np.random.default_rng(0).random((5, 3))
    assert np.array_equal(
        AttentionTrace.of("a", array, query=FRENCH, key=ENGLISH).weights[0], array
    )
    half = torch.rand(5, 3, dtype=torch.bfloat16)
    trace = AttentionTrace.of("a", half, query=FRENCH, key=ENGLISH)
    assert trace.weights.dtype == np.float32
    assert np.array_equal(trace.weights[0], half.float().numpy())


@pytest.mark.parametrize(
    ("query", "key", "heads"),
    [
        (ENGLISH, FRENCH, None),  # looks-from and looked-at swapped: the commonest mistake
        (FRENCH[:4], ENGLISH, None),
        (FRENCH, (*ENGLISH, "."), None),
        (FRENCH, ENGLISH, ("left", "right")),
    ],
)
def test_a_map_with_the_wrong_number_of_names_is_refused(query, key, heads):
    with pytest.raises(ValueError, match=r"cross: weights \(1, 5, 3\), but names for \("):
        AttentionTrace.of("cross", torch.rand(5, 3), query=query, key=key, heads=heads)


def test_image_cells_tile_a_grid_and_must_fill_it():
    cells = tuple(f"row {r}, column {c}" for r in range(2) for c in range(3))
    key = Axis(cells, grid=(2, 3))
    trace = AttentionTrace.of("look", torch.rand(5, 6), query=FRENCH, key=key)
    assert trace.key.grid == (2, 3)
    with pytest.raises(ValueError, match=r"a \(2, 3\) grid does not hold 5 labels"):
        Axis(cells[:5], grid=(2, 3))


def test_a_trace_cannot_be_changed_afterwards():
    trace = AttentionTrace.of("cross", torch.rand(5, 3), query=FRENCH, key=ENGLISH)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.name = "self"  # type: ignore[misc]


def test_a_trace_does_not_change_when_the_model_reuses_its_memory():
    weights = torch.rand(5, 3)
    before = weights.clone().numpy()
    trace = AttentionTrace.of("cross", weights, query=FRENCH, key=ENGLISH)
    weights.zero_()
    assert np.array_equal(trace.weights[0], before)
