"""What one vector loses: translations with their faults marked, the wiring, the vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from heed.data.pairs import Pair
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes

# ---------------------------------------------------------------------------- what came through


def common(hypothesis: Sequence[str], reference: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run of words that both have in the same order (gaps allowed).

    Returns pairs of positions (hypothesis, reference). Of several longest ones, the one whose
    words come earliest.
    """
    rows, columns = len(hypothesis), len(reference)
    # best[i][j]: how many words hypothesis[i:] and reference[j:] share in order
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = (
                best[i + 1][j + 1] + 1
                if hypothesis[i] == reference[j]
                else max(best[i + 1][j], best[i][j + 1])
            )
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if hypothesis[i] == reference[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def found_along(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, parts: int = 10
) -> Float[np.ndarray, " part"]:
    """Share of the reference words that came through, in each of ``parts`` parts of a sentence.

    Part 0 is the beginning. A word came through if it is among the ``common`` ones.
    """
    found, there = np.zeros(parts), np.zeros(parts)
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        through = {j for _, j in common(hypothesis, reference)}
        for j in range(len(reference)):
            part = j * parts // len(reference)
            there[part] += 1
            found[part] += j in through
    return found / np.maximum(there, 1)


@dataclass(frozen=True)
class Retelling:
    """Translations beside the right ones, as HTML: missing words framed, wrong ones underlined."""

    html: str
    alt: str

    def __repr__(self) -> str:
        return f"Retelling: {self.alt}"

    def _repr_html_(self) -> str:
        label = escape(self.alt, quote=True)
        return (
            f'<figure class="heed-picture" role="group" aria-label="{label}">{self.html}</figure>'
        )


_MISSING = f"border-bottom:2px dotted {RING};opacity:.75"
_WRONG = f"text-decoration:underline wavy {RING};text-underline-offset:.2em"


def _line(name: str, words: Sequence[str], right: set[int], style: str, fault: str) -> str:
    shown = [
        escape(word)
        if i in right
        else f'<span style="{style}" title="{fault}">{escape(word)}</span>'
        for i, word in enumerate(words)
    ]
    return (
        '<div style="display:flex;gap:.75em;align-items:baseline;line-height:1.65;margin:.1em 0">'
        f'<span style="flex:0 0 4.2em;color:{INK};font-size:.85em">{name}</span>'
        f'<span style="flex:1;min-width:0">{" ".join(shown)}</span></div>'
    )


def retelling(
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    hypotheses: Sequence[Sequence[str]],
) -> Retelling:
    """One block a sentence: what was read, what is right, what came out.

    In the right one, words that did not come out stand on dots; in what came out, words that
    should not be there stand on a wavy line.
    """
    blocks, spoken = [], []
    for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        pairs = common(hypothesis, reference)
        told = f"{len(source)} words read: {len(pairs)} of {len(reference)} French words came out"
        lost = sorted(set(range(len(reference))) - {j for _, j in pairs})
        spoken.append(told + (f", the first lost one is number {lost[0] + 1}" if lost else ""))
        every = set(range(len(source)))
        blocks.append(
            '<div style="margin:0 0 1.1em">'
            f'<div style="font-weight:600">{told}</div>'
            + _line("read", source, every, "", "")
            + _line("right", reference, {j for _, j in pairs}, _MISSING, "missing")
            + _line("written", hypothesis, {i for i, _ in pairs}, _WRONG, "wrong")
            + "</div>"
        )
    return Retelling("".join(blocks), "; ".join(spoken) + ".")


# ---------------------------------------------------------------------------- the wiring

Point = tuple[float | int, float | int]


def wiring(source: Sequence[str], target: Sequence[str], *, layers: int = 2) -> Picture:
    """Two LSTMs unrolled in time: what the encoder reads, what it hands over, what is written.

    source: in the order of reading, EOS included. target: without the marks at its ends.
    """
    read, fed, written = list(source), ["<s>", *target], [*target, "</s>"]
    gap = 1.3  # between the last word read and the first one fed
    places = [float(i) for i in range(len(read))]
    places += [len(read) + gap + i for i in range(len(fed))]
    figure = Figure(figsize=(0.78 * (places[-1] + 1.2), 0.72 * layers + 1.5))
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.6, places[-1] + 0.6)
    axes.set_ylim(-1.0, layers + 0.55)

    def arrow(start: Point, end: Point, strong: bool = False) -> None:
        axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>",
                mutation_scale=13 if strong else 8,
                linewidth=2.6 if strong else 1.0,
                color=RING if strong else INK,
                shrinkA=0,
                shrinkB=0,
            )
        )

    for at, place in enumerate(places):
        reads = at < len(read)
        for layer in range(layers):
            axes.add_patch(
                FancyBboxPatch(
                    (place - 0.3, layer - 0.2),
                    0.6,
                    0.4,
                    boxstyle="round,pad=0,rounding_size=0.1",
                    facecolor="none",
                    edgecolor="#2f80d0" if reads else "#8a63b8",
                    linewidth=1.4,
                )
            )
            arrow((place, layer - 0.5 if layer == 0 else layer - 0.8), (place, layer - 0.2))
            if at + 1 < len(places):
                arrow(
                    (place + 0.3, layer),
                    (places[at + 1] - 0.3, layer),
                    strong=at + 1 == len(read),
                )
        axes.text(place, -0.72, (read + fed)[at], color=INK, ha="center", va="center")
        if not reads:
            arrow((place, layers - 0.8), (place, layers - 0.42))
            axes.text(
                place, layers - 0.2, written[at - len(read)], color=INK, ha="center", va="center"
            )
    middle = (len(read) - 1 + places[len(read)]) / 2
    axes.text(middle, layers - 0.55, "v", color=RING, ha="center", va="center", style="italic",
              fontsize=14)  # fmt: skip
    for place, name, colour in (
        ((len(read) - 1) / 2, "the encoder reads", "#2f80d0"),
        ((places[len(read)] + places[-1]) / 2, "the decoder writes", "#8a63b8"),
    ):
        axes.text(place, layers + 0.35, name, color=colour, ha="center", va="center")
    return picture(
        figure,
        f"Two LSTMs of {layers} layers in a row. The encoder reads {' '.join(read)}, one word a "
        f"step. After its last step a thick arrow in each layer, together called v, leads to the "
        f"decoder, which is fed {' '.join(fed)} and writes {' '.join(written)}. No other arrow "
        "leads from one to the other.",
    )


