"""Exported models, run by onnxruntime behind the interface that they have in PyTorch.

They are compared with PyTorch here, and what a page does with the same files is compared with them.
Needs onnxruntime, which only contributors have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.evaluation.hands import Hands
from heed.experiments.episodes import Asked
from heed.experiments.graphs import (
    FAMILIES,
    ExportError,
    Family,
    HeadedFamily,
    LearningFamily,
    MachineFamily,
    PaintingFamily,
    PlayingFamily,
    PointingFamily,
    ReadingFamily,
    TellingFamily,
    family_of,
)
from heed.experiments.graphs.lstmn import Begin
from heed.experiments.graphs.ntm import COMMANDS, FIRST
from heed.experiments.graphs.transformer import controlled
from heed.experiments.manifest import read_manifest
from heed.layers.addressing import Aim
from heed.models.lstmn import LanguageOutput
from heed.models.ntm import Commands, MemoryState, NTMOutput, NTMState, NTMStep
from heed.models.pointer import Encoded, PointerOutput, PointerState, Rule, allowed
from heed.models.sagan import Drawn
from heed.models.show_attend_tell import TellOutput, TellStep
from heed.models.snail import Policy, before
from heed.models.transformer import UNCHANGED, Changes, TransformerOutput
from heed.models.translator import DecoderOutput, StepOutput

F = TypeVar("F")
G = TypeVar("G", bound="OneGraph")


def require_tools() -> None:
    """``ExportError`` where the contributors' packages are not installed."""
    for name in ("onnx", "onnxruntime"):
        try:
            import_module(name)
        except ImportError:
            raise ExportError(
                f"{name} is not installed, and exporting needs it: "
                "pip install -r requirements-dev.txt"
            ) from None


class Session:
    """One graph, and the controls that it takes.

    neutral: what leaves the model as it is, for each control
    """

    def __init__(self, graph: bytes, neutral: Mapping[str, Any] | None = None) -> None:
        require_tools()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.runtime = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {each.name: (each.type, each.shape) for each in self.runtime.get_inputs()}
        self.neutral = dict(neutral or {})

    def __call__(
        self,
        known: Mapping[str, Tensor],
        sizes: Mapping[str, int] | None = None,
        controls: Mapping[str, Any] | None = None,
    ) -> dict[str, Tensor]:
        """The outputs by name. known: at least the inputs; sizes: of the axes of controls."""
        feeds = dict(known)
        for name, value in {**self.neutral, **(controls or {})}.items():
            kind, axes = self.settings[name]
            shape = [axis if isinstance(axis, int) else (sizes or {})[axis] for axis in axes]
            feeds[name] = torch.as_tensor(value).to(kind).expand(shape)
        found = self.runtime.run(None, {name: feeds[name].numpy() for name in self.inputs})
        names = (each.name for each in self.runtime.get_outputs())
        return {name: torch.from_numpy(values) for name, values in zip(names, found, strict=True)}

    @property
    def settings(self) -> dict[str, tuple[torch.dtype, list[str | int]]]:
        """Type and axes of each control."""
        kinds = {
            "tensor(float)": torch.float32,
            "tensor(bool)": torch.bool,
            "tensor(int64)": torch.int64,
        }
        return {name: (kinds[self.inputs[name][0]], self.inputs[name][1]) for name in self.neutral}

    def signature(self) -> dict[str, dict[str, list[Any]]]:
        """Inputs and outputs: name -> [type, size of each axis]; a word is a free size."""
        sides = (("inputs", self.runtime.get_inputs()), ("outputs", self.runtime.get_outputs()))
        return {
            side: {each.name: [each.type[len("tensor(") : -1], *each.shape] for each in values}
            for side, values in sides
        }


