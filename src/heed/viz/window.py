"""A window over a sentence: how its weights are made, where a model puts it, what moves it."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from heed.attention import Attended, masked_softmax
from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.data.vocabulary import EOS, SPECIALS
from heed.evaluation.decoding import answering
from heed.experiments.trained import Trained
from heed.layers.local import gaussian
from heed.masks import window
from heed.scores import Score
from heed.trace import AttentionTrace
from heed.viz.alignment import gold_map
from heed.viz.heatmap import INK, RING, Picture, draw_map, picture, plain_axes, ring, spoken
from heed.viz.length import STYLES

BLUE = STYLES[1]["color"]

# ------------------------------------------------------------------ one look, in three stages


def three_stages(
    scores: Float[Tensor, " key"],
    words: Sequence[str],
    *,
    place: float | int,
    radius: float | int,
    sigma: float | int,
) -> Picture:
    """A softmax inside the window, the Gaussian around the place, and their product, as strips."""
    if len(words) != len(scores):
        raise ValueError(f"{len(scores)} scores, but {len(words)} words")
    at = torch.tensor([float(place)])
    inside = window(at, radius, len(words))
    shares = masked_softmax(scores[None], inside)[0]
    hill = gaussian(at, sigma, len(words))[0]
    strips = {
        "softmax in the window": shares,
        "Gaussian": hill,
        "their product": shares * hill,
    }
    figure = Figure(figsize=(0.62 * len(words) + 1.4, 4.2), layout="constrained")
    said = []
    for axes, (name, heights) in zip(
        figure.subplots(3, 1, sharex=True), strips.items(), strict=True
    ):
        axes.axvspan(place - radius, place + radius, color=BLUE, alpha=0.13, linewidth=0)
        axes.axvline(place, color=BLUE, linewidth=1, linestyle=(0, (2, 2)))
        axes.bar(range(len(words)), heights.tolist(), width=0.6, color=RING)
        if name == "Gaussian":
            fine = torch.linspace(-0.5, len(words) - 0.5, 200)
            axes.plot(fine, torch.exp(-((fine - place) ** 2) / (2 * sigma**2)), color=INK, lw=1)
            told = f"{name} {', '.join(f'{height:.2f}' for height in heights)}"
        else:
            axes.set_title(f"sum {heights.sum():.2f}", color=INK, fontsize=9, loc="right", pad=2)
            told = f"{name} {_named(words, heights)}; sum {heights.sum():.2f}"
        said.append(told)
        axes.set_ylim(0, 1.05)
        axes.set_yticks([0, 1])
        axes.set_title(name, color=INK, fontsize=10, loc="left", pad=2)
        plain_axes(axes)
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right")
    axes.set_xlim(-0.6, len(words) - 0.4)
    return picture(
        figure,
        f"A window from {place - radius:g} to {place + radius:g} around place {place:g}, in three "
        f"strips. {'. '.join(said)}.",
    )


def _named(words: Sequence[str], heights: Float[Tensor, " key"]) -> str:
    return ", ".join(f"{word} {height:.2f}" for word, height in zip(words, heights, strict=True))


# ------------------------------------------------------------------ where a model puts it


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A map, with the middle of the window for each row, and how far it reaches; gold links."""

    trace: AttentionTrace
    places: Float[np.ndarray, " query"] | None
    radius: int | float | None
    pair: Pair

    @property
    def sums(self) -> Float[np.ndarray, " query"]:
        """What the weights of each row add up to."""
        return self.trace.weights[0].sum(axis=1)

    @property
    def away(self) -> list[float]:
        """For each word with a sure link, how far the place is from it; the nearest counts."""
        if self.places is None:
            return []
        linked = {j: [i for i, other in self.pair.sure if other == j] for _, j in self.pair.sure}
        return [min(abs(float(self.places[j]) - i) for i in linked[j]) for j in sorted(linked)]


def seen(trained: Trained, pair: Pair) -> Seen:
    """Where the model looks and puts its window while it is made to write the gold target."""
    batch = encode_batch([pair], trained.source_vocab, trained.target_vocab)
    with answering(trained.model):
        out = trained.model(batch.source, batch.source_lengths, batch.target[:, :-1])
    rows = len(pair.target)
    places = None if out.places is None else out.places[0, :rows].float().numpy()
    return Seen(
        trace=AttentionTrace.of(
            trained.card.experiment,
            out.weights["cross"][0, 0, :rows],
            query=pair.target,
            key=(*pair.source, SPECIALS[EOS]),
        ),
        places=places,
        radius=None if places is None else trained.model.config.D,
        pair=pair,
    )


