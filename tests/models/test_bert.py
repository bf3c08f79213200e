"""BERT's encoder against PyTorch's layers, and the weights of others under our names."""

from dataclasses import asdict

import jaxtyping
import pytest
import torch
from shaken import shaken
from torch import nn
from torch.testing import assert_close

from heed.masks import padding
from heed.models.bert import UNUSED, Bert, BertConfig, renamed, sentence_vector

SMALL = BertConfig(vocab=11, d_model=12, d_inner=17, heads=3, layers=2, longest=9)
WORDS = torch.tensor([[2, 5, 7, 3, 4], [2, 9, 3, 0, 0]])
LENGTHS = torch.tensor([5, 3])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])


@pytest.fixture
def bert() -> Bert:
    return shaken(Bert(SMALL)).float()


@torch.no_grad()
def their_encoder(bert: Bert) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        12, 3, 17, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True
    )
    stack = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    for theirs, ours in zip(stack.layers, bert.encoder, strict=True):
        heads = (ours.attention.W_q, ours.attention.W_k, ours.attention.W_v)
        theirs.self_attn.in_proj_weight.copy_(torch.cat([each.weight for each in heads]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([each.bias for each in heads]))
        theirs.self_attn.out_proj.load_state_dict(ours.attention.W_o.state_dict())
        theirs.linear1.load_state_dict(ours.feed.W_1.state_dict())
        theirs.linear2.load_state_dict(ours.feed.W_2.state_dict())
        theirs.norm1.load_state_dict(ours.around_attention.norm.state_dict())
        theirs.norm2.load_state_dict(ours.around_feed.norm.state_dict())
    return stack


@pytest.mark.parametrize("weights", [False, True], ids=["in blocks", "with weights"])
def test_it_is_pytorchs_encoder_over_words_places_and_segments(bert, weights):
    summed = bert.embed.weight[WORDS] + bert.positions.table[:5] + bert.segments.weight[SEGMENTS]
    centred = summed - summed.mean(-1, keepdim=True)
    x = centred / (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
    drop = ~padding(LENGTHS, 5)[:, 0]
    theirs = their_encoder(bert)(x * bert.norm.weight + bert.norm.bias, src_key_padding_mask=drop)
    ours = bert(WORDS, LENGTHS, segments=SEGMENTS, weights=weights)
    assert_close(ours.words[~drop], theirs[~drop], rtol=0, atol=1e-5)
    assert len(ours.weights) == (2 if weights else 0)


def test_without_segments_all_is_the_first_one(bert):
    alone = bert(WORDS, LENGTHS).words
    assert_close(alone, bert(WORDS, LENGTHS, segments=torch.zeros_like(WORDS)).words)
    assert not torch.allclose(alone, bert(WORDS, LENGTHS, segments=SEGMENTS).words)


def test_words_look_to_both_sides_and_never_at_padding(bert):
    for look in bert(WORDS, LENGTHS).weights:
        assert look.shape == (2, 3, 5, 5)
        assert_close(look.sum(-1), torch.ones(2, 3, 5))
        assert bool((look[0] > 0).all())
        assert bool((look[1, :, :, 3:] == 0).all())


def test_what_fills_up_a_row_is_read_by_nobody(bert):
    other = WORDS.masked_fill(~padding(LENGTHS, 5)[:, 0], 8)
    assert_close(bert(WORDS, LENGTHS).words[1, :3], bert(other, LENGTHS).words[1, :3])
    alone = bert(WORDS[1:, :3], LENGTHS[1:]).words
    assert_close(bert(WORDS, LENGTHS).words[1:, :3], alone, rtol=0, atol=1e-6)


def test_a_model_that_learns_holds_no_map(bert):
    assert bert.train()(WORDS, LENGTHS).weights == ()


def test_a_text_that_is_too_long_is_refused(bert):
    with pytest.raises(ValueError, match="not all among the 9 that were learnt"):
        bert(torch.zeros(1, 10, dtype=torch.long), torch.tensor([10]))


def test_a_sentence_vector_is_the_mean_of_its_words_at_length_1():
    words = torch.tensor(
        [[[3.0, 0.0], [0.0, 4.0], [9.0, 9.0]], [[0.0, 2.0], [0.0, 2.0], [0.0, 2.0]]]
    )
    found = sentence_vector(words, torch.tensor([2, 3]))
    assert_close(found, torch.tensor([[0.6, 0.8], [0.0, 1.0]]))


def theirs_of(bert: Bert) -> dict[str, torch.Tensor]:
    """Our weights under the names of Hugging Face's BertModel, written down once more by hand."""
    names = {"positions.table": "embeddings.position_embeddings.weight"}
    pairs = [
        ("embed", "embeddings.word_embeddings"),
        ("segments", "embeddings.token_type_embeddings"),
    ]
    pairs.append(("norm", "embeddings.LayerNorm"))
    for n in range(SMALL.layers):
        there = f"encoder.layer.{n}"
        for ours, theirs in (
            ("attention.W_q", "attention.self.query"),
            ("attention.W_k", "attention.self.key"),
            ("attention.W_v", "attention.self.value"),
            ("attention.W_o", "attention.output.dense"),
            ("around_attention.norm", "attention.output.LayerNorm"),
            ("feed.W_1", "intermediate.dense"),
            ("feed.W_2", "output.dense"),
            ("around_feed.norm", "output.LayerNorm"),
        ):
            pairs.append((f"encoder.{n}.{ours}", f"{there}.{theirs}"))
    for ours, theirs in pairs:
        names |= {f"{ours}.{kind}": f"{theirs}.{kind}" for kind in ("weight", "bias")}
    return {names[name]: tensor for name, tensor in bert.state_dict().items()}


def test_foreign_names_become_ours_and_no_weight_is_lost(bert):
    theirs = theirs_of(bert) | {name: torch.zeros(1) for name in UNUSED}
    found = renamed(theirs)
    assert found.keys() == bert.state_dict().keys()
    for name, tensor in bert.state_dict().items():
        assert_close(found[name], tensor, rtol=0, atol=0)


def test_a_name_without_a_place_is_refused(bert):
    with pytest.raises(ValueError, match=r"'cls\.predictions\.bias' is no weight of a BERT"):
        renamed(theirs_of(bert) | {"cls.predictions.bias": torch.zeros(1)})


def test_a_config_says_what_is_wrong_with_it():
    with pytest.raises(ValueError, match="layers=0, but there must be one"):
        BertConfig(**asdict(SMALL) | {"layers": 0})
    with pytest.raises(ValueError, match="d_model=12 cannot be split over 5 heads"):
        Bert(BertConfig(**asdict(SMALL) | {"heads": 5}))


def test_an_unknown_activation_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match="activation='tanh' is none of relu, gelu"):
        Bert(BertConfig(**asdict(SMALL) | {"activation": "tanh"}))
