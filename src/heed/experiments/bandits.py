"""Bandits, a task for a policy: find out which arm pays, and pull it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from heed.data.bandits import BanditData, Bandits
from heed.evaluation.bandits import Score, scores
from heed.evaluation.decoding import answering, device_of
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.trace import AttentionTrace
from heed.training.loop import Report, TrainConfig, adam, moved
from heed.training.policy import Played, PolicyTrainConfig, play, regret, train_policy

WATCHED = 4
VALID = 500
AT_ONCE = 1_000
EVERY = 5
"""Of the pulls, maps over training keep every fifth."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """probabilities: of pulling each arm next

    trace: a head for each attention block; where this pull looked among those before it, each
        called by its arm and what it paid, and the beginning. ``None`` without attention.
    """

    probabilities: tuple[float, ...]
    trace: AttentionTrace | None


@dataclass(frozen=True, kw_only=True)
class TrainedPlayer(Trained):
    """A policy that plays bandits, with the weights that were shipped, and its card."""

    def next(self, actions: Sequence[int], rewards: Sequence[int]) -> Advice:
        """What it would do after these pulls: ``next([0, 0, 3], [1, 0, 1])``; none is fine, too.

        ``ValueError`` for an arm that is not there, a reward that is neither 0 nor 1, and when all
        pulls are done.
        """
        config = self.model.config
        if len(actions) != len(rewards):
            raise ValueError(f"{len(actions)} actions and {len(rewards)} rewards: one for each")
        if len(actions) >= config.pulls:
            raise ValueError(f"{len(actions)} pulls are done, and there are {config.pulls} in all")
        for action in actions:
            if not 0 <= action < config.arms:
                raise ValueError(f"the arm {action} is none of 0 to {config.arms - 1}")
        for reward in rewards:
            if reward not in (0, 1):
                raise ValueError(f"the reward {reward} is neither 0 nor 1")
        device = device_of(self.model)
        done, paid = (
            torch.tensor([[*each, 0]], device=device) for each in (actions, rewards)
        )  # the last one is not done yet, and has no part in what comes out
        with answering(self.model):
            policy = self.model(done, paid)
        trace = None
        if policy.weights:
            names = (
                "∅",
                *(f"{a}{'✓' if r else '✗'}" for a, r in zip(actions, rewards, strict=True)),
            )
            looks = torch.stack([each[0, -1:] for each in policy.weights.values()])
            trace = AttentionTrace.of(
                "self", looks, query=("next",), key=names, heads=tuple(policy.weights)
            )
        p = policy.logits[0, -1].float().softmax(dim=-1)
        return Advice(probabilities=tuple(p.tolist()), trace=trace)


@dataclass(frozen=True, kw_only=True)
class Plays:
    """The kind of task of every row that plays bandits."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = TrainedPlayer

    def load(self, data: BanditData, places: Mapping[str, Path]) -> "Playing":
        """The bandits of a row; they need no place."""
        return Playing(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None: the row's config says how many arms and pulls there are."""
        return {}

    def headline(self, card: Card) -> str:
        """What it gets of a bandit."""
        return f"reward {card.number('reward'):.1f}"


class Drawn:
    """Bandits without end; those of a step are drawn by a generator of their own."""

    def __init__(self, data: BanditData, *, batch_size: int, seed: int) -> None:
        self.data, self.batch_size, self.seed = data, batch_size, seed

    def starting_after(self, done: int) -> Iterator[Bandits]:
        """The bandits of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn, done = self.data.draw(self.batch_size, generator), done + 1
            yield drawn


class Playing:
    """Bandits, seen from the runner; it teaches, see ``heed.experiments.runner.Teaches``."""

    credits: Sequence[str] = ()
    licence = "generated here"

    def __init__(self, data: BanditData) -> None:
        self.data = data
        self.valid = data.held_out_bandits(0, min(VALID, data.held_out))
        self.watched = self.valid.rows(slice(0, WATCHED))

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training bandits of a seed."""
        if world > 1:
            raise ValueError(f"a policy is taught in one process, not in {world}")
        return Drawn(self.data, batch_size=train.batch_size, seed=seed)

    def optimiser(self, model: nn.Module, train: TrainConfig) -> torch.optim.Optimizer:
        """Adam."""
        return adam(model, train)

    def teach(
        self,
        model: nn.Module,
        batches: Iterable[Bandits],
        train: TrainConfig,
        *,
        optimiser: torch.optim.Optimizer,
        done: int,
    ) -> Iterator[Report]:
        """See ``heed.training.policy``."""
        if not isinstance(train, PolicyTrainConfig):
            raise TypeError(
                f"a policy is taught by a PolicyTrainConfig, not {type(train).__name__}"
            )
        return train_policy(model, batches, train, optimiser=optimiser, done=done)

    def loss(self, model: nn.Module, batch: Bandits, train: TrainConfig) -> Tensor:
        """The regret a pull: what the curve shows. It is not what a step minimises."""
        return torch.tensor(regret(batch, played_by(model, batch, likeliest=False, seed=0)))

    def count(self, batch: Bandits) -> Tensor:
        """The bandits."""
        return torch.tensor(len(batch))

    def validate(self, model: nn.Module) -> float:
        """The regret a pull on held-out bandits, arms drawn as the policy says."""
        return regret(self.valid, played_by(model, self.valid, likeliest=False, seed=0))

    def inputs(self) -> list[dict[str, Any]]:
        """The watched bandits: how often each arm pays, to three digits."""
        return [{"p": [round(p, 3) for p in each]} for each in self.watched.p.tolist()]

    def maps(self, model: Any) -> list[Bytes]:
        """Where every fifth pull looked on each of them, in the last attention block, when the
        likeliest arm is pulled. Key 0 is the beginning, key t what pull t paid. Empty without
        attention."""
        played = played_by(model, self.watched, likeliest=True)
        with answering(model):
            looks = model(played.actions, played.rewards).weights
        if not looks:
            return []
        last = list(looks.values())[-1][:, EVERY - 1 :: EVERY]
        return [quantise(each.float().numpy()) for each in last]

    def says(self, model: Any) -> list[str]:
        """The arms that it pulls, from 0 on."""
        played = played_by(model, self.watched, likeliest=True)
        return [" ".join(map(str, each)) for each in played.actions.tolist()]

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """reward: of a whole bandit, arms drawn as the policy says; error: its standard error
        over bandits; likeliest: the reward when the likeliest arm is pulled instead

        players: rewards of those in ``heed.evaluation.bandits``, on the same bandits with the same
        luck; ``players.best`` knows every p
        """
        test = self.data.held_out_bandits(1, self.data.held_out)
        drawn = Score.of(played_by(model, test, likeliest=False, seed=1).rewards.sum(dim=1))
        likeliest = Score.of(played_by(model, test, likeliest=True).rewards.sum(dim=1))
        players = scores(test)
        return {
            "valid_loss": self.validate(model),
            "reward": drawn.reward,
            "error": drawn.error,
            "likeliest": likeliest.reward,
            "players": {name: each.reward for name, each in players.items()},
        }, {
            "bandits": len(test),
            "players": {name: asdict(each) for name, each in players.items()},
        }

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "Playing":
        """The same with fewer bandits held out."""
        return Playing(replace(self.data, held_out=min(500, self.data.held_out)))


def played_by(model: Any, bandits: Bandits, *, likeliest: bool, seed: int = 0) -> Played:
    """Let a model play, many bandits at a time; draws are those of the seed."""
    device = device_of(model)
    generator = torch.Generator(device=device).manual_seed(seed)
    parts = []
    with answering(model):
        for first in range(0, len(bandits), AT_ONCE):
            some = moved(bandits.rows(slice(first, first + AT_ONCE)), device)
            parts.append(
                moved(
                    play(model, some, likeliest=likeliest, generator=generator), torch.device("cpu")
                )
            )
    names = Played.__dataclass_fields__
    return Played(**{name: torch.cat([getattr(each, name) for each in parts]) for name in names})
