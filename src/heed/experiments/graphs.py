"""Translators as ONNX graphs, for a runtime that is not PyTorch: the page's, in WebAssembly.

A translator becomes two graphs. The *encoder* reads a sentence, the *decoder* makes one step;
whoever runs them loops. Their inputs and outputs bear the names of the model's own records
(``Annotations.keep``, ``Thought.h``), a state that comes out has ``next_`` before its name.
Batch and source length are free.

The graphs are built node by node. A trace of our encoder would unroll its loop and freeze the
length of the source; ONNX has an operator for each of the two cells:

    GRU, linear_before_reset = 0: the cell of Bahdanau et al. with its z the other way round.
        1 − σ(a) = σ(−a), so the parameters of z change sign.
    LSTM: PyTorch's, with the gates in the order i, o, f, c instead of i, f, c, o.

Each parameter of the model lies in exactly one of the two files, once, under its own name and in
its own layout. Turning, negating and casting are nodes, which the runtime computes once, when it
loads the file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from torch import nn

from heed.experiments.checkpoint import tensors
from heed.models.bahdanau import Annotations, Bahdanau, BahdanauConfig, BahdanauState
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig, Thought

OPSET, IR_VERSION = 20, 10
"""What onnxruntime-web 1.30 reads, and versions before it too."""

Kind = Literal["float32", "float16", "short", "int8"]

SHORT_BITS = 6
"""Of the ten bits of a float16's fraction, those that a short one keeps."""


class ExportError(RuntimeError):
    """A model that cannot be exported, or an export that is not what it should be."""


# ------------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class Stored:
    """A parameter as it lies in a file; int8 comes with a scale for each row (last axis).

    A short number is a float16 whose last bits are zeros. It takes as much room in the file, but
    gzip, which finds nothing to save in other weights, takes a fifth off.
    """

    data: np.ndarray
    scale: np.ndarray | None = None
    short: bool = False

    @classmethod
    def of(cls, values: np.ndarray, kind: Kind) -> "Stored":
        """Round the values."""
        if kind == "short":
            return cls(_short(values.astype("float16")), short=True)
        if kind != "int8":
            return cls(values.astype(kind))
        longest = np.abs(values).max(axis=-1, keepdims=True)
        scale = np.where(longest > 0, longest / 127, 1).astype(np.float32)
        return cls(np.rint(values / scale).astype(np.int8), scale)

    @property
    def kind(self) -> str:
        """How each number is stored."""
        return "short" if self.short else self.data.dtype.name

    @property
    def bytes(self) -> int:
        """Room in the file."""
        return self.data.nbytes + (0 if self.scale is None else self.scale.nbytes)

    def values(self) -> np.ndarray:
        """The numbers that the graph computes with."""
        values = self.data.astype(np.float32)
        return values if self.scale is None else values * self.scale


def _short(values: np.ndarray) -> np.ndarray:
    """float16 numbers rounded to ``SHORT_BITS`` bits of their fraction."""
    drop = 10 - SHORT_BITS
    bits = values.view(np.uint16).astype(np.uint32) + (1 << drop - 1)
    return (bits >> drop << drop).astype(np.uint16).view(np.float16)


def pack(model: nn.Module, *, limit: int, short: bool = False) -> dict[str, Stored]:
    """Every parameter by name, as small as it gets without loss; then, until all of them fit into
    ``limit`` bytes, the largest one goes down a step: float32, float16, int8. In the end, if
    wanted, float16 matrices become ``short``.

    Vectors are small and stay at float16 or better.
    """
    exact = {name: tensor.detach().float().numpy() for name, tensor in tensors(model)}
    packed = {}
    for name, values in exact.items():
        half = Stored.of(values, "float16")
        packed[name] = half if np.array_equal(half.values(), values) else Stored(values)
    while sum(stored.bytes for stored in packed.values()) > limit:
        name, kind = max(
            (
                (name, below)
                for name, stored in packed.items()
                if (below := _below(stored)) is not None
            ),
            key=lambda each: packed[each[0]].bytes,
            default=(None, None),
        )
        if name is None or kind is None:
            raise ExportError(f"the parameters do not fit into {limit:,} bytes, not even as int8")
        packed[name] = Stored.of(exact[name], kind)
    if short:
        for name, stored in packed.items():
            if stored.kind == "float16" and stored.data.ndim > 1:
                packed[name] = Stored.of(exact[name], "short")
    return packed


def _below(stored: Stored) -> Kind | None:
    if stored.kind == "float32":
        return "float16"
    return "int8" if stored.kind == "float16" and stored.data.ndim > 1 else None


# ------------------------------------------------------------------------------- a graph


