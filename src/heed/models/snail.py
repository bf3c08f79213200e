"""A simple neural attentive meta-learner (Mishra, Rohaninejad, Chen & Abbeel 2018,
arXiv:1707.03141), for few-shot classification and for bandits.

An episode is a sequence. In the first problem, it is pictures with their labels, then one without:
the network has never seen these classes, and must find out within the episode which labels belong
to what. In the second, it is what was done and what came of it, and it must find out what pays.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.layers.temporal import AttentionBlock, Dilations, Over, Seen, TemporalBlock

Sizes = tuple[tuple[int, int] | None, ...]
"""K and V of each attention block; ``None`` where one is left out."""
Kept = tuple[Any, ...]
"""What each block keeps of the steps so far."""


@dataclass(frozen=True, kw_only=True)
class SNAILConfig:
    """Sizes. The paper's for characters, as its public code has them: channels 64, d_picture 64,
    attention ((64, 32), (256, 128), (512, 256)), filters 128.

    ways: classes in an episode; longest: pictures in the longest one, the asked one among them
    attention: K and V of the attention blocks; between two of them stands a temporal block of
        ``filters``. Where one is left out (``None``), what comes in goes on as it is.
    temporal: False leaves the temporal blocks out
    dilations, over: the paper's pseudocode to the letter, and a fault of public code, see
        ``heed.layers.temporal``
    """

    ways: int = 5
    longest: int = 26
    channels: int = 32
    d_picture: int = 64
    attention: Sizes = ((32, 16), (64, 32), (128, 64))
    filters: int = 32
    temporal: bool = True
    dilations: Dilations = "from_one"
    over: Over = "keys"

    def __post_init__(self) -> None:
        if self.ways < 2:
            raise ValueError(f"ways={self.ways}: one class is no choice")
        if self.longest < 2:
            raise ValueError(f"longest={self.longest}: a picture is asked about, another shown")
        if not self.attention:
            raise ValueError("attention=() leaves nothing between pictures and answer")


@dataclass(frozen=True)
class Guess:
    """For each step a score of each class, where each attention block looked, and the picture's
    embedding.

    Only steps that ask were given no label; what stands at the others has never been trained.
    """

    logits: Float[Tensor, "batch step ways"]
    weights: dict[str, Float[Tensor, "batch step step"]]
    embedded: Float[Tensor, "batch step d_picture"] | None = None

    def at(self, steps: Int[Tensor, " batch"]) -> Float[Tensor, "batch ways"]:
        """The scores at one step of each episode."""
        return self.logits[torch.arange(len(steps), device=steps.device), steps]


class PictureEmbedding(nn.Module):
    """Four times convolution 3 × 3, batch norm, max(0, ·), largest of 2 × 2; then a matrix."""

    def __init__(self, *, channels: int, d_output: int, side: int = 28) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for depth in range(4):
            parts += [
                nn.Conv2d(channels if depth else 1, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
        self.parts = nn.Sequential(*parts)
        self.out = nn.Linear(channels * (side // 16) ** 2, d_output)

    def forward(
        self, pictures: Float[Tensor, "picture row column"]
    ) -> Float[Tensor, "picture d_output"]:
        # From the first convolution on, channels last in memory: the same numbers, in half the time
        # on a processor. Parameters stay as they are: Adam's moments come back from disk so.
        first = self.parts[0](pictures[:, None]).contiguous(memory_format=torch.channels_last)
        return self.out(self.parts[1:](first).flatten(1))


class Body(nn.Module):
    """Attention(K, V) → TC(T, D) → Attention(K, V) → TC(T, D) → … over any sequence

    Ours against the paper's: ``longest`` is T, ``filters`` D.
    """

    def __init__(
        self,
        *,
        d_input: int,
        longest: int,
        attention: Sizes,
        filters: int,
        temporal: bool = True,
        dilations: Dilations = "from_one",
        over: Over = "keys",
    ) -> None:
        super().__init__()
        self.longest = longest
        self.blocks = nn.ModuleList()
        width = d_input
        for number, sizes in enumerate(attention):
            if number and temporal:
                block = TemporalBlock(d_input=width, steps=longest, filters=filters, kind=dilations)
                self.blocks.append(block)
                width = block.d_output
            if sizes is not None:
                look = AttentionBlock(d_input=width, d_key=sizes[0], d_value=sizes[1], over=over)
                self.blocks.append(look)
                width = look.d_output
        self.d_output = width

    def forward(
        self,
        x: Float[Tensor, "batch step d_input"],
        *,
        there: Bool[Tensor, "batch step"] | None = None,
    ) -> tuple[Float[Tensor, "batch step d_output"], dict[str, Float[Tensor, "batch step step"]]]:
        """What comes out, and where each attention block looked. there: see ``AttentionBlock``"""
        weights = {}
        for block in self.blocks:
            if isinstance(block, AttentionBlock):
                looked = block(x, there=there)
                x = looked.x
                weights[f"attention {len(weights) + 1}"] = looked.weights
            else:
                x = block(x)
        return x, weights

    def start(self, batch: int) -> Kept:
        """Before the first step."""
        return tuple(block.start(batch) for block in self._all())

    def step(
        self, kept: Kept, x: Float[Tensor, "batch 1 d_input"]
    ) -> tuple[Kept, Float[Tensor, "batch 1 d_output"], dict[str, Float[Tensor, "batch 1 key"]]]:
        """One step, from what the blocks kept of those before it; equal to ``forward``."""
        after, weights = [], {}
        for block, before in zip(self._all(), kept, strict=True):
            before, out = block.step(before, x)
            after.append(before)
            if isinstance(before, Seen):
                weights[f"attention {len(weights) + 1}"] = out.weights
                out = out.x
            x = out
        return tuple(after), x, weights

    def _all(self) -> list[Any]:
        return list(self.blocks)


class SNAIL(nn.Module):
    """Attention(K, V) → TC(T, D) → Attention(K, V) → TC(T, D) → Attention(K, V) → matrix

    over x_t = [embedding of picture t; its label, one of ``ways``], all zeros for the label of the
    picture that is asked about (section 3.2). Ours against the paper's: ``longest`` is T.
    """

    def __init__(self, config: SNAILConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = PictureEmbedding(channels=config.channels, d_output=config.d_picture)
        self.body = Body(
            d_input=config.d_picture + config.ways,
            longest=config.longest,
            attention=config.attention,
            filters=config.filters,
            temporal=config.temporal,
            dilations=config.dilations,
            over=config.over,
        )
        self.output = nn.Linear(self.body.d_output, config.ways)

    def forward(
        self,
        pictures: Float[Tensor, "batch step row column"],
        labels: Int[Tensor, "batch step"],
        lengths: Int[Tensor, " batch"] | None = None,
        drawings: Int[Tensor, "batch step"] | None = None,
    ) -> Guess:
        """An episode a row: pictures from 0 to 1, labels from 0, −1 where there is none.

        lengths: how many pictures there are in each row; what follows is not looked at, by the
            batch norm either
        drawings: see ``embed_where``
        """
        steps = labels.shape[1]
        if steps > self.config.longest:
            raise ValueError(
                f"{steps} pictures, but this network looks back over {self.config.longest}"
            )
        there = existing(labels, lengths)
        embedded = embed_where(self.embed, pictures, there, drawings)
        x = torch.cat([embedded, one_hot(labels, self.config.ways).to(embedded.dtype)], dim=-1)
        x, weights = self.body(x, there=there)
        return Guess(self.output(x), weights, embedded)


def existing(
    labels: Int[Tensor, "batch step"], lengths: Int[Tensor, " batch"] | None
) -> Bool[Tensor, "batch step"]:
    """Which steps do not only fill up a batch."""
    if lengths is None:
        return torch.ones_like(labels, dtype=torch.bool)
    return torch.arange(labels.shape[1], device=labels.device) < lengths[:, None]


def embed_where(
    embed: PictureEmbedding,
    pictures: Float[Tensor, "batch step row column"],
    there: Bool[Tensor, "batch step"],
    drawings: Int[Tensor, "batch step"] | None = None,
) -> Float[Tensor, "batch step d_picture"]:
    """The embeddings of all pictures that are there, in one go; zeros for the others.

    drawings: a number for each picture. Pictures of one number are the same, and are embedded
        once; for the batch norm, too, they are one.
    """
    shown = pictures[there]
    if drawings is None:
        found = embed(shown)
    else:
        once, each = drawings[there].unique(return_inverse=True)
        number = torch.arange(len(each), device=each.device)
        first = number.new_zeros(len(once)).scatter_reduce(
            0, each, number, "amin", include_self=False
        )
        found = embed(shown[first])[each]
    embedded = found.new_zeros(*there.shape, found.shape[-1])
    embedded[there] = found
    return embedded


def one_hot(numbers: Int[Tensor, "batch step"], kinds: int) -> Float[Tensor, "batch step kind"]:
    """A one for each number, nothing but zeros for −1."""
    # One kind more takes the −1, and goes.
    named = nn.functional.one_hot(numbers % (kinds + 1), kinds + 1)
    return named[..., :-1].float()


# ------------------------------------------------------------------------------------- bandits


@dataclass(frozen=True, kw_only=True)
class SNAILPolicyConfig:
    """arms, pulls: of a bandit, the paper's K and N; d_input: of what a pull is embedded as

    attention, filters, temporal, dilations: as in ``SNAILConfig``
    """

    arms: int = 5
    pulls: int = 100
    d_input: int = 32
    attention: Sizes = (None, (16, 16), (16, 16))
    filters: int = 16
    temporal: bool = True
    dilations: Dilations = "from_one"

    def __post_init__(self) -> None:
        check_bandit(self.arms, self.pulls)
        if not self.attention:
            raise ValueError("attention=() leaves nothing between what came and what to do")


def check_bandit(arms: int, pulls: int) -> None:
    """``ValueError`` for a bandit at which there is nothing to learn."""
    if arms < 2 or pulls < 2:
        raise ValueError(f"arms={arms} and pulls={pulls}: there must be a choice, and a second one")


@dataclass(frozen=True)
class Policy:
    """For each pull: a score of each arm, the return that is expected from there on, and where
    each attention block looked (empty without attention)."""

    logits: Float[Tensor, "batch pull arm"]
    values: Float[Tensor, "batch pull"]
    weights: dict[str, Float[Tensor, "batch pull key"]]


def told(
    actions: Int[Tensor, "batch pull"], rewards: Int[Tensor, "batch pull"], arms: int
) -> Float[Tensor, "batch pull symbol"]:
    """What a network is told of pulls: which of 2K things happened, arm k paid or arm k did not.

    All zeros for an action of −1: nothing has happened yet.
    """
    return one_hot(torch.where(actions < 0, -1, 2 * actions + rewards), 2 * arms)


def before(
    actions: Int[Tensor, "batch pull"], rewards: Int[Tensor, "batch pull"]
) -> tuple[Int[Tensor, "batch pull"], Int[Tensor, "batch pull"]]:
    """Action and reward before each pull: −1 and 0 before the first one."""
    return (
        nn.functional.pad(actions[:, :-1], (1, 0), value=-1),
        nn.functional.pad(rewards[:, :-1], (1, 0)),
    )


class SNAILPolicy(nn.Module):
    """π(a_t | …) and V from x_t = W [a_{t−1}, r_{t−1}], through the same blocks (section 3.3).

    A reward is 0 or 1, so action and reward together are one of 2K things: see ``told``.
    """

    def __init__(self, config: SNAILPolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.W = nn.Linear(2 * config.arms, config.d_input)
        self.body = Body(
            d_input=config.d_input,
            longest=config.pulls,
            attention=config.attention,
            filters=config.filters,
            temporal=config.temporal,
            dilations=config.dilations,
        )
        self.output = PolicyOutput(d_input=self.body.d_output, arms=config.arms)

    def forward(
        self, actions: Int[Tensor, "batch pull"], rewards: Int[Tensor, "batch pull"]
    ) -> Policy:
        """What it would have done at each of these pulls. The last action and reward have no part
        in it: they come after."""
        check_length(actions.shape[1], self.config.pulls)
        x = self.W(told(*before(actions, rewards), self.config.arms).to(self.W.weight.dtype))
        x, weights = self.body(x)
        return self.output(x, weights)

    def start(self, batch: int) -> Kept:
        """Before the first pull."""
        return self.body.start(batch)

    def step(
        self, kept: Kept, action: Int[Tensor, " batch"], reward: Int[Tensor, " batch"]
    ) -> tuple[Kept, Policy]:
        """The next pull, after this action and its reward (−1 and 0 before the first pull)."""
        told_now = told(action[:, None], reward[:, None], self.config.arms)
        x = self.W(told_now.to(self.W.weight.dtype))
        kept, x, weights = self.body.step(kept, x)
        return kept, self.output(x, weights)


def check_length(pulls: int, longest: int) -> None:
    """``ValueError`` for more pulls than a network was made for."""
    if pulls > longest:
        raise ValueError(f"{pulls} pulls, but this network looks back over {longest}")


class PolicyOutput(nn.Module):
    """Two matrices: a score of each arm, and the value of being here.

    Both begin near zero, so that a network that has learnt nothing pulls all arms alike.
    """

    def __init__(self, *, d_input: int, arms: int) -> None:
        super().__init__()
        self.pi, self.V = nn.Linear(d_input, arms), nn.Linear(d_input, 1)
        for each in (self.pi, self.V):
            nn.init.normal_(each.weight, std=0.01)
            nn.init.zeros_(each.bias)

    def forward(
        self,
        x: Float[Tensor, "batch pull d_input"],
        weights: dict[str, Float[Tensor, "batch pull key"]],
    ) -> Policy:
        return Policy(self.pi(x), self.V(x)[..., 0], weights)
