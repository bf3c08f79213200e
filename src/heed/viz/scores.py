"""The six scores side by side: what each is, found out by trying it, and what it made of a
translator."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from heed.data.batches import encode_batch, encode_source
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS
from heed.experiments.cards import Card, spread
from heed.experiments.compare import plus_minus
from heed.experiments.trained import Trained
from heed.models.bahdanau import Annotations
from heed.scores import Score, ScoreName, score_of
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes
from heed.viz.length import STYLES

SURVEY: tuple[ScoreName, ...] = (
    "content_base",
    "additive",
    "location_base",
    "general",
    "dot",
    "scaled_dot",
)
"""In the order of the survey's table."""

RUNNING: tuple[ScoreName, ...] = (SURVEY[0], "unit_content_base", *SURVEY[1:])
"""As we have them: content-base twice, with a strength β that is learnt and with none."""

SPELT: dict[ScoreName, str] = {
    "content_base": "content-base",
    "unit_content_base": "the same, β = 1",
    "location_base": "location-base",
    "scaled_dot": "scaled dot",
}
"""The names that are not written as a config writes them."""


def chosen(score: Score, **weights: Tensor) -> Score:
    """The score with its matrices set to these; ``v`` and any other may be given by name.

    ``ValueError`` for a name that the score does not have.
    """
    for name, values in weights.items():
        layer = getattr(score, name, None)
        if layer is None:
            raise ValueError(f"{type(score).__name__} has no {name!r} to choose")
        with torch.no_grad():
            layer.weight.copy_(values)
    return score.requires_grad_(False)


# ------------------------------------------------------------------------ the survey's table


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One row of the table: two cells read from the class, three found out by trying it.

    parameters: at the widths that were asked for
    equal_widths: whether it refuses a query and a key of different widths
    sees_keys: whether other keys, under the same query, give other scores
    """

    name: str
    equation: str
    paper: str
    parameters: int
    equal_widths: bool
    sees_keys: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """As they are shown."""
        yes = {True: "yes", False: "no"}
        return (
            self.name,
            self.equation,
            self.paper,
            f"{self.parameters:,}",
            yes[self.equal_widths],
            yes[self.sees_keys],
        )


HEADER = ("score", "equation", "paper", "parameters", "needs equal widths", "sees the keys")


@dataclass(frozen=True)
class ScoreTable:
    """The rows, as text and as a table on the page."""

    rows: Sequence[Tried]

    def __str__(self) -> str:
        lines = [HEADER, *(row.cells for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        lines = [HEADER, tuple("---" for _ in HEADER)]
        for row in self.rows:
            name, equation, *rest = row.cells
            lines.append((name, f"`{equation}`", *rest))
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return {"text/plain": str(self), "text/markdown": table}


def survey_table(
    names: Sequence[ScoreName] = RUNNING, *, d: int = 128, d_hidden: int = 64, max_keys: int = 31
) -> ScoreTable:
    """The survey's table of scores, as our classes have it. d: width of query and key."""
    sizes = {"d_hidden": d_hidden, "max_keys": max_keys}

    def build(name: ScoreName, d_q: int, d_k: int) -> Score:
        return score_of(name, d_q=d_q, d_k=d_k, **sizes)

    return ScoreTable([tried(name, build, d=d) for name in names])


def tried(name: ScoreName, build: Callable[[ScoreName, int, int], Score], *, d: int) -> Tried:
    """One row: the legend of the class is read, the rest is tried out on random vectors."""
    score = build(name, d, d)
    equation, paper = legend(score)
    if name == "unit_content_base":
        equation = equation.removeprefix("β ")
    return Tried(
        name=SPELT.get(name, name),
        equation=equation,
        paper=paper,
        parameters=sum(each.numel() for each in score.parameters()),
        equal_widths=_refused(build, name, d),
        sees_keys=_sees_keys(score, d),
    )


def legend(score: Score) -> tuple[str, str]:
    """The right side of the equation and the paper, from the first line of the docstring."""
    first = (type(score).__doc__ or "").splitlines()[0]
    found = re.fullmatch(r"score\(.*?\) = (.+?)\s{2,}\((.+)\)", first)
    if not found:
        raise ValueError(f"{type(score).__name__} does not open with its equation: {first!r}")
    return found[1], found[2]


def _refused(build: Callable[[ScoreName, int, int], Score], name: ScoreName, d: int) -> bool:
    try:
        build(name, d, d + 1)(torch.randn(1, d), torch.randn(2, d + 1))
    except (ValueError, RuntimeError):
        return True
    return False


@torch.no_grad()
def _sees_keys(score: Score, d: int) -> bool:
    query, these, those = torch.randn(1, d), torch.randn(5, d), torch.randn(5, d)
    return not torch.equal(score(query, these), score(query, those))


