"""What pixel attention costs at 32 × 32 positions, against the form in which it is usually written:
bmm, softmax, bmm. Forward and backward, on one thread, as ratios of time and of memory.

Memory is what the process held at most, less what it held before, each way in a process of its
own: nothing but a fresh process says what a peak was. The exit code is 1 where a promise is broken.
"""

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.layers.pixels import FORMS, PixelAttention

BATCH, CHANNELS, SIDE = 16, 32, 32
WAYS = ("plain", "weights", "blocks")
"""As usually written; ours, with the weights handed back; ours without them."""
TURNS = 7
TIME, MEMORY, MEMORY_OF_BLOCKS = 1.0, 1.0, 0.25


def plain(attention: PixelAttention, x: Tensor) -> Tensor:
    """The same numbers, written down as in public code."""
    keys, queries, values = attention.f(x), attention.g(x), attention.h(x)
    if attention.form == "released":
        keys, values = F.max_pool2d(keys, 2), F.max_pool2d(values, 2)
    energy = torch.bmm(queries.flatten(2).permute(0, 2, 1), keys.flatten(2))
    beta = torch.softmax(energy, dim=-1)
    seen = torch.bmm(values.flatten(2), beta.permute(0, 2, 1)).view(len(x), -1, SIDE, SIDE)
    return attention.gamma * (seen if attention.v is None else attention.v(seen)) + x


def looking(form: str, way: str) -> Callable[[], object]:
    """Forward and backward."""
    torch.manual_seed(0)
    attention = PixelAttention(channels=CHANNELS, form=form)  # pyright: ignore
    with torch.no_grad():
        attention.gamma.fill_(0.5)
    x = torch.randn(BATCH, CHANNELS, SIDE, SIDE, requires_grad=True)

    def once() -> object:
        y = plain(attention, x) if way == "plain" else attention(x, weights=way == "weights").y
        return torch.autograd.grad(y.sum(), [x, *attention.parameters()])

    return once


def seconds(way: Callable[[], object]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


def held() -> int:
    """Bytes that this process held at most. What ``getrusage`` says begins, on Linux, with what
    the parent held."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        unit = 1 if platform.system() == "Darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget() -> None:
    """From here on, "at most" begins with what is held now, where the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak(form: str, way: str) -> int:
    """Bytes that one look adds to what a process holds at most."""
    done = subprocess.run(
        [sys.executable, __file__, "--peak", form, way],
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def report_peak(form: str, way: str) -> None:
    """For the process that does nothing else."""
    small = torch.randn(1, 8, 4, 4, requires_grad=True)  # loads what is loaded once
    PixelAttention(channels=8)(small, weights=True).y.sum().backward()
    PixelAttention(channels=8)(small).y.sum().backward()
    look = looking(form, way)
    forget()
    before = held()
    look()
    print(json.dumps(held() - before))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.peak:
        return report_peak(*asked.peak)
    kept = True
    print(
        f"\npixel attention, {BATCH} maps of {CHANNELS} × {SIDE} × {SIDE}, against bmm–softmax–bmm"
    )
    for form in FORMS:
        ways = {way: looking(form, way) for way in WAYS}
        for way in ways.values():
            way()
        turns = [{name: seconds(way) for name, way in ways.items()} for _ in range(TURNS)]
        peaks = {way: peak(form, way) for way in WAYS}
        for way in WAYS[1:]:
            times = statistics.median(turn[way] / turn["plain"] for turn in turns)
            memory = peaks[way] / peaks["plain"]
            most = MEMORY_OF_BLOCKS if way == "blocks" else MEMORY
            good = times <= TIME and memory <= most
            kept &= good
            figures = f"time {times:5.2f} of {TIME:4.2f} ×   memory {memory:5.2f} of {most:4.2f} ×"
            print(f"  {form:9} {way:8} {figures}   {'' if good else 'too much'}", flush=True)
    return sys.exit(not kept)


if __name__ == "__main__":
    main()
