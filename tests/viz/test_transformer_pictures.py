"""Pictures of chapter 10: places, heads, and chains."""

import numpy as np
import pytest
import torch

from heed.layers.positions import Sinusoids
from heed.models.transformer import Transformer, TransformerConfig
from heed.trace import AttentionTrace
from heed.viz.chains import Step, chains, measure_steps
from heed.viz.heads import maps_of_heads, worth_of_heads
from heed.viz.positions import likeness, waves

# ---------------------------------------------------------------------------- places


def test_two_places_are_as_alike_as_their_distance_says():
    places = Sinusoids(d_model=16)(40)
    alike = likeness(16, apart=9)
    assert alike[0] == pytest.approx(1.0)
    for p in (0, 7, 30):
        assert float(places[p] @ places[p + 9]) / 8 == pytest.approx(alike[9], abs=1e-4)


def test_the_waves_say_how_alike_places_are():
    drawn = waves(places=20, d_model=32)
    assert "the vectors of 20 places, 32 numbers each" in drawn.alt
    assert f"{likeness(32, apart=19)[-1]:.2f} at 19" in drawn.alt


# ---------------------------------------------------------------------------- heads


def traces():
    eye, flat = np.eye(3, dtype=np.float32), np.full((3, 3), 1 / 3, dtype=np.float32)
    words = ("she", "sleeps", "</s>")
    return {
        f"encoder {layer}": AttentionTrace.of(
            f"encoder {layer}", np.stack([eye, flat]), query=words, key=words
        )
        for layer in (1, 2)
    }


def test_the_small_maps_are_told_apart_by_layer_and_head():
    drawn = maps_of_heads(traces(), "encoder")
    assert "4 small maps, encoder: the source at itself, of the sentence she sleeps" in drawn.alt
    assert "layer 2 head 1 1.00; layer 2 head 2 0.33" in drawn.alt
    assert drawn.svg.count("<image") == 4
    assert drawn.svg.count(">sleeps<") == 2 + 2  # at the left of each row, below each column


def test_a_place_without_maps_is_refused():
    with pytest.raises(ValueError, match="no map of 'cross' among encoder 1, encoder 2"):
        maps_of_heads(traces(), "cross")


def test_worth_names_who_is_missed_most():
    found = {
        ("encoder", 1, 1): 0.02,
        ("encoder", 1, 2): -0.01,
        ("cross", 1, 1): 0.1,
        ("cross", 1, 2): 1.25,
    }
    drawn = worth_of_heads(found)
    assert "Missed most: cross layer 1 head 2, 1250." in drawn.alt
    assert "encoder layer 1: 20, -10" in drawn.alt
    for printed in (">1250<", ">20<", ">head<", ">layer<"):
        assert printed in drawn.svg


def test_no_heads_are_refused():
    with pytest.raises(ValueError, match="nothing to draw"):
        worth_of_heads({})


# ---------------------------------------------------------------------------- chains


def test_steps_are_measured_and_the_model_is_left_as_it_was():
    model = Transformer(
        TransformerConfig(source_vocab=9, target_vocab=11, d_model=8, d_inner=8, heads=2)
    ).eval()
    found = measure_steps(model, (9, 11), words=(3, 6), sentences=2, runs=1)
    assert [each.words for each in found] == [3, 6]
    assert found[0].chain == found[1].chain > 20
    assert all(0 < each.seconds < 10 for each in found)
    assert not model.training
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_picture_of_chains_says_both_ends():
    drawn = chains(
        {
            "recurrent": [
                Step(words=10, chain=400, seconds=0.02),
                Step(words=160, chain=6_400, seconds=1.0),
            ],
            "at once": [
                Step(words=10, chain=180, seconds=0.04),
                Step(words=160, chain=180, seconds=0.4),
            ],
        }
    )
    assert "a chain of 400 operations at 10 words and of 6,400 at 160, 20 and 1000" in drawn.alt
    assert "operations in sequence" in drawn.svg
    assert torch.is_grad_enabled()
