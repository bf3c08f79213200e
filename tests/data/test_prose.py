"""The sentences of Python documentation, as they are shipped."""

import re

import pytest

from heed.data.prose import PROSE, Prose, ProseData, ProseError
from heed.data.text import tokenize


@pytest.fixture(scope="module")
def prose() -> Prose:
    return ProseData().load()


def test_there_is_about_as_much_as_was_promised(prose):
    assert len(prose.train) + len(prose.valid) + len(prose.test) > 10_000
    assert sum(map(len, prose.train)) > 125_000
    assert len(prose.vocabulary) == 3_000 + 4
    assert PROSE.stat().st_size < 1_000_000


def test_no_sentence_is_in_two_parts_or_twice_in_one(prose):
    every = [*prose.train, *prose.valid, *prose.test]
    assert len(set(every)) == len(every)
    assert len(prose.valid) == len(prose.test) == 800


def test_the_watched_sentences_are_two_of_ours_and_four_held_out_ones(prose):
    ours, theirs = prose.watched[:2], prose.watched[2:]
    assert not set(ours) & {*prose.train, *prose.valid, *prose.test}
    assert set(theirs) <= set(prose.valid)
    assert [len(words) for words in theirs] == sorted(len(words) for words in theirs)
    assert all(word in prose.vocabulary for words in ours for word in words)


def test_most_words_are_known(prose):
    words = [word for sentence in prose.test for word in sentence]
    assert 0.02 < sum(word not in prose.vocabulary for word in words) / len(words) < 0.08


def test_another_seed_is_another_split_of_the_same_sentences(prose):
    again, other = ProseData().load(), ProseData(seed=1).load()
    assert again == prose
    assert other.test != prose.test
    assert {*other.train, *other.valid, *other.test} == {*prose.train, *prose.valid, *prose.test}


def test_the_file_is_prose_without_code_in_an_order_that_makes_diffs_small():
    lines = PROSE.read_text("utf-8").splitlines()
    assert lines == sorted(lines)
    for line in lines:
        assert re.fullmatch(r"[A-Z][A-Za-z ,;:'().!?-]*", line), line
        assert 6 <= len(tokenize(line, "en")) <= 28


def test_its_source_stands_beside_it():
    source = (PROSE.parent / "SOURCE.md").read_text("utf-8")
    assert f"{len(PROSE.read_text('utf-8').splitlines()):,}" in source
    named = re.findall(r"`(licences/[a-z-]+\.txt)`", source)
    assert len(named) == 4
    assert all((PROSE.parent / name).stat().st_size > 1_000 for name in named)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no"),
        (b"One sentence.\n\xff", "is not UTF-8 text"),
        (b"One sentence is not enough.\n", "leave none to learn from"),
    ],
)
def test_a_file_that_will_not_do_is_named_in_one_line(tmp_path, content, message):
    path = tmp_path / "sentences.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ProseError, match=message) as fault:
        ProseData().load(path)
    assert str(path) in str(fault.value)
    assert "\n" not in str(fault.value)
