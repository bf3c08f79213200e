"""Glimpses: where a model looks in a picture for each word, when it looks, and how much of what it
learns from them is luck.

A strip shows the picture once a word, under a fog. The fog thins where the model looks, by √(4α),
and is gone at a place that a quarter of the look goes to or more. A look that goes everywhere
alike is seen to go nowhere.
"""

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import sha1
from html import escape
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from matplotlib.figure import Figure
from matplotlib.image import imsave
from torch import Tensor

from heed.data.captions import ANIMALS, COLOUR, COLOURS, NOUN, OTHER, SIZE
from heed.data.scenes import Scenes
from heed.data.vocabulary import PAD
from heed.evaluation.captions import Caption, cells_in, describe, forced, places
from heed.experiments.captioning import TrainedCaptioner, pixels
from heed.models.show_attend_tell import Look, ShowAttendTell
from heed.training.captions import advantages, log_probabilities, reinforce
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes
from heed.viz.length import STYLES

FOG = (128, 128, 128)
THICK = 0.88
"""How much the fog hides where nobody looks."""

Box = tuple[int, int, int, int]
"""Top, left, bottom, right, in pixels; the last two are not in it."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A scene and what was said of it.

    boxes: for each word that of the animal it speaks of, ``None`` for a word that speaks of none;
        empty where nobody knows
    right: what would have been right to say
    """

    picture: UInt8[Tensor, "3 row column"]
    caption: Caption
    boxes: Sequence[Box | None] = ()
    right: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.boxes and len(self.boxes) != len(self.caption.words):
            raise ValueError(f"{len(self.caption.words)} words, but {len(self.boxes)} boxes")


def told(net: TrainedCaptioner, scenes: Scenes, number: int) -> Shown:
    """The model is made to write the right caption of a scene; where does it look?"""
    length = int(scenes.captions.lengths[number])
    words = scenes.captions.words[number : number + 1, :length]
    out = forced(net.model, pixels(scenes.pictures[number : number + 1]), words)
    log_p = log_probabilities(out.logits, words[:, 1:])[0]
    assert out.glimpses is not None
    assert out.gates is not None
    right = tuple(net.vocabulary.decode(words[0, 1:-1].tolist()))
    caption = Caption(
        words=right,
        log_prob=float(log_p.sum()),
        log_probs=log_p.tolist(),
        weights=out.weights["cross"][0, 0].float().numpy(),
        grid=net.model.config.grid,
        glimpses=out.glimpses[0].tolist(),
        gates=out.gates[0].tolist(),
        finished=True,
    )
    return Shown(
        picture=scenes.pictures[number],
        caption=caption,
        boxes=_boxes(scenes, number),
        right=right,
    )


def said(net: TrainedCaptioner, scenes: Scenes, number: int, *, look: Look | None = None) -> Shown:
    """The model writes by itself."""
    caption = net.describe(scenes.pictures[number], look=look)
    length = int(scenes.captions.lengths[number])
    right = tuple(net.vocabulary.decode(scenes.captions.words[number, 1 : length - 1].tolist()))
    # Of a caption with as many words, each speaks of whom it should speak of.
    boxes = _boxes(scenes, number) if len(caption.words) == len(right) else ()
    return Shown(picture=scenes.pictures[number], caption=caption, boxes=boxes, right=right)


def _boxes(scenes: Scenes, number: int) -> list[Box | None]:
    length = int(scenes.captions.lengths[number])
    about = scenes.captions.about[number, 1 : length - 1].tolist()
    found: list[Box | None] = []
    for slot in about:
        top, left, bottom, right = scenes.boxes[number, slot].tolist()
        found.append((top, left, bottom, right) if slot >= 0 else None)
    return found


