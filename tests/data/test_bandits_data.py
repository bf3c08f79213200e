"""Bandits: their luck is settled beforehand, and the arms pay as often as they say."""

from dataclasses import replace

import pytest
import torch

from heed.data.bandits import BanditData, Bandits

DATA = BanditData(arms=3, pulls=7, held_out=5)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_an_arm_pays_as_often_as_it_says():
    p = torch.tensor([[0.0, 0.25, 1.0]]).expand(20_000, 3)
    bandits = Bandits(p, torch.rand(20_000, 2, 3))
    for arm, often in enumerate(p[0].tolist()):
        paid = bandits.pull(1, torch.full((20_000,), arm)).double().mean().item()
        assert paid == pytest.approx(often, abs=0.015)


def test_what_every_arm_would_pay_is_settled_beforehand():
    bandits = DATA.draw(4, generator())
    arms = torch.tensor([0, 2, 1, 1])
    first = bandits.pull(3, arms)
    assert first.tolist() == [
        int(bandits.luck[row, 3, arm] < bandits.p[row, arm])
        for row, arm in enumerate(arms.tolist())
    ]
    assert torch.equal(bandits.pull(3, arms), first)


def test_arms_are_uniform_and_independent():
    p = BanditData(arms=2, pulls=2).draw(20_000, generator()).p
    assert p.mean(dim=0).tolist() == pytest.approx([0.5, 0.5], abs=0.01)
    assert p.std(dim=0).tolist() == pytest.approx([12**-0.5] * 2, abs=0.01)
    assert abs(torch.corrcoef(p.T)[0, 1].item()) < 0.03


def test_bandits_come_from_the_generator_alone_and_those_held_out_stay_the_same():
    one, again, other = (DATA.draw(3, generator(seed)) for seed in (5, 5, 6))
    assert torch.equal(one.luck, again.luck)
    assert not torch.equal(one.luck, other.luck)
    assert torch.equal(DATA.held_out_bandits(1, 5).p, DATA.held_out_bandits(1, 5).p)
    assert not torch.equal(DATA.held_out_bandits(0, 5).p, DATA.held_out_bandits(1, 5).p)


def test_some_bandits_are_played_as_they_would_be_among_all():
    bandits = DATA.draw(6, generator())
    some = bandits.rows(slice(2, 5))
    assert (len(some), some.pulls) == (3, 7)
    assert torch.equal(
        some.pull(4, torch.tensor([0, 1, 2])),
        bandits.pull(4, torch.tensor([0, 0, 0, 1, 2, 0]))[2:5],
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arms": 1}, r"^arms=1 and pulls=7: there must be a choice"),
        ({"pulls": 1}, r"^arms=3 and pulls=1: there must be"),
        ({"held_out": 1}, r"^held_out=1: one bandit has no spread$"),
    ],
)
def test_what_is_no_bandit_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(DATA, **wrong)
