"""Tapes as a task: streams, numbers, and how a machine is asked."""

import math
from dataclasses import replace
from functools import partial
from itertools import islice
from types import SimpleNamespace

import jaxtyping
import pytest
import torch
from torch import nn

from heed.data.tapes import CopyTapes, NGramTapes, RecallTapes, RepeatTapes
from heed.experiments.runner import publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.tapes import Answering, Answers, TrainedMachine, nats
from heed.experiments.trained import load
from heed.models.ntm import NTM, NTMConfig, StackedLSTM, StackedLSTMConfig
from heed.training.loop import TrainConfig

DATA = CopyTapes(bits=3, lengths=(1, 4), tests=(4, 6), held_out=50)
ROW = Experiment(
    name="tiny_copy",
    chapter="08_neural_turing_machine",
    title="for tests",
    build=NTM,
    config=partial(NTMConfig, d_input=4, d_output=3, d_controller=10, slots=9, d_slot=5, readers=2),
    data=DATA,
    train=TrainConfig(steps=12, batch_size=4, lr=0.01, warmup=2),
    task=Answers(),
    seeds=(0,),
    half=False,
)
LSTM = replace(
    ROW,
    name="tiny_lstm_copy",
    build=StackedLSTM,
    config=partial(StackedLSTMConfig, d_input=4, d_output=3, d_hidden=8, layers=2),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, TrainedMachine]:
    folder, found = tmp_path_factory.mktemp("tapes"), {}
    for row in (ROW, LSTM):
        train_one(row, 0, row.load(), runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


class Oracle(nn.Module):
    """Copies what it was told, but for the last ``wrong`` bits; sure of each."""

    def __init__(self, wrong: int = 0) -> None:
        super().__init__()
        self.wrong = wrong

    def forward(self, inputs):
        length = inputs.shape[1] // 2
        logits = torch.zeros(len(inputs), 2 * length + 1, 3)
        logits[:, length + 1 :] = 60 * inputs[:, :length, :3] - 30
        if self.wrong:
            logits[:, -1, : self.wrong] *= -1
        return SimpleNamespace(logits=logits, weights=None)


def test_tapes_of_a_step_are_the_same_whoever_came_before():
    task = Answering(DATA)
    whole = list(islice(task.stream(ROW.train, seed=2).starting_after(0), 6))
    later = next(task.stream(ROW.train, seed=2).starting_after(4))
    assert torch.equal(whole[4].inputs, later.inputs)
    other = next(task.stream(ROW.train, seed=3).starting_after(4))
    assert whole[4].inputs.shape != other.inputs.shape or not torch.equal(
        whole[4].inputs, other.inputs
    )


def test_two_processes_get_together_what_one_would():
    task = Answering(DATA)
    one = next(task.stream(ROW.train, seed=0).starting_after(0))
    for rank in (0, 1):
        half = next(task.stream(ROW.train, seed=0, rank=rank, world=2).starting_after(0))
        assert torch.equal(half.inputs, one.inputs[rank::2])
        assert task.count(half) == 2
    with pytest.raises(ValueError, match="4 sequences leave some of 5 processes"):
        task.stream(ROW.train, seed=0, world=5)


def test_who_copies_without_a_fault_has_no_wrong_bit_and_no_cost():
    metrics, settings = Answering(DATA).evaluate(Oracle())
    assert metrics["wrong_bits"] == {"4": 0.0, "6": 0.0}
    assert metrics["whole"] == {"4": 1.0, "6": 1.0}
    assert metrics["cost"]["4"] < 1e-6
    assert settings["sequences"] == 50


def test_wrong_bits_are_counted_a_sequence_and_cost_is_in_bits():
    metrics, _ = Answering(DATA).evaluate(Oracle(wrong=2))
    assert metrics["wrong_bits"] == {"4": 2.0, "6": 2.0}
    assert metrics["whole"] == {"4": 0.0, "6": 0.0}
    assert metrics["cost"]["6"] == pytest.approx(2 * 30 / math.log(2))


def test_who_knows_nothing_pays_a_bit_for_each_bit():
    class Blank(nn.Module):
        def forward(self, inputs):
            return SimpleNamespace(logits=torch.zeros(*inputs.shape[:2], 3), weights=None)

    task = Answering(DATA)
    batch = next(task.stream(ROW.train, seed=0).starting_after(0))
    assert task.loss(Blank(), batch, ROW.train).item() == pytest.approx(math.log(2))
    assert task.validate(Blank()) == pytest.approx(math.log(2))
    metrics, settings = task.evaluate(Blank())
    assert metrics["cost"] == {"4": pytest.approx(12), "6": pytest.approx(18)}
    assert 3 <= settings["valid_bits"] <= 12
    assert task.maps(Blank()) == []
    smooth = replace(ROW.train, label_smoothing=0.1)
    with pytest.raises(ValueError, match=r"label_smoothing=0.1"):
        task.loss(Blank(), batch, smooth)


def test_only_scored_steps_count():
    tape = DATA.tape(2, torch.Generator().manual_seed(0), length=2)
    logits = torch.zeros(2, 5, 3)
    before = nats(logits, tape)
    logits[:, :3] = 99.0
    assert torch.equal(nats(logits, tape), before)


def test_the_best_cost_stands_beside_that_of_ngrams():
    data = NGramTapes(length=30, tests=(30,), held_out=40)

    class Half(nn.Module):
        def forward(self, inputs):
            return SimpleNamespace(logits=torch.zeros(*inputs.shape[:2], 1), weights=None)

    metrics, _ = Answering(data).evaluate(Half())
    assert metrics["cost"]["30"] == pytest.approx(25)
    assert 15 < metrics["best"]["30"] < 25


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (RepeatTapes(tests=((2, 2), (3, 2)), held_out=4), ["2x2", "3x2"]),
        (RecallTapes(tests=(2, 3), held_out=4), ["2", "3"]),
    ],
)
def test_tests_are_called_by_their_sizes(data, names):
    model = NTM(NTMConfig(**dict(zip(("d_input", "d_output"), data.widths, strict=True)), slots=8))
    metrics, _ = Answering(data).evaluate(model)
    assert list(metrics["wrong_bits"]) == names


