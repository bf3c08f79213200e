import math

import numpy as np
import pytest

from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.evaluation.alignment import (
    aer_by_phenomenon,
    alignment_error_rate,
    entropy,
    forced_links,
    gold,
    link_precision,
    links_from_weights,
)


def test_a_target_word_is_linked_to_what_it_looks_at_most():
    weights = np.array(
        [
            [0.7, 0.2, 0.1],  # word 0
            [0.1, 0.2, 0.7],  # EOS: no link
            [0.4, 0.4, 0.2],  # equal: the first
            [0.0, 0.9, 0.1],  # the step that writes EOS: dropped
        ]
    )
    assert links_from_weights(weights, 2, 3) == {(0, 0), (0, 2)}
    assert links_from_weights(weights[:, :2], 2, 3) == {(0, 0), (1, 1), (0, 2)}  # no EOS column


def test_padding_columns_beyond_the_eos_are_not_looked_at():
    assert links_from_weights(np.array([[0.3, 0.2, 0.5]]), 1, 1) == {(0, 0)}


def test_a_word_that_looks_nowhere_has_no_link():
    assert links_from_weights(np.zeros((2, 4)), 3, 2) == frozenset()
    assert links_from_weights(np.ones((1, 1)), 0, 0) == frozenset()
    assert links_from_weights(np.ones((2, 1)), 0, 1) == frozenset()


def test_weights_that_are_too_few_are_refused():
    with pytest.raises(ValueError, match="do not cover 3 target and 2 source"):
        links_from_weights(np.ones((2, 3)), 2, 3)


# Four target words. A has 4 links, S 3, P two more. A ∩ S = 2, A ∩ P = 3.
A = frozenset({(0, 0), (1, 1), (2, 3), (4, 2)})
S = frozenset({(0, 0), (1, 1), (3, 3)})
P = S | {(2, 3), (2, 2)}


def test_aer_by_hand():
    assert alignment_error_rate([A], [S], [P]) == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert link_precision([A], [P]) == pytest.approx(3 / 4)


def test_aer_is_0_for_the_gold_links_and_1_for_none_of_them():
    assert alignment_error_rate([S], [S], [P]) == 0.0
    assert alignment_error_rate([P], [S], [P]) == 0.0  # possible links do not hurt
    assert alignment_error_rate([frozenset()], [S], [P]) == 1.0
    assert alignment_error_rate([{(9, 9)}], [S], [P]) == 1.0


def test_sure_links_are_possible_even_if_nobody_says_so():
    assert alignment_error_rate([A], [S], [P - S]) == alignment_error_rate([A], [S], [P])


def test_aer_sums_counts_over_the_corpus_and_is_no_mean_of_sentences():
    one = frozenset({(0, 0)})
    aer = alignment_error_rate([A, one], [S, one], [P, one])
    assert aer == pytest.approx(1 - (2 + 3 + 1 + 1) / (4 + 3 + 1 + 1))


def test_nothing_against_nothing_has_no_error_rate():
    with pytest.raises(ValueError, match="of nothing"):
        alignment_error_rate([frozenset()], [frozenset()], [frozenset()])
    with pytest.raises(ValueError, match="zip"):
        alignment_error_rate([A], [S, S], [P])
    assert link_precision([frozenset()], [P]) == 0.0


def test_aer_by_phenomenon_looks_only_at_the_target_words_of_the_phenomenon():
    pair = Pair(
        source=tuple("abcde"),
        target=tuple("wxyz"),
        sure=S,
        possible=P,
        phenomena={"clitic": frozenset({(1, 1), (2, 2)}), "mirror": frozenset({(2, 3)})},
    )
    plain = Pair(
        source=("a",), target=("w",), sure=frozenset({(0, 0)}), possible=frozenset({(0, 0)})
    )
    result = aer_by_phenomenon([A, frozenset()], [pair, plain])
    # target words 1 and 2: A = {(1,1), (4,2)}, S = {(1,1)}, P = {(1,1), (2,2)}
    assert result["clitic"] == pytest.approx(1 - (1 + 1) / (2 + 1))
    # target word 3: A = {(2,3)}, S = {(3,3)}, P = {(3,3), (2,3)}
    assert result["mirror"] == pytest.approx(1 - (0 + 1) / (1 + 1))
    assert list(result) == ["clitic", "mirror"]


def test_gold_links_of_the_pairs_have_no_error():
    pair = Pair(source=tuple("abcde"), target=tuple("wxyz"), sure=S, possible=P)
    assert gold([pair, pair]) == ([S, S], [P, P])


def test_forced_links_come_in_the_order_of_the_pairs(tiny):
    source, target = Vocabulary(tuple("abcdefg")), Vocabulary(("w", "x"))
    pairs = [
        Pair(source=("a", "b"), target=("w",)),
        Pair(source=(), target=("w",)),
        Pair(source=("c",), target=("x", "w", "x")),
        Pair(source=("d", "a", "c"), target=()),
    ]
    found = forced_links(tiny(seed=6), pairs, source, target, batch_size=2)
    alone = [forced_links(tiny(seed=6), [pair], source, target)[0] for pair in pairs]
    assert found == alone
    assert found[1] == found[3] == frozenset()
    assert any(found)
    with pytest.raises(ValueError, match="has none"):
        forced_links(tiny(attends=False), pairs, source, target)


def test_entropy_of_rows_by_hand():
    weights = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.25, 0.25, 0], [0.0] * 4])
    np.testing.assert_allclose(entropy(weights), [0, 2, 1.5, 0], atol=1e-12)
    np.testing.assert_allclose(
        entropy(weights, "nats"), [0, math.log(4), 1.5 * math.log(2), 0], atol=1e-12
    )
    assert entropy(np.float32([[0.1] * 10])).dtype == np.float32
    assert (entropy(np.array([[1.0 + 1e-16, 0.0]])) >= 0).all()
