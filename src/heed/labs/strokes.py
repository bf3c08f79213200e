"""Drawings as texts: the strokes of a pen, which are small enough for a page and can be brought to
the size that a network was taught with. ``frontend/strokes.js`` is the twin in a page.

A drawing is ``""``, an empty sheet; ``"@3.1"``, drawing 1 of the stored character 3; or strokes,
with a space between two of them. Of each point, right and down are two hexadecimal digits
each, in eighths of a pixel.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heed.data.glyphs import PARTS, SIDE, Hand, glyphs, ink, write

PEN = sum(Hand.pen) / 2
"""In pixels: the middle of what training has."""
STEPS = 8
"""Of a pixel."""
LONGEST = 4_000
"""Characters of a text, at most."""
OFF = 0.15
"""How far the middle of a drawing may be from the middle of its sheet, as a share of the side:
three times what training has as a spread."""

SCRIPTS, EACH, DRAWINGS = 8, 3, 6
"""Stored are drawings of so many characters of so many scripts, held out of training."""
MOST_PIECES = 40

Stroke = list[tuple[float, float]]
"""Points as (right, down), in pixels."""

_STROKES = re.compile(r"[0-9a-f]{4}(?: ?[0-9a-f]{4})*")
_STORED = re.compile(r"@(\d{1,3})\.(\d{1,2})")


def told(strokes: Sequence[Sequence[Sequence[float]]]) -> str:
    """The text of strokes; what lies beyond the sheet is on its edge."""

    def digits(x: float) -> str:
        return f"{min(max(int(STEPS * x + 0.5), 0), STEPS * SIDE):02x}"

    return " ".join("".join(digits(x) + digits(y) for x, y in stroke) for stroke in strokes)


def strokes_of(text: str) -> list[Stroke]:
    """The strokes of a drawing, stored or not."""
    found = _STORED.fullmatch(text)
    if found:
        character, drawing = map(int, found.groups())
        text = stored()[character]["drawings"][drawing]
    points = [bytes.fromhex(part) for part in text.split()]
    return [
        [(part[i] / STEPS, part[i + 1] / STEPS) for i in range(0, len(part), 2)] for part in points
    ]


def checked(text: Any) -> str:
    """The text, if it is one of a drawing; ``ValueError`` says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError(f"the drawing {text!r} is no text")
    if len(text) > LONGEST:
        raise ValueError(f"a drawing of {len(text)} characters; {LONGEST} are the most")
    found = _STORED.fullmatch(text)
    if found:
        character, drawing = map(int, found.groups())
        if character >= SCRIPTS * EACH or drawing >= DRAWINGS:
            raise ValueError(
                f"the drawing {text!r} is not among those of {SCRIPTS * EACH} characters, "
                f"{DRAWINGS} of each"
            )
    elif text and not _STROKES.fullmatch(text):
        raise ValueError(f"the drawing {text[:40]!r} is neither strokes nor a stored one")
    return text


def character_of(text: str) -> int | None:
    """Which stored character it is a drawing of, if of any."""
    found = _STORED.fullmatch(text)
    return int(found[1]) if found else None


def fitted(strokes: Sequence[Stroke]) -> list[Stroke]:
    """The same drawing as large as drawings of training are, and in the middle of its sheet as far
    as they are. A mere dot stays one."""
    points = [point for stroke in strokes for point in stroke]
    if not points:
        return []
    ends = [(min(each), max(each)) for each in zip(*points, strict=True)]
    size = max(high - low for low, high in ends)
    least, most = (SIDE * share for share in Hand.size)
    scale = min(max(size, least), most) / size if size >= 1 else 1.0
    half, off = SIDE / 2, SIDE * OFF
    middle = [(low + high) / 2 for low, high in ends]
    to = [min(max(each, half - off), half + off) for each in middle]

    def moved(point: tuple[float, float]) -> tuple[float, float]:
        x, y = ((p - m) * scale + t for p, m, t in zip(point, middle, to, strict=True))
        return x, y

    return [[moved(point) for point in stroke] for stroke in strokes]


def picture(text: str) -> Float[Tensor, "row column"]:
    """A drawing as a network gets it: fitted, drawn with ``PEN``, ink from 0 to 1."""
    pieces = [
        (stroke[max(i - 1, 0)], stroke[i])
        for stroke in fitted(strokes_of(text))
        for i in range(1 if len(stroke) > 1 else 0, len(stroke))
    ]
    if not pieces:
        return torch.zeros(SIDE, SIDE)
    downwards = torch.tensor(pieces).flip(-1)
    return ink(downwards[None], torch.tensor([PEN]))[0]


@cache
def stored() -> list[dict[str, Any]]:
    """Characters that training never had: of each its name and drawings, always the same."""
    source, generator = glyphs(), torch.Generator().manual_seed(11)
    numbers = source.numbers("test")
    simple = source.ends.diff(prepend=torch.zeros(1, dtype=torch.long)) <= MOST_PIECES
    scripts = [i for i in range(len(source.names)) if i % 10 in PARTS["test"]]
    found: list[dict[str, Any]] = []
    for at in torch.randperm(len(scripts), generator=generator).tolist():
        own = numbers[(source.scripts[numbers] == scripts[at]) & simple[numbers]]
        if len(own) < EACH or len(found) == SCRIPTS * EACH:
            continue
        for number in own[torch.randperm(len(own), generator=generator)[:EACH]].tolist():
            drawings = [
                told([stroke.flip(-1).tolist() for stroke in write(source, number, generator)])
                for _ in range(DRAWINGS)
            ]
            name = unicodedata.name(
                source.characters[number], source.names[int(source.scripts[number])]
            )
            found.append({"name": name.capitalize(), "drawings": drawings})
    return found
