"""Sentences of like length side by side, as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, PAD, Vocabulary


@dataclass(frozen=True)
class Batch:
    """Source rows end with ``EOS``, target rows run ``BOS`` to ``EOS``; the rest is ``PAD``."""

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch target"]
    target_lengths: Int[Tensor, " batch"]


def pad(
    rows: Sequence[Sequence[int]],
) -> tuple[Int[Tensor, "batch longest"], Int[Tensor, " batch"]]:
    """The rows filled up with ``PAD`` to the longest, and their true lengths."""
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
    longest = max((len(row) for row in rows), default=0)
    table = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long)
    return table.reshape(len(rows), longest), lengths


def encode_source(
    sentences: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> tuple[Int[Tensor, "batch source"], Int[Tensor, " batch"]]:
    """Source sentences as the models read them: words, then ``EOS``."""
    return pad([[*vocabulary.encode(words), EOS] for words in sentences])


def encode_batch(
    pairs: Sequence[Pair], source_vocab: Vocabulary, target_vocab: Vocabulary
) -> Batch:
    """Pairs as one batch, in the order given."""
    source, source_lengths = encode_source([pair.source for pair in pairs], source_vocab)
    target, target_lengths = pad([[BOS, *target_vocab.encode(pair.target), EOS] for pair in pairs])
    return Batch(source, source_lengths, target, target_lengths)


def bucketed(
    lengths: Sequence[tuple[int, int]], *, batch_size: int, generator: torch.Generator
) -> list[list[int]]:
    """One pass over the data in batches of like length, shuffled.

    Rows are shuffled, sorted by length inside pools of 64 batches, cut into batches, and the
    batches shuffled: little padding, and no two passes alike.

    lengths: (target, source) length of each row. Returns lists of row numbers.
    """
    order = torch.randperm(len(lengths), generator=generator).tolist()
    pool = 64 * batch_size
    batches = []
    for start in range(0, len(order), pool):
        rows = sorted(order[start : start + pool], key=lambda row: lengths[row])
        batches += [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
