"""Exercises of chapter 9, the Pointer Network."""

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.data.tours import tour_lengths
from heed.models.pointer import allowed

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."

# ------------------------------------------------------------------ 1: what is read next

_INPUTS = ((0.2, 0.9), (0.6, 0.1), (1.0, 0.5))
_WEIGHTS = (0.5, 0.3, 0.2)
_BLENDED = tuple(sum(w * x[k] for w, x in zip(_WEIGHTS, _INPUTS, strict=True)) for k in range(2))
"""Three points, and where the decoder points with which weight."""


def _near(wanted: Sequence[float], given: Any, *, within: float = 0.006) -> bool:
    return len(given) == len(wanted) and all(
        abs(float(g) - w) <= within for g, w in zip(given, wanted, strict=True)
    )


def _two(first: Sequence[float], second: Sequence[float]) -> Callable[[Any], bool]:
    return lambda answer: len(answer) == 2 and _near(first, answer[0]) and _near(second, answer[1])


next_input = Exercise(
    right=_two(_INPUTS[0], _BLENDED),
    praise="One of them is a point of the input. The other is where no point is.",
    otherwise="The pointer takes the likeliest point as it is. The blend is 0.5 × the first + 0.3 "
    "× the second + 0.2 × the third, for x and for y.",
    usual=(
        (_two(_BLENDED, _INPUTS[0]), "The other way round: first what the pointer reads next."),
        (_two(_BLENDED, _BLENDED), "The pointer blends nothing. It reads the point it chose."),
        (_two(_INPUTS[0], _INPUTS[0]), "The second is a blend of all three."),
        (
            _two(_INPUTS[0], tuple(sum(x[k] for x in _INPUTS) / 3 for k in range(2))),
            "That is the plain mean. Weigh each point first.",
        ),
        (
            _two((0.5 * 0.2, 0.5 * 0.9), _BLENDED),
            "The pointer's choice is not weighed: the point goes in as it came.",
        ),
    ),
)

# ------------------------------------------------------------------ 2: the floor

_NUMBERS = (2, 5, 10, 50)


def _floor(n: int) -> float:
    """The loss of who is sure and right among n, if the softmax is taken twice."""
    return math.log(math.e + n - 1) - 1


def _gives(wanted: Callable[[int], float]) -> Callable[[Any], bool]:
    return lambda answer: all(abs(float(answer(n)) - wanted(n)) < 1e-4 for n in _NUMBERS)


floor = Exercise(
    right=lambda answer: answer(2) is not None and _gives(_floor)(answer),
    praise="And it grows with n: on a hundred points a perfect network would lose 3.6 nats a step, "
    "and a blind one 4.6.",
    otherwise="Sure and right, the probabilities are (1, 0, …, 0). Take these as if they were "
    "scores: softmax, and −log of the first.",
    usual=(
        (lambda answer: answer(2) is None, _DOTS),
        (_gives(lambda n: 0.0), "That is the loss as it should be, with one softmax."),
        (_gives(math.log), "That is who knows nothing: all scores alike."),
        (
            _gives(lambda n: math.log(math.e + n) - 1),
            "One too many: of n probabilities one is 1, and n − 1 are 0.",
        ),
        (
            _gives(lambda n: math.log(math.e + n - 1)),
            "You forgot the right one's own score, 1, which is taken off.",
        ),
        (_gives(lambda n: -_floor(n)), "A loss is −log p. It cannot be negative."),
        (
            _gives(lambda n: math.exp(-_floor(n))),
            "The probability. The loss is −log of it.",
        ),
    ),
)

# ------------------------------------------------------------------ 3: what may be pointed at

_CASES = ((5, ()), (5, (2, 4)), (5, (3,)), (3, (1, 3, 2)), (1, ()))
"""How many points there are, and which were chosen already."""


def _kept(n: int, chosen: Sequence[int]) -> list[bool]:
    mask = torch.zeros(n + 1, dtype=torch.bool)
    mask[list(chosen)] = True
    return allowed("each_once", mask, torch.ones(n + 1, dtype=torch.bool)).tolist()


