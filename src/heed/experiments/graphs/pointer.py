"""``PointerNetwork`` as graphs: the encoder reads the points, the decoder makes one step.

The decoder scores every key. What may be pointed at (``heed.models.pointer.allowed``) is the affair
of whoever runs it: a rule is a mask, and a page can have another one than training had.
"""

from collections.abc import Mapping

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import Stored
from heed.models.pointer import PointerConfig


def encoder(config: PointerConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``PointerNetwork.encode`` and ``start``: from points, equally many of each batch, to ``keys``
    (0 is ⇐), ``prepared``, ``h``, ``c``, and ⇒ as ``first_x``."""
    g, d = Graph("encoder", parameters), config.d_hidden
    points = g.takes("points", "float32", "batch", "point", config.d_input)
    x = g("Transpose", points, perm=[1, 0, 2])
    found, h, c = parts.lstm(g, x, "encoder.{}_l0", d)
    batch = g("Shape", points, start=0, end=1)

    def each(name: str, *shape: int) -> str:
        """A parameter, once for each of the batch."""
        sizes = g.constant([*shape], "int64")
        return g("Expand", g.weight(name), g("Concat", batch, sizes, axis=0))

    own = g("Transpose", found, perm=[1, 0, 2])
    keys = g("Concat", each("end", 1, d), own, axis=1, name="keys")
    g.gives("keys", "float32", "batch", "key", d)
    g("MatMul", keys, g("Transpose", g.weight("score.U.weight")), name="prepared")
    g.gives("prepared", "float32", "batch", "key", d)
    for name, state in (("h", h), ("c", c)):
        g.drop(state, 0, name=name)
        g.gives(name, "float32", "batch", d)
    g("Identity", each("begin", config.d_input), name="first_x")
    g.gives("first_x", "float32", "batch", config.d_input)
    return g


def decoder(config: PointerConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``PointerNetwork.step`` with nothing forbidden: reads ``x``, what was chosen or ⇒, and gives
    the ``logits`` of all keys."""
    g, d = Graph("decoder", parameters), config.d_hidden
    x = g.insert(g.takes("x", "float32", "batch", config.d_input), 0)
    h, c = (g.insert(g.takes(name, "float32", "batch", d), 0) for name in ("h", "c"))
    prepared = g.takes("prepared", "float32", "batch", "key", d)
    _, next_h, next_c = parts.lstm(g, x, "decoder.{}_l0", d, "", h, c)
    for name, state in (("next_h", next_h), ("next_c", next_c)):
        g.drop(state, 0, name=name)
        g.gives(name, "float32", "batch", d)
    asked = g.insert(g.linear("next_h", "score.W", bias=False), 1)
    v = g("Transpose", g.weight("score.v.weight"))
    g.drop(g("MatMul", g("Tanh", g("Add", asked, prepared)), v), 2, name="logits")
    g.gives("logits", "float32", "batch", "key")
    return g


START = {"h": "h", "c": "c", "x": "first_x"}
"""For each field of the state the output of the encoder that it begins with."""
