"""Twins: two small things, far apart, that must agree in hue and in shape.

A picture is 32 × 32 pixels: a light ground, one thing near the left edge, one near the right. Where
each stands and how big it is, is drawn for each by itself; hue and shape are drawn once for both.
Nothing between the two says so: who looks at one of them only cannot know how the other must be.
And whether a picture keeps the rule can be *read*, from any picture, by fitting what is drawn here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

SIDE = 32
HALF = SIDE // 2
SHAPES = ("disc", "square", "triangle", "ring")
FROM_EDGE, ASIDE = 4.5, 0.4
"""Where a thing's middle is, from its own edge of the picture, and how far it may be off."""
RADIUS = (2.9, 3.75)
ROWS = (11.0, 21.0)
GROUND = (0.92, 1.0)
SATURATION = VALUE = 0.85
REACH = 9
"""Columns from its edge that a thing may touch: the 14 between the two are empty."""

HUE_APART = 1 / 24
"""Hues that differ by more, of a circle of 1, are not one hue. Two that are drawn blindly are as
near in one of twelve cases."""
CLEAR_FIT = 0.85
"""Share of a half's variance that one thing on an even ground must explain, or nothing is read."""
CLEAR_COLOUR = 0.25
"""Saturation that a thing must have, or its hue means nothing."""
HUES = 12
"""Parts of the circle, where hues are counted."""


# ------------------------------------------------------------------------------------- drawing


@dataclass(frozen=True, kw_only=True)
class Things:
    """What stands in some halves. Rows, columns and radii are in pixels; columns count from the
    half's outer edge, so that a right half is described as its mirror image.

    shape: its number in ``SHAPES``; hue: from 0 to 1, once round the circle
    """

    shape: Int[Tensor, "*halves"]
    hue: Float[Tensor, "*halves"]
    row: Float[Tensor, "*halves"]
    column: Float[Tensor, "*halves"]
    radius: Float[Tensor, "*halves"]


@dataclass(frozen=True, kw_only=True)
class Twins:
    """Pictures, and what stands in their left and right halves."""

    pictures: UInt8[Tensor, "picture 3 row column"]
    things: Things


def outlines(
    x: Float[Tensor, "*half row column"],
    y: Float[Tensor, "*half row column"],
    r: Float[Tensor, "*half row column"],
) -> Float[Tensor, "shape *half row column"]:
    """How far each pixel is outside each of the shapes, in pixels; inside it is negative.

    x, y: from the middle of the shape, y downwards
    """
    away = torch.hypot(x, y)
    disc = away - r
    square = torch.maximum(x.abs(), y.abs()) - 0.9 * r
    # (0, −1.1 r) is on top; a slope of two to one comes down to (± r, 0.9 r).
    side = (2 * x.abs() - y - 1.1 * r) / 5**0.5
    triangle = torch.maximum(side, y - 0.9 * r)
    ring = (away - 0.75 * r).abs() - 0.25 * r
    return torch.stack([disc, square, triangle, ring])


def coverage(things: Things) -> Float[Tensor, "*halves row column"]:
    """How much of each pixel of a half a thing covers: all of it half a pixel inside its outline,
    none half a pixel outside."""
    middle = torch.arange(SIDE) + 0.5
    y = middle[:, None] - things.row[..., None, None]
    x = middle[:HALF] - things.column[..., None, None]
    outside = outlines(*torch.broadcast_tensors(x, y, things.radius[..., None, None]))
    wanted = things.shape[None, ..., None, None].expand(1, *outside.shape[1:])
    return (0.5 - outside.gather(0, wanted).squeeze(0)).clamp(0, 1)


def rgb(hue: Float[Tensor, "*things"]) -> Float[Tensor, "*things channel"]:
    """The colour of a hue, from 0 to 1: saturation and value are the same for all."""
    k = (torch.tensor([5.0, 3.0, 1.0]) + 6 * hue[..., None]) % 6
    return VALUE * (1 - SATURATION * torch.minimum(k, 4 - k).clamp(0, 1))


