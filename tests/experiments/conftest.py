from dataclasses import replace
from functools import partial

import pytest


@pytest.fixture(scope="session")
def tiny():
    """An experiment that trains in about a second."""
    from heed.data.corpora import ReverseData
    from heed.experiments.table import Claim, Experiment
    from heed.models.bahdanau import Bahdanau, BahdanauConfig
    from heed.training.loop import TrainConfig

    return Experiment(
        name="tiny_reverse",
        chapter="03_additive",
        title="for tests",
        build=Bahdanau,
        config=partial(
            BahdanauConfig,
            d_embedding=6,
            d_encoder=5,
            d_state=7,
            d_align=4,
            d_maxout=6,
            tie_output=True,
            dropout=0.1,
        ),
        data=ReverseData(letters=5, longest=6, pairs=120, held_out=24),
        train=TrainConfig(steps=40, batch_size=16, lr=5e-3, warmup=5),
        seeds=(0, 1),
        claims=(Claim(metric="bleu", at_least=0.0),),
    )


@pytest.fixture(scope="session")
def corpus(tiny):
    return tiny.data.load()


@pytest.fixture(scope="session")
def task(corpus):
    from heed.experiments.translation import Translating

    return Translating(corpus)


@pytest.fixture(scope="session")
def without_attention(tiny):
    from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig

    config = partial(Seq2SeqConfig, d_embedding=6, d_hidden=7, layers=2)
    return replace(tiny, name="tiny_seq2seq", build=Seq2Seq, config=config, seeds=(0,))


@pytest.fixture(scope="session")
def runs(tiny, task, tmp_path_factory):
    """Both seeds of the tiny experiment, trained."""
    from heed.experiments.runner import train_one

    folder = tmp_path_factory.mktemp("runs")
    for seed in tiny.seeds:
        train_one(tiny, seed, task, runs=folder, show=False)
    return folder


@pytest.fixture
def shipped(tiny, runs, tmp_path):
    """A published card with its files, free to be damaged."""
    from heed.experiments.runner import publish

    publish(tiny, runs=runs, folder=tmp_path / "trained")
    return tmp_path / "trained"
