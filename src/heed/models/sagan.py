"""Self-attention generative adversarial networks (Zhang, Goodfellow, Metaxas & Odena 2018,
arXiv:1805.08318), at 32 × 32 pixels and without classes, and the DCGAN (Radford, Metz & Chintala
2015, arXiv:1511.06434) that is left when the attention goes.

A *generator* makes pictures from z, a *discriminator* gives a picture a number: above 0 it takes it
for a real one. What they are taught stands in ``heed.training.adversarial``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from heed.layers.pixels import FORMS, Form, PixelAttention, begin

SIDE = 32
MAPS = (4, 8, 16)
"""Sides of the maps between z, or a score, and the picture."""


@dataclass(frozen=True, kw_only=True)
class SAGANConfig:
    """Sizes and choices. The paper's: 128 × 128 pixels, d_z = 128, a thousand classes.

    d_z: width of z, whose numbers are normal
    generator, discriminator: channels of the maps of 4 × 4, 8 × 8 and 16 × 16, in this order
    generator_attention, discriminator_attention: side of the map whose pixels look at each other;
        0 for none, which is a DCGAN with spectral norm
    form: of the attention, see ``PixelAttention``
    spectral: divide every weight of both nets by its largest singular value (Miyato et al. 2018)

    What training does (``heed.training.adversarial``); nothing of it changes what a model draws:

    generator_rate: the generator's learning rate, as a multiple of the discriminator's. The paper:
        1e-4 / 4e-4 = 1/4
    beta_1, beta_2: of Adam. The paper has 0 and 0.9; the authors' code sets only the first, so that
        its second is 0.999.
    memory: share of itself that the mean of the generators keeps at a step; not in the paper
    """

    d_z: int = 16
    generator: tuple[int, int, int] = (96, 64, 32)
    discriminator: tuple[int, int, int] = (96, 64, 32)
    generator_attention: int = 16
    discriminator_attention: int = 4
    form: Form = "released"
    spectral: bool = True
    generator_rate: float = 0.25
    beta_1: float = 0.0
    beta_2: float = 0.9
    memory: float = 0.999

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ValueError(f"form={self.form!r} is none of {', '.join(FORMS)}")
        for net in ("generator", "discriminator"):
            side = getattr(self, f"{net}_attention")
            if side not in (0, *MAPS):
                raise ValueError(
                    f"{net}_attention={side} is no map's side: use 4, 8 or 16, or 0 for none"
                )
        for name in ("beta_1", "beta_2", "memory"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be from 0 to below 1")
        if self.generator_rate <= 0:
            raise ValueError(f"generator_rate={self.generator_rate} must be above 0")


@dataclass(frozen=True)
class Drawn:
    """Pictures from −1 to 1, and where the pixels of the attended map looked, if that was asked
    for and there is attention."""

    pictures: Float[Tensor, "batch 3 32 32"]
    weights: Float[Tensor, "batch pixel place"] | None


@dataclass(frozen=True)
class Judged:
    """A number for each picture, above 0 for a real one; weights as in ``Drawn``."""

    scores: Float[Tensor, " batch"]
    weights: Float[Tensor, "batch pixel place"] | None


class Generator(nn.Module):
    """z → 4 × 4 → 8 × 8 → 16 × 16 → a picture: transposed convolutions of 4 × 4 weights that
    double the side, each but the last with batch norm and ReLU; tanh at the end.
    """

    def __init__(self, config: SAGANConfig, *, spectral: bool | None = None) -> None:
        super().__init__()
        spectral = config.spectral if spectral is None else spectral
        c4, c8, c16 = config.generator
        self.d_z, self.attended = config.d_z, config.generator_attention
        self.project = nn.Linear(config.d_z, c4 * 4 * 4, bias=False)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(d_in, d_out, 4, stride=2, padding=1, bias=d_out == 3)
            for d_in, d_out in ((c4, c8), (c8, c16), (c16, 3))
        )
        self.norm = nn.ModuleList(nn.BatchNorm2d(d) for d in config.generator)
        self.attention = attention(config, config.generator, self.attended, spectral=spectral)
        for each in (self.project, *self.up):
            begin(each, spectral=spectral)

    def forward(
        self, z: Float[Tensor, "batch d_z"], *, weights: bool = False, dial: float = 1.0
    ) -> Drawn:
        """weights, dial: as ``PixelAttention`` takes them."""
        if z.shape[-1] != self.d_z:
            raise ValueError(f"z has {z.shape[-1]} numbers: this generator wants {self.d_z}")
        x, beta = self.project(z).unflatten(-1, (-1, 4, 4)), None
        for side, norm, up in zip(MAPS, self.norm, self.up, strict=True):
            x = torch.relu(norm(x))
            if self.attention is not None and side == self.attended:
                looked = self.attention(x, weights=weights, dial=dial)
                x, beta = looked.y, looked.weights
            x = up(x)
        return Drawn(torch.tanh(x), beta)


class Discriminator(nn.Module):
    """A picture → 16 × 16 → 8 × 8 → 4 × 4 → a number: convolutions of 4 × 4 weights that halve the
    side, each but the last with a leaky ReLU; the last takes the whole map. No batch norm: a
    picture is judged by itself.

    So a place of the 4 × 4 map has seen 22 × 22 pixels and no more, and the score is a sum over
    these places: what is never seen by one of them at once is judged part by part. Attention is
    what changes that. It stands before the leaky ReLU, as in the authors' code, so that what was
    seen elsewhere and what is here meet in something that is not linear.
    """

    def __init__(self, config: SAGANConfig) -> None:
        super().__init__()
        c4, c8, c16 = config.discriminator
        self.attended = config.discriminator_attention
        self.down = nn.ModuleList(
            nn.Conv2d(d_in, d_out, 4, stride=2, padding=1)
            for d_in, d_out in ((3, c16), (c16, c8), (c8, c4))
        )
        self.attention = attention(
            config, config.discriminator, self.attended, spectral=config.spectral
        )
        self.last = nn.Conv2d(c4, 1, 4)
        for each in (*self.down, self.last):
            begin(each, spectral=config.spectral)

    def forward(
        self,
        pictures: Float[Tensor, "batch 3 row column"],
        *,
        weights: bool = False,
        dial: float = 1.0,
    ) -> Judged:
        """weights, dial: as ``PixelAttention`` takes them."""
        if pictures.shape[-2:] != (SIDE, SIDE):
            shape = " × ".join(map(str, pictures.shape[-2:]))
            raise ValueError(f"a picture of {shape} pixels: this net judges {SIDE} × {SIDE}")
        x, beta = pictures, None
        for side, down in zip(reversed(MAPS), self.down, strict=True):
            x = down(x)
            if self.attention is not None and side == self.attended:
                looked = self.attention(x, weights=weights, dial=dial)
                x, beta = looked.y, looked.weights
            x = nn.functional.leaky_relu(x, 0.1)
        return Judged(self.last(x).flatten(), beta)


def attention(
    config: SAGANConfig, channels: tuple[int, ...], side: int, *, spectral: bool
) -> PixelAttention | None:
    """The block for the map of this side; none for 0."""
    if not side:
        return None
    return PixelAttention(channels=channels[MAPS.index(side)], form=config.form, spectral=spectral)


class SAGAN(nn.Module):
    """Both nets, and the mean of the generators that training went through, which is the one that
    draws: ``model(z)``.

    The mean is over the weights that act, those already divided by their singular value, so it
    needs no spectral norm of its own. It has no gradient.
    """

    def __init__(self, config: SAGANConfig) -> None:
        super().__init__()
        self.config = config
        self.generator = Generator(config)
        self.discriminator = Discriminator(config)
        self.mean = Generator(config, spectral=False).requires_grad_(False)
        self.follow(memory=0.0)

    def forward(
        self, z: Float[Tensor, "batch d_z"], *, weights: bool = False, dial: float = 1.0
    ) -> Drawn:
        """Pictures by the mean generator."""
        return self.mean(z, weights=weights, dial=dial)

    @torch.no_grad()
    def follow(self, *, memory: float | None = None) -> None:
        """mean ← memory · mean + (1 − memory) · generator, weights and batch norm alike."""
        memory = self.config.memory if memory is None else memory
        was, new = dict(self.mean.named_parameters()), acting(self.generator)
        was |= {name: b for name, b in self.mean.named_buffers() if b.is_floating_point()}
        for name, value in was.items():
            value.lerp_(new[name].to(value.dtype), 1 - memory)

    @property
    def gammas(self) -> dict[str, float]:
        """γ of each net that has attention."""
        nets = {"generator": self.mean, "discriminator": self.discriminator}
        return {
            name: net.attention.gamma.item()
            for name, net in nets.items()
            if net.attention is not None
        }


def source(module: nn.Module) -> Tensor:
    """The weight that is learnt, whether or not it is divided by its singular value."""
    if is_parametrized(module, "weight"):
        return module.parametrizations["weight"].original  # pyright: ignore
    weight = module.weight
    assert isinstance(weight, Tensor)
    return weight


def normalised(net: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules whose weight is divided by its largest singular value, by name."""
    for name, module in net.named_modules():
        if is_parametrized(module, "weight"):
            yield name, module


@torch.no_grad()
def acting(net: nn.Module) -> dict[str, Tensor]:
    """Weights and buffers as they act, under the names that they have without spectral norm."""
    found = {
        name: tensor
        for name, tensor in (*net.named_parameters(), *net.named_buffers())
        if ".parametrizations." not in f".{name}"
    }
    for name, module in normalised(net):
        with resting(module):
            found[f"{name}.weight"] = module.weight.detach()  # pyright: ignore
    return found


class resting:
    """Inside, a module takes no step towards its singular vector when its weight is read."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.training = module, module.training

    def __enter__(self) -> None:
        self.module.eval()

    def __exit__(self, *_: object) -> None:
        self.module.train(self.training)
