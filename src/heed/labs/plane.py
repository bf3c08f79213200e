"""Drag a query among keys in the plane: what each score makes of where they stand."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, get_args

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from heed.labs import drawing
from heed.labs.base import Finite, Lab
from heed.labs.palette import colour
from heed.scores import Additive, Cosine, Dot, General, Location, ScaledDot, Score, ScoreName
from heed.trace import AttentionTrace

REACH = 3.0
"""The plane goes from −REACH to REACH, both ways."""

CELLS = 24
"""Places a side at which a query is tried."""

LABELS = ("A", "B", "C", "D", "E", "F")

# A and B lie in one direction, and B is three times as long.
KEYS = ((0.8, 0.5), (2.4, 1.5), (-0.4, 2.2), (-2.1, 0.8), (-1.2, -1.7), (1.6, -1.5))
QUERY = (1.5, -0.3)

D_HIDDEN = 8
WIDTHS = tuple(2**i for i in range(1, 10))

Matrices = Mapping[str, Sequence[Any]]


def matrices(seed: int = 3) -> dict[str, list[Any]]:
    """The numbers of the scores that have some, with two digits, so that they travel unchanged.

    W, U, v: of the additive score, from N(0, 1); general: a turn by 60° after a stretch to 1.5 and
    0.75; location: a row for each key, from N(0, 1)
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> list[Any]:
        return _two_digits(torch.randn(*shape, generator=generator, dtype=torch.float64))

    turn = math.pi / 3
    c, s = math.cos(turn), math.sin(turn)
    general = torch.tensor([[1.5 * c, -0.75 * s], [1.5 * s, 0.75 * c]], dtype=torch.float64)
    return {
        "W": draw(D_HIDDEN, 2),
        "U": draw(D_HIDDEN, 2),
        "v": draw(D_HIDDEN),
        "general": _two_digits(general),
        "location": draw(len(LABELS), 2),
    }


def _two_digits(tensor: Tensor) -> list[Any]:
    return [
        [round(x, 2) for x in row] if isinstance(row, list) else round(row, 2)
        for row in tensor.tolist()
    ]


def score_in_plane(name: str, numbers: Matrices, strength: float = 1.0) -> Score:
    """The package's score of that name between vectors of two numbers, in float64.

    numbers: as ``matrices`` makes them; strength: β, of ``"content_base"`` alone
    """
    match name:
        case "additive":
            score = Additive(d_q=2, d_k=2, d_hidden=len(numbers["v"]))
            given = {"W": numbers["W"], "U": numbers["U"], "v": [numbers["v"]]}
        case "general":
            score, given = General(d_q=2, d_k=2), {"W": numbers["general"]}
        case "location_base":
            rows = numbers["location"]
            score, given = Location(d_q=2, max_keys=len(rows)), {"W": rows}
        case "content_base":
            score, given = Cosine(strength=strength), {}
        case "unit_content_base":
            score, given = Cosine(), {}
        case "scaled_dot":
            score, given = ScaledDot(), {}
        case _:
            score, given = Dot(), {}
    score = score.double().requires_grad_(False)
    for part, values in given.items():
        getattr(score, part).weight.copy_(torch.tensor(values, dtype=torch.float64))
    return score


