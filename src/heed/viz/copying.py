"""A machine that copies: its tape, what it said beside what was due, the trails of its heads."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from heed.data.tapes import Tape
from heed.experiments.cards import Card
from heed.experiments.tapes import Run
from heed.viz.addressing import SIGNED
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes
from heed.viz.learning import telling
from heed.viz.length import STYLES

NEAR = 3
"""How many vectors off an answer is looked for, when it is not the one that was due."""

# ------------------------------------------------------------------ what was said, and when


def due(tape: Tape) -> Bool[Tensor, "step d_output"]:
    """The answer of the first sequence of a tape."""
    return tape.targets[0, tape.scored] > 0.5


def said(run: Run, tape: Tape) -> Bool[Tensor, "step d_output"]:
    """What a machine made of it, bit by bit."""
    return run.probabilities[tape.scored] > 0.5


def wrong_bits(run: Run, tape: Tape) -> int:
    """Bits that are not those that were due."""
    return int((said(run, tape) != due(tape)).sum())


def right_from_the_start(run: Run, tape: Tape) -> int:
    """Vectors without a wrong bit, before the first that has one."""
    wrong = (said(run, tape) != due(tape)).any(dim=1)
    return int(wrong.int().argmax()) if bool(wrong.any()) else len(wrong)


def lags(run: Run, tape: Tape) -> list[int | None]:
    """For each vector that was said, how long ago it was due: 0 if it is right, 1 if it was due
    one step before, −1 if it is early; ``None`` if it is none of those near by."""
    answer, wanted = said(run, tape), due(tape)
    found: list[int | None] = []
    for step, vector in enumerate(answer):
        near = [lag for lag in sorted(range(-NEAR, NEAR + 1), key=abs)]
        inside = (lag for lag in near if 0 <= step - lag < len(wanted))
        found.append(next((lag for lag in inside if torch.equal(vector, wanted[step - lag])), None))
    return found


def slips(run: Run, tape: Tape) -> str:
    """``lags`` in words, one part for each stretch: ``"1 to 50 right, 51 to 120 1 late"``."""
    names = {None: "something else", 0: "right"}
    parts, first = [], 1
    for lag, stretch in groupby(lags(run, tape)):
        last = first + len(list(stretch)) - 1
        late = names.get(lag) or f"{abs(lag or 0)} {'late' if (lag or 0) > 0 else 'early'}"
        parts.append(f"{first} to {last} {late}" if last > first else f"{first} {late}")
        first = last + 1
    return ", ".join(parts)


# ------------------------------------------------------------------ pictures


def tape_picture(tape: Tape) -> Picture:
    """The first sequence of a tape: what comes in above, what is to come out below."""
    inputs, targets = tape.inputs[0], tape.targets[0]
    steps = len(inputs)
    figure = Figure(figsize=(min(8.0, 0.17 * steps + 1.4), 3.2), layout="constrained")
    above, below = figure.subplots(
        2, 1, sharex=True, height_ratios=[inputs.shape[1], targets.shape[1]]
    )
    _bits(above, inputs.T)
    above.set_title("comes in: the vectors, then a mark on a channel of its own", **_TITLE)
    shown = targets.clone()
    shown[~tape.scored] = torch.nan  # nothing is asked there
    _bits(below, shown.T)
    below.set_title("is due: the same vectors, while nothing comes in", **_TITLE)
    below.set_xlabel("step")
    first = int(tape.scored.int().argmax())
    return picture(
        figure,
        f"A tape of {steps} steps. In the first {first - 1} a vector of {targets.shape[1]} random "
        f"bits comes in at each, in step {first} a mark, and then nothing more. From step "
        f"{first + 1} on the vectors are due again, in the same order.",
    )


_TITLE = {"color": INK, "fontsize": 9, "loc": "left", "pad": 3}


def _bits(
    axes: Axes, table: Float[Tensor, "channel step"], *, cmap: str = "cividis", first: int = 1
) -> None:
    """A row a channel, a column a step; ``first`` is the number of the first column."""
    signed = cmap == SIGNED
    axes.imshow(
        table.numpy(),
        cmap=cmap,
        vmin=-1.0 if signed else 0.0,
        vmax=1.0,
        aspect="auto",
        interpolation="nearest",
        extent=(first - 0.5, first + table.shape[1] - 0.5, table.shape[0] - 0.5, -0.5),
    )
    axes.set_yticks([])
    plain_axes(axes)
    axes.spines[:].set_visible(False)


def copies(tape: Tape, runs: Mapping[str, Run]) -> Picture:
    """The vectors that were due and what each machine said; an orange dot on each wrong bit."""
    wanted = due(tape)
    figure = Figure(
        figsize=(max(4.0, min(8.0, 0.12 * len(wanted) + 1.0)), 0.5 + 1.15 * (1 + len(runs))),
        layout="constrained",
    )
    first, *rest = figure.subplots(1 + len(runs), 1, sharex=True)
    _bits(first, wanted.T.float())
    first.set_title("due", **_TITLE)
    told = []
    for axes, (name, run) in zip(rest, runs.items(), strict=True):
        _bits(axes, run.probabilities[tape.scored].T)
        steps, bits = (said(run, tape) != wanted).nonzero(as_tuple=True)
        axes.scatter((steps + 1).numpy(), bits.numpy(), s=4, color=RING, linewidths=0)
        wrong = f"{len(steps)} of {wanted.numel()} bits wrong"
        axes.set_title(f"{name}: {wrong}", **_TITLE)
        told.append(f"{name}: {wrong}; {_ahead(right_from_the_start(run, tape), len(wanted))}")
    figure.axes[-1].set_xlabel("vector")
    return picture(
        figure,
        f"{len(wanted)} vectors that were due, and below them what was said, wrong bits dotted. "
        f"{'. '.join(told)}.",
    )


def _ahead(right: int, length: int) -> str:
    return "all right" if right == length else f"the first {right} vectors without a fault"


def trails(tape: Tape, run: Run) -> Picture:
    """The paper's Figure 6. Left, while vectors come in: the inputs, what is added, where it is
    written. Right, from the mark on: the outputs, what is read, and where. The mark is there
    because a machine may read a step ahead of what it says."""
    if run.reading is None or run.writing is None or run.reads is None or run.adds is None:
        raise ValueError("a machine without a memory leaves no trails")
    coming, going = ~tape.scored, tape.scored.clone()
    mark = int(going.int().argmax()) - 1
    coming[mark], going[mark] = False, True
    outputs = run.probabilities[going].clone()
    outputs[0] = torch.nan  # nothing is due at the mark
    wrote = torch.from_numpy(run.writing.weights[0])[coming]
    looked = torch.from_numpy(run.reading.weights[0])[going]
    low, high = _used(wrote, looked)
    width = targets = tape.targets.shape[2]
    columns = (
        ("vectors come in", tape.inputs[0, coming, :width], run.adds[coming, 0], wrote),
        ("the answer is due", outputs, run.reads[going, 0], looked),
    )
    slots = high - low
    figure = Figure(figsize=(7.6, 3.0 + 0.09 * slots), layout="constrained")
    grid = figure.subplots(3, 2, height_ratios=[targets, run.adds.shape[2] / 2, 0.8 * slots])
    names = (("inputs", "outputs"), ("adds", "reads"), ("write weights", "read weights"))
    for column, (phase, bits, vectors, weights) in enumerate(columns):
        above, middle, below = grid[:, column]
        _bits(above, bits.T, first=1 - column)
        above.set_title(phase, color=INK, fontsize=10)
        _bits(middle, vectors.T, cmap=SIGNED, first=1 - column)
        _bits(below, weights.T[low:high], first=1 - column)
        step = max(1, slots // 5)
        below.set_yticks(range(0, slots, step), [str(slot) for slot in range(low, high, step)])
        below.set_xlabel("vector; 0 is the mark" if column else "vector")
        for axes, name in zip((above, middle, below), names, strict=True):
            axes.set_ylabel(name[column] + ("\n(slot)" if axes is below else ""), color=INK)
    return picture(
        figure,
        f"Left, while {len(wrote)} vectors come in: the write head goes from slot "
        f"{_path(wrote)}. Right, from the mark on: the read head goes from slot {_path(looked)}. "
        f"Above that, what was added and what was read.",
    )


def _used(*weights: Float[Tensor, "_ slot"]) -> tuple[int, int]:
    """The slots that some head was at with half of its weight, and one more to each side."""
    at = torch.cat([each.amax(dim=0)[None] for each in weights]).amax(dim=0) >= 0.5
    places = at.nonzero()[:, 0].tolist() or [0]
    return max(0, places[0] - 1), min(len(at), places[-1] + 2)


def _path(weights: Float[Tensor, "step slot"]) -> str:
    places = weights.argmax(dim=1).tolist()
    share = weights.amax(dim=1).mean()
    return f"{places[0]} to slot {places[-1]}, with {share:.2f} of its weight on one slot"


# ------------------------------------------------------------------ learning

CHEAPEST = 0.01
"""Bits a sequence; the least that a curve shows."""


def bits_learnt(card: Card) -> dict[str, tuple[list[float], list[float]]]:
    """For each seed: thousands of sequences seen, and the cost of a held-out one in bits, as in
    the paper's Figure 3."""
    per_sequence = card.settings["valid_bits"] / math.log(2)
    batch = card.train["batch_size"]
    return {
        seed: (
            [point["step"] * batch / 1_000 for point in points],
            [point["valid_loss"] * per_sequence for point in points],
        )
        for seed, points in card.curves.items()
    }


