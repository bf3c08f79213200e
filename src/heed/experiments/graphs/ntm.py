"""``NTM`` as two graphs: what a sequence begins with, and a step of the machine.

The whole state goes from step to step, the memory with it. Where commands of all heads lie in one
tensor, readers come first.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import Stored
from heed.layers.addressing import LEAST, SHORTEST
from heed.models.ntm import EMPTY, NTMConfig

COMMANDS = ("strength", "gate", "shifts", "focus")
"""β, g, s and γ: what a hand can take over."""

FIRST = "first_{}"
"""What a field of the state is called before the first step; a learned one bears its name."""


def state(config: NTMConfig) -> dict[str, list[int]]:
    """The fields of an ``NTMState`` and of the ``MemoryState`` in it, and the size of each for one
    sequence. Without an LSTM there are no h and c."""
    d, kept = config.d_slot, [config.d_controller]
    sizes = {
        "memory": [config.slots, d],
        "reads": [config.readers, d],
        "reading": [config.readers, config.slots],
        "writing": [config.writers, config.slots],
    }
    return sizes | ({"h": kept, "c": kept} if config.controller == "lstm" else {})


def start(config: NTMConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``NTM.start``, of one sequence."""
    g, sizes = Graph("start", parameters), state(config)
    if config.first == "learned":
        first = {
            "memory": g.weight("memory"),
            "reads": g("Tanh", g.weight("reads")),
            **{name: g.weight(name) for name in ("h", "c") if name in sizes},
        }
        places = g("Softmax", g.weight("places"), axis=-1)
        first["reading"], first["writing"] = g.split(places, [config.readers, config.writers], 0)
    else:
        first = {}
        for name, size in sizes.items():
            here = np.full(size, EMPTY if name == "memory" else 0.0)
            if name in ("reading", "writing"):
                here[:, 0] = 1.0
            first[name] = g.constant(here)
    for name, size in sizes.items():
        g("Unsqueeze", first[name], g.constant([0], "int64"), name=FIRST.format(name))
        g.gives(FIRST.format(name), "float32", 1, *size)
    return g


