"""A model's parameters as they lie in an exported file, rounded as far as they must be."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import nn

from heed.experiments.checkpoint import tensors

Kind = Literal["float32", "float16", "short", "int8"]

SHORT_BITS = 6
"""Of the ten bits of a float16's fraction, those that a short one keeps."""


class ExportError(RuntimeError):
    """A model that cannot be exported, or an export that is not what it should be."""


@dataclass(frozen=True)
class Stored:
    """A parameter as it lies in a file; int8 comes with a scale for each row (last axis).

    A short number is a float16 whose last bits are zeros. It takes as much room in the file, but
    gzip, which finds nothing to save in other weights, takes a fifth off.
    """

    data: np.ndarray
    scale: np.ndarray | None = None
    short: bool = False

    @classmethod
    def of(cls, values: np.ndarray, kind: Kind) -> "Stored":
        """Round the values."""
        if kind == "short":
            return cls(_short(values.astype("float16")), short=True)
        if kind != "int8":
            return cls(values.astype(kind))
        longest = np.abs(values).max(axis=-1, keepdims=True)
        scale = np.where(longest > 0, longest / 127, 1).astype(np.float32)
        return cls(np.rint(values / scale).astype(np.int8), scale)

    @property
    def kind(self) -> str:
        """How each number is stored."""
        return "short" if self.short else self.data.dtype.name

    @property
    def bytes(self) -> int:
        """Room in the file."""
        return self.data.nbytes + (0 if self.scale is None else self.scale.nbytes)

    def values(self) -> np.ndarray:
        """The numbers that the graph computes with."""
        values = self.data.astype(np.float32)
        return values if self.scale is None else values * self.scale


def _short(values: np.ndarray) -> np.ndarray:
    """float16 numbers rounded to ``SHORT_BITS`` bits of their fraction."""
    drop = 10 - SHORT_BITS
    bits = values.view(np.uint16).astype(np.uint32) + (1 << drop - 1)
    return (bits >> drop << drop).astype(np.uint16).view(np.float16)


def pack(model: nn.Module, *, limit: int, short: bool = False, part: str = "") -> dict[str, Stored]:
    """Every parameter by name, as small as it gets without loss; then, until all of them fit into
    ``limit`` bytes, the largest one goes down a step: float32, float16, int8. In the end, if
    wanted, float16 matrices become ``short``.

    Vectors are small and stay at float16 or better. part: only those whose name begins so
    """
    exact = {
        name: tensor.detach().float().numpy()
        for name, tensor in tensors(model)
        if name.startswith(part)
    }
    packed = {}
    for name, values in exact.items():
        half = Stored.of(values, "float16")
        packed[name] = half if np.array_equal(half.values(), values) else Stored(values)
    while sum(stored.bytes for stored in packed.values()) > limit:
        name, kind = max(
            (
                (name, below)
                for name, stored in packed.items()
                if (below := _below(stored)) is not None
            ),
            key=lambda each: packed[each[0]].bytes,
            default=(None, None),
        )
        if name is None or kind is None:
            raise ExportError(f"the parameters do not fit into {limit:,} bytes, not even as int8")
        packed[name] = Stored.of(exact[name], kind)
    if short:
        for name, stored in packed.items():
            if stored.kind == "float16" and stored.data.ndim > 1:
                packed[name] = Stored.of(exact[name], "short")
    return packed


def _below(stored: Stored) -> Kind | None:
    if stored.kind == "float32":
        return "float16"
    return "int8" if stored.kind == "float16" and stored.data.ndim > 1 else None
