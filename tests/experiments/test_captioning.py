"""Captioning as a task: scenes, numbers, and how a model is asked."""

import json
import math
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch

from heed.data.captions import pieces
from heed.data.scenes import SceneData
from heed.evaluation.captions import Caption
from heed.experiments import captioning
from heed.experiments.captioning import (
    VOCABULARY,
    Describes,
    Describing,
    TrainedCaptioner,
    pixels,
)
from heed.experiments.runner import Run, publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig, TellOutput
from heed.training.loop import TrainConfig

DATA = SceneData(language="fr", held_out=12)
ROW = Experiment(
    name="tiny_captions",
    chapter="06_soft_hard",
    title="for tests",
    build=ShowAttendTell,
    config=partial(
        ShowAttendTellConfig,
        channels=(4, 6, 8),
        d_embedding=8,
        d_state=12,
        d_align=6,
        doubly_stochastic=0.01,
    ),
    data=DATA,
    train=TrainConfig(steps=6, batch_size=4, lr=0.01, warmup=2),
    task=Describes(),
    seeds=(0,),
)
HARD = replace(ROW, name="tiny_hard", config=partial(ROW.config, attention="hard"))


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, TrainedCaptioner]:
    folder, found = tmp_path_factory.mktemp("captions"), {}
    for row in (ROW, HARD):
        train_one(row, 0, row.load(), runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


@pytest.fixture(scope="module")
def task() -> Describing:
    return Describing(DATA)


def test_scenes_of_a_step_are_the_same_whoever_came_before(task):
    stream = task.stream(ROW.train, seed=2)
    whole = list(islice(stream.starting_after(0), 3))
    later = next(stream.starting_after(2))
    assert torch.equal(whole[2][0], later[0])
    assert not torch.equal(whole[1][0], whole[2][0])
    assert not torch.equal(whole[0][0], next(task.stream(ROW.train, seed=3).starting_after(0))[0])


def test_two_processes_get_together_what_one_would(task):
    one = next(task.stream(ROW.train, seed=0).starting_after(0))
    halves = [
        next(task.stream(ROW.train, seed=0, rank=rank, world=2).starting_after(0))
        for rank in (0, 1)
    ]
    for rank, half in enumerate(halves):
        assert torch.equal(half[0], one[0][rank::2])
    assert sum(int(task.count(half)) for half in halves) == int(task.count(one))


def test_who_knows_nothing_loses_the_log_of_all_words(task):
    model = ShowAttendTell(ROW.sized(Describes().read(task.files())))
    with torch.no_grad():
        model.L_o.weight.zero_()
        model.L_o.bias.zero_()
    assert task.validate(model) == pytest.approx(math.log(len(task.vocabulary)), abs=1e-5)


@pytest.mark.parametrize("name", ["tiny_captions", "tiny_hard"])
def test_it_is_trained_published_loaded_and_asked(models, task, name):
    model = models[name]
    assert isinstance(model, TrainedCaptioner)
    assert model.vocabulary == task.vocabulary
    assert model.language == "fr"
    picture = task.valid.pictures[0]
    caption = model.describe(picture)
    assert caption.trace().key.grid == (8, 8)
    assert model.describe(picture).words == caption.words
    assert not model.describe(picture, width=2).gates
    assert isinstance(model.say(picture), str)
    softly = model.describe(picture, look="expected")
    assert set(softly.glimpses) == {-1}
    assert (caption.glimpses == softly.glimpses) is (name == "tiny_captions")


@pytest.mark.parametrize("name", ["tiny_captions", "tiny_hard"])
def test_a_card_has_the_numbers_that_the_bars_are_about(models, name):
    card = models[name].card
    assert Describes().headline(card).startswith("exact ")
    for test in ("silhouettes", "combinations"):
        for metric in ("exact", "pointing", "pointing_colour", "chance"):
            assert 0 <= card.number(f"{metric}.{test}") <= 1
        assert 0.05 < card.number(f"chance.{test}") < 0.3
    assert 0 < card.number("entropy") <= 6
    assert 0 < card.number("gate") < 1
    assert card.licence.startswith("MIT")


def test_the_card_keeps_pictures_captions_and_maps(models, task):
    card = models["tiny_captions"].card
    _, maps = models["tiny_captions"].maps()
    assert len(card.inputs) == len(maps) == len(card.moments[-1]["said"])
    for kept, each in zip(card.inputs, maps, strict=True):
        assert each.shape[1:] == (len(kept["caption"]) + 1, 64)
        assert each.sum(axis=-1) == pytest.approx(1.0, abs=0.1)
        scene = kept["scene"]
        boxes = task.valid.boxes[scene, : len(kept["boxes"])]
        assert kept["boxes"] == boxes.tolist()
    counts = [len(kept["boxes"]) for kept in card.inputs]
    assert counts == sorted(counts)
    assert counts[0] == 1


def test_a_model_that_is_right_gets_all_points(task, monkeypatch):
    """Whoever says what is right, looking where it is."""
    scenes = {test: DATA.held_out_scenes(test) for test in ("silhouettes", "combinations")}

    def find(pictures):
        return next(
            s for s in (*scenes.values(), task.valid) if torch.equal(pixels(s.pictures), pictures)
        )

    def describe(model, pictures, vocabulary):
        rows = find(pictures).captions
        return [
            Caption(
                words=tuple(vocabulary.decode(row[1 : n - 1])),
                log_prob=0.0,
                log_probs=[],
                weights=np.zeros((1, 64), np.float32),
                grid=(8, 8),
                glimpses=None,
                gates=None,
                finished=True,
            )
            for row, n in zip(rows.words.tolist(), rows.lengths.tolist(), strict=True)
        ]

    def forced(model, pictures, words):
        s = find(pictures)
        weights = torch.zeros(len(words), 1, words.shape[1] - 1, 64)
        middle = (s.boxes[..., :2] + s.boxes[..., 2:]) // 2 // 8
        place = middle[..., 0] * 8 + middle[..., 1]
        looked = place.gather(1, s.captions.about[:, 1:].clamp(min=0))
        weights.scatter_(3, looked[:, None, :, None], 1.0)
        logits = 50 * torch.nn.functional.one_hot(words[:, 1:], len(task.vocabulary)).float()
        return TellOutput(logits, {"cross": weights}, gates=torch.ones(words[:, 1:].shape))

    monkeypatch.setattr(captioning, "describe", describe)
    monkeypatch.setattr(captioning, "forced", forced)
    model = ShowAttendTell(ROW.sized(Describes().read(task.files())))
    metrics, settings = task.evaluate(model)
    for metric in ("exact", "pointing", "pointing_colour"):
        assert metrics[metric] == {"silhouettes": 1.0, "combinations": 1.0}
    assert metrics["valid_loss"] == pytest.approx(0, abs=1e-5)
    assert metrics["entropy"] == 0
    assert set(metrics["by_animals"].values()) == {1.0}
    assert settings["scenes"] == {"silhouettes": 12, "combinations": 12}


def test_label_smoothing_is_refused(task):
    batch = next(task.stream(ROW.train, seed=0).starting_after(0))
    with pytest.raises(ValueError, match=r"label_smoothing=0\.1"):
        task.loss(torch.nn.Identity(), batch, replace(ROW.train, label_smoothing=0.1))


def test_its_words_are_read_back_as_they_were_written(task):
    files = task.files()
    assert set(files) == set(Describes.beside)
    known = Describes().read(files)
    assert known == {"vocabulary": pieces("fr").vocabulary, "language": "fr"}
    damaged = json.loads(files[VOCABULARY]) | {"language": "de"}
    with pytest.raises(ValueError, match="'de' is none of en, fr"):
        Describes().read({VOCABULARY: json.dumps(damaged).encode()})


def test_the_small_task_has_the_same_words_and_fewer_animals(task):
    small = task.small()
    assert small.files() == task.files()
    assert small.valid.plan.count.max() <= 2


def test_a_run_that_goes_on_draws_the_same_looks_and_keeps_its_baseline(tmp_path, task):
    """Hard attention has two things more to remember: the random numbers, and b."""
    whole = train_one(HARD, 0, task, runs=tmp_path / "whole", show=False)
    torch.manual_seed(99)
    broken = Run(HARD, 0, task, runs=tmp_path / "parts")
    for step in broken.steps(show=False):
        if step == 3:
            break
    broken.save()
    assert broken.model.baseline.item() < 0
    torch.manual_seed(77)
    resumed = train_one(HARD, 0, task, runs=tmp_path / "parts", show=False, resume=True)
    assert whole is not None
    assert resumed is not None
    assert resumed.files["model.safetensors"] == whole.files["model.safetensors"]
