"""Scores of translations; those of alignments, from ``alignment``, are offered here too."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU

from heed.data.pairs import Pair
from heed.evaluation.alignment import (
    aer_by_phenomenon,
    alignment_error_rate,
    entropy,
    forced_links,
    gold,
    link_precision,
    links_from_weights,
)

__all__ = [
    "LENGTH_BUCKETS",
    "Bleu",
    "aer_by_phenomenon",
    "alignment_error_rate",
    "bleu",
    "bleu_by_length",
    "by_length",
    "entropy",
    "exact_match",
    "forced_links",
    "gold",
    "link_precision",
    "links_from_weights",
]

Words = Sequence[str]

LENGTH_BUCKETS = {
    "3-8": (3, 8),
    "9-15": (9, 15),
    "16-25": (16, 25),
    "26-45": (26, 45),
    "46-60": (46, 60),
}
"""Source tokens, both ends included; shorter and longer sentences are in no bucket."""


@dataclass(frozen=True)
class Bleu:
    """score: 0 to 100. signature: sacreBLEU's own, and what text it was computed on."""

    score: float
    signature: str


def bleu(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> Bleu:
    """Corpus BLEU by sacreBLEU (Post 2018) on our own lower-case tokens.

        BLEU = BP · exp(Σ_{n≤4} ¼ log p_n),  BP = min(1, e^{1 - r/c})    (Papineni et al. 2002)

    p_n: clipped n-gram precision; c: words written; r: words of the reference nearest in
        length. sacreBLEU's tokeniser is off, because the words come from ``heed.data.text``
        on both sides, so the score compares with others made here, and not with a published
        one on raw text. The signature says so.

    references: for each sentence every accepted translation; their number may differ
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses but {len(references)} sets of references")
    if not hypotheses:
        raise ValueError("no sentences: there is no BLEU of nothing")
    for i, accepted in enumerate(references):
        if not accepted:
            raise ValueError(f"sentence {i} has no reference")
    most = max(len(accepted) for accepted in references)
    streams = [
        [" ".join(accepted[k]) if k < len(accepted) else None for accepted in references]
        for k in range(most)
    ]
    # force: only silences the guess that our input "looks tokenized", which it is, on purpose
    metric = BLEU(lowercase=True, tokenize="none", force=True)
    texts = [" ".join(words) for words in hypotheses]
    score = metric.corpus_score(texts, streams).score  # pyright: ignore[reportArgumentType]
    return Bleu(score, f"{metric.get_signature()}|text:heed-lower-case-tokens")


def by_length(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Which pairs are in each of ``LENGTH_BUCKETS``; a bucket without any is left out."""
    rows = {
        name: [i for i, pair in enumerate(pairs) if low <= len(pair.source) <= high]
        for name, (low, high) in LENGTH_BUCKETS.items()
    }
    return {name: members for name, members in rows.items() if members}


def bleu_by_length(hypotheses: Sequence[Words], pairs: Sequence[Pair]) -> dict[str, float]:
    """BLEU of each bucket of source length (``by_length``), all references counted."""
    if len(hypotheses) != len(pairs):
        raise ValueError(f"{len(hypotheses)} hypotheses but {len(pairs)} pairs")
    return {
        name: bleu([hypotheses[i] for i in rows], [pairs[i].accepted for i in rows]).score
        for name, rows in by_length(pairs).items()
    }


def exact_match(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> float:
    """Share of sentences that are one of their accepted translations, word for word."""
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses but {len(references)} sets of references")
    if not hypotheses:
        raise ValueError("no sentences: there is no share of nothing")
    right = sum(
        tuple(words) in {tuple(reference) for reference in accepted}
        for words, accepted in zip(hypotheses, references, strict=True)
    )
    return right / len(hypotheses)
