"""A translator small enough to be searched exhaustively: four words a side, random weights."""

import math

import pytest
import torch
from torch import nn

PAD, EOS = 0, 2


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


@pytest.fixture
def scripted():
    """A translator that says log p(next | before) as a table has it, and EOS at step ``ends_at``.

    What the table leaves out shares what is left of the probability with PAD, so it is no rival.
    """

    def make(table: dict[int, dict[int, float]], ends_at: int):
        from dataclasses import dataclass

        from torch import Tensor

        from heed.models.translator import StepOutput

        @dataclass(frozen=True)
        class Steps:
            done: Tensor

        class Scripted:
            def encode(self, source, source_lengths):
                return Steps(torch.zeros(len(source)))

            def start(self, encoded):
                return encoded

            def step(self, state, token, encoded):
                now = state.done + 1
                rows = [
                    {EOS: 0.0} if step >= ends_at else table.get(before, {EOS: 0.0})
                    for before, step in zip(token.tolist(), now.tolist(), strict=True)
                ]
                logits = torch.full((len(rows), 6), -40.0)
                for row, said in enumerate(rows):
                    for word, log_p in said.items():
                        logits[row, word] = log_p
                    rest = 1 - sum(math.exp(log_p) for log_p in said.values())
                    logits[row, PAD] = math.log(max(rest, 1e-30))
                return Steps(now), StepOutput(logits, None)

            def __call__(self, source, source_lengths, target_in):
                raise AssertionError("decoding steps")

        return Scripted()

    return make
