"""Boolean masks. ``True`` always means: this query may look at this key.

Join two with ``&``. This is the convention of ``scaled_dot_product_attention`` and the opposite of
``nn.MultiheadAttention``'s ``key_padding_mask``, where ``True`` means *leave out*.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def padding(lengths: Int[Tensor, " batch"], longest: int) -> Bool[Tensor, "batch 1 key"]:
    """Keep the first ``lengths[b]`` keys of row ``b``."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None, None]


def causal(steps: int, *, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Keep keys at or before the query."""
    return torch.ones(steps, steps, dtype=torch.bool, device=device).tril()


def strictly_causal(steps: int, *, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Keep keys before the query; the first query may look at nothing."""
    return torch.ones(steps, steps, dtype=torch.bool, device=device).tril(-1)


def window(
    centre: Int[Tensor, "*batch query"] | Float[Tensor, "*batch query"],
    radius: int | float,
    longest: int,
) -> Bool[Tensor, "*batch query key"]:
    """Keep keys within ``radius`` of each query's centre (Luong et al. 2015, section 3.2).

    A centre may lie between two keys, or beyond the last one: the window is then cut off or empty.
    """
    keys = torch.arange(longest, device=centre.device)
    return (keys - centre[..., None]).abs() <= radius
