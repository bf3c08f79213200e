"""The Neural Turing Machine (Graves, Wayne & Danihelka 2014, arXiv:1410.5401).

A network that computes, the *controller*, and a memory beside it that keeps. Between them heads,
which say by weights over all slots where they read and write; all of it can be differentiated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from heed.layers.addressing import Aim, address_at_once, read, write_at_once
from heed.layers.lstm import memorise

EMPTY = 1e-6
"""What a constant memory is full of: with it, copying is learnt fastest (Collier & Beel 2018)."""

Order = Literal["write_first", "read_first"]
Controller = Literal["lstm", "feedforward"]
First = Literal["constant", "learned"]

# ------------------------------------------------------------------------------- the memory


@dataclass(frozen=True)
class Commands:
    """What the controller says at one step: where heads are to look, and what to write.

    reading, writing: k, β, g, s and γ of the heads of each kind
    erase, add: e, from 0 to 1, and a
    """

    reading: Aim
    writing: Aim
    erase: Float[Tensor, "batch writer d"]
    add: Float[Tensor, "batch writer d"]


@dataclass(frozen=True)
class MemoryState:
    """M_t, what was read from it last, and where each head is."""

    memory: Float[Tensor, "batch slot d"]
    reads: Float[Tensor, "batch reader d"]
    reading: Float[Tensor, "batch reader slot"]
    writing: Float[Tensor, "batch writer slot"]


def operate(state: MemoryState, commands: Commands, order: Order) -> MemoryState:
    """One step of the heads on the memory: the machine without its controller.

    The paper leaves the order open. ``"write_first"``: writers are aimed at M_{t−1}, readers at
    M_t, and read what was just written. ``"read_first"``: all are aimed at M_{t−1}, which is
    what is read.
    """
    before = state.memory
    writing = address_at_once(before, state.writing, commands.writing)
    after = write_at_once(before, writing, commands.erase, commands.add)
    seen = after if order == "write_first" else before
    reading = address_at_once(seen, state.reading, commands.reading)
    return MemoryState(after, read(seen, reading), reading, writing)


# ------------------------------------------------------------------------------- the machine


@dataclass(frozen=True, kw_only=True)
class NTMConfig:
    """Sizes of the paper's copy task: 100 units, 128 slots of 20 numbers, one head of each kind.

    shift: how far a head may move at a step, S; there are 2 S + 1 shifts
    controller: ``"lstm"``, or ``"feedforward"``, one layer of tanh that keeps nothing
    first: what a sequence begins with. ``"constant"``: a memory full of ``EMPTY``, all
        heads on slot 0, everything else 0. ``"learned"``: bias values, as in the paper
    order: see ``operate``
    """

    d_input: int
    d_output: int
    d_controller: int = 100
    slots: int = 128
    d_slot: int = 20
    readers: int = 1
    writers: int = 1
    shift: int = 1
    controller: Controller = "lstm"
    first: First = "constant"
    order: Order = "write_first"

    def __post_init__(self) -> None:
        for name in ("d_input", "d_output", "d_controller", "slots", "d_slot"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if self.readers < 1 or self.writers < 1:
            raise ValueError(
                f"readers={self.readers} and writers={self.writers}: at least one of each"
            )
        if self.shift < 0:
            raise ValueError(f"shift={self.shift} must be 0 or more")
        for name, known in (("controller", Controller), ("first", First), ("order", Order)):
            if getattr(self, name) not in get_args(known):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is none of {', '.join(get_args(known))}"
                )


@dataclass(frozen=True)
class NTMState:
    """All that a machine keeps from step to step. h and c are empty (0 wide) without an LSTM."""

    heads: MemoryState
    h: Float[Tensor, "batch d_kept"]
    c: Float[Tensor, "batch d_kept"]


@dataclass(frozen=True)
class NTMStep:
    """One step: scores of the output bits, and what the heads were told."""

    logits: Float[Tensor, "batch d_output"]
    commands: Commands


@dataclass(frozen=True)
class NTMOutput:
    """All steps: scores of the output bits, and the trails of the heads (the paper's Figure 6).

    weights: one map a head, readers first; reads: r_t; adds: a_t
    """

    logits: Float[Tensor, "batch step d_output"]
    weights: Float[Tensor, "batch head step slot"]
    reads: Float[Tensor, "batch step reader d"]
    adds: Float[Tensor, "batch step writer d"]


class NTM(nn.Module):
    """controller   h_t = LSTM([x_t ; r_{t−1}]), or tanh(W [x_t ; r_{t−1}])
    commands     of h_t: k, a by tanh, e, g by σ, β by softplus, γ by 1 + softplus, s by softmax
    memory       ``operate``: M_t, w_t and r_t                                 (Eq. 2 to 9)
    output       W_y [h_t ; r_t], scores of bits: their σ is the probability of a 1

    The paper names ranges, not functions; those here keep to them. It does not say how the parts
    are joined either, so its numbers of parameters (67,561 with an LSTM) are not claimed.
    """

    def __init__(self, config: NTMConfig) -> None:
        super().__init__()
        self.config = config
        H, d, R, W = config.d_controller, config.d_slot, config.readers, config.writers
        recurrent, heads, wide = config.controller == "lstm", R + W, 2 * config.shift + 1
        # What the controller says, sorted by what is done to it: then that is four operations.
        self.parts = (
            (R * d, W * d, W * d),  # tanh: keys, keys, adds
            (R, W, W * d),  # σ: gates, gates, erases
            (R, W, R, W),  # softplus: strengths, strengths, focuses, focuses
            (R * wide, W * wide),  # softmax: shifts, shifts
        )
        self.input = nn.Linear(config.d_input, (4 if recurrent else 1) * H)
        back = config.readers * d + (H if recurrent else 0)
        self.recur = nn.Linear(back, (4 if recurrent else 1) * H, bias=False)
        self.command = nn.Linear(H, sum(map(sum, self.parts)))
        self.output = nn.Linear(H + config.readers * d, config.d_output)
        if config.first == "learned":
            self.memory = nn.Parameter(torch.empty(config.slots, d))
            self.reads = nn.Parameter(torch.zeros(config.readers, d))
            self.places = nn.Parameter(torch.zeros(heads, config.slots))
            if recurrent:
                self.h, self.c = (nn.Parameter(torch.zeros(H)) for _ in range(2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's own, but for learned first values: a memory whose rows can be told apart, and
        heads that are mostly on slot 0."""
        if self.config.first == "learned":
            nn.init.normal_(self.memory, std=self.config.d_slot**-0.5)
            with torch.no_grad():
                self.places[:, 0] = 10.0

    def start(self, batch: int) -> NTMState:
        """What every sequence begins with."""
        config, like = self.config, self.output.weight
        R, W = config.readers, config.writers
        kept = config.d_controller if config.controller == "lstm" else 0
        h = c = like.new_zeros(kept)
        if config.first == "learned":
            memory, reads, places = self.memory, self.reads.tanh(), self.places.softmax(dim=-1)
            if kept:
                h, c = self.h, self.c
        else:
            memory = like.new_full((config.slots, config.d_slot), EMPTY)
            reads, places = like.new_zeros(R, config.d_slot), like.new_zeros(R + W, config.slots)
            places[:, 0] = 1.0
        first = (memory, reads, *places.split((R, W)))
        heads = MemoryState(*(each.expand(batch, -1, -1) for each in first))
        return NTMState(heads, h.expand(batch, -1), c.expand(batch, -1))

    def step(
        self,
        state: NTMState,
        x: Float[Tensor, "batch d_input"],
        *,
        hand: Callable[[Commands], Commands] | None = None,
    ) -> tuple[NTMState, NTMStep]:
        """Read x, move the heads, answer. ``hand`` may change what the heads are told."""
        state, hidden, commands = self._advance(state, self.input(x), hand)
        return state, NTMStep(self._readout(hidden, state.heads.reads), commands)

    def forward(
        self, inputs: Float[Tensor, "batch step d_input"], state: NTMState | None = None
    ) -> NTMOutput:
        """All steps, from the first state or from another."""
        state = state or self.start(len(inputs))
        hiddens, states, adds = [], [], []
        for drive in self.input(inputs).unbind(1):
            state, hidden, commands = self._advance(state, drive, None)
            hiddens.append(hidden)
            states.append(state.heads)
            adds.append(commands.add)
        reads = torch.stack([each.reads for each in states], 1)
        trails = [
            torch.stack(each, 2)
            for each in ([s.reading for s in states], [s.writing for s in states])
        ]
        logits = self._readout(torch.stack(hiddens, 1), reads)
        return NTMOutput(logits, torch.cat(trails, 1), reads, torch.stack(adds, 1))

    def commands(self, hidden: Float[Tensor, "batch d_controller"]) -> Commands:
        """What the controller's state says to the heads."""
        said = self.command(hidden).split([sum(part) for part in self.parts], dim=-1)
        squashed, gated, positive, shifts = (
            numbers.split(part, dim=-1)
            for numbers, part in zip(
                (said[0].tanh(), said[1].sigmoid(), F.softplus(said[2]), said[3]),
                self.parts,
                strict=True,
            )
        )
        d, wide = self.config.d_slot, 2 * self.config.shift + 1
        aims = [
            Aim(
                squashed[kind].unflatten(1, (-1, d)),
                positive[kind],
                gated[kind],
                shifts[kind].unflatten(1, (-1, wide)).softmax(dim=-1),
                1 + positive[2 + kind],
            )
            for kind in (0, 1)
        ]
        erase, add = (vector.unflatten(1, (-1, d)) for vector in (gated[2], squashed[2]))
        return Commands(aims[0], aims[1], erase, add)

    def _advance(
        self,
        state: NTMState,
        drive: Float[Tensor, "batch gates"],
        hand: Callable[[Commands], Commands] | None,
    ) -> tuple[NTMState, Float[Tensor, "batch d_controller"], Commands]:
        """The state after the step, the controller's output, and what it said."""
        back, c = torch.cat([state.h, state.heads.reads.flatten(1)], dim=1), state.c
        gates = torch.addmm(drive, back, self.recur.weight.T)
        if self.config.controller == "lstm":
            hidden, c = memorise(gates, c)
            h = hidden
        else:
            hidden, h = gates.tanh(), state.h
        commands = self.commands(hidden)
        if hand is not None:
            commands = hand(commands)
        heads = operate(state.heads, commands, self.config.order)
        return NTMState(heads, h, c), hidden, commands

    def _readout(
        self, hidden: Float[Tensor, "*batch d_controller"], reads: Float[Tensor, "*batch reader d"]
    ) -> Float[Tensor, "*batch d_output"]:
        return self.output(torch.cat([hidden, reads.flatten(-2)], dim=-1))


# ------------------------------------------------------------------------------- the rival


@dataclass(frozen=True, kw_only=True)
class StackedLSTMConfig:
    """The paper's rival: three layers of 256 cells (its Table 3)."""

    d_input: int
    d_output: int
    d_hidden: int = 256
    layers: int = 3


@dataclass(frozen=True)
class StackedLSTMOutput:
    """All steps. ``weights`` is ``None``: there is no memory to look at."""

    logits: Float[Tensor, "batch step d_output"]
    weights: None = None


class StackedLSTM(nn.Module):
    """LSTMs one upon the other, the same at each step; what it keeps has to fit into its cells."""

    def __init__(self, config: StackedLSTMConfig) -> None:
        super().__init__()
        self.config = config
        self.lstm = nn.LSTM(
            config.d_input, config.d_hidden, num_layers=config.layers, batch_first=True
        )
        self.output = nn.Linear(config.d_hidden, config.d_output)

    def forward(self, inputs: Float[Tensor, "batch step d_input"]) -> StackedLSTMOutput:
        """All steps, from zeros."""
        return StackedLSTMOutput(self.output(self.lstm(inputs)[0]))
