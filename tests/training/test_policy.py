"""A policy gradient: its terms by hand, and that it finds the arm that pays."""

from dataclasses import replace

import jaxtyping
import pytest
import torch
from torch.testing import assert_close

from heed.data.bandits import BanditData, Bandits
from heed.models.meta_lstm import LSTMPolicy, LSTMPolicyConfig
from heed.models.snail import SNAILPolicy, SNAILPolicyConfig
from heed.training.loop import Diverged, adam
from heed.training.policy import (
    PolicyTrainConfig,
    advantages,
    horizons,
    play,
    policy_loss,
    regret,
    train_policy,
)

DATA = BanditData(arms=2, pulls=6)
TRAIN = PolicyTrainConfig(steps=3, batch_size=8, warmup=0)


def network(seed: int = 0) -> SNAILPolicy:
    torch.manual_seed(seed)
    return SNAILPolicy(
        SNAILPolicyConfig(arms=2, pulls=6, d_input=4, attention=(None, (3, 3)), filters=2)
    )


def batches(seed: int = 0, size: int = 8):
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield DATA.draw(size, generator)


def test_advantages_are_the_sum_that_the_paper_writes():
    rewards, values = torch.rand(3, 5), torch.rand(3, 5)
    discount, trace = 0.9, 0.7
    found = advantages(rewards, values, discount=discount, trace=trace)
    later = torch.cat([values[:, 1:], torch.zeros(3, 1)], dim=1)
    delta = rewards + discount * later - values
    for t in range(5):
        wanted = sum((discount * trace) ** k * delta[:, t + k] for k in range(5 - t))
        assert_close(found[:, t], wanted)


def test_with_a_trace_of_one_values_and_advantages_make_up_what_was_gained():
    rewards, values = torch.rand(3, 5), torch.rand(3, 5)
    found = advantages(rewards, values, discount=0.9, trace=1.0) + values
    for t in range(5):
        assert_close(found[:, t], sum(0.9**k * rewards[:, t + k] for k in range(5 - t)))


def test_a_horizon_is_what_ones_to_the_end_would_gain():
    wanted = advantages(torch.ones(1, 7), torch.zeros(1, 7), discount=0.9, trace=1.0)[0]
    assert_close(horizons(7, 0.9), wanted)
    assert horizons(4, 1.0).tolist() == [4, 3, 2, 1]


def test_what_was_played_is_what_the_policy_drew_and_the_bandit_paid():
    model, bandits = network(), next(batches())
    played = play(model, bandits)
    row = torch.arange(8)
    for t in range(6):
        assert torch.equal(played.rewards[:, t], bandits.pull(t, played.actions[:, t]))
        assert torch.equal(played.p[:, t], bandits.p[row, played.actions[:, t]])
    policy = model(played.actions, played.rewards)
    log_p = policy.logits.log_softmax(dim=-1).gather(2, played.actions[..., None])[..., 0]
    assert_close(played.log_probs, log_p, rtol=0, atol=1e-5)
    assert_close(played.values, policy.values, rtol=0, atol=1e-5)
    best = bandits.p.max(dim=1).values
    assert regret(bandits, played) == pytest.approx((best[:, None] - played.p).mean().item())


def test_the_likeliest_arm_is_pulled_if_one_asks_for_it():
    model = network()
    model.output.pi.bias.data[1] = 3.0
    assert (play(model, next(batches()), likeliest=True).actions == 1).all()
    assert not (play(model, next(batches(size=400))).actions == 1).all()


def test_the_loss_is_that_of_the_paper_term_by_term():
    model = network()
    played = play(model, next(batches()))
    advantage, aim = torch.randn(8, 6), torch.rand(8, 6)
    moved = replace(played, log_probs=played.log_probs + 0.4 * torch.randn(8, 6))
    config = replace(TRAIN, value=0.3)
    loss = policy_loss(model, moved, advantage, aim, config, entropy=0.02)
    policy = model(played.actions, played.rewards)
    log_p = policy.logits.log_softmax(dim=-1)
    wanted = 0.0
    for b in range(8):
        for t in range(6):
            r = (log_p[b, t, played.actions[b, t]] - moved.log_probs[b, t]).exp()
            gain = min(r * advantage[b, t], r.clamp(0.8, 1.2) * advantage[b, t])
            off = (policy.values[b, t] - aim[b, t]) ** 2
            doubt = -(log_p[b, t].exp() * log_p[b, t]).sum()
            wanted += (0.3 * off - gain - 0.02 * doubt) / 48
    assert_close(loss, wanted, rtol=1e-4, atol=1e-6)


