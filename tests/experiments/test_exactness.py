"""What is right to the word."""

import pytest

from heed.data.corpora import CopyData
from heed.data.pairs import Pair
from heed.evaluation.decoding import Translation
from heed.experiments.exactness import Exactly, TranslatesExactly, words_right
from heed.experiments.translation import Translates
from heed.models.transformer import Transformer, TransformerConfig


def said(words: str, *, finished: bool = True) -> Translation:
    return Translation(
        source=("x",), words=tuple(words), log_prob=0.0, weights=None, finished=finished
    )


def pair(words: str) -> Pair:
    return Pair(source=("x",), target=tuple(words))


@pytest.mark.parametrize(
    ("written", "right"),
    [
        (said("abc"), 4 / 4),
        (said("abc", finished=False), 3 / 4),
        (said("axc"), 3 / 4),
        (said("bc"), 0 / 4),
        (said("abcc"), 3 / 4),
        (said("ab"), 2 / 4),
        (said(""), 0 / 4),
    ],
)
def test_a_word_is_right_at_its_own_place_and_the_end_is_one(written, right):
    assert words_right([written], [pair("abc")]) == right


def test_words_are_counted_over_all_sentences():
    assert words_right([said("a"), said("xxx")], [pair("a"), pair("abc")]) == 3 / 6


def test_a_card_has_two_numbers_more_and_all_others_as_they_were():
    data = CopyData(letters=3, longest=10, pairs=40, held_out=20)
    task = TranslatesExactly().load(data, {})
    assert isinstance(task.small(), Exactly)
    words = len(task.source_vocab)
    model = Transformer(
        TransformerConfig(source_vocab=words, target_vocab=words, d_model=4, d_inner=4, heads=2)
    )
    metrics, settings = task.evaluate(model)
    before, too = Translates().load(data, {}).evaluate(model)
    assert settings == too
    assert {name: metrics[name] for name in before} == before
    assert set(metrics) - set(before) == {"exact_match_by_length", "words_right"}
    assert set(metrics["exact_match_by_length"]) == set(before["bleu_by_length"])
