"""Neural machine translation by jointly learning to align and translate
(Bahdanau, Cho & Bengio 2015, arXiv:1409.0473).

The decoder no longer lives on one vector. Before each word it scores every source annotation
against its own last state, and takes the weighted mean as its context.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.attention import Attention
from heed.data.vocabulary import PAD
from heed.layers.gru import BiGRU, GRUCell
from heed.masks import padding
from heed.models.translator import DecoderOutput, StepOutput
from heed.scores import Additive, ScoreName, score_of


@dataclass(frozen=True, kw_only=True)
class BahdanauConfig:
    """Sizes. The paper's: d_embedding 620, d_encoder 1000 a direction, d_state 1000,
    d_align 1000, d_maxout 500, 30,000 words a side.

    readout_state: the appendix computes the output from s_{i−1} (``"previous"``), although it
        writes p(y_i | s_i, …); most code takes s_i (``"current"``).
    tie_output: let W_o be the target embedding (Press & Wolf 2017). Not in the paper; it pays
        for a wider model where parameters are scarce. Needs d_maxout = d_embedding.
    score: how a state is compared with an annotation; the paper's is ``"additive"``. Dot products
        and cosines need d_state = 2 d_encoder.
    max_keys: the positions that ``"location_base"`` has a row for; the others ignore it.
    init: ``"paper"`` draws W_a, U_a from N(0, 0.001²), sets v_a = 0 and draws the rest from
        N(0, 0.01²), which makes every α uniform at first and training slow to start;
        ``"glorot"`` scales each matrix by its sizes.
    """

    source_vocab: int
    target_vocab: int
    d_embedding: int = 128
    d_encoder: int = 128
    d_state: int = 192
    d_align: int = 128
    d_maxout: int = 128
    readout_state: Literal["previous", "current"] = "previous"
    tie_output: bool = False
    init: Literal["paper", "glorot"] = "glorot"
    dropout: float = 0.0
    score: ScoreName = "additive"
    max_keys: int = 64

    def __post_init__(self) -> None:
        for name, known in (
            ("readout_state", ("previous", "current")),
            ("init", ("paper", "glorot")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")
        if self.tie_output and self.d_maxout != self.d_embedding:
            raise ValueError(
                "tie_output needs d_maxout = d_embedding, "
                f"not {self.d_maxout} and {self.d_embedding}"
            )


@dataclass(frozen=True)
class Annotations:
    """A source sentence, read once: h, prepared keys (U_a h), which positions are real, and s_0."""

    annotations: Float[Tensor, "batch source annotation"]
    prepared: Float[Tensor, "batch source d_prepared"]
    keep: Bool[Tensor, "batch 1 source"]
    first_state: Float[Tensor, "batch d_state"]


@dataclass(frozen=True)
class BahdanauState:
    """s, the decoder's memory between two words."""

    s: Float[Tensor, "batch d_state"]


