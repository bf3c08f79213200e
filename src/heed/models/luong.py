"""Effective approaches to attention-based neural machine translation
(Luong, Pham & Manning 2015, arXiv:1508.04025).

The decoder moves first and looks then. It may look at the whole source (*global*), or through a
window around a place (*local*): the place is the number of the word being written (local-m), or
the model says it itself (local-p).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.attention import Attention
from heed.data.vocabulary import PAD
from heed.layers.gru import reverse_each
from heed.layers.local import LocalAttention, Monotonic, Predicted
from heed.layers.lstm import LSTMCell
from heed.masks import padding
from heed.models.translator import DecoderOutput, StepOutput
from heed.scores import Additive, Dot, General, Location, Score


@dataclass(frozen=True, kw_only=True)
class LuongConfig:
    """Sizes. The paper's: d_embedding 1000, d_hidden 1000, 4 layers, D 10, 50,000 words a side.

    attention: where the model may look
    score: how it scores what it sees (section 3.1). ``"concat"`` is v_aᵀ tanh(W_a[h_t; h̄_s]),
        Bahdanau's additive score with W_a cut in two, asked with the state after the step.
        ``"location"`` (Eq. 8) sees no source word at all and knows ``longest`` positions.
    d_align: rows of W_a in ``"concat"``, and of W_p in local-p; unused by the others
    D: how many words the window reaches to each side of p_t
    sigma: the Gaussian's σ in local-p; ``None`` is the paper's D/2
    renormalise: divide local weights by their sum after the Gaussian. The paper does not.
    input_feeding: give h̃_{t−1} to the decoder's first layer beside the word (section 3.3)
    reverse_source: let the encoder read back to front, as in some rows of the paper's tables.
        Positions are those of the sentence as written, either way: p_t = t stays a diagonal.
    tie_output: let W_s be the target embedding, behind a projection where the widths differ. Not
        in the paper; it pays for a wider model where parameters are scarce.
    """

    source_vocab: int
    target_vocab: int
    d_embedding: int = 128
    d_hidden: int = 192
    layers: int = 1
    attention: Literal["global", "local_m", "local_p"] = "global"
    score: Literal["dot", "general", "concat", "location"] = "general"
    d_align: int = 128
    longest: int = 64
    D: int = 10
    sigma: int | float | None = None
    renormalise: bool = False
    input_feeding: bool = True
    reverse_source: bool = False
    tie_output: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, known in (
            ("attention", ("global", "local_m", "local_p")),
            ("score", ("dot", "general", "concat", "location")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")
        if self.layers < 1:
            raise ValueError(f"layers={self.layers}, but an LSTM needs at least one")
        if self.D < 1:
            raise ValueError(f"D={self.D}, but a window reaches 1 word to each side or more")
        if self.sigma is not None and self.sigma <= 0:
            raise ValueError(f"sigma={self.sigma} must be a positive number of words")

    @property
    def own_sigma(self) -> int | float:
        """σ in local-p."""
        return self.D / 2 if self.sigma is None else self.sigma

    def make_score(self) -> Score:
        """The score object, with the sizes of this model."""
        d = self.d_hidden
        match self.score:
            case "dot":
                return Dot()
            case "general":
                return General(d_q=d, d_k=d)
            case "concat":
                return Additive(d_q=d, d_k=d, d_hidden=self.d_align)
            case "location":
                return Location(d_q=d, max_keys=self.longest)


@dataclass(frozen=True)
class Reading:
    """A source sentence, read once.

    annotations: h̄_s; prepared: what the score makes of them before any query; keep: which
    positions are real; lengths: S, how many those are, the sentence's ``EOS`` among them. What
    the decoder begins with: h and c of all layers, the empty h̃_0, and t = 0.
    """

    annotations: Float[Tensor, "batch source d_hidden"]
    prepared: Float[Tensor, "batch source d_prepared"]
    keep: Bool[Tensor, "batch 1 source"]
    lengths: Int[Tensor, " batch"]
    first_h: Float[Tensor, "batch layer d_hidden"]
    first_c: Float[Tensor, "batch layer d_hidden"]
    first_fed: Float[Tensor, "batch d_hidden"]
    first_t: Float[Tensor, " batch"]


@dataclass(frozen=True)
class LuongState:
    """Between two words: h and c of all layers, h̃ of the last word, and t, how many are written
    (a place in the source for local-m, hence no integer)."""

    h: Float[Tensor, "batch layer d_hidden"]
    c: Float[Tensor, "batch layer d_hidden"]
    fed: Float[Tensor, "batch d_hidden"]
    t: Float[Tensor, " batch"]


@dataclass(frozen=True)
class Look:
    """h̃, α and p for some steps; there are no places in global attention."""

    h_tilde: Float[Tensor, "batch step d_hidden"]
    weights: Float[Tensor, "batch step source"]
    places: Float[Tensor, "batch step"] | None


class Luong(nn.Module):
    """Encoder   h̄_s, a stack of LSTMs from left to right; its last h and c start the decoder
    state     h_t = LSTM(h_{t−1}; [E y_{t−1}; h̃_{t−1}])                      (section 3.3)
    attention a_t(s) = softmax_s(score(h_t, h̄_s))                            (Eq. 7)
    context   c_t = Σ_s a_t(s) h̄_s                                           (section 3.1)
    local     the same inside a window around p_t, see ``heed.layers.local`` (Eq. 9 and 10)
    output    h̃_t = tanh(W_c [c_t; h_t])                                     (Eq. 5)
              p(y_t | y_<t, x) = softmax(W_s h̃_t)                            (Eq. 6)

    The path is h_t → a_t → c_t → h̃_t. Bahdanau's is s_{t−1} → α_t → c_t → s_t: there the look
    comes before the step, here after it. h̃_{t−1} in the next step's input is how this decoder
    knows where it looked last.

    The paper counts words from 1; here the first target word is t = 0 and the first source word
    s = 0. S counts the ``EOS`` that ends each source sentence, so that p_t can get to it.

    Ours against the paper's: ``attention.score`` holds W_a (and v_a), ``places`` W_p and v_p;
    ``drive_y`` and ``drive_fed`` are the two halves of the matrix on [E y; h̃], with the recurrent
    ones in ``cells``; ``combine`` is W_c and ``output`` W_s.
    """

    def __init__(self, config: LuongConfig) -> None:
        super().__init__()
        self.config = config
        d, dropout = config.d_hidden, config.dropout
        self.embed_source = nn.Embedding(config.source_vocab, config.d_embedding, padding_idx=PAD)
        self.embed_target = nn.Embedding(config.target_vocab, config.d_embedding, padding_idx=PAD)
        self.encoder = nn.LSTM(
            config.d_embedding,
            d,
            config.layers,
            batch_first=True,
            dropout=dropout if config.layers > 1 else 0.0,
        )
        self.drive_y = nn.Linear(config.d_embedding, 4 * d)
        self.drive_fed = nn.Linear(d, 4 * d, bias=False) if config.input_feeding else None
        self.drive_up = nn.ModuleList(nn.Linear(d, 4 * d) for _ in range(config.layers - 1))
        self.cells = nn.ModuleList(LSTMCell(d_state=d) for _ in range(config.layers))
        score = config.make_score()
        match config.attention:
            case "global":
                self.places = None
                self.attention = Attention(score)
            case "local_m":
                self.places = Monotonic()
                self.attention = LocalAttention(
                    score, radius=config.D, renormalise=config.renormalise
                )
            case "local_p":
                self.places = Predicted(d_q=d, d_hidden=config.d_align)
                self.attention = LocalAttention(
                    score,
                    radius=config.D,
                    sigma=config.own_sigma,
                    renormalise=config.renormalise,
                )
        self.combine = nn.Linear(2 * d, d, bias=False)
        narrow = config.tie_output and d != config.d_embedding
        self.to_embedding = (
            nn.Linear(d, config.d_embedding, bias=False) if narrow else nn.Identity()
        )
        self.output = nn.Linear(config.d_embedding if narrow else d, config.target_vocab)
        self.dropout = nn.Dropout(dropout)
        self._initialise()
        if config.tie_output:
            self.output.weight = self.embed_target.weight

    def _initialise(self) -> None:
        for name, parameter in self.named_parameters():
            if name.startswith("cells"):
                continue  # orthogonal already
            if parameter.ndim == 1:
                nn.init.zeros_(parameter)
            elif "embed_" in name:
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
            else:
                nn.init.xavier_uniform_(parameter)
        for table in (self.embed_source, self.embed_target):
            with torch.no_grad():
                table.weight[PAD].zero_()

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Reading:
        """Read the sentence and prepare the keys."""
        if self.config.reverse_source:
            source = reverse_each(source, source_lengths - 1)  # type: ignore[assignment]
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embed_source(source)),
            source_lengths.cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        read, (h, c) = self.encoder(packed)
        annotations, _ = nn.utils.rnn.pad_packed_sequence(
            read, batch_first=True, total_length=source.shape[1]
        )
        if self.config.reverse_source:
            annotations = reverse_each(annotations, source_lengths - 1)
        # Under autocast an LSTM may end in bfloat16; a memory that is added to needs more.
        precise = self.combine.weight.dtype
        return Reading(
            annotations=annotations,
            prepared=self.attention.score.prepare(annotations),
            keep=padding(source_lengths, source.shape[1]),
            lengths=source_lengths,
            first_h=h.transpose(0, 1).contiguous().to(precise),
            first_c=c.transpose(0, 1).contiguous().to(precise),
            first_fed=torch.zeros_like(h[0], dtype=precise),
            first_t=torch.zeros_like(h[0, :, 0], dtype=precise),
        )

    def start(self, encoded: Reading) -> LuongState:
        """What the encoder ended with, h̃_0 = 0, and no word written."""
        return LuongState(encoded.first_h, encoded.first_c, encoded.first_fed, encoded.first_t)

    def step(
        self, state: LuongState, token: Int[Tensor, " batch"], encoded: Reading
    ) -> tuple[LuongState, StepOutput]:
        """From h_{t−1}, h̃_{t−1} and y_{t−1} to h_t, h̃_t and the scores of y_t."""
        drive = self.drive_y(self.dropout(self.embed_target(token)))
        h, c = self._advance(drive, state.h.unbind(1), state.c.unbind(1), state.fed)
        look = self._look(h[-1].unsqueeze(1), state.t.unsqueeze(1), encoded)
        fed = look.h_tilde.squeeze(1)
        out = StepOutput(
            self._readout(fed),
            look.weights.squeeze(1),
            None if look.places is None else look.places.squeeze(1),
        )
        return LuongState(torch.stack(h, 1), torch.stack(c, 1), fed, state.t + 1), out

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput:
        """Teacher forcing: all steps of a known target, fed with its own words."""
        encoded = self.encode(source, source_lengths)
        drives = self.drive_y(self.dropout(self.embed_target(target_in)))
        state = self.start(encoded)
        steps = state.t[:, None] + torch.arange(target_in.shape[1], device=target_in.device)
        h, c, fed = state.h.unbind(1), state.c.unbind(1), state.fed
        tops, looks = [], []
        for t, drive in enumerate(drives.unbind(1)):
            h, c = self._advance(drive, h, c, fed)
            tops.append(h[-1])
            if self.config.input_feeding:
                looks.append(self._look(h[-1].unsqueeze(1), steps[:, t : t + 1], encoded))
                fed = looks[-1].h_tilde.squeeze(1)
        if not self.config.input_feeding:  # nothing waits for a look: all of them at once
            looks.append(self._look(torch.stack(tops, 1), steps, encoded))
        places = [look.places for look in looks if look.places is not None]
        return DecoderOutput(
            self._readout(torch.cat([look.h_tilde for look in looks], 1)),
            {"cross": torch.cat([look.weights for look in looks], 1).unsqueeze(1)},
            torch.cat(places, 1) if places else None,
        )

    def _advance(
        self,
        drive: Float[Tensor, "batch quadruple"],
        h: tuple[Float[Tensor, "batch d_hidden"], ...],
        c: tuple[Float[Tensor, "batch d_hidden"], ...],
        fed: Float[Tensor, "batch d_hidden"],
    ) -> tuple[
        tuple[Float[Tensor, "batch d_hidden"], ...], tuple[Float[Tensor, "batch d_hidden"], ...]
    ]:
        """h_t and c_t of all layers, from the bottom up."""
        if self.drive_fed is not None:
            drive = drive + self.drive_fed(fed)
        moved = []
        for layer, cell in enumerate(self.cells):
            if layer > 0:
                drive = self.drive_up[layer - 1](self.dropout(moved[-1][0]))
            moved.append(cell(drive, h[layer], c[layer]))
        hs, cs = zip(*moved, strict=True)
        return hs, cs

    def _look(
        self,
        h: Float[Tensor, "batch step d_hidden"],
        steps: Float[Tensor, "batch step"],
        encoded: Reading,
    ) -> Look:
        """h_t → a_t → c_t → h̃_t."""
        keys, values, keep = encoded.prepared, encoded.annotations, encoded.keep
        if self.places is None:
            places, window = None, {}
        else:
            places = self.places(h, steps, encoded.lengths)
            window = {"places": places}
        attended = self.attention.look(h, keys, values, keep=keep, **window)
        h_tilde = torch.tanh(self.combine(torch.cat([attended.context, h], dim=-1)))
        return Look(h_tilde, attended.weights, places)

    def _readout(self, h_tilde: Float[Tensor, "*batch d_hidden"]) -> Float[Tensor, "*batch vocab"]:
        return self.output(self.to_embedding(self.dropout(h_tilde)))
