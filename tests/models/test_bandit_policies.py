"""Policies of bandits: a pull knows what came before it and nothing else, step by step or at
once."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from heed.models.meta_lstm import LSTMPolicy, LSTMPolicyConfig
from heed.models.snail import SNAILPolicy, SNAILPolicyConfig, told

B, N, K = 2, 7, 3
SMALL = SNAILPolicyConfig(arms=K, pulls=N, d_input=5, attention=((3, 2), (4, 3), None), filters=2)
MODELS = {
    "SNAIL": lambda: SNAILPolicy(SMALL),
    "no convolutions": lambda: SNAILPolicy(replace(SMALL, temporal=False)),
    "as printed": lambda: SNAILPolicy(replace(SMALL, dilations="as_printed")),
    "LSTM": lambda: LSTMPolicy(LSTMPolicyConfig(arms=K, pulls=N, d_input=5, d_hidden=4)),
}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def shaken(make):
    model = make().double().eval()
    for parameter in model.parameters():
        parameter.data.normal_(std=0.5)
    return model


def pulls() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(K, (B, N)), torch.randint(2, (B, N))


@models
def test_a_step_at_a_time_says_what_all_at_once_says(make):
    model = shaken(make)
    actions, rewards = pulls()
    whole = model(actions, rewards)
    kept, action, reward = model.start(B), torch.full((B,), -1), torch.zeros(B).long()
    for t in range(N):
        kept, policy = model.step(kept, action, reward)
        assert_close(policy.logits[:, 0], whole.logits[:, t], rtol=0, atol=1e-12)
        assert_close(policy.values[:, 0], whole.values[:, t], rtol=0, atol=1e-12)
        assert policy.weights.keys() == whole.weights.keys()
        for name, weights in policy.weights.items():
            assert_close(weights[:, 0], whole.weights[name][:, t, : t + 1], rtol=0, atol=1e-12)
        action, reward = actions[:, t], rewards[:, t]


@pytest.mark.parametrize("name", [name for name in MODELS if name != "as printed"])
def test_a_pull_knows_what_every_pull_before_it_did_and_paid(name):
    model = shaken(MODELS[name])
    actions, rewards = pulls()
    before = model(actions, rewards).logits
    for t in range(N):
        for which in (0, 1):
            other = [actions.clone(), rewards.clone()]
            other[which][:, t] = (other[which][:, t] + 1) % (K, 2)[which]
            differs = (model(*other).logits - before).abs().amax(dim=(0, 2)) > 1e-9
            assert differs.tolist() == [False] * (t + 1) + [True] * (N - 1 - t)


def test_without_attention_dilations_from_two_miss_every_second_pull():
    config = replace(SMALL, attention=(None, None), dilations="as_printed")
    model = shaken(lambda: SNAILPolicy(config))
    actions, rewards = pulls()
    before = model(actions, rewards).logits[:, -1]
    seen = []
    for t in range(N - 1):
        other = rewards.clone()
        other[:, t] = 1 - other[:, t]
        seen.append(bool(((model(actions, other).logits[:, -1] - before).abs() > 1e-9).any()))
    assert seen == [False, True] * 3


def test_action_and_reward_are_one_of_2k_things_or_nothing():
    x = told(torch.tensor([[-1, 0, 2, 2]]), torch.tensor([[0, 1, 0, 1]]), K)
    assert x[0].argmax(dim=-1)[1:].tolist() == [1, 4, 5]
    assert x[0].sum(dim=-1).tolist() == [0, 1, 1, 1]


def test_who_has_learnt_nothing_pulls_all_arms_alike():
    policy = SNAILPolicy(SMALL)(*pulls())
    assert_close(policy.logits.softmax(dim=-1), torch.full((B, N, K), 1 / K), rtol=0, atol=0.05)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"^8 pulls, but this network looks back over 7$"):
        SNAILPolicy(SMALL)(torch.zeros(1, 8).long(), torch.zeros(1, 8).long())
    with pytest.raises(ValueError, match=r"^attention=\(\) leaves nothing"):
        replace(SMALL, attention=())
    for config in (SNAILPolicyConfig, LSTMPolicyConfig):
        with pytest.raises(ValueError, match=r"^arms=1 and pulls=100: there must be a choice"):
            config(arms=1)
