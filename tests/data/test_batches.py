"""Rows of unlike length as tensors, and batches with little padding."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heed.data.batches import bucketed, encode_batch, encode_source, pad
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

ENGLISH = Vocabulary(("the", "cat", "sleeps"))
FRENCH = Vocabulary(("le", "chat", "dort"))
PAIRS = [
    Pair(source=("the", "cat", "sleeps"), target=("le", "chat", "dort")),
    Pair(source=("sleeps",), target=("dort", "dort")),
    Pair(source=("the", "platypus"), target=("ornithorynque",)),
]


def test_a_source_row_is_its_words_then_eos_then_padding():
    batch = encode_batch(PAIRS, ENGLISH, FRENCH)
    assert batch.source.tolist() == [[4, 5, 6, EOS], [6, EOS, PAD, PAD], [4, UNK, EOS, PAD]]
    assert batch.source_lengths.tolist() == [4, 2, 3]


def test_a_target_row_runs_from_bos_to_eos_then_padding():
    batch = encode_batch(PAIRS, ENGLISH, FRENCH)
    assert batch.target.tolist() == [
        [BOS, 4, 5, 6, EOS],
        [BOS, 6, 6, EOS, PAD],
        [BOS, UNK, EOS, PAD, PAD],
    ]
    assert batch.target_lengths.tolist() == [5, 4, 3]


def test_source_sentences_alone_are_read_as_in_a_batch():
    source, lengths = encode_source([pair.source for pair in PAIRS], ENGLISH)
    batch = encode_batch(PAIRS, ENGLISH, FRENCH)
    assert torch.equal(source, batch.source)
    assert torch.equal(lengths, batch.source_lengths)


def test_an_empty_sentence_is_just_its_end():
    source, lengths = encode_source([()], ENGLISH)
    assert source.tolist() == [[EOS]]
    assert lengths.tolist() == [1]


def test_no_sentences_make_a_table_without_rows():
    source, lengths = encode_source([], ENGLISH)
    assert source.shape == (0, 0)
    assert lengths.shape == (0,)


@given(st.lists(st.lists(st.integers(1, 99), max_size=7), max_size=7))
def test_padding_fills_up_to_the_longest_row_and_no_further(rows):
    table, lengths = pad(rows)
    assert table.dtype == lengths.dtype == torch.long
    assert table.shape == (len(rows), max(map(len, rows), default=0))
    for row, filled, n in zip(rows, table.tolist(), lengths.tolist(), strict=True):
        assert filled[:n] == row
        assert set(filled[n:]) <= {PAD}


# --- batches of like length ------------------------------------------------------------------


def lengths_like_real_text(rows: int) -> list[tuple[int, int]]:
    """Targets of 1 to 60 words, mostly short; sources of about the same length."""
    draw = random.Random(0)
    targets = [min(60, 1 + int(draw.expovariate(1 / 9))) for _ in range(rows)]
    return [(n, max(1, n + draw.randint(-2, 2))) for n in targets]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def waste(batches: list[list[int]], lengths: list[tuple[int, int]]) -> float:
    """The share of a batch's cells that hold padding, both sides together."""
    cells = words = 0
    for batch in batches:
        for side in (0, 1):
            here = [lengths[row][side] for row in batch]
            cells += len(here) * max(here)
            words += sum(here)
    return 1 - words / cells


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=300),
    st.integers(1, 7),
    st.integers(0, 2**32),
)
def test_one_pass_shows_every_row_once_and_no_batch_is_too_large(lengths, batch_size, seed):
    batches = bucketed(lengths, batch_size=batch_size, generator=generator(seed))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= batch_size for batch in batches)


def test_only_the_last_batch_of_a_pass_is_smaller_than_the_others():
    batches = bucketed(lengths_like_real_text(2_311), batch_size=32, generator=generator())
    sizes = sorted(map(len, batches))
    assert sizes == [2_311 % 32, *[32] * (2_311 // 32)]


def test_the_same_seed_gives_the_same_pass_and_another_seed_another():
    lengths = lengths_like_real_text(1_000)
    first = bucketed(lengths, batch_size=32, generator=generator(7))
    assert bucketed(lengths, batch_size=32, generator=generator(7)) == first
    assert bucketed(lengths, batch_size=32, generator=generator(8)) != first


def test_two_passes_in_a_row_put_other_rows_together():
    lengths, going_on = lengths_like_real_text(20_000), generator()
    passes = [bucketed(lengths, batch_size=64, generator=going_on) for _ in range(2)]
    first, second = ({frozenset(batch) for batch in batches} for batches in passes)
    assert first.isdisjoint(second)


def test_the_global_random_numbers_are_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    bucketed(lengths_like_real_text(100), batch_size=8, generator=generator())
    assert torch.equal(torch.rand(1), expected)


def test_batches_of_like_length_waste_less_than_a_tenth_on_padding():
    lengths = lengths_like_real_text(20_000)
    order = torch.randperm(len(lengths), generator=generator()).tolist()
    shuffled = [order[i : i + 64] for i in range(0, len(order), 64)]
    assert waste(shuffled, lengths) > 0.6
    assert waste(bucketed(lengths, batch_size=64, generator=generator()), lengths) < 0.1


def test_long_and_short_batches_come_mixed():
    """Sorted batches would make an epoch that begins with short sentences, ends with long."""
    lengths = lengths_like_real_text(64 * 64)  # one pool
    batches = bucketed(lengths, batch_size=64, generator=generator())
    means = torch.tensor([sum(lengths[row][0] for row in b) / len(b) for b in batches])
    place = torch.arange(len(batches), dtype=torch.float32)
    correlation = torch.corrcoef(torch.stack([place, means]))[0, 1].item()
    assert abs(correlation) < 0.2


# --- pairs -----------------------------------------------------------------------------------


def test_a_pair_without_references_accepts_its_target():
    assert PAIRS[0].accepted == (("le", "chat", "dort"),)
    two = Pair(source=("cat",), target=("chat",), references=(("chat",), ("matou",)))
    assert two.accepted == (("chat",), ("matou",))


def test_a_sure_link_must_be_possible():
    with pytest.raises(ValueError, match=r"sure links \[\(0, 0\)\] are not possible"):
        Pair(source=("cat",), target=("chat",), sure=frozenset({(0, 0)}))


@pytest.mark.parametrize("link", [(1, 0), (0, 2), (-1, 0), (0, -1)])
def test_a_link_must_point_at_words_of_the_pair(link):
    with pytest.raises(ValueError, match="points outside a pair of 1 and 2 words"):
        Pair(source=("cat",), target=("le", "chat"), possible=frozenset({link}))
