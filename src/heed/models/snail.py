"""A simple neural attentive meta-learner (Mishra, Rohaninejad, Chen & Abbeel 2018,
arXiv:1707.03141), for few-shot classification.

An episode is a sequence: pictures with their labels, then one without. The network has never seen
these classes; it must find out within the episode which labels belong to what.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.layers.temporal import AttentionBlock, Dilations, Over, TemporalBlock


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
    attention: tuple[tuple[int, int] | None, ...] = ((32, 16), (64, 32), (128, 64))
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
    """For each step a score of each class, and where each attention block looked.

    Only the step that asks was given no label; what stands at the others has never been trained.
    """

    logits: Float[Tensor, "batch step ways"]
    weights: dict[str, Float[Tensor, "batch step step"]]

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
        return self.out(self.parts(pictures[:, None]).flatten(1))


class SNAIL(nn.Module):
    """Attention(K, V) → TC(T, D) → Attention(K, V) → TC(T, D) → Attention(K, V) → matrix

    over x_t = [embedding of picture t; its label, one of ``ways``], all zeros for the label of the
    picture that is asked about (section 3.2). Ours against the paper's: ``longest`` is T.
    """

    def __init__(self, config: SNAILConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = PictureEmbedding(channels=config.channels, d_output=config.d_picture)
        self.blocks = nn.ModuleList()
        width = config.d_picture + config.ways
        for number, sizes in enumerate(config.attention):
            if number and config.temporal:
                block = TemporalBlock(
                    d_input=width,
                    steps=config.longest,
                    filters=config.filters,
                    kind=config.dilations,
                )
                self.blocks.append(block)
                width = block.d_output
            if sizes is not None:
                look = AttentionBlock(
                    d_input=width, d_key=sizes[0], d_value=sizes[1], over=config.over
                )
                self.blocks.append(look)
                width = look.d_output
        self.output = nn.Linear(width, config.ways)

    def forward(
        self,
        pictures: Float[Tensor, "batch step row column"],
        labels: Int[Tensor, "batch step"],
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Guess:
        """An episode a row: pictures from 0 to 1, labels from 0, −1 where there is none.

        lengths: how many pictures there are in each row; what follows is not looked at, by the
            batch norm either
        """
        batch, steps = labels.shape
        if steps > self.config.longest:
            raise ValueError(
                f"{steps} pictures, but this network looks back over {self.config.longest}"
            )
        there = torch.ones_like(labels, dtype=torch.bool)
        if lengths is not None:
            there = torch.arange(steps, device=labels.device) < lengths[:, None]
        found = self.embed(pictures[there])
        embedded = found.new_zeros(batch, steps, found.shape[-1])
        embedded[there] = found
        # One class more takes the labels that are none, and goes.
        named = nn.functional.one_hot(labels % (self.config.ways + 1), self.config.ways + 1)
        x = torch.cat([embedded, named[..., :-1].to(embedded.dtype)], dim=-1)
        weights = {}
        for block in self.blocks:
            if isinstance(block, AttentionBlock):
                looked = block(x)
                x = looked.x
                weights[f"attention {len(weights) + 1}"] = looked.weights
            else:
                x = block(x)
        return Guess(self.output(x), weights)
