"""The Neural Turing Machine: a program by hand, states that travel, extremes, and learning."""

from dataclasses import fields, replace

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from heed.data.tapes import CopyTapes
from heed.layers.addressing import Aim
from heed.models.ntm import (
    NTM,
    Commands,
    MemoryState,
    NTMConfig,
    StackedLSTM,
    StackedLSTMConfig,
    operate,
)

B, T, X, Y, H, N, D = 2, 5, 3, 4, 11, 7, 13
TINY = NTMConfig(
    d_input=X, d_output=Y, d_controller=H, slots=N, d_slot=D, readers=2, writers=3, shift=1
)
CONFIGS = [
    replace(TINY, controller=controller, first=first, order=order)
    for controller in ("lstm", "feedforward")
    for first in ("constant", "learned")
    for order in ("write_first", "read_first")
]


def tensors(record):
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Tensor):
            yield value
        else:
            yield from tensors(value)


# ------------------------------------------------------------------ a program, no training


def told(
    *, on: int, add: Tensor, erase: float = 0.0, jump: bool = False, mark: Tensor | None = None
) -> Commands:
    """One reader and one writer. Both go on by ``on``; with ``jump`` the reader seeks the mark."""
    wide = len(add)
    walk, stay = (F.one_hot(torch.tensor([[by + 1]]), 3).float() for by in (on, 0))
    key = torch.zeros(1, 1, wide) if mark is None else mark[None, None]
    one = torch.ones(1, 1)
    return Commands(
        Aim(key, 1e4 * one, float(jump) * one, stay if jump else walk, one),
        Aim(torch.zeros(1, 1, wide), one, 0 * one, walk, one),
        torch.full((1, 1, wide), erase),
        add[None, None],
    )


def nothing_yet(slots: int, wide: int) -> MemoryState:
    here = F.one_hot(torch.zeros(1, 1, dtype=torch.long), slots).float()
    return MemoryState(torch.zeros(1, slots, wide), torch.zeros(1, 1, wide), here, here)


@pytest.mark.parametrize("length", [1, 20, 120])
def test_a_program_written_by_hand_copies_without_an_error(length):
    tape = CopyTapes().tape(1, torch.Generator().manual_seed(length), length=length)
    bits, slots, wide = tape.inputs[0, :length, :8], 128, 9
    mark = F.one_hot(torch.tensor(8), wide).float()
    state = nothing_yet(slots, wide)
    for step, vector in enumerate(bits):  # write, and walk on
        add = torch.cat([2 * vector - 1, torch.tensor([float(step == 0)])])
        state = operate(state, told(on=int(step > 0), add=add, erase=1.0), "write_first")
    nothing, said = torch.zeros(wide), []
    for step in range(length):  # jump back to the mark, read, and walk on
        jump = told(on=1, add=nothing, jump=step == 0, mark=mark)
        state = operate(state, jump, "write_first")
        said.append(state.reads[0, 0, :8])
    assert torch.equal((torch.stack(said) > 0).float(), bits)


def test_what_is_written_is_read_at_once_or_a_step_later():
    state, add = nothing_yet(N, D), torch.randn(D)
    command = told(on=0, add=add, erase=1.0)
    for order, at_once in (("write_first", add), ("read_first", torch.zeros(D))):
        after = operate(state, command, order)
        assert_close(after.reads[0, 0], at_once)
        again = operate(after, told(on=0, add=torch.zeros(D)), order)
        assert_close(again.reads[0, 0], add)


# ------------------------------------------------------------------ state through the door


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.controller}-{c.first}-{c.order}")
def test_steps_one_by_one_are_the_whole(config):
    model, inputs = NTM(config), torch.randn(B, T, X)
    whole = model(inputs)
    state = model.start(B)
    for t in range(T):
        state, out = model.step(state, inputs[:, t])
        assert_close(out.logits, whole.logits[:, t])
        places = torch.cat([state.heads.reading, state.heads.writing], dim=1)
        assert_close(places, whole.weights[:, :, t])
        assert_close(state.heads.reads, whole.reads[:, t])
        assert_close(out.commands.add, whole.adds[:, t])
    assert whole.logits.shape == (B, T, Y)
    assert whole.weights.shape == (B, 5, T, N)
    assert_close(whole.weights.sum(dim=-1), torch.ones(B, 5, T))


@pytest.mark.parametrize("config", CONFIGS[::3], ids=lambda c: f"{c.controller}-{c.first}")
def test_a_sequence_can_be_left_and_gone_on_with(config):
    model, inputs = NTM(config), torch.randn(B, T, X)
    whole = model(inputs)
    state = model.start(B)
    for t in range(2):
        state, _ = model.step(state, inputs[:, t])
    model(torch.randn(3, T, X))  # another sequence in between leaves no trace
    assert_close(model(inputs[:, 2:], state).logits, whole.logits[:, 2:])
    assert torch.equal(model(inputs).logits, whole.logits)


def test_rows_of_a_batch_know_nothing_of_each_other():
    model, inputs = NTM(TINY), torch.randn(B, T, X)
    for row in range(B):
        assert_close(model(inputs[row : row + 1]).logits[0], model(inputs).logits[row])


