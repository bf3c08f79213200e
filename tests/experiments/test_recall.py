"""Key-value recall as a task: questions, numbers, and how a model is asked."""

import math
from dataclasses import replace
from functools import partial
from itertools import islice
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from heed.data.recall import RecallData
from heed.experiments.recall import Recalling, Recalls, TrainedRecall
from heed.experiments.runner import publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load
from heed.models.lstmn import Recall, RecallConfig
from heed.training.loop import TrainConfig

DATA = RecallData(pairs=3, keys=5, values=7, held_out=200)
ROW = Experiment(
    name="tiny_recall",
    chapter="05_self_attention",
    title="for tests",
    build=Recall,
    config=partial(RecallConfig, keys=5, values=7, d_embedding=12, d_state=12, d_align=12),
    data=DATA,
    train=TrainConfig(steps=40, batch_size=16, lr=0.01, warmup=5),
    task=Recalls(),
    seeds=(0,),
)
LSTM = replace(ROW, name="tiny_lstm_recall", config=partial(ROW.config, cell="lstm"))


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, TrainedRecall]:
    folder, found = tmp_path_factory.mktemp("recall"), {}
    for row in (ROW, LSTM):
        train_one(row, 0, row.load(), runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


class Oracle(nn.Module):
    """Looks the key up; ``wrong`` is a place that it never remembers."""

    def __init__(self, wrong: int | None = None) -> None:
        super().__init__()
        self.wrong = wrong

    def forward(self, keys, values):
        same = keys[:, :-1] == keys[:, -1:]
        place = same.long().argmax(dim=1)
        logits = 50.0 * nn.functional.one_hot(values.gather(1, place[:, None])[:, 0], 7).float()
        if self.wrong is not None:
            logits[place == self.wrong] *= -1
        weights = torch.zeros(len(keys), 4, 4)
        weights[torch.arange(len(keys)), -1, place + 1] = 1.0
        return SimpleNamespace(logits=logits, weights=weights)


def test_questions_of_a_step_are_the_same_whoever_came_before():
    task = Recalling(DATA)
    stream = task.stream(ROW.train, seed=2)
    whole = list(islice(stream.starting_after(0), 6))
    later = next(stream.starting_after(4))
    assert torch.equal(whole[4].keys, later.keys)
    assert not torch.equal(whole[4].keys, whole[5].keys)
    other = next(task.stream(ROW.train, seed=3).starting_after(0))
    assert not torch.equal(whole[0].keys, other.keys)


def test_two_processes_get_together_what_one_would():
    task = Recalling(DATA)
    one = next(task.stream(ROW.train, seed=0).starting_after(0))
    for rank in (0, 1):
        half = next(task.stream(ROW.train, seed=0, rank=rank, world=2).starting_after(0))
        assert torch.equal(half.keys, one.keys[rank::2])
        assert torch.equal(half.answers, one.answers[rank::2])
        assert task.count(half) == 8


def test_who_always_finds_the_pair_is_always_right():
    metrics, settings = Recalling(DATA).evaluate(Oracle())
    assert metrics["accuracy"] == metrics["look_right"] == 1.0
    assert metrics["accuracy_by_place"] == {"1": 1.0, "2": 1.0, "3": 1.0}
    assert settings["chance"] == pytest.approx(1 / 7)


def test_a_place_that_is_forgotten_shows():
    metrics, _ = Recalling(DATA).evaluate(Oracle(wrong=1))
    assert metrics["accuracy_by_place"] == {"1": 1.0, "2": 0.0, "3": 1.0}
    assert 0.5 < metrics["accuracy"] < 0.8


def test_who_knows_nothing_loses_the_log_of_all_values():
    class Blank(nn.Module):
        def forward(self, keys, values):
            return SimpleNamespace(logits=torch.zeros(len(keys), 7), weights=None)

    task = Recalling(DATA)
    batch = next(task.stream(ROW.train, seed=0).starting_after(0))
    assert task.loss(Blank(), batch, ROW.train).item() == pytest.approx(math.log(7))
    assert task.validate(Blank()) == pytest.approx(math.log(7))
    assert task.maps(Blank()) == []


@pytest.mark.parametrize("name", ["tiny_recall", "tiny_lstm_recall"])
def test_it_is_trained_published_loaded_and_asked(models, name):
    model = models[name]
    assert isinstance(model, TrainedRecall)
    assert Recalls().headline(model.card).startswith("right ")
    assert set(model.card.metrics["accuracy_by_place"]) == {"1", "2", "3"}
    answer = model.recall([("a", 3), ("c", 0), ("e", 6)], "c")
    assert 0 <= answer.value < 7
    assert 1 / 7 < answer.probability < 1
    if name == "tiny_lstm_recall":
        assert answer.trace is None
    else:
        assert answer.trace is not None
        assert answer.trace.query.labels == ("a 3", "c 0", "e 6", "c ?")
        assert answer.trace.key.labels == ("∅", "a 3", "c 0", "e 6")
        assert answer.trace.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("pairs", "key", "message"),
    [
        ([], "a", "no pairs"),
        ([("f", 1)], "a", "'f' is none of a to e"),
        ([("a", 1)], "ab", "'ab' is none of a to e"),
        ([("a", 1)], "", "'' is none of a to e"),
        ([("a", 7)], "a", "7 is none of 0 to 6"),
        ([("a", -1)], "a", "-1 is none of 0 to 6"),
    ],
)
def test_what_it_never_met_is_refused(models, pairs, key, message):
    with pytest.raises(ValueError, match=message):
        models["tiny_recall"].recall(pairs, key)


def test_the_card_keeps_questions_answers_and_maps(models):
    card = models["tiny_recall"].card
    for question in card.inputs:
        assert (
            question["values"][question["keys"].index(question["keys"][-1])] == question["answer"]
        )
    _, maps = models["tiny_recall"].maps()
    assert [each.shape[1:] for each in maps] == [(4, 4)] * 4
    assert len(card.moments[-1]["said"]) == 4
