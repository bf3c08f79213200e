"""A model answers in the page what PyTorch and the exported graphs answer in Python."""

import copy
import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page

from heed.data.batches import encode_batch, encode_source
from heed.data.pairs import Pair
from heed.evaluation.decoding import beam, greedy
from heed.experiments.export import Exported, as_exported
from heed.experiments.exported import ExportedTransformer
from heed.experiments.table import find, trained_folder
from heed.experiments.trained import Trained, load
from heed.experiments.translation import Translates
from heed.labs.site import exported
from heed.labs.steering import Steered, permutation
from heed.models.bahdanau import Bahdanau
from heed.models.luong import Luong
from heed.models.seq2seq import Seq2Seq
from heed.models.transformer import Transformer, TransformerOutput

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("unchecked")]

MODELS = [name for name in exported() if isinstance(find(name).task, Translates)]
LOOKING = [name for name in MODELS if find(name).build in (Bahdanau, Luong)]
BLIND = [name for name in MODELS if find(name).build is Seq2Seq]
CLOSE = 1e-4

SENTENCES = [
    "the cat sleeps .",
    "she reads a letter .",
    "yes .",
    "the minister signed the agreement yesterday .",
    "i do n't know why he did not come .",
    "the small dog that the old woman saw was not in the house because it was very tired .",
    "can you see the other children ?",
    "we must not forget what they said today .",
    "he had a big house and she had a small one , but they were happy .",
    "zyzzyva qwertz .",
    "the zyzzyva sleeps in the qwertz .",
    "when the meeting was over , every minister had to sign an agreement .",
    "it is 2:30 .",
    "who is she ?",
    "they will not sign it .",
    "some of these are very small .",
    "the red car that was in front of the house is not there because he sold it yesterday .",
    "she said that he said that they said that it was late .",
    "please open the window .",
    "the agreement was signed by the minister of the other country in an old house near the sea , "
    "and because it was late every journalist went home while the rain fell on the small town "
    "and nobody saw that the letter which she had written to him was still on the table .",
]

STEERINGS: list[dict[str, Any]] = [
    {"temperature": 0.3},
    {"temperature": 3.0, "hidden": [0, 2]},
    {"hidden": [1, 3, 4]},
    {"look": "uniform", "hidden": [1]},
    {"look": "shuffled", "shuffle": 7, "temperature": 1.5},
    {"look": "shuffled", "shuffle": 1, "hidden": [2], "only": 1},
    {"look": "yours", "rows": {"0": [0, 1], "2": [3]}},
    {"look": "yours", "rows": {"1": [2], "3": [2]}, "only": 3, "hidden": [0]},
]

ASK = """async ([name, work]) => {
    const { model } = await import(new URL("labs/translators.js", location.href).href);
    const translator = await model(name);
    const text = async (row) => {  // the bits themselves: as decimals they take seconds
        const url = await new Promise((done) => {
            const reader = new FileReader();
            reader.onload = () => done(reader.result);
            reader.readAsDataURL(new Blob([row]));
        });
        return url.slice(url.indexOf(",") + 1);
    };
    const plain = (rows) => rows && Promise.all(rows.map(text));
    const answers = [];
    for (const { words, target, options } of work) {
        const found = target
            ? await translator.force(words, target, options)
            : await translator.translate(words, options);
        for (const name of ["logits", "weights", "align"]) {
            if (name in found) found[name] = await plain(found[name]);
        }
        // Every row of every head, place after place: all their numbers in a line.
        const rows = Object.values(found.maps ?? {}).flat(3);
        found.maps = rows.length ? await text(new Blob(rows)) : null;
        answers.push(found);
    }
    return answers;
}"""


@pytest.fixture(scope="module")
def ask(bench: Page) -> Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """ask(model, work): what the model in the page answers."""

    def run(name: str, work: list[dict[str, Any]]) -> list[dict[str, Any]]:
        answers = bench.evaluate(ASK, [name, work])
        for answer in answers:
            for rows in {"logits", "weights", "align"} & answer.keys():
                if answer[rows] is not None:
                    answer[rows] = [np.frombuffer(b64decode(r), "<f4") for r in answer[rows]]
            if answer["maps"] is not None:
                answer["maps"] = np.frombuffer(b64decode(answer["maps"]), "<f4")
        return answers

    return run


@cache
def shipped(name: str) -> Trained:
    return load(name)


@cache
def model(name: str) -> Any:
    """PyTorch with the numbers that the export holds."""
    return as_exported(shipped(name)).model


@cache
def graphs(name: str) -> Exported:
    kind = ExportedTransformer if find(name).build is Transformer else Exported
    return kind.read(trained_folder() / name)


def in_a_line(output: TransformerOutput) -> np.ndarray:
    """The numbers of all heads, place after place; a row of the decoder ends where it was."""
    return np.concatenate(
        [
            row[: i + 1] if name.startswith("decoder") else row
            for name, heads in output.maps.items()
            for head in heads[0].numpy()
            for i, row in enumerate(head)
        ]
    )


def target(name: str, words: list[str]) -> list[str]:
    """Something to write: what the model writes itself."""
    return list(_target(name, tuple(words)))


