"""What every translator of this book can do, so that decoding and metrics are written once."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

Record = TypeVar("Record")


@dataclass(frozen=True)
class StepOutput:
    """One decoder step: a score for each target word, and where the model looked (or ``None``).

    ``places`` is where the middle of its window was, for a model that looks through one.
    """

    logits: Float[Tensor, "batch vocab"]
    weights: Float[Tensor, "batch key"] | None
    places: Float[Tensor, " batch"] | None = None


@dataclass(frozen=True)
class DecoderOutput:
    """All decoder steps of a given target sentence.

    ``weights`` holds one map for each place where the model attends, under the place's name
    (``"cross"``); it is empty for a model that does not attend. ``places`` as in ``StepOutput``.
    """

    logits: Float[Tensor, "batch step vocab"]
    weights: dict[str, Float[Tensor, "batch head step key"]]
    places: Float[Tensor, "batch step"] | None = None


@runtime_checkable
class Translator(Protocol):
    """encode once, start once, step until done; or ``forward`` when the target is known.

    Source rows end with EOS and are PAD beyond ``source_lengths``; targets begin with BOS.
    """

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Any: ...

    def start(self, encoded: Any) -> Any: ...

    def step(
        self, state: Any, token: Int[Tensor, " batch"], encoded: Any
    ) -> tuple[Any, StepOutput]: ...

    def __call__(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput: ...


def select(record: Record, rows: Int[Tensor, " chosen"]) -> Record:
    """The same record with these rows of its batch, in this order (a beam keeps and drops rows).
    A record inside it is one of the same batch."""
    picked = {}
    for item in fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        if isinstance(value, Tensor):
            value = torch.index_select(value, 0, rows)
        elif is_dataclass(value):
            value = select(value, rows)
        picked[item.name] = value
    return replace(record, **picked)  # type: ignore[type-var]
