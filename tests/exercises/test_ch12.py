"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.data.twins import HALF, read
from heed.exercises import ch12
from heed.layers.pixels import PixelAttention
from heed.training.adversarial import drawing, judging


def hinted(exercise, answer, hint):
    verdict = exercise.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 1


def test_seen():
    reach, step = 1, 1
    for _ in range(4):
        reach, step = reach + 3 * step, 2 * step
    assert ch12.seen.check(reach)


def test_a_place_of_a_fourth_map_sees_as_many_pixels_as_the_exercise_says():
    net = torch.nn.Sequential(*(torch.nn.Conv2d(1, 1, 4, stride=2) for _ in range(4))).double()
    for weight in net.parameters():
        torch.nn.init.ones_(weight)
    x = torch.zeros(1, 1, 96, 96, dtype=torch.float64, requires_grad=True)
    (touched,) = torch.autograd.grad(net(x)[0, 0, 0, 0], x)
    assert ch12.seen.check(int((touched[0, 0, 0] != 0).sum()))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        (44, "Twice 22"),
        (88, "Four times 22"),
        (25, "How long is a step"),
        (54, "three gaps"),
        (22, "what three layers see"),
        (7, "2 pixels apart"),
    ],
)
def test_seen_hints(answer, hint):
    hinted(ch12.seen, answer, hint)


# ---------------------------------------------------------------------------- 2


def looks(x, w_f, w_g):
    scores = (x @ w_f.T) @ (x @ w_g.T).T  # i is looked at, j looks
    return scores.softmax(dim=0).T


def test_looks():
    assert ch12.looks.check(looks)


def test_the_layer_of_the_package_looks_as_the_exercise_wants_it():
    torch.manual_seed(0)
    layer = PixelAttention(channels=8, form="first", spectral=False).eval()
    x = torch.randn(1, 8, 2, 3)
    w_f, w_g = layer.f.weight[..., 0, 0], layer.g.weight[..., 0, 0]
    with torch.no_grad():
        torch.testing.assert_close(
            ch12._looks(x[0].flatten(1).T, w_f, w_g), layer(x, weights=True).weights[0]
        )


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda *given: None, "None so far"),
        (lambda x, f, g: ((x @ f.T) @ (x @ g.T).T).softmax(dim=1).T, "columns add up"),
        (lambda *given: looks(*given).T, "lying on their side"),
        (lambda x, f, g: looks(x, g, f), "exchanged"),
        (lambda x, f, g: ((x @ g.T) @ (x @ f.T).T / 2**0.5).softmax(dim=1), "Transformer"),
        (lambda x, f, g: (x @ g.T) @ (x @ f.T).T, "softmax is missing"),
        (lambda x, f, g: torch.eye(4), "Softmax over i"),
    ],
)
def test_looks_hints(answer, hint):
    hinted(ch12.looks, answer, hint)


# ---------------------------------------------------------------------------- 3


def test_first_step():
    torch.manual_seed(0)
    layer = PixelAttention(channels=8, form="first", spectral=False)
    layer(torch.randn(1, 8, 2, 2)).y.square().sum().backward()
    moved = {
        name.split(".")[0]
        for name, each in layer.named_parameters()
        if each.grad is not None and each.grad.abs().max() > 0
    }
    assert ch12.first_step.check(moved)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ({"f", "g", "h", "gamma"}, "All four"),
        (set(), "for ever"),
        ({"f", "g", "h"}, "other way round"),
        ({"gamma", "h"}, "all of o"),
        ({"x"}, "What is ∂y/∂γ"),
    ],
)
def test_first_step_hints(answer, hint):
    hinted(ch12.first_step, answer, hint)


# ---------------------------------------------------------------------------- 4


def test_hinges():
    real, drawn = torch.tensor(ch12._REAL), torch.tensor(ch12._DRAWN)
    assert ch12.hinges.check((judging(real, drawn).item(), drawing(drawn).item()))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((-0.4, 1.15), "Without the hinge"),
        ((1.2, 2.3), "These are sums"),
        ((1.2, 1.15), "The first is a sum"),
        ((0.3, 1.15), "Two means"),
        ((0.6, -1.15), "wants scores to go up"),
        ((0.6, 0.35), "G has no hinge"),
        ((1.15, 0.6), "first D, then G"),
        (3, "L_D: the mean"),
    ],
)
def test_hinges_hints(answer, hint):
    hinted(ch12.hinges, answer, hint)


# ---------------------------------------------------------------------------- 5


def forge(pictures):
    left, right = pictures.split(HALF, dim=-1)
    return torch.cat([left, right.roll(1, dims=0)], dim=-1)


def with_one_pair_left(pictures):
    return torch.cat([pictures[:1], forge(pictures[1:])])


def test_forge():
    assert ch12.forge.check(forge)


def test_what_is_forged_in_the_exercise_is_seldom_a_twin():
    real = ch12._crowd()
    assert read(real).twins.all()
    assert read(forge(real)).twins.float().mean() < 0.2


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda pictures: None, "None so far"),
        (lambda pictures: pictures, "twins themselves"),
        (lambda pictures: pictures.flip(0), "twins themselves"),
        (with_one_pair_left, "Shift by one"),
        (lambda pictures: pictures.flip(-1), "Mirror images"),
        (lambda pictures: pictures[:3], "as many pictures"),
        (lambda pictures: torch.rand_like(pictures), "see a difference"),
        (lambda pictures: pictures[:1].expand_as(pictures), "see a difference"),
    ],
)
def test_forge_hints(answer, hint):
    hinted(ch12.forge, answer, hint)
