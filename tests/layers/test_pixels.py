"""Pixel attention: the equations one pixel at a time, other people's form of it, symmetries."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from heed.layers.pixels import FORMS, PixelAttention, in_blocks

B, C, ROWS, COLUMNS = 2, 16, 6, 4


def block(form="released", *, channels=C, spectral=False, gamma=0.7) -> PixelAttention:
    torch.manual_seed(1)
    made = PixelAttention(channels=channels, form=form, spectral=spectral).double()
    with torch.no_grad():
        made.gamma.fill_(gamma)
    return made


@pytest.fixture
def x():
    return torch.randn(
        B, C, ROWS, COLUMNS, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )


def convolved(layer: nn.Conv2d, pixel):
    """A 1 × 1 convolution is one matrix for each pixel."""
    out = layer.weight[:, :, 0, 0] @ pixel
    return out if layer.bias is None else out + layer.bias


@pytest.mark.parametrize("form", ["first", "later"])
def test_a_loop_over_pairs_of_pixels_gives_the_same(form, x):
    """The paper's sums, i looked at and j looking, one pair after the other."""
    attention = block(form)
    looked = attention(x, weights=True)
    for b in range(B):
        pixels = x[b].flatten(1).unbind(1)
        for j, x_j in enumerate(pixels):
            s = [convolved(attention.f, x_i) @ convolved(attention.g, x_j) for x_i in pixels]
            total = sum(each.exp() for each in s)
            o = torch.zeros(attention.h.out_channels, dtype=torch.float64)
            for i, x_i in enumerate(pixels):
                beta = s[i].exp() / total
                assert abs(looked.weights[b, j, i] - beta) < 1e-9
                o = o + beta * convolved(attention.h, x_i)
            if attention.v is not None:
                o = convolved(attention.v, o)
            y = attention.gamma * o + x_j
            assert (looked.y[b].flatten(1)[:, j] - y).abs().max() < 1e-9


def test_a_loop_over_pixels_and_blocks_of_four_gives_the_same_as_the_released_form(x):
    attention = block("released")
    looked = attention(x, weights=True)
    for b in range(B):
        places = []
        for row in range(0, ROWS, 2):
            for column in range(0, COLUMNS, 2):
                four = x[b, :, row : row + 2, column : column + 2].flatten(1).unbind(1)
                places.append(
                    [
                        torch.stack([convolved(layer, each) for each in four]).amax(0)
                        for layer in (attention.f, attention.h)
                    ]
                )
        for j, x_j in enumerate(x[b].flatten(1).unbind(1)):
            s = torch.stack([key @ convolved(attention.g, x_j) for key, _ in places])
            beta = s.exp() / s.exp().sum()
            assert (looked.weights[b, j] - beta).abs().max() < 1e-9
            o = sum(weight * value for weight, (_, value) in zip(beta, places, strict=True))
            y = attention.gamma * convolved(attention.v, o) + x_j
            assert (looked.y[b].flatten(1)[:, j] - y).abs().max() < 1e-9


def test_the_public_form_of_the_released_code_gives_the_same():
    """As it is usually written: θ, φ, g and o, one bmm for the map, one for what is seen."""
    attention = block("released", channels=32).float()
    x = torch.randn(3, 32, 8, 8)
    theta, phi = F.conv2d(x, attention.g.weight), F.conv2d(x, attention.f.weight)
    g = F.conv2d(x, attention.h.weight)
    phi, g = F.max_pool2d(phi, [2, 2]), F.max_pool2d(g, [2, 2])
    theta, phi, g = (each.view(3, -1, each.shape[2] * each.shape[3]) for each in (theta, phi, g))
    beta = F.softmax(torch.bmm(theta.transpose(1, 2), phi), -1)
    o = F.conv2d(torch.bmm(g, beta.transpose(1, 2)).view(3, 16, 8, 8), attention.v.weight)
    right = attention.gamma * o + x
    assert (attention(x).y - right).abs().max() < 1e-5
    assert (attention(x, weights=True).weights - beta).abs().max() < 1e-5


