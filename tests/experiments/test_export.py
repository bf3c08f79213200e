"""The graphs against PyTorch, and an export that is refused when it should be."""

import copy
import gzip
import shutil
import sys
from dataclasses import fields, replace
from functools import partial
from typing import get_args

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn
from typer.testing import CliRunner

from heed.__main__ import app
from heed.attention import Attended, Attention
from heed.data.batches import encode_batch
from heed.evaluation.decoding import beam
from heed.experiments import export as exporting
from heed.experiments import table
from heed.experiments.cards import Card
from heed.experiments.export import (
    LARGEST,
    MANIFEST,
    WEIGHTS,
    Exported,
    Parity,
    export,
    read_manifest,
    require_tools,
)
from heed.experiments.exported import Session
from heed.experiments.files import sha256
from heed.experiments.graphs import FAMILIES, ExportError, Family, Stored, family_of, pack
from heed.experiments.graphs.luong import EVERYTHING
from heed.experiments.runner import publish, train_one
from heed.experiments.trained import load
from heed.experiments.translation import VOCABULARY, Translating
from heed.experiments.trials import held_out
from heed.layers.local import LocalAttention, Monotonic
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.luong import Luong, LuongConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig
from heed.scores import ScoreName

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
SOURCE, TARGET = 29, 31
LENGTHS = [7, 1, 61, 2]  # EOS counts: an empty sentence, one word, sixty
BAHDANAU = {"d_embedding": 5, "d_encoder": 3, "d_state": 7, "d_align": 4, "d_maxout": 6}


def bahdanau(**options):
    sizes = BAHDANAU | ({"d_maxout": 5} if options.get("tie_output") else {})
    return Bahdanau(BahdanauConfig(source_vocab=SOURCE, target_vocab=TARGET, **(sizes | options)))


def seq2seq(**options):
    sizes = {"d_embedding": 5, "d_hidden": 7, "layers": 2}
    return Seq2Seq(Seq2SeqConfig(source_vocab=SOURCE, target_vocab=TARGET, **(sizes | options)))


def luong(**options):
    sizes = {"d_embedding": 5, "d_hidden": 7, "d_align": 4, "D": 3, "longest": 9}
    return Luong(LuongConfig(source_vocab=SOURCE, target_vocab=TARGET, **(sizes | options)))


