"""Episodes, a task that is new every time: five characters nobody has seen, which one is this?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.data.episodes import NONE, EpisodeData, Episodes
from heed.data.glyphs import CREDITS, LICENCE, SIDE, glyphs
from heed.evaluation.decoding import answering, device_of
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.models.prototypes import nearest_mean
from heed.trace import AttentionTrace
from heed.training.episodes import episode_loss
from heed.training.loop import TrainConfig

WATCHED, WATCHED_SHOTS = 4, 2
VALID = 400
AT_ONCE = 100
WIDE = 1.96
"""Standard errors to each side that hold the true value 95 times out of 100."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """label: the likeliest; probabilities: of each label

    trace: which step looked at which, a head for each attention block; the last step is the one
        that asks. ``None`` from a model without attention.
    """

    label: int
    probabilities: tuple[float, ...]
    trace: AttentionTrace | None


@dataclass(frozen=True, kw_only=True)
class TrainedLearner(Trained):
    """A network that learns within an episode, with the weights that were shipped, and its card."""

    def ask(
        self,
        pictures: Float[Tensor, "shown row column"],
        labels: Int[Tensor, " shown"],
        asked: Float[Tensor, "row column"],
    ) -> Answer:
        """Show it pictures with their labels, in this order, then ask for the label of another.

        Pictures are 28 × 28, ink is 1. ``ValueError`` for pictures of another size, for a label
        that the model has no place for, and for more pictures than it looks back over.
        """
        if pictures.shape[1:] != (SIDE, SIDE) or asked.shape != (SIDE, SIDE):
            raise ValueError(
                f"pictures of shape {tuple(pictures.shape[1:])} and {tuple(asked.shape)} "
                f"are not {SIDE} × {SIDE}"
            )
        ways = self.model.config.ways
        if len(labels) != len(pictures) or not len(labels):
            raise ValueError(f"{len(pictures)} pictures and {len(labels)} labels: one for each")
        if labels.min() < 0 or labels.max() >= ways:
            wrong = next(each for each in labels.tolist() if not 0 <= each < ways)
            raise ValueError(f"the label {wrong} is none of 0 to {ways - 1}")
        device = device_of(self.model)
        shown = torch.cat([pictures, asked[None]])[None].to(device)
        named = torch.cat([labels, torch.tensor([NONE], device=labels.device)])[None].to(device)
        with answering(self.model):
            out = self.model(shown, named)
        p = out.logits[0, -1].float().softmax(dim=-1)
        return Answer(
            label=int(p.argmax()),
            probabilities=tuple(p.tolist()),
            trace=trace_of({name: each[0] for name, each in out.weights.items()}, labels.tolist()),
        )


def trace_of(weights: Mapping[str, Float[Tensor, "step step"]], labels: list[int]) -> Any:
    """An episode's looks, a head a block; steps are called by their label and their place, the
    last one "?". ``None`` without attention."""
    if not weights:
        return None
    steps = [*(f"{place}: {label}" for place, label in enumerate(labels, 1)), "?"]
    return AttentionTrace.of(
        "self", torch.stack(list(weights.values())), query=steps, key=steps, heads=tuple(weights)
    )


@dataclass(frozen=True, kw_only=True)
class Recognises:
    """The kind of task of every row that recognises characters."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = TrainedLearner

    def load(self, data: EpisodeData, places: Mapping[str, Path]) -> "Recognising":
        """The episodes of a row; they need no place."""
        return Recognising(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None: the row's config says how many ways there are."""
        return {}

    def headline(self, card: Card) -> str:
        """Accuracy with the fewest shots."""
        shots = min(card.metrics["accuracy"], key=int)
        return f"{shots}-shot {card.number(f'accuracy.{shots}'):.1%}"


class Drawn:
    """Episodes without end; those of a step are drawn by a generator of their own.

    Of ``world`` processes, number ``rank`` gets every world-th episode of each step.
    """

    def __init__(
        self, data: EpisodeData, *, batch_size: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        if batch_size < world:
            raise ValueError(f"{batch_size} episodes leave some of {world} processes without work")
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.rank, self.world = rank, world

    def starting_after(self, done: int) -> Iterator[Episodes]:
        """The episodes of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn, done = self.data.draw(self.batch_size, "train", generator), done + 1
            yield drawn.rows(slice(self.rank, None, self.world))


class Recognising:
    """Characters within an episode, seen from the runner."""

    credits = CREDITS
    licence = LICENCE

    def __init__(self, data: EpisodeData) -> None:
        self.data = data
        self.valid = data.held_out_episodes("valid", min(VALID, data.held_out))
        shots = min(WATCHED_SHOTS, data.shots)
        self.watched = data.held_out_episodes("valid", WATCHED, shots)

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training episodes of a seed."""
        return Drawn(self.data, batch_size=train.batch_size, seed=seed, rank=rank, world=world)

    def loss(self, model: nn.Module, batch: Episodes, train: TrainConfig) -> Tensor:
        """See ``heed.training.episodes.episode_loss``."""
        shared = batch.drawings if self.data.sharing > 1 else None
        guess = model(batch.pictures, batch.labels, batch.lengths, shared)
        return episode_loss(guess, batch, train)

    def count(self, batch: Episodes) -> Tensor:
        """The questions."""
        return batch.asking.sum()

    def validate(self, model: nn.Module) -> float:
        """Nats an episode on scripts that neither training nor the test has, any number of
        shots."""
        logits = asked_of(model, self.valid).logits
        return nn.functional.cross_entropy(logits, self.valid.answers).item()

    def inputs(self) -> list[dict[str, Any]]:
        """The watched episodes: characters by label, labels in the order shown, and what is right.

        They are ``data.held_out_episodes("valid", 4, 2)``.
        """
        watched, known = self.watched, glyphs().characters
        return [
            {
                "characters": [known[each] for each in watched.glyphs[i].tolist()],
                "labels": watched.labels[i, :-1].tolist(),
                "answer": int(watched.answers[i]),
            }
            for i in range(len(watched.answers))
        ]

    def maps(self, model: Any) -> list[Bytes]:
        """Where the step that asks looked, a row a block; the last column is itself. Empty without
        attention."""
        looks = asked_of(model, self.watched).looks
        if not looks:
            return []
        return [quantise(each.numpy()) for each in torch.stack(list(looks.values()), dim=1)]

    def says(self, model: Any) -> list[int]:
        """The labels that it answers."""
        return asked_of(model, self.watched).logits.argmax(dim=-1).tolist()

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Groups by the number of shots, on scripts that training never had.

        accuracy: and interval, half the width of its 95 % interval over episodes
        seen: the same accuracy on the training's own drawings, unturned, in new episodes
        look_right: the share of its look that the step that asks gives to the pictures of the
            right class, for each attention block: ``look_right.5.attention 3``; chance is one of
            ``ways``, and less where it looks at itself
        nearest_mean: the accuracy of prototypes on the model's own embedding, for models that
            have one: see ``heed.models.prototypes``
        """
        tests = [str(shots) for shots in self.data.tests]
        accuracy, interval, seen, looks, nearest = ({} for _ in range(5))
        for name, shots in zip(tests, self.data.tests, strict=True):
            test = self.data.held_out_episodes("test", self.data.held_out, shots)
            found = asked_of(model, test)
            right = (found.logits.argmax(dim=-1) == test.answers).double()
            accuracy[name] = right.mean().item()
            interval[name] = WIDE * (right.std(correction=0) / len(right) ** 0.5).item()
            if found.looks:
                own = test.labels == test.answers[:, None]
                looks[name] = {
                    block: each.masked_fill(~own, 0.0).sum(dim=1).mean().item()
                    for block, each in found.looks.items()
                }
            if found.nearest is not None:
                by_mean = found.nearest.argmax(dim=-1) == test.answers
                nearest[name] = by_mean.double().mean().item()
            known = replace(self.data, turned=False).held_out_episodes(
                "train", self.data.held_out, shots
            )
            right = asked_of(model, known).logits.argmax(dim=-1) == known.answers
            seen[name] = right.double().mean().item()
        metrics: dict[str, Any] = {
            "valid_loss": self.validate(model),
            "accuracy": accuracy,
            "interval": interval,
            "seen": seen,
        }
        metrics |= {"look_right": looks} if looks else {}
        return metrics | ({"nearest_mean": nearest} if nearest else {}), {
            "episodes": self.data.held_out,
            "ways": self.data.ways,
            "chance": 1 / self.data.ways,
            "pixels": {name: self._pixels(int(name)) for name in tests},
        }

    def _pixels(self, shots: int) -> float:
        """What whoever compares pixels gets right: the label of the picture with the largest
        cosine."""
        test = self.data.held_out_episodes("test", self.data.held_out, shots)
        flat = nn.functional.normalize(test.pictures.flatten(2), dim=-1)
        alike = (flat[:, :-1] @ flat[:, -1:].mT)[..., 0]
        nearest = test.labels.gather(1, alike.argmax(dim=1, keepdim=True))[:, 0]
        return (nearest == test.answers).double().mean().item()

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "Recognising":
        """The same with fewer drawings of each character, which take half a minute to make, and
        fewer episodes held out."""
        few = max(self.data.shots + 1, self.data.drawings // 2)
        return Recognising(replace(self.data, drawings=few, held_out=min(200, self.data.held_out)))


@dataclass(frozen=True)
class Asked:
    """What the step that asks says, and where it looked, for each attention block.

    nearest: what prototypes on the same embedding say, if the model has one
    """

    logits: Float[Tensor, "episode way"]
    looks: dict[str, Float[Tensor, "episode step"]]
    nearest: Float[Tensor, "episode way"] | None = None


def asked_of(model: Any, episodes: Episodes) -> Asked:
    """Put episodes through a model, some at a time."""
    logits: list[Tensor] = []
    nearest: list[Tensor] = []
    looks: dict[str, list[Tensor]] = {}
    device = device_of(model)
    with answering(model):
        for first in range(0, len(episodes.answers), AT_ONCE):
            part = episodes.rows(slice(first, first + AT_ONCE))
            guess = model(part.pictures.to(device), part.labels.to(device), part.lengths.to(device))
            logits.append(guess.at(part.asked.to(device)).float().cpu())
            row = torch.arange(len(part.asked))
            if guess.embedded is not None:
                ways = logits[-1].shape[-1]
                by_mean = nearest_mean(guess.embedded.float().cpu(), part.labels, ways)
                nearest.append(by_mean[row, part.asked])
            for block, weights in guess.weights.items():
                looks.setdefault(block, []).append(weights.float().cpu()[row, part.asked])
    return Asked(
        torch.cat(logits),
        {block: torch.cat(each) for block, each in looks.items()},
        torch.cat(nearest) if nearest else None,
    )
