"""The Transformer against PyTorch's layers, against itself, and against what masks promise."""

import math
from dataclasses import replace

import jaxtyping
import pytest
import torch
from shaken import ENGLISH, FRENCH, LENGTHS, SOURCE, STEPS, B, batch_of, shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.data.batches import Batch
from heed.data.vocabulary import BOS, EOS, PAD
from heed.evaluation.decoding import beam, forced_weights, greedy
from heed.masks import causal, padding
from heed.models.transformer import (
    PLACES,
    Changed,
    Changes,
    DecoderLayer,
    EncoderLayer,
    Transformer,
    TransformerConfig,
    base,
)
from heed.training.objectives import translation_loss

SMALL = TransformerConfig(
    source_vocab=ENGLISH,
    target_vocab=FRENCH,
    d_model=12,
    d_inner=17,
    heads=3,
    encoder_layers=2,
    decoder_layers=3,
    longest=13,
)
VARIANTS = {
    "the paper's": SMALL,
    "pre-norm": replace(SMALL, norm="pre"),
    "nothing tied, biases": replace(SMALL, tie="none", bias=True),
    "learned positions": replace(SMALL, positions="learned"),
    "no positions, not scaled": replace(SMALL, positions="none", scaled=False),
}
variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
norms = pytest.mark.parametrize("norm", ["post", "pre"])
ways = pytest.mark.parametrize("weights", [False, True], ids=["in blocks", "with weights"])


# --- PyTorch's layers ------------------------------------------------------------------------


def fill_attention(module: nn.MultiheadAttention, ours: nn.Module) -> None:
    parts = (ours.W_q, ours.W_k, ours.W_v)
    module.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    module.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    fill(module.out_proj, ours.W_o)


def fill(module: nn.Module, ours: nn.Module) -> None:
    module.weight.copy_(ours.weight)
    module.bias.copy_(ours.bias)


@torch.no_grad()
def their_encoder(model: Transformer) -> nn.TransformerEncoder:
    config = model.config
    layer = nn.TransformerEncoderLayer(
        config.d_model,
        config.heads,
        config.d_inner,
        dropout=0.0,
        batch_first=True,
        norm_first=config.norm == "pre",
    )
    last = nn.LayerNorm(config.d_model) if config.norm == "pre" else None
    stack = nn.TransformerEncoder(layer, len(model.encoder), last, enable_nested_tensor=False)
    for theirs, ours in zip(stack.layers, model.encoder, strict=True):
        fill_attention(theirs.self_attn, ours.attention)
        fill(theirs.linear1, ours.feed.W_1)
        fill(theirs.linear2, ours.feed.W_2)
        fill(theirs.norm1, ours.around_attention.norm)
        fill(theirs.norm2, ours.around_feed.norm)
    if last is not None:
        fill(stack.norm, model.norm_source)
    return stack


@torch.no_grad()
def their_decoder(model: Transformer) -> nn.TransformerDecoder:
    config = model.config
    layer = nn.TransformerDecoderLayer(
        config.d_model,
        config.heads,
        config.d_inner,
        dropout=0.0,
        batch_first=True,
        norm_first=config.norm == "pre",
    )
    last = nn.LayerNorm(config.d_model) if config.norm == "pre" else None
    stack = nn.TransformerDecoder(layer, len(model.decoder), last)
    for theirs, ours in zip(stack.layers, model.decoder, strict=True):
        fill_attention(theirs.self_attn, ours.attention)
        fill_attention(theirs.multihead_attn, ours.cross)
        fill(theirs.linear1, ours.feed.W_1)
        fill(theirs.linear2, ours.feed.W_2)
        fill(theirs.norm1, ours.around_attention.norm)
        fill(theirs.norm2, ours.around_cross.norm)
        fill(theirs.norm3, ours.around_feed.norm)
    if last is not None:
        fill(stack.norm, model.norm_target)
    return stack


