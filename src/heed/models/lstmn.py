"""Long short-term memory-networks for machine reading
(Cheng, Dong & Lapata 2016, arXiv:1601.06733).

An LSTM has one memory, written over at each word. Here every word keeps its own, and the next
word first asks which of them it should go on from: attention of a text to itself, while reading.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heed.attention import Attention
from heed.data.vocabulary import PAD
from heed.layers.lstm import memorise
from heed.masks import padding
from heed.models.translator import DecoderOutput, StepOutput
from heed.scores import Additive

# ------------------------------------------------------------------------------------ the layer


@dataclass(frozen=True)
class LSTMNState:
    """What was read so far. Slot 0 is the null slot, slot i belongs to step i.

    tape: [h_i ; c_i], the hidden tape H and the memory tape C side by side
    prepared: W_h h_i of each slot, computed once
    keep: which slots may be looked at; a padded step leaves a slot that may not
    summary: h̃ of the last step, which the next look needs
    """

    tape: Float[Tensor, "batch slot pair"]
    prepared: Float[Tensor, "batch slot d_align"]
    keep: Bool[Tensor, "batch slot"]
    summary: Float[Tensor, "batch d_state"]


@dataclass(frozen=True)
class LSTMNOutput:
    """One step: the new h and c, and where it looked: one weight for each slot before it."""

    h: Float[Tensor, "batch d_state"]
    c: Float[Tensor, "batch d_state"]
    weights: Float[Tensor, "batch slot"]


@dataclass(frozen=True)
class LSTMNRead:
    """All steps: h and c of each, and the map of who looked at which slot.

    Row t of the map has something in columns 0 … t − 1 only (steps count from 1): column 0 is the
    null slot, column i is step i. Nobody comes after the last step, so it has no column.
    """

    h: Float[Tensor, "batch step d_state"]
    c: Float[Tensor, "batch step d_state"]
    weights: Float[Tensor, "batch step slot"]


class LSTMN(nn.Module):
    """look     a_i = vᵀ tanh(W_h h_i + W_x x_t + W_h̃ h̃_{t−1}),  s = softmax(a)     (Eq. 4 and 5)
    summary  [h̃_t ; c̃_t] = Σ_i s_i [h_i ; c_i],  i = 1 … t − 1                  (Eq. 6)
    gates    [i; f; o; ĉ] = [σ; σ; σ; tanh] W [h̃_t ; x_t]                       (Eq. 7)
    memory   c_t = f ∘ c̃_t + i ∘ ĉ,  h_t = o ∘ tanh(c_t)                        (Eq. 8 and 9)

    Ours against the paper's: ``attention.score`` holds W_h as ``U``, [W_x W_h̃] as ``W`` and v;
    ``gates_x`` and ``gates_h`` are W, cut in two. With all weight on the slot of the step before,
    this is an LSTM.

    The tapes are empty before the first step, and the paper does not say what a softmax over
    nothing is. The authors' code starts them with a slot of zeros, a *null slot*.
    keep_null: it can be looked at for ever, as in their code; False: by the first step only, which
        is as close as one gets to the tapes of the paper.
    previous_summary: False leaves W_h̃ h̃_{t−1} out of the look, as the encoder in their code does.
    """

    def __init__(
        self,
        *,
        d_input: int,
        d_state: int,
        d_align: int,
        keep_null: bool = True,
        previous_summary: bool = True,
    ) -> None:
        super().__init__()
        self.d_state, self.keep_null = d_state, keep_null
        self.previous_summary = previous_summary
        d_query = d_input + d_state if previous_summary else d_input
        self.score = Additive(d_q=d_query, d_k=d_state, d_hidden=d_align)
        self.attention = Attention(self.score)
        self.gates_x = nn.Linear(d_input, 4 * d_state)
        self.gates_h = nn.Linear(d_state, 4 * d_state, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Gates as in ``nn.LSTM``, but the forget gate open at first; the look by its sizes."""
        bound = self.d_state**-0.5
        for parameter in (*self.gates_x.parameters(), *self.gates_h.parameters()):
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            self.gates_x.bias[self.d_state : 2 * self.d_state] = 1.0
        for parameter in self.score.parameters():
            nn.init.xavier_uniform_(parameter)

    def start(
        self, h: Float[Tensor, "batch d_state"], c: Float[Tensor, "batch d_state"]
    ) -> LSTMNState:
        """Tapes with nothing on them but the null slot, which holds h and c (zeros, usually)."""
        return LSTMNState(
            tape=torch.cat([h, c], dim=-1).unsqueeze(1),
            prepared=self.score.prepare(h).unsqueeze(1),
            keep=torch.ones(len(h), 1, dtype=torch.bool, device=h.device),
            summary=torch.zeros_like(h),
        )

    def blank(self, batch: int) -> LSTMNState:
        """``start`` with zeros."""
        zeros = self.gates_x.weight.new_zeros(batch, self.d_state)
        return self.start(zeros, zeros)

    def look(
        self, state: LSTMNState, x: Float[Tensor, "batch d_input"]
    ) -> tuple[
        Float[Tensor, "batch d_state"], Float[Tensor, "batch d_state"], Float[Tensor, "batch slot"]
    ]:
        """h̃_t, c̃_t and the weights that made both of them."""
        query = torch.cat([x, state.summary], dim=-1) if self.previous_summary else x
        attended = self.attention.look(
            query.unsqueeze(1), state.prepared, state.tape, keep=self._may(state).unsqueeze(1)
        )
        h, c = attended.context.squeeze(1).chunk(2, dim=-1)
        return h, c, attended.weights.squeeze(1)

    def _may(self, state: LSTMNState) -> Bool[Tensor, "batch slot"]:
        """The slots that can be looked at: the null slot only while there is no other one."""
        if self.keep_null:
            return state.keep
        others = state.keep[:, 1:]
        return torch.cat([~others.any(dim=1, keepdim=True), others], dim=1)

    def write(
        self,
        state: LSTMNState,
        h: Float[Tensor, "batch d_state"],
        c: Float[Tensor, "batch d_state"],
        summary: Float[Tensor, "batch d_state"],
        real: Bool[Tensor, " batch"] | None = None,
    ) -> LSTMNState:
        """The tapes with one slot more. Where a row is not ``real``, it cannot be looked at, and
        the summary stays: as if the row had not been asked."""
        if real is None:
            real = torch.ones(len(h), dtype=torch.bool, device=h.device)
        slot = torch.cat([h, c], dim=-1)
        return LSTMNState(
            tape=torch.cat([state.tape, slot.unsqueeze(1)], dim=1),
            prepared=torch.cat([state.prepared, self.score.prepare(h).unsqueeze(1)], dim=1),
            keep=torch.cat([state.keep, real.unsqueeze(1)], dim=1),
            summary=torch.where(real.unsqueeze(1), summary, state.summary),
        )

    def step(
        self,
        state: LSTMNState,
        x: Float[Tensor, "batch d_input"],
        real: Bool[Tensor, " batch"] | None = None,
    ) -> tuple[LSTMNState, LSTMNOutput]:
        """Read one more word. Rows that are not ``real`` are padding and leave no trace."""
        summary, remembered, weights = self.look(state, x)
        h, c = memorise(self.gates_x(x) + self.gates_h(summary), remembered)
        return self.write(state, h, c, summary, real), LSTMNOutput(h, c, weights)

    def forward(
        self,
        inputs: Float[Tensor, "batch step d_input"],
        first: tuple[Float[Tensor, "batch d_state"], Float[Tensor, "batch d_state"]] | None = None,
    ) -> LSTMNRead:
        """All steps of known inputs: what ``step`` gives one by one, several times as fast.

        Everything that depends on the inputs alone is computed before the loop, and the tapes are
        two tensors that are written into. Padding belongs at the end of a row, where no real step
        can look at it. ``first`` is what the null slot holds.
        """
        if first is None:
            zeros = inputs.new_zeros(len(inputs), self.d_state)
            first = zeros, zeros
        W, W_summary = self.score.W.weight, None
        if self.previous_summary:
            W, W_summary = W.split([inputs.shape[-1], self.d_state], dim=1)
        drives = (nn.functional.linear(inputs, W), self.gates_x(inputs), *first)
        h, c, weights = _Reading.apply(  # type: ignore[misc]
            *(drive.to(W.dtype) for drive in drives),  # autocast makes the products shorter
            self.score.U.weight,
            W_summary,
            self.score.v.weight.squeeze(0),
            self.gates_h.weight,
            self.keep_null,
        )
        return LSTMNRead(h, c, weights)


