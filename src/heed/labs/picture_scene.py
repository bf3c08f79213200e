"""Scenes that a reader arranges: how they are drawn, what is right to say of them, and what of them
no model has seen in training.

Everything here exists a second time in ``labs/frontend/picture_scene.js`` for the static page,
number for number. So it is done in whole numbers, where both languages agree to the last bit. The
scenes of training are drawn in float32 (``heed.data.scenes``); the two differ by 1/255 at most.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any, TypedDict

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
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
    captions,
    pieces,
)
from heed.data.scenes import (
    ASIDE,
    BIG,
    CANVAS,
    HORIZON,
    PAINT,
    SKY_AND_GROUND,
    SMALL,
    UNSEEN,
    Plan,
    boxes,
    stands_out,
)
from heed.data.silhouettes import SIDE, silhouettes
from heed.data.text import Language
from heed.data.vocabulary import PAD

DRAWINGS = {
    "bear": (4, 29, 42, 9, 33, 30, 180),
    "bird": (845, 868, 867, 864, 883, 840, 890),
    "cat": (1427, 1403, 1402, 1414, 1419, 1420, 1460),
    "cow": (2212, 2199, 2223, 2222, 2233, 2310, 2260),
    "dog": (3095, 3094, 3105, 3118, 3138, 3130, 3210),
    "elephant": (3708, 3722, 3745, 3729, 3742, 3740, 3850),
    "giraffe": (4668, 4625, 4667, 4645, 4634, 4790, 4740),
    "horse": (5527, 5539, 5553, 5568, 5548, 5530, 5560),
}
"""A handful of silhouettes of each animal, chosen by eye: the first from training, the rest not."""
KNOWN = 5
"""How many of them training has."""

SIZES = (*range(SMALL[0], SMALL[1] + 1), *range(BIG[0], BIG[1] + 1))
"""Pixels a side that an animal may have."""

MIDDLE = BIG[1] // 2 + ASIDE, CANVAS - BIG[1] // 2 - ASIDE - 1
"""Where the common line of two animals side by side may be, least and most."""


class Animal(TypedDict):
    """One of a scene: what it is, a number into ``ANIMALS``; its colour, into ``COLOURS``; which
    drawing, into its row of ``DRAWINGS``; side, top and left of its square in pixels."""

    animal: int
    colour: int
    drawing: int
    side: int
    top: int
    left: int
    mirrored: bool


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Animals in the order in which they were placed, later ones over earlier ones; on which
    ground, into ``GROUNDS``; and the row that the ground begins at."""

    animals: Sequence[Animal]
    ground: int
    horizon: int


def stand(
    colour: str,
    animal: str,
    *,
    side: int,
    top: int,
    left: int,
    drawing: int = 0,
    mirrored: bool = False,
) -> Animal:
    """An animal of a scene, by names: ``stand("red", "cat", side=30, top=20, left=2)``."""
    names = ([noun.english for noun in ANIMALS], [word.english for word in COLOURS])
    for name, known in zip((animal, colour), names, strict=True):
        if name not in known:
            raise ValueError(f"{name!r} is none of {', '.join(known)}")
    return Animal(
        animal=names[0].index(animal),
        colour=names[1].index(colour),
        drawing=drawing,
        side=side,
        top=top,
        left=left,
        mirrored=mirrored,
    )


def checked(animals: Sequence[Any]) -> list[Animal]:
    """The same animals; ``ValueError`` in one line if one of them is none. Those that stand beyond
    the picture are moved into it."""
    if len(animals) > MOST:
        raise ValueError(f"{len(animals)} animals, but a scene has {MOST} at most")
    limits = {
        "animal": range(len(ANIMALS)),
        "colour": range(len(COLOURS)),
        "drawing": range(KNOWN + 2),
        "side": SIZES,
    }
    found = []
    for each in animals:
        if not isinstance(each, dict) or set(each) != set(Animal.__annotations__):
            raise ValueError(f"{each!r} is no animal: it has {', '.join(Animal.__annotations__)}")
        for name in (*limits, "top", "left"):
            value = each[name]
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValueError(f"{name}={value!r} is no whole number")
            if name in limits and value not in limits[name]:
                raise ValueError(f"{name}={value} is none of {', '.join(map(str, limits[name]))}")
        side = each["side"]
        inside = {name: min(max(each[name], 0), CANVAS - side) for name in ("top", "left")}
        found.append({**each, **inside, "mirrored": bool(each["mirrored"])})
    return found


