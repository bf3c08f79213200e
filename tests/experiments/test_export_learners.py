"""The graphs of SNAIL against PyTorch: whole episodes, and a policy pull by pull."""

import json
import shutil
from dataclasses import replace
from typing import Any

import pytest
import torch
from small_learners import BANDIT, GLYPHS, learner, player, published
from typer.testing import CliRunner

from heed.__main__ import app
from heed.data.bandits import BanditData
from heed.data.episodes import NONE
from heed.experiments import table
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    Exported,
    ExportedPainter,
    export,
    read_manifest,
)
from heed.experiments.exported import ExportedLearner, ExportedPlayer, opened
from heed.experiments.graphs import (
    FAMILIES,
    ExportError,
    LearningFamily,
    PlayingFamily,
    family_of,
    pack,
)
from heed.experiments.trained import load
from heed.experiments.trials import WORDS, asked, trial_of
from heed.models.prototypes import Prototypes, PrototypesConfig
from heed.models.snail import SNAIL, SNAILConfig, SNAILPolicy, SNAILPolicyConfig
from heed.training.policy import play


def small(**options: Any) -> SNAILConfig:
    sizes = {"channels": 3, "d_picture": 6, "attention": ((4, 3), (3, 2), (2, 4)), "filters": 3}
    return SNAILConfig(**(sizes | options))


LEARNERS = {
    "whole": small(),
    "three ways, one block less": small(ways=3, attention=((4, 3), (2, 2))),
    "without attention": small(attention=(None, None, None)),
    "without convolutions": small(temporal=False),
    "as printed": small(dilations="as_printed"),
    "over queries": small(over="queries"),
    "begins with convolutions": small(attention=(None, (3, 2), (2, 4))),
}


def policy(**options: Any) -> SNAILPolicyConfig:
    sizes = {"pulls": 20, "d_input": 6, "attention": (None, (3, 2), (2, 3)), "filters": 3}
    return SNAILPolicyConfig(**(sizes | options))


POLICIES = {
    "whole": policy(),
    "two arms": policy(arms=2),
    "attention first": policy(attention=((3, 2), (2, 3))),
    "without attention": policy(attention=(None, None)),
    "without convolutions": policy(temporal=False),
    "as printed": policy(dilations="as_printed"),
}


def graphs_of(model: Any) -> list[Any]:
    return family_of(model).graphs(model.config, pack(model, limit=LARGEST))


def exported(model: Any) -> Any:
    return opened(model, {each.name: each.serialise() for each in graphs_of(model)})


def episodes(ways: int, steps: int, batch: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    labels = torch.randint(ways, (batch, steps))
    labels[:, -1] = NONE
    return torch.rand(batch, steps, 28, 28), labels


# ------------------------------------------------------------------ against PyTorch


@pytest.mark.parametrize("steps", [2, 6, 11, 26])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_graph_answers_an_episode_as_pytorch_does(name, steps):
    model = learner(LEARNERS[name])
    pictures, labels = episodes(model.config.ways, steps)
    with torch.inference_mode():
        wanted = model(pictures, labels)
    graph = exported(model)
    assert isinstance(graph, ExportedLearner)
    found = graph(pictures, labels)
    torch.testing.assert_close(found.logits, wanted.logits[:, -1], atol=1e-5, rtol=0)
    assert list(found.looks) == list(wanted.weights)
    for block, weights in wanted.weights.items():
        torch.testing.assert_close(found.looks[block], weights[:, -1], atol=1e-5, rtol=0)


def test_a_graph_reads_the_label_of_each_picture_and_none_of_the_last():
    model = learner(LEARNERS["whole"])
    pictures, labels = episodes(5, 6)
    graph, other = exported(model), labels.clone()
    first = graph(pictures, labels).logits
    other[:, 0] = (labels[:, 0] + 1) % 5
    assert (graph(pictures, other).logits - first).abs().max() > 1e-3
    other = labels.clone()
    other[:, -1] = 4
    assert (graph(pictures, other).logits - first).abs().max() > 1e-3


@pytest.mark.parametrize("pulls", [1, 7, 20])
@pytest.mark.parametrize("name", POLICIES)
def test_a_graph_plays_pull_by_pull_as_pytorch_does(name, pulls):
    model = player(POLICIES[name])
    arms = model.config.arms
    actions, rewards = torch.randint(arms, (4, pulls)), torch.randint(2, (4, pulls))
    with torch.inference_mode():
        wanted = model(actions, rewards)
    graph = exported(model)
    assert isinstance(graph, ExportedPlayer)
    found = graph(actions, rewards)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.values, wanted.values, atol=1e-5, rtol=0)
    assert list(found.weights) == list(wanted.weights)
    for block, weights in wanted.weights.items():
        torch.testing.assert_close(found.weights[block], weights, atol=1e-5, rtol=0)


