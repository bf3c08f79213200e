"""Bandits: arms that pay 1 or nothing, each as often as it will, and nobody says how often."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Bandits:
    """Many bandits at once, played side by side.

    p: how often each arm pays; luck: for each pull and arm a number from 0 to 1. An arm pays at a
    pull if its luck there is below p. So it is settled beforehand what every arm would pay at every
    pull, and two players who are compared have the same luck.
    """

    p: Float[Tensor, "bandit arm"]
    luck: Float[Tensor, "bandit pull arm"]

    def __len__(self) -> int:
        return len(self.p)

    @property
    def pulls(self) -> int:
        """How often each is played."""
        return self.luck.shape[1]

    def pull(self, at: int, arms: Int[Tensor, " bandit"]) -> Int[Tensor, " bandit"]:
        """What one arm of each pays at pull number ``at``, from 0 on: 1 or 0."""
        row = torch.arange(len(arms), device=arms.device)
        return (self.luck[row, at, arms] < self.p[row, arms]).long()

    def rows(self, which: slice) -> "Bandits":
        """Some of the bandits."""
        return Bandits(self.p[which], self.luck[which])


@dataclass(frozen=True, kw_only=True)
class BanditData:
    """``arms`` arms (the paper's K), ``pulls`` pulls (its N); each p uniform from 0 to 1.

    held_out: bandits of the test
    """

    arms: int = 5
    pulls: int = 100
    held_out: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.arms < 2 or self.pulls < 2:
            raise ValueError(
                f"arms={self.arms} and pulls={self.pulls}: there must be a choice, and a second one"
            )
        if self.held_out < 2:
            raise ValueError(f"held_out={self.held_out}: one bandit has no spread")

    def draw(self, bandits: int, generator: torch.Generator) -> Bandits:
        """As many bandits, from this generator alone."""
        return Bandits(
            p=torch.rand(bandits, self.arms, generator=generator),
            luck=torch.rand(bandits, self.pulls, self.arms, generator=generator),
        )

    def held_out_bandits(self, part: int, count: int) -> Bandits:
        """The same bandits every time: part 0 for validation, 1 for the test."""
        generator = torch.Generator().manual_seed(2**40 + self.seed * 10 + part)
        return self.draw(count, generator)
