"""``ShowAttendTell`` as graphs: the encoder looks at a picture once, the decoder writes a word.

Who runs them says where to look, and what cannot be looked at. A place is drawn outside: the
decoder is asked once for its weights, and once more with the place that was drawn from them.
"""

from collections.abc import Mapping
from typing import Any

from heed.data.vocabulary import BOS
from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import ExportError, Stored
from heed.models.show_attend_tell import ShowAttendTellConfig

ALL, LIKELIEST = -1, -2
"""What the control ``place`` says instead of the number of a place."""

SCORE = "attention.score"


def encoder(config: ShowAttendTellConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``ShowAttendTell.encode``: from pixels between 0 and 1 to ``Seen``."""
    g = Graph("encoder", parameters)
    d, n, places = config.channels[-1], config.d_state, _places(config)
    pixels = g.takes("pixels", "float32", "batch", 3, config.side, config.side)
    x = g("Sub", pixels, g.constant(0.5))
    for layer in range(2 * len(config.channels)):
        conv, norm = f"see.{3 * layer}", f"see.{3 * layer + 1}"
        stride = 2 - layer % 2
        x = g("Conv", x, g.weight(f"{conv}.weight"), strides=[stride] * 2, pads=[1] * 4)
        learnt = (f"{norm}.{each}" for each in ("weight", "bias", "running_mean", "running_var"))
        x = g("Relu", g("BatchNormalization", x, *map(g.weight, learnt), epsilon=1e-5))
    a = g("Transpose", g.reshape(x, 0, d, places), perm=[0, 2, 1])
    if config.places:
        a = g("Add", a, g.weight("place"))
    g("Identity", a, name="annotations")
    g.gives("annotations", "float32", "batch", places, d)
    g("MatMul", a, g("Transpose", g.weight(f"{SCORE}.U.weight")), name="prepared")
    g.gives("prepared", "float32", "batch", places, config.d_align)
    mean = g("ReduceMean", a, g.constant([1], "int64"), keepdims=0)
    for name in ("h", "c"):
        g("Tanh", g.linear(mean, f"f_{name}"), name=f"first_{name}")
        g.gives(f"first_{name}", "float32", "batch", n)
    return g


def decoder(config: ShowAttendTellConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``ShowAttendTell.step``, with the controls that ``controls`` lists."""
    g, n, places = Graph("decoder", parameters), config.d_state, _places(config)
    token = g.takes("token", "int64", "batch")
    h = g.takes("h", "float32", "batch", n)
    c = g.takes("c", "float32", "batch", n)
    a = g.takes("annotations", "float32", "batch", places, config.channels[-1])
    prepared = g.takes("prepared", "float32", "batch", places, config.d_align)

    y = parts.embedded(g, "embed", token)
    if config.first_word == "zero":
        word = g("Not", g("Equal", token, g.constant(BOS, "int64")))
        y = g("Mul", y, g.cast(g.insert(word, 1), "float32"))

    asked = g.insert(g.linear(h, f"{SCORE}.W", bias=False), 1)
    v = g("Transpose", g.weight(f"{SCORE}.v.weight"))
    e = g.drop(g("MatMul", g("Tanh", g("Add", asked, prepared)), v), 2)
    alpha = parts.softmax(g, e, g.takes("keep", "bool", "batch", places))
    g("Identity", alpha, name="weights")
    g.gives("weights", "float32", "batch", places)
    z = g("Mul", g.insert(_gate(g, config, h, token), 1), _seen(g, alpha, a, places))

    drive = g.sum(
        g.linear(y, "drive_y"),
        g.linear(z, "drive_z", bias=False),
        g("MatMul", h, g.weight("cell.U")),
    )
    i, f, new, o = g.split(drive, [n] * 4, axis=1)
    written = g("Mul", g("Sigmoid", i), g("Tanh", new))
    g("Add", g("Mul", g("Sigmoid", f), c), written, name="next_c")
    g("Mul", g("Sigmoid", o), g("Tanh", "next_c"), name="next_h")
    for name in ("next_h", "next_c"):
        g.gives(name, "float32", "batch", n)

    deep = g.sum(y, g.linear("next_h", "L_h", bias=False), g.linear(z, "L_z", bias=False))
    if config.readout == "tanh":
        deep = g("Tanh", deep)
    g.linear(deep, "L_o", out="logits")
    g.gives("logits", "float32", "batch", config.vocab)
    return g


def _gate(g: Graph, config: ShowAttendTellConfig, h: str, token: str) -> str:
    """β, as the output ``gate``: of each picture one number; 1 in a model without."""
    if config.gate:
        g.drop(g("Sigmoid", g.linear(h, "f_beta")), 1, name="gate")
    else:
        g("Cast", g("Equal", token, token), to=1, name="gate")
    g.gives("gate", "float32", "batch")
    return "gate"


def _seen(g: Graph, alpha: str, annotations: str, places: int) -> str:
    """What is looked at, before the gate. Gives ``glimpse``: one place, or ``ALL``."""
    place = g.takes("place", "int64", "batch")
    likeliest = g("ArgMax", alpha, axis=1, keepdims=0)
    wanted = g("Equal", place, g.constant(LIKELIEST, "int64"))
    g("Where", wanted, likeliest, place, name="glimpse")
    g.gives("glimpse", "int64", "batch")
    chosen = g.insert("glimpse", 1)
    numbers = parts.positions(g, g.constant(places, "int64"))
    one = g.cast(g("Equal", numbers, chosen), "float32")
    used = g("Where", g("Less", chosen, g.constant(0, "int64")), alpha, one)
    return g.drop(g("MatMul", g.insert(used, 1), annotations), 1)


def controls(config: ShowAttendTellConfig) -> dict[str, Any]:
    """keep: which places can be looked at, True for those that can. place: the number of the place
    that is looked at, ``ALL`` for all by their weights, ``LIKELIEST``."""
    if config.attention == "hard" and config.at_rest == "sampled":
        raise ExportError("at_rest='sampled' draws its places: a graph has no dice")
    soft = config.attention == "soft" or config.at_rest == "expected"
    return {"keep": True, "place": ALL if soft else LIKELIEST}


def _places(config: ShowAttendTellConfig) -> int:
    rows, columns = config.grid
    return rows * columns
