"""Words to numbers and back."""

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

SENTENCES = [["b", "a", "c", "a"], ["c", "a", "d"], ["b", "e"]]  # a 3, b 2, c 2, d 1, e 1
sentences = st.lists(st.lists(st.text("abcdé", min_size=1, max_size=3), max_size=7), max_size=7)


def test_the_four_specials_come_first():
    vocabulary = Vocabulary(("chat", "noir"))
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert vocabulary.decode([PAD, BOS, EOS, UNK]) == list(SPECIALS)
    assert vocabulary.encode(["chat", "noir"]) == [4, 5]
    assert len(vocabulary) == 6


def test_frequent_words_come_first_and_equal_counts_go_by_spelling():
    assert Vocabulary.build(SENTENCES, max_size=9).words == ("a", "b", "c", "d", "e")


def test_max_size_counts_ordinary_words_and_cuts_the_rarest():
    vocabulary = Vocabulary.build(SENTENCES, max_size=2)
    assert vocabulary.words == ("a", "b")
    assert len(vocabulary) == 6


def test_min_count_leaves_rare_words_out():
    assert Vocabulary.build(SENTENCES, max_size=9, min_count=2).words == ("a", "b", "c")
    assert Vocabulary.build(SENTENCES, max_size=9, min_count=3).words == ("a",)
    assert Vocabulary.build(SENTENCES, max_size=9, min_count=4).words == ()


@given(sentences, st.integers(0, 9), st.integers(0, 2**32))
def test_the_order_of_the_sentences_does_not_matter(given_sentences, size, seed):
    shuffled = [list(sentence) for sentence in given_sentences]
    random.Random(seed).shuffle(shuffled)
    for sentence in shuffled:
        random.Random(seed).shuffle(sentence)
    first = Vocabulary.build(given_sentences, max_size=size)
    assert Vocabulary.build(shuffled, max_size=size) == first


def test_a_vocabulary_may_be_built_from_sentences_that_can_be_read_only_once():
    once = (sentence for sentence in SENTENCES)
    assert Vocabulary.build(once, max_size=9) == Vocabulary.build(SENTENCES, max_size=9)


@given(sentences)
def test_known_words_come_back_as_they_went_in(given_sentences):
    vocabulary = Vocabulary.build(given_sentences, max_size=1000)
    for sentence in given_sentences:
        ids = vocabulary.encode(sentence)
        assert vocabulary.decode(ids) == sentence
        assert all(UNK < i < len(vocabulary) for i in ids)


def test_a_word_it_has_not_seen_becomes_unk():
    vocabulary = Vocabulary(("chat",))
    assert vocabulary.encode(["chat", "ornithorynque", "Chat", ""]) == [4, UNK, UNK, UNK]
    assert vocabulary.decode([UNK]) == ["<unk>"]


def test_it_knows_which_words_it_holds():
    vocabulary = Vocabulary(("chat",))
    assert "chat" in vocabulary
    assert "chien" not in vocabulary
    assert 4 not in vocabulary


def test_nothing_is_encoded_as_nothing():
    vocabulary = Vocabulary(())
    assert len(vocabulary) == 4
    assert vocabulary.encode([]) == []
    assert vocabulary.decode([]) == []


def test_a_word_that_stands_there_twice_is_refused_by_name():
    with pytest.raises(ValueError, match="the word 'chat' stands in the vocabulary twice"):
        Vocabulary(("chat", "noir", "chat"))


@pytest.mark.parametrize("special", SPECIALS)
def test_a_special_cannot_be_an_ordinary_word_too(special):
    with pytest.raises(ValueError, match=f"the word '{special}' stands in the vocabulary twice"):
        Vocabulary(("chat", special))


def test_a_word_of_the_text_that_is_spelt_like_a_special_is_left_out():
    vocabulary = Vocabulary.build([["chat", "<pad>", "</s>"]], max_size=9)
    assert vocabulary.words == ("chat",)


def test_a_number_without_a_word_is_an_error():
    with pytest.raises(IndexError):
        Vocabulary(("chat",)).decode([5])


def test_two_vocabularies_with_the_same_words_are_equal_and_cannot_be_changed():
    vocabulary = Vocabulary(("chat",))
    assert vocabulary == Vocabulary(("chat",))
    assert vocabulary != Vocabulary(("chien",))
    vocabulary.encode(["chat"])  # fills the index
    assert hash(vocabulary) == hash(Vocabulary(("chat",)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        vocabulary.words = ()  # type: ignore[misc]
