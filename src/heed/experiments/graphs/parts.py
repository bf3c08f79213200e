"""What the graphs of several models have in common: the ends of a translator, and a look."""

from collections.abc import Sequence

import numpy as np

from heed.experiments.graphs.graph import Graph

LOOKING = {"temperature": 1.0, "force": False, "forced": 0.0}
"""The controls of every decoder that attends, and what leaves the model as it is."""


def source(g: Graph) -> tuple[str, str]:
    """What every encoder reads: word numbers, and how many of them are real."""
    return g.takes("source", "int64", "batch", "source"), g.takes(
        "source_lengths", "int64", "batch"
    )


def embedded(g: Graph, table: str, words: str) -> str:
    """Rows of an embedding: ``embed_source`` or ``embed_target``."""
    return g("Gather", g.weight(f"{table}.weight"), words)


def length_of(g: Graph, x: str, axis: int = 1) -> str:
    """How long an axis is, as a number without an axis."""
    return g.drop(g("Shape", x, start=axis, end=axis + 1), 0)


def positions(g: Graph, length: str) -> str:
    """0, 1, 2 … as many as ``length`` says."""
    return g("Range", g.constant(0, "int64"), length, g.constant(1, "int64"))


def keep(g: Graph, words: str, lengths: str) -> None:
    """The output ``keep``: ``heed.masks.padding``."""
    inside = (positions(g, length_of(g, words)), g.insert(g.insert(lengths, 1), 2))
    g("Less", *inside, name="keep")
    g.gives("keep", "bool", "batch", 1, "source")


def kept(g: Graph) -> str:
    """The input ``keep`` of a decoder, batch × source."""
    return g.drop(g.takes("keep", "bool", "batch", 1, "source"), 1)


def tempered(g: Graph, scores: str) -> str:
    """The scores divided by the control ``temperature``."""
    return g("Div", scores, g.takes("temperature", "float32"))


def softmax(g: Graph, scores: str, keep: str) -> str:
    """``masked_softmax`` on rows: whoever may look nowhere gets zeros."""
    lowest = g.constant(np.finfo(np.float32).min)
    alpha = g("Softmax", g("Where", keep, scores, lowest), axis=-1)
    return g("Where", keep, alpha, g.constant(0.0))


def context(g: Graph, alpha: str, values: str, *, axis: str = "source") -> str:
    """What is seen: Σ α · values. In the sentences where the control ``force`` is true, the weights
    are those of ``forced`` instead of α. Gives ``weights``. axis: what is looked at."""
    force = g.takes("force", "bool", "batch")
    forced = g.takes("forced", "float32", "batch", axis)
    weights = g("Where", g.insert(force, 1), forced, alpha, name="weights")
    g.gives("weights", "float32", "batch", axis)
    return g.drop(g("MatMul", g.insert(weights, 1), values), 1)


def gates(g: Graph, weight: str, d: int) -> str:
    """A matrix or vector of ``nn.LSTM``, its gates i, f, c, o in ONNX's order i, o, f, c."""
    i, f, c, o = g.split(g.weight(weight), [d] * 4, axis=0)
    return g("Concat", i, o, f, c, axis=0)


def lstm(g: Graph, x: str, names: str, d: int, *more: str) -> list[str]:
    """One layer of ``nn.LSTM``: all its states, the last h, the last c; time first.

    names: of its parameters, with {} for what comes before the layer, as in ``encoder.{}_l0``
    more: the lengths ("" for none), h and c to begin with

    In a wide graph the layer must have lengths and begins with nothing.
    """
    if g.wide:
        return _wide_lstm(g, x, names, d, *more)
    W, R = (g.insert(gates(g, names.format(name), d), 0) for name in ("weight_ih", "weight_hh"))
    biases = [gates(g, names.format(name), d) for name in ("bias_ih", "bias_hh")]
    b = g.insert(g("Concat", *biases, axis=0), 0)
    Y, h, c = g.several("LSTM", x, W, R, b, *more, names=("", "", ""), hidden_size=d)
    return [g.drop(Y, 1), h, c]


