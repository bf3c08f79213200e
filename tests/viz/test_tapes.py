"""Tapes: the map of one, and the two fusions."""

import numpy as np

from heed.trace import AttentionTrace
from heed.viz.tapes import (
    fusion,
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


def test_both_fusions_are_drawn_and_told_apart():
    drawn = fusion()
    assert "shallow fusion" in drawn.svg
    assert "deep fusion" in drawn.svg
    assert "Shallow: what it finds in the source goes past the memory" in drawn.alt