class Graph:
    """An ONNX graph under construction. ``graph("Tanh", x)`` adds a node and gives its output."""

    def __init__(self, name: str, parameters: Mapping[str, Stored]) -> None:
        self.name = name
        self.parameters = parameters
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._loaded: dict[str, str] = {}

    def takes(self, name: str, kind: str, *shape: str | int) -> str:
        """An input; a word in the shape is a size that is not known beforehand."""
        self.inputs.append(_value(name, kind, shape))
        return name

    def gives(self, name: str, kind: str, *shape: str | int) -> None:
        """An output: the node of this name."""
        self.outputs.append(_value(name, kind, shape))

    def __call__(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        return self.several(op, *inputs, names=(name,), **attributes)[0]

    def several(
        self, op: str, *inputs: str, names: tuple[str, ...], **attributes: Any
    ) -> list[str]:
        """A node with more than one output."""
        from onnx import helper

        outputs = [name or f"{op}.{len(self.nodes)}.{i}" for i, name in enumerate(names)]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs

    def constant(self, values: Any, kind: str = "float32") -> str:
        """Numbers of the graph's own."""
        name = f"constant.{len(self.initializers)}"
        self.initializers[name] = np.asarray(values, dtype=kind)
        return name

    def weight(self, name: str) -> str:
        """A parameter of the model, as float32."""
        if name not in self._loaded:
            stored = self.parameters[name]
            self.initializers[name] = stored.data
            value = name if stored.kind == "float32" else self.cast(name, "float32")
            if stored.scale is not None:
                self.initializers[f"{name}.scale"] = stored.scale
                value = self("Mul", value, f"{name}.scale")
            self._loaded[name] = value
        return self._loaded[name]

    def cast(self, x: str, kind: str) -> str:
        """The same numbers in another type."""
        return self("Cast", x, to=_type(kind))

    def reshape(self, x: str, *shape: int, name: str = "") -> str:
        """0 keeps an axis as it is, −1 takes what is left."""
        return self("Reshape", x, self.constant(shape, "int64"), name=name)

    def insert(self, x: str, axis: int) -> str:
        """A new axis of size 1."""
        return self("Unsqueeze", x, self.constant([axis], "int64"))

    def drop(self, x: str, axis: int, name: str = "") -> str:
        """Take an axis of size 1 away."""
        return self("Squeeze", x, self.constant([axis], "int64"), name=name)

    def split(self, x: str, sizes: list[int], axis: int) -> list[str]:
        """Cut an axis into parts."""
        return self.several(
            "Split", x, self.constant(sizes, "int64"), names=("",) * len(sizes), axis=axis
        )

    def linear(self, x: str, name: str, *, bias: bool = True, out: str = "") -> str:
        """``nn.Linear`` on rows: x Wᵀ + b."""
        both = (self.weight(f"{name}.weight"), *([self.weight(f"{name}.bias")] if bias else []))
        return self("Gemm", x, *both, transB=1, name=out)

    def sum(self, *terms: str) -> str:
        """Add them up."""
        return self("Sum", *terms)

    def serialise(self) -> bytes:
        """The file, checked for what ONNX can check."""
        import onnx
        from onnx import helper, numpy_helper

        weights = [numpy_helper.from_array(v, name=n) for n, v in self.initializers.items()]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, weights)
        model = helper.make_model(
            graph,
            producer_name="heed",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def _type(kind: str) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def _value(name: str, kind: str, shape: tuple[str | int, ...]) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, _type(kind), shape)


# ------------------------------------------------------------------------------- Bahdanau


