"""Drawn pictures side by side, two nets watched while they learn, and the map of a point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from heed.data.twins import SHAPES, SIDE, Reading, coverage, joined, read
from heed.evaluation.twins import drawn, to_bytes
from heed.experiments.twins import TrainedPainter
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes
from heed.viz.length import STYLES

GAP = 3
"""Pixels between two pictures."""
SPOKEN = 12
"""Pictures that a description spells out."""
HUE_NAMES = (
    "red", "orange", "yellow", "lime", "green", "mint",
    "cyan", "azure", "blue", "violet", "magenta", "rose",
)  # fmt: skip
FOG = 128
THICK = 0.88
"""How much the fog hides where nothing is looked at."""
FULL = 1 / 16
"""Share of a look at which the fog is gone."""
ZONES: tuple[str, ...] = ("left thing", "right thing", "ground")

Pictures = UInt8[Tensor, "picture 3 row column"]


# ------------------------------------------------------------------------------ pictures


def album(
    crowds: Mapping[str, Pictures],
    *,
    columns: int = 8,
    marked: bool = False,
    inches: float = 0.42,
    alt: str | None = None,
) -> Picture:
    """Crowds of pictures beside each other, each in so many columns.

    marked: an orange frame around those that are twins, as ``heed.data.twins.read`` sees it
    inches: the side of a picture; alt: if what ``read`` sees is not what there is to see
    """
    if not crowds or any(len(each) == 0 for each in crowds.values()):
        raise ValueError("a crowd of no pictures shows nothing")
    rows = max(-(-len(each) // columns) for each in crowds.values())
    wide = inches * columns * (SIDE + GAP) / SIDE + 0.15
    figure = Figure(
        figsize=(wide * len(crowds), inches * rows * (SIDE + GAP) / SIDE + 0.35),
        layout="constrained",
    )
    said = []
    for axes, (name, crowd) in zip(
        figure.subplots(1, len(crowds), squeeze=False).flat, crowds.items(), strict=True
    ):
        _bare(axes, name)
        _tiles(axes, _montage(crowd, columns))
        if alt is not None and not marked:
            continue
        reading = read(crowd)
        if marked:
            for number in reading.twins.nonzero().flatten().tolist():
                _frame(axes, *divmod(number, columns))
        said.append(f"{name}: {_told(reading)}")
    return picture(figure, alt or " ".join(said))


def samples(
    nets: Mapping[str, TrainedPainter], *, watched: Sequence[int] = (0, 1), count: int = 8
) -> Picture:
    """What each net made of the same z at moments of its training: at first, and then each about
    twice as late as the one before.

    watched: which of the z that were watched
    """
    found = {name: net.pictures() for name, net in nets.items()}
    figure = Figure(figsize=(0.72 * count + 0.9, 0.7 * len(watched) * len(nets) + 0.5))
    grid = figure.subplots(len(nets), 1, squeeze=False)
    said, shown = [], 0
    for axes, (name, (steps, kept)) in zip(grid.flat, found.items(), strict=True):
        chosen = doubling(steps, count)
        strip = torch.from_numpy(np.stack([kept[z][chosen] for z in watched]))
        crowd = strip.flatten(0, 1).permute(0, 3, 1, 2).contiguous()
        _bare(axes, "")
        _tiles(axes, _montage(crowd, len(chosen)))
        axes.set_ylabel(name, color=INK, rotation=0, ha="right", va="center")
        middles = [place * (SIDE + GAP) + SIDE / 2 for place in range(len(chosen))]
        axes.set_xticks(middles, [f"{steps[moment]:,}" for moment in chosen])
        axes.tick_params(length=0, colors=INK)
        shown = max(shown, len(chosen))
        last = read(crowd[len(chosen) - 1 :: len(chosen)])
        said.append(f"{name}, at step {steps[chosen[-1]]:,}: {_told(last)}")
    axes = grid.flat[-1]
    axes.set_xlabel("steps of training", color=INK)
    return picture(
        figure,
        f"{len(watched)} pictures by each net at {shown} moments of its training, "
        f"from noise to what it draws at the end. {' '.join(said)}",
    )


def doubling(steps: Sequence[int], count: int) -> list[int]:
    """Of the moments, the first, and ``count − 1`` that are about twice as late each, to the last;
    fewer if there are not as many."""
    if len(steps) <= count:
        return list(range(len(steps)))
    wanted = [steps[-1] / 2**k for k in reversed(range(count - 1))]
    near = [int(np.abs(np.array(steps) - step).argmin()) for step in wanted]
    return sorted({0, *near})


def _montage(crowd: Pictures, columns: int) -> UInt8[np.ndarray, "high wide 4"]:
    """The pictures row by row, with gaps that one can see through."""
    rows, step = -(-len(crowd) // columns), SIDE + GAP
    sheet = np.zeros((rows * step - GAP, columns * step - GAP, 4), dtype=np.uint8)
    for number, each in enumerate(crowd.permute(0, 2, 3, 1).numpy()):
        row, column = divmod(number, columns)
        sheet[row * step :, column * step :][:SIDE, :SIDE, :3] = each
        sheet[row * step :, column * step :][:SIDE, :SIDE, 3] = 255
    return sheet


def _tiles(axes: Axes, sheet: UInt8[np.ndarray, "high wide 4"]) -> None:
    rows, columns = sheet.shape[:2]
    axes.imshow(sheet, interpolation="none", extent=(0, columns, rows, 0))
    axes.set_xlim(-GAP / 2, columns + GAP / 2)
    axes.set_ylim(rows + GAP / 2, -GAP / 2)


def _frame(axes: Axes, row: int, column: int) -> None:
    corner = column * (SIDE + GAP) - 1, row * (SIDE + GAP) - 1
    axes.add_patch(Rectangle(corner, SIDE + 2, SIDE + 2, fill=False, edgecolor=RING, linewidth=1.4))


def _bare(axes: Axes, title: str) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    if title:
        axes.set_title(title, color=INK, fontsize=10)


def _told(reading: Reading) -> str:
    """The first pictures in words, and how many of all are twins."""
    count, twins = len(reading.fit), int(reading.twins.sum())
    first, clear = min(count, SPOKEN), reading.clear.all(dim=1)
    told = [_pair(reading, number) for number in range(first) if clear[number]]
    if len(told) < first:
        told.append(f"{first - len(told)} with a blot")
    more = f", and {count - first} more" if count > first else ""
    return f"{', '.join(told)}{more}; twins: {twins} of {count}."


def _pair(reading: Reading, number: int) -> str:
    things, clear = reading.things, reading.clear[number].tolist()
    left, right = (
        f"{HUE_NAMES[round(12 * hue) % 12]} {SHAPES[shape]}" if seen else "a blot"
        for hue, shape, seen in zip(
            things.hue[number].tolist(), things.shape[number].tolist(), clear, strict=True
        )
    )
    return f"{left} twice" if reading.twins[number] else f"{left} and {right}"


# ------------------------------------------------------------------------------ training


def training(nets: Mapping[str, TrainedPainter]) -> Picture:
    """Six things that were watched while two nets were set against each other, over the steps.

    Of a crowd of pictures, how many are clear, twins, and how many kinds there are; γ of both
    halves of a net; the discriminator's loss on held-out pictures, where 2 is who cannot tell; and
    between which two numbers the largest singular values of all weights were.
    """
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    panels = dict(zip(PANELS, figure.subplots(2, 3, sharex=True).flat, strict=True))
    said: dict[str, list[str]] = {name: [] for name in PANELS}
    for style, (name, net) in zip(STYLES, nets.items(), strict=False):
        look: dict[str, Any] = {"color": style["color"], "linestyle": style["linestyle"]}
        steps, crowd = watched(net)
        places = _on_log(steps)
        for metric in ("clear", "twins", "modes"):
            values = [each[metric] for each in crowd]
            panels[metric].plot(places, values, label=name, **look)
            said[metric].append(f"{name} {values[0]:.2f} to {values[-1]:.2f}")
        for half, width in (("generator", 2.2), ("discriminator", 1.1)):
            values = [each["gamma"][half] for each in crowd if half in each.get("gamma", {})]
            if values:
                panels["γ"].plot(places, values, **look | {"linewidth": width})
                panels["γ"].annotate(
                    half[0].upper(), (places[-1], values[-1]), xytext=(3, 0),
                    textcoords="offset points", color=look["color"], va="center",
                )  # fmt: skip
                said["γ"].append(f"{name} {half} {values[0]:.2f} to {values[-1]:.2f}")
        curve = [
            (each["step"], each["valid_loss"])
            for each in net.card.curves[str(net.card.seed)]
            if "valid_loss" in each
        ]
        panels["loss"].plot(
            [max(step, places[0]) for step, _ in curve], [loss for _, loss in curve], **look
        )
        said["loss"].append(f"{name} {curve[0][1]:.2f} to {curve[-1][1]:.2f}")
        spans = [each["sigma"] for each in crowd if "sigma" in each]
        if spans:
            low, high = ([span[end] for span in spans] for end in ("smallest", "largest"))
            panels["σ"].fill_between(places, low, high, color=look["color"], alpha=0.35)
            said["σ"].append(f"{name} from {min(low):.2f} to {max(high):.2f}")
    _dress(panels)
    figure.legend(
        *panels["clear"].get_legend_handles_labels(),
        loc="outside upper center", ncols=len(nets), frameon=False, labelcolor=INK,
    )  # fmt: skip
    lines = "; ".join(f"{PANELS[panel]}: {', '.join(each)}" for panel, each in said.items() if each)
    return picture(figure, f"Training watched, from the first step to the last. {lines}.")


PANELS = {
    "clear": "clear pictures",
    "twins": "twins",
    "modes": "kinds drawn",
    "γ": "γ",
    "loss": "loss of D, held out",
    "σ": "σ of all weights",
}


def _dress(panels: Mapping[str, Axes]) -> None:
    for name, axes in panels.items():
        axes.set_xscale("log")
        axes.set_xlim(left=max(1.0, axes.get_xlim()[1] / 300))
        axes.set_title(PANELS[name], fontsize=10)
        if name in ("clear", "twins", "modes"):
            axes.set_ylim(0, 1)
        plain_axes(axes)
    for name, level in (("γ", 0.0), ("loss", 2.0), ("σ", 1.0)):
        panels[name].axhline(level, color=INK, linewidth=1, linestyle=":")
    low, high = panels["σ"].get_ylim()
    panels["σ"].set_ylim(min(low, 0.9), max(high, 1.1))
    for name in ("γ", "loss", "σ"):
        panels[name].set_xlabel("steps")


def watched(net: TrainedPainter) -> tuple[list[int], list[dict[str, Any]]]:
    """The moments of training, and what its crowd was like at each."""
    moments = net.card.moments
    return [each["step"] for each in moments], [each["said"][-1] for each in moments]


def _on_log(steps: Sequence[int]) -> list[float]:
    """Step 0 has no place on a log scale; it stands where half the first step would be."""
    first = min((step for step in steps if step), default=1) / 2
    return [float(step or first) for step in steps]


# ------------------------------------------------------------------------------ the map of a point


def middles(reading: Reading, number: int, side: int) -> dict[str, tuple[int, int]]:
    """In which place of a map of ``side`` × ``side`` the two things of a picture have their
    middle, and a place on the ground between them: row and column."""
    row, column = (each[number].tolist() for each in (reading.things.row, reading.things.column))
    cell = SIDE / side
    left = int(row[0] / cell), int(column[0] / cell)
    right = int(row[1] / cell), side - 1 - int(column[1] / cell)
    return dict(zip(ZONES, (left, right, (side // 2, side // 2)), strict=True))


def gaze(
    net: TrainedPainter,
    z: Float[Tensor, "1 d_z"],
    points: Mapping[str, tuple[int, int]] | None = None,
) -> Picture:
    """A picture, and once more for each point under a fog that is thin where that point looks.

    The fog thins by √(16 β) and is gone where a sixteenth of the look goes or more. points: name ->
    row and column of the generator's attended map; without them, the two things and the ground

    ``ValueError`` for a generator without attention, and for a point outside its map
    """
    trace = net.look(z)
    beta, side, seen = trace.weights[0], *_sides(trace.weights[0])
    shown = net.paint(z)
    if points is None:
        points = middles(read(shown), 0, side)
    figure = Figure(figsize=(1.75 * (len(points) + 1), 2.1), layout="constrained")
    panels = list(figure.subplots(1, len(points) + 1).flat)
    for axes, title in zip(panels, ("the picture", *points), strict=True):
        _bare(axes, title if title == "the picture" else f"from: {title}")
        axes.imshow(
            shown[0].permute(1, 2, 0).numpy(), interpolation="none", extent=(0, SIDE, SIDE, 0)
        )
    said = []
    cell = SIDE / side
    for axes, (name, (row, column)) in zip(panels[1:], points.items(), strict=True):
        if not (0 <= row < side and 0 <= column < side):
            raise ValueError(f"{name} at {row}, {column} lies outside a map of {side} × {side}")
        look = beta[row * side + column].reshape(seen, seen)
        axes.imshow(_fog(look), interpolation="none", extent=(0, SIDE, SIDE, 0))
        corner = column * cell, row * cell
        axes.add_patch(Rectangle(corner, cell, cell, fill=False, edgecolor=RING, linewidth=1.8))
        shares = np.array_split(look.sum(axis=0), 3)
        thirds = ", ".join(
            f"{where} third {share.sum():.2f}"
            for where, share in zip(("left", "middle", "right"), shares, strict=True)
        )
        said.append(f"The {name} looks at: {thirds}")
    return picture(
        figure,
        f"Where points of a drawn picture ({_pair(read(shown), 0)}) looked while it was drawn. "
        f"{'. '.join(said)}.",
    )


def _sides(beta: Float[np.ndarray, "pixel place"]) -> tuple[int, int]:
    """Of the map that looks, and of that which is looked at: half as large if it was pooled."""
    looks, looked = (round(count**0.5) for count in beta.shape)
    return looks, looked


def _fog(look: Float[np.ndarray, "row column"]) -> UInt8[np.ndarray, "row column 4"]:
    fog = np.full((*look.shape, 4), FOG, dtype=np.uint8)
    fog[..., 3] = np.rint(255 * THICK * (1 - np.sqrt((look / FULL).clip(0, 1))))
    return fog


@dataclass(frozen=True)
class Looks:
    """What zones look at, in the clear ones among some pictures; a row for each of ``ZONES``.

    mean: of each clear picture, the mean look of a zone's pixels; zones, looked: of which zone each
    place is, of the map that looks and of that which is looked at
    """

    mean: Float[Tensor, "picture 3 place"]
    zones: Bool[Tensor, "picture 3 pixel"]
    looked: Bool[Tensor, "picture 3 place"]


def _looks(net: TrainedPainter, z: Float[Tensor, "picture d_z"]) -> Looks:
    out = drawn(net.model, z, weights=True)
    if out.weights is None:
        raise ValueError(f"{net.card.experiment} has no attention in its generator")
    reading = read(to_bytes(out.pictures))
    clear = reading.clear.all(dim=1)
    beta, masks = out.weights[clear], _zones(reading)[clear]
    at, to = (_on_map(masks, round(count**0.5)).flatten(2) for count in beta.shape[1:])
    count = at.sum(dim=-1, keepdim=True).clamp(min=1)
    return Looks(mean=at.float() @ beta / count, zones=at, looked=to)


def sight(
    net: TrainedPainter, z: Float[Tensor, "picture d_z"]
) -> tuple[int, dict[str, dict[str, float]]]:
    """How much of a look goes where, over the clear ones among the pictures of some z.

    Returns how many were clear, and from zone -> to zone -> mean share of a look. Under "chance"
    stands the share of the map that a zone takes up: so much a blind look gives it. There is
    nothing where no picture is clear.
    """
    looks = _looks(net, z)
    if not len(looks.mean):
        return 0, {}
    to = looks.looked.float()
    mass = looks.mean @ to.mT  # picture, zone, zone
    weight = looks.zones.sum(dim=-1, keepdim=True) / looks.zones.sum(dim=(0, 2))[:, None]
    found = {
        zone: dict(zip(ZONES, shares.tolist(), strict=True))
        for zone, shares in zip(ZONES, (weight * mass).sum(dim=0), strict=True)
    }
    found["chance"] = dict(zip(ZONES, to.mean(dim=(0, 2)).tolist(), strict=True))
    return len(looks.mean), found


@dataclass(frozen=True)
class Favourites:
    """Where the looks of many pictures meet.

    places: those that the two things look at most, on average over the pictures; row and column
    share: how much of the things' looks goes there; ground: of the ground's look
    together: in how many of the pictures both things look most at one and the same place
    """

    places: tuple[tuple[int, int], ...]
    share: float
    ground: float
    together: float
    shown: Picture


def favourites(net: TrainedPainter, z: Float[Tensor, "picture d_z"], count: int = 6) -> Favourites:
    """The few places that are looked at in picture after picture, and the mean looks drawn.

    A place's brightness is the root of its share. Where no picture is clear, all shares are 0.
    """
    looks = _looks(net, z)
    there = looks.zones.any(dim=-1)  # a small thing may fill no place of a coarse map
    mean = looks.mean.sum(dim=0) / there.sum(dim=0).clamp(min=1)[:, None]
    top = mean[:2].mean(dim=0).topk(count)
    side = round(mean.shape[-1] ** 0.5)
    first = looks.mean[there[:, :2].all(dim=1), :2].argmax(dim=-1)
    figure = Figure(figsize=(6.2, 2.3), layout="constrained")
    said = []
    for axes, zone, look in zip(figure.subplots(1, len(ZONES)).flat, ZONES, mean, strict=True):
        _bare(axes, f"from: {zone}")
        axes.imshow(
            look.reshape(side, side).sqrt().numpy(),
            cmap="cividis",
            vmin=0,
            vmax=1,
            interpolation="none",
        )
        most, at = look.max(dim=0)
        said.append(
            f"the {zone} most at row {int(at) // side}, column {int(at) % side}, {most:.2f}"
        )
    return Favourites(
        places=tuple((int(at) // side, int(at) % side) for at in top.indices),
        share=float(top.values.sum()),
        ground=float(mean[2][top.indices].sum()),
        together=float((first[:, 0] == first[:, 1]).sum()) / max(len(first), 1),
        shown=picture(
            figure,
            f"Mean looks over {len(looks.mean)} pictures, on the map of {side} × {side} places: "
            f"{'; '.join(said)}.",
        ),
    )


def _zones(reading: Reading) -> Float[Tensor, "picture 2 row column"]:
    """How much of each pixel the left, and the right thing covers."""
    halves = coverage(reading.things)
    none = torch.zeros_like(halves[:, 0])
    left = joined(torch.stack([halves[:, 0], none], dim=1))
    right = joined(torch.stack([none, halves[:, 1]], dim=1))
    return torch.stack([left, right], dim=1)


def _on_map(
    covered: Float[Tensor, "picture 2 row column"], side: int
) -> Bool[Tensor, "picture 3 side side"]:
    """Of each place, whether at least half of it is on the left thing, on the right one, or else
    on the ground."""
    things = F.avg_pool2d(covered, SIDE // side) >= 0.5
    return torch.cat([things, ~things.any(dim=1, keepdim=True)], dim=1)
