"""Score functions: how well does a query match each key?

Axes   *batch  any leading axes (batch, or batch and head)
       query   positions that look        key    positions looked at
       d_q     width of a query           d_k    width of a key

A score works in two steps. ``prepare(keys)`` does what needs only the keys, once a sentence;
``compare(query, prepared)`` does the rest, once a decoder step. Calling the score does both.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Score(nn.Module, ABC):
    """``score(query, keys)``: one unnormalised number for each pair of query and key."""

    def prepare(self, keys: Float[Tensor, "*batch key d_k"]) -> Float[Tensor, "*batch key _"]:
        """What can be computed before any query is known. Nothing, unless a score says so."""
        return keys

    @abstractmethod
    def compare(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_p"],
    ) -> Float[Tensor, "*batch query key"]:
        """The scores, from keys that went through ``prepare``."""

    def forward(
        self,
        query: Float[Tensor, "*batch query d_q"],
        keys: Float[Tensor, "*batch key d_k"],
    ) -> Float[Tensor, "*batch query key"]:
        return self.compare(query, self.prepare(keys))


class Dot(Score):
    """score(s, h) = sᵀh                              (Luong et al. 2015, section 3.1)

    Query and key must have the same width.
    """

    def compare(
        self,
        query: Float[Tensor, "*batch query d"],
        prepared: Float[Tensor, "*batch key d"],
    ) -> Float[Tensor, "*batch query key"]:
        return query @ prepared.mT


class ScaledDot(Dot):
    """score(s, h) = sᵀh / √d                         (Vaswani et al. 2017, Eq. 1)

    d is the width of a key (of one head, where there are several).
    """

    def compare(
        self,
        query: Float[Tensor, "*batch query d"],
        prepared: Float[Tensor, "*batch key d"],
    ) -> Float[Tensor, "*batch query key"]:
        return super().compare(query, prepared) / math.sqrt(query.shape[-1])


class General(Score):
    """score(s, h) = sᵀ W h                           (Luong et al. 2015, section 3.1)"""

    def __init__(self, *, d_q: int, d_k: int) -> None:
        super().__init__()
        self.W = nn.Linear(d_k, d_q, bias=False)

    def prepare(self, keys: Float[Tensor, "*batch key d_k"]) -> Float[Tensor, "*batch key d_q"]:
        return self.W(keys)

    def compare(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_q"],
    ) -> Float[Tensor, "*batch query key"]:
        return query @ prepared.mT


class Additive(Score):
    """score(s, h) = vᵀ tanh(W s + U h)               (Bahdanau et al. 2015, A.1.2)

    W, U, v are the paper's W_a, U_a, v_a. The survey writes W[s; h] with one wide W: the same
    thing, cut in two so that U h need not be computed again at each step.
    """

    def __init__(self, *, d_q: int, d_k: int, d_hidden: int) -> None:
        super().__init__()
        self.W = nn.Linear(d_q, d_hidden, bias=False)
        self.U = nn.Linear(d_k, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def prepare(
        self, keys: Float[Tensor, "*batch key d_k"]
    ) -> Float[Tensor, "*batch key d_hidden"]:
        return self.U(keys)

    def compare(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_hidden"],
    ) -> Float[Tensor, "*batch query key"]:
        every_pair = self.W(query).unsqueeze(-2) + prepared.unsqueeze(-3)
        return self.v(torch.tanh(every_pair)).squeeze(-1)


class Cosine(Score):
    """score(s, h) = β cos(s, h)                      (Graves et al. 2014, Eq. 5 and 6)

    The survey's *content-base* score. With ``strength`` β = 1 no weight can exceed
    e / (e + (n − 1)/e) over n keys, however well one matches; the NTM's controller says β anew
    for each look. Here β is one number, ``learnt`` (as its logarithm, so it stays positive) or not.
    """

    def __init__(self, *, strength: float = 1.0, learnt: bool = False, eps: float = 1e-8) -> None:
        super().__init__()
        if not strength > 0:
            raise ValueError(f"strength={strength} must be positive")
        log_strength = torch.tensor(strength).log()
        self.log_strength = nn.Parameter(log_strength) if learnt else None
        self.fixed_strength = strength
        self.eps = eps

    @property
    def strength(self) -> float | Tensor:
        """β."""
        return self.fixed_strength if self.log_strength is None else self.log_strength.exp()

    def prepare(self, keys: Float[Tensor, "*batch key d"]) -> Float[Tensor, "*batch key d"]:
        return nn.functional.normalize(keys, dim=-1, eps=self.eps)

    def compare(
        self,
        query: Float[Tensor, "*batch query d"],
        prepared: Float[Tensor, "*batch key d"],
    ) -> Float[Tensor, "*batch query key"]:
        unit = nn.functional.normalize(query, dim=-1, eps=self.eps)
        return self.strength * (unit @ prepared.mT)


class Location(Score):
    """score(s, ·) = W s, blind to the keys           (Luong et al. 2015, Eq. 8)

    Row j of W belongs to position j, so there are ``max_keys`` positions and no more; keys
    beyond them score −∞ and get weight 0.
    """

    def __init__(self, *, d_q: int, max_keys: int) -> None:
        super().__init__()
        self.W = nn.Linear(d_q, max_keys, bias=False)

    def compare(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_k"],
    ) -> Float[Tensor, "*batch query key"]:
        scores = self.W(query)
        beyond = prepared.shape[-2] - scores.shape[-1]
        if beyond > 0:
            return nn.functional.pad(scores, (0, beyond), value=float("-inf"))
        return scores if beyond == 0 else scores[..., :beyond]


ScoreName = Literal[
    "additive", "general", "dot", "scaled_dot", "content_base", "unit_content_base", "location_base"
]


def score_of(name: str, *, d_q: int, d_k: int, d_hidden: int, max_keys: int) -> Score:
    """The score that a config names; each takes of the sizes what it needs.

    ``ValueError`` for a name that is no ``ScoreName``, and for widths that the score cannot join.
    ``"content_base"`` learns its strength β, starting from 1; ``"unit_content_base"`` is the
    survey's row to the letter, with β = 1.
    """
    if name in ("dot", "scaled_dot", "content_base", "unit_content_base") and d_q != d_k:
        raise ValueError(f"the score {name!r} needs d_q = d_k, not {d_q} and {d_k}")
    match name:
        case "additive":
            return Additive(d_q=d_q, d_k=d_k, d_hidden=d_hidden)
        case "general":
            return General(d_q=d_q, d_k=d_k)
        case "dot":
            return Dot()
        case "scaled_dot":
            return ScaledDot()
        case "content_base":
            return Cosine(learnt=True)
        case "unit_content_base":
            return Cosine()
        case "location_base":
            return Location(d_q=d_q, max_keys=max_keys)
    raise ValueError(f"score={name!r} is none of {', '.join(get_args(ScoreName))}")
