"""Drawing twins, a task for two nets: pictures whose two things agree in hue and in shape."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from heed.data.twins import HUE_APART, SIDE, Reading, TwinData, read
from heed.evaluation.captions import places as cells
from heed.evaluation.decoding import answering, device_of
from heed.evaluation.twins import (
    drawn,
    evenness,
    features,
    frechet,
    from_bytes,
    in_words,
    scores,
    singular_values,
    to_bytes,
)
from heed.experiments.cards import Card, CardError
from heed.experiments.checkpoint import checksum
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.models.halves import HalfReader
from heed.models.sagan import SAGAN
from heed.trace import AttentionTrace
from heed.training.adversarial import judging, train_both, two_rates
from heed.training.loop import Report, TrainConfig

JUDGE = "reader_twins"
"""The row whose features the Fréchet distance is of."""
WATCHED = 4
CROWD = 500
"""Pictures that are drawn at each watched moment, to be counted."""
EVERY = 2
"""Of the pixels that look, maps over training keep every second one in each direction."""


def normal(count: int, d_z: int, *, seed: int) -> Float[Tensor, "picture d_z"]:
    """So many z; those of a seed are always the same."""
    return torch.randn(count, d_z, generator=torch.Generator().manual_seed(2**42 + seed))


@dataclass(frozen=True, kw_only=True)
class TrainedPainter(Trained):
    """Two nets that were set against each other, as shipped, and their card."""

    def z(self, count: int = 1, *, seed: int = 0) -> Float[Tensor, "picture d_z"]:
        """So many points to draw pictures from; those of a seed are always the same."""
        return normal(count, self.model.config.d_z, seed=seed)

    def paint(
        self, z: Float[Tensor, "picture d_z"], *, dial: float = 1.0
    ) -> UInt8[Tensor, "picture 3 row column"]:
        """The pictures of some z. dial: the generator's γ is multiplied by it."""
        return to_bytes(drawn(self.model, z, dial=dial).pictures)

    def read(self, pictures: UInt8[Tensor, "picture 3 row column"]) -> Reading:
        """What stands in their halves, by the reader that fits templates."""
        return read(pictures)

    def look(self, z: Float[Tensor, "1 d_z"]) -> AttentionTrace:
        """Where the pixels of the generator's attended map look while it draws this picture.

        ``ValueError`` if it has no attention.
        """
        weights = drawn(self.model, z, weights=True).weights
        if weights is None:
            raise ValueError(f"{self.card.experiment} has no attention in its generator")
        sides = (round(count**0.5) for count in weights.shape[1:])
        query, key = (cells((side, side)) for side in sides)
        return AttentionTrace.of("self", weights[0], query=query, key=key, heads=("self",))

    def maps(self) -> tuple[list[int], list[Float[np.ndarray, "moment _ _"]]]:
        """The steps of the moments, and for each watched z where every second pixel of every
        second row looked. No list without attention."""
        steps, kept = super().maps()
        return steps, kept[WATCHED:]

    def pictures(self) -> tuple[list[int], list[UInt8[np.ndarray, "moment row column 3"]]]:
        """The steps of the moments, and what each watched z was drawn as."""
        steps, kept = super().maps()
        return steps, [
            np.rint(each * 255).astype(np.uint8).reshape(len(steps), SIDE, SIDE, 3)
            for each in kept[:WATCHED]
        ]


@dataclass(frozen=True, kw_only=True)
class Paints:
    """The kind of task of every row that draws twins."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = TrainedPainter

    def load(self, data: TwinData, places: Mapping[str, Path]) -> "Painting":
        """The pictures of a row, and the judge, which must have been trained before."""
        from heed.experiments.trained import load

        try:
            judge = load(JUDGE).model
        except CardError as fault:
            raise CardError(
                f"twins are measured by the features of {JUDGE}, and {fault}; "
                f"python -m heed train {JUDGE} makes it, publish ships it"
            ) from None
        return Painting(data, judge)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None."""
        return {}

    def headline(self, card: Card) -> str:
        """How many pictures are twins."""
        return f"twins {card.number('twins'):.0%}"