def animals(scenes: Scenes, number: int) -> dict[str, Box]:
    """Who is in a scene, in the order of naming, and where: "red cat" and its box."""
    found: dict[str, Box] = {}
    for slot in range(int(scenes.plan.count[number])):
        colour = COLOURS[int(scenes.plan.colour[number, slot])].english
        animal = ANIMALS[int(scenes.plan.animal[number, slot])].english
        top, left, bottom, right = scenes.boxes[number, slot].tolist()
        found[f"{colour} {animal}"] = (top, left, bottom, right)
    return found


# ------------------------------------------------------------------------------ pictures


def scene(
    picture: UInt8[Tensor, "3 row column"],
    *,
    grid: tuple[int, int] = (8, 8),
    boxes: Mapping[str, Box] | None = None,
    side: int = 300,
) -> Picture:
    """A scene, large, with the grid of its places and a named box around each animal."""
    boxes = boxes or {}
    pixel = side / picture.shape[-1]
    lines = []
    for count, along in zip(grid, ("row", "column"), strict=True):
        for k in range(1, count):
            at = f"{side * k / count:g}"
            ends = (0, at, side, at) if along == "row" else (at, 0, at, side)
            named = " ".join(
                f'{name}="{end}"' for name, end in zip(("x1", "y1", "x2", "y2"), ends, strict=True)
            )
            lines.append(f'<line {named} style="stroke: #ffffff; stroke-opacity: 0.55"/>')
    for name, box in boxes.items():
        lines.append(_rectangle(box, pixel, width=2))
        top = box[0] * pixel
        below = box[2] * pixel + 14
        lines.append(
            _text(name, box[1] * pixel, top - 5 if top > 18 else below, colour=RING, halo=True)
        )
    body = _image(_png(_rows(picture)), side, crisp=True) + "".join(lines)
    where = "; ".join(f"{name}: {_named(box, grid, picture)}" for name, box in boxes.items())
    alt = f"A scene of {grid[0]} by {grid[1]} places. {where}."
    return Picture(_svg(body, side, side), alt)


def _named(box: Box, grid: tuple[int, int], picture: UInt8[Tensor, "3 row column"]) -> str:
    cell = picture.shape[-1] // grid[0]
    top, left, bottom, right = box
    rows = f"rows {top // cell + 1} to {(bottom - 1) // cell + 1}"
    return f"{rows}, columns {left // cell + 1} to {(right - 1) // cell + 1}"


def glimpses(shown: Shown, *, columns: int = 6, panel: int = 92) -> Picture:
    """One picture a word: what the model looked at when it wrote it.

    The box is that of the animal that the word speaks of, a white ring the place that was looked
    at alone, the bar below β. A word that is not the right one is orange, with the right one below.
    """
    return side_by_side({"": shown}, columns=columns, panel=panel)


def side_by_side(rows: Mapping[str, Shown], *, columns: int = 6, panel: int = 92) -> Picture:
    """The same for several models, under each other, and folded after ``columns`` words."""
    longest = max(len(shown.caption.words) for shown in rows.values())
    margin = 46 if any(rows) else 2
    step, high = panel + 10, panel + 50
    body, at = [], 0
    for first in range(0, longest, columns):
        for name, shown in rows.items():
            words = range(first, min(first + columns, len(shown.caption.words)))
            if not words:
                continue
            if name:
                body.append(_text(name, 0, at + high / 2, size=15))
            for column, t in enumerate(words):
                body.append(
                    f'<g transform="translate({margin + column * step},{at + 20})">'
                    f"{_panel(shown, t, panel)}</g>"
                )
            at += high
        at += 6 if len(rows) > 1 else 0
    body.append(_text("clear: looked at; bar: β", margin, at + 10, size=13))
    defined = "".join(
        f'<symbol id="{_name(shown)}" viewBox="0 0 {panel} {panel}">'
        f"{_image(_png(_rows(shown.picture)), panel, crisp=True)}</symbol>"
        for shown in {_name(shown): shown for shown in rows.values()}.values()
    )
    wide = margin + min(columns, longest) * step
    told = " ".join(_told(name, shown) for name, shown in rows.items())
    return Picture(_svg(f"<defs>{defined}</defs>{''.join(body)}", wide, at + 18), told)


