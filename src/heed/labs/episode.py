"""Draw five characters that nobody has seen, a few times each, and ask which one this is."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import UInt8

from heed.data.glyphs import CREDITS, LICENCE
from heed.experiments.episodes import TrainedLearner
from heed.experiments.trained import Trained
from heed.labs import drawing, strokes
from heed.labs.base import Asked, Lab
from heed.labs.steering import permutation
from heed.models.snail import SNAIL
from heed.trace import AttentionTrace

MOST = 5
"""Drawings of a character, at most; training had as many."""

Cells = list[list[str]]


class EpisodeLab(Lab):
    """An episode that a reader draws: a row for each label, and a query.

    learner: a SNAIL that was taught with episodes, as ``heed.load`` gives it, or the name of a
        shipped one
    shots: how many stored drawings each row begins with, if no cells are given
    cells: for each row its drawings, all rows equally many; see ``heed.labs.strokes`` for what a
        drawing is. What is empty is not shown
    query: the drawing that is asked about
    labels: of each row, from 0 on
    order: by which the order is drawn in which the network sees the cells
    seed: of the stored characters that were taken last; see ``dealt``
    block: the attention block whose look is shown; −1 is the last one

    The answer has the ``probabilities`` of the labels and the likeliest ``label``; ``shown``, the
    cells as [row, column] in the order in which the network saw them; and ``weights``, a row for
    each attention block over these and, last, the query itself. With nothing shown there is
    nothing to ask, and its ``message`` is ``"nothing"``.
    """

    kind = "episode"
    settings: ClassVar[tuple[str, ...]] = (
        "cells",
        "query",
        "labels",
        "order",
        "seed",
        "block",
    )
    asks = ("cells", "query", "labels", "order")
    facts: ClassVar[tuple[str, ...]] = ("sizes", "stored", "credit")
    learner: Asked = Asked(SNAIL, "shows episodes to")

    cells = traitlets.List().tag(sync=True)
    query = traitlets.Unicode().tag(sync=True)
    labels = traitlets.List().tag(sync=True)
    order = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    block = traitlets.Int(-1, min=-1).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    stored = traitlets.List().tag(sync=True)
    credit = traitlets.Unicode().tag(sync=True)

    def __init__(self, learner: Trained | str, *, shots: int = 1, **settings: Any) -> None:
        made = next((name for name in self.facts if name in settings), None)
        if made is not None:
            raise TypeError(f"the {made} of an {type(self).__name__} cannot be given")
        self.learner = learner
        if not 1 <= shots <= self._most:
            raise ValueError(f"shots={shots} must be from 1 to {self._most}")
        first = dealt(settings.get("seed", 0), self._ways, shots)
        super().__init__(
            sizes=self._sizes(),
            stored=strokes.stored(),
            credit=f"{CREDITS[0]}. {LICENCE}.",
            **(first | settings),
        )

    @property
    def _ways(self) -> int:
        return self.learner.model.config.ways

    @property
    def _most(self) -> int:
        """Drawings of each row that fit before the query."""
        return min(MOST, (self.learner.model.config.longest - 1) // self._ways)

    def _sizes(self) -> dict[str, int]:
        return {"ways": self._ways, "most": self._most}

    def recount(self) -> None:
        self.sizes = self._sizes()

    @traitlets.validate("cells")
    def _cells(self, proposal: Mapping[str, Any]) -> Cells:
        cells, ways, most = proposal["value"], self._ways, self._most
        sizes = [len(row) if isinstance(row, list) else 0 for row in cells]
        if len(sizes) != ways or len(set(sizes)) != 1 or not 1 <= sizes[0] <= most:
            raise traitlets.TraitError(
                f"cells must be {ways} rows of equally many drawings, 1 to {most} of them"
            )
        return [[_drawing(each) for each in row] for row in cells]

    @traitlets.validate("query")
    def _query(self, proposal: Mapping[str, Any]) -> str:
        return _drawing(proposal["value"])

    @traitlets.validate("labels")
    def _labels(self, proposal: Mapping[str, Any]) -> list[int]:
        labels = proposal["value"]
        if not all(type(each) is int for each in labels) or sorted(labels) != [*range(self._ways)]:
            raise traitlets.TraitError(
                f"labels={labels} are not the numbers 0 to {self._ways - 1}, each once"
            )
        return list(labels)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        filled = [[i, j] for i, row in enumerate(self.cells) for j, text in enumerate(row) if text]
        shown = [filled[place] for place in permutation(len(filled), self.order)]
        blank = {"shown": shown, "probabilities": [], "label": -1, "weights": [], "blocks": []}
        trained = self.learner
        assert isinstance(trained, TrainedLearner)
        if not shown:
            return blank | {"message": "nothing"}, None
        found = trained.ask(
            torch.stack([strokes.picture(self.cells[i][j]) for i, j in shown]),
            torch.tensor([self.labels[i] for i, _ in shown]),
            strokes.picture(self.query),
        )
        answer = blank | {
            "probabilities": list(found.probabilities),
            "label": found.label,
            "message": "",
        }
        if found.trace is None:
            return answer, None
        looks = found.trace.weights[:, -1:]
        answer |= {"weights": looks[:, 0].tolist(), "blocks": list(found.trace.heads)}
        names = [f"{self.labels[i] + 1}.{j + 1}" for i, j in shown]
        return answer, AttentionTrace.of(
            "self", looks, query=("?",), key=(*names, "?"), heads=found.trace.heads
        )

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say, answer, tag = drawing.sayer(self.strings), self.answer, drawing.tag
        rows = [(say("episode.query"), [self.query])]
        rows += [(self._row(say, i), row) for i, row in enumerate(self.cells)]
        figures = (
            tag(
                "figure",
                tag(
                    "span",
                    class_="heed-episode-drawn",
                    style=f"--many:{len(row)};background-image:url({drawing.image(_paper(row))})",
                ),
                tag("figcaption", escape(name)),
            )
            for name, row in rows
        )
        lines = [verdict(say, self), *remarks(say, self)]
        trace = self._trace
        maps = [
            drawing.attention_map(
                say,
                label=say("episode.table", block=block),
                query=trace.query.labels,
                key=trace.key.labels,
                weights=[weights],
                own="episode",
            )
            for block, weights in zip(answer["blocks"], answer["weights"], strict=True)
            if trace
        ]
        return drawing.sheet(
            tag(
                "div",
                *figures,
                class_="heed-episode-strip",
                role="img",
                aria_label=say("episode.picture", ways=len(self.cells)),
            ),
            *(tag("p", escape(line)) for line in lines if line),
            *maps,
            tag("p", escape(self.credit), class_="heed-note"),
            kind="episode",
        )

    def _row(self, say: drawing.Say, i: int) -> str:
        """A row's label, and what the network gives it."""
        found = self.answer["probabilities"]
        label = self.labels[i]
        if not found:
            return say("episode.row", label=label + 1)
        return say("episode.row.of", label=label + 1, share=f"{found[label] or 0:.2f}")


