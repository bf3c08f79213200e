"""Attention is all you need (Vaswani et al. 2017, arXiv:1706.03762).

No recurrence: a word finds out about the others by looking at them, all words at once, layer upon
layer. The encoder's words look at each other; the decoder's look at those before them, and at the
encoder's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.data.vocabulary import PAD
from heed.layers.feedforward import Activation, FeedForward
from heed.layers.multihead import MultiHead, Prepared, switch
from heed.layers.positions import PositionsName, positions_of
from heed.masks import causal, padding
from heed.models.translator import DecoderOutput, StepOutput

Place = Literal["encoder", "decoder", "cross"]
PLACES: tuple[Place, ...] = get_args(Place)
Tie = Literal["all", "output", "none"]
Norm = Literal["post", "pre"]


@runtime_checkable
class LayerConfig(Protocol):
    """What one layer has to know: ``TransformerConfig`` says it as the paper does, the config of
    another model (``heed.models.bert``) with other values."""

    @property
    def d_model(self) -> int: ...
    @property
    def d_inner(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def norm(self) -> Norm: ...
    @property
    def scaled(self) -> bool: ...
    @property
    def bias(self) -> bool: ...
    @property
    def activation(self) -> Activation: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def dropout(self) -> float: ...
    @property
    def dropout_inside(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes. The paper's *base*: d_model 512, d_inner 2048, 8 heads, 6 layers, dropout 0.1, some
    37,000 word pieces in one vocabulary for both sides. *big*: 1024, 4096, 16, 6, 0.3.

    tie: which matrices are one: the embeddings of both sides and the output (``"all"``, the paper;
        both sides must then count words alike), the target's and the output, or none
    norm: where layers are normalised. ``"post"``, the paper: LayerNorm(x + f(x)), nothing after the
        last layer. ``"pre"``, as most code since: x + f(LayerNorm(x)), and once more at the end.
    positions: see ``heed.layers.positions``; ``longest`` is for ``"learned"`` only
    scaled: divide dot products by √d_k
    dropout: of what each sublayer adds, and of embedding + position (section 5.4)
    dropout_inside: of attention's weights and of the inner units, too, as tensor2tensor and
        PyTorch have it; the paper does not speak of these
    bias: in attention's matrices; the paper writes none
    """

    source_vocab: int
    target_vocab: int
    d_model: int = 128
    d_inner: int = 512
    heads: int = 4
    encoder_layers: int = 3
    decoder_layers: int = 3
    tie: Tie = "output"
    norm: Norm = "post"
    positions: PositionsName = "sinusoids"
    longest: int = 128
    scaled: bool = True
    dropout: float = 0.1
    dropout_inside: float = 0.0
    bias: bool = False

    def __post_init__(self) -> None:
        for name, known in (
            ("tie", get_args(Tie)),
            ("norm", get_args(Norm)),
            ("positions", get_args(PositionsName)),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")
        if self.heads < 1 or self.d_model % self.heads:
            raise ValueError(f"d_model={self.d_model} cannot be split over {self.heads} heads")
        for name in ("encoder_layers", "decoder_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}, but there must be one at least")
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                "tie='all' needs one vocabulary for both sides, "
                f"not {self.source_vocab} and {self.target_vocab} words"
            )

    @property
    def activation(self) -> Activation:
        """Of the position-wise networks, as in section 3.3."""
        return "relu"

    @property
    def epsilon(self) -> float:
        """Added to each variance before a norm divides by its root. The paper names none; this is
        PyTorch's."""
        return 1e-5

    def layers(self, place: Place) -> int:
        """How many layers attend there."""
        return self.encoder_layers if place == "encoder" else self.decoder_layers


