"""What a score costs: seconds a comparison, and bytes that training must keep for it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from matplotlib.figure import Figure
from torch import Tensor

from heed.attention import Attention
from heed.scores import Score
from heed.viz.heatmap import Picture, picture, plain_axes
from heed.viz.length import STYLES


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One attention of ``length`` queries to as many keys.

    seconds: the fastest of some runs forward, without gradient; what else the machine does can
        only slow it down. Another machine, another number.
    kept: bytes that the forward pass of a training leaves for the backward pass, not counting
        queries, keys, values and parameters, which are there anyway. The same on every machine.
    """

    length: int
    seconds: float
    kept: int

    @property
    def comparisons(self) -> int:
        return self.length**2


def measure(score: Score, *, length: int, d: int, runs: int = 5) -> Cost:
    """Time and memory of ``Attention(score)`` on random vectors ``d`` wide."""
    query, keys = torch.randn(2, 1, length, d)
    attention = Attention(score)
    prepared = score.prepare(keys).detach()
    taken = []
    with torch.inference_mode():
        for _ in range(runs):
            began = time.perf_counter()
            attention.look(query, prepared, keys)
            taken.append(time.perf_counter() - began)
    return Cost(
        length=length,
        seconds=min(taken),
        kept=kept(attention, length=length, d=d),
    )


def kept(attention: Attention, *, length: int, d: int) -> int:
    """``Cost.kept``, counted by listening to what autograd saves."""
    query, keys = torch.randn(2, 1, length, d)
    query.requires_grad_()
    prepared = attention.score.prepare(keys).detach().requires_grad_()
    known = {storage(each) for each in (query, keys, prepared, *attention.parameters())}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if storage(tensor) not in known:
            saved[storage(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        # Held on to, or a freed storage could lend its address to the next one.
        held = attention.look(query, prepared, keys)
    del held
    return sum(saved.values())


def storage(tensor: Tensor) -> int:
    """Where a tensor's numbers lie: two views of the same numbers have the same place."""
    return tensor.untyped_storage().data_ptr()


def cost(costs: Mapping[str, Sequence[Cost]]) -> Picture:
    """Both costs against length, a line a score, on log scales. costs: name -> one a length."""
    figure = Figure(figsize=(7.8, 3.2), layout="constrained")
    time_axes, memory_axes = figure.subplots(1, 2)
    said = []
    for (name, line), style in zip(costs.items(), STYLES, strict=False):
        lengths = [each.length for each in line]
        each_one = [each.seconds / each.comparisons * 1e9 for each in line]
        megabytes = [each.kept / 1e6 for each in line]
        for axes, values in ((time_axes, each_one), (memory_axes, megabytes)):
            axes.plot(lengths, values, markersize=4, linewidth=1.8, **style)
            axes.annotate(
                name,
                (lengths[-1], values[-1]),
                xytext=(7, 0),
                textcoords="offset points",
                color=style["color"],
                va="center",
            )
        said.append(
            f"{name} keeps {megabytes[0]:.2g} MB at length {lengths[0]} "
            f"and {megabytes[-1]:.3g} MB at {lengths[-1]}"
        )
    for axes in (time_axes, memory_axes):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("words on each side")
        axes.xaxis.set_major_formatter("{x:.0f}")
        plain_axes(axes)
        axes.tick_params(which="both", colors=time_axes.xaxis.label.get_color())
    time_axes.set_ylabel("nanoseconds a comparison")
    memory_axes.set_ylabel("MB kept for the backward pass")
    return picture(
        figure,
        "Cost against length, on log scales. Left: time for one comparison; right: memory kept for "
        f"the backward pass. {'; '.join(said)}. Times differ from machine to machine.",
    )