@pytest.mark.parametrize("form", FORMS)
def test_with_gamma_0_nothing_is_changed_bit_for_bit(form, x):
    attention = PixelAttention(channels=C, form=form).double()
    assert attention.gamma.item() == 0
    assert torch.equal(attention(x).y, x)
    assert torch.equal(block(form)(x, dial=0.0).y, x)


@pytest.mark.parametrize("form", FORMS)
def test_each_pixel_hands_out_1(form, x):
    weights = block(form)(x, weights=True).weights
    assert weights.shape == (B, ROWS * COLUMNS, ROWS * COLUMNS // (4 if form == "released" else 1))
    assert (weights.sum(dim=-1) - 1).abs().max() < 1e-12
    assert (weights.sum(dim=-2) - weights.shape[-2] / weights.shape[-1]).abs().max() > 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_without_weights_values_and_gradients_are_the_same(form, x):
    attention, x = block(form), x.requires_grad_()
    found = []
    for weights in (True, False):
        looked = attention(x, weights=weights)
        assert (looked.weights is not None) is weights
        gradients = torch.autograd.grad(looked.y.square().sum(), [x, *attention.parameters()])
        found.append((looked.y, *gradients))
    for one, other in zip(*found, strict=True):
        assert (one - other).abs().max() < 1e-9


@pytest.mark.parametrize("form", ["first", "later"])
def test_pixels_in_another_order_see_the_same(form, x):
    order = torch.randperm(ROWS * COLUMNS, generator=torch.Generator().manual_seed(2))
    attention = block(form)
    moved = attention(x.flatten(2)[..., order].unflatten(2, (ROWS, COLUMNS))).y
    assert (moved.flatten(2) - attention(x).y.flatten(2)[..., order]).abs().max() < 1e-9


def test_the_released_form_moves_along_by_two_pixels_and_not_by_one(x):
    attention = block("released")
    by_two = attention(x.roll((2, -2), dims=(2, 3))).y
    assert (by_two - attention(x).y.roll((2, -2), dims=(2, 3))).abs().max() < 1e-9
    by_one = attention(x.roll(1, dims=3)).y
    assert (by_one - attention(x).y.roll(1, dims=3)).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("first", 2 * (C * 2 + 2) + C * C + C + 1),
        ("later", 3 * (C * 2 + 2) + 2 * C + C + 1),
        ("released", 2 * (C * 2) + 2 * (C * C // 2) + 1),
    ],
)
def test_each_form_has_the_numbers_that_its_widths_make(form, numbers):
    assert sum(p.numel() for p in PixelAttention(channels=C, form=form).parameters()) == numbers


@pytest.mark.parametrize("form", FORMS)
def test_spectral_norm_brings_every_matrix_to_1_in_training_and_leaves_it_at_rest(form):
    torch.manual_seed(3)
    attention = PixelAttention(channels=32, form=form)
    x = torch.randn(1, 32, 4, 4)
    layers = [each for each in (attention.f, attention.g, attention.h, attention.v) if each]
    for _ in range(200):
        attention(x)
    attention.eval()
    before = [layer.weight.clone() for layer in layers]
    attention(x)
    for layer, weight in zip(layers, before, strict=True):
        assert torch.equal(layer.weight, weight)
        assert torch.linalg.matrix_norm(weight.flatten(1), 2).item() == pytest.approx(1, abs=1e-3)


def test_wide_values_and_wide_keys_go_through_blocks_alike():
    for d_k, d_v in ((2, 5), (5, 2), (3, 3)):
        q, k, v = torch.randn(2, 6, d_k), torch.randn(2, 4, d_k), torch.randn(2, 4, d_v)
        right = (q @ k.mT).softmax(dim=-1) @ v
        assert (in_blocks(q, k, v) - right).abs().max() < 1e-5


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="channels=12 cannot be divided by 8"):
        PixelAttention(channels=12)
    with pytest.raises(ValueError, match="a map of 3 × 4 pixels cannot be halved"):
        PixelAttention(channels=16)(torch.randn(1, 16, 3, 4))
