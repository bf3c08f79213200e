"""Copies, slips, trails and costs of a machine that copies."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from heed.data.tapes import CopyTapes
from heed.experiments.cards import Card
from heed.experiments.tapes import Run
from heed.trace import AttentionTrace
from heed.viz.copying import (
    bits_learnt,
    copies,
    cost_curves,
    lags,
    right_from_the_start,
    slips,
    tape_picture,
    trails,
    trails_learnt,
    wrong_bits,
)

LENGTH, SLOTS = 6, 9
TAPE = CopyTapes().tape(1, torch.Generator().manual_seed(3), length=LENGTH)
DUE = TAPE.targets[0, TAPE.scored]


def trace(name, places):
    weights = F.one_hot(torch.tensor(places), SLOTS).float()
    steps = [str(step) for step in range(len(places))]
    return AttentionTrace.of(name, weights, query=steps, key=[str(slot) for slot in range(SLOTS)])


def saying(vectors, **memory):
    """A run that says these vectors, when they are due."""
    probabilities = torch.full((2 * LENGTH + 1, 8), 0.5)
    probabilities[TAPE.scored] = vectors
    return Run(probabilities=probabilities, **memory)


WITH_MEMORY = saying(
    DUE,
    writing=trace("write", [*range(1, 7), *[7] * 7]),
    reading=trace("read", [*[0] * 7, *range(1, 7)]),
    reads=torch.zeros(13, 1, 4),
    adds=torch.zeros(13, 1, 4),
)
LATE = torch.cat([DUE[:3], DUE[2:-1]])  # the third vector twice
ODD = torch.cat([DUE[:5], 1 - DUE[5:]])


def test_the_vectors_are_all_different_so_that_a_slip_can_be_seen():
    assert len(set(map(tuple, DUE.tolist()))) == LENGTH


@pytest.mark.parametrize(
    ("vectors", "wrong", "right", "words"),
    [
        (DUE, 0, 6, "1 to 6 right"),
        (LATE, int((LATE != DUE).sum()), 3, "1 to 3 right, 4 to 6 1 late"),
        (ODD, 8, 5, "1 to 5 right, 6 something else"),
        (DUE.roll(-1, 0)[:5].repeat(2, 1)[:6], None, 0, "1 to 5 1 early, 6 something else"),
    ],
    ids=["right", "one twice", "one wrong", "early"],
)
def test_a_slip_is_told_from_a_wrong_vector(vectors, wrong, right, words):
    run = saying(vectors)
    if wrong is not None:
        assert wrong_bits(run, TAPE) == wrong
    assert right_from_the_start(run, TAPE) == right
    assert slips(run, TAPE).startswith(words.split(",")[0])
    if vectors is not DUE:
        assert lags(run, TAPE) != [0] * 6
    if wrong is not None:
        assert slips(run, TAPE) == words


def test_the_tape_says_when_what_comes():
    alt = tape_picture(TAPE).alt
    assert "A tape of 13 steps. In the first 6 a vector of 8 random bits" in alt
    assert "in step 7 a mark" in alt
    assert "From step 8 on" in alt


def test_copies_say_how_many_bits_are_wrong_and_mark_them():
    drawn = copies(TAPE, {"one": saying(DUE), "other": saying(ODD)})
    assert "one: 0 of 48 bits wrong; all right" in drawn.alt
    assert "other: 8 of 48 bits wrong; the first 5 vectors without a fault" in drawn.alt


def test_trails_go_with_the_phases():
    alt = trails(TAPE, WITH_MEMORY).alt
    assert "while 6 vectors come in: the write head goes from slot 1 to slot 6" in alt
    assert "from the mark on: the read head goes from slot 0 to slot 6" in alt


def test_a_machine_without_a_memory_has_no_trails():
    with pytest.raises(ValueError, match="leaves no trails"):
        trails(TAPE, saying(DUE))


CARD = object.__new__(Card)  # as if it had been read, with hardly anything on it
for field, value in {
    "settings": {"valid_bits": 80.0},
    "train": {"batch_size": 16},
    "curves": {"0": [{"step": k * 125, "valid_loss": v} for k, v in ((1, math.log(2)), (2, 0.0))]},
}.items():
    object.__setattr__(CARD, field, value)


def test_costs_are_bits_a_sequence_over_thousands_of_sequences():
    seen, bits = bits_learnt(CARD)["0"]
    assert seen == [2.0, 4.0]
    assert bits[0] == pytest.approx(80)
    assert bits[1] == 0.0
    drawn = cost_curves({"NTM": CARD})  # 0 has no logarithm, and yet the line goes on
    assert "NTM, seed 0: 80 bits after 2 thousand sequences, 0.00 after 4" in drawn.alt
    assert "nan" not in drawn.svg


def test_moments_of_learning_take_the_reader_first():
    maps = np.zeros((3, 4, 10))
    maps[:, :, 0] = 1.0  # the reader, sharp from the first
    maps[:, :, 5:] = 0.2  # the writer, everywhere
    maps[2, :, 5:] = np.eye(5)[:4]
    alt = trails_learnt([0, 10, 100], maps, count=2).alt
    assert "batch 0: the writer has 0.20 of its weight on one slot on average, the reader 1.00" in (
        alt
    )
    assert "batch 100: the writer has 1.00" in alt
