"""Training batches without end: a pure function of (seed, step)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from heed.data.batches import Batch, bucketed
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, PAD, Vocabulary


@dataclass(frozen=True)
class Ragged:
    """Rows of unlike length, end to end in one tensor: padding a batch is then one gather."""

    flat: Int[Tensor, " word"]
    starts: Int[Tensor, " row"]
    lengths: Int[Tensor, " row"]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        flat = torch.tensor([number for row in rows for number in row], dtype=torch.long)
        return cls(flat, lengths.cumsum(0) - lengths, lengths)

    def padded(
        self, rows: Int[Tensor, " batch"]
    ) -> tuple[Int[Tensor, "batch longest"], Int[Tensor, " batch"]]:
        """The chosen rows filled up with ``PAD``, and their true lengths."""
        lengths = self.lengths[rows]
        column = torch.arange(int(lengths.max()))
        inside = column < lengths[:, None]
        where = (self.starts[rows, None] + column).where(inside, torch.tensor(0))
        return self.flat[where].masked_fill(~inside, PAD), lengths


class Stream:
    """Every pair once an epoch, in batches of like length, shuffled anew each epoch.

    Epoch e is shuffled by a generator seeded from (seed, e) alone: ``starting_after(k)`` gives the
    same batches whether or not somebody drew the first k. The last batch of an epoch's pool may be
    smaller than ``batch_size``. Of ``world`` processes, number ``rank`` gets every world-th row of
    each batch, so that all of them together read what a single one would.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        source_vocab: Vocabulary,
        target_vocab: Vocabulary,
        *,
        batch_size: int,
        seed: int,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if batch_size < world or len(pairs) < world:
            raise ValueError(
                f"{len(pairs)} sentences in batches of {batch_size} "
                f"leave some of {world} processes without work"
            )
        self.source = Ragged.of([[*source_vocab.encode(p.source), EOS] for p in pairs])
        self.target = Ragged.of([[BOS, *target_vocab.encode(p.target), EOS] for p in pairs])
        self.batch_size, self.seed, self.rank, self.world = batch_size, seed, rank, world

    @property
    def per_epoch(self) -> int:
        """How many batches make an epoch."""
        full, rest = divmod(len(self.source.lengths), self.batch_size)
        # A rest with fewer rows than processes would leave one of them waiting for ever.
        return full + (rest >= self.world)

    def epoch(self, number: int) -> list[list[int]]:
        """The row numbers of every batch of an epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        lengths = list(zip(self.target.lengths.tolist(), self.source.lengths.tolist(), strict=True))
        batches = bucketed(lengths, batch_size=self.batch_size, generator=generator)
        return [rows for rows in batches if len(rows) >= self.world]

    def starting_after(self, done: int) -> Iterator[Batch]:
        """The batches of step ``done + 1``, ``done + 2``, and so on for ever."""
        number, skip = divmod(done, self.per_epoch)
        while True:
            for rows in self.epoch(number)[skip:]:
                yield self.batch(torch.tensor(rows[self.rank :: self.world]))
            number, skip = number + 1, 0

    def batch(self, rows: Int[Tensor, " batch"]) -> Batch:
        """The chosen rows as a batch."""
        source, source_lengths = self.source.padded(rows)
        target, target_lengths = self.target.padded(rows)
        return Batch(source, source_lengths, target, target_lengths)
