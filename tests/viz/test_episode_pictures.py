"""Pictures of episodes: they say where a look fell and who was right, and do not say too much."""

from typing import Any

import numpy as np
import pytest
import torch
from small_cards import blank_card

from heed.experiments.cards import Card
from heed.experiments.episodes import Answer, trace_of
from heed.viz.episodes import accuracies, beside, episode, looks_learnt, own_share, result

LABELS = torch.tensor([1, 0, 1])
PICTURES, ASKED = torch.rand(3, 28, 28), torch.rand(28, 28)


def an_answer(*, attention: bool = True) -> Answer:
    """Who says 1, and looks at the first drawing, or at the first and the third."""
    looks = torch.zeros(2, 4, 4)
    looks[0, -1, 0] = 1.0
    looks[1, -1, [0, 2, 3]] = torch.tensor([0.5, 0.25, 0.25])
    weights = {"attention 1": looks[0], "attention 2": looks[1]} if attention else {}
    return Answer(label=1, probabilities=(0.1, 0.9), trace=trace_of(weights, LABELS.tolist()))


def a_card(accuracy: float, interval: float) -> Card:

    def one(value: float) -> dict[str, Any]:
        return {"1": {"mean": value, "std": 0.0, "seeds": [value]}}

    metrics = {"accuracy": one(accuracy), "interval": one(interval)}
    return blank_card(experiment="t", metrics=metrics)


def test_a_question_alone_gives_nothing_away():
    drawn = episode(PICTURES, LABELS, ASKED)
    assert drawn.alt == "3 drawings with the labels 1 0 1, then one without."
    assert ">?<" in drawn.svg
    assert "answer" not in drawn.svg


def test_an_answer_says_what_and_where_it_looked():
    drawn = episode(PICTURES, LABELS, ASKED, an_answer(), right=1)
    assert "It belongs to 1. The answer is 1, with 0.90." in drawn.alt
    assert "on the drawings of 1: attention 1 1.00, attention 2 0.75." in drawn.alt
    assert ">the answer<" in drawn.svg


def test_who_has_no_attention_is_shown_without():
    drawn = episode(PICTURES, LABELS, ASKED, an_answer(attention=False), right=0)
    assert "The answer is 1" in drawn.alt
    assert "look" not in drawn.alt


def test_a_look_at_oneself_is_no_look_at_a_drawing():
    looks = np.array([[0.5, 0.2, 0.1, 0.2], [0.0, 0.0, 0.0, 1.0]])
    assert own_share(looks, [1, 0, 1], 1) == pytest.approx([0.6, 0.0])
    assert own_share(looks, [1, 0, 1], 2) == pytest.approx([0.0, 0.0])


def test_a_look_may_fall_one_step_behind_a_drawing():
    looks = np.array([[0.5, 0.2, 0.1, 0.2]])
    assert own_share(looks, [1, 0, 1], 1, behind=1) == pytest.approx([0.4])
    assert own_share(looks, [1, 0, 1], 1, behind=2) == pytest.approx([0.1])  # the other is past it
    drawn = looks_learnt([0], [looks[None]], [{"labels": [1, 0, 1], "answer": 1}], behind=1)
    assert "share 1 step behind drawings of the right character" in drawn.alt
    assert "attention 1 from 0.40 to 0.40" in drawn.alt


def test_learning_to_look_is_told_from_its_beginning_to_its_end():
    first = np.zeros((2, 2, 4))
    first[0, :, 1], first[1, 0, [0, 2]], first[1, 1, 1] = 1.0, 0.5, 1.0
    drawn = looks_learnt([0, 9], [first, first], [{"labels": [1, 0, 1], "answer": 1}] * 2)
    assert "attention 1 from 0.00 to 1.00; attention 2 from 0.00 to 0.00" in drawn.alt
    assert "chance is 0.50" in drawn.alt


def test_rows_are_told_apart_only_beyond_the_interval_of_their_difference():
    whole = a_card(0.95, 0.010)
    assert beside(a_card(0.94, 0.010), whole, "1") == "no difference seen"
    assert beside(a_card(0.935, 0.010), whole, "1") == "1.5 points below"
    assert beside(a_card(0.97, 0.010), whole, "1") == "2.0 points above"
    assert result(whole, "1") == (0.95, 0.010)


def test_rows_are_drawn_with_their_intervals():
    rows = {"whole": a_card(0.95, 0.01), "without": a_card(0.5, 0.02)}
    drawn = accuracies(rows, against="whole", shots=("1",))
    assert "whole, 1 drawing of each: 95.0% ± 1.0%" in drawn.alt
    assert "without, 1 drawing of each: 50.0% ± 2.0%" in drawn.alt
    with pytest.raises(ValueError, match="'full' is not among the rows: whole, without"):
        accuracies(rows, against="full", shots=("1",))