def paint(things: Things, ground: Float[Tensor, "picture 3"]) -> UInt8[Tensor, "picture 3 32 32"]:
    """The pictures: things are given half by half, left and right."""
    ink = coverage(things)[:, :, None]
    colours = rgb(things.hue)[..., None, None]
    halves = torch.lerp(ground[:, None, :, None, None], colours, ink)
    return (255 * joined(halves)).round().to(torch.uint8)


def split(pictures: Tensor) -> Tensor:
    """Left halves, and right halves turned round: picture, half, channel, row, column."""
    return torch.stack([pictures[..., :HALF], pictures.flip(-1)[..., :HALF]], dim=1)


def joined(halves: Tensor) -> Tensor:
    """The other way."""
    left, right = halves.unbind(1)
    return torch.cat([left, right.flip(-1)], dim=-1)


@dataclass(frozen=True, kw_only=True)
class TwinData:
    """Twins, as many as one likes.

    held_out: how many pictures are kept for validation, and as many again for measuring; nothing
        else is held out, as nobody asks a generator for what it has never seen
    seed: of the held-out ones
    """

    held_out: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.held_out < 2:
            raise ValueError(f"held_out={self.held_out}: at least 2 pictures have a spread")

    def things(self, pictures: int, generator: torch.Generator, *, agree: bool = True) -> Things:
        """What stands in so many pictures."""

        def drawn(low: float, high: float) -> Float[Tensor, "picture 2"]:
            return low + (high - low) * torch.rand((pictures, 2), generator=generator)

        shape = torch.randint(len(SHAPES), (pictures, 2), generator=generator)
        hue = drawn(0.0, 1.0)
        if agree:
            shape, hue = (each[:, :1].expand(pictures, 2) for each in (shape, hue))
        return Things(
            shape=shape,
            hue=hue,
            row=drawn(*ROWS),
            column=drawn(FROM_EDGE - ASIDE, FROM_EDGE + ASIDE),
            radius=drawn(*RADIUS),
        )

    def draw(self, pictures: int, generator: torch.Generator, *, agree: bool = True) -> Twins:
        """So many pictures, from this generator alone; without ``agree``, each half is drawn by
        itself."""
        things = self.things(pictures, generator, agree=agree)
        low, high = GROUND
        ground = low + (high - low) * torch.rand((pictures, 3), generator=generator)
        return Twins(pictures=paint(things, ground), things=things)

    def held_out_twins(self, part: int) -> Twins:
        """Part 0 is for validation, part 1 for measuring."""
        if part not in (0, 1):
            raise ValueError(f"part {part} is neither 0 (validation) nor 1 (measuring)")
        # Far from the generators of training, which are numbered by seed and step.
        generator = torch.Generator().manual_seed(2**41 + 2 * self.seed + part)
        return self.draw(self.held_out, generator)


