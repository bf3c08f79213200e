"""What goes wrong when attention is wired wrongly, measured: the mask and axis laboratory.

A sentence attends to itself: queries W_q x, keys W_k x, values x, scaled dot products. ``Wiring``
says how the masks and the softmax are joined; one choice of each is right. ``leaks`` then asks of
the layer what any attention must promise, by changing what must not matter and looking at whether
it did. No promise needs the right answer to be known.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heed.attention import Attended
from heed.masks import causal

Padding = Literal["before", "after", "none"]
Over = Literal["keys", "queries"]

PROMISES = {
    "sum": "the shares of each real word add up to one",
    "padding": "nothing falls on padding",
    "filling": "what stands on the padding makes no difference",
    "ahead": "a word does not see the words behind it",
    "question": "a word's question moves its own row alone",
}
"""By name, what is asked. ``leaks`` says of each how badly it is broken; 0 means that it holds."""


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """padding: the mask of padding works ``"before"`` the softmax (right), ``"after"`` it, by
        setting weights to zero, or not at all (``"none"``)
    causal: no word looks at those behind it; a reader needs none, a writer must have it
    over: the softmax runs over the ``"keys"`` (right) or over the ``"queries"``
    swapped: keys ask and queries answer: the score of (i, j) is that of (j, i)
    """

    padding: Padding = "before"
    causal: bool = False
    over: Over = "keys"
    swapped: bool = False

    def __post_init__(self) -> None:
        for name, known in (("padding", get_args(Padding)), ("over", get_args(Over))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A sentence with padding behind it, and everything needed to attend to it and to disturb it.

    x: the words' vectors; real: how many of them are words; W_q, W_k: what makes queries and keys
    other: vectors to put in the place of x where something is changed
    """

    x: Float[Tensor, "word d"]
    other: Float[Tensor, "word d"]
    W_q: Float[Tensor, "d d"]
    W_k: Float[Tensor, "d d"]
    real: int

    @classmethod
    def of(cls, *, words: int = 5, padding: int = 2, d: int = 4, seed: int = 0) -> "Bench":
        """Drawn from N(0, 1), W from N(0, 1/d), in float64."""
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        n = words + padding
        return cls(
            x=draw(n, d),
            other=draw(n, d),
            W_q=draw(d, d) / math.sqrt(d),
            W_k=draw(d, d) / math.sqrt(d),
            real=words,
        )

    @property
    def keep(self) -> Bool[Tensor, " word"]:
        """True for words, False for padding."""
        return torch.arange(len(self.x)) < self.real


def attend(
    wiring: Wiring,
    bench: Bench,
    x: Float[Tensor, "word d"] | None = None,
    *,
    query: Float[Tensor, "word d"] | None = None,
) -> Attended:
    """The layer, wired as said. x, query: other vectors than the bench's own to put in.

    weights[i, j]: how much word i takes of word j. A column or row without a kept score gets zeros.
    """
    x = bench.x if x is None else x
    query = x @ bench.W_q if query is None else query
    scores = query @ (x @ bench.W_k).mT / math.sqrt(x.shape[-1])
    if wiring.swapped:
        scores = scores.mT
    keep = bench.keep.expand(len(x), -1) if wiring.padding == "before" else None
    if wiring.causal:
        ahead = causal(len(x))
        keep = ahead if keep is None else keep & ahead
    if keep is not None:
        scores = scores.masked_fill(~keep, float("-inf"))
    weights = scores.softmax(dim=-1 if wiring.over == "keys" else -2).nan_to_num(0.0)
    if wiring.padding == "after":
        weights = weights * bench.keep
    return Attended(context=weights @ x, weights=weights)


def leaks(wiring: Wiring, bench: Bench | None = None) -> Mapping[str, float]:
    """How far each of ``PROMISES`` is from being kept, over the real words.

    ``sum``: the largest distance of a row's sum from one. ``padding``: the largest share that
    falls on padding. The others: the largest change of a context (``question``: of a weight in
    another row) when padding, the words behind, or one word's query are exchanged.
    """
    bench = Bench.of() if bench is None else bench
    words, n = bench.real, len(bench.x)
    whole = attend(wiring, bench)
    filled = torch.where(bench.keep[:, None], bench.x, bench.other)
    ahead = questions = 0.0
    for t in range(words):
        behind = torch.arange(n) > t
        later = torch.where((behind & bench.keep)[:, None], bench.other, bench.x)
        ahead = max(ahead, _apart(attend(wiring, bench, later).context[t], whole.context[t]))
        asked = bench.x @ bench.W_q
        asked[t] = bench.other[t] @ bench.W_q
        moved = attend(wiring, bench, query=asked).weights
        rest = [i for i in range(words) if i != t]
        questions = max(questions, _apart(moved[rest], whole.weights[rest]))
    return {
        "sum": _apart(whole.weights[:words].sum(dim=-1), torch.ones(words, dtype=torch.float64)),
        "padding": float(whole.weights[:words, words:].max()) if words < n else 0.0,
        "filling": _apart(attend(wiring, bench, filled).context[:words], whole.context[:words]),
        "ahead": ahead,
        "question": questions,
    }


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max()) if a.numel() else 0.0
