"""Few-shot characters as a task: the same episodes for everybody, and what the answer looked at."""

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import jaxtyping
import pytest
import torch
from torch import nn

from heed.data.episodes import EpisodeData, drawn
from heed.data.glyphs import glyphs
from heed.experiments.episodes import Recognises, Recognising, TrainedLearner, asked_of
from heed.experiments.runner import Run, publish, train_one
from heed.experiments.table import EXPERIMENTS, Experiment
from heed.experiments.trained import load
from heed.models.prototypes import Prototypes, PrototypesConfig
from heed.models.snail import SNAIL, Guess, SNAILConfig
from heed.training.loop import TrainConfig

DATA = EpisodeData(ways=3, shots=2, drawings=4, tests=(1, 2), held_out=12)
ROW = Experiment(
    name="tiny_glyphs",
    chapter="11_snail",
    title="for tests",
    build=SNAIL,
    config=partial(
        SNAILConfig,
        ways=3,
        longest=7,
        channels=2,
        d_picture=4,
        attention=((3, 2), (2, 3)),
        filters=2,
    ),
    data=DATA,
    train=TrainConfig(steps=4, batch_size=6, lr=0.01, warmup=1),
    task=Recognises(),
    seeds=(0,),
)
PROTOTYPES = replace(
    ROW,
    name="tiny_prototypes",
    build=Prototypes,
    config=partial(PrototypesConfig, ways=3, channels=2, d_picture=4),
)


@pytest.fixture(scope="module", autouse=True)
def _one_part_stands_for_all():
    """Drawings of all parts take minutes where every call has its shapes checked."""
    numbers = glyphs().numbers("valid")
    few = SimpleNamespace(numbers=lambda part: numbers)
    pool = drawn("valid", DATA.drawings, DATA.seed)  # before nobody can draw any more
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heed.data.episodes.drawn", lambda part, n, seed: pool)
        patch.setattr("heed.data.episodes.glyphs", lambda: few)
        yield


@pytest.fixture(scope="module")
def task() -> Recognising:
    return Recognising(DATA)


@pytest.fixture(scope="module")
def models(task, tmp_path_factory) -> dict[str, TrainedLearner]:
    folder, found = tmp_path_factory.mktemp("episodes"), {}
    for row in (ROW, PROTOTYPES):
        train_one(row, 0, task, runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


class Oracle(nn.Module):
    """Knows which character a picture shows, and looks at the first of the right ones."""

    def __init__(self, *, wrong: bool = False) -> None:
        super().__init__()
        self.pool = drawn("valid", DATA.drawings, DATA.seed).float() / 255
        self.wrong = wrong

    def characters(self, pictures):
        same = torch.cdist(pictures.flatten(2), self.pool.flatten(0, 1).flatten(1)[None])
        return same.argmin(dim=-1) // DATA.drawings

    def forward(self, pictures, labels, lengths):
        shown = self.characters(pictures)
        row = torch.arange(len(labels))
        asked = shown[row, lengths - 1]
        right = (shown == asked[:, None]) & (labels >= 0)
        first = right.int().argmax(dim=1)
        answer = (labels[row, first] + self.wrong) % 3
        logits = torch.full((*labels.shape, 3), -50.0)
        logits[row, lengths - 1, answer] = 0.0
        weights = torch.zeros(*labels.shape, labels.shape[1])
        weights[row, lengths - 1, first] = 1.0
        return Guess(logits, {"attention 1": weights})


def test_episodes_of_a_step_are_the_same_whoever_came_before(task):
    stream = task.stream(ROW.train, seed=1)
    whole = stream.starting_after(0)
    batches = [next(whole) for _ in range(4)]
    assert torch.equal(next(stream.starting_after(3)).pictures, batches[3].pictures)
    assert not torch.equal(batches[0].glyphs, batches[1].glyphs)


def test_two_processes_get_together_what_one_would(task):
    one = next(task.stream(ROW.train, seed=0).starting_after(0))
    for rank in (0, 1):
        half = next(task.stream(ROW.train, seed=0, rank=rank, world=2).starting_after(0))
        assert torch.equal(half.pictures, one.pictures[rank::2])
        assert torch.equal(half.answers, one.answers[rank::2])
        assert task.count(half) == 3
    with pytest.raises(ValueError, match=r"^1 episodes leave some of 2 processes without"):
        task.stream(replace(ROW.train, batch_size=1), seed=0, world=2)


def test_who_knows_all_characters_is_always_right_and_looks_right(task):
    metrics, settings = task.evaluate(Oracle())
    assert metrics["accuracy"] == metrics["seen"] == {"1": 1.0, "2": 1.0}
    assert metrics["interval"] == {"1": 0.0, "2": 0.0}
    assert metrics["look_right"] == {"1": {"attention 1": 1.0}, "2": {"attention 1": 1.0}}
    assert metrics["valid_loss"] == pytest.approx(0.0, abs=1e-6)
    assert settings["chance"] == pytest.approx(1 / 3)
    assert 0 < settings["pixels"]["2"] < 1


def test_who_says_another_label_is_never_right(task):
    metrics, _ = task.evaluate(Oracle(wrong=True))
    assert metrics["accuracy"] == {"1": 0.0, "2": 0.0}
    assert metrics["valid_loss"] == pytest.approx(50.0)


def test_an_embedding_that_tells_characters_apart_answers_by_the_nearest_mean(task):
    class Knows(Oracle):
        def forward(self, pictures, labels, lengths):
            guess = super().forward(pictures, labels, lengths)
            known = nn.functional.one_hot(self.characters(pictures), len(self.pool)).float()
            return Guess(guess.logits, guess.weights, known)

    metrics, _ = task.evaluate(Knows(wrong=True))
    assert metrics["accuracy"] == {"1": 0.0, "2": 0.0}
    assert metrics["nearest_mean"] == {"1": 1.0, "2": 1.0}
    assert "nearest_mean" not in task.evaluate(Oracle())[0]


def test_the_interval_is_that_of_a_share():
    class Half(Oracle):
        """Right in every second episode."""

        def forward(self, pictures, labels, lengths):
            guess = super().forward(pictures, labels, lengths)
            return Guess(
                guess.logits.roll(1, -1).where(
                    (torch.arange(len(labels)) % 2 == 0)[:, None, None], guess.logits
                ),
                {},
            )

    metrics, _ = Recognising(DATA).evaluate(Half())
    assert metrics["accuracy"]["1"] == 0.5
    assert metrics["interval"]["1"] == pytest.approx(1.96 * 0.5 / math.sqrt(12))
    assert "look_right" not in metrics


def test_who_knows_nothing_loses_the_log_of_all_labels(task):
    class Blank(nn.Module):
        def forward(self, pictures, labels, lengths, drawings=None):
            return Guess(torch.zeros(*labels.shape, 3), {})

    assert task.validate(Blank()) == pytest.approx(math.log(3))
    batch = next(task.stream(ROW.train, seed=0).starting_after(0))
    assert task.loss(Blank(), batch, ROW.train).item() == pytest.approx(math.log(3))


def test_all_rows_are_measured_on_the_same_episodes():
    rows = [row for row in EXPERIMENTS.values() if isinstance(row.task, Recognises)]
    assert [row.name for row in rows if row.data.ways != 5] == ["snail_20_glyphs"]
    rows = [row for row in rows if row.data.ways == 5]
    assert len(rows) == 9
    for row in rows:
        assert replace(row.data, permuted=True) == EXPERIMENTS["snail_glyphs"].data
    faulty = EXPERIMENTS["snail_without_permutation_glyphs"].data
    assert not faulty.permuted


def test_a_run_that_was_broken_off_ends_in_the_same_numbers(task, tmp_path):
    whole = Run(ROW, 0, task, runs=tmp_path / "whole")
    for _ in whole.steps(show=False):
        pass
    broken = Run(ROW, 0, task, runs=tmp_path / "broken")
    for step in broken.steps(show=False):
        if step == 2:
            broken.save()
            break
    again = Run(ROW, 0, task, runs=tmp_path / "broken")
    again.load()
    assert again.progress.step == 2
    for _ in again.steps(show=False):
        pass
    held = [
        dict(run.model.named_buffers()) | dict(run.model.named_parameters())
        for run in (whole, again)
    ]
    for name, tensor in held[0].items():
        assert torch.equal(tensor, held[1][name]), name


def test_it_is_trained_published_loaded_and_asked(models):
    model = models["tiny_glyphs"]
    assert Recognises().headline(model.card).startswith("1-shot ")
    pictures, labels = torch.rand(4, 28, 28), torch.tensor([2, 0, 1, 2])
    answer = model.ask(pictures, labels, torch.rand(28, 28))
    assert sum(answer.probabilities) == pytest.approx(1.0)
    assert answer.probabilities[answer.label] == max(answer.probabilities)
    assert answer.trace.heads == ("attention 1", "attention 2")
    assert answer.trace.key.labels == ("1: 2", "2: 0", "3: 1", "4: 2", "?")
    assert answer.trace.weights.shape == (2, 5, 5)
    assert answer.trace.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-6)
    assert models["tiny_prototypes"].ask(pictures, labels, torch.rand(28, 28)).trace is None


