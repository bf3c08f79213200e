"""Pictures of a network that points: they say what they show, and refuse what shows nothing."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from small_cards import blank_card

from heed.experiments.cards import Card
from heed.experiments.pointing import Answer
from heed.trace import AttentionTrace
from heed.viz.heatmap import RING
from heed.viz.paths import paths
from heed.viz.pointing import (
    BLENDING,
    POINTING,
    beyond,
    fingers,
    learning,
    problems_learnt,
    routes,
    sorting,
)

SQUARE = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def an_answer(order, n: int, *, finished: bool = True, sure: float = 0.75) -> Answer:
    """Who points in this order, with so much of its weight; the rest is shared."""
    keys = [at + 1 for at in order] + [0] * finished
    weights = np.full((len(keys), n + 1), (1 - sure) / n, dtype=np.float32)
    weights[range(len(keys)), keys] = sure
    names = [str(number) for number in range(1, n + 1)]
    trace = AttentionTrace.of(
        "pointer",
        torch.from_numpy(weights),
        query=[*(names[at] for at in order), "⇐"][: len(keys)],
        key=["⇐", *names],
        heads=("pointer",),
    )
    return Answer(order=tuple(order), finished=finished, log_prob=0.0, trace=trace)


def a_card(curves: dict[str, Any], batch: int = 100) -> Card:
    return blank_card(experiment="t", curves=curves, train={"batch_size": batch})


def circles(svg: str) -> int:
    """How many rings are drawn: outlines without a filling."""
    return len(re.findall(rf"fill: none; stroke: {RING}", svg))


def test_one_side_blends_and_names_and_the_other_does_neither():
    shown = paths((BLENDING, POINTING))
    assert "words" in BLENDING.parts
    assert "words" not in POINTING.parts
    assert [a.number for a in BLENDING.arrows if a.number] == [1, 2, 3]
    assert [a.number for a in POINTING.arrows if a.number] == [2, 3]
    assert "the weights are the answer" in shown.alt


def test_a_sorted_row_is_named_by_its_number_and_the_end_by_its_sign():
    shown = sorting(torch.tensor([0.52, 0.07, 0.88]), an_answer([1, 0, 2], 3))
    assert "writing '1. 0.07', looks at '0.07' 0.75" in shown.alt
    assert "writing '4. ⇐', looks at '⇐' 0.75" in shown.alt
    assert ">0.52<" in shown.svg


def test_what_is_all_but_certain_is_written_as_one():
    shown = sorting(torch.tensor([0.52, 0.07, 0.88]), an_answer([1, 0, 2], 3, sure=0.997))
    assert ">1</text>" in shown.svg
    assert ">.00<" not in shown.svg


def test_an_answer_that_never_ends_has_no_end_in_the_picture():
    shown = sorting(torch.tensor([0.5, 0.1]), an_answer([1, 1, 0], 2, finished=False))
    assert "'⇐'" not in shown.alt
    assert "writing '3. 0.50'" in shown.alt


def test_fingers_tell_each_step_and_the_end():
    shown = fingers(SQUARE, an_answer([0, 1, 2, 3], 4))
    assert "point 1, 0.75, point 2, 0.75, point 3, 0.75, point 4, 0.75, then ⇐, 0.75." in shown.alt
    assert circles(shown.svg) == 4


def test_fingers_leave_out_steps_beyond_what_there_is_room_for_and_say_so():
    shown = fingers(SQUARE, an_answer([0, 1, 2, 3], 4), most=3)
    assert "point 3, 0.75; and 2 more steps" in shown.alt
    assert "⇐" not in shown.svg


def test_routes_are_closed_and_named():
    shown = routes(SQUARE, {"round": [0, 1, 2, 3], "across": [0, 2, 1, 3]})
    assert "round: 1 2 3 4; across: 1 3 2 4." in shown.alt
    ways = [path for path in re.findall(r'd="(M [^"]*)"', shown.svg) if path.count("L") == 4]
    ways = [path for path in ways if "z" not in path]  # frames and clips are
    closed = [p for p in ways if p.split("L")[0].split()[1:3] == p.split("L")[-1].split()[:2]]
    assert len(closed) == 2


def test_no_routes_and_no_panels_are_refused():
    with pytest.raises(ValueError, match="no ways"):
        routes(SQUARE, {})
    with pytest.raises(ValueError, match="no panels"):
        beyond({}, trained=(5, 10))


CURVE = [
    {"step": 10, "valid_loss": 1.5},
    {"step": 20, "loss": 1.0},
    {"step": 30, "valid_loss": 0.0},
]


def test_what_was_learnt_is_counted_in_problems_and_only_where_it_was_measured():
    assert problems_learnt(a_card({"0": CURVE})) == {"0": ([1.0, 3.0], [1.5, 0.0])}


def test_learning_tells_every_seed_and_bears_a_loss_of_nothing():
    shown = learning({"sort": a_card({"0": CURVE, "1": CURVE})})
    assert (
        "sort, seed 0: 1.5 nats a step after 1 thousand problems, 0 after 3 thousand" in shown.alt
    )
    assert "sort, seed 1" in shown.alt


def test_a_network_that_was_never_measured_has_no_line_and_breaks_nothing():
    shown = learning({"sort": a_card({"0": CURVE}), "hull": a_card({"0": []})})
    assert "hull" not in shown.svg


def test_beyond_shades_the_range_of_training_and_tells_all_values():
    shown = beyond(
        {"right": {"sort": {5: 1.0, 20: 0.25}}, "ratio": {"a": {5: 1.1}}}, trained=(5, 10)
    )
    assert "Trained on 5 to 10 points" in shown.alt
    assert "right, sort: 5 points 1, 20 points 0.25; ratio, a: 5 points 1.1" in shown.alt
