"""How many operations of a training step have to wait for each other.

However many processors there are, they cannot be done at once. Vaswani et al. (2017) count them a
layer, as "sequential operations" (Table 1): O(n) for a recurrent one, O(1) for self-attention.
"""

from typing import Any

from torch import Tensor


def in_sequence(result: Tensor) -> int:
    """The most operations on a way from ``result`` back to where autograd begins.

    One node of autograd's graph counts as one, however large the matrices are; the leaves do not
    count. What is not differentiated is not seen.
    """
    if result.grad_fn is None:
        raise ValueError("autograd has recorded nothing on the way to this tensor")
    longest: dict[Any, int] = {}
    stack = [result.grad_fn]
    while stack:
        node = stack[-1]
        before = [each for each, _ in node.next_functions if each is not None]
        missing = [each for each in before if each not in longest]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        leaf = not before  # AccumulateGrad: a parameter, no operation
        longest[node] = 0 if leaf else 1 + max(longest[each] for each in before)
    return longest[result.grad_fn]