@pytest.mark.parametrize("name", ["tiny_copy", "tiny_lstm_copy"])
def test_it_is_trained_published_loaded_and_run(models, name):
    model = models[name]
    assert Answers().headline(model.card).startswith("wrong ")
    tape = DATA.tape(1, torch.Generator().manual_seed(0), length=4)
    run = model.run(tape.inputs[0])
    assert run.probabilities.shape == (9, 3)
    assert ((run.probabilities > 0) & (run.probabilities < 1)).all()
    if name == "tiny_lstm_copy":
        assert run.reading is run.writing is run.reads is run.adds is None
        assert "maps.npz" not in model.card.files
    else:
        assert run.reading.heads == ("read 1", "read 2")
        assert run.writing.heads == ("write 1",)
        assert run.reading.weights.shape == (2, 9, 9)
        assert run.reading.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
        assert run.reads.shape == (9, 2, 5)
        _, maps = model.maps()
        assert [each.shape[1:] for each in maps] == [(9, 27)] * 2


@pytest.mark.parametrize("shape", [(5, 3), (0, 4), (2, 5, 4)])
def test_a_tape_of_another_width_is_refused(models, shape, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match="are not steps of 4 numbers"):
        models["tiny_copy"].run(torch.zeros(shape))


def test_the_card_keeps_what_was_right_and_what_was_said(models):
    card = models["tiny_copy"].card
    tape = DATA.held_out_tape(500, 2, {"length": 4})
    for each, inputs in zip(card.inputs, tape.inputs, strict=True):
        bits = ["".join(str(int(bit)) for bit in step) for step in inputs[:4, :3].tolist()]
        assert each == {"sizes": {"length": 4}, "answer": bits}
    said = card.moments[-1]["said"]
    assert [len(answer) for answer in said] == [4, 4]
    assert all(len(step) == 3 for answer in said for step in answer)
