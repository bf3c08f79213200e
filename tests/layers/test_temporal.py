"""SNAIL's blocks: what they see, and what they must not see."""

import math

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from shaken import shaken
from torch.testing import assert_close

from heed.layers.temporal import (
    AttentionBlock,
    CausalConvolution,
    DenseBlock,
    TemporalBlock,
    dilations,
)

B, T, D = 2, 11, 3


def sequence() -> torch.Tensor:
    return torch.randn(B, T, D).double()


@pytest.mark.parametrize("dilation", [1, 2, 4, 16])
def test_the_convolution_is_pytorchs_with_padding_on_the_left_only(dilation):
    ours = shaken(CausalConvolution(d_input=D, d_output=5, dilation=dilation))
    x = sequence()
    kernel = torch.stack([ours.W.weight[:, :D], ours.W.weight[:, D:]], dim=-1)
    wanted = F.conv1d(F.pad(x.mT, (dilation, 0)), kernel, ours.W.bias, dilation=dilation).mT
    assert_close(ours(x), wanted, rtol=0, atol=1e-12)


def test_a_dense_block_keeps_x_and_puts_a_gated_convolution_beside_it():
    block = shaken(DenseBlock(d_input=D, dilation=2, filters=5))
    x = sequence()
    out = block(x)
    assert out.shape == (B, T, block.d_output)
    assert torch.equal(out[..., :D], x)
    for t in (0, 1, 7):
        past = x[0, t - 2] if t >= 2 else torch.zeros(D).double()
        both = block.both.W.weight @ torch.cat([past, x[0, t]]) + block.both.W.bias
        assert_close(out[0, t, D:], torch.tanh(both[:5]) * torch.sigmoid(both[5:]))


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [(2, (1,)), (3, (1, 2)), (4, (1, 2)), (5, (1, 2, 4)), (26, (1, 2, 4, 8, 16))],
)
def test_there_are_as_many_dilations_as_the_logarithm_says(steps, wanted):
    assert dilations(steps) == wanted
    assert len(wanted) == math.ceil(math.log2(steps))
    assert dilations(steps, "as_printed") == tuple(2 * each for each in wanted)


@pytest.mark.parametrize("steps", [2, 5, 8, 9, 11])
def test_dilations_from_one_reach_every_step_and_those_printed_only_even_ones(steps):
    for kind in ("from_one", "as_printed"):
        block = shaken(TemporalBlock(d_input=D, steps=steps, filters=2, kind=kind))
        x = torch.randn(1, steps, D).double().requires_grad_()
        (grad,) = torch.autograd.grad(block(x)[0, -1].square().sum(), x)
        back = [steps - 1 - t for t in range(steps) if (grad[0, t] != 0).any()]
        everything = range(steps - 1, -1, -1)
        assert back == [lag for lag in everything if kind == "from_one" or lag % 2 == 0]


@pytest.mark.parametrize(
    "block",
    [
        TemporalBlock(d_input=D, steps=T, filters=2),
        TemporalBlock(d_input=D, steps=T, filters=2, kind="as_printed"),
        AttentionBlock(d_input=D, d_key=4, d_value=5),
    ],
    ids=["convolutions", "as printed", "attention"],
)
def test_nothing_that_comes_later_has_a_part(block):
    block, x = shaken(block), sequence().requires_grad_()
    out = block(x)
    out = out if isinstance(out, torch.Tensor) else out.x
    assert out.shape[-1] == block.d_output
    for t in range(T):
        (grad,) = torch.autograd.grad(out[:, t].square().sum(), x, retain_graph=True)
        assert (grad[:, t + 1 :] == 0).all()
        assert (grad[:, t] != 0).all()


def test_attention_is_pytorchs_with_x_beside_it():
    block = shaken(AttentionBlock(d_input=D, d_key=4, d_value=4))
    x = sequence()
    read = F.scaled_dot_product_attention(block.W_q(x), block.W_k(x), block.W_v(x), is_causal=True)
    out = block(x)
    assert_close(out.x, torch.cat([x, read], dim=-1), rtol=0, atol=1e-12)
    assert_close(out.weights.sum(dim=-1), torch.ones(B, T).double())
    assert out.weights[:, 0].tolist() == [[1.0] + [0.0] * (T - 1)] * B


@pytest.mark.parametrize(
    "block",
    [
        TemporalBlock(d_input=D, steps=T, filters=2),
        TemporalBlock(d_input=D, steps=T, filters=2, kind="as_printed"),
        AttentionBlock(d_input=D, d_key=4, d_value=5),
    ],
    ids=["convolutions", "as printed", "attention"],
)
def test_a_step_at_a_time_gives_what_all_at_once_gives(block):
    block, x = shaken(block), sequence()
    whole, kept = block(x), block.start(B)
    for t in range(T):
        kept, out = block.step(kept, x[:, t : t + 1])
        if isinstance(out, torch.Tensor):
            assert_close(out[:, 0], whole[:, t], rtol=0, atol=1e-12)
        else:
            assert_close(out.x[:, 0], whole.x[:, t], rtol=0, atol=1e-12)
            assert_close(out.weights[:, 0], whole.weights[:, t, : t + 1], rtol=0, atol=1e-12)


def test_steps_that_fill_up_a_batch_take_no_share_of_a_softmax_over_queries():
    block = shaken(AttentionBlock(d_input=D, d_key=4, d_value=4, over="queries"))
    x, there = sequence(), torch.ones(B, T, dtype=torch.bool)
    there[0, 6:] = False
    out = block(x, there=there)
    assert_close(out.weights[:1, :6, :6], block(x[:1, :6]).weights, rtol=0, atol=1e-12)
    assert_close(out.weights[1], block(x).weights[1], rtol=0, atol=1e-12)


def test_a_softmax_over_queries_lets_what_comes_later_in():
    block = shaken(AttentionBlock(d_input=D, d_key=4, d_value=4, over="queries"))
    x = sequence()
    before = block(x)
    changed = x.clone()
    changed[:, -1] += 1.0
    assert not torch.allclose(block(changed).weights[:, 0], before.weights[:, 0])
    assert_close(before.weights.sum(dim=1), torch.ones(B, T).double())
    assert not torch.allclose(before.weights.sum(dim=2), torch.ones(B, T).double())


def test_what_cannot_be_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=r"^dilation=0, but a step back"):
        CausalConvolution(d_input=D, d_output=D, dilation=0)
    with pytest.raises(ValueError, match=r"^steps=1: there is nothing"):
        dilations(1)
    with pytest.raises(ValueError, match=r"^dilations='odd' is none of from_one, as_printed$"):
        dilations(4, "odd")
    with pytest.raises(ValueError, match=r"^over='all' is none of keys, queries$"):
        AttentionBlock(d_input=D, d_key=2, d_value=2, over="all")
    with pytest.raises(ValueError, match=r"^over='queries': where a step looks depends"):
        AttentionBlock(d_input=D, d_key=2, d_value=2, over="queries").start(1)
