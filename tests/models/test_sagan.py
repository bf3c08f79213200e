"""SAGAN and the DCGAN that is left without attention: what each can see, and what is normalised."""

from dataclasses import replace

import jaxtyping
import pytest
import torch
from torch import nn

from heed.data.twins import HALF, TwinData, paint
from heed.layers.pixels import FORMS
from heed.models.sagan import (
    SAGAN,
    Discriminator,
    Generator,
    SAGANConfig,
    acting,
    normalised,
    source,
)

SMALL = SAGANConfig(d_z=5, generator=(24, 16, 8), discriminator=(24, 16, 8))
PLAIN = replace(SMALL, generator_attention=0, discriminator_attention=0)


def made(config: SAGANConfig = SMALL, *, gamma: float = 0.0, seed: int = 0) -> SAGAN:
    torch.manual_seed(seed)
    model = SAGAN(config)
    with torch.no_grad():
        for net in (model.generator, model.discriminator, model.mean):
            if net.attention is not None:
                net.attention.gamma.fill_(gamma)
    return model


def without_block(net: nn.Module, plain: nn.Module) -> nn.Module:
    """The same numbers in a net that has no attention."""
    kept = {n: t for n, t in net.state_dict().items() if not n.startswith("attention.")}
    plain.load_state_dict(kept)
    return plain


