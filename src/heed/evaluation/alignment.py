"""Attention read as a word alignment, and measured against gold links.

Links are (source position, target position), both from 0, as in ``heed.data.pairs``. All
measures
are over a corpus: the counts are summed before anything is divided, as Och & Ney do.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from heed.data.batches import encode_batch
from heed.data.pairs import Link, Pair
from heed.data.vocabulary import Vocabulary
from heed.evaluation.decoding import forced_weights, in_batches
from heed.models.translator import Translator

Links = AbstractSet[Link]
Map = Float[np.ndarray, "_ _"]  # of one sentence: step, key


def links_from_weights(
    weights: Float[np.ndarray, "step key"], source_length: int, target_length: int
) -> frozenset[Link]:
    """Each target word is linked to the source word that it looks at most: a_j = argmax_i α_ji.

    A word that looks most at the source's ``EOS`` column, or nowhere at all, gets no link.
    Rows after ``target_length`` (the step that writes ``EOS``) are dropped. Of equal weights
    the first wins.

    source_length, target_length: words, no ``EOS`` counted
    """
    if weights.shape[0] < target_length or weights.shape[1] < source_length:
        raise ValueError(
            f"weights of shape {weights.shape} do not cover {target_length} target "
            f"and {source_length} source words"
        )
    if not target_length or not source_length:
        return frozenset()
    looked = weights[:target_length, : source_length + 1]
    return frozenset(
        (int(i), j)
        for j, i in enumerate(looked.argmax(axis=1))
        if i < source_length and looked[j, i] > 0
    )


def forced_maps(
    model: Translator,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    batch_size: int = 128,
) -> list[Map]:
    """Where the model looks while it is made to write the gold target of each pair.

    In the order given; ``ValueError`` for a model without attention.
    """
    maps: list[np.ndarray] = [np.empty(0)] * len(pairs)
    sizes = [max(len(pair.source), len(pair.target)) for pair in pairs]
    for rows in in_batches(sizes, batch_size):
        batch = encode_batch([pairs[i] for i in rows], source_vocab, target_vocab)
        weights = forced_weights(model, batch)
        if weights is None:
            raise ValueError("links are read from attention, and this model has none")
        for i, table in zip(rows, weights, strict=True):
            maps[i] = table
    return maps


def forced_links(
    model: Translator,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    batch_size: int = 128,
) -> list[frozenset[Link]]:
    """The links of each pair, read from its ``forced_maps``."""
    maps = forced_maps(model, pairs, source_vocab, target_vocab, batch_size=batch_size)
    return links_from_maps(maps, pairs)


def links_from_maps(maps: Sequence[Map], pairs: Sequence[Pair]) -> list[frozenset[Link]]:
    """``links_from_weights`` of each pair."""
    return [
        links_from_weights(weights, len(pair.source), len(pair.target))
        for weights, pair in zip(maps, pairs, strict=True)
    ]


@dataclass(frozen=True)
class _Counts:
    """|A|, |S|, |A ∩ S| and |A ∩ P|, which is all that the measures below need."""

    found: int = 0
    sure: int = 0
    found_sure: int = 0
    found_possible: int = 0

    def __add__(self, other: "_Counts") -> "_Counts":
        return _Counts(
            self.found + other.found,
            self.sure + other.sure,
            self.found_sure + other.found_sure,
            self.found_possible + other.found_possible,
        )

    @property
    def error_rate(self) -> float:
        return 1 - (self.found_sure + self.found_possible) / (self.found + self.sure)


def _count(links: Iterable[Links], sure: Iterable[Links], possible: Iterable[Links]) -> _Counts:
    total = _Counts()
    for a, s, p in zip(links, sure, possible, strict=True):
        total += _Counts(len(a), len(s), len(a & s), len(a & (p | s)))
    return total


def alignment_error_rate(
    links: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> float:
    """AER(A; S, P) = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)      (Och & Ney 2003)

    0 is perfect: every sure link is found, and nothing that is not possible. One set a sentence
    pair; a sure link counts as possible whether or not P repeats it.

    links: A, what the model found; sure: S; possible: P ⊇ S
    """
    counts = _count(links, sure, possible)
    if not counts.found + counts.sure:
        raise ValueError("neither gold nor found links: there is no error rate of nothing")
    return counts.error_rate


def link_precision(links: Sequence[Links], possible: Sequence[Links]) -> float:
    """|A ∩ P| / |A|: how many of the found links are right      (Och & Ney 2003)

    0 where nothing was found at all: a model that never commits itself earns no praise.
    """
    counts = _count(links, [frozenset()] * len(links), possible)
    return counts.found_possible / counts.found if counts.found else 0.0


def aer_by_phenomenon(links: Sequence[Links], pairs: Sequence[Pair]) -> dict[str, float]:
    """AER at the target words that a phenomenon is about, for each phenomenon that occurs.

    A, S and P are cut down to the links of those target words that take part in a link of the
    phenomenon (``Pair.phenomena``), then counted as in ``alignment_error_rate``. Names in
    order.
    """
    totals: dict[str, _Counts] = {}
    for found, pair in zip(links, pairs, strict=True):
        for name, own in pair.phenomena.items():
            about = {j for _, j in own}
            a, s, p = (_at(about, every) for every in (found, pair.sure, pair.possible))
            totals[name] = totals.get(name, _Counts()) + _count([a], [s], [p])
    return {
        name: counts.error_rate
        for name, counts in sorted(totals.items())
        if counts.found + counts.sure
    }


def _at(targets: AbstractSet[int], links: Links) -> Links:
    return {(i, j) for i, j in links if j in targets}


def gold(pairs: Sequence[Pair]) -> tuple[list[Links], list[Links]]:
    """The sure and the possible links of the pairs, as ``alignment_error_rate`` takes them."""
    return [pair.sure for pair in pairs], [pair.possible for pair in pairs]


def entropy(
    weights: Float[np.ndarray, "*rows key"], unit: Literal["bits", "nats"] = "bits"
) -> Float[np.ndarray, "*rows"]:
    """H(α) = -Σ_i α_i log α_i of each row, with 0 log 0 = 0        (Shannon 1948)

    0: the row looks at one place. log n: it looks at n places alike. 2^H (for bits) reads as
    the number of places looked at. A row of zeros, which looks nowhere, has 0.
    """
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    nats = np.maximum(-(weights * logs).sum(axis=-1), 0.0)  # rounding may leave -1e-17
    return nats / np.log(2.0).astype(weights.dtype) if unit == "bits" else nats
