"""From a pointer network to whole answers, and what they are worth."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heed.data.tours import polygon_areas, tour_lengths
from heed.evaluation.decoding import answering
from heed.models.pointer import Rule
from heed.models.translator import select


@dataclass(frozen=True)
class Pointed:
    """answers: keys, 0 from ⇐ on; finished: whether ⇐ came in time
    log_prob: Σ log p of what was pointed at, in nats
    """

    answers: Int[Tensor, "batch step"]
    log_prob: Float[Tensor, " batch"]
    finished: Bool[Tensor, " batch"]


def point(
    model: Any,
    points: Float[Tensor, "batch point d"],
    *,
    width: int = 1,
    rule: Rule | None = None,
) -> Pointed:
    """The likeliest answers that a beam of some ``width`` finds; 1 points greedily.

    rule: what may be pointed at; without it, what held in training. An answer may have n steps and
    then ⇐; a free one that goes on is cut off, not finished.
    """
    if width < 1:
        raise ValueError(f"width={width} keeps nothing: a beam is 1 wide or wider")
    batch, n = points.shape[:2]
    rows = torch.arange(batch, device=points.device)
    with answering(model):
        encoded = model.encode(points)
        state = model.start(encoded)
        spread = rows.repeat_interleave(width)
        encoded, state = select(encoded, spread), select(state, spread)
        done = torch.zeros(batch, width, dtype=torch.bool, device=points.device)
        total = torch.full((batch, width), float("-inf"), device=points.device)
        total[:, 0] = 0.0  # all slots start alike: only the first one counts
        answers = torch.zeros(batch, width, 0, dtype=torch.long, device=points.device)
        for _ in range(n + 1):
            state, logits = model.step(state, encoded, rule=rule)
            gains = logits.log_softmax(dim=-1).unflatten(0, (batch, width))
            gains = gains.masked_fill(done[..., None], float("-inf"))
            gains[..., 0] = gains[..., 0].masked_fill(done, 0.0)  # a finished one stays as it is
            total, best = (total[..., None] + gains).flatten(1).topk(width, dim=1)
            parent, key = best // (n + 1), best % (n + 1)
            answers = answers.gather(1, parent[..., None].expand_as(answers))
            answers = torch.cat([answers, key[..., None]], dim=2)
            done = done.gather(1, parent) | (key == 0)
            if done.all():
                break
            back = (rows[:, None] * width + parent).flatten()
            state = model.choose(select(state, back), key.flatten(), encoded)
    # Whoever was cut off loses to whoever ended.
    chosen = (total + torch.where(done, 0.0, -1e9)).argmax(dim=1)
    picked = answers[rows, chosen]
    picked = torch.nn.functional.pad(picked, (0, n + 1 - picked.shape[1]))
    return Pointed(picked, total[rows, chosen], done[rows, chosen])


# ------------------------------------------------------------------------------- their worth


def each_once(answers: Int[Tensor, "batch step"]) -> Bool[Tensor, " batch"]:
    """Whether an answer has every point exactly once, and then ⇐."""
    n = answers.shape[1] - 1
    return (answers.sort(dim=1).values == torch.arange(n + 1)).all(dim=1) & (answers[:, -1] == 0)


def tour_ratios(
    points: Float[Tensor, "batch point 2"],
    answers: Int[Tensor, "batch step"],
    right: Int[Tensor, "batch step"],
) -> Float[Tensor, " batch"]:
    """How many times as long as the right tour; NaN for what is no tour."""
    valid = each_once(answers)
    tours = torch.where(valid[:, None], answers, right)[:, :-1] - 1
    ratios = tour_lengths(points, tours) / tour_lengths(points, right[:, :-1] - 1)
    return ratios.masked_fill(~valid, float("nan"))


def same_polygon(
    answers: Int[Tensor, "batch step"], right: Int[Tensor, "batch step"]
) -> Bool[Tensor, " batch"]:
    """Whether two answers go round the same corners, wherever they begin. Both end with ⇐."""
    return (_from_smallest(answers) == _from_smallest(right)).all(dim=1)


def _from_smallest(answers: Int[Tensor, "batch step"]) -> Int[Tensor, "batch step"]:
    steps = torch.arange(answers.shape[1])
    length = (answers != 0).sum(dim=1, keepdim=True)
    begin = answers.masked_fill(answers == 0, answers.shape[1]).argmin(dim=1, keepdim=True)
    turned = answers.gather(1, (steps + begin) % length.clamp(min=1))
    return turned.masked_fill(steps >= length, 0)


@dataclass(frozen=True)
class Hulls:
    """exact: the right polygon; valid: a polygon at all, whose sides do not cross
    covered: its share of the right area, NaN where it is none
    """

    exact: Bool[Tensor, " batch"]
    valid: Bool[Tensor, " batch"]
    covered: Float[Tensor, " batch"]


def hull_answers(
    points: Float[Tensor, "batch point 2"],
    answers: Int[Tensor, "batch step"],
    right: Int[Tensor, "batch step"],
    finished: Bool[Tensor, " batch"],
) -> Hulls:
    """What answers are worth next to the right ones. Nothing invalid is left out in silence."""
    exact = same_polygon(answers, right) & finished
    valid = exact.clone()
    for row in (~exact & finished).nonzero()[:, 0].tolist():
        corners = [key for key in answers[row].tolist() if key]
        if len(set(corners)) == len(corners) >= 3:
            valid[row] = not crosses(points[row, torch.tensor(corners) - 1].double())
    # A corner that is repeated adds no area: ⇐ counts as the first corner again.
    areas = [
        polygon_areas(points.gather(1, (keys - 1)[..., None].expand(-1, -1, 2))).abs()
        for keys in (
            torch.where(each != 0, each, each[:, :1]).clamp(min=1) for each in (answers, right)
        )
    ]
    return Hulls(exact, valid, (areas[0] / areas[1]).masked_fill(~valid, float("nan")))


def crosses(corners: Float[Tensor, "corner 2"]) -> bool:
    """Whether two sides of a polygon, not next to each other, have a point in common."""
    n = len(corners)
    p, q = corners, corners.roll(-1, 0)

    def turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        """Positive if c lies to the left of the line from a to b."""
        (ux, uy), (vx, vy) = (b - a).unbind(-1), (c - a).unbind(-1)
        return (ux * vy - uy * vx).sign()

    one, other = torch.triu_indices(n, n, 2)
    apart = (other + 1) % n != one
    a, b, c, d = p[one[apart]], q[one[apart]], p[other[apart]], q[other[apart]]
    meets = (turn(a, b, c) * turn(a, b, d) <= 0) & (turn(c, d, a) * turn(c, d, b) <= 0)
    return bool(meets.any())


def weights_of(
    model: Any,
    points: Float[Tensor, "batch point d"],
    answers: Int[Tensor, "batch step"],
    rule: Rule | None = None,
) -> Float[Tensor, "batch step key"]:
    """The distribution at each step, when these answers are given."""
    with answering(model):
        return model(points, answers, rule=rule).weights