def _wide_lstm(g: Graph, x: str, names: str, d: int, lengths: str) -> list[str]:
    """The same step by step, for onnxruntime has ONNX's LSTM in float32 only."""
    W, R = (
        g("Transpose", g.weight(names.format(name)), perm=[1, 0])
        for name in ("weight_ih", "weight_hh")
    )
    bias = g("Add", *(g.weight(names.format(name)) for name in ("bias_ih", "bias_hh")))
    drives = g("Add", g("MatMul", x, W), bias)
    times = g.cast(positions(g, length_of(g, x, axis=0)), "int32")
    inside = g.insert(g("Less", g.insert(times, 1), g.insert(lengths, 0)), 2)
    width = g("Concat", g("Shape", x, start=1, end=2), g.constant([d], "int64"), axis=0)
    zeros = g("Expand", g.constant(0.0), width)

    step = Graph("step", {}, prefix=f"{names.format('step')}.")
    own = step.prefix + "{}"
    h, c = (step.takes(own.format(name), "float64", "batch", d) for name in ("h", "c"))
    drive = step.takes(own.format("drive"), "float64", "batch", 4 * d)
    real = step.takes(own.format("inside"), "bool", "batch", 1)
    i, f, new, o = step.split(step("Add", drive, step("MatMul", h, R)), [d] * 4, axis=1)
    written = step("Mul", step("Sigmoid", i), step("Tanh", new))
    moved = step("Add", step("Mul", step("Sigmoid", f), c), written)
    said = step("Mul", step("Sigmoid", o), step("Tanh", moved))
    nothing = step.constant(0.0, "float64")
    for name, then, otherwise in (
        ("next_h", said, h),
        ("next_c", moved, c),
        ("y", said, nothing),
    ):
        step("Where", real, then, otherwise, name=own.format(name))
        step.gives(own.format(name), "float64", "batch", d)

    last_h, last_c, Y = g.several(
        "Scan",
        *(zeros, zeros, drives, inside),
        names=("", "", ""),
        body=step.proto(),
        num_scan_inputs=2,
    )
    return [Y, g.insert(last_h, 0), g.insert(last_c, 0)]


def encoder_lstm(
    g: Graph, x: str, lengths: str, *, layers: int, d: int
) -> tuple[str, list[str], list[str]]:
    """A stack named ``encoder``: the states of its top layer, and the last h and c of each."""
    last = []
    for layer in range(layers):
        x, *state = lstm(g, x, f"encoder.{{}}_l{layer}", d, g.cast(lengths, "int32"))
        last.append(state)
    h, c = (list(states) for states in zip(*last, strict=True))
    return x, h, c


def turned(g: Graph, words: str, lengths: str, *, batch_axis: int = 0) -> str:
    """``reverse_each``: all words of each sentence but its ``EOS`` back to front."""
    count = g("Sub", lengths, g.constant(1, "int64"))
    return g("ReverseSequence", words, count, batch_axis=batch_axis, time_axis=1 - batch_axis)


def unlayered(g: Graph, name: str, layers: int, d: int) -> list[str]:
    """The input ``name``, batch × layer × d, cut into its layers, each 1 × batch × d."""
    stacked = g("Transpose", g.takes(name, "float32", "batch", layers, d), perm=[1, 0, 2])
    return g.split(stacked, [1] * layers, axis=0)


def layered(g: Graph, name: str, states: Sequence[str], d: int) -> None:
    """States of all layers, each 1 × batch × d, as the output ``name``: batch × layer × d."""
    stacked = states[0] if len(states) == 1 else g("Concat", *states, axis=0)
    g("Transpose", stacked, perm=[1, 0, 2], name=name)
    g.gives(name, "float32", "batch", len(states), d)


def logits(g: Graph, t: str, *, tied: bool, words: int) -> None:
    """The output layer: its own matrix, or the target embedding."""
    table = g.weight("embed_target.weight" if tied else "output.weight")
    g("Gemm", t, table, g.weight("output.bias"), transB=1, name="logits")
    g.gives("logits", "float32", "batch", words)


def narrowed(g: Graph, t: str) -> str:
    """Through ``to_embedding``, in a model that has it."""
    return g.linear(t, "to_embedding", bias=False) if "to_embedding.weight" in g.parameters else t
