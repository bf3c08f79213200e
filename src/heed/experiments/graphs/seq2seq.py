"""``Seq2Seq`` as graphs. Its LSTMs are ONNX's, with the gates in another order."""

from collections.abc import Mapping

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import Stored
from heed.models.seq2seq import Seq2SeqConfig


def encoder(config: Seq2SeqConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Seq2Seq.encode``: from word numbers to ``Thought``. The graph turns the words round."""
    g = Graph("encoder", parameters)
    source, lengths = parts.source(g)
    if config.reverse_source:
        source = parts.turned(g, source, lengths)
    x = g("Transpose", parts.embedded(g, "embed_source", source), perm=[1, 0, 2])
    _, h, c = parts.encoder_lstm(g, x, lengths, layers=config.layers, d=config.d_hidden)
    parts.layered(g, "h", h, config.d_hidden)
    parts.layered(g, "c", c, config.d_hidden)
    return g


def decoder(config: Seq2SeqConfig, parameters: Mapping[str, Stored]) -> Graph:
    """``Seq2Seq.step``. Nothing of the source comes in but the state."""
    g, d = Graph("decoder", parameters), config.d_hidden
    token = g.takes("token", "int64", "batch")
    before = [parts.unlayered(g, name, config.layers, d) for name in ("h", "c")]
    x = g.insert(parts.embedded(g, "embed_target", token), 0)
    last = []
    for layer, (h, c) in enumerate(zip(*before, strict=True)):
        x, *state = parts.lstm(g, x, f"decoder.{{}}_l{layer}", d, "", h, c)
        last.append(state)
    for name, states in zip(("next_h", "next_c"), zip(*last, strict=True), strict=True):
        parts.layered(g, name, states, d)
    top = parts.narrowed(g, g.drop(x, 0))
    parts.logits(g, top, tied=config.tie_output, words=config.target_vocab)
    return g
