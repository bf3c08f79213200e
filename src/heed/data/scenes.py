"""Pictures of one to three animals, drawn as fast as a model can look at them, with captions.

A picture is 64 × 64 pixels: sky, ground, and silhouettes in plain colours. Where animals stand
decides who is named first, so that a picture has one right caption:

- of two, the bigger one; of two of one size, the left one, or the upper one;
- of three, which stand in three corners, the one in the corner between the two others.
"""

from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from heed.data.captions import (
    ABOVE,
    ANIMALS,
    BELOW,
    COLOURS,
    GROUNDS,
    LEFT,
    MOST,
    RIGHT,
    Captions,
    captions,
)
from heed.data.silhouettes import SIDE, Part, Silhouettes, silhouettes, stretch
from heed.data.text import Language

CANVAS = 64
SMALL, BIG = (19, 22), (28, 31)
"""Least and most pixels of an animal's longer side. Nothing lies between the two."""
ASIDE = 4
"""Of two animals side by side, how far each may be off the common line."""
HORIZON = (24, 41)

PAINT = {
    "red": (214, 40, 40),
    "blue": (25, 70, 215),
    "green": (20, 120, 45),
    "white": (250, 250, 250),
    "black": (20, 20, 20),
    "yellow": (245, 205, 20),
    "pink": (240, 120, 190),
    "grey": (128, 128, 128),
}
SKY_AND_GROUND = {
    "on grass": ((120, 185, 235), (120, 180, 95)),
    "on sand": ((250, 225, 185), (225, 195, 135)),
    "in snow": ((200, 215, 235), (236, 241, 248)),
    "at night": ((45, 52, 95), (58, 66, 84)),
}
CONTRAST = 32.0
"""CIELAB distance that a colour must have from sky and ground; 2 is just noticeable."""
TINT, SHADE, NOISE = 8.0, 5.0, 6.0
"""Spread of an animal's colour, of the light, and of each pixel, in 255ths."""

UNSEEN = tuple((3 * animal + 1) % len(COLOURS) for animal in range(len(ANIMALS)))
"""For each animal the colour that it never has in training: each colour once."""


def lab(rgb: Float[Tensor, "*batch channel"]) -> Float[Tensor, "*batch channel"]:
    """sRGB in 255ths as CIELAB (CIE 1976, white D65), where distances are as the eye sees them."""
    c = rgb / 255
    linear = torch.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = torch.tensor(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x, y, z = (linear @ to_xyz.T / torch.tensor([0.95047, 1.0, 1.08883])).clamp(min=1e-9).unbind(-1)
    fx, fy, fz = (
        torch.where(t > 216 / 24389, t ** (1 / 3), (24389 / 27 * t + 16) / 116) for t in (x, y, z)
    )
    return torch.stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)], dim=-1)


def paints() -> Float[Tensor, "colour channel"]:
    """The colours in the order of ``COLOURS``."""
    return torch.tensor([PAINT[colour.english] for colour in COLOURS], dtype=torch.float32)


def grounds() -> Float[Tensor, "ground place channel"]:
    """Sky and ground in the order of ``GROUNDS``."""
    return torch.tensor([SKY_AND_GROUND[english] for english, _ in GROUNDS], dtype=torch.float32)


def stands_out() -> Bool[Tensor, "ground colour"]:
    """Which colours are far enough from sky and from ground."""
    away = lab(grounds())[:, :, None] - lab(paints())
    return (away.norm(dim=-1) >= CONTRAST).all(dim=1)


