"""The gated unit against its equations, and against the one that PyTorch ships."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shaken import shaken
from torch import Tensor, nn
from torch.testing import assert_close

from heed.layers.gru import BiGRU, GRUCell, reverse_each

B, STEPS, D_INPUT, D = 3, 5, 7, 11  # primes: no two axes can be confused
LENGTHS = torch.tensor([5, 2, 3])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def slow_gru(
    drive: list[float], h: list[float], U_z: Tensor, U_r: Tensor, U: Tensor
) -> list[float]:
    """z = σ(x_z + U_z h), r = σ(x_r + U_r h), h̃ = tanh(x + U (r ∘ h)),
    h′ = (1 − z) ∘ h + z ∘ h̃                  (Bahdanau et al. 2015, A.1.1), a unit at a time.
    """
    d = len(h)
    U_z, U_r, U = U_z.tolist(), U_r.tolist(), U.tolist()
    r = [sigmoid(drive[d + i] + sum(U_r[i][j] * h[j] for j in range(d))) for i in range(d)]
    new = []
    for i in range(d):
        z = sigmoid(drive[i] + sum(U_z[i][j] * h[j] for j in range(d)))
        candidate = math.tanh(drive[2 * d + i] + sum(U[i][j] * r[j] * h[j] for j in range(d)))
        new.append((1 - z) * h[i] + z * candidate)
    return new


# --- the cell --------------------------------------------------------------------------------


def test_the_cell_agrees_with_a_loop_written_from_its_equations():
    cell = shaken(GRUCell(d_state=D))
    drive, h = torch.randn(B, 3 * D).double(), torch.randn(B, D).double()
    found = cell(drive, h)
    U_z, U_r = (half.T for half in cell.U_zr.chunk(2, dim=1))
    for b in range(B):
        expected = slow_gru(drive[b].tolist(), h[b].tolist(), U_z, U_r, cell.U.T)
        assert_close(found[b], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)


def in_torchs_words(cell: GRUCell) -> nn.GRUCell:
    """nn.GRUCell with our matrices: its gates come as r, z, n, and its z keeps the old state.

    The drive is its input, so W_i only reorders the three parts and flips the sign of z.
    """
    theirs = nn.GRUCell(3 * D, D, bias=False).double()
    one, zero = torch.eye(D).double(), torch.zeros(D, D).double()
    with torch.no_grad():
        theirs.weight_ih.copy_(
            torch.cat(
                [
                    torch.cat([zero, one, zero], dim=1),
                    torch.cat([-one, zero, zero], dim=1),
                    torch.cat([zero, zero, one], dim=1),
                ]
            )
        )
        U_z, U_r = cell.U_zr.chunk(2, dim=1)
        theirs.weight_hh.copy_(torch.cat([U_r.T, -U_z.T, cell.U.T]))
    return theirs


def test_the_cell_is_not_pytorchs_because_the_reset_gate_comes_before_the_product():
    cell = shaken(GRUCell(d_state=D))
    drive, h = torch.randn(B, 3 * D).double(), torch.randn(B, D).double()
    difference = (cell(drive, h) - in_torchs_words(cell)(drive, h)).abs()
    assert difference.max() > 0.01


def test_the_cell_is_pytorchs_while_the_reset_gate_stands_wide_open():
    cell = shaken(GRUCell(d_state=D))
    drive, h = torch.randn(B, 3 * D).double(), torch.randn(B, D).double()
    drive[:, D : 2 * D] = 1e3  # r = 1
    assert_close(cell(drive, h), in_torchs_words(cell)(drive, h), rtol=0, atol=1e-12)


def test_an_update_gate_of_zero_keeps_the_state_and_of_one_replaces_it():
    cell = shaken(GRUCell(d_state=D))
    drive, h = torch.randn(B, 3 * D).double(), torch.randn(B, D).double()
    drive[:, :D] = -1e3
    assert_close(cell(drive, h), h, rtol=0, atol=1e-12)
    drive[:, :D] = 1e3
    drive[:, D : 2 * D] = -1e3  # and with r = 0 nothing of the old state is left
    assert_close(cell(drive, h), torch.tanh(drive[:, 2 * D :]), rtol=0, atol=1e-12)


def test_the_gradient_of_the_cell_is_its_slope():
    cell = shaken(GRUCell(d_state=3))
    drive = torch.randn(2, 9, dtype=torch.float64, requires_grad=True)
    h = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cell, (drive, h))


def test_each_recurrent_matrix_starts_orthogonal_on_its_own():
    cell, both = GRUCell(d_state=D), BiGRU(d_input=D_INPUT, d_state=D)
    squares = [*cell.U_zr.chunk(2, dim=1), cell.U, *both.U]
    squares += [gate for direction in both.U_zr for gate in direction.chunk(2, dim=1)]
    assert len(squares) == 9
    for square in squares:
        assert_close(square.T @ square, torch.eye(D), rtol=0, atol=1e-5)
    for i, first in enumerate(squares):
        for second in squares[:i]:
            assert not torch.allclose(first, second, atol=1e-2)


# --- turning rows round ----------------------------------------------------------------------


def test_each_row_is_turned_round_up_to_its_own_length():
    rows = torch.tensor([[1, 2, 3, 4], [1, 2, 0, 0], [1, 2, 3, 0], [0, 0, 0, 0]])
    turned = reverse_each(rows, torch.tensor([4, 2, 3, 0]))
    assert turned.tolist() == [[4, 3, 2, 1], [2, 1, 0, 0], [3, 2, 1, 0], [0, 0, 0, 0]]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=5))
def test_turning_round_agrees_with_a_loop_and_twice_is_not_at_all(lengths):
    rows = torch.arange(len(lengths) * 7).reshape(len(lengths), 7)
    turned = reverse_each(rows, torch.tensor(lengths))
    for row, back, n in zip(rows.tolist(), turned.tolist(), lengths, strict=True):
        assert back == row[:n][::-1] + row[n:]
    assert torch.equal(reverse_each(turned, torch.tensor(lengths)), rows)


def test_vectors_are_turned_round_like_numbers():
    numbers = torch.randint(0, 99, (B, STEPS))
    vectors = nn.functional.one_hot(numbers, 99).float()
    turned = reverse_each(vectors, LENGTHS)
    assert torch.equal(turned.argmax(dim=-1), reverse_each(numbers, LENGTHS))


# --- two directions --------------------------------------------------------------------------


def one_direction(encoder: BiGRU, which: int, words: Tensor) -> list[list[float]]:
    """The states of one GRU over one sentence, read in the order given."""
    W = encoder.W.weight.chunk(2)[which]
    b = encoder.W.bias.chunk(2)[which]
    U_z, U_r = (half.T for half in encoder.U_zr[which].chunk(2, dim=1))
    h, states = [0.0] * D, []
    for word in words:
        h = slow_gru((W @ word + b).tolist(), h, U_z, U_r, encoder.U[which].T)
        states.append(h)
    return states


def test_two_directions_at_once_agree_with_two_loops_one_sentence_at_a_time():
    encoder = shaken(BiGRU(d_input=D_INPUT, d_state=D))
    inputs = torch.randn(B, STEPS, D_INPUT).double()
    annotations, back_at_first = encoder(inputs, LENGTHS)
    assert annotations.shape == (B, STEPS, 2 * D)
    for b, n in enumerate(LENGTHS.tolist()):
        onward = one_direction(encoder, 0, inputs[b, :n])
        back = one_direction(encoder, 1, inputs[b, :n].flip(0))[::-1]
        for j in range(n):
            both = torch.tensor(onward[j] + back[j], dtype=torch.float64)
            assert_close(annotations[b, j], both, rtol=0, atol=1e-9)
        first = torch.tensor(back[0], dtype=torch.float64)
        assert_close(back_at_first[b], first, rtol=0, atol=1e-9)


def test_the_backward_state_at_the_first_word_has_read_the_whole_sentence():
    encoder = shaken(BiGRU(d_input=D_INPUT, d_state=D))
    inputs = torch.randn(B, STEPS, D_INPUT).double()
    _, before = encoder(inputs, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        for j in range(n):
            changed = inputs.clone()
            changed[b, j] += 1.0
            _, after = encoder(changed, LENGTHS)
            assert not torch.allclose(after[b], before[b])


def test_a_forward_state_has_not_read_ahead_and_a_backward_state_not_behind():
    encoder = shaken(BiGRU(d_input=D_INPUT, d_state=D))
    inputs = torch.randn(1, STEPS, D_INPUT).double()
    before, _ = encoder(inputs, torch.tensor([STEPS]))
    for j in range(STEPS):
        changed = inputs.clone()
        changed[0, j] += 1.0
        after, _ = encoder(changed, torch.tensor([STEPS]))
        moved = (after - before).abs().unflatten(-1, (2, D)).amax(dim=-1)[0] > 1e-9
        assert moved[:, 0].tolist() == [i >= j for i in range(STEPS)]
        assert moved[:, 1].tolist() == [i <= j for i in range(STEPS)]


@pytest.mark.parametrize("filler", [0.0, 50.0])
def test_padding_never_reaches_a_word(filler):
    encoder = shaken(BiGRU(d_input=D_INPUT, d_state=D))
    inputs = torch.randn(B, STEPS, D_INPUT).double()
    before, first = encoder(inputs, LENGTHS)
    pads = torch.arange(STEPS) >= LENGTHS[:, None]
    changed = inputs.masked_fill(pads[..., None], filler).requires_grad_()
    after, changed_first = encoder(changed, LENGTHS)
    assert torch.equal(after[~pads], before[~pads])
    assert torch.equal(changed_first, first)

    (after[~pads].sum() + changed_first.sum()).backward()
    assert changed.grad is not None
    assert (changed.grad[pads] == 0.0).all()
    assert (changed.grad[~pads] != 0.0).any(dim=-1).all()


def test_a_padded_batch_gives_the_annotations_of_each_sentence_alone():
    encoder = BiGRU(d_input=D_INPUT, d_state=D)
    inputs = torch.randn(B, STEPS, D_INPUT)
    together, first = encoder(inputs, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        alone, alone_first = encoder(inputs[b : b + 1, :n], LENGTHS[b : b + 1])
        assert_close(together[b, :n], alone[0], rtol=0, atol=1e-5)
        assert_close(first[b], alone_first[0], rtol=0, atol=1e-5)


def test_reading_a_sentence_backwards_swaps_two_directions_that_are_equal():
    encoder = shaken(BiGRU(d_input=D_INPUT, d_state=D))
    with torch.no_grad():
        for stacked in (encoder.U_zr, encoder.U):
            stacked[1] = stacked[0]
        for flat in (encoder.W.weight, encoder.W.bias):
            flat[3 * D :] = flat[: 3 * D]
    inputs = torch.randn(B, STEPS, D_INPUT).double()
    there, _ = encoder(inputs, LENGTHS)
    back, _ = encoder(reverse_each(inputs, LENGTHS), LENGTHS)
    swapped = reverse_each(torch.cat([back[..., D:], back[..., :D]], dim=-1), LENGTHS)
    words = torch.arange(STEPS) < LENGTHS[:, None]
    assert_close(there[words], swapped[words], rtol=0, atol=1e-12)