def windows(panels: Mapping[str, Seen], *, cell: float = 0.24, gold: bool = True) -> Picture:
    """Maps beside each other; on each row a dot for p_t, and a line around what the window holds.

    gold: ring the cells of sure links
    """
    sizes = [each.trace.weights[0].shape for each in panels.values()]
    figure = Figure(
        figsize=(
            sum(columns * cell + 0.9 for _, columns in sizes),
            max(rows for rows, _ in sizes) * cell + 1.5,
        ),
        layout="constrained",
    )
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    said = []
    for number, (axes, (name, each)) in enumerate(zip(row, panels.items(), strict=True)):
        draw_map(axes, each.trace)
        axes.tick_params(labelsize=8)
        if number:
            axes.set_ylabel("")
        for i, j in sorted(each.pair.sure) if gold else ():
            ring(axes, j, i)
        _outline(axes, each)
        axes.set_title(name, color=INK, fontsize=10)
        said.append(f"{name}: {_told(each)}")
    return picture(
        figure,
        "Attention maps side by side, a dot where each row's window is centred. " + " ".join(said),
    )


def _outline(axes: Axes, each: Seen) -> None:
    if each.places is None or each.radius is None:
        return
    columns = each.trace.weights[0].shape[1]
    for t, place in enumerate(each.places.tolist()):
        first = max(0, int(np.ceil(place - each.radius)))
        last = min(columns - 1, int(np.floor(place + each.radius)))
        if first <= last:
            box = (first - 0.5, t - 0.5), last - first + 1, 1
            axes.add_patch(Rectangle(*box, fill=False, edgecolor="#ffffff", linewidth=0.5))
        if place <= columns - 0.5:
            axes.plot(
                place, t, marker="o", markersize=4, color="#ffffff", markeredgecolor="#111111"
            )


def _told(each: Seen) -> str:
    if each.places is None:
        return spoken(each.trace)
    off = f", {np.mean(each.away):.1f} words from the gold link on average" if each.away else ""
    return (
        f"windows of {each.radius} to each side, centred from {each.places[0]:.1f} in the first "
        f"row to {each.places[-1]:.1f} in the last{off}. {spoken(each.trace)}"
    )


def share_inside(pairs: Sequence[Pair], radius: int) -> float:
    """The share of all (target word, source position) cells within ``radius`` of p_t = t."""
    cells = kept = 0
    for pair in pairs:
        steps = torch.arange(len(pair.target), dtype=torch.float32)
        inside = window(steps, radius, len(pair.source) + 1)  # EOS is a position
        cells, kept = cells + inside.numel(), kept + int(inside.sum())
    return kept / cells


def letters_right(trained: Trained, pairs: Sequence[Pair]) -> dict[str, float]:
    """The share of target words that are right although forced to go on from the right ones:
    those whose gold link the window holds, and those whose link lies outside."""
    found: dict[str, list[bool]] = {"inside": [], "outside": []}
    for pair in pairs:
        batch = encode_batch([pair], trained.source_vocab, trained.target_vocab)
        with answering(trained.model):
            out = trained.model(batch.source, batch.source_lengths, batch.target[:, :-1])
        if out.places is None:
            raise ValueError(f"{trained.card.experiment} looks through no window")
        right = out.logits[0].argmax(-1) == batch.target[0, 1:]
        for i, j in sorted(pair.sure):
            within = abs(float(out.places[0, j]) - i) <= trained.model.config.D
            found["inside" if within else "outside"].append(bool(right[j]))
    return {name: sum(each) / len(each) for name, each in found.items() if each}


# ------------------------------------------------------------------ one word beside


def beside(trained: Trained, pairs: Sequence[Pair]) -> Counter[int]:
    """How far the first look of each word with a sure link is from the linked word: to the right
    if above 0."""
    found: Counter[int] = Counter()
    for pair in pairs:
        rows = gold_map(trained, pair).weights[0]
        found.update(int(rows[j].argmax()) - i for i, j in pair.sure)
    return found


