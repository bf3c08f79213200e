"""A reader that looks back while it reads: what it looks at, how far back, and what it would miss.

A map of it has a row for each word that was read and a column for each slot of its tape: column 0
is the null slot, and the last column of row t that can have anything in it belongs to the word
before.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import torch
from torch import Tensor

from heed.data.prose import Sentence
from heed.data.vocabulary import PAD
from heed.evaluation.decoding import answering
from heed.experiments.cards import Card
from heed.experiments.compare import plus_minus
from heed.experiments.language import NULL, TrainedReader, encoded
from heed.layers.lstm import memorise
from heed.models.lstmn import LSTMNLanguageModel, LSTMNState
from heed.trace import AttentionTrace
from heed.viz.heatmap import INK, Picture
from heed.viz.length import Curve, line_plot

# ----------------------------------------------------------------- the paper's figure, as text

NOW = "var(--pst-color-danger, #d7303f)"
"""Red that the page's theme makes lighter in the dark."""
BLUE = "47,128,208"
DEEPEST = 0.62
"""The shade of a weight of 1: letters can be read on it in both themes."""


@dataclass(frozen=True)
class Reading:
    """A sentence once for each word that was read, as HTML: the word in red, what it looked at in
    blue."""

    html: str
    alt: str

    def __repr__(self) -> str:
        return f"Reading: {self.alt}"

    def _repr_html_(self) -> str:
        label = escape(self.alt, quote=True)
        return f'<figure class="heed-picture" role="img" aria-label="{label}">{self.html}</figure>'


def reading(trace: AttentionTrace, *, rows: Collection[int] | None = None) -> Reading:
    """The picture of the paper (Cheng et al. 2016, Figure 1), from a map of our own.

    trace: as ``TrainedReader.read`` gives it, so that column k + 1 is the word of row k
    rows: the words to show, counted from 1; all of them if nothing is said
    """
    weights, words = trace.weights[0], trace.query.labels
    lines, said = [], []
    for t in range(1, len(words)):
        if rows is not None and t not in rows:
            continue
        seen = zip(trace.key.labels[: t + 1], weights[t], strict=False)
        before = " ".join(_shaded(word, float(weight)) for word, weight in seen)
        lines.append(
            f'<div style="line-height:1.75;margin:.15em 0">{before} '
            f'<span style="color:{NOW};font-weight:700;text-decoration:underline;'
            f'text-underline-offset:.2em">{escape(words[t])}</span></div>'
        )
        best = int(weights[t].argmax())
        said.append(
            f"reading '{words[t]}', looks at '{trace.key.labels[best]}' {weights[t, best]:.2f}"
        )
    return Reading("".join(lines), "; ".join(said) + ".")


def _shaded(word: str, weight: float) -> str:
    faint = f"color:{INK};font-size:.85em;" if word in (NULL, "<s>") else ""
    return (
        f'<span title="{weight:.2f}" style="{faint}border-radius:.2em;padding:.1em .15em;'
        f'background:rgba({BLUE},{DEEPEST * weight:.3f})">{escape(word)}</span>'
    )


