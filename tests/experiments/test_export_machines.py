"""The graphs of machines with a memory against PyTorch, and what an export of one says."""

import copy
import json
import shutil
from dataclasses import replace
from typing import Any

import pytest
import torch
from small_machines import FEEDFORWARD, ROW, lively, published
from typer.testing import CliRunner

from heed.__main__ import app
from heed.data.tapes import RepeatTapes
from heed.evaluation.hands import Hand, Hands
from heed.experiments import table
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    Exported,
    ExportedMachine,
    ExportedPainter,
    ExportedReader,
    as_exported,
    export,
    read_manifest,
)
from heed.experiments.exported import opened
from heed.experiments.graphs import FAMILIES, ExportError, MachineFamily, family_of, pack
from heed.experiments.tapes import Answering, in_bits
from heed.experiments.trained import load
from heed.experiments.trials import WORDS, Bits, Runs, trial_of
from heed.models.ntm import NTM, NTMConfig

pytestmark = pytest.mark.usefixtures("unchecked")

X, Y, N, D = 4, 3, 7, 5


def config(**options):
    sizes = {"d_input": X, "d_output": Y, "d_controller": 9, "slots": N, "d_slot": D}
    return NTMConfig(**(sizes | options))


CONFIGS = {
    "the paper's": config(),
    "read first": config(order="read_first"),
    "feedforward": config(controller="feedforward"),
    "learned first state": config(first="learned"),
    "learned, feedforward": config(first="learned", controller="feedforward"),
    "many heads": config(readers=3, writers=2),
    "many heads, read first, learned": config(
        readers=2, writers=3, order="read_first", first="learned"
    ),
    "no shift": config(shift=0),
    "shifts round a short ring": config(shift=3, slots=2),
}
HANDS = {
    "left alone": Hands(),
    "β": Hands(reading=Hand(strength=0.0), writing=Hand(strength=40.0)),
    "g": Hands(reading=Hand(gate=1.0)),
    "g of both": Hands(reading=Hand(gate=0.3), writing=Hand(gate=0.0)),
    "γ": Hands(writing=Hand(focus=1.0)),
    "all": Hands(
        reading=Hand(strength=2.5, gate=0.5, focus=9.0),
        writing=Hand(strength=0.5, gate=0.25, focus=1.5),
    ),
}


def graphs_of(model) -> list[Any]:
    family = family_of(model)
    return family.graphs(model.config, pack(model, limit=LARGEST))


def exported(model) -> ExportedMachine:
    found = opened(model, {each.name: each.serialise() for each in graphs_of(model)})
    assert isinstance(found, ExportedMachine)
    return found


def near(found, wanted, name):
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=0, msg=lambda said: f"{name}: {said}")


def same_steps(model, graph, inputs, hands):
    """Each part of each step, from the model's own state: heads multiply what is rounded away."""
    with torch.inference_mode():
        begin, state = graph.start(len(inputs)), model.start(len(inputs))
    for part in ("memory", "reads", "reading", "writing"):
        near(getattr(begin.heads, part), getattr(state.heads, part), part)
    near(begin.h, state.h, "h")
    near(begin.c, state.c, "c")
    for x in inputs.unbind(1):
        with torch.inference_mode():
            theirs, wanted = model.step(state, x, hand=hands)
        ours, found = graph.step(state, x, hand=hands)
        state = theirs
        near(found.logits, wanted.logits, "logits")
        for name in ("memory", "reads", "reading", "writing"):
            near(getattr(ours.heads, name), getattr(theirs.heads, name), name)
        near(ours.h, theirs.h, "h")
        near(ours.c, theirs.c, "c")
        for kind in ("reading", "writing"):
            for name in ("key", "strength", "gate", "shifts", "focus"):
                one, other = (getattr(out.commands, kind) for out in (found, wanted))
                near(getattr(one, name), getattr(other, name), f"{kind} {name}")
        near(found.commands.erase, wanted.commands.erase, "erase")
        near(found.commands.add, wanted.commands.add, "add")


# ------------------------------------------------------------------ against PyTorch


@pytest.mark.parametrize("name", CONFIGS)
def test_a_step_is_that_of_pytorch_whatever_the_hands_say(name):
    model = lively(CONFIGS[name]).requires_grad_(False)  # a learned first state is a parameter
    graph, inputs = exported(model), torch.randn(3, 6, X)
    for hands in HANDS.values():
        same_steps(model, graph, inputs, hands)


def test_shifts_by_hand_are_told_to_the_heads_of_that_kind():
    model = lively(CONFIGS["many heads"])
    graph, inputs = exported(model), torch.randn(2, 5, X)
    for hands in (
        Hands(reading=Hand(shifts=(0.0, 0.25, 0.75))),
        Hands(writing=Hand(shifts=(1.0, 0.0, 0.0)), reading=Hand(shifts=(0.0, 1.0, 0.0))),
    ):
        same_steps(model, graph, inputs, hands)


