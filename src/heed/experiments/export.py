"""``python -m heed export NAME``: a shipped model for the page, or one line why not.

Beside the weights come the graphs (see ``heed.experiments.graphs``): ``encoder.onnx`` and
``decoder.onnx`` of a model that writes or points, ``step.onnx`` of one that reads,
``painter.onnx`` of one that makes pictures, ``start.onnx`` and ``step.onnx`` of a machine with a
memory, ``episode.onnx`` of what learns within an episode, ``step.onnx`` of a policy. And
``export.json``, which says what they are made from, how to run them, which files a page needs for
that, and how far they are from PyTorch. Nothing is written unless all bars hold:

- the graphs compute what PyTorch computes from the same numbers, within 1e-4 (more only where
  PyTorch's own float32 is no closer to its float64, see ``Parity.bars``);
- rounding, where there is any, leaves at least 99 % of the words that come out;
- all files together have at most 4 MB, or what the row of the table allows.

Needs onnx and onnxruntime, which only contributors have.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import Any

import torch
from torch import Tensor, nn

from heed.experiments.cards import compact
from heed.experiments.checkpoint import checked, checksum, fill, tensors
from heed.experiments.exported import (
    Exported,
    ExportedLearner,
    ExportedMachine,
    ExportedPainter,
    ExportedPlayer,
    ExportedPointer,
    ExportedReader,
    ExportedTeller,
    opened,
    require_tools,
)
from heed.experiments.files import sha256, write_by_rename
from heed.experiments.graphs import OPSET, ExportError, Stored, family_of, pack
from heed.experiments.manifest import MANIFEST, WEIGHTS, read_manifest
from heed.experiments.tasks import Task
from heed.experiments.trained import Trained
from heed.experiments.trials import Trial, trial_of

__all__ = [
    "LARGEST",
    "MANIFEST",
    "NODES",
    "WEIGHTS",
    "Exported",
    "ExportedLearner",
    "ExportedMachine",
    "ExportedPainter",
    "ExportedPlayer",
    "ExportedPointer",
    "ExportedReader",
    "ExportedTeller",
    "Parity",
    "as_exported",
    "compare",
    "export",
    "read_manifest",
    "require_tools",
]

LARGEST = 4_000_000
"""Bytes of all graphs of a model together, at most; ``Experiment.page_bytes`` may ask for less."""

NODES = 40_000
"""Bytes left for the nodes themselves."""


# ------------------------------------------------------------------------------- comparing


@dataclass(frozen=True, kw_only=True)
class Parity:
    """How far the graphs are from PyTorch, on held-out sentences or pictures: who writes is made to
    write the gold words, who reads to read them.

    lengths: of the sentences that are read, without repeats; words: those that were predicted
    logits, weights: largest difference from PyTorch with the same rounded numbers
    noise: largest difference between PyTorch's logits in float32 and in float64
    shipped_logits, shipped_weights: largest difference from the shipped model
    Without attention there are no weights, and 0 stands for them.
    same_words: share of positions where the likeliest next word is the shipped model's
    same_sentences: share of sentences of which all words that come out are the same: what greedy
        search writes, or the likeliest word after each that is read
    """

    sentences: int
    lengths: list[int]
    words: int
    logits: float
    weights: float
    noise: float
    shipped_logits: float
    shipped_weights: float
    same_words: float
    same_sentences: float

    def bars(self, parameters: Mapping[str, Stored], *, lossless: bool) -> dict[str, float]:
        """What is asked: upper bounds of the differences, and the least ``same_words``.

        A recurrent model multiplies rounding errors: an LSTM that ran over 50 words is 1e-4 off
        in float32 whoever computes it. Two implementations may then differ by both their errors,
        hence 3 times the noise where that is more than 1e-4.
        """
        logits = max(1e-4, 3 * self.noise)
        bars = {"logits": logits, "weights": 1e-4, "same_words": 0.99}
        if lossless:
            bars |= {"shipped_logits": logits, "shipped_weights": 1e-4}
        elif not {stored.kind for stored in parameters.values()} & {"int8", "short"}:
            bars |= {"shipped_logits": 2e-3, "shipped_weights": 2e-3}
        return bars

    def missed(self, bars: Mapping[str, float]) -> str | None:
        """The first bar that does not hold, in words. What is not a number misses every bar."""
        for name, bar in bars.items():
            value = getattr(self, name)
            if name == "same_words":
                if not value >= bar:
                    return f"{value:.2%} of the words are the same, not {bar:.0%}"
            elif not value <= bar:
                return f"{name.replace('shipped_', '')} are {value:.1e} off, not {bar:g} at most"
        return None


def compare(shipped: Any, stored_model: Any, exported: Any, trial: Trial) -> Parity:
    """Run the graphs beside PyTorch: all sentences as one padded batch, and each by itself.

    stored_model: the shipped model with its parameters rounded as in the graphs
    """
    with torch.inference_mode():
        theirs = trial.together(shipped)
        ours = theirs if stored_model is shipped else trial.together(stored_model)
        precise = trial.together(copy.deepcopy(stored_model).double())
        wanted = trial.says(shipped)
    answers = [trial.together(exported), trial.alone(exported)]
    words = [answer.chosen == theirs.chosen for answer in answers]
    return Parity(
        sentences=len(trial.lengths),
        lengths=sorted(set(trial.lengths)),
        words=len(theirs.logits),
        logits=_farthest([each.logits for each in answers], ours.logits),
        weights=_farthest([each.weights for each in answers], ours.weights),
        noise=_farthest([ours.logits], precise.logits),
        shipped_logits=_farthest([each.logits for each in answers], theirs.logits),
        shipped_weights=_farthest([each.weights for each in answers], theirs.weights),
        same_words=min(float(same.float().mean()) for same in words),
        same_sentences=sum(map(tuple.__eq__, trial.says(exported), wanted)) / len(wanted),
    )


def _farthest(found: Sequence[Tensor | None], wanted: Tensor | None) -> float:
    """Largest difference; 0 where neither attends."""
    if wanted is None and all(each is None for each in found):
        return 0.0
    return max(float((each - wanted).abs().max()) for each in found)  # type: ignore[operator]


# ------------------------------------------------------------------------------- writing


def export(
    trained: Trained, task: Task, *, limit: int = LARGEST, short: bool = False
) -> dict[str, Any]:
    """Make the graphs, compare them, put them beside the weights and on the card; the manifest.

    limit: bytes that all graphs may have together; the largest matrices are rounded until they do
    short: round the others, too, so that gzip makes them smaller

    ``ExportError`` in one line, with nothing written: packages missing, a model or a task of
    another kind, other data, a bar that does not hold.
    """
    require_tools()
    model, name = trained.model, trained.card.experiment
    family, trial = family_of(model), trial_of(task)
    beside = task.files()
    for file, content in beside.items():
        if content != checked(trained.folder, file, trained.card.files):
            raise ExportError(f"the data give another {file} than that of {name}: another version")
    parameters = pack(model, limit=limit - NODES, short=short, part=family.part)
    stored_model = _rounded(model, parameters)
    graphs = {each.name: each.serialise() for each in family.graphs(model.config, parameters)}
    exported = opened(model, graphs)
    parity = compare(model, stored_model, exported, trial)
    bars = parity.bars(parameters, lossless=stored_model is model)
    fault = parity.missed(bars)
    size = sum(map(len, graphs.values()))
    if fault is None and size > limit:
        fault = f"the graphs have {size:,} bytes, not {limit:,} at most"
    if fault is not None:
        raise ExportError(f"{name} is not exported: {fault}")

    files = {f"{stem}.onnx": graph for stem, graph in graphs.items()}
    signatures = exported.signatures()
    inputs = {name: each for side in signatures.values() for name, each in side["inputs"].items()}
    manifest = {
        "experiment": name,
        "model": type(model).__name__,
        "made_from": {WEIGHTS: trained.card.files[WEIGHTS]},
        "files": {
            file: {"sha256": sha256(content), "bytes": len(content)}
            for file, content in (files | beside).items()
        },
        "storage": _by_kind(parameters),
        "opset": OPSET,
        **signatures,
        "start": exported.begins(),
        "controls": _controls(exported.neutral, inputs),
        "parity": asdict(parity),
        "bars": bars,
        "versions": {each: metadata.version(each) for each in ("onnx", "onnxruntime", "torch")},
    }
    for file, content in files.items():
        write_by_rename(trained.folder / file, content)
    files[MANIFEST] = (compact(json.dumps(manifest, indent=1, allow_nan=False)) + "\n").encode()
    write_by_rename(trained.folder / MANIFEST, files[MANIFEST])
    known = trained.card.files | {file: sha256(content) for file, content in files.items()}
    replace(trained.card, files=known).write(trained.folder)
    return manifest


def _rounded(model: nn.Module, parameters: Mapping[str, Stored]) -> nn.Module:
    """The model with its parameters as stored, if they are; the model itself, if that changes
    nothing."""
    values = {name: torch.from_numpy(stored.values()) for name, stored in parameters.items()}
    exact = dict(tensors(model))
    if all(torch.equal(each, exact[name].float()) for name, each in values.items()):
        return model
    other = copy.deepcopy(model)
    fill(other, exact | values, where="the stored parameters")
    return other


def as_exported(trained: Trained) -> Trained:
    """The same model with the numbers that its graphs compute with: what a page should answer."""
    kinds = read_manifest(trained.folder)["storage"]
    kind_of = {name: kind for kind, names in kinds.items() for name in names}
    parameters = {
        name: Stored.of(values.detach().numpy(), kind_of[name])
        for name, values in tensors(trained.model)
        if name in kind_of
    }
    model = _rounded(trained.model, parameters)
    numbers = trained.numbers if trained.changed else checksum(model)
    return replace(trained, model=model, numbers=numbers)


def _by_kind(parameters: Mapping[str, Stored]) -> dict[str, list[str]]:
    kinds = sorted({stored.kind for stored in parameters.values()})
    return {kind: [n for n, stored in parameters.items() if stored.kind == kind] for kind in kinds}


def _controls(
    known: Mapping[str, Any], inputs: Mapping[str, list[Any]]
) -> dict[str, dict[str, Any]]:
    """What a page may steer: type, shape (a word is a free size), and what leaves all as it is."""
    return {
        name: {"type": {"float": "float32"}.get(kind, kind), "shape": shape, "neutral": neutral}
        for name, neutral in known.items()
        for kind, *shape in [inputs[name]]
    }
