"""Bahdanau's translator against Appendix A of the paper, a sentence and a step at a time."""

import math
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import jaxtyping
import pytest
import torch
from shaken import ENGLISH, FRENCH, LENGTHS, SOURCE, STEPS, B, batch_of, shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.data.batches import Batch
from heed.data.vocabulary import EOS, PAD
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.scores import ScoreName
from heed.training.objectives import translation_loss

SMALL = BahdanauConfig(  # primes: no two axes can be confused
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_embedding=5,
    d_encoder=7,
    d_state=11,
    d_align=13,
    d_maxout=3,
)
readouts = pytest.mark.parametrize("readout_state", ["previous", "current"])


# --- Appendix A ------------------------------------------------------------------------------


def matrices(model: Bahdanau) -> SimpleNamespace:
    """The paper's names for the parameters. Biases, which it leaves out, are b_…"""
    d, e = model.config.d_state, model.config.d_encoder
    p = SimpleNamespace()
    p.E_x, p.E_y = model.embed_source.weight, model.embed_target.weight
    p.directions = []
    for which in (0, 1):  # onward, back
        rows = slice(3 * e * which, 3 * e * (which + 1))
        W_z, W_r, W = model.encoder.W.weight[rows].split(e)
        b_z, b_r, b = model.encoder.W.bias[rows].split(e)
        U_z, U_r = (half.T for half in model.encoder.U_zr[which].split(e, dim=1))
        U = model.encoder.U[which].T
        p.directions.append(
            SimpleNamespace(W_z=W_z, W_r=W_r, W=W, b_z=b_z, b_r=b_r, b=b, U_z=U_z, U_r=U_r, U=U)
        )
    p.W_s, p.b_s = model.W_s.weight, model.W_s.bias
    score = model.attention.score
    p.W_a, p.U_a, p.v_a = score.W.weight, score.U.weight, score.v.weight[0]
    p.W_z, p.W_r, p.W = model.drive_y.weight.split(d)
    p.b_z, p.b_r, p.b = model.drive_y.bias.split(d)
    p.C_z, p.C_r, p.C = model.drive_c.weight.split(d)
    p.U_z, p.U_r = (half.T for half in model.cell.U_zr.split(d, dim=1))
    p.U = model.cell.U.T
    p.U_o, p.b_t = model.readout_s.weight, model.readout_s.bias
    p.V_o, p.C_o = model.readout_y.weight, model.readout_c.weight
    p.W_o, p.b_o = model.output.weight, model.output.bias
    return p


def slow_annotations(p: SimpleNamespace, words: list[int]) -> tuple[list[Tensor], Tensor]:
    """h_1 … h_T of one sentence, and ←h_1."""
    read = []
    for q, order in zip(p.directions, (words, words[::-1]), strict=True):
        h, states = torch.zeros_like(q.b), []
        for word in order:
            x = p.E_x[word]
            z = torch.sigmoid(q.W_z @ x + q.b_z + q.U_z @ h)
            r = torch.sigmoid(q.W_r @ x + q.b_r + q.U_r @ h)
            h = (1 - z) * h + z * torch.tanh(q.W @ x + q.b + q.U @ (r * h))
            states.append(h)
        read.append(states)
    onward, back = read[0], read[1][::-1]
    return [torch.cat([f, g]) for f, g in zip(onward, back, strict=True)], back[0]


def slow_translation(
    model: Bahdanau, words: list[int], target_in: list[int]
) -> tuple[list[Tensor], list[list[float]]]:
    """The logits and the weights α of every step, for one sentence without padding."""
    p = matrices(model)
    h, back_at_first = slow_annotations(p, words)
    s = torch.tanh(p.W_s @ back_at_first + p.b_s)
    logits, maps = [], []
    for previous in target_in:
        y = p.E_y[previous]
        e = [(p.v_a @ torch.tanh(p.W_a @ s + p.U_a @ h_j)).item() for h_j in h]
        total = sum(math.exp(e_j) for e_j in e)
        alpha = [math.exp(e_j) / total for e_j in e]
        c = torch.zeros_like(h[0])
        for alpha_j, h_j in zip(alpha, h, strict=True):
            c = c + alpha_j * h_j

        z = torch.sigmoid(p.W_z @ y + p.b_z + p.U_z @ s + p.C_z @ c)
        r = torch.sigmoid(p.W_r @ y + p.b_r + p.U_r @ s + p.C_r @ c)
        candidate = torch.tanh(p.W @ y + p.b + p.U @ (r * s) + p.C @ c)
        new = (1 - z) * s + z * candidate

        used = s if model.config.readout_state == "previous" else new
        t = p.U_o @ used + p.b_t + p.V_o @ y + p.C_o @ c
        maxout = torch.stack([torch.maximum(t[k], t[k + 1]) for k in range(0, len(t), 2)])
        logits.append(p.W_o @ maxout + p.b_o)
        maps.append(alpha)
        s = new
    return logits, maps


