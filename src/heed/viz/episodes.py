"""An episode as it is shown, where the question looked, how that was learnt, and what rows of
the table get right."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from heed.experiments.cards import Card
from heed.experiments.episodes import Answer
from heed.viz.heatmap import INK, RING, Picture, in_a_cell, picture, plain_axes
from heed.viz.length import Curve, line_plot

# ------------------------------------------------------------------ one episode


def episode(
    pictures: Float[Tensor, "shown row column"],
    labels: Int[Tensor, " shown"],
    asked: Float[Tensor, "row column"],
    answer: Answer | None = None,
    *,
    right: int | None = None,
) -> Picture:
    """The drawings with their labels, in the order in which they are shown, and the question.

    answer: with it, below each drawing how much of its look the question gives it, a row for each
        attention block, and at the side how likely each label is
    right: a label; its drawings are ringed
    """
    shown, trace = len(pictures), answer.trace if answer else None
    rows = 1 + (len(trace.heads) if trace else 0)
    aside = 3 * bool(answer)  # columns for the answer, the first of them empty
    figure = Figure(figsize=(0.62 * (shown + 1 + aside), 0.62 * rows + 0.5))
    grid = figure.add_gridspec(
        rows,
        shown + 1 + aside,
        wspace=0.08,
        hspace=0.12,
        left=0.0,
        right=1.0,
        bottom=0.0,
        top=1.0,
    )
    for column, drawn in enumerate([*pictures, asked]):
        axes = figure.add_subplot(grid[0, column])
        label = "?" if column == shown else str(int(labels[column]))
        _drawing(axes, drawn, label, ringed=right is not None and label == str(right))
    if trace is not None:
        for row, (head, weights) in enumerate(zip(trace.heads, trace.weights, strict=True), 1):
            axes = figure.add_subplot(grid[row, : shown + 1])
            _strip(axes, weights[-1], head)
    if answer is not None:
        _bars(figure.add_subplot(grid[:, shown + 2 :]), answer.probabilities)
    return picture(figure, _told(labels, answer, right))


def _drawing(
    axes: Axes, drawn: Float[Tensor, "row column"], label: str, *, ringed: bool = False
) -> None:
    axes.imshow(1 - drawn.numpy(), cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(RING if ringed else INK)
        spine.set_linewidth(2.2 if ringed else 0.6)
    axes.set_title(label, color=RING if ringed else INK, fontsize=10, pad=3)


def _strip(axes: Axes, weights: Float[np.ndarray, " key"], name: str) -> None:
    axes.imshow(weights[None], cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
    for key in np.flatnonzero(weights >= 0.05):
        colour = "#111111" if weights[key] > 0.55 else "#ffffff"
        inside = in_a_cell(float(weights[key]))
        axes.text(int(key), 0, inside, color=colour, ha="center", va="center", fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([0], [name])
    plain_axes(axes)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _bars(axes: Axes, probabilities: Sequence[float]) -> None:
    axes.barh(range(len(probabilities)), probabilities, color=RING, height=0.6)
    axes.set_yticks(range(len(probabilities)))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 1])
    axes.set_title("the answer", fontsize=9)
    plain_axes(axes)


def _told(labels: Int[Tensor, " shown"], answer: Answer | None, right: int | None) -> str:
    listed = " ".join(str(each) for each in labels.tolist())
    said = f"{len(labels)} drawings with the labels {listed}, then one without."
    if right is not None:
        said += f" It belongs to {right}."
    if answer is None:
        return said
    said += f" The answer is {answer.label}, with {answer.probabilities[answer.label]:.2f}."
    if answer.trace is not None:
        wanted = answer.label if right is None else right
        shares = own_share(answer.trace.weights[:, -1], labels.tolist(), wanted)
        told = zip(answer.trace.heads, shares.tolist(), strict=True)
        said += " Of their looks, so much is on the drawings of "
        said += f"{wanted}: {', '.join(f'{head} {share:.2f}' for head, share in told)}."
    return said


def own_share(
    looks: Float[np.ndarray, "*shape step"], labels: Sequence[int], label: int, *, behind: int = 0
) -> Float[np.ndarray, "*shape"]:
    """How much of a look is on the drawings of one label, or so many steps ``behind`` one of them;
    the last step asks and has no label."""
    own = [step + behind for step, each in enumerate(labels) if each == label]
    return looks[..., [step for step in own if step < looks.shape[-1]]].sum(axis=-1)


# ------------------------------------------------------------------ learning it


def looks_learnt(
    steps: Sequence[int],
    maps: Sequence[Float[np.ndarray, "moment block step"]],
    inputs: Sequence[Mapping[str, Any]],
    *,
    behind: int = 0,
) -> Picture:
    """While it learns: the share of the question's look that is on drawings of the right class, a
    line for each attention block, a mean over the watched episodes.

    maps, inputs: as ``Trained.maps`` and the card give them
    behind: the share that is so many steps behind such a drawing instead
    """
    shares = np.mean(
        [
            own_share(each, given["labels"], given["answer"], behind=behind)
            for each, given in zip(maps, inputs, strict=True)
        ],
        axis=0,
    )
    ways = len(set(inputs[0]["labels"]))
    chance = 1 / ways
    curves = {
        f"attention {block}": Curve(x=list(steps), y=shares[:, block - 1].tolist())
        for block in range(1, shares.shape[1] + 1)
    }
    curves["chance"] = Curve(x=[steps[0], steps[-1]], y=[chance] * 2, background=True)
    said = "; ".join(
        f"attention {block} from {shares[0, block - 1]:.2f} to {shares[-1, block - 1]:.2f}"
        for block in range(1, shares.shape[1] + 1)
    )
    steps_behind = f"{behind} step{'s' * (behind > 1)} behind" if behind else "on"
    return line_plot(
        curves,
        x="steps of training",
        y=f"look {steps_behind} drawings\nof the right character",
        ylim=(0, 1.02),
        alt=f"Where the question looks while the network learns, over {len(inputs)} episodes: the "
        f"share {steps_behind} drawings of the right character goes, in {said}; chance is "
        f"{chance:.2f}.",
    )


# ------------------------------------------------------------------ rows side by side


def accuracies(rows: Mapping[str, Card], *, against: str, shots: Sequence[str]) -> Picture:
    """How often each row is right, a panel for each number of shots, with its 95 % interval over
    episodes; that of the row ``against`` is shaded."""
    if against not in rows:
        raise ValueError(f"{against!r} is not among the rows: {', '.join(rows)}")
    figure = Figure(figsize=(3.6 * len(shots) + 1.6, 0.34 * len(rows) + 1.1), layout="constrained")
    panels = figure.subplots(1, len(shots), squeeze=False, sharey=True)[0]
    said = []
    for axes, many in zip(panels, shots, strict=True):
        middle, half = result(rows[against], many)
        axes.axvspan(middle - half, middle + half, color=RING, alpha=0.15, linewidth=0)
        for place, (name, card) in enumerate(rows.items()):
            mean, width = result(card, many)
            axes.errorbar(
                mean,
                place,
                xerr=width,
                fmt="o",
                color=RING if name == against else INK,
                markersize=5,
                elinewidth=1.4,
            )
            said.append(f"{name}, {_shots(many)}: {mean:.1%} ± {width:.1%}")
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_title(_shots(many), fontsize=10)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        plain_axes(axes)
        axes.grid(axis="x", color=INK, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].invert_yaxis()
    return picture(figure, f"Right answers and their 95 % intervals. {'; '.join(said)}.")


def _shots(many: str) -> str:
    return f"{many} drawing{'' if many == '1' else 's'} of each"


def result(card: Card, shots: str) -> tuple[float, float]:
    """Accuracy, and half of its 95 % interval over episodes; means over seeds."""
    return card.number(f"accuracy.{shots}"), card.number(f"interval.{shots}")


def beside(card: Card, whole: Card, shots: str) -> str:
    """A row against another, in words: by how many points it is below or above, if that is more
    than the 95 % interval of a difference of two shares, else "no difference seen"."""
    (mean, width), (other, wide) = result(card, shots), result(whole, shots)
    apart = mean - other
    if abs(apart) <= (width**2 + wide**2) ** 0.5:
        return "no difference seen"
    return f"{abs(100 * apart):.1f} points {'above' if apart > 0 else 'below'}"
