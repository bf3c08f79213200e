"""Show, attend and tell: neural image caption generation with visual attention
(Xu, Ba, Kiros, Cho, Courville, Salakhutdinov, Zemel & Bengio 2015, arXiv:1502.03044).

A small network looks at a picture and leaves an annotation at each of its places. Before each word
the decoder looks at them: *softly*, at all places by their weights, or *hard*, at one place that
is drawn by them. Of the numbers of equations, 1 to 7 and 12 are those that the authors' code names;
9 and 11 others call so; 8, 10, 13 and 14 are from memory of the paper's third version.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.attention import Attention, masked_softmax
from heed.data.vocabulary import BOS, PAD
from heed.layers.lstm import LSTMCell
from heed.models.translator import DecoderOutput, StepOutput
from heed.scores import Additive

Kind = Literal["soft", "hard"]
Look = Literal["expected", "likeliest", "sampled"]
"""What the decoder gets: the mean of the places, the likeliest one, or one that is drawn."""
Looking = Look | Callable[[Float[Tensor, "batch place"]], Int[Tensor, " batch"]]
"""The same, or whoever picks a place by the weights."""
CHOICES = {
    "attention": get_args(Kind),
    "at_rest": get_args(Look),
    "coin_per": ("picture", "batch"),
    "first_word": ("zero", "learned"),
    "readout": ("paper", "tanh"),
    "credit": ("caption", "to_go"),
}


@dataclass(frozen=True, kw_only=True)
class ShowAttendTellConfig:
    """Sizes and choices. The paper's: 14 × 14 places of a VGG net, 512 wide, 10,000 words.

    channels: widths of the picture's network, each at half the resolution of the one before; the
        last one is D, the width of an annotation
    d_embedding, d_state: the paper's m and n
    places: add a learnt vector to the annotation of each place. Not in the paper, whose network is
        deep enough to know where it is; without it a small one cannot tell left from right.
    gate: multiply the context by a learnt β (section 4.2.1)
    first_word: what stands for the word before the first one: nothing, as in the authors' code, or
        a vector of its own
    readout: ``"tanh"`` puts a tanh before L_o, as the authors' code does, Eq. 7 none
    dropout: of words, of h_t on its way to the readout, and of what comes to L_o. The second makes
        memory a poor witness, so that it pays to look again.

    Of hard attention:

    at_rest: how it looks when it is not trained
    coin: how often a picture is looked at softly in training, so that ẑ is the expectation (section
        4.1: one half)
    coin_per: a toss for each picture, as the paper has it, or one for the batch, as the code does

    What training minimises (``heed.training.captions``); nothing of it changes what a model says:

    doubly_stochastic: λ of Eq. 14
    reinforce, entropy: λ_r and λ_e
    decay: of the moving average that is the baseline: 0.9 of what it was
    credit: the reward of a look: the log-probability of the whole caption, as in the paper, or of
        what is written from there on
    """

    vocab: int
    channels: tuple[int, int, int] = (32, 64, 128)
    side: int = 64
    d_embedding: int = 64
    d_state: int = 160
    d_align: int = 64
    places: bool = True
    gate: bool = True
    first_word: Literal["zero", "learned"] = "zero"
    readout: Literal["paper", "tanh"] = "tanh"
    dropout: float = 0.0
    attention: Kind = "soft"
    at_rest: Look = "likeliest"
    coin: float = 0.5
    coin_per: Literal["picture", "batch"] = "picture"
    doubly_stochastic: float = 1.0
    reinforce: float = 0.1
    entropy: float = 0.002
    decay: float = 0.9
    credit: Literal["caption", "to_go"] = "caption"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")
        for name in ("coin", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} is no share: use 0 to 1")
        if self.side % 2 ** len(self.channels):
            raise ValueError(f"side={self.side} cannot be halved {len(self.channels)} times")

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of places."""
        cells = self.side // 2 ** len(self.channels)
        return cells, cells


@dataclass(frozen=True)
class Seen:
    """A picture, looked at once: the annotations a, prepared keys, and where the decoder starts."""

    annotations: Float[Tensor, "batch place annotation"]
    prepared: Float[Tensor, "batch place d_align"]
    first_h: Float[Tensor, "batch d_state"]
    first_c: Float[Tensor, "batch d_state"]


@dataclass(frozen=True)
class TellState:
    """h and c, the decoder's memory between two words."""

    h: Float[Tensor, "batch d_state"]
    c: Float[Tensor, "batch d_state"]


@dataclass(frozen=True)
class TellStep(StepOutput):
    """One word. ``weights`` are α, whatever was looked at.

    glimpse: the one place that was looked at; −1 for all of them
    gate: β; 1 without a gate
    """

    glimpse: Int[Tensor, " batch"] | None = None
    gate: Float[Tensor, " batch"] | None = None


@dataclass(frozen=True)
class TellOutput(DecoderOutput):
    """All words of a given caption. ``weights["cross"]`` are α; the others as in ``TellStep``."""

    glimpses: Int[Tensor, "batch step"] | None = None
    gates: Float[Tensor, "batch step"] | None = None