def embedded(model: Transformer, table: nn.Embedding, words: Tensor) -> Tensor:
    """What goes into the first layer, as sections 3.4 and 3.5 say it."""
    places = model.positions_source(words.shape[1])
    return table.weight[words] * model.config.d_model**0.5 + places


@norms
@ways
def test_encoder_and_decoder_are_pytorchs_layers(norm, weights):
    model = shaken(Transformer(replace(SMALL, norm=norm, bias=True))).float()
    source, lengths, target_in = batch_of(LENGTHS)
    drop = ~padding(lengths, SOURCE)[:, 0]
    memory = their_encoder(model)(
        embedded(model, model.embed_source, source), src_key_padding_mask=drop
    )
    out = their_decoder(model)(
        embedded(model, model.embed_target, target_in),
        memory,
        tgt_mask=~causal(STEPS),
        memory_key_padding_mask=drop,
    )
    real = ~drop
    assert_close(model.encode(source, lengths).memory[real], memory[real], rtol=0, atol=1e-5)
    logits = model(source, lengths, target_in, weights=weights).logits
    assert_close(logits, out @ model.embed_target.weight.mT, rtol=1e-5, atol=1e-5)


def test_post_norm_ends_in_its_own_norm_and_pre_norm_in_one_more():
    """PyTorch's nn.Transformer normalises once more in both cases; the paper does not."""
    assert isinstance(Transformer(SMALL).norm_target, nn.Identity)
    pre = Transformer(replace(SMALL, norm="pre"))
    assert isinstance(pre.norm_source, nn.LayerNorm)
    assert isinstance(pre.norm_target, nn.LayerNorm)
    assert pre.norm_source is not pre.norm_target


def test_the_papers_base_has_63_million_parameters_in_37_000_shared_words():
    """The paper says 65: it counts in steps of five, and does not say all."""
    with torch.device("meta"):
        model = Transformer(base(vocab=37_000))
    embedding, d, inner = 37_000 * 512, 512, 2048
    feed, norm = 2 * d * inner + inner + d, 2 * d
    encoder = 4 * d * d + feed + 2 * norm
    decoder = 8 * d * d + feed + 3 * norm
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == embedding + 6 * encoder + 6 * decoder
    assert 62.5e6 < count < 67.5e6


# --- one step and all steps ------------------------------------------------------------------


@variants
def test_word_by_word_is_the_same_as_at_once(config):
    model = shaken(Transformer(config))
    source, lengths, target_in = batch_of(LENGTHS)
    at_once = model(source, lengths, target_in)
    held = model(source, lengths, target_in, weights=False)
    assert held.weights == held.maps == {}
    assert_close(held.logits, at_once.logits, rtol=0, atol=1e-10)
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    for t in range(STEPS):
        state, out = model.step(state, target_in[:, t], encoded)
        assert state.keys.shape == (B, 3, 3, t + 1, 4)
        assert_close(out.logits, at_once.logits[:, t], rtol=0, atol=1e-10)
        assert_close(out.weights, at_once.weights["cross"][:, 0, t], rtol=0, atol=1e-10)


@pytest.mark.parametrize("width", [1, 3])
def test_both_searches_find_what_a_search_without_a_cache_finds(width):
    model = shaken(Transformer(SMALL))
    source, lengths, _ = batch_of([5, 3])
    if width == 1:
        found = greedy(model, source, lengths, max_steps=6)
    else:
        found = beam(model, source, lengths, width=width, length_penalty=0.6, max_steps=6)
    for b, n in enumerate([5, 3]):
        kept = [([], 0.0, False)]
        for _ in range(6):
            grown = []
            for words, total, done in kept:
                if done:
                    grown.append((words, total, done))
                    continue
                fed = torch.tensor([[BOS, *words]])
                logits = model(source[b : b + 1, :n], lengths[b : b + 1], fed).logits[0, -1]
                log_p = logits.log_softmax(dim=-1).tolist()
                grown += [
                    ([*words, y], total + log_p[y], y == EOS)
                    for y in range(FRENCH)
                    if y not in (PAD, BOS)
                ]
            alpha = 0.0 if width == 1 else 0.6
            kept = sorted(grown, key=lambda g: -g[1] / ((5 + len(g[0])) / 6) ** alpha)[:width]
        words, total, done = kept[0]
        assert found[b].tokens == (words[:-1] if done else words)
        assert found[b].log_prob == pytest.approx(total, abs=1e-9)


