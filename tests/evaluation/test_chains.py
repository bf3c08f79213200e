"""How many operations have to wait for each other."""

import pytest
import torch
from torch import nn

from heed.data.batches import Batch
from heed.evaluation.chains import in_sequence
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.transformer import Transformer, TransformerConfig
from heed.training.objectives import translation_loss


@pytest.mark.parametrize("steps", [1, 5])
def test_a_chain_is_as_long_as_it_is(steps):
    x = torch.ones(3, requires_grad=True)
    for _ in range(steps):
        x = x * 2
    assert in_sequence(x) == steps


def test_what_stands_side_by_side_does_not_wait():
    x = torch.ones(3, requires_grad=True)
    assert in_sequence(x * 2 + x * 3 + x * 4) == 3  # a product and two sums
    assert in_sequence((x * 2) * (((x + 1) * 2) + 1)) == 4  # the longer way counts


def test_nothing_recorded_is_refused():
    with pytest.raises(ValueError, match="recorded nothing"):
        in_sequence(torch.ones(3))


def test_a_long_chain_needs_no_deep_stack():
    x = torch.ones((), requires_grad=True)
    for _ in range(5_000):
        x = x + 1
    assert in_sequence(x) == 5_000


def chain(model: nn.Module, words: int) -> int:
    tokens, lengths = torch.randint(4, 9, (2, words)), torch.full((2,), words)
    return in_sequence(translation_loss(model, Batch(tokens, lengths, tokens, lengths)))


def test_a_recurrent_translator_waits_longer_with_each_word_and_a_transformer_does_not():
    recurrent = Bahdanau(
        BahdanauConfig(
            source_vocab=9,
            target_vocab=9,
            d_embedding=4,
            d_encoder=4,
            d_state=4,
            d_align=4,
            d_maxout=4,
        )
    )
    at_once = Transformer(
        TransformerConfig(source_vocab=9, target_vocab=9, d_model=8, d_inner=8, heads=2)
    )
    found = [chain(recurrent, words) for words in (4, 8, 12)]
    assert found[2] - found[1] == found[1] - found[0] > 0  # so many a word
    assert chain(at_once, 4) == chain(at_once, 12)
