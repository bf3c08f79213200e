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
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

SHORTEST = 1e-6
"""Added to the length of a row, at a right angle to it: an empty memory has no direction."""

LEAST = 1e-12
"""Added to weights before their logarithm: 0 has none."""

STEEPEST = 1e4
"""No gradient that ``address_at_once`` sends back to the step before has a larger entry."""


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


# ------------------------------------------------------------------------------- at once


def address_at_once(
    memory: Float[Tensor, "batch slot d"], before: Float[Tensor, "batch head slot"], aim: Aim
) -> Float[Tensor, "batch head slot"]:
    """``address``, with its gradient written out: the same numbers in about half of the time.

    Sharpening multiplies a gradient by about γ at each step; after enough steps that is no float
    any more, and ∞ − ∞ is not a number. So entries beyond ``STEEPEST`` are cut off on their way
    back to M and w_{t−1}. Clipping the gradient of the parameters would come too late.
    """
    return _Address.apply(memory, before, aim.key, aim.strength, aim.gate, aim.shifts, aim.focus)


def write_at_once(
    memory: Float[Tensor, "batch slot d"],
    weights: Float[Tensor, "batch head slot"],
    erase: Float[Tensor, "batch head d"],
    add: Float[Tensor, "batch head d"],
) -> Float[Tensor, "batch slot d"]:
    """``write``, with its gradient written out."""
    return _Write.apply(memory, weights, erase, add)


def _before_softmax(out: Tensor, grad: Tensor) -> Tensor:
    """What comes back through ``out = softmax(…)``."""
    return out * (grad - (grad * out).sum(dim=-1, keepdim=True))


class _Address(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        memory: Tensor,
        before: Tensor,
        key: Tensor,
        strength: Tensor,
        gate: Tensor,
        shifts: Tensor,
        focus: Tensor,
    ) -> Tensor:
        per_length = (memory.square().sum(dim=-1) + SHORTEST**2).rsqrt_().unsqueeze(1)
        per_size = (key.square().sum(dim=-1, keepdim=True) + SHORTEST**2).rsqrt_()
        unit = key * per_size
        similar = torch.bmm(unit, memory.mT).mul_(per_length)
        found = (strength.unsqueeze(-1) * similar).softmax(dim=-1)
        mixed = torch.lerp(before, found, gate.unsqueeze(-1))
        moved = shift(mixed, shifts)
        logs = (moved.clamp_min(0.0) + LEAST).log_()
        out = (focus.unsqueeze(-1) * logs).softmax(dim=-1)
        ctx.save_for_backward(
            *(memory, before, strength, gate, shifts, focus),
            *(per_length, per_size, unit, similar, found, mixed, moved, logs, out),
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        memory, before, strength, gate, shifts, focus, *rest = ctx.saved_tensors
        per_length, per_size, unit, similar, found, mixed, moved, logs, out = rest
        # Eq. 9
        d_logs = _before_softmax(out, grads[0])
        d_focus = (d_logs * logs).sum(dim=-1)
        d_moved = (d_logs * focus.unsqueeze(-1)).div_(moved + LEAST).masked_fill_(moved < 0, 0.0)
        # Eq. 8
        reach = shifts.shape[-1] // 2
        d_mixed, d_shifts = torch.zeros_like(mixed), []
        for by, share in enumerate(shifts.split(1, dim=-1), start=-reach):
            back = d_moved.roll(-by, dims=-1)
            d_mixed.addcmul_(back, share)
            d_shifts.append((back * mixed).sum(dim=-1))
        # Eq. 7
        d_gate = (d_mixed * (found - before)).sum(dim=-1)
        d_found = d_mixed * gate.unsqueeze(-1)
        d_before = d_mixed - d_found
        # Eq. 5
        d_scaled = _before_softmax(found, d_found)
        d_strength = (d_scaled * similar).sum(dim=-1)
        d_similar = d_scaled.mul_(strength.unsqueeze(-1))
        # Eq. 6: the length of a row takes from its gradient what points along the row
        d_dot = d_similar * per_length
        along = (d_similar * similar).sum(dim=1).mul_(per_length.squeeze(1).square()).neg_()
        d_memory = torch.baddbmm(memory * along.unsqueeze(-1), d_dot.mT, unit)
        d_unit = torch.bmm(d_dot, memory)
        d_key = per_size * (d_unit - unit * (d_unit * unit).sum(dim=-1, keepdim=True))
        return (
            d_memory.clamp_(-STEEPEST, STEEPEST),
            d_before.clamp_(-STEEPEST, STEEPEST),
            d_key,
            d_strength,
            d_gate,
            torch.stack(d_shifts, dim=-1),
            d_focus,
        )


class _Write(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
        rubbed = [memory]  # after none, one, … of the heads erased
        for w, e in zip(weights.unbind(1), erase.unbind(1), strict=True):
            last = rubbed[-1]
            rubbed.append(torch.addcmul(last, last, w.unsqueeze(2) * e.unsqueeze(1), value=-1))
        ctx.save_for_backward(weights, erase, add, *rubbed[:-1])
        return torch.baddbmm(rubbed[-1], weights.mT, add)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        weights, erase, add, *rubbed = ctx.saved_tensors
        grad = grads[0]
        # Eq. 4
        d_weights, d_add = torch.bmm(add, grad.mT), torch.bmm(weights, grad)
        # Eq. 3, the last head first
        d_erase = torch.empty_like(erase)
        for head in reversed(range(len(rubbed))):
            w, e = weights[:, head], erase[:, head]
            lost = grad * rubbed[head]
            d_weights[:, head] -= torch.bmm(lost, e.unsqueeze(2)).squeeze(2)
            d_erase[:, head] = -torch.bmm(w.unsqueeze(1), lost).squeeze(1)
            grad = torch.addcmul(grad, grad, w.unsqueeze(2) * e.unsqueeze(1), value=-1)
        return grad, d_weights, d_erase, d_add
