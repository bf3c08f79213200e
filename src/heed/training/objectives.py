"""What training minimises."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from heed.data.batches import Batch
from heed.data.vocabulary import PAD


def translation_loss(
    model: nn.Module, batch: Batch, *, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """-1/N Σ log p(yᵢ | y₁ … yᵢ₋₁, x), in nats, over the N target words that are no padding.

    Teacher forced: the model reads the target without its last word and is asked for the target
    without its first (BOS). With ``label_smoothing`` ε the aim is 1 - ε on the right word and ε
    spread over the whole vocabulary (Szegedy et al. 2016, section 7).
    """
    out = model(batch.source, batch.source_lengths, batch.target[:, :-1])
    return cross_entropy(
        out.logits.flatten(0, 1),
        batch.target[:, 1:].flatten(),
        ignore_index=PAD,
        label_smoothing=label_smoothing,
    )