def _drawing(text: Any) -> str:
    try:
        return strokes.checked(text)
    except ValueError as fault:
        raise traitlets.TraitError(str(fault)) from None


def _paper(row: Sequence[str]) -> UInt8[np.ndarray, "3 row column"]:
    """Black on white, side by side."""
    ink = torch.cat([strokes.picture(text) for text in row], dim=1)
    grey = ((1 - ink) * 255).round().to(torch.uint8).numpy()
    return np.repeat(grey[None], 3, axis=0)


# ---------------------------------------------------------------------------- what goes in


def dealt(seed: int, ways: int, shots: int) -> dict[str, Any]:
    """An episode of stored characters, the same one in the page: cells, the query and labels. The
    query is none of the cells' drawings."""
    chosen = permutation(strokes.SCRIPTS * strokes.EACH, seed)[:ways]
    takes = [permutation(strokes.DRAWINGS, seed + 1 + i) for i in range(ways)]
    asked = permutation(ways, seed + 100)[0]
    return {
        "cells": [
            [f"@{character}.{take[k]}" for k in range(shots)]
            for character, take in zip(chosen, takes, strict=True)
        ],
        "query": f"@{chosen[asked]}.{takes[asked][shots]}",
        "labels": list(permutation(ways, seed + 200)),
    }


# ---------------------------------------------------------------------------- words


def right_row(lab: Any) -> int | None:
    """The row that the query belongs to; None where only its reader can know."""
    own = strokes.character_of(lab.query)
    if own is None:
        return None
    has = [
        i
        for i, row in enumerate(lab.cells)
        if any(strokes.character_of(text) == own for text in row)
    ]
    return has[0] if len(has) == 1 else None


def verdict(say: drawing.Say, lab: Any) -> str:
    """What it answers, and whether that is right."""
    found, label = lab.answer["probabilities"], lab.answer["label"]
    if not found:
        return ""
    right = right_row(lab)
    kind = "" if right is None else ".right" if lab.labels[right] == label else ".wrong"
    return say(
        f"episode.answer{kind}",
        label=label + 1,
        share=f"{found[label] or 0:.2f}",
        right=1 + lab.labels[right] if right is not None else "",
    )


def remarks(say: drawing.Say, lab: Any) -> list[str]:
    """What a reader should know of these drawings: what is missing, and what is twice there."""
    if lab.answer["message"] == "nothing":
        return [say("episode.message.nothing")]
    lines = []
    empty = [lab.labels[i] + 1 for i, row in enumerate(lab.cells) if not any(row)]
    if empty:
        lines.append(say("episode.missing", labels=", ".join(map(str, sorted(empty)))))
    if not lab.query:
        lines.append(say("episode.blank"))
    homes: dict[str, set[int]] = {}
    for i, row in enumerate(lab.cells):
        for text in filter(None, row):
            homes.setdefault(text, set()).add(lab.labels[i] + 1)
    twice = sorted({label for rows in homes.values() if len(rows) > 1 for label in rows})
    if twice:
        lines.append(say("episode.twice", labels=", ".join(map(str, twice))))
    same = sorted(homes.get(lab.query, ()))
    if same:
        lines.append(say("episode.same", labels=", ".join(map(str, same))))
    return lines
