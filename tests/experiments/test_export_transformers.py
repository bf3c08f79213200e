"""The graphs of Transformers against PyTorch, with all that a lab may do to one."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from small_transformers import DATA, ROW, exported, lively

from heed.evaluation.decoding import beam
from heed.experiments.export import LARGEST, Exported, export, read_manifest
from heed.experiments.exported import ExportedTransformer, opened
from heed.experiments.graphs import FAMILIES, ExportError, HeadedFamily, family_of, pack
from heed.experiments.trained import load
from heed.experiments.translation import Translating
from heed.experiments.trials import CHANGES, Translations, maps
from heed.models.transformer import UNCHANGED, Changed, Changes, Transformer, TransformerConfig

VOCAB = 29
LENGTHS = [7, 1, 61, 2]  # EOS counts: an empty sentence, one word, sixty
MODELS = {
    "post-norm": {},
    "pre-norm, with biases": {"norm": "pre", "bias": True},
    "nothing tied, not scaled": {"tie": "none", "scaled": False},
    "all tied": {"tie": "all"},
    "no positions": {"positions": "none"},
    "one head": {"heads": 1, "encoder_layers": 1},
}
TRIED = {
    "unchanged": UNCHANGED,
    "heads off": Changes(off=(("encoder", 1, 1), ("decoder", 2, 1), ("cross", 1, 1))),
    "a whole layer off": Changes(off=tuple(("cross", 2, head) for head in (1, 2, 3))),
    "shifted": Changes(source_shift=40, target_shift=3),
    "source without places": Changes(source_places=False),
    "target without places": Changes(target_places=False, target_shift=5),
}


def transformer(**options) -> Transformer:
    sizes = {"d_model": 12, "d_inner": 10, "heads": 3, "encoder_layers": 2, "decoder_layers": 3}
    config = TransformerConfig(source_vocab=VOCAB, target_vocab=VOCAB, **(sizes | options))
    return lively(config)


def graphs(model) -> dict[str, bytes]:
    made = family_of(model).graphs(model.config, pack(model, limit=LARGEST))
    return {each.name: each.serialise() for each in made}


def run(model) -> ExportedTransformer:
    found = opened(model, graphs(model))
    assert isinstance(found, ExportedTransformer)
    return found


def sentences(lengths=LENGTHS):
    """Random source rows that end with EOS, and their lengths."""
    source = torch.randint(4, VOCAB, (len(lengths), max(lengths)))
    for row, length in zip(source, lengths, strict=True):
        row[length - 1], row[length:] = 2, 0
    return source, torch.tensor(lengths)


def fits(changes: Changes, config: TransformerConfig) -> bool:
    try:
        changes.check(config)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("change", TRIED)
def test_the_graphs_compute_what_pytorch_computes(name, change):
    model, changes = transformer(**MODELS[name]), TRIED[change]
    if not fits(changes, model.config):
        changes = replace(changes, off=(("cross", 2, 1),))
    graph, (source, lengths) = run(model), sentences()
    target_in = torch.randint(4, VOCAB, (len(lengths), 9))
    with torch.inference_mode():
        ours = model(source, lengths, target_in, changes=changes)
        exact = deepcopy(model).double()(source, lengths, target_in, changes=changes)
    # Random weights without the root make sharp looks, and those multiply what rounding leaves:
    # three times PyTorch's own distance from double precision, as for the shipped models.
    own = (ours.logits - exact.logits).abs().max().item()
    near = {"atol": max(5e-5, 3 * own), "rtol": 1e-5}
    padded = graph(source, lengths, target_in, changes=changes)
    torch.testing.assert_close(padded.logits, ours.logits, **near)
    assert maps(padded).keys() == maps(ours).keys()
    assert len(padded.maps) == model.config.encoder_layers + 2 * model.config.decoder_layers
    for place, wanted in maps(ours).items():
        torch.testing.assert_close(maps(padded)[place], wanted, **near)

    for row, length in enumerate(LENGTHS):  # one sentence at a time, as the page asks
        one = slice(row, row + 1)
        alone = graph(source[one, :length], lengths[one], target_in[one], changes=changes)
        torch.testing.assert_close(alone.logits, ours.logits[one], **near)


@pytest.mark.parametrize("change", [each for each in TRIED if each != "unchanged"])
def test_each_change_changes_something(change):
    model = run(transformer())
    source, lengths = sentences()
    target_in = torch.randint(4, VOCAB, (len(lengths), 9))
    plain, changed = (
        model(source, lengths, target_in, changes=each) for each in (UNCHANGED, TRIED[change])
    )
    assert (plain.logits - changed.logits).abs().max() > 0.01


def test_where_a_head_looks_is_known_though_it_is_off():
    model = run(transformer())
    source, lengths = sentences()
    target_in = torch.randint(4, VOCAB, (len(lengths), 5))
    off = Changes(off=(("encoder", 1, 2),))
    plain, changed = (model(source, lengths, target_in, changes=c) for c in (UNCHANGED, off))
    torch.testing.assert_close(changed.maps["encoder 1"], plain.maps["encoder 1"])
    assert not torch.allclose(changed.maps["encoder 2"], plain.maps["encoder 2"], atol=1e-3)


@pytest.mark.parametrize("change", ["unchanged", "heads off", "shifted"])
def test_a_beam_goes_through_the_graphs_as_through_the_model(change):
    model, changes = transformer(), TRIED[change]
    source, lengths = sentences([5, 3, 8])
    ours = beam(Changed(model, changes), source, lengths, width=3, max_steps=12)
    graph = run(model)

    class Bent:
        """The graphs with these changes."""

        def encode(self, *given):
            return graph.encode(*given, changes=changes)

        def step(self, *given):
            return graph.step(*given, changes=changes)

        start = staticmethod(graph.start)

        def __call__(self, *given):
            return graph(*given, changes=changes)

    theirs = beam(Bent(), source, lengths, width=3, max_steps=12)
    assert [each.tokens for each in theirs] == [each.tokens for each in ours]
    assert [each.log_prob for each in theirs] == pytest.approx(
        [each.log_prob for each in ours], abs=1e-4
    )


@pytest.mark.parametrize("name", [each for each in MODELS if each != "all tied"])
def test_every_parameter_lies_in_one_of_the_files_once_as_it_is(name):
    model = transformer(**MODELS[name])
    exact = dict(model.named_parameters())
    found = []
    for content in graphs(model).values():
        for tensor in onnx.load_from_string(content).graph.initializer:
            if not tensor.name.startswith("constant."):
                found.append(tensor.name)
                values = numpy_helper.to_array(tensor)
                assert np.array_equal(values, exact[tensor.name].detach().numpy())
    assert sorted(found) == sorted(exact)


def test_no_length_and_no_batch_is_frozen():
    free = {"source", "written", "next_written"}
    for content in graphs(transformer()).values():
        graph = onnx.load_from_string(content).graph
        for value in [*graph.input, *graph.output]:
            axes = [each.dim_param for each in value.type.tensor_type.shape.dim]
            if not value.name.endswith(("_on", "_shift", "_places")):
                assert axes[0] == "batch", value.name
            if value.name in ("source", "keep", "keys", "values", "weights", "cross_maps"):
                assert "source" in axes
            if "written" in value.name:
                assert free & set(axes)


def test_learned_positions_are_refused_in_a_line():
    with pytest.raises(ExportError, match="learned positions have none beyond them"):
        graphs(transformer(positions="learned", longest=70))


# ------------------------------------------------------------------ export


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("transformers")
    return exported(made / "trained", made / "runs", ROW) / ROW.name


def test_an_export_is_tried_with_every_change(folder):
    manifest = read_manifest(folder)
    parity = manifest["parity"]
    assert manifest["model"] == "Transformer"
    assert {1, 60} < set(parity["lengths"])
    assert parity["words"] >= 500 * len(CHANGES)
    assert parity["logits"] <= 1e-4
    assert parity["weights"] <= 1e-4
    assert parity["same_words"] == parity["same_sentences"] == 1.0
    inputs = manifest["encoder"]["inputs"] | manifest["decoder"]["inputs"]
    outputs = manifest["encoder"]["outputs"] | manifest["decoder"]["outputs"]
    for name, control in manifest["controls"].items():
        kind, *shape = inputs[name]
        assert (control["type"], control["shape"]) == ({"float": "float32"}.get(kind, kind), shape)
    for name, begins in manifest["start"].items():
        assert {name, f"next_{name}"} <= {*inputs, *outputs}
        assert begins in manifest["encoder"]["outputs"]


def test_what_is_read_back_answers_as_the_model_does(folder):
    trained, found = load(ROW, folder), ExportedTransformer.read(folder)
    trial = Translations(DATA.load())
    with torch.inference_mode():
        wanted = trial.together(trained.model)
    for answers in (trial.together(found), trial.alone(found)):
        torch.testing.assert_close(answers.logits, wanted.logits, atol=1e-4, rtol=0)
        torch.testing.assert_close(answers.weights, wanted.weights, atol=1e-4, rtol=0)
    assert trial.says(found) == trial.says(trained.model)
    with pytest.raises(ExportError, match="the graphs of a Transformer are run in another way"):
        Exported.read(folder)


def deaf(graph):
    """Heads that are switched off go on."""
    for node in graph.nodes:
        if node.op_type == "Cast" and node.input[0].endswith("_on"):
            node.input[0] = graph.constant(np.ones((2, 3)), "bool")


def unmoved(graph):
    """A shift that does nothing."""
    for node in graph.nodes:
        for i, name in enumerate(node.input):
            if name.endswith("_shift"):
                node.input[i] = graph.constant(0.0)


def one_map_off(graph):
    """A map in the place of another one."""
    node = next(n for n in graph.nodes if n.op_type == "Concat" and "encoder_maps" in n.output)
    node.input[0] = node.input[1]


@pytest.mark.parametrize(
    ("fault", "what"), [(deaf, "logits"), (unmoved, "logits"), (one_map_off, "weights")]
)
def test_a_graph_that_obeys_no_change_is_refused(folder, monkeypatch, tmp_path, fault, what):
    right = FAMILIES["Transformer"]
    assert isinstance(right, HeadedFamily)

    def encoder(config, parameters):
        graph = right.encoder(config, parameters)
        fault(graph)
        return graph

    monkeypatch.setitem(FAMILIES, "Transformer", replace(right, encoder=encoder))
    trained = load(ROW, folder)
    trained = replace(trained, folder=tmp_path)
    (tmp_path / "vocabulary.json").write_bytes((folder / "vocabulary.json").read_bytes())
    corpus = DATA.load()
    with pytest.raises(ExportError, match=f"tiny_transformer is not exported: {what} are"):
        export(trained, Translating(corpus))
    assert not (tmp_path / "export.json").exists()
