"""The four stages of addressing, reading and writing: by hand, by brute force, at their limits."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from heed.layers.addressing import (
    Aim,
    address,
    address_at_once,
    content,
    cosine,
    interpolate,
    read,
    sharpen,
    shift,
    write,
    write_at_once,
)

B, HEADS, N, D = 2, 3, 7, 5  # primes: no two axes can be confused


def weights(*shape: int, slots: int = N, dtype=torch.float64):
    return torch.rand(*shape, slots, dtype=dtype).softmax(dim=-1)


def aim(dtype=torch.float64, wide: int = 3) -> Aim:
    return Aim(
        torch.randn(B, HEADS, D, dtype=dtype),
        torch.rand(B, HEADS, dtype=dtype) * 5,
        torch.rand(B, HEADS, dtype=dtype),
        torch.randn(B, HEADS, wide, dtype=dtype).softmax(dim=-1),
        1 + torch.rand(B, HEADS, dtype=dtype),
    )


# ------------------------------------------------------------------ by content


def test_cosine_is_pytorchs():
    memory, key = torch.randn(B, N, D), torch.randn(B, HEADS, D)
    theirs = F.cosine_similarity(key[:, :, None], memory[:, None], dim=-1)
    assert_close(cosine(memory, key), theirs)


def test_content_on_numbers_small_enough_to_read():
    memory = torch.tensor([[[3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]])
    found = content(memory, torch.tensor([[[5.0, 0.0]]]), torch.tensor([[2.0]]))
    powers = torch.tensor([2.0, 0.0, -2.0]).exp()  # cosines 1, 0 and −1, times β = 2
    assert_close(found[0, 0], powers / powers.sum())


@pytest.mark.parametrize("empty", [0.0, 1e-6, 1e-30])
def test_an_empty_memory_is_looked_at_evenly_and_has_a_finite_gradient(empty):
    memory = torch.full((1, N, D), empty, requires_grad=True)
    key = torch.randn(1, 1, D, requires_grad=True)
    found = content(memory, key, torch.tensor([[3.0]]))
    assert_close(found, torch.full((1, 1, N), 1 / N))
    (found[..., 0].sum()).backward()
    assert memory.grad is not None
    assert memory.grad.isfinite().all()


def test_a_key_of_zeros_is_alike_to_nothing():
    key = torch.zeros(1, 1, D, requires_grad=True)
    similar = cosine(torch.randn(1, N, D), key)
    assert (similar == 0).all()
    similar[..., 0].sum().backward()
    assert key.grad is not None
    assert key.grad.isfinite().all()


# ------------------------------------------------------------------ interpolation, shift, focus


def test_the_gate_chooses_between_what_is_found_and_where_the_head_was():
    found, before = weights(B, HEADS), weights(B, HEADS)
    shut, open_ = torch.zeros(B, HEADS).double(), torch.ones(B, HEADS).double()
    assert torch.equal(interpolate(found, before, shut), before)
    assert torch.equal(interpolate(found, before, open_), found)
    quarter = interpolate(found, before, open_ / 4)
    assert_close(quarter, 0.25 * found + 0.75 * before)


@given(slots=st.integers(1, 9), reach=st.integers(0, 4))
def test_shift_is_the_circular_convolution_of_equation_8(slots, reach):
    w = weights(B, HEADS, slots=slots)
    s = torch.randn(B, HEADS, 2 * reach + 1, dtype=torch.float64).softmax(dim=-1)
    by_hand = torch.zeros_like(w)
    for i in range(slots):
        for j in range(slots):
            for by in range(-reach, reach + 1):
                if (i - j - by) % slots == 0:
                    by_hand[..., i] += w[..., j] * s[..., by + reach]
    assert_close(shift(w, s), by_hand)


def test_shift_by_one_moves_on_and_n_shifts_come_back():
    w, on = weights(B, HEADS), torch.tensor([0.0, 0.0, 1.0]).double().expand(B, HEADS, 3)
    assert torch.equal(shift(w, on), w.roll(1, -1))
    assert torch.equal(shift(w, on.flip(-1)), w.roll(-1, -1))
    round_ = w
    for _ in range(N):
        round_ = shift(round_, on)
    assert torch.equal(round_, w)


def test_shifts_without_a_middle_are_refused():
    with pytest.raises(ValueError, match="4 shifts have no middle one"):
        shift(weights(B, HEADS), torch.rand(B, HEADS, 4).double())


def test_sharpen_is_the_power_of_equation_9():
    w, focus = weights(B, HEADS), 1 + 3 * torch.rand(B, HEADS).double()
    powers = w ** focus[..., None]
    assert_close(sharpen(w, focus), powers / powers.sum(dim=-1, keepdim=True))


def test_focus_one_changes_nothing_and_a_large_one_leaves_the_largest():
    w = weights(1, 1)
    assert_close(sharpen(w, torch.ones(1, 1).double()), w)
    sharp = sharpen(w, torch.full((1, 1), 1e6).double())
    assert torch.equal(sharp, F.one_hot(w.argmax(-1), N).double())


@pytest.mark.parametrize("focus", [1.0, 20.0, 1e4, 1e8])
@pytest.mark.parametrize("kind", ["even", "one", "none", "tiny", "below"])
def test_sharpening_knows_no_nan(kind, focus):
    w = {
        "even": torch.full((1, 1, 128), 1 / 128),
        "one": F.one_hot(torch.tensor([[5]]), 128).float(),
        "none": torch.zeros(1, 1, 128),
        "tiny": torch.full((1, 1, 128), 1e-38),
        "below": torch.full((1, 1, 128), -1e-9),  # what rounding may leave of a 0
    }[kind].requires_grad_()
    sharp = sharpen(w, torch.full((1, 1), focus))
    assert_close(sharp.sum(), torch.tensor(1.0))
    sharp[..., 5].sum().backward()
    assert w.grad is not None
    assert w.grad.isfinite().all()


# ------------------------------------------------------------------ all together


def test_addressing_is_differentiated_right():
    told = aim(wide=5)
    memory, before = torch.randn(B, N, D, dtype=torch.float64), weights(B, HEADS)
    parts = [memory, before, told.key, told.strength, told.gate, told.shifts, told.focus]
    for part in parts:
        part.requires_grad_()
    assert torch.autograd.gradcheck(lambda m, w, *t: address(m, w, Aim(*t)), parts)


@pytest.mark.parametrize("wide", [1, 3, 5])
def test_addressing_at_once_is_the_four_stages_values_and_gradients(wide):
    told = aim(wide=wide)
    memory, before = torch.randn(B, N, D, dtype=torch.float64), weights(B, HEADS)
    memory[0, 2] = 0.0  # a row that nobody wrote
    parts = [memory, before, told.key, told.strength, told.gate, told.shifts, told.focus]
    for part in parts:
        part.requires_grad_()
    plain, quick = (way(memory, before, Aim(*parts[2:])) for way in (address, address_at_once))
    assert_close(quick, plain, rtol=0, atol=1e-12)
    grad = torch.randn_like(plain)
    for ours, theirs in zip(
        torch.autograd.grad(quick, parts, grad),
        torch.autograd.grad(plain, parts, grad),
        strict=True,
    ):
        steep = theirs.abs() > 1e4
        assert_close(ours[~steep], theirs[~steep], rtol=1e-9, atol=1e-9)
        assert (ours[steep].abs() == 1e4).all()


def test_no_gradient_that_goes_back_a_step_is_steeper_than_allowed():
    memory, before = torch.randn(1, N, D), weights(1, 1, dtype=torch.float32)
    parts = [memory.requires_grad_(), before.requires_grad_()]
    one = torch.ones(1, 1)
    told = Aim(torch.randn(1, 1, D), one, 0 * one, torch.tensor([[[0.0, 1.0, 0.0]]]), 2 * one)
    found = address_at_once(memory, before, told)
    _, back = torch.autograd.grad(found, parts, 1e30 * torch.randn(1, 1, N))
    assert back.abs().max() == 1e4


@pytest.mark.parametrize("heads", [1, 3])
def test_writing_at_once_is_writing_values_and_gradients(heads):
    parts = [
        torch.randn(B, N, D).double(),
        weights(B, heads),
        torch.rand(B, heads, D).double(),
        torch.randn(B, heads, D).double(),
    ]
    for part in parts:
        part.requires_grad_()
    plain, quick = write(*parts), write_at_once(*parts)
    assert_close(quick, plain)
    grad = torch.randn_like(plain)
    assert_close(torch.autograd.grad(quick, parts, grad), torch.autograd.grad(plain, parts, grad))


def test_whatever_the_heads_are_told_their_weights_sum_to_one():
    told, memory = aim(), torch.randn(B, N, D, dtype=torch.float64)
    for before in (weights(B, HEADS), torch.zeros(B, HEADS, N, dtype=torch.float64)):
        for strange in (
            told,
            replace(told, strength=told.strength * 1e6, focus=told.focus * 1e6),
            replace(told, gate=torch.zeros(B, HEADS).double()),
            replace(told, gate=torch.ones(B, HEADS).double(), key=torch.zeros_like(told.key)),
        ):
            found = address(memory, before, strange)
            assert_close(found.sum(dim=-1), torch.ones(B, HEADS).double())
            assert (found >= 0).all()


def test_a_strong_key_through_an_open_gate_reads_one_row():
    memory = torch.eye(N)[None]
    told = Aim(
        memory[:, 4:5],
        torch.full((1, 1), 1e4),
        torch.ones(1, 1),
        torch.tensor([[[0.0, 1.0, 0.0]]]),
        torch.ones(1, 1),
    )
    found = address(memory, torch.full((1, 1, N), 1 / N), told)
    assert found[0, 0, 4] == 1.0
    assert_close(read(memory, found), memory[:, 4:5])


# ------------------------------------------------------------------ reading and writing


def test_reading_is_a_weighted_sum_of_rows():
    memory, w = torch.randn(B, N, D), weights(B, HEADS, dtype=torch.float32)
    by_hand = sum(w[:, :, i, None] * memory[:, None, i] for i in range(N))
    assert_close(read(memory, w), by_hand)


def test_writing_at_one_slot_replaces_its_row_and_no_other():
    memory, add = torch.randn(B, N, D), torch.randn(B, 1, D)
    w = F.one_hot(torch.tensor([[4], [0]]), N).float()
    after = write(memory, w, torch.ones(B, 1, D), add)
    for b, slot in ((0, 4), (1, 0)):
        assert_close(after[b, slot], add[b, 0])
        others = [i for i in range(N) if i != slot]
        assert torch.equal(after[b, others], memory[b, others])


def test_who_writes_nowhere_changes_nothing():
    memory = torch.randn(B, N, D)
    nowhere, any_ = torch.zeros(B, HEADS, N), torch.rand(B, HEADS, D)
    assert torch.equal(write(memory, nowhere, any_, any_), memory)


def test_writing_is_equations_3_and_4_for_several_heads_in_any_order():
    memory, w = torch.randn(B, N, D).double(), weights(B, HEADS)
    erase, add = torch.rand(B, HEADS, D).double(), torch.randn(B, HEADS, D).double()
    by_hand = memory.clone()
    for h in range(HEADS):
        by_hand = by_hand * (1 - w[:, h, :, None] * erase[:, h, None])
    for h in range(HEADS):
        by_hand = by_hand + w[:, h, :, None] * add[:, h, None]
    assert_close(write(memory, w, erase, add), by_hand)
    turned = write(memory, w.flip(1), erase.flip(1), add.flip(1))
    assert_close(turned, by_hand)


def test_writing_is_differentiated_right():
    memory, w = torch.randn(B, N, D).double(), weights(B, HEADS)
    parts = [memory, w, torch.rand(B, HEADS, D).double(), torch.randn(B, HEADS, D).double()]
    for part in parts:
        part.requires_grad_()
    assert torch.autograd.gradcheck(write, parts)
