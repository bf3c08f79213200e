"""Where a model looks, decided by somebody else: what a lab's reader does to a translator.

The model itself is never touched. ``Steered`` works with shallow copies whose attention is another
one; all weights are shared, so a change in the model shows in its steered twin at once.

Everything here exists a second time in ``labs/frontend/steering.js`` for the static page, number
for number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.attention import Attention
from heed.evaluation.otherwise import Otherwise
from heed.layers.local import LocalAttention
from heed.models.bahdanau import Bahdanau
from heed.models.luong import Luong
from heed.models.translator import DecoderOutput, StepOutput
from heed.scores import Score

LOOKS = ("own", "uniform", "shuffled", "yours")
COOLEST, HOTTEST = 0.1, 5.0

_32_BITS = 0xFFFF_FFFF
_Module = TypeVar("_Module", bound=nn.Module)


def mulberry32(seed: int) -> Iterator[float]:
    """Random numbers in [0, 1), the same in every language that can multiply 32-bit integers.

    All arithmetic is unsigned and modulo 2³²; >> shifts zeros in:

        a ← a + 0x6D2B79F5          (a is the seed at first)
        t ← (a ⊕ a>>15) · (a | 1)
        t ← t ⊕ (t + (t ⊕ t>>7) · (t | 61))
        number = (t ⊕ t>>14) / 2³²

    The generator is Tommy Ettinger's, in the form that JavaScript programmers pass around.
    """
    a = seed & _32_BITS
    while True:
        a = (a + 0x6D2B79F5) & _32_BITS
        t = ((a ^ a >> 15) * (a | 1)) & _32_BITS
        t ^= (t + (t ^ t >> 7) * (t | 61)) & _32_BITS
        yield (t ^ t >> 14) / 2**32


@lru_cache
def permutation(count: int, seed: int) -> tuple[int, ...]:
    """The numbers 0 … count − 1 shuffled as Fisher and Yates do, with ``mulberry32(seed)``.

    For i from count − 1 down to 1: j = ⌊random · (i + 1)⌋, and places i and j change contents.
    """
    random = mulberry32(seed)
    places = list(range(count))
    for i in range(count - 1, 0, -1):
        j = int(next(random) * (i + 1))
        places[i], places[j] = places[j], places[i]
    return tuple(places)


# ---------------------------------------------------------------------------- the parts


class Tempered(Score):
    """score(s, h) / τ: below 1 the largest weight grows, above 1 the weights even out."""

    def __init__(self, score: Score, temperature: float) -> None:
        super().__init__()
        self.score = score
        self.temperature = temperature

    def prepare(self, keys: Float[Tensor, "*batch key d_k"]) -> Float[Tensor, "*batch key _"]:
        return self.score.prepare(keys)

    def compare(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_p"],
    ) -> Float[Tensor, "*batch query key"]:
        return self.score.compare(query, prepared) / self.temperature


class Gaze(nn.Module):
    """A rule that turns the row which the model would choose into another one."""

    def forward(
        self, own: Float[Tensor, "batch key"], keep: Bool[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key"]:
        raise NotImplementedError


class Uniform(Gaze):
    """α_j = 1/n over the n positions that may be looked at."""

    def forward(
        self, own: Float[Tensor, "batch key"], keep: Bool[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key"]:
        return keep.to(own.dtype) / keep.sum(dim=-1, keepdim=True)


class Shuffled(Gaze):
    """The model's own weights at the wrong places: α′ at the i-th kept position is α at the
    p_i-th, where p = ``permutation(n, seed)`` is the same for all words of a sentence.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def forward(
        self, own: Float[Tensor, "batch key"], keep: Bool[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key"]:
        looked = own.clone()
        for row, kept in enumerate(keep):
            places = kept.nonzero()[:, 0]
            looked[row, places] = own[row, places[list(permutation(len(places), self.seed))]]
        return looked


class Chosen(Gaze):
    """Equal shares over ``keys``, as far as they may be looked at; the model's own row if none."""

    def __init__(self, keys: Sequence[int]) -> None:
        super().__init__()
        self.keys = keys

    def forward(
        self, own: Float[Tensor, "batch key"], keep: Bool[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key"]:
        wanted = torch.zeros_like(keep)
        wanted[:, [key for key in self.keys if 0 <= key < keep.shape[-1]]] = True
        wanted = wanted & keep
        found = wanted.sum(dim=-1, keepdim=True)
        return torch.where(found > 0, wanted.to(own.dtype) / found.clamp(min=1), own)


class Forced(Otherwise):
    """An attention whose row is replaced by what a ``Gaze`` makes of it; the context follows.

    There is one query, that of a decoder step.
    """

    def __init__(self, attention: Attention | LocalAttention, gaze: Gaze) -> None:
        super().__init__(attention, lambda own, keep: gaze(own[:, 0], keep[:, 0])[:, None])


class Held(nn.Module):
    """In place of ``Monotonic`` or ``Predicted``: a window that is held where somebody says."""

    def __init__(self, place: float | int) -> None:
        super().__init__()
        self.place = place

    def forward(
        self,
        query: Float[Tensor, "batch query d_q"],
        steps: Float[Tensor, "batch query"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch query"]:
        return torch.full_like(steps, self.place)


@dataclass(frozen=True, kw_only=True)
class Window:
    """Where the window of a ``Luong`` is, and how wide. What is not said stays the model's own.

    radius: D, in words to each side; sigma: σ of the Gaussian, ``math.inf`` for none
    places: p_t of single steps, counted from 0; still: p_t of all others
    monotonic: p_t = t in steps of which nothing else is said

    Global attention has a window in those steps alone for which a place is said.
    """

    radius: float | int | None = None
    sigma: float | int | None = None
    places: Mapping[int, float | int] = field(default_factory=dict)
    still: float | int | None = None
    monotonic: bool = False

    def place(self, step: int) -> float | int | None:
        """p_t as it is said for this step; ``None`` leaves it to the model."""
        if step in self.places:
            return self.places[step]
        return self.still if self.still is not None else step if self.monotonic else None

    def around(self, model: Luong, step: int) -> Luong:
        """The model with this window, for one step."""
        place, own = self.place(step), model.attention
        if place is None and model.places is None:
            return model
        radius, sigma, renormalise = math.inf, None, False
        if isinstance(own, LocalAttention):
            radius, sigma, renormalise = own.radius, own.sigma, own.renormalise
        radius = radius if self.radius is None else self.radius
        sigma = sigma if self.sigma is None else None if math.isinf(self.sigma) else self.sigma
        local = LocalAttention(own.score, radius=radius, sigma=sigma, renormalise=renormalise)
        twin = with_parts(model, attention=local)
        return twin if place is None else with_parts(twin, places=Held(place))


@dataclass(frozen=True)
class SteeredState:
    """The decoder's own memory, and how many words are written: each row of a batch has as many."""

    own: Any
    step: Int[Tensor, " batch"]


# ---------------------------------------------------------------------------- the whole


class Steered(nn.Module):
    """A Bahdanau or Luong that looks where it is told to; a ``Translator`` itself, so greedy and
    beam search, forced weights and metrics work on it as on any other.

    temperature: divides the scores, from 0.1 to 5
    hidden: source positions that cannot be looked at (the last is the sentence's ``EOS``). What
        would leave nothing to look at is ignored, and so are positions beyond the sentence.
    look: ``"own"`` leaves the weights alone; ``"uniform"``, ``"shuffled"`` (with ``shuffle`` as
        the seed) and ``"yours"`` (equal shares over ``rows[step]``, steps counted from 0) replace
        them. The state and every later word change with them.
    only: the one step that ``look`` is about; −1 for all of them
    window: for a Luong; where ``look`` replaces the weights, it does so outside the window too
    """

    def __init__(
        self,
        translator: Any,
        *,
        temperature: float = 1.0,
        hidden: Sequence[int] = (),
        look: str = "own",
        rows: Mapping[int, Sequence[int]] | None = None,
        shuffle: int = 0,
        only: int = -1,
        window: Window | None = None,
    ) -> None:
        super().__init__()
        kind = type(translator).__name__
        if not isinstance(translator, Bahdanau | Luong):
            raise TypeError(f"only a Bahdanau or a Luong can be steered, not a {kind}")
        if window is not None and not isinstance(translator, Luong):
            raise TypeError(f"only a Luong has a window that can be moved, not a {kind}")
        if not COOLEST <= temperature <= HOTTEST:
            raise ValueError(f"temperature={temperature} is not from {COOLEST} to {HOTTEST:g}")
        if look not in LOOKS:
            raise ValueError(f"look={look!r} is none of {', '.join(LOOKS)}")
        self.temperature = temperature
        self.hidden = tuple(hidden)
        self.look = look
        self.rows = {step: tuple(keys) for step, keys in (rows or {}).items()}
        self.shuffle = shuffle
        self.only = only
        self.window = window
        self.translator: Bahdanau | Luong = translator
        if temperature != 1.0:
            own = translator.attention
            tempered = with_parts(own, score=Tempered(own.score, temperature))
            self.translator = with_parts(translator, attention=tempered)

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Any:
        """Read the sentence; hidden positions are read too, but cannot be looked at later."""
        encoded = self.translator.encode(source, source_lengths)
        shown = encoded.keep.clone()
        shown[..., [j for j in self.hidden if 0 <= j < source.shape[1]]] = False
        nothing = ~shown.any(dim=-1, keepdim=True)
        return replace(encoded, keep=torch.where(nothing, encoded.keep, shown))

    def start(self, encoded: Any) -> SteeredState:
        """Before any word."""
        step = torch.zeros(len(encoded.keep), dtype=torch.long, device=encoded.keep.device)
        return SteeredState(self.translator.start(encoded), step)

    def at(self, step: int) -> Bahdanau | Luong:
        """The model as it is in one step."""
        model, gaze = self.translator, self._gaze(step)
        if self.window is not None and isinstance(model, Luong):
            model = self.window.around(model, step)
        if gaze is not None:
            model = with_parts(model, attention=Forced(model.attention, gaze))
        return model

    def step(
        self, state: SteeredState, token: Int[Tensor, " batch"], encoded: Any
    ) -> tuple[SteeredState, StepOutput]:
        """One word on, looking where this step has to look."""
        own, out = self.at(int(state.step[0])).step(state.own, token, encoded)
        return SteeredState(own, state.step + 1), out

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput:
        """Teacher forcing, step by step."""
        encoded = self.encode(source, source_lengths)
        state, outs = self.start(encoded), []
        for token in target_in.unbind(1):
            state, out = self.step(state, token, encoded)
            outs.append(out)
        weights = torch.stack([out.weights for out in outs], 1).unsqueeze(1)
        places = [out.places for out in outs if out.places is not None]
        return DecoderOutput(
            torch.stack([out.logits for out in outs], 1),
            {"cross": weights},
            torch.stack(places, 1) if len(places) == len(outs) else None,
        )

    def _gaze(self, step: int) -> Gaze | None:
        """What replaces the model's own row at this step; ``None`` leaves it."""
        if self.only not in (-1, step):
            return None
        match self.look:
            case "uniform":
                return Uniform()
            case "shuffled":
                return Shuffled(self.shuffle)
            case "yours" if step in self.rows:
                return Chosen(self.rows[step])
        return None


def with_parts(module: _Module, **parts: nn.Module) -> _Module:
    """A twin of ``module`` with some parts exchanged; all others are the same objects."""
    twin = module.__new__(type(module))
    plain = {name: value for name, value in vars(module).items() if name not in parts}
    twin.__dict__ = {**plain, "_modules": {**module._modules, **parts}}
    return twin
