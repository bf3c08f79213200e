"""How the learning rate moves: pure functions from a step to a factor between 0 and 1.

A schedule that is a function of the step alone needs no state, so a run that is resumed at
step k has the same learning rate there as one that was never interrupted.
"""

import math
from collections.abc import Callable
from typing import Literal

Schedule = Literal["constant", "cosine"]


def warm_up(step: int, *, warmup: int) -> float:
    """step / warmup, up to 1: Adam's second moments are noise during the first steps.

    The first step is number 1. ``warmup=0`` starts at full rate.
    """
    return min(1.0, step / warmup) if warmup > 0 else 1.0


def constant(step: int, *, steps: int, warmup: int, floor: float) -> float:
    """Full rate after the warm-up."""
    return warm_up(step, warmup=warmup)


def cosine(step: int, *, steps: int, warmup: int, floor: float) -> float:
    """Linear warm-up, then half a cosine from 1 down to ``floor`` at the last step.

    floor + (1 - floor) (1 + cos πx) / 2, x in [0, 1]       (Loshchilov & Hutter 2017, eq. 5)
    """
    if step <= warmup:
        return warm_up(step, warmup=warmup)
    x = min(1.0, (step - warmup) / max(1, steps - warmup))
    return floor + (1 - floor) * (1 + math.cos(math.pi * x)) / 2


SCHEDULES: dict[Schedule, Callable[..., float]] = {"constant": constant, "cosine": cosine}
