"""Score, mask, normalise, average: the four steps that every chapter shares."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heed.scores import Score


@dataclass(frozen=True)
class Attended:
    """What an attention step hands back. Weights are always returned, never stored."""

    context: Float[Tensor, "*batch query d_v"]
    weights: Float[Tensor, "*batch query key"]


def masked_softmax(
    scores: Float[Tensor, "*batch query key"],
    keep: Bool[Tensor, "*#batch #query #key"] | None = None,
) -> Float[Tensor, "*batch query key"]:
    """Softmax over the kept keys. A query that may look nowhere gets zeros.

    Such a row is filled with finite numbers before the softmax, so that its gradient is zero
    instead of NaN. A score of −∞ (``Location`` gives it beyond its last place) counts as masked.
    """
    if keep is None:
        return scores.softmax(dim=-1)
    keep = keep & (scores != float("-inf"))
    nowhere = ~keep.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~keep, float("-inf")).masked_fill(nowhere, 0.0)
    return scores.softmax(dim=-1).masked_fill(nowhere, 0.0)


class Attention(nn.Module):
    """α = softmax(score(query, keys)); context = Σ α · values    (Bahdanau et al. 2015, Eq. 5–6)"""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def forward(
        self,
        query: Float[Tensor, "*batch query d_q"],
        keys: Float[Tensor, "*batch key d_k"],
        values: Float[Tensor, "*batch key d_v"],
        *,
        keep: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Attended:
        """One look. Whoever looks many times at the same keys prepares them once: see ``look``."""
        return self.look(query, self.score.prepare(keys), values, keep=keep)

    def look(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_p"],
        values: Float[Tensor, "*batch key d_v"],
        *,
        keep: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Attended:
        """The same, for keys that went through ``score.prepare`` already."""
        weights = masked_softmax(self.score.compare(query, prepared), keep)
        return Attended(context=weights @ values, weights=weights)