def base(*, vocab: int) -> TransformerConfig:
    """The paper's *base* (Table 3), for one vocabulary of so many word pieces."""
    return TransformerConfig(
        source_vocab=vocab,
        target_vocab=vocab,
        d_model=512,
        d_inner=2048,
        heads=8,
        encoder_layers=6,
        decoder_layers=6,
        tie="all",
    )


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What a laboratory does to a trained Transformer, while its weights stay as they are.

    off: heads that are switched off, as (place, layer, head), both counted from 1:
        ``("cross", 2, 1)``
    source_shift, target_shift: so many places are left free before the first word
    source_places, target_places: False takes the positions away
    """

    off: tuple[tuple[Place, int, int], ...] = ()
    source_shift: int = 0
    target_shift: int = 0
    source_places: bool = True
    target_places: bool = True

    def on(
        self, config: TransformerConfig, place: Place, device: torch.device
    ) -> list[Bool[Tensor, " head"] | None]:
        """For each layer of a place which heads are on; ``None`` where nothing is switched off."""
        found: list[Bool[Tensor, " head"] | None] = []
        for layer in range(1, config.layers(place) + 1):
            off = frozenset(head for where, at, head in self.off if (where, at) == (place, layer))
            found.append(switch(config.heads, off, device) if off else None)
        return found

    def check(self, config: TransformerConfig) -> None:
        """``ValueError`` for a head that this model does not have."""
        for place, layer, head in self.off:
            if place not in PLACES:
                raise ValueError(f"the place {place!r} is none of {', '.join(PLACES)}")
            if not 1 <= layer <= config.layers(place):
                raise ValueError(f"{place} layer {layer} is none of 1 to {config.layers(place)}")
            if not 1 <= head <= config.heads:
                raise ValueError(f"{place} head {head} is none of 1 to {config.heads}")


UNCHANGED = Changes()


@dataclass(frozen=True)
class TransformerOutput(DecoderOutput):
    """All decoder steps of a given target, and the maps of every layer if somebody asked.

    weights: ``"cross"`` is the mean over all heads of all layers, as a map of one head
    maps: by place and layer, ``"encoder 1"``, ``"decoder 1"``, ``"cross 1"``, …: one map a head
    """

    maps: Mapping[str, Float[Tensor, "batch _ _ _"]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """A source sentence, read once.

    memory: what the encoder makes of it; keep: which positions are real; keys, values: what the
    cross-attention of each decoder layer needs of it
    """

    memory: Float[Tensor, "batch source d_model"]
    keep: Bool[Tensor, "batch 1 source"]
    keys: Float[Tensor, "batch layer head source d_k"]
    values: Float[Tensor, "batch layer head source d_k"]


@dataclass(frozen=True)
class TransformerState:
    """Between two words: the keys and values of those written, of each decoder layer. A word that
    is written never changes, for it sees none of those behind it."""

    keys: Float[Tensor, "batch layer head written d_k"]
    values: Float[Tensor, "batch layer head written d_k"]


class Residual(nn.Module):
    """post  LayerNorm(x + Dropout(f(x)))      pre  x + Dropout(f(LayerNorm(x)))

    f is what comes between ``enter`` and ``leave``.
    """

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model, eps=config.epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def enter(self, x: Float[Tensor, "batch step d_model"]) -> Float[Tensor, "batch step d_model"]:
        """What f gets."""
        return self.norm(x) if self.pre else x

    def leave(
        self,
        x: Float[Tensor, "batch step d_model"],
        f: Float[Tensor, "batch step d_model"],
    ) -> Float[Tensor, "batch step d_model"]:
        """What comes out, once f is known."""
        y = x + self.dropout(f)
        return y if self.pre else self.norm(y)


def attention(config: LayerConfig) -> MultiHead:
    """The multi-head attention of this model."""
    return MultiHead(
        d_model=config.d_model,
        heads=config.heads,
        scaled=config.scaled,
        bias=config.bias,
        dropout=config.dropout_inside,
    )


def feed_forward(config: LayerConfig) -> FeedForward:
    """Its position-wise network."""
    return FeedForward(
        d_model=config.d_model,
        d_inner=config.d_inner,
        activation=config.activation,
        dropout=config.dropout_inside,
    )


class EncoderLayer(nn.Module):
    """Every word looks at all words, then each one thinks for itself (section 3.1)."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.attention, self.feed = attention(config), feed_forward(config)
        self.around_attention, self.around_feed = Residual(config), Residual(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        *,
        keep: Bool[Tensor, "#batch #source source"] | None,
        on: Bool[Tensor, " head"] | None = None,
        weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch source d_model"], Float[Tensor, "batch head source source"] | None
    ]:
        """The words, one layer up, and where they looked if that was asked for."""
        inner = self.around_attention.enter(x)
        looked = self.attention(inner, inner, keep=keep, on=on, weights=weights)
        x = self.around_attention.leave(x, looked.out)
        x = self.around_feed.leave(x, self.feed(self.around_feed.enter(x)))
        return x, looked.weights


