"""Pictures of drawn pictures, two nets watched while they learn, and the map of a point."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_cards import blank_card

from heed.data.twins import SIDE, TwinData, paint, read
from heed.experiments.maps import pack
from heed.experiments.twins import WATCHED, TrainedPainter
from heed.models.sagan import SAGAN, Drawn, SAGANConfig
from heed.viz import painting
from heed.viz.painting import (
    FULL,
    THICK,
    ZONES,
    album,
    doubling,
    favourites,
    gaze,
    middles,
    samples,
    sight,
    training,
)

TWINS = TwinData(held_out=14).held_out_twins(1)


def net(folder: Path = Path(), *, attention: int = 8, form: Any = "first", **card: Any):
    """An untrained net; nothing but what the pictures ask for."""
    torch.manual_seed(0)
    config = SAGANConfig(
        d_z=4, generator=(16, 16, 8), discriminator=(16, 16, 8), form=form,
        generator_attention=attention, discriminator_attention=4 if attention else 0,
    )  # fmt: skip
    return TrainedPainter(
        model=SAGAN(config).eval(),
        card=blank_card(experiment="test", **card),
        folder=folder,
    )


def drawing(pictures, monkeypatch):
    """A net that draws these pictures, whatever the z, and keeps its own looks."""
    made = net()
    monkeypatch.setattr(painting, "to_bytes", lambda _: pictures)
    monkeypatch.setattr(TrainedPainter, "paint", lambda self, z, **_: pictures[: len(z)])
    return made


# ------------------------------------------------------------------------------ albums


def test_an_album_names_what_its_pictures_show_and_counts_the_twins():
    shown = album({"real": TWINS.pictures})
    assert re.search(r"real: \w+ (disc|square|triangle|ring) twice, ", shown.alt)
    assert "and 2 more; twins: 14 of 14." in shown.alt


def test_a_blot_is_counted_and_not_named():
    noise = torch.randint(256, (3, 3, SIDE, SIDE), dtype=torch.uint8)
    assert album({"noise": noise}).alt == "noise: 3 with a blot; twins: 0 of 3."


def test_frames_are_around_the_twins_and_no_other_picture():
    things = TwinData().things(6, torch.Generator().manual_seed(0), agree=False)
    strangers = paint(things, torch.full((6, 3), 0.96))
    assert not read(strangers).twins.any()
    crowd = torch.cat([TWINS.pictures[:2], strangers])
    plain, marked = (album({"all": crowd}, marked=each).svg for each in (False, True))
    assert marked.count(painting.RING) - plain.count(painting.RING) == 2


def test_an_album_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no pictures"):
        album({"none": TWINS.pictures[:0]})


def test_a_sheet_has_each_picture_in_its_place_and_gaps_to_see_through():
    sheet = painting._montage(TWINS.pictures[:3], 2)
    step = SIDE + painting.GAP
    third = TWINS.pictures[2].permute(1, 2, 0).numpy()
    assert (sheet[step : step + SIDE, :SIDE, :3] == third).all()
    assert (sheet[SIDE:step, :, 3] == 0).all()
    assert (sheet[step:, step:, 3] == 0).all()


# ------------------------------------------------------------------------------ over training


def test_moments_double_and_the_first_and_the_last_are_among_them():
    steps = [0, *range(1, 129)]
    assert [steps[moment] for moment in doubling(steps, 5)] == [0, 16, 32, 64, 128]
    assert doubling([0, 5, 10], 8) == [0, 1, 2]


def crowd(twins: float, **more: Any) -> dict[str, Any]:
    sigma = {"smallest": 1.0, "largest": 1.2}
    return {"twins": twins, "clear": 0.5, "modes": 0.25, "sigma": sigma, **more}


@pytest.fixture
def watched(tmp_path):
    """Three moments of a net with attention, and of one without."""
    made = {}
    for name in ("SAGAN", "DCGAN"):
        rows = TWINS.pictures[:WATCHED].permute(0, 2, 3, 1).flatten(2).numpy()
        maps = pack({step: list(rows) for step in (0, 4, 8)})
        (tmp_path / name).mkdir()
        (tmp_path / name / "maps.npz").write_bytes(maps)
        gammas = [{"gamma": {"generator": g, "discriminator": 0.0 - g}} for g in (0.0, 0.1, 0.4)]
        made[name] = net(
            tmp_path / name,
            seed=0,
            files={"maps.npz": sha256(maps).hexdigest()},
            curves={"0": [{"step": 4, "valid_loss": 1.5}, {"step": 8, "valid_loss": 1.25}]},
            moments=[
                {"step": step, "said": [{}, crowd(t, **(g if name == "SAGAN" else {}))]}
                for step, t, g in zip((0, 4, 8), (0.0, 0.25, 0.75), gammas, strict=True)
            ],
        )
    return made


def test_what_was_watched_is_told_from_its_first_to_its_last_number(watched):
    alt = training(watched).alt
    assert "twins: SAGAN 0.00 to 0.75, DCGAN 0.00 to 0.75" in alt
    assert "γ: SAGAN generator 0.00 to 0.40, SAGAN discriminator 0.00 to -0.40;" in alt
    assert "loss of D, held out: SAGAN 1.50 to 1.25" in alt
    assert "σ of all weights: SAGAN from 1.00 to 1.20" in alt


def test_samples_say_what_was_drawn_at_the_end(watched):
    shown = samples(watched)
    assert "at 3 moments" in shown.alt
    assert "SAGAN, at step 8:" in shown.alt
    assert "twins: 2 of 2." in shown.alt


def test_the_same_picture_has_the_same_bytes_every_time(watched):
    assert training(watched).svg == training(watched).svg


# ------------------------------------------------------------------------------ the map of a point


def test_the_middles_of_things_are_where_they_were_drawn():
    reading = read(TWINS.pictures)
    for number in range(len(TWINS.pictures)):
        found = middles(reading, number, 16)
        row, column = TWINS.things.row[number], TWINS.things.column[number]
        assert abs(found["left thing"][0] - row[0] / 2) < 1.5
        assert abs(found["left thing"][1] - column[0] / 2) < 1.5
        assert abs(found["right thing"][0] - row[1] / 2) < 1.5
        assert abs(found["right thing"][1] - (16 - column[1] / 2)) < 1.5


@pytest.mark.parametrize("form", ["first", "released"])
def test_the_map_of_a_point_is_its_row_of_weights(form):
    made = net(form=form)
    z = made.z(1)
    looked = made.look(z).weights[0]
    look = looked[2 * 8 + 5]
    places = round(look.size**0.5)
    thirds = np.array_split(look.reshape(places, places).sum(axis=0), 3)
    told = ", ".join(
        f"{name} third {each.sum():.2f}"
        for name, each in zip(("left", "middle", "right"), thirds, strict=True)
    )
    assert f"The point looks at: {told}." in gaze(made, z, {"point": (2, 5)}).alt


def test_a_point_outside_the_map_is_refused():
    made = net()
    with pytest.raises(ValueError, match="point at 8, 0 lies outside a map of 8 × 8"):
        gaze(made, made.z(1), {"point": (8, 0)})


def test_a_net_without_attention_looks_at_nothing():
    made = net(attention=0)
    for ask in (gaze, sight, favourites):
        with pytest.raises(ValueError, match="no attention"):
            ask(made, made.z(1))


def test_the_fog_is_thickest_where_nothing_is_looked_at_and_gone_at_a_sixteenth():
    fog = painting._fog(np.array([[0.0, FULL / 4, FULL, 1.0]]))
    assert fog[0, :, 3].tolist() == [round(255 * THICK), round(255 * THICK / 2), 0, 0]


def test_even_looks_go_to_each_zone_by_its_size(monkeypatch):
    made = drawing(TWINS.pictures, monkeypatch)
    attention = made.model.mean.attention
    torch.nn.init.zeros_(attention.f.weight)  # all scores alike
    torch.nn.init.zeros_(attention.f.bias)
    clear, found = sight(made, made.z(len(TWINS.pictures)))
    assert clear == len(TWINS.pictures)
    assert abs(sum(found["chance"].values()) - 1) < 1e-6
    for zone in ZONES:
        assert abs(sum(found[zone].values()) - 1) < 1e-5
        for to in ZONES:
            assert abs(found[zone][to] - found["chance"][to]) < 0.02


def test_zones_lie_on_their_own_sides():
    reading = read(TWINS.pictures)
    left, right, ground = painting._on_map(painting._zones(reading), 16).unbind(1)
    assert not left[..., 8:].any()
    assert not right[..., :8].any()
    assert left.flatten(1).any(dim=1).all()
    assert right.flatten(1).any(dim=1).all()
    assert (left.int() + right.int() + ground.int() == 1).all()


def test_where_no_picture_is_clear_nothing_is_said(monkeypatch):
    noise = torch.randint(256, (3, 3, SIDE, SIDE), dtype=torch.uint8)
    made = drawing(noise, monkeypatch)
    assert sight(made, made.z(3)) == (0, {})
    met = favourites(made, made.z(3))
    assert (met.share, met.ground, met.together) == (0, 0, 0)
    assert "over 0 pictures" in met.shown.alt


def test_the_favourite_places_are_those_where_the_looks_of_both_things_meet(monkeypatch):
    made = drawing(TWINS.pictures, monkeypatch)
    count = len(TWINS.pictures)
    left, right, _ = painting._on_map(painting._zones(read(TWINS.pictures)), 8).unbind(1)
    beta = torch.zeros(count, 64, 64)
    board = torch.arange(count) % 2 + 40  # one of two places, by turns
    for number in range(count):
        things = (left | right)[number].flatten()
        beta[number, things, board[number]] = 1.0
        beta[number, ~things, 7] = 1.0
    on_map = [thing.flatten(1).any(dim=1) for thing in (left, right)]
    assert on_map[1][0]
    both = int((on_map[0] & on_map[1]).sum())
    assert 0 < both < count  # some things are too small for this map
    beta[0, right[0].flatten()] = torch.nn.functional.one_hot(torch.tensor(63), 64).float()
    monkeypatch.setattr(painting, "drawn", lambda *_, **__: Drawn(TWINS.pictures.float(), beta))
    met = favourites(made, made.z(count), count=2)
    assert sorted(met.places) == [(5, 0), (5, 1)]
    # all but what the first right thing sees
    assert abs(met.share - (1 - 0.5 / int(on_map[1].sum()))) < 1e-6
    assert met.ground == 0
    assert met.together == (both - int(on_map[0][0])) / both
    assert "the ground most at row 0, column 7, 1.00" in met.shown.alt