# ------------------------------------------------------------------------------ drawing


def number(animal: Animal) -> int:
    """Of its silhouette."""
    return DRAWINGS[ANIMALS[animal["animal"]].english][animal["drawing"]]


def covered(length: int, start: int) -> Int[np.ndarray, "canvas side"]:
    """``heed.data.silhouettes.stretch`` in whole numbers: how many 28ths of each pixel a pixel of a
    silhouette covers."""
    pixel, source = np.arange(CANVAS)[:, None] * SIDE, np.arange(SIDE) * length + start * SIDE
    return np.maximum(np.minimum(source + length, pixel + SIDE) - np.maximum(source, pixel), 0)


def painted(scene: Scene) -> UInt8[Tensor, "3 row column"]:
    """The picture, in even colours."""
    sky, ground = SKY_AND_GROUND[GROUNDS[scene.ground][0]]
    picture = np.empty((3, CANVAS, CANVAS), dtype=int)
    picture[:, : scene.horizon] = np.array(sky)[:, None, None]
    picture[:, scene.horizon :] = np.array(ground)[:, None, None]
    whole = SIDE * SIDE
    for animal in scene.animals:
        across = covered(animal["side"], animal["left"])
        pixels = silhouettes().pixels[number(animal)].numpy().astype(int)
        ink = (
            covered(animal["side"], animal["top"])
            @ pixels
            @ (across[:, ::-1] if animal["mirrored"] else across).T
        )
        paint = np.array(PAINT[COLOURS[animal["colour"]].english])[:, None, None]
        # Rounded to the nearest, halves up.
        picture = (2 * (picture * (whole - ink) + paint * ink) + whole) // (2 * whole)
    return torch.from_numpy(picture.astype(np.uint8))


# ------------------------------------------------------------------------------ what is right


def order(animals: Sequence[Animal]) -> tuple[list[int], list[int]] | None:
    """Who is named first, second and third, and where the first one is, seen from each other one;
    ``None`` if animals stand as they never do in training.

    Of two, each stands in a half of its own, on a common line; of three, each in a corner of its
    own (``heed.data.scenes``).
    """
    if len(animals) == 2:
        return _two(animals)
    if len(animals) == 3:
        return _three(animals)
    return ([0], [0]) if animals else None


def _half(animal: Animal, way: str) -> int | None:
    """0 or 1: the half that an animal is in, across ("left") or down ("top"); ``None`` in both."""
    if animal[way] + animal["side"] <= CANVAS // 2:
        return 0
    return 1 if animal[way] >= CANVAS // 2 else None


