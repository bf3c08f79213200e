"""Which models have graphs, and how whoever runs them goes from one graph to the other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from torch import nn

from heed.experiments.graphs import (
    bahdanau,
    lstmn,
    luong,
    ntm,
    parts,
    pointer,
    sagan,
    seq2seq,
    show_attend_tell,
    snail,
    transformer,
)
from heed.experiments.graphs.graph import Graph
from heed.experiments.graphs.storage import ExportError, Stored
from heed.models.bahdanau import Annotations, Bahdanau, BahdanauState
from heed.models.lstmn import (
    LSTMLanguageModel,
    LSTMNLanguageModel,
    LSTMNState,
    LSTMState,
)
from heed.models.luong import Luong, LuongState, Reading
from heed.models.ntm import NTM
from heed.models.pointer import PointerNetwork
from heed.models.sagan import SAGAN
from heed.models.seq2seq import Seq2Seq, Thought
from heed.models.show_attend_tell import Seen, ShowAttendTell, TellState
from heed.models.snail import SNAIL, SNAILPolicy
from heed.models.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the translators of a class are exported.

    encoded, state: the records of ``Translator.encode`` and ``Translator.start``
    start: for each field of the state the field of ``encoded`` that it begins with
    controls: inputs of the graphs beyond those of ``encode`` and ``step``, and what leaves the
        model of a config as it is
    part: what the names of those parameters begin with that the graphs are made of
    """

    encoder: Callable[[Any, Mapping[str, Stored]], Graph]
    decoder: Callable[[Any, Mapping[str, Stored]], Graph]
    encoded: type
    state: type
    start: Mapping[str, str]
    controls: Callable[[Any], Mapping[str, Any]]
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """Of a model; each names the file that it becomes."""
        return [self.encoder(config, parameters), self.decoder(config, parameters)]

    def state_fields(self) -> list[str]:
        """The names of what goes from step to step."""
        return [field.name for field in fields(self.state)]


@dataclass(frozen=True, kw_only=True)
class ReadingFamily:
    """How the language models of a class are exported: as one graph, a step from word to word.

    state: the record of the model's ``start``
    begin: what it is before the first word, field by field
    controls, part: as in ``Family``
    """

    step: Callable[[Any, Mapping[str, Stored]], Graph]
    state: type
    begin: Callable[[Any], Mapping[str, lstmn.Begin]]
    controls: Callable[[Any], Mapping[str, Any]]
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """The one there is, in a list."""
        return [self.step(config, parameters)]

    def state_fields(self) -> list[str]:
        """The names of what goes from step to step."""
        return [field.name for field in fields(self.state)]


class TellingFamily(Family):
    """How the models of a class that describe pictures are exported: as translators are, but that
    the encoder reads pixels."""


class HeadedFamily(Family):
    """How the translators of a class are exported that have many heads in many layers: as others
    are, with the maps of all of them beside, and heads that can be switched off."""


@dataclass(frozen=True, kw_only=True)
class PaintingFamily:
    """How the models of a class that make pictures are exported: as one graph, from z to a picture.

    controls, part: as in ``Family``
    """

    painter: Callable[[Any, Mapping[str, Stored]], Graph]
    controls: Callable[[Any], Mapping[str, Any]]
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """The one there is, in a list."""
        return [self.painter(config, parameters)]


@dataclass(frozen=True, kw_only=True)
class MachineFamily:
    """How machines with a memory are exported: as what a sequence begins with, and a step.

    state: the names of what goes from step to step, of a config
    controls, part: as in ``Family``
    """

    start: Callable[[Any, Mapping[str, Stored]], Graph]
    step: Callable[[Any, Mapping[str, Stored]], Graph]
    state: Callable[[Any], Mapping[str, Any]]
    controls: Callable[[Any], Mapping[str, Any]]
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """Of a model; each names the file that it becomes."""
        return [self.start(config, parameters), self.step(config, parameters)]