@cache
def _target(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(shipped(name).translate(list(words)).words)


def steered(model: Any, steering: dict[str, Any]) -> Any:
    rows = {int(step): keys for step, keys in steering.get("rows", {}).items()}
    return Steered(model, **{**steering, "rows": rows}) if steering else model


def pair_of(words: list[str], written: list[str]) -> Pair:
    return Pair(source=tuple(words), target=tuple(written))


def forced(model: Any, trained: Trained, pairs: list[Pair]) -> Any:
    batch = encode_batch(pairs, trained.source_vocab, trained.target_vocab)
    with torch.inference_mode():
        return model(batch.source, batch.source_lengths, batch.target[:, :-1])


def far(found: Any, wanted: Any) -> float:
    return float(np.abs(np.asarray(found) - np.asarray(wanted)).max())


@cache
def exact(name: str) -> Any:
    """The same numbers in float64."""
    return copy.deepcopy(model(name)).double()


@dataclass(frozen=True)
class Bars:
    """1e-4 each, or 3 times what PyTorch's own float32 is off from its float64 where that is more:
    two right answers may differ by both their rounding errors. How far a network multiplies them
    is its own affair and the steering's, so the noise is the largest over all sentences; in one
    sentence alone PyTorch may be right by luck. A temperature below 1 divides the scores, and what
    rounding left in them, before the softmax: the 1e-4 is divided with them."""

    logits: float
    weights: float


def bars(name: str, steering: dict[str, Any] | None = None) -> Bars:
    return _bars(name, json.dumps(steering or {}))


@cache
def _bars(name: str, steering: str) -> Bars:
    single, double = (steered(each(name), json.loads(steering)) for each in (model, exact))
    inputs = [sentence.split() for sentence in SENTENCES]
    pairs = [pair_of(words, target(name, words)) for words in inputs]
    two = forced(double, shipped(name), pairs)
    logits, weights = [0.0], [0.0]
    for i, pair in enumerate(pairs):  # alone, as the page has it: together the rounding is another
        one = forced(single, shipped(name), [pair])
        steps, keys = len(pair.target) + 1, len(pair.source) + 1
        logits.append(far(one.logits[0], two.logits[i, :steps]))
        weights += [
            far(one.weights[place][0], two.weights[place][i, :, :steps, :keys])
            for place in one.weights
        ]
    close = CLOSE / min(1.0, json.loads(steering).get("temperature", 1.0))
    return Bars(logits=max(close, 3 * max(logits)), weights=max(close, 3 * max(weights)))


def test_all_shipped_exports_are_asked() -> None:
    assert len(MODELS) >= 3
    assert len(LOOKING) >= 2
    assert len({len(sentence.split()) for sentence in SENTENCES}) >= 10
    assert len(SENTENCES) == 20


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_weights_are_those_of_pytorch(ask: Callable[..., Any], name: str) -> None:
    """And those of the same graphs in Python's onnxruntime."""
    trained = shipped(name)
    inputs = [sentence.split() for sentence in SENTENCES]
    work = [{"words": words, "target": target(name, words)} for words in inputs]
    for each, answer in zip(work, ask(name, work), strict=True):
        allowed = bars(name)
        for other in (graphs(name), model(name)):
            wanted = forced(other, trained, [pair_of(each["words"], each["target"])])
            assert far(answer["logits"], wanted.logits[0]) <= allowed.logits
            for weights in wanted.weights.values():
                assert far(answer["weights"], weights[0, 0]) <= allowed.weights
            if isinstance(wanted, TransformerOutput):
                assert far(answer["maps"], in_a_line(wanted)) <= CLOSE
        assert bool(answer["weights"]) == (name not in BLIND)
        assert (answer["maps"] is not None) == (find(name).build is Transformer)


@pytest.mark.parametrize("name", MODELS)
def test_greedy_search_writes_what_python_writes(ask: Callable[..., Any], name: str) -> None:
    trained = shipped(name)
    inputs = [sentence.split() for sentence in SENTENCES]
    for words, answer in zip(inputs, ask(name, [{"words": w} for w in inputs]), strict=True):
        (wanted,) = greedy(graphs(name), *encode_source([words], trained.source_vocab))
        compare(trained, answer, wanted)


@pytest.mark.parametrize("width", [2, 5])
@pytest.mark.parametrize("name", MODELS)
def test_beam_search_writes_what_python_writes(
    ask: Callable[..., Any], name: str, width: int
) -> None:
    trained = shipped(name)
    inputs = [sentence.split() for sentence in SENTENCES]
    work = [{"words": words, "options": {"width": width}} for words in inputs]
    for words, answer in zip(inputs, ask(name, work), strict=True):
        source = encode_source([words], trained.source_vocab)
        (wanted,) = beam(graphs(name), *source, width=width)
        compare(trained, answer, wanted)


@pytest.mark.parametrize("name", LOOKING)
@pytest.mark.parametrize("steering", STEERINGS, ids=str)
def test_steering_is_pythons(ask: Callable[..., Any], name: str, steering: dict[str, Any]) -> None:
    """Where the model must look elsewhere, and what it then writes."""
    trained = shipped(name)
    other = steered(model(name), steering)
    inputs = [SENTENCES[i].split() for i in (0, 3, 5, 10, 19)]
    written = [target(name, words) for words in inputs]
    work = [
        *(
            {"words": w, "target": t, "options": steering}
            for w, t in zip(inputs, written, strict=True)
        ),
        *({"words": w, "options": {**steering, "width": 1}} for w in inputs),
        *({"words": w, "options": {**steering, "width": 3}} for w in inputs),
    ]
    answers = ask(name, work)
    n = len(inputs)
    for words, given, answer in zip(inputs, written, answers[:n], strict=True):
        wanted = forced(other, trained, [pair_of(words, given)])
        allowed = bars(name, steering)
        assert far(answer["logits"], wanted.logits[0]) <= allowed.logits
        assert far(answer["weights"], wanted.weights["cross"][0, 0]) <= allowed.weights
    source = encode_source(inputs, trained.source_vocab)
    wanted = [*greedy(other, *source), *beam(other, *source, width=3)]
    for answer, found in zip(answers[n:], wanted, strict=True):
        compare(trained, answer, found, bars(name, steering).weights)


def compare(trained: Trained, answer: dict[str, Any], wanted: Any, close: float = CLOSE) -> None:
    words = trained.target_vocab.decode(wanted.tokens)
    assert answer["target"] == [*words, "</s>"] if wanted.finished else words
    assert answer["finished"] == wanted.finished
    assert answer["log_prob"] == pytest.approx(wanted.log_prob, abs=1e-3)
    assert np.log(answer["probability"]).sum() == pytest.approx(answer["log_prob"], abs=1e-6)
    if wanted.weights is None:
        assert answer["weights"] is None
    else:
        assert far(answer["weights"], wanted.weights) <= close


def test_a_sentence_is_read_once_however_often_it_is_written(bench: Page) -> None:
    readings = bench.evaluate(
        """async () => {
            const here = (name) => new URL(`labs/${name}`, location.href).href;
            const { model } = await import(here("runtime.js"));
            const { Translator } = await import(here("translator.js"));
            const { sessions, ...parts } = await model("bahdanau_grammar");
            let readings = 0;
            const encoder = { run: (feeds) => (readings += 1, sessions.encoder.run(feeds)) };
            const translator = new Translator({ ...parts, sessions: { ...sessions, encoder } });
            const found = [];
            for (const options of [{}, { temperature: 2 }, { width: 3 }]) {
                await translator.translate(["yes", "."], options);
                await translator.encode(["yes", "."]);
                found.push(readings);
            }
            await translator.translate(["the", "cat"]);
            return [...found, readings];
        }"""
    )
    assert readings == [1, 1, 1, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 9, 60])