class Bahdanau(nn.Module):
    """Encoder   h_j = [→h_j ; ←h_j]                                          (A.2.1)
    start     s_0 = tanh(W_s ←h_1)                                            (A.2.2)
    attention e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j), α_i = softmax(e_i), c_i = Σ_j α_ij h_j
              (or another score of s_{i−1} and h_j: ``config.score``)
    state     s_i = GRU(s_{i−1}; E y_{i−1}, c_i)                              (A.2.2)
    output    t̃_i = U_o s_{i−1} + V_o E y_{i−1} + C_o c_i,  t_i = pairwise max of t̃_i,
              p(y_i) ∝ exp(W_o t_i)                                           (A.2.2)

    Ours against the paper's: ``attention.score`` holds W_a, U_a, v_a; ``drive_y`` is [W_z; W_r; W]
    and ``drive_c`` is [C_z; C_r; C], with U_z, U_r, U in ``cell``; ``readout_s/_y/_c`` are
    U_o, V_o, C_o and ``output`` is W_o. The loop computes nothing that is known before it.
    """

    def __init__(self, config: BahdanauConfig) -> None:
        super().__init__()
        self.config = config
        d_annotation = 2 * config.d_encoder
        self.embed_source = nn.Embedding(config.source_vocab, config.d_embedding, padding_idx=PAD)
        self.embed_target = nn.Embedding(config.target_vocab, config.d_embedding, padding_idx=PAD)
        self.encoder = BiGRU(d_input=config.d_embedding, d_state=config.d_encoder)
        self.W_s = nn.Linear(config.d_encoder, config.d_state)
        self.attention = Attention(
            score_of(
                config.score,
                d_q=config.d_state,
                d_k=d_annotation,
                d_hidden=config.d_align,
                max_keys=config.max_keys,
            )
        )
        self.drive_y = nn.Linear(config.d_embedding, 3 * config.d_state)
        self.drive_c = nn.Linear(d_annotation, 3 * config.d_state, bias=False)
        self.cell = GRUCell(d_state=config.d_state)
        self.readout_s = nn.Linear(config.d_state, 2 * config.d_maxout)
        self.readout_y = nn.Linear(config.d_embedding, 2 * config.d_maxout, bias=False)
        self.readout_c = nn.Linear(d_annotation, 2 * config.d_maxout, bias=False)
        self.output = nn.Linear(config.d_maxout, config.target_vocab)
        self.dropout = nn.Dropout(config.dropout)
        self._initialise(config.init)
        if config.tie_output:
            self.output.weight = self.embed_target.weight

    def _initialise(self, how: Literal["paper", "glorot"]) -> None:
        for name, parameter in self.named_parameters():
            if ".U_zr" in name or name.endswith((".U", "cell.U")):
                continue  # orthogonal already
            if parameter.ndim == 0:
                continue  # the strength of a cosine, as it was set
            if parameter.ndim == 1:
                nn.init.zeros_(parameter)
            elif how == "paper":
                nn.init.normal_(parameter, std=0.001 if "score" in name else 0.01)
            elif "embed" in name:
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
            else:
                nn.init.xavier_uniform_(parameter)
        if how == "paper" and isinstance(self.attention.score, Additive):
            nn.init.zeros_(self.attention.score.v.weight)
        for table in (self.embed_source, self.embed_target):
            with torch.no_grad():
                table.weight[PAD].zero_()

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Annotations:
        """Read the sentence in both directions and prepare the keys."""
        h, back_at_first = self.encoder(self.dropout(self.embed_source(source)), source_lengths)
        return Annotations(
            annotations=h,
            prepared=self.attention.score.prepare(h),
            keep=padding(source_lengths, source.shape[1]),
            first_state=torch.tanh(self.W_s(back_at_first)),
        )

    def start(self, encoded: Annotations) -> BahdanauState:
        """s_0."""
        return BahdanauState(encoded.first_state)

    def step(
        self, state: BahdanauState, token: Int[Tensor, " batch"], encoded: Annotations
    ) -> tuple[BahdanauState, StepOutput]:
        """From s_{i−1} and y_{i−1} to s_i and the scores of y_i."""
        y = self.dropout(self.embed_target(token))
        s, context, weights = self._advance(state.s, self.drive_y(y), encoded)
        used = state.s if self.config.readout_state == "previous" else s
        return BahdanauState(s), StepOutput(self._readout(used, y, context), weights)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput:
        """Teacher forcing: all steps of a known target, fed with its own words."""
        encoded = self.encode(source, source_lengths)
        y = self.dropout(self.embed_target(target_in))
        states, contexts, weights = [encoded.first_state], [], []
        for drive in self.drive_y(y).unbind(1):
            s, context, looked = self._advance(states[-1], drive, encoded)
            states.append(s)
            contexts.append(context)
            weights.append(looked)
        used = states[:-1] if self.config.readout_state == "previous" else states[1:]
        logits = self._readout(torch.stack(used, 1), y, torch.stack(contexts, 1))
        return DecoderOutput(logits, {"cross": torch.stack(weights, 1).unsqueeze(1)})

    def _advance(
        self,
        s: Float[Tensor, "batch d_state"],
        drive: Float[Tensor, "batch triple"],
        encoded: Annotations,
    ) -> tuple[
        Float[Tensor, "batch d_state"],
        Float[Tensor, "batch annotation"],
        Float[Tensor, "batch source"],
    ]:
        """Look, then move on: s_i, c_i, α_i."""
        attended = self.attention.look(
            s.unsqueeze(1), encoded.prepared, encoded.annotations, keep=encoded.keep
        )
        context = attended.context.squeeze(1)
        s = self.cell(drive + self.drive_c(context), s)
        return s, context, attended.weights.squeeze(1)

    def _readout(
        self,
        s: Float[Tensor, "*batch d_state"],
        y: Float[Tensor, "*batch d_embedding"],
        context: Float[Tensor, "*batch annotation"],
    ) -> Float[Tensor, "*batch vocab"]:
        both = self.readout_s(s) + self.readout_y(y) + self.readout_c(context)
        return self.output(self.dropout(both.unflatten(-1, (-1, 2)).amax(dim=-1)))
