"""Models that make pictures, small and not trained, one with attention and one without: for tests
of what asks them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import torch
from small_cards import blank_card, shipped

from heed.data.twins import TwinData
from heed.experiments.table import Experiment
from heed.experiments.twins import Painting, Paints, TrainedPainter
from heed.models.halves import HalfReader, HalfReaderConfig
from heed.models.sagan import SAGAN, SAGANConfig
from heed.training.loop import TrainConfig


def lively(config: SAGANConfig) -> Any:
    """A model whose mean generator draws pictures of many colours and looks at few places; each of
    its numbers is a float16."""
    model = SAGAN(config)
    with torch.no_grad():
        for name, tensor in (*model.mean.named_parameters(), *model.mean.named_buffers()):
            if not tensor.is_floating_point():
                continue
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 2.0)
            else:
                module = name.removesuffix(".weight")
                tensor.normal_(std=STD.get(module, 0.4))
            tensor.copy_(tensor.half())
        if model.mean.attention is not None:
            model.mean.attention.gamma.fill_(0.75)
    return model.eval()


STD = {"up.2": 0.15, "attention.f": 2.5, "attention.g": 2.5}
DATA = TwinData(held_out=20)
ROW = Experiment(
    name="tiny_sagan",
    chapter="12_sagan",
    title="for tests",
    build=lively,
    # The mean generator that is drawn from stays as it was, to the last bit.
    config=partial(
        SAGANConfig,
        d_z=6,
        generator=(16, 12, 8),
        discriminator=(16, 16, 8),
        form="first",
        memory=1 - 1e-12,
    ),
    data=DATA,
    train=TrainConfig(steps=1, batch_size=4, lr=1e-12, warmup=0),
    task=Paints(),
    seeds=(0,),
)
DCGAN = replace(
    ROW,
    name="tiny_dcgan",
    config=partial(ROW.config, generator_attention=0, discriminator_attention=0),
)
RELEASED = replace(ROW, name="tiny_released", config=partial(ROW.config, form="released"))
ROWS = (ROW, DCGAN, RELEASED)


def task() -> Painting:
    """With a judge that has learnt nothing."""
    torch.manual_seed(0)
    return Painting(DATA, HalfReader(HalfReaderConfig()).eval())


def published(
    folder: Path, rows: Sequence[Experiment] = ROWS, *, exported: bool = True
) -> list[TrainedPainter]:
    """With their cards, each in its folder, and with their graphs."""
    return shipped(folder, rows, task(), exported=exported)


@cache
def untrained() -> tuple[TrainedPainter, ...]:
    """All of them without any file."""
    torch.manual_seed(0)
    return tuple(
        TrainedPainter(
            model=lively(cast(Any, row.config)()),
            card=blank_card(experiment=row.name),
            folder=Path(),
        )
        for row in ROWS
    )
