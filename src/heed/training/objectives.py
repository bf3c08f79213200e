"""What training minimises."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.data.batches import Batch
from heed.data.vocabulary import PAD


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Cross-entropy with label smoothing whose backward pass needs one table, not four.

    ``nn.functional.cross_entropy`` builds the table of log-probabilities, its gradient, and one
    more for the smoothing; over thousands of words these passes through memory cost more than
    the product that made the scores. d loss / d z = softmax(z) − target, written in place.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: Float[Tensor, "row vocab"],
        target: Int[Tensor, " row"],
        smoothing: float,
    ) -> Float[Tensor, ""]:
        real = target != PAD
        total = logits.logsumexp(dim=-1)
        right = logits.gather(1, target[:, None]).squeeze(1)
        loss = total - (1 - smoothing) * right
        if smoothing:
            loss -= smoothing * logits.mean(dim=-1)
        ctx.save_for_backward(logits, total, target, real)
        ctx.smoothing = smoothing
        return loss[real].mean()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        logits, total, target, real = ctx.saved_tensors
        share = grads[0] * real / real.sum()
        gradient = (logits - total[:, None]).exp_().sub_(ctx.smoothing / logits.shape[1])
        spot = target[:, None]
        gradient.scatter_add_(1, spot, gradient.new_full(spot.shape, ctx.smoothing - 1))
        return gradient.mul_(share[:, None]), None, None


def translation_loss(
    model: nn.Module, batch: Batch, *, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """-1/N Σ log p(yᵢ | y₁ … yᵢ₋₁, x), in nats, over the N target words that are no padding.

    Teacher forced: the model reads the target without its last word and is asked for the target
    without its first (BOS). With ``label_smoothing`` ε the aim is 1 - ε on the right word and ε
    spread over the whole vocabulary (Szegedy et al. 2016, section 7).
    """
    out = model(batch.source, batch.source_lengths, batch.target[:, :-1])
    loss = _SmoothedCrossEntropy.apply(
        out.logits.flatten(0, 1).float(), batch.target[:, 1:].flatten(), label_smoothing
    )
    assert isinstance(loss, Tensor)
    return loss
