"""The silhouettes as they are shipped, and how one is drawn at any size."""

import re
from itertools import combinations

import numpy as np
import pytest
import torch

from heed.data.silhouettes import (
    PARTS,
    SIDE,
    SILHOUETTES,
    SilhouettesError,
    silhouettes,
    stretch,
)


@pytest.fixture(scope="module")
def stock():
    return silhouettes()


def test_there_are_enough_of_every_animal_in_every_part(stock):
    assert len(stock.names) == 8
    assert SILHOUETTES.stat().st_size < 300_000
    for part, least in (("train", 400), ("valid", 40), ("test", 40)):
        assert min(len(numbers) for numbers in stock.numbers(part)) > least


def test_every_silhouette_is_in_one_part_alone(stock):
    parts = {part: set(torch.cat(stock.numbers(part)).tolist()) for part in PARTS}
    assert sum(map(len, parts.values())) == len(stock.kinds) == len(set.union(*parts.values()))


def test_no_silhouette_of_a_test_is_nearly_one_of_training(stock):
    train, held_out = (
        stock.pixels[torch.cat([n for part in parts for n in stock.numbers(part)])]
        for parts in (("train",), ("valid", "test"))
    )
    there = train.flatten(1).float()
    for turned in (held_out, held_out.flip(2)):
        here = turned.flatten(1).float()
        shared = here @ there.T
        joint = here.sum(1)[:, None] + there.sum(1) - shared
        assert (shared / joint).max() <= 0.9


def test_each_fills_its_square_one_way_and_stands_in_its_middle(stock):
    top, left, bottom, right = stock.extents().unbind(1)
    assert (torch.maximum(bottom - top, right - left) >= SIDE - 2).float().mean() > 0.99
    assert (top - (SIDE - bottom)).abs().max() <= 3
    for i in (0, 1_000, 5_000):
        rows = np.flatnonzero(stock.pixels[i].any(1).numpy())
        columns = np.flatnonzero(stock.pixels[i].any(0).numpy())
        assert stock.extents()[i].tolist() == [
            rows[0],
            columns[0],
            rows[-1] + 1,
            columns[-1] + 1,
        ]


def test_the_source_stands_beside_them_with_its_licence_and_their_numbers(stock):
    source = (SILHOUETTES.parent / "SOURCE.md").read_text("utf-8")
    assert f"{len(stock.kinds):,} silhouettes" in source
    for name, count in zip(stock.names, torch.bincount(stock.kinds).tolist(), strict=True):
        assert f"{count} {name}s" in source
    (licence,) = re.findall(r"`(LICENCE\.txt)`", source)
    assert "MIT License" in (SILHOUETTES.parent / licence).read_text("utf-8")


@pytest.mark.parametrize("content", [None, b"", b"not a zip"])
def test_a_file_that_will_not_do_is_named_in_one_line(tmp_path, content):
    path = tmp_path / "animals.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SilhouettesError) as fault:
        silhouettes(path)
    assert str(path) in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_file_without_what_it_needs_is_damaged(tmp_path):
    np.savez(tmp_path / "animals.npz", names=np.array(["bear"]))
    with pytest.raises(SilhouettesError, match="damaged"):
        silhouettes(tmp_path / "animals.npz")


# ------------------------------------------------------------------ stretching


def test_twice_as_long_is_every_pixel_twice():
    matrix = stretch(torch.tensor(6), torch.tensor(1), canvas=8, source=3)
    row = matrix @ torch.tensor([5.0, 0.0, 7.0])
    assert row.tolist() == [0, 5, 5, 0, 0, 7, 7, 0]


def test_half_as_long_is_the_mean_of_two():
    matrix = stretch(torch.tensor(2), torch.tensor(0), canvas=3, source=4)
    # a pixel of the canvas covers two of the source, each of them half
    assert matrix.tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 0]]


def test_whatever_the_size_a_full_row_covers_its_pixels_fully():
    for length, start in ((1, 0), (19, 3), (28, 0), (31, 33)):
        full = stretch(torch.tensor(length), torch.tensor(start), canvas=64).sum(1)
        expected = torch.zeros(64)
        expected[start : start + length] = 1
        torch.testing.assert_close(full, expected, rtol=0, atol=1e-5)


def test_what_lies_beyond_the_canvas_is_cut_off_and_no_length_draws_nothing():
    matrix = stretch(torch.tensor([28, 0]), torch.tensor([-14, 5]), canvas=64)
    assert matrix[0].sum() == pytest.approx(14)
    assert matrix[0, :14].sum() == pytest.approx(14)
    assert matrix[1].sum() == 0


def test_parts_share_no_digit():
    for one, other in combinations(PARTS.values(), 2):
        assert not set(one) & set(other)
