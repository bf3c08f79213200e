"""How far back a stack of causal convolutions sees, and which steps it misses on the way."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heed.viz.heatmap import INK, RING, Picture, picture


def lags(dilations: Sequence[int]) -> list[int]:
    """How many steps back the inputs lie that reach the output.

    A convolution of kernel size 2 goes back by 0 or by its dilation, so it is every sum of some.
    """
    reached = {0}
    for dilation in dilations:
        reached |= {lag + dilation for lag in reached}
    return sorted(reached)


def reach(stacks: Mapping[str, Sequence[int]], *, steps: int) -> Picture:
    """Stacks of convolutions side by side, the first one at the bottom, a column a step.

    stacks: name -> dilations. Orange is whatever the last step's output depends on.
    """
    if not stacks or steps < 1:
        raise ValueError(f"{len(stacks)} stacks over {steps} steps: nothing to draw")
    figure = Figure(figsize=(3.9 * len(stacks), 3.0), layout="constrained")
    row = figure.subplots(1, len(stacks), squeeze=False)[0]
    said = []
    for axes, (name, dilations) in zip(row, stacks.items(), strict=True):
        seen = _stack(axes, dilations, steps)
        axes.set_title(name, color=INK, fontsize=10)
        missed = [step for step in range(1, steps + 1) if step not in seen]
        told = f"misses {', '.join(map(str, missed))}" if missed else "misses none"
        said.append(f"{name}: the output of step {steps} depends on {_listed(seen)}, {told}")
    return picture(
        figure,
        f"Causal convolutions stacked over {steps} steps, lines from what the last output depends "
        f"on. {'; '.join(said)}.",
    )


def _stack(axes: Axes, dilations: Sequence[int], steps: int) -> list[int]:
    """Draw one of them; the input steps, from 1 on, that its last output depends on."""
    needed = {steps}
    for level, dilation in reversed(list(enumerate(dilations, 1))):
        below = {step - back for step in needed for back in (0, dilation) if step - back >= 1}
        for step in needed:
            for back in (0, dilation):
                if step - back >= 1:
                    axes.plot([step - back, step], [level - 1, level], color=RING, linewidth=1.3)
        _dots(axes, level, needed, steps)
        needed = below
    _dots(axes, 0, needed, steps)
    axes.set_yticks(
        range(len(dilations) + 1), ["input", *(f"dilation {each}" for each in dilations)]
    )
    axes.set_xticks(range(1, steps + 1))
    axes.set_xlabel("step", color=INK)
    axes.set_xlim(0.5, steps + 0.5)
    axes.set_ylim(-0.4, len(dilations) + 0.4)
    axes.tick_params(colors=INK, length=0)
    axes.spines[:].set_visible(False)
    return sorted(needed)


def _dots(axes: Axes, level: int, needed: set[int], steps: int) -> None:
    for step in range(1, steps + 1):
        axes.plot(
            step,
            level,
            marker="o",
            markersize=7,
            markeredgecolor=RING if step in needed else INK,
            markerfacecolor=RING if step in needed else "none",
        )


def _listed(steps: Sequence[int]) -> str:
    return f"steps {', '.join(map(str, steps))}"