# --------------------------------------------------------------------------------- what is where


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What stands where. Animals in the order in which they are named; those beyond ``count`` are
    there in the tensors, but nowhere else.

    silhouette: its number; side: pixels of its square, and (top, left) the square's corner
    relation: where the first animal is, seen from this one
    """

    count: Int[Tensor, " scene"]
    silhouette: Int[Tensor, "scene slot"]
    animal: Int[Tensor, "scene slot"]
    colour: Int[Tensor, "scene slot"]
    big: Bool[Tensor, "scene slot"]
    relation: Int[Tensor, "scene slot"]
    side: Int[Tensor, "scene slot"]
    top: Int[Tensor, "scene slot"]
    left: Int[Tensor, "scene slot"]
    mirrored: Bool[Tensor, "scene slot"]
    ground: Int[Tensor, " scene"]
    horizon: Int[Tensor, " scene"]


@dataclass(frozen=True, kw_only=True)
class Scenes:
    """Pictures with their captions, and where each animal is.

    boxes: top, left, bottom, right in pixels, the last two not in it; zeros for who is not there
    """

    pictures: UInt8[Tensor, "scene 3 row column"]
    captions: Captions
    boxes: Int[Tensor, "scene slot 4"]
    plan: Plan


def between(
    low: Int[Tensor, "*batch"], high: Int[Tensor, "*batch"], generator: torch.Generator
) -> Int[Tensor, "*batch"]:
    """A whole number from low to high, both possible."""
    share = torch.rand(low.shape, generator=generator)
    return low + (share * (high - low + 1)).long().clamp(max=(high - low).clamp(min=0))


def places(
    count: Int[Tensor, " scene"], big: Bool[Tensor, "scene slot"], generator: torch.Generator
) -> tuple[
    Bool[Tensor, "scene slot"],
    Int[Tensor, "scene slot"],
    Int[Tensor, "scene slot"],
    Int[Tensor, "scene slot"],
    Int[Tensor, "scene slot"],
]:
    """Sizes in the order of naming, then relation, side, top and left of each animal."""
    n, half = len(count), CANVAS // 2
    two, three = (count == 2)[:, None], (count == 3)[:, None]
    beside = torch.rand((n, 1), generator=generator) < 0.5
    corner = torch.randint(4, (n, 1), generator=generator)
    # Of two, the first one drawn is left of the other, or above it; the bigger one is named first.
    swapped = two & (big[:, 1:2] & ~big[:, 0:1])
    big = torch.where(swapped, big[:, [1, 0, 2]], big)
    ends = torch.tensor([SMALL, BIG])[big.long()]
    side = between(ends[..., 0], ends[..., 1], generator)

    # Which half each stands in, down and across: 0, 1, or −1 for anywhere.
    slot = torch.arange(MOST)
    order = slot.clamp(max=1) ^ swapped.long()
    row, column = corner // 2, corner % 2
    down = torch.where(three, torch.where(slot == 2, 1 - row, row), torch.full_like(order, -1))
    across = torch.where(three, torch.where(slot == 1, 1 - column, column), -1)
    down = torch.where(two & ~beside, order, down)
    across = torch.where(two & beside, order, across)

    edge = BIG[1] // 2 + ASIDE
    line = torch.randint(edge, CANVAS - edge, (n, 1), generator=generator)

    def start(where: Tensor, common: Tensor) -> Tensor:
        low = torch.where(where == 1, half, 0)
        high = torch.where(where == 0, half, CANVAS) - side
        near = line - side // 2
        low = torch.where(common, near - ASIDE, low)
        high = torch.where(common, near + ASIDE, high)
        return between(low, high, generator).clamp(min=0).minimum(CANVAS - side)

    top = start(down, two & beside)
    left = start(across, two & ~beside)
    # Seen from the second one, the first is on the left if it stands in half 0.
    sideways = torch.where(across[:, 0:1] == 0, LEFT, RIGHT)
    upright = torch.where(down[:, 0:1] == 0, ABOVE, BELOW)
    relation = torch.where((slot == 2) | (two & ~beside), upright, sideways)
    return big, relation, side, top, left


@dataclass(frozen=True, kw_only=True)
class SceneData:
    """Captioned scenes, as many as one likes.

    shares: how many of the scenes have one, two and three animals
    held_out: how many scenes validation and each test have

    Training draws the silhouettes of its part, and never an animal in its ``UNSEEN`` colour. The
    test ``"silhouettes"`` has the colours of training and silhouettes that it never saw; in
    ``"combinations"``, one animal of each scene has its unseen colour, too.
    """

    language: Language = "en"
    shares: tuple[float, float, float] = (0.3, 0.4, 0.3)
    held_out: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.shares) != MOST or min(self.shares) < 0 or sum(self.shares) <= 0:
            raise ValueError(f"shares={self.shares} needs {MOST} weights, none of them negative")
        if self.language not in ("en", "fr"):
            raise ValueError(f"language={self.language!r} is none of en, fr")

    def plan(
        self, scenes: int, generator: torch.Generator, part: Part = "train", *, unseen: bool = False
    ) -> Plan:
        """What is to be drawn; ``unseen``: with one animal in its unseen colour in each."""
        count = 1 + torch.multinomial(
            torch.tensor(self.shares), scenes, replacement=True, generator=generator
        )
        ground = torch.randint(len(GROUNDS), (scenes,), generator=generator)
        big = torch.rand((scenes, MOST), generator=generator) < 0.5
        big, relation, side, top, left = places(count, big, generator)

        # Three different colours of those that can be seen here: the first of a shuffled deck.
        deck = torch.rand((scenes, len(COLOURS)), generator=generator)
        colour = deck.masked_fill(~stands_out()[ground], 2.0).argsort(dim=1)[:, :MOST]
        never = torch.tensor(UNSEEN)
        wanted = torch.rand((scenes, MOST, len(ANIMALS)), generator=generator)
        animal = wanted.masked_fill(colour[..., None] == never, 2.0).argmin(dim=-1)
        if unseen:
            which = between(torch.zeros_like(count), count - 1, generator)
            chosen = torch.arange(MOST) == which[:, None]
            animal = torch.where(chosen, never.argsort()[colour], animal)

        table, sizes = drawers(part)
        share = torch.rand((scenes, MOST), generator=generator)
        return Plan(
            count=count,
            silhouette=table[animal, (share * sizes[animal]).long()],
            animal=animal,
            colour=colour,
            big=big,
            relation=relation,
            side=side,
            top=top,
            left=left,
            mirrored=torch.rand((scenes, MOST), generator=generator) < 0.5,
            ground=ground,
            horizon=torch.randint(*HORIZON, (scenes,), generator=generator),
        )

    def draw(
        self, scenes: int, generator: torch.Generator, part: Part = "train", *, unseen: bool = False
    ) -> Scenes:
        """As many scenes, from this generator alone."""
        return self.drawn(self.plan(scenes, generator, part, unseen=unseen), generator)

    def drawn(self, plan: Plan, generator: torch.Generator | None = None) -> Scenes:
        """The scenes of a plan; without a generator every colour is even, and there is no noise."""
        return Scenes(
            pictures=paint(plan, silhouettes(), generator),
            captions=self.captions(plan),
            boxes=boxes(plan, silhouettes()),
            plan=plan,
        )

    def captions(self, plan: Plan) -> Captions:
        """What is right to say of each."""
        return captions(
            self.language,
            count=plan.count,
            size=plan.big.long(),
            colour=plan.colour,
            animal=plan.animal,
            relation=plan.relation,
            ground=plan.ground,
        )

    def held_out_scenes(self, name: str) -> Scenes:
        """``"valid"``, or one of the tests: ``"silhouettes"`` or ``"combinations"``."""
        parts: dict[str, tuple[int, Part]] = {
            "valid": (0, "valid"),
            "silhouettes": (1, "test"),
            "combinations": (2, "test"),
        }
        number, part = parts[name]
        # Far from the generators of training, which are numbered by seed and step.
        generator = torch.Generator().manual_seed(2**40 + 3 * self.seed + number)
        return self.draw(self.held_out, generator, part, unseen=name == "combinations")


@cache
def drawers(part: Part) -> tuple[Int[Tensor, "animal most"], Int[Tensor, " animal"]]:
    """The silhouettes of each animal, and how many of its row count."""
    stock = silhouettes()
    numbers = [stock.numbers(part)[stock.names.index(animal.english)] for animal in ANIMALS]
    return torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True), torch.tensor(
        [len(each) for each in numbers]
    )


# --------------------------------------------------------------------------------------- drawing


def paint(
    plan: Plan, stock: Silhouettes, generator: torch.Generator | None = None
) -> UInt8[Tensor, "scene 3 row column"]:
    """The pictures: sky and ground, then one animal after the other over them."""
    n = len(plan.count)

    def spread(shape: tuple[int, ...], size: float) -> Tensor:
        if generator is None:
            return torch.zeros(shape)
        return (torch.randn(shape, generator=generator) * size).clamp(-2 * size, 2 * size)

    sky = (torch.arange(CANVAS) < plan.horizon[:, None])[:, None, :, None]
    behind = (grounds()[plan.ground] + spread((n, 2, 1), SHADE))[..., None, None]
    canvas = torch.where(sky, behind[:, 0], behind[:, 1]).expand(n, 3, CANVAS, CANVAS).contiguous()
    colours = paints()[plan.colour] + spread((n, MOST, 3), TINT)
    for slot in range(MOST):
        rows = (plan.count > slot).nonzero().squeeze(1)
        ink = coverage(plan, stock, rows, slot)[:, None]
        under = canvas[rows]
        canvas[rows] = torch.lerp(under, colours[rows, slot, :, None, None], ink)
    canvas += spread((n, 1, CANVAS, CANVAS), NOISE)
    return canvas.round_().clamp_(0, 255).to(torch.uint8)


def coverage(
    plan: Plan, stock: Silhouettes, rows: Int[Tensor, " some"], slot: int
) -> Float[Tensor, "some row column"]:
    """How much of each pixel an animal covers, in these scenes."""
    side = plan.side[rows, slot]
    down = stretch(side, plan.top[rows, slot], canvas=CANVAS)
    across = stretch(side, plan.left[rows, slot], canvas=CANVAS)
    across = torch.where(plan.mirrored[rows, slot, None, None], across.flip(-1), across)
    return (down @ stock.pixels[plan.silhouette[rows, slot]].float() @ across.mT).clamp_(0, 1)


def boxes(plan: Plan, stock: Silhouettes) -> Int[Tensor, "scene slot 4"]:
    """The smallest boxes that hold every pixel an animal touches."""
    top, left, bottom, right = extents(stock)[plan.silhouette].unbind(-1)
    left, right = (
        torch.where(plan.mirrored, SIDE - right, left),
        torch.where(plan.mirrored, SIDE - left, right),
    )
    found = torch.stack(
        [
            plan.top + top * plan.side // SIDE,
            plan.left + left * plan.side // SIDE,
            plan.top - (-bottom * plan.side // SIDE),
            plan.left - (-right * plan.side // SIDE),
        ],
        dim=-1,
    )
    return found * (torch.arange(MOST) < plan.count[:, None])[..., None]


@cache
def _extents() -> Tensor:
    return silhouettes().extents()


def extents(stock: Silhouettes) -> Int[Tensor, "silhouette 4"]:
    """``Silhouettes.extents``, of the shipped ones only once."""
    return _extents() if stock is silhouettes() else stock.extents()
