"""Prototypes (Snell, Swersky & Zemel 2017, arXiv:1703.05175): no memory, no attention; what is
learnt is the embedding, and the rest is a distance.
"""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.models.snail import Guess, PictureEmbedding, embed_where, existing, one_hot


@dataclass(frozen=True, kw_only=True)
class PrototypesConfig:
    """ways, channels, d_picture: as in ``SNAILConfig``"""

    ways: int = 5
    channels: int = 32
    d_picture: int = 64

    def __post_init__(self) -> None:
        if self.ways < 2:
            raise ValueError(f"ways={self.ways}: one class is no choice")


class Prototypes(nn.Module):
    """c_k = mean of f(x) over the pictures labelled k;  logit_k = −‖f(x_t) − c_k‖²   (Eq. 1 and 2)

    At each step, c_k is the mean of what was shown before it, and a class that was not shown yet
    cannot be answered: its logit is −∞.
    """

    def __init__(self, config: PrototypesConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = PictureEmbedding(channels=config.channels, d_output=config.d_picture)

    def forward(
        self,
        pictures: Float[Tensor, "batch step row column"],
        labels: Int[Tensor, "batch step"],
        lengths: Int[Tensor, " batch"] | None = None,
        drawings: Int[Tensor, "batch step"] | None = None,
    ) -> Guess:
        """As ``SNAIL.forward``, for episodes of any length."""
        # Distances are differences of large numbers: not in bfloat16.
        f = embed_where(self.embed, pictures, existing(labels, lengths), drawings).float()
        return Guess(nearest_mean(f, labels, self.config.ways), {}, f)


def nearest_mean(
    f: Float[Tensor, "batch step d_picture"], labels: Int[Tensor, "batch step"], ways: int
) -> Float[Tensor, "batch step ways"]:
    """−‖f_t − c_k‖² for each step and class, c_k over the steps before it: see ``Prototypes``."""
    named = one_hot(labels, ways)
    shown = nn.functional.pad(named.cumsum(dim=1)[:, :-1], (0, 0, 1, 0))
    sums = (named[..., None] * f[:, :, None]).cumsum(dim=1)[:, :-1]
    sums = nn.functional.pad(sums, (0, 0, 0, 0, 1, 0))
    means = sums / shown.clamp(min=1)[..., None]
    distances = (f[:, :, None] - means).square().sum(dim=-1)
    return (-distances).masked_fill(shown == 0, float("-inf"))