def test_a_seed_shuffles_alike(call: Callable[..., Any], count: int) -> None:
    for seed in (0, 1, 42, 2**31 + 5, 2**32 - 1):
        assert call("steering.js", "permutation", count, seed) == list(permutation(count, seed))


def test_reading_tells_what_python_tells(bench: Page) -> None:
    from heed.labs.base import read

    texts = [
        "",
        "  \n",
        "The cat sleeps.",
        "Zyzzyva qwertz",
        "word " * 61,
        "zyzzyva " * 500,
        "<b>the</b> 👍",
    ]
    found = bench.evaluate(
        """async (texts) => {
            const here = (name) => new URL(`labs/${name}`, location.href).href;
            const { model } = await import(here("translators.js"));
            const { read } = await import(here("typed.js"));
            const models = await Promise.all(["bahdanau_grammar", "seq2seq_grammar"].map(model));
            return texts.map((text) => read(text, ...models));
        }""",
        texts,
    )
    trained = [shipped("bahdanau_grammar"), shipped("seq2seq_grammar")]
    for text, answer in zip(texts, found, strict=True):
        reading = read(text, *(each.source_vocab for each in trained))
        assert answer == {"words": list(reading.words), **reading.told()}


def test_a_model_is_loaded_once_and_answers_several_at_a_time(bench: Page) -> None:
    """Two labs share a translator and its buffers."""
    same, alone, together = bench.evaluate(
        """async ([name, sentences]) => {
            const { model } = await import(new URL("labs/translators.js", location.href).href);
            const translator = await model(name);
            const ask = async (words) => (await translator.translate(words)).target.join(" ");
            const alone = [];
            for (const words of sentences) alone.push(await ask(words));
            const together = await Promise.all(sentences.map(ask));
            return [translator === (await model(name)), alone, together];
        }""",
        [LOOKING[0], [sentence.split() for sentence in SENTENCES[:6]]],
    )
    assert same
    assert alone == together


def test_nothing_to_read_is_refused(bench: Page) -> None:
    said = bench.evaluate(
        """async (name) => {
            const { model } = await import(new URL("labs/translators.js", location.href).href);
            const translator = await model(name);
            const refused = await translator.translate([]).catch((fault) => fault.message);
            return [refused, (await translator.translate(["yes"])).target.length];
        }""",
        LOOKING[0],
    )
    assert said[0] == "there are no words to read"
    assert said[1] > 0
