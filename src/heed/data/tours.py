"""Problems whose answers point at their own inputs (Vinyals, Fortunato & Jaitly 2015,
arXiv:1506.03134): numbers to be sorted, the convex hull of points, the shortest tour through them.

All of a batch have equally many points, n. In an answer, 0 is the end ⇐ and i from 1 to n is
point i. A tour begins at point 1; of its two directions it takes the one whose second point has the
smaller number, so there is only one right answer. A hull begins at its point of the smallest
number and goes counter-clockwise. The paper repeats the first point of a hull; here ⇐ closes it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.spatial import ConvexHull
from torch import Tensor

MOST_EXACT = 12
"""Points of a tour that is found exactly; each further one doubles work and memory."""
AT_ONCE = 128
"""Tours that are worked on together: few enough for the tables to stay in a cache."""


@dataclass(frozen=True)
class Problems:
    """answers: what to point at, step by step, 0 from ⇐ on
    scored: the steps up to the first ⇐
    """

    points: Float[Tensor, "batch point d"]
    answers: Int[Tensor, "batch step"]
    scored: Bool[Tensor, "batch step"]

    @classmethod
    def of(
        cls, points: Float[Tensor, "batch point d"], answers: Int[Tensor, "batch step"]
    ) -> "Problems":
        """From answers that are 0 from ⇐ on, which each has."""
        ends = (answers == 0).long().cumsum(dim=1)
        return cls(points, answers, (ends == 0) | ((ends == 1) & (answers == 0)))

    def rows(self, which: slice | Tensor) -> "Problems":
        """Some of the batch."""
        return Problems(self.points[which], self.answers[which], self.scored[which])


# ------------------------------------------------------------------------------- tours


def tour_lengths(
    points: Float[Tensor, "batch point d"], tours: Int[Tensor, "batch point"]
) -> Float[Tensor, " batch"]:
    """Round and back to the start. ``tours`` count points from 0, as all functions here do."""
    there = points.gather(1, tours[..., None].expand(-1, -1, points.shape[-1]))
    return (there - there.roll(-1, 1)).norm(dim=-1).sum(dim=1)


def canonical(tours: Int[Tensor, "batch point"]) -> Int[Tensor, "batch point"]:
    """The same tours from point 0 on, in the direction whose second point is the smaller one."""
    n = tours.shape[1]
    where = (tours == 0).long().argmax(dim=1, keepdim=True)
    tours = tours.gather(1, (torch.arange(n) + where) % n)
    backwards = tours[:, -torch.arange(n) % n]
    turned = tours[:, 1:2] > tours[:, -1:] if n > 1 else torch.zeros(len(tours), 1).bool()
    return torch.where(turned, backwards, tours)


@lru_cache(maxsize=MOST_EXACT)
def _layers(m: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For sets of 2, 3, … m of m points: states (S, j), the states (S ∖ j, k) before them, and the
    steps k → j, as rows of the tables."""
    layers = []
    for size in range(2, m + 1):
        states, before, steps = [], [], []
        for chosen in combinations(range(m), size):
            inside = sum(1 << j for j in chosen)
            for j in chosen:
                others = [k for k in chosen if k != j]
                states.append(inside * m + j)
                before.append([(inside ^ (1 << j)) * m + k for k in others])
                steps.append([k * m + j for k in others])
        layers.append(tuple(torch.tensor(each) for each in (states, before, steps)))
    return layers