@readouts
@pytest.mark.parametrize("tie_output", [False, True])
def test_the_whole_model_agrees_with_a_loop_written_from_appendix_a(readout_state, tie_output):
    width = SMALL.d_embedding if tie_output else SMALL.d_maxout
    model = shaken(
        Bahdanau(replace(SMALL, readout_state=readout_state, tie_output=tie_output, d_maxout=width))
    )
    source, lengths, target_in = batch_of(LENGTHS)
    out = model(source, lengths, target_in)
    assert out.logits.shape == (B, STEPS, SMALL.target_vocab)
    assert out.weights["cross"].shape == (B, 1, STEPS, SOURCE)
    for b, n in enumerate(LENGTHS):
        words, fed = source[b, :n].tolist(), target_in[b].tolist()
        logits, maps = slow_translation(model, words, fed)
        for i in range(STEPS):
            assert_close(out.logits[b, i], logits[i], rtol=0, atol=1e-9)
            alpha = torch.tensor(maps[i] + [0.0] * (SOURCE - n), dtype=torch.float64)
            assert_close(out.weights["cross"][b, 0, i], alpha, rtol=0, atol=1e-9)


@readouts
def test_stepping_agrees_with_the_same_loop(readout_state):
    model = shaken(Bahdanau(replace(SMALL, readout_state=readout_state)))
    source, lengths, target_in = batch_of(LENGTHS)
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    logits, maps = slow_translation(model, source[2, :4].tolist(), target_in[2].tolist())
    for i in range(STEPS):
        state, out = model.step(state, target_in[:, i], encoded)
        assert_close(out.logits[2], logits[i], rtol=0, atol=1e-9)
        assert out.weights is not None
        alpha = torch.tensor(maps[i] + [0.0, 0.0], dtype=torch.float64)
        assert_close(out.weights[2], alpha, rtol=0, atol=1e-9)


def test_the_two_readouts_are_two_models():
    model, source = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    other = Bahdanau(replace(SMALL, readout_state="current")).double()
    other.load_state_dict(model.state_dict())
    first, second = model(*source), other(*source)
    assert not torch.allclose(first.logits, second.logits)
    assert torch.equal(first.weights["cross"], second.weights["cross"])


def test_the_first_state_comes_from_the_backward_state_at_the_first_word_alone():
    model, (source, lengths, _) = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    before = model.start(model.encode(source, lengths)).s
    e = SMALL.d_encoder
    with torch.no_grad():
        model.encoder.U_zr[0].normal_()
        model.encoder.U[0].normal_()
        model.encoder.W.weight[: 3 * e].normal_()
    assert torch.equal(model.start(model.encode(source, lengths)).s, before)
    with torch.no_grad():
        model.encoder.W.weight[3 * e :].normal_()
    assert not torch.allclose(model.start(model.encode(source, lengths)).s, before)

    for b, n in enumerate(LENGTHS):
        _, back_at_first = slow_annotations(matrices(model), source[b, :n].tolist())
        expected = torch.tanh(model.W_s(back_at_first))
        assert_close(model.start(model.encode(source, lengths)).s[b], expected, rtol=0, atol=1e-9)


# --- another score ---------------------------------------------------------------------------


