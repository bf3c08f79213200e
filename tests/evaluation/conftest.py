"""A translator small enough to be searched exhaustively: four words a side, random weights."""

import pytest
import torch
from torch import nn


def _tiny(*, attends: bool = True, vocab: int = 6, seed: int = 0, dropout: float = 0.0):
    """Made on demand: conftest is imported before the shapes in ``heed`` are switched on."""
    from dataclasses import dataclass

    from torch import Tensor

    from heed.models.translator import DecoderOutput, StepOutput

    @dataclass(frozen=True)
    class Encoded:
        keys: Tensor
        keep: Tensor

    @dataclass(frozen=True)
    class State:
        s: Tensor

    class Tiny(nn.Module):
        """s ← tanh(tanh(A s + B y) + Σ α h),  α ∝ exp(s·h),  p(y) ∝ exp(2 W s)."""

        def __init__(self) -> None:
            super().__init__()
            generator = torch.Generator().manual_seed(seed)

            def drawn(*shape: int) -> nn.Parameter:
                return nn.Parameter(torch.randn(*shape, generator=generator, dtype=torch.float64))

            self.A, self.B, self.H, self.W = (
                drawn(5, 5),
                drawn(vocab, 5),
                drawn(11, 5),
                drawn(5, vocab),
            )
            self.bias = nn.Parameter(torch.zeros(vocab, dtype=torch.float64))
            self.dropout = nn.Dropout(dropout)
            self.steps = 0

        def encode(self, source, source_lengths):
            keep = torch.arange(source.shape[1]) < source_lengths[:, None]
            return Encoded(self.H[source] * keep[..., None], keep)

        def start(self, encoded):
            return State(encoded.keys.sum(1) / encoded.keep.sum(1, keepdim=True))

        def step(self, state, token, encoded):
            self.steps += 1
            s = torch.tanh(state.s @ self.A + self.B[token])
            scores = (encoded.keys @ s[..., None])[..., 0].masked_fill(~encoded.keep, float("-inf"))
            weights = scores.softmax(-1)
            s = torch.tanh(s + (weights[..., None] * encoded.keys).sum(1))
            logits = self.dropout(s) @ self.W * 2 + self.bias
            return State(s), StepOutput(logits, weights if attends else None)

        def forward(self, source, source_lengths, target_in):
            encoded = self.encode(source, source_lengths)
            state, outs = self.start(encoded), []
            for token in target_in.unbind(1):
                state, out = self.step(state, token, encoded)
                outs.append(out)
            logits = torch.stack([out.logits for out in outs], 1)
            if not attends:
                return DecoderOutput(logits, {})
            return DecoderOutput(
                logits, {"cross": torch.stack([o.weights for o in outs], 1)[:, None]}
            )

    return Tiny()


@pytest.fixture
def tiny():
    return _tiny
