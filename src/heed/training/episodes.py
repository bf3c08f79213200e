"""How a network learns to learn: by its answers, and by what its embedding alone would answer."""

from dataclasses import dataclass

from torch import Tensor, nn

from heed.data.episodes import Episodes
from heed.models.prototypes import nearest_mean
from heed.models.snail import Guess
from heed.training.loop import TrainConfig


@dataclass(frozen=True, kw_only=True)
class EpisodeTrainConfig(TrainConfig):
    """prototypes: weight of a second loss, that of prototypes on the network's own embedding. What
    stands behind the embedding learns to compare late; until then nothing else tells the embedding
    which drawings belong together.
    """

    prototypes: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prototypes < 0:
            raise ValueError(
                f"prototypes={self.prototypes}: a loss with a weight below 0 is a gain"
            )


def episode_loss(guess: Guess, episodes: Episodes, config: TrainConfig) -> Tensor:
    """−log p of the right label of each picture that is asked about, in nats, a mean; with
    ``prototypes`` w, plus w times the same of −‖f(x) − c_k‖² (see ``heed.models.prototypes``)."""
    asking = episodes.asking
    right = episodes.classes[asking]

    def loss(logits: Tensor) -> Tensor:
        return nn.functional.cross_entropy(
            logits[asking].float(), right, label_smoothing=config.label_smoothing
        )

    weight = config.prototypes if isinstance(config, EpisodeTrainConfig) else 0.0
    if not weight:
        return loss(guess.logits)
    if guess.embedded is None:
        raise ValueError(f"prototypes={weight}, but this network shows no embedding")
    nearest = nearest_mean(guess.embedded.float(), episodes.labels, guess.logits.shape[-1])
    return loss(guess.logits) + weight * loss(nearest)
