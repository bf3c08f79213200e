"""The LSTM of Zaremba et al. (2015, arXiv:1409.2329, section 3.1) a step at a time, for models
that know an input, or a memory, only after the step before.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def memorise(
    gates: Float[Tensor, "batch quadruple"], c: Float[Tensor, "batch d"]
) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch d"]]:
    """h′ and c′ from what comes into the four gates, and the memory c:

        c′ = σ(f) ∘ c + σ(i) ∘ tanh(g),   h′ = σ(o) ∘ tanh(c′)

    ``gates`` is [i; f; g; o], in the order of ``nn.LSTM``.
    """
    i, f, g, o = gates.chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class LSTMCell(nn.Module):
    """[i; f; g; o] = x + U h, then ``memorise``: the cell of ``nn.LSTM``.

    ``drive`` is x = [x_i; x_f; x_g; x_o], everything that does not depend on h: computed by the
    caller, for all steps in one product where it can be. c keeps the precision it comes in.
    """

    def __init__(self, *, d_state: int) -> None:
        super().__init__()
        self.U = nn.Parameter(torch.empty(d_state, 4 * d_state))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal recurrent matrices, each gate its own."""
        for square in self.U.chunk(4, dim=1):
            nn.init.orthogonal_(square)

    def forward(
        self,
        drive: Float[Tensor, "batch quadruple"],
        h: Float[Tensor, "batch d"],
        c: Float[Tensor, "batch d"],
    ) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch d"]]:
        """h′ and c′."""
        return memorise(drive + h @ self.U, c)
