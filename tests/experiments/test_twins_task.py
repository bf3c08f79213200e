"""Drawing twins as a task: two nets in one run, the judge beside them, and a card."""

from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch

from heed.data.twins import SHAPES, TwinData, read
from heed.evaluation.twins import drawn, from_bytes, scores
from heed.experiments import trained
from heed.experiments import twins as painting
from heed.experiments.cards import CardError
from heed.experiments.checkpoint import read_state
from heed.experiments.halves import ReadingHalves, ReadsHalves, halves_of, on_circle, turned
from heed.experiments.parallel import Processes
from heed.experiments.runner import STATE, Run, RunError, Teaches, publish, train_one
from heed.experiments.table import EXPERIMENTS, Experiment
from heed.experiments.trained import load
from heed.experiments.twins import WATCHED, Painting, Paints, TrainedPainter, normal, untrained
from heed.models.halves import HalfReader, HalfReaderConfig
from heed.models.sagan import SAGAN, Drawn, SAGANConfig
from heed.training.loop import TrainConfig

DATA = TwinData(held_out=30)
JUDGE = Experiment(
    name="reader_twins",
    chapter="12_sagan",
    title="for tests",
    build=HalfReader,
    config=partial(HalfReaderConfig),
    data=TwinData(held_out=60),
    train=TrainConfig(steps=70, batch_size=32, lr=0.01, warmup=5),
    task=ReadsHalves(),
    seeds=(0,),
)
ROW = Experiment(
    name="tiny_sagan",
    chapter="12_sagan",
    title="for tests",
    build=SAGAN,
    config=partial(
        SAGANConfig, d_z=6, generator=(16, 16, 8), discriminator=(16, 16, 8), memory=0.5
    ),
    data=DATA,
    train=TrainConfig(steps=6, batch_size=4, lr=0.01, warmup=2),
    task=Paints(),
    seeds=(0,),
)
DCGAN = replace(
    ROW,
    name="tiny_dcgan",
    config=partial(ROW.config, generator_attention=0, discriminator_attention=0),
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judge")
    train_one(JUDGE, 0, JUDGE.load(), runs=folder / "runs", show=False)
    publish(JUDGE, runs=folder / "runs", folder=folder / JUDGE.name)
    return load(JUDGE, folder / JUDGE.name)


@pytest.fixture(scope="module")
def task(judged) -> Painting:
    return Painting(DATA, judged.model)


@pytest.fixture(scope="module")
def models(task, tmp_path_factory) -> dict[str, TrainedPainter]:
    folder, found = tmp_path_factory.mktemp("painters"), {}
    for row in (ROW, DCGAN):
        train_one(row, 0, task, runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


# ------------------------------------------------------------------ the rows


def test_both_rows_have_as_many_numbers_within_1_percent():
    counts = []
    for name in ("sagan_twins", "dcgan_twins"):
        row = EXPERIMENTS[name]
        model = row.build(row.sized({}))
        counts.append(
            [
                sum(p.numel() for p in net.parameters())
                for net in (model.generator, model.discriminator)
            ]
        )
    for with_attention, without in zip(*counts, strict=True):
        assert without == pytest.approx(with_attention, rel=0.01)


def test_the_rows_differ_in_attention_and_widths_only():
    one, other = (EXPERIMENTS[name] for name in ("sagan_twins", "dcgan_twins"))
    assert (one.data, one.train, one.seeds) == (other.data, other.train, other.seeds)
    changed = {
        key for key, value in other.config.keywords.items() if one.config.keywords.get(key) != value
    }
    assert changed == {
        "generator",
        "discriminator",
        "generator_attention",
        "discriminator_attention",
    }


# ------------------------------------------------------------------ teaching


def test_pictures_of_a_step_are_the_same_whoever_came_before(task):
    stream = task.stream(ROW.train, seed=2)
    whole = list(islice(stream.starting_after(0), 3))
    assert torch.equal(whole[2], next(stream.starting_after(2)))
    assert not torch.equal(whole[1], whole[2])
    assert not torch.equal(whole[0], next(task.stream(ROW.train, seed=3).starting_after(0)))
    assert whole[0].shape == (4, 3, 32, 32)
    assert whole[0].min() >= -1


@pytest.mark.parametrize("row", [ROW, DCGAN], ids=lambda row: row.name)
def test_a_run_that_goes_on_gets_the_same_nets_bit_for_bit(row, task, tmp_path):
    """z, both nets, their singular vectors, batch norm, the mean, and Adam's two groups."""
    whole = train_one(row, 0, task, runs=tmp_path / "whole", show=False)
    torch.manual_seed(99)
    broken = Run(row, 0, task, runs=tmp_path / "parts")
    for step in broken.steps(show=False):
        if step == 3:
            break
    broken.save()
    torch.manual_seed(77)
    resumed = train_one(row, 0, task, runs=tmp_path / "parts", show=False, resume=True)
    assert whole is not None
    assert resumed is not None
    assert resumed.files["model.safetensors"] == whole.files["model.safetensors"]
    assert resumed.metrics == whole.metrics
    one, other = (
        read_state(tmp_path / part / row.name / "seed-0" / STATE)[1] for part in ("whole", "parts")
    )
    assert set(one) == set(other)
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


def test_another_seed_gets_other_nets(task, tmp_path):
    one, other = (
        train_one(replace(ROW, name=f"tiny_{seed}"), seed, task, runs=tmp_path, show=False)
        for seed in (0, 1)
    )
    assert one.files["model.safetensors"] != other.files["model.safetensors"]


def test_the_task_teaches_and_several_processes_are_refused(task, tmp_path):
    assert isinstance(task, Teaches)
    assert not isinstance(ReadingHalves(DATA), Teaches)
    with pytest.raises(RunError, match="tiny_sagan is taught in one process, not in 2"):
        Run(ROW, 0, task, runs=tmp_path, processes=Processes(rank=0, world=2))
    with pytest.raises(ValueError, match="two nets are taught in one process, not in 2"):
        task.stream(ROW.train, seed=0, world=2)


def test_who_says_0_of_everything_loses_2(task):
    torch.manual_seed(0)
    model = SAGAN(ROW.sized({}))
    with torch.no_grad():
        for p in model.discriminator.last.parameters():
            p.zero_()
    model.discriminator.last.register_forward_hook(lambda *a: torch.zeros_like(a[2]))
    assert task.validate(model) == pytest.approx(2)


# ------------------------------------------------------------------ what is kept


def test_a_card_has_the_numbers_that_the_bars_are_about(models, task):
    card = models["tiny_sagan"].card
    assert Paints().headline(card).startswith("twins ")
    for metric in ("twins", "clear", "same_hue", "same_shape", "shuffled", "modes"):
        assert 0 <= card.number(metric) <= 1
    assert card.number("frechet") > 0
    assert 0 < card.number("frechet_real") < 0.5 * card.number("frechet_untrained")
    for net in ("generator", "discriminator"):
        assert card.number(f"gamma.{net}") != 0
        assert 0 < card.number(f"evenness.{net}") <= 1
    assert 0.5 < card.number("sigma.smallest") <= card.number("sigma.largest") < 2
    assert card.settings["real"]["twins"] > 0.9
    assert "not an FID" in card.settings["features"]
    plain = models["tiny_dcgan"].card
    assert "gamma" not in plain.metrics
    assert "evenness" not in plain.metrics


def test_what_was_watched_can_be_seen_again(models):
    model = models["tiny_sagan"]
    steps, maps = model.maps()
    again, pictures = model.pictures()
    assert steps == again == [0, 1, 2, 3, 4, 5, 6]
    assert len(maps) == len(pictures) == WATCHED
    assert maps[0].shape == (7, 64, 64)  # every second of 16 × 16 pixels, at 8 × 8 places
    assert maps[0].sum(axis=-1) == pytest.approx(1, abs=0.15)
    assert pictures[0].shape == (7, 32, 32, 3)
    # The last moment is after the last step; what is shipped was rounded to float16 since.
    now = model.paint(normal(WATCHED, 6, seed=0)).permute(0, 2, 3, 1).numpy()
    for i, each in enumerate(pictures):
        assert np.abs(each[-1].astype(int) - now[i].astype(int)).max() <= 3
    assert models["tiny_dcgan"].maps()[1] == []
    assert len(models["tiny_dcgan"].pictures()[1]) == WATCHED


def test_the_card_says_what_stood_in_the_watched_pictures_and_in_the_crowd(models):
    card = models["tiny_sagan"].card
    assert len(card.inputs) == WATCHED + 1
    for moment in card.moments:
        *single, crowd = moment["said"]
        assert len(single) == WATCHED
        assert set(single[0]["shapes"]) <= set(SHAPES)
        assert {"twins", "clear", "modes", "gamma", "sigma"} <= set(crowd)
    assert card.moments[0]["said"][-1]["gamma"] == {"generator": 0.0, "discriminator": 0.0}
    assert "gamma" not in models["tiny_dcgan"].card.moments[0]["said"][-1]


def test_it_is_loaded_and_asked(models):
    model = models["tiny_sagan"]
    z = model.z(2, seed=3)
    assert torch.equal(z, model.z(2, seed=3))
    pictures = model.paint(z)
    assert pictures.dtype == torch.uint8
    assert torch.equal(pictures, model.paint(z))
    assert not torch.equal(pictures, model.paint(z, dial=0.0))
    assert len(model.read(pictures).fit) == 2
    trace = model.look(z[:1])
    assert trace.query.grid == (16, 16)
    assert trace.key.grid == (8, 8)
    with pytest.raises(ValueError, match="tiny_dcgan has no attention in its generator"):
        models["tiny_dcgan"].look(z[:1])


def test_who_draws_as_the_data_do_gets_all_points(task, monkeypatch):
    other = TwinData(held_out=30, seed=5).held_out_twins(0).pictures

    def perfect(model, z, *, weights=False, dial=1.0):
        if weights:
            return drawn(model, z, weights=True)
        return Drawn(from_bytes(other[: len(z)]), None)

    monkeypatch.setattr(painting, "drawn", perfect)
    torch.manual_seed(0)
    metrics, settings = task.evaluate(SAGAN(DCGAN.sized({})))
    assert metrics["twins"] > 0.9
    assert metrics["clear"] == 1
    assert metrics["frechet"] < 3 * metrics["frechet_real"]
    assert settings["real"] == scores(read(task.test))


def test_the_untrained_are_always_the_same_and_leave_torchs_random_numbers_alone():
    torch.manual_seed(0)
    model, z = SAGAN(ROW.sized({})), normal(2, 6, seed=0)
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        found.append(untrained(model, z))
        assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(*found)


def test_without_its_judge_a_row_is_refused_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    with pytest.raises(CardError, match=r"reader_twins.*missing.*train reader_twins"):
        ROW.load()


def test_with_its_judge_a_row_is_loaded(monkeypatch, judged):
    monkeypatch.setattr(trained, "load", lambda name: judged)
    task = ROW.load()
    assert task.judge is judged.model
    assert task.small().test.shape[0] == 30


# ------------------------------------------------------------------ the judge


def test_the_judge_learns_to_read_halves(judged):
    card = judged.card
    assert card.number("accuracy") > 0.5
    assert card.number("hue_error") < 0.15
    assert card.number("fitted") > 0.97
    assert card.number("fitted_hue_error") < 0.01
    assert ReadsHalves().headline(card).startswith("right ")


def test_running_statistics_are_no_parameters(judged):
    assert list(judged.model.buffers())
    assert judged.card.parameters == sum(p.numel() for p in judged.model.parameters())


def test_halves_are_told_what_stands_in_them():
    twins = TwinData().draw(3, torch.Generator().manual_seed(0), agree=False)
    halves = halves_of(twins)
    assert torch.equal(halves.shape, twins.things.shape.flatten())
    assert torch.equal(halves.pictures[0], twins.pictures[0, :, :, :16].float() / 255)
    assert torch.equal(halves.pictures[1], twins.pictures[0].flip(-1)[:, :, :16].float() / 255)


def test_two_processes_get_together_the_halves_that_one_would():
    task = ReadingHalves(DATA)
    plan = TrainConfig(steps=1, batch_size=6)
    whole = next(task.stream(plan, seed=0).starting_after(0))
    parts = [
        next(task.stream(plan, seed=0, rank=rank, world=2).starting_after(0)) for rank in (0, 1)
    ]
    for rank, part in enumerate(parts):
        assert torch.equal(part.shape.view(3, 2), whole.shape.view(6, 2)[rank::2])
    assert sum(int(task.count(part)) for part in parts) == int(task.count(whole))


def test_hues_go_to_the_circle_and_back():
    hues = torch.tensor([0.0, 0.2, 0.5, 0.9])
    assert (turned(3 * on_circle(hues)) - hues).abs().max() < 1e-6


def test_a_half_of_another_size_is_refused():
    with pytest.raises(ValueError, match="a half of 32 × 32 pixels: this net reads 32 × 16"):
        HalfReader(HalfReaderConfig())(torch.zeros(1, 3, 32, 32))
