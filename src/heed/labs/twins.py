"""Move through the pictures that a generator draws, point at a place of its attended map to see
where that looks, and turn γ, by which what was seen is added."""

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import Float, UInt8
from torch import Tensor

from heed.data.twins import SHAPES, SIDE, Reading, read
from heed.evaluation.captions import places
from heed.evaluation.twins import drawn as draw
from heed.evaluation.twins import to_bytes
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import ChoiceLab, Finite
from heed.labs.steering import mulberry32
from heed.models.sagan import SAGAN, Drawn
from heed.trace import AttentionTrace

REACH = 2.0
"""How far the plane goes to each side."""
LOUDEST = 1.5
"""How often γ as it was learnt the reader can have."""
THINGS = (-1, -2)
"""As a point: the middle of the left thing, of the right thing, wherever it stands."""
FOG, THICK = 128, 0.75
"""The grey over places that are not looked at, and how much it hides there."""


class TwinsLab(ChoiceLab):
    """Pictures of nets that draw twins, all of them from the same z.

    trained: models that draw, by the names that a reader sees, as ``heed.load`` gives them, or
        names of shipped ones; such as one with attention and one without
    notes: a short line about some of them, by the same names
    seed: of the plane that z moves in; see ``latent``
    x, y: where in the plane z is, from −2 to 2
    dial: the generator's γ is multiplied by it
    choice: the model whose picture is shown large, by its place
    point: the pixel of its attended map that looks, numbered row by row; −1 is where the left thing
        has its middle, −2 the right thing

    The answer has in ``nets`` for each model its ``picture``, as bytes in base 64, channel by
    channel, and what ``heed.data.twins.read`` reads from it; in ``look`` where the point looks,
    None without attention; and in ``plain`` what the chosen model draws with γ = 0.
    """

    kind = "twins"
    settings: ClassVar[tuple[str, ...]] = ("seed", "x", "y", "dial", "choice", "point")
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("choices",)
    kinds, does = SAGAN, "draws with a"

    seed = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    x = Finite(0.0, min=-REACH, max=REACH).tag(sync=True)
    y = Finite(0.0, min=-REACH, max=REACH).tag(sync=True)
    dial = Finite(1.0, min=0.0, max=LOUDEST).tag(sync=True)
    point = traitlets.Int(-1, min=min(THINGS)).tag(sync=True)

    def recount(self) -> None:
        self.choices = self.told()

    def told_of(self, trained: Trained) -> dict[str, Any]:
        """γ, and the side of the map that looks; None and 0 without attention."""
        model = trained.model
        return {"gamma": model.gammas.get("generator"), "side": model.config.generator_attention}

    # ------------------------------------------------------------------ what is drawn

    @property
    def _model(self) -> SAGAN:
        return self._trained[self.choice].model

    @property
    def z(self) -> Float[Tensor, "1 d_z"]:
        """What the chosen model draws from."""
        return latent(self.seed, self.x, self.y, d_z=self._model.config.d_z)

    @property
    def picture(self) -> UInt8[Tensor, "3 row column"]:
        """What the chosen model draws."""
        return to_bytes(self._draw(self._model, self.dial).pictures)[0]

    def _draw(self, model: SAGAN, dial: float) -> Drawn:
        z = latent(self.seed, self.x, self.y, d_z=model.config.d_z)
        return draw(model, z, dial=dial, weights=True)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        found = [self._draw(each.model, self.dial) for each in self._trained]
        pictures = to_bytes(torch.cat([each.pictures for each in found]))
        reading = read(pictures)
        answer = {
            "nets": [
                {"picture": packed(each)} | seen(reading, i) for i, each in enumerate(pictures)
            ],
            "look": None,
            "plain": None,
            "message": "",
        }
        weights, model = found[self.choice].weights, self._model
        if weights is None:
            return answer, None
        answer["plain"] = packed(to_bytes(self._draw(model, 0.0).pictures)[0])
        things = answer["nets"][self.choice]["things"]
        side = model.config.generator_attention
        point = pointed(self.point, things, side)
        row = weights[0, point]
        grid = (round(len(row) ** 0.5),) * 2
        inside = [places_in(thing["box"], grid[0]) for thing in things]
        answer["look"] = {
            "point": point,
            "weights": row.tolist(),
            "falls": [row[each].sum().item() for each in inside],
            "even": [len(each) / len(row) for each in inside],
        }
        query = places((side, side)).labels[point]
        return answer, AttentionTrace.of(
            "self", row[None], query=[query], key=places(grid), heads=("self",)
        )

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        look = answer["look"]
        figures, lines = [], []
        for i, (choice, net) in enumerate(zip(self.choices, answer["nets"], strict=True)):
            layers = [unpacked(net["picture"])]
            if look and i == self.choice:
                layers.insert(0, fog(look["weights"]))
            addresses = ",".join(f"url({drawing.image(layer)})" for layer in layers)
            figures.append(
                drawing.tag(
                    "figure",
                    drawing.tag(
                        "span", class_="heed-twins-drawn", style=f"background-image:{addresses}"
                    ),
                    drawing.tag("figcaption", escape(choice["label"])),
                )
            )
            lines.append(drawing.line(f"{choice['label']}:", [verdict(say, net)]))
        return drawing.sheet(
            drawing.tag(
                "div",
                *figures,
                class_="heed-twins-strip",
                role="img",
                aria_label=say("twins.strip", names=", ".join(self._notes)),
            ),
            *lines,
            *([self._table(say, look)] if look else []),
            kind="twins",
        )

    def _table(self, say: drawing.Say, look: Mapping[str, Any]) -> str:
        (query,) = self.trace.query.labels
        weights = [float(each or 0) for each in look["weights"]]
        at = int(np.argmax(weights))
        cells = [
            self.trace.key.labels[at],
            drawing.share(weights[at]),
            *(drawing.share(float(each or 0)) for each in look["falls"]),
        ]
        heads = ("point", "most", "weight", "on.left", "on.right")
        return drawing.tag(
            "div",
            drawing.tag(
                "table",
                drawing.tag("caption", escape(say("twins.table"))),
                drawing.tag(
                    "thead",
                    drawing.tag(
                        "tr",
                        *(drawing.tag("th", escape(say(f"twins.{h}")), scope="col") for h in heads),
                    ),
                ),
                drawing.tag(
                    "tbody",
                    drawing.tag(
                        "tr",
                        drawing.tag("th", escape(query), scope="row"),
                        *(drawing.tag("td", escape(cell)) for cell in cells),
                    ),
                ),
                class_="heed-cells heed-twins-table",
            ),
            class_="heed-scroll",
            tabindex="0",
        )


