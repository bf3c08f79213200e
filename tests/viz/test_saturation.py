"""The bound holds and is reached; width does to a dot product what the footnote says."""

import pytest
import torch

from heed.attention import Attention
from heed.scores import Cosine, Dot, ScaledDot
from heed.viz.saturation import (
    bound_picture,
    jacobian,
    sharpest,
    sharpness,
    sharpness_picture,
)


@pytest.mark.parametrize(("keys", "beta"), [(1, 1.0), (5, 1.0), (20, 1.0), (20, 3.0)])
def test_the_best_case_reaches_the_bound(keys, beta):
    query = torch.tensor([[0.6, 0.8]], dtype=torch.float64)
    others = -query.expand(keys - 1, 2)
    keys_there = torch.cat([query, others])
    found = Attention(Cosine(strength=beta))(query, keys_there, keys_there)
    assert float(found.weights.max()) == pytest.approx(sharpest(keys, beta), abs=1e-9)


def test_no_drawn_keys_exceed_it():
    query, keys = torch.randn(200, 1, 3), torch.randn(200, 7, 3)
    assert float(Cosine()(query, keys).softmax(-1).max()) <= sharpest(7)


def test_there_must_be_a_key():
    with pytest.raises(ValueError, match="keys=0"):
        sharpest(0)


def test_the_jacobian_is_autograds():
    scores = torch.randn(3, 4, dtype=torch.float64)
    for row, ours in zip(scores, jacobian(scores.softmax(-1)), strict=True):
        theirs = torch.autograd.functional.jacobian(lambda e: e.softmax(-1), row)
        torch.testing.assert_close(ours, theirs)


def test_a_dot_product_has_the_variance_of_its_width_and_the_scaled_one_has_one():
    assert sharpness(Dot(), 64).variance == pytest.approx(64, rel=0.1)
    assert sharpness(ScaledDot(), 64).variance == pytest.approx(1, rel=0.1)


def test_width_sharpens_a_dot_product_and_starves_its_gradient():
    narrow, wide = sharpness(Dot(), 2), sharpness(Dot(), 512)
    assert wide.largest > 0.9 > 0.4 > narrow.largest
    assert wide.gradient < narrow.gradient / 2
    assert sharpness(ScaledDot(), 512).largest == pytest.approx(0.21, abs=0.02)


def test_the_pictures_say_what_is_to_be_seen():
    drawn = sharpness_picture({"dot": [sharpness(Dot(), d) for d in (2, 32)]})
    assert "variance of the scores of dot 2.1 at width 2 and 32 at 32" in drawn.alt
    bound = bound_picture({"mine": {5: 0.4, 20: 0.2}}, strengths=(1,))
    assert "with β = 1 no weight can exceed 0.65 among 5 keys and 0.28 among 20" in bound.alt
    assert "mine reaches 0.20 among 20" in bound.alt
