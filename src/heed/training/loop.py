"""The one training loop. It yields reports; whoever is watching decides what to do."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

from heed.training.schedules import SCHEDULES, Schedule

Batch = TypeVar("Batch")
Precision = Literal["float32", "bfloat16"]


class Diverged(ArithmeticError):
    """The loss is no longer a number."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long and how fast a model learns.

    ``steps`` optimiser steps of ``batch_size`` examples each; the learning rate climbs to ``lr``
    over ``warmup`` steps, then follows ``schedule`` down to ``floor`` × ``lr``. A gradient longer
    than ``clip`` is shortened to it, all parameters taken as one vector (Pascanu et al. 2013).
    In ``"bfloat16"`` the forward pass and the loss run under autocast, where ``computed_in`` says
    that it pays; parameters stay float32.
    """

    steps: int
    batch_size: int = 128
    lr: float = 1e-3
    warmup: int = 200
    schedule: Schedule = "cosine"
    floor: float = 0.02
    clip: float = 1.0
    label_smoothing: float = 0.0
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch_size < 1:
            raise ValueError(
                f"steps={self.steps} and batch_size={self.batch_size} must be at least 1"
            )
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule={self.schedule!r} is none of {', '.join(SCHEDULES)}")
        if self.precision not in get_args(Precision):
            raise ValueError(
                f"precision={self.precision!r} is none of {', '.join(get_args(Precision))}"
            )
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor={self.floor} is not a fraction of the learning rate")
        if self.clip <= 0:
            raise ValueError(f"clip={self.clip} must be a positive length")

    def rate(self, step: int) -> float:
        """The learning rate of a step; the first step is number 1."""
        factor = SCHEDULES[self.schedule](
            step, steps=self.steps, warmup=self.warmup, floor=self.floor
        )
        return self.lr * factor


@dataclass(frozen=True)
class Report:
    """What one step did. ``norm`` is the gradient's length before clipping."""

    step: int
    loss: float
    lr: float
    norm: float


def adam(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """Adam with β₂ = 0.98, as in Vaswani et al. (2017, section 5.3)."""
    return torch.optim.Adam(model.parameters(), lr=config.lr, betas=(0.9, 0.98), fused=True)


@lru_cache
def multiplies_bfloat16() -> bool:
    """Whether this processor has instructions for it (AVX-512, AMX, or their like on ARM)."""
    able = torch.cpu.get_capabilities()
    return any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def computed_in(kind: Precision, device: torch.device) -> Precision:
    """In what it runs there if ``kind`` is asked for. A processor without instructions for bfloat16
    takes 14 times as long over a matrix product as in float32; it gets float32."""
    if device.type == "cpu" and not multiplies_bfloat16():
        return "float32"
    return kind


def precision(kind: Precision, device: torch.device) -> AbstractContextManager:
    """The context in which forward pass and loss run, on a model that is there."""
    if computed_in(kind, device) == "bfloat16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


def moved(batch: Any, device: torch.device) -> Any:
    """The batch with every tensor on the device, however it is put together: a tensor, a
    dataclass, a tuple, a list or a dictionary of such. What is no tensor stays what it is."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if is_dataclass(batch) and not isinstance(batch, type):
        there = {f.name: moved(getattr(batch, f.name), device) for f in fields(batch) if f.init}
        return replace(batch, **there)
    if isinstance(batch, dict):
        return {key: moved(each, device) for key, each in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):  # a named one wants its parts singly
        return type(batch)(*(moved(each, device) for each in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(moved(each, device) for each in batch)
    return batch


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    objective: Callable[[nn.Module, Batch], Tensor],
    config: TrainConfig,
    *,
    optimiser: torch.optim.Optimizer | None = None,
    done: int = 0,
) -> Iterator[Report]:
    """Take one optimiser step per batch and report each one, until ``config.steps``.

    To go on with a run, hand in its ``optimiser`` and how many steps are ``done``; ``batches``
    must then start with the batch of step ``done + 1``. A loss that is infinite or not a number
    raises ``Diverged`` before it reaches the weights. Batches are brought to where the model is.
    """
    optimiser = optimiser or adam(model, config)
    device = next((each.device for each in model.parameters()), torch.device("cpu"))
    for step, batch in zip(range(done + 1, config.steps + 1), batches, strict=False):
        model.train()
        rate = config.rate(step)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.zero_grad(set_to_none=True)
        with precision(config.precision, device):
            loss = objective(model, moved(batch, device))
        value = loss.item()
        if not math.isfinite(value):
            raise Diverged(f"the loss of step {step} is {value}; try a smaller lr than {rate:.2g}")
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimiser.step()
        yield Report(step, value, rate, norm.item())
