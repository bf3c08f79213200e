"""The first picture of the book."""

import torch

from heed.data.parlour import HIGH, INK, PATCH, WIDE, parlour


def test_it_has_as_many_pixels_as_its_patches():
    picture = parlour()
    assert picture.shape == (3, HIGH * PATCH, WIDE * PATCH)
    assert parlour(4).shape == (3, 4 * HIGH, 4 * WIDE)


def test_the_ears_are_each_others_mirror_and_the_window_is_nobodys():
    picture = parlour()
    mirrored = picture.flip(2)
    ears = (slice(None), slice(40, 60), slice(115, 150))
    window = (slice(None), slice(20, 60), slice(20, 80))
    inside = (picture[ears] - mirrored[ears].int()).abs() < 30  # the wallpaper behind may differ
    assert inside.all()
    assert (picture[window] != mirrored[window]).any(0).float().mean() > 0.9


def test_every_colour_of_the_box_of_paints_is_somewhere():
    """Shade is laid over others and never stands alone."""
    colours = {tuple(rgb) for rgb in parlour().flatten(1).T.unique(dim=0).tolist()}
    assert {name for name, rgb in INK.items() if rgb not in colours} == {"shade"}


def test_it_is_the_same_each_time():
    parlour.cache_clear()
    first = parlour()
    parlour.cache_clear()
    assert torch.equal(first, parlour())