class PlaneLab(Lab):
    """A query among six keys in the plane, and the weights that a score gives them.

    score: one of ``heed.scores.ScoreName``
    query: [x, y]; points: the keys, six of these; all within ``REACH``
    d: width of the vectors, a power of two: the two coordinates are repeated d/2 times. Only the
        dot products see it; a cosine does not change, and the other scores have matrices for two
        coordinates.
    strength: β of ``"content_base"``; temperature: scores are divided by it
    picked: number of the key whose weight is watched

    The answer has ``scores``, ``weights``, their ``max`` and ``entropy`` (bits), the ``context``
    Σ α key, the ``gradient`` of the picked key's weight with respect to the query (None where a
    cosine has none, at the origin), ``blind`` (the score does not see the keys), the ``bound``
    that no weight exceeds under a cosine (else None), and ``field``: the picked key's weight for
    a query in each of ``CELLS`` × ``CELLS`` places, the first row at the top.
    """

    kind = "plane"
    settings: ClassVar[tuple[str, ...]] = (
        "score",
        "query",
        "points",
        "d",
        "strength",
        "temperature",
        "picked",
    )
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("matrices",)

    score = traitlets.Enum(get_args(ScoreName), "scaled_dot").tag(sync=True)
    query = traitlets.List(traitlets.Float(), list(QUERY)).tag(sync=True)
    # ipywidgets has a trait ``keys`` of its own.
    points = traitlets.List(traitlets.List(traitlets.Float()), [list(key) for key in KEYS]).tag(
        sync=True
    )
    d = traitlets.Int(2, min=WIDTHS[0], max=WIDTHS[-1]).tag(sync=True)
    strength = Finite(4.0, min=0.1, max=20.0).tag(sync=True)
    temperature = Finite(1.0, min=0.1, max=5.0).tag(sync=True)
    picked = traitlets.Int(1, min=0, max=len(LABELS) - 1).tag(sync=True)
    matrices = traitlets.Dict().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        if "matrices" in settings:
            raise TypeError("the matrices of a PlaneLab are the same for everybody")
        super().__init__(matrices=matrices(), **settings)

    @traitlets.validate("query")
    def _query(self, proposal: Mapping[str, Any]) -> list[float]:
        return _place("query", proposal["value"])

    @traitlets.validate("points")
    def _points(self, proposal: Mapping[str, Any]) -> list[list[float]]:
        keys = proposal["value"]
        if len(keys) != len(LABELS):
            raise traitlets.TraitError(
                f"{len(keys)} keys, but there are {len(LABELS)} in the plane"
            )
        return [_place(f"key {name}", key) for name, key in zip(LABELS, keys, strict=True)]

    @traitlets.validate("d")
    def _width(self, proposal: Mapping[str, Any]) -> int:
        d = proposal["value"]
        if d not in WIDTHS:
            raise traitlets.TraitError(f"d={d} is no power of two from 2 to {WIDTHS[-1]}")
        return d

    def _tamed(self, state: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        d = state.get("d")
        if isinstance(d, int | float) and d >= WIDTHS[0]:
            state = {**state, "d": max(width for width in WIDTHS if width <= d)}
        return super()._tamed(state)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        score = score_in_plane(self.score, self.matrices, self.strength)
        copies = self.d // 2 if isinstance(score, Dot) else 1
        keys = torch.tensor(self.points, dtype=torch.float64)

        def ask(queries: Float[Tensor, "place two"]) -> Float[Tensor, "place key"]:
            return score(queries.repeat(1, copies), keys.repeat(1, copies))

        query = torch.tensor([self.query], dtype=torch.float64, requires_grad=True)
        scores = ask(query)[0]
        weights = (scores / self.temperature).softmax(dim=-1)
        # PyTorch would divide by ε there.
        nowhere = isinstance(score, Cosine) and float(query.detach().norm()) < score.eps
        gradient = None
        if not nowhere:
            (towards,) = torch.autograd.grad(weights[self.picked], query)
            gradient = towards[0].tolist()
        bound = None
        if isinstance(score, Cosine):
            others = (len(keys) - 1) * math.exp(-2 * float(score.strength) / self.temperature)
            bound = 1 / (1 + others)
        weights = weights.detach()
        field = (ask(places()) / self.temperature).softmax(dim=-1)[:, self.picked]
        answer = {
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "max": float(weights.max()),
            "entropy": float(torch.special.entr(weights).sum()) / math.log(2),
            "context": (weights @ keys).tolist(),
            "gradient": gradient,
            "blind": isinstance(score, Location),
            "bound": bound,
            "field": field.reshape(CELLS, CELLS).tolist(),
        }
        return answer, AttentionTrace.of("plane", weights[None], query=("query",), key=LABELS)

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        told = [
            say("plane.most", max=f"{answer['max']:.2f}"),
            say("plane.entropy", bits=f"{answer['entropy']:.2f}", of=f"{math.log2(6):.2f}"),
        ]
        return drawing.sheet(
            drawing.tag("p", drawing.escape(say(f"plane.formula.{self.score}"))),
            self._picture(say),
            drawing.attention_map(
                drawing.sayer({**self.strings, "map.query": say("plane.from")}),
                label=say("plane.table"),
                query=(say("plane.query"),),
                key=LABELS,
                weights=[answer["weights"]],
            ),
            drawing.tag("p", drawing.escape(" ".join(told))),
        )

    def _picture(self, say: drawing.Say) -> str:
        """The plane as an SVG; what it shows is said by the table under it."""
        tag, side = drawing.tag, 360

        def at(place: Sequence[float]) -> tuple[str, str]:
            x, y = place
            return (
                f"{(x + REACH) / (2 * REACH) * side:.1f}",
                f"{(REACH - y) / (2 * REACH) * side:.1f}",
            )

        cell = side / CELLS
        levels: dict[int, list[str]] = {}
        for i, row in enumerate(self.answer["field"]):
            for j, weight in enumerate(row):
                level = math.floor(10 * weight + 0.5)
                if level:
                    place = f"M{j * cell:g} {i * cell:g}h{cell:g}v{cell:g}h-{cell:g}z"
                    levels.setdefault(level, []).append(place)
        shades = [
            tag("path", d="".join(levels[level]), fill_opacity=f"{level / 20:g}")
            for level in sorted(levels)
        ]
        (ox, oy), (qx, qy) = at((0.0, 0.0)), at(self.query)
        parts = [
            tag("g", *shades, class_="field"),
            tag("path", class_="axis", d=f"M0 {oy}H{side}M{ox} 0V{side}"),
            tag("path", class_="arrow", d=f"M{ox} {oy}L{qx} {qy}"),
        ]
        for name, key, weight in zip(LABELS, self.points, self.answer["weights"], strict=True):
            x, y = at(key)
            shade = colour(weight)
            parts += [
                tag("circle", cx=x, cy=y, r=f"{radius(weight):.1f}", fill=shade.background),
                tag(
                    "text",
                    f"{name} {weight:.2f}",
                    x=x,
                    y=y,
                    dx="19" if key[0] < 0.62 * REACH else "-19",
                    dy="4",
                    text_anchor="start" if key[0] < 0.62 * REACH else "end",
                ),
            ]
        parts.append(tag("circle", class_="query", cx=qx, cy=qy, r="7"))
        label = say("plane.picture", x=f"{self.query[0]:g}", y=f"{self.query[1]:g}")
        return tag(
            "svg",
            *parts,
            class_="heed-plane-picture",
            role="img",
            aria_label=label,
            viewBox=f"0 0 {side} {side}",
            width=str(side),
        )


def places() -> Float[Tensor, "place two"]:
    """The centres of the field's cells, row by row from the top."""
    step = 2 * REACH / CELLS
    line = -REACH + step * (torch.arange(CELLS, dtype=torch.float64) + 0.5)
    y, x = torch.meshgrid(-line, line, indexing="ij")
    return torch.stack([x.reshape(-1), y.reshape(-1)], dim=1)


def radius(weight: float) -> float:
    """Of a key's dot, in pixels."""
    return 5 + 9 * math.sqrt(weight)


def _place(name: str, value: Sequence[float]) -> list[float]:
    if len(value) != 2 or not all(abs(x) <= REACH for x in value):  # no NaN is either
        raise traitlets.TraitError(
            f"{name}={list(value)} is no place [x, y] between −{REACH:g} and {REACH:g}"
        )
    return [float(x) for x in value]