@dataclass(frozen=True)
class Risen:
    """Target words, one layer up; keys and values of all words so far, these among them; and where
    they looked, in the target and in the source, if that was asked for."""

    x: Float[Tensor, "batch step d_model"]
    written: Prepared
    decoder: Float[Tensor, "batch head step written"] | None
    cross: Float[Tensor, "batch head step source"] | None


class DecoderLayer(nn.Module):
    """Every word looks at those before it and at itself, then at the source, then thinks."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.attention, self.cross, self.feed = (
            attention(config),
            attention(config),
            feed_forward(config),
        )
        self.around_attention, self.around_cross, self.around_feed = (
            Residual(config) for _ in range(3)
        )

    def forward(
        self,
        x: Float[Tensor, "batch step d_model"],
        source: Prepared,
        *,
        before: Prepared | None = None,
        keep: Bool[Tensor, "#batch #step written"] | None,
        keep_source: Bool[Tensor, "#batch #step source"] | None,
        on: Bool[Tensor, " head"] | None = None,
        on_cross: Bool[Tensor, " head"] | None = None,
        weights: bool = False,
    ) -> Risen:
        """One layer up.

        before: keys and values of words that went through this layer earlier; x comes after them.
            ``keep`` has a column for each of these, too.
        """
        inner = self.around_attention.enter(x)
        written = self.attention.prepare(inner)
        if before is not None:
            written = Prepared(
                torch.cat([before.keys, written.keys], dim=2),
                torch.cat([before.values, written.values], dim=2),
            )
        own = self.attention.look(inner, written, keep=keep, on=on, weights=weights)
        x = self.around_attention.leave(x, own.out)
        seen = self.cross.look(
            self.around_cross.enter(x), source, keep=keep_source, on=on_cross, weights=weights
        )
        x = self.around_cross.leave(x, seen.out)
        x = self.around_feed.leave(x, self.feed(self.around_feed.enter(x)))
        return Risen(x, written, own.weights, seen.weights)


class Transformer(nn.Module):
    """Words      x = Dropout(√d_model E w + PE)                       (sections 3.4, 3.5, 5.4)
    encoder    x ← LayerNorm(x + MultiHead(x, x, x))
               x ← LayerNorm(x + FFN(x))                               (N times; section 3.1)
    decoder    y ← LayerNorm(y + MultiHead(y, y, y)), no word looking ahead
               y ← LayerNorm(y + MultiHead(y, x, x))
               y ← LayerNorm(y + FFN(y))                               (N times)
    output     p(y_t | y_<t, x) = softmax(Eᵀ y_t)                      (section 3.4)

    Ours against the paper's: ``embed_source``, ``embed_target`` and ``output`` are E, one matrix
    or two or three (``config.tie``). Around each f stands a ``Residual``, with its dropout.

    It hands out the weights of its heads when it is not being trained, or when asked: ``weights``
    of ``forward``. Otherwise no map is held.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        d = config.d_model
        self.embed_source = nn.Embedding(config.source_vocab, d, padding_idx=PAD)
        self.embed_target = (
            self.embed_source
            if config.tie == "all"
            else nn.Embedding(config.target_vocab, d, padding_idx=PAD)
        )
        self.positions_source, self.positions_target = (
            positions_of(config.positions, d_model=d, longest=config.longest) for _ in range(2)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        last = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.norm_source, self.norm_target = last(d), last(d)
        self.output = nn.Linear(d, config.target_vocab, bias=False)
        self._initialise()
        if config.tie != "none":
            self.output.weight = self.embed_target.weight

    def _initialise(self) -> None:
        # With N(0, 1/d), a word's vector times √d is as large as its position, and E tied to the
        # output gives scores near zero.
        for name, parameter in self.named_parameters():
            if name.startswith("positions_"):
                continue  # as they were set
            if name.startswith("embed_") or name == "output.weight":
                nn.init.normal_(parameter, std=self.config.d_model**-0.5)
            elif parameter.ndim == 2:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        for table in (self.embed_source, self.embed_target):
            with torch.no_grad():
                table.weight[PAD].zero_()

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        *,
        changes: Changes = UNCHANGED,
    ) -> Reading:
        """Read the sentence, and prepare it for every decoder layer."""
        keep = padding(source_lengths, source.shape[1])
        memory, _ = self._read(source, keep, changes, weights=False)
        prepared = self._prepare(memory)
        return Reading(
            memory,
            keep,
            torch.stack([each.keys for each in prepared], 1),
            torch.stack([each.values for each in prepared], 1),
        )

    def start(self, encoded: Reading) -> TransformerState:
        """No word written."""
        nothing = encoded.keys[:, :, :, :0]
        return TransformerState(nothing, nothing)

    def step(
        self,
        state: TransformerState,
        token: Int[Tensor, " batch"],
        encoded: Reading,
        *,
        changes: Changes = UNCHANGED,
    ) -> tuple[TransformerState, StepOutput]:
        """From the words before y_{t−1}, and y_{t−1}, to the scores of y_t.

        The weights are those of the cross-attention, a mean over all layers and heads.
        """
        y = self._placed_target(token[:, None], changes, start=state.keys.shape[3])
        y, rows = self._write(
            y,
            _by_layer(encoded.keys, encoded.values),
            before=_by_layer(state.keys, state.values),
            keep=None,  # the newest word may look at all that are there
            keep_source=encoded.keep,
            changes=changes,
            weights=True,
        )
        keys = torch.stack([row.written.keys for row in rows], 1)
        values = torch.stack([row.written.values for row in rows], 1)
        out = StepOutput(self.output(y.squeeze(1)), _mean(rows).flatten(1))
        return TransformerState(keys, values), out

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
        *,
        weights: bool | None = None,
        changes: Changes = UNCHANGED,
    ) -> TransformerOutput:
        """Teacher forcing: all steps of a known target at once.

        weights: hand out the maps of all heads; ``None`` means unless the model is being trained
        """
        weights = not self.training if weights is None else weights
        keep = padding(source_lengths, source.shape[1])
        memory, looks = self._read(source, keep, changes, weights=weights)
        y, rows = self._write(
            self._placed_target(target_in, changes),
            self._prepare(memory),
            before=None,
            keep=causal(target_in.shape[1], device=target_in.device).unsqueeze(0),
            keep_source=keep,
            changes=changes,
            weights=weights,
        )
        logits = self.output(y)
        if not weights:
            return TransformerOutput(logits, {})
        maps = {f"encoder {n}": look for n, look in enumerate(looks, 1)}
        maps |= {f"decoder {n}": _asked(row.decoder) for n, row in enumerate(rows, 1)}
        maps |= {f"cross {n}": _asked(row.cross) for n, row in enumerate(rows, 1)}
        return TransformerOutput(logits, {"cross": _mean(rows)}, maps=maps)

    def _read(
        self,
        source: Int[Tensor, "batch source"],
        keep: Bool[Tensor, "batch 1 source"],
        changes: Changes,
        *,
        weights: bool,
    ) -> tuple[
        Float[Tensor, "batch source d_model"], list[Float[Tensor, "batch head source source"]]
    ]:
        """All encoder layers."""
        changes.check(self.config)
        x = self.embed_source(source) * self.config.d_model**0.5
        if changes.source_places:
            x = x + self.positions_source(
                source.shape[1], start=changes.source_shift, device=source.device
            ).to(x.dtype)
        x = self.dropout(x)
        looks, switches = [], changes.on(self.config, "encoder", source.device)
        for layer, on in zip(self.encoder, switches, strict=True):
            x, look = layer(x, keep=keep, on=on, weights=weights)
            if look is not None:
                looks.append(look)
        return self.norm_source(x), looks

    def _prepare(self, memory: Float[Tensor, "batch source d_model"]) -> list[Prepared]:
        """What the cross-attention of each decoder layer needs."""
        return [layer.cross.prepare(memory) for layer in self._decoder()]

    def _placed_target(
        self, tokens: Int[Tensor, "batch step"], changes: Changes, *, start: int = 0
    ) -> Float[Tensor, "batch step d_model"]:
        y = self.embed_target(tokens) * self.config.d_model**0.5
        if changes.target_places:
            y = y + self.positions_target(
                tokens.shape[1], start=start + changes.target_shift, device=tokens.device
            ).to(y.dtype)
        return self.dropout(y)

    def _write(
        self,
        y: Float[Tensor, "batch step d_model"],
        source: list[Prepared],
        *,
        before: list[Prepared] | None,
        keep: Bool[Tensor, "1 step step"] | None,
        keep_source: Bool[Tensor, "batch 1 source"],
        changes: Changes,
        weights: bool,
    ) -> tuple[Float[Tensor, "batch step d_model"], list[Risen]]:
        """All decoder layers."""
        on, on_cross = (changes.on(self.config, place, y.device) for place in ("decoder", "cross"))
        rows: list[Risen] = []
        for n, layer in enumerate(self._decoder()):
            risen = layer(
                y,
                source[n],
                before=None if before is None else before[n],
                keep=keep,
                keep_source=keep_source,
                on=on[n],
                on_cross=on_cross[n],
                weights=weights,
            )
            y = risen.x
            rows.append(risen)
        return self.norm_target(y), rows

    def _decoder(self) -> Iterator[DecoderLayer]:
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            yield layer