@pytest.mark.parametrize("score", [name for name in get_args(ScoreName) if name != "additive"])
def test_another_score_is_another_look_in_the_same_model(score):
    square = replace(SMALL, d_state=2 * SMALL.d_encoder)
    additive = shaken(Bahdanau(square))
    model = shaken(Bahdanau(replace(square, score=score, max_keys=SOURCE)))
    rest = {n: p for n, p in additive.named_parameters() if "score" not in n}
    assert set(rest) == {n for n, _ in model.named_parameters() if "score" not in n}
    model.load_state_dict(rest, strict=False)
    source, lengths, target_in = batch_of(LENGTHS)
    out, other = model(source, lengths, target_in), additive(source, lengths, target_in)
    assert not torch.allclose(out.weights["cross"], other.weights["cross"])
    encoded = model.encode(source, lengths)
    query = model.start(encoded).s.unsqueeze(1)
    alpha = model.attention(query, encoded.annotations, encoded.annotations, keep=encoded.keep)
    assert_close(out.weights["cross"][:, 0, :1], alpha.weights)
    state, logits = model.start(encoded), []
    for i in range(STEPS):
        state, step = model.step(state, target_in[:, i], encoded)
        logits.append(step.logits)
    assert_close(torch.stack(logits, 1), out.logits, rtol=0, atol=1e-12)


def test_a_dot_product_needs_states_as_wide_as_annotations():
    with pytest.raises(ValueError, match="'dot' needs d_q = d_k, not 11 and 14"):
        Bahdanau(replace(SMALL, score="dot"))


# --- where it looks --------------------------------------------------------------------------


def test_where_it_looks_depends_on_the_words_before_and_not_on_the_word_being_fed():
    """α_i comes from s_{i−1}: the word y_{i−1}, fed at step i, first moves α_{i+1}."""
    model, (source, lengths, target_in) = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    before = model(source, lengths, target_in)
    for i in range(STEPS):
        changed = target_in.clone()
        changed[:, i] = (changed[:, i] + 7) % SMALL.target_vocab
        after = model(source, lengths, changed)
        moved = (after.weights["cross"] - before.weights["cross"]).abs().amax(dim=(0, 1, 3))
        assert (moved[: i + 1] == 0.0).all()
        assert (moved[i + 1 :] > 1e-9).all()
        differs = (after.logits - before.logits).abs().amax(dim=(0, 2))
        assert (differs[:i] == 0.0).all()
        assert (differs[i:] > 1e-9).all()


def test_the_weights_are_a_distribution_over_the_words_and_nothing_falls_on_padding():
    model, (source, lengths, target_in) = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    weights = model(source, lengths, target_in).weights["cross"]
    words = torch.arange(SOURCE) < lengths[:, None]
    assert_close(weights.sum(dim=-1), torch.ones(B, 1, STEPS).double(), rtol=0, atol=1e-12)
    assert (weights.transpose(1, 3)[~words] == 0.0).all()
    assert (weights.transpose(1, 3)[words] > 0.0).all()


def test_with_v_at_zero_it_looks_at_every_word_alike():
    model, (source, lengths, target_in) = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    nn.init.zeros_(model.attention.score.v.weight)
    weights = model(source, lengths, target_in).weights["cross"]
    for b, n in enumerate(LENGTHS):
        expected = torch.tensor([1 / n] * n + [0.0] * (SOURCE - n)).double()
        assert_close(weights[b, 0], expected.expand(STEPS, SOURCE), rtol=0, atol=1e-7)


def test_every_source_word_can_change_where_it_looks():
    model, (source, lengths, target_in) = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    before = model(source, lengths, target_in).weights["cross"]
    for b, n in enumerate(LENGTHS):
        for j in range(n):
            changed = source.clone()
            changed[b, j] = 4 + (changed[b, j] + 3) % 19
            moved = (model(changed, lengths, target_in).weights["cross"] - before).abs()
            assert (moved[b].amax(dim=-1) > 1e-9).all()
            others = [other for other in range(B) if other != b]
            assert (moved[others] == 0.0).all()


# --- padding ---------------------------------------------------------------------------------


