"""Captions of pictures: how a model is asked for one, and whether it looks at what it names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heed.data.captions import Captions
from heed.data.vocabulary import EOS, SPECIALS, Vocabulary
from heed.evaluation.decoding import Weights, answering, beam, device_of, greedy
from heed.models.show_attend_tell import (
    Looking,
    Seen,
    ShowAttendTell,
    TellOutput,
    TellState,
    TellStep,
)
from heed.models.translator import select
from heed.trace import AttentionTrace, Axis

LONGEST = 40
"""Words that a caption may have."""


@dataclass(frozen=True, kw_only=True)
class Caption:
    """What a model says of a picture, and where it looked.

    log_prob: of the whole caption, in nats; log_probs: of each word, the ``EOS`` among them
    weights: α: a row for each word, one more for the ``EOS`` if it came; a column for each place
    glimpses: the place that was looked at for each of them, −1 for all; gates: β.
        ``None`` from a beam, which does not keep them.
    """

    words: tuple[str, ...]
    log_prob: float
    log_probs: list[float]
    weights: Weights
    grid: tuple[int, int]
    glimpses: list[int] | None
    gates: list[float] | None
    finished: bool

    def __repr__(self) -> str:
        return f"Caption({' '.join(self.words)!r})"

    def trace(self, name: str = "cross") -> AttentionTrace:
        """α with a name for each word and place; "glimpse": only the places that were looked at."""
        weights = self.weights
        if name == "glimpse":
            if self.glimpses is None or min(self.glimpses) < 0:
                raise ValueError("glimpse: this caption was not written by looking at one place")
            weights = np.eye(weights.shape[1], dtype=weights.dtype)[self.glimpses]
        written = (*self.words, SPECIALS[EOS]) if self.finished else self.words
        return AttentionTrace.of(name, weights, query=written, key=places(self.grid))


def places(grid: tuple[int, int]) -> Axis:
    """A name for each place, row by row, counted from 1: "3, 5" is row 3, column 5."""
    rows, columns = grid
    labels = (f"{row}, {column}" for row in range(1, rows + 1) for column in range(1, columns + 1))
    return Axis(tuple(labels), grid=grid)


# ------------------------------------------------------------------------------ asking a model


@dataclass(frozen=True)
class Gallery:
    """Pictures that were looked at once, as a translator: its sentences are their numbers.

    So greedy search and beams, written for sentences, work on pictures. ``said`` keeps every step.
    """

    model: Any
    seen: Seen
    look: Looking | None = None
    said: list[TellStep] = field(default_factory=list)

    def sentences(self) -> tuple[Int[Tensor, "batch 1"], Int[Tensor, " batch"]]:
        """The number of each picture, and how many places it has."""
        batch, count, _ = self.seen.annotations.shape
        numbers = torch.arange(batch, device=self.seen.annotations.device)
        return numbers[:, None], torch.full_like(numbers, count)

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Seen:
        return select(self.seen, source[:, 0])

    def start(self, encoded: Seen) -> TellState:
        return self.model.start(encoded)

    def step(
        self, state: TellState, token: Int[Tensor, " batch"], encoded: Seen
    ) -> tuple[TellState, TellStep]:
        state, out = self.model.step(state, token, encoded, look=self.look)
        self.said.append(out)
        return state, out

    def __call__(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> TellOutput:
        return self.model.tell(self.encode(source, source_lengths), target_in)


def describe(
    model: ShowAttendTell,
    pictures: Float[Tensor, "picture 3 row column"],
    vocabulary: Vocabulary,
    *,
    width: int = 1,
    look: Looking | None = None,
    batch_size: int = 128,
) -> list[Caption]:
    """A caption of each picture, by greedy search or a beam; ``look`` as in ``step``."""
    found: list[Caption] = []
    for some in pictures.split(batch_size):
        with answering(model):
            gallery = Gallery(model, model.encode(some.to(device_of(model))), look)
            source, lengths = gallery.sentences()
            if width == 1:
                hypotheses = greedy(gallery, source, lengths, max_steps=LONGEST)
            else:
                hypotheses = beam(gallery, source, lengths, width=width, max_steps=LONGEST)
        kept: list[list[list]] = [[], []]
        if width == 1:
            for kind, name in zip(kept, ("glimpse", "gate"), strict=True):
                kind += torch.stack([getattr(out, name) for out in gallery.said], 1).tolist()
        for row, hypothesis in enumerate(hypotheses):
            steps = len(hypothesis.log_probs)
            assert hypothesis.weights is not None
            found.append(
                Caption(
                    words=tuple(vocabulary.decode(hypothesis.tokens)),
                    log_prob=hypothesis.log_prob,
                    log_probs=hypothesis.log_probs,
                    weights=hypothesis.weights,
                    grid=model.config.grid,
                    glimpses=kept[0][row][:steps] if width == 1 else None,
                    gates=kept[1][row][:steps] if width == 1 else None,
                    finished=hypothesis.finished,
                )
            )
    return found


# ------------------------------------------------------------------------------ scores


def exact(said: Sequence[Caption], captions: Captions, vocabulary: Vocabulary) -> list[bool]:
    """Which captions are right, word for word."""
    right = [
        tuple(vocabulary.decode(row[1 : length - 1]))
        for row, length in zip(captions.words.tolist(), captions.lengths.tolist(), strict=True)
    ]
    return [each.finished and each.words == words for each, words in zip(said, right, strict=True)]


def cells_in(
    boxes: Int[Tensor, "*batch 4"], grid: tuple[int, int], side: int
) -> Bool[Tensor, "*batch place"]:
    """Which places of the grid share a pixel with a box (top, left, bottom, right)."""
    top, left, bottom, right = (edge[..., None] for edge in boxes.unbind(-1))
    cell = side // grid[0]
    rows, columns = (torch.arange(n, device=boxes.device) * cell for n in grid)
    down = (rows < bottom) & (rows + cell > top)
    across = (columns < right) & (columns + cell > left)
    return (down[..., :, None] & across[..., None, :]).flatten(-2)


@dataclass(frozen=True)
class Pointing:
    """How often the likeliest place lies on the animal that a word speaks of.

    chance: how often a place that is drawn blindly does
    """

    hits: float
    chance: float
    words: int


def pointing(
    weights: Float[Tensor, "scene step place"],
    captions: Captions,
    boxes: Int[Tensor, "scene slot 4"],
    *,
    role: int,
    grid: tuple[int, int],
    side: int,
) -> Pointing:
    """The pointing game (Zhang et al. 2016) over the words of a role.

    weights: α while the right caption is written; step t writes word t + 1 of ``captions``
    """
    scene, word = (captions.role == role).nonzero(as_tuple=True)
    inside = cells_in(boxes[scene, captions.about[scene, word]], grid, side)
    looked = weights[scene, word - 1].argmax(dim=-1)
    hits = inside.gather(1, looked[:, None]).squeeze(1)
    return Pointing(
        hits=hits.double().mean().item(),
        chance=inside.double().mean().item(),
        words=len(scene),
    )


def forced(
    model: ShowAttendTell,
    pictures: Float[Tensor, "picture 3 row column"],
    words: Int[Tensor, "picture word"],
    *,
    batch_size: int = 250,
) -> TellOutput:
    """All steps of the right captions, on the CPU."""
    device, parts = device_of(model), []
    with answering(model):
        for some, row in zip(pictures.split(batch_size), words.split(batch_size), strict=True):
            parts.append(model(some.to(device), row[:, :-1].to(device)))
        return TellOutput(
            torch.cat([out.logits for out in parts]).cpu(),
            {"cross": torch.cat([out.weights["cross"] for out in parts]).cpu()},
            glimpses=torch.cat([out.glimpses for out in parts]).cpu(),
            gates=torch.cat([out.gates for out in parts]).cpu(),
        )