# --- what masks promise ----------------------------------------------------------------------


@norms
@ways
def test_the_gradient_to_the_future_is_exactly_zero(norm, weights):
    model = shaken(Transformer(replace(SMALL, norm=norm)))
    source, lengths, target_in = batch_of(LENGTHS)
    words = []
    model.embed_target.register_forward_hook(lambda *call: words.append(call[2]))
    logits = model(source, lengths, target_in, weights=weights).logits
    for t in range(STEPS):
        (grad,) = torch.autograd.grad(logits[:, t].square().sum(), words[0], retain_graph=True)
        assert (grad[:, t + 1 :] == 0).all()
        assert (grad[:, : t + 1] != 0).any(dim=-1).all()


@variants
@ways
def test_padding_of_the_batch_changes_nothing(config, weights):
    model = shaken(Transformer(config))
    source, lengths, target_in = batch_of(LENGTHS)
    together = model(source, lengths, target_in, weights=weights)
    for b, n in enumerate(LENGTHS):
        alone = model(
            source[b : b + 1, :n], lengths[b : b + 1], target_in[b : b + 1], weights=weights
        )
        assert_close(together.logits[b], alone.logits[0], rtol=0, atol=1e-10)
        if weights:
            cross = together.weights["cross"][b]
            assert_close(cross[..., :n], alone.weights["cross"][0], rtol=0, atol=1e-10)
            assert (cross[..., n:] == 0).all()
    pads = torch.arange(SOURCE) >= lengths[:, None]
    other = torch.where(pads, torch.randint(4, ENGLISH, source.shape), source)
    assert torch.equal(model(other, lengths, target_in, weights=weights).logits, together.logits)


@pytest.mark.parametrize("positions", ["none", "sinusoids", "learned"])
def test_without_positions_the_encoder_cannot_tell_the_order_of_words(positions):
    model = shaken(Transformer(replace(SMALL, positions=positions)))
    source, lengths, _ = batch_of([SOURCE])
    turned = torch.cat([source[:, :-1].flip(1), source[:, -1:]], dim=1)
    before = model.encode(source, lengths).memory[0]
    after = model.encode(turned, lengths).memory[0]
    same = torch.cat([after[:-1].flip(0), after[-1:]])
    assert torch.allclose(same, before, rtol=0, atol=1e-10) == (positions == "none")


# --- maps ------------------------------------------------------------------------------------


def test_every_head_of_every_layer_has_a_map():
    model = shaken(Transformer(SMALL))
    source, lengths, target_in = batch_of(LENGTHS)
    out = model(source, lengths, target_in)
    shapes = {
        f"{place} {layer}": (B, 3, rows, columns)
        for place, rows, columns, layers in (
            ("encoder", SOURCE, SOURCE, 2),
            ("decoder", STEPS, STEPS, 3),
            ("cross", STEPS, SOURCE, 3),
        )
        for layer in range(1, layers + 1)
    }
    assert {name: tuple(each.shape) for name, each in out.maps.items()} == shapes
    for name, each in out.maps.items():
        assert_close(each.sum(dim=-1), torch.ones(each.shape[:-1]).double())
        if name.startswith("decoder"):
            assert (each.triu(1) == 0).all()
        else:
            assert (each[1, ..., LENGTHS[1] :] == 0).all()
    crosses = torch.stack([out.maps[f"cross {layer}"] for layer in (1, 2, 3)])
    assert_close(out.weights["cross"], crosses.mean(dim=(0, 2)).unsqueeze(1))


