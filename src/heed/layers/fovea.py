"""A picture as an eye has it: sharp where it looks, coarser the further away.

How fine a detail is seen falls with the distance e from where one looks, the *eccentricity*, about
as e₂ / (e₂ + e): at the distance e₂ a detail must be twice as large as in the middle, at 2 e₂ three
times (Geisler & Perry 1998, whose multi-resolution pictures this follows; they take e₂ = 2.3°).
A camera that looks so sends a small part of the numbers, and has to choose where to look: the
glimpses of Mnih et al. (2014) are such pictures, with three steps instead of a slope.
"""

import torch
from jaxtyping import Float
from torch import Tensor

KERNEL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)
"""The five taps of Burt & Adelson's pyramid (1983)."""
LEVELS = 5


def pyramid(
    picture: Float[Tensor, "channel row column"], levels: int = LEVELS
) -> Float[Tensor, "level channel row column"]:
    """The picture blurred more and more: level l shows details of about 2^l pixels and more.

    Each level is the one before, convolved with ``KERNEL`` along rows and columns, the taps 2^(l−1)
    pixels apart. (A pyramid would also throw pixels away; here each level keeps its size.) Beyond
    its edges the picture goes on as it ends.
    """
    found = [picture]
    for level in range(1, levels):
        step, blurred = 2 ** (level - 1), found[-1]
        for axis in (-1, -2):
            n = picture.shape[axis]
            places = torch.arange(n, device=picture.device)
            taps = [
                tap * blurred.index_select(axis, (places + (k - 2) * step).clamp(0, n - 1))
                for k, tap in enumerate(KERNEL)
            ]
            blurred = torch.stack(taps).sum(dim=0)
        found.append(blurred)
    return torch.stack(found)


def eccentricity(
    rows: int, columns: int, *, at: tuple[float | int, float | int]
) -> Float[Tensor, "row column"]:
    """How far the middle of each pixel is from ``at`` = (x, y), in pixels."""
    y, x = (torch.arange(n, dtype=torch.float64) + 0.5 for n in (rows, columns))
    dx, dy = x - at[0], (y - at[1])[:, None]
    return (dx * dx + dy * dy).sqrt()


def resolution(
    distance: Float[Tensor, "row column"], half: float | int
) -> Float[Tensor, "row column"]:
    """R = e₂ / (e₂ + e): 1 where one looks, ½ at the distance ``half`` = e₂."""
    return half / (half + distance)


def fovea(
    levels: Float[Tensor, "level channel row column"],
    *,
    at: tuple[float | int, float | int],
    half: float | int,
) -> Float[Tensor, "channel row column"]:
    """The picture of somebody who looks at ``at``: each pixel from the level log₂ 1/R.

    Between two levels it is a mixture of both; no pixel is coarser than the last level.
    """
    count, _, rows, columns = levels.shape
    sharp = resolution(eccentricity(rows, columns, at=at), half)
    depth = (-sharp.log2()).clamp(max=count - 1).to(levels.dtype)
    below = depth.floor().clamp(max=count - 2)
    part = depth - below
    which = below.long()[None, None].expand(1, *levels.shape[1:])
    fine, coarse = (levels.gather(0, each)[0] for each in (which, which + 1))
    return fine + (coarse - fine) * part


def share_seen(
    rows: int, columns: int, *, at: tuple[float | int, float | int], half: float | int
) -> float:
    """How many numbers such a look needs, as a share of those of the whole picture.

    A place seen R times as fine needs R² as many pixels: the mean of R².
    """
    return float((resolution(eccentricity(rows, columns, at=at), half) ** 2).mean())
