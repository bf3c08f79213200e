"""Machines with a memory that copy, small and not trained: for tests of what asks them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import torch
from small_cards import blank_card, shipped

from heed.data.tapes import CopyTapes
from heed.experiments.table import Experiment
from heed.experiments.tapes import Answers, TrainedMachine
from heed.models.ntm import NTM, NTMConfig
from heed.training.loop import TrainConfig

BITS = 3


def lively(config: NTMConfig) -> Any:
    """A machine whose heads move about, and do not all obey the same commands."""
    model = NTM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(std=0.9 if name.startswith("command") else 0.5)
    return model.eval()


DATA = CopyTapes(bits=BITS, lengths=(1, 4), tests=(4, 6, 40), held_out=20)
ROW = Experiment(
    name="tiny_copy",
    chapter="08_neural_turing_machine",
    title="for tests",
    build=lively,
    config=partial(NTMConfig, d_input=BITS + 1, d_output=BITS, d_controller=10, slots=12, d_slot=5),
    data=DATA,
    train=TrainConfig(steps=1, batch_size=4, lr=1e-12, warmup=0),
    task=Answers(),
    seeds=(0,),
    half=False,
)
FEEDFORWARD = replace(
    ROW,
    name="tiny_feedforward_copy",
    config=partial(ROW.config, controller="feedforward", first="learned", order="read_first"),
)
ROWS = (ROW, FEEDFORWARD)


def published(
    folder: Path, rows: Sequence[Experiment] = ROWS, *, exported: bool = True
) -> list[TrainedMachine]:
    """With their cards, each in its folder, and with their graphs."""
    return shipped(folder, rows, exported=exported)


@cache
def untrained(row: Experiment = ROW) -> TrainedMachine:
    """One of them without any file."""
    torch.manual_seed(0)
    return TrainedMachine(
        model=lively(cast(Any, row.config)()),
        card=blank_card(experiment=row.name),
        folder=Path(),
    )
