"""Reading halves, the task of the judge: which shape and which hue does half a picture show?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heed.data.twins import SHAPES, Things, TwinData, Twins, gap, read, split
from heed.evaluation.decoding import answering
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes
from heed.experiments.tasks import Trained
from heed.models.halves import Seen
from heed.training.loop import TrainConfig

WATCHED = 4


@dataclass(frozen=True)
class Halves:
    """Halves, from 0 to 1, with what stands in them."""

    pictures: Float[Tensor, "half 3 row column"]
    shape: Tensor
    hue: Tensor


def halves_of(twins: Twins) -> Halves:
    """All halves of some pictures, one after the other."""
    return Halves(
        split(twins.pictures.float() / 255).flatten(0, 1),
        twins.things.shape.flatten(),
        twins.things.hue.flatten(),
    )


@dataclass(frozen=True, kw_only=True)
class ReadsHalves:
    """The kind of task of the row that reads halves."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = Trained

    def load(self, data: TwinData, places: Mapping[str, Path]) -> "ReadingHalves":
        """The pictures of a row; they need no place."""
        return ReadingHalves(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None."""
        return {}

    def headline(self, card: Card) -> str:
        """How many shapes it names rightly."""
        return f"right {card.number('accuracy'):.1%}"


class Drawn:
    """Halves without end; those of a step are drawn by a generator of their own.

    The halves of a picture are drawn each by itself, so that the reader cannot learn one from the
    other. Of ``world`` processes, number ``rank`` gets every world-th picture of each step.
    """

    def __init__(
        self, data: TwinData, *, batch_size: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        if batch_size < world:
            raise ValueError(f"{batch_size} pictures leave some of {world} processes without work")
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.rank, self.world = rank, world

    def starting_after(self, done: int) -> Iterator[Halves]:
        """The halves of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn = self.data.draw(self.batch_size, generator, agree=False)
            done += 1
            mine = slice(self.rank, None, self.world)
            things = Things(
                **{name: getattr(drawn.things, name)[mine] for name in Things.__dataclass_fields__}
            )
            yield halves_of(Twins(pictures=drawn.pictures[mine], things=things))


class ReadingHalves:
    """Halves of twins, seen from the runner."""

    credits: Sequence[str] = ()
    licence = "generated here"

    def __init__(self, data: TwinData) -> None:
        self.data = data
        self.twins = data.held_out_twins(1)
        self.valid, self.test = (halves_of(data.held_out_twins(part)) for part in (0, 1))

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training halves of a seed."""
        return Drawn(self.data, batch_size=train.batch_size, seed=seed, rank=rank, world=world)

    def loss(self, model: nn.Module, batch: Halves, train: TrainConfig) -> Tensor:
        """−log p of the shape, in nats, plus the squared distance of the hue's point on the
        circle."""
        seen = model(batch.pictures)
        shape = nn.functional.cross_entropy(
            seen.shape.float(), batch.shape, label_smoothing=train.label_smoothing
        )
        return shape + (seen.hue.float() - on_circle(batch.hue)).square().sum(dim=-1).mean()

    def count(self, batch: Halves) -> Tensor:
        """The halves."""
        return torch.tensor(len(batch.shape))

    def validate(self, model: nn.Module) -> float:
        """The same loss on held-out halves."""
        with answering(model):
            return self.loss(model, self.valid, TrainConfig(steps=1)).item()

    def inputs(self) -> list[dict[str, Any]]:
        """The watched halves: which of the validation's they are, and what is right."""
        shapes, hues = self.valid.shape[:WATCHED].tolist(), self.valid.hue[:WATCHED].tolist()
        return [
            {"half": i, "shape": SHAPES[shape], "hue": round(hue, 3)}
            for i, (shape, hue) in enumerate(zip(shapes, hues, strict=True))
        ]

    def maps(self, model: Any) -> list[Bytes]:
        """None: it does not attend."""
        return []

    def says(self, model: Any) -> list[Any]:
        """The shapes and hues that it sees."""
        with answering(model):
            seen: Seen = model(self.valid.pictures[:WATCHED])
        hues = turned(seen.hue).tolist()
        shapes = seen.shape.argmax(dim=-1).tolist()
        return [
            {"shape": SHAPES[shape], "hue": round(hue, 3)}
            for shape, hue in zip(shapes, hues, strict=True)
        ]

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """accuracy: of the shape; hue_error: how far the hue is off, of a circle of 1

        fitted, fitted_hue_error: the same of the reader that fits templates and learns nothing
        (``heed.data.twins.read``)
        """
        with answering(model):
            seen: Seen = model(self.test.pictures)
        right = (seen.shape.argmax(dim=-1) == self.test.shape).double()
        found = read(self.twins.pictures).things
        fitted = (found.shape == self.twins.things.shape).double()
        return {
            "valid_loss": self.validate(model),
            "accuracy": right.mean().item(),
            "hue_error": gap(turned(seen.hue), self.test.hue).mean().item(),
            "fitted": fitted.mean().item(),
            "fitted_hue_error": gap(found.hue, self.twins.things.hue).mean().item(),
        }, {"halves": len(right), "chance": 1 / len(SHAPES)}

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "ReadingHalves":
        """The same with fewer pictures held out: it is learnt within a minute anyway."""
        return ReadingHalves(replace(self.data, held_out=min(200, self.data.held_out)))


def on_circle(hue: Float[Tensor, " half"]) -> Float[Tensor, "half 2"]:
    """Hues as points on the circle."""
    return torch.stack([torch.cos(2 * torch.pi * hue), torch.sin(2 * torch.pi * hue)], dim=-1)


def turned(point: Float[Tensor, "half 2"]) -> Float[Tensor, " half"]:
    """The other way, from 0 to 1."""
    return torch.atan2(point[:, 1], point[:, 0]) / (2 * torch.pi) % 1
