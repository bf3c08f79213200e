"""``Transformer`` as graphs: the encoder, and a step of the decoder from the words it wrote.

The encoder gives the keys and values that each decoder layer looks at, so nothing of the source is
computed twice. A step takes those of the words before it, and gives them back with one word more.

Beyond the model's records come the maps of all heads: ``encoder_maps``, *layer × head × source ×
source*, and of each step its row in them, ``decoder_maps`` and ``cross_maps``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import ExportError, Stored
from heed.layers.positions import Sinusoids
from heed.models.transformer import Changes, TransformerConfig


@dataclass(frozen=True)
class Read:
    """What the decoder needs of a source sentence (``heed.models.transformer.Reading``); keys and
    values to begin with, those of no word; and where the encoder's heads looked."""

    keys: Float[Tensor, "batch layer head source d_k"]
    values: Float[Tensor, "batch layer head source d_k"]
    keep: Bool[Tensor, "batch 1 source"]
    first_keys: Float[Tensor, "batch layer head 0 d_k"]
    first_values: Float[Tensor, "batch layer head 0 d_k"]
    encoder_maps: Float[Tensor, "batch depth head source source"]


@dataclass(frozen=True)
class Written:
    """``heed.models.transformer.TransformerState``, by names that no field of ``Read`` has."""

    written_keys: Float[Tensor, "batch layer head written d_k"]
    written_values: Float[Tensor, "batch layer head written d_k"]


START = {"written_keys": "first_keys", "written_values": "first_values"}


def controls(config: TransformerConfig) -> dict[str, Any]:
    """Those of ``Changes``: which heads of each layer are on, and what is done to places. The
    encoder takes the first three, the decoder the others."""
    return {
        "encoder_on": True,
        "source_shift": 0.0,
        "source_places": True,
        "decoder_on": True,
        "cross_on": True,
        "target_shift": 0.0,
        "target_places": True,
    }


def controlled(changes: Changes, shapes: Mapping[str, Any]) -> dict[str, Any]:
    """The controls that make these changes. shapes: *layer × head* of each ``…_on``"""
    found: dict[str, Any] = {
        name: torch.ones(shape, dtype=torch.bool) for name, shape in shapes.items()
    }
    for place, layer, head in changes.off:
        found[f"{place}_on"][layer - 1, head - 1] = False
    for side in ("source", "target"):
        found[f"{side}_shift"] = float(getattr(changes, f"{side}_shift"))
        found[f"{side}_places"] = getattr(changes, f"{side}_places")
    return found


