"""``python -m heed export NAME``: a shipped translator for the page, or one line why not.

Beside the weights come ``encoder.onnx``, ``decoder.onnx`` (see ``heed.experiments.graphs``) and
``export.json``, which says what they are made from, how to run them, which files a page needs for
that, and how far they are from PyTorch. Nothing is written unless all bars hold:

- the graphs compute what PyTorch computes from the same numbers, within 1e-4 (more only where
  PyTorch's own float32 is no closer to its float64, see ``Parity.bars``);
- rounding, where there is any, leaves at least 99 % of the words that come out;
- both files together have at most 4 MB, or what the row of the table allows.

Needs onnx and onnxruntime, which only contributors have.
"""

import copy
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.data.batches import Batch, encode_batch
from heed.data.corpora import Corpus
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, PAD
from heed.evaluation.decoding import translate
from heed.experiments.cards import compact
from heed.experiments.checkpoint import checked, checksum, fill
from heed.experiments.files import sha256, write_by_rename
from heed.experiments.graphs import FAMILIES, OPSET, ExportError, Family, Stored, family_of, pack
from heed.experiments.trained import Trained
from heed.experiments.translation import VOCABULARY
from heed.models.translator import DecoderOutput, StepOutput

LARGEST = 4_000_000
"""Bytes of both graphs together, at most; ``Experiment.page_bytes`` may ask for less."""

NODES = 40_000
"""Bytes left for the nodes themselves."""

WORDS = 500
"""Target words that an export is judged by, at least."""

WEIGHTS, MANIFEST = "model.safetensors", "export.json"
ENCODER, DECODER = "encoder.onnx", "decoder.onnx"


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


# ------------------------------------------------------------------------------- running


class Exported:
    """The two graphs, run by onnxruntime, behind the interface of a ``Translator``.

    Greedy and beam search work on it as on the model itself. ``step`` takes the decoder's
    controls by name; ``neutral`` is what they are without.
    """

    def __init__(
        self, family: Family, encoder: bytes, decoder: bytes, neutral: Mapping[str, Any]
    ) -> None:
        require_tools()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.family, self.neutral = family, dict(neutral)
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
            for graph in (encoder, decoder)
        )
        kinds = {"tensor(float)": torch.float32, "tensor(bool)": torch.bool}
        self.settings = {
            each.name: (kinds[each.type], each.shape)
            for each in self.decoder.get_inputs()
            if each.name in self.neutral
        }

    @classmethod
    def read(cls, folder: Path) -> "Exported":
        """The export in a folder, if it is whole and belongs to the weights beside it."""
        manifest = read_manifest(folder)
        encoder, decoder = ((folder / name).read_bytes() for name in (ENCODER, DECODER))
        neutral = {name: control["neutral"] for name, control in manifest["controls"].items()}
        return cls(FAMILIES[manifest["model"]], encoder, decoder, neutral)

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Any:
        """Read the source."""
        found = _run(self.encoder, {"source": source, "source_lengths": source_lengths})
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
        for name, value in {**self.neutral, **controls}.items():
            kind, shape = self.settings[name]
            known[name] = torch.as_tensor(value).to(kind).expand([sizes[axis] for axis in shape])
        known["token"] = token
        found = _run(
            self.decoder, {each.name: known[each.name] for each in self.decoder.get_inputs()}
        )
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


