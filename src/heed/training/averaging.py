"""The mean of a run's last checkpoints (Vaswani et al. 2017, section 6.1: of the last 5, or 20)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from heed.training.loop import Report, TrainConfig, train

Checkpoint = Mapping[str, Tensor]


def checkpoint(model: nn.Module) -> dict[str, Tensor]:
    """A copy of the parameters by name, a tied one once."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def average(checkpoints: Sequence[Checkpoint]) -> dict[str, Tensor]:
    """The mean of each parameter. A point between good ones is often better than any of them: each
    of the last steps still trembles, and not in the same direction."""
    if not checkpoints:
        raise ValueError("there are no checkpoints to average")
    first = checkpoints[0]
    for each in checkpoints:
        for name in [*first, *each]:
            if name not in first or name not in each or first[name].shape != each[name].shape:
                raise ValueError(f"the checkpoints do not all have the same {name!r}")
    return {
        name: torch.stack([each[name].double() for each in checkpoints]).mean(0).to(tensor.dtype)
        for name, tensor in first.items()
    }


def put(model: nn.Module, found: Checkpoint) -> None:
    """Give the model these parameters."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(found[name])


def train_averaged(
    model: nn.Module,
    batches: Iterable[Any],
    objective: Callable[[nn.Module, Any], Tensor],
    config: TrainConfig,
    *,
    last: int = 5,
    every: int,
) -> Iterator[Report]:
    """``heed.training.loop.train``; when it is through, the model is the mean of ``last``
    checkpoints, ``every`` so many steps one, the last step's among them."""
    if last < 1 or every < 1 or (last - 1) * every >= config.steps:
        raise ValueError(
            f"{config.steps} steps do not hold {last} checkpoints, every {every} steps one"
        )
    kept = []
    for report in train(model, batches, objective, config):
        left = config.steps - report.step
        if left % every == 0 and left < last * every:
            kept.append(checkpoint(model))
        if not left:
            put(model, average(kept))
        yield report
