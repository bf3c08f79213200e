"""What translating adds to the machinery that every task goes through."""

from dataclasses import replace

import pytest
import torch

from heed.data.corpora import ReverseData
from heed.experiments import translation
from heed.experiments.table import EXPERIMENTS
from heed.experiments.trained import load
from heed.experiments.translation import TrainedTranslator, Translates, short
from heed.models.luong import Luong, LuongConfig


def test_short_keeps_words_and_drops_long_training_sentences():
    corpus = ReverseData(letters=5, longest=9, pairs=200, held_out=50).load()
    cut = short(corpus, longest=5)
    assert cut.train
    assert max(len(pair.source) for pair in cut.train) == 5
    assert max(len(pair.source) for pair in corpus.train) == 9
    assert len(cut.test) == 10
    assert cut.source_vocab is corpus.source_vocab


def test_a_small_task_has_the_same_files(task):
    small = task.small()
    assert small.files() == task.files()
    assert len(small.corpus.test) < len(task.corpus.test)


def test_what_is_loaded_can_translate(tiny, shipped):
    assert isinstance(load(tiny, shipped), TrainedTranslator)


def test_the_width_of_a_row_is_the_beam_that_measures(tiny, task, shipped):
    wide = replace(tiny, task=Translates(width=2)).load()
    metrics, settings = wide.evaluate(load(tiny, shipped).model)
    assert settings["search"].startswith("beam of 2")
    assert "bleu_greedy" in metrics
    assert "bleu_greedy" not in task.evaluate(load(tiny, shipped).model)[0]


def test_a_place_of_tatoeba_reaches_the_corpus(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        EXPERIMENTS["bahdanau_everyday"].load({"tatoeba": tmp_path})


def test_what_is_validated_comes_to_where_the_model_is(tiny, task, monkeypatch):
    """On "meta", a device without numbers: the second one of a machine without a GPU."""
    model = tiny.build(tiny.sized(tiny.task.read(task.files()))).to("meta")
    seen = []

    def note(model, batch):
        seen.append(batch.source.device.type)
        return torch.zeros(())

    monkeypatch.setattr(translation, "translation_loss", note)
    task.validate(model)
    assert set(seen) == {"meta"}


def test_a_model_with_windows_is_also_measured_by_where_they_are(task):
    sizes = {"source_vocab": len(task.source_vocab), "target_vocab": len(task.target_vocab)}
    small = LuongConfig(**sizes, d_embedding=4, d_hidden=5, D=2)
    for attention in ("global", "local_m"):
        metrics, _ = task.evaluate(Luong(replace(small, attention=attention)))
        assert ("place_error" in metrics) == (attention == "local_m")
    # Untrained, yet known: p_t = t on sentences to be turned round.
    away = [abs(2 * t - len(p.source) + 1) for p in task.corpus.test for t in range(len(p.source))]
    assert metrics["place_error"] == pytest.approx(sum(away) / len(away))
