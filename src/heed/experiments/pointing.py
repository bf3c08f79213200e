"""Pointing: numbers are sorted, hulls and tours found, by a network that points at its inputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heed.data.tours import HullData, PointData, Problems, TourData
from heed.evaluation.decoding import answering, device_of
from heed.evaluation.pointing import (
    Pointed,
    each_once,
    hull_answers,
    point,
    tour_ratios,
    weights_of,
)
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.models.pointer import Rule
from heed.trace import AttentionTrace
from heed.training.loop import TrainConfig
from heed.training.pointing import pointing_loss

WATCHED = 4
VALID = 500
AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """order: points from 0 on, in the order they were pointed at; finished: whether ⇐ came
    log_prob: of the whole answer, in nats; trace: the distribution at each step, ⇐ first
    """

    order: tuple[int, ...]
    finished: bool
    log_prob: float
    trace: AttentionTrace


@dataclass(frozen=True, kw_only=True)
class TrainedPointer(Trained):
    """A network that points, with the weights that were shipped, and its card."""

    def point(
        self, points: Float[Tensor, "point d"], *, width: int = 1, rule: Rule | None = None
    ) -> Answer:
        """Its answer for some points; ``rule`` as in ``heed.models.pointer``.

        ``ValueError`` for no points, or points of another width.
        """
        wide = self.model.config.d_input
        if points.ndim != 2 or points.shape[1] != wide or not len(points):
            raise ValueError(f"points of shape {tuple(points.shape)} are not n × {wide} numbers")
        if rule is not None and rule not in get_args(Rule):
            raise ValueError(f"rule={rule!r} is none of {', '.join(get_args(Rule))}")
        batch = points[None].to(device_of(self.model))
        found = point(self.model, batch, width=width, rule=rule)
        weights = weights_of(self.model, batch, found.answers, rule)[0]
        order = tuple(key - 1 for key in found.answers[0].tolist() if key)
        steps = len(order) + bool(found.finished[0])
        names = [str(number) for number in range(1, len(points) + 1)]
        trace = AttentionTrace.of(
            "pointer",
            weights[:steps],
            query=[*(names[at] for at in order), "⇐"][:steps],
            key=["⇐", *names],
            heads=("pointer",),
        )
        return Answer(
            order=order,
            finished=bool(found.finished[0]),
            log_prob=found.log_prob[0].item(),
            trace=trace,
        )


@dataclass(frozen=True, kw_only=True)
class Points:
    """The kind of task of every row that points. main: the metric that ``list`` shows."""

    main: str

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = TrainedPointer

    def load(self, data: PointData, places: Mapping[str, Path]) -> "Pointing":
        """The problems of a row; they need no place."""
        return Pointing(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None: one set of weights answers for any number of points."""
        return {}

    def headline(self, card: Card) -> str:
        """The main metric at the largest n of training."""
        name = self.main.partition(".")[0]
        return f"{name} {card.number(self.main):.3f}"


