"""Guessing the next word: batches, perplexity, and how a reader is asked."""

import math
from dataclasses import replace
from functools import partial
from itertools import islice
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from heed.data.prose import Prose, ProseData
from heed.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from heed.experiments.language import NULL, Reading, Reads, Sentences, TrainedReader
from heed.experiments.runner import publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load
from heed.models.lstmn import (
    LSTMLanguageConfig,
    LSTMLanguageModel,
    LSTMNLanguageConfig,
    LSTMNLanguageModel,
)
from heed.training.loop import TrainConfig

WORDS = ("a", "b", "c", "d", "e")


def spelt(count: int, first: int) -> list[tuple[str, ...]]:
    """Sentences in which each word is the next letter: after a comes b, after e comes a."""
    return [
        tuple(WORDS[(first + k + i) % 5] for i in range(2 + (first + k) % 7)) for k in range(count)
    ]


PROSE = Prose(
    train=spelt(60, 0),
    valid=spelt(8, 1),
    test=[*spelt(9, 2), ("a", "what", "c")],
    vocabulary=Vocabulary(WORDS),
    watched=(("a", "b", "c"), ("d", "e")),
    credits=("us",),
    licence="none",
    sha256="0",
)
ROW = Experiment(
    name="tiny_prose",
    chapter="05_self_attention",
    title="for tests",
    build=LSTMNLanguageModel,
    config=partial(LSTMNLanguageConfig, d_embedding=8, d_state=9, d_align=7),
    data=ProseData(),
    train=TrainConfig(steps=60, batch_size=8, lr=0.03, warmup=5),
    task=Reads(),
    seeds=(0,),
)
LSTM = replace(
    ROW,
    name="tiny_lstm",
    build=LSTMLanguageModel,
    config=partial(LSTMLanguageConfig, d_embedding=8, d_state=9),
)


@pytest.fixture(scope="module")
def task() -> Reading:
    return Reading(PROSE)


