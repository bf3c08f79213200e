"""Two nets against each other: the hinge by hand, and a step written out with two Adams."""

from dataclasses import replace

import pytest
import torch

from heed.models.sagan import SAGAN, SAGANConfig
from heed.training.adversarial import drawing, judging, train_both, two_rates
from heed.training.loop import Diverged, TrainConfig

SMALL = SAGANConfig(
    d_z=4, generator=(8, 8, 8), discriminator=(8, 8, 8), generator_rate=0.5, beta_1=0.3, beta_2=0.8
)
PLAN = TrainConfig(steps=5, batch_size=6, lr=0.02, warmup=2, clip=0.05)


def real(steps: int = 5):
    generator = torch.Generator().manual_seed(1)
    return [2 * torch.rand(6, 3, 32, 32, generator=generator) - 1 for _ in range(steps)]


def made() -> SAGAN:
    torch.manual_seed(0)
    model = SAGAN(SMALL)
    with torch.no_grad():
        for net in (model.generator, model.discriminator):
            assert net.attention is not None
            net.attention.gamma.fill_(0.5)
    return model


# ------------------------------------------------------------------ losses


def test_who_says_0_of_everything_loses_2():
    assert judging(torch.zeros(3), torch.zeros(5)).item() == 2


def test_a_mean_over_each_crowd_by_hand():
    loss = judging(torch.tensor([0.5, 2.0, -1.0]), torch.tensor([-3.0, 0.25]))
    assert loss.item() == pytest.approx((0.5 + 0 + 2.0) / 3 + (0 + 1.25) / 2)
    assert drawing(torch.tensor([-3.0, 0.25])).item() == pytest.approx(2.75 / 2)


def test_beyond_the_hinge_the_discriminator_learns_nothing_and_the_generator_goes_on():
    scores = torch.tensor([1.5, 0.5, -0.5, -1.5], requires_grad=True)
    (real,) = torch.autograd.grad(judging(scores, torch.zeros(1)), scores)
    assert real.tolist() == [0, -0.25, -0.25, -0.25]
    (fake,) = torch.autograd.grad(judging(torch.zeros(1), scores), scores)
    assert fake.tolist() == [0.25, 0.25, 0.25, 0]
    (drawn,) = torch.autograd.grad(drawing(scores), scores)
    assert drawn.tolist() == [-0.25] * 4


# ------------------------------------------------------------------ the step


def test_a_step_is_the_discriminators_and_then_the_generators():
    """Written out with an Adam for each net; both see the same z."""
    ours, theirs = made(), made()
    torch.manual_seed(7)
    reports = list(train_both(ours, real(), PLAN))
    torch.manual_seed(7)
    theirs.train()
    how = {"betas": (0.3, 0.8)}
    judge = torch.optim.Adam(theirs.discriminator.parameters(), lr=1.0, **how)
    draw = torch.optim.Adam(theirs.generator.parameters(), lr=1.0, **how)
    for step, x in enumerate(real(), start=1):
        judge.param_groups[0]["lr"] = PLAN.rate(step)
        draw.param_groups[0]["lr"] = 0.5 * PLAN.rate(step)
        fake = theirs.generator(torch.randn(6, 4)).pictures
        both = theirs.discriminator(torch.cat([x, fake.detach()])).scores
        loss = (1 - both[:6]).clamp(min=0).mean() + (1 + both[6:]).clamp(min=0).mean()
        judge.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.discriminator.parameters(), 0.05)
        judge.step()
        assert reports[step - 1].loss == pytest.approx(loss.item(), abs=1e-5)
        fooled = -theirs.discriminator(fake).scores.mean()
        draw.zero_grad()
        fooled.backward()
        torch.nn.utils.clip_grad_norm_(theirs.generator.parameters(), 0.05)
        draw.step()
        theirs.follow()
    for (name, one), other in zip(
        ours.state_dict().items(), theirs.state_dict().values(), strict=True
    ):
        assert torch.allclose(one, other, atol=2e-5), name
    assert [report.step for report in reports] == [1, 2, 3, 4, 5]
    assert [report.lr for report in reports] == [PLAN.rate(step) for step in range(1, 6)]
    assert all(report.norm > 0 for report in reports)


def test_every_parameter_of_both_nets_learns_and_the_mean_follows():
    model = made()
    before = {name: p.clone() for name, p in model.named_parameters()}
    list(train_both(model, real(), PLAN))
    for name, p in model.named_parameters():
        assert not torch.equal(p, before[name]), name
        assert p.requires_grad is not name.startswith("mean."), name


def test_the_learning_rates_keep_their_ratio_whatever_the_schedule():
    model = made()
    optimiser = two_rates(model, PLAN)
    for report in train_both(model, real(), PLAN, optimiser=optimiser):
        judge, draw = optimiser.param_groups
        assert judge["lr"] == report.lr
        assert draw["lr"] == 0.5 * report.lr


def test_one_adam_holds_all_parameters_that_learn_and_no_others():
    model = made()
    held = [p for group in two_rates(model, PLAN).param_groups for p in group["params"]]
    learnt = [*model.generator.parameters(), *model.discriminator.parameters()]
    assert sorted(map(id, held)) == sorted(map(id, learnt))


def test_a_step_can_start_anywhere():
    reports = train_both(made(), real(), PLAN, done=3)
    assert [report.step for report in reports] == [4, 5]


def test_a_loss_that_is_no_number_stops_before_it_reaches_the_weights():
    model = made()
    steps = train_both(model, [torch.full((6, 3, 32, 32), float("nan"))], PLAN)
    before = {name: p.clone() for name, p in model.named_parameters()}
    with pytest.raises(Diverged, match="a loss of step 1 is nan"):
        next(steps)
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name])


def test_in_bfloat16_the_losses_are_float32_and_it_learns():
    model = made()
    (report,) = train_both(model, real(1), replace(PLAN, steps=1, precision="bfloat16"))
    assert report.loss == pytest.approx(2, abs=0.5)
    assert all(p.dtype == torch.float32 for p in model.parameters())
