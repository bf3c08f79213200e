"""Guessing the next word of everyday English, and saying what is expected after a verb."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed.evaluation.expecting import expectations
from heed.experiments.language import Reading, Reads


@dataclass(frozen=True, kw_only=True)
class ReadsEveryday(Reads):
    """As ``Reads``, on Tatoeba's English; its cards have four groups of numbers more."""

    def load(self, data: Any, places: Mapping[str, Path]) -> "Everyday":
        """The sentences; a place for ``"tatoeba"`` helps."""
        return Everyday(data.load(tatoeba=places.get("tatoeba")))


class Everyday(Reading):
    """Sentences, seen from the runner."""

    def small(self) -> "Everyday":
        """Short sentences, and a fifth of the test."""
        return Everyday(super().small().prose)

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """All that ``Reading`` measures, and ``heed.evaluation.expecting.expectations``."""
        metrics, settings = super().evaluate(model)
        for named in ("corpus_sha256", "sentences"):
            settings[named] = {"tatoeba": settings[named]["prose"]}
        return metrics | expectations(model, self.vocabulary), settings
