"""The first picture of the book: a fox in a jumper, drawn by these lines and nobody's photo.

It is there to be looked at, and to be guessed from. Some of it tells about other parts: the two
sides of the fox, the stripes, the tiles, the wallpaper. Some of it tells nothing about anything
else: the moon, the nose.

Everything is measured in *patches*, squares of ``PATCH`` pixels: the picture is 16 of them wide and
12 high. The fox's axis lies between two columns, so each patch of its left has a partner.
"""

from functools import cache

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

PATCH = 20
WIDE, HIGH = 16, 12
"""Patches."""
AXIS = WIDE / 2

INK = {
    "wall": (222, 231, 222),
    "stripe": (208, 221, 210),
    "dot": (226, 150, 112),
    "tile": (246, 236, 218),
    "dark tile": (186, 104, 82),
    "board": (250, 246, 238),
    "sofa": (44, 84, 104),
    "sofa light": (58, 103, 124),
    "sofa dark": (34, 67, 85),
    "blanket": (240, 201, 110),
    "blanket dark": (214, 142, 72),
    "fox": (224, 118, 52),
    "fox dark": (178, 82, 36),
    "white": (255, 250, 242),
    "inner ear": (92, 46, 38),
    "black": (40, 30, 34),
    "jumper": (176, 42, 58),
    "jumper light": (247, 232, 214),
    "night": (38, 50, 98),
    "night low": (84, 88, 148),
    "moon": (253, 240, 196),
    "frame": (120, 76, 52),
    "apple": (122, 176, 60),
    "apple dark": (92, 142, 44),
    "red apple": (206, 52, 46),
    "red apple dark": (160, 34, 36),
    "leaf": (62, 116, 56),
    "shade": (60, 40, 40),
}
Place = tuple[float | int, float | int]
Cover = Float[Tensor, "row column"]


class Canvas:
    """Shapes on top of each other. A shape is its *distance*: how far a place is outside of it, in
    patches. Its edge is one pixel wide."""

    def __init__(self, patch: int) -> None:
        self.patch = patch
        rows, columns = HIGH * patch, WIDE * patch
        y, x = ((torch.arange(n, dtype=torch.float64) + 0.5) / patch for n in (rows, columns))
        self.y, self.x = torch.meshgrid(y, x, indexing="ij")
        self.picture = torch.zeros(3, rows, columns, dtype=torch.float64)

    def cover(self, distance: Float[Tensor, "row column"]) -> Cover:
        """How much of each pixel lies inside."""
        return (0.5 - distance * self.patch).clamp(0, 1)

    def paint(self, name: str, cover: Cover, *, strength: float = 1.0) -> None:
        """Lay a colour over what is there."""
        ink = torch.tensor(INK[name], dtype=torch.float64)[:, None, None]
        self.picture += (ink - self.picture) * (cover * strength)

    # ------------------------------------------------------------------ shapes

    def disc(self, centre: Place, radius: float | int) -> Cover:
        return self.cover(self._from(centre) - radius)

    def oval(self, centre: Place, wide: float | int, high: float | int) -> Cover:
        """An ellipse by its half axes; its distance is right near the edge."""
        x, y = (self.x - centre[0]) / wide, (self.y - centre[1]) / high
        level = (x * x + y * y).sqrt()
        slope = ((x / wide) ** 2 + (y / high) ** 2).sqrt().clamp(min=1e-9)
        return self.cover((level - 1) * level / slope)

    def box(
        self,
        left: float | int,
        top: float | int,
        right: float | int,
        bottom: float | int,
        round: float | int = 0.0,
    ) -> Cover:
        """A rectangle, its corners rounded."""
        x = (self.x - (left + right) / 2).abs() - ((right - left) / 2 - round)
        y = (self.y - (top + bottom) / 2).abs() - ((bottom - top) / 2 - round)
        outside = (x.clamp(min=0) ** 2 + y.clamp(min=0) ** 2).sqrt()
        return self.cover(outside + torch.maximum(x, y).clamp(max=0) - round)

    def polygon(self, *corners: Place, round: float | int = 0.0) -> Cover:
        """A convex polygon, its corners given clockwise (as one sees it), grown by ``round``."""
        inside = torch.full_like(self.x, -1e9)
        near = torch.full_like(self.x, 1e9)
        for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
            dx, dy = bx - ax, by - ay
            long = (dx * dx + dy * dy) ** 0.5
            inside = torch.maximum(inside, ((self.x - ax) * dy - (self.y - ay) * dx) / long)
            t = (((self.x - ax) * dx + (self.y - ay) * dy) / (long * long)).clamp(0, 1)
            px, py = self.x - ax - t * dx, self.y - ay - t * dy
            near = torch.minimum(near, (px * px + py * py).sqrt())
        return self.cover(torch.where(inside > 0, near, inside) - round)

    def bands(self, along: Float[Tensor, "row column"], period: float | int, share: float) -> Cover:
        """Stripes: the first ``share`` of each period of ``along``, in patches."""
        t = along / period
        t = (t - t.floor()) * period
        half = share * period / 2
        distance = (t - half).abs() - half
        wrap = (t - period - half).abs() - half
        return self.cover(torch.minimum(distance, wrap))

    def _from(self, centre: Place) -> Float[Tensor, "row column"]:
        x, y = self.x - centre[0], self.y - centre[1]
        return (x * x + y * y).sqrt()


