"""What answers are worth, why they are invalid, what they depend on: against networks that are
known to be right, or wrong in a known way."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_cards import blank_card
from torch import nn

from heed.data.tours import HullData, Problems, SortData, TourData, ended, hulls
from heed.evaluation.pointing import Pointed
from heed.experiments.pointing import TrainedPointer
from heed.models.pointer import PointerConfig, PointerNetwork, allowed
from heed.viz import routes
from heed.viz.routes import (
    CHANGES,
    KINDS,
    exact,
    faults,
    links,
    overruled,
    ratios,
    shaken,
    usual_rule,
)


class Knows(PointerNetwork):
    """Scores every key by a number of its own and never changes its mind, whatever the step."""

    def __init__(self, liking, *, d_input: int = 1) -> None:
        super().__init__(PointerConfig(d_input=d_input, d_hidden=1))
        self.liking = liking

    def _scores(self, encoded):
        return torch.cat([torch.full_like(encoded.c, -99.0), self.liking(encoded.inputs[:, 1:])], 1)

    def step(self, state, encoded, *, rule=None):
        keep = allowed(rule or self.config.rule, state.chosen, encoded.real)
        return state, self._scores(encoded).masked_fill(~keep, float("-inf"))

    def forward(self, points, answers, lengths=None, *, rule=None):
        out = super().forward(points, answers, rule=rule)
        scores = self._scores(self.encode(points))[:, None].expand_as(out.logits)
        return replace(out, logits=scores.masked_fill(out.logits.isinf(), float("-inf")))


class Told(PointerNetwork):
    """Answers what the data say."""

    def __init__(self, data) -> None:
        super().__init__(PointerConfig(d_input=data.width, d_hidden=1))
        self.data = data

    def encode(self, points, lengths=None):
        right = self.data.answers(points)[:, :, None].float()
        return replace(super().encode(points), prepared=right, h=torch.zeros(len(points), 1))

    def step(self, state, encoded, *, rule=None):
        key = encoded.prepared[:, int(state.h[0, 0]), 0].long()
        logits = 50.0 * nn.functional.one_hot(key, encoded.prepared.shape[1]).float()
        return replace(state, h=state.h + 1), logits


def shipped(model: PointerNetwork) -> TrainedPointer:
    return TrainedPointer(model=model.eval(), card=blank_card(), folder=Path())


SMALLEST = shipped(Knows(lambda x: -x[..., 0]))
SORT, HULL, TOUR = SortData(), HullData(), TourData()


def test_who_is_told_is_exact_and_as_short_as_the_best():
    for data in (SORT, HULL, TOUR):
        assert exact(shipped(Told(data)), data, 6, 20) == 1.0
    found = ratios({"told": shipped(Told(TOUR))}, 6, 20)
    assert found["told"] == found["told, beam"] == found["told, 2-opt"] == pytest.approx(1.0)
    assert 1.0 <= found["2-opt"] <= found["nearest neighbour"]
    assert found["nearest neighbour"] > 1.01


def test_who_likes_small_numbers_sorts_under_the_rule_and_not_backwards():
    assert exact(SMALLEST, SORT, 7, 30) == 1.0
    assert exact(shipped(Knows(lambda x: x[..., 0])), SORT, 7, 30) == 0.0


def test_but_the_rule_had_to_step_in_at_all_steps_but_the_first():
    found = overruled(SMALLEST, SORT, 5, 20)
    assert found["a point again"] == pytest.approx(4 / 5)
    assert found["⇐ too early"] == 0.0
    assert found["no ⇐ at the end"] == 1.0


def test_a_rule_that_did_not_hold_is_refused(monkeypatch):
    again = Pointed(torch.ones(4, 6, dtype=torch.long), torch.zeros(4), torch.zeros(4).bool())
    monkeypatch.setattr(routes, "whole", lambda *_, **__: again)
    with pytest.raises(ValueError, match="under the rule breaks it"):
        overruled(SMALLEST, SORT, 5, 4)


# ------------------------------------------------------------------ invalid answers

CORNERS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.6]])


def test_every_hull_is_counted_once_by_the_first_thing_that_is_wrong_with_it():
    answers = torch.tensor(
        [
            [3, 4, 1, 2, 0, 0],  # right, begun elsewhere
            [1, 2, 3, 0, 0, 0],  # a triangle
            [1, 2, 3, 4, 1, 2],  # never ends
            [1, 2, 2, 4, 0, 0],
            [1, 2, 0, 0, 0, 0],
            [1, 3, 2, 4, 0, 0],
        ]
    )
    points = CORNERS.expand(len(answers), 5, 2)
    finished = (answers == 0).any(dim=1)
    asked = Problems.of(points, hulls(points))
    found = Pointed(answers, torch.zeros(len(answers)), finished)
    assert faults(asked, found, hull=True) == dict.fromkeys(KINDS, 1)


def test_tours_must_visit_all_and_may_cross():
    answers = torch.tensor([[1, 2, 3, 4, 0], [1, 3, 2, 4, 0], [1, 2, 3, 0, 0], [1, 2, 2, 3, 0]])
    points = CORNERS[:4].expand(4, 4, 2)
    asked = Problems.of(points, ended(torch.arange(4).expand(4, 4)))
    found = faults(asked, Pointed(answers, torch.zeros(4), torch.ones(4).bool()), hull=False)
    assert {kind: count for kind, count in found.items() if count} == {
        "right": 1,
        "valid, not right": 1,
        "too few points": 1,
        "a point twice": 1,
    }


# ------------------------------------------------------------------ what answers depend on


def test_a_circle_is_the_same_from_anywhere_and_either_way_and_a_list_is_not_closed():
    answers = torch.tensor([[1, 2, 3, 4, 0], [3, 4, 1, 2, 0], [4, 3, 2, 1, 0], [1, 3, 2, 4, 0]])
    round_ = links(answers, 4, closed=True)
    assert torch.equal(round_[0], round_[1])
    assert torch.equal(round_[0], round_[2])
    assert not torch.equal(round_[0], round_[3])
    row = links(answers, 4, closed=False)
    assert torch.equal(row[0], row[2])
    assert not torch.equal(row[0], row[1])


def test_a_hull_of_three_is_closed_where_it_ends():
    found = links(torch.tensor([[2, 4, 1, 0, 0]]), 4, closed=True)[0]
    assert found.nonzero().tolist() == [[0, 1], [0, 3], [1, 0], [1, 3], [3, 0], [3, 1]]


def test_none_of_the_changes_changes_what_is_right():
    for data in (HULL, TOUR):
        points = data.fresh(20, 6, torch.Generator().manual_seed(0)).points
        before = links(data.answers(points), 6, closed=True)
        for name, change in CHANGES.items():
            after = links(data.answers(change(points)), 6, closed=True)
            assert torch.equal(before, after), name
            assert not torch.allclose(points, change(points)), name


def test_numbers_cannot_be_turned():
    with pytest.raises(ValueError, match="points of 1 numbers cannot be turned"):
        CHANGES["turned by 90°"](torch.rand(2, 3, 1))
    assert "turned by 90°" not in shaken(SMALLEST, SORT, 5, 10)


def test_who_looks_at_numbers_only_does_not_mind_any_change():
    for name, (right, same) in shaken(SMALLEST, SORT, 6, 20).items():
        assert (right, same) == (1.0, 1.0), name


def test_who_says_the_order_of_reading_minds_that_and_nothing_else():
    listed = shipped(Knows(lambda x: -torch.arange(x.shape[1]).expand(x.shape[:2]).float()))
    found = shaken(listed, SORT, 6, 50)
    assert found["in another order"][1] < 0.2
    assert found["moved by 0.5"] == (found["as it is"][0], 1.0)


def test_hulls_are_asked_for_as_polygons_and_the_others_each_once():
    assert [usual_rule(data) for data in (HULL, SORT, TOUR)] == ["polygon", *["each_once"] * 2]