def _run(session: Any, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
    found = session.run(None, {name: each.numpy() for name, each in feeds.items()})
    names = (each.name for each in session.get_outputs())
    return {name: torch.from_numpy(values) for name, values in zip(names, found, strict=True)}


# ------------------------------------------------------------------------------- comparing


@dataclass(frozen=True, kw_only=True)
class Parity:
    """How far the graphs are from PyTorch, on held-out sentences and their gold translations.

    lengths: source words, without repeats; words: target words that were predicted
    logits, weights: largest difference from PyTorch with the same rounded numbers
    noise: largest difference between PyTorch's logits in float32 and in float64
    shipped_logits, shipped_weights: largest difference from the shipped model
    Without attention there are no weights, and 0 stands for them.
    same_words: share of positions where the likeliest next word is the shipped model's
    same_sentences: share of sentences that greedy search writes word by word alike
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


def held_out(corpus: Corpus, *, each: int = 30) -> list[Pair]:
    """Test sentences to compare on: from every set some of each length, one of a single word, and
    as many of 60 words, joined from others, as it takes to have ``WORDS`` target words.
    """
    chosen: list[Pair] = []
    for pairs in corpus.tests.values():
        ordered = sorted(pairs, key=lambda pair: (len(pair.source), pair.source, pair.target))
        count = min(each, len(ordered))
        chosen += [ordered[(2 * i + 1) * len(ordered) // (2 * count)] for i in range(count)]
    chosen.append(Pair(source=chosen[0].source[:1], target=chosen[0].target[:1]))
    endless = itertools.cycle(chosen[:-1])
    while True:
        source: list[str] = []
        target: list[str] = []
        while len(source) < 60:
            pair = next(endless)
            source += pair.source
            target += pair.target
        chosen.append(Pair(source=tuple(source[:60]), target=tuple(target[:60])))
        if sum(len(pair.target) + 1 for pair in chosen) >= WORDS:
            return chosen


def compare(
    trained: Trained, stored_model: nn.Module, exported: Exported, pairs: Sequence[Pair]
) -> Parity:
    """Run the graphs beside PyTorch: all sentences as one padded batch, and each by itself.

    stored_model: the shipped model with its parameters rounded as in the graphs
    """
    vocabularies = trained.source_vocab, trained.target_vocab
    batch = encode_batch(pairs, *vocabularies)
    given = batch.source, batch.source_lengths, batch.target[:, :-1]
    with torch.inference_mode():
        shipped = trained.model(*given)
        rounded = shipped if stored_model is trained.model else stored_model(*given)
        precise = copy.deepcopy(stored_model).double()(*given)
    answers = [_real(exported(*given), batch), _alone(exported, batch)]
    ours, theirs = _real(rounded, batch), _real(shipped, batch)
    words = [_likeliest(answer.logits) == _likeliest(theirs.logits) for answer in answers]
    said, wanted = (
        [each.words for each in translate(model, pairs, *vocabularies)]
        for model in (exported, trained.model)
    )
    return Parity(
        sentences=len(pairs),
        lengths=sorted({len(pair.source) for pair in pairs}),
        words=len(theirs.logits),
        logits=_farthest([each.logits for each in answers], ours.logits),
        weights=_farthest([each.weights for each in answers], ours.weights),
        noise=_farthest([ours.logits], _real(precise, batch).logits),
        shipped_logits=_farthest([each.logits for each in answers], theirs.logits),
        shipped_weights=_farthest([each.weights for each in answers], theirs.weights),
        same_words=min(float(same.float().mean()) for same in words),
        same_sentences=sum(map(tuple.__eq__, said, wanted)) / len(pairs),
    )


@dataclass(frozen=True)
class _Answers:
    """What counts of a run: padding left out, one row for each target word."""

    logits: Float[Tensor, "word vocab"]
    weights: Float[Tensor, " look"] | None


def _real(output: DecoderOutput, batch: Batch) -> _Answers:
    steps = _first(batch.target_lengths - 1, batch.target.shape[1] - 1)
    maps = output.weights.get("cross")
    if maps is None:
        return _Answers(output.logits[steps], None)
    keys = _first(batch.source_lengths, batch.source.shape[1])
    return _Answers(output.logits[steps], maps[:, 0][steps[:, :, None] & keys[:, None, :]])


def _first(lengths: Int[Tensor, " batch"], longest: int) -> Bool[Tensor, "batch longest"]:
    return torch.arange(longest) < lengths[:, None]


def _alone(exported: Exported, batch: Batch) -> _Answers:
    """Each sentence by itself, as the page asks."""
    logits, weights = [], []
    for b, (keys, steps) in enumerate(
        zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    ):
        row = slice(b, b + 1)
        output = exported(
            batch.source[row, :keys], batch.source_lengths[row], batch.target[row, : steps - 1]
        )
        logits.append(output.logits[0])
        weights += [maps.flatten() for maps in output.weights.values()]
    return _Answers(torch.cat(logits), torch.cat(weights) if weights else None)


def _likeliest(logits: Float[Tensor, "word vocab"]) -> Int[Tensor, " word"]:
    """As decoding chooses: never PAD or BOS."""
    allowed = logits.clone()
    allowed[:, [PAD, BOS]] = float("-inf")
    return allowed.argmax(dim=-1)


def _farthest(found: Sequence[Tensor | None], wanted: Tensor | None) -> float:
    """Largest difference; 0 where neither attends."""
    if wanted is None and all(each is None for each in found):
        return 0.0
    return max(float((each - wanted).abs().max()) for each in found)  # type: ignore[operator]


# ------------------------------------------------------------------------------- writing


def export(
    trained: Trained, corpus: Corpus, *, limit: int = LARGEST, short: bool = False
) -> dict[str, Any]:
    """Make the graphs, compare them, put them beside the weights and on the card; the manifest.

    limit: bytes that both graphs may have together; the largest matrices are rounded until they do
    short: round the others, too, so that gzip makes them smaller

    ``ExportError`` in one line, with nothing written: packages missing, a model of another kind,
    another corpus, a bar that does not hold.
    """
    require_tools()
    model, name = trained.model, trained.card.experiment
    if (corpus.source_vocab, corpus.target_vocab) != (trained.source_vocab, trained.target_vocab):
        raise ExportError(
            f"the corpus gives other vocabularies than those of {name}: another version"
        )
    family = family_of(model)
    parameters = pack(model, limit=limit - NODES, short=short)
    stored_model = _rounded(model, parameters)
    lossless = stored_model is model
    files = {
        ENCODER: family.encoder(model.config, parameters).serialise(),
        DECODER: family.decoder(model.config, parameters).serialise(),
    }
    neutral = family.controls(model.config)
    exported = Exported(family, files[ENCODER], files[DECODER], neutral)
    parity = compare(trained, stored_model, exported, held_out(corpus))
    bars = parity.bars(parameters, lossless=lossless)
    fault = parity.missed(bars)
    size = sum(map(len, files.values()))
    if fault is None and size > limit:
        fault = f"the graphs have {size:,} bytes, not {limit:,} at most"
    if fault is not None:
        raise ExportError(f"{name} is not exported: {fault}")

    decoder = _signature(exported.decoder)
    words = checked(trained.folder, VOCABULARY, trained.card.files)
    manifest = {
        "experiment": name,
        "model": type(model).__name__,
        "made_from": {WEIGHTS: trained.card.files[WEIGHTS]},
        "files": {
            file: {"sha256": sha256(content), "bytes": len(content)}
            for file, content in (files | {VOCABULARY: words}).items()
        },
        "storage": _by_kind(parameters),
        "opset": OPSET,
        "encoder": _signature(exported.encoder),
        "decoder": decoder,
        "start": dict(family.start),
        "controls": _controls(neutral, decoder["inputs"]),
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
    """The model with its parameters as stored; the model itself, if that changes nothing."""
    values = {name: torch.from_numpy(stored.values()) for name, stored in parameters.items()}
    exact = dict(model.named_parameters())
    if all(torch.equal(values[name], exact[name]) for name in exact):
        return model
    other = copy.deepcopy(model)
    fill(other, values, where="the stored parameters")
    return other


def as_exported(trained: Trained) -> Trained:
    """The same model with the numbers that its graphs compute with: what a page should answer."""
    kinds = read_manifest(trained.folder)["storage"]
    kind_of = {name: kind for kind, names in kinds.items() for name in names}
    parameters = {
        name: Stored.of(values.detach().numpy(), kind_of[name])
        for name, values in trained.model.named_parameters()
    }
    model = _rounded(trained.model, parameters)
    numbers = trained.numbers if trained.changed else checksum(model)
    return replace(trained, model=model, numbers=numbers)


def _by_kind(parameters: Mapping[str, Stored]) -> dict[str, list[str]]:
    kinds = sorted({stored.kind for stored in parameters.values()})
    return {kind: [n for n, stored in parameters.items() if stored.kind == kind] for kind in kinds}


def _signature(session: Any) -> dict[str, dict[str, list[Any]]]:
    """Inputs and outputs: name -> [type, size of each axis]; a word is a free size."""
    return {
        side: {each.name: [each.type[len("tensor(") : -1], *each.shape] for each in values}
        for side, values in (("inputs", session.get_inputs()), ("outputs", session.get_outputs()))
    }


def _controls(
    known: Mapping[str, Any], inputs: Mapping[str, list[Any]]
) -> dict[str, dict[str, Any]]:
    """What a page may steer: type, shape (a word is a free size), and what leaves all as it is."""
    return {
        name: {"type": {"float": "float32"}.get(kind, kind), "shape": shape, "neutral": neutral}
        for name, neutral in known.items()
        for kind, *shape in [inputs[name]]
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """``export.json``, if all files are the ones it describes, made from the weights that lie
    beside them; else ``ExportError``, in one line."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        expected = {WEIGHTS: manifest["made_from"][WEIGHTS]} | {
            name: file["sha256"] for name, file in manifest["files"].items()
        }
    except FileNotFoundError:
        raise ExportError(f"{path} is missing: nothing is exported here") from None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise ExportError(f"{path} is damaged") from None
    for name in expected:
        file = folder / name
        if not file.is_file():
            raise ExportError(f"{file} is missing, though {MANIFEST} lies there")
        if sha256(file.read_bytes()) != expected[name]:
            why = (
                "has changed since the export: export again"
                if name == WEIGHTS
                else f"is not the file that {MANIFEST} describes"
            )
            raise ExportError(f"{file} {why}")
    return manifest
