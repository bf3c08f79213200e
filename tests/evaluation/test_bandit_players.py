"""Players of bandits: each is its rule, and the indices are what stopping by brute force gives."""

from functools import cache

import numpy as np
import pytest
import torch

from heed.data.bandits import BanditData, Bandits
from heed.evaluation.bandits import (
    PLAYERS,
    Score,
    gittins,
    gittins_indices,
    greedy,
    rewards_of,
    scores,
    thompson,
    ucb1,
)

RNG = np.random.default_rng(0)


def counts(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


def mean(w: int, l: int) -> float:  # noqa: E741
    return (w + 1) / (w + l + 2)


# ------------------------------------------------------------------ indices


def worth(w: int, l: int, left: int, safe: float) -> float:  # noqa: E741
    """The most that this arm, pulled once now and then left for a safe one whenever one likes, and
    for good, can bring."""
    p = mean(w, l)
    if left == 1:
        return p

    def later(w: int, l: int) -> float:  # noqa: E741
        return max(safe * (left - 1), worth(w, l, left - 1, safe))

    return p * (1 + later(w + 1, l)) + (1 - p) * later(w, l + 1)


@pytest.mark.parametrize(
    ("w", "l", "left"), [(0, 0, 1), (0, 0, 3), (1, 0, 3), (0, 2, 4), (2, 1, 4), (0, 0, 7)]
)
def test_an_index_is_the_payment_that_makes_a_safe_arm_as_good(w, l, left):  # noqa: E741
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if worth(w, l, left, middle) > left * middle:
            low = middle
        else:
            high = middle
    assert gittins_indices(7)[left, w, l].item() == pytest.approx(low, abs=1e-3)


def test_the_last_index_is_the_mean_and_more_pulls_left_make_an_arm_more_worth_trying():
    table = gittins_indices(12)
    assert table[1, 2, 3].item() == pytest.approx(mean(2, 3))
    assert table[2, 0, 0].item() == pytest.approx(5 / 9, abs=1e-6)  # on paper
    along = table[1:11, 1, 1]
    assert (along.diff() > 0).all()
    assert table[12, 1, 0].isnan()  # 13 pulls in all


@cache
def best(pulls: int, state: tuple[tuple[int, int], ...]) -> float:
    """What the best of all ways to play gets of a bandit: every choice is tried."""
    if not pulls:
        return 0.0
    return max(after(pulls, state, arm, best) for arm in range(len(state)))


def after(pulls, state, arm, goes_on) -> float:
    w, l = state[arm]  # noqa: E741
    p = mean(w, l)
    won, lost = (
        tuple(new if at == arm else old for at, old in enumerate(state))
        for new in ((w + 1, l), (w, l + 1))
    )
    return p * (1 + goes_on(pulls - 1, won)) + (1 - p) * goes_on(pulls - 1, lost)


@pytest.mark.parametrize(("arms", "pulls"), [(2, 2), (2, 8), (3, 6)])
def test_who_follows_the_index_gets_all_but_what_the_best_way_gets(arms, pulls):
    @cache
    def followed(left: int, state: tuple[tuple[int, int], ...]) -> float:
        if not left:
            return 0.0
        wins, losses = (counts([pair[k] for pair in state]) for k in (0, 1))
        arm = int(gittins(wins, losses, left, RNG)[0].argmax())
        return after(left, state, arm, followed)

    start = ((0, 0),) * arms
    assert best(pulls, start) - 2e-3 <= followed(pulls, start) <= best(pulls, start) + 1e-9


# ------------------------------------------------------------------ rules


def test_greedy_pulls_the_arm_with_the_best_mean():
    index = greedy(counts([3, 0, 1]), counts([1, 0, 0]), 5, RNG)
    assert index[0].tolist() == pytest.approx([4 / 6, 1 / 2, 2 / 3])


def test_thompson_draws_from_what_is_known():
    many = 20_000
    index = thompson(counts([8, 0]).expand(many, 2), counts([2, 0]).expand(many, 2), 5, RNG)
    assert index.mean(dim=0).tolist() == pytest.approx([9 / 12, 1 / 2], abs=0.01)
    assert index[:, 0].var().item() == pytest.approx(9 * 3 / (12**2 * 13), abs=0.002)


def test_ucb1_tries_every_arm_first_and_then_adds_a_bonus():
    wins, losses = counts([2, 0, 0]), counts([1, 0, 1])
    index = ucb1(wins, losses, 5, RNG)[0]
    assert index[1] == float("inf")
    bonus = (2 * np.log(4)) ** 0.5
    assert index[0].item() == pytest.approx(2 / 3 + bonus / 3**0.5)
    assert index[2].item() == pytest.approx(bonus)


def test_of_equally_good_arms_any_is_pulled():
    bandits = Bandits(torch.eye(3)[[1] * 600], torch.rand(600, 1, 3))
    paid = rewards_of(greedy, bandits).double().mean().item()
    assert paid == pytest.approx(1 / 3, abs=0.07)


def test_players_see_no_luck_but_that_of_the_arm_they_pulled():
    bandits = BanditData(arms=3, pulls=9).draw(50, torch.Generator().manual_seed(0))
    for player in PLAYERS.values():
        rewards = rewards_of(player, bandits)
        changed = Bandits(bandits.p, bandits.luck.clone())
        changed.luck[:, 5:] = torch.rand(50, 4, 3)
        assert torch.equal(rewards_of(player, changed)[:, :5], rewards[:, :5])


def test_who_knows_more_gets_more():
    bandits = BanditData(arms=3, pulls=30).draw(3_000, torch.Generator().manual_seed(1))
    found = scores(bandits)
    assert list(found) == ["best", *PLAYERS]
    assert found["best"].reward == pytest.approx(30 * 3 / 4, abs=4 * found["best"].error)
    assert found["random"].reward == pytest.approx(30 / 2, abs=4 * found["random"].error)
    got = {name: each.reward for name, each in found.items()}
    assert got["best"] > got["gittins"] > got["greedy"] > got["ucb1"] > got["random"]
    assert got["gittins"] > got["thompson"] > got["ucb1"]


def test_a_score_is_a_mean_and_its_standard_error():
    score = Score.of(torch.tensor([1, 3, 5, 7]))
    assert score.reward == 4.0
    assert score.error == pytest.approx((20 / 3) ** 0.5 / 2)
    assert str(score) == "4.00 ± 1.29"
