"""Words dropped and weights exchanged, on small random models and on numbers made by hand."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.evaluation.faithfulness import (
    CHANGES,
    HIDDEN,
    WEIGHTS,
    Removals,
    Words,
    changed,
    faithfulness,
    looking,
    mean_over,
    permuted,
    removed,
    shuffled,
    summed_up,
    uniform,
)
from heed.labs.steering import Steered
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.lstmn import LSTMNTranslator, LSTMNTranslatorConfig
from heed.models.luong import Luong, LuongConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig
from heed.models.transformer import Transformer, TransformerConfig

WORDS = Vocabulary(("a", "b", "c", "d"))
SIZES: dict[str, Any] = {"source_vocab": len(WORDS), "target_vocab": len(WORDS)}
PAIRS = [
    Pair(source=("a", "b", "c"), target=("c", "b", "a", "a")),
    Pair(source=("b", "d"), target=("b",)),
    Pair(source=("d", "d", "a", "b", "c"), target=("c", "b", "a", "d", "d")),
]
MAKE = {
    "bahdanau": lambda: Bahdanau(
        BahdanauConfig(**SIZES, d_embedding=4, d_encoder=3, d_state=5, d_align=4, d_maxout=4)
    ),
    "global": lambda: Luong(LuongConfig(**SIZES, d_embedding=4, d_hidden=5)),
    "local-p": lambda: Luong(
        LuongConfig(**SIZES, d_embedding=4, d_hidden=5, attention="local_p", D=2)
    ),
    "lstmn": lambda: LSTMNTranslator(
        LSTMNTranslatorConfig(**SIZES, d_embedding=4, d_state=5, d_align=4)
    ),
    "transformer": lambda: Transformer(
        TransformerConfig(
            **SIZES, d_model=12, d_inner=8, heads=3, encoder_layers=1, decoder_layers=2
        )
    ),
}


def made(name: str):
    torch.manual_seed(1)
    model = MAKE[name]().double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model


@pytest.fixture(scope="module")
def models():
    return {name: made(name) for name in MAKE}


def log_p(model, pair: Pair, source=None) -> torch.Tensor:
    """log p of each gold word, from the model's own forward pass."""
    given = pair if source is None else replace(pair, source=source, sure=frozenset())
    batch = encode_batch([given], WORDS, WORDS)
    with torch.no_grad():
        logits = model(batch.source, batch.source_lengths, batch.target[:, :-1]).logits[0]
    gold = batch.target[0, 1:]
    return logits.log_softmax(-1).gather(1, gold[:, None])[:-1, 0]


@pytest.mark.parametrize("name", ["bahdanau", "global", "local-p"])
def test_even_weights_are_those_that_the_lab_forces_at_one_step(models, name):
    model, pair = models[name], PAIRS[2]
    (found,) = changed(model, [pair], WORDS, WORDS)
    before = log_p(model, pair)
    for t in range(len(pair.target)):
        forced = log_p(Steered(model, look="uniform", only=t), pair)
        assert found.fall["uniform"][t] == pytest.approx(float(before[t] - forced[t]), abs=1e-5)


@pytest.mark.parametrize("name", ["bahdanau", "global", "local-p"])
def test_a_word_hidden_at_the_first_step_is_one_that_the_lab_hides(models, name):
    for pair in PAIRS:
        (found,) = changed(models[name], [pair], WORDS, WORDS)
        for change, places in zip(HIDDEN, (found.most, found.other), strict=True):
            hidden = log_p(Steered(models[name], hidden=(int(places[0]),)), pair)
            lost = float(log_p(models[name], pair)[0] - hidden[0])
            assert found.fall[change][0] == pytest.approx(lost, abs=1e-5)


@pytest.mark.parametrize("name", MAKE)
def test_a_sentence_alone_and_among_others_lose_the_same(models, name):
    together = changed(models[name], PAIRS, WORDS, WORDS)
    for pair, there in zip(PAIRS, together, strict=True):
        (alone,) = changed(models[name], [pair], WORDS, WORDS)
        assert len(there.most) == len(pair.target)
        assert (there.most == alone.most).all()
        assert (there.other != there.most).all()
        assert (there.other < there.source).all()
        for change in ("hidden most", "uniform"):  # in the others chance has a hand
            assert np.allclose(there.fall[change], alone.fall[change], atol=1e-5)


@pytest.mark.parametrize("name", MAKE)
def test_a_word_that_was_never_there_is_read_by_nobody(models, name):
    pair = PAIRS[0]
    found = removed(models[name], pair, WORDS, WORDS)
    assert found.fall.shape == (4, 3)
    for j in range(3):
        without = (*pair.source[:j], *pair.source[j + 1 :])
        lost = log_p(models[name], pair) - log_p(models[name], pair, without)
        assert np.allclose(found.fall[:, j], lost.numpy(), atol=1e-5)