def _panel(shown: Shown, t: int, panel: int) -> str:
    """One word over its picture."""
    caption, pixel = shown.caption, panel / shown.picture.shape[-1]
    word, right = caption.words[t], _right(shown, t)
    drawn = [
        _text(word, panel / 2, -6, size=16, middle=True, colour=INK if right is None else RING),
        f'<use href="#{_name(shown)}" width="{panel}" height="{panel}"/>',
        _image(_png(_fog(caption.weights[t].reshape(caption.grid))), panel, crisp=False),
    ]
    box = shown.boxes[t] if shown.boxes else None
    if box is not None:
        drawn.append(_rectangle(box, pixel, width=1.4))
    place = -1 if caption.glimpses is None else caption.glimpses[t]
    if place >= 0:
        row, column = divmod(place, caption.grid[1])
        cell = shown.picture.shape[-1] // caption.grid[0]
        ring = (row * cell, column * cell, (row + 1) * cell, (column + 1) * cell)
        drawn += [_rectangle(ring, pixel, width=3, colour="#111111"),
                  _rectangle(ring, pixel, width=1.6, colour="#ffffff")]  # fmt: skip
    if caption.gates is not None:
        for share, opacity in ((1.0, 0.25), (caption.gates[t], 1.0)):
            drawn.append(
                f'<rect x="0" y="{panel + 4}" width="{share * panel:.1f}" height="4" '
                f'style="fill: {INK}; fill-opacity: {opacity}"/>'
            )
    if right is not None:
        drawn.append(_text(f"({right})", panel / 2, panel + 22, size=13, middle=True))
    return "".join(drawn)


def _right(shown: Shown, t: int) -> str | None:
    """The right word, where another one was written."""
    if not shown.right:
        return None
    right = shown.right[t] if t < len(shown.right) else "nothing"
    return None if right == shown.caption.words[t] else right


def _told(name: str, shown: Shown) -> str:
    """A strip as sentences."""
    caption, spoken = shown.caption, []
    labels = places(caption.grid).labels
    for t, word in enumerate(caption.words):
        weights = caption.weights[t]
        best = int(weights.argmax())
        told = f"writing '{word}', looks at {labels[best]} {weights[best]:.2f}"
        box = shown.boxes[t] if shown.boxes else None
        if box is not None:
            inside = cells_in(torch.tensor(box), caption.grid, shown.picture.shape[-1])
            told += ", on the animal" if inside[best] else ", beside the animal"
        if caption.gates is not None:
            told += f", gate {caption.gates[t]:.2f}"
        right = _right(shown, t)
        spoken.append(told + (f", right would be '{right}'" if right is not None else ""))
    start = f"{name}. " if name else "Glimpses, word by word; places are row, column. "
    return f"{start}{'; '.join(spoken)}."


def _name(shown: Shown) -> str:
    """An id that no other figure on the page has."""
    data = shown.picture.numpy().tobytes() + shown.caption.weights.tobytes()
    return f"scene-{sha1(data).hexdigest()[:10]}"


def _rows(picture: UInt8[Tensor, "3 row column"]) -> UInt8[np.ndarray, "row column 3"]:
    return picture.permute(1, 2, 0).numpy()


def _fog(weights: Float[np.ndarray, "row column"]) -> UInt8[np.ndarray, "row column 4"]:
    hidden = THICK * (1 - np.sqrt(4 * weights.clip(0, 0.25)))
    fog = np.empty((*weights.shape, 4), dtype=np.uint8)
    fog[..., :3] = FOG
    fog[..., 3] = np.round(255 * hidden)
    return fog


def _png(array: UInt8[np.ndarray, "row column channel"]) -> str:
    sink = io.BytesIO()
    no_date: dict[str, Any] = {"Software": None}  # the same bytes from every version
    imsave(sink, array, format="png", metadata=no_date)
    return base64.b64encode(sink.getvalue()).decode()