def shortest_tours(points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch point"]:
    """The shortest tour through each set of points, exactly (Held & Karp 1962).

    C(S, j), the shortest way from point 0 through all of S that ends at j ∈ S:

        C({j}, j) = d(0, j),   C(S, j) = min over k ∈ S ∖ j of C(S ∖ j, k) + d(k, j)

    All sets of a size at once, for many tours at once. ``ValueError`` beyond ``MOST_EXACT`` points.
    """
    n = points.shape[1]
    if not 1 <= n <= MOST_EXACT:
        raise ValueError(f"{n} points: exact tours have 1 to {MOST_EXACT}")
    if n <= 3:
        return torch.arange(n).expand(len(points), n).clone()
    return torch.cat([_shortest(part) for part in points.split(AT_ONCE)] or [points[..., 0].long()])


def _shortest(points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch point"]:
    batch, m = len(points), points.shape[1] - 1
    far = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    # Tours lie side by side in memory: a row of a table is then copied as one.
    step = far[:, 1:, 1:].permute(1, 2, 0).reshape(m * m, batch).contiguous()
    home = far[:, 0, 1:].T.contiguous()
    cost = torch.full(((1 << m) * m, batch), float("inf"))
    for j in range(m):
        cost[(1 << j) * m + j] = home[j]
    for states, before, steps in _layers(m):
        ways = cost[before] + step[steps]
        cost[states] = ways.amin(dim=1)
    rows, everyone = torch.arange(batch), torch.full((batch,), (1 << m) - 1)
    table, stepped = cost.view(1 << m, m, batch), step.view(m, m, batch)
    last = (table[-1] + home).argmin(dim=0)
    tour, left = [last], everyone
    for _ in range(m - 1):
        left = left ^ (1 << last)
        # States outside the set cost ∞, so no mask is needed.
        last = (table[left, :, rows] + stepped[:, last, rows].T).argmin(dim=1)
        tour.append(last)
    start = torch.zeros(batch, 1, dtype=torch.long)
    return canonical(torch.cat([start, torch.stack(tour, 1) + 1], dim=1))


def nearest_neighbours(
    points: Float[Tensor, "batch point d"], start: int = 0
) -> Int[Tensor, "batch point"]:
    """From the start always on to the nearest point where one has not been."""
    batch, n = points.shape[:2]
    far, rows = torch.cdist(points, points), torch.arange(batch)
    been = torch.zeros(batch, n, dtype=torch.bool)
    here = torch.full((batch,), start)
    tour = [here]
    for _ in range(n - 1):
        been[rows, here] = True
        here = far[rows, here].masked_fill(been, float("inf")).argmin(dim=1)
        tour.append(here)
    return torch.stack(tour, 1)


def two_opt(
    points: Float[Tensor, "batch point d"], tours: Int[Tensor, "batch point"]
) -> Int[Tensor, "batch point"]:
    """Turn round the stretch whose turning saves most, until none saves anything (Croes 1958)."""
    n, tours = points.shape[1], tours.clone()
    if n < 4:
        return tours
    place = torch.arange(n)
    pairs = place[:, None] < place  # i < j: what lies behind i, up to j, may be turned round
    going = torch.arange(len(points))
    far = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    while len(going):
        now = tours[going]
        there = far[going].gather(1, now[:, :, None].expand(-1, -1, n))
        there = there.gather(2, now[:, None, :].expand(-1, n, -1))
        edge = there[:, place, (place + 1) % n]
        saved = edge[:, :, None] + edge[:, None] - there - there.roll((-1, -1), (1, 2))
        most, which = saved.masked_fill(~pairs, 0.0).flatten(1).max(dim=1)
        better = most > 1e-6  # less is rounding, and would go on for ever
        going, now, which = going[better], now[better], which[better]
        i, j = (which // n)[:, None], (which % n)[:, None]
        inside = (place > i) & (place <= j)
        tours[going] = now.gather(1, torch.where(inside, i + 1 + j - place, place))
    return tours


def good_tours(points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch point"]:
    """Where exact tours cost too much: the shortest of n, each begun at another point by nearest
    neighbours and mended by 2-opt. Rarely longer than the best (a test has the share)."""
    best, length = nearest_neighbours(points), torch.full((len(points),), float("inf"))
    for start in range(points.shape[1]):
        found = two_opt(points, nearest_neighbours(points, start))
        shorter = (now := tour_lengths(points, found)) < length
        best = torch.where(shorter[:, None], found, best)
        length = torch.where(shorter, now, length)
    return canonical(best)


# ------------------------------------------------------------------------------- hulls


def hulls(points: Float[Tensor, "batch point 2"]) -> Int[Tensor, "batch step"]:
    """Answers: the corners of each convex hull by ``scipy``, then 0 (see the top of this file).

    ``ValueError`` for fewer than 3 points.
    """
    batch, n = points.shape[:2]
    if n < 3:
        raise ValueError(f"{n} points have no hull: it takes 3")
    answers = np.zeros((batch, n + 1), dtype=np.int64)
    for row, each in enumerate(points.double().numpy()):
        corners = ConvexHull(each).vertices  # counter-clockwise
        corners = np.roll(corners, -int(corners.argmin()))
        answers[row, : len(corners)] = corners + 1
    return torch.from_numpy(answers)


def polygon_areas(corners: Float[Tensor, "*batch corner 2"]) -> Float[Tensor, "*batch"]:
    """½ Σ (x_i y_{i+1} − x_{i+1} y_i); positive counter-clockwise. A corner may be repeated."""
    x, y = corners.unbind(-1)
    return (x * y.roll(-1, -1) - x.roll(-1, -1) * y).sum(dim=-1) / 2


# ------------------------------------------------------------------------------- what is learnt


@dataclass(frozen=True, kw_only=True)
class PointData(ABC):
    """What all problems share. Training draws n anew for each batch, without end.

    points: (least, most) n while training, both included
    tests: every n that is measured, with ``held_out`` problems each
    """

    points: tuple[int, int] = (5, 10)
    tests: tuple[int, ...] = (5, 10)
    held_out: int = 10_000
    seed: int = 0

    least: ClassVar[int] = 1
    width: ClassVar[int] = 2

    def __post_init__(self) -> None:
        least, most = self.points
        if not self.least <= least <= most:
            raise ValueError(f"points={self.points} is no range from {self.least} on")
        if min(self.tests) < self.least:
            raise ValueError(f"tests={self.tests}: each n must be {self.least} or more")

    @abstractmethod
    def answers(self, points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch step"]:
        """What is right."""

    def fresh(self, batch: int, n: int, generator: torch.Generator) -> Problems:
        """New problems of n points, drawn evenly from the unit square (or interval)."""
        points = torch.rand(batch, n, self.width, generator=generator)
        return Problems.of(points, self.answers(points))

    def training(self, batch: int, generator: torch.Generator) -> Problems:
        """A training batch."""
        least, most = self.points
        n = int(torch.randint(least, most + 1, (), generator=generator))
        return self.fresh(batch, n, generator)

    def held_out_problems(self, n: int, part: Literal["valid", "test"], count: int) -> Problems:
        """Part of the held-out problems of n points, always the same."""
        # Far from the generators of training, which are numbered by seed and step.
        number = 2**42 + 1_000 * self.seed + 2 * n + (part == "test")
        return self.fresh(count, n, torch.Generator().manual_seed(number))


@dataclass(frozen=True, kw_only=True)
class SortData(PointData):
    """n numbers from 0 to 1, the smallest first."""

    width: ClassVar[int] = 1

    def answers(self, points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch step"]:
        return ended(points[..., 0].argsort(dim=1))


@dataclass(frozen=True, kw_only=True)
class HullData(PointData):
    """The corners of the convex hull of n points."""

    least: ClassVar[int] = 3

    def answers(self, points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch step"]:
        return hulls(points)


@dataclass(frozen=True, kw_only=True)
class TourData(PointData):
    """The shortest tour through n points: exact up to ``MOST_EXACT``, beyond that ``good_tours``.

    To find tours costs more than to learn from them: ``pool`` of them are found for each n, once.
    They come back with their points in another order, turned and mirrored: what the network reads
    is new each time.
    """

    pool: int = 20_000

    def answers(self, points: Float[Tensor, "batch point d"]) -> Int[Tensor, "batch step"]:
        exact = points.shape[1] <= MOST_EXACT
        return ended(shortest_tours(points) if exact else good_tours(points))

    def training(self, batch: int, generator: torch.Generator) -> Problems:
        least, most = self.points
        n = int(torch.randint(least, most + 1, (), generator=generator))
        points, tours = _pool(n, self.pool, self.seed)
        rows = torch.randint(self.pool, (batch,), generator=generator)
        return shuffled(points[rows], tours[rows], generator)


@lru_cache(maxsize=32)
def _pool(n: int, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points and their tours, drawn and found once."""
    generator = torch.Generator().manual_seed(2**43 + 1_000 * seed + n)
    points = torch.rand(count, n, 2, generator=generator)
    return points, shortest_tours(points) if n <= MOST_EXACT else good_tours(points)


def shuffled(
    points: Float[Tensor, "batch point 2"],
    tours: Int[Tensor, "batch point"],
    generator: torch.Generator,
) -> Problems:
    """The same tours, each seen in one of the eight positions of a square, its points counted in
    another order."""
    batch, n = points.shape[:2]
    mirror = torch.randint(2, (batch, 1, 2), generator=generator).bool()
    points = torch.where(mirror, 1 - points, points)
    swap = torch.randint(2, (batch, 1, 1), generator=generator).bool()
    points = torch.where(swap, points.flip(-1), points)
    order = torch.rand(batch, n, generator=generator).argsort(dim=1)
    number = order.argsort(dim=1)  # the new number of each old point
    return Problems.of(
        points.gather(1, order[..., None].expand(-1, -1, 2)),
        ended(canonical(number.gather(1, tours))),
    )


def ended(order: Int[Tensor, "batch point"]) -> Int[Tensor, "batch step"]:
    """Points from 0 on become an answer: from 1 on, and ⇐."""
    return torch.nn.functional.pad(order + 1, (0, 1))