def with_lively_parameters(model):
    """No bias is zero and no gate idles; each number is one that float16 has."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
            parameter.copy_(parameter.half())
    return model.eval()


MODELS = {
    "previous": lambda: bahdanau(dropout=0.5),
    "current": lambda: bahdanau(readout_state="current"),
    "tied": lambda: bahdanau(tie_output=True),
    **{
        score: lambda score=score: bahdanau(score=score, d_state=6, max_keys=9)
        for score in get_args(ScoreName)
    },
    "reversed": lambda: seq2seq(dropout=0.5),
    "forward": lambda: seq2seq(reverse_source=False, layers=1),
    "tied and narrow": lambda: seq2seq(tie_output=True, layers=3),
    "tied and wide": lambda: seq2seq(tie_output=True, d_hidden=5),
    "luong, dot": lambda: luong(score="dot", dropout=0.5),
    "luong, concat, reversed": lambda: luong(score="concat", reverse_source=True, layers=2),
    "luong, location, not fed": lambda: luong(score="location", input_feeding=False),
    "local-m, tied": lambda: luong(attention="local_m", layers=3, tie_output=True),
    "local-m, renormalised": lambda: luong(attention="local_m", score="dot", renormalise=True),
    "local-p": lambda: luong(attention="local_p"),
    "local-p, renormalised": lambda: luong(attention="local_p", renormalise=True, sigma=0.8),
    "local-p, location, tied": lambda: luong(
        attention="local_p", score="location", tie_output=True, d_hidden=5
    ),
}


def graph_files(model, parameters=None):
    parameters = parameters or pack(model, limit=LARGEST)
    family = family_of(model)
    made = (family.encoder(model.config, parameters), family.decoder(model.config, parameters))
    return tuple(graph.serialise() for graph in made)


def exported(model, parameters=None):
    family = family_of(model)
    return Exported(family, *graph_files(model, parameters), family.controls(model.config))


def sentences(lengths=LENGTHS):
    """Random source rows that end with EOS, and their lengths."""
    source = torch.randint(4, SOURCE, (len(lengths), max(lengths)))
    for row, length in zip(source, lengths, strict=True):
        row[length - 1], row[length:] = 2, 0
    return source, torch.tensor(lengths)


@pytest.fixture
def model():
    return with_lively_parameters(bahdanau())


@pytest.fixture(scope="module")
def published(tiny, runs, tmp_path_factory):
    """Weights with their card."""
    folder = tmp_path_factory.mktemp("published")
    publish(tiny, runs=runs, folder=folder)
    return folder


@pytest.fixture(scope="module")
def complete(tiny, published, corpus, tmp_path_factory):
    """The same, exported."""
    folder = tmp_path_factory.mktemp("complete")
    shutil.copytree(published, folder, dirs_exist_ok=True)
    export(load(tiny, folder), Translating(corpus))
    return folder


@pytest.fixture
def trained(tiny, published, tmp_path):
    """Free to be exported."""
    return load(tiny, shutil.copytree(published, tmp_path / tiny.name))


# ------------------------------------------------------------------ the numbers


@pytest.mark.parametrize("name", MODELS)
def test_the_graphs_compute_what_pytorch_computes(name):
    model = with_lively_parameters(MODELS[name]())
    graph = exported(model)
    source, lengths = sentences()
    target_in = torch.randint(4, TARGET, (len(lengths), 9))
    with torch.inference_mode():
        ours = model(source, lengths, target_in)
        encoded = model.encode(source, lengths)
    padded = graph(source, lengths, target_in)
    torch.testing.assert_close(padded.logits, ours.logits, atol=1e-5, rtol=1e-5)
    assert padded.weights.keys() == ours.weights.keys()
    for place, weights in ours.weights.items():
        torch.testing.assert_close(padded.weights[place], weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(padded.places, ours.places, atol=1e-4, rtol=1e-5)

    found = graph.encode(source, lengths)
    for field in fields(encoded):
        expected, got = getattr(encoded, field.name), getattr(found, field.name)
        assert got.shape == expected.shape
        if field.name in ("annotations", "prepared"):  # beyond the end anything may stand
            expected, got = expected[encoded.keep[:, 0]], got[encoded.keep[:, 0]]
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)

    for row, length in enumerate(LENGTHS):  # one sentence at a time, as the page asks
        one = slice(row, row + 1)
        alone = graph(source[one, :length], lengths[one], target_in[one])
        torch.testing.assert_close(alone.logits, ours.logits[one], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["global", "local_p"])
def test_a_wide_graph_computes_in_float64_between_float32_ends(attention):
    import onnx

    model = with_lively_parameters(luong(attention=attention))
    for file in graph_files(model):
        graph = onnx.shape_inference.infer_shapes(onnx.load_from_string(file)).graph
        kinds = {each.name: each.type.tensor_type.elem_type for each in graph.value_info}
        ops = {"MatMul", "Gemm", "Tanh", "Sigmoid", "Exp", "Softmax", "Scan"}
        computed = {out for node in graph.node if node.op_type in ops for out in node.output}
        assert computed
        assert {kinds[name] for name in computed} == {onnx.TensorProto.DOUBLE}
        ends = {each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)}
        assert onnx.TensorProto.FLOAT in ends
        assert onnx.TensorProto.DOUBLE not in ends


def test_a_wide_graph_is_nearer_to_the_truth_than_float32():
    model = with_lively_parameters(luong(attention="local_p"))
    source, lengths = sentences()
    words = torch.randint(4, TARGET, (len(lengths), 9))
    exact = copy.deepcopy(model).double()
    with torch.inference_mode():
        true, single = exact(source, lengths, words).logits, model(source, lengths, words).logits
    wide = exported(model)(source, lengths, words).logits
    assert (wide - true).abs().max() < (single - true).abs().max() / 2


def test_a_beam_goes_through_the_graphs_as_through_the_model():
    for make in (bahdanau, seq2seq, lambda: luong(attention="local_p")):
        model = with_lively_parameters(make())
        source, lengths = sentences([5, 3, 8])
        ours = beam(model, source, lengths, width=3, max_steps=12)
        theirs = beam(exported(model), source, lengths, width=3, max_steps=12)
        assert [each.tokens for each in theirs] == [each.tokens for each in ours]
        assert [each.log_prob for each in theirs] == pytest.approx(
            [each.log_prob for each in ours], abs=1e-4
        )


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_lies_in_one_of_the_files_once_as_it_is(name):
    model = with_lively_parameters(MODELS[name]())
    exact = dict(model.named_parameters())
    found = []
    for content in graph_files(model):
        for tensor in onnx.load_from_string(content).graph.initializer:
            if not tensor.name.startswith("constant."):
                found.append(tensor.name)
                values = numpy_helper.to_array(tensor)
                assert values.dtype == np.float16
                assert np.array_equal(values, exact[tensor.name].detach().numpy())
    assert sorted(found) == sorted(exact)


def test_no_length_and_no_batch_is_frozen(model):
    for content in graph_files(model):
        graph = onnx.load_from_string(content).graph
        for value in [*graph.input, *graph.output]:
            shape = value.type.tensor_type.shape.dim
            assert not shape or shape[0].dim_param == "batch", value.name
            if value.name in ("source", "annotations", "prepared", "weights", "forced"):
                assert shape[1].dim_param == "source"
            if value.name == "keep":
                assert shape[2].dim_param == "source"


# ------------------------------------------------------------------ what a lab may try


def one_step(graph, source, lengths, *, keep=None, **controls):
    encoded = graph.encode(source, lengths)
    if keep is not None:
        encoded = replace(encoded, keep=keep)
    token = torch.tensor([5, 6, 7, 8])
    if isinstance(graph, nn.Module):
        with torch.inference_mode():
            return graph.step(graph.start(encoded), token, encoded)
    return graph.step(graph.start(encoded), token, encoded, **controls)


def assert_same_step(found, expected):
    (state, out), (wanted_state, wanted) = found, expected
    torch.testing.assert_close(out.weights, wanted.weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(out.logits, wanted.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(state.s, wanted_state.s, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.25, 3.0])
def test_temperature_divides_the_scores(model, temperature):
    source, lengths = sentences()
    cooled = copy.deepcopy(model)
    with torch.no_grad():
        cooled.attention.score.v.weight /= temperature
    assert_same_step(
        one_step(exported(model), source, lengths, temperature=temperature),
        one_step(cooled, source, lengths),
    )


def test_a_forced_row_is_looked_at_in_the_sentences_where_it_is_forced(model):
    source, lengths = sentences()
    rows = torch.rand(4, source.shape[1]) * model.encode(source, lengths).keep[:, 0]
    force = torch.tensor([True, False, True, False])
    forced = copy.deepcopy(model)
    look = forced.attention.look

    def forced_look(query, prepared, values, *, keep=None):
        own = look(query, prepared, values, keep=keep).weights
        weights = torch.where(force[:, None, None], rows[:, None], own)
        return Attended(context=weights @ values, weights=weights)

    forced.attention.look = forced_look
    found = one_step(exported(model), source, lengths, force=force, forced=rows)
    assert_same_step(found, one_step(forced, source, lengths))
    assert torch.equal(found[1].weights[0], rows[0])


def test_a_source_word_may_be_masked_out_and_all_of_them_too(model):
    source, lengths = sentences()
    keep = model.encode(source, lengths).keep.clone()
    keep[0, 0, 2] = False
    keep[3] = False
    found = one_step(exported(model), source, lengths, keep=keep)
    assert_same_step(found, one_step(model, source, lengths, keep=keep))
    assert found[1].weights[0, 2] == 0
    assert found[1].weights[3].eq(0).all()
    assert found[1].logits.isfinite().all()


def windowed(model, *, places=None, radius=None, sigma=None):
    """The model with another window."""
    moved = copy.deepcopy(model)
    if places is not None:
        own, (place, hold) = moved.places.forward, places
        moved.places.forward = lambda *given: torch.where(
            hold[:, None], place[:, None], own(*given)
        )
    moved.attention.radius = moved.attention.radius if radius is None else radius
    moved.attention.sigma = moved.attention.sigma if sigma is None else sigma
    return moved


@pytest.mark.parametrize(
    "settings",
    [
        {"place": torch.tensor([2.3, 0.0, 58.0, 40.0]), "hold": torch.tensor([True] * 4)},
        {"place": torch.tensor([2.3, 0.0, 58.0, 1.0]), "hold": torch.tensor([True, False] * 2)},
        {"radius": 1.5},
        {"sigma": 0.4},
        {"radius": 30.0, "sigma": 9.0, "temperature": 0.5},
    ],
    ids=["held", "some held", "radius", "sigma", "all"],
)
def test_a_lab_may_move_the_window_and_change_its_width(settings):
    model = with_lively_parameters(luong(attention="local_p"))
    source, lengths = sentences()
    wanted = {name: settings.get(name) for name in ("radius", "sigma")}
    places = (settings["place"], settings["hold"]) if "hold" in settings else None
    moved = windowed(model, places=places, **wanted)
    if "temperature" in settings:
        with torch.no_grad():
            moved.attention.score.W.weight /= settings["temperature"]
    state, out = one_step(exported(model), source, lengths, **settings)
    wanted_state, wanted_out = one_step(moved, source, lengths)
    torch.testing.assert_close(out.places, wanted_out.places, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(out.weights, wanted_out.weights, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(out.logits, wanted_out.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(state.fed, wanted_state.fed, atol=1e-5, rtol=1e-5)
    plain = one_step(exported(model), source, lengths)[1]
    assert not torch.allclose(plain.weights, out.weights, atol=1e-4)


def test_each_attention_has_a_window_to_move_and_its_own_one_by_itself():
    kinds = ("global", "local_m", "local_p")
    neutral = {kind: exported(luong(attention=kind, D=4)).neutral for kind in kinds}
    wide = EVERYTHING
    for kind, radius, sigma in (
        ("global", wide, wide),
        ("local_m", 4.0, wide),
        ("local_p", 4.0, 2.0),
    ):
        known = neutral[kind].items() - {"temperature": 1.0, "force": False, "forced": 0.0}.items()
        window = {"place": 0.0, "hold": False, "radius": radius, "sigma": sigma}
        assert known == window.items(), kind


@pytest.mark.parametrize("kind", ["global", "local_m"])
def test_a_window_with_a_hill_may_be_put_on_a_model_that_has_none(kind):
    """And on some sentences of a batch only."""
    model = with_lively_parameters(luong(attention=kind))
    source, lengths = sentences()
    place, hold = torch.tensor([2.3, 0.0, 58.0, 1.0]), torch.tensor([True, False] * 2)
    settings = {"place": place, "hold": hold, "radius": 2.0, "sigma": 0.8}
    found = one_step(exported(model), source, lengths, **settings)[1]
    local = copy.deepcopy(model)
    local.places = Monotonic()
    local.attention = LocalAttention(model.attention.score, radius=2.0, sigma=0.8)
    local = windowed(local, places=(place, hold))
    wanted = one_step(local, source, lengths)[1]
    if kind == "global":
        plain = one_step(model, source, lengths)[1]
        for name in ("weights", "logits"):
            rows = torch.where(hold[:, None], getattr(wanted, name), getattr(plain, name))
            wanted = replace(wanted, **{name: rows})
    torch.testing.assert_close(found.weights, wanted.weights, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["local_m", "local_p"])
def test_a_window_that_holds_everything_under_a_flat_hill_is_global(kind):
    model = with_lively_parameters(luong(attention=kind))
    source, lengths = sentences()
    found = one_step(exported(model), source, lengths, radius=EVERYTHING, sigma=EVERYTHING)[1]
    everywhere = copy.deepcopy(model)
    everywhere.places, everywhere.attention = None, Attention(model.attention.score)
    wanted = one_step(everywhere, source, lengths)[1]
    torch.testing.assert_close(found.weights, wanted.weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.logits, wanted.logits, atol=1e-5, rtol=1e-5)


def test_the_graph_says_what_the_weights_were_before_the_hill(monkeypatch):
    model = with_lively_parameters(luong(attention="local_p"))
    source, lengths = sentences()
    seen, run = {}, Session.__call__

    def noted(session, *given):
        found = run(session, *given)
        seen.update(found)
        return found

    monkeypatch.setattr(Session, "__call__", noted)
    one_step(exported(model), source, lengths)
    wanted = one_step(windowed(model, sigma=1e6), source, lengths)[1]
    torch.testing.assert_close(seen["align"], wanted.weights, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(seen["align"], seen["weights"], atol=1e-3)


def test_the_manifest_of_a_window_says_how_wide_it_is(tiny, corpus, tmp_path):
    sizes = {"d_embedding": 5, "d_hidden": 7, "d_align": 4, "attention": "local_p", "D": 3}
    row = replace(
        tiny, name="tiny_window", build=Luong, config=partial(LuongConfig, **sizes), seeds=(0,)
    )
    train_one(row, 0, row.load(), runs=tmp_path / "runs", show=False)
    publish(row, runs=tmp_path / "runs", folder=tmp_path / "trained")
    trained = load(row, tmp_path / "trained")
    controls = export(trained, Translating(corpus))["controls"]
    assert controls["radius"] == {"type": "float32", "shape": [], "neutral": 3.0}
    assert controls["sigma"] == {"type": "float32", "shape": [], "neutral": 1.5}
    assert controls["place"] == {"type": "float32", "shape": ["batch"], "neutral": 0.0}
    assert controls["hold"] == {"type": "bool", "shape": ["batch"], "neutral": False}
    assert "place_error" in trained.card.metrics
    batch = encode_batch(corpus.test[:6], corpus.source_vocab, corpus.target_vocab)
    given = batch.source, batch.source_lengths, batch.target[:, :-1]
    with torch.inference_mode():
        expected = trained.model(*given)
    found = Exported.read(trained.folder)(*given)
    torch.testing.assert_close(found.logits, expected.logits, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.places, expected.places, atol=1e-4, rtol=0)


# ------------------------------------------------------------------ storage


def test_what_float16_has_is_stored_as_float16_and_what_it_has_not_as_float32(model):
    assert {each.kind for each in pack(model, limit=LARGEST).values()} == {"float16"}
    with torch.no_grad():
        model.W_s.weight[0, 0] = 1 + 2**-20
    packed = pack(model, limit=LARGEST)
    assert packed.pop("W_s.weight").kind == "float32"
    assert {each.kind for each in packed.values()} == {"float16"}


def test_the_largest_go_down_until_all_fit(model):
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:2]
    everything = 2 * sum(sizes.values())
    first = pack(model, limit=everything - 1)
    assert [name for name, each in first.items() if each.kind == "int8"] == largest[:1]
    second = pack(model, limit=sum(each.bytes for each in first.values()) - 1)
    assert {name for name, each in second.items() if each.kind == "int8"} == set(largest)


def test_float32_goes_down_by_way_of_float16():
    model = nn.Linear(40, 40)
    kinds = [pack(model, limit=limit)["weight"].kind for limit in (9_999, 6_000, 2_000)]
    assert kinds == ["float32", "float16", "int8"]


def test_what_cannot_fit_is_refused(model):
    with pytest.raises(ExportError, match="do not fit into 900 bytes"):
        pack(model, limit=900)


def test_short_numbers_are_a_128th_off_at_most_and_gzip_well(model):
    values = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    stored = Stored.of(values, "short")
    assert stored.kind == "short"
    assert (np.abs(stored.values() - values) <= np.abs(values) / 127).all()
    assert not (stored.data.view(np.uint16) & 15).any()
    plain = Stored.of(values, "float16")
    assert stored.bytes == plain.bytes
    shorter, longer = (len(gzip.compress(each.data.tobytes())) for each in (stored, plain))
    assert shorter < 0.85 * longer
    packed = pack(model, limit=LARGEST, short=True)
    assert {each.data.ndim > 1 for each in packed.values() if each.kind == "short"} == {True}
    assert {each.kind for each in packed.values() if each.data.ndim == 1} == {"float16"}


def test_int8_is_half_a_step_off_at_most_row_by_row():
    values = np.array([[0.5, -1.27, 0.013], [0.0, 0.0, 0.0], [1e3, 10.0, -3.0]], np.float32)
    stored = Stored.of(values, "int8")
    step = np.array([[0.01], [0.0], [1e3 / 127]])
    assert (np.abs(stored.values() - values) <= step / 2 + 1e-6).all()
    assert stored.data.tolist()[0] == [50, -127, 1]
    assert stored.bytes == 9 + 12


@pytest.mark.parametrize("name", ["tied", "reversed"])
def test_graphs_of_int8_compute_with_exactly_the_rounded_numbers(name):
    model = with_lively_parameters(MODELS[name]())
    kinds = {n: "int8" if p.ndim > 1 else "float16" for n, p in model.named_parameters()}
    parameters = {n: Stored.of(p.detach().numpy(), kinds[n]) for n, p in model.named_parameters()}
    rounded = copy.deepcopy(model)
    with torch.no_grad():
        for n, p in rounded.named_parameters():
            p.copy_(torch.from_numpy(parameters[n].values()))
    source, lengths = sentences()
    target_in = torch.randint(4, TARGET, (len(lengths), 6))
    with torch.inference_mode():
        near, far = (each(source, lengths, target_in).logits for each in (rounded, model))
    logits = exported(model, parameters)(source, lengths, target_in).logits
    torch.testing.assert_close(logits, near, atol=1e-5, rtol=1e-5)
    assert (logits - far).abs().max() > 1e-3


# ------------------------------------------------------------------ export


def test_an_export_says_what_it_is_and_answers_as_the_model_does(tiny, complete, corpus):
    manifest, trained = read_manifest(complete), load(tiny, complete)
    assert manifest["made_from"][WEIGHTS] == trained.card.files[WEIGHTS]
    assert set(manifest["files"]) == {ENCODER, DECODER, VOCABULARY}
    for name in manifest["files"]:
        assert manifest["files"][name]["bytes"] == (complete / name).stat().st_size
    assert list(manifest["storage"]) == ["float16"]
    parity = manifest["parity"]
    assert parity["sentences"] >= 20
    assert parity["words"] >= 500
    assert {1, 60} < set(parity["lengths"])
    assert parity["logits"] == parity["shipped_logits"] <= 1e-4
    assert parity["same_words"] == parity["same_sentences"] == 1.0

    batch = encode_batch(corpus.test[:6], corpus.source_vocab, corpus.target_vocab)
    given = batch.source, batch.source_lengths, batch.target[:, :-1]
    with torch.inference_mode():
        expected = trained.model(*given).logits
    found = Exported.read(complete)(*given).logits
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_the_manifest_alone_says_how_to_run_the_graphs(complete):
    """Every input of the decoder comes from somewhere that the manifest names."""
    manifest = read_manifest(complete)
    inputs, outputs = manifest["decoder"]["inputs"], manifest["decoder"]["outputs"]
    assert outputs.keys() >= {"logits", *(f"next_{name}" for name in manifest["start"])}
    encoded = manifest["encoder"]["outputs"]
    assert set(manifest["start"].values()) <= encoded.keys()
    assert inputs.keys() <= {"token", *encoded, *manifest["start"], *manifest["controls"]}
    for name, control in manifest["controls"].items():
        kind, *shape = inputs[name]
        assert control["type"] == {"float": "float32"}.get(kind, kind)
        assert control["shape"] == shape
        assert type(control["neutral"]) is {"float32": float, "bool": bool}[control["type"]]
    for name, begins in manifest["start"].items():
        assert inputs[name] == outputs[f"next_{name}"] == encoded[begins]


def test_exporting_again_gives_the_same_bytes(complete, trained, corpus):
    assert export(trained, Translating(corpus)) == read_manifest(complete)
    for name in (ENCODER, DECODER, MANIFEST):
        assert (trained.folder / name).read_bytes() == (complete / name).read_bytes()


def test_rounded_weights_are_judged_by_the_words(trained, corpus, monkeypatch):
    size = sum(each.bytes for each in pack(trained.model, limit=LARGEST).values())
    manifest = export(trained, Translating(corpus), limit=size - 1 + exporting.NODES)
    assert manifest["storage"]["int8"]
    assert "shipped_logits" not in manifest["bars"]
    assert manifest["parity"]["shipped_logits"] > 10 * manifest["parity"]["logits"]
    assert manifest["parity"]["same_words"] >= 0.99


def reset_after_the_product(graph):
    """What older exporters silently got wrong for the other kind of GRU."""
    node = next(node for node in graph.nodes if node.op_type == "GRU")
    next(a for a in node.attribute if a.name == "linear_before_reset").i = 1


def z_not_turned(graph):
    turn = next(n for n, v in graph.initializers.items() if v.ndim == 3 and v.min() == -1)
    graph.initializers[turn] = np.abs(graph.initializers[turn])


def one_number_off(graph):
    table = graph.initializers["encoder.U"].copy()
    table[1, 2, 3] += 0.05
    graph.initializers["encoder.U"] = table


def not_a_number(graph):
    graph.initializers["W_s.bias"] = np.full_like(graph.initializers["W_s.bias"], np.nan)


def break_encoder(monkeypatch, fault):
    """From now on the encoder's graph has a fault."""
    right = FAMILIES["Bahdanau"]

    def encoder(config, parameters):
        graph = right.encoder(config, parameters)
        fault(graph)
        return graph

    monkeypatch.setitem(FAMILIES, "Bahdanau", replace(right, encoder=encoder))


