"""Characters as strokes, and how they are drawn."""

import hashlib

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from heed.data.glyphs import (
    BOX,
    PARTS,
    PIECE,
    SIDE,
    STROKES,
    Glyphs,
    GlyphsError,
    Hand,
    draw,
    glyphs,
)

STILL = Hand(
    turn=0.0, stretch=0.0, lean=0.0, bend=0.0, slip=0.0, shift=0.0, size=(0.5, 0.5), pen=(2.0, 2.0)
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def lines(*ends: list[list[float]], strokes: list[int] | None = None) -> Glyphs:
    """A single character of these pieces."""
    return Glyphs(
        characters=("x",),
        names=("made up",),
        scripts=torch.tensor([0]),
        pieces=torch.tensor(ends).float(),
        strokes=torch.tensor(strokes or [0] * len(ends)),
        ends=torch.tensor([len(ends)]),
    )


def test_there_are_2590_characters_of_90_scripts_and_none_twice():
    found = glyphs()
    assert len(found.characters) == len(set(found.characters)) == 2_590
    assert len(found.names) == 90
    assert found.names[5] == "Canadian Aboriginal"
    assert "N'Ko" in found.names
    assert torch.bincount(found.scripts).max() <= 30
    assert found.ends[-1] == len(found.pieces)
    assert (found.ends.diff() > 0).all()
    assert found.pieces.min() >= 0
    assert found.pieces.max() <= BOX


def test_pieces_of_a_stroke_hang_together_and_are_short():
    found = glyphs()
    assert (found.pieces[:, 1] - found.pieces[:, 0]).norm(dim=1).max() <= PIECE + 1e-3
    begins = torch.cat([torch.tensor([0]), found.ends[:-1]])
    same = found.strokes[1:] == found.strokes[:-1]
    same[begins[1:] - 1] = False
    assert torch.equal(found.pieces[1:, 0][same], found.pieces[:-1, 1][same])


def test_no_script_is_in_two_parts_and_those_of_omniglot_are_tested():
    found = glyphs()
    scripts = {part: set(found.scripts[found.numbers(part)].tolist()) for part in PARTS}
    assert [len(each) for each in scripts.values()] == [54, 9, 27]
    assert set().union(*scripts.values()) == set(range(90))
    names = {found.names[number] for number in scripts["test"]}
    assert {"Hebrew", "Balinese", "Tagalog"} <= names


def test_the_file_is_what_the_script_writes(tmp_path):
    from make_glyphs import write

    with np.load(STROKES) as file:
        arrays = {name: file[name] for name in file.files}
    write(arrays, tmp_path / "again.npz")
    again = hashlib.sha256((tmp_path / "again.npz").read_bytes()).hexdigest()
    assert again == hashlib.sha256(STROKES.read_bytes()).hexdigest()


def test_a_line_is_drawn_where_it_should_be_and_as_wide_as_the_pen():
    """14 pixels long, from the middle of the square's left half to that of its right half."""
    picture = draw(lines([[60, 20], [60, 100]]), torch.tensor([0]), generator(), hand=STILL)[0]
    assert picture[13, 10] == picture[14, 17] == 1.0
    assert picture[12, 14] == picture[15, 14] == 0.0
    assert picture[:, :6].sum() == picture[:, 22:].sum() == 0.0
    assert picture.sum().item() == pytest.approx(2 * 14 + np.pi, abs=1.5)
    assert_close(picture, picture.flip(0), rtol=0, atol=1e-4)
    assert_close(picture, picture.flip(1), rtol=0, atol=1e-4)


def test_a_drawing_fills_the_share_of_the_side_that_the_hand_says():
    for size in (0.5, 0.85):
        hand = Hand(**{**vars(STILL), "size": (size, size), "pen": (1.0, 1.0)})
        picture = draw(glyphs(), torch.tensor([100]), generator(), hand=hand)[0] > 0.5
        extent = max(int(picture.any(1).sum()), int(picture.any(0).sum()))
        assert extent == pytest.approx(SIDE * size, abs=2)


def test_each_part_of_the_hand_changes_the_drawing():
    ell = lines(
        [[20, 30], [60, 30]], [[60, 30], [100, 30]], [[100, 30], [100, 90]], strokes=[0, 0, 1]
    )
    which = torch.tensor([0])
    still = draw(ell, which, generator(), hand=STILL)
    assert torch.equal(still, draw(ell, which, generator(1), hand=STILL))
    for name in ("turn", "stretch", "lean", "bend", "slip", "shift"):
        hand = Hand(**{**vars(STILL), name: 5.0 if name in ("bend", "slip") else 0.2})
        assert not torch.allclose(draw(ell, which, generator(), hand=hand), still), name


def test_drawings_come_from_the_generator_alone_whatever_is_drawn_beside_them():
    which = torch.tensor([3, 900, 3, 2_000])
    one, again = (draw(glyphs(), which, generator()) for _ in range(2))
    assert torch.equal(one, again)
    assert not torch.equal(one[0], one[2])
    assert one.min() >= 0
    assert one.max() == 1
    still = draw(glyphs(), which, generator(), hand=STILL)
    alone = draw(glyphs(), which[1:2], generator(), hand=STILL)
    assert_close(still[1:2], alone)


def test_a_file_that_is_not_there_or_damaged_is_named(tmp_path):
    with pytest.raises(GlyphsError, match=r"nowhere.npz; it is part of the repository$"):
        glyphs(tmp_path / "nowhere.npz")
    (tmp_path / "bad.npz").write_bytes(b"no strokes")
    with pytest.raises(GlyphsError, match=r"bad.npz is damaged"):
        glyphs(tmp_path / "bad.npz")
