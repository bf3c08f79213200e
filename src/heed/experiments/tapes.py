"""The tasks of the Neural Turing Machine: something on a tape, then an answer, bit by bit."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from heed.data.tapes import NGramTapes, Tape, TapeData
from heed.evaluation.decoding import answering, device_of
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.trace import AttentionTrace
from heed.training.loop import TrainConfig

WATCHED = 2
VALID_TAPES, VALID_ROWS = 25, 40
AT_ONCE = 250


@dataclass(frozen=True, kw_only=True)
class Run:
    """One sequence through a machine. No traces, reads and adds from a model without a memory.

    probabilities: of a 1, for each output bit of each step
    reading, writing: which slots each head was at, step by step
    reads, adds: what each head read and added
    """

    probabilities: Float[Tensor, "step d_output"]
    reading: AttentionTrace | None = None
    writing: AttentionTrace | None = None
    reads: Float[Tensor, "step reader d"] | None = None
    adds: Float[Tensor, "step writer d"] | None = None


@dataclass(frozen=True, kw_only=True)
class TrainedMachine(Trained):
    """A machine that answers what is on a tape, with the weights that were shipped."""

    def run(self, inputs: Float[Tensor, "step d_input"]) -> Run:
        """Put one sequence through it; ``ValueError`` for inputs of another width."""
        width = self.model.config.d_input
        if inputs.ndim != 2 or inputs.shape[1] != width or not len(inputs):
            raise ValueError(
                f"inputs of shape {tuple(inputs.shape)} are not steps of {width} numbers"
            )
        with answering(self.model):
            out = self.model(inputs[None].to(device_of(self.model)))
        probabilities = out.logits[0].float().sigmoid().cpu()
        if out.weights is None:
            return Run(probabilities=probabilities)
        readers = out.reads.shape[2]
        steps = [str(step) for step in range(1, len(inputs) + 1)]
        slots = [str(slot) for slot in range(out.weights.shape[-1])]

        def trail(name: str, weights: Tensor) -> AttentionTrace:
            heads = [f"{name} {head}" for head in range(1, len(weights) + 1)]
            return AttentionTrace.of(name, weights, query=steps, key=slots, heads=heads)

        return Run(
            probabilities=probabilities,
            reading=trail("read", out.weights[0, :readers]),
            writing=trail("write", out.weights[0, readers:]),
            reads=out.reads[0].cpu(),
            adds=out.adds[0].cpu(),
        )


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The kind of task of every row that answers what is on a tape."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = TrainedMachine

    def load(self, data: TapeData, places: Mapping[str, Path]) -> "Answering":
        """The tapes of a row; they need no place."""
        return Answering(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """There is nothing to read."""
        return {}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """None: the row's config has the widths of its tapes."""
        return {}

    def headline(self, card: Card) -> str:
        """Wrong bits in a sequence, at the largest size of the trained range."""
        first = next(iter(card.metrics["wrong_bits"]))
        return f"wrong {card.number(f'wrong_bits.{first}'):.2f}"


