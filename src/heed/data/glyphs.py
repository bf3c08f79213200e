"""Characters of 90 scripts as strokes of a pen: they lie in ``data/glyphs``, and are drawn here."""

import zipfile
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

STROKES = Path(__file__).resolve().parents[3] / "data" / "glyphs" / "strokes.npz"
CREDITS = ("Strokes derived from the Noto fonts, © Google LLC and the Noto authors",)
LICENCE = "SIL Open Font License 1.1 (the strokes); see data/glyphs/SOURCE.md"

BOX = 120
"""The strokes lie in a square of so many units."""
SIDE = 28
"""Pixels a side of a drawing."""
PIECE = 12.0
"""A stroke is bent at its points only; no two of them are farther apart than this."""
Part = Literal["train", "valid", "test"]
PARTS: dict[Part, tuple[int, ...]] = {
    "train": (1, 3, 4, 5, 8, 9),
    "valid": (7,),
    "test": (0, 2, 6),
}
"""The last digit of a script's number says which part it is in: who is tested on a script has never
seen a character of it."""


class GlyphsError(ValueError):
    """The strokes are not there, or not what they should be."""


@dataclass(frozen=True, kw_only=True)
class Glyphs:
    """Every character, as pieces of straight line.

    characters: one string each; scripts: for each a number into ``names``
    pieces: both ends of each piece, one character behind the other, as (down, right); strokes: of
    which stroke of its character a piece is; ends: where a character's pieces end
    """

    characters: tuple[str, ...]
    names: tuple[str, ...]
    scripts: Int[Tensor, " glyph"]
    pieces: Float[Tensor, "piece 2 2"]
    strokes: Int[Tensor, " piece"]
    ends: Int[Tensor, " glyph"]

    def numbers(self, part: Part) -> Int[Tensor, " _"]:
        """The characters of the scripts of a part."""
        inside = torch.isin(self.scripts % 10, torch.tensor(PARTS[part]))
        return torch.arange(len(self.scripts))[inside]


@cache
def glyphs(path: Path = STROKES) -> Glyphs:
    """Read them; ``GlyphsError`` says in one line what is wrong with the file."""
    arrays = ("points", "strokes", "glyphs", "characters", "scripts", "names")
    try:
        with np.load(path, allow_pickle=False) as file:
            points, lengths, counts, characters, scripts, names = (file[name] for name in arrays)
    except FileNotFoundError:
        raise GlyphsError(f"there is no {path}; it is part of the repository") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as fault:
        raise GlyphsError(f"{path} is damaged: {fault}") from None
    lines = np.split(points.astype(np.float32), np.cumsum(lengths.astype(np.int64))[:-1])
    pieces, strokes, ends, at = [], [], [], 0
    total = 0
    for count in counts.tolist():
        for stroke, line in enumerate(lines[at : at + count]):
            fine = _cut(line)
            pieces.append(np.stack([fine[:-1], fine[1:]], axis=1))
            strokes.append(np.full(len(fine) - 1, stroke))
            total += len(fine) - 1
        at += count
        ends.append(total)
    return Glyphs(
        characters=tuple(chr(number) for number in characters.tolist()),
        names=tuple(names.tolist()),
        scripts=torch.from_numpy(scripts.astype(np.int64)),
        pieces=torch.from_numpy(np.concatenate(pieces)),
        strokes=torch.from_numpy(np.concatenate(strokes)),
        ends=torch.tensor(ends),
    )


def _cut(line: Float[np.ndarray, "point 2"]) -> Float[np.ndarray, "finer 2"]:
    """The same line with points so near each other that it can be bent."""
    fine = [line[:1]]
    for a, b in pairwise(line):
        parts = max(1, int(np.ceil(np.linalg.norm(b - a) / PIECE)))
        fine.append(a + (b - a) * np.arange(1, parts + 1)[:, None] / parts)
    return np.concatenate(fine).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Hand:
    """How unlike two drawings of one character are; ``data/glyphs/SOURCE.md`` says where the
    defaults come from.

    turn, stretch, lean: of the whole, spread of angle, log of both sizes, and slant
    bend: units by which each of 5 × 5 points of the square is pulled; what is between follows
    slip: units by which each stroke is beside its place
    shift: spread of the whole's place, as a share of the side
    size: from and to, as a share of the side; pen: its width in pixels, from and to
    """

    turn: float = 0.135
    stretch: float = 0.12
    lean: float = 0.175
    bend: float = 5.7
    slip: float = 0.95
    shift: float = 0.05
    size: tuple[float, float] = (0.5, 0.85)
    pen: tuple[float, float] = (1.2, 2.0)


