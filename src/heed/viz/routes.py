"""What a network's answers are worth beside those of rules, why they are invalid where they are,
and what of its input they depend on: tables for a chapter."""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heed.data.tours import (
    HullData,
    PointData,
    Problems,
    TourData,
    nearest_neighbours,
    tour_lengths,
    two_opt,
)
from heed.evaluation.pointing import (
    Pointed,
    crosses,
    each_once,
    hull_answers,
    tour_ratios,
    weights_of,
)
from heed.experiments.pointing import TrainedPointer, whole
from heed.models.pointer import Rule

Points = Float[Tensor, "batch point d"]


def usual_rule(data: PointData) -> Rule:
    """What may be pointed at when answers are asked for: a polygon, or every point once."""
    return "polygon" if isinstance(data, HullData) else "each_once"


def problems(data: PointData, n: int, count: int) -> Problems:
    """The first of those that the card's numbers are measured on."""
    return data.held_out_problems(n, "test", count)


def exact(net: TrainedPointer, data: PointData, n: int, count: int) -> float:
    """The share of right answers, greedily; of hulls: the right polygon, wherever it begins."""
    asked = problems(data, n, count)
    found = whole(net.model, asked.points, rule=usual_rule(data))
    if isinstance(data, HullData):
        right = hull_answers(asked.points, found.answers, asked.answers, found.finished).exact
    else:
        right = (found.answers == asked.answers).all(dim=1)
    return right.double().mean().item()


def ratios(
    nets: Mapping[str, TrainedPointer], n: int, count: int, *, width: int = 4
) -> dict[str, float]:
    """How many times as long as the best tour that we know a tour is on average, by who found it.

    Of each network: greedily, by a beam, and its greedy tour mended by 2-opt.
    """
    asked = problems(TourData(), n, count)
    points, best = asked.points, tour_lengths(asked.points, asked.answers[:, :-1] - 1)

    def mean(tours: Int[Tensor, "batch point"]) -> float:
        return (tour_lengths(points, tours) / best).mean().item()

    nearest = nearest_neighbours(points)
    found = {"nearest neighbour": mean(nearest), "2-opt": mean(two_opt(points, nearest))}
    for name, net in nets.items():
        greedy = whole(net.model, points, rule="each_once").answers
        beam = whole(net.model, points, rule="each_once", width=width).answers
        found[name] = tour_ratios(points, greedy, asked.answers).mean().item()
        found[f"{name}, beam"] = tour_ratios(points, beam, asked.answers).mean().item()
        found[f"{name}, 2-opt"] = mean(two_opt(points, greedy[:, :-1] - 1))
    return found


# ------------------------------------------------------------------ invalid answers


KINDS: tuple[str, ...] = (
    "right",
    "valid, not right",
    "no end",
    "a point twice",
    "too few points",
    "sides cross",
)


def faults(asked: Problems, found: Pointed, *, hull: bool) -> dict[str, int]:
    """Every answer in one of these, the first that fits: how many are right, how many are valid but
    another answer, and of the invalid ones what is wrong with them."""
    points, answers = asked.points, found.answers
    kinds = dict.fromkeys(KINDS, 0)
    if hull:
        right = hull_answers(points, answers, asked.answers, found.finished).exact
    else:
        right = (answers == asked.answers).all(dim=1)
    for row, keys in enumerate(answers.tolist()):
        kinds[_fault(points[row], keys, bool(found.finished[row]), bool(right[row]), hull)] += 1
    return kinds


def _fault(
    points: Float[Tensor, "point d"], keys: Sequence[int], finished: bool, right: bool, hull: bool
) -> str:
    if right:
        return "right"
    if not finished:
        return "no end"
    pointed = [key for key in keys if key]
    if len(set(pointed)) < len(pointed):
        return "a point twice"
    if len(pointed) < (3 if hull else len(points)):
        return "too few points"
    if hull and crosses(points[torch.tensor(pointed) - 1].double()):
        return "sides cross"
    return "valid, not right"


