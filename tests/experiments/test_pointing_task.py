"""Pointing as a task: streams, numbers, and how a network is asked."""

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import jaxtyping
import pytest
import torch
from torch import nn

from heed.data.tours import HullData, SortData, TourData
from heed.experiments.pointing import Pointing, Points, TrainedPointer
from heed.experiments.runner import publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load
from heed.models.pointer import PointerConfig, PointerNetwork
from heed.training.loop import TrainConfig

SIZES = {"points": (4, 5), "held_out": 30}
TOURS = TourData(**SIZES, tests=(5, 4), pool=40)
HULLS = HullData(**SIZES, tests=(5, 4))
SORTS = SortData(**SIZES, tests=(5, 4))
ROW = Experiment(
    name="tiny_tours",
    chapter="09_pointer_network",
    title="for tests",
    build=PointerNetwork,
    config=partial(PointerConfig, d_hidden=8, rule="each_once"),
    data=TOURS,
    train=TrainConfig(steps=12, batch_size=8, lr=0.01, warmup=2),
    task=Points(main="ratio.5"),
    seeds=(0,),
)
HULL_ROW = replace(
    ROW,
    name="tiny_hulls",
    config=partial(PointerConfig, d_hidden=8),
    data=HULLS,
    task=Points(main="exact.5"),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, TrainedPointer]:
    folder, found = tmp_path_factory.mktemp("pointing"), {}
    for row in (ROW, HULL_ROW):
        train_one(row, 0, row.load(), runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


class Oracle(PointerNetwork):
    """Points at what is right: it asks the data, and keeps where it is in h."""

    def __init__(self, data, d_input: int = 2, *, wrong: bool = False) -> None:
        super().__init__(PointerConfig(d_input=d_input, d_hidden=1))
        self.data, self.wrong = data, wrong

    def encode(self, points, lengths=None):
        encoded = super().encode(points)
        right = self.data.answers(points)
        if self.wrong:  # the second and the third change places
            right = right[:, [0, 2, 1, *range(3, right.shape[1])]]
        return replace(encoded, prepared=right[:, :, None].float(), h=torch.zeros_like(encoded.h))

    def step(self, state, encoded, *, rule=None):
        at = state.h[:, 0].long().clamp(max=encoded.prepared.shape[1] - 1)
        key = encoded.prepared[torch.arange(len(at)), at, 0].long()
        logits = 50.0 * nn.functional.one_hot(key, encoded.prepared.shape[1]).float()
        return replace(state, h=state.h + 1), logits


def test_problems_of_a_step_are_the_same_whoever_came_before():
    for data in (TOURS, HULLS, SORTS):
        stream = Pointing(data).stream(ROW.train, seed=1)
        whole = stream.starting_after(0)
        drawn = [next(whole) for _ in range(4)]
        assert torch.equal(next(stream.starting_after(3)).points, drawn[3].points)
        assert drawn[0].points.shape != drawn[1].points.shape or not torch.equal(
            drawn[0].points, drawn[1].points
        )


def test_two_processes_get_together_what_one_would():
    task = Pointing(HULLS)
    one = next(task.stream(ROW.train, seed=0).starting_after(0))
    for rank in (0, 1):
        half = next(task.stream(ROW.train, seed=0, rank=rank, world=2).starting_after(0))
        assert torch.equal(half.points, one.points[rank::2])
        assert torch.equal(half.answers, one.answers[rank::2])
        assert task.count(half) == one.scored[rank::2].sum()


def test_who_points_right_is_exact_everywhere():
    metrics, _ = Pointing(TOURS).evaluate(Oracle(TOURS))
    assert metrics["exact"] == {"5": 1.0, "4": 1.0}
    assert metrics["ratio"] == {"5": pytest.approx(1.0), "4": pytest.approx(1.0)}
    assert metrics["ratio_beam"] == metrics["ratio"]
    assert metrics["invalid_free"] == {"5": 0.0, "4": 0.0}
    metrics, _ = Pointing(HULLS).evaluate(Oracle(HULLS))
    assert metrics["exact"] == metrics["exact_free"] == {"5": 1.0, "4": 1.0}
    assert metrics["covered"] == {"5": pytest.approx(1.0), "4": pytest.approx(1.0)}
    assert metrics["invalid"] == {"5": 0.0, "4": 0.0}
    metrics, _ = Pointing(SORTS).evaluate(Oracle(SORTS, d_input=1))
    assert metrics["exact"] == {"5": 1.0, "4": 1.0}
    assert "ratio" not in metrics


def test_who_points_wrong_is_found_out():
    metrics, _ = Pointing(TOURS).evaluate(Oracle(TOURS, wrong=True))
    assert metrics["exact"]["5"] == 0.0
    assert metrics["ratio"]["5"] > 1.05
    metrics, _ = Pointing(SORTS).evaluate(Oracle(SORTS, d_input=1, wrong=True))
    assert metrics["exact"]["5"] == 0.0
    assert metrics["invalid_free"]["5"] == 0.0  # a permutation, though not the right one
    metrics, _ = Pointing(HULLS).evaluate(Oracle(HULLS, wrong=True))
    assert metrics["exact"]["5"] < 0.1
    assert metrics["invalid"]["5"] > 0.3


def test_where_nothing_is_a_polygon_no_area_is_noted():
    class Stubborn(Oracle):
        """Points at the first point for ever where that is not forbidden."""

        def step(self, state, encoded, *, rule=None):
            state, logits = super().step(state, encoded, rule=rule)
            if rule == "free":
                logits = 50.0 * nn.functional.one_hot(
                    torch.ones(len(logits)).long(), logits.shape[1]
                )
            return state, logits

    metrics, _ = Pointing(HULLS).evaluate(Stubborn(HULLS))
    assert metrics["covered"]["5"] == pytest.approx(1.0)
    assert metrics["invalid_free"] == {"5": 1.0, "4": 1.0}
    assert "covered_free" not in metrics


def test_who_knows_nothing_loses_the_log_of_all_keys():
    class Blank(nn.Module):
        def forward(self, points, answers):
            return SimpleNamespace(logits=torch.zeros(*answers.shape, points.shape[1] + 1))

    task = Pointing(TOURS)
    assert task.validate(Blank()) == pytest.approx(math.log(6))
    batch = next(task.stream(ROW.train, seed=0).starting_after(0))
    keys = batch.points.shape[1] + 1
    assert task.loss(Blank(), batch, ROW.train).item() == pytest.approx(math.log(keys))
    with pytest.raises(ValueError, match=r"label_smoothing=0.1"):
        task.loss(Blank(), batch, replace(ROW.train, label_smoothing=0.1))


def test_it_is_trained_published_loaded_and_asked(models):
    model = models["tiny_tours"]
    assert Points(main="ratio.5").headline(model.card).startswith("ratio 1.")
    assert set(model.card.metrics["ratio"]) == {"5", "4"}
    for width in (1, 3):
        answer = model.point(torch.rand(6, 2), width=width)
        assert sorted(answer.order) == [0, 1, 2, 3, 4, 5]
        assert answer.finished
        assert answer.trace.key.labels == ("⇐", "1", "2", "3", "4", "5", "6")
        assert answer.trace.query.labels == (*(str(at + 1) for at in answer.order), "⇐")
        weights = answer.trace.weights[0]
        steps = range(len(answer.order))
        likely = [weights[step, answer.order[step] + 1] for step in steps]
        assert sum(math.log(p) for p in likely) == pytest.approx(answer.log_prob, abs=1e-4)
    hull = models["tiny_hulls"].point(torch.rand(5, 2), rule="polygon")
    assert hull.finished
    assert len(set(hull.order)) == len(hull.order) >= 3


def test_the_card_keeps_points_answers_and_maps(models):
    card = models["tiny_hulls"].card
    for each in card.inputs:
        points = torch.tensor(each["points"])
        assert points.shape == (5, 2)
        right = HULLS.answers(points[None])[0].tolist()
        assert each["answer"] == right[: right.index(0) + 1]
    _, maps = models["tiny_hulls"].maps()
    assert [each.shape[1:] for each in maps] == [(len(each["answer"]), 6) for each in card.inputs]
    assert len(card.moments[-1]["said"]) == 4


@pytest.mark.parametrize("shape", [(0, 2), (4, 3), (2, 4, 2)])
def test_points_of_another_width_are_refused(models, shape, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match="are not n × 2 numbers"):
        models["tiny_tours"].point(torch.zeros(shape))