def cost_curves(cards: Mapping[str, Card], *, level: float = 0.1) -> Picture:
    """Bits a sequence over the sequences seen: a colour a machine, a line a seed.

    What costs less than ``CHEAPEST`` is drawn there: a card rounds, and 0 has no logarithm.
    """
    figure = Figure(figsize=(6.6, 3.4), layout="constrained")
    axes = figure.add_subplot()
    told = []
    for (name, card), style in zip(cards.items(), STYLES, strict=False):
        for seed, (seen, bits) in bits_learnt(card).items():
            drawn = [max(cost, CHEAPEST) for cost in bits]
            axes.plot(
                seen,
                drawn,
                color=style["color"],
                linestyle=style["linestyle"],
                marker=style["marker"],
                markersize=3,
                linewidth=1.2,
            )
            told.append(
                f"{name}, seed {seed}: {bits[0]:.3g} bits after {seen[0]:.3g} thousand sequences, "
                f"{bits[-1]:.2f} after {seen[-1]:.3g} thousand"
            )
            end = seen[-1], drawn[-1]
            axes.annotate(
                name, end, xytext=(6, 0), textcoords="offset points", color=style["color"]
            )
    axes.axhline(level, color=INK, linewidth=1, linestyle=(0, (2, 2)))
    axes.annotate(
        f"{level:g} bits", (0, level), xytext=(4, 3), textcoords="offset points", color=INK
    )
    axes.set_yscale("log")
    axes.set_xlabel("thousands of sequences seen")
    axes.set_ylabel(f"bits a sequence (log scale)\n{CHEAPEST:g} stands for less, too")
    plain_axes(axes)
    return picture(figure, f"What a held-out sequence costs, while learning. {'; '.join(told)}.")


