"""Twins: what is drawn keeps the rule, and the reader sees whether it does."""

import colorsys
from dataclasses import replace

import pytest
import torch

from heed.data.twins import (
    HALF,
    HUE_APART,
    RADIUS,
    REACH,
    SHAPES,
    SIDE,
    Things,
    TwinData,
    coverage,
    gap,
    hue_of,
    joined,
    paint,
    read,
    rgb,
    split,
)

MANY = 600


@pytest.fixture(scope="module")
def twins():
    return TwinData().draw(MANY, torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def reading(twins):
    return read(twins.pictures)


def one(shape: str, *, hue=0.0, row=16.0, column=4.5, radius=3.5) -> Things:
    """A picture with the same thing in both halves."""

    def both(value):
        return torch.full((1, 2), value)

    return Things(
        shape=both(SHAPES.index(shape)),
        hue=both(hue),
        row=both(row),
        column=both(column),
        radius=both(radius),
    )


# ------------------------------------------------------------------ what is drawn


def test_both_things_have_one_hue_and_one_shape_and_places_of_their_own(twins):
    things = twins.things
    assert torch.equal(things.shape[:, 0], things.shape[:, 1])
    assert torch.equal(things.hue[:, 0], things.hue[:, 1])
    for name in ("row", "column", "radius"):
        left, right = getattr(things, name).unbind(1)
        assert abs(torch.corrcoef(torch.stack([left, right]))[0, 1]) < 0.15


def test_every_shape_and_every_part_of_the_circle_comes(twins):
    shapes = torch.bincount(twins.things.shape[:, 0], minlength=4) / MANY
    assert shapes.min() > 0.18
    hues = torch.histc(twins.things.hue[:, 0], bins=12, min=0, max=1) / MANY
    assert hues.min() > 0.04


def test_nothing_stands_in_the_middle_columns():
    things = TwinData().things(4_000, torch.Generator().manual_seed(1))
    assert coverage(things)[..., REACH:].max() == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_coverage_is_what_counting_points_in_a_pixel_gives(shape):
    """Against 16 × 16 points a pixel and the shapes as inequalities, written down again."""
    r = 3.5
    things = one(shape, row=12.3, column=4.6, radius=r)
    points = (torch.arange(SIDE * 16) + 0.5) / 16
    y, x = points[:, None] - 12.3, points[None, : HALF * 16] - 4.6
    away = (x**2 + y**2).sqrt()
    inside = {
        "disc": away < r,
        "square": (x.abs() < 0.9 * r) & (y.abs() < 0.9 * r),
        "triangle": (y < 0.9 * r) & (y > 2 * x.abs() - 1.1 * r),
        "ring": (away < r) & (away > r / 2),
    }[shape]
    share = inside.float().unflatten(0, (SIDE, 16)).unflatten(2, (HALF, 16)).mean(dim=(1, 3))
    assert (coverage(things)[0, 0] - share).abs().max() < 0.3  # corners are rounded a little
    assert (coverage(things)[0, 0] - share).abs().mean() < 0.005


def test_colours_are_those_of_the_standard_library():
    hues = torch.linspace(0, 1, 25)
    right = [colorsys.hsv_to_rgb(h, 0.85, 0.85) for h in hues.tolist()]
    assert (rgb(hues) - torch.tensor(right)).abs().max() < 1e-6


def test_the_middle_of_a_thing_has_its_colour_and_the_middle_of_the_picture_the_ground():
    ground = torch.tensor([[0.9, 0.8, 1.0]])
    picture = paint(one("disc", hue=1 / 3), ground)[0]
    for column in (4, SIDE - 5):
        assert picture[:, 16, column].tolist() == (255 * rgb(torch.tensor(1 / 3))).round().tolist()
    assert picture[:, 16, SIDE // 2].tolist() == (255 * ground[0]).round().tolist()


def test_a_right_half_is_a_left_one_turned_round():
    picture = paint(one("triangle"), torch.ones(1, 3))
    assert torch.equal(picture, picture.flip(-1))
    assert torch.equal(joined(split(picture)), picture)


def test_a_generator_gives_the_same_pictures_again():
    data = TwinData(held_out=5)
    assert torch.equal(data.held_out_twins(0).pictures, data.held_out_twins(0).pictures)
    assert not torch.equal(data.held_out_twins(0).pictures, data.held_out_twins(1).pictures)
    other = replace(data, seed=1).held_out_twins(0).pictures
    assert not torch.equal(data.held_out_twins(0).pictures, other)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="held_out=1"):
        TwinData(held_out=1)
    with pytest.raises(ValueError, match="part 2 is neither 0"):
        TwinData().held_out_twins(2)


# ------------------------------------------------------------------ what is read


def test_the_reader_reads_what_was_drawn(twins, reading):
    assert (reading.things.shape == twins.things.shape).double().mean() >= 0.99
    assert gap(reading.things.hue, twins.things.hue).max() < 0.01
    assert (reading.things.row - twins.things.row).abs().max() <= 0.6
    assert (reading.things.column - twins.things.column).abs().max() <= 0.6
    assert (reading.things.radius - twins.things.radius).abs().max() <= RADIUS[1] - RADIUS[0]
    assert reading.clear.all()
    assert reading.twins.double().mean() >= 0.99


def test_strangers_are_twins_as_often_as_chance_has_it():
    """1/4 for the shape, and for the hue the part of the circle on both sides of one's own."""
    strangers = TwinData().draw(2_000, torch.Generator().manual_seed(2), agree=False)
    found = read(strangers.pictures)
    left, right = strangers.things.shape.unbind(1)
    assert (found.same_shape == (left == right)).double().mean() >= 0.99
    assert found.twins.double().mean() == pytest.approx(2 * HUE_APART / 4, abs=0.01)


def test_the_reader_takes_bytes_and_numbers_alike(twins, reading):
    again = read(twins.pictures[:50].float() / 255, batch_size=7)
    assert torch.equal(again.things.shape, reading.things.shape[:50])
    assert (again.fit - reading.fit[:50]).abs().max() < 1e-5


def test_one_thing_of_another_hue_or_shape_is_no_twin(twins):
    things = twins.things
    shape, hue = things.shape.clone(), things.hue.clone()
    shape[:, 1] = (shape[:, 1] + 1) % len(SHAPES)
    hue[:, 1] = (hue[:, 1] + 2 * HUE_APART) % 1
    ground = torch.ones(MANY, 3)
    other_shape = read(paint(replace(things, shape=shape), ground))
    assert not other_shape.twins.any()
    assert other_shape.same_hue.all()
    other_hue = read(paint(replace(things, hue=hue), ground))
    assert not other_hue.twins.any()
    assert other_hue.same_shape.double().mean() >= 0.99


def blots(kind: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    if kind == "noise":
        return torch.rand((40, 3, SIDE, SIDE), generator=generator)
    if kind == "even":
        return torch.full((3, 3, SIDE, SIDE), 0.7)
    if kind == "slope":
        return torch.linspace(0, 1, SIDE).expand(3, 3, SIDE, SIDE).contiguous()
    if kind == "grey":
        data = TwinData()
        things = data.things(40, generator)
        return (
            paint(things, torch.ones(40, 3)).float().mean(1, keepdim=True).expand(-1, 3, -1, -1)
            / 255
        )
    two = coverage(one("disc", row=9.0)) + coverage(one("ring", row=22.0))
    return 1 - joined(two.clamp(0, 1)[:, :, None].expand(-1, -1, 3, -1, -1)) * torch.tensor(
        [0.0, 0.9, 0.9]
    ).view(3, 1, 1)


@pytest.mark.parametrize("kind", ["noise", "even", "slope", "grey", "two things"])
def test_what_is_not_one_coloured_thing_on_an_even_ground_is_not_clear(kind):
    assert not read(blots(kind)).clear.any()


def test_a_blot_is_no_shape(twins):
    """Every pixel moved at random by up to three: colours stay, shapes do not."""
    generator = torch.Generator().manual_seed(4)
    move = torch.randint(-3, 4, (2, MANY, SIDE, SIDE), generator=generator)
    rows = (torch.arange(SIDE)[:, None] + move[0]).clamp(0, SIDE - 1)
    columns = (torch.arange(SIDE) + move[1]).clamp(0, SIDE - 1)
    torn = twins.pictures.flatten(2).gather(
        2, (rows * SIDE + columns).flatten(1)[:, None].expand(-1, 3, -1)
    )
    assert read(torn.unflatten(2, (SIDE, SIDE))).clear.double().mean() < 0.1


def test_hues_are_those_of_the_standard_library():
    colours = torch.rand((200, 3), generator=torch.Generator().manual_seed(5))
    hue, saturation = hue_of(colours)
    for colour, h, s in zip(colours.tolist(), hue.tolist(), saturation.tolist(), strict=True):
        right_h, right_s, _ = colorsys.rgb_to_hsv(*colour)
        assert h == pytest.approx(right_h, abs=1e-5)
        assert s == pytest.approx(right_s, abs=1e-5)
    assert hue_of(torch.full((1, 3), 0.4))[0] == 0


def test_the_circle_closes():
    assert gap(torch.tensor(0.98), torch.tensor(0.01)) == pytest.approx(0.03, abs=1e-6)
    assert gap(torch.tensor(0.2), torch.tensor(0.7)) == pytest.approx(0.5, abs=1e-6)
