"""Attention within a window (Luong, Pham & Manning 2015, arXiv:1508.04025, section 3.2).

Two questions, two parts. *Where is the window?* ``Monotonic`` and ``Predicted`` say p_t, a place
in the source for each query. *What is looked at inside?* ``LocalAttention``.

Places count from 0, as keys do: 0 is the first source word, S − 1 the last position, and S how
many positions the sentence has, padding not among them.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.attention import Attended, masked_softmax
from heed.masks import window
from heed.scores import Score


class Monotonic(nn.Module):
    """p_t = t: target word t is expected beside source word t              (local-m)

    The paper gives this line no number.
    """

    def forward(
        self,
        query: Float[Tensor, "batch query d_q"],
        steps: Float[Tensor, "batch query"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch query"]:
        return steps


class Predicted(nn.Module):
    """p_t = S · sigmoid(v_pᵀ tanh(W_p h_t)), so 0 < p_t < S                (local-p, Eq. 9)

    S is each sentence's own length, not the width of the batch.
    """

    def __init__(self, *, d_q: int, d_hidden: int) -> None:
        super().__init__()
        self.W = nn.Linear(d_q, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "batch query d_q"],
        steps: Float[Tensor, "batch query"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch query"]:
        part = self.v(torch.tanh(self.W(query))).squeeze(-1)
        # Eight bits of bfloat16 cannot tell place 40 from 40.2: go on in the weights' precision.
        return lengths[:, None] * torch.sigmoid(part.to(self.v.weight.dtype))


def gaussian(
    places: Float[Tensor, "*batch query"], sigma: int | float, longest: int
) -> Float[Tensor, "*batch query {longest}"]:
    """exp(−(s − p_t)² / 2σ²) for each key s: 1 where the key is at the place, not a density."""
    away = torch.arange(longest, device=places.device) - places[..., None]
    return torch.exp(-away.square() / (2 * sigma**2))


class LocalAttention(nn.Module):
    """a_t(s) = align(h_t, h̄_s) · exp(−(s − p_t)² / 2σ²) for |s − p_t| ≤ D, and 0 elsewhere (Eq. 10)

    align is a softmax (Eq. 7) over the window alone. The Gaussian comes after it and nothing is
    divided again, so the weights of a query sum to less than 1; only through the Gaussian does p_t
    get a gradient. Without ``sigma`` there is no Gaussian, and the sum is 1: that is local-m.

    ``radius`` is the paper's D. The window lies around the real number p_t: there is no rounding.
    A query whose window holds no word gets zeros, weights and context.

    renormalise: divide by the sum after all, as some public code does
    """

    def __init__(
        self,
        score: Score,
        *,
        radius: int | float,
        sigma: int | float | None = None,
        renormalise: bool = False,
    ) -> None:
        super().__init__()
        if radius < 1:
            raise ValueError(f"radius={radius}, but a window reaches 1 word to each side or more")
        if sigma is not None and sigma <= 0:
            raise ValueError(f"sigma={sigma} must be a positive number of words")
        self.score = score
        self.radius = radius
        self.sigma = sigma
        self.renormalise = renormalise

    def look(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_p"],
        values: Float[Tensor, "*batch key d_v"],
        *,
        places: Float[Tensor, "*batch query"],
        keep: Bool[Tensor, "*#batch #query #key"],
    ) -> Attended:
        """As ``Attention.look``, around ``places``."""
        weights = self.align(query, prepared, places=places, keep=keep)
        if self.sigma is not None:
            weights = weights * gaussian(places, self.sigma, values.shape[-2])
        if self.renormalise:
            total = weights.sum(dim=-1, keepdim=True)
            weights = weights / total.masked_fill(total == 0, 1.0)
        return Attended(context=weights @ values, weights=weights)

    def align(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_p"],
        *,
        places: Float[Tensor, "*batch query"],
        keep: Bool[Tensor, "*#batch #query #key"],
    ) -> Float[Tensor, "*batch query key"]:
        """align(h_t, h̄_s): the softmax of Eq. 7 inside the window, before the Gaussian."""
        scores = self.score.compare(query, prepared)
        return masked_softmax(scores, keep & window(places, self.radius, scores.shape[-1]))