@cache
def parlour(patch: int = PATCH) -> UInt8[Tensor, "3 row column"]:
    """The picture, with ``patch`` pixels a patch."""
    canvas = Canvas(patch)
    _room(canvas)
    _window(canvas)
    _shelf(canvas)
    _sofa(canvas)
    _fox(canvas)
    _apple(canvas, (12.5, 10.75), "apple")
    _apple(canvas, (3.5, 10.75), "red apple")
    return canvas.picture.round().clamp(0, 255).to(torch.uint8)


def _mirrored(cover: Cover) -> Cover:
    """The same on the other side of the axis."""
    return torch.maximum(cover, cover.flip(1))


def _room(canvas: Canvas) -> None:
    x, y = canvas.x, canvas.y
    canvas.paint("wall", torch.ones_like(x))
    canvas.paint("stripe", canvas.bands(x, 2, 0.5))
    dots = ((x - x.floor() - 0.5) ** 2 + (y - y.floor() - 0.5) ** 2).sqrt()
    canvas.paint("dot", canvas.cover(dots - 0.09))
    floor = canvas.box(-1, 9.5, 17, 13)
    canvas.paint("tile", floor)
    one, other = canvas.bands(x, 2, 0.5), canvas.bands(y, 2, 0.5)
    canvas.paint("dark tile", (one * (1 - other) + other * (1 - one)) * canvas.box(-1, 10, 17, 13))
    canvas.paint("board", canvas.box(-1, 9.3, 17, 10))
    canvas.paint("shade", canvas.box(-1, 9.92, 17, 10), strength=0.25)


def _window(canvas: Canvas) -> None:
    canvas.paint("frame", canvas.box(0.8, 0.7, 4.2, 4.1, round=0.1))
    pane = canvas.box(1, 0.9, 4, 3.9)
    canvas.paint("night", pane)
    canvas.paint("night low", pane * ((canvas.y - 0.9) / 3).clamp(0, 1))
    canvas.paint("moon", canvas.disc((3.3, 1.65), 0.48))
    canvas.paint("night", canvas.disc((3.08, 1.52), 0.42))
    for star in ((1.5, 1.4), (2.1, 2.2), (1.35, 2.9), (3.5, 2.9), (1.9, 3.4), (2.2, 1.2)):
        canvas.paint("moon", canvas.disc(star, 0.055))
    for bar in (canvas.box(2.42, 0.9, 2.58, 3.9), canvas.box(1, 2.32, 4, 2.48)):
        canvas.paint("frame", bar)
    canvas.paint("board", canvas.box(0.6, 4.05, 4.4, 4.35, round=0.06))


def _shelf(canvas: Canvas) -> None:
    """Three pots, all alike, each in the middle of a patch's column."""
    for x in (12.5, 13.5, 14.5):
        for lean in (-0.24, 0.0, 0.24):
            canvas.paint("leaf", canvas.oval((x + lean, 1.68 - 0.1 * (lean == 0)), 0.11, 0.42))
        canvas.paint(
            "dark tile",
            canvas.polygon(
                (x - 0.3, 1.95), (x + 0.3, 1.95), (x + 0.22, 2.56), (x - 0.22, 2.56), round=0.03
            ),
        )
        canvas.paint("dot", canvas.box(x - 0.36, 1.9, x + 0.36, 2.08, round=0.04))
    canvas.paint("frame", canvas.box(11.8, 2.56, 15.2, 2.74, round=0.04))
    canvas.paint("shade", canvas.box(11.9, 2.74, 15.1, 2.86), strength=0.16)


def _sofa(canvas: Canvas) -> None:
    canvas.paint("shade", canvas.box(1.6, 9.7, 14.4, 10.05, round=0.12), strength=0.3)
    canvas.paint("frame", _mirrored(canvas.box(2.4, 9.3, 2.9, 10.0, round=0.05)))
    canvas.paint("sofa", canvas.box(2.2, 5.2, 13.8, 9.2, round=0.5))
    canvas.paint("sofa light", _mirrored(canvas.box(2.6, 5.6, 7.9, 8.2, round=0.3)))
    blanket = canvas.box(9.6, 5.05, 13.0, 8.4, round=0.12)
    canvas.paint("blanket", blanket)
    canvas.paint("blanket dark", blanket * canvas.bands(canvas.x + canvas.y, 1, 0.5))
    canvas.paint("sofa dark", canvas.box(2.2, 8.2, 13.8, 9.5, round=0.2))
    canvas.paint("sofa", canvas.box(2.3, 7.9, 13.7, 9.0, round=0.3))
    canvas.paint("sofa light", _mirrored(canvas.box(1.2, 6.6, 2.9, 9.5, round=0.5)))
    canvas.paint("sofa", _mirrored(canvas.disc((2.05, 7.4), 0.42)))


