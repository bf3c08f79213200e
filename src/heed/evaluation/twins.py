"""Twins: whether drawn pictures keep the rule, whether all kinds of them are drawn, and how far
their crowd is from the real one."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from heed.data.twins import HUE_APART, HUES, SHAPES, Reading, gap, split
from heed.evaluation.decoding import answering, device_of
from heed.models.halves import HalfReader
from heed.models.sagan import SAGAN, Drawn, acting, normalised

FAIR = 0.25
"""Share of its fair share that a mode must have, to count as covered."""


def to_bytes(
    pictures: Float[Tensor, "*batch 3 row column"],
) -> UInt8[Tensor, "*batch 3 row column"]:
    """Drawn pictures, from −1 to 1, as pictures are kept."""
    return ((pictures.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)


def from_bytes(
    pictures: UInt8[Tensor, "*batch 3 row column"],
) -> Float[Tensor, "*batch 3 row column"]:
    """The other way: pictures as both nets see them."""
    return pictures.float() / 127.5 - 1


# ------------------------------------------------------------------------------ what was read


def scores(reading: Reading) -> dict[str, float]:
    """What a crowd of pictures is worth, as shares from 0 to 1.

    twins: both halves clear, and of one hue and one shape
    clear: both halves show one coloured thing; same_hue, same_shape: of these pictures (0 if there
        are none)
    shuffled: what ``twins`` would be if each left half stood beside the next picture's right half:
        how often halves as clear and as varied as these agree by chance
    modes: of the 4 shapes in 12 hues, those that at least a quarter of their fair share of the
        clear halves show; rarest_shape: the share of the rarest shape (fair is 1/4)
    """
    clear, both = reading.clear, reading.clear.all(dim=1)
    things = reading.things
    next_hue, next_shape, next_clear = (
        each[:, 1].roll(1) for each in (things.hue, things.shape, clear)
    )
    by_chance = (
        (clear[:, 0] & next_clear)
        & (gap(things.hue[:, 0], next_hue) <= HUE_APART)
        & (things.shape[:, 0] == next_shape)
    )
    shape, hue = things.shape[clear], (things.hue[clear] * HUES).long().clamp(max=HUES - 1)
    counts = torch.bincount(shape * HUES + hue, minlength=len(SHAPES) * HUES).double()
    shares = counts / counts.sum().clamp(min=1)
    return {
        "twins": _share(reading.twins),
        "clear": _share(both),
        "same_hue": _share(reading.same_hue[both]),
        "same_shape": _share(reading.same_shape[both]),
        "shuffled": _share(by_chance),
        "modes": _share(shares >= FAIR / len(shares)),
        "rarest_shape": shares.unflatten(0, (len(SHAPES), HUES)).sum(dim=1).min().item(),
    }


def _share(which: Tensor) -> float:
    return which.double().mean().item() if len(which) else 0.0


# ------------------------------------------------------------------------------ asking the nets


def drawn(
    model: SAGAN,
    z: Float[Tensor, "picture d_z"],
    *,
    weights: bool = False,
    dial: float = 1.0,
    batch_size: int = 250,
) -> Drawn:
    """Pictures by the mean generator, on the CPU, some at a time."""
    with answering(model):
        parts = [
            model(some.to(device_of(model)), weights=weights, dial=dial)
            for some in z.split(batch_size)
        ]
    held = [part.weights.cpu() for part in parts if part.weights is not None]
    return Drawn(
        torch.cat([part.pictures.float().cpu() for part in parts]),
        torch.cat(held) if held else None,
    )


def features(
    reader: HalfReader, pictures: UInt8[Tensor, "picture 3 32 32"], *, batch_size: int = 500
) -> Float[Tensor, "picture feature"]:
    """What a reader of halves makes of both halves of each picture, side by side: so the crowd's
    covariance knows whether the halves belong together."""
    with answering(reader):
        found = [
            reader(split(some.float() / 255).flatten(0, 1).to(device_of(reader))).features.cpu()
            for some in pictures.split(batch_size)
        ]
    return torch.cat(found).unflatten(0, (len(pictures), 2)).flatten(1)


def frechet(one: Float[Tensor, "one feature"], other: Float[Tensor, "other feature"]) -> float:
    """|μ − ν|² + tr(A + B − 2 (A^½ B A^½)^½)      (Heusel et al. 2017, Eq. 6; Dowson & Landau 1982)

    The squared Fréchet distance of two normal distributions with the means μ, ν and covariances
    A, B of two crowds' features. It depends on whose features they are: called FID only with those
    of one Inception network, which these are not.
    """
    for crowd in (one, other):
        if len(crowd) < 2:
            raise ValueError(f"a crowd of {len(crowd)} has no spread: 2 pictures at least")
    (mu, a), (nu, b) = _normal(one), _normal(other)
    root = _root(a)
    both = torch.linalg.eigvalsh(root @ b @ root).clamp(min=0).sqrt().sum()
    return ((mu - nu).square().sum() + a.trace() + b.trace() - 2 * both).clamp(min=0).item()


def _normal(
    crowd: Float[Tensor, "picture feature"],
) -> tuple[Float[Tensor, " feature"], Float[Tensor, "feature feature"]]:
    """Mean and covariance (n − 1)."""
    mean = crowd.double().mean(dim=0)
    centred = crowd.double() - mean
    return mean, centred.mT @ centred / (len(crowd) - 1)


def _root(a: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    values, vectors = torch.linalg.eigh(a)
    return vectors * values.clamp(min=0).sqrt() @ vectors.mT


# ------------------------------------------------------------------------------ health


def singular_values(net: nn.Module) -> dict[str, float]:
    """The largest singular value of each weight that is divided by it, as it acts: 1 if the
    running estimate is right."""
    weights, found = acting(net), {}
    for name, module in normalised(net):
        weight = weights[f"{name}.weight"]
        if isinstance(module, nn.ConvTranspose2d):  # its output channels are the second axis
            weight = weight.transpose(0, 1)
        found[name] = torch.linalg.matrix_norm(weight.flatten(1).double(), 2).item()
    return found


def evenness(weights: Float[Tensor, "*batch place"]) -> float:
    """Mean entropy of looks, as a share of the largest there can be: 1 if all places are looked at
    alike."""
    return (torch.special.entr(weights).sum(dim=-1) / math.log(weights.shape[-1])).mean().item()


def in_words(reading: Reading) -> Sequence[dict[str, Any]]:
    """What stands in some pictures, left and right, as a card keeps it."""
    things = reading.things
    return [
        {
            "shapes": [SHAPES[shape] for shape in things.shape[i].tolist()],
            "hues": [round(hue, 3) for hue in things.hue[i].tolist()],
            "clear": reading.clear[i].tolist(),
            "twins": bool(reading.twins[i]),
        }
        for i in range(len(reading.fit))
    ]
