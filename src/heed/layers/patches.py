"""What must be behind the box? A hidden patch of a picture, guessed from all the others.

A picture says many things twice. So: take what surrounds the hidden patch, its *ring*, and ask all
other patches how much their rings are like it. Those that are alike say what is in the middle.

    score(q, k) = −‖q − k‖² / (d τ),   α = softmax(score),   guess = Σ α · content

That is attention: the hidden patch's ring is the query, the other rings are the keys, and their
contents the values. It is also the *non-local means* of Buades, Coll and Morel (2005, Eq. 1 and 2),
who cleaned noisy pictures so, with h² for d τ; their neighbourhoods have a centre, as they repair
what is there, ours have a hole. d counts the numbers of a ring, so that τ, the temperature, is the
same for thick and thin ones: the mean squared difference of colours (from 0 to 1) that lowers a
weight by a factor e.

The eight patches around the hole do not answer: the hole is in their rings, so they cannot be
compared with it. Nor do patches at the picture's edge, where they lack a part of the ring that
the query has.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heed.attention import Attention
from heed.scores import Score


class Nearness(Score):
    """score(q, k) = −‖q − k‖² / (d τ)                    (Buades et al. 2005, h² = d τ)"""

    def __init__(self, temperature: float | int = 0.002) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature={temperature} must be positive")
        self.temperature = temperature

    def compare(
        self,
        query: Float[Tensor, "*batch query d"],
        prepared: Float[Tensor, "*batch key d"],
    ) -> Float[Tensor, "*batch query key"]:
        difference = query.unsqueeze(-2) - prepared.unsqueeze(-3)
        return -(difference**2).mean(dim=-1) / self.temperature


@dataclass(frozen=True, kw_only=True)
class Patches:
    """A picture cut up: a row for each patch, first as it stands, then once more in the mirror.

    contents: the pixels of each patch; rings: those around it, 0 beyond the picture's edge
    inside: which numbers of a ring are in the picture
    grid: rows and columns; size: pixels a side; width: pixels that a ring is wide
    """

    contents: Float[Tensor, "patch number"]
    rings: Float[Tensor, "patch ring"]
    inside: Bool[Tensor, "patch ring"]
    grid: tuple[int, int]
    size: int
    width: int

    @property
    def count(self) -> int:
        """How many there are, without the mirror."""
        return self.grid[0] * self.grid[1]


def cut(
    picture: Float[Tensor, "channel row column"], *, size: int, width: int | None = None
) -> Patches:
    """The patches of a picture whose sides are multiples of ``size``.

    width: of a ring; a quarter of a patch unless it is given. In the mirror patch and ring are
    turned together, so the pixel to the left of a patch stands to the right of it.
    """
    channels, rows, columns = picture.shape
    width = size // 4 if width is None else width
    if rows % size or columns % size:
        raise ValueError(f"{rows} × {columns} pixels cannot be cut into patches of {size}")
    if not 0 < width <= size:
        raise ValueError(f"a ring of width={width} must be from 1 to {size} pixels wide")
    wide = size + 2 * width
    there = torch.ones(1, rows, columns, dtype=picture.dtype)
    padded = nn.functional.pad(torch.cat([picture, there]), (width,) * 4)
    blocks = padded.unfold(1, wide, size).unfold(2, wide, size)  # channel, row, column, y, x
    blocks = blocks.permute(1, 2, 0, 3, 4).flatten(0, 1)
    blocks = torch.cat([blocks, blocks.flip(-1)])
    ring = torch.ones(wide, wide, dtype=torch.bool)
    ring[width : width + size, width : width + size] = False
    middle = blocks[:, :-1, width : width + size, width : width + size]
    inside = (blocks[:, -1, ring] > 0.5).repeat(1, channels)
    return Patches(
        contents=middle.flatten(1),
        rings=blocks[:, :-1, ring].flatten(1),
        inside=inside,
        grid=(rows // size, columns // size),
        size=size,
        width=width,
    )


def may_answer(patches: Patches, hidden: int, *, mirror: bool = True) -> Bool[Tensor, " patch"]:
    """Which patches can be compared with the ring of ``hidden``: not itself nor its neighbours, and
    none whose ring ends where the query's does not."""
    _, columns = patches.grid
    n = patches.count
    places = torch.arange(2 * n) % n
    down, across = places // columns, places % columns
    near = ((down - hidden // columns).abs() <= 1) & ((across - hidden % columns).abs() <= 1)
    asked = patches.inside[hidden]
    whole = (patches.inside | ~asked).all(dim=1)
    keep = whole & ~near
    if not mirror:
        keep[n:] = False
    return keep


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a hidden patch must be, and who said so.

    content: the guess; weights: of each patch as it stands; mirrored: of each in the mirror
    """

    content: Float[Tensor, " number"]
    weights: Float[Tensor, " patch"]
    mirrored: Float[Tensor, " patch"]


def guess(
    patches: Patches, hidden: int, *, temperature: float | int = 0.002, mirror: bool = True
) -> Guess:
    """Hide a patch and guess it. With a very high temperature: the mean of all that may answer."""
    asked = patches.inside[hidden]
    attention = Attention(Nearness(temperature))
    attended = attention(
        query=patches.rings[hidden : hidden + 1, asked],
        keys=patches.rings[:, asked],
        values=patches.contents,
        keep=may_answer(patches, hidden, mirror=mirror)[None],
    )
    weights = attended.weights[0]
    return Guess(
        content=attended.context[0],
        weights=weights[: patches.count],
        mirrored=weights[patches.count :],
    )


def error(one: Float[Tensor, "*batch number"], other: Float[Tensor, "*batch number"]) -> Tensor:
    """Root mean square of the difference, in 255ths when colours are from 0 to 1."""
    return 255 * ((one - other) ** 2).mean(dim=-1).sqrt()


def even(patches: Patches, hidden: int, *, mirror: bool = True) -> Float[Tensor, " number"]:
    """The mean of all that may answer: a guess that looks everywhere alike."""
    return patches.contents[may_answer(patches, hidden, mirror=mirror)].mean(dim=0)


def around(patches: Patches, hidden: int) -> Float[Tensor, " number"]:
    """The mean colour of the ring, everywhere: a guess that looks no further than the edge."""
    there = patches.inside[hidden]
    channels = patches.contents.shape[1] // patches.size**2
    rings, wide = patches.rings[hidden].view(channels, -1), there.view(channels, -1)
    colour = (rings * wide).sum(dim=1) / wide.sum(dim=1)
    return colour.repeat_interleave(patches.size**2)