def convolutions(channels: tuple[int, ...], *, d_picture: int = 3) -> nn.Sequential:
    """Two 3 × 3 convolutions for each width, the first of them at half the resolution."""
    layers: list[nn.Module] = []
    for d_in, d_out in zip((d_picture, *channels), channels, strict=False):
        for d, stride in ((d_in, 2), (d_out, 1)):
            layers += [
                nn.Conv2d(d, d_out, 3, stride=stride, padding=1, bias=False),
                nn.BatchNorm2d(d_out),
                nn.ReLU(),
            ]
    return nn.Sequential(*layers)


class ShowAttendTell(nn.Module):
    """start     h_0 = tanh(f_h(ā)), c_0 = tanh(f_c(ā)),  ā = Σ_i a_i / L         (section 3.1.2)
    look      e_ti = vᵀ tanh(W h_{t−1} + U a_i),  α_t = softmax(e_t)           (Eq. 4 and 5)
    soft      ẑ_t = β_t Σ_i α_ti a_i,  β_t = σ(f_β(h_{t−1})), one number (Eq. 13; section 4.2.1)
    hard      ẑ_t = β_t a_{s_t},  s_t ~ Multinoulli(α_t)                       (Eq. 8 and 9)
    state     h_t, c_t = LSTM([E y_{t−1} ; ẑ_t], h_{t−1}, c_{t−1})             (Eq. 1 to 3)
    output    p(y_t) ∝ exp(L_o (E y_{t−1} + L_h h_t + L_z ẑ_t))                (Eq. 7)

    Ours against the paper's: ``see`` and ``place`` make the annotations a; ``attention.score`` is
    f_att; ``f_h``, ``f_c`` are f_init; ``drive_y``, ``drive_z`` and ``cell.U`` are the three parts
    of T; ``L_o``, ``L_h``, ``L_z`` bear their names.

    Pictures have three channels from 0 to 1. ``baseline`` is b, what a caption's log-probability
    was of late (0: not known yet); training keeps it here, so that a run that goes on has it.
    """

    baseline: Tensor

    def __init__(self, config: ShowAttendTellConfig) -> None:
        super().__init__()
        self.config = config
        d, n, m = config.channels[-1], config.d_state, config.d_embedding
        rows, columns = config.grid
        self.see = convolutions(config.channels)
        self.place = nn.Parameter(torch.zeros(rows * columns, d)) if config.places else None
        self.embed = nn.Embedding(config.vocab, m, padding_idx=PAD)
        self.f_h, self.f_c = nn.Linear(d, n), nn.Linear(d, n)
        self.attention = Attention(Additive(d_q=n, d_k=d, d_hidden=config.d_align))
        self.f_beta = nn.Linear(n, 1) if config.gate else None
        self.drive_y = nn.Linear(m, 4 * n)
        self.drive_z = nn.Linear(d, 4 * n, bias=False)
        self.cell = LSTMCell(d_state=n)
        self.L_h = nn.Linear(n, m, bias=False)
        self.L_z = nn.Linear(d, m, bias=False)
        self.L_o = nn.Linear(m, config.vocab)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("baseline", torch.zeros(()))
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if self.place is not None:
            nn.init.normal_(self.place, std=self.place.shape[1] ** -0.5)
        nn.init.normal_(self.embed.weight, std=self.embed.embedding_dim**-0.5)
        with torch.no_grad():
            self.embed.weight[PAD].zero_()
            n = self.config.d_state
            self.drive_y.bias[n : 2 * n] = 1.0  # the forget gate is open at first

    # ------------------------------------------------------------------------- picture

    def encode(self, pictures: Float[Tensor, "batch 3 row column"]) -> Seen:
        """Look at the pictures once, and prepare the keys."""
        side = self.config.side
        if pictures.shape[-2:] != (side, side):
            shape = " × ".join(map(str, pictures.shape[-2:]))
            raise ValueError(f"a picture of {shape} pixels: this model reads {side} × {side}")
        # The order that convolutions are quickest in; the numbers are the same.
        seen = self.see((pictures - 0.5).contiguous(memory_format=torch.channels_last))
        a = seen.flatten(2).mT
        if self.place is not None:
            a = a + self.place.to(a.dtype)  # under autocast, no cast at each step
        mean = a.mean(dim=1)
        return Seen(
            annotations=a,
            prepared=self.attention.score.prepare(a),
            first_h=torch.tanh(self.f_h(mean)),
            first_c=torch.tanh(self.f_c(mean)),
        )

    def start(self, encoded: Seen) -> TellState:
        """h_0 and c_0."""
        return TellState(encoded.first_h, encoded.first_c)

    # ------------------------------------------------------------------------- words

    def step(
        self,
        state: TellState,
        token: Int[Tensor, " batch"],
        encoded: Seen,
        *,
        look: Looking | None = None,
    ) -> tuple[TellState, TellStep]:
        """From y_{t−1} to the scores of y_t. ``look``: another way than the config's."""
        y = self._words(token)
        weights, gate = self._weigh(state.h, encoded)
        glimpse = self._glimpse(weights, look or self._resting())
        z = self._context(weights, glimpse, gate, encoded)
        h, c = self.cell(self.drive_y(y) + self.drive_z(z), state.h, state.c)
        logits = self._readout(y, h, z)
        return TellState(h, c), TellStep(logits, weights, glimpse=glimpse, gate=gate)

    def forward(
        self,
        pictures: Float[Tensor, "batch 3 row column"],
        target_in: Int[Tensor, "batch step"],
        *,
        glimpses: Int[Tensor, "batch step"] | None = None,
    ) -> TellOutput:
        """Teacher forcing: all steps of known captions, fed with their own words."""
        return self.tell(self.encode(pictures), target_in, glimpses=glimpses)

    def tell(
        self,
        encoded: Seen,
        target_in: Int[Tensor, "batch step"],
        *,
        glimpses: Int[Tensor, "batch step"] | None = None,
    ) -> TellOutput:
        """The same for pictures that were looked at already.

        While a model with hard attention is trained, it draws where it looks, but for the pictures
        that the coin picks. ``glimpses`` says where to look instead: a place, or −1 for all.
        """
        y = self._words(target_in)
        state = self.start(encoded)
        h, c, soft = state.h, state.c, None
        if glimpses is None and self.training and self.config.attention == "hard":
            look: Look = "sampled"
            soft = self._tossed(len(target_in), target_in.device)
        else:
            look = self._resting()
        hs, zs, looked, placed, gates = [], [], [], [], []
        for t, drive in enumerate(self.drive_y(y).unbind(1)):
            weights, gate = self._weigh(h, encoded)
            if glimpses is None:
                glimpse = self._glimpse(weights, look)
                if soft is not None:
                    glimpse = glimpse.masked_fill(soft, -1)
            else:
                glimpse = glimpses[:, t]
            z = self._context(weights, glimpse, gate, encoded)
            h, c = self.cell(drive + self.drive_z(z), h, c)
            for kept, each in zip(
                (hs, zs, looked, placed, gates), (h, z, weights, glimpse, gate), strict=True
            ):
                kept.append(each)
        logits = self._readout(y, torch.stack(hs, 1), torch.stack(zs, 1))
        return TellOutput(
            logits,
            {"cross": torch.stack(looked, 1).unsqueeze(1)},
            glimpses=torch.stack(placed, 1),
            gates=torch.stack(gates, 1),
        )

    # ------------------------------------------------------------------------- parts of a step

    def _words(self, tokens: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch d_embedding"]:
        y = self.embed(tokens)
        if self.config.first_word == "zero":
            y = y * (tokens != BOS)[..., None]
        return self.dropout(y)

    def _resting(self) -> Look:
        return "expected" if self.config.attention == "soft" else self.config.at_rest

    def _tossed(self, pictures: int, device: torch.device) -> Bool[Tensor, " batch"]:
        """Which pictures are looked at softly."""
        tosses = 1 if self.config.coin_per == "batch" else pictures
        return (torch.rand(tosses, device=device) < self.config.coin).expand(pictures)

    def _weigh(
        self, h: Float[Tensor, "batch d_state"], encoded: Seen
    ) -> tuple[Float[Tensor, "batch place"], Float[Tensor, " batch"]]:
        """α and β."""
        scores = self.attention.score.compare(h.unsqueeze(1), encoded.prepared)
        precise = torch.promote_types(scores.dtype, torch.float32)  # log α needs it
        alpha = masked_softmax(scores.to(precise)).squeeze(1)
        if self.f_beta is None:
            return alpha, alpha.new_ones(len(alpha))
        return alpha, torch.sigmoid(self.f_beta(h)).squeeze(-1)

    def _glimpse(self, alpha: Float[Tensor, "batch place"], look: Looking) -> Int[Tensor, " batch"]:
        """s, or −1 for all places."""
        if callable(look):
            return look(alpha)
        if look == "likeliest":
            return alpha.argmax(dim=-1)
        if look == "sampled":
            return torch.multinomial(alpha.detach(), 1).squeeze(-1)
        return torch.full((len(alpha),), -1, device=alpha.device)

    def _context(
        self,
        alpha: Float[Tensor, "batch place"],
        glimpse: Int[Tensor, " batch"],
        beta: Float[Tensor, " batch"],
        encoded: Seen,
    ) -> Float[Tensor, "batch annotation"]:
        """ẑ. A drawn place has weight 1, and no gradient goes back to α through it."""
        one = torch.zeros_like(alpha).scatter_(1, glimpse.clamp(min=0)[:, None], 1.0)
        used = torch.where((glimpse < 0)[:, None], alpha, one)
        return beta[:, None] * (used.unsqueeze(1) @ encoded.annotations).squeeze(1)

    def _readout(
        self,
        y: Float[Tensor, "*batch d_embedding"],
        h: Float[Tensor, "*batch d_state"],
        z: Float[Tensor, "*batch annotation"],
    ) -> Float[Tensor, "*batch vocab"]:
        deep = y + self.L_h(self.dropout(h)) + self.L_z(z)
        if self.config.readout == "tanh":
            deep = torch.tanh(deep)
        return self.L_o(self.dropout(deep))
