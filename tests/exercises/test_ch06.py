"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.exercises import ch06

# ---------------------------------------------------------------------------- 1


def test_floor():
    assert ch06.floor.check(9 * (1 - 3 / 9) ** 2)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (..., "Replace the dots"),
        (0, "would need 1"),
        ((2 / 3) ** 2, "one place"),
        (9 * (2 / 3), "forget the square"),
        (3, "evenly"),
    ],
)
def test_floor_hints(answer, hint):
    verdict = ch06.floor.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_the_floor_of_the_exercise_is_that_of_the_package():
    from heed.training.captions import doubly_stochastic_floor

    assert ch06.floor.check(doubly_stochastic_floor(9, 3))


# ---------------------------------------------------------------------------- 2


def estimate(alpha, place, reward, baseline):
    drawn = torch.eye(len(alpha))[place]
    return (reward - baseline) * (drawn - alpha)


def by_autograd(alpha, place, reward, baseline):
    scores = alpha.log().requires_grad_()
    ((reward - baseline) * scores.log_softmax(0)[place]).backward()
    return scores.grad


@pytest.mark.parametrize("answer", [estimate, by_autograd])
def test_estimate(answer):
    assert ch06.estimate.check(answer)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda *given: None, "None so far"),
        (lambda a, s, r, b: estimate(a, s, r, 0.0), "And the baseline"),
        (lambda *given: -estimate(*given), "turned round"),
        (
            lambda a, s, r, b: torch.eye(3)[s] * (r - b) / a,
            "by the scores e",
        ),
        (lambda a, s, r, b: torch.eye(3)[s] * (r - b), "share in the sum"),
        (lambda a, s, r, b: a, "log α_s"),
        (lambda a, s, r, b: a[:2], "log α_s"),
    ],
)
def test_estimate_hints(answer, hint):
    verdict = ch06.estimate.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 3


def test_luck():
    drawn = torch.tensor([10 * 0.5, 12 * -0.5])
    better = torch.tensor([(10 - 11) * 0.5, (12 - 11) * -0.5])
    assert ch06.luck.check((drawn.var(correction=0).item(), better.var(correction=0).item()))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((0, 30.25), "other way round"),
        ((5.5, 0), "its square"),
        ((30.5, 0.25), "squared mean"),
        ((1, 2), "mean square"),
        (30.25, "mean square"),
    ],
)
def test_luck_hints(answer, hint):
    verdict = ch06.luck.check(answer)
    assert not verdict
    assert hint in verdict.message


# ---------------------------------------------------------------------------- 4


def test_closed():
    assert ch06.closed.check({"words", "weights"})


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (set(), "where does h₀"),
        ({"context", "weights", "words"}, "whatever the picture"),
        ({"weights"}, "h₀ has seen"),
        ({"words"}, "And the scores"),
        ({"dog"}, "Two ways"),
    ],
)
def test_closed_hints(answer, hint):
    verdict = ch06.closed.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_with_the_gate_shut_words_and_weights_still_know_the_picture():
    from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig

    torch.manual_seed(0)
    model = ShowAttendTell(ShowAttendTellConfig(vocab=9, channels=(4, 8, 8), d_state=12)).eval()
    assert model.f_beta is not None
    torch.nn.init.zeros_(model.f_beta.weight)
    torch.nn.init.constant_(model.f_beta.bias, -1e4)
    with torch.no_grad():
        here, there = (model.encode(torch.rand(1, 3, 64, 64)) for _ in range(2))
        token = torch.tensor([4])
        outs = [model.step(model.start(seen), token, seen)[1] for seen in (here, there)]
        here_weights, there_weights = (out.weights for out in outs)
        assert here_weights is not None
        assert there_weights is not None
        moved = {
            "words": not torch.equal(outs[0].logits, outs[1].logits),
            "weights": not torch.equal(here_weights, there_weights),
        }
        # From one start, nothing is left of the picture in the words.
        state = model.start(here)
        same = [model.step(state, token, seen)[1].logits for seen in (here, there)]
    assert ch06.closed.check({name for name, each in moved.items() if each})
    assert torch.equal(same[0], same[1])


# ---------------------------------------------------------------------------- 5


def honest(estimate):
    scores = torch.randn(4, dtype=torch.float64, requires_grad=True)
    rewards = torch.tensor([-3.0, -0.5, -1.0, -2.5], dtype=torch.float64)
    alpha = scores.softmax(0)
    (exact,) = torch.autograd.grad(alpha @ rewards, scores)
    mean = torch.stack([alpha[s] * estimate(scores, s, rewards) for s in range(4)]).sum(0)
    return torch.allclose(mean, exact)


def points_the_right_way(estimate):
    scores = torch.zeros(4, dtype=torch.float64)
    rewards = torch.tensor([-3.0, -0.5, -1.0, -2.5], dtype=torch.float64)
    exact = (rewards - rewards.mean()) / 4
    mean = torch.stack([estimate(scores, s, rewards) for s in range(4)]).mean(0)
    return torch.cosine_similarity(mean, exact, dim=0) > 1 - 1e-9


def test_honest():
    assert ch06.honest.check(honest)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda estimate: None, "None so far"),
        (points_the_right_way, "a tenth of this draw"),
        (lambda estimate: estimate is ch06._plain, "having a baseline"),
        (lambda estimate: False, "plain one was convicted"),
        (lambda estimate: True, "Three of them"),
        (lambda estimate: estimate in (ch06._plain, ch06._constant), "Four places are few"),
    ],
)
def test_honest_hints(answer, hint):
    verdict = ch06.honest.check(answer)
    assert not verdict
    assert hint in verdict.message
