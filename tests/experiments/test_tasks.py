"""A task that translates nothing goes all the way: trained, resumed, published, loaded, asked."""

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from heed import book
from heed.__main__ import app
from heed.experiments import table
from heed.experiments.cards import CardError
from heed.experiments.maps import quantise
from heed.experiments.runner import Run, publish, train_one
from heed.experiments.table import Claim, Experiment
from heed.experiments.tasks import Trained
from heed.experiments.trained import load
from heed.training.loop import TrainConfig

# ------------------------------------------------------------------ points and their colours


@dataclass(frozen=True, kw_only=True)
class PointsData:
    """Points of the plane, the right ones red, the left ones blue."""

    points: int = 64
    seed: int = 0

    def load(self):
        drawn = torch.randn(self.points, 2, generator=torch.Generator().manual_seed(self.seed))
        return drawn, (drawn[:, 0] > 0).long()


@dataclass(frozen=True, kw_only=True)
class PlaneConfig:
    axes: int
    colours: int


class Plane(nn.Linear):
    def __init__(self, config):
        super().__init__(config.axes, config.colours)


@dataclass(frozen=True, kw_only=True)
class Painter(Trained):
    colours: tuple[str, ...]

    def paint(self, point: list[float]) -> str:
        return self.colours[int(self.model(torch.tensor([point])).argmax())]


@dataclass(frozen=True, kw_only=True)
class Dots(Trained):
    """What needs no files."""


class Points:
    credits, licence = ("nobody",), "none"
    colours = ("blue", "red")

    def __init__(self, points, labels, *, named):
        self.points, self.labels, self.named = points, labels, named

    def stream(self, train, *, seed, rank=0, world=1):
        self.size, self.first = train.batch_size, seed
        return self

    def starting_after(self, done):
        while True:
            generator = torch.Generator().manual_seed(self.first * 1_000 + done)
            rows = torch.randint(len(self.points), (self.size,), generator=generator)
            yield self.points[rows], self.labels[rows]
            done += 1

    def loss(self, model, batch, train):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    def count(self, batch):
        return torch.tensor(len(batch[0]))

    def validate(self, model):
        with torch.inference_mode():
            return self.loss(model, (self.points, self.labels), None).item()

    def inputs(self):
        return [{"point": point} for point in self.points[:2].tolist()]

    def maps(self, model):
        shares = model.weight.detach().abs().softmax(dim=-1).numpy()
        return [quantise(shares) for _ in self.inputs()]

    def says(self, model):
        return model(self.points[:2]).argmax(dim=-1).tolist()

    def evaluate(self, model):
        right = (model(self.points).argmax(dim=-1) == self.labels).double().mean().item()
        return {"valid_loss": self.validate(model), "right": right}, {"points": len(self.points)}

    def files(self):
        return {"colours.json": json.dumps(self.colours).encode()} if self.named else {}

    def small(self):
        return Points(self.points[:16], self.labels[:16], named=self.named)


@dataclass(frozen=True, kw_only=True)
class Paints:
    beside: ClassVar[tuple[str, ...]] = ("colours.json",)
    trained: ClassVar[type[Trained]] = Painter

    def load(self, data: Any, places: Any) -> Points:
        return Points(*data.load(), named=bool(self.beside))

    def read(self, files: Any) -> dict[str, Any]:
        colours = json.loads(files["colours.json"])
        if len(set(colours)) < 2:
            raise ValueError(f"{colours} are no two colours")
        return {"colours": tuple(colours)}

    def sizes(self, known: Any) -> dict[str, int]:
        return {"colours": len(known["colours"])}

    def headline(self, card: Any) -> str:
        return f"right {card.number('right'):.0%}"


@dataclass(frozen=True, kw_only=True)
class PaintsUnnamed(Paints):
    """The same, with nothing beside the weights."""

    beside: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[type[Trained]] = Dots

    def read(self, files: Any) -> dict[str, Any]:
        assert not files
        return {}

    def sizes(self, known: Any) -> dict[str, int]:
        return {"colours": 2}


ROW = Experiment(
    name="plane_points",
    chapter="01_looking",
    title="for tests",
    build=Plane,
    config=partial(PlaneConfig, axes=2),
    data=PointsData(),
    train=TrainConfig(steps=60, batch_size=16, lr=0.1, warmup=2),
    task=Paints(),
    seeds=(0, 1),
    claims=(Claim(metric="right", at_least=0.9),),
    half=False,
)


@pytest.fixture(params=[Paints(), PaintsUnnamed()], ids=["with a file", "without files"])
def row(request):
    return replace(ROW, task=request.param)


@pytest.fixture
def published(row, tmp_path):
    for seed in row.seeds:
        train_one(row, seed, row.load(), runs=tmp_path / "runs", show=False)
    return publish(row, runs=tmp_path / "runs", folder=tmp_path / "trained"), tmp_path / "trained"


