"""What learns within an episode, and what plays bandits, small and not trained: for tests of what
asks them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from small_cards import blank_card, shipped
from torch import nn

from heed.data.bandits import BanditData
from heed.data.episodes import EpisodeData
from heed.experiments.bandits import Plays, TrainedPlayer
from heed.experiments.episodes import Recognises, TrainedLearner
from heed.experiments.table import Experiment
from heed.experiments.tasks import Trained
from heed.models.snail import SNAIL, SNAILConfig, SNAILPolicy, SNAILPolicyConfig
from heed.training.loop import TrainConfig
from heed.training.policy import PolicyTrainConfig


def lively(model: Any) -> Any:
    """Sure of itself, now here, now there; each of its numbers is a float16, and its batch norm has
    seen something."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            spread = 1.0 if any(part in name for part in ("W_q", "W_k", "output")) else 0.6
            tensor.normal_(std=spread / max(1, tensor[0].numel()) ** 0.5)
            tensor.copy_(tensor.half())
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d) and module.running_mean is not None:
                for kept, spread in ((module.running_mean, 0.05), (module.running_var, 0.2)):
                    assert kept is not None
                    kept.copy_((kept + spread * torch.rand_like(kept)).half())
    return model.eval()


def learner(config: SNAILConfig) -> Any:
    return lively(SNAIL(config))


def player(config: SNAILPolicyConfig) -> Any:
    return lively(SNAILPolicy(config))


GLYPHS = Experiment(
    name="tiny_glyphs",
    chapter="11_snail",
    title="for tests",
    build=learner,
    config=partial(
        SNAILConfig,
        channels=3,
        d_picture=8,
        attention=((4, 3), (5, 4), (3, 6)),
        filters=3,
    ),
    data=EpisodeData(drawings=6, held_out=8),
    train=TrainConfig(steps=1, batch_size=2, lr=1e-12, warmup=0),
    task=Recognises(),
    seeds=(0,),
)
BANDIT = Experiment(
    name="tiny_bandit",
    chapter="11_snail",
    title="for tests",
    build=player,
    config=partial(
        SNAILPolicyConfig, pulls=12, d_input=6, attention=(None, (3, 2), (2, 3)), filters=2
    ),
    data=BanditData(pulls=12, held_out=20),
    train=PolicyTrainConfig(steps=1, batch_size=4, lr=1e-12, warmup=0, epochs=1, parts=1),
    task=Plays(),
    seeds=(0,),
)


def published(folder: Path, rows: Sequence[Experiment], *, exported: bool = True) -> list[Trained]:
    """With their cards, each in its folder, and with their graphs."""
    return shipped(folder, rows, exported=exported)


def untrained(row: Experiment) -> Any:
    """One of them without any file."""
    torch.manual_seed(0)
    kind = TrainedLearner if row is GLYPHS else TrainedPlayer
    return kind(
        model=row.build(cast(Any, row.config)()),
        card=blank_card(experiment=row.name),
        folder=Path(),
    )