@pytest.mark.parametrize("name", MAKE)
def test_the_model_is_afterwards_what_it_was(models, name):
    model, pair = models[name], PAIRS[2]
    before = log_p(model, pair)
    with looking(model, uniform):
        assert not torch.allclose(log_p(model, pair), before)
    with pytest.raises(ZeroDivisionError), looking(model, lambda own, keep: own / (1 // 0)):
        log_p(model, pair)
    assert_close(log_p(model, pair), before, rtol=0, atol=0)


def test_weights_that_nobody_looks_by_cannot_be_changed():
    model = Seq2Seq(Seq2SeqConfig(**SIZES, d_embedding=4, d_hidden=4))
    with pytest.raises(TypeError, match="a Seq2Seq looks at no source"), looking(model, uniform):
        pass


def test_a_sentence_of_one_word_has_no_other_word(models):
    with pytest.raises(ValueError, match="'b' has no other word to drop"):
        changed(models["global"], [Pair(source=("b",), target=("b",))], WORDS, WORDS)


@pytest.mark.parametrize("name", MAKE)
def test_weights_in_their_own_order_are_no_change(models, name):
    pair = PAIRS[0]
    with looking(models[name], permuted(torch.arange(4)[None])):
        same = log_p(models[name], pair)
    with looking(models[name], permuted(torch.tensor([[1, 2, 3, 0]]))):
        other = log_p(models[name], pair)
    assert_close(same, log_p(models[name], pair))
    assert not torch.allclose(other, same)


def test_rules_by_hand():
    own = torch.tensor([[[0.5, 0.3, 0.2, 0.0]]])
    keep = torch.tensor([[[True, True, True, False]]])
    assert_close(uniform(own, keep), torch.tensor([[[1 / 3, 1 / 3, 1 / 3, 0.0]]]))
    moved = permuted(torch.tensor([[2, 0, 1, 3]]))
    assert_close(moved(own, keep), torch.tensor([[[0.2, 0.5, 0.3, 0.0]]]))
    heads = moved(own.unsqueeze(1).expand(1, 2, 1, 4), keep.unsqueeze(1))
    assert_close(heads[0, 1], moved(own, keep)[0])


def test_a_random_order_leaves_padding_where_it_is():
    order = shuffled(torch.tensor([5, 2]), 6, torch.Generator().manual_seed(3))
    assert sorted(order[0, :5].tolist()) == [0, 1, 2, 3, 4]
    assert order[0].tolist() != list(range(6))
    assert order[0, 5] == 5
    assert sorted(order[1, :2].tolist()) == [0, 1]
    assert order[1, 2:].tolist() == [2, 3, 4, 5]


def test_a_sentence_counts_as_one_draw():
    # Mean 2. One sentence is 2 below in its sum, the other 2 above: √(4 + 4) / 4.
    got = mean_over([np.array([1.0, 1.0]), np.array([3.0, 3.0])])
    assert (got.mean, got.error) == (2.0, pytest.approx(math.sqrt(8) / 4))
    assert mean_over([np.array([1.0, 3.0]), np.array([3.0, 1.0])]).error == 0.0
    assert str(got) == "2.00 ± 0.71"


def test_sums_by_hand():
    half = {name: np.array([0.5, 1.5]) for name in (*HIDDEN, *WEIGHTS)}
    words = Words(
        source=2,
        most=np.array([0, 1]),
        other=np.array([1, 0]),
        fall=half,
        turned={name: np.array([True, False]) for name in half},
        moved=half,
    )
    lost = np.array([[3.0, 1.0], [4.0, 2.0]])  # the first word costs most, at both steps
    table = Removals(fall=lost, turned=lost > 1.5, moved=lost / 10)
    other = replace(words, fall={name: np.array([4.0, 4.0]) for name in half})  # never read anew
    found = summed_up([words, other], {0: table})
    assert list(found.effects) == list(CHANGES)
    assert found.effects["hidden most"].fall.mean == 2.5  # 0.5, 1.5, 4 and 4
    assert found.effects["uniform"].turned.mean == 0.5
    assert found.effects["removed most"].fall.mean == 2.5  # 3 and 2
    assert found.effects["removed random"].fall.mean == 2.5  # 1 and 4
    assert found.effects["removed random"].turned.mean == 0.5
    assert found.agrees.mean == 0.5
    assert found.read_anew == 1
    assert (found.by_chance, found.words, found.sentences) == (0.5, 4, 2)


def test_all_changes_of_a_model_are_finite(models):
    found = faithfulness(models["transformer"], PAIRS, WORDS, WORDS, every=2)
    assert found.read_anew == 2
    assert found.words == sum(len(pair.target) for pair in PAIRS)
    for effect in found.effects.values():
        assert math.isfinite(effect.fall.mean)
        assert 0 <= effect.turned.mean <= 1
        assert 0 < effect.moved.mean <= 1
