"""What drawn twins are worth: crowds whose worth is known."""

import math

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from heed.data.twins import HUES, SHAPES, SIDE, TwinData, read
from heed.evaluation.twins import (
    drawn,
    evenness,
    features,
    frechet,
    from_bytes,
    in_words,
    scores,
    singular_values,
    to_bytes,
)
from heed.models.halves import HalfReader, HalfReaderConfig
from heed.models.sagan import SAGAN, SAGANConfig

SMALL = SAGANConfig(d_z=5, generator=(24, 16, 8), discriminator=(24, 16, 8))


@pytest.fixture(scope="module")
def crowds() -> dict:
    data = TwinData()
    return {
        agree: data.draw(1_500, torch.Generator().manual_seed(int(agree)), agree=agree)
        for agree in (True, False)
    }


def test_real_twins_have_all_points(crowds):
    found = scores(read(crowds[True].pictures))
    assert found["twins"] > 0.99
    assert found["clear"] == found["same_hue"] == 1
    assert found["modes"] == 1
    assert found["rarest_shape"] > 0.2
    assert found["shuffled"] < 0.05


def test_strangers_are_twins_no_more_often_than_shuffled_halves(crowds):
    found = scores(read(crowds[False].pictures))
    assert found["clear"] == 1
    assert found["twins"] == pytest.approx(found["shuffled"], abs=0.015)
    assert found["same_shape"] == pytest.approx(0.25, abs=0.04)
    assert found["same_hue"] == pytest.approx(1 / 12, abs=0.03)


def test_who_draws_one_picture_always_has_one_mode_and_twins_by_chance(crowds):
    one = crowds[True].pictures[:1].expand(50, -1, -1, -1)
    found = scores(read(one))
    assert found["twins"] == found["shuffled"] == 1
    assert found["modes"] == 1 / (len(SHAPES) * HUES)
    assert found["rarest_shape"] == 0


def test_who_draws_nothing_clear_has_no_points_and_no_nan():
    found = scores(read(torch.full((4, 3, SIDE, SIDE), 0.5)))
    assert set(found.values()) == {0.0}


def test_pictures_are_kept_as_bytes_and_come_back():
    every = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(1, 3, -1, -1)
    assert torch.equal(to_bytes(from_bytes(every)), every)
    assert to_bytes(torch.tensor([[[[-2.0]], [[0.0]], [[2.0]]]])).flatten().tolist() == [
        0,
        128,
        255,
    ]


# ------------------------------------------------------------------ the distance of crowds


def test_the_distance_of_two_crowds_of_numbers_by_hand():
    """(μ − ν)² + (σ − τ)², exactly, with the deviations that the crowds have."""
    one = torch.tensor([[0.0], [1.0], [2.0]])
    other = torch.tensor([[4.0], [7.0], [10.0]])
    assert frechet(one, other) == pytest.approx((1 - 7) ** 2 + (1 - 3) ** 2)


def whitened(crowd):
    """Moved and stretched so that its covariance is the unit matrix, not only nearly."""
    crowd = crowd - crowd.mean(dim=0)
    return crowd @ torch.linalg.inv(torch.linalg.cholesky(crowd.T.cov())).mT


def test_the_distance_of_crowds_whose_axes_do_not_mix_is_a_sum():
    generator = torch.Generator().manual_seed(0)
    one, other = (
        whitened(torch.randn(400, 3, generator=generator, dtype=torch.float64)) for _ in range(2)
    )
    scale, shift = torch.tensor([1.0, 2.0, 5.0]).double(), torch.tensor([0.0, 3.0, 0.0]).double()
    right = 9 + (0 + 1 + 16)
    assert frechet(one, other * scale + shift) == pytest.approx(right, rel=1e-6)
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64))[0]
    assert frechet(one @ turn, (other * scale + shift) @ turn) == pytest.approx(right, rel=1e-6)


def test_a_crowd_is_at_no_distance_from_itself_and_both_ways_are_as_long():
    generator = torch.Generator().manual_seed(1)
    one, other = torch.randn(2, 50, 6, generator=generator)
    assert frechet(one, one) == pytest.approx(0, abs=1e-9)
    assert frechet(one, 3 * other) == pytest.approx(frechet(3 * other, one))


def test_a_crowd_of_one_is_refused():
    with pytest.raises(ValueError, match="a crowd of 1 has no spread"):
        frechet(torch.zeros(1, 2), torch.zeros(5, 2))


def test_the_features_of_both_halves_know_whether_they_belong_together(crowds):
    """Even those of a reader that has learnt nothing: halves are as before, pairs are not."""
    torch.manual_seed(0)
    reader = HalfReader(HalfReaderConfig())
    real = features(reader, crowds[True].pictures)
    assert real.shape == (1_500, 32)
    others = features(reader, TwinData().draw(1_500, torch.Generator().manual_seed(9)).pictures)
    strangers = features(reader, crowds[False].pictures)
    assert frechet(real, strangers) > 5 * frechet(real, others)


# ------------------------------------------------------------------ health


def test_singular_values_are_those_of_the_matrix_that_is_divided():
    torch.manual_seed(0)
    net = nn.Sequential(
        spectral_norm(nn.Conv2d(3, 5, 2)), nn.ReLU(), spectral_norm(nn.ConvTranspose2d(5, 4, 3))
    )
    found = singular_values(net)
    assert set(found) == {"0", "2"}
    net.eval()
    by_output = net[0].weight.detach().flatten(1)
    assert found["0"] == pytest.approx(torch.linalg.svdvals(by_output)[0].item(), abs=1e-5)
    by_output = net[2].weight.detach().transpose(0, 1).flatten(1)
    assert found["2"] == pytest.approx(torch.linalg.svdvals(by_output)[0].item(), abs=1e-5)
    assert max(found.values()) == pytest.approx(1, abs=0.1)


def test_an_even_look_has_all_the_entropy_and_a_look_at_one_place_none():
    assert evenness(torch.full((2, 3, 8), 1 / 8)) == pytest.approx(1)
    assert evenness(torch.eye(8)) == 0
    half = torch.tensor([0.5, 0.5, 0.0, 0.0])
    assert evenness(half) == pytest.approx(math.log(2) / math.log(4))


# ------------------------------------------------------------------ asking


def test_pictures_are_drawn_by_the_mean_some_at_a_time_and_nothing_is_changed():
    torch.manual_seed(0)
    model = SAGAN(SMALL)
    model.train()
    before = {k: t.clone() for k, t in model.state_dict().items()}
    z = torch.randn(7, 5)
    whole, parts = drawn(model, z, weights=True), drawn(model, z, batch_size=3)
    assert (whole.pictures - parts.pictures).abs().max() < 1e-5
    assert whole.weights.shape == (7, 256, 64)
    assert parts.weights is None
    assert model.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_what_was_read_can_be_said(crowds):
    twins = crowds[True]
    (said,) = in_words(read(twins.pictures[:1]))
    assert said["twins"] is True
    assert said["clear"] == [True, True]
    assert said["shapes"] == [SHAPES[twins.things.shape[0, 0]]] * 2
    assert said["hues"][0] == pytest.approx(twins.things.hue[0, 0].item(), abs=0.01)