@readouts
def test_a_padded_batch_gives_the_logits_of_the_single_sentences(readout_state):
    model = Bahdanau(replace(SMALL, readout_state=readout_state))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # far from the start, where everything is flat
    source, lengths, target_in = batch_of([6, 1, 4, 2, 5])
    together = model(source, lengths, target_in)
    for b, n in enumerate(lengths.tolist()):
        alone = model(source[b : b + 1, :n], lengths[b : b + 1], target_in[b : b + 1])
        assert_close(together.logits[b], alone.logits[0], rtol=0, atol=1e-5)
        cross = together.weights["cross"][b, ..., :n]
        assert_close(cross, alone.weights["cross"][0], rtol=0, atol=1e-5)


def test_what_stands_on_the_padding_changes_nothing():
    model, (source, lengths, target_in) = shaken(Bahdanau(SMALL)), batch_of(LENGTHS)
    before = model(source, lengths, target_in)
    pads = torch.arange(SOURCE) >= lengths[:, None]
    changed = torch.where(pads, torch.randint(4, SMALL.source_vocab, source.shape), source)
    assert not torch.equal(changed, source)
    after = model(changed, lengths, target_in)
    assert torch.equal(after.logits, before.logits)
    assert torch.equal(after.weights["cross"], before.weights["cross"])


def test_more_padding_than_needed_changes_no_gradient():
    source, lengths, target_in = batch_of(LENGTHS)
    model = shaken(Bahdanau(SMALL))
    wide = torch.cat([source, torch.full((B, 3), PAD)], dim=1)
    gradients = []
    for rows in (source, wide):
        model.zero_grad()
        model(rows, lengths, target_in).logits.square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for narrow, broad in zip(*gradients, strict=True):
        assert_close(narrow, broad, rtol=1e-9, atol=1e-9)


# --- initialisation --------------------------------------------------------------------------


def test_the_papers_initialisation_has_its_figures():
    model = Bahdanau(BahdanauConfig(source_vocab=200, target_vocab=200, init="paper"))
    score = model.attention.score
    assert (score.v.weight == 0.0).all()
    for matrix, std in (
        (score.W.weight, 0.001),
        (score.U.weight, 0.001),
        (model.embed_source.weight[1:], 0.01),
        (model.embed_target.weight[1:], 0.01),
        (model.encoder.W.weight, 0.01),
        (model.W_s.weight, 0.01),
        (model.drive_y.weight, 0.01),
        (model.drive_c.weight, 0.01),
        (model.readout_s.weight, 0.01),
        (model.readout_y.weight, 0.01),
        (model.readout_c.weight, 0.01),
        (model.output.weight, 0.01),
    ):
        assert matrix.std().item() == pytest.approx(std, rel=0.05)
        assert abs(matrix.mean().item()) < std / 10
    for gate in model.cell.U_zr.chunk(2, dim=1):
        assert_close(gate.T @ gate, torch.eye(gate.shape[0]), rtol=0, atol=1e-5)
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    assert len(biases) == 5
    assert all((bias == 0.0).all() for bias in biases)


def test_with_the_papers_initialisation_it_first_looks_at_every_word_alike():
    model = Bahdanau(replace(SMALL, init="paper"))
    source, lengths, target_in = batch_of(LENGTHS)
    weights = model(source, lengths, target_in).weights["cross"]
    for b, n in enumerate(LENGTHS):
        assert_close(weights[b, ..., :n], torch.full((1, STEPS, n), 1 / n))


@pytest.mark.parametrize("init", ["paper", "glorot"])
@pytest.mark.parametrize("tie_output", [False, True])
def test_before_it_has_learnt_anything_every_word_is_as_likely_as_any_other(init, tie_output):
    """Cross-entropy ln V, to five per cent: nothing starts with an opinion."""
    words = 1009
    model = Bahdanau(
        BahdanauConfig(source_vocab=ENGLISH, target_vocab=words, init=init, tie_output=tie_output)
    )
    source, lengths, target_in = batch_of(LENGTHS)
    logits = model(source, lengths, target_in).logits.flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, torch.randint(4, words, (len(logits),)))
    assert loss.item() == pytest.approx(math.log(words), rel=0.05)


