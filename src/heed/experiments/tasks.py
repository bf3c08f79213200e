"""What the table, the runner, ``load`` and the cards know of a problem, and no more than this.

A *kind* of task stands in a row of the table. It needs no data: ``load`` asks it how to read what
lies beside a model's weights. A *task* is a kind with its data: the runner asks it for batches, a
loss, and numbers. A new problem (captions, tours, episodes) is one file with one of each, and a
subclass of ``Trained`` if its models are to be asked something; ``heed.experiments.translation``
is the first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from heed.experiments.cards import Card
from heed.experiments.checkpoint import checked, checksum
from heed.experiments.maps import Bytes, unpack
from heed.training.loop import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model with the weights that were shipped, and its card.

    A kind of task adds what its models know (vocabularies, say) and how they are asked.

    numbers: the ``checksum`` of the model as it was loaded
    """

    model: Any
    card: Card
    folder: Path
    numbers: str = ""

    if TYPE_CHECKING:  # which kind a name stands for is known to the table, not to type checkers

        def __getattr__(self, name: str) -> Any: ...

    @property
    def changed(self) -> bool:
        """Whether the model has other numbers or other parts than the one that was loaded."""
        return checksum(self.model) != self.numbers

    def maps(self) -> tuple[list[int], list[Float[np.ndarray, "moment _ _"]]]:
        """How attention was learnt: the steps of the moments, and for each watched input
        (``card.inputs``) where the model looked at each of them, when it was given what it should
        say."""
        return unpack(checked(self.folder, "maps.npz", self.card.files))


@runtime_checkable
class DataConfig(Protocol):
    """What a task's data are made from: a frozen dataclass that JSON can say."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@runtime_checkable
class Stream(Protocol):
    """Batches without end, a function of the step: a run that goes on reads what it would have."""

    def starting_after(self, done: int) -> Iterator[Any]:
        """The batches of step ``done + 1``, ``done + 2``, and so on."""
        ...


@runtime_checkable
class Task(Protocol):
    """A kind of task with its data.

    credits, licence: whose data these are, and under what terms
    """

    @property
    def credits(self) -> Sequence[str]: ...

    @property
    def licence(self) -> str: ...

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Stream:
        """The training batches of a seed; of ``world`` processes, those of number ``rank``."""
        ...

    def loss(self, model: nn.Module, batch: Any, train: TrainConfig) -> Tensor:
        """What a step minimises: a mean."""
        ...

    def count(self, batch: Any) -> Tensor:
        """How many terms that mean is taken over: so much a process counts among others."""
        ...

    def validate(self, model: nn.Module) -> float:
        """The loss on held-out data, without dropout: the learning curve."""
        ...

    def inputs(self) -> list[dict[str, Any]]:
        """The few inputs that are watched all through training, as a card keeps them."""
        ...

    def maps(self, model: Any) -> list[Bytes]:
        """Where the model looks on each of them; none if it does not attend."""
        ...

    def says(self, model: Any) -> list[Any]:
        """What it makes of them, so that JSON can say it."""
        ...

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Metrics by name (a group goes one level deeper), and how they were measured."""
        ...

    def files(self) -> dict[str, bytes]:
        """What must lie beside the weights, so that they can be loaded without the data: the files
        that the kind calls ``beside``."""
        ...

    def small(self) -> "Task":
        """The part of it that a model begins to master within minutes, with the same files."""
        ...


@runtime_checkable
class Kind(Protocol):
    """What is known of a task without its data. A frozen dataclass, so that it can be compared.

    beside: names of the files that lie beside the weights; () if there are none
    trained: what ``load`` makes of a model; has a field for each thing that ``read`` finds
    """

    beside: ClassVar[tuple[str, ...]]
    trained: ClassVar[type[Trained]]

    def load(self, data: Any, places: Mapping[str, Path]) -> Task:
        """The task with the data of a row. places: where corpora lie that are not found by
        themselves, by their names, as in {"tatoeba": …}."""
        ...

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """What the files ``beside`` the weights say. Any of ``ValueError``, ``KeyError`` and
        ``TypeError`` means that they are damaged."""
        ...

    def sizes(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """What a row's model config lacks before this is known: the number of words, say."""
        ...

    def headline(self, card: Card) -> str:
        """The main number on a card, with its name: ``BLEU 40.1``."""
        ...
