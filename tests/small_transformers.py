"""A Transformer that turns letters round, small and not trained: for tests of its lab."""

from functools import cache, partial
from pathlib import Path

import torch
from small_cards import blank_card

from heed.data.corpora import ReverseData
from heed.experiments.export import export
from heed.experiments.runner import publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load
from heed.experiments.translation import TrainedTranslator
from heed.models.transformer import Transformer, TransformerConfig
from heed.training.loop import TrainConfig

STRENGTHS = (("embed", 0.3), ("output", 1.0), ("bias", 0.4), ("feed", 0.6), ("W_", 0.8))
"""How large the weights are whose names say this, the first that fits."""


def lively(config: TransformerConfig) -> Transformer:
    """A model that writes other words when something is done to it; each weight is a float16."""
    model = Transformer(config)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        for name, parameter in model.named_parameters():
            if "norm" in name or name.startswith("positions"):
                continue
            parameter.normal_(std=next(std for part, std in STRENGTHS if part in name))
            parameter.copy_(parameter.half())
        for table in (model.embed_source, model.embed_target):
            table.weight[0] = 0.0
    return model.eval()


SIZES = {"d_model": 12, "d_inner": 16, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
KIND = {"norm": "pre", "tie": "none", "dropout": 0.0}
DATA = ReverseData(letters=8, longest=9, pairs=120, held_out=24)
ROW = Experiment(
    name="tiny_transformer",
    chapter="10_transformer",
    title="for tests",
    build=lively,
    config=partial(TransformerConfig, **SIZES, **KIND),
    data=DATA,
    train=TrainConfig(steps=1, batch_size=8, lr=1e-12, warmup=0),
    seeds=(0,),
)


def exported(folder: Path, runs: Path, *rows: Experiment) -> Path:
    """The folder, with these rows in it, published and exported; runs: where they are trained."""
    for row in rows:
        task = row.load()
        train_one(row, 0, task, runs=runs, show=False)
        publish(row, runs=runs, folder=folder / row.name)
        export(load(row, folder / row.name), task)
    return folder


@cache
def untrained() -> TrainedTranslator:
    """The same without any file."""
    corpus = DATA.load()
    vocabularies = corpus.source_vocab, corpus.target_vocab
    torch.manual_seed(0)
    sizes = {"source_vocab": len(vocabularies[0]), "target_vocab": len(vocabularies[1])}
    return TrainedTranslator(
        model=lively(ROW.config(**sizes)),
        card=blank_card(experiment=ROW.name),
        folder=Path(),
        source_vocab=vocabularies[0],
        target_vocab=vocabularies[1],
    )