def encoder(config: TransformerConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Transformer.encode``: from word numbers to ``Read``."""
    g, made = Graph("encoder", parameters), _Layers(config)
    source, lengths = parts.source(g)
    parts.keep(g, source, lengths)
    keep = g.insert("keep", 1)  # the same for every head
    count = parts.length_of(g, source)
    x = made.placed(g, "source", parts.embedded(g, "embed_source", source), count=count, start=None)
    maps = []
    for n, on in enumerate(made.switches(g, "encoder")):
        layer = f"encoder.{n}"
        inner = made.enter(g, f"{layer}.around_attention", x)
        keys, values = made.prepare(g, f"{layer}.attention", inner)
        seen, look = made.look(g, f"{layer}.attention", inner, keys, values, keep=keep, on=on)
        x = made.leave(g, f"{layer}.around_attention", x, seen)
        x = made.feed(g, layer, x)
        maps.append(look)
    memory = made.last(g, "norm_source", x)
    prepared = [made.prepare(g, f"decoder.{n}.cross", memory) for n in range(config.decoder_layers)]
    shape = ("batch", config.decoder_layers, config.heads)
    for name, every in zip(("keys", "values"), zip(*prepared, strict=True), strict=True):
        stacked = _stacked(g, every, name)
        g.gives(name, "float32", *shape, "source", made.d_k)
        nothing = [g.constant(each, "int64") for each in ([0], [0], [3])]
        g("Slice", stacked, *nothing, name=f"first_{name}")
        g.gives(f"first_{name}", "float32", *shape, 0, made.d_k)
    _stacked(g, maps, "encoder_maps")
    heads = (config.encoder_layers, config.heads)
    g.gives("encoder_maps", "float32", "batch", *heads, "source", "source")
    return g


def decoder(config: TransformerConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Transformer.step``: from y_{t−1} and ``Written`` to the scores of y_t, and ``Written`` with
    y_{t−1} in it."""
    g, made = Graph("decoder", parameters), _Layers(config)
    token = g.takes("token", "int64", "batch")
    shape = ("batch", config.decoder_layers, config.heads)
    before = [
        _layers(g, g.takes(f"written_{name}", "float32", *shape, "written", made.d_k), config)
        for name in ("keys", "values")
    ]
    source = [
        _layers(g, g.takes(name, "float32", *shape, "source", made.d_k), config)
        for name in ("keys", "values")
    ]
    keep = g.insert(g.takes("keep", "bool", "batch", 1, "source"), 1)
    table = "embed_source" if config.tie == "all" else "embed_target"
    word = g.insert(parts.embedded(g, table, token), 1)
    start = parts.length_of(g, "written_keys", axis=3)
    y = made.placed(g, "target", word, count=g.constant(1, "int64"), start=start)
    written, own_maps, cross_maps = [], [], []
    switches = zip(made.switches(g, "decoder"), made.switches(g, "cross"), strict=True)
    for n, (on, on_cross) in enumerate(switches):
        layer = f"decoder.{n}"
        inner = made.enter(g, f"{layer}.around_attention", y)
        keys, values = (
            g("Concat", old[n], new, axis=2)
            for old, new in zip(before, made.prepare(g, f"{layer}.attention", inner), strict=True)
        )
        seen, own = made.look(g, f"{layer}.attention", inner, keys, values, keep=None, on=on)
        y = made.leave(g, f"{layer}.around_attention", y, seen)
        inner = made.enter(g, f"{layer}.around_cross", y)
        there = (source[0][n], source[1][n])
        seen, cross = made.look(g, f"{layer}.cross", inner, *there, keep=keep, on=on_cross)
        y = made.leave(g, f"{layer}.around_cross", y, seen)
        y = made.feed(g, layer, y)
        written.append((keys, values))
        own_maps.append(own)
        cross_maps.append(cross)
    for name, every in zip(("keys", "values"), zip(*written, strict=True), strict=True):
        _stacked(g, every, f"next_written_{name}")
        g.gives(f"next_written_{name}", "float32", *shape, "next_written", made.d_k)
    for name, rows, axis in (
        ("decoder_maps", own_maps, "next_written"),
        ("cross_maps", cross_maps, "source"),
    ):
        g.drop(_stacked(g, rows), 3, name=name)  # one word asks
        g.gives(name, "float32", *shape, axis)
    heads = g.constant([1, 2], "int64")
    g("ReduceMean", "cross_maps", heads, keepdims=0, name="weights")
    g.gives("weights", "float32", "batch", "source")
    top = g.drop(made.last(g, "norm_target", y), 1)
    output = table if config.tie != "none" else "output"
    g("Gemm", top, g.weight(f"{output}.weight"), transB=1, name="logits")
    g.gives("logits", "float32", "batch", config.target_vocab)
    return g


def _layers(g: Graph, x: str, config: TransformerConfig) -> list[str]:
    """batch × layer × …, cut into its layers."""
    count = config.decoder_layers
    return [g.drop(each, 1) for each in g.split(x, [1] * count, axis=1)]


def _stacked(g: Graph, layers: list[str] | tuple[str, ...], name: str = "") -> str:
    """The way back."""
    return g("Concat", *(g.insert(each, 1) for each in layers), axis=1, name=name)


class _Layers:
    """The parts of ``Transformer`` as nodes; x is batch × step × d_model throughout."""

    def __init__(self, config: TransformerConfig) -> None:
        if config.positions == "learned":
            raise ExportError("learned positions have none beyond them, where a lab could shift to")
        self.config = config
        self.d_k = config.d_model // config.heads

    def placed(self, g: Graph, side: str, words: str, *, count: str, start: str | None) -> str:
        """Words and their places: √d E w + PE, with the controls ``…_shift`` and ``…_places``.
        start: the place of the first of them, 0 if not given"""
        config = self.config
        x = g("Mul", words, g.constant(config.d_model**0.5))
        shift, there = g.takes(f"{side}_shift", "float32"), g.takes(f"{side}_places", "bool")
        if config.positions == "none":
            return x
        places = g.cast(parts.positions(g, count), "float32")
        places = g("Add", places, shift)
        if start is not None:
            places = g("Add", places, g.cast(start, "float32"))
        angles = g(
            "Mul", g.insert(places, 1), g.constant(Sinusoids(d_model=config.d_model).frequencies())
        )
        pairs = (g.insert(g(wave, angles), 2) for wave in ("Sin", "Cos"))
        table = g.reshape(g("Concat", *pairs, axis=2), 0, config.d_model)
        return g("Add", x, g("Where", there, table, g.constant(0.0)))

    def switches(self, g: Graph, place: Any) -> list[str]:
        """The control ``…_on``, cut into layers: 1 or 0 for each head."""
        layers, heads = self.config.layers(place), self.config.heads
        on = g.cast(g.takes(f"{place}_on", "bool", layers, heads), "float32")
        return [g.reshape(each, heads, 1, 1) for each in g.split(on, [1] * layers, axis=0)]

    def linear(self, g: Graph, x: str, name: str, *, bias: bool) -> str:
        """``nn.Linear`` on rows of rows."""
        y = g("MatMul", x, g("Transpose", g.weight(f"{name}.weight"), perm=[1, 0]))
        return g("Add", y, g.weight(f"{name}.bias")) if bias else y

    def norm(self, g: Graph, x: str, name: str) -> str:
        """``nn.LayerNorm``."""
        scale, bias = (g.weight(f"{name}.{each}") for each in ("weight", "bias"))
        return g("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.config.epsilon)

    def enter(self, g: Graph, name: str, x: str) -> str:
        """``Residual.enter``."""
        return self.norm(g, x, f"{name}.norm") if self.config.norm == "pre" else x

    def leave(self, g: Graph, name: str, x: str, f: str) -> str:
        """``Residual.leave``."""
        y = g("Add", x, f)
        return y if self.config.norm == "pre" else self.norm(g, y, f"{name}.norm")

    def last(self, g: Graph, name: str, x: str) -> str:
        """What stands behind the last layer."""
        return self.norm(g, x, name) if self.config.norm == "pre" else x

    def feed(self, g: Graph, layer: str, x: str) -> str:
        """The position-wise network, with what is around it."""
        inner = self.enter(g, f"{layer}.around_feed", x)
        hidden = g("Relu", self.linear(g, inner, f"{layer}.feed.W_1", bias=True))
        out = self.linear(g, hidden, f"{layer}.feed.W_2", bias=True)
        return self.leave(g, f"{layer}.around_feed", x, out)

    def split(self, g: Graph, x: str) -> str:
        """batch × head × step × d_k."""
        cut = g.reshape(x, 0, 0, self.config.heads, self.d_k)
        return g("Transpose", cut, perm=[0, 2, 1, 3])

    def prepare(self, g: Graph, name: str, source: str) -> tuple[str, str]:
        """``MultiHead.prepare``: keys and values."""
        bias = self.config.bias
        keys, values = (
            self.split(g, self.linear(g, source, f"{name}.{W}", bias=bias)) for W in ("W_k", "W_v")
        )
        return keys, values

    def look(
        self,
        g: Graph,
        name: str,
        x: str,
        keys: str,
        values: str,
        *,
        keep: str | None,
        on: str,
    ) -> tuple[str, str]:
        """``MultiHead.look``: what the heads brought home, and where they looked."""
        query = self.split(g, self.linear(g, x, f"{name}.W_q", bias=self.config.bias))
        scores = g("MatMul", query, g("Transpose", keys, perm=[0, 1, 3, 2]))
        if self.config.scaled:
            scores = g("Div", scores, g.constant(self.d_k**0.5))
        alpha = g("Softmax", scores, axis=-1) if keep is None else parts.softmax(g, scores, keep)
        seen = g("Mul", g("MatMul", alpha, values), on)
        seen = g.reshape(g("Transpose", seen, perm=[0, 2, 1, 3]), 0, 0, self.config.d_model)
        return self.linear(g, seen, f"{name}.W_o", bias=self.config.bias), alpha