# ------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What each half of some pictures shows, left and right.

    things: the one that fits best
    fit: the share of the half's variance that it explains
    saturation: of its colour
    """

    things: Things
    fit: Float[Tensor, "picture 2"]
    saturation: Float[Tensor, "picture 2"]

    @property
    def clear(self) -> Bool[Tensor, "picture 2"]:
        """Whether the half shows one coloured thing on an even ground, and no blot."""
        return (self.fit >= CLEAR_FIT) & (self.saturation >= CLEAR_COLOUR)

    @property
    def hue_gap(self) -> Float[Tensor, " picture"]:
        """How far the hues are apart, from 0 to 1/2."""
        return gap(*self.things.hue.unbind(1))

    @property
    def same_hue(self) -> Bool[Tensor, " picture"]:
        return self.hue_gap <= HUE_APART

    @property
    def same_shape(self) -> Bool[Tensor, " picture"]:
        left, right = self.things.shape.unbind(1)
        return left == right

    @property
    def twins(self) -> Bool[Tensor, " picture"]:
        """Both halves are clear, and agree in hue and in shape."""
        return self.clear.all(dim=1) & self.same_hue & self.same_shape


def gap(one: Float[Tensor, "*things"], other: Float[Tensor, "*things"]) -> Float[Tensor, "*things"]:
    """The shorter way round the circle."""
    apart = (one - other).abs() % 1
    return torch.minimum(apart, 1 - apart)


@cache
def templates() -> tuple[Things, Float[Tensor, "template pixel"], Float[Tensor, " template"]]:
    """Every shape at every place, half a pixel apart, in four sizes, as what is fitted: coverage
    less its mean, of length 1. The length that it had comes last."""

    def steps(low: float, high: float, step: float) -> Tensor:
        return torch.arange(low, high + step / 2, step)

    grid = torch.cartesian_prod(
        torch.arange(float(len(SHAPES))),
        steps(ROWS[0] - 1, ROWS[1] + 1, 0.5),
        steps(FROM_EDGE - 1, FROM_EDGE + 1, 0.5),
        torch.linspace(*RADIUS, 4),
    )
    shape, row, column, radius = grid.unbind(1)
    things = Things(
        shape=shape.long(), hue=torch.zeros(len(grid)), row=row, column=column, radius=radius
    )
    ink = coverage(things).flatten(1)
    centred = ink - ink.mean(dim=1, keepdim=True)
    length = centred.norm(dim=1)
    return things, centred / length[:, None], length


def read(
    pictures: Float[Tensor, "picture 3 32 32"] | UInt8[Tensor, "picture 3 32 32"],
    *,
    batch_size: int = 250,
) -> Reading:
    """What each half of any pictures shows: the thing and the two colours that fit it best.

    A half is taken for I = a (1 − m) + c m in each channel, with a ground a, a colour c and the
    coverage m of a template. The best a and c of each template are those of least squares, so
    what is left unexplained is known without trying colours.

    pictures: bytes, or numbers from 0 to 1
    """
    scale = 1.0 if pictures.is_floating_point() else 255.0
    parts = [_read(split(some.float() / scale)) for some in pictures.split(batch_size)]
    together: Callable[[str], Tensor] = lambda name: torch.cat(  # noqa: E731  one line, used below
        [getattr(part.things, name) for part in parts]
    )
    return Reading(
        things=Things(**{name: together(name) for name in Things.__dataclass_fields__}),
        fit=torch.cat([part.fit for part in parts]),
        saturation=torch.cat([part.saturation for part in parts]),
    )


def _read(halves: Float[Tensor, "picture half 3 row column"]) -> Reading:
    things, fitted, length = templates()
    pixels = halves.flatten(-2)
    mean = pixels.mean(dim=-1)
    centred = pixels - mean[..., None]
    on_template = centred @ fitted.mT  # picture, half, channel, template
    explained, best = on_template.square().sum(dim=2).max(dim=-1)
    varied = centred.square().sum(dim=(2, 3))
    # I − Ī = s m̂ with m̂ = (m − m̄) / |m − m̄|: at m = 1 the colour is Ī + s (1 − m̄) / |m − m̄|.
    slope = on_template.gather(3, best[:, :, None, None].expand(-1, -1, 3, 1)).squeeze(3)
    slope = slope / length[best][..., None]
    ink = coverage(
        Things(
            shape=things.shape[best],
            hue=things.hue[best],
            row=things.row[best],
            column=things.column[best],
            radius=things.radius[best],
        )
    ).mean(dim=(-2, -1))
    hue, saturation = hue_of(mean + slope * (1 - ink[..., None]))
    return Reading(
        things=Things(
            shape=things.shape[best],
            hue=hue,
            row=things.row[best],
            column=things.column[best],
            radius=things.radius[best],
        ),
        fit=explained / varied.clamp(min=1e-6),
        saturation=saturation,
    )


def hue_of(
    colour: Float[Tensor, "*things channel"],
) -> tuple[Float[Tensor, "*things"], Float[Tensor, "*things"]]:
    """Hue and saturation of a colour from 0 to 1; the hue of a grey is 0."""
    r, g, b = colour.clamp(0, 1).unbind(-1)
    value, least = torch.maximum(torch.maximum(r, g), b), torch.minimum(torch.minimum(r, g), b)
    chroma = value - least
    safe = chroma.clamp(min=1e-9)
    sixth = torch.where(
        value == r,
        (g - b) / safe % 6,
        torch.where(value == g, (b - r) / safe + 2, (r - g) / safe + 4),
    )
    return sixth / 6 * (chroma > 0), chroma / value.clamp(min=1e-9)
