"""The gated unit of Cho et al. (2014), in the form that Bahdanau et al. (2015) print.

It is not ``nn.GRU``: there the reset gate acts *after* the recurrent product, r ∘ (U h), here
*before* it, U (r ∘ h); and there z keeps the old state, here z lets the new one in. Equal in
capacity, not in numbers.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class GRUCell(nn.Module):
    """z = σ(x_z + U_z h), r = σ(x_r + U_r h)
    h̃ = tanh(x + U (r ∘ h))
    h′ = (1 − z) ∘ h + z ∘ h̃                   (Bahdanau et al. 2015, A.1.1 and A.1.2)

    ``drive`` is [x_z; x_r; x], everything that does not depend on the state (W_z E y, W_r E y,
    W E y, and the like): computed by the caller, for all steps in one product where it can be.
    """

    def __init__(self, *, d_state: int) -> None:
        super().__init__()
        self.U_zr = nn.Parameter(torch.empty(d_state, 2 * d_state))
        self.U = nn.Parameter(torch.empty(d_state, d_state))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal recurrent matrices, each gate its own (Bahdanau et al. 2015, B.1)."""
        for square in (*self.U_zr.chunk(2, dim=1), self.U):
            nn.init.orthogonal_(square)

    def forward(
        self, drive: Float[Tensor, "batch triple"], state: Float[Tensor, "batch d"]
    ) -> Float[Tensor, "batch d"]:
        d = state.shape[-1]
        z, r = torch.sigmoid(drive[:, : 2 * d] + state @ self.U_zr).chunk(2, dim=-1)
        new = torch.tanh(drive[:, 2 * d :] + (r * state) @ self.U)
        return torch.lerp(state, new.to(state.dtype), z.to(state.dtype))


def reverse_each(
    rows: Float[Tensor, "batch step d"] | Int[Tensor, "batch step"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch step d"] | Int[Tensor, "batch step"]:
    """Turn the first ``lengths[b]`` entries of row ``b`` round; what follows stays in place."""
    steps = torch.arange(rows.shape[1], device=rows.device)
    turned = lengths[:, None] - 1 - steps
    index = torch.where(turned >= 0, turned, steps)
    if rows.ndim == 2:
        return rows.gather(1, index)
    return rows.gather(1, index[..., None].expand_as(rows))


class BiGRU(nn.Module):
    """h_j = [→h_j ; ←h_j], two GRUs that share the embedding   (Bahdanau et al. 2015, A.2.1)

    Both directions run in the same loop, as one batched product. The backward one reads each
    row turned round, so padding comes last in both and never reaches a real position.
    """

    def __init__(self, *, d_input: int, d_state: int) -> None:
        super().__init__()
        self.W = nn.Linear(d_input, 6 * d_state)
        self.U_zr = nn.Parameter(torch.empty(2, d_state, 2 * d_state))
        self.U = nn.Parameter(torch.empty(2, d_state, d_state))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal recurrent matrices, each gate its own (Bahdanau et al. 2015, B.1)."""
        for square in (*self.U_zr[0].chunk(2, dim=1), *self.U_zr[1].chunk(2, dim=1), *self.U):
            nn.init.orthogonal_(square)

    def forward(
        self, inputs: Float[Tensor, "batch step d_input"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch step annotation"], Float[Tensor, "batch d_state"]]:
        """The annotations (2 · d_state wide), and ←h_1, the backward state at the first word."""
        d = self.U.shape[-1]
        forward, backward = self.W(inputs).split(3 * d, dim=-1)
        drive = torch.stack([forward, reverse_each(backward, lengths)])
        gates, news = drive.split([2 * d, d], dim=-1)
        state = drive.new_zeros(2, inputs.shape[0], d)
        states = []
        for gate, new in zip(gates.unbind(2), news.unbind(2), strict=True):
            z, r = torch.sigmoid(torch.baddbmm(gate, state, self.U_zr)).chunk(2, dim=-1)
            candidate = torch.tanh(torch.baddbmm(new, r * state, self.U))
            state = torch.lerp(state, candidate, z)
            states.append(state)
        onward, back = torch.stack(states, dim=2)
        back = reverse_each(back, lengths)
        return torch.cat([onward, back], dim=-1), back[:, 0]
