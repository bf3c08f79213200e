"""The first translator: what is in the vector, what is not, and that nothing else gets through."""

import math
import time
from dataclasses import replace

import pytest
import torch
from shaken import ENGLISH, FRENCH, LENGTHS, SOURCE, STEPS, B, batch_of, shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.data.batches import Batch
from heed.data.vocabulary import EOS, PAD
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig, Thought
from heed.training.objectives import translation_loss

SMALL = Seq2SeqConfig(  # primes: no two axes can be confused
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_embedding=5,
    d_hidden=7,
    layers=3,
    reverse_source=True,
)
directions = pytest.mark.parametrize("reverse_source", [True, False], ids=["reversed", "forward"])


# --- the equations ---------------------------------------------------------------------------


def slow_lstm(
    lstm: nn.LSTM, inputs: list[Tensor], state: list[tuple[Tensor, Tensor]]
) -> tuple[list[Tensor], list[tuple[Tensor, Tensor]]]:
    """The top layer's h at every step and the last (h, c) of every layer, for one sentence.

    i, f, o = σ(…), g = tanh(…); c′ = f ∘ c + i ∘ g; h′ = o ∘ tanh c′
    """
    tops, state = [], list(state)
    for x in inputs:
        for layer, (h, c) in enumerate(state):
            W, U = getattr(lstm, f"weight_ih_l{layer}"), getattr(lstm, f"weight_hh_l{layer}")
            b = getattr(lstm, f"bias_ih_l{layer}") + getattr(lstm, f"bias_hh_l{layer}")
            i, f, g, o = (W @ x + U @ h + b).chunk(4)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            state[layer] = (h, c)
            x = h
        tops.append(x)
    return tops, state


def slow_translation(model: Seq2Seq, words: list[int], target_in: list[int]) -> list[Tensor]:
    """The logits of every step, for one sentence without padding that ends with EOS."""
    *body, end = words
    order = [*(body[::-1] if model.config.reverse_source else body), end]
    nothing = torch.zeros(model.config.d_hidden, dtype=torch.float64)
    empty = [(nothing, nothing)] * model.config.layers
    _, v = slow_lstm(model.encoder, [model.embed_source.weight[w] for w in order], empty)
    tops, _ = slow_lstm(model.decoder, [model.embed_target.weight[w] for w in target_in], v)
    if not isinstance(model.to_embedding, nn.Identity):
        tops = [model.to_embedding.weight @ h for h in tops]
    return [model.output.weight @ h + model.output.bias for h in tops]


@directions
@pytest.mark.parametrize("tie_output", [False, True])
def test_the_whole_model_agrees_with_a_loop_over_layers_and_steps(reverse_source, tie_output):
    model = shaken(Seq2Seq(replace(SMALL, reverse_source=reverse_source, tie_output=tie_output)))
    source, lengths, target_in = batch_of(LENGTHS)
    out = model(source, lengths, target_in)
    assert out.logits.shape == (B, STEPS, SMALL.target_vocab)
    assert out.weights == {}
    for b, n in enumerate(LENGTHS):
        logits = slow_translation(model, source[b, :n].tolist(), target_in[b].tolist())
        assert_close(out.logits[b], torch.stack(logits), rtol=0, atol=1e-9)


# --- the vector ------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["h", "c"])
@pytest.mark.parametrize("layer", range(SMALL.layers))
def test_h_and_c_of_every_layer_reach_the_decoder(part, layer):
    model, (source, lengths, target_in) = shaken(Seq2Seq(SMALL)), batch_of(LENGTHS)
    thought = model.start(model.encode(source, lengths))
    assert thought.h.shape == thought.c.shape == (B, SMALL.layers, SMALL.d_hidden)
    moved = getattr(thought, part).clone()
    moved[:, layer] += 0.1
    _, before = model.step(thought, target_in[:, 0], thought)
    _, after = model.step(replace(thought, **{part: moved}), target_in[:, 0], thought)
    assert ((after.logits - before.logits).abs().amax(dim=-1) > 1e-9).all()


def test_the_decoder_starts_from_the_encoders_last_states_of_all_layers():
    """Compared with an LSTM that reads the unpadded sentence, layer by layer."""
    model, (source, lengths, _) = shaken(Seq2Seq(SMALL)), batch_of(LENGTHS)
    thought = model.start(model.encode(source, lengths))
    for b, n in enumerate(LENGTHS):
        order = [*source[b, : n - 1].tolist()[::-1], EOS]
        _, (h, c) = model.encoder(model.embed_source(torch.tensor([order])))
        assert_close(thought.h[b], h[:, 0], rtol=0, atol=1e-12)
        assert_close(thought.c[b], c[:, 0], rtol=0, atol=1e-12)


