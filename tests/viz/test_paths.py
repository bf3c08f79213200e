"""The wiring of two decoders as a picture."""

from itertools import pairwise

import pytest

from heed.viz.paths import BAHDANAU, LUONG, Arrow, Wiring, paths


def way(wiring):
    """The parts along the numbered arrows, in their order."""
    steps = sorted((a for a in wiring.arrows if a.number), key=lambda a: a.number)
    assert all(before.end == after.start for before, after in pairwise(steps))
    return [steps[0].start, *(step.end for step in steps)]


def test_bahdanau_looks_and_then_steps():
    assert way(BAHDANAU) == ["$s_{i-1}$", r"$\alpha_i$", "$c_i$", "$s_i$"]


def test_luong_steps_and_then_looks():
    assert way(LUONG) == ["$h_{t-1}$", "$h_t$", "$a_t$", "$c_t$", r"$\tilde{h}_t$"]


def test_only_luong_feeds_what_it_had_in_mind():
    fed = {w.name: [a.start for a in w.arrows if a.kind == "fed"] for w in (BAHDANAU, LUONG)}
    assert fed == {BAHDANAU.name: [], LUONG.name: [r"$\tilde{h}_{t-1}$"]}


def test_the_picture_says_both_paths():
    drawn = paths()
    assert "the old state s of i−1 asks" in drawn.alt
    assert "steps on to h of t, asks with what it has become" in drawn.alt
    assert "h-tilde of t−1 was fed into the step" in drawn.alt


def test_an_arrow_to_no_part_is_refused():
    with pytest.raises(ValueError, match=r"^an arrow at 'z', which is no part of it$"):
        Wiring(name="it", said="", parts={"a": (0.0, 0.0)}, arrows=(Arrow(start="a", end="z"),))