class Exported:
    """The two graphs, run by onnxruntime, behind the interface of a ``Translator``.

    Greedy and beam search work on it as on the model itself. ``step`` takes the decoder's
    controls by name; ``neutral`` is what they are without.
    """

    kind: ClassVar[type[Family]] = Family

    def __init__(
        self, family: Family, encoder: bytes, decoder: bytes, neutral: Mapping[str, Any]
    ) -> None:
        self.family = family
        self.encoder, self.decoder = Session(encoder), Session(decoder)
        for name, value in neutral.items():
            side = self.encoder if name in self.encoder.inputs else self.decoder
            side.neutral[name] = value

    @classmethod
    def read(cls, folder: Path) -> "Exported":
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        manifest = read_manifest(folder)
        family = _family(manifest, cls.kind)
        encoder, decoder = ((folder / f"{x}.onnx").read_bytes() for x in ("encoder", "decoder"))
        return cls(family, encoder, decoder, _neutral(manifest))

    @property
    def settings(self) -> dict[str, tuple[torch.dtype, list[str | int]]]:
        """Type and axes of each control."""
        return self.encoder.settings | self.decoder.settings

    @property
    def neutral(self) -> dict[str, Any]:
        """What each control is when it leaves the model as it is."""
        return self.encoder.neutral | self.decoder.neutral

    def signatures(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Of both graphs."""
        return {"encoder": self.encoder.signature(), "decoder": self.decoder.signature()}

    def begins(self) -> dict[str, Any]:
        """For each field of the state the field of the encoded source that it begins with."""
        return dict(self.family.start)

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Any:
        """Read the source."""
        found = self.encoder({"source": source, "source_lengths": source_lengths})
        return self.family.encoded(**found)

    def start(self, encoded: Any) -> Any:
        """The state before the first word."""
        begin = self.family.start.items()
        return self.family.state(**{to: getattr(encoded, field) for to, field in begin})

    def step(
        self, state: Any, token: Int[Tensor, " batch"], encoded: Any, **controls: Any
    ) -> tuple[Any, StepOutput]:
        """One word on."""
        known = {field.name: getattr(encoded, field.name) for field in fields(encoded)}
        known |= {field.name: getattr(state, field.name) for field in fields(state)}
        sizes = {"batch": len(token), "source": encoded.keep.shape[-1]} if self.neutral else {}
        found = self.decoder(known | {"token": token}, sizes, controls)
        moved = {name: found[f"next_{name}"] for name in self.family.state_fields()}
        out = StepOutput(found["logits"], found.get("weights"), found.get("places"))
        return self.family.state(**moved), out

    def __call__(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput:
        """Teacher forcing, step by step."""
        encoded = self.encode(source, source_lengths)
        state, logits, weights, places = self.start(encoded), [], [], []
        for token in target_in.unbind(1):
            state, out = self.step(state, token, encoded)
            logits.append(out.logits)
            weights += [] if out.weights is None else [out.weights]
            places += [] if out.places is None else [out.places]
        return DecoderOutput(
            torch.stack(logits, 1),
            {"cross": torch.stack(weights, 1).unsqueeze(1)} if weights else {},
            torch.stack(places, 1) if places else None,
        )


class ExportedTransformer(Exported):
    """The two graphs of a Transformer, behind its own interface, changes and maps among it."""

    kind = HeadedFamily

    def controls(self, session: Session, changes: Changes) -> dict[str, Any]:
        """Those of one graph that make these changes."""
        shapes = {n: axes for n, (_, axes) in self.settings.items() if n.endswith("_on")}
        every = controlled(changes, shapes)
        return {name: every[name] for name in session.neutral}

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        *,
        changes: Changes = UNCHANGED,
    ) -> Any:
        """Read the sentence, once for all decoder layers."""
        known = {"source": source, "source_lengths": source_lengths}
        return self.family.encoded(**self.encoder(known, {}, self.controls(self.encoder, changes)))

    def step(  # type: ignore[override]
        self,
        state: Any,
        token: Int[Tensor, " batch"],
        encoded: Any,
        *,
        changes: Changes = UNCHANGED,
    ) -> tuple[Any, StepOutput]:
        """One word on."""
        state, found = self.look(state, token, encoded, changes)
        return state, StepOutput(found["logits"], found["weights"])

    def look(
        self, state: Any, token: Int[Tensor, " batch"], encoded: Any, changes: Changes
    ) -> tuple[Any, dict[str, Tensor]]:
        """The same, with all that the graph says."""
        known = {field.name: getattr(encoded, field.name) for field in fields(encoded)}
        known |= {field.name: getattr(state, field.name) for field in fields(state)}
        controls = self.controls(self.decoder, changes)
        found = self.decoder(known | {"token": token}, {}, controls)
        moved = {name: found[f"next_{name}"] for name in self.family.state_fields()}
        return self.family.state(**moved), found

    def __call__(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
        *,
        changes: Changes = UNCHANGED,
    ) -> TransformerOutput:
        """Teacher forcing, step by step."""
        encoded = self.encode(source, source_lengths, changes=changes)
        state, steps = self.start(encoded), []
        for token in target_in.unbind(1):
            state, found = self.look(state, token, encoded, changes)
            steps.append(found)

        def rows(name: str) -> list[Tensor]:
            """Of each layer, batch × head × step × key; what is not written yet has no weight."""
            longest = steps[-1][name].shape[-1]
            padded = [nn.functional.pad(x[name], (0, longest - x[name].shape[-1])) for x in steps]
            return list(torch.stack(padded, 3).unbind(1))

        maps = {f"encoder {n}": each for n, each in enumerate(encoded.encoder_maps.unbind(1), 1)}
        maps |= {f"decoder {n}": each for n, each in enumerate(rows("decoder_maps"), 1)}
        maps |= {f"cross {n}": each for n, each in enumerate(rows("cross_maps"), 1)}
        return TransformerOutput(
            torch.stack([found["logits"] for found in steps], 1),
            {"cross": torch.stack([found["weights"] for found in steps], 1).unsqueeze(1)},
            maps=maps,
        )


class ExportedTeller(Exported):
    """The two graphs of a model that describes pictures, behind the model's own interface."""

    kind = TellingFamily

    def encode(self, pictures: Float[Tensor, "batch 3 row column"]) -> Any:  # type: ignore[override]
        """Look at the pictures once."""
        return self.family.encoded(**self.encoder({"pixels": pictures}))

    def step(
        self,
        state: Any,
        token: Int[Tensor, " batch"],
        encoded: Any,
        *,
        look: None = None,
        **controls: Any,
    ) -> tuple[Any, TellStep]:
        """One word on; ``look`` is as it is at rest, and ``place`` among the controls another."""
        known = {"annotations": encoded.annotations, "prepared": encoded.prepared}
        known |= {field.name: getattr(state, field.name) for field in fields(state)}
        found = self.decoder(known | {"token": token}, {"batch": len(token)}, controls)
        moved = {name: found[f"next_{name}"] for name in self.family.state_fields()}
        parts = (found[name] for name in ("logits", "weights", "glimpse", "gate"))
        logits, weights, glimpse, gate = parts
        return self.family.state(**moved), TellStep(logits, weights, glimpse=glimpse, gate=gate)

    def __call__(  # type: ignore[override]
        self, pictures: Float[Tensor, "batch 3 row column"], target_in: Int[Tensor, "batch step"]
    ) -> TellOutput:
        """Teacher forcing, step by step."""
        encoded = self.encode(pictures)
        state, steps = self.start(encoded), []
        for token in target_in.unbind(1):
            state, out = self.step(state, token, encoded)
            steps.append(out)

        def every(name: str) -> Tensor:
            return torch.stack([getattr(out, name) for out in steps], 1)

        return TellOutput(
            every("logits"),
            {"cross": every("weights").unsqueeze(1)},
            glimpses=every("glimpse"),
            gates=every("gate"),
        )


class ExportedReader:
    """The one graph of a language model, behind the model's own interface.

    begin: what each field of the state is before the first word; see ``graphs.lstmn.Begin``
    """

    def __init__(
        self,
        family: ReadingFamily,
        step: bytes,
        begin: Mapping[str, Begin],
        neutral: Mapping[str, Any],
    ) -> None:
        self.family, self.begin = family, dict(begin)
        self.graph = Session(step, neutral)

    @classmethod
    def read(cls, folder: Path) -> "ExportedReader":
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        manifest = read_manifest(folder)
        family = _family(manifest, ReadingFamily)
        begin = {
            name: (field["type"], field["shape"], field["value"])
            for name, field in manifest["start"].items()
        }
        step = (folder / "step.onnx").read_bytes()
        return cls(family, step, begin, _neutral(manifest))

    @property
    def neutral(self) -> dict[str, Any]:
        """What each control is when it leaves the model as it is."""
        return self.graph.neutral

    def signatures(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Of the graph."""
        return {"step": self.graph.signature()}

    def begins(self) -> dict[str, Any]:
        """What each field of the state begins with, of one text: type, shape, and the number that
        stands in each place."""
        return {
            name: {"type": kind, "shape": shape, "value": value}
            for name, (kind, shape, value) in self.begin.items()
        }

    def start(self, batch: int) -> Any:
        """Nothing read yet."""
        return self.family.state(
            **{
                name: torch.full((batch, *shape), value, dtype=getattr(torch, kind))
                for name, (kind, shape, value) in self.begin.items()
            }
        )

    def step(
        self, state: Any, token: Int[Tensor, " batch"], **controls: Any
    ) -> tuple[Any, LanguageOutput]:
        """Read one word, score the next."""
        known = {field.name: getattr(state, field.name) for field in fields(state)}
        sizes = {"batch": len(token)}
        if "keep" in known:
            sizes["slot"] = known["keep"].shape[1]
        found = self.graph(known | {"token": token}, sizes, controls)
        moved = {name: found[f"next_{name}"] for name in self.family.state_fields()}
        return self.family.state(**moved), LanguageOutput(found["logits"], found.get("weights"))

    def __call__(self, tokens: Int[Tensor, "batch step"], **controls: Any) -> LanguageOutput:
        """Read all, score after each."""
        batch, steps = tokens.shape
        state, logits, weights = self.start(batch), [], []
        for token in tokens.unbind(1):
            state, out = self.step(state, token, **controls)
            logits.append(out.logits)
            if out.weights is not None:
                weights.append(nn.functional.pad(out.weights, (0, steps - out.weights.shape[1])))
        return LanguageOutput(torch.stack(logits, 1), torch.stack(weights, 1) if weights else None)


class ExportedPainter:
    """The one graph of a model that makes pictures, behind the model's own interface.

    d_z: width of what it draws from
    """

    def __init__(self, painter: bytes, neutral: Mapping[str, Any]) -> None:
        self.graph = Session(painter, neutral)
        _, (_, self.d_z) = self.graph.inputs["z"]

    @classmethod
    def read(cls, folder: Path) -> "ExportedPainter":
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        manifest = read_manifest(folder)
        _family(manifest, PaintingFamily)
        return cls((folder / "painter.onnx").read_bytes(), _neutral(manifest))

    @property
    def neutral(self) -> dict[str, Any]:
        """What each control is when it leaves the model as it is."""
        return self.graph.neutral

    def signatures(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Of the graph."""
        return {"painter": self.graph.signature()}

    def begins(self) -> dict[str, Any]:
        """Nothing: there are no steps."""
        return {}

    def __call__(
        self, z: Float[Tensor, "batch d_z"], *, weights: bool = False, dial: float = 1.0
    ) -> Drawn:
        """Pictures; the dial is passed over where nothing attends, as the model does."""
        found = self.graph({"z": z}, controls={"dial": dial} if self.neutral else {})
        return Drawn(found["pictures"], found.get("weights") if weights else None)


class ExportedMachine:
    """The two graphs of a machine with a memory, behind the model's own interface.

    But for a ``hand``: the graph can only be told which commands are taken over, so that is a
    ``Hands``.
    """

    def __init__(self, start: bytes, step: bytes, neutral: Mapping[str, Any]) -> None:
        self.first, self.graph = Session(start), Session(step, neutral)
        _, (_, self.readers, _) = self.graph.inputs["reading"]

    @classmethod
    def read(cls, folder: Path) -> "ExportedMachine":
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        manifest = read_manifest(folder)
        _family(manifest, MachineFamily)
        start, step = ((folder / f"{x}.onnx").read_bytes() for x in ("start", "step"))
        return cls(start, step, _neutral(manifest))

    @property
    def neutral(self) -> dict[str, Any]:
        """What each control is when it leaves the model as it is."""
        return self.graph.neutral

    def signatures(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Of both graphs."""
        return {"start": self.first.signature(), "step": self.graph.signature()}

    def begins(self) -> dict[str, Any]:
        """For each field of the state the output of the first graph that it begins with."""
        outputs = [each.name for each in self.first.runtime.get_outputs()]
        return {name.removeprefix(FIRST.format("")): name for name in outputs}

    def start(self, batch: int) -> NTMState:
        """What every sequence begins with."""
        found = self.first({})
        return self._state(
            {
                name: found[first].expand(batch, *found[first].shape[1:])
                for name, first in self.begins().items()
            }
        )

    def step(
        self, state: NTMState, x: Float[Tensor, "batch d_input"], *, hand: Hands | None = None
    ) -> tuple[NTMState, NTMStep]:
        """Read x, move the heads, answer."""
        known = {field.name: getattr(state.heads, field.name) for field in fields(state.heads)}
        known |= {"h": state.h, "c": state.c}
        known = {name: known[name] for name in self.begins()}
        found = self.graph(known | {"x": x}, {"batch": len(x)}, self._taken(hand or Hands()))
        R = self.readers
        parts = [found[name] for name in ("key", *COMMANDS)]
        commands = Commands(
            Aim(*(each[:, :R] for each in parts)),
            Aim(*(each[:, R:] for each in parts)),
            found["erase"],
            found["add"],
        )
        moved = self._state({name: found[f"next_{name}"] for name in known})
        return moved, NTMStep(found["logits"], commands)

    def __call__(self, inputs: Float[Tensor, "batch step d_input"]) -> NTMOutput:
        """All steps, from the first state."""
        state, states, steps = self.start(len(inputs)), [], []
        for x in inputs.unbind(1):
            state, out = self.step(state, x)
            states.append(state.heads)
            steps.append(out)
        trails = [torch.cat([each.reading, each.writing], dim=1) for each in states]
        return NTMOutput(
            torch.stack([each.logits for each in steps], 1),
            torch.stack(trails, 2),
            torch.stack([each.reads for each in states], 1),
            torch.stack([each.commands.add for each in steps], 1),
        )

    @staticmethod
    def _state(found: Mapping[str, Tensor]) -> NTMState:
        heads = MemoryState(**{field.name: found[field.name] for field in fields(MemoryState)})
        nothing = heads.memory.new_zeros(len(heads.memory), 0)
        return NTMState(heads, found.get("h", nothing), found.get("c", nothing))

    def _taken(self, hands: Hands) -> dict[str, Tensor]:
        """The controls, head by head."""
        _, (_, heads) = self.graph.inputs["force_gate"]
        kinds = [hands.reading] * self.readers + [hands.writing] * (heads - self.readers)
        controls = {}
        for name in COMMANDS:
            values = [getattr(each, name) for each in kinds]
            known = next((each for each in values if each is not None), None)
            if known is None:
                continue
            blank = [0.0] * len(known) if isinstance(known, tuple) else 0.0
            controls[f"force_{name}"] = torch.tensor([each is not None for each in values])
            controls[f"forced_{name}"] = torch.tensor(
                [blank if each is None else each for each in values]
            )
        return controls


class ExportedPointer:
    """The two graphs of a model that points, behind the model's own interface.

    No rule is in the graphs: without one, nothing is forbidden.
    """

    def __init__(self, family: PointingFamily, encoder: bytes, decoder: bytes) -> None:
        self.family = family
        self.encoder, self.decoder = Session(encoder), Session(decoder)

    @classmethod
    def read(cls, folder: Path) -> "ExportedPointer":
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        family = _family(read_manifest(folder), PointingFamily)
        encoder, decoder = ((folder / f"{x}.onnx").read_bytes() for x in ("encoder", "decoder"))
        return cls(family, encoder, decoder)

    @property
    def neutral(self) -> dict[str, Any]:
        """There are no controls."""
        return self.decoder.neutral

    def signatures(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Of both graphs."""
        return {"encoder": self.encoder.signature(), "decoder": self.decoder.signature()}

    def begins(self) -> dict[str, Any]:
        """For each field of the state the output of the encoder that it begins with."""
        return dict(self.family.start)

    def encode(self, points: Float[Tensor, "batch point d_input"]) -> "EncodedPoints":
        """Read the points, equally many of each batch."""
        found = self.encoder({"points": points})
        keys = found["keys"]
        return EncodedPoints(
            nn.functional.pad(points, (0, 0, 1, 0)),
            keys,
            found["prepared"],
            torch.ones(keys.shape[:2], dtype=torch.bool),
            found["h"],
            found["c"],
            found["first_x"],
        )

    def start(self, encoded: "EncodedPoints") -> PointerState:
        """Nothing chosen yet; ⇒ is what will be read."""
        begin = {to: getattr(encoded, name) for to, name in self.family.start.items()}
        return PointerState(**begin, chosen=torch.zeros_like(encoded.real))

    def step(
        self, state: PointerState, encoded: Encoded, *, rule: Rule | None = None
    ) -> tuple[PointerState, Float[Tensor, "batch key"]]:
        """Read what was chosen, score every key."""
        known = {"x": state.x, "h": state.h, "c": state.c, "prepared": encoded.prepared}
        found = self.decoder(known)
        after = PointerState(found["next_h"], found["next_c"], state.x, state.chosen)
        keep = allowed(rule or "free", state.chosen, encoded.real)
        return after, found["logits"].masked_fill(~keep, float("-inf"))

    def choose(
        self, state: PointerState, key: Int[Tensor, " batch"], encoded: Encoded
    ) -> PointerState:
        """The state in which this key was pointed at."""
        chosen = state.chosen | nn.functional.one_hot(key, state.chosen.shape[1]).bool()
        return PointerState(state.h, state.c, encoded.inputs[torch.arange(len(key)), key], chosen)

    def __call__(
        self,
        points: Float[Tensor, "batch point d_input"],
        answers: Int[Tensor, "batch step"],
        *,
        rule: Rule | None = None,
    ) -> PointerOutput:
        """All steps of known answers, step by step."""
        encoded = self.encode(points)
        state, logits = self.start(encoded), []
        for key in answers.unbind(1):
            state, scores = self.step(state, encoded, rule=rule)
            logits.append(scores)
            state = self.choose(state, key, encoded)
        return PointerOutput(torch.stack(logits, 1))


@dataclass(frozen=True)
class EncodedPoints(Encoded):
    """first_x: ⇒, once for each of the batch"""

    first_x: Float[Tensor, "batch d_input"]


class OneGraph:
    """The one graph of a model whose attention blocks have names. There are no controls.

    blocks: what they are called
    """

    name: ClassVar[str]
    kind: ClassVar[type]

    def __init__(self, content: bytes) -> None:
        self.graph = Session(content)
        self.blocks = looks_of(self.graph)

    @classmethod
    def read(cls: type[G], folder: Path) -> G:
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        _family(read_manifest(folder), cls.kind)
        return cls((folder / f"{cls.name}.onnx").read_bytes())

    @property
    def neutral(self) -> dict[str, Any]:
        """Nothing."""
        return self.graph.neutral

    def signatures(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Of the graph."""
        return {self.name: self.graph.signature()}

    def begins(self) -> dict[str, Any]:
        """Nothing, unless there are steps."""
        return {}

    def looks(self, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights that came out, block by block."""
        weights = found["weights"].unbind(1) if self.blocks else ()
        return dict(zip(self.blocks, weights, strict=True))


class ExportedLearner(OneGraph):
    """The graph of a model that learns within an episode."""

    name, kind = "episode", LearningFamily

    def __call__(
        self,
        pictures: Float[Tensor, "batch step row column"],
        labels: Int[Tensor, "batch step"],
    ) -> Asked:
        """What the last step says, and where it looked; episodes are equally long."""
        found = self.graph({"pictures": pictures, "labels": labels})
        return Asked(found["logits"], self.looks(found))


class ExportedPlayer(OneGraph):
    """The graph of a policy, behind the model's own interface."""

    name, kind = "step", PlayingFamily

    def begins(self) -> dict[str, Any]:
        """What has been seen before the first pull: no step of so many numbers."""
        _, (_, _, width) = self.graph.inputs["seen"]
        return {"seen": {"type": "float32", "shape": [0, width], "value": 0.0}}

    def start(self, batch: int) -> Float[Tensor, "batch 0 _"]:
        """Before the first pull."""
        return torch.zeros(batch, *self.begins()["seen"]["shape"])

    def step(
        self,
        seen: Float[Tensor, "batch past _"],
        action: Int[Tensor, " batch"],
        reward: Int[Tensor, " batch"],
    ) -> tuple[Float[Tensor, "batch key _"], Policy]:
        """The next pull, after this action and its reward (−1 and 0 before the first one)."""
        happened = torch.where(action < 0, -1, 2 * action + reward)
        found = self.graph({"told": happened, "seen": seen})
        policy = Policy(
            found["logits"][:, None],
            found["values"][:, None],
            {name: each[:, None] for name, each in self.looks(found).items()},
        )
        return found["next_seen"], policy

    def __call__(
        self, actions: Int[Tensor, "batch pull"], rewards: Int[Tensor, "batch pull"]
    ) -> Policy:
        """All of these pulls, step by step. What was not done yet gets no weight."""
        actions, rewards = before(actions, rewards)
        seen, steps = self.start(len(actions)), []
        for action, reward in zip(actions.unbind(1), rewards.unbind(1), strict=True):
            seen, policy = self.step(seen, action, reward)
            steps.append(policy)
        pulls = len(steps)

        def rows(name: str) -> Tensor:
            each = [step.weights[name] for step in steps]
            return torch.cat(
                [nn.functional.pad(row, (0, pulls - row.shape[-1])) for row in each], dim=1
            )

        return Policy(
            torch.cat([step.logits for step in steps], dim=1),
            torch.cat([step.values for step in steps], dim=1),
            {name: rows(name) for name in self.blocks},
        )


def looks_of(graph: Session) -> list[str]:
    """What the attention blocks of a graph are called, from the first to the last."""
    shape = graph.signature()["outputs"].get("weights")
    return [f"attention {i}" for i in range(1, shape[2] + 1)] if shape else []


def opened(
    model: nn.Module, graphs: Mapping[str, bytes]
) -> (
    Exported
    | ExportedReader
    | ExportedPainter
    | ExportedMachine
    | ExportedPointer
    | ExportedLearner
    | ExportedPlayer
):
    """The graphs of a model, by their names, ready to be asked."""
    family, config = family_of(model), model.config
    neutral = family.controls(config)
    if isinstance(family, PaintingFamily):
        return ExportedPainter(graphs["painter"], neutral)
    if isinstance(family, PointingFamily):
        return ExportedPointer(family, graphs["encoder"], graphs["decoder"])
    if isinstance(family, LearningFamily):
        return ExportedLearner(graphs["episode"])
    if isinstance(family, PlayingFamily):
        return ExportedPlayer(graphs["step"])
    if isinstance(family, MachineFamily):
        return ExportedMachine(graphs["start"], graphs["step"], neutral)
    if isinstance(family, ReadingFamily):
        return ExportedReader(family, graphs["step"], family.begin(config), neutral)
    kinds = {TellingFamily: ExportedTeller, HeadedFamily: ExportedTransformer}
    kind = kinds.get(type(family), Exported)
    return kind(family, graphs["encoder"], graphs["decoder"], neutral)


def _family(manifest: Mapping[str, Any], kind: type[F]) -> F:
    family = FAMILIES[manifest["model"]]
    if type(family) is not kind:
        raise ExportError(f"the graphs of a {manifest['model']} are run in another way")
    return family


def _neutral(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: control["neutral"] for name, control in manifest["controls"].items()}