def _fox(canvas: Canvas) -> None:
    x, y = canvas.x, canvas.y
    # tail, behind
    canvas.paint("fox", canvas.oval((10.7, 8.1), 1.75, 0.62))
    canvas.paint("white", canvas.oval((12.0, 8.05), 0.66, 0.46))
    # body in its jumper
    body = canvas.polygon(
        (6.5, 6.2), (9.5, 6.2), (10.1, 8.3), (9.9, 9.3), (6.1, 9.3), (5.9, 8.3), round=0.3
    )
    canvas.paint("jumper", body)
    canvas.paint("jumper light", body * canvas.bands(y + 0.25, 1, 0.5))
    arm = canvas.polygon((6.0, 6.6), (6.7, 6.5), (7.0, 8.9), (6.2, 8.9), round=0.25)
    arms = _mirrored(arm)
    canvas.paint(
        "shade",
        _mirrored(canvas.polygon((6.1, 6.7), (6.8, 6.6), (7.12, 9.0), (6.3, 9.0), round=0.25))
        * body,
        strength=0.18,
    )
    light = canvas.bands(y + 0.25, 1, 0.5)
    canvas.paint("jumper", arms * (1 - light))
    canvas.paint("jumper light", arms * light)
    canvas.paint("fox dark", _mirrored(canvas.oval((6.65, 9.35), 0.55, 0.36)))
    for toe in (6.45, 6.85):
        canvas.paint("black", _mirrored(canvas.box(toe - 0.025, 9.3, toe + 0.025, 9.6)))
    # ears, each with its dark inside
    canvas.paint("fox", _mirrored(canvas.polygon((5.35, 1.6), (7.3, 3.1), (5.6, 4.2), round=0.12)))
    canvas.paint(
        "inner ear", _mirrored(canvas.polygon((5.62, 2.15), (6.75, 3.05), (5.8, 3.6), round=0.06))
    )
    canvas.paint(
        "white",
        _mirrored(canvas.polygon((5.95, 2.95), (6.55, 3.2), (5.98, 3.62), round=0.03)),
        strength=0.85,
    )
    # head, cheeks, muzzle
    canvas.paint("shade", canvas.oval((AXIS, 6.45), 1.9, 0.5), strength=0.22)
    canvas.paint("fox", canvas.oval((AXIS, 4.5), 2.7, 1.75))
    canvas.paint(
        "fox",
        _mirrored(canvas.polygon((5.6, 4.2), (7.6, 4.6), (7.2, 6.1), (5.0, 5.55), round=0.14)),
    )
    cheek = canvas.polygon(
        (5.05, 5.6), (6.9, 4.95), (7.75, 5.5), (7.75, 6.4), (7.0, 6.3), round=0.08
    )
    canvas.paint("white", _mirrored(cheek))
    canvas.paint("white", canvas.oval((AXIS, 5.6), 0.82, 0.9))
    canvas.paint("fox", _mirrored(canvas.polygon((7.1, 3.4), (8.1, 3.4), (8.1, 5.3), (7.75, 5.15))))
    canvas.paint("white", _mirrored(canvas.oval((6.75, 4.02), 0.34, 0.17)))
    # eyes, nose, mouth
    canvas.paint("black", _mirrored(canvas.oval((6.72, 4.62), 0.25, 0.3)))
    canvas.paint("white", _mirrored(canvas.disc((6.66, 4.52), 0.08)))
    canvas.paint("black", canvas.oval((AXIS, 5.52), 0.34, 0.24))
    canvas.paint("white", canvas.oval((AXIS - 0.08, 5.44), 0.1, 0.05), strength=0.7)
    canvas.paint("black", canvas.box(7.97, 5.6, 8.03, 6.0))
    smile = canvas.cover((canvas._from((7.7, 5.82)) - 0.3).abs() - 0.03) * (y > 5.9) * (x < 8.01)
    canvas.paint("black", _mirrored(smile))
    # collar
    canvas.paint("jumper", canvas.oval((AXIS, 6.62), 1.15, 0.26))


def _apple(canvas: Canvas, centre: Place, name: str) -> None:
    x, y = centre
    canvas.paint("shade", canvas.oval((x, y + 0.62), 0.62, 0.12), strength=0.3)
    lobes = torch.maximum(
        canvas.oval((x - 0.2, y + 0.05), 0.46, 0.56), canvas.oval((x + 0.2, y + 0.05), 0.46, 0.56)
    )
    canvas.paint(f"{name} dark", lobes)
    lit = torch.maximum(
        canvas.oval((x - 0.24, y), 0.38, 0.48), canvas.oval((x + 0.14, y), 0.38, 0.48)
    )
    canvas.paint(name, lit)
    canvas.paint("white", canvas.oval((x - 0.32, y - 0.16), 0.09, 0.16), strength=0.75)
    canvas.paint(
        "frame",
        canvas.polygon(
            (x - 0.03, y - 0.72), (x + 0.05, y - 0.72), (x + 0.03, y - 0.4), (x - 0.03, y - 0.4)
        ),
    )
    canvas.paint("leaf", canvas.oval((x + 0.24, y - 0.6), 0.2, 0.09))