def test_padding_has_no_embedding_and_learns_none():
    model = Bahdanau(SMALL)
    source, lengths, target_in = batch_of(LENGTHS)
    target_in[1, 2:] = PAD
    for table in (model.embed_source, model.embed_target):
        assert (table.weight[PAD] == 0.0).all()
    model(source, lengths, target_in).logits.square().sum().backward()
    for table in (model.embed_source, model.embed_target):
        assert table.weight.grad is not None
        assert (table.weight.grad[PAD] == 0.0).all()
        assert (table.weight.grad[EOS + 2 :] != 0.0).any()


# --- one matrix for two jobs -----------------------------------------------------------------


def test_a_tied_output_is_the_very_tensor_of_the_target_embedding():
    model = Bahdanau(replace(SMALL, tie_output=True, d_maxout=5))
    assert model.output.weight is model.embed_target.weight
    assert model.output.weight.data_ptr() == model.embed_target.weight.data_ptr()
    loose = Bahdanau(replace(SMALL, d_maxout=5))
    assert loose.output.weight.data_ptr() != loose.embed_target.weight.data_ptr()
    saved = SMALL.target_vocab * 5
    count = [sum(p.numel() for p in m.parameters()) for m in (loose, model)]
    assert count[0] - count[1] == saved


def test_a_tied_output_gets_the_gradients_of_both_its_jobs():
    tied = shaken(Bahdanau(replace(SMALL, tie_output=True, d_maxout=5)))
    loose = Bahdanau(replace(SMALL, d_maxout=5)).double()
    loose.load_state_dict(tied.state_dict())
    source, lengths, target_in = batch_of(LENGTHS)
    for model in (tied, loose):
        model(source, lengths, target_in).logits.square().sum().backward()
    as_input, as_output = loose.embed_target.weight.grad, loose.output.weight.grad
    assert as_input is not None
    assert as_output is not None
    assert tied.output.weight.grad is not None
    assert as_input.abs().max() > 1e-3
    assert as_output.abs().max() > 1e-3
    assert_close(tied.output.weight.grad, as_input + as_output, rtol=1e-9, atol=1e-9)


def test_a_tied_output_needs_a_maxout_as_wide_as_the_embedding():
    with pytest.raises(ValueError, match=r"^tie_output needs d_maxout = d_embedding, not 3 and 5$"):
        replace(SMALL, tie_output=True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"readout_state": "next"}, "readout_state='next' is none of previous, current"),
        ({"init": "zeros"}, "init='zeros' is none of paper, glorot"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_by_name(option, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **option)


# --- learning --------------------------------------------------------------------------------


@readouts
def test_it_learns_one_small_batch_by_heart_in_under_five_seconds(readout_state):
    model = Bahdanau(
        BahdanauConfig(
            source_vocab=SMALL.source_vocab,
            target_vocab=SMALL.target_vocab,
            d_embedding=16,
            d_encoder=16,
            d_state=24,
            d_align=16,
            d_maxout=16,
            readout_state=readout_state,
        )
    )
    source, lengths, target_in = batch_of([5, 3, 6, 2, 4])
    target = torch.cat([target_in, torch.full((5, 1), EOS)], dim=1)
    batch = Batch(source, lengths, target, torch.full((5,), STEPS + 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    began = time.process_time()
    for _ in range(60):
        optimiser.zero_grad()
        loss = translation_loss(model, batch)
        loss.backward()
        optimiser.step()
    assert time.process_time() - began < 5
    assert loss.item() < 0.05
    assert torch.equal(model(source, lengths, target_in).logits.argmax(dim=-1), target[:, 1:])


def test_dropout_makes_training_noisy_and_nothing_else():
    model = Bahdanau(replace(SMALL, dropout=0.5))
    calm = Bahdanau(SMALL)
    calm.load_state_dict(model.state_dict())
    source = batch_of(LENGTHS)
    assert not torch.equal(model(*source).logits, model(*source).logits)
    model.eval()
    assert torch.equal(model(*source).logits, calm(*source).logits)


def test_a_sentence_of_five_hundred_words_is_no_trouble():
    model = Bahdanau(SMALL)
    source, lengths, target_in = batch_of([500, 3])
    out = model(source, lengths, target_in)
    assert out.logits.isfinite().all()
    assert_close(out.weights["cross"].sum(dim=-1), torch.ones(2, 1, STEPS))