def test_before_anything_moved_its_gradient_is_the_plain_policy_gradient():
    model = network()
    played, advantage = play(model, next(batches())), torch.randn(8, 6)
    config = replace(TRAIN, value=0.0)
    policy_loss(model, played, advantage, torch.zeros(8, 6), config, entropy=0.0).backward()
    found = model.output.pi.weight.grad.clone()
    model.zero_grad()
    log_p = model(played.actions, played.rewards).logits.log_softmax(dim=-1)
    chosen = log_p.gather(2, played.actions[..., None])[..., 0]
    (-(chosen * advantage).mean()).backward()
    assert_close(found, model.output.pi.weight.grad, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("paid", ["expected", "drawn"])
def test_it_finds_the_arm_that_pays(paid):
    """A second arm that always pays, where the first never does: that needs no memory."""

    def always():
        while True:
            p = torch.tensor([[0.0, 1.0]]).expand(16, 2)
            yield Bandits(p, torch.rand(16, 6, 2))

    torch.manual_seed(0)
    model = LSTMPolicy(LSTMPolicyConfig(arms=2, pulls=6, d_input=4, d_hidden=4))
    config = replace(TRAIN, steps=40, lr=0.03, paid=paid, schedule="constant")
    losses = [report.loss for report in train_policy(model, always(), config)]
    assert losses[0] == pytest.approx(0.5, abs=0.15)
    assert losses[-1] < 0.05


def test_it_learns_to_look_back_at_what_paid():
    """One of two arms always pays, the other never: a first pull says which, if one remembers."""

    def either():
        generator = torch.Generator().manual_seed(0)
        while True:
            first = torch.randint(2, (32,), generator=generator)
            p = torch.stack([first, 1 - first], dim=1).float()
            yield Bandits(p, torch.rand(32, 6, 2, generator=generator))

    config = replace(TRAIN, steps=60, batch_size=32, lr=0.02, schedule="constant")
    losses = [report.loss for report in train_policy(network(), either(), config)]
    assert losses[0] == pytest.approx(1 / 2, abs=0.1)
    assert sum(losses[-5:]) / 5 < 0.2  # the best there is: 1/12


def test_whoever_goes_on_takes_the_steps_that_were_left():
    def after(steps: int, model, optimiser, stream, done: int = 0):
        for _ in range(done):
            next(stream)
        reports = train_policy(model, stream, TRAIN, optimiser=optimiser, done=done)
        return [next(reports) for _ in range(steps - done)]

    whole = network()
    torch.manual_seed(1)
    reports = after(3, whole, adam(whole, TRAIN), batches())
    parts = network()
    optimiser = adam(parts, TRAIN)
    torch.manual_seed(1)
    first = after(2, parts, optimiser, batches())
    second = after(3, parts, optimiser, batches(), done=2)
    assert reports == first + second
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_loss_that_is_no_number_stops_it():
    model = network()
    model.output.V.bias.data.fill_(float("nan"))
    with pytest.raises(Diverged, match=r"^the loss of step 1 is nan; try a smaller lr"):
        next(train_policy(model, batches(), TRAIN))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"discount": 0.0}, r"^discount=0.0 and trace=0.9 must lie between"),
        ({"trace": 1.1}, r"^discount=0.99 and trace=1.1 must"),
        ({"epochs": 0}, r"^epochs=0 and parts=2 of 8 bandits"),
        ({"parts": 9}, r"^epochs=3 and parts=9 of 8 bandits"),
        ({"ratio": 1.0}, r"^ratio=1.0: a probability may move"),
        ({"paid": "twice"}, r"^paid='twice' is none of expected, drawn$"),
        ({"label_smoothing": 0.1}, r"^label_smoothing=0.1: a policy has no labels$"),
    ],
)
def test_what_makes_no_training_is_refused(wrong, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        replace(TRAIN, **wrong)
