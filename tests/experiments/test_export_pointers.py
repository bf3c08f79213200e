"""The graphs of networks that point against PyTorch, and what an export of one says."""

import json
import shutil
from dataclasses import replace
from typing import Any

import pytest
import torch
from small_pointers import HULLS, ROWS, TOURS, lively, published
from typer.testing import CliRunner

from heed.__main__ import app
from heed.evaluation.pointing import point
from heed.experiments import table
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    Exported,
    ExportedPainter,
    ExportedPointer,
    ExportedReader,
    Parity,
    as_exported,
    export,
    read_manifest,
)
from heed.experiments.exported import opened
from heed.experiments.graphs import FAMILIES, ExportError, PointingFamily, family_of, pack
from heed.experiments.trained import load
from heed.experiments.trials import WORDS, trial_of
from heed.models.pointer import PointerConfig, PointerNetwork

CONFIGS = {
    "numbers": PointerConfig(d_input=1, d_hidden=5),
    "points": PointerConfig(d_input=2, d_hidden=7, rule="each_once"),
    "in space": PointerConfig(d_input=3, d_hidden=4, rule="polygon"),
}
RULES = ("free", "each_once", "polygon")


def graphs_of(model) -> list[Any]:
    return family_of(model).graphs(model.config, pack(model, limit=LARGEST))


def exported(model) -> ExportedPointer:
    found = opened(model, {each.name: each.serialise() for each in graphs_of(model)})
    assert isinstance(found, ExportedPointer)
    return found


# ------------------------------------------------------------------ against PyTorch


@pytest.mark.parametrize("n", [1, 3, 10, 20])
@pytest.mark.parametrize("name", CONFIGS)
def test_graphs_score_as_pytorch_does(name, n):
    model, points = lively(CONFIGS[name]), torch.rand(4, n, CONFIGS[name].d_input)
    answers = torch.stack([torch.randperm(n + 1) for _ in range(4)])
    with torch.inference_mode():
        wanted = model(points, answers, rule="free")
    found = exported(model)(points, answers, rule="free")
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.weights, wanted.weights, atol=1e-4, rtol=0)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_graphs_point_where_pytorch_points(rule, width):
    model, points = lively(CONFIGS["points"]), torch.rand(12, 8, 2)
    wanted = point(model, points, rule=rule, width=width)
    found = point(exported(model), points, rule=rule, width=width)
    assert torch.equal(found.answers, wanted.answers)
    assert torch.equal(found.finished, wanted.finished)
    torch.testing.assert_close(found.log_prob, wanted.log_prob, atol=1e-3, rtol=0)


