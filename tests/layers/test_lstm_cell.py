"""The LSTM's step against PyTorch's own."""

import torch
from torch import nn
from torch.testing import assert_close

from heed.layers.lstm import LSTMCell, memorise

B, D_INPUT, D = 2, 3, 5


def test_a_step_agrees_with_pytorchs_cell():
    theirs = nn.LSTMCell(D_INPUT, D).double()
    ours = LSTMCell(d_state=D).double()
    with torch.no_grad():
        ours.U.copy_(theirs.weight_hh.T)
    x = torch.randn(B, D_INPUT).double()
    h, c = torch.randn(2, B, D).double()
    drive = x @ theirs.weight_ih.T + theirs.bias_ih + theirs.bias_hh
    for found, wanted in zip(ours(drive, h, c), theirs(x, (h, c)), strict=True):
        assert_close(found, wanted, rtol=0, atol=1e-12)


def test_shut_gates_keep_the_memory_and_say_nothing():
    shut, open_ = torch.full((B, D), -60.0), torch.full((B, D), 60.0)
    c = torch.randn(B, D)
    h, kept = memorise(torch.cat([shut, open_, torch.randn(B, D), shut], dim=1), c)
    assert_close(kept, c)
    assert_close(h, torch.zeros(B, D))


def test_each_gate_begins_with_an_orthogonal_matrix_of_its_own():
    cell = LSTMCell(d_state=D)
    squares = cell.U.chunk(4, dim=1)
    for square in squares:
        assert_close(square.T @ square, torch.eye(D), rtol=0, atol=1e-5)
    assert not torch.equal(squares[0], squares[1])


def test_a_precise_memory_stays_precise_when_the_gates_are_not():
    h, c = memorise(torch.randn(B, 4 * D).bfloat16(), torch.randn(B, D))
    assert c.dtype == h.dtype == torch.float32
