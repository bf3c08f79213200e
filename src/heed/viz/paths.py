"""Two decoders as wiring: who looks before it steps, and who steps before it looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heed.viz.heatmap import INK, RING, Picture, picture
from heed.viz.length import STYLES

BLUE = STYLES[1]["color"]
FRAME = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": INK, "linewidth": 1}


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """From one part to another. The numbered ones are the path; ``fed`` goes to the next step."""

    start: str
    end: str
    number: int | None = None
    kind: Literal["path", "beside", "fed"] = "beside"
    bend: float | int = 0.0


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """One step of a decoder. Parts are named by what stands in their box."""

    name: str
    said: str
    parts: Mapping[str, tuple[float, float]]
    arrows: Sequence[Arrow]

    def __post_init__(self) -> None:
        for arrow in self.arrows:
            for end in (arrow.start, arrow.end):
                if end not in self.parts:
                    raise ValueError(f"an arrow at {end!r}, which is no part of {self.name}")


BAHDANAU = Wiring(
    name="Bahdanau: look, then step",
    said="the old state s of i−1 asks, the weights α of i mix the context c of i, and the context "
    "moves the state on to s of i",
    parts={
        "$s_{i-1}$": (0.0, 1.0),
        r"$\alpha_i$": (0.75, 2.1),
        "$c_i$": (1.7, 2.1),
        "$s_i$": (2.4, 1.0),
        "$y_{i-1}$": (1.2, 0.0),
        "$h_1 … h_S$": (0.75, 3.2),
        "$p(y_i)$": (2.95, 3.2),
    },
    arrows=(
        Arrow(start="$s_{i-1}$", end=r"$\alpha_i$", number=1, kind="path"),
        Arrow(start=r"$\alpha_i$", end="$c_i$", number=2, kind="path"),
        Arrow(start="$c_i$", end="$s_i$", number=3, kind="path"),
        Arrow(start="$s_{i-1}$", end="$s_i$"),
        Arrow(start="$y_{i-1}$", end="$s_i$"),
        Arrow(start="$h_1 … h_S$", end=r"$\alpha_i$"),
        Arrow(start="$h_1 … h_S$", end="$c_i$"),
        Arrow(start="$c_i$", end="$p(y_i)$"),
    ),
)
"""p(y_i) is read from s_{i−1} and y_{i−1} too; see chapter 3. The picture leaves that out."""

LUONG = Wiring(
    name="Luong: step, then look",
    said="the state steps on to h of t, asks with what it has become, the weights a of t mix the "
    "context c of t, and both make h-tilde of t, from which the word is read; h-tilde of t−1 was "
    "fed into the step",
    parts={
        "$h_{t-1}$": (0.0, 1.0),
        "$h_t$": (1.2, 1.0),
        "$a_t$": (1.2, 2.1),
        "$c_t$": (2.1, 2.1),
        r"$\tilde{h}_t$": (2.95, 1.55),
        "$y_{t-1}$": (1.2, 0.0),
        r"$\tilde{h}_{t-1}$": (0.0, 0.0),
        r"$\bar{h}_1 … \bar{h}_S$": (1.2, 3.2),
        "$p(y_t)$": (2.95, 3.2),
    },
    arrows=(
        Arrow(start="$h_{t-1}$", end="$h_t$", number=1, kind="path"),
        Arrow(start="$h_t$", end="$a_t$", number=2, kind="path"),
        Arrow(start="$a_t$", end="$c_t$", number=3, kind="path"),
        Arrow(start="$c_t$", end=r"$\tilde{h}_t$", number=4, kind="path"),
        Arrow(start="$h_t$", end=r"$\tilde{h}_t$"),
        Arrow(start="$y_{t-1}$", end="$h_t$"),
        Arrow(start=r"$\tilde{h}_{t-1}$", end="$h_t$", kind="fed"),
        Arrow(start=r"$\bar{h}_1 … \bar{h}_S$", end="$a_t$"),
        Arrow(start=r"$\bar{h}_1 … \bar{h}_S$", end="$c_t$"),
        Arrow(start=r"$\tilde{h}_t$", end="$p(y_t)$"),
    ),
)


def paths(wirings: Sequence[Wiring] = (BAHDANAU, LUONG)) -> Picture:
    """The wirings side by side. Numbered and thick: the path. Dashed: input feeding."""
    figure = Figure(figsize=(4.1 * len(wirings), 3.4), layout="constrained")
    row = figure.subplots(1, len(wirings), squeeze=False)[0]
    for axes, wiring in zip(row, wirings, strict=True):
        _draw(axes, wiring)
    told = ". ".join(f"{wiring.name}: {wiring.said}" for wiring in wirings)
    return picture(figure, f"One step of a decoder, as boxes and arrows. {told}.")


def _draw(axes: Axes, wiring: Wiring) -> None:
    for label, at in wiring.parts.items():
        axes.text(*at, label, ha="center", va="center", color=INK, fontsize=12, bbox=FRAME)
    for arrow in wiring.arrows:
        (x, y), (to_x, to_y) = wiring.parts[arrow.start], wiring.parts[arrow.end]
        colour = {"path": RING, "fed": BLUE, "beside": INK}[arrow.kind]
        axes.annotate(
            "",
            (to_x, to_y),
            (x, y),
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": 1.0 if arrow.kind == "beside" else 2.0,
                "linestyle": (0, (3, 2)) if arrow.kind == "fed" else "solid",
                "shrinkA": 17,
                "shrinkB": 17,
                "connectionstyle": f"arc3,rad={arrow.bend}",
            },
        )
        if arrow.number is not None:
            level = abs(to_y - y) < 0.2
            axes.annotate(
                str(arrow.number),
                ((x + to_x) / 2, (y + to_y) / 2),
                xytext=(0, 8) if level else (-9, 0) if (to_x - x) * (to_y - y) >= 0 else (9, 2),
                textcoords="offset points",
                ha="center",
                va="center",
                color=colour,
                fontsize=11,
                fontweight="bold",
            )
    axes.set_title(wiring.name, color=INK, fontsize=11)
    across, up = zip(*wiring.parts.values(), strict=True)
    axes.set_xlim(min(across) - 0.55, max(across) + 0.55)
    axes.set_ylim(min(up) - 0.45, max(up) + 0.45)
    axes.axis("off")