def step(config: NTMConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``NTM.step``, with the controls that ``controls`` lists. Gives, beside the scores and the
    next state, what the heads were told: all of ``Aim``, readers first, ``erase`` and ``add``."""
    g, R, W = Graph("step", parameters), config.readers, config.writers
    x = g.takes("x", "float32", "batch", config.d_input)
    before = {
        name: g.takes(name, "float32", "batch", *size) for name, size in state(config).items()
    }

    back = g.reshape(before["reads"], 0, -1)
    if config.controller == "lstm":
        back = g("Concat", before["h"], back, axis=1)
    gates = g("Add", g.linear(x, "input"), g.linear(back, "recur", bias=False))
    if config.controller == "lstm":
        i, f, new, o = g.split(gates, [config.d_controller] * 4, axis=1)
        written = g("Mul", g("Sigmoid", i), g("Tanh", new))
        c = g("Add", g("Mul", g("Sigmoid", f), before["c"]), written, name="next_c")
        hidden = g("Mul", g("Sigmoid", o), g("Tanh", c), name="next_h")
        for name in ("next_h", "next_c"):
            g.gives(name, "float32", "batch", config.d_controller)
    else:
        hidden = g("Tanh", gates)

    aim, erase, add = _commands(g, hidden, config)
    memory = before["memory"]
    of = {
        "reading": {name: _rows(g, each, 0, R) for name, each in aim.items()},
        "writing": {name: _rows(g, each, R, R + W) for name, each in aim.items()},
    }
    writing = _addressed(g, memory, before["writing"], of["writing"], config, "next_writing")
    after = _written(g, memory, writing, erase, add, W)
    seen = after if config.order == "write_first" else memory
    reading = _addressed(g, seen, before["reading"], of["reading"], config, "next_reading")
    reads = g("MatMul", reading, seen, name="next_reads")
    for name, size in state(config).items():
        if name not in ("h", "c"):
            g.gives(f"next_{name}", "float32", "batch", *size)
    g.linear(g("Concat", hidden, g.reshape(reads, 0, -1), axis=1), "output", out="logits")
    g.gives("logits", "float32", "batch", config.d_output)
    return g


def _commands(g: Graph, hidden: str, config: NTMConfig) -> tuple[dict[str, str], str, str]:
    """``NTM.commands``, readers first, as far as no hand took them over; e; a."""
    R, W, d, wide = config.readers, config.writers, config.d_slot, 2 * config.shift + 1
    heads = R + W
    said = g.split(
        g.linear(hidden, "command"),
        [(heads + W) * d, heads + W * d, 2 * heads, heads * wide],
        axis=1,
    )
    keys, adds = g.split(g("Tanh", said[0]), [heads * d, W * d], axis=1)
    gate, erases = g.split(g("Sigmoid", said[1]), [heads, W * d], axis=1)
    strength, focus = g.split(g("Softplus", said[2]), [heads, heads], axis=1)
    own = {
        "strength": strength,
        "gate": gate,
        "shifts": g("Softmax", g.reshape(said[3], 0, heads, wide), axis=-1),
        "focus": g("Add", focus, g.constant(1.0)),
    }
    aim = {"key": g.reshape(keys, 0, heads, d, name="key")}
    g.gives("key", "float32", "batch", heads, d)
    for name, each in own.items():
        more = [wide] if name == "shifts" else []
        force = g.takes(f"force_{name}", "bool", "batch", heads)
        forced = g.takes(f"forced_{name}", "float32", "batch", heads, *more)
        aim[name] = g("Where", g.insert(force, 2) if more else force, forced, each, name=name)
        g.gives(name, "float32", "batch", heads, *more)
    erase, add = (
        g.reshape(each, 0, W, d, name=name) for name, each in (("erase", erases), ("add", adds))
    )
    for name in ("erase", "add"):
        g.gives(name, "float32", "batch", W, d)
    return aim, erase, add


def _rows(g: Graph, x: str, first: int, last: int) -> str:
    """The heads from one to another."""
    return _cut(g, x, first, last, axis=1)


def _cut(g: Graph, x: str, first: int, last: int, axis: int) -> str:
    return g("Slice", x, *(g.constant([each], "int64") for each in (first, last, axis)))


def _addressed(
    g: Graph, memory: str, before: str, aim: Mapping[str, str], config: NTMConfig, name: str
) -> str:
    """``address``: the four stages (Eq. 5 to 9)."""
    turned = g("Transpose", memory, perm=[0, 2, 1])
    similar = g("MatMul", _unit(g, aim["key"], 2), _unit(g, turned, 1))
    found = g("Softmax", g("Mul", g.insert(aim["strength"], 2), similar), axis=-1)
    gate = g.insert(aim["gate"], 2)
    stayed = g("Mul", g("Sub", g.constant(1.0), gate), before)
    mixed = g("Add", g("Mul", gate, found), stayed)
    shares = g.split(aim["shifts"], [1] * (2 * config.shift + 1), axis=2)
    moved = g.sum(
        *(
            g("Mul", _rolled(g, mixed, by, config.slots), share)
            for by, share in enumerate(shares, start=-config.shift)
        )
    )
    logs = g("Log", g("Add", g("Relu", moved), g.constant(LEAST)))
    return g("Softmax", g("Mul", g.insert(aim["focus"], 2), logs), axis=-1, name=name)


def _unit(g: Graph, x: str, axis: int) -> str:
    """As long as 1 along an axis, but for what ``cosine`` adds to the length."""
    squares = g("ReduceSum", g("Mul", x, x), g.constant([axis], "int64"), keepdims=1)
    return g("Div", x, g("Sqrt", g("Add", squares, g.constant(SHORTEST**2))))


def _rolled(g: Graph, weights: str, by: int, slots: int) -> str:
    """Slot i to slot i + by, round the ring."""
    by %= slots
    if not by:
        return weights
    ends = (_cut(g, weights, slots - by, slots, 2), _cut(g, weights, 0, slots - by, 2))
    return g("Concat", *ends, axis=2)


def _written(g: Graph, memory: str, writing: str, erase: str, add: str, writers: int) -> str:
    """``write``: all heads erase, then all add (Eq. 3 and 4)."""
    one = g.constant(1.0)
    kept = memory
    for head in range(writers):
        w = g("Transpose", _rows(g, writing, head, head + 1), perm=[0, 2, 1])
        rubbed = g("Mul", w, _rows(g, erase, head, head + 1))
        kept = g("Mul", kept, g("Sub", one, rubbed))
    added = g("MatMul", g("Transpose", writing, perm=[0, 2, 1]), add)
    return g("Add", kept, added, name="next_memory")


def controls(config: NTMConfig) -> dict[str, Any]:
    """For each command of ``COMMANDS`` and each head, readers first, whether the controller is not
    asked (``force_``), and what the head is told then (``forced_``)."""
    return {
        f"{kind}_{name}": neutral
        for name in COMMANDS
        for kind, neutral in (("force", False), ("forced", 0.0))
    }
