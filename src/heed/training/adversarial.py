"""Two nets against each other: what each of them is taught, and a step that teaches both."""

import math
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heed.models.sagan import SAGAN
from heed.training.loop import Diverged, Report, TrainConfig, moved, precision


def judging(real: Float[Tensor, " real"], drawn: Float[Tensor, " drawn"]) -> Float[Tensor, ""]:
    """L_D = E max(0, 1 − D(x)) + E max(0, 1 + D(G(z)))           (Zhang et al. 2018, section 3)

    The hinge: a real picture above 1 and a drawn one below −1 teach nothing more. 2 for a
    discriminator that says 0 of everything.
    """
    return torch.relu(1 - real).mean() + torch.relu(1 + drawn).mean()


def drawing(drawn: Float[Tensor, " batch"]) -> Float[Tensor, ""]:
    """L_G = −E D(G(z)), without a hinge."""
    return -drawn.mean()


def two_rates(model: SAGAN, config: TrainConfig) -> torch.optim.Adam:
    """One Adam with a group of parameters for each net (Heusel et al. 2017: two time scales).

    A group's ``times`` is its multiple of the learning rate of a step.
    """
    how = model.config
    groups = [
        {"params": list(model.discriminator.parameters()), "times": 1.0},
        {"params": list(model.generator.parameters()), "times": how.generator_rate},
    ]
    return torch.optim.Adam(groups, lr=config.lr, betas=(how.beta_1, how.beta_2), fused=True)


def train_both(
    model: SAGAN,
    batches: Iterable[Float[Tensor, "batch 3 row column"]],
    config: TrainConfig,
    *,
    optimiser: torch.optim.Optimizer | None = None,
    done: int = 0,
) -> Iterator[Report]:
    """Like ``heed.training.loop.train``, but each step is two: the discriminator learns from the
    real pictures and as many drawn ones, then the generator from what it says of these; and the
    mean of the generators follows. z is drawn from PyTorch's own random numbers, whose state a
    run saves.

    The loss that is reported is the discriminator's. Each net's gradient is clipped by itself.
    """
    optimiser = optimiser or two_rates(model, config)
    judge, draw = optimiser.param_groups
    device = next(model.parameters()).device
    for step, batch in zip(range(done + 1, config.steps + 1), batches, strict=False):
        model.train()
        rate = config.rate(step)
        for group in optimiser.param_groups:
            group["lr"] = rate * group["times"]
        real = moved(batch, device)
        z = torch.randn(len(real), model.config.d_z, device=device)
        with precision(config.precision, device):
            drawn = model.generator(z).pictures.float()
            scores = model.discriminator(torch.cat([real, drawn.detach()])).scores.float()
            loss = judging(*scores.chunk(2))
        norm = learn(optimiser, judge, loss, config, step)
        model.discriminator.requires_grad_(False)  # it only passes the gradient on
        with precision(config.precision, device):
            fooled = drawing(model.discriminator(drawn).scores.float())
        model.discriminator.requires_grad_(True)
        learn(optimiser, draw, fooled, config, step)
        model.follow()
        yield Report(step, loss.item(), rate, norm)


def learn(
    optimiser: torch.optim.Optimizer,
    group: dict,
    loss: Tensor,
    config: TrainConfig,
    step: int,
) -> float:
    """One step for the parameters of one group; the others have no gradient, so that Adam leaves
    them and their moments alone. Returns the gradient's length before clipping."""
    if not math.isfinite(loss.item()):
        raise Diverged(f"a loss of step {step} is {loss.item()}; try a smaller lr than {config.lr}")
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(group["params"], config.clip)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return norm.item()
