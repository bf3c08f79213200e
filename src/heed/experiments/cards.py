"""The card beside each set of weights: what they are, how they came about, what they scored."""

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from heed.experiments.files import write_by_rename


class CardError(ValueError):
    """A card or one of its files is missing, damaged, or about something else."""


def spread(values: Sequence[float | None]) -> dict[str, Any]:
    """Mean and standard deviation (n - 1) over seeds, and the values themselves.

    A seed where a number does not exist (no sentence of that length) counts in neither.
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    return {
        "mean": statistics.fmean(known) if known else None,
        "std": statistics.stdev(known) if len(known) > 1 else 0.0,
        "seeds": list(values),
    }


def gather(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of several seeds, group by group, as one ``spread`` each."""
    gathered: dict[str, Any] = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        values = [run.get(name) for run in runs]
        if any(isinstance(value, Mapping) for value in values):
            gathered[name] = gather([value or {} for value in values])
        else:
            gathered[name] = spread(values)
    return gathered


def of_one(metrics: Mapping[str, Any], place: int) -> dict[str, Any]:
    """What ``gather`` was given of one run: of the seed at that place. A number that does not exist
    for it stays ``None``."""
    return {
        name: value["seeds"][place] if "seeds" in value else of_one(value, place)
        for name, value in metrics.items()
    }


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a reader needs in order to trust, or redo, a trained model.

    experiment, chapter, title: the row of the table
    config, data, train: the model's config, the corpus's, the training's, as in the table
    credits, licence: whose sentences the model learnt from, and under what terms
    metrics: name -> {"mean", "std", "seeds"}, one value a seed in the order of ``seeds``; groups
        such as ``bleu_by_length`` go one level deeper
    settings: how the metrics were measured (the signature of BLEU, sentence counts)
    claims: what the prose relies on, in words
    seed: the one whose weights are shipped; steps, seconds: how long it trained
    complete: whether all planned seeds have gone all their steps
    parameters: how many numbers were learnt; dtype: how they are stored
    files: name -> sha256 of everything that lies beside this card
    curves: seed -> [{"step", "loss", "valid_loss", "lr", "seconds"}]
    inputs: the fixed sentences that were watched; moments: step and what the model made of them.
        The attention maps of the moments are in ``maps.npz`` (see ``heed.experiments.maps``).
    """

    experiment: str
    chapter: str
    title: str
    config: dict[str, Any]
    data: dict[str, Any]
    train: dict[str, Any]
    credits: list[str]
    licence: str
    metrics: dict[str, Any]
    settings: dict[str, Any]
    claims: list[str]
    seed: int
    seeds: list[int]
    steps: int
    seconds: float
    complete: bool
    parameters: int
    dtype: str
    precision: str
    threads: int
    versions: dict[str, str]
    files: dict[str, str]
    curves: dict[str, list[dict[str, int | float]]] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    moments: list[dict[str, Any]] = field(default_factory=list)

    def number(self, metric: str) -> float:
        """The mean of a metric; a dot goes into a group: ``number("bleu_by_length.26-45")``."""
        place: Any = self.metrics
        for part in metric.split("."):
            if not isinstance(place, Mapping) or part not in place:
                raise CardError(f"the card of {self.experiment} has no metric {metric!r}")
            place = place[part]
        if not isinstance(place, Mapping) or not isinstance(place.get("mean"), int | float):
            raise CardError(f"{metric!r} on the card of {self.experiment} is not one number")
        return place["mean"]

    def write(self, folder: Path) -> None:
        """Put ``card.json`` into the folder, by rename."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)
        write_by_rename(folder / "card.json", (compact(text) + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> "Card":
        """The card of a folder; ``CardError`` says in one line what is wrong with it."""
        path = folder / "card.json"
        try:
            content = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise CardError(f"{path} is missing: nothing trained lies here") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as fault:
            raise CardError(f"{path} is damaged: not JSON ({fault})") from None
        if not isinstance(content, dict):
            raise CardError(f"{path} is damaged: a card is an object, not {type(content).__name__}")
        known = {f.name: f for f in fields(cls)}
        missing = [n for n, f in known.items() if n not in content and n not in OPTIONAL]
        foreign = [name for name in content if name not in known]
        if missing or foreign:
            fault = f"has no {missing[0]!r}" if missing else f"has a foreign {foreign[0]!r}"
            raise CardError(f"{path} is damaged: it {fault}")
        for name, value in content.items():
            kind = KINDS.get(name)
            if kind is not None and not isinstance(value, kind):
                raise CardError(f"{path} is damaged: {name!r} is {value!r:.40}")
        return cls(**content)


OPTIONAL = ("curves", "inputs", "moments")
KINDS: dict[str, type | tuple[type, ...]] = {
    "experiment": str,
    "config": dict,
    "data": dict,
    "train": dict,
    "metrics": dict,
    "seed": int,
    "seeds": list,
    "files": dict,
    "curves": dict,
    "inputs": list,
    "moments": list,
}


def compact(text: str) -> str:
    """JSON with one line for each innermost list or object: short diffs, few lines."""
    lines: list[str] = []
    held: list[str] | None = None
    for line in text.splitlines():
        opens = line.endswith(("[", "{"))
        closes = line.strip()[:1] in ("]", "}")
        if opens:
            if held is not None:
                lines += held
            held = [line]
        elif held is not None:
            held.append(line)
            if closes:
                inner = [held[0], *(part.strip() for part in held[1:])]
                joined = inner[0] + " ".join(inner[1:-1]) + inner[-1]
                lines += [joined] if len(joined) <= 200 else held
                held = None
        else:
            lines.append(line)
    return "\n".join(lines + (held or []))


def numbers(metrics: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every ``spread`` on a card with its dotted name."""
    for name, value in metrics.items():
        if isinstance(value, Mapping) and "seeds" in value:
            yield prefix + name, value
        elif isinstance(value, Mapping):
            yield from numbers(value, f"{prefix}{name}.")


def jsonable(value: Any) -> Any:
    """The value as it comes back from a JSON file: tuples are lists there."""
    return json.loads(json.dumps(value))


def first_difference(there: Any, here: Any, path: str = "") -> str | None:
    """The first place where two nested values differ, in words; ``None`` if they are equal."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys([*there, *here]):
            inner = f"{path}.{name}" if path else name
            if name not in there or name not in here:
                return f"{inner} is {'new' if name not in there else 'gone'} in the table"
            found = first_difference(there[name], here[name], inner)
            if found:
                return found
        return None
    return None if there == here else f"{path} was {there!r}, the table says {here!r}"
