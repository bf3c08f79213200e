"""Recall, the third task: eight pairs go by, then a key asks for its value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from heed.data.recall import LETTERS, Questions, RecallData
from heed.evaluation.decoding import answering, device_of
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.trace import AttentionTrace
from heed.training.loop import TrainConfig

WATCHED = 4


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The value that was recalled, how sure the model is, and where it looked (or ``None``)."""

    value: int
    probability: float
    trace: AttentionTrace | None


@dataclass(frozen=True, kw_only=True)
class TrainedRecall(Trained):
    """A network that keeps pairs, with the weights that were shipped, and its card."""

    def recall(self, pairs: Sequence[tuple[str, int]], key: str) -> Answer:
        """Read the pairs, then ask for the key: ``recall([("k", 7), ("a", 3)], "k")``.

        ``ValueError`` for a key or a value that the model never met.
        """
        if not pairs:
            raise ValueError("there are no pairs to read")
        config = self.model.config
        known = LETTERS[: config.keys]
        for letter in (*(letter for letter, _ in pairs), key):
            if len(letter) != 1 or letter not in known:
                raise ValueError(f"the key {letter!r} is none of {known[0]} to {known[-1]}")
        for _, value in pairs:
            if not 0 <= value < config.values:
                raise ValueError(f"the value {value} is none of 0 to {config.values - 1}")
        device = device_of(self.model)
        keys = [LETTERS.index(letter) for letter, _ in pairs] + [LETTERS.index(key)]
        values = [value for _, value in pairs] + [config.values]
        with answering(self.model):
            out = self.model(
                torch.tensor([keys], device=device), torch.tensor([values], device=device)
            )
        p = out.logits[0].float().softmax(dim=-1)
        trace = None
        if out.weights is not None:
            steps = (*(f"{letter} {value}" for letter, value in pairs), f"{key} ?")
            trace = AttentionTrace.of(
                "self", out.weights[0], query=steps, key=("∅", *steps[:-1]), heads=("self",)
            )
        return Answer(value=int(p.argmax()), probability=p.max().item(), trace=trace)


@dataclass(frozen=True, kw_only=True)
class Recalls:
    """The kind of task of every row that recalls."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = TrainedRecall

    def load(self, data: RecallData, places: Mapping[str, Path]) -> "Recalling":
        """The questions of a row; they need no place."""
        return Recalling(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None: the row's config says how many keys and values there are."""
        return {}

    def headline(self, card: Card) -> str:
        """Accuracy."""
        return f"right {card.number('accuracy'):.0%}"


class Drawn:
    """Questions without end; those of a step are drawn by a generator of their own.

    Of ``world`` processes, number ``rank`` gets every world-th question of each step.
    """

    def __init__(
        self, data: RecallData, *, batch_size: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        if batch_size < world:
            raise ValueError(f"{batch_size} questions leave some of {world} processes without work")
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.rank, self.world = rank, world

    def starting_after(self, done: int) -> Iterator[Questions]:
        """The questions of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn, done = self.data.draw(self.batch_size, generator), done + 1
            mine = slice(self.rank, None, self.world)
            yield rows(drawn, mine)


def rows(questions: Questions, which: slice) -> Questions:
    """Some of the questions."""
    return Questions(
        keys=questions.keys[which],
        values=questions.values[which],
        places=questions.places[which],
        answers=questions.answers[which],
    )


class Recalling:
    """Key-value recall, seen from the runner."""

    credits: Sequence[str] = ()
    licence = "generated here"

    def __init__(self, data: RecallData) -> None:
        self.data = data
        self.valid, self.test = (data.held_out_questions(part) for part in (0, 1))
        self.watched = rows(self.valid, slice(0, WATCHED))

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training questions of a seed."""
        return Drawn(self.data, batch_size=train.batch_size, seed=seed, rank=rank, world=world)

    def loss(self, model: nn.Module, batch: Questions, train: TrainConfig) -> Tensor:
        """−log p of the right value, in nats, a mean over questions."""
        return nn.functional.cross_entropy(
            model(batch.keys, batch.values).logits.float(),
            batch.answers,
            label_smoothing=train.label_smoothing,
        )

    def count(self, batch: Questions) -> Tensor:
        """The questions."""
        return torch.tensor(len(batch.answers))

    def validate(self, model: nn.Module) -> float:
        """Nats a question on held-out ones."""
        with answering(model):
            logits = model(self.valid.keys, self.valid.values).logits.float()
            return nn.functional.cross_entropy(logits, self.valid.answers).item()

    def inputs(self) -> list[dict[str, Any]]:
        """The watched questions: letters, numbers, and what is right."""
        watched = self.watched
        return [
            {
                "keys": [LETTERS[key] for key in watched.keys[i].tolist()],
                "values": watched.values[i, :-1].tolist(),
                "answer": int(watched.answers[i]),
            }
            for i in range(WATCHED)
        ]

    def maps(self, model: Any) -> list[Bytes]:
        """Which step looked at which pair; column 0 is the null slot. Empty without
        attention."""
        with answering(model):
            weights = model(self.watched.keys, self.watched.values).weights
        return [] if weights is None else [quantise(each.float().numpy()) for each in weights]

    def says(self, model: Any) -> list[int]:
        """The values that it recalls."""
        with answering(model):
            return model(self.watched.keys, self.watched.values).logits.argmax(dim=-1).tolist()

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """How often the value is right, and how often by the place of its pair (1 is the first).

        look_right: how often the asking step looks at the right pair more than at anything else
        """
        test = self.test
        with answering(model):
            out = model(test.keys, test.values)
        right = (out.logits.argmax(dim=-1) == test.answers).double()
        metrics: dict[str, Any] = {
            "valid_loss": self.validate(model),
            "accuracy": right.mean().item(),
            "accuracy_by_place": {
                str(place + 1): right[test.places == place].mean().item()
                for place in range(self.data.pairs)
            },
        }
        if out.weights is not None:
            looked = out.weights[:, -1].argmax(dim=-1)
            metrics["look_right"] = (looked == test.places + 1).double().mean().item()
        return metrics, {"questions": len(test.answers), "chance": 1 / self.data.values}

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "Recalling":
        """The same with fewer questions held out: it is learnt within a minute anyway."""
        return Recalling(replace(self.data, held_out=min(400, self.data.held_out)))
