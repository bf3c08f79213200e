"""A picture to look at: move the eye over it, or hide a patch and see which others tell what is
behind it."""

from base64 import b64encode
from functools import cache
from html import escape
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from heed.data.parlour import HIGH, PATCH, WIDE, parlour
from heed.labs import drawing
from heed.labs.base import Finite, Lab
from heed.layers.fovea import fovea, pyramid
from heed.layers.patches import Patches, cut, error, even, guess
from heed.trace import AttentionTrace

MODES = ("look", "hide")
NEAREST, FURTHEST = 4, 160
"""Pixels from where one looks to where a detail must be twice as large."""
COOLEST, HOTTEST = 1e-4, 10.0
TOLD = 5
"""Patches that are named."""


@cache
def room() -> Float[Tensor, "channel row column"]:
    """The picture, colours from 0 to 1."""
    return parlour().double() / 255


@cache
def pieces() -> Patches:
    """Its patches."""
    return cut(room(), size=PATCH)


def runs(content: bytes) -> bytes:
    """How often, and what, and so on: a fifth of the bytes of a picture that is painted flat."""
    found = bytearray()
    for value, same in groupby(content):
        left = len(list(same))
        while left:
            count = min(left, 255)
            found += bytes((count, value))
            left -= count
    return bytes(found)


@cache
def sight() -> dict[str, Any]:
    """What the view is told of the picture: its bytes, channel by channel, and its sizes."""
    patches = pieces()
    return {
        "picture": b64encode(runs(parlour().numpy().tobytes())).decode(),
        "rows": HIGH * PATCH,
        "columns": WIDE * PATCH,
        "patch": PATCH,
        "ring": patches.width,
    }


class LookingLab(Lab):
    """The first picture of the book, seen by an eye that moves, or guessed behind a box.

    mode: ``"look"`` or ``"hide"``
    x, y: where the eye looks, in pixels; half: how far off a detail must be twice as large
    hidden: number of the patch behind the box, row by row; temperature: see ``Nearness``; mirror:
        whether patches may answer in the mirror, too

    The answer has the ``weights`` of all patches as they stand and ``mirrored``, the ``guess`` (the
    numbers of a patch, from 0 to 1), its ``error``, and ``even``, the error of looking everywhere
    alike, both in 255ths.
    """

    kind = "looking"
    settings: ClassVar[tuple[str, ...]] = (
        "mode",
        "x",
        "y",
        "half",
        "hidden",
        "temperature",
        "mirror",
    )
    asks = ("hidden", "temperature", "mirror")
    facts: ClassVar[tuple[str, ...]] = ("sight",)

    mode = traitlets.Enum(MODES, "look").tag(sync=True)
    x = Finite(160.0, min=0, max=WIDE * PATCH).tag(sync=True)
    y = Finite(92.0, min=0, max=HIGH * PATCH).tag(sync=True)
    half = Finite(20.0, min=NEAREST, max=FURTHEST).tag(sync=True)
    hidden = traitlets.Int(2 * WIDE + 6, min=0, max=WIDE * HIGH - 1).tag(sync=True)
    temperature = Finite(0.002, min=COOLEST, max=HOTTEST).tag(sync=True)
    mirror = traitlets.Bool(True).tag(sync=True)
    sight = traitlets.Dict().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        if "sight" in settings:
            raise TypeError("the picture of a LookingLab is the same for everybody")
        super().__init__(sight=sight(), **settings)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        patches = pieces()
        truth = patches.contents[self.hidden]
        found = guess(patches, self.hidden, temperature=self.temperature, mirror=self.mirror)
        alike = even(patches, self.hidden, mirror=self.mirror)
        answer = {
            "weights": found.weights.tolist(),
            "mirrored": found.mirrored.tolist(),
            "guess": found.content.tolist(),
            "error": float(error(found.content, truth)),
            "even": float(error(alike, truth)),
        }
        names = [f"row {i // WIDE + 1}, column {i % WIDE + 1}" for i in range(WIDE * HIGH)]
        together = found.weights + found.mirrored
        trace = AttentionTrace.of("patches", together[None], query=("hidden",), key=names)
        return answer, trace

    def loudest(self) -> list[tuple[int, bool, float]]:
        """The patches that weigh most: number, whether in the mirror, weight."""
        both = [*self.answer["weights"], *self.answer["mirrored"]]
        n = len(both) // 2
        order = sorted(range(2 * n), key=lambda i: (-both[i], i))[:TOLD]
        return [(i % n, i >= n, float(both[i])) for i in order if both[i] >= 0.005]

    def drawn(self) -> str:
        say = drawing.sayer(self.strings)
        if self.mode == "look":
            seen = fovea(pyramid(room()), at=(self.x, self.y), half=self.half)
            told = say(
                "looking.look.drawn", x=f"{self.x:g}", y=f"{self.y:g}", half=f"{self.half:g}"
            )
            return drawing.sheet(self._image(seen, told), drawing.tag("p", escape(told)))
        row, column = divmod(self.hidden, WIDE)
        told = say("looking.hide.drawn", row=row + 1, column=column + 1)
        rows = (
            drawing.tag(
                "tr",
                drawing.tag("th", escape(self._place(say, i, mirrored)), scope="row"),
                drawing.tag("td", f"{weight:.2f}"),
            )
            for i, mirrored, weight in self.loudest()
        )
        table = drawing.tag(
            "table",
            drawing.tag("caption", escape(say("looking.table"))),
            drawing.tag("tbody", *rows),
            class_="heed-looking-table",
        )
        return drawing.sheet(
            self._image(self._behind(), told),
            drawing.tag("p", escape(told)),
            table,
            drawing.tag("p", escape(say("looking.errors", **self._errors()))),
        )

    def _errors(self) -> dict[str, str]:
        return {name: f"{self.answer[name]:.0f}" for name in ("error", "even")}

    def _place(self, say: drawing.Say, number: int, mirrored: bool) -> str:
        row, column = divmod(number, WIDE)
        key = "looking.place.mirrored" if mirrored else "looking.place"
        return say(key, row=row + 1, column=column + 1)

    def _behind(self) -> Float[Tensor, "channel row column"]:
        """The picture under a fog that thins where somebody answers, and a box on the patch."""
        both = torch.tensor([self.answer["weights"], self.answer["mirrored"]]).sum(dim=0)
        clear = (2 * both.sqrt()).clamp(max=1).view(HIGH, WIDE)
        clear = clear.repeat_interleave(PATCH, 0).repeat_interleave(PATCH, 1).double()
        shown = room() * (0.4 + 0.6 * clear) + 0.5 * 0.6 * (1 - clear)
        row, column = divmod(self.hidden, WIDE)
        shown[:, row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH] = 0.1
        return shown

    def _image(self, picture: Float[Tensor, "channel row column"], alt: str) -> str:
        pixels = (picture * 255).round().clamp(0, 255).to(torch.uint8).numpy()
        return drawing.tag(
            "img", src=drawing.image(np.asarray(pixels)), alt=alt, class_="heed-looking-image"
        ).removesuffix("</img>")