class Changed(nn.Module):
    """A Transformer to which something was done, as a translator of its own: searches, metrics and
    pictures ask it like any other. The weights are those of ``model``."""

    def __init__(self, model: Transformer, changes: Changes) -> None:
        super().__init__()
        changes.check(model.config)
        self.model, self.changes = model, changes

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Reading:
        """As the model's, with the changes."""
        return self.model.encode(source, source_lengths, changes=self.changes)

    def start(self, encoded: Reading) -> TransformerState:
        """No word written."""
        return self.model.start(encoded)

    def step(
        self, state: TransformerState, token: Int[Tensor, " batch"], encoded: Reading
    ) -> tuple[TransformerState, StepOutput]:
        """As the model's, with the changes."""
        return self.model.step(state, token, encoded, changes=self.changes)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> TransformerOutput:
        """As the model's, with the changes."""
        return self.model(source, source_lengths, target_in, changes=self.changes)


def _by_layer(
    keys: Float[Tensor, "batch layer head step d_k"],
    values: Float[Tensor, "batch layer head step d_k"],
) -> list[Prepared]:
    return [Prepared(*each) for each in zip(keys.unbind(1), values.unbind(1), strict=True)]


def _mean(rows: list[Risen]) -> Float[Tensor, "batch 1 step source"]:
    """Where all heads of all layers looked in the source, on average."""
    return torch.cat([_asked(row.cross) for row in rows], dim=1).mean(dim=1, keepdim=True)


def _asked(weights: Float[Tensor, "batch head step key"] | None) -> Tensor:
    assert weights is not None
    return weights
