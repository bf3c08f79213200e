"""The five tasks of the Neural Turing Machine (Graves, Wayne & Danihelka 2014, arXiv:1410.5401,
section 4): something is written on a tape, then the tape is empty and an answer is due.

A batch shares its sizes (a length, a number of repeats), so its rows need no padding. Bits are 0.0
and 1.0. Marks have channels of their own; while an answer is due, all inputs are 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Tape:
    """scored: the steps whose outputs count; ``targets`` are 0 in the others."""

    inputs: Float[Tensor, "batch step d_input"]
    targets: Float[Tensor, "batch step d_output"]
    scored: Bool[Tensor, " step"]

    def rows(self, which: slice) -> "Tape":
        """Some of the batch."""
        return Tape(self.inputs[which], self.targets[which], self.scored)

    @property
    def bits(self) -> int:
        """How many output bits of one sequence count."""
        return int(self.scored.sum()) * self.targets.shape[-1]


@dataclass(frozen=True, kw_only=True)
class TapeData(ABC):
    """What all tasks share. Training draws without end; a test has ``held_out`` sequences."""

    held_out: int = 1_000
    seed: int = 0

    @property
    @abstractmethod
    def widths(self) -> tuple[int, int]:
        """d_input and d_output."""

    @property
    @abstractmethod
    def trained(self) -> dict[str, tuple[int, int]]:
        """The range of each size while training: least and most, both included."""

    @property
    @abstractmethod
    def tested(self) -> tuple[Sizes, ...]:
        """The sizes that are measured, the one of the trained range first."""

    @abstractmethod
    def tape(self, batch: int, generator: torch.Generator, **sizes: int) -> Tape:
        """A batch of sequences of these sizes, from this generator alone."""

    def sizes(self, generator: torch.Generator) -> dict[str, int]:
        """Sizes of a training batch."""
        return {
            name: int(torch.randint(least, most + 1, (), generator=generator))
            for name, (least, most) in self.trained.items()
        }

    def draw(self, batch: int, generator: torch.Generator) -> Tape:
        """A training batch."""
        return self.tape(batch, generator, **self.sizes(generator))

    def held_out_tape(self, number: int, batch: int, sizes: Sizes | None = None) -> Tape:
        """Held-out sequences number ``number``, of some sizes or as in training."""
        # Far from the generators of training, which are numbered by seed and step.
        generator = torch.Generator().manual_seed(2**41 + 1_000 * self.seed + number)
        return self.tape(batch, generator, **(sizes or self.sizes(generator)))


def ranged(data: object, *names: str) -> None:
    """``ValueError`` unless each field is a range of positive sizes."""
    for name in names:
        least, most = getattr(data, name)
        if not 1 <= least <= most:
            raise ValueError(f"{name}={(least, most)} is no range of sizes from 1 on")


def bits(generator: torch.Generator, *shape: int) -> Float[Tensor, "..."]:
    """Fair coins."""
    return torch.randint(2, shape, generator=generator).float()


@dataclass(frozen=True, kw_only=True)
class CopyTapes(TapeData):
    """Copy (section 4.1): random vectors, a mark, then the same again.

    Inputs: the bits, the mark. Tested also at lengths never met.
    """

    bits: int = 8
    lengths: tuple[int, int] = (1, 20)
    tests: tuple[int, ...] = (20, 10, 30, 50, 60, 120)

    def __post_init__(self) -> None:
        ranged(self, "lengths")

    @property
    def widths(self) -> tuple[int, int]:
        return self.bits + 1, self.bits

    @property
    def trained(self) -> dict[str, tuple[int, int]]:
        return {"length": self.lengths}

    @property
    def tested(self) -> tuple[Sizes, ...]:
        return tuple({"length": length} for length in self.tests)

    def tape(self, batch: int, generator: torch.Generator, *, length: int) -> Tape:
        said = bits(generator, batch, length, self.bits)
        inputs = torch.zeros(batch, 2 * length + 1, self.bits + 1)
        inputs[:, :length, :-1] = said
        inputs[:, length, -1] = 1.0
        return answered(inputs, said)


@dataclass(frozen=True, kw_only=True)
class RepeatTapes(TapeData):
    """Repeat copy (section 4.2): vectors, a mark with a number, then the vectors so many times, and
    an end mark.

    Inputs: the bits, the mark, the number, shifted and scaled so that its mean is 0 and its
    variance 1 over the trained range. Outputs: the bits, the end mark. The paper has no mark
    beside the number; without one, a number of about the mean could not be seen.
    """

    bits: int = 8
    lengths: tuple[int, int] = (1, 10)
    repeats: tuple[int, int] = (1, 10)
    tests: tuple[tuple[int, int], ...] = ((10, 10), (5, 5), (20, 10), (10, 20))

    def __post_init__(self) -> None:
        ranged(self, "lengths", "repeats")

    @property
    def widths(self) -> tuple[int, int]:
        return self.bits + 2, self.bits + 1

    @property
    def trained(self) -> dict[str, tuple[int, int]]:
        return {"length": self.lengths, "repeats": self.repeats}

    @property
    def tested(self) -> tuple[Sizes, ...]:
        return tuple({"length": length, "repeats": times} for length, times in self.tests)

    def number(self, repeats: int) -> float:
        """What stands on the number's channel."""
        least, most = self.repeats
        spread = (((most - least + 1) ** 2 - 1) / 12) ** 0.5  # of a number drawn evenly
        return (repeats - (least + most) / 2) / (spread or 1.0)

    def tape(self, batch: int, generator: torch.Generator, *, length: int, repeats: int) -> Tape:
        said = bits(generator, batch, length, self.bits)
        inputs = torch.zeros(batch, length * (repeats + 1) + 2, self.bits + 2)
        inputs[:, :length, : self.bits] = said
        inputs[:, length, self.bits] = 1.0
        inputs[:, length, self.bits + 1] = self.number(repeats)
        wanted = torch.zeros(batch, length * repeats + 1, self.bits + 1)
        wanted[:, :-1, :-1] = said.repeat(1, repeats, 1)
        wanted[:, -1, -1] = 1.0
        return answered(inputs, wanted)


