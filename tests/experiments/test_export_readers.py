"""The graphs of language models against PyTorch, and what an export of one says."""

import json
import shutil
from dataclasses import fields, replace
from itertools import product

import pytest
import torch
from small_readers import RIVAL, ROW, few, lively, published
from typer.testing import CliRunner

from heed.__main__ import app
from heed.data.vocabulary import Vocabulary
from heed.experiments import table
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    Exported,
    ExportedReader,
    as_exported,
    export,
    read_manifest,
)
from heed.experiments.exported import opened
from heed.experiments.graphs import FAMILIES, ExportError, ReadingFamily, family_of, pack
from heed.experiments.language import Reading, Reads
from heed.experiments.recall import Recalling
from heed.experiments.trained import load
from heed.experiments.trials import LONGEST, WORDS, held_out_sentences, trial_of
from heed.layers.lstm import memorise
from heed.models.lstmn import (
    LSTMLanguageConfig,
    LSTMLanguageModel,
    LSTMNLanguageConfig,
    LSTMNLanguageModel,
)

VOCAB, STEPS = 17, 12


def lstmn(**options):
    sizes = {"vocab": VOCAB, "d_embedding": 6, "d_state": 5, "d_align": 7}
    return LSTMNLanguageModel, LSTMNLanguageConfig(**(sizes | options))


def lstm(**options):
    sizes = {"vocab": VOCAB, "d_embedding": 6, "d_state": 5}
    return LSTMLanguageModel, LSTMLanguageConfig(**(sizes | options))


MODELS = {
    **{
        f"lstmn, tied {tied}, null {null}, last look {last}": lstmn(
            tie_output=tied, keep_null=null, previous_summary=last, dropout=0.5
        )
        for tied, null, last in product((True, False), repeat=3)
    },
    "lstmn, as wide as its words": lstmn(d_state=6),
    "lstm, tied": lstm(dropout=0.5),
    "lstm, not tied": lstm(tie_output=False),
    "lstm, as wide as its words": lstm(d_state=6),
}


def exported(model) -> ExportedReader:
    graphs = family_of(model).graphs(model.config, pack(model, limit=LARGEST))
    found = opened(model, {each.name: each.serialise() for each in graphs})
    assert isinstance(found, ExportedReader)
    return found


@pytest.fixture
def model():
    return lively(*lstmn())


@pytest.fixture
def tokens():
    return torch.randint(0, VOCAB, (3, STEPS))


# ------------------------------------------------------------------ against PyTorch


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_reads_as_pytorch_does(name, tokens):
    model = lively(*MODELS[name])
    with torch.inference_mode():
        wanted = model(tokens)
    found = exported(model)(tokens)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-5, rtol=1e-5)
    assert (found.weights is None) == (wanted.weights is None) == name.startswith("lstm,")
    if wanted.weights is not None:
        torch.testing.assert_close(found.weights, wanted.weights, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_state_begins_as_the_models_does_and_all_of_it_goes_on(name):
    model = lively(*MODELS[name])
    graph, token = exported(model), torch.tensor([3, 4])
    ours, theirs = graph.start(2), model.start(2)
    for _ in range(3):
        for field in fields(theirs):
            found, wanted = getattr(ours, field.name), getattr(theirs, field.name)
            assert found.dtype == wanted.dtype
            torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-5)
        ours, _ = graph.step(ours, token)
        with torch.inference_mode():
            theirs, _ = model.step(theirs, token)


@pytest.mark.parametrize("name", MODELS)
def test_each_parameter_lies_there_once_under_its_own_name(name):
    model = lively(*MODELS[name])
    (graph,) = family_of(model).graphs(model.config, pack(model, limit=LARGEST))
    own = [each for each in graph.initializers if not each.startswith("constant.")]
    assert sorted(own) == sorted(each for each, _ in model.named_parameters())


# ------------------------------------------------------------------ what a lab may try


