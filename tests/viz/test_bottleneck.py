from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.data.pairs import Pair
from heed.viz.bottleneck import common, found_along, lags, retelling, vectors, wiring

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@given(WORDS, WORDS)
def test_common_words_are_as_many_as_trying_every_choice_finds(hypothesis, reference):
    pairs = common(hypothesis, reference)
    assert all(hypothesis[i] == reference[j] for i, j in pairs)
    assert pairs == sorted(pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    longest = max(
        len(choice)
        for size in range(len(hypothesis) + 1)
        for choice in combinations(hypothesis, size)
        if in_order(choice, reference)
    )
    assert len(pairs) == longest


def in_order(words, reference):
    left = iter(reference)
    return all(word in left for word in words)


def test_words_that_came_through_are_counted_where_they_stand():
    reference = list("abcdefghij")
    assert found_along([list("abcde")], [reference], parts=2).tolist() == [1.0, 0.0]
    assert found_along([list("axxxxfghij")], [reference], parts=2).tolist() == [0.2, 1.0]


def test_a_sentence_shorter_than_the_parts_fills_some_of_them_only():
    assert found_along([["a"]], [["a", "b"]], parts=4).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_retelling_marks_what_is_missing_and_what_is_wrong_and_counts_aloud():
    shown = retelling(
        [["the", "cat", "sleeps"]], [["le", "chat", "dort"]], [["le", "chien", "dort"]]
    )
    assert 'title="missing">chat</span>' in shown.html
    assert 'title="wrong">chien</span>' in shown.html
    assert ">dort</span>" not in shown.html
    assert shown.alt == (
        "3 words read: 2 of 3 French words came out, the first lost one is number 2."
    )
    assert shown.alt in shown._repr_html_()


def test_a_word_is_text_and_never_markup():
    shown = retelling([["<b>"]], [["<i>"]], [['"<unk>']])
    for tag in ("<b>", "<i>", "<unk>"):
        assert tag not in shown._repr_html_()
    assert "&lt;unk&gt;" in shown.html


def test_a_retelling_without_fault_names_none():
    shown = retelling([["cat"]], [["chat"]], [["chat"]])
    assert "lost" not in shown.alt
    assert "missing" not in shown.html


def test_the_wiring_says_that_nothing_else_leads_across():
    drawn = wiring(["sleeps", "cat", "</s>"], ["chat", "dort"], layers=3)
    assert "3 layers" in drawn.alt
    assert "No other arrow" in drawn.alt
    for word in ("sleeps", "chat", "v"):
        assert f">{word}<" in drawn.svg
    assert drawn.svg == wiring(["sleeps", "cat", "</s>"], ["chat", "dort"], layers=3).svg


def test_vectors_of_all_sentences_are_equally_many_numbers():
    strips = [np.full((4, 8), 0.9), np.zeros((4, 8))]
    drawn = vectors(strips, ["short", "long"], ["h 1", "c 1", "h 2", "c 2"])
    assert "32 numbers" in drawn.alt
    assert "short: 100% of them beyond ±0.5" in drawn.alt
    assert "long: 0%" in drawn.alt
    with pytest.raises(ValueError, match="2 vectors, but 1 names"):
        vectors(strips, ["short"], ["h 1", "c 1", "h 2", "c 2"])


def counted(pair, *, reverse):
    """The same by walking through time, one step after another."""
    words = list(range(len(pair.source)))
    read = [*(words[::-1] if reverse else words), None]  # None: EOS
    time = [("read", i) for i in read] + [("write", j) for j in range(len(pair.target))]
    return sorted((j, time.index(("write", j)) - time.index(("read", i))) for i, j in pair.sure)


@pytest.mark.parametrize("reverse", [True, False])
def test_lags_are_steps_that_can_be_counted(reverse):
    links = frozenset({(0, 0), (1, 2), (2, 1), (3, 4), (3, 3)})
    pair = Pair(source=tuple("abcd"), target=tuple("vwxyz"), sure=links, possible=links)
    assert sorted(lags(pair, reverse=reverse)) == counted(pair, reverse=reverse)


def test_reversal_changes_the_shortest_lag_and_not_the_mean_of_a_straight_sentence():
    links = frozenset((i, i) for i in range(9))
    pair = Pair(source=tuple("abcdefghi"), target=tuple("abcdefghi"), sure=links, possible=links)
    forward, back = ([lag for _, lag in lags(pair, reverse=r)] for r in (False, True))
    assert sum(forward) == sum(back)
    assert (min(forward), min(back)) == (10, 2)