def draw(
    source: Glyphs,
    which: Int[Tensor, " drawing"],
    generator: torch.Generator,
    *,
    hand: Hand | None = None,
    at_once: int = 256,
) -> Float[Tensor, "drawing row column"]:
    """One drawing of each character, every time by another hand; ink from 0 to 1.

    A pixel's ink is 1 up to half a pen from the nearest piece, and falls to 0 within a pixel.
    """
    hand = hand or Hand()
    begins = torch.cat([torch.zeros(1, dtype=torch.long), source.ends[:-1]])
    counts = source.ends - begins
    out = torch.empty(len(which), SIDE, SIDE)
    order = counts[which].argsort()  # those of like many pieces go together
    for rows in order.split(at_once):
        chosen = which[rows]
        column = torch.arange(int(counts[chosen].max()))
        # Whoever has fewer pieces repeats the last one, which changes no drawing.
        inside = torch.minimum(column, counts[chosen, None] - 1) + begins[chosen, None]
        pieces = _bent(source.pieces[inside], source.strokes[inside], hand, generator)
        low, high = hand.pen
        out[rows] = ink(pieces, low + (high - low) * torch.rand(len(rows), generator=generator))
    return out


def write(
    source: Glyphs, which: int, generator: torch.Generator, *, hand: Hand | None = None
) -> list[Float[Tensor, "point 2"]]:
    """The strokes of one drawing of a character, each from point to point, as (down, right) in
    pixels."""
    end = int(source.ends[which])
    own = slice(int(source.ends[which - 1]) if which else 0, end)
    strokes = source.strokes[own]
    pieces = _bent(source.pieces[own][None], strokes[None], hand or Hand(), generator)[0]
    return [
        torch.cat([pieces[strokes == stroke][:1, 0], pieces[strokes == stroke][:, 1]])
        for stroke in strokes.unique().tolist()
    ]


def ink(
    pieces: Float[Tensor, "drawing piece 2 2"], pen: Float[Tensor, " drawing"]
) -> Float[Tensor, "drawing row column"]:
    """What a pen so many pixels wide leaves along these pieces, from 0 to 1."""
    return (pen[:, None, None] / 2 + 0.5 - _distance(pieces)).clamp(0, 1)


def _bent(
    pieces: Float[Tensor, "drawing piece 2 2"],
    strokes: Int[Tensor, "drawing piece"],
    hand: Hand,
    generator: torch.Generator,
) -> Float[Tensor, "drawing piece 2 2"]:
    """The pieces as a hand draws them, in pixels."""
    n = len(pieces)

    def normal(*shape: int) -> Tensor:
        return torch.randn(n, *shape, generator=generator)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(n, generator=generator)

    points = pieces + hand.bend * _between(normal(5, 5, 2), pieces)
    angle, lean = hand.turn * normal(), hand.lean * normal()
    cos, sin = angle.cos(), angle.sin()
    turn = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    slant = torch.eye(2).repeat(n, 1, 1)
    slant[:, 0, 1] = lean
    matrix = turn @ slant @ torch.diag_embed((hand.stretch * normal(2)).exp())
    points = (points - BOX / 2) @ matrix[:, None].mT
    slips = hand.slip * normal(int(strokes.max()) + 1, 2)
    points = points + slips.gather(1, strokes[..., None].expand(-1, -1, 2))[:, :, None]

    flat = points.flatten(1, 2)
    low, high = flat.amin(1), flat.amax(1)
    scale = SIDE * uniform(*hand.size) / (high - low).amax(1).clamp(min=1e-6)
    middle = SIDE / 2 + SIDE * hand.shift * normal(2)
    points = (points - ((low + high) / 2)[:, None, None]) * scale[:, None, None, None]
    return points + middle[:, None, None]


def _between(
    grid: Float[Tensor, "drawing 5 5 2"], points: Float[Tensor, "drawing piece 2 2"]
) -> Float[Tensor, "drawing piece 2 2"]:
    """What a grid over the square says at these points, bilinear between its own."""
    place = (points / BOX * 4).clamp(0, 4)
    corner = place.long().clamp(max=3)
    rest = place - corner
    drawing = torch.arange(len(grid))[:, None, None]
    found = torch.zeros_like(points)
    for down in (0, 1):
        for right in (0, 1):
            share = torch.where(torch.tensor([down, right]) > 0, rest, 1 - rest).prod(-1)
            there = grid[drawing, corner[..., 0] + down, corner[..., 1] + right]
            found = found + share[..., None] * there
    return found


def _distance(
    points: Float[Tensor, "drawing piece 2 2"],
) -> Float[Tensor, "drawing row column"]:
    """From the middle of each pixel to the nearest piece, in pixels."""
    a, along = points[:, :, 0], points[:, :, 1] - points[:, :, 0]
    length = along.square().sum(-1).clamp(min=1e-12)
    pixel = torch.arange(SIDE) + 0.5
    # Down and right by themselves, so that nothing of pixel × piece × 2 is ever held.
    down = pixel[None, None, :] - a[..., 0, None]
    right = pixel[None, None, :] - a[..., 1, None]
    part = (down * along[..., 0, None])[..., :, None] + (right * along[..., 1, None])[..., None, :]
    part = (part / length[..., None, None]).clamp(0, 1)
    off_down = down[..., :, None] - part * along[..., 0, None, None]
    off_right = right[..., None, :] - part * along[..., 1, None, None]
    return (off_down.square() + off_right.square()).amin(dim=1).sqrt()