def test_a_graph_pulls_the_arms_that_pytorch_pulls():
    model = player(POLICIES["whole"])
    bandits = BanditData(pulls=20).held_out_bandits(1, 16)
    found = play(exported(model), bandits, likeliest=True)
    assert torch.equal(found.actions, play(model, bandits, likeliest=True).actions)


@pytest.mark.parametrize(
    ("build", "configs"), [(learner, LEARNERS), (player, POLICIES)], ids=["episodes", "bandits"]
)
def test_each_parameter_lies_in_the_file_once(build, configs):
    for config in configs.values():
        model = build(config)
        own = [
            name
            for graph in graphs_of(model)
            for name in graph.initializers
            if not name.startswith("constant.")
        ]
        kept = [n for n, _ in model.named_buffers() if "running" in n]
        assert sorted(own) == sorted([*(n for n, _ in model.named_parameters()), *kept])


def test_models_without_a_graph_say_so():
    with pytest.raises(ExportError, match="a Prototypes cannot be exported"):
        family_of(Prototypes(PrototypesConfig(channels=2, d_picture=3)))


# ------------------------------------------------------------------ export

ROWS = (GLYPHS, BANDIT)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learners")
    published(folder, ROWS, exported=False)
    return folder / "trained"


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
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
    (file,) = manifest["files"]
    assert file == ("episode.onnx" if row is GLYPHS else "step.onnx")
    assert manifest["controls"] == {}
    parity = manifest["parity"]
    assert parity["words"] >= WORDS
    assert parity["lengths"] == ([6, 11, 16, 21, 26] if row is GLYPHS else [1, 6, 12])
    assert parity["logits"] == parity["shipped_logits"] <= 1e-4
    assert parity["weights"] <= 1e-4
    assert parity["same_words"] == parity["same_sentences"] == 1
    assert {file, MANIFEST} < set(Card.read(trained.folder).files)
    if row is GLYPHS:
        assert manifest["start"] == {}
        some = row.data.held_out_episodes("valid", 4, 2)
        graph = ExportedLearner.read(trained.folder)
        found, wanted = asked(graph, some), asked(trained.model, some)
        torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=0)
        wrong: Any = ExportedPlayer
    else:
        assert manifest["start"]["seen"]["shape"] == [0, manifest["step"]["inputs"]["seen"][3]]
        some = row.data.held_out_bandits(1, 4)
        graph = ExportedPlayer.read(trained.folder)
        found, wanted = (play(each, some, likeliest=True) for each in (graph, trained.model))
        assert torch.equal(found.actions, wanted.actions)
        wrong = ExportedLearner
    for other in (Exported, ExportedPainter, wrong):
        with pytest.raises(ExportError, match="are run in another way"):
            other.read(trained.folder)


@pytest.mark.parametrize(
    ("row", "graph", "bias"),
    [(GLYPHS, "episode", "output.bias"), (BANDIT, "step", "output.pi.bias")],
    ids=["episodes", "bandits"],
    indirect=["row"],
)
def test_graphs_that_differ_from_pytorch_are_refused(trained, row, graph, bias, monkeypatch):
    name = type(trained.model).__name__
    right: Any = FAMILIES[name]
    assert isinstance(right, LearningFamily | PlayingFamily)
    build = getattr(right, graph)

    def other(config, parameters):
        made = build(config, parameters)
        values = made.initializers[bias].copy()
        values[0] += 0.1
        made.initializers[bias] = values
        return made

    monkeypatch.setitem(FAMILIES, name, replace(right, **{graph: other}))
    before = sorted(path.name for path in trained.folder.iterdir())
    with pytest.raises(ExportError, match="is not exported: logits are"):
        export(trained, row.load())
    assert sorted(path.name for path in trained.folder.iterdir()) == before


def test_the_command_exports_it(shipped, tmp_path, monkeypatch):
    shutil.copytree(shipped / BANDIT.name, tmp_path / BANDIT.name)
    monkeypatch.setitem(table.EXPERIMENTS, BANDIT.name, BANDIT)
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    result = CliRunner().invoke(app, ["export", BANDIT.name])
    assert result.exit_code == 0, result.output
    assert "step.onnx" in result.stdout


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_compared_is_the_same_together_and_alone(row):
    trial = trial_of(row.load())
    torch.manual_seed(0)
    model = row.build(row.config())
    with torch.inference_mode():
        together, alone, said = trial.together(model), trial.alone(model), trial.says(model)
    torch.testing.assert_close(together.logits, alone.logits, atol=1e-4, rtol=0)
    torch.testing.assert_close(together.weights, alone.weights, atol=1e-5, rtol=0)
    assert len(said) == len(trial.lengths)
    assert len(set(trial.lengths)) >= 3


@pytest.mark.parametrize(("name", "kind"), [("snail_glyphs", SNAIL), ("snail_bandit", SNAILPolicy)])
def test_a_page_gets_less_than_four_megabytes(name, kind):
    row = table.find(name)
    model = row.build(row.config())
    assert isinstance(model, kind)
    (graph,) = graphs_of(model)
    assert len(graph.serialise()) < LARGEST
