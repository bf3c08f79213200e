"""Several processes, one training: what ``torchrun`` starts, through PyTorch's own DDP."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Processes:
    """How many take part, and which one this is. Number 0 does all the writing."""

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model with its gradients averaged over the processes; itself if there is one."""
        return nn.parallel.DistributedDataParallel(model) if self.world > 1 else model

    def share(self, loss: Tensor, words: Tensor) -> Tensor:
        """Scale a mean over this process's words so that the average over all processes is the
        mean over all words, which is what a single process would have minimised."""
        if self.world == 1:
            return loss
        every = words.to(torch.float64)
        dist.all_reduce(every)
        return loss * (words * self.world / every).to(loss.dtype)

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def processes() -> Iterator[Processes]:
    """Join the others if ``torchrun`` started us, and leave them at the end."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes()
        return
    dist.init_process_group("gloo")
    try:
        yield Processes(dist.get_rank(), world)
    finally:
        dist.destroy_process_group()