@dataclass(frozen=True, kw_only=True)
class PointingFamily:
    """How the models of a class that point at their inputs are exported: an encoder reads the
    points, a decoder scores them, and whoever runs it says where it may point.

    start: for each field of the state that goes through the graph the output of the encoder that
        it begins with
    controls, part: as in ``Family``
    """

    encoder: Callable[[Any, Mapping[str, Stored]], Graph]
    decoder: Callable[[Any, Mapping[str, Stored]], Graph]
    start: Mapping[str, str]
    controls: Callable[[Any], Mapping[str, Any]] = lambda config: {}
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """Of a model; each names the file that it becomes."""
        return [self.encoder(config, parameters), self.decoder(config, parameters)]


@dataclass(frozen=True, kw_only=True)
class LearningFamily:
    """How the models of a class that learn within an episode are exported: as one graph, which is
    shown all of it at once.

    controls, part: as in ``Family``
    """

    episode: Callable[[Any, Mapping[str, Stored]], Graph]
    controls: Callable[[Any], Mapping[str, Any]] = lambda config: {}
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """The one there is, in a list."""
        return [self.episode(config, parameters)]


@dataclass(frozen=True, kw_only=True)
class PlayingFamily:
    """How the policies of a class are exported: as one graph, from pull to pull.

    controls, part: as in ``Family``
    """

    step: Callable[[Any, Mapping[str, Stored]], Graph]
    controls: Callable[[Any], Mapping[str, Any]] = lambda config: {}
    part: str = ""

    def graphs(self, config: Any, parameters: Mapping[str, Stored]) -> list[Graph]:
        """The one there is, in a list."""
        return [self.step(config, parameters)]


AnyFamily = (
    Family
    | ReadingFamily
    | PaintingFamily
    | MachineFamily
    | PointingFamily
    | LearningFamily
    | PlayingFamily
)

FAMILIES: dict[str, AnyFamily] = {
    Bahdanau.__name__: Family(
        encoder=bahdanau.encoder,
        decoder=bahdanau.decoder,
        encoded=Annotations,
        state=BahdanauState,
        start={"s": "first_state"},
        controls=lambda config: parts.LOOKING,
    ),
    Luong.__name__: Family(
        encoder=luong.encoder,
        decoder=luong.decoder,
        encoded=Reading,
        state=LuongState,
        start={"h": "first_h", "c": "first_c", "fed": "first_fed", "t": "first_t"},
        controls=luong.controls,
    ),
    Seq2Seq.__name__: Family(
        encoder=seq2seq.encoder,
        decoder=seq2seq.decoder,
        encoded=Thought,
        state=Thought,
        start={"h": "h", "c": "c"},
        controls=lambda config: {},
    ),
    Transformer.__name__: HeadedFamily(
        encoder=transformer.encoder,
        decoder=transformer.decoder,
        encoded=transformer.Read,
        state=transformer.Written,
        start=transformer.START,
        controls=transformer.controls,
    ),
    LSTMNLanguageModel.__name__: ReadingFamily(
        step=lstmn.step,
        state=LSTMNState,
        begin=lstmn.begin,
        controls=lstmn.controls,
    ),
    LSTMLanguageModel.__name__: ReadingFamily(
        step=lstmn.lstm_step,
        state=LSTMState,
        begin=lstmn.lstm_begin,
        controls=lambda config: {},
    ),
    ShowAttendTell.__name__: TellingFamily(
        encoder=show_attend_tell.encoder,
        decoder=show_attend_tell.decoder,
        encoded=Seen,
        state=TellState,
        start={"h": "first_h", "c": "first_c"},
        controls=show_attend_tell.controls,
    ),
    SAGAN.__name__: PaintingFamily(
        painter=sagan.painter,
        controls=sagan.controls,
        part=sagan.PART,
    ),
    PointerNetwork.__name__: PointingFamily(
        encoder=pointer.encoder,
        decoder=pointer.decoder,
        start=pointer.START,
    ),
    NTM.__name__: MachineFamily(
        start=ntm.start,
        step=ntm.step,
        state=ntm.state,
        controls=ntm.controls,
    ),
    SNAIL.__name__: LearningFamily(episode=snail.episode),
    SNAILPolicy.__name__: PlayingFamily(step=snail.step),
}


def family_of(model: nn.Module) -> AnyFamily:
    """The family of a model; ``ExportError`` if it has none."""
    name = type(model).__name__
    if name not in FAMILIES:
        *others, last = FAMILIES
        raise ExportError(f"a {name} cannot be exported; {', '.join(others)} and {last} can")
    return FAMILIES[name]
