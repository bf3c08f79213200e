"""What the heads of a Transformer look at, and what is lost when one of them is switched off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary
from heed.evaluation.alignment import Map, entropy, link_precision, links_from_weights
from heed.evaluation.decoding import answering, device_of, in_batches
from heed.models.transformer import (
    PLACES,
    UNCHANGED,
    Changed,
    Changes,
    Place,
    Transformer,
    TransformerConfig,
)
from heed.models.translator import Translator
from heed.trace import AttentionTrace

Head = tuple[Place, int, int]
"""Place, layer, head; the last two counted from 1, as ``Changes`` counts them."""


def every_head(config: TransformerConfig) -> list[Head]:
    """All heads of a model: place by place, layer by layer."""
    return [
        (place, layer, head)
        for place in PLACES
        for layer in range(1, config.layers(place) + 1)
        for head in range(1, config.heads + 1)
    ]


# ---------------------------------------------------------------------------- what they are worth


def nats_a_word(
    model: Translator,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    batch_size: int = 128,
) -> float:
    """−(1/N) Σ log p(y_t | y_<t, x) over the N gold words of all pairs, ``EOS`` among them.

    The gold words before it are given, so one forward pass says it all.
    """
    total = words = 0.0
    sizes = [max(len(pair.source), len(pair.target)) for pair in pairs]
    device = device_of(model)
    with answering(model):
        for rows in in_batches(sizes, batch_size):
            batch = encode_batch([pairs[i] for i in rows], source_vocab, target_vocab)
            target = batch.target.to(device)
            logits = model(
                batch.source.to(device), batch.source_lengths.to(device), target[:, :-1]
            ).logits
            lost = F.cross_entropy(
                logits.float().flatten(0, 1),
                target[:, 1:].flatten(),
                ignore_index=PAD,
                reduction="sum",
            )
            total += float(lost)
            words += int((target[:, 1:] != PAD).sum())
    return total / words


def worth(
    model: Transformer,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
) -> dict[Head, float]:
    """How many nats a word dearer the gold targets get when one head alone is switched off.

    Near zero: nobody misses it. That does not say that it does nothing, for another one may do
    the same (Michel et al. 2019, arXiv:1905.10650). Below zero: it is in the way.
    """
    whole = nats_a_word(model, pairs, source_vocab, target_vocab)
    return {
        head: nats_a_word(Changed(model, Changes(off=(head,))), pairs, source_vocab, target_vocab)
        - whole
        for head in every_head(model.config)
    }


# ---------------------------------------------------------------------------- where they look


def head_traces(
    model: Transformer,
    pair: Pair,
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    changes: Changes = UNCHANGED,
) -> dict[str, AttentionTrace]:
    """All maps of one sentence by place and layer (``"encoder 1"``, …), while the model is made to
    write the gold target.

    A row of ``cross`` has the name of the word that is written from it, as everywhere in this
    package; one of ``decoder`` that of the word which asks, the one before: ``<s>`` is the first.
    """
    batch = encode_batch([pair], source_vocab, target_vocab)
    device = device_of(model)
    with answering(model):
        maps = model(
            batch.source.to(device),
            batch.source_lengths.to(device),
            batch.target[:, :-1].to(device),
            weights=True,
            changes=changes,
        ).maps
    source, written = (*pair.source, SPECIALS[EOS]), (*pair.target, SPECIALS[EOS])
    given = (SPECIALS[BOS], *pair.target)
    sides = {"encoder": (source, source), "decoder": (given, given), "cross": (written, source)}
    traces = {}
    for name, weights in maps.items():
        query, key = sides[_parsed(name)[0]]
        traces[name] = AttentionTrace.of(name, weights[0], query=query, key=key)
    return traces


@dataclass(frozen=True, kw_only=True)
class Habit:
    """Where a head of self-attention looks on average: shares of a look.

    before, itself, after: at the word before, at the asking word, at the one behind it
    edge: at the mark that every sentence has: ``EOS`` in the encoder, ``BOS`` in the decoder
    places: 2^H of its looks, H their entropy in bits: how many words it looks at
    """

    before: float
    itself: float
    after: float
    edge: float
    places: float

    @property
    def strongest(self) -> tuple[str, float]:
        """The name of the largest share, and the share."""
        shares = {name: getattr(self, name) for name in ("before", "itself", "after", "edge")}
        name = max(shares, key=lambda each: shares[each])
        return name, shares[name]


def habits(traces: Sequence[Mapping[str, AttentionTrace]]) -> dict[Head, Habit]:
    """The habits of all heads in encoder and decoder, over the ``head_traces`` of some sentences.

    A word that has no word before it, or none behind it, does not count there.
    """
    found: dict[Head, Habit] = {}
    for name in traces[0]:
        place, layer = _parsed(name)
        if place == "cross":
            continue
        for head in range(len(traces[0][name].heads)):
            maps = [each[name].weights[head] for each in traces]
            found[place, layer, head + 1] = _habit(maps, -1 if place == "encoder" else 0)
    return found


def _habit(maps: Sequence[Map], edge: int) -> Habit:
    def mean(parts: Sequence[Float[np.ndarray, " _"]]) -> float:
        return float(np.concatenate(parts).mean())

    return Habit(
        before=mean([np.diagonal(each, -1) for each in maps]),
        itself=mean([np.diagonal(each) for each in maps]),
        after=mean([np.diagonal(each, 1) for each in maps]),
        edge=mean([each[:, edge] for each in maps]),
        places=float(2 ** mean([entropy(each) for each in maps])),
    )


def aligned(
    traces: Sequence[Mapping[str, AttentionTrace]], pairs: Sequence[Pair]
) -> dict[Head, float]:
    """Link precision of each head of cross-attention: how often its first look, from the step that
    writes a word, is at a source word that the gold links have. See ``link_precision``.
    """
    possible = [pair.possible for pair in pairs]
    found: dict[Head, float] = {}
    for name in traces[0]:
        place, layer = _parsed(name)
        if place != "cross":
            continue
        for head in range(len(traces[0][name].heads)):
            links = [
                links_from_weights(each[name].weights[head], len(pair.source), len(pair.target))
                for each, pair in zip(traces, pairs, strict=True)
            ]
            found[place, layer, head + 1] = link_precision(links, possible)
    return found


def _parsed(name: str) -> tuple[Place, int]:
    place, _, layer = name.partition(" ")
    assert place in PLACES
    return place, int(layer)
