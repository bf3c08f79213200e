"""A language model with tapes and its rival, small and not trained: for tests of what reads."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from small_cards import blank_card, shipped

from heed.data.prose import ProseData
from heed.experiments.language import Reading, Reads, TrainedReader
from heed.experiments.table import Experiment
from heed.models.lstmn import (
    LSTMLanguageConfig,
    LSTMLanguageModel,
    LSTMNLanguageConfig,
    LSTMNLanguageModel,
)
from heed.training.loop import TrainConfig

WORDS = 300


def lively(build: Any, config: Any) -> Any:
    """A model with weights so large that it tells words and slots apart; each is a float16."""
    model = build(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
            parameter.copy_(parameter.half())
        model.words.embed.weight[0] = 0.0
    return model.eval()


ROW = Experiment(
    name="tiny_lstmn",
    chapter="05_self_attention",
    title="for tests",
    build=partial(lively, LSTMNLanguageModel),
    config=partial(LSTMNLanguageConfig, d_embedding=8, d_state=9, d_align=7),
    data=ProseData(words=WORDS),
    train=TrainConfig(steps=1, batch_size=8, lr=1e-12, warmup=0),
    task=Reads(),
    seeds=(0,),
)
RIVAL = replace(
    ROW,
    name="tiny_lstm",
    build=partial(lively, LSTMLanguageModel),
    config=partial(LSTMLanguageConfig, d_embedding=8, d_state=9),
)


def few() -> Reading:
    """A few sentences of the prose, and some hundred words."""
    prose = ProseData(words=WORDS).load()
    return Reading(
        replace(prose, train=prose.train[:200], valid=prose.valid[:20], test=prose.test[:40])
    )


def published(folder: Path, task: Reading, *, exported: bool = True) -> list[TrainedReader]:
    """Both with their cards, each in its folder, and with their graphs."""
    return shipped(folder, (ROW, RIVAL), task, exported=exported)


@cache
def untrained() -> tuple[TrainedReader, TrainedReader]:
    """Both without any file."""
    vocabulary = few().vocabulary
    torch.manual_seed(0)
    ours, theirs = (
        TrainedReader(
            model=lively(kind, row.config(vocab=len(vocabulary))),
            card=blank_card(experiment=row.name),
            folder=Path(),
            vocabulary=vocabulary,
        )
        for row, kind in ((ROW, LSTMNLanguageModel), (RIVAL, LSTMLanguageModel))
    )
    return ours, theirs
