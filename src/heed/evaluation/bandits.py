"""Players whose rule is written down, not learnt: what a policy of bandits is measured by.

All of them know of an arm how often it paid (``wins``) and how often it did not (``losses``), and
pull the arm with the largest index. Before the first pull every p from 0 to 1 is equally likely, so
what is known of p after some is Beta(wins + 1, losses + 1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heed.data.bandits import Bandits

Counts = Int[Tensor, "bandit arm"]
Player = Callable[[Counts, Counts, int, np.random.Generator], Float[Tensor, "bandit arm"]]
"""The index of each arm from wins, losses, how many pulls are left, and random numbers."""
GRID = 401
"""Payments of the safe arm that are tried; between two of them, indices are interpolated."""
AT_ONCE = 16


def at_random(wins: Counts, losses: Counts, left: int, rng: np.random.Generator) -> Tensor:
    """Any arm."""
    return torch.from_numpy(rng.random(wins.shape))


def greedy(wins: Counts, losses: Counts, left: int, rng: np.random.Generator) -> Tensor:
    """E[p] = (wins + 1) / (wins + losses + 2): the arm that seems best now."""
    return (wins + 1).double() / (wins + losses + 2)


def thompson(wins: Counts, losses: Counts, left: int, rng: np.random.Generator) -> Tensor:
    """One p drawn for each arm from what is known of it (Thompson 1933)."""
    return torch.from_numpy(rng.beta((wins + 1).numpy(), (losses + 1).numpy()))


def ucb1(wins: Counts, losses: Counts, left: int, rng: np.random.Generator) -> Tensor:
    """Mean + √(2 ln t / n), every arm once first (Auer, Cesa-Bianchi & Fischer 2002, Figure 1)."""
    n = wins + losses
    t = n.sum(dim=1, keepdim=True).clamp(min=1)
    index = wins / n.clamp(min=1) + (2 * t.double().log() / n.clamp(min=1)).sqrt()
    return index.masked_fill(n == 0, math.inf)


def gittins(wins: Counts, losses: Counts, left: int, rng: np.random.Generator) -> Tensor:
    """The index of ``gittins_indices``, for the pulls that are left."""
    total = int((wins + losses).sum(dim=1).max())
    return gittins_indices(total + left)[left, wins, losses]


PLAYERS: dict[str, Player] = {
    "gittins": gittins,
    "greedy": greedy,
    "thompson": thompson,
    "ucb1": ucb1,
    "random": at_random,
}


@cache
def gittins_indices(pulls: int, grid: int = GRID) -> Float[Tensor, "left wins losses"]:
    """ν(w, l; n): what a safe arm must pay a pull, so that with n pulls left it is just as good as
    this one, which may be left for the safe one at any time and for good (Gittins 1979, with a
    finite horizon).

    By dynamic programming, for each payment λ of a grid: with nothing left V₀ = 0, then

        go_n(w, l) = p (1 + V_{n−1}(w + 1, l)) + (1 − p) V_{n−1}(w, l + 1),  p = (w + 1)/(w + l + 2)
        V_n = max(n λ, go_n)

    and ν is where go_n = n λ, between two payments on a line. States that cannot be reached within
    ``pulls`` are NaN. With one unknown arm and a safe one, to follow ν is optimal; with more
    unknown arms it is very nearly so (with an endless, discounted future it would be optimal).
    """
    payments = torch.linspace(0, 1, grid, dtype=torch.double)
    table = torch.full((pulls + 1,) * 3, math.nan, dtype=torch.double)
    side = torch.arange(pulls + 1)
    p_all = (side[:, None] + 1).double() / (side[:, None] + side + 2)
    # Some payments at a time, so that all states fit into a processor's cache; neighbours share
    # one payment, and no crossing falls between them.
    for first in range(0, grid - 1, AT_ONCE):
        some = payments[first : first + AT_ONCE + 1, None, None]
        value = torch.zeros(len(some), pulls + 1, pulls + 1, dtype=torch.double)
        for n in range(1, pulls + 1):
            size = pulls - n + 1
            p = p_all[:size, :size]
            go = p * (1 + value[:, 1 : size + 1, :size])
            go += (1 - p) * value[:, :size, 1 : size + 1]
            over = go - n * some  # falls as payments rise: above 0 at first, not at the end
            above, below = over[:-1], over[1:]
            here = (above > 0) & (below <= 0)
            share = torch.where(here, above / (above - below), 0.0)
            found = torch.where(here, some[:-1] + share * (some[1:] - some[:-1]), 0.0).sum(dim=0)
            layer = table[n, :size, :size]
            layer.copy_(torch.where(here.any(dim=0), found, layer))
            value = torch.maximum(go, n * some)
    reached = side[:, None, None] + side[:, None] + side <= pulls
    return table.masked_fill(~reached, math.nan)


@dataclass(frozen=True)
class Score:
    """Reward of a whole bandit, a mean over bandits, and its standard error."""

    reward: float
    error: float

    @classmethod
    def of(cls, rewards: Float[Tensor, " bandit"] | Int[Tensor, " bandit"]) -> "Score":
        many = rewards.double()
        return cls(many.mean().item(), (many.std() / len(many) ** 0.5).item())

    def __str__(self) -> str:
        return f"{self.reward:.2f} ± {self.error:.2f}"


def rewards_of(player: Player, bandits: Bandits, *, seed: int = 0) -> Int[Tensor, "bandit pull"]:
    """What a player gets at each pull of each bandit. Of equally good arms, it pulls any.

    That matters: a greedy player who stays with the first of them tries less, and gets less.
    """
    wins = torch.zeros(bandits.p.shape, dtype=torch.long)
    losses = torch.zeros_like(wins)
    row = torch.arange(len(bandits))
    rng = np.random.default_rng(seed)
    rewards = []
    for at in range(bandits.pulls):
        index = player(wins, losses, bandits.pulls - at, rng)
        equal = index == index.amax(dim=1, keepdim=True)
        arms = (torch.from_numpy(rng.random(index.shape)) * equal).argmax(dim=1)
        reward = bandits.pull(at, arms)
        wins[row, arms] += reward
        losses[row, arms] += 1 - reward
        rewards.append(reward)
    return torch.stack(rewards, dim=1)


def scores(bandits: Bandits, *, seed: int = 0) -> dict[str, Score]:
    """All players on the same bandits with the same luck, and ``best``, who knows every p."""
    found = {
        name: Score.of(rewards_of(player, bandits, seed=seed).sum(dim=1))
        for name, player in PLAYERS.items()
    }
    best = bandits.p.argmax(dim=1)
    knows = [bandits.pull(at, best) for at in range(bandits.pulls)]
    return {"best": Score.of(torch.stack(knows).sum(dim=0)), **found}