# --------------------------------------------------------------- what a trained decoder asks


@torch.inference_mode()
def questions(trained: Trained, pair: Pair) -> tuple[Float[Tensor, "step d_state"], Annotations]:
    """Every state that asks while a Bahdanau translator is made to write the pair's target, and
    what it asks: s_0, s_1, … (the last one asks before ``EOS``), and the encoded source."""
    model = trained.model
    encoded = model.encode(*encode_source([pair.source], trained.source_vocab))
    state, states = model.start(encoded), []
    for token in (BOS, *trained.target_vocab.encode(pair.target)):
        states.append(state.s)
        state, _ = model.step(state, torch.tensor([token]), encoded)
    return torch.cat(states), encoded


def same_questions(trained: Trained, pair: Pair, other: Pair) -> float:
    """How far a weight moves at most when the source becomes that of another pair, and every
    question stays what it was. 0: the score does not look at its keys."""
    states, here = questions(trained, pair)
    _, there = questions(trained, other)
    if here.prepared.shape != there.prepared.shape:
        raise ValueError(
            f"the sources must be of one length, not {len(pair.source)} and {len(other.source)}"
        )
    look = trained.model.attention.look
    with torch.inference_mode():
        first, second = (
            look(states[None], each.prepared, each.annotations, keep=each.keep).weights
            for each in (here, there)
        )
    return float((first - second).abs().max())


@dataclass(frozen=True, kw_only=True)
class Loudness:
    """What a trained network compares, and what comes of it; means over its questions and keys.

    spread: standard deviation of the scores of one question over its keys
    top: the highest score of a question
    query, key: length of the vectors
    """

    spread: float
    top: float
    query: float
    key: float


@torch.inference_mode()
def loudness(trained: Trained, pairs: Sequence[Pair]) -> Loudness:
    """How loud its scores are while it is made to write the targets of the pairs."""
    spreads, tops, queries, keys = [], [], [], []
    for pair in pairs:
        states, encoded = questions(trained, pair)
        scores = trained.model.attention.score.compare(states[None], encoded.prepared)
        finite = scores[scores.isfinite()].reshape(len(states), -1)
        spreads.append(finite.std(-1))
        tops.append(finite.amax(-1))
        queries.append(states.norm(dim=-1))
        keys.append(encoded.annotations[0].norm(dim=-1))
    spread, top, query, key = (
        float(torch.cat(each).mean()) for each in (spreads, tops, queries, keys)
    )
    return Loudness(spread=spread, top=top, query=query, key=key)


def words_right(
    trained: Trained, pairs: Sequence[Pair], *, places: int
) -> dict[str, dict[str, float | int]]:
    """How many words come out right, each after the right words before it: among those whose
    source word stands at one of the first ``places`` (``"within"``), and those whose source word
    stands behind (``"beyond"``). ``{"share", "words"}`` of both. Words without a sure link do not
    count, nor do those linked to both sides."""
    batch = encode_batch(pairs, trained.source_vocab, trained.target_vocab)
    with torch.inference_mode():
        out = trained.model(batch.source, batch.source_lengths, batch.target[:, :-1])
    hits = out.logits.argmax(-1) == batch.target[:, 1:]
    right: dict[str, list[bool]] = {"within": [], "beyond": []}
    for row, pair in zip(hits, pairs, strict=True):
        for j in range(len(pair.target)):
            sides = {i < places for i, at in pair.sure if at == j}
            if len(sides) == 1:
                right["within" if sides.pop() else "beyond"].append(bool(row[j]))
    return {
        side: {"share": sum(each) / len(each) if each else float("nan"), "words": len(each)}
        for side, each in right.items()
    }


# ---------------------------------------------------------------------------------- pictures


