"""``SAGAN`` as one graph: its mean generator, from z to a picture and to where its pixels looked.

The nets that learn stay behind: what the mean generator does needs none of their numbers.
"""

from collections.abc import Mapping
from typing import Any

from heed.data.twins import SIDE
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import Stored
from heed.layers.pixels import Form
from heed.models.sagan import MAPS, SAGANConfig

PART = "mean."
"""What the names of the parameters begin with that the graph is made of."""


def painter(config: SAGANConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``SAGAN.forward``: from z to ``pictures``, of numbers between −1 and 1, and, if the generator
    attends, ``weights``; with the control that ``controls`` lists."""
    g = Graph("painter", parameters)
    z = g.takes("z", "float32", "batch", config.d_z)
    x = g.reshape(g.linear(z, f"{PART}project", bias=False), 0, -1, 4, 4)
    for i, side in enumerate(MAPS):
        learnt = _learnt(g, f"norm.{i}", "running_mean", "running_var")
        x = g("Relu", g("BatchNormalization", x, *learnt, epsilon=1e-5))
        if side == config.generator_attention:
            x = _attended(g, x, form=config.form, side=side)
        x = g("ConvTranspose", x, *_learnt(g, f"up.{i}"), strides=[2, 2], pads=[1] * 4)
    g("Tanh", x, name="pictures")
    g.gives("pictures", "float32", "batch", 3, SIDE, SIDE)
    return g


def _attended(g: Graph, x: str, *, form: Form, side: int) -> str:
    """``PixelAttention``. Gives ``weights``."""
    keys, queries, values = (g("Conv", x, *_learnt(g, f"attention.{name}")) for name in "fgh")
    pixels = places = side * side
    if form == "released":
        keys, values = (
            g("MaxPool", each, kernel_shape=[2, 2], strides=[2, 2]) for each in (keys, values)
        )
        places //= 4
    q = g("Transpose", g.reshape(queries, 0, -1, pixels), perm=[0, 2, 1])
    g("Softmax", g("MatMul", q, g.reshape(keys, 0, -1, places)), axis=-1, name="weights")
    g.gives("weights", "float32", "batch", pixels, places)
    h = g("Transpose", g.reshape(values, 0, -1, places), perm=[0, 2, 1])
    seen = g("Transpose", g("MatMul", "weights", h), perm=[0, 2, 1])
    o = g.reshape(seen, 0, -1, side, side)
    if form != "first":
        o = g("Conv", o, *_learnt(g, "attention.v"))
    strength = g("Mul", g.weight(f"{PART}attention.gamma"), g.takes("dial", "float32"))
    return g("Add", x, g("Mul", strength, o))


def _learnt(g: Graph, module: str, *more: str) -> list[str]:
    """The weight of a module, its bias if it has one, and what it keeps besides."""
    names = (f"{PART}{module}.{each}" for each in ("weight", "bias", *more))
    return [g.weight(name) for name in names if name in g.parameters]


def controls(config: SAGANConfig) -> dict[str, Any]:
    """dial: γ is multiplied by it. None without attention."""
    return {"dial": 1.0} if config.generator_attention else {}