def test_the_decoder_knows_of_the_source_what_is_in_the_vector_and_no_more():
    model, (source, lengths, target_in) = shaken(Seq2Seq(SMALL)), batch_of(LENGTHS)
    thought = model.encode(source, lengths)
    out = model(source, lengths, target_in)

    nonsense = Thought(torch.full_like(thought.h, 1e3), torch.full_like(thought.c, -1e3))
    state = Thought(thought.h.clone(), thought.c.clone())
    for i in range(STEPS):
        state, step = model.step(state, target_in[:, i], nonsense)
        assert step.weights is None
        assert_close(step.logits, out.logits[:, i], rtol=0, atol=1e-12)


def test_sixty_words_fit_in_the_same_vector_as_two():
    model = shaken(Seq2Seq(SMALL))
    for n in (2, 61):
        source, lengths, _ = batch_of([n])
        thought = model.encode(source, lengths)
        assert thought.h.numel() + thought.c.numel() == 2 * SMALL.layers * SMALL.d_hidden


def test_every_word_of_the_source_moves_the_vector():
    model, (source, lengths, _) = shaken(Seq2Seq(SMALL)), batch_of(LENGTHS)
    before = model.encode(source, lengths)
    for b, n in enumerate(LENGTHS):
        for j in range(n):
            changed = source.clone()
            changed[b, j] = 4 + (changed[b, j] + 3) % 19
            after = model.encode(changed, lengths)
            assert not torch.allclose(after.h[b], before.h[b], rtol=0, atol=1e-9)
            others = [other for other in range(B) if other != b]
            assert torch.equal(after.h[others], before.h[others])


def test_encoder_and_decoder_are_two_networks():
    model = Seq2Seq(replace(SMALL, source_vocab=29))
    assert {p.data_ptr() for p in model.encoder.parameters()}.isdisjoint(
        p.data_ptr() for p in model.decoder.parameters()
    )
    assert model.embed_source.weight.data_ptr() != model.embed_target.weight.data_ptr()
    for one, other in zip(model.encoder.parameters(), model.decoder.parameters(), strict=True):
        assert one.shape == other.shape
        assert not torch.allclose(one, other)


# --- reading backwards -----------------------------------------------------------------------


def turned(source: Tensor, lengths: Tensor) -> Tensor:
    """Each sentence back to front by hand, its EOS and padding where they were."""
    rows = source.clone()
    for row, n in zip(rows, lengths.tolist(), strict=True):
        row[: n - 1] = row[: n - 1].flip(0)
    return rows


def test_reading_backwards_is_reading_the_words_turned_round_and_eos_last():
    model = shaken(Seq2Seq(SMALL))
    forward = Seq2Seq(replace(SMALL, reverse_source=False)).double()
    forward.load_state_dict(model.state_dict())
    source, lengths, target_in = batch_of(LENGTHS)
    rows = turned(source, lengths)
    assert not torch.equal(rows, source)
    assert all(row[n - 1] == EOS for row, n in zip(rows, LENGTHS, strict=True))
    backwards = model(source, lengths, target_in).logits
    assert torch.equal(backwards, forward(rows, lengths, target_in).logits)
    assert not torch.allclose(backwards, forward(source, lengths, target_in).logits)


def test_the_caller_keeps_his_sentence_the_right_way_round():
    model, (source, lengths, target_in) = shaken(Seq2Seq(SMALL)), batch_of(LENGTHS)
    before = source.clone()
    model(source, lengths, target_in)
    assert torch.equal(source, before)


def test_a_sentence_of_one_word_or_none_has_nothing_to_turn():
    model = shaken(Seq2Seq(SMALL))
    forward = Seq2Seq(replace(SMALL, reverse_source=False)).double()
    forward.load_state_dict(model.state_dict())
    source = batch_of([2, 1])
    assert torch.equal(model(*source).logits, forward(*source).logits)


# --- padding ---------------------------------------------------------------------------------


@directions
def test_a_padded_batch_gives_the_logits_of_the_single_sentences(reverse_source):
    model = Seq2Seq(replace(SMALL, reverse_source=reverse_source))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # far from the start, where everything is flat
    source, lengths, target_in = batch_of([6, 1, 4, 2, 5])
    together = model(source, lengths, target_in).logits
    for b, n in enumerate(lengths.tolist()):
        alone = model(source[b : b + 1, :n], lengths[b : b + 1], target_in[b : b + 1]).logits
        assert_close(together[b], alone[0], rtol=0, atol=1e-5)


