"""Animals as shadows, one bit a pixel: they lie in ``data/silhouettes``."""

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

SILHOUETTES = Path(__file__).resolve().parents[3] / "data" / "silhouettes" / "animals.npz"
CREDITS = ("Animal-MNIST, © 2025 SinaSR-6",)
LICENCE = "MIT (the silhouettes); see data/silhouettes/SOURCE.md"

SIDE = 28
"""Pixels a side. An animal touches both ends of its longer side, and stands in the middle."""
Part = Literal["train", "valid", "test"]
PARTS: dict[Part, tuple[int, ...]] = {"train": tuple(range(2, 10)), "valid": (1,), "test": (0,)}
"""The last digit of a silhouette's number says which part it is in. No two are nearly alike
(``tools/make_silhouettes.py`` saw to that), so no part holds what another one was drawn from."""


class SilhouettesError(ValueError):
    """The silhouettes are not there, or not what they should be."""


@dataclass(frozen=True, kw_only=True)
class Silhouettes:
    """Every silhouette, and which animal each is.

    names: of the animals; kinds: for each silhouette a number into it
    """

    names: tuple[str, ...]
    pixels: Bool[Tensor, "silhouette row column"]
    kinds: Int[Tensor, " silhouette"]

    def numbers(self, part: Part) -> list[Int[Tensor, " _"]]:
        """For each animal, the numbers of its silhouettes in a part."""
        numbers = torch.arange(len(self.kinds))
        inside = torch.isin(numbers % 10, torch.tensor(PARTS[part]))
        return [numbers[inside & (self.kinds == kind)] for kind in range(len(self.names))]

    def extents(self) -> Int[Tensor, "silhouette 4"]:
        """Where each begins and ends: top, left, bottom, right; the last two are not in it."""
        edges = []
        for along in (2, 1):
            filled = self.pixels.any(dim=along).int()
            edges.append((filled.argmax(dim=1), SIDE - filled.flip(1).argmax(dim=1)))
        (top, bottom), (left, right) = edges
        return torch.stack([top, left, bottom, right], dim=1)


@cache
def silhouettes(path: Path = SILHOUETTES) -> Silhouettes:
    """Read them; ``SilhouettesError`` says in one line what is wrong with the file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names, packed, kinds = (file[name] for name in ("names", "pixels", "kinds"))
    except FileNotFoundError:
        raise SilhouettesError(f"there is no {path}; it is part of the repository") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as fault:
        raise SilhouettesError(f"{path} is damaged: {fault}") from None
    bits = np.unpackbits(packed, axis=1)[:, : SIDE * SIDE].reshape(-1, SIDE, SIDE)
    return Silhouettes(
        names=tuple(names.tolist()),
        pixels=torch.from_numpy(bits.astype(bool)),
        kinds=torch.from_numpy(kinds.astype(np.int64)),
    )


def stretch(
    length: Int[Tensor, "*batch"],
    start: Int[Tensor, "*batch"],
    *,
    canvas: int,
    source: int = SIDE,
) -> Float[Tensor, "*batch canvas source"]:
    """The matrix that draws a row of ``source`` pixels over ``length`` pixels from ``start`` on.

    Entry (p, q) is the share of pixel p of the canvas that pixel q of the source covers, so a
    silhouette M lies on the canvas as A M Bᵀ, its edges smooth at any size. What would lie beyond
    the canvas is cut off; a length of 0 draws nothing.
    """
    scale = length.clamp(min=1)[..., None, None] / source
    low = torch.arange(source) * scale + start[..., None, None]
    pixel = torch.arange(canvas)[:, None]
    covered = torch.minimum(low + scale, pixel + 1.0) - torch.maximum(low, pixel + 0.0)
    return covered.clamp(min=0) * (length > 0)[..., None, None]
