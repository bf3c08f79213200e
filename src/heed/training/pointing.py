"""What a pointer network minimises."""

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


def pointing_loss(
    logits: Float[Tensor, "batch step key"],
    answers: Int[Tensor, "batch step"],
    scored: Bool[Tensor, "batch step"],
) -> Float[Tensor, ""]:
    """−Σ_i log p(C_i | C_1 … C_{i−1}, P), a mean over scored steps, in nats   (Eq. 1 and 2)

    The softmax is taken once, here: a network that is sure and right has a loss of 0. Public code
    that hands *probabilities* to a cross-entropy takes it twice, and can get no lower than 1.46
    with ten points.
    """
    return F.cross_entropy(logits[scored].float(), answers[scored])
