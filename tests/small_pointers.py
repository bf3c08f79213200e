"""Networks that point, small and not trained, one for each problem: for tests of what asks them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import torch
from small_cards import blank_card, shipped

from heed.data.tours import HullData, SortData, TourData
from heed.experiments.pointing import Points, TrainedPointer
from heed.experiments.table import Experiment
from heed.models.pointer import PointerConfig, PointerNetwork
from heed.training.loop import TrainConfig


def lively(config: PointerConfig) -> Any:
    """A network that is sure of itself, now here, now there; each of its numbers is a float16."""
    model = PointerNetwork(config)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.normal_(std=3.0 if name in ("encoder.weight_ih_l0", "score.v.weight") else 0.7)
            tensor.copy_(tensor.half())
    return model.eval()


SIZES: dict[str, Any] = {"points": (4, 6), "tests": (6, 4), "held_out": 30}
TOURS = Experiment(
    name="tiny_tours",
    chapter="09_pointer_network",
    title="for tests",
    build=lively,
    config=partial(PointerConfig, d_hidden=8, rule="each_once"),
    data=TourData(**SIZES, pool=20),
    train=TrainConfig(steps=1, batch_size=4, lr=1e-12, warmup=0),
    task=Points(main="ratio.6"),
    seeds=(0,),
)
HULLS = replace(
    TOURS,
    name="tiny_hulls",
    config=partial(PointerConfig, d_hidden=8),
    data=HullData(**SIZES),
    task=Points(main="exact.6"),
)
SORTS = replace(
    TOURS,
    name="tiny_sorts",
    config=partial(PointerConfig, d_input=1, d_hidden=8, rule="each_once"),
    data=SortData(**SIZES),
    task=Points(main="exact.6"),
)
ROWS = (TOURS, HULLS, SORTS)


def published(
    folder: Path, rows: Sequence[Experiment] = ROWS, *, exported: bool = True
) -> list[TrainedPointer]:
    """With their cards, each in its folder, and with their graphs."""
    return shipped(folder, rows, exported=exported)


@cache
def untrained() -> tuple[TrainedPointer, ...]:
    """All of them without any file."""
    torch.manual_seed(0)
    return tuple(
        TrainedPointer(
            model=lively(cast(Any, row.config)()),
            card=blank_card(experiment=row.name, data={"points": [4, 6]}),
            folder=Path(),
        )
        for row in ROWS
    )
