"""The learning rate of the Transformer's paper, for those who train as it did."""

from dataclasses import dataclass

from heed.training.loop import TrainConfig
from heed.training.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class PaperTrainConfig(TrainConfig):
    """rate = lr · d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)   (Vaswani et al. 2017, Eq. 3)

    with lr = 1 in the paper. It climbs for ``warmup`` steps to (d_model · warmup)^−0.5 and falls
    with the root of the step from there; the first step is number 1. ``schedule`` and ``floor``
    have no say in it, nor has the number of steps: such a training can always go on.
    """

    d_model: int
    lr: float = 1.0
    warmup: int = 4_000
    schedule: Schedule = "constant"
    label_smoothing: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_model < 1 or self.warmup < 1:
            raise ValueError(
                f"d_model={self.d_model} and warmup={self.warmup} must be at least 1: "
                "the rate is divided by their roots"
            )

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return self.lr * self.d_model**-0.5 * min(step**-0.5, step * self.warmup**-1.5)
