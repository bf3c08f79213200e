"""Commands that somebody else gives to the heads of a machine."""

import math

import pytest
import torch
from small_machines import untrained

from heed.evaluation.hands import Hand, Hands


def commands(hands):
    model = untrained().model
    with torch.inference_mode():
        return model.step(model.start(2), torch.ones(2, 4), hand=hands)[1].commands


def test_what_is_taken_over_is_told_and_the_rest_is_left():
    own = commands(None)
    told = commands(
        Hands(
            reading=Hand(gate=0.25, shifts=(0.0, 0.5, 0.5)), writing=Hand(strength=3.0, focus=7.0)
        )
    )
    assert (told.reading.gate == 0.25).all()
    assert (told.reading.shifts == torch.tensor([0.0, 0.5, 0.5])).all()
    assert (told.writing.strength == 3.0).all()
    assert (told.writing.focus == 7.0).all()
    for kind, names in (
        ("reading", ("key", "strength", "focus")),
        ("writing", ("key", "gate", "shifts")),
    ):
        for name in names:
            assert torch.equal(
                getattr(getattr(told, kind), name), getattr(getattr(own, kind), name)
            )
    assert torch.equal(told.add, own.add)
    same = commands(Hands())
    assert torch.equal(same.reading.gate, own.reading.gate)


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"gate": 1.5}, "gate=1.5 must be from 0 to 1"),
        ({"gate": math.nan}, "gate=nan must be from 0 to 1"),
        ({"strength": -1.0}, "strength=-1 must be from 0 on"),
        ({"strength": math.inf}, "strength=inf must be from 0 on"),
        ({"focus": 0.5}, "focus=0.5 must be from 1 on"),
        ({"shifts": (0.5, 0.5)}, r"shifts=\(0.5, 0.5\) must be an odd number of shares of 1"),
        ({"shifts": (0.5, 0.0, 0.0)}, "must be an odd number of shares of 1"),
        ({"shifts": (-1.0, 1.0, 1.0)}, "must be an odd number of shares of 1"),
    ],
    ids=str,
)
def test_a_command_beyond_its_range_is_refused(told, fault):
    with pytest.raises(ValueError, match=fault):
        Hand(**told)