def test_nobody_gets_maps_while_it_is_trained_unless_they_ask():
    model = Transformer(replace(SMALL, dropout=0.0))
    source = batch_of(LENGTHS)
    assert model(*source).maps == {}
    assert model(*source).weights == {}
    assert set(model(*source, weights=True).maps) == set(model.eval()(*source).maps)
    target = torch.cat([source[2], torch.full((B, 1), EOS)], dim=1)
    batch = Batch(source[0], source[1], target, torch.full((B,), STEPS + 1))
    tables = forced_weights(model.train(), batch)
    assert tables is not None
    assert [each.shape for each in tables] == [(STEPS, n) for n in LENGTHS]


# --- changes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
def test_a_head_is_off_exactly_if_its_part_of_the_matrix_is_zero(place):
    """And in greedy search as under teacher forcing."""
    model, twin = shaken(Transformer(SMALL)), Transformer(SMALL).double().eval()
    twin.load_state_dict(model.state_dict())
    layer = (twin.encoder if place == "encoder" else twin.decoder)[1]
    attention = layer.cross if place == "cross" else layer.attention
    with torch.no_grad():
        attention.W_o.weight[:, 4:8] = 0.0
    changed = Changed(model, Changes(off=((place, 2, 2),)))
    source, lengths, target_in = batch_of(LENGTHS)
    found, wanted = changed(source, lengths, target_in), twin(source, lengths, target_in)
    assert_close(found.logits, wanted.logits, rtol=0, atol=1e-10)
    assert not torch.allclose(found.logits, model(source, lengths, target_in).logits)
    said = [each.log_prob for each in greedy(changed, source, lengths, max_steps=5)]
    assert said == pytest.approx(
        [each.log_prob for each in greedy(twin, source, lengths, max_steps=5)], abs=1e-9
    )


def test_positions_can_be_shifted_and_taken_away_on_either_side():
    model = shaken(Transformer(replace(SMALL, positions="learned")))
    source, lengths, target_in = batch_of(LENGTHS)
    table = model.positions_source.table.clone(), model.positions_target.table.clone()
    for side, kind in enumerate((model.positions_source, model.positions_target)):
        name = ("source", "target")[side]
        shifted = Changed(model, Changes(**{f"{name}_shift": 2}))(source, lengths, target_in)
        without = Changed(model, Changes(**{f"{name}_places": False}))(source, lengths, target_in)
        with torch.no_grad():
            kind.table.copy_(table[side].roll(-2, 0))
            assert torch.equal(model(source, lengths, target_in).logits, shifted.logits)
            kind.table.zero_()
            assert torch.equal(model(source, lengths, target_in).logits, without.logits)
            kind.table.copy_(table[side])


def test_a_changed_model_says_word_by_word_what_it_says_at_once():
    changes = Changes(off=(("decoder", 1, 3), ("cross", 3, 1)), target_shift=3, source_places=False)
    changed = Changed(shaken(Transformer(SMALL)), changes)
    source, lengths, target_in = batch_of(LENGTHS)
    at_once = changed(source, lengths, target_in).logits
    encoded = changed.encode(source, lengths)
    state = changed.start(encoded)
    for t in range(STEPS):
        state, out = changed.step(state, target_in[:, t], encoded)
        assert_close(out.logits, at_once[:, t], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("off", "message"),
    [
        (("encoder", 3, 1), r"^encoder layer 3 is none of 1 to 2$"),
        (("cross", 0, 1), r"^cross layer 0 is none of 1 to 3$"),
        (("decoder", 3, 4), r"^decoder head 4 is none of 1 to 3$"),
    ],
)
def test_a_head_that_is_not_there_cannot_be_switched_off(off, message):
    model, changes = Transformer(SMALL), Changes(off=(off,))
    with pytest.raises(ValueError, match=message):
        Changed(model, changes)
    with pytest.raises(ValueError, match=message):
        model(*batch_of(LENGTHS), changes=changes)


