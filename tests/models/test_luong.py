"""Luong's translator against the paper's formulas, a sentence and a step at a time."""

import math
import subprocess
import sys
import time
from dataclasses import replace

import jaxtyping
import pytest
import torch
from shaken import ENGLISH, FRENCH, LENGTHS, SOURCE, STEPS, B, batch_of, shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.data.batches import Batch
from heed.data.vocabulary import BOS, EOS, PAD
from heed.evaluation.decoding import beam, greedy
from heed.models.luong import Luong, LuongConfig
from heed.models.translator import select
from heed.training.objectives import translation_loss

SMALL = LuongConfig(  # primes: no two axes can be confused
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_embedding=5,
    d_hidden=7,
    d_align=11,
    longest=13,
    D=2,
)
LOCAL_M = replace(SMALL, attention="local_m")
LOCAL_P = replace(SMALL, attention="local_p")
kinds = pytest.mark.parametrize("attention", ["global", "local_m", "local_p"])


# --- sections 2 and 3 of the paper -----------------------------------------------------------


def slow_cell(x: Tensor, U: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = (x + U @ h).split(len(h))
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def slow_encoder(model: Luong, words: list[int]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """h̄_s for each word as written, and the last h and c of each layer."""
    reverse = model.config.reverse_source
    end = len(words) - 1
    order = [*range(end)][::-1] if reverse else [*range(end)]
    order.append(end)
    inputs = [model.embed_source.weight[words[s]] for s in order]
    last_h, last_c = [], []
    for layer in range(model.config.layers):
        W, U, b, b_too = (
            getattr(model.encoder, f"{name}_l{layer}")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        h = c = torch.zeros(U.shape[1]).double()
        states = []
        for x in inputs:
            h, c = slow_cell(W @ x + b + b_too, U, h, c)
            states.append(h)
        inputs = states
        last_h.append(h)
        last_c.append(c)
    written = dict(zip(order, inputs, strict=True))
    return [written[s] for s in range(len(words))], last_h, last_c


def slow_score(model: Luong, h: Tensor, key: Tensor, s: int) -> float:
    score = model.attention.score
    match model.config.score:
        case "dot":
            return float(h @ key)
        case "general":
            return float(h @ (score.W.weight @ key))
        case "concat":  # as the paper writes it, with one wide W_a
            W_a = torch.cat([score.W.weight, score.U.weight], dim=1)
            return float(score.v.weight[0] @ torch.tanh(W_a @ torch.cat([h, key])))
        case "location":
            return float(score.W.weight[s] @ h)
    raise AssertionError


@torch.no_grad()
def slow_translation(
    model: Luong, words: list[int], target_in: list[int]
) -> tuple[list[Tensor], list[list[float]], list[float]]:
    """Logits, weights a_t and places p_t of every step, for one sentence without padding."""
    config, S = model.config, len(words)
    keys, h, c = slow_encoder(model, words)
    fed = torch.zeros_like(keys[0])
    logits, maps, places = [], [], []
    for t, previous in enumerate(target_in):
        x = model.drive_y.weight @ model.embed_target.weight[previous] + model.drive_y.bias
        if config.input_feeding:
            x = x + model.drive_fed.weight @ fed
        for layer, cell in enumerate(model.cells):
            if layer:
                up = model.drive_up[layer - 1]
                x = up.weight @ h[layer - 1] + up.bias
            h[layer], c[layer] = slow_cell(x, cell.U.T, h[layer], c[layer])
        top = h[-1]

        place, inside = math.nan, list(range(S))
        if config.attention == "local_m":
            place = float(t)
        if config.attention == "local_p":
            inner = torch.tanh(model.places.W.weight @ top)
            place = S / (1 + math.exp(-float(model.places.v.weight[0] @ inner)))
        if config.attention != "global":
            inside = [s for s in inside if place - config.D <= s <= place + config.D]
        exps = {s: math.exp(slow_score(model, top, keys[s], s)) for s in inside}
        align = {s: exps[s] / sum(exps.values()) for s in inside}
        a = [align.get(s, 0.0) for s in range(S)]
        if config.attention == "local_p":
            sigma = config.D / 2 if config.sigma is None else config.sigma
            a = [w * math.exp(-((s - place) ** 2) / (2 * sigma**2)) for s, w in enumerate(a)]
        if config.renormalise and sum(a) > 0:
            a = [w / sum(a) for w in a]
        context = torch.zeros_like(top)
        for s in range(S):
            context = context + a[s] * keys[s]

        fed = torch.tanh(model.combine.weight @ torch.cat([context, top]))
        out = fed
        if config.tie_output and config.d_hidden != config.d_embedding:
            out = model.to_embedding.weight @ fed
        logits.append(model.output.weight @ out + model.output.bias)
        maps.append(a)
        places.append(place)
    return logits, maps, places


VARIANTS = {
    "global, dot": replace(SMALL, score="dot"),
    "global, general": SMALL,
    "global, concat": replace(SMALL, score="concat"),
    "global, location": replace(SMALL, score="location"),
    "global, no input feeding": replace(SMALL, input_feeding=False),
    "global, reversed": replace(SMALL, reverse_source=True),
    "global, three layers, tied": replace(SMALL, layers=3, tie_output=True),
    "global, tied at one width": replace(SMALL, tie_output=True, d_embedding=7),
    "local-m, general": LOCAL_M,
    "local-m, narrow, reversed": replace(LOCAL_M, D=1, reverse_source=True),
    "local-m, location, no input feeding": replace(LOCAL_M, score="location", input_feeding=False),
    "local-p, general": LOCAL_P,
    "local-p, dot, narrow": replace(LOCAL_P, score="dot", D=1),
    "local-p, concat, a sigma": replace(LOCAL_P, score="concat", sigma=0.8),
    "local-p, renormalised": replace(LOCAL_P, renormalise=True),
    "local-p, no input feeding": replace(LOCAL_P, input_feeding=False),
    "local-p, two layers, reversed": replace(LOCAL_P, layers=2, reverse_source=True),
}
variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)


@variants
def test_the_whole_model_agrees_with_a_loop_written_from_the_paper(config):
    model = shaken(Luong(config))
    source, lengths, target_in = batch_of(LENGTHS)
    out = model(source, lengths, target_in)
    assert out.logits.shape == (B, STEPS, FRENCH)
    assert out.weights["cross"].shape == (B, 1, STEPS, SOURCE)
    assert (out.places is None) == (config.attention == "global")
    for b, n in enumerate(LENGTHS):
        logits, maps, places = slow_translation(
            model, source[b, :n].tolist(), target_in[b].tolist()
        )
        for t in range(STEPS):
            assert_close(out.logits[b, t], logits[t], rtol=0, atol=1e-9)
            a = torch.tensor(maps[t] + [0.0] * (SOURCE - n), dtype=torch.float64)
            assert_close(out.weights["cross"][b, 0, t], a, rtol=0, atol=1e-9)
            if out.places is not None:
                assert out.places[b, t].item() == pytest.approx(places[t], abs=1e-9)


@variants
def test_feeding_a_target_word_by_word_is_the_same_as_at_once(config):
    model = shaken(Luong(config))
    source, lengths, target_in = batch_of(LENGTHS)
    at_once = model(source, lengths, target_in)
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    for t in range(STEPS):
        state, out = model.step(state, target_in[:, t], encoded)
        assert_close(out.logits, at_once.logits[:, t], rtol=0, atol=1e-12)
        assert_close(out.weights, at_once.weights["cross"][:, 0, t], rtol=0, atol=1e-12)
        if out.places is not None:
            assert_close(out.places, at_once.places[:, t], rtol=0, atol=1e-12)
        assert state.t.tolist() == [t + 1] * B


def test_the_encoder_is_pytorchs_lstm_and_hands_over_all_its_layers():
    model = shaken(Luong(replace(SMALL, layers=2)))
    source, lengths, _ = batch_of(LENGTHS)
    encoded = model.encode(source, lengths)
    for b, n in enumerate(LENGTHS):
        read, (h, c) = model.encoder(model.embed_source(source[b : b + 1, :n]))
        assert_close(encoded.annotations[b, :n], read[0], rtol=0, atol=1e-12)
        assert_close(encoded.first_h[b], h[:, 0], rtol=0, atol=1e-12)
        assert_close(encoded.first_c[b], c[:, 0], rtol=0, atol=1e-12)


# --- the window ------------------------------------------------------------------------------


def same_parameters(config: LuongConfig, model: Luong) -> Luong:
    """Another model with the parameters of ``model``, as far as it has them."""
    other = Luong(config).to(model.output.weight.dtype).eval()
    known = {k: v for k, v in model.state_dict().items() if k in other.state_dict()}
    other.load_state_dict(known)
    return other


@pytest.mark.parametrize(
    "local",
    [
        replace(LOCAL_M, D=SOURCE),
        replace(LOCAL_P, D=SOURCE, sigma=1e6),
        replace(LOCAL_P, D=SOURCE, sigma=math.inf),
    ],
)
def test_a_window_over_everything_and_a_flat_gaussian_are_global_attention(local):
    model = shaken(Luong(local)).float()
    whole = same_parameters(replace(local, attention="global", sigma=None), model)
    source = batch_of(LENGTHS)
    found, wanted = model(*source), whole(*source)
    assert_close(found.logits, wanted.logits, rtol=0, atol=1e-5)
    assert_close(found.weights["cross"], wanted.weights["cross"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("local", [LOCAL_M, LOCAL_P, replace(LOCAL_P, renormalise=True)])
def test_weights_are_nothing_outside_the_window_and_on_padding(local):
    model, (source, lengths, target_in) = shaken(Luong(local)), batch_of(LENGTHS)
    out = model(source, lengths, target_in)
    weights, keys = out.weights["cross"][:, 0], torch.arange(SOURCE)
    inside = (keys - out.places[..., None]).abs() <= local.D
    inside = inside & (keys < lengths[:, None, None])
    assert inside.any(dim=-1).all()
    assert ((weights > 0.0) == inside).all()
    total = weights.sum(dim=-1)
    if local.attention == "local_m" or local.renormalise:
        assert_close(total, torch.ones(B, STEPS).double())
    else:
        assert (total < 1.0).all()
        assert (total < 0.99).any()


def test_the_predicted_place_lies_inside_each_sentence_and_padding_does_not_move_it():
    model, (source, lengths, target_in) = shaken(Luong(LOCAL_P)), batch_of(LENGTHS)
    places = model(source, lengths, target_in).places
    assert (places > 0.0).all()
    assert (places < lengths[:, None]).all()
    wide = torch.cat([source, torch.full((B, 5), PAD)], dim=1)
    assert_close(model(wide, lengths, target_in).places, places, rtol=0, atol=1e-12)
    for b, n in enumerate(LENGTHS):
        alone = model(source[b : b + 1, :n], lengths[b : b + 1], target_in[b : b + 1])
        assert_close(alone.places[0], places[b], rtol=0, atol=1e-12)


def test_the_length_that_counts_includes_the_end_of_the_sentence():
    model = shaken(Luong(LOCAL_P))
    nn.init.zeros_(model.places.v.weight)
    source, lengths, target_in = batch_of([4])
    assert source[0, 3] == EOS
    assert (model(source, lengths, target_in).places == 2.0).all()


def test_the_place_learns_through_the_gaussian_and_not_without_it():
    source = batch_of(LENGTHS)
    for sigma, learns in ((None, True), (math.inf, False)):
        model = shaken(Luong(replace(LOCAL_P, sigma=sigma)))
        model(*source).logits.square().sum().backward()
        for matrix in (model.places.v.weight, model.places.W.weight):
            assert matrix.grad is not None
            assert (matrix.grad != 0.0).any() == learns


def test_a_monotonic_window_that_has_left_the_sentence_is_empty_and_does_no_harm():
    """D = 2 and two positions: from t = 4 on there is nothing to see, c_t = 0."""
    model = shaken(Luong(LOCAL_M))
    source, lengths = batch_of([6, 2])[:2]
    target_in = torch.randint(EOS + 2, FRENCH, (2, 9))
    out = model(source, lengths, target_in)
    weights = out.weights["cross"][1, 0]
    assert (weights[:4].sum(dim=-1) > 0.0).all()
    assert (weights[4:] == 0.0).all()
    out.logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name

    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    for t in range(5):
        state, _ = model.step(state, target_in[:, t], encoded)
    seen_nothing = torch.tanh(model.combine(torch.cat([torch.zeros(7), state.h[1, -1]]).double()))
    assert_close(state.fed[1], seen_nothing, rtol=0, atol=1e-12)


def test_reading_back_to_front_leaves_the_window_where_it_was():
    model = shaken(Luong(LOCAL_M))
    turned = same_parameters(replace(LOCAL_M, reverse_source=True), model)
    source, lengths, target_in = batch_of(LENGTHS)
    found = turned(source, lengths, target_in)
    wanted = model(source, lengths, target_in)
    assert torch.equal(found.places, wanted.places)
    assert ((found.weights["cross"] > 0) == (wanted.weights["cross"] > 0)).all()
    assert not torch.allclose(found.weights["cross"], wanted.weights["cross"])
    first = turned.encode(source, lengths).annotations[:, 0]
    changed = source.clone()
    changed[0, 4] = 4 + (changed[0, 4] + 3) % 19
    later = turned.encode(changed, lengths).annotations[:, 0]
    assert not torch.allclose(later[0], first[0]), "word 0 is read last and has seen word 4"


# --- input feeding ---------------------------------------------------------------------------


@kinds
def test_input_feeding_with_a_matrix_of_zeros_is_no_input_feeding(attention):
    fed = shaken(Luong(replace(SMALL, attention=attention)))
    source = batch_of(LENGTHS)
    without = same_parameters(replace(fed.config, input_feeding=False), fed)
    assert not torch.allclose(fed(*source).logits, without(*source).logits)
    nn.init.zeros_(fed.drive_fed.weight)
    assert_close(fed(*source).logits, without(*source).logits, rtol=0, atol=1e-12)


@pytest.mark.parametrize("input_feeding", [True, False])
def test_where_it_looked_reaches_the_next_look_only_by_input_feeding(input_feeding):
    config = replace(SMALL, input_feeding=input_feeding)
    model, (source, lengths, target_in) = shaken(Luong(config)), batch_of(LENGTHS)
    encoded = model.encode(source, lengths)
    state, _ = model.step(model.start(encoded), target_in[:, 0], encoded)
    other = replace(state, fed=state.fed + 1.0)
    _, out = model.step(state, target_in[:, 1], encoded)
    _, moved = model.step(other, target_in[:, 1], encoded)
    assert torch.allclose(out.weights, moved.weights) != input_feeding


def test_it_moves_first_and_looks_then():
    """Unlike Bahdanau's, a_t depends on y_{t−1} already: h_t has read it."""
    model, (source, lengths, target_in) = shaken(Luong(SMALL)), batch_of(LENGTHS)
    before = model(source, lengths, target_in).weights["cross"]
    for t in range(STEPS):
        changed = target_in.clone()
        changed[:, t] = (changed[:, t] + 7) % FRENCH
        moved = (model(source, lengths, changed).weights["cross"] - before).abs().amax((0, 1, 3))
        assert (moved[:t] == 0.0).all()
        assert (moved[t:] > 1e-9).all()


# --- scores ----------------------------------------------------------------------------------


def test_location_sees_no_word_and_knows_no_place_beyond_its_longest():
    config = replace(SMALL, score="location", longest=4, input_feeding=False)
    model, (source, lengths, target_in) = shaken(Luong(config)), batch_of([6, 3])
    query = torch.randn(2, STEPS, 7).double()
    encoded = model.encode(source, lengths)
    other = model.encode(4 + (source + 3) % 19, lengths)
    looks = [
        model.attention.look(query, e.prepared, e.annotations, keep=e.keep)
        for e in (encoded, other)
    ]
    assert torch.equal(looks[0].weights, looks[1].weights)
    assert (looks[0].weights[0, :, 4:] == 0.0).all()
    assert_close(looks[0].weights.sum(dim=-1), torch.ones(2, STEPS).double())
    assert model(source, lengths, target_in).logits.isfinite().all()


# --- as a translator -------------------------------------------------------------------------


@kinds
def test_padding_changes_nothing(attention):
    model = Luong(replace(SMALL, attention=attention, layers=2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    source, lengths, target_in = batch_of([6, 1, 4, 2, 5])
    together = model(source, lengths, target_in)
    for b, n in enumerate(lengths.tolist()):
        alone = model(source[b : b + 1, :n], lengths[b : b + 1], target_in[b : b + 1])
        assert_close(together.logits[b], alone.logits[0], rtol=0, atol=1e-5)
        cross = together.weights["cross"][b, ..., :n]
        assert_close(cross, alone.weights["cross"][0], rtol=0, atol=1e-5)


@kinds
def test_what_stands_on_the_padding_changes_nothing(attention):
    model = shaken(Luong(replace(SMALL, attention=attention, reverse_source=True)))
    source, lengths, target_in = batch_of(LENGTHS)
    before = model(source, lengths, target_in)
    pads = torch.arange(SOURCE) >= lengths[:, None]
    changed = torch.where(pads, torch.randint(4, ENGLISH, source.shape), source)
    after = model(changed, lengths, target_in)
    assert torch.equal(after.logits, before.logits)
    assert torch.equal(after.weights["cross"], before.weights["cross"])


@kinds
def test_a_beam_can_choose_rows_that_are_at_different_words(attention):
    model, (source, lengths, target_in) = (
        shaken(Luong(replace(SMALL, attention=attention))),
        batch_of(LENGTHS),
    )
    encoded = model.encode(source, lengths)
    states = [model.start(encoded)]
    for t in range(2):
        states.append(model.step(states[-1], target_in[:, t], encoded)[0])
    early, late = select(states[0], torch.tensor([2])), select(states[2], torch.tensor([0, 2]))
    mixed = type(early)(
        *(torch.cat([getattr(e, n) for e in (early, late)]) for n in ("h", "c", "fed", "t"))
    )
    token, rows = torch.tensor([7, 8, 9]), torch.tensor([2, 0, 2])
    _, out = model.step(mixed, token, select(encoded, rows))
    for i, (state, row) in enumerate(((states[0], 2), (states[2], 0), (states[2], 2))):
        one = torch.tensor([row])
        _, alone = model.step(select(state, one), token[i : i + 1], select(encoded, one))
        assert_close(out.logits[i], alone.logits[0], rtol=0, atol=1e-12)
        assert_close(out.weights[i], alone.weights[0], rtol=0, atol=1e-12)


@kinds
def test_beam_search_finds_what_it_says_it_found(attention):
    """Its log-probabilities are those of the found sentence under teacher forcing, its weights too:
    h̃ and t went along with every beginning that was kept."""
    model = shaken(Luong(replace(SMALL, attention=attention)))
    source, lengths, _ = batch_of(LENGTHS)
    found = beam(model, source, lengths, width=3, max_steps=7)
    assert greedy(model, source, lengths, max_steps=7)[0].log_prob <= found[0].log_prob + 1e-9
    for b, hypothesis in enumerate(found):
        written = hypothesis.tokens + [EOS] * hypothesis.finished
        target_in = torch.tensor([[BOS, *written[:-1]]])
        out = model(source[b : b + 1], lengths[b : b + 1], target_in)
        log_p = out.logits[0].log_softmax(dim=-1)
        total = sum(log_p[t, word].item() for t, word in enumerate(written))
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-9)
        wanted = out.weights["cross"][0, 0, :, : LENGTHS[b]]
        assert_close(torch.from_numpy(hypothesis.weights), wanted, rtol=0, atol=1e-9)


COMPILED = """
import torch
from heed.models.luong import Luong, LuongConfig

model = Luong(LuongConfig(source_vocab=9, target_vocab=9, attention="local_p", layers=2)).eval()
with torch.no_grad():
    encoded = model.encode(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2]))
    step = torch.compile(model.step, backend="eager", fullgraph=True)
    state, token = model.start(encoded), torch.tensor([1, 1])
    for _ in range(2):
        _, wanted = model.step(state, token, encoded)
        state, found = step(state, token, encoded)
        torch.testing.assert_close(found.logits, wanted.logits)
        torch.testing.assert_close(found.places, wanted.places)
print(state.t.tolist())
"""


def test_a_step_compiles_into_one_graph():
    """In a process of its own: the shape checks of the tests are no part of the graph."""
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True)
    assert done.stdout == "[2.0, 2.0]\n", done.stderr


# --- learning --------------------------------------------------------------------------------


@kinds
def test_it_learns_one_small_batch_by_heart_in_under_five_seconds(attention):
    model = Luong(
        replace(SMALL, attention=attention, d_embedding=16, d_hidden=24, d_align=16, score="dot")
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


@kinds
def test_before_it_has_learnt_anything_every_word_is_as_likely_as_any_other(attention):
    words = 1009
    for tie_output in (False, True):
        config = replace(SMALL, target_vocab=words, attention=attention, tie_output=tie_output)
        model = Luong(replace(config, d_embedding=64, d_hidden=96))
        source, lengths, target_in = batch_of(LENGTHS)
        logits = model(source, lengths, target_in).logits.flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, torch.randint(4, words, (len(logits),)))
        assert loss.item() == pytest.approx(math.log(words), rel=0.05)


@kinds
def test_bfloat16_trains_the_same_model_and_keeps_the_memory_precise(attention):
    model = Luong(replace(SMALL, attention=attention, layers=2, d_hidden=24))
    source, lengths, target_in = batch_of(LENGTHS)
    target = torch.cat([target_in, torch.full((B, 1), EOS)], dim=1)
    batch = Batch(source, lengths, target, torch.full((B,), STEPS + 1))
    exact = translation_loss(model, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = translation_loss(model, batch)
        encoded = model.encode(source, lengths)
        state, out = model.step(model.start(encoded), target_in[:, 0], encoded)
    assert loss.item() == pytest.approx(exact.item(), rel=1e-2)
    assert state.c.dtype == torch.float32
    if out.places is not None:
        assert out.places.dtype == torch.float32
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_dropout_makes_training_noisy_and_nothing_else():
    model = Luong(replace(LOCAL_P, dropout=0.5, layers=2))
    calm = same_parameters(replace(LOCAL_P, layers=2), model)
    source = batch_of(LENGTHS)
    assert not torch.equal(model(*source).logits, model(*source).logits)
    model.eval()
    assert torch.equal(model(*source).logits, calm(*source).logits)


def test_a_tied_output_is_the_very_tensor_of_the_target_embedding():
    model = Luong(replace(SMALL, tie_output=True))
    assert model.output.weight is model.embed_target.weight
    assert model.to_embedding.weight.shape == (5, 7)
    assert Luong(SMALL).output.weight.shape == (FRENCH, 7)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"attention": "local"}, r"^attention='local' is none of global, local_m, local_p$"),
        ({"score": "cosine"}, r"^score='cosine' is none of dot, general, concat, location$"),
        ({"layers": 0}, r"^layers=0, but an LSTM needs at least one$"),
        ({"D": 0}, r"^D=0, but a window reaches 1 word to each side or more$"),
        ({"sigma": -1.0}, r"^sigma=-1.0 must be a positive number of words$"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_by_name(option, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **option)
