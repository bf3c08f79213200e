"""Put points on a square and see a network point at them: tours, hulls, and what comes in order."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, ClassVar, Literal

import torch
import traitlets

from heed.data.tours import MOST_EXACT, good_tours, polygon_areas, shortest_tours, tour_lengths
from heed.evaluation.pointing import crosses
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import ChoiceLab
from heed.labs.steering import mulberry32
from heed.models.pointer import PointerNetwork, Rule
from heed.trace import AttentionTrace

LEAST, MOST = 3, 20
"""Points that the square may have."""
GRID = 1_000
"""Places stand on a grid of so many steps a side: corners and crossings are then a matter of whole
numbers, and page and kernel agree on all of them."""
WIDEST = 5
"""Of a beam."""
SIDE, MARGIN, DISC = 360, 24, 22
"""Of the picture that needs no script, in pixels; the radius of a disc of weight 1."""

Point = Sequence[float]
Task = Literal["tour", "hull", "sort"]
STRICT: dict[Task, Rule] = {"tour": "each_once", "hull": "polygon", "sort": "each_once"}
"""What may be pointed at where the answer must be one."""


class PointerLab(ChoiceLab):
    """Points on a square, and what networks point at, step by step.

    trained: models that point, by the names that a reader sees, as ``heed.load`` gives them, or
        names of shipped ones. What each of them answers is told by ``task_of``
    notes: a short line about some of them, by the same names
    points: [x, y] each, from 0 to 1, at least ``LEAST`` and at most ``MOST`` of them; those of
        ``scattered`` if none are given
    n: how many, if none are given
    seed: by which they are scattered
    choice: the network that points, by its place
    masked: whether it may only point at what makes an answer; see ``heed.models.pointer.Rule``
    width: of the beam; 1 points greedily
    step: the pointing that is looked at, from 1 on; beyond the last one, the last

    The answer has the ``order`` of the points from 0 on, whether it is ``finished`` (⇐ came), the
    ``weights`` of each step over ⇐ and the points, ``log_prob``, and what ``judged`` says of it.
    """

    kind = "pointer"
    settings: ClassVar[tuple[str, ...]] = ("points", "choice", "masked", "width", "step", "seed")
    asks = ("points", "choice", "masked", "width")
    facts: ClassVar[tuple[str, ...]] = ("choices",)
    kinds = PointerNetwork

    points = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    masked = traitlets.Bool(True).tag(sync=True)
    width = traitlets.Int(1, min=1, max=WIDEST).tag(sync=True)
    step = traitlets.Int(3, min=1).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)

    def __init__(
        self,
        trained: Mapping[str, Trained | str],
        notes: Mapping[str, str] | None = None,
        *,
        n: int = 10,
        **settings: Any,
    ) -> None:
        if not LEAST <= n <= MOST:
            raise ValueError(f"n={n}, but there may be {LEAST} to {MOST} points")
        settings.setdefault("points", scattered(settings.get("seed", 0), n))
        super().__init__(trained, notes, **settings)

    @traitlets.validate("points")
    def _points(self, proposal: Mapping[str, Any]) -> list[list[float]]:
        points = proposal["value"]
        if not LEAST <= len(points) <= MOST:
            raise traitlets.TraitError(
                f"{len(points)} points, but there may be {LEAST} to {MOST} of them"
            )
        return [_place(i, point) for i, point in enumerate(points, 1)]

    def told_of(self, trained: Trained) -> dict[str, Any]:
        """What a model answers, and the least and most points that it was trained on, None where
        its card does not say so."""
        least, most = trained.card.data.get("points") or (None, None)
        return {"task": task_of(trained.model), "least": least, "most": most}

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        trained = self._trained[self.choice]
        task = task_of(trained.model)
        points = torch.tensor(self.points)
        found = trained.point(
            points[:, :1] if task == "sort" else points,
            width=self.width,
            rule=STRICT[task] if self.masked else "free",
        )
        answer = {
            "order": list(found.order),
            "finished": found.finished,
            "weights": found.trace.weights[0].tolist(),
            "log_prob": found.log_prob,
            **judged(task, self.points, found.order, finished=found.finished),
            "message": "",
        }
        return answer, found.trace

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say = drawing.sayer(self.strings)
        trace = self._trace
        lines = [verdict(say, self.answer, len(self.points))]
        lines.append(beyond(say, self.choices[self.choice], len(self.points)))
        return drawing.sheet(
            self._picture(say),
            *(drawing.tag("p", escape(each)) for each in lines if each),
            drawing.attention_map(
                say,
                label=say("pointer.table"),
                query=trace.query.labels,
                key=trace.key.labels,
                weights=self.answer["weights"],
                own="pointer",
            )
            if trace
            else "",
            kind="pointer",
        )

    def _picture(self, say: drawing.Say) -> str:
        """The square, the answer and what is right; what it shows is said beside it."""
        tag, answer = drawing.tag, self.answer
        places = [(MARGIN + x * SIDE, MARGIN + (1 - y) * SIDE) for x, y in self.points]

        def line(kind: str, order: Sequence[int], *, closed: bool) -> str:
            way = "L".join(f"{places[i][0]:g} {places[i][1]:g}" for i in order)
            return tag("path", class_=kind, d=f"M{way}{'Z' if closed else ''}") if order else ""

        ring = answer["task"] != "sort"
        parts = [
            tag("rect", x=f"{MARGIN}", y=f"{MARGIN}", width=f"{SIDE}", height=f"{SIDE}"),
            line("right", answer["right"], closed=ring),
            line("way", answer["order"], closed=ring and answer["finished"]),
        ]
        at = min(self.step, len(answer["weights"])) - 1
        row = answer["weights"][at] if at >= 0 else []
        for i, (x, y) in enumerate(places):
            weight = float(row[i + 1] or 0) if row else 0.0
            place = {"cx": f"{x:g}", "cy": f"{y:g}"}
            parts += [
                tag("circle", class_="weight", r=f"{DISC * weight**0.5:.1f}", **place),
                tag("circle", class_="dot", r="5.5", **place),
                tag("text", str(i + 1), x=f"{x:g}", y=f"{y:g}", dx="9", dy="-8"),
            ]
        whole = f"{SIDE + 2 * MARGIN}"
        return tag(
            "svg",
            *parts,
            class_="heed-pointer-picture",
            role="img",
            aria_label=say("pointer.picture", order=named(answer)),
            viewBox=f"0 0 {whole} {whole}",
            width=whole,
        )


# ---------------------------------------------------------------------------- points


def scattered(seed: int, count: int) -> list[list[float]]:
    """Points drawn evenly, the same ones in the page; fewer are the first of more."""
    dice = mulberry32(seed)
    return [[int(GRID * next(dice)) / GRID for _ in range(2)] for _ in range(count)]


def _place(i: int, value: Point) -> list[float]:
    if len(value) != 2 or not all(0 <= x <= 1 for x in value):  # no NaN is either
        raise traitlets.TraitError(f"point {i}={list(value)} is no place [x, y] from 0 to 1")
    return [steps(x) / GRID for x in value]


def steps(x: float) -> int:
    """Of the grid; a half is rounded up, as in the page."""
    return int(GRID * x + 0.5)


# ---------------------------------------------------------------------------- what is right


def task_of(model: PointerNetwork) -> Task:
    """What a network answers, by its config: of single numbers their order; of points a tour where
    training forbade to point twice, else the hull."""
    if model.config.d_input == 1:
        return "sort"
    return "tour" if model.config.rule == "each_once" else "hull"


def judged(
    task: Task, points: Sequence[Point], order: Sequence[int], *, finished: bool
) -> dict[str, Any]:
    """What an answer is worth next to the right one. Points count from 0.

    valid: whether it is an answer at all; fault: else why not: "unfinished" (no ⇐), "twice",
        "left" (a point is left out), "few" corners, or its sides "cross"
    right: the order that is right; exact: whether that is sure; alike: whether this one is, too
    length, best, ratio: of a tour; covered: the share of the hull's area, None where there is none
    falls: how often a smaller number follows a larger one
    None stands for what the task, or an answer that is none, does not have.
    """
    n = len(points)
    worth: dict[str, Any] = {"task": task, "right": [], "exact": True, "alike": False}
    worth |= dict.fromkeys(("length", "best", "ratio", "covered", "falls"))
    places = torch.tensor(points, dtype=torch.float64)
    fault = _fault(task, points, order, finished)
    if task == "tour":
        worth["exact"] = n <= MOST_EXACT
        right = (shortest_tours if worth["exact"] else good_tours)(places.float()[None])
        worth["right"], worth["best"] = right[0].tolist(), tour_lengths(places[None], right).item()
        if not fault:
            length = tour_lengths(places[None], torch.tensor([list(order)])).item()
            best = worth["best"]
            worth |= {"length": length, "ratio": length / best if best > 0 else 1.0}
            worth["alike"] = worth["ratio"] <= 1 + 1e-6
    elif task == "sort":
        worth["right"] = sorted(range(n), key=lambda i: points[i][0])  # the first of equals first
        if not fault:
            worth["falls"] = sum(points[b][0] < points[a][0] for a, b in pairwise(order))
            worth["alike"] = worth["falls"] == 0
    else:
        worth["right"] = right = hull(points)
        worth["alike"] = finished and _turned(order) == _turned(right) and len(right) > 2
        fault = "" if worth["alike"] else fault
        area = polygon_areas(places[right]).item()
        if not fault and area > 0:
            worth["covered"] = abs(polygon_areas(places[list(order)]).item()) / area
    return {"valid": not fault, "fault": fault, **worth}


def _fault(task: Task, points: Sequence[Point], order: Sequence[int], finished: bool) -> str:
    if not finished:
        return "unfinished"
    if len(set(order)) < len(order):
        return "twice"
    if task != "hull":
        return "left" if len(order) < len(points) else ""
    if len(order) < 3:
        return "few"
    corners = [[float(steps(x)) for x in points[i]] for i in order]
    return "cross" if crosses(torch.tensor(corners, dtype=torch.float64)) else ""


def hull(points: Sequence[Point]) -> list[int]:
    """The corners of the convex hull, counter-clockwise, from the one of the smallest number on
    (Andrew 1979). A point on a side is no corner; of points in one place the first may be one.

    In whole numbers, for ``scipy``, which makes the labels of training, may see a corner where
    points lie on a line. Where all of them do, only its ends are left.
    """
    places = [(steps(x), steps(y)) for x, y in points]
    ordered = sorted({place: i for i, place in reversed(list(enumerate(places)))}.items())

    def half(some: Sequence[tuple[tuple[int, int], int]]) -> list[int]:
        chain: list[int] = []
        for (x, y), i in some:
            while len(chain) > 1:
                (ax, ay), (bx, by) = places[chain[-2]], places[chain[-1]]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append(i)
        return chain[:-1]

    return _turned(half(ordered) + half(ordered[::-1])) or [0]


def _turned(corners: Sequence[int]) -> list[int]:
    """The same polygon from its smallest number on."""
    at = corners.index(min(corners)) if corners else 0
    return [*corners[at:], *corners[:at]]


# ---------------------------------------------------------------------------- words


def named(answer: Mapping[str, Any]) -> str:
    """The order in the numbers that stand in the picture."""
    return ", ".join([*(str(i + 1) for i in answer["order"]), *["⇐"] * answer["finished"]])


def verdict(say: drawing.Say, answer: Mapping[str, Any], n: int) -> str:
    """What an answer is worth, in words."""
    order, task, fault = answer["order"], answer["task"], answer["fault"]
    flat = task == "hull" and len(answer["right"]) < 3
    if flat:
        return say("pointer.flat")
    if fault:
        twice = next((i + 1 for at, i in enumerate(order) if i in order[:at]), 0)
        left = ", ".join(str(i + 1) for i in range(n) if i not in order)
        given = {"point": twice, "points": left, "steps": len(order), "corners": len(order)}
        return say(f"pointer.fault.{fault}", **given)
    if task == "tour":
        numbers = {name: f"{answer[name]:.3f}" for name in ("length", "best", "ratio")}
        kind = "good" if not answer["exact"] else "best" if answer["alike"] else "longer"
        return say(f"pointer.tour.{kind}", **numbers, n=n)
    if task == "sort":
        key = "pointer.sort.right" if answer["alike"] else "pointer.sort.wrong"
        return say(key, n=n, falls=answer["falls"])
    covered = answer["covered"]
    return say(
        f"pointer.hull.{'right' if answer['alike'] else 'other'}",
        corners=len(answer["right"]),
        own=len(order),
        covered=f"{covered:.1%}".replace("%", " %"),
    )


def beyond(say: drawing.Say, choice: Mapping[str, Any], n: int) -> str:
    """That it was trained on fewer points, or more; nothing if it was not."""
    least, most = choice["least"], choice["most"]
    if least is None or least <= n <= most:
        return ""
    return say(f"pointer.beyond.{'more' if n > most else 'fewer'}", n=n, least=least, most=most)
