"""What the book knows of itself, put on its pages while it builds (a Sphinx extension).

- At the end of each chapter a stamp: when it was run, how long that took, with what. It is read
  from heed.run in the notebook, where tools/run_chapters.py left it; without that, no stamp.
- The directive ``{heed-status}`` of book/status.md: with ``chapters`` a table of the chapters of
  this build, with ``models`` one of every model that has a card. Both are made from the notebooks
  and the cards alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from run_chapters import TRAINED, chapter_code, code_cells, strings
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from heed.experiments.cards import Card
from heed.experiments.table import EXPERIMENTS, Claim, Experiment

CHAPTERS = "chapters/"

# ------------------------------------------------------------------ what is there


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What a notebook says of itself.

    run: heed.run of its metadata, {} before the first run that left one
    labs: their kinds, in the order of the page; models: the experiments that its code names
    """

    name: str
    run: Mapping[str, Any]
    cells: int
    exercises: int
    labs: Sequence[str]
    models: Sequence[str]

    @classmethod
    def read(cls, path: Path) -> "Chapter":
        notebook = nbformat.read(path, as_version=4)
        cells = code_cells(notebook)
        shown = (
            output.get("data", {}).get("text/html", "") for cell in cells for output in cell.outputs
        )
        named = strings(chapter_code(notebook))
        return cls(
            name=path.stem,
            run=notebook.metadata.get("heed", {}).get("run", {}),
            cells=len(cells),
            exercises=sum("exercise" in cell.metadata.get("tags", []) for cell in cells),
            labs=[
                kind
                for html in shown
                for kind in re.findall(r'<heed-lab\b[^>]*?\bkind="(\w+)"', html)
            ],
            models=[name for name in EXPERIMENTS if name in named],
        )


def cards(trained: Path = TRAINED) -> dict[str, Card]:
    """The card of every row of the table that has one, by its name."""
    return {
        name: Card.read(trained / name)
        for name in EXPERIMENTS
        if (trained / name / "card.json").is_file()
    }


@dataclass(frozen=True)
class Checked:
    """A claim, the number on the card, and whether it holds: None while the other card that it
    leans on is not there."""

    claim: Claim
    value: float
    holds: bool | None


def checked(row: Experiment, known: Mapping[str, Card]) -> Iterator[Checked]:
    """Each claim of a row whose card is there."""
    for claim in row.claims:
        value = known[row.name].number(claim.metric)
        rival, _, metric = (claim.times or claim.above or "").rpartition(":")
        card = known.get(rival or row.name)
        other = card.number(metric) if card and metric else None
        yield Checked(claim, value, claim.holds(value, other) if card else None)


# ------------------------------------------------------------------ what is said of it


def stamp(run: Mapping[str, Any]) -> str:
    """The sentence at the end of a chapter; "" where nothing is known of its run."""
    if not run:
        return ""
    day = date.fromisoformat(run["date"])
    cores = f"{run['cores']} processor core" + ("s" if run["cores"] > 1 else "")
    return (
        f"Executed on {day.day} {day:%B %Y} in {run['seconds']:.0f} s on {cores}, "
        f"with torch {run['torch']} and Python {run['python']}."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown. The first column is text, what follows is numbers unless ":" says so."""
    lines = [head, ["---" if name.startswith(":") else "--:" for name in head], *rows]
    lines[0] = [name.removeprefix(":") for name in head]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def held(found: Sequence[Checked]) -> str:
    """How many of these claims hold, in words."""
    if not found:
        return "–"
    waiting = sum(each.holds is None for each in found)
    good = sum(each.holds is True for each in found)
    words = f"all {good}" if good == len(found) else f"{good} of {len(found)}"
    return words + (f", {waiting} open" if waiting else "")


def seeds(names: Sequence[str], known: Mapping[str, Card]) -> str:
    """Seeds done of those planned, of some models together."""
    done = sum(len(known[name].seeds) for name in names if name in known)
    return f"{done} of {sum(len(EXPERIMENTS[name].seeds) for name in names)}"


def chapters_table(chapters: Sequence[Chapter], known: Mapping[str, Card]) -> str:
    rows = []
    for each in chapters:
        found = [
            c for name in each.models if name in known for c in checked(EXPERIMENTS[name], known)
        ]
        memory = each.run.get("memory")
        rows.append(
            [
                f"{{doc}}`/{CHAPTERS}{each.name}`",
                f"{each.run['seconds']:.0f}\N{NO-BREAK SPACE}s" if each.run else "–",
                f"{memory / 1e9:.2f}\N{NO-BREAK SPACE}GB" if memory else "–",
                str(each.cells),
                str(each.exercises),
                ", ".join(dict.fromkeys(each.labs)) or "–",
                str(len(each.models)),
                seeds(each.models, known) if each.models else "–",
                held(found),
            ]
        )
    head = [":chapter", "run in", "memory", "cells", "exercises", ":labs", "models"]
    return table([*head, "seeds", "claims"], rows)


def models_table(known: Mapping[str, Card]) -> str:
    """The models with a card by chapter, then what does not hold or is still to be done."""
    rows, faults = [], []
    for name, card in sorted(known.items(), key=lambda item: item[1].chapter):
        row = EXPERIMENTS[name]
        found = list(checked(row, known))
        faults += [
            f"`{name}`: {each.claim}, and it is {each.value:.4g}"
            for each in found
            if each.holds is False
        ]
        rows.append(
            [
                f"`{name}`",
                card.chapter.partition("_")[0].lstrip("0"),
                f"{card.parameters:,}",
                seeds([name], known),
                row.task.headline(card),
                f"{card.seconds / 60:.1f}",
                held(found),
            ]
        )
    head = [":model", "chapter", "parameters", "seeds", ":main number", "minutes a seed"]
    parts = [table([*head, "claims"], rows)]
    parts.append(
        "Claims that do not hold:\n\n" + "\n".join(f"- {fault}" for fault in faults)
        if faults
        else "No claim is broken."
    )
    missing = [row.name for row in EXPERIMENTS.values() if row.trained and row.name not in known]
    if missing:
        parts.append(
            "Planned, without weights so far: " + ", ".join(f"`{m}`" for m in missing) + "."
        )
    return "\n\n".join(parts)


# ------------------------------------------------------------------ in Sphinx


class Status(SphinxDirective):
    """``{heed-status} chapters`` or ``{heed-status} models``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        made = {"chapters": self._chapters, "models": lambda: models_table(cards())}
        what = self.arguments[0]
        if what not in made:
            raise self.error(f"heed-status {what!r} is none of {', '.join(made)}")
        # a box of its own, so that book.css can set these wide tables small
        box = nodes.container("", *self.parse_text_to_nodes(made[what]()), classes=["heed-facts"])
        return [box]

    def _chapters(self) -> str:
        names = sorted(name for name in self.env.found_docs if name.startswith(CHAPTERS))
        return chapters_table([Chapter.read(Path(self.env.doc2path(n))) for n in names], cards())


def stamped(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the stamp under a chapter's last words."""
    path = Path(app.env.doc2path(docname))
    if not docname.startswith(CHAPTERS) or path.suffix != ".ipynb":
        return
    run = nbformat.read(path, as_version=4).metadata.get("heed", {}).get("run", {})
    if words := stamp(run):
        first = next(doctree.findall(nodes.section), doctree)
        first += nodes.paragraph("", words, classes=["heed-stamp"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("heed-status", Status)
    app.connect("doctree-resolved", stamped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
