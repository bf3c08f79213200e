"""The position-wise network between two looks (Vaswani et al. 2017, section 3.3)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                                  (Eq. 2)

    The same for each position, which sees nothing of the others here.

    dropout: of the inner units, as in tensor2tensor and in PyTorch; the paper does not speak of it
    """

    def __init__(self, *, d_model: int, d_inner: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.W_1 = nn.Linear(d_model, d_inner)
        self.W_2 = nn.Linear(d_inner, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.W_2(self.dropout(torch.relu(self.W_1(x))))
