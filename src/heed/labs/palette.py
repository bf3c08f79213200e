"""Colours of weights, the same numbers as in ``frontend/palette.js``; a test compares both."""

import math
from dataclasses import dataclass
from functools import cache

import matplotlib

_STOPS = ("#1f4e8c", "#86a5cf", "#f3f1ec", "#dfae62", "#96520b")


@dataclass(frozen=True)
class Shade:
    """A background and the ink, black or white, that stands out more on it: at least 4.5 : 1."""

    background: str
    ink: str


def colour(weight: float) -> Shade:
    """cividis from 0 to 1: people who see red and green alike read it as well as others do."""
    return _cividis()[_half_up(_within(weight, 0.0, 1.0) * 255)]


def diverging(x: float) -> Shade:
    """−1 to 1: blue through a warm white to ochre."""
    return _between()[_half_up((_within(x, -1.0, 1.0) + 1) * 100)]


@cache
def _cividis() -> list[Shade]:
    table = matplotlib.colormaps["cividis"](range(256), bytes=True)
    return [_shade(tuple(int(part) for part in row[:3])) for row in table]


@cache
def _between() -> list[Shade]:
    last = len(_STOPS) - 2
    shades = []
    for i in range(201):
        place = i / 200 * (len(_STOPS) - 1)
        below = min(math.floor(place), last)
        a, b = (_channels(_STOPS[k]) for k in (below, below + 1))
        part = place - below
        shades.append(
            _shade(tuple(_half_up(x + (y - x) * part) for x, y in zip(a, b, strict=True)))
        )
    return shades


def _within(x: float, lowest: float, highest: float) -> float:
    return min(x, highest) if x > lowest else lowest  # so a NaN is the lowest


def _half_up(x: float) -> int:
    return math.floor(x + 0.5)  # as Math.round does; Python's round goes to even


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))


def _shade(channels: tuple[int, ...]) -> Shade:
    """Ink by relative luminance as WCAG 2 defines it; black and white tie at 0.179."""
    parts = [c / 255 for c in channels]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    light = 0.2126 * r + 0.7152 * g + 0.0722 * b
    background = "#" + "".join(f"{c:02x}" for c in channels)
    return Shade(background, "#000000" if light > 0.179 else "#ffffff")
