"""LSTMN against its equations, against an LSTM, and against what its tapes promise."""

import math
from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from shaken import ENGLISH, FRENCH, LENGTHS, STEPS, B, batch_of, shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.data.batches import Batch
from heed.data.vocabulary import BOS, EOS, PAD
from heed.models.lstmn import (
    LSTMN,
    LSTMLanguageConfig,
    LSTMLanguageModel,
    LSTMNLanguageConfig,
    LSTMNLanguageModel,
    LSTMNTranslator,
    LSTMNTranslatorConfig,
    Recall,
    RecallConfig,
)
from heed.models.translator import Translator, select
from heed.training.objectives import translation_loss

D_X, D, D_A, TEXT = 5, 7, 11, 6  # widths no two of which are equal
OPTIONS = {
    f"{'null stays' if null else 'null leaves'}, {'with' if summary else 'without'} summary": {
        "keep_null": null,
        "previous_summary": summary,
    }
    for null, summary in product((True, False), (True, False))
}


@pytest.fixture(params=OPTIONS.values(), ids=OPTIONS)
def layer(request) -> LSTMN:
    return shaken(LSTMN(d_input=D_X, d_state=D, d_align=D_A, **request.param))


def random_first() -> tuple[Tensor, Tensor]:
    return torch.randn(B, D).double(), torch.randn(B, D).double()


def step_by_step(layer: LSTMN, x: Tensor, first: tuple[Tensor, Tensor]):
    """h, c and the map, from ``step`` alone, with autograd."""
    state, outs = layer.start(*first), []
    for each in x.unbind(1):
        state, out = layer.step(state, each)
        outs.append(out)
    width = x.shape[1]
    weights = [nn.functional.pad(o.weights, (0, width - o.weights.shape[1])) for o in outs]
    h, c = torch.stack([o.h for o in outs], 1), torch.stack([o.c for o in outs], 1)
    return h, c, torch.stack(weights, 1)


# ------------------------------------------------------------------ the equations


def slow_lstmn(layer: LSTMN, x: list[list[float]]):
    """Eq. 4 to 9, one number at a time, for one text; zeros in the null slot."""
    W, U = layer.score.W.weight.tolist(), layer.score.U.weight.tolist()
    v = layer.score.v.weight[0].tolist()
    gates_x, bias = layer.gates_x.weight.tolist(), layer.gates_x.bias.tolist()
    gates_h = layer.gates_h.weight.tolist()

    def times(rows: list[list[float]], vector: list[float]) -> list[float]:
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]

    def sigmoid(value: float) -> float:
        return 1 / (1 + math.exp(-value))

    H, C, looked = [[0.0] * D], [[0.0] * D], []
    summary = [0.0] * D
    for t, x_t in enumerate(x):
        q = times(W, x_t + summary if layer.previous_summary else x_t)
        low = 0 if layer.keep_null or t == 0 else 1
        a = []
        for h_i in H[low:]:
            key = times(U, h_i)
            a.append(sum(v[k] * math.tanh(key[k] + q[k]) for k in range(D_A)))
        total = sum(math.exp(each) for each in a)
        s = [0.0] * low + [math.exp(each) / total for each in a]
        summary = [sum(s[i] * H[i][k] for i in range(len(H))) for k in range(D)]
        memory = [sum(s[i] * C[i][k] for i in range(len(C))) for k in range(D)]
        drive = [
            p + q + b
            for p, q, b in zip(times(gates_x, x_t), times(gates_h, summary), bias, strict=True)
        ]
        i, f, new, o = (drive[k * D : (k + 1) * D] for k in range(4))
        c = [sigmoid(f[k]) * memory[k] + sigmoid(i[k]) * math.tanh(new[k]) for k in range(D)]
        H.append([sigmoid(o[k]) * math.tanh(c[k]) for k in range(D)])
        C.append(c)
        looked.append(s + [0.0] * (len(x) - len(s)))
    return H[1:], C[1:], looked


