"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import math

import pytest
import torch
import torch.nn.functional as F

from heed.data.tours import canonical
from heed.exercises import ch09


def hinted(exercise, answer, hint):
    verdict = exercise.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 1

CHOSEN, BLEND = (0.2, 0.9), (0.48, 0.58)


def test_what_is_read_next():
    points = torch.tensor([[0.2, 0.9], [0.6, 0.1], [1.0, 0.5]])
    blend = torch.tensor([0.5, 0.3, 0.2]) @ points
    assert ch09.next_input.check((points[0], blend))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        ((BLEND, CHOSEN), "other way round"),
        ((BLEND, BLEND), "blends nothing"),
        ((CHOSEN, CHOSEN), "blend of all three"),
        ((CHOSEN, (0.6, 0.5)), "plain mean"),
        (((0.1, 0.45), BLEND), "not weighed"),
        ((CHOSEN, (0.1, 0.1)), "for x and for y"),
        (7, "for x and for y"),
    ],
)
def test_what_is_read_next_hints(answer, hint):
    hinted(ch09.next_input, answer, hint)


# ---------------------------------------------------------------------------- 2


def twice(n):
    sure = F.one_hot(torch.tensor([0]), n).double()
    return F.cross_entropy(sure, torch.tensor([0])).item()


def test_floor():
    assert ch09.floor.check(twice)
    assert ch09.floor.check(lambda n: math.log(math.e + n - 1) - 1)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda n: None, "returns None"),
        (lambda n: 0.0, "one softmax"),
        (math.log, "knows nothing"),
        (lambda n: math.log(math.e + n) - 1, "One too many"),
        (lambda n: math.log(math.e + n - 1), "taken off"),
        (lambda n: 1 - math.log(math.e + n - 1), "cannot be negative"),
        (lambda n: math.e / (math.e + n - 1), "The probability"),
        (lambda n: n, "as if they were scores"),
        (lambda n: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_floor_hints(answer, hint):
    hinted(ch09.floor, answer, hint)


# ---------------------------------------------------------------------------- 3


def may(n, chosen):
    left = [j not in chosen for j in range(1, n + 1)]
    return [not any(left), *left]


def test_may_point():
    assert ch09.may_point.check(may)
    assert ch09.may_point.check(lambda n, chosen: torch.tensor(may(n, chosen)))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda n, chosen: None, "returns None"),
        (lambda n, chosen: may(n, chosen)[1:], "six places"),
        (lambda n, chosen: [not each for each in may(n, chosen)], "other way round"),
        (lambda n, chosen: [True, *may(n, chosen)[1:]], "always allowed"),
        (lambda n, chosen: [False, *may(n, chosen)[1:]], "never allowed"),
        (lambda n, chosen: [*may(n, chosen)[1:], may(n, chosen)[0]], "the last place"),
        (lambda n, chosen: [True] * (n + 1), "A list of n + 1"),
    ],
)
def test_may_point_hints(answer, hint):
    hinted(ch09.may_point, answer, hint)


# ---------------------------------------------------------------------------- 4


def from_one(tour):
    at = tour.index(1)
    return tour[at:] + tour[:at]


def one_name(tour):
    tour = from_one(tour)
    return tour if tour[1] < tour[-1] else tour[:1] + tour[:0:-1]


def test_one_name():
    assert ch09.one_name.check(one_name)


def test_one_name_is_the_one_that_the_data_use():
    for tour in ch09._TOURS:
        wanted = canonical(torch.tensor([tour]) - 1)[0] + 1
        assert one_name(list(tour)) == wanted.tolist()


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda tour: None, "returns None"),
        (from_one, "two directions"),
        (lambda tour: one_name(tour)[:1] + one_name(tour)[:0:-1], "wrong direction"),
        (lambda tour: min(from_one(tour), from_one(tour)[::-1]), "two directions"),
        (sorted, "another tour"),
        (lambda tour: tour, "Turn the list"),
    ],
)
def test_one_name_hints(answer, hint):
    hinted(ch09.one_name, answer, hint)


# ---------------------------------------------------------------------------- 5


def circle(tour):
    return {frozenset(pair) for pair in zip(tour, tour[1:] + tour[:1], strict=True)}


def reads_order(net, tries=30):
    generator = torch.Generator().manual_seed(0)
    for _ in range(tries):
        points = torch.rand(6, 2, generator=generator)
        order = torch.randperm(6, generator=generator)
        again = [int(order[at]) for at in net(points[order])]
        if circle(again) != circle(net(points)):
            return True
    return False


def test_reads_order():
    assert ch09.reads_order.check(reads_order)


def not_translated(net):
    points = torch.rand(6, 2, generator=torch.Generator().manual_seed(0))
    return net(points[torch.tensor([3, 1, 5, 0, 2, 4])]) != net(points)


def only_the_obvious(net):
    return net(torch.rand(6, 2)) == list(range(6))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda net: None, "returns None"),
        (lambda net: True, "yes to all"),
        (lambda net: False, "no to all"),
        (only_the_obvious, "Try more than once"),
    ],
)
def test_reads_order_hints(answer, hint):
    hinted(ch09.reads_order, answer, hint)


def test_who_compares_lists_takes_the_shortest_tour_for_a_reader():
    def as_lists(net):
        generator = torch.Generator().manual_seed(0)
        for _ in range(30):
            points = torch.rand(6, 2, generator=generator)
            order = torch.randperm(6, generator=generator)
            first, again = net(points), [int(order[at]) for at in net(points[order])]
            if first != again:
                return True
        return False

    hinted(ch09.reads_order, as_lists, "sets of neighbours")
