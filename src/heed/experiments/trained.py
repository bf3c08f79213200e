"""A trained model, ready to be asked: ``heed.load("bahdanau_grammar").translate("…")``."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from heed.data.text import detokenize, tokenize
from heed.data.vocabulary import Vocabulary
from heed.evaluation.decoding import Translation, translate
from heed.experiments.cards import Card, CardError, first_difference, jsonable
from heed.experiments.checkpoint import checked, checksum, load_weights
from heed.experiments.maps import unpack
from heed.experiments.table import Experiment, find
from heed.experiments.translation import read_vocabularies


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model with the weights that were shipped, its card, and the words that it knows.

    numbers: the ``checksum`` of the model as it was loaded
    """

    model: Any
    card: Card
    source_vocab: Vocabulary
    target_vocab: Vocabulary
    folder: Path
    numbers: str = ""

    @property
    def changed(self) -> bool:
        """Whether the model has other numbers or other parts than the one that was loaded."""
        return checksum(self.model) != self.numbers

    def translate(
        self,
        sentence: str | Sequence[str],
        *,
        width: int = 1,
        length_penalty: float = 0.0,
        max_steps: int | None = None,
        copy_unknown: bool = False,
    ) -> Translation:
        """Translate English text, or words as ``heed.data.text.tokenize`` cuts them.

        Unknown words are read as ``<unk>``; ``copy_unknown`` puts the source word that is looked
        at most wherever the model writes ``<unk>``. An empty sentence gives an empty one.
        """
        words = tokenize(sentence, "en") if isinstance(sentence, str) else list(sentence)
        return translate(
            self.model,
            [words],
            self.source_vocab,
            self.target_vocab,
            width=width,
            length_penalty=length_penalty,
            max_steps=max_steps,
            copy_unknown=copy_unknown,
        )[0]

    def say(self, sentence: str | Sequence[str], **options: Any) -> str:
        """The translation as a person would write it."""
        return detokenize(self.translate(sentence, **options).words, "fr")

    def maps(self) -> tuple[list[int], list[Float[np.ndarray, "moment _ _"]]]:
        """How attention was learnt: the steps of the moments, and for each watched sentence
        (``card.inputs``) where the model looked at each of them while it wrote the gold target."""
        return unpack(checked(self.folder, "maps.npz", self.card.files))


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
    content = checked(folder, "vocabulary.json", card.files)
    try:
        source_vocab, target_vocab = read_vocabularies(content)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as fault:
        raise CardError(f"{folder / 'vocabulary.json'} is damaged: {fault}") from None
    config = experiment.sized(len(source_vocab), len(target_vocab))
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
    return Trained(
        model=model.eval(),
        card=card,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        folder=folder,
        numbers=checksum(model),
    )