def _two(animals: Sequence[Animal]) -> tuple[list[int], list[int]] | None:
    for way, other, sides in (("left", "top", (LEFT, RIGHT)), ("top", "left", (ABOVE, BELOW))):
        halves = [_half(each, way) for each in animals]
        middles = [each[other] + each["side"] // 2 for each in animals]
        low, high = max(max(middles) - ASIDE, MIDDLE[0]), min(min(middles) + ASIDE, MIDDLE[1])
        if None in halves or halves[0] == halves[1] or low > high:
            continue
        big = [each["side"] >= BIG[0] for each in animals]
        first = halves.index(0) if big[0] == big[1] else big.index(True)
        return [first, 1 - first], [0, sides[0] if halves[first] == 0 else sides[1]]
    return None


def _three(animals: Sequence[Animal]) -> tuple[list[int], list[int]] | None:
    corners = [(_half(each, "top"), _half(each, "left")) for each in animals]
    if any(None in corner for corner in corners) or len(set(corners)) < len(corners):
        return None
    for first, beside, apart in permutations(range(3)):
        (row, column), (row_2, column_2), (row_3, column_3) = (
            corners[i] for i in (first, beside, apart)
        )
        if row == row_2 and column == column_3 and column != column_2 and row != row_3:
            relations = [0, LEFT if column == 0 else RIGHT, ABOVE if row == 0 else BELOW]
            return [first, beside, apart], relations
    return None


def plan(scene: Scene, slots: Sequence[int], relations: Sequence[int] = ()) -> Plan:
    """The scene as training has it, with animals in this order."""
    animals = [scene.animals[i] for i in slots]
    missing = MOST - len(animals)

    def each(name: str) -> Tensor:
        values: list[Any] = [animal[name] for animal in animals]
        return torch.tensor([values + [0] * missing])

    return Plan(
        count=torch.tensor([len(animals)]),
        silhouette=torch.tensor([[number(animal) for animal in animals] + [0] * missing]),
        animal=each("animal"),
        colour=each("colour"),
        big=each("side") >= BIG[0],
        relation=torch.tensor([[*relations, *[0] * (MOST - len(relations))]]),
        side=each("side"),
        top=each("top"),
        left=each("left"),
        mirrored=each("mirrored").bool(),
        ground=torch.tensor([scene.ground]),
        horizon=torch.tensor([scene.horizon]),
    )


def right(scene: Scene, language: Language) -> list[str] | None:
    """The caption that is right; ``None`` for a scene that has none."""
    arranged = order(scene.animals)
    if arranged is None:
        return None
    drawn = plan(scene, *arranged)
    said = captions(
        language,
        count=drawn.count,
        size=drawn.big.long(),
        colour=drawn.colour,
        animal=drawn.animal,
        relation=drawn.relation,
        ground=drawn.ground,
    )
    words = said.words[0, 1 : int(said.lengths[0]) - 1].tolist()
    return pieces(language).vocabulary.decode(words)


def boxes_of(scene: Scene) -> list[list[int]]:
    """Top, left, bottom, right of each animal, the last two not in it."""
    found = boxes(plan(scene, range(len(scene.animals))), silhouettes())[0]
    return found[: len(scene.animals)].tolist()


def remarks(scene: Scene) -> list[dict[str, str]]:
    """What of a scene no training had. "about" says which: "empty", "arranged" (animals stand in
    the way of each other), "vanishes" (a colour on its ground), "twice" (a colour), "unseen" (an
    animal in a colour that it never had), "drawing" (a silhouette)."""
    if not scene.animals:
        return [{"about": "empty"}]
    found = []
    ground = GROUNDS[scene.ground][0]
    if order(scene.animals) is None:
        found.append({"about": "arranged", "of": str(len(scene.animals))})
    colours = [each["colour"] for each in scene.animals]
    for i, each in enumerate(scene.animals):
        colour, animal = COLOURS[colours[i]].english, ANIMALS[each["animal"]].english
        if not _shows()[scene.ground, colours[i]]:
            found.append({"about": "vanishes", "colour": colour, "ground": ground})
        if colours.index(colours[i]) < i:
            found.append({"about": "twice", "colour": colour})
        if UNSEEN[each["animal"]] == colours[i]:
            found.append({"about": "unseen", "colour": colour, "animal": animal})
        if each["drawing"] >= KNOWN:
            found.append({"about": "drawing", "animal": animal})
    return found


@cache
def _shows() -> Bool[Tensor, "ground colour"]:
    return stands_out()


# ------------------------------------------------------------------------------ for the page


@cache
def world() -> dict[str, Any]:
    """All of this that a page needs to do the same; see ``picture_scene.js``."""
    stock = silhouettes().pixels.numpy()
    return {
        "canvas": CANVAS,
        "side": SIDE,
        "sizes": list(SIZES),
        "big": BIG[0],
        "aside": ASIDE,
        "middle": list(MIDDLE),
        "horizon": [HORIZON[0], HORIZON[1] - 1],
        "most": MOST,
        "known": KNOWN,
        "animals": [noun.english for noun in ANIMALS],
        "unseen": list(UNSEEN),
        "colours": [
            {"name": colour.english, "paint": list(PAINT[colour.english])} for colour in COLOURS
        ],
        "grounds": [
            {
                "name": name,
                "paint": [list(part) for part in SKY_AND_GROUND[name]],
                "shows": _shows()[i].tolist(),
            }
            for i, (name, _) in enumerate(GROUNDS)
        ],
        "drawings": [
            [b64encode(np.packbits(stock[k]).tobytes()).decode() for k in DRAWINGS[noun.english]]
            for noun in ANIMALS
        ],
    }


@cache
def speech(language: Language) -> dict[str, Any]:
    """The pieces that captions are put together from, as words.

    leads: by nothing (none), by one of four relations, by «and» and one of them; looks: of each
    size, colour and animal; tails: of each ground
    """
    table = pieces(language)

    def words(row: Tensor) -> list[str]:
        return table.vocabulary.decode(row[row != PAD].tolist())

    looks = [[[words(piece) for piece in row] for row in size] for size in table.words[0]]
    bare = len(looks[0][0][0])
    return {
        "leads": [words(lead[0, 0, 0])[:-bare] for lead in table.words],
        "looks": looks,
        "tails": [words(tail) for tail in table.tails],
    }