def inside_and_longer(
    cards: Mapping[str, Card], *, inside: str = "bleu_inside", longer: str = "bleu_longer"
) -> Picture:
    """Two rows of dots a score, a dot a seed: lengths that it was trained on, and longer ones."""
    figure = Figure(figsize=(6.6, 0.42 * len(cards) + 1.0), layout="constrained")
    axes = figure.add_subplot()
    styles = {inside: STYLES[1], longer: STYLES[0]}
    said = []
    for row, (name, card) in enumerate(cards.items()):
        pair = [card.metrics[inside], card.metrics[longer]]
        axes.plot([each["mean"] for each in pair], [row, row], color=INK, linewidth=1.2, alpha=0.7)
        for metric, result in zip((inside, longer), pair, strict=True):
            style = styles[metric]
            seeds = [seed for seed in result["seeds"] if seed is not None]
            axes.scatter(
                seeds, [row] * len(seeds), s=24, color=style["color"], marker=style["marker"],
                zorder=3, alpha=0.8,
            )  # fmt: skip
        said.append(f"{name} {plus_minus(pair[0])} inside, {plus_minus(pair[1])} on longer ones")
    axes.set_yticks(range(len(cards)), list(cards))
    axes.set_ylim(len(cards) - 0.4, -0.6)
    axes.set_xlim(0, 101)
    axes.set_xlabel("BLEU")
    keys = ((longer, "half as long again", 0.0), (inside, "lengths that were trained", 0.42))
    for metric, words, place in keys:
        style = {"color": styles[metric]["color"], "clip_on": False}
        axes.plot(
            [place + 0.015], [1.03], transform=axes.transAxes, linestyle="", markersize=5,
            marker=styles[metric]["marker"], **style,
        )  # fmt: skip
        axes.text(place + 0.035, 1.03, words, transform=axes.transAxes, va="center", **style)
    plain_axes(axes)
    axes.tick_params(axis="y", length=0)
    return picture(
        figure,
        "BLEU of each score on sentences as long as those it was trained on, and on sentences half "
        f"as long again, a dot a seed: {'; '.join(said)}.",
    )


def learning_curves(cards: Mapping[str, Card], *, columns: int = 4) -> Picture:
    """Held-out loss over steps, a panel a score: its seeds in colour, all the others in grey."""
    rows = -(-len(cards) // columns)
    figure = Figure(figsize=(1.95 * columns, 1.75 * rows + 0.2), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    lines = {
        name: [
            ([point["step"] for point in curve], [point["valid_loss"] for point in curve])
            for curve in card.curves.values()
        ]
        for name, card in cards.items()
    }
    said = []
    for axes in grid.flat[len(cards) :]:
        axes.axis("off")
    for place, name in enumerate(cards):
        axes = grid.flat[place]
        for other, curves in lines.items():
            for steps, losses in curves if other != name else ():
                axes.plot(steps, losses, color=INK, linewidth=0.6, alpha=0.45)
        for steps, losses in lines[name]:
            axes.plot(steps, losses, color=RING, linewidth=1.6)
        axes.set_title(name, color=INK, fontsize=10)
        axes.set_yscale("log")
        axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        plain_axes(axes)
        axes.tick_params(which="both", colors=INK, labelsize=8)
        if place % columns == 0:
            axes.set_ylabel("nats a word", fontsize=9)
        if place >= len(cards) - columns:
            axes.set_xlabel("steps", fontsize=9)
            axes.tick_params(labelbottom=True)
        said.append(f"{name} ends at {' and '.join(f'{y[-1]:.2f}' for _, y in lines[name])}")
    return picture(
        figure,
        "Loss on held-out sentences over the steps of training, on a log scale, a panel a score "
        f"with a line a seed, the other scores in grey behind it: {'; '.join(said)}.",
    )


def steps_to(card: Card, loss: float | int) -> dict[str, Any]:
    """How many steps until the held-out loss was first below ``loss``: a spread over seeds, with
    None for a seed that never came there."""
    return spread(
        [
            next((float(point["step"]) for point in curve if point["valid_loss"] < loss), None)
            for curve in card.curves.values()
        ]
    )


# -------------------------------------------------------------------------------------- cost


@dataclass(frozen=True, kw_only=True)
class Price:
    """One score at one length, forward and backward, with a gradient for queries and keys.

    seconds: the fastest of some runs, for what else the machine does can only slow it down;
        plain_seconds: of the plainest expression of the same
    """

    seconds: float
    plain_seconds: float


Plain = Callable[[Tensor, Tensor], Tensor]


def prices(
    rivals: Mapping[str, tuple[Score, Plain]], *, length: int, d: int, runs: int = 60
) -> dict[str, Price]:
    """What each score costs for ``length`` queries and as many keys ``d`` wide, beside a plain
    expression ``(queries, keys) -> scores`` with the same weights.

    All are run in turn, again and again, so that whatever else the machine does meets all alike.
    """
    queries, keys = (torch.randn(length, d, requires_grad=True) for _ in range(2))
    seconds: dict[tuple[str, int], list[float]] = {}
    for turn in range(runs + 1):
        for name, both in rivals.items():
            for which, function in enumerate(both):
                began = time.perf_counter()
                (function(queries, keys).softmax(-1) @ keys).sum().backward()
                if turn:  # the first one warms up
                    seconds.setdefault((name, which), []).append(time.perf_counter() - began)
    return {
        name: Price(seconds=min(seconds[name, 0]), plain_seconds=min(seconds[name, 1]))
        for name in rivals
    }