def _image(data: str, side: int, *, crisp: bool) -> str:
    how = "pixelated" if crisp else "auto"
    return (
        f'<image href="data:image/png;base64,{data}" width="{side}" height="{side}" '
        f'preserveAspectRatio="none" style="image-rendering: {how}"/>'
    )


def _rectangle(box: Box, pixel: float | int, *, width: float | int, colour: str = RING) -> str:
    top, left, bottom, right = (edge * pixel for edge in box)
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" style="fill: none; stroke: {colour}; stroke-width: {width}"/>'
    )


def _text(
    text: str,
    x: float | int,
    y: float | int,
    *,
    size: int = 12,
    colour: str = INK,
    middle: bool = False,
    halo: bool = False,
) -> str:
    style = f"font-size: {size}px; font-family: sans-serif; fill: {colour}"
    style += "; text-anchor: middle" if middle else ""
    style += "; font-weight: bold" if colour == RING else ""
    style += "; stroke: #ffffff; stroke-width: 3; paint-order: stroke" if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{escape(text)}</text>'


def _svg(body: str, wide: float | int, high: float | int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" '
        f'viewBox="0 0 {wide:g} {high:g}">{body}</svg>'
    )


# ------------------------------------------------------------------------------ when it looks


@dataclass(frozen=True, kw_only=True)
class Looked:
    """How a model looks while it writes words of one role, all of which speak of an animal.

    hits: how often the likeliest place is on the animal; chance: how often a blind one is
    mass: the share of the weights that is on it; gate: β; both are means
    taken: β times that share, the mean: how much of the animal comes in
    """

    words: int
    hits: float
    chance: float
    mass: float
    gate: float
    taken: float


def looks(net: TrainedCaptioner, scenes: Scenes) -> dict[str, Looked]:
    """For articles, sizes, colours and nouns, while the model is made to write what is right."""
    captions, model = scenes.captions, net.model
    out = forced(model, pixels(scenes.pictures), captions.words)
    weights, gates = out.weights["cross"][:, 0].float(), out.gates
    assert gates is not None
    found = {}
    roles = {"article": OTHER, "size": SIZE, "colour": COLOUR, "noun": NOUN}
    for name, role in roles.items():
        row, word = ((captions.role == role) & (captions.about >= 0)).nonzero(as_tuple=True)
        box = scenes.boxes[row, captions.about[row, word]]
        inside = cells_in(box, model.config.grid, model.config.side)
        alpha, gate = weights[row, word - 1], gates[row, word - 1].float()
        first = alpha.argmax(dim=-1, keepdim=True)
        mass = (alpha * inside).sum(dim=-1)
        found[name] = Looked(
            words=len(row),
            hits=inside.gather(1, first).float().mean().item(),
            chance=inside.float().mean().item(),
            mass=mass.mean().item(),
            gate=gate.mean().item(),
            taken=(gate * mass).mean().item(),
        )
    return found


def aimed(
    scenes: Scenes, *, grid: tuple[int, int], side: int
) -> dict[str, Float[Tensor, "scene step place"]]:
    """Looks of nobody, but by a rule: at the animal that a word speaks of, spread over it or at one
    place of it; evenly everywhere where a word speaks of none. Step t writes word t + 1."""
    about = scenes.captions.about[:, 1:]
    scene = torch.arange(len(about))[:, None]
    inside = cells_in(scenes.boxes[scene, about.clamp(min=0)], grid, side).float()
    places = inside.shape[-1]
    by_rule = {
        "spread over the animal": inside / inside.sum(dim=-1, keepdim=True),
        "at one place of it": torch.eye(places)[inside.argmax(dim=-1)],
    }
    there = (about >= 0)[..., None]
    return {name: torch.where(there, looks, 1 / places) for name, looks in by_rule.items()}


