"""One LSTM unit, a step at a time, for decoders whose input is only known after the last step."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LSTMCell(nn.Module):
    """i, f, o = σ(x_i + U_i h), σ(x_f + U_f h), σ(x_o + U_o h);   g = tanh(x_g + U_g h)
    c′ = f ∘ c + i ∘ g
    h′ = o ∘ tanh(c′)                       (Zaremba et al. 2015, arXiv:1409.2329, section 3.1)

    The cell of ``nn.LSTM``, with the gates in the order i, f, o, g. ``drive`` is
    [x_i; x_f; x_o; x_g], everything that does not depend on h: computed by the caller, for all
    steps in one product where it can be. c keeps the precision it comes in.
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
        drive: Float[Tensor, "batch four_times"],
        h: Float[Tensor, "batch d"],
        c: Float[Tensor, "batch d"],
    ) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch d"]]:
        d = h.shape[-1]
        gates = drive + h @ self.U
        i, f, o = torch.sigmoid(gates[:, : 3 * d]).chunk(3, dim=-1)
        c = f * c + i * torch.tanh(gates[:, 3 * d :])
        return o * torch.tanh(c), c
