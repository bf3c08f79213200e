"""The Pointer Network (Vinyals, Fortunato & Jaitly 2015, arXiv:1506.03134).

Attention as the answer: the weights themselves are the output, a distribution over the inputs, so
one set of weights answers for any number of them.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heed.masks import padding
from heed.scores import Additive

Rule = Literal["free", "each_once", "polygon"]
"""What may be pointed at. ``"free"``: any point or ⇐, as in the paper's training. ``"each_once"``:
points that were not chosen yet, and ⇐ after all of them (so do Bello et al. 2016). ``"polygon"``:
the same, but ⇐ from the third point on."""


def allowed(
    rule: Rule, chosen: Bool[Tensor, "*batch key"], real: Bool[Tensor, "*#batch key"]
) -> Bool[Tensor, "*batch key"]:
    """Where the rule lets one point next. Key 0 is ⇐.

    chosen: the points that were pointed at so far; real: neither padding, and ⇐ is
    """
    if rule not in get_args(Rule):
        raise ValueError(f"rule={rule!r} is none of {', '.join(get_args(Rule))}")
    if rule == "free":
        return real.expand_as(chosen)
    left = real & ~chosen
    points = left[..., 1:]
    end = ~points.any(dim=-1) if rule == "each_once" else chosen[..., 1:].sum(dim=-1) >= 3
    # A polygon out of points may end, however few there were.
    return torch.cat([(end | ~points.any(dim=-1))[..., None], points], dim=-1)


@dataclass(frozen=True, kw_only=True)
class PointerConfig:
    """One layer of LSTM each, as in the paper, which has 256 or 512 units.

    d_input: of a point; rule: what holds in training, and in decoding unless another is named
    """

    d_input: int = 2
    d_hidden: int = 128
    rule: Rule = "free"

    def __post_init__(self) -> None:
        for name in ("d_input", "d_hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if self.rule not in get_args(Rule):
            raise ValueError(f"rule={self.rule!r} is none of {', '.join(get_args(Rule))}")


@dataclass(frozen=True)
class Encoded:
    """The inputs, read once. Key 0 belongs to ⇐.

    inputs: x_j, that of ⇐ is 0; keys: e_j; prepared: W_1 e_j; real: which keys there are
    h, c: the state after the last point
    """

    inputs: Float[Tensor, "batch key d_input"]
    keys: Float[Tensor, "batch key d_hidden"]
    prepared: Float[Tensor, "batch key d_align"]
    real: Bool[Tensor, "batch key"]
    h: Float[Tensor, "batch d_hidden"]
    c: Float[Tensor, "batch d_hidden"]


@dataclass(frozen=True)
class PointerState:
    """h and c of the decoder, what it reads next, and where it pointed so far."""

    h: Float[Tensor, "batch d_hidden"]
    c: Float[Tensor, "batch d_hidden"]
    x: Float[Tensor, "batch d_input"]
    chosen: Bool[Tensor, "batch key"]


@dataclass(frozen=True)
class PointerOutput:
    """All steps of given answers. ``logits`` are −∞ where the rule forbids to point."""

    logits: Float[Tensor, "batch step key"]
    weights: Float[Tensor, "batch step key"] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", self.logits.softmax(dim=-1))


class PointerNetwork(nn.Module):
    """u_j = vᵀ tanh(W_1 e_j + W_2 d_i),  p(C_i = j | C_1 … C_{i−1}, P) = softmax(u)_j

                                                                             (section 2.3)

    e_j and d_i are the states of the encoder at point j and of the decoder at step i. Three lines
    differ from Bahdanau et al. (2015): the weights are not used to blend the e_j, there is no
    output vocabulary, and what the decoder reads next is the *input* that was chosen, x_{C_{i−1}}.
    ⇒ is a learned input, ⇐ a learned e_0.

    Ours: W_1 and W_2 are U and W of ``Additive``.
    """

    def __init__(self, config: PointerConfig) -> None:
        super().__init__()
        self.config = config
        d = config.d_hidden
        self.encoder = nn.LSTM(config.d_input, d, batch_first=True)
        self.decoder = nn.LSTM(config.d_input, d, batch_first=True)
        self.score = Additive(d_q=d, d_k=d, d_hidden=d)
        self.begin = nn.Parameter(torch.zeros(config.d_input))
        self.end = nn.Parameter(torch.empty(d))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Everything evenly from −0.08 to 0.08 (section 4.1)."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.08, 0.08)

    def encode(
        self,
        points: Float[Tensor, "batch point d_input"],
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Encoded:
        """Read the points in their order. lengths: how many each row has, if not all alike."""
        batch, n = points.shape[:2]
        if lengths is None:
            keys, (h, c) = self.encoder(points)
            real = points.new_ones(batch, n, dtype=torch.bool)
        else:
            packed = pack_padded_sequence(
                points, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            found, (h, c) = self.encoder(packed)
            keys, _ = pad_packed_sequence(found, batch_first=True, total_length=n)
            real = padding(lengths, n).squeeze(1)
        keys = torch.cat([self.end.expand(batch, 1, -1), keys], dim=1)
        return Encoded(
            nn.functional.pad(points, (0, 0, 1, 0)),
            keys,
            self.score.prepare(keys),
            nn.functional.pad(real, (1, 0), value=True),
            h[0],
            c[0],
        )

    def start(self, encoded: Encoded) -> PointerState:
        """Nothing chosen yet; ⇒ is what will be read."""
        return PointerState(
            encoded.h,
            encoded.c,
            self.begin.expand(len(encoded.h), -1),
            torch.zeros_like(encoded.real),
        )

    def step(
        self, state: PointerState, encoded: Encoded, *, rule: Rule | None = None
    ) -> tuple[PointerState, Float[Tensor, "batch key"]]:
        """Read what was chosen, score every key. ``choose`` tells the state what was chosen."""
        _, (h, c) = self.decoder(state.x[:, None], (state.h[None], state.c[None]))
        u = self.score.compare(h[0][:, None], encoded.prepared).squeeze(1)
        keep = allowed(rule or self.config.rule, state.chosen, encoded.real)
        after = PointerState(h[0], c[0], state.x, state.chosen)
        return after, u.masked_fill(~keep, float("-inf"))

    def choose(
        self, state: PointerState, key: Int[Tensor, " batch"], encoded: Encoded
    ) -> PointerState:
        """The state in which this key was pointed at."""
        rows = torch.arange(len(key), device=key.device)
        chosen = state.chosen | nn.functional.one_hot(key, state.chosen.shape[1]).bool()
        return PointerState(state.h, state.c, encoded.inputs[rows, key], chosen)

    def forward(
        self,
        points: Float[Tensor, "batch point d_input"],
        answers: Int[Tensor, "batch step"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        rule: Rule | None = None,
    ) -> PointerOutput:
        """All steps of known answers (0 is ⇐), the decoder as one call: nothing of a step depends
        on where the network would have pointed. Steps after ⇐ mean nothing."""
        encoded = self.encode(points, lengths)
        wide = points.shape[-1]
        chosen = encoded.inputs.gather(1, answers[:, :-1, None].expand(-1, -1, wide))
        begin = self.begin.expand(len(points), 1, -1)
        d, _ = self.decoder(torch.cat([begin, chosen], dim=1), (encoded.h[None], encoded.c[None]))
        u = self.score.compare(d, encoded.prepared)
        pointed = nn.functional.one_hot(answers, u.shape[-1])
        before = (pointed.cumsum(dim=1) - pointed).bool()
        keep = allowed(rule or self.config.rule, before, encoded.real[:, None])
        return PointerOutput(u.masked_fill(~keep, float("-inf")))