class Real:
    """Real pictures without end; those of a step are drawn by a generator of their own."""

    def __init__(self, data: TwinData, *, batch_size: int, seed: int) -> None:
        self.data, self.batch_size, self.seed = data, batch_size, seed

    def starting_after(self, done: int) -> Iterator[Float[Tensor, "batch 3 row column"]]:
        """The pictures of step ``done + 1``, ``done + 2``, and so on for ever, from −1 to 1."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            real, done = self.data.draw(self.batch_size, generator).pictures, done + 1
            yield from_bytes(real)


class Painting:
    """Twins, seen from the runner. It teaches its models itself: see ``runner.Teaches``.

    judge: whose features the Fréchet distance is of
    """

    credits: Sequence[str] = ()
    licence = "generated here"

    def __init__(self, data: TwinData, judge: HalfReader) -> None:
        self.data, self.judge = data, judge
        self.valid, self.test = (data.held_out_twins(part).pictures for part in (0, 1))

    # ------------------------------------------------------------------ teaching

    def optimiser(self, model: SAGAN, train: TrainConfig) -> torch.optim.Optimizer:
        """One for both nets, with a learning rate for each."""
        return two_rates(model, train)

    def teach(
        self,
        model: SAGAN,
        batches: Iterable[Tensor],
        train: TrainConfig,
        *,
        optimiser: torch.optim.Optimizer,
        done: int,
    ) -> Iterator[Report]:
        """A step for each net, again and again."""
        return train_both(model, batches, train, optimiser=optimiser, done=done)

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Real:
        """The real pictures of a seed."""
        if world > 1:
            raise ValueError(f"two nets are taught in one process, not in {world}")
        return Real(self.data, batch_size=train.batch_size, seed=seed)

    def loss(self, model: Any, batch: Tensor, train: TrainConfig) -> Tensor:
        """The discriminator's, between these pictures and as many that the mean generator draws;
        2 if it cannot tell."""
        z = normal(len(batch), model.config.d_z, seed=0).to(batch.device)
        return judging(
            model.discriminator(batch).scores.float(),
            model.discriminator(model(z).pictures).scores.float(),
        )

    def count(self, batch: Tensor) -> Tensor:
        """The pictures."""
        return torch.tensor(len(batch))

    def validate(self, model: Any) -> float:
        """That loss on held-out pictures: neither net wants it low, and none alone brings it to
        its end. It says who is ahead."""
        real = from_bytes(self.valid[:CROWD]).to(device_of(model))
        with answering(model):
            return self.loss(model, real, TrainConfig(steps=1)).item()

    # ------------------------------------------------------------------ watching

    def inputs(self) -> list[dict[str, Any]]:
        """What is watched: single z, by their number in ``normal(…, seed=0)``, and a crowd."""
        return [*({"z": i} for i in range(WATCHED)), {"crowd": CROWD, "seed": 1}]

    def maps(self, model: SAGAN) -> list[Bytes]:
        """The picture of each watched z, a row of bytes for each row of pixels; then, if the
        generator attends, where every second pixel of every second row looks."""
        out = drawn(model, normal(WATCHED, model.config.d_z, seed=0), weights=True)
        painted = to_bytes(out.pictures).permute(0, 2, 3, 1).flatten(2).numpy()
        if out.weights is None:
            return list(painted)
        side = model.config.generator_attention
        looked = out.weights.unflatten(1, (side, side))[:, ::EVERY, ::EVERY].flatten(1, 2)
        return [*painted, *(quantise(each.numpy()) for each in looked)]

    def says(self, model: SAGAN) -> list[Any]:
        """What stands in the watched pictures; and of the crowd, how many are twins and how many
        are clear, with γ of both nets and their largest and smallest σ."""
        single, crowd = (
            read(to_bytes(drawn(model, normal(n, model.config.d_z, seed=seed)).pictures))
            for n, seed in ((WATCHED, 0), (CROWD, 1))
        )
        found = scores(crowd)
        health = {name: found[name] for name in ("twins", "clear", "modes")}
        return [*in_words(single), rounded(health | self._health(model))]

    def _health(self, model: SAGAN) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if model.gammas:
            found["gamma"] = model.gammas
        values = [
            value
            for net in (model.generator, model.discriminator)
            for value in singular_values(net).values()
        ]
        if values:
            found["sigma"] = {"smallest": min(values), "largest": max(values)}
        return found

    # ------------------------------------------------------------------ measuring

    def evaluate(self, model: SAGAN) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the mean generator draws, see ``heed.evaluation.twins.scores``, and

        frechet: the distance of the judge's features from those of real pictures; frechet_real: of
            other real ones from these; frechet_untrained: of what a generator draws that has
            learnt nothing
        gamma: of both nets; sigma: the largest singular value of a weight that is divided by it,
            over all weights of both nets
        evenness: of the looks: mean entropy, as a share of the largest there can be
        """
        z = normal(len(self.test), model.config.d_z, seed=2)
        pictures = to_bytes(drawn(model, z).pictures)
        real = features(self.judge, self.test)
        metrics: dict[str, Any] = {
            "valid_loss": self.validate(model),
            **scores(read(pictures)),
            "frechet": frechet(features(self.judge, pictures), real),
            "frechet_real": frechet(features(self.judge, self.valid), real),
            "frechet_untrained": frechet(features(self.judge, to_bytes(untrained(model, z))), real),
            **self._health(model),
        }
        looks = self._looks(model, pictures[:CROWD], z[:CROWD])
        if looks:
            metrics["evenness"] = looks
        return metrics, {
            "pictures": len(pictures),
            "hue_apart": HUE_APART,
            "features": f"of {JUDGE} ({checksum(self.judge)}), both halves: not an FID",
            "real": scores(read(self.test)),
        }

    def _looks(
        self,
        model: SAGAN,
        pictures: UInt8[Tensor, "picture 3 row column"],
        z: Float[Tensor, "picture d_z"],
    ) -> dict[str, float]:
        found = {}
        with answering(model):
            seen = {
                "generator": drawn(model, z, weights=True).weights,
                "discriminator": model.discriminator(
                    from_bytes(pictures).to(device_of(model)), weights=True
                ).weights,
            }
        for net, weights in seen.items():
            if weights is not None:
                found[net] = evenness(weights.float())
        return found

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "Painting":
        """The same with fewer pictures held out; within minutes there are blots, and no twins."""
        return Painting(replace(self.data, held_out=min(200, self.data.held_out)), self.judge)


def untrained(
    model: SAGAN, z: Float[Tensor, "picture d_z"]
) -> Float[Tensor, "picture 3 row column"]:
    """What a generator of the same sizes draws before it has learnt anything."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        fresh = SAGAN(model.config)
    return drawn(fresh, z).pictures


def rounded(found: Mapping[str, Any]) -> dict[str, Any]:
    """Four digits: these are for curves."""
    return {
        name: rounded(each) if isinstance(each, Mapping) else round(each, 4)
        for name, each in found.items()
    }
