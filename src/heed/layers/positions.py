"""Where in the sentence a word stands, as a vector (Vaswani et al. 2017, section 3.5).

Attention is blind to order: exchange two words, and what each of them sees is exchanged, too. So
a vector that says the place is added to each word's. The kinds share one call:
``positions(count, start=…)`` gives the vectors of ``count`` places from ``start`` on. Places
count from 0. A ``start`` other than 0 moves the whole sentence: it is how a word is placed that
is written alone, after others, and how a laboratory shifts a sentence.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

PositionsName = Literal["sinusoids", "learned", "none"]
BASE = 10_000.0


class Sinusoids(nn.Module):
    """PE(pos, 2i) = sin(pos / 10000^{2i/d}),  PE(pos, 2i + 1) = cos(pos / 10000^{2i/d})

    The paper does not number it. Wavelengths grow from 2π to 10000 · 2π. No table is kept: any
    place has a vector, in training or beyond it, and between two words, too.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model={d_model} is odd: each frequency takes a sine and a cosine")
        self.d_model = d_model

    def forward(
        self, count: int, *, start: int | float = 0, device: torch.device | None = None
    ) -> Float[Tensor, "{count} d_model"]:
        places = torch.arange(count, device=device) + start
        angles = places[:, None] * self.frequencies(device=device)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)

    def frequencies(self, *, device: torch.device | None = None) -> Float[Tensor, " frequency"]:
        """1 / 10000^{2i/d}: the angles that one place more adds."""
        return torch.exp(
            torch.arange(0, self.d_model, 2, device=device) * (-math.log(BASE) / self.d_model)
        )


class Learned(nn.Module):
    """A vector for each of the first ``longest`` places, learnt like those of words.

    The paper tried them, too, "with nearly identical results" (Table 3, row E). There is nothing
    for a place beyond.
    """

    def __init__(self, *, d_model: int, longest: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(longest, d_model))
        nn.init.normal_(self.table)  # an entry as large as those of a word's vector × √d

    def forward(
        self, count: int, *, start: int | float = 0, device: torch.device | None = None
    ) -> Float[Tensor, "{count} d_model"]:
        if start != int(start) or start < 0 or start + count > len(self.table):
            raise ValueError(
                f"places {start:g} to {start + count - 1:g} are not all among the "
                f"{len(self.table)} that were learnt, 0 to {len(self.table) - 1}"
            )
        return self.table[int(start) : int(start) + count]


class NoPositions(nn.Module):
    """Zeros: nothing is said of the place. An encoder then takes a sentence for a bag of words."""

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    def forward(
        self, count: int, *, start: int | float = 0, device: torch.device | None = None
    ) -> Float[Tensor, "{count} d_model"]:
        return torch.zeros(count, self.d_model, device=device)


def positions_of(name: str, *, d_model: int, longest: int) -> Sinusoids | Learned | NoPositions:
    """The kind that a config names; only ``"learned"`` has a ``longest`` place."""
    match name:
        case "sinusoids":
            return Sinusoids(d_model=d_model)
        case "learned":
            return Learned(d_model=d_model, longest=longest)
        case "none":
            return NoPositions(d_model=d_model)
    raise ValueError(f"positions={name!r} is none of {', '.join(get_args(PositionsName))}")
