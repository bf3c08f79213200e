"""Playing bandits: what each player has missed by each pull, and one play as it went."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from heed.data.bandits import Bandits
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes
from heed.viz.length import STYLES, Curve, line_plot


def missed(
    bandits: Bandits, rewards: Int[Tensor, "bandit pull"]
) -> tuple[Float[Tensor, " pull"], Float[Tensor, " pull"]]:
    """Regret so far at each pull, a mean over bandits, and its standard error.

    Σ_{s≤t} (reward of the arm that pays most − reward), both with the same luck.
    """
    best = bandits.p.argmax(dim=1)
    knows = torch.stack([bandits.pull(at, best) for at in range(rewards.shape[1])], dim=1)
    gone = (knows - rewards).double().cumsum(dim=1)
    return gone.mean(dim=0), gone.std(dim=0) / len(bandits) ** 0.5


def regret_curves(bandits: Bandits, rewards: Mapping[str, Int[Tensor, "bandit pull"]]) -> Picture:
    """A line a player: how much less it has got so far than who knows which arm is best.

    rewards: name -> what came at each pull. From the fifth on, players are drawn as background.
    """
    curves, said = {}, []
    for number, (name, came) in enumerate(rewards.items()):
        mean, error = missed(bandits, came)
        curves[name] = _curve(mean, background=number >= len(STYLES))
        said.append(f"{name} {mean[-1]:.1f} ± {error[-1]:.1f}")
    return line_plot(
        curves,
        x="pulls",
        y="regret so far",
        ylim=None,
        alt=f"Regret over the pulls of {len(bandits):,} bandits, and at the end: "
        f"{'; '.join(said)}.",
    )


def _curve(mean: Float[Tensor, " pull"], *, background: bool) -> Curve:
    """A point every few pulls, the last one among them."""
    every = max(1, len(mean) // 20)
    at = list(range(len(mean) - 1, -1, -every))[::-1]
    return Curve(x=[each + 1 for each in at], y=mean[at].tolist(), background=background)


def play_picture(
    p: Float[Tensor, " arm"], actions: Sequence[int], rewards: Sequence[int]
) -> Picture:
    """One play: a row an arm, a column a pull; filled where it paid, hollow where it did not.

    p: how often each arm pays, which the player is not told; at the side
    """
    if len(actions) != len(rewards):
        raise ValueError(f"{len(actions)} actions and {len(rewards)} rewards: one for each")
    figure = Figure(figsize=(7.4, 0.36 * len(p) + 0.9), layout="constrained")
    axes = figure.add_subplot()
    for paid, face in ((1, RING), (0, "none")):
        at = [t for t, reward in enumerate(rewards) if reward == paid]
        axes.scatter(
            [t + 1 for t in at],
            [actions[t] for t in at],
            s=18,
            facecolors=face,
            edgecolors=RING if paid else INK,
            linewidths=0.8,
        )
    axes.set_yticks(range(len(p)), [f"arm {k}, pays {each:.0%}" for k, each in enumerate(p)])
    axes.set_xlabel("pull")
    axes.set_xlim(0, len(actions) + 1)
    axes.set_ylim(len(p) - 0.5, -0.5)
    plain_axes(axes)
    axes.tick_params(axis="y", length=0)
    told = ", ".join(
        f"arm {k}, which pays {each:.0%} of the time, {list(actions).count(k)} times"
        for k, each in enumerate(p.tolist())
    )
    return picture(figure, f"{len(actions)} pulls, of which {sum(rewards)} paid. It pulled {told}.")