class Drawn:
    """Tapes without end; those of a step are drawn by a generator of their own.

    Of ``world`` processes, number ``rank`` gets every world-th sequence of each step.
    """

    def __init__(
        self, data: TapeData, *, batch_size: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        if batch_size < world:
            raise ValueError(f"{batch_size} sequences leave some of {world} processes without work")
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.rank, self.world = rank, world

    def starting_after(self, done: int) -> Iterator[Tape]:
        """The sequences of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn, done = self.data.draw(self.batch_size, generator), done + 1
            yield drawn.rows(slice(self.rank, None, self.world))


def named(sizes: Mapping[str, int]) -> str:
    """What a test of these sizes is called: ``20``, or ``10x5``."""
    return "x".join(map(str, sizes.values()))


def nats(logits: Float[Tensor, "batch step d_output"], tape: Tape) -> Float[Tensor, " batch"]:
    """−log p of each sequence's scored bits, summed."""
    return F.binary_cross_entropy_with_logits(
        logits[:, tape.scored].float(), tape.targets[:, tape.scored], reduction="none"
    ).sum(dim=(1, 2))


class Answering:
    """Tapes, seen from the runner."""

    credits: Sequence[str] = ()
    licence = "generated here"

    def __init__(self, data: TapeData) -> None:
        self.data = data
        rows = max(1, min(VALID_ROWS, data.held_out // VALID_TAPES))
        self.valid = [data.held_out_tape(number, rows) for number in range(VALID_TAPES)]
        inside = data.tested[0]
        self.watched = data.held_out_tape(500, WATCHED, inside)

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training sequences of a seed."""
        return Drawn(self.data, batch_size=train.batch_size, seed=seed, rank=rank, world=world)

    def loss(self, model: nn.Module, batch: Tape, train: TrainConfig) -> Tensor:
        """−log p of the right bits, in nats, a mean over bits."""
        if train.label_smoothing:
            raise ValueError(f"label_smoothing={train.label_smoothing}: bits are learnt without it")
        return nats(model(batch.inputs).logits, batch).mean() / batch.bits

    def count(self, batch: Tape) -> Tensor:
        """The sequences: those of a batch are equally long."""
        return torch.tensor(len(batch.inputs))

    def validate(self, model: nn.Module) -> float:
        """Nats a bit on held-out sequences, sized as in training. Times ``settings["valid_bits"]``
        and divided by ln 2, it is the paper's unit: bits a sequence."""
        with answering(model):
            lost = [nats(model(tape.inputs).logits, tape).sum() for tape in self.valid]
        return (torch.stack(lost).sum() / self._valid_bits()).item()

    def _valid_bits(self) -> int:
        return sum(tape.bits * len(tape.inputs) for tape in self.valid)

    def inputs(self) -> list[dict[str, Any]]:
        """The watched sequences: of which sizes, and the right answer, a text of bits a step.

        Their tape is ``data.held_out_tape(500, 2, sizes)``.
        """
        answers = self.watched.targets[:, self.watched.scored]
        return [{"sizes": dict(self.data.tested[0]), "answer": in_bits(each)} for each in answers]

    def maps(self, model: Any) -> list[Bytes]:
        """Where the heads were on each of them: a row a step, the slots of all heads side by side,
        readers first. Empty without a memory."""
        with answering(model):
            weights = model(self.watched.inputs).weights
        if weights is None:
            return []
        return [quantise(each.float().permute(1, 0, 2).flatten(1).numpy()) for each in weights]

    def says(self, model: Any) -> list[list[str]]:
        """What it answers, a text of bits a step."""
        with answering(model):
            logits = model(self.watched.inputs).logits[:, self.watched.scored]
        return [in_bits((row > 0).float()) for row in logits]

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Numbers for each test, in the order of ``data.tested``: the trained range first.

        wrong_bits: output bits on the wrong side of ½, a mean over sequences
        cost: −log₂ p of a sequence, the bits of the paper's figures
        whole: sequences without a wrong bit
        best: for n-grams, the cost of the best estimator on the same sequences
        """
        names = ("wrong_bits", "cost", "whole")
        groups: dict[str, dict[str, float]] = {name: {} for name in names}
        best: dict[str, float] = {}
        for number, sizes in enumerate(self.data.tested):
            tape = self.data.held_out_tape(600 + number, self.data.held_out, sizes)
            wrong, cost = [], []
            with answering(model):
                for first in range(0, len(tape.inputs), AT_ONCE):
                    part = tape.rows(slice(first, first + AT_ONCE))
                    logits = model(part.inputs).logits
                    differs = (logits > 0) != (part.targets > 0.5)
                    wrong.append(differs[:, part.scored].sum(dim=(1, 2)).double())
                    cost.append(nats(logits, part).double() / math.log(2))
            name, wrongs = named(sizes), torch.cat(wrong)
            groups["wrong_bits"][name] = wrongs.mean().item()
            groups["cost"][name] = torch.cat(cost).mean().item()
            groups["whole"][name] = (wrongs == 0).double().mean().item()
            if isinstance(self.data, NGramTapes):
                right = self.data.best(tape).double()
                lost = F.binary_cross_entropy(
                    right, tape.targets[..., 0].double(), reduction="none"
                )
                best[name] = lost[:, tape.scored].sum(dim=1).mean().item() / math.log(2)
        metrics: dict[str, Any] = {"valid_loss": self.validate(model), **groups}
        return metrics | ({"best": best} if best else {}), {
            "sequences": self.data.held_out,
            "valid_bits": self._valid_bits() / sum(len(tape.inputs) for tape in self.valid),
        }

    def files(self) -> dict[str, bytes]:
        """None."""
        return {}

    def small(self) -> "Answering":
        """The same with fewer sequences held out."""
        return Answering(replace(self.data, held_out=min(100, self.data.held_out)))


def in_bits(steps: Float[Tensor, "step d_output"]) -> list[str]:
    """A text of noughts and ones for each step."""
    return ["".join(str(int(bit)) for bit in step) for step in steps.tolist()]