# --- as a thing to be trained ----------------------------------------------------------------


def test_one_matrix_serves_three_times_and_hears_from_all_three():
    config = replace(SMALL, target_vocab=ENGLISH, tie="all")
    model = Transformer(config)
    assert model.embed_source.weight is model.embed_target.weight is model.output.weight
    assert sum(name.endswith("embed_source.weight") for name, _ in model.named_parameters()) == 1
    two = Transformer(SMALL)
    assert two.output.weight is two.embed_target.weight is not two.embed_source.weight
    source, lengths, target_in = batch_of(LENGTHS)
    model = shaken(model)
    apart = Transformer(replace(config, tie="none")).double().eval()
    apart.load_state_dict(model.state_dict())
    for each in (model, apart):
        each(source, lengths, target_in % ENGLISH).logits.square().sum().backward()
    parts = (apart.embed_source, apart.embed_target, apart.output)
    # A PAD that is read has no gradient; as a word that may be written it has one.
    assert_close(model.output.weight.grad, sum(part.weight.grad for part in parts))


@norms
def test_it_begins_by_giving_every_word_about_the_same_chance(norm):
    config = replace(SMALL, target_vocab=1_000, d_model=48, norm=norm)
    model = Transformer(config).eval()
    logits = model(*batch_of(LENGTHS)).logits.flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, torch.randint(4, 1_000, (len(logits),)))
    # A word's own vector is still in the sum that is compared with all vectors: hence not 0.
    assert -0.5 < loss.item() - math.log(1_000) < 1.5


def test_dropout_makes_training_noisy_where_the_paper_has_it_and_nothing_else():
    for config in (replace(SMALL, dropout=0.5), replace(SMALL, dropout=0.0, dropout_inside=0.5)):
        model, source = Transformer(config), batch_of(LENGTHS)
        assert not torch.equal(model(*source).logits, model(*source).logits)
        calm = Transformer(replace(config, dropout=0.0, dropout_inside=0.0)).eval()
        calm.load_state_dict(model.state_dict())
        assert torch.equal(model.eval()(*source).logits, calm(*source).logits)
    layer = EncoderLayer(SMALL)
    assert layer.attention.dropout.p == layer.feed.dropout.p == 0.0
    assert layer.around_feed.dropout.p == DecoderLayer(SMALL).around_cross.dropout.p == 0.1


def test_bfloat16_trains_the_same_model_and_keeps_the_sums_precise():
    model = Transformer(replace(SMALL, dropout=0.0, d_model=24))
    source, lengths, target_in = batch_of(LENGTHS)
    target = torch.cat([target_in, torch.full((B, 1), EOS)], dim=1)
    batch = Batch(source, lengths, target, torch.full((B,), STEPS + 1))
    exact = translation_loss(model, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = translation_loss(model, batch)
        encoded = model.encode(source, lengths)
        state, out = model.step(model.start(encoded), target_in[:, 0], encoded)
        model.step(state, target_in[:, 1], encoded)
    assert encoded.memory.dtype == torch.float32
    assert out.logits.isfinite().all()
    assert loss.item() == pytest.approx(exact.item(), rel=2e-2)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"norm": "rms"}, r"^norm='rms' is none of post, pre$"),
        ({"positions": "rotary"}, r"^positions='rotary' is none of sinusoids, learned, none$"),
        ({"tie": "both"}, r"^tie='both' is none of all, output, none$"),
        ({"tie": "all"}, r"^tie='all' needs one vocabulary for both sides, not 23 and 29 words$"),
        ({"heads": 5}, r"^d_model=12 cannot be split over 5 heads$"),
        ({"encoder_layers": 0}, r"^encoder_layers=0, but there must be one at least$"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_by_name(option, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **option)
