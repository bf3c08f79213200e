"""Self-attention over the pixels of a map (Zhang, Goodfellow, Metaxas & Odena 2018,
arXiv:1805.08318, section 3). The paper numbers few equations; those named here are in the order in
which they stand there."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from heed.attention import Attention
from heed.scores import Dot

Form = Literal["first", "later", "released"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class Looked:
    """The map with what its pixels saw, and where each of them looked if that was asked for."""

    y: Float[Tensor, "batch channel row column"]
    weights: Float[Tensor, "batch pixel place"] | None


class PixelAttention(nn.Module):
    """s_ij = f(x_i)ᵀ g(x_j)                                       (section 3, in the text)
    β_j,i = exp(s_ij) / Σ_i exp(s_ij)                              (Eq. 1)
    o_j = v(Σ_i β_j,i h(x_i))                                      (Eq. 2)
    y_j = γ o_j + x_j,  γ = 0 at first                             (Eq. 3)

    Each pixel j looks at all pixels i: the softmax is over i, and ``weights[:, j, i]`` is β_j,i.
    f, g, h and v are 1 × 1 convolutions, so f makes keys, g queries and h values; nothing is
    divided by √d. The three forms differ in widths and in what is looked at:

    ``"first"``     the paper's first version: f, g: C → C/8, h: C → C, no v
    ``"later"``     the paper as published: f, g, h: C → C/8, v: C/8 → C
    ``"released"``  the authors' code: f, g: C → C/8, h: C → C/2, v: C/2 → C, none with a bias; f
                    and h are halved to 2 × 2 maxima, so that there are N/4 places to look at. Its
                    names are φ for our f, θ for our g, and g for our h.

    spectral: divide each of the four matrices by its largest singular value (Miyato et al. 2018)

    Without ``weights`` the N × N map is never held: PyTorch's ``scaled_dot_product_attention``
    goes through it in blocks, on the way back, too.
    """

    def __init__(self, *, channels: int, form: Form = "released", spectral: bool = True) -> None:
        super().__init__()
        if channels < 8 or channels % 8:
            raise ValueError(f"channels={channels} cannot be divided by 8: keys are C/8 wide")
        if form not in FORMS:
            raise ValueError(f"form={form!r} is none of {', '.join(FORMS)}")
        self.form: Form = form
        d_k = channels // 8
        d_v = {"first": channels, "later": d_k, "released": channels // 2}[form]
        bias = form != "released"
        self.f = nn.Conv2d(channels, d_k, 1, bias=bias)
        self.g = nn.Conv2d(channels, d_k, 1, bias=bias)
        self.h = nn.Conv2d(channels, d_v, 1, bias=bias)
        self.v = None if form == "first" else nn.Conv2d(d_v, channels, 1, bias=bias)
        self.gamma = nn.Parameter(torch.zeros(()))
        self.attention = Attention(Dot())
        for each in (self.f, self.g, self.h, self.v):
            if each is not None:
                begin(each, spectral=spectral)

    def forward(
        self,
        x: Float[Tensor, "batch channel row column"],
        *,
        weights: bool = False,
        dial: float = 1.0,
    ) -> Looked:
        """One look of all pixels at all places.

        weights: hand back β, which is held then; dial: γ is multiplied by it
        """
        keys, queries, values = self.f(x), self.g(x), self.h(x)
        if self.form == "released":
            if x.shape[-2] % 2 or x.shape[-1] % 2:
                shape = " × ".join(map(str, x.shape[-2:]))
                raise ValueError(f"a map of {shape} pixels cannot be halved: use even sides")
            keys, values = F.max_pool2d(keys, 2), F.max_pool2d(values, 2)
        q, k, h = (each.flatten(2).mT for each in (queries, keys, values))
        if weights:
            attended = self.attention(q, k, h)
            seen, beta = attended.context, attended.weights
        else:
            seen, beta = in_blocks(q, k, h), None
        o = seen.mT.unflatten(-1, x.shape[-2:])
        if self.v is not None:
            o = self.v(o)
        # x first: the sum lies in memory as x does, and later layers round as they would without o
        return Looked(x + self.gamma * dial * o, beta)


def begin(layer: nn.Module, *, spectral: bool) -> None:
    """Orthogonal weights, whose singular values are all 1, and then spectral norm, which starts
    from the weights that are there. (The paper is silent on the first.)

    layer: a linear one, or a convolution
    """
    assert isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)
    nn.init.orthogonal_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    if spectral:
        spectral_norm(layer)


def in_blocks(
    query: Float[Tensor, "batch pixel d_k"],
    keys: Float[Tensor, "batch place d_k"],
    values: Float[Tensor, "batch place d_v"],
) -> Float[Tensor, "batch pixel d_v"]:
    """softmax(query keysᵀ) values, without the whole softmax in memory.

    On a processor PyTorch does so only if keys and values are equally wide, and the numbers of a
    pixel lie side by side in memory; zeros make them so, and change no product.
    """
    d_k, d_v = keys.shape[-1], values.shape[-1]
    wide = max(d_k, d_v)
    query, keys, values = (
        F.pad(each, (0, wide - each.shape[-1])).unsqueeze(1).contiguous()
        for each in (query, keys, values)
    )
    seen = F.scaled_dot_product_attention(query, keys, values, scale=1.0)
    return seen.squeeze(1)[..., :d_v]
