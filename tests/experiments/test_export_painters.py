"""The graph of models that make pictures against PyTorch, and what an export of one says."""

import json
import shutil
from dataclasses import replace
from typing import Any

import pytest
import torch
from small_painters import DCGAN, ROW, lively, published, task
from typer.testing import CliRunner

from heed.__main__ import app
from heed.data.twins import SIDE
from heed.evaluation.twins import to_bytes
from heed.experiments import table, trials
from heed.experiments import twins as painting
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    Exported,
    ExportedPainter,
    ExportedReader,
    ExportedTeller,
    Parity,
    as_exported,
    export,
    read_manifest,
)
from heed.experiments.exported import opened
from heed.experiments.graphs import FAMILIES, ExportError, PaintingFamily, family_of, pack
from heed.experiments.trained import load
from heed.experiments.trials import WORDS, Colours, trial_of
from heed.models.sagan import SAGAN, SAGANConfig

D_Z = 5


def config(**options):
    sizes = {"d_z": D_Z, "generator": (24, 16, 8), "discriminator": (8, 8, 8), "form": "first"}
    return SAGANConfig(**(sizes | options))


CONFIGS = {
    "first": config(),
    "later": config(form="later"),
    "released": config(form="released"),
    "released, on 8 × 8": config(form="released", generator_attention=8),
    "first, on 4 × 4": config(generator_attention=4),
    "none": config(generator_attention=0),
}


def graphs_of(model) -> list[Any]:
    family = family_of(model)
    return family.graphs(model.config, pack(model, limit=LARGEST, part=family.part))


def exported(model) -> ExportedPainter:
    found = opened(model, {each.name: each.serialise() for each in graphs_of(model)})
    assert isinstance(found, ExportedPainter)
    return found


# ------------------------------------------------------------------ against PyTorch


@pytest.mark.parametrize("dial", [1.0, 0.0, 0.5, 1.5])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_graph_paints_as_pytorch_does(name, dial):
    model, z = lively(CONFIGS[name]), torch.randn(3, D_Z)
    with torch.inference_mode():
        wanted = model(z, weights=True, dial=dial)
    found = exported(model)(z, weights=True, dial=dial)
    torch.testing.assert_close(found.pictures, wanted.pictures, atol=1e-5, rtol=0)
    if wanted.weights is None:
        assert found.weights is None
    else:
        torch.testing.assert_close(found.weights, wanted.weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "none"])
def test_the_dial_turns_what_was_seen_up_and_leaves_the_looks(name):
    graph, z = exported(lively(CONFIGS[name])), torch.randn(2, D_Z)
    drawn = {dial: graph(z, weights=True, dial=dial) for dial in (0.0, 1.0, 1.5)}
    assert (drawn[0.0].pictures - drawn[1.0].pictures).abs().max() > 0.01
    assert (drawn[1.5].pictures - drawn[1.0].pictures).abs().max() > 0.01
    torch.testing.assert_close(drawn[0.0].weights, drawn[1.5].weights, atol=0, rtol=0)
    assert graph(z).weights is None


def test_without_attention_there_is_no_dial():
    model, z = lively(CONFIGS["none"]), torch.randn(2, D_Z)
    graph = exported(model)
    assert graph.neutral == {}
    assert torch.equal(graph(z, dial=0.0).pictures, graph(z).pictures)


@pytest.mark.parametrize("name", CONFIGS)
def test_only_the_mean_generator_lies_in_the_file_each_parameter_once(name):
    model = lively(CONFIGS[name])
    (graph,) = graphs_of(model)
    own = [each for each in graph.initializers if not each.startswith("constant.")]
    buffers = [each for each, _ in model.mean.named_buffers() if "running" in each]
    parameters = [each for each, _ in model.mean.named_parameters()]
    assert sorted(own) == sorted(f"mean.{each}" for each in [*parameters, *buffers])