@directions
def test_what_stands_on_the_padding_changes_nothing(reverse_source):
    model = shaken(Seq2Seq(replace(SMALL, reverse_source=reverse_source)))
    source, lengths, target_in = batch_of(LENGTHS)
    pads = torch.arange(SOURCE) >= lengths[:, None]
    changed = torch.where(pads, torch.randint(4, SMALL.source_vocab, source.shape), source)
    assert not torch.equal(changed, source)
    before, after = (model(rows, lengths, target_in).logits for rows in (source, changed))
    assert torch.equal(before, after)


def test_padding_has_no_embedding_and_learns_none():
    model = Seq2Seq(SMALL)
    source, lengths, target_in = batch_of(LENGTHS)
    target_in[1, 2:] = PAD
    for table in (model.embed_source, model.embed_target):
        assert (table.weight[PAD] == 0.0).all()
    model(source, lengths, target_in).logits.square().sum().backward()
    for table in (model.embed_source, model.embed_target):
        assert table.weight.grad is not None
        assert (table.weight.grad[PAD] == 0.0).all()
        assert (table.weight.grad[EOS + 2 :] != 0.0).any()


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d_hidden", [7, 5])
def test_a_tied_output_is_the_very_tensor_of_the_target_embedding(d_hidden):
    model = Seq2Seq(replace(SMALL, tie_output=True, d_hidden=d_hidden))
    assert model.output.weight is model.embed_target.weight
    assert model.output.weight.data_ptr() == model.embed_target.weight.data_ptr()
    assert isinstance(model.to_embedding, nn.Identity) == (d_hidden == 5)
    loose = Seq2Seq(SMALL)
    assert loose.output.weight.data_ptr() != loose.embed_target.weight.data_ptr()


def test_a_tied_output_gets_the_gradients_of_both_its_jobs():
    tied = shaken(Seq2Seq(replace(SMALL, tie_output=True, d_hidden=5)))
    loose = Seq2Seq(replace(SMALL, d_hidden=5)).double()
    loose.load_state_dict(tied.state_dict())
    source = batch_of(LENGTHS)
    for model in (tied, loose):
        model(*source).logits.square().sum().backward()
    as_input, as_output = loose.embed_target.weight.grad, loose.output.weight.grad
    assert as_input is not None
    assert as_output is not None
    assert tied.output.weight.grad is not None
    assert as_input.abs().max() > 1e-3
    assert as_output.abs().max() > 1e-3
    assert_close(tied.output.weight.grad, as_input + as_output, rtol=1e-9, atol=1e-9)


def test_an_lstm_without_layers_is_refused():
    with pytest.raises(ValueError, match="layers=0, but an LSTM needs at least one"):
        replace(SMALL, layers=0)


def test_dropout_makes_training_noisy_and_nothing_else():
    model = Seq2Seq(replace(SMALL, dropout=0.5))
    calm = Seq2Seq(SMALL)
    calm.load_state_dict(model.state_dict())
    source = batch_of(LENGTHS)
    assert not torch.equal(model(*source).logits, model(*source).logits)
    model.eval()
    assert torch.equal(model(*source).logits, calm(*source).logits)


def test_one_layer_with_dropout_gives_no_warning():
    model = Seq2Seq(replace(SMALL, layers=1, dropout=0.5))  # nn.LSTM would complain
    assert model(*batch_of(LENGTHS)).logits.isfinite().all()


@pytest.mark.parametrize("tie_output", [False, True])
def test_before_it_has_learnt_anything_every_word_is_as_likely_as_any_other(tie_output):
    """Cross-entropy ln V, to five per cent: nothing starts with an opinion."""
    words = 1009
    model = Seq2Seq(Seq2SeqConfig(source_vocab=ENGLISH, target_vocab=words, tie_output=tie_output))
    logits = model(*batch_of(LENGTHS)).logits.flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, torch.randint(4, words, (len(logits),)))
    assert loss.item() == pytest.approx(math.log(words), rel=0.05)


# --- learning --------------------------------------------------------------------------------


def test_it_learns_one_small_batch_by_heart_in_under_five_seconds():
    model = Seq2Seq(replace(SMALL, d_embedding=16, d_hidden=32, layers=2))
    source, lengths, target_in = batch_of([5, 3, 6, 2, 4])
    target = torch.cat([target_in, torch.full((5, 1), EOS)], dim=1)
    batch = Batch(source, lengths, target, torch.full((5,), STEPS + 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    began = time.process_time()
    for _ in range(100):
        optimiser.zero_grad()
        loss = translation_loss(model, batch)
        loss.backward()
        optimiser.step()
    assert time.process_time() - began < 5
    assert loss.item() < 0.05
    assert torch.equal(model(source, lengths, target_in).logits.argmax(dim=-1), target[:, 1:])
