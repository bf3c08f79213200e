"""Tapes: maps, the two fusions, and a cost that is counted right."""

import numpy as np
import pytest
import torch
from torch import nn

from heed.models.lstmn import LSTMN
from heed.trace import AttentionTrace
from heed.viz.tapes import (
    ReadingCost,
    fusion,
    measure_reading,
    reading_cost,
    side_by_side,
    tape_map,
)

TRACE = AttentionTrace.of(
    "self", np.array([[1.0, 0.0], [0.3, 0.7]]), query=("k 7", "k ?"), key=("∅", "k 7")
)


def test_the_map_says_who_looks_and_what_is_ringed():
    drawn = tape_map(TRACE, ringed=[(1, 1)])
    assert "reading 'k ?', looks at 'k 7' 0.70" in drawn.alt
    assert "Ringed: k ? at k 7, 0.70." in drawn.alt
    assert drawn.svg.count("stroke: #e8590c") == 1
    assert tape_map(TRACE).svg.count("stroke: #e8590c") == 0


def test_maps_stand_side_by_side_under_their_names():
    drawn = side_by_side({"walked": TRACE, "at once": TRACE})
    assert drawn.svg.count("looks from") == 2
    assert "at once: reading 'k 7'" in drawn.alt
    with pytest.raises(ValueError, match="no map"):
        side_by_side({})


def test_both_fusions_are_drawn_and_told_apart():
    drawn = fusion()
    assert "shallow fusion" in drawn.svg
    assert "deep fusion" in drawn.svg
    assert "Shallow: what it finds in the source goes past the memory" in drawn.alt


# --------------------------------------------------------------------------------------- cost


def test_what_an_lstmn_keeps_grows_faster_than_the_text():
    layer = LSTMN(d_input=4, d_state=4, d_align=5)
    kept = {n: measure_reading(layer, length=n, batch=2, runs=1).kept for n in (4, 8, 16)}
    # Each doubling adds what is linear once and what is quadratic thrice.
    assert kept[16] - 2 * kept[8] > 3 * (kept[8] - 2 * kept[4]) > 0


def test_the_tangents_are_counted():
    """One tanh a hidden unit for each slot that is scored: T(T+1)/2 of them."""
    narrow, wide = (LSTMN(d_input=4, d_state=4, d_align=d) for d in (5, 6))
    n, batch = 6, 2
    one, two = (
        measure_reading(each, length=n, batch=batch, runs=1).kept for each in (narrow, wide)
    )
    per_unit = n * (n + 1) // 2
    assert (two - one) >= batch * 4 * per_unit


def test_a_word_costs_an_lstm_no_more_in_a_longer_text():
    """Its kernel keeps a block and rounds it up, so a word of a short text costs even more."""
    lstm, lstmn = nn.LSTM(4, 4, batch_first=True), LSTMN(d_input=4, d_state=4, d_align=5)
    grows = {}
    for name, layer in (("lstm", lstm), ("lstmn", lstmn)):
        kept = {n: measure_reading(layer, length=n, batch=2, runs=1).kept / n for n in (16, 64)}
        grows[name] = kept[64] / kept[16]
    assert grows["lstm"] <= 1 < 1.5 < grows["lstmn"]


def test_measuring_takes_time_and_learns_nothing():
    layer = LSTMN(d_input=3, d_state=4, d_align=5)
    before = [each.clone() for each in layer.parameters()]
    found = measure_reading(layer, length=3, runs=2)
    assert 0 < found.seconds < 10
    assert found.length == 3
    assert all(torch.equal(one, two) for one, two in zip(before, layer.parameters(), strict=True))


def test_the_picture_says_what_a_word_keeps():
    line = [ReadingCost(length=n, seconds=n * 1e-6, kept=n**2 * 1_000) for n in (10, 100)]
    drawn = reading_cost({"mine": line})
    assert "mine keeps 10 kB a word at length 10 and 100 kB a word at 100" in drawn.alt
    assert "microseconds a word" in drawn.svg
