"""What a score costs is counted right."""

import pytest

from heed.attention import Attention
from heed.scores import Additive, Dot, ScaledDot
from heed.viz.cost import Cost, cost, kept, measure

D, LENGTH = 8, 5
FLOAT = 4  # bytes


def additive():
    return Additive(d_q=D, d_k=D, d_hidden=D)


def test_a_dot_product_keeps_one_weight_a_pair():
    assert kept(Attention(Dot()), length=LENGTH, d=D) == LENGTH**2 * FLOAT
    assert kept(Attention(ScaledDot()), length=LENGTH, d=D) == LENGTH**2 * FLOAT


def test_the_additive_score_keeps_d_tanhs_more():
    assert kept(Attention(additive()), length=LENGTH, d=D) == LENGTH**2 * (D + 1) * FLOAT


def test_measuring_takes_time_and_says_how_much():
    found = measure(additive(), length=LENGTH, d=D, runs=2)
    assert 0 < found.seconds < 10
    assert found.comparisons == 25
    assert found.kept == 900


def test_the_picture_names_each_score_and_says_its_memory():
    line = [Cost(length=n, seconds=n**2 * 1e-8, kept=n**2 * 4_000) for n in (10, 100)]
    drawn = cost({"mine": line})
    assert "mine keeps 0.4 MB at length 10 and 40 MB at 100" in drawn.alt
    assert "nanoseconds a comparison" in drawn.svg


@pytest.mark.parametrize("length", [1, 3])
def test_lengths_are_kept_apart(length):
    assert measure(Dot(), length=length, d=D, runs=1).length == length
