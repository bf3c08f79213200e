"""``SNAIL`` and ``SNAILPolicy`` as graphs: a whole episode at once, and a step of a policy.

What is asked about comes last in an episode, so the first graph gives scores and looks of the last
step alone. The second one goes on from what a policy has found so far: each block puts what it
finds behind what came in, so the last block's output holds the input of every block in its first
numbers. Outputs of earlier steps, ``seen``, are all that a step needs of the past.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from heed.data.glyphs import SIDE
from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import Stored
from heed.layers.temporal import dilations
from heed.models.snail import SNAILConfig, SNAILPolicyConfig


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of ``heed.models.snail.Body``: its place in the names of parameters, how wide what
    comes in is, and how far it looks back, or K of a block that attends."""

    name: str
    d_input: int
    dilation: int = 0
    d_key: int = 0


def blocks(config: SNAILConfig | SNAILPolicyConfig) -> Iterator[Block]:
    """From the first to the last, dense blocks one by one; at the end one that is only as wide as
    what comes out."""
    if isinstance(config, SNAILConfig):
        width, longest = config.d_picture + config.ways, config.longest
    else:
        width, longest = config.d_input, config.pulls
    place = 0
    for number, sizes in enumerate(config.attention):
        if number and config.temporal:
            for j, dilation in enumerate(dilations(longest, config.dilations)):
                name = f"body.blocks.{place}.blocks.{j}.both.W"
                yield Block(name=name, d_input=width, dilation=dilation)
                width += config.filters
            place += 1
        if sizes is not None:
            yield Block(name=f"body.blocks.{place}", d_input=width, d_key=sizes[0])
            width += sizes[1]
            place += 1
    yield Block(name="", d_input=width)


# ------------------------------------------------------------------------------- episodes