# ---------------------------------------------------------------------------- the vector


def vectors(
    values: Sequence[Float[np.ndarray, "row number"]], names: Sequence[str], rows: Sequence[str]
) -> Picture:
    """The vector of each sentence, number by number, as strips of cells from −1 to 1.

    values: for each sentence one strip a row, such as h and c of each layer. names: of the
    sentences; rows: of the strips.
    """
    if len(values) != len(names):
        raise ValueError(f"{len(values)} vectors, but {len(names)} names")
    height = len(rows)
    figure = Figure(figsize=(6.6, 0.24 * height * len(values) + 0.42 * len(values) + 0.5))
    grid = figure.subplots(len(values), 1, squeeze=False)[:, 0]
    image = None
    for axes, strip, name in zip(grid, values, names, strict=True):
        image = axes.imshow(
            strip, cmap="PuOr", vmin=-1, vmax=1, aspect="auto", interpolation="none"
        )
        axes.set_yticks(range(height), rows)
        axes.set_xticks([])
        axes.set_title(name, loc="left", fontsize=10, color=INK)
        plain_axes(axes)
        axes.tick_params(length=0, labelsize=8)
        axes.spines[:].set_visible(False)
    figure.subplots_adjust(hspace=0.55)
    assert image is not None
    bar = figure.colorbar(image, ax=list(grid), fraction=0.025, pad=0.02, ticks=(-1, 0, 1))
    bar.ax.tick_params(colors=INK)
    bar.outline.set_visible(False)  # type: ignore[operator]
    count = int(values[0].size)
    busy = (
        f"{name}: {float((np.abs(strip) > 0.5).mean()):.0%} of them beyond ±0.5"
        for strip, name in zip(values, names, strict=True)
    )
    return picture(
        figure,
        f"The {count} numbers that each sentence becomes, as strips of coloured cells. All "
        f"strips are equally long. {'; '.join(busy)}.",
    )


# ---------------------------------------------------------------------------- how long a word waits


def lags(pair: Pair, *, reverse: bool) -> list[tuple[int, int]]:
    """For each sure link of a pair: target position, and steps from reading to writing.

    The encoder takes one step a word and one for EOS, which it reads last, then the decoder one
    step a word. ``reverse``: the source words are read from the last to the first.
    """
    words = len(pair.source)
    waited = []
    for i, j in sorted(pair.sure, key=lambda link: link[::-1]):
        read = words - i if reverse else i + 1
        written = words + 1 + (j + 1)
        waited.append((j, written - read))
    return waited