def test_asking_once_is_as_asking_among_many(models, task):
    model, watched = models["tiny_glyphs"], task.watched
    logits = asked_of(model.model, watched).logits
    for row in range(4):
        answer = model.ask(
            watched.pictures[row, :-1], watched.labels[row, :-1], watched.pictures[row, -1]
        )
        wanted = logits[row].softmax(dim=-1).tolist()
        assert answer.probabilities == pytest.approx(wanted, abs=1e-5)


def test_the_card_keeps_episodes_answers_and_where_the_question_looked(models, task):
    card = models["tiny_glyphs"].card
    for i, each in enumerate(card.inputs):
        assert len(each["characters"]) == 3
        assert sorted(each["labels"]) == [0, 0, 1, 1, 2, 2]
        assert each["answer"] == int(task.watched.answers[i])
    steps, maps = models["tiny_glyphs"].maps()
    assert [each.shape for each in maps] == [(len(steps), 2, 7)] * 4
    assert maps[0].sum(axis=-1) == pytest.approx(1.0, abs=0.02)
    assert "maps.npz" not in models["tiny_prototypes"].card.files


@pytest.mark.parametrize(
    ("pictures", "labels", "message"),
    [
        (torch.zeros(2, 28, 28), [0, 3], r"^the label 3 is none of 0 to 2$"),
        (torch.zeros(2, 28, 28), [0, -1], r"^the label -1 is none of 0 to 2$"),
        (torch.zeros(2, 28, 28), [0], r"^2 pictures and 1 labels"),
        (torch.zeros(0, 28, 28), [], r"^0 pictures and 0 labels"),
        (torch.zeros(2, 20, 28), [0, 1], r"^pictures of shape \(20, 28\) and \(28, 28\) are not"),
        (torch.zeros(7, 28, 28), [0] * 7, r"^8 pictures, but this network looks back over 7$"),
    ],
)
def test_what_is_no_episode_is_refused(models, pictures, labels, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        models["tiny_glyphs"].ask(
            pictures, torch.tensor(labels, dtype=torch.long), torch.zeros(28, 28)
        )