def bahdanau_encoder(config: BahdanauConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Bahdanau.encode``: from word numbers to ``Annotations``."""
    g, d = Graph("encoder", parameters), config.d_encoder
    source = g.takes("source", "int64", "batch", "source")
    lengths = g.takes("source_lengths", "int64", "batch")

    turn_z = np.ones((1, 3 * d, 1))
    turn_z[:, :d] = -1
    turn = g.constant(turn_z)
    W = g.reshape(g.weight("encoder.W.weight"), 2, 3 * d, config.d_embedding)
    U_zr = g("Transpose", g.weight("encoder.U_zr"), perm=[0, 2, 1])
    U = g("Transpose", g.weight("encoder.U"), perm=[0, 2, 1])
    b = g.reshape(g.weight("encoder.W.bias"), 2, 3 * d, 1)
    no_second_bias = g.constant(np.zeros((2, 3 * d)))

    x = g("Gather", g.weight("embed_source.weight"), source)
    Y, last = g.several(
        "GRU",
        g("Transpose", x, perm=[1, 0, 2]),
        g("Mul", W, turn),
        g("Mul", g("Concat", U_zr, U, axis=1), turn),
        g("Concat", g.drop(g("Mul", b, turn), 2), no_second_bias, axis=1),
        g.cast(lengths, "int32"),
        names=("", ""),
        direction="bidirectional",
        hidden_size=d,
        linear_before_reset=0,
    )
    h = g.reshape(g("Transpose", Y, perm=[2, 0, 1, 3]), 0, 0, 2 * d, name="annotations")
    g("MatMul", h, g("Transpose", g.weight("attention.score.U.weight")), name="prepared")
    back_at_first = g.drop(g.split(last, [1, 1], axis=0)[1], 0)
    g("Tanh", g.linear(back_at_first, "W_s"), name="first_state")

    longest = g.drop(g("Shape", source, start=1, end=2), 0)
    positions = g("Range", g.constant(0, "int64"), longest, g.constant(1, "int64"))
    g("Less", positions, g.insert(g.insert(lengths, 1), 2), name="keep")

    g.gives("annotations", "float32", "batch", "source", 2 * d)
    g.gives("prepared", "float32", "batch", "source", config.d_align)
    g.gives("keep", "bool", "batch", 1, "source")
    g.gives("first_state", "float32", "batch", config.d_state)
    return g


def bahdanau_decoder(config: BahdanauConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Bahdanau.step``, with two things to try: all scores divided by ``temperature``, and in the
    sentences where ``force`` is true the weights of ``forced`` instead of the model's own.
    """
    g, d = Graph("decoder", parameters), config.d_state
    d_annotation = 2 * config.d_encoder
    token = g.takes("token", "int64", "batch")
    s = g.takes("s", "float32", "batch", d)
    h = g.takes("annotations", "float32", "batch", "source", d_annotation)
    prepared = g.takes("prepared", "float32", "batch", "source", config.d_align)
    keep = g.drop(g.takes("keep", "bool", "batch", 1, "source"), 1)
    temperature = g.takes("temperature", "float32")
    force = g.takes("force", "bool", "batch")
    forced = g.takes("forced", "float32", "batch", "source")

    query = g.insert(g.linear(s, "attention.score.W", bias=False), 1)
    v = g("Transpose", g.weight("attention.score.v.weight"))
    e = g.drop(g("MatMul", g("Tanh", g("Add", query, prepared)), v), 2)
    # As in masked_softmax: whoever may look nowhere gets zeros.
    lowest = g.constant(np.finfo(np.float32).min)
    alpha = g("Softmax", g("Where", keep, g("Div", e, temperature), lowest), axis=-1)
    alpha = g("Where", keep, alpha, g.constant(0.0))
    weights = g("Where", g.insert(force, 1), forced, alpha, name="weights")
    c = g.drop(g("MatMul", g.insert(weights, 1), h), 1)

    y = g("Gather", g.weight("embed_target.weight"), token)
    drive = g("Add", g.linear(y, "drive_y"), g.linear(c, "drive_c", bias=False))
    zr, new = g.split(drive, [2 * d, d], axis=1)
    zr = g("Sigmoid", g("Add", zr, g("MatMul", s, g.weight("cell.U_zr"))))
    z, r = g.split(zr, [d, d], axis=1)
    new = g("Tanh", g("Add", new, g("MatMul", g("Mul", r, s), g.weight("cell.U"))))
    moved = g("Add", s, g("Mul", z, g("Sub", new, s)), name="next_s")

    used = s if config.readout_state == "previous" else moved
    both = g.sum(
        g.linear(used, "readout_s"),
        g.linear(y, "readout_y", bias=False),
        g.linear(c, "readout_c", bias=False),
    )
    pairs = g.reshape(both, 0, -1, 2)
    t = g("ReduceMax", pairs, g.constant([2], "int64"), keepdims=0)
    _output(g, t, tied=config.tie_output)

    g.gives("next_s", "float32", "batch", d)
    g.gives("logits", "float32", "batch", config.target_vocab)
    g.gives("weights", "float32", "batch", "source")
    return g


# ------------------------------------------------------------------------------- seq2seq


def seq2seq_encoder(config: Seq2SeqConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Seq2Seq.encode``: from word numbers to ``Thought``. The graph turns the words round."""
    g = Graph("encoder", parameters)
    source = g.takes("source", "int64", "batch", "source")
    lengths = g.takes("source_lengths", "int64", "batch")
    if config.reverse_source:
        words = g("Sub", lengths, g.constant(1, "int64"))
        source = g("ReverseSequence", source, words, batch_axis=0, time_axis=1)
    x = g("Gather", g.weight("embed_source.weight"), source)
    x = g("Transpose", x, perm=[1, 0, 2])
    last = []
    for layer in range(config.layers):
        x, *state = _lstm(g, x, f"encoder.{{}}_l{layer}", config.d_hidden, g.cast(lengths, "int32"))
        last.append(state)
    for name, states in zip(("h", "c"), zip(*last, strict=True), strict=True):
        # one layer: (1, batch, d_hidden)
        stacked = states[0] if config.layers == 1 else g("Concat", *states, axis=0)
        g("Transpose", stacked, perm=[1, 0, 2], name=name)
        g.gives(name, "float32", "batch", config.layers, config.d_hidden)
    return g


def seq2seq_decoder(config: Seq2SeqConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Seq2Seq.step``. Nothing of the source comes in but the state."""
    g = Graph("decoder", parameters)
    token = g.takes("token", "int64", "batch")
    before = [
        g(
            "Transpose",
            g.takes(name, "float32", "batch", config.layers, config.d_hidden),
            perm=[1, 0, 2],
        )
        for name in ("h", "c")
    ]
    layers = [g.split(state, [1] * config.layers, axis=0) for state in before]
    x = g.insert(g("Gather", g.weight("embed_target.weight"), token), 0)
    last = []
    for layer, (h, c) in enumerate(zip(*layers, strict=True)):
        x, *state = _lstm(g, x, f"decoder.{{}}_l{layer}", config.d_hidden, "", h, c)
        last.append(state)
    for name, states in zip(("next_h", "next_c"), zip(*last, strict=True), strict=True):
        stacked = states[0] if config.layers == 1 else g("Concat", *states, axis=0)
        g("Transpose", stacked, perm=[1, 0, 2], name=name)
        g.gives(name, "float32", "batch", config.layers, config.d_hidden)
    top = g.drop(x, 0)
    if "to_embedding.weight" in parameters:
        top = g.linear(top, "to_embedding", bias=False)
    _output(g, top, tied=config.tie_output)
    g.gives("logits", "float32", "batch", config.target_vocab)
    return g


def _lstm(g: Graph, x: str, names: str, d: int, *more: str) -> list[str]:
    """One layer of ``nn.LSTM``: all its states, the last h, the last c; time first.

    more: the lengths ("" for none), h and c to begin with.
    """

    def gates(name: str) -> str:
        i, f, c, o = g.split(g.weight(names.format(name)), [d] * 4, axis=0)
        return g("Concat", i, o, f, c, axis=0)

    W, R = (g.insert(gates(name), 0) for name in ("weight_ih", "weight_hh"))
    b = g.insert(g("Concat", gates("bias_ih"), gates("bias_hh"), axis=0), 0)
    Y, h, c = g.several("LSTM", x, W, R, b, *more, names=("", "", ""), hidden_size=d)
    return [g.drop(Y, 1), h, c]


def _output(g: Graph, t: str, *, tied: bool) -> None:
    table = g.weight("embed_target.weight" if tied else "output.weight")
    g("Gemm", t, table, g.weight("output.bias"), transB=1, name="logits")


# ------------------------------------------------------------------------------- families


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the models of a class are exported.

    encoded, state: the records of ``Translator.encode`` and ``Translator.start``
    start: for each field of the state the field of ``encoded`` that it begins with
    controls: inputs of the decoder beyond those of ``step``, and what leaves it as it is
    """

    encoder: Callable[[Any, Mapping[str, Stored]], Graph]
    decoder: Callable[[Any, Mapping[str, Stored]], Graph]
    encoded: type
    state: type
    start: Mapping[str, str]
    controls: Mapping[str, Any]

    def state_fields(self) -> list[str]:
        """The names of what goes from step to step."""
        return [field.name for field in fields(self.state)]


FAMILIES: dict[str, Family] = {
    Bahdanau.__name__: Family(
        encoder=bahdanau_encoder,
        decoder=bahdanau_decoder,
        encoded=Annotations,
        state=BahdanauState,
        start={"s": "first_state"},
        controls={"temperature": 1.0, "force": False, "forced": 0.0},
    ),
    Seq2Seq.__name__: Family(
        encoder=seq2seq_encoder,
        decoder=seq2seq_decoder,
        encoded=Thought,
        state=Thought,
        start={"h": "h", "c": "c"},
        controls={},
    ),
}


def family_of(model: nn.Module) -> Family:
    """The family of a model; ``ExportError`` if it has none."""
    name = type(model).__name__
    if name not in FAMILIES:
        raise ExportError(f"a {name} cannot be exported; {' and '.join(FAMILIES)} can")
    return FAMILIES[name]