@pytest.mark.parametrize(
    "fault", [reset_after_the_product, z_not_turned, one_number_off, not_a_number]
)
def test_a_graph_that_differs_from_pytorch_is_refused(trained, corpus, monkeypatch, fault):
    before = sorted(path.name for path in trained.folder.iterdir())
    break_encoder(monkeypatch, fault)
    with pytest.raises(ExportError, match="tiny_reverse is not exported: logits are"):
        export(trained, Translating(corpus))
    assert sorted(path.name for path in trained.folder.iterdir()) == before


PARITY = Parity(
    sentences=20,
    lengths=[1, 9, 60],
    words=500,
    logits=9e-5,
    weights=9e-5,
    noise=1e-5,
    shipped_logits=9e-5,
    shipped_weights=9e-5,
    same_words=0.99,
    same_sentences=0.5,
)
HALF = {"a": Stored(np.zeros(1, np.float16))}
INT8 = {"a": Stored(np.zeros((1, 1), np.int8), np.ones((1, 1), np.float32))}


@pytest.mark.parametrize(
    ("change", "parameters", "lossless", "fault"),
    [
        ({}, HALF, True, None),
        ({"logits": 1.1e-4}, HALF, True, "logits are 1.1e-04 off, not 0.0001 at most"),
        ({"logits": 1.1e-4, "shipped_logits": 1.1e-4, "noise": 4e-5}, HALF, True, None),
        ({"logits": 1.3e-4, "noise": 4e-5}, HALF, True, "logits are 1.3e-04 off, not 0.00012 at"),
        ({"weights": 1.1e-4}, HALF, True, "weights are 1.1e-04 off"),
        ({"logits": float("nan")}, HALF, True, "logits are nan off"),
        ({"noise": float("nan"), "logits": 1.0}, HALF, True, "logits are 1.0e"),
        ({"shipped_logits": 1.9e-3}, HALF, True, "logits are 1.9e-03 off"),
        ({"shipped_logits": 1.9e-3}, HALF, False, None),
        ({"shipped_logits": 2.1e-3}, HALF, False, "logits are 2.1e-03 off, not 0.002"),
        ({"shipped_logits": 0.3}, INT8, False, None),
        ({"logits": 0.3}, INT8, False, "logits are 3.0e-01 off"),
        ({"same_words": 0.98}, INT8, False, "98.00% of the words are the same, not 99%"),
        ({"same_words": 0.98}, HALF, True, "98.00% of the words"),
    ],
)
def test_each_bar_holds_or_is_named(change, parameters, lossless, fault):
    parity = replace(PARITY, **change)
    found = parity.missed(parity.bars(parameters, lossless=lossless))
    assert found is None if fault is None else found is not None and found.startswith(fault)


