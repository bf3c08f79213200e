"""AttentionTrace: the one record that every picture, lab and metric understands."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Axis:
    """Names along one side of a map; ``grid`` (rows, columns) if they tile an image row by row."""

    labels: tuple[str, ...]
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.grid is not None and self.grid[0] * self.grid[1] != len(self.labels):
            raise ValueError(f"a {self.grid} grid does not hold {len(self.labels)} labels")


@dataclass(frozen=True, kw_only=True)
class AttentionTrace:
    """Attention weights for one example, off the graph, every axis named.

    ``query`` is what looks (for a translation: the words written), ``key`` what is looked at.
    """

    name: str
    weights: Float[np.ndarray, "head query key"]
    heads: tuple[str, ...]
    query: Axis
    key: Axis

    def __post_init__(self) -> None:
        named = (len(self.heads), len(self.query.labels), len(self.key.labels))
        if self.weights.shape != named:
            raise ValueError(f"{self.name}: weights {self.weights.shape}, but names for {named}")

    @classmethod
    def of(
        cls,
        name: str,
        weights: Float[Tensor, "query key"]
        | Float[Tensor, "head query key"]
        | Float[np.ndarray, "query key"]
        | Float[np.ndarray, "head query key"],
        *,
        query: Axis | Sequence[str],
        key: Axis | Sequence[str],
        heads: Sequence[str] | None = None,
    ) -> "AttentionTrace":
        """A copy of a tensor or array; a map without heads becomes a trace with one."""
        if isinstance(weights, Tensor):
            weights = weights.detach().cpu().float().numpy()
        array = np.array(weights[None] if weights.ndim == 2 else weights)
        return cls(
            name=name,
            weights=array,
            heads=tuple(heads or (f"head {i}" for i in range(1, len(array) + 1))),
            query=query if isinstance(query, Axis) else Axis(tuple(query)),
            key=key if isinstance(key, Axis) else Axis(tuple(key)),
        )