# --------------------------------------------------------------------------------- how far back


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Weight on the word so many words back, a mean over looks that could go so far.

    back: distance -> weight; 1 is the word before
    alike: the same for a reader that looks everywhere alike
    null: the share of the null slot
    """

    back: Mapping[int, float]
    alike: Mapping[int, float]
    null: float


def reach(traces: Iterable[AttentionTrace], *, longest: int = 12) -> Reach:
    """How far back the looks of some sentences go. The first step, which has no choice, is left
    out."""
    found: dict[int, list[float]] = {d: [] for d in range(1, longest + 1)}
    alike: dict[int, list[float]] = {d: [] for d in range(1, longest + 1)}
    null = []
    for trace in traces:
        for t, row in enumerate(trace.weights[0].tolist()):
            if t == 0:
                continue
            null.append(row[0])
            for d in range(1, min(t, longest) + 1):
                found[d].append(row[t + 1 - d])
                alike[d].append(1 / (t + 1))
    if not null:
        raise ValueError("there is no look in these sentences that had a choice")
    there = [d for d in found if found[d]]
    return Reach(
        back={d: sum(found[d]) / len(found[d]) for d in there},
        alike={d: sum(alike[d]) / len(alike[d]) for d in there},
        null=sum(null) / len(null),
    )


def reach_picture(reach: Reach) -> Picture:
    """Weight against distance, beside looking everywhere alike."""
    far = list(reach.back)
    told = ", ".join(f"{d} back {reach.back[d]:.2f}" for d in far)
    return line_plot(
        {
            "LSTMN": Curve(x=far, y=list(reach.back.values())),
            "everywhere alike": Curve(x=far, y=list(reach.alike.values()), background=True),
        },
        x="words back (1 is the word before)",
        y="weight, mean over looks",
        ylim=(0, max(1.1 * max((*reach.back.values(), *reach.alike.values())), 0.1)),
        alt=f"Weight of a look against distance: {told}. A dotted line, for comparison, is what "
        f"looking everywhere alike would give: {reach.alike[far[0]]:.2f} on the word before and "
        f"{reach.alike[far[-1]]:.2f} at {far[-1]} words. The null slot has {reach.null:.2f}.",
    )


# ---------------------------------------------------------------------------- tapes torn off


def perplexity(
    reader: TrainedReader,
    sentences: Sequence[Sentence],
    *,
    last: int | None = None,
) -> float:
    """Perplexity of a reader, a word and an end at a time, with part of its tape out of sight.

    last: it may look at the null slot and at so many of the last ones; ``None``: at all of them
    """
    model: Any = reader.model
    if last is not None and not isinstance(model, LSTMNLanguageModel):
        raise ValueError(f"{reader.card.experiment} has no tape to tear")
    if last is not None and last < 1:
        raise ValueError(f"last={last}: a reader needs at least one slot to go on from")
    rows, nats, words = encoded(sentences, reader.vocabulary), 0.0, 0
    with answering(model):
        for chosen in rows.lengths.argsort().split(128):
            tokens, _ = rows.padded(chosen)
            wanted = tokens[:, 1:]
            read = tokens[:, :-1]
            logits = model(read).logits if last is None else _logits(model, read, last)
            p = logits.float().log_softmax(dim=-1)
            real = wanted != PAD
            nats -= p.gather(2, wanted.unsqueeze(2)).squeeze(2)[real].sum().item()
            words += int(real.sum())
    return math.exp(nats / words)


def _logits(model: LSTMNLanguageModel, tokens: Tensor, last: int) -> Tensor:
    """``LSTMNLanguageModel.step`` over a text, with slots hidden before each look."""
    state, found = model.start(len(tokens)), []
    for token in tokens.unbind(1):
        x = model.words.read(token)
        summary, memory, _ = model.lstmn.look(_sees(state, last), x)
        h, c = memorise(model.lstmn.gates_x(x) + model.lstmn.gates_h(summary), memory)
        state = model.lstmn.write(state, h, c, summary)
        found.append(model.words.write(h))
    return torch.stack(found, dim=1)


def _sees(state: LSTMNState, last: int) -> LSTMNState:
    slots = state.keep.shape[1]
    place = torch.arange(slots)
    return replace(state, keep=state.keep & ((place >= slots - last) | (place == 0)))


def window_picture(
    found: Mapping[int, float], *, whole: float, rival: float, name: str = "LSTM"
) -> Picture:
    """Perplexity against how many slots may be looked at, beside the whole tape and a rival."""
    sizes = list(found)
    told = ", ".join(f"{size} slots {value:.0f}" for size, value in found.items())
    ends = [sizes[0], sizes[-1]]
    return line_plot(
        {
            "LSTMN, torn tape": Curve(x=sizes, y=list(found.values())),
            "its whole tape": Curve(x=ends, y=[whole, whole], background=True),
            name: Curve(x=ends, y=[rival, rival]),
        },
        x="slots that it may look at, counted from the last",
        y="perplexity",
        alt=f"Perplexity against the slots that may be looked at: {told}; the whole tape "
        f"{whole:.0f}. A level line for the {name}: {rival:.0f}.",
    )


# ------------------------------------------------------------------------------------ recall


def recall_by_place(cards: Mapping[str, Card]) -> Picture:
    """Share of right answers against the place of the asked pair; the last pair is 1 back."""
    curves, told = {}, []
    for name, card in cards.items():
        by_place = card.metrics["accuracy_by_place"]
        pairs = len(by_place)
        back = [pairs + 1 - int(place) for place in by_place][::-1]
        each = list(by_place.values())[::-1]
        curves[name] = Curve(
            x=back,
            y=[100 * found["mean"] for found in each],
            spread=[100 * found["std"] for found in each],
        )
        said = (
            f"{b} back {plus_minus(f, digits=0, times=100)}"
            for b, f in zip(back, each, strict=True)
        )
        told.append(f"{name}: {', '.join(said)}")
    chance = 100 * next(iter(cards.values())).settings["chance"]
    curves["chance"] = Curve(x=[1, pairs], y=[chance, chance], background=True)
    return line_plot(
        curves,
        x="pairs back (1 is the last that went by)",
        y="right answers, %",
        ylim=(0, 105),
        alt=f"Right answers in per cent against how far back the pair lies. {'; '.join(told)}. "
        f"Chance is {chance:.0f}.",
    )
