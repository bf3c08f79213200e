"""Corpora of several parts: what is in which."""

from heed.data.corpora import (
    CopyData,
    GrammarData,
    LargeGrammarData,
    ReverseData,
    ShortGrammarData,
)
from heed.data.grammar import GrammarConfig

FEW = GrammarData(drawn=GrammarConfig(sentences=400, valid=20, test=30))


def test_the_large_grammar_adds_sentences_to_learn_from_and_changes_nothing_else():
    base = FEW.load()
    more = GrammarConfig(sentences=500, valid=0, test=0, seed=1)
    large = LargeGrammarData(base=FEW, more=more).load()
    assert large.train[: len(base.train)] == base.train
    added = {pair.source for pair in large.train[len(base.train) :]}
    assert 400 < len(added) <= 500
    assert len({pair.source for pair in large.train}) == len(large.train)
    assert (large.valid, large.tests, large.watched) == (base.valid, base.tests, base.watched)
    assert large.source_vocab.words == base.source_vocab.words
    held_out = {pair.source for pair in (*base.valid, *base.test, *base.watched)}
    assert not held_out & {pair.source for pair in large.train}


def test_short_sentences_are_learnt_and_longer_ones_are_tested_too():
    data = ShortGrammarData(
        drawn=GrammarConfig(sentences=300, valid=20, test=30, longest=30),
        beyond=GrammarConfig(sentences=0, valid=0, test=12, shortest=43, longest=47),
    )
    corpus = data.load()
    assert max(len(pair.source) for pair in corpus.train) == 30
    assert list(corpus.tests) == ["inside", "longer"]
    assert max(len(pair.source) for pair in corpus.tests["inside"]) <= 30
    assert {len(pair.source) for pair in corpus.tests["longer"]} <= set(range(43, 48))
    assert len(corpus.tests["longer"]) == 12
    assert all(pair.sure for pairs in corpus.tests.values() for pair in pairs)


def test_the_longer_sentences_are_half_as_long_again_as_those_that_were_learnt():
    data = ShortGrammarData()
    middle = (data.beyond.shortest + data.beyond.longest) / 2
    assert middle == 1.5 * data.drawn.longest


def test_copies_are_the_reversals_read_the_other_way_and_linked_along_the_diagonal():
    sizes = {"letters": 5, "longest": 6, "pairs": 30, "held_out": 20}
    copies, turned = CopyData(**sizes).load(), ReverseData(**sizes).load()
    assert list(copies.tests) == ["copy"]
    assert list(turned.tests) == ["reverse"]
    for copy, back in zip(copies.train + copies.test, turned.train + turned.test, strict=True):
        assert copy.source == copy.target == back.source == back.target[::-1]
        n = len(copy.source)
        assert copy.sure == {(i, i) for i in range(n)}
        assert back.sure == {(n - 1 - j, j) for j in range(n)}
    assert copies.source_vocab.words == turned.source_vocab.words