def test_a_constant_first_state_is_as_described_and_a_learned_one_is_learnt():
    constant = NTM(TINY).start(B)
    assert (constant.heads.memory == 1e-6).all()
    assert (constant.heads.reading[:, :, 0] == 1).all()
    assert (constant.heads.writing[:, :, 0] == 1).all()
    assert (constant.heads.reads == 0).all()
    model = NTM(replace(TINY, first="learned"))
    model(torch.randn(B, T, X)).logits.sum().backward()
    for name in ("memory", "reads", "places", "h", "c"):
        assert getattr(model, name).grad.abs().sum() > 0, name


def test_a_feedforward_controller_keeps_nothing_itself():
    model = NTM(replace(TINY, controller="feedforward"))
    state, _ = model.step(model.start(B), torch.randn(B, X))
    assert state.h.shape == state.c.shape == (B, 0)


def test_a_hand_may_take_over_what_the_heads_are_told():
    model, x = NTM(TINY), torch.randn(B, X)

    def go_on(aim: Aim) -> Aim:
        heads = aim.gate.shape
        on = F.one_hot(torch.full(heads, 2), 3).float()
        return replace(aim, gate=torch.zeros(heads), shifts=on, focus=torch.full(heads, 50.0))

    def both(commands: Commands) -> Commands:
        return replace(commands, reading=go_on(commands.reading), writing=go_on(commands.writing))

    state = model.start(B)
    for _ in range(3):
        state, out = model.step(state, x, hand=both)
    assert_close(state.heads.reading[:, :, 3], torch.ones(B, 2))
    assert_close(state.heads.writing[:, :, 3], torch.ones(B, 3))
    assert (out.commands.reading.gate == 0).all()
    free, _ = model.step(model.start(B), x)
    same, _ = model.step(model.start(B), x, hand=lambda commands: commands)
    for a, b in zip(tensors(free), tensors(same), strict=True):
        assert torch.equal(a, b)


def test_commands_keep_to_the_ranges_of_the_paper():
    out = NTM(TINY).step(NTM(TINY).start(B), 100 * torch.randn(B, X))[1].commands
    for aim, heads in ((out.reading, 2), (out.writing, 3)):
        assert (aim.strength >= 0).all()
        assert ((aim.gate >= 0) & (aim.gate <= 1)).all()
        assert_close(aim.shifts.sum(-1), torch.ones(B, heads))
        assert (aim.focus >= 1).all()
        assert aim.key.shape == (B, heads, D)
    assert ((out.erase >= 0) & (out.erase <= 1)).all()
    assert out.erase.shape == out.add.shape == (B, 3, D)


# ------------------------------------------------------------------ no NaN


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.controller}-{c.first}-{c.order}")
@pytest.mark.parametrize("scale", [30.0, 3_000.0])
def test_long_sequences_and_extreme_parameters_know_no_nan(config, scale):
    model = NTM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    out = model(torch.randn(B, 40, X))
    out.logits.sigmoid().sum().backward()
    assert out.logits.isfinite().all()
    assert_close(out.weights.sum(dim=-1), torch.ones(B, 5, 40), rtol=1e-4, atol=1e-4)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_fully_saturated_gates_know_no_nan(value):
    model = NTM(TINY)
    with torch.no_grad():
        model.command.bias.fill_(value)
    out = model(torch.randn(B, 200, X))
    out.logits.sum().backward()
    assert out.logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


# ------------------------------------------------------------------ learning


@pytest.mark.parametrize("config", CONFIGS[::3], ids=lambda c: f"{c.controller}-{c.first}")
def test_it_learns_one_batch_by_heart(config):
    data = CopyTapes(bits=3)
    tape = data.tape(4, torch.Generator().manual_seed(0), length=2)
    model = NTM(replace(config, d_input=4, d_output=3, d_controller=24))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    loss = torch.tensor(1.0)
    for _ in range(80):
        logits = model(tape.inputs).logits[:, tape.scored]
        loss = F.binary_cross_entropy_with_logits(logits, tape.targets[:, tape.scored])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.05


def test_the_rival_of_the_paper_has_over_a_million_parameters():
    model = StackedLSTM(StackedLSTMConfig(d_input=9, d_output=8))
    assert 1.3e6 < sum(p.numel() for p in model.parameters()) < 1.4e6
    out = model(torch.randn(B, T, 9))
    assert out.logits.shape == (B, T, 8)
    assert out.weights is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"readers": 0}, "readers=0 and writers=3"),
        ({"slots": 0}, "slots=0 must be at least 1"),
        ({"shift": -1}, "shift=-1 must be 0 or more"),
        ({"controller": "gru"}, "controller='gru' is none of lstm, feedforward"),
        ({"first": "random"}, "first='random' is none of constant, learned"),
        ({"order": "both"}, "order='both' is none of write_first, read_first"),
    ],
)
def test_a_machine_that_cannot_be_built_is_refused(change, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        replace(TINY, **change)
