"""Whether attention explains, measured over the whole test set and kept: ``faithfulness.json``.

It takes minutes a model, so a chapter reads the numbers and measures a few sentences again. The
file says of which weights it speaks; numbers of others are refused.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heed.data.pairs import Pair
from heed.evaluation.faithfulness import Effect, Faithfulness, Mean, faithfulness
from heed.experiments.cards import Card, CardError, compact
from heed.experiments.files import write_by_rename
from heed.experiments.table import REPOSITORY, find
from heed.experiments.translation import TrainedTranslator

FILE = REPOSITORY / "data" / "measured" / "faithfulness.json"
WEIGHTS = "model.safetensors"
EVERY = 5
"""Words are removed from one in so many sentences."""


def measured(
    trained: TrainedTranslator, pairs: Sequence[Pair], *, every: int = EVERY
) -> dict[str, Any]:
    """What the file says of a model, over these sentences; one of a single word is left out."""
    longer = [pair for pair in pairs if len(pair.source) > 1]
    found = faithfulness(
        trained.model, longer, trained.source_vocab, trained.target_vocab, every=every
    )
    return {WEIGHTS: trained.card.files[WEIGHTS], **asdict(found)}


def keep(name: str, content: Mapping[str, Any], file: Path = FILE) -> None:
    """Put a model into the file, by rename; the others in it stay."""
    there = json.loads(file.read_text("utf-8")) if file.exists() else {}
    whole = dict(sorted({**there, name: _short(dict(content))}.items()))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_by_rename(file, (compact(json.dumps(whole, indent=1)) + "\n").encode())


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    return {key: _short(each) for key, each in value.items()} if isinstance(value, dict) else value


def kept(name: str, file: Path = FILE) -> Faithfulness:
    """What the file says of a model; ``CardError`` if it says nothing, or speaks of other weights
    than those that are shipped."""
    there = json.loads(file.read_text("utf-8")).get(name) if file.exists() else None
    if there is None:
        raise CardError(f"{file} has nothing about {name}: python -m heed faithfulness {name}")
    if there.pop(WEIGHTS) != Card.read(find(name).folder).files[WEIGHTS]:
        raise CardError(f"{file} is about other weights of {name}: measure it again")
    effects = {
        change: Effect(**{effect: Mean(**mean) for effect, mean in each.items()})
        for change, each in there.pop("effects").items()
    }
    return Faithfulness(**there | {"effects": effects, "agrees": Mean(**there["agrees"])})
