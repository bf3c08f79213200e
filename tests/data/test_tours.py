"""Sorting, hulls and tours: right by brute force, by scipy, and by hand."""

from itertools import permutations

import pytest
import torch
from scipy.spatial import ConvexHull
from torch.testing import assert_close

from heed.data.tours import (
    HullData,
    Problems,
    SortData,
    TourData,
    canonical,
    ended,
    good_tours,
    hulls,
    nearest_neighbours,
    polygon_areas,
    shortest_tours,
    shuffled,
    tour_lengths,
    two_opt,
)

SQUARE = torch.tensor([[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def is_tour(tours: torch.Tensor) -> bool:
    return torch.equal(tours.sort(dim=1).values, torch.arange(tours.shape[1]).expand_as(tours))


# ------------------------------------------------------------------ tours


@pytest.mark.parametrize("n", range(1, 9))
def test_exact_tours_are_those_of_brute_force(n):
    points = torch.rand(20 if n > 6 else 60, n, 2)
    every = torch.tensor([(0, *rest) for rest in permutations(range(1, n))])
    found = shortest_tours(points)
    assert is_tour(found)
    for each, tour in zip(points, found, strict=True):
        best = tour_lengths(each.expand(len(every), n, 2), every).min()
        assert_close(tour_lengths(each[None], tour[None])[0], best, rtol=0, atol=1e-5)


def test_many_tours_at_once_are_found_as_each_alone():
    points = torch.rand(300, 6, 2)
    together = shortest_tours(points)
    for row in (0, 127, 128, 299):
        assert torch.equal(shortest_tours(points[row : row + 1])[0], together[row])
    assert shortest_tours(points[:0]).shape == (0, 6)


def test_too_many_points_for_an_exact_tour_are_refused():
    with pytest.raises(ValueError, match="13 points: exact tours have 1 to 12"):
        shortest_tours(torch.rand(1, 13, 2))


def test_a_tour_has_one_way_to_be_said():
    tours = torch.tensor([[2, 0, 3, 1], [3, 0, 2, 1]])  # the second is the first, turned round
    assert canonical(tours).tolist() == [[0, 2, 1, 3], [0, 2, 1, 3]]
    points = torch.rand(2, 4, 2)
    assert_close(tour_lengths(points, canonical(tours)), tour_lengths(points, tours))
    assert canonical(torch.tensor([[0]])).tolist() == [[0]]


def test_the_length_of_a_tour_includes_the_way_home():
    assert tour_lengths(SQUARE, torch.tensor([[0, 2, 1, 3]])).item() == 4.0
    crossed = tour_lengths(SQUARE, torch.tensor([[0, 1, 2, 3]]))
    assert crossed.item() == pytest.approx(2 + 2 * 2**0.5)


def test_two_opt_undoes_a_crossing_and_never_makes_a_tour_longer():
    assert tour_lengths(SQUARE, two_opt(SQUARE, torch.tensor([[0, 1, 2, 3]]))).item() == 4.0
    points = torch.rand(50, 15, 2)
    start = torch.arange(15).expand(50, 15)
    mended = two_opt(points, start)
    assert is_tour(mended)
    assert (tour_lengths(points, mended) <= tour_lengths(points, start)).all()
    again = two_opt(points, mended)
    assert torch.equal(again, mended)


def test_nearest_neighbours_go_to_the_nearest():
    line = torch.tensor([[[0.0, 0.0], [0.9, 0.0], [0.2, 0.0], [0.5, 0.0]]])
    assert nearest_neighbours(line).tolist() == [[0, 2, 3, 1]]
    assert nearest_neighbours(line, start=1).tolist() == [[1, 3, 2, 0]]


def test_good_tours_are_rarely_longer_than_the_shortest():
    points = torch.rand(200, 9, 2)
    good, best = good_tours(points), shortest_tours(points)
    assert is_tour(good)
    ratio = tour_lengths(points, good) / tour_lengths(points, best)
    assert ratio.min() > 1 - 1e-5
    assert (ratio < 1 + 1e-5).double().mean() >= 0.95
    assert ratio.mean() < 1.002


# ------------------------------------------------------------------ hulls and areas


def test_hulls_are_scipys_from_the_smallest_number_on_counter_clockwise():
    points = torch.rand(40, 9, 2)
    for each, answer in zip(points, hulls(points).tolist(), strict=True):
        corners = [key - 1 for key in answer if key]
        theirs = ConvexHull(each.double().numpy())
        assert set(corners) == set(theirs.vertices.tolist())
        assert corners[0] == min(corners)
        assert answer[len(corners) :] == [0] * (10 - len(corners))
        area = polygon_areas(each[corners].double()).item()
        assert area == pytest.approx(theirs.volume)  # in the plane, scipy's volume is the area


def test_a_hull_on_numbers_small_enough_to_read():
    points = torch.tensor([[[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])
    assert hulls(points).tolist() == [[2, 4, 3, 5, 0, 0]]
    with pytest.raises(ValueError, match="2 points have no hull"):
        hulls(points[:, :2])


def test_the_area_of_a_square_has_a_sign():
    square = SQUARE[0][torch.tensor([0, 2, 1, 3])]
    assert polygon_areas(square).item() == 1.0
    assert polygon_areas(square.flip(0)).item() == -1.0
    assert polygon_areas(torch.cat([square, square[:1], square[:1]])).item() == 1.0


# ------------------------------------------------------------------ problems


def test_a_sorted_answer_climbs_and_ends():
    problems = SortData().fresh(50, 7, seeded())
    keys = problems.answers[:, :-1, None] - 1
    climbing = problems.points.gather(1, keys)[..., 0]
    assert (climbing.diff(dim=1) > 0).all()
    assert (problems.answers[:, -1] == 0).all()
    assert problems.scored.all()


def test_steps_count_up_to_the_first_end():
    answers = torch.tensor([[2, 1, 3, 0, 0], [2, 4, 1, 3, 0], [0, 0, 0, 0, 0]])
    scored = Problems.of(torch.rand(3, 4, 2), answers).scored
    assert scored.int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]


def test_a_shuffled_tour_is_the_shortest_of_the_shuffled_points():
    points = torch.rand(64, 7, 2)
    mixed = shuffled(points, shortest_tours(points), seeded())
    assert torch.equal(mixed.answers, ended(shortest_tours(mixed.points)))
    assert not torch.equal(mixed.points, points)
    before, after = (tour_lengths(p, shortest_tours(p)) for p in (points, mixed.points))
    assert_close(after, before, rtol=0, atol=1e-5)


def test_training_tours_are_right_and_come_from_the_pool():
    data = TourData(points=(5, 6), tests=(5,), pool=30)
    for seed in range(4):
        drawn = data.training(16, seeded(seed))
        assert drawn.points.shape[1] in (5, 6)
        assert torch.equal(drawn.answers, data.answers(drawn.points))


def test_held_out_problems_are_fixed_and_differ():
    for data in (SortData(), HullData(), TourData()):
        test = data.held_out_problems(5, "test", 20)
        assert torch.equal(test.points, data.held_out_problems(5, "test", 20).points)
        assert not torch.equal(test.points, data.held_out_problems(5, "valid", 20).points)
        assert torch.equal(test.answers, data.answers(test.points))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SortData(points=(0, 3)), r"points=\(0, 3\) is no range from 1 on"),
        (lambda: HullData(points=(2, 3)), r"points=\(2, 3\) is no range from 3 on"),
        (lambda: TourData(points=(6, 5)), r"points=\(6, 5\) is no range from 1 on"),
        (lambda: HullData(tests=(2, 5)), r"tests=\(2, 5\): each n must be 3 or more"),
    ],
)
def test_sizes_that_make_no_problem_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
