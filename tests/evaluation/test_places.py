"""Places of windows, against what the model says and what the links say."""

import math

import numpy as np
import pytest
import torch

from heed.data.batches import encode_batch
from heed.data.corpora import CopyData, ReverseData
from heed.data.pairs import Pair
from heed.evaluation.places import forced_places, place_error
from heed.models.luong import Luong, LuongConfig

SMALL = ReverseData(letters=5, longest=6, pairs=30, held_out=20)


def model(attention: str, words: int) -> Luong:
    return Luong(
        LuongConfig(
            source_vocab=words,
            target_vocab=words,
            d_embedding=5,
            d_hidden=7,
            d_align=3,
            D=2,
            attention=attention,
        )
    ).eval()


def test_the_monotonic_places_are_exact_on_copies_and_far_off_on_reversals():
    copies, turned = (
        data.load() for data in (CopyData(letters=5, longest=6, pairs=30, held_out=20), SMALL)
    )
    luong = model("local_m", len(copies.source_vocab))
    both = []
    for corpus in (copies, turned):
        pairs = corpus.test
        places = forced_places(luong, pairs, corpus.source_vocab, corpus.target_vocab)
        assert places is not None
        assert [row.tolist() for row in places] == [
            [float(t) for t in range(len(pair.target) + 1)] for pair in pairs
        ]
        both.append(place_error(places, pairs))
    assert both[0] == 0.0
    away = [abs(t - (len(p.source) - 1 - t)) for p in turned.test for t in range(len(p.target))]
    assert both[1] == pytest.approx(sum(away) / len(away))


def test_places_come_in_the_order_of_the_pairs_however_they_are_batched():
    corpus = SMALL.load()
    luong = model("local_p", len(corpus.source_vocab))
    words = corpus.source_vocab, corpus.target_vocab
    found = forced_places(luong, corpus.test, *words, batch_size=3)
    assert found is not None
    for pair, row in zip(corpus.test, found, strict=True):
        batch = encode_batch([pair], *words)
        with torch.inference_mode():
            out = luong(batch.source, batch.source_lengths, batch.target[:, :-1])
        assert out.places is not None
        np.testing.assert_allclose(row, out.places[0].numpy(), atol=1e-5)


def test_a_model_that_looks_at_everything_has_no_places():
    corpus = SMALL.load()
    words = corpus.source_vocab, corpus.target_vocab
    assert forced_places(model("global", len(words[0])), corpus.test, *words) is None


def test_a_word_with_two_links_should_be_in_their_middle_and_one_without_does_not_count():
    links = frozenset({(0, 0), (1, 0), (3, 2)})
    pair = Pair(source=("a", "b", "c", "d"), target=("x", "y", "z"), sure=links, possible=links)
    places = [np.array([1.0, 99.0, 2.5, 4.0], np.float32)]
    assert place_error(places, [pair]) == pytest.approx((0.5 + 0.5) / 2)
    bare = Pair(source=("a",), target=("x",), sure=frozenset(), possible=frozenset())
    assert math.isnan(place_error([np.zeros(2, np.float32)], [bare]))