def trails_learnt(
    steps: Sequence[int], maps: Float[np.ndarray, "moment step slots"], *, count: int = 5
) -> Picture:
    """Where the two heads were on one watched sequence, at a few moments of training.

    maps: as ``Trained.maps`` gives them for a machine with one reader and one writer, the
        reader's slots first
    """
    slots = maps.shape[2] // 2
    halves = {"writes": maps[:, :, slots:], "reads": maps[:, :, :slots]}
    last = {name: torch.from_numpy(half[-1]) for name, half in halves.items()}
    low, high = _used(*last.values())
    shown = telling(maps, count)
    figure = Figure(figsize=(1.55 * len(shown) + 0.6, 4.2), layout="constrained")
    grid = figure.subplots(2, len(shown), sharex=True, sharey=True, squeeze=False)
    told = []
    for column, moment in enumerate(shown):
        for row, (name, half) in enumerate(halves.items()):
            axes = grid[row, column]
            axes.imshow(
                half[moment, :, low:high].T,
                cmap="cividis",
                vmin=0.0,
                vmax=1.0,
                aspect="auto",
                interpolation="nearest",
                extent=(0.5, half.shape[1] + 0.5, high - 0.5, low - 0.5),
            )
            plain_axes(axes)
            axes.spines[:].set_visible(False)
            if not column:
                axes.set_ylabel(f"{name} (slot)")
        grid[0, column].set_title(f"batch {steps[moment]:,}", color=INK, fontsize=9)
        sharp = [float(half[moment].max(axis=1).mean()) for half in halves.values()]
        told.append(
            f"batch {steps[moment]:,}: the writer has {sharp[0]:.2f} of its weight on one slot on "
            f"average, the reader {sharp[1]:.2f}"
        )
    grid[1, len(shown) // 2].set_xlabel("step")
    return picture(
        figure,
        "Where the heads were, step by step, on one sequence at a few moments of training. "
        f"{'; '.join(told)}.",
    )
