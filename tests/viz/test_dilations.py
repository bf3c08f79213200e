"""What a stack of causal convolutions sees, counted, drawn, and as the layers have it."""

import pytest
import torch

from heed.layers.temporal import TemporalBlock, dilations
from heed.viz.dilations import lags, reach


def test_from_one_every_lag_is_reached_and_from_two_the_even_ones():
    assert lags((1, 2, 4)) == list(range(8))
    assert lags((2, 4, 8)) == list(range(0, 16, 2))
    assert lags((1, 1)) == [0, 1, 2]
    assert lags(()) == [0]


@pytest.mark.parametrize("kind", ["from_one", "as_printed"])
def test_the_lags_are_those_of_the_layers(kind):
    block = TemporalBlock(d_input=2, steps=8, filters=2, kind=kind).double()
    x = torch.randn(1, 20, 2, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(block(x)[0, -1].sum(), x)
    felt = [19 - step for step in range(20) if slope[0, step].abs().max() > 0]
    assert sorted(felt) == lags(dilations(8, kind))


def test_the_picture_says_which_steps_are_missed():
    drawn = reach({"from 1": (1, 2, 4), "from 2": (2, 4, 8)}, steps=8)
    assert "from 1: the output of step 8 depends on steps 1, 2, 3, 4, 5, 6, 7, 8, misses none" in (
        drawn.alt
    )
    assert "from 2: the output of step 8 depends on steps 2, 4, 6, 8, misses 1, 3, 5, 7" in (
        drawn.alt
    )
    assert ">dilation 8<" in drawn.svg


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="0 stacks over 8 steps"):
        reach({}, steps=8)
