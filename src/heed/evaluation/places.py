"""Where a model with a window puts it, and how far that is from where it should be.

Places are counted as source positions are, from 0; a model with global attention has none.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.evaluation.decoding import answering, device_of, in_batches
from heed.models.translator import Translator

Places = Float[np.ndarray, " _"]  # of one sentence: a place for each step


def forced_places(
    model: Translator,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    batch_size: int = 128,
) -> list[Places] | None:
    """p_t for each word of each gold target, while the model is made to write it, and one more for
    the step that writes ``EOS``. ``None`` from a model without windows."""
    found: list[Places] = [np.empty(0, np.float32)] * len(pairs)
    sizes = [max(len(pair.source), len(pair.target)) for pair in pairs]
    for rows in in_batches(sizes, batch_size):
        batch = encode_batch([pairs[i] for i in rows], source_vocab, target_vocab)
        device = device_of(model)
        with answering(model):
            places = model(
                batch.source.to(device),
                batch.source_lengths.to(device),
                batch.target[:, :-1].to(device),
            ).places
        if places is None:
            return None
        table = places.to(torch.float32).cpu().numpy()
        for i, row in zip(rows, table, strict=True):
            found[i] = row[: len(pairs[i].target) + 1]
    return found


def place_error(places: Sequence[Places], pairs: Sequence[Pair]) -> float:
    """mean |p_t − s|: s is the source position that target word t is linked to; the middle of them
    if there are several. Words without a sure link do not count; NaN if none has one."""
    away = []
    for row, pair in zip(places, pairs, strict=True):
        linked: dict[int, list[int]] = {}
        for i, j in pair.sure:
            linked.setdefault(j, []).append(i)
        away += [abs(float(row[j]) - sum(at) / len(at)) for j, at in sorted(linked.items())]
    return float(np.mean(away)) if away else float("nan")