def _keeps(wanted: Callable[[int, Sequence[int]], list[bool]]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        return all(
            [bool(each) for each in answer(n, list(chosen))] == wanted(n, chosen)
            for n, chosen in _CASES
        )

    return test


may_point = Exercise(
    right=lambda answer: answer(5, []) is not None and _keeps(_kept)(answer),
    praise="Points that are left, and ⇐ when none is. Whoever follows it always hands in a tour; "
    "and never has to learn what one is.",
    otherwise="A list of n + 1. Place 0 is ⇐, place j is point j. True: may be pointed at.",
    usual=(
        (lambda answer: answer(5, []) is None, _DOTS),
        (lambda answer: len(answer(5, [])) == 5, "Five points make six places: ⇐ is place 0."),
        (
            _keeps(lambda n, chosen: [not kept for kept in _kept(n, chosen)]),
            "The other way round: True is what may be pointed at.",
        ),
        (
            _keeps(lambda n, chosen: [True, *_kept(n, chosen)[1:]]),
            "⇐ is always allowed in yours. Then a tour may end before it is one.",
        ),
        (
            _keeps(lambda n, chosen: [False, *_kept(n, chosen)[1:]]),
            "⇐ is never allowed in yours. After the last point nothing is left to point at.",
        ),
        (
            _keeps(lambda n, chosen: [*_kept(n, chosen)[1:], _kept(n, chosen)[0]]),
            "Your ⇐ is the last place. Here it is place 0, whatever n is.",
        ),
    ),
)

# ------------------------------------------------------------------ 4: one of many ways to say it

_TOURS = ((3, 1, 4, 2, 5), (1, 2, 3, 4), (1, 4, 3, 2), (2, 1, 3), (4, 2, 5, 1, 3, 6))


def _from_one(tour: Sequence[int]) -> list[int]:
    at = list(tour).index(1)
    return [*tour[at:], *tour[:at]]


def _said(tour: Sequence[int]) -> list[int]:
    """From point 1 on, towards the smaller of its two neighbours."""
    turned = _from_one(tour)
    return turned if turned[1] < turned[-1] else [turned[0], *turned[:0:-1]]


def _says(wanted: Callable[[Sequence[int]], list[int]]) -> Callable[[Any], bool]:
    return lambda answer: all([int(i) for i in answer(list(t))] == wanted(t) for t in _TOURS)


one_name = Exercise(
    right=lambda answer: answer([1, 2, 3]) is not None and _says(_said)(answer),
    praise="n beginnings, two directions: 2n ways to say one tour. Without one name for it, half "
    "of all right answers would count as wrong even from point 1 on.",
    otherwise="Turn the list until 1 comes first. If the second point is then larger than the "
    "last one, go the other way round, still from 1.",
    usual=(
        (lambda answer: answer([1, 2, 3]) is None, _DOTS),
        (_says(_from_one), "It begins at 1, but there are still two directions."),
        (
            _says(lambda t: [_said(t)[0], *_said(t)[:0:-1]]),
            "Always the wrong direction: the second point should be the smaller neighbour of 1.",
        ),
        (
            _says(lambda t: min(_from_one(t), _from_one(t)[::-1])),
            "You turned the whole list round, so 1 came last. Keep it in front.",
        ),
        (_says(lambda t: sorted(t)), "You sorted the points. That is another tour."),
    ),
)

# ------------------------------------------------------------------ 5: who reads an order

Answers = Callable[[Tensor], list[int]]
"""Points (n, 2) -> a tour of them, numbers from 0 on."""


def _nearest(points: Tensor, start: int) -> list[int]:
    tour, left = [start], set(range(len(points))) - {start}
    while left:
        here = points[tour[-1]]
        tour.append(min(left, key=lambda j: float((points[j] - here).norm())))
        left.remove(tour[-1])
    return tour


def _best(points: Tensor) -> list[int]:
    tours = torch.tensor([[0, *rest] for rest in permutations(range(1, len(points)))])
    lengths = tour_lengths(points.double().expand(len(tours), -1, -1), tours)
    return tours[lengths.argmin()].tolist()


def _suspects() -> list[tuple[str, Answers, bool]]:
    """Name, how it answers, and whether the way depends on the order of the points."""
    return [
        ("the shortest tour", _best, False),
        ("nearest neighbours, from the first point", lambda p: _nearest(p, 0), True),
        (
            "nearest neighbours, from the leftmost point",
            lambda p: _nearest(p, int(p[:, 0].argmin())),
            False,
        ),
        ("by the angle around the middle", _by_angle, False),
        ("in the order they came", lambda p: list(range(len(p))), True),
    ]


def _by_angle(points: Tensor) -> list[int]:
    x, y = (points - points.mean(dim=0)).T
    return torch.atan2(y, x).argsort().tolist()


def _judged(answer: Any) -> list[tuple[str, bool, bool]]:
    return [(name, bool(answer(net)), reads) for name, net, reads in _suspects()]


def _wrong_on(*words: str) -> Callable[[Any], bool]:
    return lambda answer: all(
        given != reads
        for name, given, reads in _judged(answer)
        if any(word in name for word in words)
    )


reads_order = Exercise(
    right=lambda answer: all(given == reads for _, given, reads in _judged(answer)),
    praise="Shuffle, answer, put the numbers back, and compare the tours as circles.",
    otherwise="Answer once; shuffle the points and answer again; translate the second answer back "
    "to the old numbers. Compare as sets of neighbours: begin and direction do not count.",
    usual=(
        (lambda answer: answer(_suspects()[0][1]) is None, _DOTS),
        (
            lambda answer: all(given for _, given, _ in _judged(answer)),
            "You say yes to all of them. Did you translate the second answer back to the old "
            "numbers? And the shortest tour may begin elsewhere and go the other way round.",
        ),
        (
            lambda answer: not any(given for _, given, _ in _judged(answer)),
            "You say no to all of them. Some answer otherwise only now and then: try many sets "
            "of points, and many orders.",
        ),
        (
            _wrong_on("from the first point"),
            "One was missed, or suspected for nothing: whoever starts from the first point gets "
            "another tour when another point comes first, but not always. Try more than once.",
        ),
        (
            _wrong_on("shortest"),
            "The shortest tour is the same circle, begun elsewhere or gone the other way. Compare "
            "sets of neighbours.",
        ),
    ),
)