class Pointed(nn.Module):
    """In place of a model's attention: all weight on one key a step, the keys given beforehand."""

    def __init__(self, score: Score, keys: Sequence[int]) -> None:
        super().__init__()
        self.score, self.keys = score, iter(keys)

    def look(self, query: Tensor, prepared: Tensor, values: Tensor, **_: object) -> Attended:
        """As ``Attention.look``, for one query a call; the next call takes the next key."""
        weights = torch.zeros(*query.shape[:-1], values.shape[-2])
        weights[..., next(self.keys)] = 1.0
        return Attended(context=weights @ values, weights=weights)


def right_when_beside(trained: Trained, pairs: Sequence[Pair], off: int) -> float:
    """The share of words that come out right if each look falls ``off`` words to the right of the
    linked one, and nowhere else. Every target word must have one sure link."""
    right = []
    for pair in pairs:
        linked = {j: i for i, j in pair.sure}
        end = len(pair.source)
        wanted = [linked[j] + off for j in range(len(pair.target))]
        keys = [at if 0 <= at <= end else linked[j] for j, at in enumerate(wanted)]
        batch = encode_batch([pair], trained.source_vocab, trained.target_vocab)
        model = deepcopy(trained.model)
        model.attention = Pointed(model.attention.score, [*keys, end])
        with answering(model):
            out = model(batch.source, batch.source_lengths, batch.target[:, :-1])
        said = (out.logits[0].argmax(-1) == batch.target[0, 1:])[: len(pair.target)].tolist()
        right += [each for each, at in zip(said, wanted, strict=True) if 0 <= at <= end]
    return sum(right) / len(right)


# ------------------------------------------------------------------ what moves it


def pull(sigma: float | int, away: Sequence[float]) -> list[float]:
    """|∂ exp(−(s − p)² / 2σ²) / ∂p| for a key so many words away from p, by autograd."""
    found = []
    for distance in away:
        place = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
        key = torch.exp(-((distance - place) ** 2) / (2 * sigma**2))
        (slope,) = torch.autograd.grad(key.sum(), place)
        found.append(abs(float(slope)))
    return found


def pull_picture(sigmas: Sequence[float | int], *, radius: int | float) -> Picture:
    """How strongly a key moves the place, over its distance: a line a σ."""
    away = [radius * k / 120 for k in range(121)]
    figure = Figure(figsize=(6.2, 3.0))
    axes = figure.add_subplot()
    said = []
    for sigma, style in zip(sigmas, STYLES, strict=False):
        line = pull(sigma, away)
        peak = int(np.argmax(line))
        axes.plot(away, line, color=style["color"], linestyle=style["linestyle"], linewidth=1.8)
        axes.annotate(
            f"σ = {sigma:g}",
            (away[peak], line[peak]),
            xytext=(6, 3),
            textcoords="offset points",
            color=style["color"],
        )
        said.append(
            f"σ = {sigma:g} pulls most from {away[peak]:.1f} words away, and from {radius:g} words "
            f"with {line[-1] / line[peak]:.0%} of that"
        )
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, radius)
    axes.set_xlabel("words between the key and the place")
    axes.set_ylabel("pull on the place")
    plain_axes(axes)
    told = "; ".join(said)
    return picture(figure, f"The gradient of a weight by the place, over the distance: {told}.")


# ------------------------------------------------------------------ what it saves


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """One query against a whole source, and against the window alone; seconds, the quickest try."""

    keys: int
    seconds: float
    window_seconds: float


@torch.inference_mode()
def step_cost(
    score: Score, keys: int, *, radius: int, d: int, repeats: int = 9, inner: int = 20
) -> StepCost:
    """A decoder's step asks one query. Score and mix all keys, or those of a window."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(1, d, generator=generator)
    values = torch.randn(keys, d, generator=generator)
    prepared = score.prepare(values)
    low, high = max(0, keys // 2 - radius), keys // 2 + radius + 1

    def once(part: slice) -> float:
        start = time.perf_counter()
        for _ in range(inner):
            _ = score.compare(query, prepared[part]).softmax(-1) @ values[part]
        return (time.perf_counter() - start) / inner

    everything, inside = slice(0, keys), slice(low, high)
    for part in (everything, inside):  # the first ones warm up
        once(part)
    times = [(once(everything), once(inside)) for _ in range(repeats)]
    return StepCost(
        keys=keys,
        seconds=min(all_of for all_of, _ in times),
        window_seconds=min(in_it for _, in_it in times),
    )
