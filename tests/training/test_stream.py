import itertools

import pytest
import torch

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import PAD, Vocabulary
from heed.training.stream import Ragged, Stream

WORDS = tuple("abcdefg")
VOCABULARY = Vocabulary(WORDS)
PAIRS = [
    Pair(source=tuple(WORDS[(i + k) % 7] for k in range(2 + i % 5)), target=WORDS[: 1 + i % 6])
    for i in range(23)
]


def stream(**options):
    return Stream(PAIRS, VOCABULARY, VOCABULARY, **({"batch_size": 5, "seed": 3} | options))


def rows(batch):
    """The pairs of a batch, as something to count."""
    return [
        (tuple(s[:m].tolist()), tuple(t[:n].tolist()))
        for s, m, t, n in zip(
            batch.source, batch.source_lengths, batch.target, batch.target_lengths, strict=True
        )
    ]


def test_a_gathered_batch_is_the_batch_that_is_padded_row_by_row():
    chosen = [3, 11, 7]
    ours = stream().batch(torch.tensor(chosen))
    theirs = encode_batch([PAIRS[i] for i in chosen], VOCABULARY, VOCABULARY)
    for name in ("source", "source_lengths", "target", "target_lengths"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name


def test_ragged_rows_are_filled_up_with_padding():
    table, lengths = Ragged.of([[5], [6, 7, 8], [9, 4]]).padded(torch.tensor([1, 0]))
    assert table.tolist() == [[6, 7, 8], [5, PAD, PAD]]
    assert lengths.tolist() == [3, 1]


def test_an_epoch_shows_every_pair_once():
    one = stream()
    assert one.per_epoch == 5
    seen = [row for batch in itertools.islice(one.starting_after(0), 5) for row in rows(batch)]
    everything = rows(one.batch(torch.arange(len(PAIRS))))
    assert sorted(seen) == sorted(everything)


def test_epochs_and_seeds_differ_and_the_same_one_repeats():
    assert stream().epoch(0) == stream().epoch(0)
    assert stream().epoch(0) != stream().epoch(1)
    assert stream().epoch(0) != stream(seed=4).epoch(0)


@pytest.mark.parametrize("done", [0, 3, 5, 13])
def test_starting_later_gives_the_batches_that_were_still_to_come(done):
    straight = itertools.islice(stream().starting_after(0), done, done + 7)
    later = itertools.islice(stream().starting_after(done), 7)
    for a, b in zip(straight, later, strict=True):
        assert torch.equal(a.source, b.source)
        assert torch.equal(a.target, b.target)


def test_processes_share_each_batch_between_them():
    alone = itertools.islice(stream().starting_after(0), 12)
    together = [
        itertools.islice(stream(rank=rank, world=2).starting_after(0), 12) for rank in (0, 1)
    ]
    for whole, left, right in zip(alone, *together, strict=True):
        assert sorted(rows(left) + rows(right)) == sorted(rows(whole))


def test_a_rest_too_small_for_all_processes_is_left_out():
    # 23 pairs in batches of 11: two batches and one pair that two processes cannot share.
    one = stream(batch_size=11, world=2)
    assert one.per_epoch == 2 == len(one.epoch(0))
    straight = itertools.islice(one.starting_after(0), 5, 7)
    later = itertools.islice(one.starting_after(5), 2)
    for a, b in zip(straight, later, strict=True):
        assert torch.equal(a.source, b.source)


def test_too_few_sentences_for_the_processes_are_refused():
    with pytest.raises(ValueError, match="4 processes"):
        Stream(PAIRS[:3], VOCABULARY, VOCABULARY, batch_size=8, seed=0, world=4)
