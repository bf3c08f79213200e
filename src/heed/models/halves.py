"""A small network that says what half a picture of twins shows: the judge of the Fréchet distance,
which wants features that somebody has learnt for something else."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from heed.data.twins import HALF, SHAPES, SIDE


@dataclass(frozen=True, kw_only=True)
class HalfReaderConfig:
    """channels: of its three maps, each at half the resolution of the one before; d_features: what
    is kept of a half"""

    channels: tuple[int, int, int] = (16, 32, 32)
    d_features: int = 16


@dataclass(frozen=True)
class Seen:
    """Scores of the shapes; the hue as a point on the circle, (cos 2πh, sin 2πh); and what both
    are made from."""

    shape: Float[Tensor, "half shape"]
    hue: Float[Tensor, "half 2"]
    features: Float[Tensor, "half feature"]


class HalfReader(nn.Module):
    """Three convolutions at half the resolution each, one layer of features, two answers."""

    def __init__(self, config: HalfReaderConfig) -> None:
        super().__init__()
        self.config = config
        layers: list[nn.Module] = []
        for d_in, d_out in zip((3, *config.channels), config.channels, strict=False):
            layers += [
                nn.Conv2d(d_in, d_out, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(d_out),
                nn.ReLU(),
            ]
        self.see = nn.Sequential(*layers)
        places = (SIDE // 8) * (HALF // 8)
        self.features = nn.Linear(config.channels[-1] * places, config.d_features)
        self.shape = nn.Linear(config.d_features, len(SHAPES))
        self.hue = nn.Linear(config.d_features, 2)

    def forward(self, halves: Float[Tensor, "half 3 row column"]) -> Seen:
        """halves: from 0 to 1, as ``heed.data.twins.split`` gives them."""
        if halves.shape[-2:] != (SIDE, HALF):
            shape = " × ".join(map(str, halves.shape[-2:]))
            raise ValueError(f"a half of {shape} pixels: this net reads {SIDE} × {HALF}")
        features = nn.functional.relu(self.features(self.see(halves).flatten(1)))
        return Seen(self.shape(features), self.hue(features), features)
