"""Models that describe pictures, small and not trained, one soft and one hard: for tests of what
asks them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import torch
from small_cards import blank_card, shipped

from heed.data.captions import pieces
from heed.data.scenes import SceneData
from heed.data.vocabulary import EOS
from heed.experiments.captioning import Describes, Describing, TrainedCaptioner
from heed.experiments.table import Experiment
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from heed.training.loop import TrainConfig


def lively(config: ShowAttendTellConfig) -> Any:
    """A model with weights so large that it tells pictures, words and places apart; each is a
    float16."""
    model = ShowAttendTell(config)
    with torch.no_grad():
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            if not tensor.is_floating_point() or name == "baseline":
                continue
            if name.endswith("running_var"):
                tensor.uniform_(0.05, 0.2)
            else:
                tensor.normal_(std=STD.get(name.split(".")[0], 0.8))
            tensor.copy_(tensor.half())
        model.embed.weight[0] = 0.0
        model.L_o.bias[EOS] = 1.0  # some captions end, and some do not
    return model.eval()


STD = {"see": 0.4, "place": 2.0, "L_o": 0.6}
SCENES = SceneData(held_out=30)
ROW = Experiment(
    name="tiny_soft",
    chapter="06_soft_hard",
    title="for tests",
    build=lively,
    config=partial(ShowAttendTellConfig, channels=(4, 6, 8), d_embedding=8, d_state=12, d_align=6),
    data=SCENES,
    # 1e-12: trained, as far as anybody asks, and as it was
    train=TrainConfig(steps=1, batch_size=4, lr=1e-12, warmup=0),
    task=Describes(),
    seeds=(0,),
)
HARD = replace(ROW, name="tiny_hard", config=partial(ROW.config, attention="hard"))
FRENCH = replace(ROW, name="tiny_french", data=replace(SCENES, language="fr"))
ROWS = (ROW, HARD, FRENCH)


def published(
    folder: Path, rows: Sequence[Experiment] = ROWS, *, exported: bool = True
) -> list[TrainedCaptioner]:
    """With their cards, each in its folder, and with their graphs."""
    return [
        trained
        for row in rows
        for trained in shipped(
            folder, [row], Describing(cast(SceneData, row.data)), exported=exported
        )
    ]


@cache
def untrained() -> tuple[TrainedCaptioner, TrainedCaptioner]:
    """The soft one and the hard one without any file."""
    vocabulary = pieces("en").vocabulary
    torch.manual_seed(0)
    soft, hard = (
        TrainedCaptioner(
            model=lively(row.config(vocab=len(vocabulary))),
            card=blank_card(experiment=row.name),
            folder=Path(),
            vocabulary=vocabulary,
            language="en",
        )
        for row in (ROW, HARD)
    )
    return soft, hard
