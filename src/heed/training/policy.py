"""How a policy learns bandits: it plays many side by side, then makes what paid likelier."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.data.bandits import Bandits
from heed.training.loop import Diverged, Report, TrainConfig, adam, moved, precision

Paid = Literal["expected", "drawn"]


@dataclass(frozen=True, kw_only=True)
class PolicyTrainConfig(TrainConfig):
    """Proximal policy optimisation (Schulman et al. 2017). A step plays ``batch_size`` bandits.

    epochs: how often it learns from the same bandits; parts: in so many parts each time
    discount, trace: γ and λ of generalised advantages (Schulman et al. 2016)
    ratio: ε, how far a probability may move; value, entropy: weights of both other terms, the
        second falling to 0 along a line
    paid: "expected" teaches with p of the arm that was pulled, "drawn" with the 1 or 0 that came.
        Both have the same mean, the first without the arm's own luck. What the policy is told is
        always what came.
    """

    batch_size: int = 256
    clip: float = 0.5
    epochs: int = 3
    parts: int = 2
    discount: float = 0.99
    trace: float = 0.9
    ratio: float = 0.2
    value: float = 0.5
    entropy: float = 0.01
    paid: Paid = "expected"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_smoothing:
            raise ValueError(f"label_smoothing={self.label_smoothing}: a policy has no labels")
        if not (0 < self.discount <= 1 and 0 <= self.trace <= 1):
            raise ValueError(
                f"discount={self.discount} and trace={self.trace} must lie between 0 and 1"
            )
        if self.epochs < 1 or not 1 <= self.parts <= self.batch_size:
            raise ValueError(
                f"epochs={self.epochs} and parts={self.parts} of {self.batch_size} bandits: "
                "at least one of each, and a bandit in each part"
            )
        if not 0 < self.ratio < 1:
            raise ValueError(f"ratio={self.ratio}: a probability may move by less than itself")
        if self.paid not in get_args(Paid):
            raise ValueError(f"paid={self.paid!r} is none of {', '.join(get_args(Paid))}")


@dataclass(frozen=True)
class Played:
    """What was done and what came of it; log_probs: of what was done, and values, as the policy
    had them then. p: how often each pulled arm pays."""

    actions: Int[Tensor, "bandit pull"]
    rewards: Int[Tensor, "bandit pull"]
    p: Float[Tensor, "bandit pull"]
    log_probs: Float[Tensor, "bandit pull"]
    values: Float[Tensor, "bandit pull"]

    def rows(self, which: Int[Tensor, " row"]) -> "Played":
        """Some of the bandits."""
        return Played(
            self.actions[which],
            self.rewards[which],
            self.p[which],
            self.log_probs[which],
            self.values[which],
        )


def play(
    model: Any,
    bandits: Bandits,
    *,
    likeliest: bool = False,
    generator: torch.Generator | None = None,
) -> Played:
    """Let a policy play all of them, pull by pull, without a gradient.

    likeliest: pull the likeliest arm instead of drawing one. generator: without it, PyTorch's own
    random numbers draw.
    """
    n, pulls = len(bandits), bandits.pulls
    device = bandits.p.device
    action = torch.full((n,), -1, device=device)
    reward = torch.zeros(n, dtype=torch.long, device=device)
    done: list[tuple[Tensor, ...]] = []
    with torch.no_grad():
        kept = model.start(n)
        for at in range(pulls):
            kept, policy = model.step(kept, action, reward)
            log_p = policy.logits[:, 0].float().log_softmax(dim=-1)
            if likeliest:
                action = log_p.argmax(dim=-1)
            else:
                action = torch.multinomial(log_p.exp(), 1, generator=generator)[:, 0]
            reward = bandits.pull(at, action)
            row = torch.arange(n, device=device)
            said = log_p[row, action], policy.values[:, 0].float()
            done.append((action, reward, bandits.p[row, action], *said))
    return Played(*(torch.stack(each, dim=1) for each in zip(*done, strict=True)))


def horizons(pulls: int, discount: float) -> Float[Tensor, " pull"]:
    """1 + γ + γ² + …, over the pulls that are left at each pull."""
    return torch.tensor(discount).pow(torch.arange(pulls)).cumsum(dim=0).flip(0)


def advantages(
    rewards: Float[Tensor, "bandit pull"],
    values: Float[Tensor, "bandit pull"],
    *,
    discount: float,
    trace: float,
) -> Float[Tensor, "bandit pull"]:
    """Â_t = Σ_l (γλ)^l δ_{t+l},  δ_t = r_t + γ V_{t+1} − V_t     (Schulman et al. 2016, Eq. 16)

    After the last pull nothing is to come: V is 0 there.
    """
    pulls = rewards.shape[1]
    later = nn.functional.pad(values[:, 1:], (0, 1))
    delta = rewards + discount * later - values
    apart = torch.arange(pulls)[:, None] - torch.arange(pulls)
    fades = torch.tensor(discount * trace).pow(apart.clamp(min=0)) * (apart >= 0)
    return delta @ fades.to(delta)


def policy_loss(
    model: Any,
    played: Played,
    advantage: Float[Tensor, "bandit pull"],
    aim: Float[Tensor, "bandit pull"],
    config: PolicyTrainConfig,
    *,
    entropy: float,
) -> Float[Tensor, ""]:
    """−E min(r Â, clip(r, 1 − ε, 1 + ε) Â) + c₁ E (V − aim)² − c₂ E H(π)

    with r = π(a) / π_old(a)                                  (Schulman et al. 2017, Eq. 7 and 9)
    """
    policy = model(played.actions, played.rewards)
    log_p = policy.logits.float().log_softmax(dim=-1)
    chosen = log_p.gather(2, played.actions[..., None])[..., 0]
    r = (chosen - played.log_probs).exp()
    held = r.clamp(1 - config.ratio, 1 + config.ratio)
    gain = torch.minimum(r * advantage, held * advantage).mean()
    off = (policy.values.float() - aim).square().mean()
    doubt = -(log_p.exp() * log_p).sum(dim=-1).mean()
    return config.value * off - gain - entropy * doubt


def regret(bandits: Bandits, played: Played) -> float:
    """By how much the pulled arm pays less often than the best one, a mean over pulls."""
    return (bandits.p.amax(dim=1, keepdim=True) - played.p).mean().item()


def train_policy(
    model: Any,
    batches: Iterable[Bandits],
    config: PolicyTrainConfig,
    *,
    optimiser: torch.optim.Optimizer | None = None,
    done: int = 0,
) -> Iterator[Report]:
    """Like ``heed.training.loop.train``, but a step plays a batch of bandits and then learns from
    it ``epochs`` times. Arms and parts are drawn from PyTorch's own random numbers, whose state a
    run saves.

    The model's values are means a pull (``heed.models.snail.Policy``); here they are multiplied by
    what is still to come, γ included. The loss that is reported is the regret a pull.
    """
    optimiser = optimiser or adam(model, config)
    device = next(model.parameters()).device
    for step, batch in zip(range(done + 1, config.steps + 1), batches, strict=False):
        model.train()
        rate = config.rate(step)
        for group in optimiser.param_groups:
            group["lr"] = rate
        bandits = moved(batch, device)
        with precision(config.precision, device):
            played = play(model, bandits)
        left = horizons(bandits.pulls, config.discount).to(device)
        paid = played.p if config.paid == "expected" else played.rewards.float()
        gained = advantages(
            paid, played.values * left, discount=config.discount, trace=config.trace
        )
        aim = played.values + gained / left
        even = (gained - gained.mean()) / (gained.std() + 1e-6)
        entropy = config.entropy * (1 - (step - 1) / config.steps)
        norm = 0.0
        for _ in range(config.epochs):
            order = torch.randperm(len(bandits)).to(device)
            for rows in order.chunk(config.parts):
                optimiser.zero_grad(set_to_none=True)
                with precision(config.precision, device):
                    loss = policy_loss(
                        model, played.rows(rows), even[rows], aim[rows], config, entropy=entropy
                    )
                if not math.isfinite(loss.item()):
                    raise Diverged(
                        f"the loss of step {step} is {loss.item()}; "
                        f"try a smaller lr than {rate:.2g}"
                    )
                loss.backward()
                norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip).item()
                optimiser.step()
        yield Report(step, regret(bandits, played), rate, norm)