def overruled(net: TrainedPointer, data: PointData, n: int, count: int) -> dict[str, float]:
    """How often the rule of each point once had to step in while a network answered under it.

    Its favourite, were nothing forbidden: at the first n steps, the share where that is a point
    that was chosen already, and where it is ⇐, too early; after them, where it is not ⇐.
    """
    points = problems(data, n, count).points
    found = whole(net.model, points, rule="each_once").answers
    if not each_once(found).all():
        raise ValueError("an answer under the rule breaks it")
    favourite = weights_of(net.model, points, found, "free").argmax(dim=-1)
    before = torch.nn.functional.one_hot(found, n + 1).cumsum(dim=1)
    again = torch.zeros_like(favourite, dtype=torch.bool)
    again[:, 1:] = before[:, :-1].gather(2, favourite[:, 1:, None])[..., 0] > 0
    during = favourite[:, :n]
    return {
        "a point again": again[:, :n].double().mean().item(),
        "⇐ too early": (during == 0).double().mean().item(),
        "no ⇐ at the end": (favourite[:, n] != 0).double().mean().item(),
    }


# ------------------------------------------------------------------ what answers depend on

Change = Callable[[Points], Points]


def _turned(points: Points) -> Points:
    if points.shape[-1] != 2:
        raise ValueError(f"points of {points.shape[-1]} numbers cannot be turned: it takes 2")
    x, y = points.unbind(-1)
    return torch.stack([1 - y, x], dim=-1)


def _mirrored(points: Points) -> Points:
    return torch.cat([1 - points[..., :1], points[..., 1:]], dim=-1)


CHANGES: dict[str, Change] = {
    "mirrored": _mirrored,
    "turned by 90°": _turned,
    "half as large": lambda points: points / 2 + 0.25,
    "moved by 0.5": lambda points: points + 0.5,
}
"""None of these changes what is right. After the last one half of the numbers, so three quarters
of the points in a plane, are where nothing ever was in training."""


def links(
    answers: Int[Tensor, "batch step"], n: int, *, closed: bool
) -> Bool[Tensor, "batch point point"]:
    """Which points are neighbours in an answer, whichever way round and wherever it begins.

    closed: the last point is followed by the first
    """
    table = torch.zeros(len(answers), n + 1, n + 1, dtype=torch.bool)
    rows = torch.arange(len(answers))
    for step in range(answers.shape[1] - 1):
        table[rows, answers[:, step], answers[:, step + 1]] = True
    if closed:
        last = answers.gather(1, ((answers != 0).sum(dim=1, keepdim=True) - 1).clamp(min=0))
        table[rows, last[:, 0], answers[:, 0]] = True
    return (table | table.mT)[:, 1:, 1:]


def shaken(
    net: TrainedPointer, data: PointData, n: int, count: int, *, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """By what was done to the input: the share of answers that are right, and that are the same as
    before. ``"in another order"`` shuffles the points; the others are ``CHANGES``."""
    asked = problems(data, n, count)
    closed = data.width == 2
    right = links(asked.answers, n, closed=closed)

    def answered(points: Points) -> Bool[Tensor, "batch point point"]:
        found = whole(net.model, points, rule=usual_rule(data))
        return links(found.answers, n, closed=closed)

    def share(found: Bool[Tensor, "batch point point"], other: Tensor) -> float:
        return (found == other).flatten(1).all(dim=1).double().mean().item()

    before = answered(asked.points)
    found = {"as it is": (share(before, right), 1.0)}
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(count, n, generator=generator).argsort(dim=1)
    back = order.argsort(dim=1)
    after = answered(asked.points.gather(1, order[..., None].expand_as(asked.points)))
    after = after.gather(1, back[:, :, None].expand(-1, -1, n))
    after = after.gather(2, back[:, None, :].expand(-1, n, -1))
    found["in another order"] = share(after, right), share(after, before)
    for name, change in CHANGES.items():
        if name.startswith("turned") and data.width != 2:
            continue
        after = answered(change(asked.points))
        found[name] = share(after, right), share(after, before)
    return found
