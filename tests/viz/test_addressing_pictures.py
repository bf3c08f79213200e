"""Soft writing, the four stages and the melting focus, as pictures and in words."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from heed.layers.addressing import Aim, address
from heed.viz.addressing import drift, four_stages, melting, soft_write, stages

MEMORY = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
BEFORE = F.one_hot(torch.tensor(3), 4).float()
AIM = Aim(
    key=torch.tensor([[[1.0, 0.0]]]),
    strength=torch.tensor([[50.0]]),
    gate=torch.tensor([[0.75]]),
    shifts=torch.tensor([[[0.0, 0.0, 1.0]]]),
    focus=torch.tensor([[2.0]]),
)


def test_a_write_is_told_slot_by_slot():
    weights = torch.tensor([0.0, 0.5, 0.0, 0.0])
    drawn = soft_write(MEMORY, weights, torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    assert "slot 1, weight 0.50: [1.00, 0.00] becomes [0.50, 0.00] and then [0.50, 1.00]" in (
        drawn.alt
    )
    assert "slot 0" not in drawn.alt


def test_the_stages_are_those_of_the_package_and_end_where_it_ends():
    found = stages(MEMORY, BEFORE, AIM)
    assert_close(found["before"], BEFORE)
    assert_close(found["content"], torch.tensor([0.0, 1.0, 0.0, 0.0]))
    assert_close(found["interpolate"], torch.tensor([0.0, 0.75, 0.0, 0.25]))
    assert_close(found["shift"], torch.tensor([0.25, 0.0, 0.75, 0.0]))
    assert_close(found["sharpen"], address(MEMORY[None], BEFORE[None, None], AIM)[0, 0])


def test_the_strips_say_what_each_stage_has_done():
    drawn = four_stages(MEMORY, BEFORE, AIM)
    for part in ("before: slot 3 1.00", "interpolate: slot 1 0.75, slot 3 0.25", "sharpen: slot 0"):
        assert part in drawn.alt
    assert "g = 0.75" in drawn.svg


def test_strips_of_two_heads_are_refused():
    two = Aim(*(torch.cat([each, each], dim=1) for each in vars(AIM).values()))
    with pytest.raises(ValueError, match="an aim of 2 heads"):
        four_stages(MEMORY, BEFORE, two)


def test_a_head_walks_as_it_is_told_and_melts_unless_it_is_sharpened():
    assert_close(drift((0.0, 0.0, 1.0), 1, slots=5, steps=6)[-1].argmax(), torch.tensor(1))
    blurred = drift((0.0, 0.5, 0.5), 1, slots=8, steps=2)
    assert_close(blurred[-1][:4], torch.tensor([0.25, 0.5, 0.25, 0.0]))
    assert drift((0.0, 0.1, 0.9), 3, slots=8, steps=20)[-1].max() > 0.99
    assert drift((0.0, 0.1, 0.9), 1, slots=8, steps=20)[-1].max() < 0.5


def test_the_melting_says_how_much_is_left_for_each_focus():
    drawn = melting((0.0, 0.0, 1.0), (1, 3), slots=5, steps=4)
    assert "γ = 1: after 4 steps the heaviest slot, 4, has 1.00; γ = 3" in drawn.alt