@dataclass(frozen=True, kw_only=True)
class RecallTapes(TapeData):
    """Associative recall (section 4.3): items, each of ``vectors`` vectors with a mark before it;
    then one of them again between two other marks; the item that came after it is wanted.

    Inputs: the bits, the mark of items, the mark of the question. The last item is never asked for.
    """

    bits: int = 6
    vectors: int = 3
    items: tuple[int, int] = (2, 6)
    tests: tuple[int, ...] = (6, 3, 8, 10, 12, 15, 20)

    def __post_init__(self) -> None:
        ranged(self, "items")
        if min(self.items[0], *self.tests) < 2:
            raise ValueError(f"items={self.items}: nothing comes after a single item")

    @property
    def widths(self) -> tuple[int, int]:
        return self.bits + 2, self.bits

    @property
    def trained(self) -> dict[str, tuple[int, int]]:
        return {"items": self.items}

    @property
    def tested(self) -> tuple[Sizes, ...]:
        return tuple({"items": items} for items in self.tests)

    def tape(self, batch: int, generator: torch.Generator, *, items: int) -> Tape:
        long = self.vectors
        said = bits(generator, batch, items, long, self.bits)
        asked = torch.randint(items - 1, (batch,), generator=generator)
        rows, listed = torch.arange(batch), items * (long + 1)
        inputs = torch.zeros(batch, listed + 2 * (long + 1), self.bits + 2)
        for item in range(items):
            at = item * (long + 1)
            inputs[:, at, self.bits] = 1.0
            inputs[:, at + 1 : at + 1 + long, : self.bits] = said[:, item]
        inputs[:, listed, self.bits + 1] = 1.0
        inputs[:, listed + 1 : listed + 1 + long, : self.bits] = said[rows, asked]
        inputs[:, listed + 1 + long, self.bits + 1] = 1.0
        return answered(inputs, said[rows, asked + 1])