# ------------------------------------------------------------------ export


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Both, with their cards."""
    folder = tmp_path_factory.mktemp("painters")
    published(folder, (ROW, DCGAN), exported=False)
    return folder / "trained"


@pytest.fixture(params=[ROW, DCGAN], ids=lambda row: row.name)
def row(request):
    return request.param


@pytest.fixture
def trained(row, shipped, tmp_path):
    """Free to be exported."""
    return load(row, shutil.copytree(shipped / row.name, tmp_path / row.name))


def test_an_export_says_what_it_is_and_answers_as_the_model_does(trained):
    manifest = export(trained, task())
    assert read_manifest(trained.folder) == manifest
    assert json.loads((trained.folder / MANIFEST).read_text()) == manifest
    assert set(manifest["files"]) == {"painter.onnx"}
    assert manifest["start"] == {}
    parity = manifest["parity"]
    assert parity["words"] == len(trials.Drawings.DIALS) * 24 * SIDE * SIDE >= WORDS
    assert parity["lengths"] == [SIDE * SIDE]
    assert parity["logits"] == parity["shipped_logits"] <= 1e-4
    assert parity["weights"] <= 1e-4
    assert parity["same_words"] >= 0.99
    assert {"painter.onnx", MANIFEST} < set(Card.read(trained.folder).files)
    assert not as_exported(trained).changed
    attends = trained.model.config.generator_attention > 0
    assert set(manifest["painter"]["outputs"]) == {"pictures", *["weights"] * attends}
    assert manifest["controls"] == (
        {"dial": {"type": "float32", "shape": [], "neutral": 1.0}} if attends else {}
    )
    z = trained.z(3)
    with torch.inference_mode():
        wanted = trained.model(z)
    found = ExportedPainter.read(trained.folder)(z)
    torch.testing.assert_close(found.pictures, wanted.pictures, atol=1e-5, rtol=0)
    others: list[Any] = [Exported, ExportedReader, ExportedTeller]
    for other in others:
        with pytest.raises(ExportError, match="are run in another way"):
            other.read(trained.folder)


def test_rounded_numbers_are_those_that_the_graph_computes_with(trained, monkeypatch):
    monkeypatch.setattr(Parity, "bars", lambda *_, **__: {})
    manifest = export(trained, task(), short=True)
    assert "short" in manifest["storage"]
    again = replace(trained, card=Card.read(trained.folder))
    z = trained.z(2)
    with torch.inference_mode():
        wanted, exact = as_exported(again).model(z).pictures, trained.model(z).pictures
    found = ExportedPainter.read(trained.folder)(z).pictures
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    assert (found - exact).abs().max() > 1e-4


def test_a_graph_that_differs_from_pytorch_is_refused(trained, monkeypatch):
    right = FAMILIES[SAGAN.__name__]
    assert isinstance(right, PaintingFamily)

    def painter(config, parameters):
        graph = right.painter(config, parameters)
        bias = graph.initializers["mean.up.2.bias"]
        graph.initializers["mean.up.2.bias"] = bias + bias.dtype.type(0.01)
        return graph

    monkeypatch.setitem(FAMILIES, SAGAN.__name__, replace(right, painter=painter))
    before = sorted(path.name for path in trained.folder.iterdir())
    with pytest.raises(ExportError, match="is not exported: logits are"):
        export(trained, task())
    assert sorted(path.name for path in trained.folder.iterdir()) == before


def test_the_command_exports_it(trained, row, monkeypatch):
    monkeypatch.setitem(table.EXPERIMENTS, row.name, row)
    monkeypatch.setenv("HEED_TRAINED", str(trained.folder.parent))
    monkeypatch.setattr(painting.Paints, "load", lambda *_: task())  # no judge is shipped here
    result = CliRunner().invoke(app, ["export", row.name])
    assert result.exit_code == 0, result.output
    assert "painter.onnx" in result.stdout
    read_manifest(trained.folder)


def test_what_is_compared_is_drawn_with_each_dial_and_chosen_are_bytes():
    model, trial = lively(CONFIGS["first"]), trial_of(task())
    with torch.inference_mode():
        together, alone, said = trial.together(model), trial.alone(model), trial.says(model)
        z = painting.normal(24, D_Z, seed=3)
        pictures = torch.cat([model(z, dial=dial).pictures for dial in (1.0, 0.0, 1.5)])
    assert isinstance(together, Colours)
    torch.testing.assert_close(together.logits, alone.logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(together.weights, alone.weights, atol=1e-6, rtol=0)
    pixels = to_bytes(pictures).permute(0, 2, 3, 1).flatten(0, 2)
    assert torch.equal(together.chosen, pixels)
    assert len(said) == 24
    assert "shapes" in said[0][0]
