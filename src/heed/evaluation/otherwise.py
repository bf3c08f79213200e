"""An attention that looks where somebody else says."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heed.attention import Attended

Rule = Callable[[Tensor, Tensor], Tensor]
"""From a model's own weights, and what may be looked at, to other weights."""


class Otherwise(nn.Module):
    """In place of an ``Attention`` or ``LocalAttention``: its weights, changed by a rule."""

    def __init__(self, attention: Any, rule: Rule) -> None:
        super().__init__()
        self.attention, self.rule = attention, rule
        self.score = attention.score  # prepares the keys

    def look(
        self,
        query: Float[Tensor, "batch query d_q"],
        prepared: Float[Tensor, "batch key d_p"],
        values: Float[Tensor, "batch key d_v"],
        *,
        keep: Bool[Tensor, "batch 1 key"],
        **window: Any,
    ) -> Attended:
        """As the attention's own ``look``."""
        own = self.attention.look(query, prepared, values, keep=keep, **window)
        weights = self.rule(own.weights, keep)
        return Attended(context=weights @ values, weights=weights)
