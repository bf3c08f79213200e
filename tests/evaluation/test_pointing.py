"""Decoding of pointers by brute force, and what answers are worth, by hand."""

from itertools import permutations

import pytest
import torch
from torch.testing import assert_close

from heed.data.tours import ended, hulls
from heed.evaluation.pointing import (
    crosses,
    each_once,
    hull_answers,
    point,
    same_polygon,
    tour_ratios,
)
from heed.models.pointer import PointerConfig, PointerNetwork

B, N = 4, 4


def network() -> PointerNetwork:
    model = PointerNetwork(PointerConfig(d_hidden=9, rule="each_once"))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(12)
    return model


def log_prob(model, points, answers):
    logits = model(points, answers).logits
    return logits.log_softmax(-1).gather(2, answers[..., None])[..., 0].sum(dim=1)


def test_a_wide_beam_finds_the_likeliest_of_all_permutations():
    model, points = network(), torch.rand(B, N, 2)
    every = ended(torch.tensor(list(permutations(range(N)))))
    found = point(model, points, width=24)
    for row in range(B):
        scores = log_prob(model, points[row].expand(len(every), N, 2), every)
        assert torch.equal(found.answers[row], every[scores.argmax()])
        assert_close(found.log_prob[row], scores.max())


@pytest.mark.parametrize("width", [1, 2, 5])
def test_answers_are_permutations_and_their_probability_is_that_of_the_steps(width):
    model, points = network(), torch.rand(50, 7, 2)
    found = point(model, points, width=width)
    assert each_once(found.answers).all()
    assert found.finished.all()
    assert_close(found.log_prob, log_prob(model, points, found.answers))


def test_a_beam_of_one_is_greedy():
    model, points = network(), torch.rand(B, N, 2)
    found, encoded = point(model, points), model.encode(points)
    state = model.start(encoded)
    for step in range(N + 1):
        state, logits = model.step(state, encoded)
        assert torch.equal(found.answers[:, step], logits.argmax(dim=-1))
        state = model.choose(state, logits.argmax(dim=-1), encoded)


def test_polygons_have_three_corners_and_free_answers_may_never_end():
    model, points = network(), torch.rand(40, 6, 2)
    with torch.no_grad():
        model.end.fill_(-50.0)  # ⇐ is far from anything
    free = point(model, points, rule="free")
    assert free.answers.shape == (40, 7)
    found = point(model, points, rule="polygon")
    corners = (found.answers != 0).sum(dim=1)
    assert (corners >= 3).all()
    assert found.finished.all()
    assert (free.finished == (free.answers == 0).any(dim=1)).all()


def test_a_beam_that_keeps_nothing_is_refused():
    with pytest.raises(ValueError, match="width=0 keeps nothing"):
        point(network(), torch.rand(1, 3, 2), width=0)


# ------------------------------------------------------------------ worth


def test_a_tour_that_leaves_out_a_point_is_none():
    answers = torch.tensor([[1, 2, 3, 0], [1, 2, 2, 0], [1, 2, 0, 3], [1, 2, 3, 3]])
    assert each_once(answers).tolist() == [True, False, False, False]


def test_tours_are_compared_by_length_and_no_tour_has_no_ratio():
    square = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]).expand(3, 4, 2)
    right = torch.tensor([[1, 3, 2, 4, 0]]).expand(3, 5)
    answers = torch.tensor([[2, 4, 1, 3, 0], [1, 2, 3, 4, 0], [1, 1, 2, 3, 0]])
    ratios = tour_ratios(square, answers, right)
    assert ratios[0].item() == 1.0
    assert ratios[1].item() == pytest.approx((2 + 2 * 2**0.5) / 4)
    assert ratios[2].isnan()


def test_a_polygon_may_begin_anywhere_but_not_turn_round():
    right = torch.tensor([[1, 4, 2, 0, 0]]).expand(4, 5)
    answers = torch.tensor([[4, 2, 1, 0, 0], [2, 1, 4, 0, 0], [1, 2, 4, 0, 0], [1, 4, 0, 0, 0]])
    assert same_polygon(answers, right).tolist() == [True, True, False, False]


def test_sides_that_cross_are_seen():
    square = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert not crosses(square)
    assert crosses(square[torch.tensor([0, 2, 1, 3])])
    assert not crosses(square[:3])


def test_hulls_are_exact_or_cover_a_share_or_are_no_polygon():
    points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.6]])
    answers = torch.tensor(
        [
            [3, 4, 1, 2, 0, 0],  # right, begun elsewhere
            [1, 2, 3, 0, 0, 0],  # half of it
            [1, 3, 2, 4, 0, 0],  # crosses itself
            [1, 2, 2, 4, 0, 0],  # a corner twice
            [1, 2, 0, 0, 0, 0],  # too few
            [0, 0, 0, 0, 0, 0],  # nothing
            [1, 2, 3, 4, 1, 2],  # never ends
        ]
    )
    many = points.expand(len(answers), 5, 2)
    finished = (answers == 0).any(dim=1)
    worth = hull_answers(many, answers, hulls(many), finished)
    assert worth.exact.tolist() == [True] + [False] * 6
    assert worth.valid.tolist() == [True, True] + [False] * 5
    assert worth.covered[:2].tolist() == pytest.approx([1.0, 0.5])
    assert worth.covered[2:].isnan().all()
