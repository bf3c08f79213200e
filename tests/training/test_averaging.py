"""The mean of the last checkpoints."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from heed.training.averaging import average, checkpoint, put, train_averaged
from heed.training.loop import TrainConfig, train


def batches():
    generator = torch.Generator().manual_seed(0)
    while True:
        x = torch.randn(5, 1, generator=generator)
        yield x, 3 * x + torch.randn(5, 1, generator=generator)


def squared(model, batch):
    x, y = batch
    return (model(x) - y).square().mean()


CONFIG = TrainConfig(steps=9, lr=0.3, warmup=0, schedule="constant")


def test_the_model_ends_as_the_mean_of_its_last_checkpoints():
    model, twin = nn.Linear(1, 1), nn.Linear(1, 1)
    twin.load_state_dict(model.state_dict())
    seen = [checkpoint(twin) for _ in train(twin, batches(), squared, CONFIG)]
    reports = list(train_averaged(model, batches(), squared, CONFIG, last=3, every=2))
    assert [report.step for report in reports] == list(range(1, 10))
    wanted = torch.stack([seen[step - 1]["weight"] for step in (5, 7, 9)]).mean(dim=0)
    assert_close(model.weight.detach(), wanted)
    assert not torch.allclose(model.weight, seen[8]["weight"])


def test_until_the_last_step_it_trains_like_any_other():
    model, twin = nn.Linear(1, 1), nn.Linear(1, 1)
    twin.load_state_dict(model.state_dict())
    some = itertools.islice(train_averaged(model, batches(), squared, CONFIG, every=2), 8)
    others = itertools.islice(train(twin, batches(), squared, CONFIG), 8)
    assert [each.loss for each in some] == [each.loss for each in others]
    assert torch.equal(model.weight, twin.weight)


def test_a_checkpoint_is_a_copy_and_a_tied_matrix_stands_in_it_once():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    kept = checkpoint(model)
    before = kept["0.weight"].clone()
    with torch.no_grad():
        model[0].weight.add_(1.0)
    assert list(kept) == ["0.weight"]
    assert torch.equal(kept["0.weight"], before)
    put(model, kept)
    assert torch.equal(model[1].weight, before)


def test_checkpoints_of_different_models_have_no_mean():
    with pytest.raises(ValueError, match="do not all have the same 'bias'"):
        average([checkpoint(nn.Linear(1, 1)), checkpoint(nn.Linear(1, 1, bias=False))])
    with pytest.raises(ValueError, match="do not all have the same 'weight'"):
        average([checkpoint(nn.Linear(1, 1)), checkpoint(nn.Linear(2, 1))])
    with pytest.raises(ValueError, match="no checkpoints"):
        average([])


@pytest.mark.parametrize("plan", [{"last": 5, "every": 3}, {"last": 0, "every": 1}])
def test_a_run_must_be_long_enough_for_its_checkpoints(plan):
    with pytest.raises(ValueError, match=r"^9 steps do not hold"):
        next(train_averaged(nn.Linear(1, 1), batches(), squared, CONFIG, **plan))
