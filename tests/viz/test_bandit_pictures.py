"""Bandits drawn: regret is against who knows, and a play is told as it went."""

import pytest
import torch
from torch.testing import assert_close

from heed.data.bandits import BanditData
from heed.viz.bandits import missed, play_picture, regret_curves

BANDITS = BanditData(arms=3, pulls=8).held_out_bandits(1, 40)
BEST = BANDITS.p.argmax(dim=1)
KNOWS = torch.stack([BANDITS.pull(at, BEST) for at in range(8)], dim=1)


def test_who_knows_misses_nothing_and_who_gets_nothing_misses_all():
    mean, error = missed(BANDITS, KNOWS)
    assert_close(mean, torch.zeros(8, dtype=torch.double))
    assert_close(error, torch.zeros(8, dtype=torch.double))
    mean, error = missed(BANDITS, torch.zeros_like(KNOWS))
    assert_close(mean, KNOWS.double().cumsum(dim=1).mean(dim=0))
    assert (error > 0).any()


def test_curves_are_told_by_their_ends():
    nothing = torch.zeros_like(KNOWS)
    drawn = regret_curves(
        BANDITS, {"knows": KNOWS, **{f"sleeps {k}": nothing for k in range(1, 6)}}
    )
    assert "of 40 bandits" in drawn.alt
    assert "knows 0.0 ± 0.0" in drawn.alt
    assert f"sleeps 5 {KNOWS.double().sum(dim=1).mean():.1f} ± " in drawn.alt
    assert ">sleeps 5<" in drawn.svg


def test_a_play_says_how_often_each_arm_was_pulled():
    drawn = play_picture(torch.tensor([0.25, 0.5]), [0, 1, 1], [0, 1, 0])
    assert drawn.alt.startswith("3 pulls, of which 1 paid.")
    assert "arm 1, which pays 50% of the time, 2 times" in drawn.alt
    assert ">arm 0, pays 25%<" in drawn.svg
    with pytest.raises(ValueError, match="1 actions and 2 rewards"):
        play_picture(torch.tensor([0.25, 0.5]), [0], [0, 1])