def test_it_agrees_with_a_loop_written_from_its_equations(layer):
    x = torch.randn(B, TEXT, D_X).double()
    read = layer(x)
    for b in range(B):
        for found, expected in zip(
            (read.h[b], read.c[b], read.weights[b]), slow_lstmn(layer, x[b].tolist()), strict=True
        ):
            assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)


def test_reading_at_once_or_word_by_word_is_the_same(layer):
    x, first = torch.randn(B, TEXT, D_X).double(), random_first()
    read = layer(x, first)
    for found, expected in zip(
        (read.h, read.c, read.weights), step_by_step(layer, x, first), strict=True
    ):
        assert_close(found, expected, rtol=0, atol=1e-12)


def test_the_written_out_backward_pass_gives_autograds_gradients(layer):
    x = torch.randn(B, TEXT, D_X).double().requires_grad_()
    first = tuple(each.requires_grad_() for each in random_first())
    read = layer(x, first)
    at_once = read.h, read.c, read.weights
    stepwise = step_by_step(layer, x, first)
    sources = [x, *first, *layer.parameters()]
    by = [torch.randn_like(each) for each in at_once]
    for wanted in ([0], [1], [2], [0, 1, 2]):
        ours, autograds = (
            torch.autograd.grad(
                sum((found[k] * by[k]).sum() for k in wanted), sources, retain_graph=True
            )
            for found in (at_once, stepwise)
        )
        for found, expected in zip(ours, autograds, strict=True):
            assert_close(found, expected, rtol=0, atol=1e-11)


def test_under_autocast_the_tapes_stay_in_full_precision():
    layer = LSTMN(d_input=D_X, d_state=D, d_align=D_A)
    x = torch.randn(B, TEXT, D_X, requires_grad=True)
    plain = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        read = layer(x)
    assert read.h.dtype == read.weights.dtype == torch.float32
    assert_close(read.h, plain.h, rtol=0, atol=0.02)
    read.h.sum().backward()
    assert all(each.grad is not None for each in layer.parameters())


# ------------------------------------------------------------------ what the reference asks for


class LastSlot(nn.Module):
    """A look that has made up its mind: all weight on the slot of the step before."""

    def prepare(self, keys: Tensor) -> Tensor:
        return keys

    def compare(self, query: Tensor, prepared: Tensor) -> Tensor:
        scores = torch.full(
            (len(query), 1, prepared.shape[1]), -1e4, dtype=query.dtype, device=query.device
        )
        scores[..., -1] = 0.0
        return scores


