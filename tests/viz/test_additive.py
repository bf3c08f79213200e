"""The inside of an additive score as a picture."""

import pytest
import torch

from heed.scores import Additive
from heed.viz.additive import tanh_units

WORDS = ["cat", "sat", "."]


@pytest.fixture
def score():
    score = Additive(d_q=2, d_k=3, d_hidden=2)
    with torch.no_grad():
        score.W.weight[:] = torch.tensor([[0.0, 0.0], [9.0, 0.0]])
        score.U.weight[:] = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return score


def test_a_unit_on_its_plateau_spreads_the_words_over_nothing(score):
    keys = torch.tensor([[2.0, 2.0, 0.0], [0.0, 0.0, 0.0], [-2.0, -2.0, 0.0]])
    drawn = tanh_units(score, {"who": torch.tensor([1.0, 0.0])}, keys, WORDS, ["one", "two"])
    assert "who: one spreads the words over 1.93 of its range" in drawn.alt
    assert "who: two spreads the words over 0.00 of its range" in drawn.alt


def test_words_on_one_spot_share_a_label_and_marks_are_quoted(score):
    drawn = tanh_units(score, {"who": torch.zeros(2)}, torch.zeros(3, 3), WORDS, ["one", "two"])
    assert drawn.svg.count("cat, sat, “.”") >= 2


def test_words_and_units_must_fit(score):
    with pytest.raises(ValueError, match="not 2 words by 2 units"):
        tanh_units(score, {"who": torch.zeros(2)}, torch.zeros(3, 3), WORDS[:2], ["one", "two"])
