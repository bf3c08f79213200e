"""What an eye sees of a picture."""

import pytest
import torch

from heed.layers.fovea import KERNEL, LEVELS, eccentricity, fovea, pyramid, resolution, share_seen


@pytest.fixture(scope="module")
def noise():
    return torch.rand(3, 40, 60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_a_flat_picture_is_flat_however_it_is_looked_at():
    flat = torch.full((3, 20, 30), 0.4, dtype=torch.float64)
    torch.testing.assert_close(fovea(pyramid(flat), at=(3, 4), half=5.0), flat)


def test_one_bright_pixel_is_spread_as_the_kernel_says():
    dot = torch.zeros(1, 9, 9, dtype=torch.float64)
    dot[0, 4, 4] = 1.0
    taps = torch.tensor(KERNEL, dtype=torch.float64)
    expected = torch.zeros(9, 9, dtype=torch.float64)
    expected[2:7, 2:7] = taps[:, None] * taps
    torch.testing.assert_close(pyramid(dot, 2)[1, 0], expected)


def test_each_level_spreads_about_twice_as_far_as_the_one_before():
    """Variances add up: 1, then 4 more, then 16 more, in each direction."""
    dot = torch.zeros(1, 1, 201, dtype=torch.float64)
    dot[..., 100] = 1.0
    places = torch.arange(201, dtype=torch.float64) - 100
    spread = [(level[0, 0] * places**2).sum().item() for level in pyramid(dot, 4)]
    assert spread == pytest.approx([0, 1, 5, 21])


def test_where_the_eye_is_the_picture_is_nearly_as_it_is_and_far_away_it_is_the_last_level(noise):
    levels = pyramid(noise)
    seen = fovea(levels, at=(10.5, 20.5), half=2.0)
    torch.testing.assert_close(seen[:, 20, 10], noise[:, 20, 10])
    torch.testing.assert_close(seen[:, 20, 59], levels[-1][:, 20, 59])


def test_at_the_distance_e2_stands_the_first_level_and_at_three_times_e2_the_second(noise):
    levels = pyramid(noise)
    seen = fovea(levels, at=(4.5, 20.5), half=10.0)
    torch.testing.assert_close(seen[:, 20, 14], levels[1][:, 20, 14])
    torch.testing.assert_close(seen[:, 20, 34], levels[2][:, 20, 34])


def test_between_two_levels_it_is_between_both(noise):
    levels = pyramid(noise)
    seen = fovea(levels, at=(4.5, 20.5), half=10.0)[:, 20, 20]
    low, high = levels[1][:, 20, 20], levels[2][:, 20, 20]
    assert (seen >= torch.minimum(low, high) - 1e-12).all()
    assert (seen <= torch.maximum(low, high) + 1e-12).all()


def test_resolution_is_a_half_at_the_distance_that_is_called_so():
    away = eccentricity(1, 8, at=(0.5, 0.5))
    assert away[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert resolution(away, 2.0)[0, [0, 2, 4]].tolist() == pytest.approx([1, 1 / 2, 1 / 3])


def test_a_wide_eye_needs_all_numbers_and_a_narrow_one_few():
    assert share_seen(40, 60, at=(30, 20), half=1e9) == pytest.approx(1.0)
    assert share_seen(40, 60, at=(30, 20), half=2.0) < 0.05
    assert share_seen(40, 60, at=(30, 20), half=2.0) > share_seen(40, 60, at=(0, 0), half=2.0)


def test_there_are_as_many_levels_as_one_asks_for(noise):
    assert len(pyramid(noise)) == LEVELS
    assert torch.equal(pyramid(noise, 1)[0], noise)
