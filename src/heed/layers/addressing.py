"""Where a Neural Turing Machine reads and writes (Graves, Wayne & Danihelka 2014,
arXiv:1410.5401, section 3.3): four stages, each a function that can be called by itself.

    content → interpolate → shift → sharpen                                (Figure 2)

The memory is a matrix of N slots (the paper's *locations*), each d wide (the paper's M). Every
head has weights over the slots. Ours: key k, strength β, gate g, shifts s, and focus γ, which has
no name in the paper.

Axes   head    read and write heads alike       slot    the N rows of the memory
       shift   −S … S, slot i to slot i + S: the middle one stays
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

SHORTEST = 1e-6
"""Added to the length of a row, at a right angle to it: an empty memory has no direction."""

LEAST = 1e-12
"""Added to weights before their logarithm: 0 has none."""


@dataclass(frozen=True)
class Aim:
    """What a controller says to its heads: k, β ≥ 0, 0 ≤ g ≤ 1, s (sums to 1) and γ ≥ 1."""

    key: Float[Tensor, "batch head d"]
    strength: Float[Tensor, "batch head"]
    gate: Float[Tensor, "batch head"]
    shifts: Float[Tensor, "batch head shift"]
    focus: Float[Tensor, "batch head"]


def cosine(
    memory: Float[Tensor, "batch slot d"], key: Float[Tensor, "batch head d"]
) -> Float[Tensor, "batch head slot"]:
    """K(k, M(i)) = k · M(i) / (‖k‖ ‖M(i)‖)                                      (Eq. 6)

    A row of zeros is alike to nothing: 0, with a finite gradient.
    """
    per_length = (memory.square().sum(dim=-1) + SHORTEST**2).rsqrt()
    per_size = (key.square().sum(dim=-1, keepdim=True) + SHORTEST**2).rsqrt()
    return (key * per_size) @ memory.mT * per_length.unsqueeze(1)


def content(
    memory: Float[Tensor, "batch slot d"],
    key: Float[Tensor, "batch head d"],
    strength: Float[Tensor, "batch head"],
) -> Float[Tensor, "batch head slot"]:
    """w^c(i) = exp(β K(k, M(i))) / Σ_j exp(β K(k, M(j)))                        (Eq. 5)"""
    return (strength.unsqueeze(-1) * cosine(memory, key)).softmax(dim=-1)


def interpolate(
    found: Float[Tensor, "batch head slot"],
    before: Float[Tensor, "batch head slot"],
    gate: Float[Tensor, "batch head"],
) -> Float[Tensor, "batch head slot"]:
    """w^g = g w^c + (1 − g) w_{t−1}                                             (Eq. 7)

    found: w^c, by content; before: where the head was
    """
    return torch.lerp(before, found, gate.unsqueeze(-1))


def shift(
    weights: Float[Tensor, "batch head slot"], shifts: Float[Tensor, "batch head shift"]
) -> Float[Tensor, "batch head slot"]:
    """w̃(i) = Σ_j w^g(j) s(i − j), slots counted round a ring of N               (Eq. 8)

    ``shifts`` has an odd number of entries, s(−S) … s(S); s(1) = 1 moves everything one slot on.
    ``ValueError`` for an even number. A ring shorter than that is gone round more than once.
    """
    wide = shifts.shape[-1]
    if wide % 2 == 0:
        raise ValueError(f"{wide} shifts have no middle one: use an odd number")
    moved = torch.zeros_like(weights)
    for by, share in enumerate(shifts.split(1, dim=-1), start=-(wide // 2)):
        moved = torch.addcmul(moved, weights.roll(by, dims=-1), share)
    return moved


def sharpen(
    weights: Float[Tensor, "batch head slot"], focus: Float[Tensor, "batch head"]
) -> Float[Tensor, "batch head slot"]:
    """w(i) = w̃(i)^γ / Σ_j w̃(j)^γ                                               (Eq. 9)

    Computed as softmax(γ log w̃): no power underflows to 0/0, however large γ is. Weights that
    are all 0 come out even.
    """
    return (focus.unsqueeze(-1) * (weights.clamp_min(0.0) + LEAST).log()).softmax(dim=-1)


def address(
    memory: Float[Tensor, "batch slot d"], before: Float[Tensor, "batch head slot"], aim: Aim
) -> Float[Tensor, "batch head slot"]:
    """w_t from w_{t−1}: the four stages, one after the other."""
    found = content(memory, aim.key, aim.strength)
    moved = shift(interpolate(found, before, aim.gate), aim.shifts)
    return sharpen(moved, aim.focus)


def read(
    memory: Float[Tensor, "batch slot d"], weights: Float[Tensor, "batch head slot"]
) -> Float[Tensor, "batch head d"]:
    """r = Σ_i w(i) M(i)                                                         (Eq. 2)"""
    return weights @ memory


def write(
    memory: Float[Tensor, "batch slot d"],
    weights: Float[Tensor, "batch head slot"],
    erase: Float[Tensor, "batch head d"],
    add: Float[Tensor, "batch head d"],
) -> Float[Tensor, "batch slot d"]:
    """M̃(i) = M(i) [1 − w(i) e],  M′(i) = M̃(i) + w(i) a                    (Eq. 3 and 4)

    Several heads: all of them erase, then all of them add, so their order does not matter.
    """
    for head in range(weights.shape[1]):
        rubbed = weights[:, head, :, None] * erase[:, head, None, :]
        memory = torch.addcmul(memory, memory, rubbed, value=-1)
    return torch.baddbmm(memory, weights.mT, add)
