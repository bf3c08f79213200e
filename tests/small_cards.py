"""What the small models of the tests share: cards without a training, and after a short one."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_origin

from heed.experiments.cards import Card
from heed.experiments.export import export
from heed.experiments.runner import publish, train_one
from heed.experiments.table import Experiment
from heed.experiments.trained import load


def blank_card(**known: Any) -> Card:
    """A card with nothing on it but what is known."""
    kinds: dict[str, Any] = {each.name: get_origin(each.type) or each.type for each in fields(Card)}
    return Card(**{name: kind() for name, kind in kinds.items()} | known)


def shipped(
    folder: Path, rows: Iterable[Experiment], task: Any = None, *, exported: bool = True
) -> list[Any]:
    """The rows, trained and published in ``folder``/trained, each in its own folder, with card and
    graphs. task: of all of them; without it each row's own."""
    found = []
    for row in rows:
        own = task or row.load()
        train_one(row, 0, own, runs=folder / "runs", show=False)
        publish(row, runs=folder / "runs", folder=folder / "trained" / row.name)
        trained = load(row, folder / "trained" / row.name)
        if exported:
            export(trained, own)
        found.append(load(row, trained.folder))
    return found