def when(found: Mapping[str, Mapping[str, Looked]]) -> Picture:
    """How much of its animal comes in with each kind of word, a group of bars a kind."""
    roles = list(next(iter(found.values())))
    figure = Figure(figsize=(6.2, 2.9))
    axes = figure.add_subplot()
    width, spoken = 0.8 / len(found), []
    for number, (name, of) in enumerate(found.items()):
        at = [k + (number - (len(found) - 1) / 2) * width for k in range(len(roles))]
        taken = [of[role].taken for role in roles]
        hatch = ("", "//", "..")[number % 3]
        axes.bar(at, taken, width * 0.92, color=STYLES[number]["color"], hatch=hatch, label=name,
                 edgecolor="#ffffff", linewidth=0)  # fmt: skip
        for x, each in zip(at, taken, strict=True):
            axes.text(x, each + 0.02, f"{each:.2f}", ha="center", color=INK, fontsize=9)
        told = ", ".join(f"{role} {each:.2f}" for role, each in zip(roles, taken, strict=True))
        spoken.append(f"{name}: {told}")
    axes.set_xticks(range(len(roles)), roles)
    axes.set_ylim(0, 1.08)
    axes.set_ylabel("β × share on the animal")
    legend = axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    for text in legend.get_texts():
        text.set_color(INK)
    plain_axes(axes)
    return picture(
        figure, f"How much of an animal comes in with each word about it. {'; '.join(spoken)}."
    )


# ------------------------------------------------------------------------------ how much is luck


def running(
    estimates: Mapping[str, Float[Tensor, " draw"]], exact: float | int, *, shown: int = 400
) -> Picture:
    """The mean of the first n draws, over n, and the number that it should come to."""
    figure = Figure(figsize=(6.2, 3.1))
    axes = figure.add_subplot()
    axes.axhline(exact, color=INK, linestyle=":", linewidth=1.4)
    told = []
    for (name, draws), style in zip(estimates.items(), STYLES, strict=False):
        many = torch.arange(1, len(draws) + 1)
        mean = draws.double().cumsum(0) / many
        at = torch.unique(torch.logspace(0, float(np.log10(len(draws))), shown).long()) - 1
        axes.plot(many[at], mean[at], color=style["color"], linestyle=style["linestyle"], lw=1.6,
                  label=name)  # fmt: skip
        few = min(100, len(draws))
        told.append(f"{name}: {mean[few - 1]:.2f} after {few} throws, {mean[-1]:.3f} at the end")
    axes.set_xscale("log")
    axes.set_xlim(1, max(len(draws) for draws in estimates.values()))
    axes.set_xlabel("throws")
    axes.set_ylabel("mean so far")
    legend = axes.legend(frameon=False)
    for text in legend.get_texts():
        text.set_color(INK)
    plain_axes(axes)
    return picture(
        figure, f"The mean of the throws over their number; exact {exact:.3f}. {'; '.join(told)}."
    )


def noise(
    model: ShowAttendTell,
    scenes: Scenes,
    *,
    draws: int = 40,
    seed: int = 0,
) -> dict[str, float]:
    """How much the estimated gradient of a batch differs from draw to draw.

    The second term of Eq. 12 alone, for the matrix and the vector that turn h into scores; the
    variance is that of their elements, added up. Three ways of crediting a look, for the same
    draws: with log p(y) as it is; less the moving average; and as ``credit="to_go"`` has it.
    """
    model, words = deepcopy(model).eval(), scenes.captions.words
    model.config = replace(model.config, attention="hard", coin=0.0)
    with torch.no_grad():
        seen = model.encode(pixels(scenes.pictures))
    target = words[:, 1:]
    keep = target != PAD
    score: Any = model.attention.score
    wanted = (score.W.weight, score.v.weight)
    baselines: list[Tensor] = []
    found: dict[str, list[Tensor]] = {"as it is": [], "less baseline": [], "to go": []}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for look in _drawn_looks(model, seen, words, draws):
            out = model.tell(seen, words[:, :-1], glimpses=look)
            log_p = log_probabilities(out.logits, target).detach()
            caption = log_p.sum(dim=1)
            means = [caption.mean(), (caption / keep.sum(dim=1)).mean()]
            baselines = baselines or means
            nothing = torch.zeros(())
            for name, advantage in (
                ("as it is", advantages(log_p, keep, nothing)),
                ("less baseline", advantages(log_p, keep, baselines[0])),
                ("to go", advantages(log_p, keep, baselines[1], credit="to_go")),
            ):
                term = reinforce(out, advantage, keep).mean()
                grads = torch.autograd.grad(term, wanted, retain_graph=True)
                found[name].append(torch.cat([grad.flatten() for grad in grads]))
            decay = model.config.decay
            pairs = zip(baselines, means, strict=True)
            baselines = [decay * old + (1 - decay) * new for old, new in pairs]
    return {name: torch.stack(grads).var(dim=0).sum().item() for name, grads in found.items()}


