"""The graphs of models that describe pictures against PyTorch, and what an export of one says."""

import json
import shutil
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from small_picture_models import HARD, ROW, SCENES, lively, published
from typer.testing import CliRunner

from heed.__main__ import app
from heed.attention import Attention
from heed.data.captions import pieces
from heed.experiments import table
from heed.experiments.captioning import Describing
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    Exported,
    ExportedReader,
    ExportedTeller,
    Parity,
    as_exported,
    export,
    read_manifest,
)
from heed.experiments.exported import opened
from heed.experiments.graphs import FAMILIES, ExportError, TellingFamily, family_of, pack
from heed.experiments.trained import load
from heed.experiments.trials import WORDS, Pictures, trial_of
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from heed.scores import Score

VOCAB, STEPS, SIDE = 13, 7, 16


def config(**options):
    sizes = {"vocab": VOCAB, "channels": (4, 5, 6), "side": SIDE}
    sizes |= {"d_embedding": 7, "d_state": 9, "d_align": 8, "dropout": 0.5}
    return ShowAttendTellConfig(**(sizes | options))


CONFIGS = {
    "soft": config(),
    "hard": config(attention="hard"),
    "hard, at rest soft": config(attention="hard", at_rest="expected"),
    "no places": config(places=False),
    "no gate": config(gate=False),
    "a first word of its own": config(first_word="learned"),
    "the paper's readout": config(readout="paper"),
}


def exported(model) -> Any:
    graphs = family_of(model).graphs(model.config, pack(model, limit=LARGEST))
    found = opened(model, {each.name: each.serialise() for each in graphs})
    assert isinstance(found, ExportedTeller)
    return found


@pytest.fixture
def pictures():
    return torch.rand(3, 3, SIDE, SIDE)


@pytest.fixture
def words():
    return torch.cat([torch.ones(3, 1, dtype=torch.long), torch.randint(0, VOCAB, (3, STEPS))], 1)


# ------------------------------------------------------------------ against PyTorch


@pytest.mark.parametrize("name", CONFIGS)
def test_a_graph_tells_as_pytorch_does(name, pictures, words):
    model = lively(CONFIGS[name])
    with torch.inference_mode():
        wanted = model(pictures, words)
    found = exported(model)(pictures, words)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found.weights["cross"], wanted.weights["cross"], atol=1e-5, rtol=0)
    torch.testing.assert_close(found.gates, wanted.gates, atol=1e-5, rtol=0)
    assert torch.equal(found.glimpses, wanted.glimpses)
    assert (wanted.glimpses >= 0).all() == (name == "hard")


@pytest.mark.parametrize("name", CONFIGS)
def test_a_state_begins_as_the_models_does_and_all_of_it_goes_on(name, pictures):
    model = lively(CONFIGS[name])
    graph, token = exported(model), torch.tensor([3, 4, 1])
    seen = graph.encode(pictures)
    with torch.inference_mode():
        encoded = model.encode(pictures)
    for field in fields(encoded):
        here, there = getattr(seen, field.name), getattr(encoded, field.name)
        torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)
    ours, theirs = graph.start(seen), model.start(encoded)
    for _ in range(3):
        for field in fields(theirs):
            here, there = getattr(ours, field.name), getattr(theirs, field.name)
            torch.testing.assert_close(here, there, atol=1e-5, rtol=1e-5)
        ours, _ = graph.step(ours, token, seen)
        with torch.inference_mode():
            theirs, _ = model.step(theirs, token, encoded)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_parameter_lies_in_one_of_the_files_once(name):
    model = lively(CONFIGS[name])
    graphs = family_of(model).graphs(model.config, pack(model, limit=LARGEST))
    own = [
        each for graph in graphs for each in graph.initializers if not each.startswith("constant.")
    ]
    buffers = [name for name, _ in model.named_buffers() if "running" in name]
    assert sorted(own) == sorted([*(each for each, _ in model.named_parameters()), *buffers])


# ------------------------------------------------------------------ what a lab may try