@pytest.mark.parametrize("name", ["the paper's", "learned, feedforward"])
def test_a_run_of_forty_and_forty_steps_is_that_of_the_model(name):
    model = lively(CONFIGS[name])
    inputs = (torch.rand(2, 81, X) < 0.5).float()
    with torch.inference_mode():
        wanted, precise = model(inputs), copy.deepcopy(model).double()(inputs.double())
    found = exported(model)(inputs)
    for part in ("logits", "weights", "reads", "adds"):
        theirs = getattr(wanted, part)
        bar = max(1e-4, 3 * float((theirs - getattr(precise, part)).abs().max()))
        assert bar < 0.01
        torch.testing.assert_close(getattr(found, part), theirs, atol=bar, rtol=0)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_parameter_lies_in_one_of_the_files_once(name):
    model = lively(CONFIGS[name])
    own = [
        each
        for graph in graphs_of(model)
        for each in graph.initializers
        if not each.startswith("constant.")
    ]
    assert sorted(own) == sorted(each for each, _ in model.named_parameters())


# ------------------------------------------------------------------ export


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Both, with their cards."""
    folder = tmp_path_factory.mktemp("machines")
    published(folder, exported=False)
    return folder / "trained"


@pytest.fixture(params=[ROW, FEEDFORWARD], ids=lambda row: row.name)
def row(request):
    return request.param


@pytest.fixture
def trained(row, shipped, tmp_path):
    """Free to be exported."""
    return load(row, shutil.copytree(shipped / row.name, tmp_path / row.name))


def test_an_export_says_what_it_is_and_answers_as_the_model_does(trained, row):
    manifest = export(trained, row.load())
    assert read_manifest(trained.folder) == manifest
    assert json.loads((trained.folder / MANIFEST).read_text()) == manifest
    assert set(manifest["files"]) == {"start.onnx", "step.onnx"}
    state = {"memory", "reads", "reading", "writing"}
    state |= {"h", "c"} if trained.model.config.controller == "lstm" else set()
    assert manifest["start"] == {name: f"first_{name}" for name in state}
    parity = manifest["parity"]
    assert parity["words"] >= WORDS
    assert {1, 81} & set(parity["lengths"]) == {81}
    assert parity["logits"] == parity["shipped_logits"] <= manifest["bars"]["logits"]
    assert parity["weights"] <= 1e-4
    assert parity["same_words"] >= 0.99
    assert manifest["controls"]["forced_shifts"] == {
        "type": "float32",
        "shape": ["batch", 2, 3],
        "neutral": 0.0,
    }
    assert {"start.onnx", "step.onnx", MANIFEST} < set(Card.read(trained.folder).files)
    assert not as_exported(trained).changed
    inputs = torch.rand(1, 9, X)
    with torch.inference_mode():
        wanted = trained.model(inputs)
    found = ExportedMachine.read(trained.folder)(inputs)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=0)
    others: list[Any] = [Exported, ExportedReader, ExportedPainter]
    for other in others:
        with pytest.raises(ExportError, match="are run in another way"):
            other.read(trained.folder)


def test_a_graph_that_differs_from_pytorch_is_refused(trained, row, monkeypatch):
    right = FAMILIES[NTM.__name__]
    assert isinstance(right, MachineFamily)

    def step(config, parameters):
        graph = right.step(config, parameters)
        bias = graph.initializers["command.bias"]
        graph.initializers["command.bias"] = bias + bias.dtype.type(0.05)
        return graph

    monkeypatch.setitem(FAMILIES, NTM.__name__, replace(right, step=step))
    before = sorted(path.name for path in trained.folder.iterdir())
    with pytest.raises(ExportError, match="is not exported: logits are"):
        export(trained, row.load())
    assert sorted(path.name for path in trained.folder.iterdir()) == before


def test_the_command_exports_it(trained, row, monkeypatch):
    monkeypatch.setitem(table.EXPERIMENTS, row.name, row)
    monkeypatch.setenv("HEED_TRAINED", str(trained.folder.parent))
    result = CliRunner().invoke(app, ["export", row.name])
    assert result.exit_code == 0, result.output
    assert "step.onnx" in result.stdout
    read_manifest(trained.folder)


def test_what_is_compared_is_run_with_and_without_hands(row):
    task = row.load()
    model, trial = lively(row.config()), trial_of(task)
    assert isinstance(trial, Runs)
    with torch.inference_mode():
        together, alone, said = trial.together(model), trial.alone(model), trial.says(model)
        tape = trial.tapes[0]
        wanted = model(tape.inputs).logits[:, tape.scored]
    assert isinstance(together, Bits)
    torch.testing.assert_close(together.logits, alone.logits, atol=1e-4, rtol=0)
    assert together.weights.shape == alone.weights.shape
    torch.testing.assert_close(together.logits[: wanted[..., 0].numel()], wanted.flatten(0, 1))
    assert said[0] == tuple(in_bits((wanted[0] > 0).float()))
    quarters = together.logits.unflatten(0, (len(trial.HANDS), -1))
    assert not any(torch.equal(quarters[0], other) for other in quarters[1:])
    assert len(trial.lengths) == len(said) >= 18


def test_tapes_of_two_sizes_are_compared_too():
    trial = Runs(Answering(RepeatTapes(bits=2, lengths=(1, 3), repeats=(1, 3), tests=((3, 3),))))
    assert len(trial.tapes) >= 9
    steps = sum(int(tape.scored.sum()) * len(tape.inputs) for tape in trial.tapes)
    assert steps * len(trial.HANDS) >= WORDS
