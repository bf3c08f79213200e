"""``Luong`` as graphs. Its encoder is an LSTM, its decoder is written out, as the model is.

Both compute in float64. In a long sentence these models make much of a rounding error: with
float32, two runtimes that are both right end up thousandths of a weight apart.
"""

from collections.abc import Mapping
from typing import Any

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.scoring import Scoring
from heed.experiments.graphs.storage import Stored
from heed.models.luong import LuongConfig


def encoder(config: LuongConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Luong.encode``: from word numbers to ``Reading``."""
    g, d = Graph("encoder", parameters, wide=True), config.d_hidden
    source, lengths = parts.source(g)
    read = parts.turned(g, source, lengths) if config.reverse_source else source
    x = g("Transpose", parts.embedded(g, "embed_source", read), perm=[1, 0, 2])
    top, h, c = parts.encoder_lstm(g, x, lengths, layers=config.layers, d=d)
    if config.reverse_source:
        top = parts.turned(g, top, lengths, batch_axis=1)
    annotations = g("Transpose", top, perm=[1, 0, 2], name="annotations")
    g.gives("annotations", "float32", "batch", "source", d)
    scoring(config).prepare(g, annotations)
    parts.keep(g, source, lengths)
    g("Identity", lengths, name="lengths")
    g.gives("lengths", "int64", "batch")
    parts.layered(g, "first_h", h, d)
    parts.layered(g, "first_c", c, d)
    batch = g("Shape", source, start=0, end=1)
    nothing = g.cast(g("Expand", g.constant(0, "int64"), batch), "float32")
    g("Identity", nothing, name="first_t")
    g.gives("first_t", "float32", "batch")
    row = g("Mul", g.insert(nothing, 1), g.constant([[0.0] * d]))
    g("Identity", row, name="first_fed")
    g.gives("first_fed", "float32", "batch", d)
    return g


def scoring(config: LuongConfig) -> Scoring:
    """The score that the config names, in Luong's words: concat is the additive one."""
    names = {"concat": "additive", "location": "location_base"}
    return Scoring(
        name=names.get(config.score, config.score),
        d_k=config.d_hidden,
        d_hidden=config.d_align,
        max_keys=config.longest,
    )


def decoder(config: LuongConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Luong.step``, with the controls that ``controls`` lists.

    Gives besides the weights ``align``, what they were before the Gaussian, and in local attention
    ``places``, the middle of the window.
    """
    g, d = Graph("decoder", parameters, wide=True), config.d_hidden
    token = g.takes("token", "int64", "batch")
    h, c = ([g.drop(x, 0) for x in parts.unlayered(g, n, config.layers, d)] for n in ("h", "c"))
    fed = g.takes("fed", "float32", "batch", d)
    t = g.takes("t", "float32", "batch")
    annotations = g.takes("annotations", "float32", "batch", "source", d)
    keep = parts.kept(g)

    drive = g.linear(parts.embedded(g, "embed_target", token), "drive_y")
    if config.input_feeding:
        drive = g("Add", drive, g.linear(fed, "drive_fed", bias=False))
    for layer in range(config.layers):
        if layer:
            drive = g.linear(h[layer - 1], f"drive_up.{layer - 1}")
        h[layer], c[layer] = _cell(g, drive, h[layer], c[layer], layer, d)
    for name, states in (("next_h", h), ("next_c", c)):
        parts.layered(g, name, [g.insert(state, 0) for state in states], d)

    scores, keep = scoring(config).compare(g, h[-1], annotations, keep)
    scores = parts.tempered(g, scores)
    alpha = _local(g, config, scores, keep, *_place(g, config, h[-1], t))
    seen = parts.context(g, alpha, annotations)
    both = g("Concat", seen, h[-1], axis=1)
    h_tilde = g("Tanh", g.linear(both, "combine", bias=False), name="next_fed")
    g.gives("next_fed", "float32", "batch", d)
    g("Add", t, g.constant(1.0), name="next_t")
    g.gives("next_t", "float32", "batch")
    top = parts.narrowed(g, h_tilde)
    parts.logits(g, top, tied=config.tie_output, words=config.target_vocab)
    return g


EVERYTHING = 1e9
"""A radius and a σ in words that leave nothing of a window: all is inside, and the hill is flat."""


def controls(config: LuongConfig) -> dict[str, Any]:
    """Where ``hold`` is true, the window lies around ``place``; it reaches ``radius`` words to each
    side, and the Gaussian in it has ``sigma``. Local-m has none, so its own σ is ``EVERYTHING``;
    and global attention has a window only where one is held."""
    wide = config.attention == "global"
    hilly = config.attention == "local_p"
    return {
        **parts.LOOKING,
        "place": 0.0,
        "hold": False,
        "radius": EVERYTHING if wide else float(config.D),
        "sigma": float(config.own_sigma) if hilly else EVERYTHING,
    }


def _cell(g: Graph, drive: str, h: str, c: str, layer: int, d: int) -> tuple[str, str]:
    """``LSTMCell``."""
    gates = g("Add", drive, g("MatMul", h, g.weight(f"cells.{layer}.U")))
    i, f, new, o = g.split(gates, [d] * 4, axis=1)
    written = g("Mul", g("Sigmoid", i), g("Tanh", new))
    c = g("Add", g("Mul", g("Sigmoid", f), c), written)
    return g("Mul", g("Sigmoid", o), g("Tanh", c)), c


def _place(g: Graph, config: LuongConfig, query: str, t: str) -> tuple[str, str | None]:
    """p_t, the model's own or the one that is held; and where there is a window, if not always."""
    place, hold = g.takes("place", "float32", "batch"), g.takes("hold", "bool", "batch")
    if config.attention == "global":
        return place, hold
    if config.attention == "local_m":
        own = t
    else:
        inner = g("Tanh", g.linear(query, "places.W", bias=False))
        part = g.drop(g.linear(inner, "places.v", bias=False), 1)
        lengths = g.cast(g.takes("lengths", "int64", "batch"), "float32")
        own = g("Mul", lengths, g("Sigmoid", part))
    p = g("Where", hold, place, own, name="places")
    g.gives("places", "float32", "batch")
    return p, None


def _local(
    g: Graph, config: LuongConfig, scores: str, keep: str, p: str, windowed: str | None
) -> str:
    """``LocalAttention``: the softmax inside the window, and what comes after it. Where
    ``windowed`` is false, ``Attention``."""
    keys = g.cast(parts.positions(g, parts.length_of(g, keep)), "float32")
    away = g("Sub", keys, g.insert(p, 1))
    near = g("LessOrEqual", g("Abs", away), g.takes("radius", "float32"))
    sigma = g.takes("sigma", "float32")
    spread = g("Mul", g.constant(-2.0), g("Mul", sigma, sigma))
    hill = g("Exp", g("Div", g("Mul", away, away), spread))
    if windowed is not None:
        always = g.insert(windowed, 1)
        near = g("Or", near, g("Not", always))
        hill = g("Where", always, hill, g.constant(1.0))
    align = parts.softmax(g, scores, g("And", keep, near))
    g("Identity", align, name="align")
    g.gives("align", "float32", "batch", "source")
    alpha = g("Mul", align, hill)
    if config.renormalise:
        total = g("ReduceSum", alpha, g.constant([1], "int64"), keepdims=1)
        empty = g("Equal", total, g.constant(0.0))
        alpha = g("Div", alpha, g("Where", empty, g.constant(1.0), total))
    return alpha
