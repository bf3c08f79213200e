"""The learning rate of the Transformer's paper."""

from itertools import pairwise

import pytest

from heed.training.warmup import PaperTrainConfig

BASE = PaperTrainConfig(steps=100_000, d_model=512)


def test_the_rate_is_equation_3():
    for step in (1, 17, 3_999, 4_000, 4_001, 100_000):
        wanted = 512**-0.5 * min(step**-0.5, step * 4_000**-1.5)
        assert BASE.rate(step) == pytest.approx(wanted, rel=1e-12)


def test_it_climbs_evenly_to_its_peak_and_falls_with_the_root():
    peak = (512 * 4_000) ** -0.5
    assert BASE.rate(4_000) == pytest.approx(peak)
    assert BASE.rate(1_000) == pytest.approx(peak / 4)
    assert BASE.rate(16_000) == pytest.approx(peak / 2)
    after = [BASE.rate(step) for step in range(4_000, 4_100)]
    assert all(later < sooner for sooner, later in pairwise(after))


def test_a_factor_before_it_moves_the_whole_curve():
    double = PaperTrainConfig(steps=10, d_model=512, lr=2.0)
    assert double.rate(7) == pytest.approx(2 * BASE.rate(7))


@pytest.mark.parametrize("wrong", [{"d_model": 0}, {"d_model": 4, "warmup": 0}])
def test_what_it_is_divided_by_cannot_be_nothing(wrong):
    with pytest.raises(ValueError, match="must be at least 1"):
        PaperTrainConfig(steps=10, **wrong)
