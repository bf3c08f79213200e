"""Where a training runs: on which device, and in how many processes.

Several processes are what ``torchrun`` starts; they learn together through PyTorch's own DDP.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


class NoDevice(RuntimeError):
    """A device was asked for, or is needed, that is not there."""


@dataclass(frozen=True)
class Processes:
    """How many take part, and which one this is. Number 0 does all the writing.

    device: where this one's model is
    """

    rank: int = 0
    world: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009  a constant

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


def device_here(kind: str | None = None) -> torch.device:
    """The GPU of this process, or the CPU where there is none.

    Of several processes on a machine each has a GPU of its own, by the number (``LOCAL_RANK``)
    that ``torchrun`` gives it. kind: "cpu" or "cuda", if somebody wants to choose.
    """
    if kind not in (None, "cpu", "cuda"):
        raise NoDevice(f"device {kind!r} is neither cpu nor cuda")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "cpu" or (kind is None and not there):
        return torch.device("cpu")
    number = int(os.environ.get("LOCAL_RANK", "0"))
    if number >= there:
        raise NoDevice(
            f"process {number} of this machine needs a GPU of its own, and there are {there}: "
            "start fewer, or take --device cpu"
        )
    return torch.device("cuda", number)


@contextmanager
def processes(kind: str | None = None) -> Iterator[Processes]:
    """Join the others if ``torchrun`` started us, and leave them at the end.

    They talk through NCCL where each has a GPU, through Gloo where they have none. kind: as in
    ``device_here``.
    """
    device = device_here(kind)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # NCCL's barrier waits on the current one
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes(device=device)
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), world, device)
    finally:
        dist.destroy_process_group()