def test_sentences_to_compare_on_are_many_and_of_all_lengths(corpus):
    pairs = held_out(corpus)
    lengths = {len(pair.source) for pair in pairs}
    assert min(lengths) == 1
    assert max(lengths) == 60
    assert {len(pair.source) for pair in corpus.test} <= lengths
    assert sum(len(pair.target) + 1 for pair in pairs) >= 500


def test_another_corpus_is_refused(trained, tiny):
    other = replace(tiny.data, letters=6).load()
    with pytest.raises(ExportError, match=r"give another vocabulary\.json than that of tiny"):
        export(trained, Translating(other))


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(
        ExportError,
        match=r"a Linear cannot be exported; Bahdanau, .* and \w+ can",
    ):
        family_of(nn.Linear(2, 2))


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_missing_packages_are_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ExportError, match=rf"^{name} is not installed.*requirements-dev\.txt$"):
        require_tools()


# ------------------------------------------------------------------ what lies beside the weights


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (lambda folder: (folder / MANIFEST).unlink(), "nothing is exported here"),
        (lambda folder: (folder / MANIFEST).write_text("{"), "is damaged"),
        (lambda folder: (folder / MANIFEST).write_text('{"files": []}'), "is damaged"),
        (lambda folder: flip(folder / ENCODER), "encoder.onnx is not the file"),
        (lambda folder: flip(folder / DECODER), "decoder.onnx is not the file"),
        (lambda folder: (folder / DECODER).unlink(), "decoder.onnx is missing"),
        (lambda folder: flip(folder / VOCABULARY), "vocabulary.json is not the file"),
        (lambda folder: flip(folder / WEIGHTS), "has changed since the export: export again"),
    ],
    ids=["none", "no JSON", "no manifest", "encoder", "decoder", "gone", "words", "retrained"],
)
def test_an_export_that_is_not_of_the_weights_beside_it_is_refused(complete, tmp_path, harm, fault):
    folder = shutil.copytree(complete, tmp_path / "copy")
    harm(folder)
    with pytest.raises(ExportError, match=fault):
        Exported.read(folder)


