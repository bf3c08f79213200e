import itertools
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import nn

from heed.training import loop
from heed.training.loop import Diverged, TrainConfig, adam, computed_in, moved, precision, train


class Line(nn.Module):
    """y = w x, one number to learn."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(1, 1, bias=False)

    def forward(self, x):
        return self.w(x)


def squared(model, batch):
    x, y = batch
    return (model(x) - y).square().mean()


def batches(seed=0):
    generator = torch.Generator().manual_seed(seed)
    while True:
        x = torch.randn(5, 1, generator=generator)
        yield x, 3 * x


def test_it_learns():
    torch.manual_seed(0)
    model = Line()
    reports = list(train(model, batches(), squared, TrainConfig(steps=200, lr=0.1, warmup=0)))
    assert [r.step for r in reports] == list(range(1, 201))
    assert reports[-1].loss < reports[0].loss / 1000
    assert model.w.weight.item() == pytest.approx(3, abs=0.02)


def test_it_reports_the_rate_of_the_schedule():
    config = TrainConfig(steps=20, lr=0.1, warmup=5)
    reports = list(train(Line(), batches(), squared, config))
    assert [r.lr for r in reports] == [config.rate(step) for step in range(1, 21)]


def test_it_stops_when_the_batches_do():
    few = itertools.islice(batches(), 3)
    assert len(list(train(Line(), few, squared, TrainConfig(steps=10)))) == 3


def test_the_whole_gradient_is_clipped_as_one_vector():
    # Gradient (3, 4) is 5 long. Clipped to 1 it is (0.6, 0.8); Adam keeps a tenth of that.
    model = nn.ParameterDict({"a": nn.Parameter(torch.zeros(1)), "b": nn.Parameter(torch.zeros(1))})
    config = TrainConfig(steps=1, clip=1.0)
    optimiser = adam(model, config)
    (report,) = train(
        model, [None], lambda m, _: (3 * m["a"] + 4 * m["b"]).sum(), config, optimiser=optimiser
    )
    assert report.norm == pytest.approx(5.0)
    kept = [optimiser.state[p]["exp_avg"].item() for p in (model["a"], model["b"])]
    assert kept == pytest.approx([0.06, 0.08], rel=1e-4)


def test_a_short_gradient_is_left_alone():
    model = nn.ParameterDict({"a": nn.Parameter(torch.zeros(1))})
    config = TrainConfig(steps=1, clip=1.0)
    optimiser = adam(model, config)
    list(train(model, [None], lambda m, _: (0.5 * m["a"]).sum(), config, optimiser=optimiser))
    assert optimiser.state[model["a"]]["exp_avg"].item() == pytest.approx(0.05)


def test_adam_forgets_squares_as_the_transformer_paper_says():
    assert adam(Line(), TrainConfig(steps=1)).param_groups[0]["betas"] == (0.9, 0.98)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_never_reaches_the_weights(wrong):
    model = Line()
    before = model.w.weight.clone()
    with pytest.raises(Diverged, match="step 1"):
        list(train(model, batches(), lambda m, b: squared(m, b) * wrong, TrainConfig(steps=3)))
    assert torch.equal(model.w.weight, before)


def test_going_on_from_a_step_is_the_same_as_never_stopping():
    config = TrainConfig(steps=10, lr=0.05, warmup=3)
    torch.manual_seed(0)
    unbroken = Line()
    whole = [r.loss for r in train(unbroken, batches(), squared, config)]

    torch.manual_seed(0)
    broken = Line()
    optimiser = adam(broken, config)
    first = itertools.islice(train(broken, batches(), squared, config, optimiser=optimiser), 4)
    losses = [r.loss for r in first]
    rest = itertools.islice(batches(), 4, None)
    losses += [r.loss for r in train(broken, rest, squared, config, optimiser=optimiser, done=4)]
    assert losses == whole
    assert torch.equal(broken.w.weight, unbroken.w.weight)


@pytest.mark.parametrize(
    ("able", "computed"), [(True, torch.bfloat16), (False, torch.float32)], ids=["able", "not able"]
)
def test_bfloat16_where_the_processor_has_it_and_parameters_in_float32(monkeypatch, able, computed):
    monkeypatch.setattr(loop, "multiplies_bfloat16", lambda: able)
    seen = []

    def objective(model, batch):
        x, y = batch
        out = model(x)
        seen.append(out.dtype)
        return (out.float() - y).square().mean()

    model = Line()
    list(train(model, batches(), objective, TrainConfig(steps=2, precision="bfloat16")))
    assert seen == [computed] * 2
    assert model.w.weight.dtype == torch.float32


def test_a_model_that_was_answering_trains_again_with_the_next_step():
    model = Line()
    modes = []

    def objective(m, batch):
        modes.append(m.training)
        return squared(m, batch)

    for _ in train(model, batches(), objective, TrainConfig(steps=3)):
        model.eval()
    assert modes == [True, True, True]


# ------------------------------------------------------------------ where the model is
#
# Tensors on the device "meta" have a shape and no numbers. It is a second device on a machine
# without a GPU: what was forgotten on the CPU fails there, too.


@dataclass(frozen=True)
class Example:
    x: torch.Tensor
    y: torch.Tensor
    name: str


class Named(NamedTuple):
    x: torch.Tensor


def test_a_batch_is_moved_however_it_is_put_together():
    here = torch.zeros(2)
    there = torch.device("meta")
    batch = {"a": [here, (here, Named(here))], "b": Example(here, here, "one"), "c": None, "d": 3}
    found = moved(batch, there)
    assert found["a"][0].device == found["a"][1][0].device == there
    assert isinstance(found["a"][1][1], Named)
    assert found["a"][1][1].x.device == found["b"].x.device == found["b"].y.device == there
    assert (found["b"].name, found["c"], found["d"]) == ("one", None, 3)
    assert here.device.type == "cpu"


def test_batches_come_to_where_the_model_is():
    seen = []

    def objective(model, batch):
        seen.extend(tensor.device.type for tensor in batch)
        raise StopIteration

    loop = train(Line().to("meta"), batches(), objective, TrainConfig(steps=1))
    with pytest.raises(RuntimeError, match="StopIteration"):
        next(loop)
    assert seen == ["meta", "meta"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_autocast_is_for_the_device_of_the_model(monkeypatch, device):
    monkeypatch.setattr(loop, "multiplies_bfloat16", lambda: True)
    monkeypatch.setattr(torch, "autocast", lambda *kind, dtype: nullcontext((*kind, dtype)))
    with precision("bfloat16", torch.device(device, 0)) as asked:
        assert asked == (device, torch.bfloat16)


def test_a_gpu_gets_bfloat16_whatever_the_processor_beside_it_has(monkeypatch):
    monkeypatch.setattr(loop, "multiplies_bfloat16", lambda: False)
    assert computed_in("bfloat16", torch.device("cuda")) == "bfloat16"
    assert computed_in("bfloat16", torch.device("cpu")) == "float32"


@pytest.mark.parametrize(
    ("able", "expected"),
    [({"avx512_bf16": True}, True), ({"bf16": True}, True), ({"avx2": True, "bf16": False}, False)],
)
def test_what_a_processor_has_is_read_from_its_capabilities(monkeypatch, able, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert loop.multiplies_bfloat16.__wrapped__() is expected
