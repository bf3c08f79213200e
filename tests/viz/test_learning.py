"""Attention over training: what is counted, which moments are shown."""

import numpy as np
import pytest

from heed.data.pairs import Pair
from heed.viz.learning import (
    first_reaching,
    learning_curve,
    moments,
    precision_by_moment,
    telling,
)

LINKS = frozenset({(0, 0), (1, 1), (2, 2)})
PAIR = Pair(source=("a", "b", "c"), target=("x", "y", "z"), sure=LINKS, possible=LINKS)
FLAT, SHARP = np.full((4, 4), 0.25), np.eye(4)
HALF = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1.0]])
MAPS = np.stack([FLAT, HALF, SHARP])


def test_precision_counts_first_looks_over_all_sentences():
    assert precision_by_moment([MAPS], [PAIR]) == pytest.approx([1 / 3, 2 / 3, 1.0])
    upside_down = np.stack([FLAT, HALF, SHARP[::-1]])
    found = precision_by_moment([MAPS, upside_down], [PAIR, PAIR])
    # of the sharp one turned upside down: one look on the end, which is no link, none right
    assert found[2] == pytest.approx(3 / 5)


def test_maps_and_pairs_must_be_as_many():
    with pytest.raises(ValueError, match="maps of 1 sentences, but 2 pairs"):
        precision_by_moment([MAPS], [PAIR, PAIR])


def test_the_first_step_that_reaches_a_level():
    assert first_reaching([0, 10, 20], [0.1, 0.5, 0.4], 0.5) == 10
    assert first_reaching([0, 10, 20], [0.1, 0.5, 0.4], 0.9) is None


def test_telling_moments_leave_out_those_that_look_alike():
    still = [FLAT] * 10
    turn = [FLAT + (SHARP - FLAT) * share for share in (0.25, 0.5, 0.75, 1.0)]
    chosen = telling(np.stack([*still, *turn, *[SHARP] * 10]), 5)
    assert chosen == [0, 10, 11, 12, 23]


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_telling_moments_are_different_and_in_order(count):
    leap = np.stack([FLAT, FLAT, FLAT, SHARP])
    chosen = telling(leap, count)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(count, 4)
    assert chosen[0] == 0
    assert count == 1 or chosen[-1] == 3


def test_the_moments_are_described_by_their_right_looks():
    drawn = moments([0, 100, 2_000], MAPS, PAIR)
    assert "step 0: 1, step 100: 2, step 2,000: 3" in drawn.alt
    assert "step 2,000" in drawn.svg


def test_the_curve_says_where_it_starts_ends_and_turns():
    losses = [{"step": 50, "valid_loss": 5.0}, {"step": 200, "valid_loss": 0.5}]
    drawn = learning_curve([0, 100, 200], [0.1, 0.6, 0.9], losses, mark=100)
    assert "starts at 0.10 and ends at 0.90, with 0.60 at step 100" in drawn.alt
    assert "from 5.00 at step 50 to 0.50 at step 200" in drawn.alt
    assert "step 100" in drawn.svg
    assert "marked" not in learning_curve([0, 100, 200], [0.1, 0.6, 0.9], losses).alt