class _Reading(torch.autograd.Function):
    """``LSTMN.step`` over a whole text, with its backward pass written out.

    Autograd cannot follow a tape that is written in place; without that, each step would copy all
    of it, and its gradient as well. The letters are those of ``LSTMN``; q is W_x x + W_h̃ h̃, u is
    tanh(W_h h_i + q), and d_z is the derivative of the loss by z.
    """

    @staticmethod
    def forward(
        ctx: Any,
        q_x: Float[Tensor, "batch step d_align"],
        gates_x: Float[Tensor, "batch step quadruple"],
        h: Float[Tensor, "batch d"],
        c: Float[Tensor, "batch d"],
        W_h: Float[Tensor, "d_align d"],
        W_summary: Float[Tensor, "d_align d"] | None,
        v: Float[Tensor, " d_align"],
        W: Float[Tensor, "quadruple d"],
        keep_null: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, steps, d_align = q_x.shape
        d, training = h.shape[1], any(ctx.needs_input_grad)
        tape = q_x.new_empty(batch, steps + 1, 2 * d)
        prepared = q_x.new_empty(batch, steps + 1, d_align)
        weights = q_x.new_zeros(batch, steps, steps)
        gates = q_x.new_empty(steps, batch, 4 * d)
        read = q_x.new_zeros(steps + 1, batch, 2 * d)  # [h̃ ; c̃]; nothing before the first step
        tangents = []
        with torch.autocast(q_x.device.type, enabled=False):
            tape[:, 0, :d], tape[:, 0, d:] = h, c
            prepared[:, 0] = h @ W_h.T
            for t in range(steps):
                low = 0 if keep_null or t == 0 else 1
                q = q_x[:, t]
                if W_summary is not None:
                    q = torch.addmm(q, read[t, :, :d], W_summary.T)
                u = (prepared[:, low : t + 1] + q.unsqueeze(1)).tanh_()
                s = (u @ v).softmax(dim=1)
                weights[:, t, low : t + 1] = s
                read[t + 1] = torch.bmm(s.unsqueeze(1), tape[:, low : t + 1]).squeeze(1)
                summary, memory = read[t + 1].chunk(2, dim=1)
                gates[t] = torch.addmm(gates_x[:, t], summary, W.T)
                i, f, new, o = gates[t].chunk(4, dim=1)
                for gate in (i, f, o):
                    gate.sigmoid_()
                new.tanh_()
                c = torch.addcmul(i * new, f, memory)
                h = o * c.tanh()
                tape[:, t + 1, :d], tape[:, t + 1, d:] = h, c
                prepared[:, t + 1] = h @ W_h.T
                if training:
                    tangents.append(u)
        if training:
            ctx.save_for_backward(tape, weights, gates, read, W_h, W_summary, v, W, *tangents)
            ctx.keep_null = keep_null
        return tape[:, 1:, :d].contiguous(), tape[:, 1:, d:].contiguous(), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        tape, weights, gates, read, W_h, W_summary, v, W, *tangents = ctx.saved_tensors
        d_h, d_c, d_weights = grads
        steps, d = gates.shape[0], tape.shape[2] // 2
        d_tape = torch.zeros_like(tape)
        d_tape[:, 1:, :d], d_tape[:, 1:, d:] = d_h, d_c
        d_prepared = tape.new_zeros(*tape.shape[:2], len(v))
        d_gates, d_v = torch.empty_like(gates), torch.zeros_like(v)
        d_q = gates.new_empty(steps, gates.shape[1], len(v))
        d_summary = torch.zeros_like(read[0, :, :d])
        for t in reversed(range(steps)):
            low = 0 if ctx.keep_null or t == 0 else 1
            i, f, new, o = gates[t].chunk(4, dim=1)
            squashed = tape[:, t + 1, d:].tanh()
            d_h = torch.addmm(d_tape[:, t + 1, :d], d_prepared[:, t + 1], W_h)
            d_c = torch.addcmul(d_tape[:, t + 1, d:], d_h * o, 1 - squashed * squashed)
            d_i, d_f, d_new, d_o = d_gates[t].chunk(4, dim=1)
            torch.mul(d_c * new, i * (1 - i), out=d_i)
            torch.mul(d_c * read[t + 1, :, d:], f * (1 - f), out=d_f)
            torch.mul(d_c * i, 1 - new * new, out=d_new)
            torch.mul(d_h * squashed, o * (1 - o), out=d_o)
            d_read = torch.cat([torch.addmm(d_summary, d_gates[t], W), d_c * f], dim=1)
            s, u, slots = weights[:, t, low : t + 1], tangents[t], slice(low, t + 1)
            d_s = torch.bmm(tape[:, slots], d_read.unsqueeze(2)).squeeze(2) + d_weights[:, t, slots]
            d_tape[:, slots].addcmul_(s.unsqueeze(2), d_read.unsqueeze(1))
            d_a = s * (d_s - (s * d_s).sum(dim=1, keepdim=True))
            d_v.addmv_(u.flatten(0, 1).T, d_a.flatten())
            d_u = torch.addcmul(v, u * u, v, value=-1).mul_(d_a.unsqueeze(2))  # (1 − u²) v d_a
            d_prepared[:, slots] += d_u
            d_q[t] = d_u.sum(dim=1)
            if W_summary is not None:
                d_summary = d_q[t] @ W_summary
        d_W_summary = None
        if W_summary is not None:
            d_W_summary = d_q.flatten(0, 1).T @ read[:-1, :, :d].flatten(0, 1)
        return (
            d_q.transpose(0, 1),
            d_gates.transpose(0, 1),
            torch.addmm(d_tape[:, 0, :d], d_prepared[:, 0], W_h),
            d_tape[:, 0, d:],
            d_prepared.flatten(0, 1).T @ tape[:, :, :d].flatten(0, 1),
            d_W_summary,
            d_v,
            d_gates.flatten(0, 1).T @ read[1:, :, :d].flatten(0, 1),
            None,
        )


# ------------------------------------------------------------------------------- language models


@dataclass(frozen=True)
class LanguageOutput:
    """Scores of the word after each word, and where each word looked (``None``: nowhere)."""

    logits: Float[Tensor, "*batch vocab"]
    weights: Float[Tensor, "batch *step slot"] | None


@dataclass(frozen=True, kw_only=True)
class LSTMNLanguageConfig:
    """Sizes. The paper's on the Penn Treebank: d_embedding 150, d_state 300, 10,000 words.

    d_align: width of v (the paper does not say)
    tie_output: let the output layer be the embedding (Press & Wolf 2017); where the widths differ
        a matrix between them makes up for it. Not in the paper.
    keep_null, previous_summary: see ``LSTMN``
    """

    vocab: int
    d_embedding: int = 128
    d_state: int = 128
    d_align: int = 128
    tie_output: bool = True
    keep_null: bool = True
    previous_summary: bool = True
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LSTMLanguageConfig:
    """The same without attention. A wider ``d_state`` makes up for the parameters it lacks."""

    vocab: int
    d_embedding: int = 128
    d_state: int = 128
    tie_output: bool = True
    dropout: float = 0.0


class Words(nn.Module):
    """What both language models share: words in, words out.

    E is the embedding and, with ``tie_output``, the output layer as well. P, which narrows h to
    the width of an embedding, is there only where h is of another width and the layer is tied.
    """

    def __init__(self, config: LSTMNLanguageConfig | LSTMLanguageConfig) -> None:
        super().__init__()
        vocab, d_embedding, d_state = config.vocab, config.d_embedding, config.d_state
        self.embed = nn.Embedding(vocab, d_embedding, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=d_embedding**-0.5)
        with torch.no_grad():
            self.embed.weight[PAD].zero_()
        narrow = config.tie_output and d_state != d_embedding
        self.project = nn.Linear(d_state, d_embedding, bias=False) if narrow else nn.Identity()
        self.output = nn.Linear(d_embedding if narrow else d_state, vocab)
        nn.init.zeros_(self.output.bias)
        if config.tie_output:
            self.output.weight = self.embed.weight
        self.dropout = nn.Dropout(config.dropout)

    def read(self, tokens: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch d_embedding"]:
        """Embeddings."""
        return self.dropout(self.embed(tokens))

    def write(self, h: Float[Tensor, "*batch d_state"]) -> Float[Tensor, "*batch vocab"]:
        """Scores of the next word."""
        return self.output(self.project(self.dropout(h)))


class LSTMNLanguageModel(nn.Module):
    """p(w_{t+1} | w_1 … w_t) = softmax(E P h_t),  h_t from an ``LSTMN``   (section 5.1)

    Tokens begin with BOS and may be PAD at the end.
    """

    def __init__(self, config: LSTMNLanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.words = Words(config)
        self.lstmn = LSTMN(
            d_input=config.d_embedding,
            d_state=config.d_state,
            d_align=config.d_align,
            keep_null=config.keep_null,
            previous_summary=config.previous_summary,
        )

    def start(self, batch: int) -> LSTMNState:
        """Nothing read yet."""
        return self.lstmn.blank(batch)

    def step(
        self, state: LSTMNState, token: Int[Tensor, " batch"]
    ) -> tuple[LSTMNState, LanguageOutput]:
        """Read one word, score the next."""
        state, out = self.lstmn.step(state, self.words.read(token))
        return state, LanguageOutput(self.words.write(out.h), out.weights)

    def forward(self, tokens: Int[Tensor, "batch step"]) -> LanguageOutput:
        """Read all, score after each."""
        out = self.lstmn(self.words.read(tokens))
        return LanguageOutput(self.words.write(out.h), out.weights)


@dataclass(frozen=True)
class LSTMState:
    """h and c of an LSTM: all it knows of what it read."""

    h: Float[Tensor, "batch d_state"]
    c: Float[Tensor, "batch d_state"]


class LSTMLanguageModel(nn.Module):
    """p(w_{t+1} | w_1 … w_t) = softmax(E P h_t),  h_t from ``nn.LSTM``: what it is compared with

    Tokens begin with BOS and may be PAD at the end.
    """

    def __init__(self, config: LSTMLanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.words = Words(config)
        self.lstm = an_lstm(config.d_embedding, config.d_state)

    def start(self, batch: int) -> LSTMState:
        """Nothing read yet."""
        zeros = self.words.embed.weight.new_zeros(batch, self.config.d_state)
        return LSTMState(zeros, zeros)

    def step(
        self, state: LSTMState, token: Int[Tensor, " batch"]
    ) -> tuple[LSTMState, LanguageOutput]:
        """Read one word, score the next."""
        x = self.words.read(token).unsqueeze(1)
        h, last = self.lstm(x, (state.h.unsqueeze(0), state.c.unsqueeze(0)))
        state = LSTMState(*(each.squeeze(0) for each in last))
        return state, LanguageOutput(self.words.write(h.squeeze(1)), None)

    def forward(self, tokens: Int[Tensor, "batch step"]) -> LanguageOutput:
        """Read all, score after each."""
        h, _ = self.lstm(self.words.read(tokens))
        return LanguageOutput(self.words.write(h), None)


def an_lstm(d_input: int, d_state: int) -> nn.LSTM:
    """``nn.LSTM`` with its forget gate open at first, as ours is."""
    lstm = nn.LSTM(d_input, d_state, batch_first=True)
    with torch.no_grad():
        for bias, value in ((lstm.bias_ih_l0, 1.0), (lstm.bias_hh_l0, 0.0)):
            assert isinstance(bias, Tensor)
            bias[d_state : 2 * d_state] = value
    return lstm


# ---------------------------------------------------------------------------------------- recall


@dataclass(frozen=True, kw_only=True)
class RecallConfig:
    """Sizes. ``cell`` says what reads: ``"lstmn"``, or ``"lstm"``, which has no ``d_align``."""

    keys: int
    values: int
    d_embedding: int = 64
    d_state: int = 64
    d_align: int = 64
    cell: Literal["lstmn", "lstm"] = "lstmn"

    def __post_init__(self) -> None:
        if self.cell not in ("lstmn", "lstm"):
            raise ValueError(f"cell={self.cell!r} is none of lstmn, lstm")


@dataclass(frozen=True)
class RecallOutput:
    """Scores of each value, and where each step looked (``None``: nowhere)."""

    logits: Float[Tensor, "batch value"]
    weights: Float[Tensor, "batch step slot"] | None


class Recall(nn.Module):
    """Pairs of a key and a value go by, then a key comes alone: which value belonged to it?

    x_t = E_k k_t + E_v v_t; the last step has the value number ``values``, which is none.
    p(value) = softmax(W_o h_T).
    """

    def __init__(self, config: RecallConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_key = nn.Embedding(config.keys, config.d_embedding)
        self.embed_value = nn.Embedding(config.values + 1, config.d_embedding)
        self.output = nn.Linear(config.d_state, config.values)
        self.reader = (
            LSTMN(d_input=config.d_embedding, d_state=config.d_state, d_align=config.d_align)
            if config.cell == "lstmn"
            else an_lstm(config.d_embedding, config.d_state)
        )

    def forward(
        self, keys: Int[Tensor, "batch step"], values: Int[Tensor, "batch step"]
    ) -> RecallOutput:
        """keys and values of each step; the last one asks."""
        x = self.embed_key(keys) + self.embed_value(values)
        if isinstance(self.reader, LSTMN):
            out = self.reader(x)
            return RecallOutput(self.output(out.h[:, -1]), out.weights)
        h, _ = self.reader(x)
        return RecallOutput(self.output(h[:, -1]), None)


# ------------------------------------------------------------------------------------ translation


@dataclass(frozen=True, kw_only=True)
class LSTMNTranslatorConfig:
    """Sizes, the same for both sides.

    fusion: where the source comes in: ``"shallow"`` at the output, ``"deep"`` in the memory
    keep_null: see ``LSTMN``
    encoder_previous_summary: False leaves W_h̃ h̃_{t−1} out of the encoder's looks, as the authors'
        code does; their decoder has it
    """

    source_vocab: int
    target_vocab: int
    d_embedding: int = 128
    d_state: int = 128
    d_align: int = 128
    fusion: Literal["shallow", "deep"] = "deep"
    keep_null: bool = True
    encoder_previous_summary: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.fusion not in ("shallow", "deep"):
            raise ValueError(f"fusion={self.fusion!r} is none of shallow, deep")


@dataclass(frozen=True)
class SourceTapes:
    """A source sentence, read once: its tapes [γ_j ; α_j], W_γ γ_j, the words that are real, h and
    c after the last of them, and the map of the encoder's own looks."""

    tape: Float[Tensor, "batch source pair"]
    prepared: Float[Tensor, "batch source d_align"]
    keep: Bool[Tensor, "batch 1 source"]
    h: Float[Tensor, "batch d_state"]
    c: Float[Tensor, "batch d_state"]
    weights: Float[Tensor, "batch source source"]


@dataclass(frozen=True)
class TargetTapes:
    """What was written so far: an ``LSTMNState``, and γ̃ of the last look at the source."""

    tape: Float[Tensor, "batch slot pair"]
    prepared: Float[Tensor, "batch slot d_align"]
    keep: Bool[Tensor, "batch slot"]
    summary: Float[Tensor, "batch d_state"]
    source_summary: Float[Tensor, "batch d_state"]

    @property
    def own(self) -> LSTMNState:
        """Without the source."""
        return LSTMNState(self.tape, self.prepared, self.keep, self.summary)


class LSTMNTranslator(nn.Module):
    """Two LSTMNs; the second one looks at its own tapes and at those of the first  (section 4)

    look      b_j = uᵀ tanh(W_γ γ_j + W_x x_t + W_γ̃ γ̃_{t−1}),  p = softmax(b)      (Eq. 10 and 11)
              [γ̃_t ; α̃_t] = Σ_j p_j [γ_j ; α_j]                                    (Eq. 12)
    deep      r_t = σ(W_r [γ̃_t ; x_t])                                             (Eq. 13)
              c_t = r_t ∘ α̃_t + f_t ∘ c̃_t + i_t ∘ ĉ_t,  h_t = o_t ∘ tanh(c_t)      (Eq. 14 and 15)
              p(y_t) ∝ exp(W_o h_t)
    shallow   c_t, h_t as in ``LSTMN``; p(y_t) ∝ exp(W_o tanh(W_c [h_t ; γ̃_t]))

    γ_j and α_j are hidden and memory tape of the encoder. ``inter.score`` holds W_γ as ``U``,
    [W_x W_γ̃] as ``W`` and u as ``v``. The paper says of shallow fusion only that the source is
    looked at *when the decoder reads a token*; the readout is Luong's. The decoder's null slot
    holds h and c of the encoder's last word.
    """

    def __init__(self, config: LSTMNTranslatorConfig) -> None:
        super().__init__()
        self.config = config
        d, d_x = config.d_state, config.d_embedding
        self.embed_source = nn.Embedding(config.source_vocab, d_x, padding_idx=PAD)
        self.embed_target = nn.Embedding(config.target_vocab, d_x, padding_idx=PAD)
        for table in (self.embed_source, self.embed_target):
            nn.init.normal_(table.weight, std=d_x**-0.5)
            with torch.no_grad():
                table.weight[PAD].zero_()
        self.encoder = LSTMN(
            d_input=d_x,
            d_state=d,
            d_align=config.d_align,
            keep_null=config.keep_null,
            previous_summary=config.encoder_previous_summary,
        )
        self.decoder = LSTMN(
            d_input=d_x, d_state=d, d_align=config.d_align, keep_null=config.keep_null
        )
        self.inter = Attention(Additive(d_q=d_x + d, d_k=d, d_hidden=config.d_align))
        self.fuse = nn.Linear(2 * d if config.fusion == "shallow" else d + d_x, d)
        self.output = nn.Linear(d, config.target_vocab)
        self.dropout = nn.Dropout(config.dropout)

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> SourceTapes:
        """Read the source; padding comes last, so no word of it looks there."""
        read = self.encoder(self.dropout(self.embed_source(source)))
        last = (source_lengths - 1)[:, None, None].expand(-1, 1, self.config.d_state)
        return SourceTapes(
            tape=torch.cat([read.h, read.c], dim=-1),
            prepared=self.inter.score.prepare(read.h),
            keep=padding(source_lengths, source.shape[1]),
            h=read.h.gather(1, last).squeeze(1),
            c=read.c.gather(1, last).squeeze(1),
            weights=read.weights,
        )

    def start(self, encoded: SourceTapes) -> TargetTapes:
        """Nothing written yet, and nowhere looked."""
        own = self.decoder.start(encoded.h, encoded.c)
        return TargetTapes(own.tape, own.prepared, own.keep, own.summary, own.summary)

    def step(
        self, state: TargetTapes, token: Int[Tensor, " batch"], encoded: SourceTapes
    ) -> tuple[TargetTapes, StepOutput]:
        """Read the last word, look back and across, score the next word."""
        x = self.dropout(self.embed_target(token))
        state, h, source_summary, weights, _ = self._advance(state, x, encoded)
        return state, StepOutput(self._readout(h, source_summary), weights)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput:
        """All steps of a known target.

        Three maps: ``cross``, and the texts' looks at themselves, ``encoder`` and ``decoder``,
        whose column 0 is the null slot.
        """
        encoded = self.encode(source, source_lengths)
        state, steps = self.start(encoded), target_in.shape[1]
        hs, summaries, cross, own = [], [], [], []
        for x in self.dropout(self.embed_target(target_in)).unbind(1):
            state, h, source_summary, across, back = self._advance(state, x, encoded)
            hs.append(h)
            summaries.append(source_summary)
            cross.append(across)
            own.append(nn.functional.pad(back, (0, steps - back.shape[1])))
        logits = self._readout(torch.stack(hs, 1), torch.stack(summaries, 1))
        maps = {
            "cross": torch.stack(cross, 1),
            "encoder": encoded.weights,
            "decoder": torch.stack(own, 1),
        }
        return DecoderOutput(logits, {name: each.unsqueeze(1) for name, each in maps.items()})

    def _advance(
        self,
        state: TargetTapes,
        x: Float[Tensor, "batch d_embedding"],
        encoded: SourceTapes,
    ) -> tuple[
        TargetTapes,
        Float[Tensor, "batch d_state"],
        Float[Tensor, "batch d_state"],
        Float[Tensor, "batch source"],
        Float[Tensor, "batch slot"],
    ]:
        """The state after x; h_t, γ̃_t, p and s."""
        query = torch.cat([x, state.source_summary], dim=-1)
        across = self.inter.look(
            query.unsqueeze(1), encoded.prepared, encoded.tape, keep=encoded.keep
        )
        gamma, alpha = across.context.squeeze(1).chunk(2, dim=-1)
        summary, remembered, back = self.decoder.look(state.own, x)
        gates = self.decoder.gates_x(x) + self.decoder.gates_h(summary)
        h, c = memorise(gates, remembered)
        if self.config.fusion == "deep":
            c = c + torch.sigmoid(self.fuse(torch.cat([gamma, x], dim=-1))) * alpha
            h = torch.sigmoid(gates.chunk(4, dim=-1)[3]) * torch.tanh(c)
        own = self.decoder.write(state.own, h, c, summary)
        after = TargetTapes(own.tape, own.prepared, own.keep, own.summary, gamma)
        return after, h, gamma, across.weights.squeeze(1), back

    def _readout(
        self, h: Float[Tensor, "*batch d_state"], source_summary: Float[Tensor, "*batch d_state"]
    ) -> Float[Tensor, "*batch vocab"]:
        if self.config.fusion == "shallow":
            h = torch.tanh(self.fuse(torch.cat([h, source_summary], dim=-1)))
        return self.output(self.dropout(h))
