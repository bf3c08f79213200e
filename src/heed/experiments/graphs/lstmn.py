"""``LSTMNLanguageModel`` and its rival as graphs: one each, the step from a word to the next.

Whoever runs it begins with what ``families`` says and loops. Of a tape that grows by a slot at each
step, a graph takes the whole and gives the whole back with one slot more.
"""

from collections.abc import Mapping
from typing import Any

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import Stored
from heed.models.lstmn import LSTMLanguageConfig, LSTMNLanguageConfig

Begin = tuple[str, list[int], float | bool]
"""What a field of a state is before the first word: type, shape, and the number in each place."""

SCORE = "lstmn.score"


def step(config: LSTMNLanguageConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``LSTMNLanguageModel.step``, with the controls that ``controls`` lists."""
    g, d = Graph("step", parameters), config.d_state
    token = g.takes("token", "int64", "batch")
    x = parts.embedded(g, "words.embed", token)
    tape = g.takes("tape", "float32", "batch", "slot", 2 * d)
    prepared = g.takes("prepared", "float32", "batch", "slot", config.d_align)
    keep = g.takes("keep", "bool", "batch", "slot")
    query = x
    if config.previous_summary:
        query = g("Concat", x, g.takes("summary", "float32", "batch", d), axis=1)

    asked = g.insert(g.linear(query, f"{SCORE}.W", bias=False), 1)
    v = g("Transpose", g.weight(f"{SCORE}.v.weight"))
    scores = g.drop(g("MatMul", g("Tanh", g("Add", asked, prepared)), v), 2)
    alpha = parts.softmax(g, parts.tempered(g, scores), _may(g, keep))
    found = parts.context(g, alpha, tape, axis="slot")

    h_tilde, c_tilde = g.split(found, [d, d], axis=1)
    gates = g("Add", g.linear(x, "lstmn.gates_x"), g.linear(h_tilde, "lstmn.gates_h", bias=False))
    i, f, new, o = g.split(gates, [d] * 4, axis=1)
    written = g("Mul", g("Sigmoid", i), g("Tanh", new))
    c = g("Add", g("Mul", g("Sigmoid", f), c_tilde), written)
    h = g("Mul", g("Sigmoid", o), g("Tanh", c))

    slot = g("Concat", h, c, axis=1)
    ready = g.linear(h, f"{SCORE}.U", bias=False)
    true = g.insert(g("Equal", token, token), 1)
    for name, kind, before, new, width in (
        ("tape", "float32", tape, g.insert(slot, 1), [2 * d]),
        ("prepared", "float32", prepared, g.insert(ready, 1), [config.d_align]),
        ("keep", "bool", keep, true, []),
    ):
        g("Concat", before, new, axis=1, name=f"next_{name}")
        g.gives(f"next_{name}", kind, "batch", "next_slot", *width)
    g("Identity", h_tilde, name="next_summary")
    g.gives("next_summary", "float32", "batch", d)
    _logits(g, h, config)
    return g


def _may(g: Graph, keep: str) -> str:
    """``LSTMN._may``: the slots that can be looked at. Where the control ``null`` is false, the
    null slot cannot, once there is another one."""
    count = g("ReduceSum", g.cast(keep, "float32"), g.constant([1], "int64"), keepdims=1)
    alone = g("LessOrEqual", count, g.constant(1.0))
    first = g("Equal", parts.positions(g, parts.length_of(g, keep)), g.constant(0, "int64"))
    null = g("Or", alone, g.takes("null", "bool"))
    return g("And", keep, g("Or", null, g("Not", first)))


def begin(config: LSTMNLanguageConfig) -> dict[str, Begin]:
    """``LSTMNLanguageModel.start``, for each text: a null slot of zeros."""
    return {
        "tape": ("float32", [1, 2 * config.d_state], 0.0),
        "prepared": ("float32", [1, config.d_align], 0.0),
        "keep": ("bool", [1], True),
        "summary": ("float32", [config.d_state], 0.0),
    }


def controls(config: LSTMNLanguageConfig) -> dict[str, Any]:
    """Temperature and forced rows, as every decoder that attends has them, and whether the null
    slot can be looked at when there are others: ``keep_null``."""
    return {**parts.LOOKING, "null": config.keep_null}


# ------------------------------------------------------------------------------------ its rival


def lstm_step(config: LSTMLanguageConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``LSTMLanguageModel.step``: ONNX's LSTM, over a single word."""
    g, d = Graph("step", parameters), config.d_state
    x = g.insert(parts.embedded(g, "words.embed", g.takes("token", "int64", "batch")), 0)
    before = [g.insert(g.takes(name, "float32", "batch", d), 0) for name in ("h", "c")]
    _, h, c = parts.lstm(g, x, "lstm.{}_l0", d, "", *before)
    for name, after in (("h", h), ("c", c)):
        g.drop(after, 0, name=f"next_{name}")
        g.gives(f"next_{name}", "float32", "batch", d)
    _logits(g, "next_h", config)
    return g


def lstm_begin(config: LSTMLanguageConfig) -> dict[str, Begin]:
    """``LSTMLanguageModel.start``, for each text."""
    return {name: ("float32", [config.d_state], 0.0) for name in ("h", "c")}


def _logits(g: Graph, h: str, config: LSTMNLanguageConfig | LSTMLanguageConfig) -> None:
    """``Words.write``: the output ``logits``."""
    if "words.project.weight" in g.parameters:
        h = g.linear(h, "words.project", bias=False)
    table = g.weight(f"words.{'embed' if config.tie_output else 'output'}.weight")
    g("Gemm", h, table, g.weight("words.output.bias"), transB=1, name="logits")
    g.gives("logits", "float32", "batch", config.vocab)
