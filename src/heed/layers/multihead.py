"""Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2)."""

from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heed.attention import masked_softmax
from heed.scores import Dot, ScaledDot

Weights = Float[Tensor, "batch head query key"]


@dataclass(frozen=True)
class Looked:
    """What all heads together brought home, and where each of them looked if that was asked for."""

    out: Float[Tensor, "batch query d_model"]
    weights: Weights | None


@dataclass(frozen=True)
class Prepared:
    """Keys and values of every head: what a look needs of the sequence that is looked at."""

    keys: Float[Tensor, "batch head key d_k"]
    values: Float[Tensor, "batch head key d_k"]


class MultiHead(nn.Module):
    """MultiHead(Q, K, V) = [head_1; …; head_h] W^O
    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V                                (Eq. 1)

    with d_k = d_v = d_model / h; the paper numbers the third line only. Ours against the paper's:
    ``W_q`` holds all W_i^Q, one head below the other, likewise ``W_k`` and ``W_v``; ``W_o`` is W^O.

    Without ``weights`` no map of queries and keys is ever held: PyTorch's
    ``scaled_dot_product_attention`` goes through it in blocks. With them it is computed the plain
    way. Both give the same but for rounding.

    scaled: divide by √d_k; without it the products grow with d_k and the softmax saturates
    bias: add one after each matrix, as PyTorch and most code do; the paper writes matrices only
    dropout: of weights, as in tensor2tensor and in PyTorch; the paper does not speak of it
    """

    def __init__(
        self,
        *,
        d_model: int,
        heads: int,
        scaled: bool = True,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(f"d_model={d_model} cannot be split over {heads} heads")
        self.heads = heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )
        self.score = ScaledDot() if scaled else Dot()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        source: Float[Tensor, "batch key d_model"],
        *,
        keep: Bool[Tensor, "#batch #query #key"] | None = None,
        on: Bool[Tensor, " head"] | None = None,
        weights: bool = False,
    ) -> Looked:
        """One look of ``query`` at ``source``, which gives keys and values: the same sequence in
        self-attention, another one in cross-attention. See ``look`` for the rest."""
        return self.look(query, self.prepare(source), keep=keep, on=on, weights=weights)

    def prepare(self, source: Float[Tensor, "batch key d_model"]) -> Prepared:
        """K W_i^K and V W_i^V of all heads: once, for whoever looks many times."""
        return Prepared(self._split(self.W_k(source)), self._split(self.W_v(source)))

    def look(
        self,
        query: Float[Tensor, "batch query d_model"],
        prepared: Prepared,
        *,
        keep: Bool[Tensor, "#batch #query #key"] | None = None,
        on: Bool[Tensor, " head"] | None = None,
        weights: bool = False,
    ) -> Looked:
        """One look at what is prepared already.

        keep: True = may look; a query that may look nowhere gets zeros from every head
        on: False takes a head's part out of the sum that W^O makes. It looks all the same.
        weights: hand back where the heads looked, before dropout
        """
        q, k, v = self._split(self.W_q(query)), prepared.keys, prepared.values
        keep = None if keep is None else keep.unsqueeze(-3)  # the same for every head
        if weights:
            alpha = masked_softmax(self.score.compare(q, k), keep)
            seen = self.dropout(alpha) @ v
        else:
            alpha = None
            seen = in_blocks(
                q,
                k,
                v,
                keep=keep,
                dropout=self.dropout.p if self.training else 0.0,
                scale=None if isinstance(self.score, ScaledDot) else 1.0,
            )
        if on is not None:
            seen = seen * on[:, None, None]
        return Looked(self.W_o(seen.transpose(1, 2).flatten(2)), alpha)

    def _split(self, x: Float[Tensor, "batch step d_model"]) -> Float[Tensor, "batch head step _"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def in_blocks(
    q: Float[Tensor, "batch head query d_k"],
    k: Float[Tensor, "batch head key d_k"],
    v: Float[Tensor, "batch head key d_k"],
    *,
    keep: Bool[Tensor, "#batch 1 #query #key"] | None,
    dropout: float,
    scale: float | None,
) -> Float[Tensor, "batch head query d_k"]:
    """PyTorch's ``scaled_dot_product_attention``; ``scale=None`` is 1/√d_k.

    On a processor its way back takes bfloat16 four times as long as float32, for sentences of 20
    words. So it gets float32 there, though all around it may be bfloat16.
    """
    slow = q.device.type == "cpu" and (
        q.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
    )
    with torch.autocast("cpu", enabled=False) if slow else nullcontext():
        if slow:
            q, k, v = q.float(), k.float(), v.float()
        return F.scaled_dot_product_attention(q, k, v, keep, dropout, scale=scale)


def switch(heads: int, off: set[int] | frozenset[int], device: torch.device) -> Bool[Tensor, " h"]:
    """True for each of the heads but those that are ``off``; the first head is number 1."""
    strange = [head for head in off if not 1 <= head <= heads]
    if strange:
        raise ValueError(f"head {min(strange)} is none of 1 to {heads}")
    return torch.tensor([head not in off for head in range(1, heads + 1)], device=device)
