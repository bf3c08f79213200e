"""A hidden patch, guessed from all the others."""

import math

import pytest
import torch

from heed.layers.patches import Nearness, around, cut, error, even, guess, may_answer

SIZE = 4


@pytest.fixture(scope="module")
def noise():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(3, 6 * SIZE, 8 * SIZE, generator=generator, dtype=torch.float64)


def test_a_patch_and_its_ring_are_cut_from_where_they_stand(noise):
    patches = cut(noise, size=SIZE, width=2)
    assert patches.grid == (6, 8)
    assert patches.count == 48
    row, column = 2, 3
    block = noise[:, 8 - 2 : 12 + 2, 12 - 2 : 16 + 2]
    hole = torch.ones(8, 8, dtype=torch.bool)
    hole[2:6, 2:6] = False
    at = row * 8 + column
    torch.testing.assert_close(patches.contents[at], block[:, 2:6, 2:6].flatten())
    torch.testing.assert_close(patches.rings[at], block[:, hole].flatten())
    assert patches.inside[at].all()


def test_the_second_half_is_the_first_in_a_mirror(noise):
    here, there = cut(noise, size=SIZE), cut(noise.flip(2), size=SIZE)
    turned = torch.arange(48).view(6, 8).flip(1).flatten()
    torch.testing.assert_close(here.contents[48:], there.contents[:48][turned])
    torch.testing.assert_close(here.rings[48:], there.rings[:48][turned])


def test_a_corner_has_a_ring_on_two_sides_only(noise):
    inside = cut(noise, size=SIZE, width=1).inside[0].view(3, -1)
    assert inside.sum(1).tolist() == [9, 9, 9]  # four below, four to the right, one between


def test_the_guess_is_the_formula(noise):
    """α_j ∝ exp(−mean (q − k_j)² / τ), by a loop."""
    patches, hidden, tau = cut(noise, size=SIZE), 2 * 8 + 3, 0.01
    keep = may_answer(patches, hidden)
    raised = [
        math.exp(-((patches.rings[hidden] - ring) ** 2).mean().item() / tau) if kept else 0.0
        for ring, kept in zip(patches.rings, keep.tolist(), strict=True)
    ]
    weights = torch.tensor(raised, dtype=torch.float64) / sum(raised)
    found = guess(patches, hidden, temperature=tau)
    torch.testing.assert_close(torch.cat([found.weights, found.mirrored]), weights)
    torch.testing.assert_close(found.content, weights @ patches.contents)


def test_what_is_hidden_changes_nothing(noise):
    """Paint over the patch: the guess of it must not move, or the box has a hole."""
    hidden = 2 * 8 + 3
    before = guess(cut(noise, size=SIZE), hidden, temperature=0.01)
    painted = noise.clone()
    painted[:, 2 * SIZE : 3 * SIZE, 3 * SIZE : 4 * SIZE] = 7.0
    after = guess(cut(painted, size=SIZE), hidden, temperature=0.01)
    assert torch.equal(before.content, after.content)
    assert torch.equal(before.weights, after.weights)


def test_neither_the_patch_nor_its_neighbours_answer(noise):
    patches = cut(noise, size=SIZE)
    keep = may_answer(patches, 2 * 8 + 3)[:48].view(6, 8)
    assert not keep[1:4, 2:5].any()
    assert keep[1:5, 5:7].all()
    assert not keep[0].any()  # at the edge, where the ring is cut off
    assert not may_answer(patches, 2 * 8 + 3, mirror=False)[48:].any()


def test_at_the_edge_only_the_part_of_the_ring_that_is_there_asks(noise):
    """A patch of the bottom row asks with three sides, and can be told by a patch that has them."""
    patches = cut(noise, size=SIZE)
    keep = may_answer(patches, 5 * 8 + 3)[:48].view(6, 8)
    assert keep[5].tolist() == [False, True, False, False, False, True, True, False]
    assert keep[2, 1:7].all()
    found = guess(patches, 0)
    assert found.content.isfinite().all()


def test_in_a_picture_that_repeats_a_hidden_patch_is_told_exactly(noise):
    tile = noise[:, : 2 * SIZE, : 2 * SIZE].repeat(1, 3, 4)
    patches = cut(tile, size=SIZE)
    found = guess(patches, 2 * 8 + 3, temperature=1e-4, mirror=False)
    torch.testing.assert_close(found.content, patches.contents[2 * 8 + 3])
    alike = found.weights.view(6, 8)[2::2, 1::2]
    assert alike.sum() == pytest.approx(1.0)


def test_the_mirror_finds_what_stands_turned_round():
    generator = torch.Generator().manual_seed(1)
    side = torch.rand(3, 5 * SIZE, 4 * SIZE, generator=generator, dtype=torch.float64)
    patches = cut(torch.cat([side, side.flip(2)], dim=2), size=SIZE)
    hidden = 2 * 8 + 2
    found = guess(patches, hidden, temperature=1e-4)
    assert found.mirrored[2 * 8 + 5] > 0.999
    assert error(found.content, patches.contents[hidden]) < 1e-6
    alone = guess(patches, hidden, temperature=1e-4, mirror=False)
    assert error(alone.content, patches.contents[hidden]) > 30


def test_a_very_hot_guess_looks_everywhere_alike(noise):
    patches = cut(noise, size=SIZE)
    torch.testing.assert_close(
        guess(patches, 19, temperature=1e9).content, even(patches, 19), atol=1e-6, rtol=0
    )


def test_the_colour_around_is_the_mean_of_the_ring(noise):
    patches = cut(noise, size=SIZE, width=1)
    told = around(patches, 0).view(3, SIZE, SIZE)
    l_shape = torch.cat([noise[:, :4, 4], noise[:, 4, :5]], dim=1).mean(1)
    torch.testing.assert_close(told, l_shape[:, None, None].expand(3, SIZE, SIZE))


def test_an_error_is_in_255ths():
    one, other = torch.zeros(4), torch.tensor([1.0, 1.0, 0.0, 0.0])
    assert error(one, other).item() == pytest.approx(255 * math.sqrt(0.5))


def test_what_cannot_be_cut_is_refused(noise):
    with pytest.raises(ValueError, match="cannot be cut into patches of 5"):
        cut(noise, size=5)
    with pytest.raises(ValueError, match="width=9 must be from 1 to 4"):
        cut(noise, size=SIZE, width=9)
    with pytest.raises(ValueError, match="temperature=0 must be positive"):
        Nearness(0)
