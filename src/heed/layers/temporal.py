"""What SNAIL is built from: convolutions that look back a fixed way, attention that looks back
anywhere (Mishra, Rohaninejad, Chen & Abbeel 2018, arXiv:1707.03141, section 3).

Every block keeps what comes in and puts what it found beside it: sequences grow wider, never
longer. No block sees what comes later.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heed.attention import masked_softmax
from heed.masks import causal
from heed.scores import ScaledDot

Dilations = Literal["from_one", "as_printed"]
Over = Literal["keys", "queries"]

Past = tuple[Float[Tensor, "batch 1 _"], ...]
"""The last R inputs of a convolution, oldest first; a tuple, so that keeping copies nothing."""


class CausalConvolution(nn.Module):
    """y_t = W_past x_{t−R} + W_now x_t + b: a convolution of kernel size 2 and dilation R

    x is 0 before the first step. ``W`` is [W_past, W_now].
    """

    def __init__(self, *, d_input: int, d_output: int, dilation: int) -> None:
        super().__init__()
        if dilation < 1:
            raise ValueError(f"dilation={dilation}, but a step back is one step at least")
        self.dilation = dilation
        self.W = nn.Linear(2 * d_input, d_output)

    def forward(
        self, x: Float[Tensor, "batch step d_input"]
    ) -> Float[Tensor, "batch step d_output"]:
        # What has gone through W_past is moved, not x: it is narrower.
        W_past, W_now = self.W.weight.chunk(2, dim=-1)
        R = min(self.dilation, x.shape[1])
        past = F.pad(F.linear(x[:, : x.shape[1] - R], W_past), (0, 0, R, 0))
        return past + F.linear(x, W_now, self.W.bias)

    def start(self, batch: int) -> Past:
        """What came before the first step."""
        nothing = self.W.weight.new_zeros(batch, 1, self.W.in_features // 2)
        return (nothing,) * self.dilation

    def step(
        self, past: Past, x: Float[Tensor, "batch 1 d_input"]
    ) -> tuple[Past, Float[Tensor, "batch 1 d_output"]]:
        """One step, without going through the others again."""
        return (*past[1:], x), self.W(torch.cat([past[0], x], dim=-1))


class DenseBlock(nn.Module):
    """DenseBlock(R, D): x_f, x_g = two causal convolutions of x; [x; tanh(x_f) ∘ σ(x_g)]

    R is ``dilation`` and D ``filters``. Both convolutions are computed as one.
    """

    def __init__(self, *, d_input: int, dilation: int, filters: int) -> None:
        super().__init__()
        self.both = CausalConvolution(d_input=d_input, d_output=2 * filters, dilation=dilation)
        self.d_output = d_input + filters

    def forward(
        self, x: Float[Tensor, "batch step d_input"]
    ) -> Float[Tensor, "batch step d_output"]:
        return beside(x, self.both(x))

    def start(self, batch: int) -> Past:
        """What came before the first step."""
        return self.both.start(batch)

    def step(
        self, past: Past, x: Float[Tensor, "batch 1 d_input"]
    ) -> tuple[Past, Float[Tensor, "batch 1 d_output"]]:
        """One step, without going through the others again."""
        past, both = self.both.step(past, x)
        return past, beside(x, both)


def beside(
    x: Float[Tensor, "batch step d_input"], both: Float[Tensor, "batch step double"]
) -> Float[Tensor, "batch step d_output"]:
    """[x; tanh(x_f) ∘ σ(x_g)] from x and [x_f; x_g]."""
    x_f, x_g = both.chunk(2, dim=-1)
    return torch.cat([x, torch.tanh(x_f) * torch.sigmoid(x_g)], dim=-1)


def dilations(steps: int, kind: Dilations = "from_one") -> tuple[int, ...]:
    """The dilations of TCBlock(T, D), ⌈log₂ T⌉ of them.

    ``"from_one"``: 1, 2, 4, …: every step back from 0 to T − 1 is a sum of some of them, and of
    only one choice. ``"as_printed"``: 2, 4, 8, …, what the paper's pseudocode says with
    ``for i in 1, …, ⌈log₂ T⌉: DenseBlock(2^i, D)``. Sums of even numbers are even: whatever is an
    odd number of steps back is never seen.
    """
    if steps < 2:
        raise ValueError(f"steps={steps}: there is nothing to look back at")
    if kind not in get_args(Dilations):
        raise ValueError(f"dilations={kind!r} is none of {', '.join(get_args(Dilations))}")
    first = 0 if kind == "from_one" else 1
    return tuple(2 ** (first + i) for i in range((steps - 1).bit_length()))


class TemporalBlock(nn.Module):
    """TCBlock(T, D): one DenseBlock for each of ``dilations``, D filters each."""

    def __init__(
        self, *, d_input: int, steps: int, filters: int, kind: Dilations = "from_one"
    ) -> None:
        super().__init__()
        self.blocks = nn.Sequential()
        self.d_output = d_input
        for dilation in dilations(steps, kind):
            block = DenseBlock(d_input=self.d_output, dilation=dilation, filters=filters)
            self.blocks.append(block)
            self.d_output = block.d_output

    def forward(
        self, x: Float[Tensor, "batch step d_input"]
    ) -> Float[Tensor, "batch step d_output"]:
        return self.blocks(x)

    def start(self, batch: int) -> tuple[Past, ...]:
        """What its convolutions keep before the first step."""
        return tuple(block.start(batch) for block in self._dense())

    def step(
        self, past: tuple[Past, ...], x: Float[Tensor, "batch 1 d_input"]
    ) -> tuple[tuple[Past, ...], Float[Tensor, "batch 1 d_output"]]:
        """One step, without going through the others again."""
        kept = []
        for block, before in zip(self._dense(), past, strict=True):
            before, x = block.step(before, x)
            kept.append(before)
        return tuple(kept), x

    def _dense(self) -> list[DenseBlock]:
        return [block for block in self.blocks if isinstance(block, DenseBlock)]


@dataclass(frozen=True)
class Seen:
    """Keys and values of the steps so far: all that an attention block keeps of them."""

    keys: Float[Tensor, "batch key d_key"]
    values: Float[Tensor, "batch key d_value"]


@dataclass(frozen=True)
class Remembered:
    """The sequence with what each step found beside it, and where it looked."""

    x: Float[Tensor, "batch step d_output"]
    weights: Float[Tensor, "batch step key"]


class AttentionBlock(nn.Module):
    """AttentionBlock(K, V): keys, queries = W_k x, W_q x;  probs = softmax(queries keysᵀ / √K)
    [x; probs W_v x], no step looking ahead

    Each W has a bias. A step may look at itself, and the first one can look nowhere else.

    over: what the softmax runs over. ``"queries"`` is a fault of public code, here to be measured:
        a step's weights then do not sum to one, and depend on what comes later.
    """

    def __init__(self, *, d_input: int, d_key: int, d_value: int, over: Over = "keys") -> None:
        super().__init__()
        if over not in get_args(Over):
            raise ValueError(f"over={over!r} is none of {', '.join(get_args(Over))}")
        self.over = over
        self.W_q, self.W_k = nn.Linear(d_input, d_key), nn.Linear(d_input, d_key)
        self.W_v = nn.Linear(d_input, d_value)
        self.score = ScaledDot()
        self.d_output = d_input + d_value

    def forward(
        self,
        x: Float[Tensor, "batch step d_input"],
        *,
        there: Bool[Tensor, "batch step"] | None = None,
    ) -> Remembered:
        """there: False for steps that only fill up a batch. They come last, so nobody looks at
        them; only a softmax over queries has to be told, for they would look, too."""
        keep = causal(x.shape[1], device=x.device)
        scores = self.score(self.W_q(x), self.W_k(x))
        if self.over == "keys":
            weights = masked_softmax(scores, keep)
        else:
            asking = keep if there is None else keep & there[..., None]
            weights = masked_softmax(scores.mT, asking.mT).mT
        return Remembered(torch.cat([x, weights @ self.W_v(x)], dim=-1), weights)

    def start(self, batch: int) -> Seen:
        """Before the first step there is nothing to look at."""
        if self.over == "queries":
            raise ValueError(
                "over='queries': where a step looks depends on later ones, so none can go ahead"
            )
        empty = self.W_k.weight.new_zeros
        return Seen(empty(batch, 0, self.W_k.out_features), empty(batch, 0, self.W_v.out_features))

    def step(self, seen: Seen, x: Float[Tensor, "batch 1 d_input"]) -> tuple[Seen, Remembered]:
        """One step, without going through the others again."""
        keys = torch.cat([seen.keys, self.W_k(x).to(seen.keys.dtype)], dim=1)
        values = torch.cat([seen.values, self.W_v(x).to(seen.values.dtype)], dim=1)
        weights = masked_softmax(self.score(self.W_q(x), keys))
        out = Remembered(torch.cat([x, weights @ values], dim=-1), weights)
        return Seen(keys, values), out
