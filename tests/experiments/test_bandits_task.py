"""Bandits as a task: taught, resumed, published, loaded and asked what to do next."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from heed.data.bandits import BanditData
from heed.evaluation.bandits import PLAYERS, rewards_of, thompson
from heed.experiments.bandits import Playing, Plays, TrainedPlayer, played_by
from heed.experiments.runner import Run, Teaches, publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load
from heed.models.meta_lstm import LSTMPolicy, LSTMPolicyConfig
from heed.models.snail import Policy, SNAILPolicy, SNAILPolicyConfig
from heed.training.loop import TrainConfig
from heed.training.policy import PolicyTrainConfig

DATA = BanditData(arms=3, pulls=6, held_out=40)
ROW = Experiment(
    name="tiny_bandit",
    chapter="11_snail",
    title="for tests",
    build=SNAILPolicy,
    config=partial(
        SNAILPolicyConfig, arms=3, pulls=6, d_input=5, attention=(None, (3, 2), (2, 2)), filters=2
    ),
    data=DATA,
    train=PolicyTrainConfig(steps=4, batch_size=8, warmup=0, precision="bfloat16"),
    task=Plays(),
    seeds=(0,),
)
LSTM_ROW = replace(
    ROW,
    name="tiny_lstm",
    build=LSTMPolicy,
    config=partial(LSTMPolicyConfig, arms=3, pulls=6, d_input=5, d_hidden=4),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, TrainedPlayer]:
    folder, found = tmp_path_factory.mktemp("bandits"), {}
    for row in (ROW, LSTM_ROW):
        train_one(row, 0, row.load(), runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / row.name)
        found[row.name] = load(row, folder / row.name)
    return found


class Counts:
    """A policy that keeps what every arm paid, and pulls as a player does."""

    def __init__(self, player) -> None:
        self.player = player

    def start(self, batch: int):
        return torch.zeros(batch, 3).long(), torch.zeros(batch, 3).long()

    def step(self, kept, action, reward):
        wins, losses = (each.clone() for each in kept)
        if action[0] >= 0:
            row = torch.arange(len(action))
            wins[row, action] += reward
            losses[row, action] += 1 - reward
        left = DATA.pulls - int((wins + losses)[0].sum())
        index = self.player(wins, losses, left, np.random.default_rng(0)).float()
        logits = 100 * torch.nn.functional.one_hot(index.argmax(dim=1), 3)[:, None].float()
        return (wins, losses), Policy(logits, torch.zeros(len(wins), 1), {})


def test_a_policy_that_plays_like_gittins_gets_what_gittins_gets():
    bandits = DATA.held_out_bandits(1, 2_000)
    policy = played_by(Counts(PLAYERS["gittins"]), bandits, likeliest=True).rewards.sum(dim=1)
    rule = rewards_of(PLAYERS["gittins"], bandits).sum(dim=1)
    assert policy.double().mean().item() == pytest.approx(rule.double().mean().item(), abs=0.1)
    other = rewards_of(thompson, bandits).sum(dim=1)
    assert policy.double().mean() > other.double().mean()


def test_what_is_measured_is_on_the_card_beside_the_players(models):
    card = models["tiny_bandit"].card
    assert Plays().headline(card).startswith("reward ")
    assert set(card.metrics["players"]) == {"best", *PLAYERS}
    assert 0 < card.number("reward") < 6
    assert card.number("players.random") < card.number("players.best")
    assert 0 < card.number("error") < 1
    assert card.settings["bandits"] == 40


def test_the_card_keeps_bandits_arms_and_maps(models):
    card = models["tiny_bandit"].card
    assert [len(each["p"]) for each in card.inputs] == [3] * 4
    for said in card.moments[-1]["said"]:
        assert len(said.split()) == 6
        assert set(said.split()) <= {"0", "1", "2"}
    steps, maps = models["tiny_bandit"].maps()
    assert [each.shape for each in maps] == [(len(steps), 1, 6)] * 4  # of six pulls, the fifth
    assert models["tiny_lstm"].card.moments[-1]["said"]
    assert "maps.npz" not in models["tiny_lstm"].card.files


def test_it_says_what_to_do_next_and_where_it_looked(models):
    model = models["tiny_bandit"]
    advice = model.next([0, 2], [1, 0])
    assert sum(advice.probabilities) == pytest.approx(1.0)
    assert advice.trace.key.labels == ("∅", "0✓", "2✗")
    assert advice.trace.heads == ("attention 1", "attention 2")
    assert advice.trace.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-6)
    kept = model.model.start(1)
    with torch.no_grad():
        for action, reward in ((-1, 0), (0, 1), (2, 0)):
            kept, policy = model.model.step(kept, torch.tensor([action]), torch.tensor([reward]))
    wanted = policy.logits[0, 0].softmax(dim=-1).tolist()
    assert advice.probabilities == pytest.approx(wanted, abs=1e-5)
    assert len(model.next([], []).probabilities) == 3
    assert models["tiny_lstm"].next([0], [1]).trace is None


@pytest.mark.parametrize(
    ("actions", "rewards", "message"),
    [
        ([3], [0], r"^the arm 3 is none of 0 to 2$"),
        ([0], [2], r"^the reward 2 is neither 0 nor 1$"),
        ([0], [], r"^1 actions and 0 rewards"),
        ([0] * 6, [0] * 6, r"^6 pulls are done, and there are 6 in all$"),
    ],
)
def test_pulls_that_cannot_be_are_refused(models, actions, rewards, message):
    with pytest.raises(ValueError, match=message):
        models["tiny_bandit"].next(actions, rewards)


def test_a_run_that_was_broken_off_ends_in_the_same_numbers(tmp_path):
    task = Playing(DATA)
    assert isinstance(task, Teaches)
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
    for one, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_bandits_of_a_step_are_the_same_whoever_came_before():
    stream = Playing(DATA).stream(ROW.train, seed=1)
    whole = stream.starting_after(0)
    drawn = [next(whole) for _ in range(3)]
    assert torch.equal(next(stream.starting_after(2)).luck, drawn[2].luck)
    assert not torch.equal(drawn[0].luck, drawn[1].luck)


def test_another_way_of_teaching_is_refused():
    task = Playing(DATA)
    model = SNAILPolicy(ROW.sized({}))
    plain = TrainConfig(steps=1)
    with pytest.raises(TypeError, match="taught by a PolicyTrainConfig, not TrainConfig"):
        task.teach(model, [], plain, optimiser=task.optimiser(model, plain), done=0)