class Closed(Score):
    """Some places cannot be looked at."""

    def __init__(self, score, keep):
        super().__init__()
        self.score, self.keep = score, keep

    def prepare(self, keys):
        return self.score.prepare(keys)

    def compare(self, query, prepared):
        scores = self.score.compare(query, prepared)
        return scores.masked_fill(~self.keep[:, None], float("-inf"))


@pytest.mark.parametrize("name", ["soft", "hard"])
def test_places_that_are_closed_have_no_weight(name, pictures):
    model, token = lively(CONFIGS[name]), torch.tensor([1, 4, 5])
    graph = exported(model)
    keep = torch.tensor([[True, False, True, True], [False, True, False, False], [True] * 4])
    seen = graph.encode(pictures)
    state, out = graph.step(graph.start(seen), token, seen, keep=keep)
    model.attention = Attention(Closed(model.attention.score, keep))
    with torch.inference_mode():
        encoded = model.encode(pictures)
        after, wanted = model.step(model.start(encoded), token, encoded)
    assert out.weights[~keep].eq(0).all()
    torch.testing.assert_close(out.weights, wanted.weights, atol=1e-5, rtol=0)
    torch.testing.assert_close(out.logits, wanted.logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(state.h, after.h, atol=1e-5, rtol=1e-5)
    assert torch.equal(out.glimpse, wanted.glimpse)


@pytest.mark.parametrize("name", ["soft", "hard"])
def test_a_place_that_is_said_is_looked_at_and_the_weights_stay(name, pictures):
    model, token = lively(CONFIGS[name]), torch.tensor([1, 4, 5])
    graph = exported(model)
    seen = graph.encode(pictures)
    _, rest = graph.step(graph.start(seen), token, seen)
    place = torch.tensor([3, 0, -1])
    _, out = graph.step(graph.start(seen), token, seen, place=place)
    with torch.inference_mode():
        encoded = model.encode(pictures)
        _, wanted = model.step(model.start(encoded), token, encoded, look=lambda alpha: place)
    assert torch.equal(out.glimpse, place)
    assert torch.equal(wanted.glimpse, place)
    assert torch.equal(out.weights, rest.weights)
    torch.testing.assert_close(out.logits, wanted.logits, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(out.logits[:2], rest.logits[:2], atol=1e-3)


def test_a_model_that_draws_when_it_rests_is_refused():
    model = lively(config(attention="hard", at_rest="sampled"))
    with pytest.raises(ExportError, match="at_rest='sampled' draws its places"):
        exported(model)


# ------------------------------------------------------------------ export


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Both, with their cards."""
    folder = tmp_path_factory.mktemp("tellers")
    published(folder, (ROW, HARD), exported=False)
    return folder / "trained"


@pytest.fixture(scope="module")
def task() -> Describing:
    return Describing(SCENES)


@pytest.fixture(params=[ROW, HARD], ids=lambda row: row.name)
def row(request):
    return request.param


@pytest.fixture
def trained(row, shipped, tmp_path):
    """Free to be exported."""
    return load(row, shutil.copytree(shipped / row.name, tmp_path / row.name))


def test_an_export_says_what_it_is_and_answers_as_the_model_does(trained, task):
    manifest = export(trained, task)
    assert read_manifest(trained.folder) == manifest
    assert json.loads((trained.folder / MANIFEST).read_text()) == manifest
    assert set(manifest["files"]) == {"encoder.onnx", "decoder.onnx", "captions.json"}
    parity = manifest["parity"]
    assert parity["words"] >= WORDS
    assert {4 + 2, 3 * 8} & set(parity["lengths"])
    assert parity["logits"] == parity["shipped_logits"] <= 1e-4
    assert parity["same_words"] == parity["same_sentences"] == 1.0
    assert {"encoder.onnx", "decoder.onnx", MANIFEST} < set(Card.read(trained.folder).files)
    assert not as_exported(trained).changed
    pictures, words = torch.rand(2, 3, 64, 64), torch.tensor([[1, 9, 4], [1, 5, 6]])
    with torch.inference_mode():
        wanted = trained.model(pictures, words)
    graphs: Any = ExportedTeller.read(trained.folder)
    found = graphs(pictures, words)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=0)
    others: list[Any] = [Exported, ExportedReader]
    for other in others:
        with pytest.raises(ExportError, match="are run in another way"):
            other.read(trained.folder)


def test_the_manifest_alone_says_how_to_run_the_graphs(trained, task):
    manifest = export(trained, task)
    encoder, decoder = manifest["encoder"], manifest["decoder"]
    assert encoder["inputs"] == {"pixels": ["float", "batch", 3, 64, 64]}
    assert set(manifest["start"].values()) <= set(encoder["outputs"])
    for name in manifest["start"]:
        assert decoder["inputs"][name] == decoder["outputs"][f"next_{name}"]
    known = {"token", *manifest["start"], *manifest["controls"], *encoder["outputs"]}
    assert set(decoder["inputs"]) <= known
    hard = trained.model.config.attention == "hard"
    assert manifest["controls"] == {
        "keep": {"type": "bool", "shape": ["batch", 64], "neutral": True},
        "place": {"type": "int64", "shape": ["batch"], "neutral": -2 if hard else -1},
    }


def test_rounded_numbers_are_those_that_the_graphs_compute_with(trained, task, monkeypatch):
    monkeypatch.setattr(Parity, "bars", lambda *_, **__: {})
    size = sum(tensor.numel() for tensor in trained.model.parameters())
    manifest = export(trained, task, limit=40_000 + int(1.9 * size))
    assert "int8" in manifest["storage"]
    pictures, words = torch.rand(1, 3, 64, 64), torch.tensor([[1, 9, 4]])
    graphs: Any = ExportedTeller.read(trained.folder)
    found = graphs(pictures, words)
    with torch.inference_mode():
        wanted = as_exported(load_again(trained)).model(pictures, words)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=0)


def load_again(trained):
    return replace(trained, card=Card.read(trained.folder))


def test_a_graph_that_differs_from_pytorch_is_refused(trained, task, monkeypatch):
    right = FAMILIES[ShowAttendTell.__name__]
    assert isinstance(right, TellingFamily)

    def decoder(config, parameters):
        graph = right.decoder(config, parameters)
        bias = graph.initializers["L_o.bias"]
        graph.initializers["L_o.bias"] = bias + bias.dtype.type(1)
        return graph

    monkeypatch.setitem(FAMILIES, ShowAttendTell.__name__, replace(right, decoder=decoder))
    before = sorted(path.name for path in trained.folder.iterdir())
    with pytest.raises(ExportError, match="is not exported: logits are"):
        export(trained, task)
    assert sorted(path.name for path in trained.folder.iterdir()) == before


def test_captions_of_another_language_are_refused(trained):
    other = Describing(replace(SCENES, language="fr"))
    with pytest.raises(ExportError, match=r"the data give another captions\.json than that of"):
        export(trained, other)


def test_the_command_exports_it(trained, row, monkeypatch):
    monkeypatch.setitem(table.EXPERIMENTS, row.name, row)
    monkeypatch.setenv("HEED_TRAINED", str(trained.folder.parent))
    result = CliRunner().invoke(app, ["export", row.name])
    assert result.exit_code == 0, result.output
    assert "decoder.onnx" in result.stdout
    read_manifest(trained.folder)


def test_pictures_to_compare_on_are_of_both_tests_and_padding_is_left_out(task):
    trial = trial_of(task)
    assert isinstance(trial, Pictures)
    assert sum(trial.lengths) + len(trial.lengths) >= WORDS
    for k, test in enumerate(("silhouettes", "combinations")):
        drawn = task.data.held_out_scenes(test)
        torch.testing.assert_close(trial.pictures[24 * k] * 255, drawn.pictures[0].float())
        said = drawn.captions.words[0, : int(drawn.captions.lengths[0])]
        assert torch.equal(trial.rows[24 * k], said)
    model = lively(ROW.config(vocab=len(pieces("en").vocabulary)))
    with torch.inference_mode():
        together, alone, said = trial.together(model), trial.alone(model), trial.says(model)
    assert len(together.logits) == sum(trial.lengths) + len(trial.lengths)
    torch.testing.assert_close(together.logits, alone.logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(together.weights, alone.weights, atol=1e-6, rtol=1e-5)
    assert len(said) == len(trial.lengths)
