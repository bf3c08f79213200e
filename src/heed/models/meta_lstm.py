"""LSTMs that learn within an episode: SNAIL's rivals.

For pictures as in Santoro et al. (2016, arXiv:1605.06065, their LSTM), for bandits as in Wang et
al. (2016, arXiv:1611.05763) and Duan et al. (2016, arXiv:1611.02779). Whatever they find out must
fit into their cells; nothing can be looked up again.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.models.snail import (
    Guess,
    PictureEmbedding,
    Policy,
    PolicyOutput,
    before,
    check_bandit,
    embed_where,
    existing,
    one_hot,
    told,
)

Cells = tuple[Float[Tensor, "1 batch d"], Float[Tensor, "1 batch d"]]


@dataclass(frozen=True, kw_only=True)
class EpisodeLSTMConfig:
    """ways, channels, d_picture: as in ``SNAILConfig``"""

    ways: int = 5
    channels: int = 32
    d_picture: int = 64
    d_hidden: int = 320

    def __post_init__(self) -> None:
        if self.ways < 2:
            raise ValueError(f"ways={self.ways}: one class is no choice")


class EpisodeLSTM(nn.Module):
    """The same embedding and the same x_t as SNAIL's, then an LSTM and a matrix."""

    def __init__(self, config: EpisodeLSTMConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = PictureEmbedding(channels=config.channels, d_output=config.d_picture)
        self.lstm = nn.LSTM(config.d_picture + config.ways, config.d_hidden, batch_first=True)
        self.output = nn.Linear(config.d_hidden, config.ways)

    def forward(
        self,
        pictures: Float[Tensor, "batch step row column"],
        labels: Int[Tensor, "batch step"],
        lengths: Int[Tensor, " batch"] | None = None,
        drawings: Int[Tensor, "batch step"] | None = None,
    ) -> Guess:
        """As ``SNAIL.forward``, for episodes of any length."""
        embedded = embed_where(self.embed, pictures, existing(labels, lengths), drawings)
        x = torch.cat([embedded, one_hot(labels, self.config.ways).to(embedded.dtype)], dim=-1)
        return Guess(self.output(self.lstm(x)[0]), {}, embedded)


@dataclass(frozen=True, kw_only=True)
class LSTMPolicyConfig:
    """arms, pulls, d_input: as in ``SNAILPolicyConfig``"""

    arms: int = 5
    pulls: int = 100
    d_input: int = 32
    d_hidden: int = 177

    def __post_init__(self) -> None:
        check_bandit(self.arms, self.pulls)


class LSTMPolicy(nn.Module):
    """π(a_t | …) and V from the same x_t as SNAIL's, through an LSTM."""

    def __init__(self, config: LSTMPolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.W = nn.Linear(2 * config.arms, config.d_input)
        self.lstm = nn.LSTM(config.d_input, config.d_hidden, batch_first=True)
        self.output = PolicyOutput(d_input=config.d_hidden, arms=config.arms)

    def forward(
        self, actions: Int[Tensor, "batch pull"], rewards: Int[Tensor, "batch pull"]
    ) -> Policy:
        """As ``SNAILPolicy.forward``, for any number of pulls."""
        x = self.W(told(*before(actions, rewards), self.config.arms).to(self.W.weight.dtype))
        return self.output(self.lstm(x)[0], {})

    def start(self, batch: int) -> Cells:
        """Before the first pull."""
        nothing = self.W.weight.new_zeros(1, batch, self.config.d_hidden)
        return nothing, nothing

    def step(
        self, cells: Cells, action: Int[Tensor, " batch"], reward: Int[Tensor, " batch"]
    ) -> tuple[Cells, Policy]:
        """The next pull, after this action and its reward (−1 and 0 before the first pull)."""
        told_now = told(action[:, None], reward[:, None], self.config.arms)
        x = self.W(told_now.to(self.W.weight.dtype))
        out, cells = self.lstm(x, cells)
        return cells, self.output(out, {})
