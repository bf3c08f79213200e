"""A trained model, ready to be asked: ``heed.load("bahdanau_grammar").translate("…")``."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from heed.experiments.cards import Card, CardError, first_difference, jsonable
from heed.experiments.checkpoint import checked, checksum, load_weights
from heed.experiments.table import Experiment, find
from heed.experiments.tasks import Trained

__all__ = ["Trained", "load"]


def load(name: str | Experiment, folder: Path | None = None) -> Trained:
    """The shipped model of an experiment.

    Refused in one line, before any weight is loaded: a name that is not in the table
    (``UnknownExperiment``); a card that is missing or damaged, a file that is not the one on the
    card, a config that is no longer the table's (``CardError``).
    """
    experiment = find(name) if isinstance(name, str) else name
    folder = folder or experiment.folder
    if not experiment.trained:
        raise CardError(f"no weights of {experiment.name} are shipped: {experiment.notes}")
    card = Card.read(folder)
    if card.experiment != experiment.name:
        raise CardError(f"{folder} holds {card.experiment!r}, not {experiment.name!r}")
    files = {file: checked(folder, file, card.files) for file in experiment.task.beside}
    try:
        known = experiment.task.read(files)
    except (KeyError, TypeError, ValueError) as fault:
        places = ", ".join(str(folder / file) for file in files)
        raise CardError(f"{places} is damaged: {fault}") from None
    config = experiment.sized(known)
    there = {"config": card.config, "data": card.data, "train": card.train}
    here = {
        "config": asdict(config),
        "data": asdict(experiment.data),
        "train": asdict(experiment.train),
    }
    difference = first_difference(there, jsonable(here))
    if difference:
        raise CardError(
            f"the card of {experiment.name} no longer matches the table: {difference}; retrain it"
        )
    weights = checked(folder, "model.safetensors", card.files)
    model: Any = experiment.build(config)
    load_weights(model, weights, where=folder / "model.safetensors")
    return experiment.task.trained(
        model=model.eval(), card=card, folder=folder, numbers=checksum(model), **known
    )
