"""What heads are worth and what they look at, on a small Transformer and on maps made by hand."""

import math

import numpy as np
import pytest
import torch

from heed.data.pairs import Pair
from heed.data.vocabulary import EOS, Vocabulary
from heed.evaluation.heads import (
    aligned,
    every_head,
    habits,
    head_traces,
    nats_a_word,
    worth,
)
from heed.models.transformer import Changes, Transformer, TransformerConfig
from heed.trace import AttentionTrace

WORDS = Vocabulary(("a", "b", "c", "d"))
PAIRS = [
    Pair(source=("a", "b", "c"), target=("c", "b", "a")),
    Pair(source=("b",), target=("b",)),
    Pair(source=("d", "d", "a", "b", "c"), target=("c", "b", "a", "d", "d")),
]


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocab=len(WORDS),
        target_vocab=len(WORDS),
        d_model=12,
        d_inner=16,
        heads=3,
        encoder_layers=2,
        decoder_layers=1,
        dropout=0.3,
    )
    made = Transformer(config)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return made


def test_every_head_is_named_once(model):
    heads = every_head(model.config)
    assert len(heads) == len(set(heads)) == 3 * (2 + 1 + 1)
    assert heads[0] == ("encoder", 1, 1)
    assert heads[-1] == ("cross", 1, 3)


def test_nats_are_those_of_each_word_written_alone(model):
    total = words = 0.0
    model.eval()
    for pair in PAIRS:
        source = torch.tensor([[*WORDS.encode(pair.source), EOS]])
        state, encoded = None, model.encode(source, torch.tensor([source.shape[1]]))
        state = model.start(encoded)
        token = torch.tensor([1])
        for word in (*WORDS.encode(pair.target), EOS):
            state, out = model.step(state, token, encoded)
            total -= float(out.logits.log_softmax(-1)[0, word].detach())
            token, words = torch.tensor([word]), words + 1
    assert nats_a_word(model, PAIRS, WORDS, WORDS) == pytest.approx(total / words, abs=1e-5)


def test_batches_change_nothing(model):
    assert nats_a_word(model, PAIRS, WORDS, WORDS, batch_size=1) == pytest.approx(
        nats_a_word(model, PAIRS, WORDS, WORDS), abs=1e-5
    )


def test_dropout_is_off_meanwhile_and_on_again_afterwards(model):
    model.train()
    first, second = (nats_a_word(model, PAIRS, WORDS, WORDS) for _ in range(2))
    assert first == second
    assert model.training


def test_a_head_that_adds_nothing_is_worth_nothing(model):
    d_k = 4
    with torch.no_grad():
        model.encoder[1].attention.W_o.weight[:, d_k : 2 * d_k] = 0  # its second head
    found = worth(model, PAIRS, WORDS, WORDS)
    assert list(found) == every_head(model.config)
    assert found["encoder", 2, 2] == pytest.approx(0.0, abs=1e-6)
    assert sum(abs(value) > 1e-4 for value in found.values()) == len(found) - 1


# ---------------------------------------------------------------------------- maps


def test_traces_carry_the_names_of_words(model):
    traces = head_traces(model, PAIRS[0], WORDS, WORDS)
    assert list(traces) == ["encoder 1", "encoder 2", "decoder 1", "cross 1"]
    read, given, written = (
        ("a", "b", "c", "</s>"),
        ("<s>", "c", "b", "a"),
        ("c", "b", "a", "</s>"),
    )
    assert traces["encoder 2"].query.labels == traces["encoder 2"].key.labels == read
    assert traces["decoder 1"].query.labels == traces["decoder 1"].key.labels == given
    assert (traces["cross 1"].query.labels, traces["cross 1"].key.labels) == (written, read)
    for trace in traces.values():
        np.testing.assert_allclose(trace.weights.sum(-1), 1.0, atol=1e-5)
    assert np.triu(traces["decoder 1"].weights, 1).max() == 0


def test_what_is_changed_shows_in_the_traces(model):
    plain = head_traces(model, PAIRS[0], WORDS, WORDS)
    bare = head_traces(model, PAIRS[0], WORDS, WORDS, changes=Changes(source_places=False))
    assert np.abs(plain["encoder 1"].weights - bare["encoder 1"].weights).max() > 1e-3


def drawn(name, *heads):
    """A trace from one matrix a head."""
    weights = np.array(heads, dtype=np.float32)
    rows, columns = (tuple(f"w{i}" for i in range(n)) for n in weights.shape[1:])
    return AttentionTrace.of(name, weights, query=rows, key=columns)


def test_habits_of_heads_made_by_hand():
    before = [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    end = [[0, 0, 1], [0, 0, 1], [0, 0, 1]]
    half = [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]]
    start = [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
    traces = [
        {
            "encoder 1": drawn("encoder 1", before, end),
            "decoder 1": drawn("decoder 1", half, start),
            "cross 1": drawn("cross 1", end, end),
        }
    ]
    found = habits(traces)
    assert list(found) == [
        ("encoder", 1, 1),
        ("encoder", 1, 2),
        ("decoder", 1, 1),
        ("decoder", 1, 2),
    ]
    assert found["encoder", 1, 1].strongest == ("before", 1.0)
    ended = found["encoder", 1, 2]
    assert (ended.before, ended.after, ended.edge, ended.places) == (0.0, 0.5, 1.0, 1.0)
    assert ended.itself == pytest.approx(1 / 3)
    assert found["encoder", 1, 2].strongest == ("edge", 1.0)
    assert found["decoder", 1, 2].strongest == ("edge", 1.0)  # there it is the first place
    turned = found["decoder", 1, 1]
    assert (turned.after, turned.itself) == pytest.approx((0.5, 2 / 3))
    assert turned.places == pytest.approx(2 ** (2 / 3))


def test_habits_are_means_over_words_not_over_sentences():
    one = {"encoder 1": drawn("encoder 1", [[1, 0], [1, 0]])}
    other = {"encoder 1": drawn("encoder 1", np.eye(4))}
    assert habits([one, other])["encoder", 1, 1].before == pytest.approx(1 / (1 + 3))


def test_aligned_counts_first_looks_at_gold_links():
    pair = Pair(
        source=("a", "b"),
        target=("x", "y"),
        sure=frozenset({(1, 0), (0, 1)}),
        possible=frozenset({(1, 0), (0, 1)}),
    )
    crossed = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    straight = [[1, 0, 0], [0.4, 0.3, 0.3], [0, 0, 1]]
    found = aligned([{"cross 1": drawn("cross 1", crossed, straight)}], [pair])
    assert found == {("cross", 1, 1): 1.0, ("cross", 1, 2): 0.5}


def test_entropy_counts_places():
    flat = {"encoder 1": drawn("encoder 1", np.full((4, 4), 0.25))}
    assert habits([flat])["encoder", 1, 1].places == pytest.approx(4.0)
    assert not math.isnan(habits([flat])["encoder", 1, 1].after)
