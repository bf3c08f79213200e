"""Attention maps at moments of training, small enough to ship: one byte a weight, in an npz.

``steps`` holds the step of each moment; ``input_0``, ``input_1``, … hold one array for each watched
sentence, *moment × target step × source position*, in 255ths.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

Bytes = UInt8[np.ndarray, "_ _"]
"""Target step × source position. No named axes: sentences in one list differ in length."""


def quantise(weights: Float[np.ndarray, "step key"]) -> UInt8[np.ndarray, "step key"]:
    """The nearest of 256 levels: off by 1/510 at most."""
    return np.rint(np.clip(weights, 0.0, 1.0) * 255).astype(np.uint8)


def moments(steps: int, *, count: int = 30) -> list[int]:
    """``count`` steps from 0 to the last, evenly spaced on a log scale, or all there are.

    Attention settles early: half of the moments fall into the first few percent of training.
    """
    if steps + 1 <= count:
        return list(range(steps + 1))
    first = max(1.0, steps / 1000)
    chosen: list[int] = [0]
    for k, even in enumerate(np.geomspace(first, steps, count - 1)):
        # Rounding must not merge two moments, nor push the last ones past the end.
        chosen.append(min(max(round(even), chosen[-1] + 1), steps - (count - 2 - k)))
    return chosen


def pack(by_step: Mapping[int, Sequence[Bytes]]) -> bytes:
    """The npz file; nothing in it needs pickle."""
    steps = sorted(by_step)
    arrays: dict[str, Any] = {
        f"input_{i}": np.stack([by_step[step][i] for step in steps])
        for i in range(len(by_step[steps[0]]) if steps else 0)
    }
    file = io.BytesIO()
    np.savez_compressed(file, steps=np.array(steps, dtype=np.int64), **arrays)
    return file.getvalue()


def unpack(content: bytes) -> tuple[list[int], list[Float[np.ndarray, "moment _ _"]]]:
    """The steps, and for each watched sentence its map at each of them, from 0 to 1."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        count = sum(name.startswith("input_") for name in file.files)
        arrays = [file[f"input_{i}"].astype(np.float32) / 255 for i in range(count)]
        return file["steps"].tolist(), arrays
