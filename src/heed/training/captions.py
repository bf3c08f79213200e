"""What the training of Show, Attend and Tell minimises, softly and hard (Xu et al. 2015)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.data.vocabulary import PAD
from heed.models.show_attend_tell import ShowAttendTell, TellOutput


def doubly_stochastic(
    weights: Float[Tensor, "batch step place"], keep: Bool[Tensor, "batch step"]
) -> Float[Tensor, " batch"]:
    """Σ_i (1 − Σ_t α_ti)², of each caption                                  (Eq. 14)

    The sum is over the L places, as the paper writes it; steps that are not kept add nothing.
    """
    return (1 - (weights * keep[..., None]).sum(dim=1)).square().sum(dim=-1)


def doubly_stochastic_floor(places: int, steps: int) -> float:
    """L (1 − C/L)²: what ``doubly_stochastic`` cannot go below, for the C steps hand out C in all.

    It is reached where every place gets C/L, and 0 only if C = L.
    """
    return places * (1 - steps / places) ** 2


def log_probabilities(
    logits: Float[Tensor, "batch step vocab"], target: Int[Tensor, "batch step"]
) -> Float[Tensor, "batch step"]:
    """log p(y_t | y_<t, a) of each word, in nats; 0 where there is none (``PAD``)."""
    loss = nn.functional.cross_entropy(
        logits.flatten(0, 1).float() if logits.dtype != torch.float64 else logits.flatten(0, 1),
        target.flatten(),
        ignore_index=PAD,
        reduction="none",
    )
    return -loss.unflatten(0, target.shape)


def entropy(weights: Float[Tensor, "*batch place"]) -> Float[Tensor, "*batch"]:
    """H(α) = −Σ_i α_i log α_i, in nats; a weight of 0 adds nothing."""
    return torch.special.entr(weights).sum(dim=-1)


def advantages(
    log_p: Float[Tensor, "batch step"],
    keep: Bool[Tensor, "batch step"],
    baseline: Float[Tensor, ""],
    *,
    credit: str = "caption",
) -> Float[Tensor, "batch step"]:
    """How much better than usual it went, for each look.

    ``"caption"``: log p(y | s̃, a) − b, the same for all looks, as in the paper.
    ``"to_go"``: Σ_{u ≥ t} (log p(y_u) − b), with b that of a word. A look cannot change what was
        written before it, so the mean gradient is the same and its noise smaller.
    """
    if credit == "caption":
        return (log_p.sum(dim=1, keepdim=True) - baseline) * keep
    return ((log_p - baseline) * keep).flip(1).cumsum(dim=1).flip(1) * keep


def reinforce(
    out: TellOutput, advantage: Float[Tensor, "batch step"], keep: Bool[Tensor, "batch step"]
) -> Float[Tensor, " batch"]:
    """Σ_t advantage_t · log p(s̃_t | a): its gradient is the second term of Eq. 12.

    Only looks at one place count. Where the coin chose the expectation, s̃ = α, and the paper's
    term is a constant vector that the softmax takes away.
    """
    assert out.glimpses is not None
    drawn = (out.glimpses >= 0) & keep
    alpha = out.weights["cross"].squeeze(1)
    chosen = alpha.gather(-1, out.glimpses.clamp(min=0)[..., None]).squeeze(-1)
    # In low precision the weight of a place that was drawn can still be 0.
    log_alpha = chosen.clamp(min=torch.finfo(chosen.dtype).tiny).log()
    return (advantage.detach() * log_alpha * drawn).sum(dim=1)


def caption_loss(
    model: nn.Module,
    pictures: Float[Tensor, "batch 3 row column"],
    words: Int[Tensor, "batch word"],
) -> Float[Tensor, ""]:
    """What a step minimises, a mean over the N words (``EOS`` among them) of all captions:

    soft   −log p(y | a) + λ Σ_i (1 − Σ_t α_ti)²                             (Eq. 14)
    hard   the same, and less λ_r (log p(y | s̃, a) − b) log p(s̃ | a) + λ_e H(s̃), whose gradient is
           the learning rule at the end of section 4.1 with one sample; and then
           b ← 0.9 b + 0.1 log p(y | s̃, a)

    The paper gives λ to soft attention only; it is one number here, and the rows say which. The
    baseline is the mean over the pictures that were looked at hard, and starts there.
    """
    bare = getattr(model, "module", model)  # several processes wrap it
    assert isinstance(bare, ShowAttendTell)
    config = bare.config
    target = words[:, 1:]
    keep = target != PAD
    out = model(pictures, words[:, :-1])
    log_p, alpha = log_probabilities(out.logits, target), out.weights["cross"].squeeze(1)
    gain = log_p.sum(dim=1)
    if config.doubly_stochastic:
        gain = gain - config.doubly_stochastic * doubly_stochastic(alpha, keep)
    if config.attention == "hard" and model.training:
        hard = out.glimpses[:, 0] >= 0
        went = log_p.detach().sum(dim=1)
        if config.credit == "to_go":
            went = went / keep.sum(dim=1)
        mean = (went * hard).sum() / hard.sum().clamp(min=1)
        before = torch.where(bare.baseline == 0, mean, bare.baseline)
        advantage = advantages(log_p.detach(), keep, before, credit=config.credit)
        gain = gain + config.reinforce * reinforce(out, advantage, keep)
        gain = gain + config.entropy * (entropy(alpha) * keep * hard[:, None]).sum(dim=1)
        if hard.any():
            bare.baseline.copy_(config.decay * before + (1 - config.decay) * mean)
    return -gain.sum() / keep.sum()