def episode(config: SNAILConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``SNAIL.forward``: from ``pictures`` and ``labels``, −1 for the one that is asked about, to
    ``logits`` of the ways and ``weights``, where each attention block looked in the last step. All
    episodes of a batch are equally long."""
    g = Graph("episode", parameters)
    pictures = g.takes("pictures", "float32", "batch", "step", SIDE, SIDE)
    labels = g.takes("labels", "int64", "batch", "step")
    places = g.constant(np.arange(config.ways), "int64")
    named = g.cast(g("Equal", g.insert(labels, 2), places), "float32")
    sizes = g("Concat", g("Shape", labels), g.constant([config.d_picture], "int64"), axis=0)
    x = g("Concat", g("Reshape", _embedded(g, pictures), sizes), named, axis=2)

    steps = g("Shape", labels, start=1, end=2)
    place = parts.positions(g, g.drop(steps, 0))
    keep = g("LessOrEqual", g.insert(place, 0), g.insert(place, 1))
    found: list[str] = []
    for block in blocks(config):
        if block.dilation:
            past = g("Pad", x, g.constant([0, block.dilation, 0, 0, 0, 0], "int64"))
            first, axis = g.constant([0], "int64"), g.constant([1], "int64")
            x = _beside(g, block, x, g("Slice", past, first, steps, axis))
        elif block.d_key:
            scores = _scores(g, block, x, x)
            if config.over == "keys":
                weights = parts.softmax(g, scores, keep)
            else:
                turned = [g("Transpose", scores, perm=[0, 2, 1]), g("Transpose", keep)]
                weights = g("Transpose", parts.softmax(g, *turned), perm=[0, 2, 1])
            x = g("Concat", x, g("MatMul", weights, _linear(g, x, f"{block.name}.W_v")), axis=2)
            found.append(_last(g, weights))
    g.linear(_last(g, x), "output", out="logits")
    g.gives("logits", "float32", "batch", config.ways)
    _give_looks(g, found, "step")
    return g


def _embedded(g: Graph, pictures: str) -> str:
    """``PictureEmbedding``, of all pictures of all episodes."""
    x = g.reshape(pictures, -1, 1, SIDE, SIDE)
    for depth in range(4):
        x = g("Conv", x, g.weight(f"embed.parts.{4 * depth}.weight"), pads=[1] * 4)
        norm = f"embed.parts.{4 * depth + 1}."
        learnt = (g.weight(norm + n) for n in ("weight", "bias", "running_mean", "running_var"))
        x = g("Relu", g("BatchNormalization", x, *learnt, epsilon=1e-5))
        x = g("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return g.linear(g("Flatten", x), "embed.out")


# ------------------------------------------------------------------------------- bandits


def step(config: SNAILPolicyConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``SNAILPolicy.step``: reads ``told``, which of 2K things the last pull was (−1 before the
    first one, see ``heed.models.snail.told``), and ``seen``, what came out of earlier steps; gives
    ``logits`` of the arms, ``values``, ``weights`` over all steps so far, and ``next_seen``."""
    g, every = Graph("step", parameters), list(blocks(config))
    width, kinds = every[-1].d_input, 2 * config.arms
    told = g.takes("told", "int64", "batch")
    seen = g.takes("seen", "float32", "batch", "past", width)
    named = g("Equal", g.insert(told, 1), g.constant(np.arange(kinds), "int64"))
    x = g.insert(g.linear(g.cast(named, "float32"), "W"), 1)

    def part(of: str, first: int, last: int, wide: int) -> str:
        """Steps of what was seen, and of each the numbers that a block gets."""
        at = [g.constant(each, "int64") for each in ([first, 0], [last, wide], [1, 2])]
        return g("Slice", of, *at)

    far = max((each.dilation for each in every), default=0)
    padded = g("Pad", seen, g.constant([0, far, 0, 0, 0, 0], "int64")) if far else ""
    end = np.iinfo(np.int64).max
    found: list[str] = []
    for block in every:
        back, wide = block.dilation, block.d_input
        if back:
            x = _beside(g, block, x, part(padded, -back, 1 - back if back > 1 else end, wide))
        elif block.d_key:
            so_far = g("Concat", part(seen, 0, end, wide), x, axis=1)
            weights = g("Softmax", _scores(g, block, x, so_far), axis=-1)
            values = _linear(g, so_far, f"{block.name}.W_v")
            x = g("Concat", x, g("MatMul", weights, values), axis=2)
            found.append(_last(g, weights))
    last = g.drop(x, 1)
    g.linear(last, "output.pi", out="logits")
    g.gives("logits", "float32", "batch", config.arms)
    g.drop(g.linear(last, "output.V"), 1, name="values")
    g.gives("values", "float32", "batch")
    _give_looks(g, found, "key")
    g("Concat", seen, x, axis=1, name="next_seen")
    g.gives("next_seen", "float32", "batch", "key", width)
    return g


# ------------------------------------------------------------------------------- in both


def _linear(g: Graph, x: str, name: str) -> str:
    """``nn.Linear`` on the last axis of a sequence."""
    product = g("MatMul", x, g("Transpose", g.weight(f"{name}.weight")))
    return g("Add", product, g.weight(f"{name}.bias"))


def _beside(g: Graph, block: Block, x: str, past: str) -> str:
    """``DenseBlock``: [x; tanh(x_f) ∘ σ(x_g)] of x and what came R steps before."""
    both = _linear(g, g("Concat", past, x, axis=2), block.name)
    x_f, x_g = g.several("Split", both, names=("", ""), axis=2, num_outputs=2)
    return g("Concat", x, g("Mul", g("Tanh", x_f), g("Sigmoid", x_g)), axis=2)


def _scores(g: Graph, block: Block, asking: str, asked: str) -> str:
    """queries keysᵀ / √K"""
    queries = _linear(g, asking, f"{block.name}.W_q")
    keys = g("Transpose", _linear(g, asked, f"{block.name}.W_k"), perm=[0, 2, 1])
    return g("Div", g("MatMul", queries, keys), g.constant(block.d_key**0.5))


def _last(g: Graph, x: str) -> str:
    """The last step of a sequence."""
    return g("Gather", x, g.constant(-1, "int64"), axis=1)


def _give_looks(g: Graph, found: list[str], axis: str) -> None:
    """The output ``weights``, a row for each attention block, if there is any."""
    if found:
        g("Concat", *(g.insert(each, 1) for each in found), axis=1, name="weights")
        g.gives("weights", "float32", "batch", len(found), axis)