# ------------------------------------------------------------------ all the way


def test_it_is_trained_published_and_loaded(row, published):
    card, folder = published
    assert card.complete
    assert card.seeds == [0, 1]
    assert row.claims[0].holds(card.number("right"))
    assert (card.credits, card.licence) == (["nobody"], "none")
    assert card.config == {"axes": 2, "colours": 2}
    assert card.data == asdict(row.data)
    assert [len(moment["said"]) for moment in card.moments] == [2] * 30
    names = {"model.safetensors", "maps.npz", *row.task.beside}
    assert set(card.files) == names
    assert {file.name for file in folder.iterdir()} == names | {"card.json"}

    trained = load(row, folder)
    assert type(trained) is row.task.trained
    assert not trained.changed
    steps, maps = trained.maps()
    assert len(steps) == len(maps[0]) == 30
    again, _ = row.load().evaluate(trained.model)
    assert again["right"] == pytest.approx(card.metrics["right"]["seeds"][0], abs=1e-6)


def test_it_goes_on_bit_for_bit(row, tmp_path):
    whole = Run(row, 3, row.load(), runs=tmp_path / "whole")
    list(whole.steps(show=False))
    cut = Run(row, 3, row.load(), runs=tmp_path / "cut")
    for step in cut.steps(show=False):
        if step == 20:
            break
    cut.save()
    train_one(row, 3, row.load(), runs=tmp_path / "cut", resume=True, show=False)
    resumed = Run(row, 3, row.load(), runs=tmp_path / "cut")
    resumed.load()
    assert resumed.progress.step == 60
    assert torch.equal(whole.model.weight, resumed.model.weight)
    assert all(np.array_equal(whole.maps[step], resumed.maps[step]) for step in whole.maps)


def test_a_kind_decides_how_its_models_are_asked(tmp_path):
    train_one(ROW, 0, ROW.load(), runs=tmp_path, show=False)
    publish(ROW, runs=tmp_path, folder=tmp_path / "trained")
    painter = load(ROW, tmp_path / "trained")
    assert [painter.paint([x, 0.0]) for x in (-2.0, 2.0)] == ["blue", "red"]
    assert not hasattr(painter, "translate")


@pytest.mark.parametrize("content", ["[", '["red"]', "7"])
def test_a_file_that_says_nothing_sensible_is_named(tmp_path, content, monkeypatch):
    train_one(ROW, 0, ROW.load(), runs=tmp_path, show=False)
    # as if it had been shipped like that: the card knows it
    monkeypatch.setattr(Points, "files", lambda self: {"colours.json": content.encode()})
    run = tmp_path / ROW.name / "seed-0"
    (run / "colours.json").write_text(content)
    record = json.loads((run / "record.json").read_text())
    from heed.experiments.files import sha256

    record["files"]["colours.json"] = sha256(content.encode())
    (run / "record.json").write_text(json.dumps(record))
    publish(ROW, runs=tmp_path, folder=tmp_path / "trained")
    with pytest.raises(CardError, match=r"colours\.json is damaged") as fault:
        load(ROW, tmp_path / "trained")
    assert "\n" not in str(fault.value)


# ------------------------------------------------------------------ the command line, a chapter


@pytest.fixture
def in_the_table(monkeypatch, tmp_path):
    monkeypatch.setitem(table.EXPERIMENTS, ROW.name, ROW)
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path / "trained"))

    def heed(*arguments):
        return CliRunner().invoke(app, [str(each) for each in arguments])

    return heed


def test_the_command_line_knows_nothing_of_translation(in_the_table, tmp_path):
    heed = in_the_table
    for command in (["train", ROW.name, "--quiet"], ["publish", ROW.name]):
        result = heed(*command, "--runs", tmp_path / "runs")
        assert result.exit_code == 0, result.output
    line = next(line for line in heed("list").stdout.splitlines() if ROW.name in line)
    assert "right" in line
    assert "2 seeds" in line
    head, *lines = [line.split() for line in heed("evaluate", ROW.name).stdout.splitlines()]
    assert head == [f"{ROW.name},", "seed", "0", "now", "card"]
    assert {line[0] for line in lines} == {"right", "valid_loss"}
    for name, now, before in lines:
        assert float(now) == pytest.approx(float(before), abs=1e-4), name
    refused = heed("export", ROW.name)
    assert refused.exit_code == 2
    assert "Plane" in refused.output


def test_a_chapter_can_train_it_within_minutes(in_the_table):
    book.trained.cache_clear()
    found = book.trained(ROW.name, "minutes", 5)
    assert isinstance(found, Painter)
    assert found.card.settings == {"points": 16}
    assert found.card.seeds == [5]
    book.trained.cache_clear()
