"""The Pointer Network: rules, steps against the whole, any number of points, learning."""

import jaxtyping
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from heed.data.tours import SortData
from heed.models.pointer import PointerConfig, PointerNetwork, allowed
from heed.scores import Additive
from heed.training.pointing import pointing_loss

B, N, D, H = 3, 5, 2, 7


def network(rule="free", **sizes) -> PointerNetwork:
    model = PointerNetwork(PointerConfig(d_input=D, d_hidden=H, rule=rule, **sizes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(10)  # as if it had learnt something
    return model


def a_permutation(batch: int = B, n: int = N) -> torch.Tensor:
    return nn.functional.pad(torch.rand(batch, n).argsort(1) + 1, (0, 1))


# ------------------------------------------------------------------ rules


def test_rules_on_five_points_of_which_some_were_chosen():
    real = torch.ones(1, 6, dtype=torch.bool)

    def after(*chosen: int, rule: str) -> list[int]:
        mask = torch.zeros(1, 6, dtype=torch.bool)
        mask[0, list(chosen)] = True
        return allowed(rule, mask, real)[0].nonzero()[:, 0].tolist()

    assert after(2, 4, rule="free") == [0, 1, 2, 3, 4, 5]
    assert after(2, 4, rule="each_once") == [1, 3, 5]
    assert after(1, 2, 3, 4, 5, rule="each_once") == [0]
    assert after(2, 4, rule="polygon") == [1, 3, 5]
    assert after(2, 4, 1, rule="polygon") == [0, 3, 5]
    assert after(1, 2, 3, 4, 5, rule="polygon") == [0]


def test_padding_is_never_allowed_and_a_small_polygon_may_end():
    real = torch.tensor([[True, True, True, False]])
    nothing = torch.zeros(1, 4, dtype=torch.bool)
    assert allowed("free", nothing, real).tolist() == [[True, True, True, False]]
    both = torch.tensor([[False, True, True, False]])
    for rule in ("each_once", "polygon"):
        assert allowed(rule, both, real).tolist() == [[True, False, False, False]]


@pytest.mark.parametrize("rule", ["free", "each_once", "polygon"])
def test_forbidden_keys_have_no_weight_and_the_others_sum_to_one(rule):
    out = network(rule)(torch.rand(B, N, D), a_permutation())
    assert_close(out.weights.sum(dim=-1), torch.ones(B, N + 1))
    if rule == "each_once":
        assert (out.weights[:, :-1, 0] == 0).all()
        assert ((out.weights > 0).sum(dim=-1) == torch.tensor([5, 4, 3, 2, 1, 1])).all()


# ------------------------------------------------------------------ the same twice


@pytest.mark.parametrize("rule", ["free", "each_once", "polygon"])
def test_steps_one_by_one_are_the_whole(rule):
    model, points, answers = network(rule), torch.rand(B, N, D), a_permutation()
    whole = model(points, answers).logits
    encoded = model.encode(points)
    state = model.start(encoded)
    for step in range(N + 1):
        state, logits = model.step(state, encoded)
        assert_close(logits, whole[:, step])
        state = model.choose(state, answers[:, step], encoded)


def test_padding_changes_nothing():
    model = network("each_once")
    points, answers = torch.rand(2, 3, D), a_permutation(2, 3)
    padded = torch.cat([points, torch.full((2, 4, D), 9.0)], dim=1)
    lengths = torch.tensor([3, 3])
    narrow, wide = model(points, answers), model(padded, answers, lengths)
    assert_close(wide.weights[..., :4], narrow.weights)
    assert (wide.weights[..., 4:] == 0).all()


def test_rows_of_unlike_length_are_each_read_to_their_end():
    model, points = network(), torch.rand(2, N, D)
    encoded = model.encode(points, torch.tensor([2, N]))
    alone = model.encode(points[:1, :2])
    assert_close(encoded.h[0], alone.h[0])
    assert_close(encoded.keys[0, :3], alone.keys[0])


def test_one_set_of_weights_points_at_any_number_of_points():
    model = network("each_once")
    for n in (1, 2, 9, 30):
        out = model(torch.rand(B, n, D), a_permutation(B, n))
        assert out.logits.shape == (B, n + 1, n + 1)
        assert_close(out.weights.sum(dim=-1), torch.ones(B, n + 1))


def test_what_is_read_next_is_the_input_that_was_chosen():
    model, points = network(), torch.rand(B, N, D)
    encoded = model.encode(points)
    state = model.choose(model.start(encoded), torch.tensor([2, 5, 0]), encoded)
    assert torch.equal(state.x, torch.stack([points[0, 1], points[1, 4], torch.zeros(D)]))
    assert state.chosen.nonzero().tolist() == [[0, 2], [1, 5], [2, 0]]


# ------------------------------------------------------------------ the order of the inputs


def test_the_pointer_itself_does_not_care_in_which_order_keys_lie():
    score, query, keys = (
        Additive(d_q=H, d_k=H, d_hidden=H),
        torch.randn(B, 1, H),
        torch.randn(B, N, H),
    )
    order = torch.randperm(N)
    assert_close(score(query, keys[:, order]), score(query, keys)[..., order])


class EachByItself(nn.Module):
    """An encoder that knows no order: every point alone, and their mean as the last state."""

    def __init__(self) -> None:
        super().__init__()
        self.point = nn.Linear(D, H)

    def forward(self, points):
        keys = self.point(points).tanh()
        mean = keys.mean(dim=1)[None]
        return keys, (mean, mean)


def test_with_an_encoder_without_order_the_whole_does_not_care_and_with_an_lstm_it_does():
    points, order = torch.rand(B, N, D), torch.randperm(N)
    answers = a_permutation()
    number = nn.functional.pad(order.argsort() + 1, (1, 0))  # the new number of each old key
    keys = nn.functional.pad(order + 1, (1, 0))
    for encoder, cares in ((EachByItself(), False), (None, True)):
        model = network("each_once")
        if encoder is not None:
            model.encoder = encoder
        before = model(points, answers).weights
        after = model(points[:, order], number[answers]).weights
        assert torch.allclose(after, before[..., keys], atol=1e-6) is not cares


# ------------------------------------------------------------------ learning


def test_a_network_that_is_sure_and_right_has_no_loss():
    answers = a_permutation()
    sure = 100.0 * nn.functional.one_hot(answers, N + 1).float()
    scored = torch.ones_like(answers, dtype=torch.bool)
    assert pointing_loss(sure, answers, scored).item() == 0.0
    even = torch.zeros(B, N + 1, N + 1)
    assert pointing_loss(even, answers, scored).item() == pytest.approx(torch.tensor(6.0).log())


def test_steps_after_the_end_do_not_count():
    answers = torch.tensor([[1, 0, 0]])
    scored = torch.tensor([[True, True, False]])
    logits = 100.0 * nn.functional.one_hot(torch.tensor([[1, 0, 2]]), 3).float()
    assert pointing_loss(logits, answers, scored).item() == 0.0
    assert pointing_loss(logits, answers, torch.ones_like(scored)).item() > 30


def test_gradients_are_finite_under_every_rule():
    for rule in ("free", "each_once", "polygon"):
        model, answers = network(rule), a_permutation()
        scored = torch.ones_like(answers, dtype=torch.bool)
        pointing_loss(model(torch.rand(B, N, D), answers).logits, answers, scored).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


def test_it_learns_one_batch_by_heart():
    problems = SortData().fresh(8, 4, torch.Generator().manual_seed(0))
    model = PointerNetwork(PointerConfig(d_input=1, d_hidden=32))
    optimiser, loss = torch.optim.Adam(model.parameters(), lr=0.02), torch.tensor(9.0)
    for _ in range(150):
        loss = pointing_loss(
            model(problems.points, problems.answers).logits, problems.answers, problems.scored
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.1


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_input": 0}, "d_input=0 must be at least 1"),
        ({"d_hidden": -1}, "d_hidden=-1 must be at least 1"),
        ({"rule": "tour"}, "rule='tour' is none of free, each_once, polygon"),
    ],
)
def test_a_network_that_cannot_be_built_is_refused(sizes, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises(ValueError, match=message):
        PointerConfig(**sizes)