@pytest.mark.parametrize("temperature", [0.25, 3.0])
def test_temperature_divides_the_scores(model, tokens, temperature):
    graph = exported(model)
    with torch.no_grad():
        model.lstmn.score.v.weight /= temperature
        wanted = model(tokens)
    found = graph(tokens, temperature=temperature)
    torch.testing.assert_close(found.weights, wanted.weights, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("keep_null", [True, False])
def test_the_null_slot_can_be_taken_away_and_given_back(tokens, keep_null):
    model = lively(*lstmn(keep_null=keep_null))
    graph = exported(model)
    assert graph.neutral["null"] is keep_null
    model.lstmn.keep_null = not keep_null
    with torch.inference_mode():
        wanted = model(tokens)
    found = graph(tokens, null=not keep_null)
    torch.testing.assert_close(found.weights, wanted.weights, atol=1e-6, rtol=1e-5)
    assert found.weights[:, 0, 0].eq(1).all()
    assert found.weights[:, 1:, 0].eq(0).all() == keep_null


def test_a_look_that_is_forced_onto_the_last_slot_makes_an_lstm(model, tokens):
    graph, layer = exported(model), model.lstmn
    state = graph.start(3)
    h, c = torch.zeros(2, 3, 5)
    for t, token in enumerate(tokens.unbind(1)):
        last = torch.eye(t + 1)[t].expand(3, -1)
        state, out = graph.step(state, token, force=torch.ones(3, dtype=torch.bool), forced=last)
        with torch.inference_mode():
            h, c = memorise(layer.gates_x(model.words.read(token)) + layer.gates_h(h), c)
            wanted = model.words.write(h)
        torch.testing.assert_close(out.logits, wanted, atol=1e-5, rtol=1e-5)
        assert torch.equal(out.weights, last)


def test_only_the_texts_that_are_forced_are_forced(model, tokens):
    graph = exported(model)
    state, _ = graph.step(graph.start(3), tokens[:, 0])
    rows = torch.tensor([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    force = torch.tensor([True, False, True])
    _, own = graph.step(state, tokens[:, 1])
    _, out = graph.step(state, tokens[:, 1], force=force, forced=rows)
    assert torch.equal(out.weights[force], rows[force])
    assert torch.equal(out.weights[1], own.weights[1])
    assert not torch.allclose(out.logits[0], own.logits[0], atol=1e-3)


# ------------------------------------------------------------------ export


@pytest.fixture(scope="module")
def task() -> Reading:
    return few()


@pytest.fixture(scope="module")
def shipped(task, tmp_path_factory):
    """Both, with their cards."""
    folder = tmp_path_factory.mktemp("readers")
    published(folder, task, exported=False)
    return folder / "trained"


@pytest.fixture(params=[ROW, RIVAL], ids=lambda row: row.name)
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
    assert set(manifest["files"]) == {"step.onnx", "words.json"}
    parity = manifest["parity"]
    assert parity["words"] >= WORDS
    assert {1, LONGEST} < set(parity["lengths"])
    assert parity["logits"] == parity["shipped_logits"] <= 1e-4
    assert parity["same_words"] == parity["same_sentences"] == 1.0
    assert {"step.onnx", MANIFEST} < set(Card.read(trained.folder).files)
    assert not as_exported(trained).changed
    tokens = torch.tensor([[1, 9, 4, 3, 7, 8]])
    with torch.inference_mode():
        wanted = trained.model(tokens)
    found = ExportedReader.read(trained.folder)(tokens)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-4, rtol=0)
    with pytest.raises(ExportError, match="are run in another way"):
        Exported.read(trained.folder)


def test_the_manifest_alone_says_how_to_run_the_graph(trained, task):
    manifest = export(trained, task)
    inputs, outputs = manifest["step"]["inputs"], manifest["step"]["outputs"]
    assert inputs.keys() <= {"token", *manifest["start"], *manifest["controls"]}
    assert outputs.keys() >= {"logits", *(f"next_{name}" for name in manifest["start"])}
    for name, field in manifest["start"].items():
        kind, *shape = inputs[name]
        assert field["type"] == {"float": "float32"}.get(kind, kind)
        assert len(shape) == 1 + len(field["shape"])
    controls = set() if trained.card.experiment == RIVAL.name else {"null", "temperature"}
    assert controls <= manifest["controls"].keys()
    for name, control in manifest["controls"].items():
        assert type(control["neutral"]) is {"float32": float, "bool": bool}[control["type"]]
        assert control["shape"] == inputs[name][1:]


def test_another_text_is_refused(trained, task):
    other = Reading(replace(task.prose, vocabulary=Vocabulary(("other", "words"))))
    with pytest.raises(ExportError, match=r"the data give another words\.json than that of tiny"):
        export(trained, other)


def test_a_graph_that_differs_from_pytorch_is_refused(trained, task, monkeypatch):
    kind = type(trained.model).__name__
    right = FAMILIES[kind]
    assert isinstance(right, ReadingFamily)

    def step(config, parameters):
        graph = right.step(config, parameters)
        bias = next(name for name in graph.initializers if name.endswith("output.bias"))
        graph.initializers[bias] = graph.initializers[bias] + graph.initializers[bias].dtype.type(1)
        return graph

    monkeypatch.setitem(FAMILIES, kind, replace(right, step=step))
    before = sorted(path.name for path in trained.folder.iterdir())
    with pytest.raises(ExportError, match="is not exported: logits are"):
        export(trained, task)
    assert sorted(path.name for path in trained.folder.iterdir()) == before


def test_the_command_exports_a_reader(trained, row, monkeypatch):
    class Few(Reads):
        def load(self, data, places):
            whole = super().load(data, places)
            return Reading(replace(whole.prose, test=whole.prose.test[:40]))

    monkeypatch.setitem(table.EXPERIMENTS, row.name, replace(row, task=Few()))
    monkeypatch.setenv("HEED_TRAINED", str(trained.folder.parent))
    result = CliRunner().invoke(app, ["export", row.name])
    assert result.exit_code == 0, result.output
    assert "step.onnx" in result.stdout
    read_manifest(trained.folder)


def test_a_task_that_nobody_knows_how_to_compare_is_refused():
    with pytest.raises(ExportError, match="how to compare what comes of Recalling"):
        trial_of(object.__new__(Recalling))


def test_sentences_to_compare_on_are_many_and_of_all_lengths(task):
    sentences = held_out_sentences(task.prose)
    lengths = [len(words) for words in sentences]
    assert min(lengths) == 1
    assert max(lengths) == LONGEST
    assert sum(lengths) + len(lengths) >= WORDS
    assert set(sentences[:30]) <= set(task.prose.test)


def test_padding_is_left_out_and_a_sentence_alone_answers_the_same(task):
    torch.manual_seed(1)
    config = LSTMNLanguageConfig(vocab=len(task.vocabulary), d_embedding=6, d_state=5, d_align=7)
    model, trial = lively(LSTMNLanguageModel, config), trial_of(task)
    with torch.inference_mode():
        together, alone = trial.together(model), trial.alone(model)
        said = trial.says(model)
    assert len(together.logits) == sum(trial.lengths) + len(trial.lengths)
    torch.testing.assert_close(together.logits, alone.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.weights, alone.weights, atol=1e-6, rtol=1e-5)
    looks = [n * (n + 1) // 2 for n in (length + 1 for length in trial.lengths)]
    assert len(together.weights) == sum(looks)
    assert [len(words) for words in said] == [length + 1 for length in trial.lengths]
