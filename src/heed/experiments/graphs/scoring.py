"""The scores of ``heed.scores`` as nodes: what is done once a sentence, and what once a word."""

import math
from dataclasses import dataclass

from heed.experiments.graphs import parts
from heed.experiments.graphs.graph import Graph

SHORTEST = 1e-8
"""``Cosine.eps``: no vector is divided by less."""


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """One score of a translator, under ``attention.score``.

    name: as ``heed.scores.ScoreName`` has it; d_k, d_hidden: width of a key, of the hidden layer
    max_keys: the places of ``location_base``
    """

    name: str
    d_k: int
    d_hidden: int
    max_keys: int

    @property
    def width(self) -> int:
        """Of a prepared key."""
        return self.d_hidden if self.name == "additive" else self.d_k

    def prepare(self, g: Graph, keys: str) -> None:
        """``Score.prepare``: the output ``prepared`` of an encoder."""
        matrix = {"additive": "U", "general": "W"}.get(self.name)
        if matrix is not None:
            weight = g.weight(f"attention.score.{matrix}.weight")
            g("MatMul", keys, g("Transpose", weight), name="prepared")
        elif self.name.endswith("content_base"):
            g("Identity", _unit(g, keys), name="prepared")
        else:
            g("Identity", keys, name="prepared")
        g.gives("prepared", "float32", "batch", "source", self.width)

    def compare(self, g: Graph, query: str, values: str, keep: str) -> tuple[str, str]:
        """``Score.compare`` for one query a sentence, in a decoder: the scores, and which keys can
        be scored. ``values`` tell how many keys there are where the score never sees one."""
        if self.name == "location_base":
            # No more than ``max_keys`` places are known: those beyond repeat the last, are masked.
            places = parts.positions(g, parts.length_of(g, values))
            known = g("Less", places, g.constant(self.max_keys, "int64"))
            column = g("Min", places, g.constant(self.max_keys - 1, "int64"))
            rows = g.linear(query, "attention.score.W", bias=False)
            return g("Gather", rows, column, axis=1), g("And", keep, known)
        prepared = g.takes("prepared", "float32", "batch", "source", self.width)
        if self.name == "additive":
            asked = g.insert(g.linear(query, "attention.score.W", bias=False), 1)
            v = g("Transpose", g.weight("attention.score.v.weight"))
            return g.drop(g("MatMul", g("Tanh", g("Add", asked, prepared)), v), 2), keep
        if self.name.endswith("content_base"):
            query = _unit(g, query)
        scores = g.drop(g("MatMul", prepared, g.insert(query, 2)), 2)
        if self.name == "scaled_dot":
            scores = g("Div", scores, g.constant(math.sqrt(self.d_k)))
        if self.name == "content_base":
            strength = g("Exp", g.weight("attention.score.log_strength"))
            scores = g("Mul", scores, strength)
        return scores, keep


def _unit(g: Graph, x: str) -> str:
    """``normalize``: vectors of length 1 in the last axis."""
    length = g("ReduceL2", x, g.constant([-1], "int64"), keepdims=1)
    return g("Div", x, g("Max", length, g.constant(SHORTEST)))