def _drawn_looks(
    model: ShowAttendTell, seen: Any, words: Int[Tensor, "picture word"], draws: int
) -> Iterator[Int[Tensor, "picture step"]]:
    """Where a training step would look, drawn again and again."""
    for _ in range(draws):
        state, placed = model.start(seen), []
        with torch.no_grad():
            for token in words[:, :-1].unbind(1):
                state, out = model.step(state, token, seen, look="sampled")
                assert out.glimpse is not None
                placed.append(out.glimpse)
        yield torch.stack(placed, dim=1)


# ------------------------------------------------------------------------------ what goes wrong


@dataclass(frozen=True, kw_only=True)
class Mistakes:
    """What a model gets wrong of some scenes when it writes by itself.

    scenes: how many; numbers: of those with a wrong caption
    length: captions that have too many words, or too few
    roles: wrong words of the others, by what they are there for
    looked: of the wrong words about an animal, the share for which the likeliest place was on that
        animal for this word or for one before it that speaks of it
    """

    scenes: int
    numbers: list[int]
    length: int
    roles: dict[str, int]
    looked: float


ROLES = {NOUN: "nouns", COLOUR: "colours", SIZE: "sizes", OTHER: "others"}


def mistakes(net: TrainedCaptioner, scenes: Scenes, *, look: Look | None = None) -> Mistakes:
    """Every scene is described, and every word held against the right one."""
    captions, model = scenes.captions, net.model
    found = describe(model, pixels(scenes.pictures), net.vocabulary, look=look)
    numbers, length, looked = [], 0, []
    roles = dict.fromkeys(ROLES.values(), 0)
    for number, caption in enumerate(found):
        end = int(captions.lengths[number]) - 1
        right = net.vocabulary.decode(captions.words[number, 1:end].tolist())
        if caption.finished and list(caption.words) == list(right):
            continue
        numbers.append(number)
        if len(caption.words) != len(right):
            length += 1
            continue
        on = _on_animal(caption, scenes, number, model.config.side)
        for t, (word, wanted) in enumerate(zip(caption.words, right, strict=True)):
            if word != wanted:
                roles[ROLES[int(captions.role[number, t + 1])]] += 1
                if (slot := int(captions.about[number, t + 1])) >= 0:
                    looked.append(any(on[u] == slot for u in range(t + 1)))
    return Mistakes(
        scenes=len(found),
        numbers=numbers,
        length=length,
        roles=roles,
        looked=float(np.mean(looked)) if looked else 0.0,
    )


def _on_animal(caption: Caption, scenes: Scenes, number: int, side: int) -> list[int]:
    """For each word, which animal it speaks of, if the likeliest place is on it; else −1."""
    about = scenes.captions.about[number, 1 : len(caption.words) + 1]
    inside = cells_in(scenes.boxes[number, about], caption.grid, side)
    first = torch.from_numpy(caption.weights[: len(about)]).argmax(dim=1, keepdim=True)
    hit = inside.gather(1, first).squeeze(1) & (about >= 0)
    return torch.where(hit, about, -1).tolist()
