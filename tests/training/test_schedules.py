import math
from itertools import pairwise

import pytest

from heed.training.loop import TrainConfig
from heed.training.schedules import SCHEDULES, constant, cosine, warm_up


def test_warm_up_climbs_in_equal_steps_to_one_and_stays_there():
    assert [warm_up(step, warmup=4) for step in range(1, 7)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_no_warm_up_starts_at_full_rate():
    assert warm_up(1, warmup=0) == 1.0
    assert constant(1, steps=10, warmup=0, floor=0.1) == 1.0


def test_cosine_meets_the_values_one_can_work_out_on_paper():
    at = {step: cosine(step, steps=110, warmup=10, floor=0.1) for step in (5, 10, 60, 110)}
    assert at == pytest.approx({5: 0.5, 10: 1.0, 60: 0.1 + 0.9 / 2, 110: 0.1})


def test_cosine_stays_at_the_floor_beyond_the_last_step():
    assert cosine(500, steps=110, warmup=10, floor=0.1) == pytest.approx(0.1)


def test_cosine_only_falls_after_the_warm_up():
    rates = [cosine(step, steps=50, warmup=5, floor=0.0) for step in range(5, 51)]
    assert all(after < before for before, after in pairwise(rates))


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_is_a_fraction_of_the_rate(name):
    for step in range(1, 30):
        factor = SCHEDULES[name](step, steps=25, warmup=7, floor=0.2)
        assert 0 < factor <= 1


def test_the_config_scales_its_schedule():
    config = TrainConfig(steps=100, lr=0.5, warmup=10, floor=0.0)
    assert config.rate(1) == pytest.approx(0.05)
    assert config.rate(55) == pytest.approx(0.5 * (1 + math.cos(math.pi / 2)) / 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "steps=0"),
        ({"steps": 5, "batch_size": 0}, "batch_size=0"),
        ({"steps": 5, "floor": 2.0}, "floor=2.0"),
        ({"steps": 5, "clip": 0.0}, "clip=0.0"),
    ],
)
def test_a_wrong_setting_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**wrong)
