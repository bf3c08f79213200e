"""Translating, the first task: batches, loss, what to watch, how to measure, how to be asked."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from heed.data.batches import Batch, encode_batch
from heed.data.corpora import Corpus, Data
from heed.data.pairs import Pair
from heed.data.text import detokenize, tokenize
from heed.data.vocabulary import Vocabulary
from heed.evaluation.alignment import forced_maps, links_from_maps
from heed.evaluation.decoding import (
    Translation,
    device_of,
    forced_weights,
    replace_unknown,
    translate,
)
from heed.evaluation.metrics import (
    aer_by_phenomenon,
    alignment_error_rate,
    bleu,
    bleu_by_length,
    by_length,
    entropy,
    exact_match,
    gold,
    link_precision,
)
from heed.evaluation.places import forced_places, place_error
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.training.loop import TrainConfig, moved
from heed.training.objectives import translation_loss
from heed.training.stream import Stream

VALIDATED = 500
"""Sentences that a validation looks at."""
VOCABULARY = "vocabulary.json"
MINUTES_LONGEST = 16
"""Words a side: short sentences are learnt within minutes, long ones are not."""


def write_vocabularies(source: Vocabulary, target: Vocabulary) -> bytes:
    """``vocabulary.json``: the words of both sides, without the specials, in order."""
    words = {"source": source.words, "target": target.words}
    return json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode()


def read_vocabularies(content: bytes) -> tuple[Vocabulary, Vocabulary]:
    """Both sides of ``write_vocabularies``."""
    words = json.loads(content)
    return Vocabulary(tuple(words["source"])), Vocabulary(tuple(words["target"]))


@dataclass(frozen=True, kw_only=True)
class TrainedTranslator(Trained):
    """A translator with the weights that were shipped, its card, and the words that it knows."""

    source_vocab: Vocabulary
    target_vocab: Vocabulary

    def translate(
        self,
        sentence: str | Sequence[str],
        *,
        width: int = 1,
        length_penalty: float = 0.0,
        max_steps: int | None = None,
        copy_unknown: bool = False,
    ) -> Translation:
        """Translate English text, or words as ``heed.data.text.tokenize`` cuts them.

        Unknown words are read as ``<unk>``; ``copy_unknown`` puts the source word that is looked
        at most wherever the model writes ``<unk>``. An empty sentence gives an empty one.
        """
        words = tokenize(sentence, "en") if isinstance(sentence, str) else list(sentence)
        return translate(
            self.model,
            [words],
            self.source_vocab,
            self.target_vocab,
            width=width,
            length_penalty=length_penalty,
            max_steps=max_steps,
            copy_unknown=copy_unknown,
        )[0]

    def say(self, sentence: str | Sequence[str], **options: Any) -> str:
        """The translation as a person would write it."""
        return detokenize(self.translate(sentence, **options).words, "fr")


@dataclass(frozen=True, kw_only=True)
class Translates:
    """The kind of task of every row that translates.

    width: the beam that the metrics are measured with; 1 is greedy search
    """

    width: int = 1
    beside: ClassVar[tuple[str, ...]] = (VOCABULARY,)
    trained: ClassVar[type[Trained]] = TrainedTranslator

    def load(self, data: Data, places: Mapping[str, Path]) -> "Translating":
        """The corpus of a row; a place for ``"tatoeba"`` helps those that read it."""
        return Translating(data.load(tatoeba=places.get("tatoeba")), width=self.width)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Vocabulary]:
        """Both vocabularies."""
        source, target = read_vocabularies(files[VOCABULARY])
        return {"source_vocab": source, "target_vocab": target}

    def sizes(self, known: Mapping[str, Vocabulary]) -> dict[str, int]:
        """How many words there are, the specials among them."""
        return {side: len(vocabulary) for side, vocabulary in known.items()}

    def headline(self, card: Card) -> str:
        """BLEU."""
        return f"BLEU {card.number('bleu'):.1f}"


class Translating:
    """One corpus, seen from the runner."""

    def __init__(self, corpus: Corpus, *, width: int = 1) -> None:
        self.corpus, self.width = corpus, width
        self.credits, self.licence = corpus.credits, corpus.licence
        self.source_vocab, self.target_vocab = corpus.source_vocab, corpus.target_vocab
        self.watched = list(corpus.watched)

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Stream:
        """The training batches of a seed."""
        return Stream(
            self.corpus.train,
            self.source_vocab,
            self.target_vocab,
            batch_size=train.batch_size,
            seed=seed,
            rank=rank,
            world=world,
        )

    def loss(self, model: nn.Module, batch: Batch, train: TrainConfig) -> Tensor:
        """What a step minimises."""
        return translation_loss(model, batch, label_smoothing=train.label_smoothing)

    def count(self, batch: Batch) -> Tensor:
        """The words that are predicted: each one's loss is a term of the mean."""
        return (batch.target_lengths - 1).sum()

    def validate(self, model: nn.Module) -> float:
        """Nats a word on held-out sentences, without dropout and label smoothing."""
        total, words = 0.0, 0
        was_training = model.training
        model.eval()
        with torch.inference_mode():
            for batch in self._batches(self.corpus.valid[:VALIDATED]):
                count = int(self.count(batch))
                total += translation_loss(model, moved(batch, device_of(model))).item() * count
                words += count
        model.train(was_training)
        return total / words

    def _batches(self, pairs: Sequence[Pair], size: int = 128) -> Iterator[Batch]:
        ordered = sorted(pairs, key=lambda pair: (len(pair.target), len(pair.source)))
        for start in range(0, len(ordered), size):
            rows = ordered[start : start + size]
            yield encode_batch(rows, self.source_vocab, self.target_vocab)

    def inputs(self) -> list[dict[str, Any]]:
        """The watched sentences, as a card keeps them."""
        return [{"source": list(p.source), "target": list(p.target)} for p in self.watched]

    def maps(self, model: Any) -> list[Bytes]:
        """Where the model looks on the watched sentences; empty if it does not attend."""
        if not self.watched:
            return []
        batch = encode_batch(self.watched, self.source_vocab, self.target_vocab)
        weights = forced_weights(model, batch)
        return [] if weights is None else [quantise(each) for each in weights]

    def says(self, model: Any) -> list[str]:
        """What the model makes of the watched sentences, word by word."""
        said = translate(model, self.watched, self.source_vocab, self.target_vocab)
        return [" ".join(each.words) for each in said]

    def files(self) -> dict[str, bytes]:
        """The words of both sides."""
        return {VOCABULARY: write_vocabularies(self.source_vocab, self.target_vocab)}

    def small(self) -> "Translating":
        """Short sentences only."""
        return Translating(short(self.corpus), width=self.width)

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """All metrics on the test sentences, and how they were measured.

        The first set of test sentences gives the plain names; further ones, and the first one too
        if there are several, have their name behind (``bleu_tatoeba``). Alignments are read under
        teacher forcing, wherever there are gold links; ``entropy`` is in bits a target word.
        """
        width = self.width
        metrics: dict[str, Any] = {"valid_loss": self.validate(model)}
        settings: dict[str, Any] = {
            "search": "greedy" if width == 1 else f"beam of {width}, no length penalty",
            "corpus_sha256": self.corpus.sha256,
            "sentences": {name: len(pairs) for name, pairs in self.corpus.tests.items()},
            "sentences_by_length": {
                name: {bucket: len(rows) for bucket, rows in by_length(pairs).items()}
                for name, pairs in self.corpus.tests.items()
            },
        }
        for number, (name, pairs) in enumerate(self.corpus.tests.items()):
            found, signature = self._scores(model, pairs)
            settings["bleu_signature"] = signature
            if number == 0:
                metrics |= found
            if len(self.corpus.tests) > 1:
                metrics |= {f"{metric}_{name}": value for metric, value in found.items()}
        linked = {
            name: [pair for pair in pairs if pair.sure]
            for name, pairs in self.corpus.tests.items()
            if any(pair.sure for pair in pairs)
        }
        if linked and self.maps(model):
            pairs = [pair for each in linked.values() for pair in each]
            metrics |= self._alignments(model, pairs)
            if len(linked) > 1:
                metrics |= {
                    f"{metric}_{name}": value
                    for name, each in linked.items()
                    for metric, value in self._alignments(model, each).items()
                }
            settings["sentences_with_gold_links"] = len(pairs)
        return metrics, settings

    def _alignments(self, model: Any, pairs: Sequence[Pair]) -> dict[str, Any]:
        maps = forced_maps(model, pairs, self.source_vocab, self.target_vocab)
        links, (sure, possible) = links_from_maps(maps, pairs), gold(pairs)
        metrics = {
            "aer": alignment_error_rate(links, sure, possible),
            "link_precision": link_precision(links, possible),
            "aer_by_phenomenon": aer_by_phenomenon(links, pairs),
            "entropy": float(np.concatenate([entropy(rows) for rows in maps]).mean()),
        }
        places = forced_places(model, pairs, self.source_vocab, self.target_vocab)
        return metrics if places is None else metrics | {"place_error": place_error(places, pairs)}

    def _scores(self, model: Any, pairs: Sequence[Pair]) -> tuple[dict[str, Any], str]:
        width = self.width
        references = [pair.accepted for pair in pairs]
        said = translate(model, pairs, self.source_vocab, self.target_vocab, width=width)
        words = [each.words for each in said]
        whole = bleu(words, references)
        metrics: dict[str, Any] = {
            "bleu": whole.score,
            "bleu_by_length": bleu_by_length(words, pairs),
            "exact_match": exact_match(words, references),
        }
        if all(each.weights is not None for each in said if each.source):
            copied = [
                each.words
                if each.weights is None
                else replace_unknown(each.words, each.source, each.weights)
                for each in said
            ]
            metrics["bleu_copy"] = bleu(copied, references).score
        if width > 1:
            greedy = translate(model, pairs, self.source_vocab, self.target_vocab)
            metrics["bleu_greedy"] = bleu([each.words for each in greedy], references).score
        return metrics, whole.signature


def short(corpus: Corpus, *, longest: int = MINUTES_LONGEST) -> Corpus:
    """Training and validation without the long sentences, and a fifth of the test sentences, of
    all lengths. The words stay the same."""

    def few(pairs: list[Pair]) -> list[Pair]:
        return [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= longest]

    return replace(
        corpus,
        train=few(corpus.train),
        valid=few(corpus.valid)[:100],
        tests={name: pairs[::5] for name, pairs in corpus.tests.items()},
    )
