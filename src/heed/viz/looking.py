"""Pictures for the first chapter: what an eye sees, and what tells a hidden patch."""

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.image import imsave
from torch import Tensor

from heed.layers.fovea import fovea, pyramid
from heed.layers.patches import Patches, error, guess
from heed.viz.heatmap import INK, RING, Picture

Colours = Float[Tensor, "channel row column"]
_WHITE = "#ffffff"


def painted(picture: Colours, alt: str) -> Picture:
    """A picture, as large as the page is wide."""
    _, rows, columns = picture.shape
    return Picture(_svg(_image(picture, 0, 0, columns, rows), columns, rows), alt)


def glances(
    picture: Colours, places: Mapping[str, tuple[float | int, float | int]], *, half: float | int
) -> Picture:
    """What an eye sees from each of some places (x, y in pixels), side by side."""
    _, rows, columns = picture.shape
    levels, parts, step = pyramid(picture), [], columns + 12
    for i, (name, (x, y)) in enumerate(places.items()):
        left = i * step
        parts += [
            _image(fovea(levels, at=(x, y), half=half), left, 0, columns, rows, smooth=True),
            f'<path d="M{left + x - 7} {y}h14M{left + x} {y - 7}v14" '
            f'style="fill: none; stroke: {_WHITE}; stroke-width: 2.5"/>',
            _text(name, left + columns / 2, rows + 22),
        ]
    told = ", ".join(f"at {name}" for name in places)
    alt = f"The same picture as seen by an eye that looks {told}: sharp there, blurred elsewhere."
    return Picture(_svg("".join(parts), len(places) * step - 12, rows + 30), alt)


def told_by(picture: Colours, patches: Patches, hidden: Mapping[str, int]) -> Picture:
    """For some hidden patches: who answers, what is behind the box, and the guess.

    A fog lies over the picture and thins by √(4α) where a patch, or its mirror image, has the
    weight α.
    """
    _, rows, columns = picture.shape
    down, across = patches.grid
    size, small = patches.size, 58
    step, parts, said = columns + 12, [], []
    for i, (name, number) in enumerate(hidden.items()):
        found, left = guess(patches, number), i * step
        both = found.weights + found.mirrored
        clear = (2 * both.sqrt()).clamp(max=1).view(down, across)
        clear = clear.repeat_interleave(size, 0).repeat_interleave(size, 1)
        shown = picture * (0.38 + 0.62 * clear) + 0.31 * (1 - clear)
        row, column = divmod(number, across)
        shown[:, row * size : (row + 1) * size, column * size : (column + 1) * size] = 0.13
        parts.append(_image(shown, left, 0, columns, rows))
        parts += [
            _square(left + size * (k % across), size * (k // across), size, _WHITE)
            for k in both.argsort(descending=True).tolist()
            if both[k] >= 0.05
        ]
        parts.append(_square(left + size * column, size * row, size, RING))
        for place, (caption, content) in enumerate(
            (("behind the box", patches.contents[number]), ("the guess", found.content))
        ):
            x = left + 30 + 150 * place
            tile = content.view(-1, size, size)
            parts.append(_image(tile, x, rows + 30, small, small, crisp=True))
            parts.append(_text(caption, x + small / 2, rows + 106, size=13))
        off = float(error(found.content, patches.contents[number]))
        parts.append(_text(name, left + columns / 2, rows + 20))
        most = int(both.argmax())
        at = f"row {most // across + 1}, column {most % across + 1}"
        said.append(f"{name}: most weight, {float(both[most]):.2f}, at {at}; off by {off:.0f}")
    alt = "Some patches hidden, and who tells them. " + "; ".join(said) + " of 255."
    return Picture(_svg("".join(parts), len(hidden) * step - 12, rows + 116), alt)


def bars(
    rows: Mapping[str, Sequence[tuple[str, float]]], *, mark: Sequence[str], alt: str
) -> Picture:
    """Likely words with their probabilities, a column of bars for each beginning. Words in ``mark``
    are drawn in colour."""
    wide, high, parts, marked = 250, 22, [], set(mark)
    most = max(p for each in rows.values() for _, p in each)
    for i, (name, words) in enumerate(rows.items()):
        left = i * (wide + 20)
        parts.append(_text(name, left, 14, anchor="start", size=14))
        for j, (word, p) in enumerate(words):
            top = 26 + j * high
            colour = RING if word in marked else INK
            long = 110 * p / most
            parts += [
                _text(word, left + 88, top + 14, anchor="end", size=13),
                f'<rect x="{left + 94}" y="{top + 3}" width="{long:.1f}" height="14" '
                f'style="fill: {colour}"/>',
                _text(f"{p:.3f}", left + 100 + long, top + 14, anchor="start", size=12),
            ]
    count = max(len(each) for each in rows.values())
    return Picture(_svg("".join(parts), len(rows) * (wide + 20) - 20, 32 + count * high), alt)


# ------------------------------------------------------------------------------ drawing


def _image(
    picture: Colours,
    x: float | int,
    y: float | int,
    wide: float | int,
    high: float | int,
    *,
    crisp: bool = False,
    smooth: bool = False,
) -> str:
    """``smooth``: few sharp edges, so that a fifth of the bytes looks the same."""
    pixels = (picture * 255).round().clamp(0, 255).to(torch.uint8).permute(1, 2, 0).numpy()
    sink = io.BytesIO()
    how: dict[str, Any] = {"quality": 95} if smooth else {"lossless": True}
    imsave(sink, np.ascontiguousarray(pixels), format="webp", pil_kwargs=how)
    data = base64.b64encode(sink.getvalue()).decode()
    edges = "pixelated" if crisp else "auto"
    return (
        f'<image href="data:image/webp;base64,{data}" x="{x}" y="{y}" width="{wide}" '
        f'height="{high}" preserveAspectRatio="none" style="image-rendering: {edges}"/>'
    )


def _square(x: float | int, y: float | int, side: float | int, colour: str) -> str:
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="{side - 2}" height="{side - 2}" '
        f'style="fill: none; stroke: {colour}; stroke-width: 2"/>'
    )


def _text(
    text: str, x: float | int, y: float | int, *, anchor: str = "middle", size: int = 16
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'style="font: {size}px sans-serif; fill: {INK}">{escape(text)}</text>'
    )


def _svg(body: str, wide: float | int, high: float | int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" '
        f'width="{wide:g}" style="max-width: 100%; height: auto">{body}</svg>'
    )
