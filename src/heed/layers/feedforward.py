"""The position-wise network between two looks (Vaswani et al. 2017, section 3.3)."""

from collections.abc import Callable
from typing import Literal, get_args

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Activation = Literal["relu", "gelu"]
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                                  (Eq. 2)

    The same for each position, which sees nothing of the others here.

    activation: ``"relu"``, the max(0, ·) of the paper, or ``"gelu"``, x Φ(x) with the normal
        distribution's Φ (Hendrycks & Gimpel 2016), which BERT has in its place
    dropout: of the inner units, as in tensor2tensor and in PyTorch; the paper does not speak of it
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_inner: int,
        activation: Activation = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            known = ", ".join(get_args(Activation))
            raise ValueError(f"activation={activation!r} is none of {known}")
        self.activation = ACTIVATIONS[activation]
        self.W_1 = nn.Linear(d_model, d_inner)
        self.W_2 = nn.Linear(d_inner, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.W_2(self.dropout(self.activation(self.W_1(x))))
