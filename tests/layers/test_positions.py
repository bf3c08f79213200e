"""The vectors that say where a word stands."""

import math

import pytest
import torch
from torch.testing import assert_close

from heed.layers.feedforward import FeedForward
from heed.layers.positions import Learned, NoPositions, Sinusoids, positions_of


def test_sinusoids_are_the_papers_formula():
    d = 6
    table = Sinusoids(d_model=d)(50)
    for pos in (0, 1, 7, 49):
        for i in range(d // 2):
            angle = pos / 10_000 ** (2 * i / d)
            assert table[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_a_step_to_the_right_is_the_same_rotation_everywhere():
    """PE(pos + k) is a linear function of PE(pos), as the paper says: two products in one."""
    table = Sinusoids(d_model=8)(40).double()
    likeness = table @ table.mT
    for k in (0, 1, 5):
        along = likeness.diagonal(k)
        assert_close(along, along[:1].expand_as(along), rtol=0, atol=1e-4)
    assert likeness[0, 0] > likeness[0, 1] > likeness[0, 2]


@pytest.mark.parametrize("kind", [Sinusoids(d_model=6), Learned(d_model=6, longest=20)])
def test_a_start_moves_the_whole_sentence(kind):
    assert torch.equal(kind(4, start=5), kind(9)[5:])


def test_a_place_may_lie_between_two_words_where_there_is_a_formula():
    kind = Sinusoids(d_model=2)
    assert kind(1, start=0.5)[0, 0].item() == pytest.approx(math.sin(0.5))


def test_without_positions_there_are_zeros():
    assert torch.equal(NoPositions(d_model=6)(3, start=4), torch.zeros(3, 6))


@pytest.mark.parametrize(
    ("count", "start", "places"), [(5, 0, "0 to 4"), (2, 3, "3 to 4"), (1, -1, "-1 to -1")]
)
def test_a_place_that_was_never_learnt_is_refused(count, start, places):
    with pytest.raises(ValueError, match=f"^places {places} are not all among the 4 that were"):
        Learned(d_model=6, longest=4)(count, start=start)


def test_an_odd_width_has_a_sine_without_a_cosine():
    with pytest.raises(ValueError, match=r"^d_model=7 is odd"):
        Sinusoids(d_model=7)


def test_a_kind_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"^positions='rotary' is none of sinusoids, learned, no"):
        positions_of("rotary", d_model=6, longest=4)


def test_the_feed_forward_network_is_equation_2_at_each_position_by_itself():
    feed = FeedForward(d_model=3, d_inner=5).double()
    x = torch.randn(2, 4, 3).double()
    inner = (x @ feed.W_1.weight.mT + feed.W_1.bias).clamp(min=0)
    assert_close(feed(x), inner @ feed.W_2.weight.mT + feed.W_2.bias)
    assert_close(feed(x)[1, 2], feed(x[1, 2]))