# ---------------------------------------------------------------------------- where z is


def latent(seed: int, x: float, y: float, *, d_z: int) -> Float[Tensor, "1 d_z"]:
    """z = (z₀ + x u + y v) / √(1 + x² + y²)

    z₀, u and v are normal numbers drawn by ``seed``, the same ones in the page. So z is as normal
    everywhere in the plane as in training, and never far out.
    """
    numbers = normals(seed, 3 * d_z)
    z0, u, v = (torch.tensor(numbers[i * d_z : (i + 1) * d_z]).double() for i in range(3))
    return ((z0 + x * u + y * v) / math.sqrt(1 + x * x + y * y)).float()[None]


def normals(seed: int, count: int) -> list[float]:
    """√(−2 ln(1 − a)) cos 2πb of ever two numbers of ``mulberry32(seed)`` (Box & Muller 1958)."""
    dice = mulberry32(seed)
    return [
        math.sqrt(-2 * math.log(1 - next(dice))) * math.cos(2 * math.pi * next(dice))
        for _ in range(count)
    ]


# ---------------------------------------------------------------------------- what is there


def packed(picture: UInt8[Tensor, "3 row column"]) -> str:
    """Bytes in base 64."""
    return b64encode(picture.numpy().tobytes()).decode()


def unpacked(content: str) -> UInt8[np.ndarray, "3 row column"]:
    """The other way."""
    return np.frombuffer(b64decode(content), np.uint8).reshape(3, SIDE, SIDE)


def seen(reading: Reading, i: int) -> dict[str, Any]:
    """What was read from one picture.

    things: left and right, what fits best, whether or not it is ``clear``; box: its top, left,
        bottom and right in the picture, in pixels. gap: of the hues, at most 1/2
    """
    found = reading.things
    things = []
    for half in range(2):
        row, column, r = (
            getattr(found, name)[i, half].item() for name in ("row", "column", "radius")
        )
        column = SIDE - column if half else column  # a right half is described as in a mirror
        things.append(
            {
                "shape": SHAPES[int(found.shape[i, half])],
                "hue": found.hue[i, half].item(),
                "clear": bool(reading.clear[i, half]),
                "box": [row - r, column - r, row + r, column + r],
            }
        )
    return {
        "things": things,
        "gap": reading.hue_gap[i].item(),
        "same_hue": bool(reading.same_hue[i]),
        "same_shape": bool(reading.same_shape[i]),
        "twins": bool(reading.twins[i]),
    }


def pointed(point: int, things: Sequence[Mapping[str, Any]], side: int) -> int:
    """The pixel of a map that is meant; a number beyond the map is its last."""
    if point not in THINGS:
        return min(point, side * side - 1)
    top, left, bottom, right = things[THINGS.index(point)]["box"]
    row, column = (
        min(max(math.floor((low + high) / 2 * side / SIDE), 0), side - 1)
        for low, high in ((top, bottom), (left, right))
    )
    return row * side + column


def places_in(box: Sequence[float], side: int) -> list[int]:
    """The places of a map whose middle is in a box of the picture."""
    top, left, bottom, right = box
    middle = [(i + 0.5) * SIDE / side for i in range(side)]
    return [
        row * side + column
        for row in range(side)
        for column in range(side)
        if top <= middle[row] <= bottom and left <= middle[column] <= right
    ]


def verdict(say: drawing.Say, net: Mapping[str, Any]) -> str:
    """Whether the two things agree, in words."""
    left, right = net["things"]
    if not (left["clear"] and right["clear"]):
        blot = "left" if right["clear"] else "right" if left["clear"] else "both"
        return say(f"twins.blot.{blot}")
    named = {"left": name(say, left), "right": name(say, right)}
    if net["twins"]:
        return say("twins.agree", **named)
    apart = "shape" if net["same_hue"] else "hue" if net["same_shape"] else "both"
    return say(f"twins.apart.{apart}", **named)


def name(say: drawing.Say, thing: Mapping[str, Any]) -> str:
    """Hue and shape: a green ring."""
    return say(f"twins.thing.{thing['shape']}", hue=say(f"twins.hue.{hue_name(thing['hue'])}"))


def hue_name(hue: float) -> int:
    """Which of twelve names is nearest, counted from red."""
    return math.floor(12 * hue + 0.5) % 12


def fog(row: Sequence[float | int | None]) -> UInt8[np.ndarray, "4 row column"]:
    """What hides each place: nothing where the point looks most, more where it looks less."""
    weights = np.array([each or 0 for each in row], dtype=float)
    thick = THICK * (1 - np.sqrt(weights / max(weights.max(), 1e-9)))
    side = round(len(weights) ** 0.5)
    alpha = np.round(255 * thick).reshape(1, side, side)
    return np.concatenate([np.full((3, side, side), FOG), alpha]).astype(np.uint8)