@pytest.fixture(scope="module")
def readers(task, tmp_path_factory) -> dict[str, TrainedReader]:
    """Both models, trained, published, loaded."""
    folder, found = tmp_path_factory.mktemp("readers"), {}
    for row in (ROW, LSTM):
        train_one(row, 0, task, runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


class Uniform(nn.Module):
    """Finds every word as likely as any other, except one that is ``times`` as likely."""

    def __init__(self, vocab: int, favourite: int = EOS, times: float = 1.0) -> None:
        super().__init__()
        self.logits = torch.zeros(vocab)
        self.logits[favourite] = math.log(times)

    def forward(self, tokens):
        return SimpleNamespace(logits=self.logits.expand(*tokens.shape, -1), weights=None)


# ------------------------------------------------------------------ batches


def test_an_epoch_has_every_sentence_once_between_its_marks(task):
    stream = task.stream(ROW.train, seed=0)
    batches = list(islice(stream.starting_after(0), len(stream.epoch(0))))
    read = []
    for batch in batches:
        for row in batch.tolist():
            end = row.index(EOS)
            assert row[0] == BOS
            assert set(row[end + 1 :]) <= {PAD}
            read.append(tuple(PROSE.vocabulary.decode(row[1:end])))
    assert sorted(read) == sorted(PROSE.train)


def test_a_stream_that_goes_on_reads_what_it_would_have(task):
    stream = task.stream(ROW.train, seed=3)
    whole = list(islice(stream.starting_after(0), 20))
    later = list(islice(stream.starting_after(13), 7))
    assert all(torch.equal(a, b) for a, b in zip(whole[13:], later, strict=True))
    other = next(task.stream(ROW.train, seed=4).starting_after(0))
    assert not torch.equal(whole[0], other)


def test_two_processes_read_together_what_one_would(task):
    one = next(task.stream(ROW.train, seed=0).starting_after(2))
    halves = [
        next(task.stream(ROW.train, seed=0, rank=rank, world=2).starting_after(2))
        for rank in (0, 1)
    ]
    rows = [[tuple(w for w in row if w != PAD) for row in each.tolist()] for each in (one, *halves)]
    assert rows[0][0::2] == rows[1]
    assert rows[0][1::2] == rows[2]
    with pytest.raises(ValueError, match="leave some of 9 processes without work"):
        Sentences(PROSE.train, PROSE.vocabulary, batch_size=8, seed=0, world=9)


# ------------------------------------------------------------------ numbers


def test_who_finds_nine_words_equally_likely_has_perplexity_nine(task):
    metrics, settings = task.evaluate(Uniform(9))
    assert metrics["perplexity"] == pytest.approx(9.0)
    assert metrics["known_perplexity"] == pytest.approx(9.0)
    assert metrics["bits_per_word"] == pytest.approx(math.log2(9))
    assert settings["words"] == sum(len(words) + 1 for words in PROSE.test)
    assert settings["unknown_words"] == 1
    assert "look_null" not in metrics


def test_perplexity_counts_the_end_of_each_sentence_and_no_padding(task):
    """A model for which </s> is 8 times as likely as any of 8 others: p = 1/2, or 1/16."""
    metrics, _ = task.evaluate(Uniform(9, EOS, 8.0))
    ends, words = len(PROSE.test), sum(map(len, PROSE.test))
    expected = (ends * 1 + words * 4) / (ends + words)
    assert metrics["bits_per_word"] == pytest.approx(expected, abs=1e-5)
    assert metrics["accuracy"] == pytest.approx(ends / (ends + words))


def test_known_perplexity_leaves_unknown_words_out(task):
    metrics, _ = task.evaluate(Uniform(9, UNK, 8.0))
    assert metrics["known_perplexity"] == pytest.approx(16.0, rel=1e-5)
    assert metrics["perplexity"] < 16.0


def test_the_loss_is_the_mean_over_all_words_and_ends(task):
    batch = next(task.stream(ROW.train, seed=0).starting_after(0))
    assert task.loss(Uniform(9), batch, ROW.train).item() == pytest.approx(math.log(9))
    assert task.count(batch) == sum(row.index(EOS) for row in batch.tolist())


def test_looks_are_shared_among_null_slot_last_word_and_the_rest(readers, task):
    metrics, _ = task.evaluate(readers["tiny_prose"].model)
    shares = metrics["look_null"], metrics["look_last"]
    assert all(0 < share < 1 for share in shares)
    assert sum(shares) < 1

    class LooksBack(Uniform):
        def forward(self, tokens):
            steps = tokens.shape[1]
            out = super().forward(tokens)
            out.weights = torch.eye(steps).expand(len(tokens), -1, -1)
            return out

    metrics, _ = task.evaluate(LooksBack(9))
    assert (metrics["look_null"], metrics["look_last"]) == (0.0, 1.0)


def test_the_small_task_has_the_same_words_and_fewer_sentences(task):
    small = task.small()
    assert small.files() == task.files()
    assert len(small.prose.test) < len(task.prose.test)


# ------------------------------------------------------------------ a reader that was loaded


def test_both_models_learn_the_alphabet(readers):
    for reader in readers.values():
        assert reader.card.number("perplexity") < 4.0
        best = reader.next_words("b c d", count=2)
        assert "e" in {guess.word for guess in best}
    assert Reads().headline(readers["tiny_prose"].card).startswith("perplexity ")


def test_a_reader_shows_where_each_word_looked(readers):
    trace = readers["tiny_prose"].read("A b c")
    assert trace.query.labels == ("<s>", "a", "b", "c")
    assert trace.key.labels == (NULL, "<s>", "a", "b")
    assert trace.weights.shape == (1, 4, 4)
    assert trace.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    for step in range(4):
        assert (trace.weights[0, step, step + 1 :] == 0).all()


def test_a_reader_without_attention_says_so(readers):
    with pytest.raises(ValueError, match="tiny_lstm does not attend"):
        readers["tiny_lstm"].read("a b")


@pytest.mark.parametrize("name", ["tiny_prose", "tiny_lstm"])
def test_next_words_are_likely_first_and_never_padding(readers, name):
    guesses = readers[name].next_words("a", count=50)
    assert [g.probability for g in guesses] == sorted(
        (g.probability for g in guesses), reverse=True
    )
    assert sum(g.probability for g in guesses) == pytest.approx(1.0, abs=1e-5)
    assert {g.word for g in guesses} == {*WORDS, "</s>", "<unk>"}


def test_surprises_multiply_to_the_perplexity_of_a_sentence(readers, task):
    reader, words = readers["tiny_prose"], PROSE.test[0]
    bits = [each for _, each in reader.surprise(words)]
    assert [word for word, _ in reader.surprise(words)] == [*words, "</s>"]
    metrics, _ = Reading(replace(PROSE, test=[words])).evaluate(reader.model)
    assert sum(bits) / len(bits) == pytest.approx(metrics["bits_per_word"], abs=1e-4)


@pytest.mark.parametrize("sentence", ["", "🦆 שלום a", "a " * 300])
def test_odd_sentences_get_an_answer(readers, sentence):
    reader = readers["tiny_prose"]
    words = reader.words(sentence)
    assert len(reader.read(sentence).query.labels) == len(words) + 1
    assert len(reader.surprise(sentence)) == len(words) + 1
    assert reader.next_words(sentence)


def test_maps_and_guesses_of_the_watched_sentences_are_on_the_card(readers):
    reader = readers["tiny_prose"]
    assert reader.card.inputs == [{"words": ["a", "b", "c"]}, {"words": ["d", "e"]}]
    steps, maps = reader.maps()
    assert len(steps) == len(reader.card.moments)
    assert [each.shape[1:] for each in maps] == [(4, 4), (3, 3)]
    assert maps[0][-1] == pytest.approx(reader.read("a b c").weights[0], abs=0.02)
    assert len(reader.card.moments[-1]["said"][0].split()) == 4
    assert "maps.npz" not in readers["tiny_lstm"].card.files