@dataclass(frozen=True, kw_only=True)
class NGramTapes(TapeData):
    """Dynamic n-grams (section 4.4): each sequence has a source of its own, which draws a bit after
    each context of ``context`` bits with a probability that is drawn from Beta(½, ½).

    What comes next is to be said at each step; steps with less than a whole context do not count.
    """

    context: int = 5
    length: int = 200
    tests: tuple[int, ...] = (200,)
    held_out: int = 200

    def __post_init__(self) -> None:
        if min(self.length, *self.tests) <= self.context:
            raise ValueError(f"length={self.length} must exceed the context, {self.context}")

    @property
    def widths(self) -> tuple[int, int]:
        return 1, 1

    @property
    def trained(self) -> dict[str, tuple[int, int]]:
        return {"length": (self.length, self.length)}

    @property
    def tested(self) -> tuple[Sizes, ...]:
        return tuple({"length": length} for length in self.tests)

    def tape(self, batch: int, generator: torch.Generator, *, length: int) -> Tape:
        # Beta(½, ½) is the arcsine law: sin² of an angle that is drawn evenly.
        angle = torch.rand(batch, 2**self.context, generator=generator) * (torch.pi / 2)
        likely = angle.sin().square()
        chance = torch.rand(batch, length, generator=generator)
        said = torch.zeros(batch, length)
        said[:, : self.context] = bits(generator, batch, self.context)
        for step in range(self.context, length):
            before = _number(said[:, step - self.context : step])
            said[:, step] = (chance[:, step] < likely.gather(1, before[:, None])[:, 0]).float()
        targets, scored = said[:, 1:].clone(), torch.arange(1, length) >= self.context
        targets[:, ~scored] = 0.0
        return Tape(said[:, :-1, None], targets[:, :, None], scored)

    def best(self, tape: Tape) -> Float[Tensor, "batch step"]:
        """The probability of a 1 that nobody can better who does not know the source:

        P(1 | N₁, N₀) = (N₁ + ½) / (N₁ + N₀ + 1)                               (Eq. 10)

        N₁ and N₀ count what came after the same context so far. ½ where the step does not count.
        """
        said, wanted = tape.inputs[..., 0], tape.targets[..., 0]
        rows, found = torch.arange(len(said)), torch.full_like(wanted, 0.5)
        counts = torch.full((len(said), 2**self.context, 2), 0.5)
        for step in tape.scored.nonzero()[:, 0].tolist():
            before = _number(said[:, step + 1 - self.context : step + 1])
            seen = counts[rows, before]
            found[:, step] = seen[:, 1] / seen.sum(dim=1)
            counts[rows, before, wanted[:, step].long()] += 1.0
        return found


def _number(context: Float[Tensor, "batch bit"]) -> Tensor:
    """Which row of the source's table a context means."""
    return (context.long() << torch.arange(context.shape[1])).sum(dim=1)


@dataclass(frozen=True, kw_only=True)
class SortTapes(TapeData):
    """Priority sort (section 4.5): vectors, each with a priority drawn evenly from [−1, 1]; then a
    mark; wanted are the ``kept`` vectors of highest priority, the highest first.

    Inputs: the bits, the priority, the mark.
    """

    bits: int = 8
    length: int = 20
    kept: int = 16

    def __post_init__(self) -> None:
        if not 1 <= self.kept <= self.length:
            raise ValueError(f"kept={self.kept} must be from 1 to the length, {self.length}")

    @property
    def widths(self) -> tuple[int, int]:
        return self.bits + 2, self.bits

    @property
    def trained(self) -> dict[str, tuple[int, int]]:
        return {"length": (self.length, self.length)}

    @property
    def tested(self) -> tuple[Sizes, ...]:
        return ({"length": self.length},)

    def tape(self, batch: int, generator: torch.Generator, *, length: int) -> Tape:
        said = bits(generator, batch, length, self.bits)
        priority = 2 * torch.rand(batch, length, generator=generator) - 1
        kept = min(self.kept, length)
        inputs = torch.zeros(batch, length + 1 + kept, self.bits + 2)
        inputs[:, :length, : self.bits] = said
        inputs[:, :length, self.bits] = priority
        inputs[:, length, self.bits + 1] = 1.0
        first = priority.argsort(dim=1, descending=True)[:, :kept]
        return answered(inputs, said.gather(1, first[..., None].expand(-1, -1, self.bits)))


def answered(
    inputs: Float[Tensor, "batch step d_input"], wanted: Float[Tensor, "batch answer d_output"]
) -> Tape:
    """A tape at whose end the answer is due; nothing else counts."""
    batch, steps, due = *inputs.shape[:2], wanted.shape[1]
    targets = torch.zeros(batch, steps, wanted.shape[2])
    targets[:, steps - due :] = wanted
    return Tape(inputs, targets, torch.arange(steps) >= steps - due)