@pytest.fixture
def z():
    return torch.randn(3, 5, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def pictures():
    drawn = TwinData().draw(6, torch.Generator().manual_seed(2)).pictures
    return drawn.float() / 127.5 - 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", [4, 8, 16])
def test_with_gamma_0_both_nets_are_those_without_the_block_bit_for_bit(form, side, z, pictures):
    config = replace(SMALL, form=form, generator_attention=side, discriminator_attention=side)
    model = made(config)
    generator = without_block(model.generator, Generator(PLAIN))
    discriminator = without_block(model.discriminator, Discriminator(PLAIN))
    for training in (True, False):
        for net in (model, generator, discriminator):
            net.train(training)
        assert torch.equal(model.generator(z).pictures, generator(z).pictures)
        assert torch.equal(model.discriminator(pictures).scores, discriminator(pictures).scores)


def test_with_another_gamma_they_are_not(z, pictures):
    still, moved = made().eval(), made(gamma=0.5).eval()
    assert not torch.equal(still.generator(z).pictures, moved.generator(z).pictures)
    assert not torch.equal(
        still.discriminator(pictures).scores, moved.discriminator(pictures).scores
    )
    assert torch.equal(still.generator(z).pictures, moved.generator(z, dial=0.0).pictures)
    dialled = moved.discriminator(pictures, dial=0.0).scores
    assert torch.equal(still.discriminator(pictures).scores, dialled)


def exchanged(pictures):
    """Each picture with the right half of the next one."""
    left, right = pictures[..., :HALF], pictures[..., HALF:]
    return torch.cat([left, right.roll(1, dims=0)], dim=-1)


@pytest.mark.parametrize("side", [0, 4, 8, 16])
def test_only_attention_can_tell_whether_two_halves_belong_together(side):
    """Without it the score is a sum of what it thinks of the left and of the right thing, so that
    the crowd's sum stays when halves are exchanged. (The ground is the same everywhere.)"""
    data = TwinData()
    things = data.things(6, torch.Generator().manual_seed(3), agree=False)
    pictures = paint(things, torch.ones(6, 3)).double() / 127.5 - 1
    model = made(replace(SMALL, discriminator_attention=side), gamma=1.0).double().eval()
    together = model.discriminator(pictures).scores.sum()
    apart = model.discriminator(exchanged(pictures)).scores.sum()
    if side:
        assert abs(together - apart) > 1e-9
    else:
        assert abs(together - apart) < 1e-12


def test_no_place_of_the_last_map_has_seen_both_things(pictures):
    net = made(PLAIN).discriminator.eval()
    x = pictures[:1].clone().requires_grad_()
    y = x
    for down in net.down:
        y = nn.functional.leaky_relu(down(y), 0.1)
    for place in y[0].sum(dim=0).flatten():
        (seen,) = torch.autograd.grad(place, x, retain_graph=True)
        columns = seen[0].abs().sum(dim=(0, 1)).nonzero().flatten()
        assert columns.max() - columns.min() < 22
        assert not (columns.min() < 9 and columns.max() >= 32 - 9)


def test_every_weight_of_both_nets_is_normalised_the_last_ones_too():
    model = made()
    for net in (model.generator, model.discriminator):
        layers = {
            name
            for name, each in net.named_modules()
            if isinstance(each, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)
        }
        assert {name for name, _ in normalised(net)} == layers
    assert not list(normalised(model.mean))
    plain = SAGAN(replace(SMALL, spectral=False))
    assert not list(normalised(plain))
    assert source(plain.generator.project) is plain.generator.project.weight


def test_singular_values_go_to_1_in_training_and_stay_at_rest(z, pictures):
    model = made(gamma=0.3, seed=4)
    with torch.no_grad():
        for net in (model.generator, model.discriminator):
            for _, module in normalised(net):
                source(module).mul_(torch.rand(source(module).shape[1:]) * 3)
    for _ in range(150):
        model.generator(z)
        model.discriminator(pictures)
    model.eval()
    for net in (model.generator, model.discriminator):
        for name, module in normalised(net):
            weight = module.weight.detach()
            if isinstance(module, nn.ConvTranspose2d):
                weight = weight.transpose(0, 1)
            assert torch.linalg.matrix_norm(weight.flatten(1), 2).item() == pytest.approx(
                1, abs=0.02
            ), name
    before = {k: t.clone() for k, t in model.state_dict().items()}
    model.generator(z)
    model.discriminator(pictures)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_weights_that_act_are_read_without_a_step_towards_their_singular_vectors(pictures):
    model = made()
    model.train()
    before = {k: t.clone() for k, t in model.discriminator.state_dict().items()}
    found = acting(model.discriminator)
    assert model.discriminator.training
    assert all(module.training for _, module in normalised(model.discriminator))
    for name, tensor in model.discriminator.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    model.eval()
    for name, module in normalised(model.discriminator):
        assert torch.equal(found[f"{name}.weight"], module.weight)


def test_the_mean_draws_as_the_generator_does_until_the_generator_moves(z):
    model = made(seed=5)
    for _ in range(3):
        model.generator(z)  # batch norm has seen something
    model.follow(memory=0.0)
    model.eval()
    assert (model(z).pictures - model.generator(z).pictures).abs().max() < 1e-6


def test_the_mean_is_a_moving_average_of_what_acts(z):
    model = made(seed=6)
    before = {name: p.clone() for name, p in model.mean.named_parameters()}
    with torch.no_grad():
        for p in model.generator.parameters():
            p.add_(0.1 * torch.randn_like(p))
    now = acting(model.generator)
    model.follow(memory=0.75)
    for name, p in model.mean.named_parameters():
        assert (p - (0.75 * before[name] + 0.25 * now[name])).abs().max() < 1e-6
        assert not p.requires_grad


def test_a_pictures_score_does_not_depend_on_who_else_is_judged(pictures):
    net = made(gamma=0.5).discriminator.eval()
    alone = torch.cat([net(each[None]).scores for each in pictures])
    assert alone.shape == (6,)
    assert (alone - net(pictures).scores).abs().max() < 1e-6


@pytest.mark.parametrize("side", [4, 8, 16])
def test_maps_have_a_row_for_each_pixel_and_a_column_for_each_place(side, z, pictures):
    model = made(replace(SMALL, generator_attention=side, discriminator_attention=side))
    places = (3, side**2, side**2 // 4)
    drawn = model(z, weights=True)
    assert drawn.weights.shape == places
    assert drawn.pictures.abs().max() <= 1
    assert model.discriminator(pictures[:3], weights=True).weights.shape == places
    assert model(z).weights is None
    assert set(model.gammas) == {"generator", "discriminator"}


def test_without_attention_there_is_no_map_and_no_gamma(z):
    model = made(PLAIN)
    assert model(z, weights=True).weights is None
    assert model.gammas == {}


def test_what_does_not_fit_is_refused():
    model = made()
    with pytest.raises(ValueError, match="z has 4 numbers: this generator wants 5"):
        model(torch.zeros(1, 4))
    with pytest.raises(ValueError, match="a picture of 64 × 32 pixels: this net judges 32 × 32"):
        model.discriminator(torch.zeros(1, 3, 64, 32))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"form": "last"}, "form='last' is none of first, later, released"),
        ({"generator_attention": 32}, "generator_attention=32 is no map's side"),
        ({"discriminator_attention": 5}, "discriminator_attention=5 is no map's side"),
        ({"beta_2": 1.0}, r"beta_2=1\.0 must be from 0 to below 1"),
        ({"memory": -0.1}, r"memory=-0\.1 must be"),
        ({"generator_rate": 0.0}, r"generator_rate=0\.0 must be above 0"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_by_name(option, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **option)
