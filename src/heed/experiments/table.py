"""Every trained model of the book, in one table."""

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from heed.data.corpora import Data, EverydayData, GrammarData, ReverseData
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig
from heed.training.loop import TrainConfig

REPOSITORY = Path(__file__).resolve().parents[3]


class UnknownExperiment(LookupError):
    """No row of the table has this name."""


def trained_folder() -> Path:
    """Where shipped weights lie: ``data/trained``, or what ``HEED_TRAINED`` says."""
    return Path(os.environ.get("HEED_TRAINED", REPOSITORY / "data" / "trained"))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence in the prose that a number must back up.

    ``metric`` is a name on the card; a dot goes into a group (``bleu_by_length.26-45``). The mean
    over seeds must be at least, or at most, the bound; with ``times`` the bound is that many times
    another number, with ``above`` that much more than it. The other number may be on another
    card: ``seq2seq_grammar:bleu``.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    times: str | None = None
    above: str | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"a claim on {self.metric} needs at_least or at_most, one of them")
        if self.times is not None and self.above is not None:
            raise ValueError(f"a claim on {self.metric} cannot be both times and above")

    def holds(self, value: float, other: float | None = None) -> bool:
        """Whether the number, next to the ``times`` or ``above`` one, is on the right side."""
        return value >= self.bound(other) if self.at_least is not None else value <= self.bound(other)

    def bound(self, other: float | None = None) -> float:
        """The number on the other side of the comparison."""
        figure = self.at_least if self.at_least is not None else self.at_most
        assert figure is not None
        if self.times is None and self.above is None:
            return figure
        if other is None:
            raise ValueError(f"the claim on {self.metric} is relative to {self.times or self.above}")
        return figure * other if self.times is not None else figure + other

    def __str__(self) -> str:
        figure = self.at_least if self.at_least is not None else self.at_most
        relation = {None: "", self.times: f" × {self.times}", self.above: f" + {self.above}"}
        return (
            f"{self.metric} {'≥' if self.at_least is not None else '≤'} {figure:g}"
            f"{relation[self.times or self.above]}"
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One row: which model, on which data, trained how, and what the prose says about it.

    ``config`` makes the model's config once the vocabularies are known; everything else in it is
    fixed here. ``trained`` is False for sizes that stand here to be read and scaled up to, and for
    which no weights are shipped. ``half`` stores the weights as float16; ``width`` is the beam that
    the metrics are measured with, 1 being greedy search.
    """

    name: str
    chapter: str
    title: str
    build: Callable[[Any], nn.Module]
    config: partial
    data: Data
    train: TrainConfig
    seeds: tuple[int, ...] = (0, 1, 2)
    claims: tuple[Claim, ...] = ()
    half: bool = True
    width: int = 1
    trained: bool = True
    notes: str = ""

    def sized(self, source_vocab: int, target_vocab: int) -> Any:
        """The model's config for vocabularies of these sizes, specials included."""
        return self.config(source_vocab=source_vocab, target_vocab=target_vocab)

    @property
    def folder(self) -> Path:
        """Where the shipped weights and their card lie."""
        return trained_folder() / self.name

    @property
    def recipe(self) -> dict[str, Any]:
        """What makes one run comparable with another: the model's fixed settings, data, training."""
        return {
            "model": dict(self.config.keywords),
            "data": asdict(self.data),
            "train": asdict(self.train),
        }


def table(*experiments: Experiment) -> dict[str, Experiment]:
    """The rows by name."""
    by_name = {row.name: row for row in experiments}
    if len(by_name) != len(experiments):
        raise ValueError("two experiments share a name")
    return by_name


def find(name: str, experiments: Mapping[str, Experiment] | None = None) -> Experiment:
    """The row of that name; ``UnknownExperiment`` names the nearest ones."""
    experiments = EXPERIMENTS if experiments is None else experiments
    if name in experiments:
        return experiments[name]
    near = difflib.get_close_matches(name, experiments, n=2, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "see python -m heed list"
    raise UnknownExperiment(f"there is no experiment {name!r}; {hint}")


# ------------------------------------------------------------------------------------ the rows


def bahdanau_reverse() -> Experiment:
    return Experiment(
        name="bahdanau_reverse",
        chapter="03_additive",
        title="The smallest one: letters back to front, in about a minute",
        build=Bahdanau,
        config=partial(
            BahdanauConfig, d_embedding=32, d_encoder=48, d_state=64, d_align=32, d_maxout=32
        ),
        data=ReverseData(),
        train=TrainConfig(steps=1_000, batch_size=64, lr=3e-3, warmup=50),
        claims=(Claim(metric="exact_match", at_least=0.9), Claim(metric="aer", at_most=0.1)),
        trained=False,
        notes="it is there to try the machinery; train it yourself",
    )


EXPERIMENTS = table(
    bahdanau_reverse(),
)