@pytest.mark.parametrize(("dtype", "off"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_with_all_weight_on_the_last_slot_it_is_an_lstm(dtype, off):
    layer = shaken(LSTMN(d_input=D_X, d_state=D, d_align=D_A)).to(dtype)
    layer.score = layer.attention.score = LastSlot()
    cell = nn.LSTMCell(D_X, D).to(dtype)
    with torch.no_grad():
        cell.weight_ih.copy_(layer.gates_x.weight)
        cell.weight_hh.copy_(layer.gates_h.weight)
        cell.bias_ih.copy_(layer.gates_x.bias)
        cell.bias_hh.zero_()
    h, c = (each.to(dtype) for each in random_first())
    state = layer.start(h, c)
    for x in torch.randn(9, B, D_X).to(dtype):
        state, out = layer.step(state, x)
        h, c = cell(x, (h, c))
        assert_close(out.h, h, rtol=0, atol=off)
        assert_close(out.c, c, rtol=0, atol=off)


def test_forced_by_its_own_weights_it_reads_a_whole_text_as_an_lstm_does():
    """The same through ``forward``: the last slot is the only one that a huge v_k sees.

    A unit of h that grows with each step is what the score reads.
    """
    layer = shaken(LSTMN(d_input=D_X, d_state=D, d_align=D_A, previous_summary=False)).double()
    lstm = nn.LSTM(D_X, D, batch_first=True).double()
    with torch.no_grad():
        layer.gates_h.weight[:, 0] = 0.0
        for gate, bias in enumerate((9.0, 40.0, 0.05, 40.0)):  # unit 0 counts: i, f, ĉ, o
            row = gate * D
            layer.gates_x.weight[row], layer.gates_h.weight[row] = 0.0, 0.0
            layer.gates_x.bias[row] = bias
        layer.score.W.weight.zero_()
        layer.score.U.weight.zero_()
        layer.score.U.weight[0, 0] = 0.1
        layer.score.v.weight.zero_()
        layer.score.v.weight[0, 0] = 1e5
        lstm.weight_ih_l0.copy_(layer.gates_x.weight)
        lstm.weight_hh_l0.copy_(layer.gates_h.weight)
        lstm.bias_ih_l0.copy_(layer.gates_x.bias)
        lstm.bias_hh_l0.zero_()
    x = torch.randn(B, TEXT, D_X).double()
    read = layer(x)
    assert_close(read.weights, torch.eye(TEXT).double().expand(B, -1, -1), rtol=0, atol=1e-12)
    assert_close(read.h, lstm(x)[0], rtol=0, atol=1e-9)


def test_a_word_is_not_seen_before_it_is_read(layer):
    x = torch.randn(B, TEXT, D_X).double()
    before = layer(x)
    for i in range(TEXT):
        changed = x.clone()
        changed[:, i] += 1.0
        after = layer(changed)
        for found, expected in ((after.h, before.h), (after.weights, before.weights)):
            assert torch.equal(found[:, :i], expected[:, :i])
        assert not torch.equal(after.h[:, i], before.h[:, i])


def test_the_first_step_is_an_lstm_step_from_zeros(layer):
    x = torch.randn(B, 1, D_X).double()
    cell = nn.LSTMCell(D_X, D).double()
    with torch.no_grad():
        cell.weight_ih.copy_(layer.gates_x.weight)
        cell.weight_hh.copy_(layer.gates_h.weight)
        cell.bias_ih.copy_(layer.gates_x.bias)
        cell.bias_hh.zero_()
    read = layer(x)
    h, c = cell(x[:, 0])
    assert_close(read.h[:, 0], h, rtol=0, atol=1e-12)
    assert_close(read.c[:, 0], c, rtol=0, atol=1e-12)
    assert_close(read.weights, torch.ones(B, 1, 1).double(), rtol=0, atol=0)


def test_the_weights_of_a_step_are_one_together_and_lie_before_it(layer):
    weights = layer(torch.randn(B, TEXT, D_X).double()).weights
    assert_close(weights.sum(dim=-1), torch.ones(B, TEXT).double())
    seen = (weights > 0).all(dim=0)
    expected = torch.ones(TEXT, TEXT).tril().bool()
    if not layer.keep_null:
        expected[1:, 0] = False
    assert torch.equal(seen, expected)


def test_without_the_summary_term_it_is_the_authors_encoder():
    """W_h̃ set to zero and W_h̃ left out are the same."""
    whole = shaken(LSTMN(d_input=D_X, d_state=D, d_align=D_A))
    without = shaken(LSTMN(d_input=D_X, d_state=D, d_align=D_A, previous_summary=False))
    x = torch.randn(B, TEXT, D_X).double()
    with torch.no_grad():
        for name, parameter in without.named_parameters():
            source = whole.get_parameter(name)
            parameter.copy_(source[:, :D_X] if name == "score.W.weight" else source)
        assert not torch.allclose(whole(x).h, without(x).h)
        whole.score.W.weight[:, D_X:] = 0.0
    assert_close(whole(x).h, without(x).h, rtol=0, atol=1e-12)


def test_the_null_slot_stays_or_leaves_as_told():
    x = torch.randn(B, TEXT, D_X).double()
    stays = shaken(LSTMN(d_input=D_X, d_state=D, d_align=D_A))
    leaves = LSTMN(d_input=D_X, d_state=D, d_align=D_A, keep_null=False).double()
    leaves.load_state_dict(stays.state_dict())
    assert (stays(x).weights[:, 1:, 0] > 0).all()
    assert (leaves(x).weights[:, 1:, 0] == 0).all()


def test_a_step_changes_nothing_that_it_was_given(layer):
    """Two continuations of one state do not know of each other."""
    state = layer.start(*random_first())
    for x in torch.randn(3, B, D_X).double():
        state, _ = layer.step(state, x)
    x, other = torch.randn(2, B, D_X).double()
    once, _ = layer.step(state, x)
    layer.step(state, other)
    again, _ = layer.step(state, x)
    assert state.tape.shape[1] == 4
    assert torch.equal(once.tape, again.tape)


def test_padding_leaves_no_trace_wherever_it_stands(layer):
    """Steps that are not real, before, between and after real ones, change nothing for them."""
    x, first = torch.randn(B, 3, D_X).double(), random_first()
    h, _, _ = step_by_step(layer, x, first)
    for pattern in ("..xxx", "x.x.x", "xxx..", ".x..xx"):
        state, found, words = layer.start(*first), [], iter(x.unbind(1))
        for mark in pattern:
            real = mark == "x"
            word = next(words) if real else torch.randn(B, D_X).double()
            state, out = layer.step(state, word, torch.full((B,), real))
            found += [out.h] * real
        assert_close(torch.stack(found, 1), h, rtol=0, atol=1e-12)


def test_each_row_has_its_own_padding(layer):
    x, first = torch.randn(B, 4, D_X).double(), random_first()
    state, outs = layer.start(*first), []
    for t, each in enumerate(x.unbind(1)):
        state, out = layer.step(state, each, torch.tensor([True, t != 1, t != 2]))
        outs.append(out.h)
    for row, dropped in ((0, None), (1, 1), (2, 2)):
        kept = [t for t in range(4) if t != dropped]
        alone, _, _ = step_by_step(
            layer, x[row : row + 1, kept], (first[0][row : row + 1], first[1][row : row + 1])
        )
        assert_close(outs[3][row], alone[0, -1], rtol=0, atol=1e-12)


def test_what_follows_a_text_does_not_reach_it(layer):
    x = torch.randn(B, TEXT, D_X).double()
    longer = torch.cat([x, torch.randn(B, 4, D_X).double()], dim=1)
    assert_close(layer(longer).h[:, :TEXT], layer(x).h, rtol=0, atol=1e-12)


def test_no_text_of_a_batch_sees_another(layer):
    x = torch.randn(B, TEXT, D_X).double()
    changed = x.clone()
    changed[1] += 1.0
    before, after = layer(x).h, layer(changed).h
    assert torch.equal(after[[0, 2]], before[[0, 2]])
    assert not torch.allclose(after[1], before[1])


def test_a_text_of_five_hundred_words_is_no_trouble():
    layer = LSTMN(d_input=D_X, d_state=D, d_align=D_A)
    x = torch.randn(1, 500, D_X, requires_grad=True)
    read = layer(x)
    read.h[:, -1].sum().backward()
    assert read.h.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert (x.grad[0].abs().sum(dim=-1) > 0).all()


# ------------------------------------------------------------------ language models

WORDS = 29
LANGUAGE = {
    "lstmn": lambda **more: LSTMNLanguageModel(
        LSTMNLanguageConfig(vocab=WORDS, d_embedding=D_X, d_state=D, d_align=D_A, **more)
    ),
    "lstm": lambda **more: LSTMLanguageModel(
        LSTMLanguageConfig(vocab=WORDS, d_embedding=D_X, d_state=D, **more)
    ),
}


@pytest.fixture(params=product(LANGUAGE, (True, False)), ids=str)
def language(request):
    cell, tie_output = request.param
    return shaken(LANGUAGE[cell](tie_output=tie_output))


def some_words(batch: int = B) -> Tensor:
    tokens = torch.randint(EOS + 2, WORDS, (batch, TEXT))
    tokens[:, 0] = BOS
    return tokens


def test_a_language_model_scores_word_by_word_as_it_does_at_once(language):
    tokens = some_words()
    at_once, state = language(tokens), language.start(B)
    for t in range(TEXT):
        state, out = language.step(state, tokens[:, t])
        assert_close(out.logits, at_once.logits[:, t], rtol=0, atol=1e-12)
        if at_once.weights is not None:
            assert_close(out.weights, at_once.weights[:, t, : t + 1], rtol=0, atol=1e-12)


def test_padding_after_a_text_does_not_change_its_scores(language):
    tokens = some_words()
    longer = torch.cat([tokens, torch.full((B, 3), PAD)], dim=1)
    assert_close(language(longer).logits[:, :TEXT], language(tokens).logits, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", LANGUAGE)
def test_a_language_model_learns_a_few_sentences_by_heart(cell):
    model = LANGUAGE[cell](tie_output=True)
    tokens = some_words(4)
    wanted = torch.cat([tokens[:, 1:], torch.full((4, 1), EOS)], dim=1).flatten()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(250):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens).logits.flatten(0, 1), wanted)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 3.0
    # The word after <s> cannot be known: four sentences, ln 4 nats once in six words.
    assert losses[-1] < math.log(4) / TEXT + 0.08


@pytest.mark.parametrize("cell", LANGUAGE)
def test_an_untrained_language_model_finds_all_words_about_as_likely(cell):
    model = LANGUAGE[cell](tie_output=True)
    spread = model(some_words()).logits.softmax(dim=-1)[..., PAD + 1 :]
    assert spread.max() < 3 / WORDS


# ------------------------------------------------------------------ recall


@pytest.mark.parametrize("cell", ["lstmn", "lstm"])
def test_recall_answers_the_last_step_and_shows_where_it_looked(cell):
    model = Recall(RecallConfig(keys=13, values=17, d_embedding=D_X, d_state=D, cell=cell))
    keys, values = torch.randint(13, (B, 9)), torch.randint(17, (B, 9))
    values[:, -1] = 17
    out = model(keys, values)
    assert out.logits.shape == (B, 17)
    assert (out.weights is None) == (cell == "lstm")


def test_another_cell_is_refused():
    config = RecallConfig(keys=1, values=1)
    object.__setattr__(config, "cell", "gru")  # the type checks would refuse it before we do
    with pytest.raises(ValueError, match=r"^cell='gru' is none of lstmn, lstm$"):
        config.__post_init__()


# ------------------------------------------------------------------ translation

TRANSLATOR = LSTMNTranslatorConfig(
    source_vocab=ENGLISH, target_vocab=FRENCH, d_embedding=D_X, d_state=D, d_align=D_A
)


@pytest.fixture(params=["shallow", "deep"])
def translator(request):
    return shaken(LSTMNTranslator(replace(TRANSLATOR, fusion=request.param)))


def test_a_known_target_at_once_or_word_by_word_is_the_same(translator):
    source, lengths, target_in = batch_of(LENGTHS)
    at_once, encoded = translator(source, lengths, target_in), translator.encode(source, lengths)
    state = translator.start(encoded)
    for t in range(STEPS):
        state, out = translator.step(state, target_in[:, t], encoded)
        assert_close(out.logits, at_once.logits[:, t], rtol=0, atol=1e-12)
        assert_close(out.weights, at_once.weights["cross"][:, 0, t], rtol=0, atol=1e-12)


def test_it_has_three_maps_whose_rows_are_one_together(translator):
    source, lengths, target_in = batch_of(LENGTHS)
    maps = translator(source, lengths, target_in).weights
    assert {name: tuple(each.shape) for name, each in maps.items()} == {
        "cross": (B, 1, STEPS, source.shape[1]),
        "encoder": (B, 1, source.shape[1], source.shape[1]),
        "decoder": (B, 1, STEPS, STEPS),
    }
    for each in maps.values():
        assert_close(each.sum(dim=-1), torch.ones(each.shape[:-1]).double())
    for row, length in enumerate(LENGTHS):
        assert (maps["cross"][row, :, :, length:] == 0).all()


def test_source_padding_changes_no_translation(translator):
    source, lengths, target_in = batch_of(LENGTHS)
    before = translator(source, lengths, target_in).logits
    wide = torch.cat([source, torch.full((B, 2), PAD)], dim=1)
    pads = torch.arange(wide.shape[1]) >= lengths[:, None]
    wide = torch.where(pads, torch.randint(4, ENGLISH, wide.shape), wide)
    assert_close(translator(wide, lengths, target_in).logits, before, rtol=0, atol=1e-12)


def test_deep_fusion_adds_the_sources_memory_to_the_own_one():
    """c_t = r ∘ α̃ + f ∘ c̃ + i ∘ ĉ, taken apart with a gate that is shut and one that is open."""
    model = shaken(LSTMNTranslator(TRANSLATOR))
    source, lengths, target_in = batch_of(LENGTHS)
    encoded = model.encode(source, lengths)
    memories = {}
    for name, bias in (("shut", -1e3), ("open", 1e3)):
        with torch.no_grad():
            model.fuse.weight.zero_()
            model.fuse.bias.fill_(bias)
        state, out = model.step(model.start(encoded), target_in[:, 0], encoded)
        memories[name] = state.tape[:, 1, D:]
    assert out.weights is not None
    alpha = (out.weights.unsqueeze(1) @ encoded.tape[..., D:]).squeeze(1)
    assert_close(memories["open"] - memories["shut"], alpha, rtol=0, atol=1e-12)
    state, own = model.decoder.step(
        model.decoder.start(encoded.h, encoded.c), model.embed_target(target_in[:, 0])
    )
    assert_close(memories["shut"], own.c, rtol=0, atol=1e-12)


def test_shallow_fusion_leaves_the_memory_alone():
    model = shaken(LSTMNTranslator(replace(TRANSLATOR, fusion="shallow")))
    source, lengths, target_in = batch_of(LENGTHS)
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    for t in range(STEPS):
        state, _ = model.step(state, target_in[:, t], encoded)
    read = model.decoder(model.embed_target(target_in), (encoded.h, encoded.c))
    assert_close(state.tape[:, 1:], torch.cat([read.h, read.c], dim=-1), rtol=0, atol=1e-12)


def test_the_authors_encoder_can_be_had_in_a_translator(translator):
    """W_h̃ of the encoder set to zero and left out are the same; the decoder keeps its own."""
    config = replace(translator.config, encoder_previous_summary=False)
    without = shaken(LSTMNTranslator(config))
    given = batch_of(LENGTHS)
    with torch.no_grad():
        for name, parameter in without.named_parameters():
            source = translator.get_parameter(name)
            parameter.copy_(source[:, :D_X] if name == "encoder.score.W.weight" else source)
        assert not torch.allclose(translator(*given).logits, without(*given).logits)
        translator.encoder.score.W.weight[:, D_X:] = 0.0
    assert_close(translator(*given).logits, without(*given).logits, rtol=0, atol=1e-12)


def test_a_beam_may_drop_double_and_reorder_rows(translator):
    source, lengths, target_in = batch_of(LENGTHS)
    assert isinstance(translator, Translator)
    encoded = translator.encode(source, lengths)
    state = translator.start(encoded)
    for t in range(2):
        state, _ = translator.step(state, target_in[:, t], encoded)
    rows = torch.tensor([2, 0, 0])
    _, whole = translator.step(state, target_in[:, 2], encoded)
    _, chosen = translator.step(select(state, rows), target_in[rows, 2], select(encoded, rows))
    assert_close(chosen.logits, whole.logits[rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("fusion", ["shallow", "deep"])
def test_a_translator_learns_a_few_sentences_by_heart(fusion):
    model = LSTMNTranslator(
        replace(TRANSLATOR, d_embedding=16, d_state=24, d_align=16, fusion=fusion)
    )
    source, lengths, target_in = batch_of([5, 3, 6, 2, 4])
    target = torch.cat([target_in, torch.full((5, 1), EOS)], dim=1)
    batch = Batch(source, lengths, target, torch.full((5,), STEPS + 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(100):
        optimiser.zero_grad()
        loss = translation_loss(model, batch)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05
    assert all(later < earlier for earlier, later in pairwise(losses[::33]))
    assert torch.equal(model(source, lengths, target_in).logits.argmax(dim=-1), target[:, 1:])


def test_an_unknown_fusion_is_refused():
    config = replace(TRANSLATOR)
    object.__setattr__(config, "fusion", "none")  # the type checks would refuse it before we do
    with pytest.raises(ValueError, match=r"^fusion='none' is none of shallow, deep$"):
        config.__post_init__()