def test_what_was_encoded_is_what_pytorch_encodes():
    model, points = lively(CONFIGS["points"]), torch.rand(3, 6, 2)
    graphs = exported(model)
    with torch.inference_mode():
        encoded, found = model.encode(points), graphs.encode(points)
        start, begun = model.start(encoded), graphs.start(found)
    for name in ("inputs", "keys", "prepared", "real", "h", "c"):
        torch.testing.assert_close(getattr(found, name), getattr(encoded, name), atol=1e-5, rtol=0)
    for name in ("h", "c", "x", "chosen"):
        torch.testing.assert_close(getattr(begun, name), getattr(start, name), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_parameter_lies_in_one_file_once(name):
    model = lively(CONFIGS[name])
    own = [
        each
        for graph in graphs_of(model)
        for each in graph.initializers
        if not each.startswith("constant.")
    ]
    assert sorted(own) == sorted(name for name, _ in model.named_parameters())


# ------------------------------------------------------------------ export


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """One for each problem, with their cards."""
    folder = tmp_path_factory.mktemp("pointers")
    published(folder, exported=False)
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
    assert set(manifest["files"]) == {"encoder.onnx", "decoder.onnx"}
    assert manifest["start"] == {"h": "h", "c": "c", "x": "first_x"}
    assert manifest["controls"] == {}
    parity = manifest["parity"]
    assert parity["words"] >= WORDS
    assert parity["lengths"] == sorted({row.data.least, 4, 6})
    assert parity["logits"] == parity["shipped_logits"] <= 1e-4
    assert parity["weights"] <= 1e-4
    assert parity["same_words"] == parity["same_sentences"] == 1
    assert {"encoder.onnx", "decoder.onnx", MANIFEST} < set(Card.read(trained.folder).files)
    assert not as_exported(trained).changed
    points = torch.rand(5, 7, trained.model.config.d_input)
    wanted = point(trained.model, points, rule="each_once")
    found = point(ExportedPointer.read(trained.folder), points, rule="each_once")
    assert torch.equal(found.answers, wanted.answers)
    others: list[Any] = [Exported, ExportedReader, ExportedPainter]
    for other in others:
        with pytest.raises(ExportError, match="are run in another way"):
            other.read(trained.folder)


def test_rounded_numbers_are_those_that_the_graphs_compute_with(shipped, tmp_path, monkeypatch):
    trained = load(TOURS, shutil.copytree(shipped / TOURS.name, tmp_path / TOURS.name))
    monkeypatch.setattr(Parity, "bars", lambda *_, **__: {})
    manifest = export(trained, TOURS.load(), short=True)
    assert "short" in manifest["storage"]
    again = replace(trained, card=Card.read(trained.folder))
    points, answers = torch.rand(4, 6, 2), torch.stack([torch.randperm(7) for _ in range(4)])
    with torch.inference_mode():
        wanted = as_exported(again).model(points, answers, rule="free").logits
        exact = trained.model(points, answers, rule="free").logits
    found = ExportedPointer.read(trained.folder)(points, answers).logits
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)
    assert (found - exact).abs().max() > 1e-3


def test_graphs_that_differ_from_pytorch_are_refused(shipped, tmp_path, monkeypatch):
    trained = load(HULLS, shutil.copytree(shipped / HULLS.name, tmp_path / HULLS.name))
    right = FAMILIES[PointerNetwork.__name__]
    assert isinstance(right, PointingFamily)

    def decoder(config, parameters):
        graph = right.decoder(config, parameters)
        bias = graph.initializers["decoder.bias_ih_l0"]
        graph.initializers["decoder.bias_ih_l0"] = bias + bias.dtype.type(0.1)
        return graph

    monkeypatch.setitem(FAMILIES, PointerNetwork.__name__, replace(right, decoder=decoder))
    before = sorted(path.name for path in trained.folder.iterdir())
    with pytest.raises(ExportError, match="is not exported: logits are"):
        export(trained, HULLS.load())
    assert sorted(path.name for path in trained.folder.iterdir()) == before


def test_the_command_exports_it(shipped, tmp_path, monkeypatch):
    shutil.copytree(shipped / TOURS.name, tmp_path / TOURS.name)
    monkeypatch.setitem(table.EXPERIMENTS, TOURS.name, TOURS)
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    result = CliRunner().invoke(app, ["export", TOURS.name])
    assert result.exit_code == 0, result.output
    assert "decoder.onnx" in result.stdout
    read_manifest(tmp_path / TOURS.name)


def test_what_is_compared_is_scored_freely_and_weighed_by_the_rule():
    trial, model = trial_of(HULLS.load()), lively(CONFIGS["points"])
    with torch.inference_mode():
        together, alone, said = trial.together(model), trial.alone(model), trial.says(model)
    torch.testing.assert_close(together.logits, alone.logits, atol=1e-4, rtol=0)
    torch.testing.assert_close(together.weights, alone.weights, atol=1e-5, rtol=0)
    assert together.logits.isfinite().all()
    assert together.weights is not None
    assert (together.weights == 0).any()  # what the rule forbids
    assert len(said) == len(trial.lengths)
    assert all(each[-1] == "0" and len(set(each)) == len(each) for each in said)


@pytest.mark.parametrize("name", ["pointer_sort", "pointer_hull", "pointer_tsp", "pointer_tsp20"])
def test_a_page_gets_at_most_a_megabyte(name):
    row = table.find(name)
    assert row.page_bytes == 1_000_000
    stored = pack(row.build(row.sized({})).half().float(), limit=row.page_bytes - 40_000)
    assert {each.kind for each in stored.values()} == {"float16"}  # so nothing is lost