@pytest.mark.parametrize(
    "name", [n for n, row in table.EXPERIMENTS.items() if (row.folder / MANIFEST).exists()]
)
def test_shipped_graphs_are_of_the_shipped_weights(name):
    row = table.find(name)
    manifest = read_manifest(row.folder)
    assert manifest["experiment"] == name
    graphs = {n: each for n, each in manifest["files"].items() if n.endswith(".onnx")}
    assert sum(each["bytes"] for each in graphs.values()) <= row.page_bytes <= LARGEST
    on_card = Card.read(row.folder).files
    for file in (*graphs, MANIFEST):
        assert on_card.get(file) == sha256((row.folder / file).read_bytes()), "export again"
    assert Parity(**manifest["parity"]).missed(manifest["bars"]) is None


# ------------------------------------------------------------------ the command


@pytest.fixture
def in_table(tiny, trained, monkeypatch):
    """The tiny experiment as a row of the table, with its weights."""
    monkeypatch.setitem(table.EXPERIMENTS, tiny.name, tiny)
    monkeypatch.setenv("HEED_TRAINED", str(trained.folder.parent))
    return trained.folder


def test_the_command_writes_and_tells(in_table, tiny):
    result = CliRunner().invoke(app, ["export", tiny.name])
    assert result.exit_code == 0, result.output
    assert f"{in_table / DECODER}" in result.stdout
    assert "same_words" in result.stdout
    read_manifest(in_table)


def test_the_command_refuses_in_one_line(in_table, tiny, monkeypatch):
    break_encoder(monkeypatch, z_not_turned)
    result = CliRunner().invoke(app, ["export", tiny.name])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert "is not exported: logits are" in result.stderr
    assert not (in_table / ENCODER).exists()


def test_a_family_has_no_graph_of_its_own_names():
    """The records of the models give the names; a renamed field would be noticed here."""
    for family in (each for each in FAMILIES.values() if isinstance(each, Family)):
        assert family.start.keys() == set(family.state_fields())
        assert set(family.start.values()) <= {field.name for field in fields(family.encoded)}
