"""Listings, exercises and budgets: what a chapter asks of the package."""

from dataclasses import replace
from functools import partial

import pytest


@pytest.fixture
def table(monkeypatch):
    """The table of experiments with one more row, small enough to train in a second."""
    from heed.data.corpora import ReverseData
    from heed.experiments import table
    from heed.experiments.table import Experiment
    from heed.models.bahdanau import Bahdanau, BahdanauConfig
    from heed.training.loop import TrainConfig

    row = Experiment(
        name="tiny_reverse",
        chapter="03_additive",
        title="for tests",
        build=Bahdanau,
        config=partial(
            BahdanauConfig, d_embedding=6, d_encoder=5, d_state=7, d_align=4, d_maxout=6
        ),
        data=ReverseData(letters=5, longest=6, pairs=120, held_out=25),
        train=TrainConfig(steps=30, batch_size=16, lr=5e-3, warmup=5),
    )
    monkeypatch.setitem(table.EXPERIMENTS, row.name, row)
    return table.EXPERIMENTS


@pytest.fixture
def trained(monkeypatch):
    from heed import book

    monkeypatch.setattr(book, "MINUTES_STEPS", 12)
    book.trained.cache_clear()
    yield book.trained
    book.trained.cache_clear()


def test_a_listing_is_the_object_that_runs():
    from heed.book import show_source
    from heed.scores import Additive

    shown = show_source(Additive)
    assert shown.code.startswith("class Additive(Score):")
    assert shown.where == "src/heed/scores.py"
    text = shown._repr_mimebundle_()["text/markdown"]
    assert text == f"```python\n{shown.code}```\n\n`src/heed/scores.py`"
    assert "0x" not in repr(shown)


def test_an_exercise_knows_right_usual_and_other_answers():
    from heed.book import Exercise

    exercise = Exercise(
        right=lambda answer: answer == 4,
        praise="Two and two.",
        otherwise="Count again.",
        usual=((lambda answer: answer == 22, "That is how strings add."),),
    )
    assert exercise.check(4)
    assert repr(exercise.check(4)) == "Right. Two and two."
    assert repr(exercise.check(22)) == "Not yet. That is how strings add."
    assert repr(exercise.check(5)) == "Not yet. Count again."
    assert not exercise.check(...)
    assert "dots" in exercise.check(...).message


def test_an_answer_that_breaks_the_check_is_a_wrong_answer():
    from heed.book import Exercise

    exercise = Exercise(right=lambda answer: answer() == 1, praise="", otherwise="Not that.")

    def broken():
        raise KeyError("oops")

    assert exercise.check("no function").message == "Not that."
    assert "KeyError" in exercise.check(broken).message


def test_minutes_trains_this_seed_and_gives_a_card_with_maps(table, trained, capsys):
    found = trained("tiny_reverse", "minutes", 3)
    assert found.card.steps == 12
    assert found.card.seeds == [3]
    assert found.card.complete
    assert found.card.metrics["aer"]["std"] == 0.0
    steps, maps = found.maps()
    assert steps[0] == 0
    assert steps[-1] == 12
    assert maps[0].shape[0] == len(steps)
    assert trained("tiny_reverse", "minutes", 3) is found, "a second call trains nothing"


def test_full_goes_all_the_steps_and_goes_on_where_it_stopped(
    table, trained, monkeypatch, tmp_path, capsys
):
    from heed.experiments import runner

    monkeypatch.setattr(runner, "RUNS", tmp_path)
    found = trained("tiny_reverse", "full", 1)
    assert found.card.steps == 30
    before = (tmp_path / "tiny_reverse" / "seed-1" / "state.safetensors").stat().st_mtime_ns
    trained.cache_clear()
    again = trained("tiny_reverse", "full", 1)
    after = (tmp_path / "tiny_reverse" / "seed-1" / "state.safetensors").stat().st_mtime_ns
    assert again.card.files == found.card.files
    assert after >= before


def test_shipped_is_what_lies_in_the_folder_of_trained_weights(
    table, trained, monkeypatch, tmp_path, capsys
):
    import torch

    from heed.experiments.cards import CardError
    from heed.experiments.runner import with_steps

    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    with pytest.raises(CardError, match="nothing trained lies here"):
        trained("tiny_reverse")
    made = trained("tiny_reverse", "minutes", 0)
    monkeypatch.setitem(
        table,
        "tiny_reverse",
        replace(table["tiny_reverse"], train=with_steps(table["tiny_reverse"], 12).train),
    )
    made.folder.rename(tmp_path / "tiny_reverse")
    shipped = trained("tiny_reverse", "shipped", 5)
    for mine, theirs in zip(shipped.model.parameters(), made.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_an_unknown_budget_is_named(trained):
    with pytest.raises(ValueError, match="budget='hours' is none of shipped, minutes, full"):
        trained("bahdanau_grammar", "hours")
