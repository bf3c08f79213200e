"""``Bahdanau`` as graphs.

ONNX's GRU with ``linear_before_reset`` = 0 is the cell of Bahdanau et al. with its z the other way
round. 1 − σ(a) = σ(−a), so the parameters of z change sign.
"""

from collections.abc import Mapping

import numpy as np

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.scoring import Scoring
from heed.experiments.graphs.storage import Stored
from heed.models.bahdanau import BahdanauConfig


def encoder(config: BahdanauConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Bahdanau.encode``: from word numbers to ``Annotations``."""
    g, d = Graph("encoder", parameters), config.d_encoder
    source, lengths = parts.source(g)

    turn_z = np.ones((1, 3 * d, 1))
    turn_z[:, :d] = -1
    turn = g.constant(turn_z)
    W = g.reshape(g.weight("encoder.W.weight"), 2, 3 * d, config.d_embedding)
    U_zr = g("Transpose", g.weight("encoder.U_zr"), perm=[0, 2, 1])
    U = g("Transpose", g.weight("encoder.U"), perm=[0, 2, 1])
    b = g.reshape(g.weight("encoder.W.bias"), 2, 3 * d, 1)
    no_second_bias = g.constant(np.zeros((2, 3 * d)))

    Y, last = g.several(
        "GRU",
        g("Transpose", parts.embedded(g, "embed_source", source), perm=[1, 0, 2]),
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
    g.gives("annotations", "float32", "batch", "source", 2 * d)
    scoring(config).prepare(g, h)
    parts.keep(g, source, lengths)
    back_at_first = g.drop(g.split(last, [1, 1], axis=0)[1], 0)
    g("Tanh", g.linear(back_at_first, "W_s"), name="first_state")
    g.gives("first_state", "float32", "batch", config.d_state)
    return g


def scoring(config: BahdanauConfig) -> Scoring:
    """The score that the config names."""
    return Scoring(
        name=config.score,
        d_k=2 * config.d_encoder,
        d_hidden=config.d_align,
        max_keys=config.max_keys,
    )


def decoder(config: BahdanauConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Bahdanau.step``, with the controls ``temperature``, ``force`` and ``forced``."""
    g, d = Graph("decoder", parameters), config.d_state
    token = g.takes("token", "int64", "batch")
    s = g.takes("s", "float32", "batch", d)
    h = g.takes("annotations", "float32", "batch", "source", 2 * config.d_encoder)
    e, keep = scoring(config).compare(g, s, h, parts.kept(g))
    c = parts.context(g, parts.softmax(g, parts.tempered(g, e), keep), h)

    y = parts.embedded(g, "embed_target", token)
    drive = g("Add", g.linear(y, "drive_y"), g.linear(c, "drive_c", bias=False))
    zr, new = g.split(drive, [2 * d, d], axis=1)
    zr = g("Sigmoid", g("Add", zr, g("MatMul", s, g.weight("cell.U_zr"))))
    z, r = g.split(zr, [d, d], axis=1)
    new = g("Tanh", g("Add", new, g("MatMul", g("Mul", r, s), g.weight("cell.U"))))
    moved = g("Add", s, g("Mul", z, g("Sub", new, s)), name="next_s")
    g.gives("next_s", "float32", "batch", d)

    used = s if config.readout_state == "previous" else moved
    both = g.sum(
        g.linear(used, "readout_s"),
        g.linear(y, "readout_y", bias=False),
        g.linear(c, "readout_c", bias=False),
    )
    pairs = g.reshape(both, 0, -1, 2)
    t = g("ReduceMax", pairs, g.constant([2], "int64"), keepdims=0)
    parts.logits(g, t, tied=config.tie_output, words=config.target_vocab)
    return g
