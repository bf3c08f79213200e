"""Guessing the next word, the second task: sentences, loss, perplexity, how a reader is asked."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from heed.data.batches import bucketed
from heed.data.prose import Prose, ProseData, Sentence
from heed.data.text import tokenize
from heed.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from heed.evaluation.decoding import answering, device_of
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.trace import AttentionTrace
from heed.training.loop import TrainConfig
from heed.training.stream import Ragged

VOCABULARY = "words.json"
MINUTES_LONGEST = 14
"""Words: short sentences are learnt within minutes, long ones are not."""
NULL = "∅"
"""How the null slot is called in a map."""


@dataclass(frozen=True, kw_only=True)
class NextWord:
    """A guess of the next word, and how likely the model finds it."""

    word: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class TrainedReader(Trained):
    """A language model with the weights that were shipped, its card, and the words that it knows.

    Wherever a sentence is asked for, text will do, or words as ``heed.data.text.tokenize`` cuts
    them. Unknown words are read as ``<unk>``.
    """

    vocabulary: Vocabulary

    def read(self, sentence: str | Sequence[str]) -> AttentionTrace:
        """Where each word looked when it was read: at the words before it, or at the null slot ∅.

        ``ValueError`` for a model that does not attend.
        """
        words = self.words(sentence)
        with answering(self.model):
            weights = self.model(self._tokens(words)).weights
        if weights is None:
            raise ValueError(f"{self.card.experiment} does not attend: there is no map of it")
        read = (SPECIALS[BOS], *words)
        return AttentionTrace.of(
            "self", weights[0], query=read, key=(NULL, *read[:-1]), heads=("self",)
        )

    def next_words(self, sentence: str | Sequence[str], *, count: int = 10) -> list[NextWord]:
        """What may follow a beginning, the likeliest first. ``</s>`` is the end of the sentence."""
        with answering(self.model):
            logits = self.model(self._tokens(self.words(sentence))).logits[0, -1].clone()
            logits[[PAD, BOS]] = -math.inf  # neither is ever a next word
        likely, which = logits.float().softmax(dim=-1).topk(min(count, len(logits) - 2))
        return [
            NextWord(word=word, probability=p)
            for word, p in zip(self.vocabulary.decode(which.tolist()), likely.tolist(), strict=True)
        ]

    def surprise(self, sentence: str | Sequence[str]) -> list[tuple[str, float]]:
        """Each word, and the end, with its −log₂ p given the words before: bits."""
        words = self.words(sentence)
        tokens = self._tokens(words)
        wanted = torch.cat([tokens[:, 1:], torch.full_like(tokens[:, :1], EOS)], dim=1)
        with answering(self.model):
            p = self.model(tokens).logits.float().log_softmax(dim=-1)
        bits = -p.gather(2, wanted.unsqueeze(2)).flatten() / math.log(2)
        return list(zip((*words, SPECIALS[EOS]), bits.tolist(), strict=True))

    def words(self, sentence: str | Sequence[str]) -> list[str]:
        """The words of text; words stay as they are."""
        return tokenize(sentence, "en") if isinstance(sentence, str) else list(sentence)

    def _tokens(self, words: Sequence[str]) -> Int[Tensor, "1 step"]:
        return torch.tensor([[BOS, *self.vocabulary.encode(words)]], device=device_of(self.model))


@dataclass(frozen=True, kw_only=True)
class Reads:
    """The kind of task of every row that guesses the next word."""

    beside: ClassVar[tuple[str, ...]] = (VOCABULARY,)
    trained: ClassVar[type[Trained]] = TrainedReader

    def load(self, data: ProseData, places: Mapping[str, Path]) -> "Reading":
        """The sentences of a row; they need no place."""
        return Reading(data.load())

    def read(self, files: Mapping[str, bytes]) -> dict[str, Vocabulary]:
        """The words."""
        return {"vocabulary": Vocabulary(tuple(json.loads(files[VOCABULARY])["words"]))}

    def sizes(self, known: Mapping[str, Vocabulary]) -> dict[str, int]:
        """How many words there are, the specials among them."""
        return {"vocab": len(known["vocabulary"])}

    def headline(self, card: Card) -> str:
        """Perplexity."""
        return f"perplexity {card.number('perplexity'):.1f}"


class Sentences:
    """Batches of sentences of like length without end: a pure function of seed and step.

    A batch is one table of word numbers, from BOS to EOS, then PAD. Of ``world`` processes, number
    ``rank`` gets every world-th row of each batch.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        vocabulary: Vocabulary,
        *,
        batch_size: int,
        seed: int,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if batch_size < world or len(sentences) < world:
            raise ValueError(
                f"{len(sentences)} sentences in batches of {batch_size} "
                f"leave some of {world} processes without work"
            )
        self.rows = encoded(sentences, vocabulary)
        self.batch_size, self.seed, self.rank, self.world = batch_size, seed, rank, world

    def epoch(self, number: int) -> list[list[int]]:
        """The row numbers of every batch of an epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        lengths = [(n, n) for n in self.rows.lengths.tolist()]
        batches = bucketed(lengths, batch_size=self.batch_size, generator=generator)
        # A rest with fewer rows than processes would leave one of them waiting for ever.
        return [rows for rows in batches if len(rows) >= self.world]

    def starting_after(self, done: int) -> Iterator[Int[Tensor, "batch step"]]:
        """The batches of step ``done + 1``, ``done + 2``, and so on for ever."""
        full, rest = divmod(len(self.rows.lengths), self.batch_size)
        number, skip = divmod(done, full + (rest >= self.world))
        while True:
            for rows in self.epoch(number)[skip:]:
                yield self.rows.padded(torch.tensor(rows[self.rank :: self.world]))[0]
            number, skip = number + 1, 0


def encoded(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Ragged:
    """The word numbers of each sentence, between BOS and EOS."""
    return Ragged.of([[BOS, *vocabulary.encode(words), EOS] for words in sentences])


class Reading:
    """Sentences, seen from the runner."""

    def __init__(self, prose: Prose) -> None:
        self.prose, self.vocabulary = prose, prose.vocabulary
        self.credits, self.licence = prose.credits, prose.licence
        self.watched = list(prose.watched)

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Sentences:
        """The training batches of a seed."""
        return Sentences(
            self.prose.train,
            self.vocabulary,
            batch_size=train.batch_size,
            seed=seed,
            rank=rank,
            world=world,
        )

    def loss(
        self, model: nn.Module, batch: Int[Tensor, "batch step"], train: TrainConfig
    ) -> Tensor:
        """−1/N Σ log p(w_{t+1} | w_1 … w_t), in nats, over the N words and ends of sentence."""
        logits = model(batch[:, :-1]).logits.flatten(0, 1).float()
        return nn.functional.cross_entropy(
            logits,
            batch[:, 1:].flatten(),
            ignore_index=PAD,
            label_smoothing=train.label_smoothing,
        )

    def count(self, batch: Int[Tensor, "batch step"]) -> Tensor:
        """The words that are predicted: each one's loss is a term of the mean."""
        return (batch[:, 1:] != PAD).sum()

    def validate(self, model: nn.Module) -> float:
        """Nats a word on held-out sentences, without dropout."""
        return self._measure(model, self.prose.valid)["nats"]

    def _measure(self, model: Any, sentences: Sequence[Sentence]) -> dict[str, float]:
        """Sums over all words, divided: nats, the share guessed right, where it looked."""
        rows = encoded(sentences, self.vocabulary)
        sums = dict.fromkeys(("nats", "known_nats", "right", "null", "last"), 0.0)
        words = known = looks = 0
        with answering(model):
            for chosen in rows.lengths.argsort().split(128):
                tokens, _ = rows.padded(chosen)
                out, wanted = model(tokens[:, :-1]), tokens[:, 1:]
                real = wanted != PAD
                p = out.logits.float().log_softmax(dim=-1)
                nats = -p.gather(2, wanted.unsqueeze(2)).squeeze(2)
                sums["nats"] += nats[real].sum().item()
                sums["known_nats"] += nats[real & (wanted != UNK)].sum().item()
                sums["right"] += (p.argmax(dim=-1) == wanted)[real].sum().item()
                words += int(real.sum())
                known += int((real & (wanted != UNK)).sum())
                if out.weights is not None:
                    w = out.weights[:, 1:][real[:, 1:]]  # the first step has no choice
                    last = out.weights[:, 1:].diagonal(offset=1, dim1=1, dim2=2)[real[:, 1:]]
                    sums["null"] += w[:, 0].sum().item()
                    sums["last"] += last.sum().item()
                    looks += len(w)
        found = {"nats": sums["nats"] / words, "right": sums["right"] / words}
        found["known_nats"] = sums["known_nats"] / max(known, 1)
        if looks:
            found |= {"null": sums["null"] / looks, "last": sums["last"] / looks}
        return found

    def inputs(self) -> list[dict[str, Any]]:
        """The watched sentences, as a card keeps them."""
        return [{"words": list(words)} for words in self.watched]

    def _looks(self, model: Any, words: Sentence) -> tuple[Tensor, Tensor | None]:
        tokens = torch.tensor([[BOS, *self.vocabulary.encode(words)]])
        with answering(model):
            out = model(tokens)
        return out.logits[0], None if out.weights is None else out.weights[0]

    def maps(self, model: Any) -> list[Bytes]:
        """Who looks at whom in the watched sentences, ``<s>`` first; column 0 is the null slot.
        Empty if the model does not attend."""
        found = [self._looks(model, words)[1] for words in self.watched]
        return [quantise(each.float().numpy()) for each in found if each is not None]

    def says(self, model: Any) -> list[str]:
        """After each word of the watched sentences, the word that the model expects next."""
        return [
            " ".join(self.vocabulary.decode(self._looks(model, words)[0].argmax(dim=-1).tolist()))
            for words in self.watched
        ]

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Perplexity of the test sentences, a word and an end at a time, and what it is made of.

        known_perplexity: without the words that are ``<unk>``
        bits_per_word: log₂ of the perplexity; accuracy: how often the likeliest word was the one
        look_null, look_last: weight on the null slot and on the word before, from the second
            step on (the first one can only look at the null slot)
        """
        found = self._measure(model, self.prose.test)
        metrics: dict[str, Any] = {
            "valid_loss": self.validate(model),
            "perplexity": math.exp(found["nats"]),
            "known_perplexity": math.exp(found["known_nats"]),
            "bits_per_word": found["nats"] / math.log(2),
            "accuracy": found["right"],
        }
        if "null" in found:
            metrics |= {"look_null": found["null"], "look_last": found["last"]}
        test = [word for words in self.prose.test for word in words]
        settings: dict[str, Any] = {
            "corpus_sha256": {"prose": self.prose.sha256},
            "sentences": {"prose": len(self.prose.test)},
            "words": len(test) + len(self.prose.test),
            "unknown_words": sum(word not in self.vocabulary for word in test),
        }
        return metrics, settings

    def files(self) -> dict[str, bytes]:
        """The words that are known, in order."""
        words = {"words": self.vocabulary.words}
        return {VOCABULARY: json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode()}

    def small(self) -> "Reading":
        """Short sentences, and a fifth of the test."""
        prose = self.prose

        def few(sentences: list[Sentence]) -> list[Sentence]:
            return [words for words in sentences if len(words) <= MINUTES_LONGEST]

        return Reading(
            Prose(
                train=few(prose.train),
                valid=few(prose.valid)[:200],
                test=prose.test[::5],
                vocabulary=prose.vocabulary,
                watched=prose.watched,
                credits=prose.credits,
                licence=prose.licence,
                sha256=prose.sha256,
            )
        )