class Drawn:
    """Problems without end; those of a step are drawn by a generator of their own.

    Of ``world`` processes, number ``rank`` gets every world-th problem of each step.
    """

    def __init__(
        self, data: PointData, *, batch_size: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        if batch_size < world:
            raise ValueError(f"{batch_size} problems leave some of {world} processes without work")
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.rank, self.world = rank, world

    def starting_after(self, done: int) -> Iterator[Problems]:
        """The problems of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn, done = self.data.training(self.batch_size, generator), done + 1
            yield drawn.rows(slice(self.rank, None, self.world))


class Pointing:
    """Problems of points, seen from the runner."""

    credits: Sequence[str] = ()
    licence = "generated here"

    def __init__(self, data: PointData) -> None:
        self.data = data
        most = data.points[1]
        self.valid = data.held_out_problems(most, "valid", min(VALID, data.held_out))
        self.watched = self.valid.rows(slice(0, WATCHED))

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training problems of a seed."""
        return Drawn(self.data, batch_size=train.batch_size, seed=seed, rank=rank, world=world)

    def loss(self, model: nn.Module, batch: Problems, train: TrainConfig) -> Tensor:
        """See ``heed.training.pointing``."""
        if train.label_smoothing:
            raise ValueError(
                f"label_smoothing={train.label_smoothing}: pointing is learnt without it"
            )
        return pointing_loss(model(batch.points, batch.answers).logits, batch.answers, batch.scored)

    def count(self, batch: Problems) -> Tensor:
        """The steps that are scored."""
        return batch.scored.sum()

    def validate(self, model: nn.Module) -> float:
        """Nats a step on held-out problems of the largest n of training."""
        with answering(model):
            logits = model(self.valid.points, self.valid.answers).logits
            return pointing_loss(logits, self.valid.answers, self.valid.scored).item()

    def inputs(self) -> list[dict[str, Any]]:
        """The watched points, to four digits, and the right answers: from 1 on, 0 is ⇐."""
        return [
            {"points": [[round(x, 4) for x in p] for p in points], "answer": said(answer)}
            for points, answer in zip(
                self.watched.points.tolist(), self.watched.answers, strict=True
            )
        ]

    def maps(self, model: Any) -> list[Bytes]:
        """Its distribution at each step while it is given the right answer; column 0 is ⇐."""
        weights = weights_of(model, self.watched.points, self.watched.answers)
        steps = self.watched.scored.sum(dim=1).tolist()
        return [
            quantise(each[:count].float().numpy())
            for each, count in zip(weights, steps, strict=True)
        ]

    def says(self, model: Any) -> list[list[int]]:
        """Its own answers, greedily."""
        return [said(answer) for answer in point(model, self.watched.points).answers]

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Numbers on fresh problems for each n of ``data.tests``, the largest n of training first;
        greedy, under the rule of training unless the name says otherwise.

        exact: answers that are right (of a hull: the right polygon, wherever it begins)
        ratio, ratio_beam: tour lengths over the right ones, by greedy search and a beam of 4
        covered: the area of hulls over the right one, under the rule of polygons
        invalid: answers that are no permutation, or no polygon; invalid_free: with nothing
            forbidden. They count as wrong, and nowhere else: ratios and areas are those of the
            others.
        """
        groups: dict[str, dict[str, float]] = {}

        def note(name: str, n: int, value: float) -> None:
            groups.setdefault(name, {})[str(n)] = value

        for n in self.data.tests:
            problems = self.data.held_out_problems(n, "test", self.data.held_out)
            points, right = problems.points, problems.answers
            free = whole(model, points, rule="free")
            if isinstance(self.data, HullData):
                found = whole(model, points, rule="polygon")
                for pointed, suffix in ((found, ""), (free, "_free")):
                    worth = hull_answers(points, pointed.answers, right, pointed.finished)
                    note(f"exact{suffix}", n, share(worth.exact))
                    if worth.valid.any():  # else there is no such number, and none is noted
                        note(f"covered{suffix}", n, worth.covered.nanmean().item())
                    note(f"invalid{suffix}", n, share(~worth.valid))
                continue
            found = whole(model, points, rule="each_once")
            note("exact", n, share((found.answers == right).all(dim=1)))
            note("invalid_free", n, share(~each_once(free.answers)))
            if isinstance(self.data, TourData):
                note("ratio", n, tour_ratios(points, found.answers, right).mean().item())
                beam = whole(model, points, rule="each_once", width=4)
                note("ratio_beam", n, tour_ratios(points, beam.answers, right).mean().item())
        return {"valid_loss": self.validate(model), **groups}, {
            "search": "greedy; a beam of 4 for ratio_beam",
            "problems": self.data.held_out,
        }

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "Pointing":
        """Fewer points, and fewer problems held out."""
        least = self.data.points[0]
        return Pointing(
            replace(self.data, points=(least, least), held_out=min(200, self.data.held_out))
        )


def whole(
    model: Any, points: Float[Tensor, "batch point d"], *, rule: Rule, width: int = 1
) -> Pointed:
    """``point`` in parts that fit into memory."""
    parts = [point(model, part, width=width, rule=rule) for part in points.split(AT_ONCE // width)]
    return Pointed(
        torch.cat([part.answers for part in parts]),
        torch.cat([part.log_prob for part in parts]),
        torch.cat([part.finished for part in parts]),
    )


def share(which: Tensor) -> float:
    """How many of them are True, from 0 to 1."""
    return which.double().mean().item()


def said(answer: Tensor) -> list[int]:
    """An answer up to its end, and that as 0."""
    keys = answer.tolist()
    return keys[: keys.index(0) + 1] if 0 in keys else keys
