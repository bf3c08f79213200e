"""Captioning, the fourth task: a picture with one to three animals, and a sentence about it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from heed.data.captions import COLOUR, MOST, NOUN, Captions, pieces
from heed.data.scenes import SceneData, Scenes
from heed.data.silhouettes import CREDITS, LICENCE
from heed.data.text import Language, detokenize
from heed.data.vocabulary import PAD, Vocabulary
from heed.evaluation.captions import Caption, describe, exact, forced, pointing
from heed.experiments.cards import Card
from heed.experiments.maps import Bytes, quantise
from heed.experiments.tasks import Trained
from heed.models.show_attend_tell import Look
from heed.training.captions import caption_loss, entropy, log_probabilities
from heed.training.loop import TrainConfig

VOCABULARY = "captions.json"
TESTS = ("silhouettes", "combinations")


def pixels(pictures: UInt8[Tensor, "*batch 3 row column"]) -> Float[Tensor, "*batch 3 row column"]:
    """From 0 to 1, as models read them."""
    return pictures.float() / 255


@dataclass(frozen=True, kw_only=True)
class TrainedCaptioner(Trained):
    """A model that describes pictures, with the weights that were shipped, and its card."""

    vocabulary: Vocabulary
    language: Language

    def describe(
        self,
        picture: UInt8[Tensor, "3 row column"],
        *,
        width: int = 1,
        look: Look | None = None,
    ) -> Caption:
        """What it says of a picture, and where it looks for each word.

        look: ``"sampled"`` draws where to look, ``"expected"`` looks softly, ``"likeliest"`` at
            the likeliest place; without it, as the model was made.
        """
        return describe(self.model, pixels(picture)[None], self.vocabulary, width=width, look=look)[
            0
        ]

    def say(self, picture: UInt8[Tensor, "3 row column"], **options: Any) -> str:
        """The caption as a person would write it."""
        return detokenize(self.describe(picture, **options).words, self.language)


@dataclass(frozen=True, kw_only=True)
class Describes:
    """The kind of task of every row that describes pictures."""

    beside: ClassVar[tuple[str, ...]] = (VOCABULARY,)
    trained: ClassVar[type[Trained]] = TrainedCaptioner

    def load(self, data: SceneData, places: Mapping[str, Path]) -> "Describing":
        """The scenes of a row; they need no place."""
        return Describing(data)

    def read(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """The words of the captions, and their language."""
        said = json.loads(files[VOCABULARY])
        if said["language"] not in ("en", "fr"):
            raise ValueError(f"the language {said['language']!r} is none of en, fr")
        return {"vocabulary": Vocabulary(tuple(said["words"])), "language": said["language"]}

    def sizes(self, known: Mapping[str, Any]) -> dict[str, int]:
        """How many words there are, the specials among them."""
        return {"vocab": len(known["vocabulary"])}

    def headline(self, card: Card) -> str:
        """How many captions are right, word for word."""
        return f"exact {card.number('exact.silhouettes'):.0%}"


class Drawn:
    """Scenes without end; those of a step are drawn by a generator of their own.

    Of ``world`` processes, number ``rank`` gets every world-th scene of each step.
    """

    def __init__(
        self, data: SceneData, *, batch_size: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        if batch_size < world:
            raise ValueError(f"{batch_size} scenes leave some of {world} processes without work")
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.rank, self.world = rank, world

    def starting_after(self, done: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Pictures and words of step ``done + 1``, ``done + 2``, and so on for ever."""
        while True:
            generator = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + done)
            drawn, done = self.data.draw(self.batch_size, generator), done + 1
            mine = slice(self.rank, None, self.world)
            yield drawn.pictures[mine], drawn.captions.words[mine]


class Describing:
    """Captioned scenes, seen from the runner. A batch is pictures and the words of captions."""

    credits: Sequence[str] = CREDITS
    licence = LICENCE

    def __init__(self, data: SceneData) -> None:
        self.data, self.vocabulary = data, pieces(data.language).vocabulary
        self.valid = data.held_out_scenes("valid")
        self.watched = one_of_each(self.valid)

    def stream(self, train: TrainConfig, *, seed: int, rank: int = 0, world: int = 1) -> Drawn:
        """The training scenes of a seed."""
        return Drawn(self.data, batch_size=train.batch_size, seed=seed, rank=rank, world=world)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor], train: TrainConfig) -> Tensor:
        """What the paper minimises, a word: see ``heed.training.captions.caption_loss``."""
        if train.label_smoothing:
            raise ValueError(
                f"label_smoothing={train.label_smoothing}: captions are learnt without it"
            )
        pictures, words = batch
        return caption_loss(model, pixels(pictures), words)

    def count(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """The words that are predicted."""
        return (batch[1][:, 1:] != PAD).sum()

    def validate(self, model: nn.Module) -> float:
        """Nats a word on held-out scenes, with nothing but the words counted."""
        return self._nats(model, self.valid)

    def _nats(self, model: Any, scenes: Scenes) -> float:
        out = forced(model, pixels(scenes.pictures), scenes.captions.words)
        target = scenes.captions.words[:, 1:]
        return -(log_probabilities(out.logits, target).sum() / (target != PAD).sum()).item()

    def inputs(self) -> list[dict[str, Any]]:
        """The watched pictures: which scenes of ``held_out_scenes("valid")`` they are, what is
        right to say of them, and the box of each animal."""
        found = []
        for number in self.watched:
            length = int(self.valid.captions.lengths[number])
            words = self.valid.captions.words[number, 1 : length - 1].tolist()
            count = int(self.valid.plan.count[number])
            found.append(
                {
                    "scene": number,
                    "caption": self.vocabulary.decode(words),
                    "boxes": self.valid.boxes[number, :count].tolist(),
                }
            )
        return found

    def maps(self, model: Any) -> list[Bytes]:
        """Where it looks for each word of the right captions of the watched pictures; the last row
        belongs to their end."""
        rows = torch.tensor(self.watched)
        words = self.valid.captions.words[rows]
        weights = forced(model, pixels(self.valid.pictures[rows]), words).weights["cross"][:, 0]
        lengths = self.valid.captions.lengths[rows].tolist()
        return [
            quantise(each[: length - 1].float().numpy())
            for each, length in zip(weights, lengths, strict=True)
        ]

    def says(self, model: Any) -> list[str]:
        """What it says of the watched pictures."""
        pictures = pixels(self.valid.pictures[torch.tensor(self.watched)])
        return [" ".join(each.words) for each in describe(model, pictures, self.vocabulary)]

    def evaluate(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """All numbers on both tests: on silhouettes that were never seen, and on those in which
        one animal has a colour, too, that it never had.

        exact: captions that are right word for word, written freely by greedy search; by_animals:
            the same by how many animals there are, on the first test
        pointing, pointing_colour: the likeliest place lies on the animal when its noun, or its
            colour, is written, while the model is made to write the right caption; chance: of a
            place that is drawn blindly
        entropy: of α, in bits a word; gate: the mean of β
        """
        groups: dict[str, dict[str, float]] = {
            name: {} for name in ("exact", "pointing", "pointing_colour", "chance")
        }
        metrics: dict[str, Any] = {"valid_loss": self.validate(model), **groups}
        words = {}
        for test in TESTS:
            scenes = self.data.held_out_scenes(test)
            pictures, captions = pixels(scenes.pictures), scenes.captions
            right = torch.tensor(
                exact(describe(model, pictures, self.vocabulary), captions, self.vocabulary)
            ).double()
            out = forced(model, pictures, captions.words)
            weights = out.weights["cross"][:, 0].float()
            groups["exact"][test] = right.mean().item()
            for name, role in (("pointing", NOUN), ("pointing_colour", COLOUR)):
                found = pointing(
                    weights,
                    captions,
                    scenes.boxes,
                    role=role,
                    grid=model.config.grid,
                    side=model.config.side,
                )
                groups[name][test] = found.hits
            groups["chance"][test] = found.chance  # as many colours as nouns, in the same boxes
            words[test] = found.words
            if test == TESTS[0]:
                metrics["by_animals"] = {
                    str(count): right[scenes.plan.count == count].mean().item()
                    for count in range(1, MOST + 1)
                    if (scenes.plan.count == count).any()
                }
                metrics |= self._looks(weights, out.gates, captions)
        return metrics, {
            "search": "greedy",
            "scenes": {test: self.data.held_out for test in TESTS},
            "nouns": words,
            "pointing": "a place counts if its cell and the box share a pixel",
        }

    def _looks(self, weights: Tensor, gates: Tensor | None, captions: Captions) -> dict[str, float]:
        keep = captions.words[:, 1:] != PAD
        bits = entropy(weights)[keep].mean() / torch.tensor(2.0).log()
        assert gates is not None
        return {"entropy": bits.item(), "gate": gates[keep].float().mean().item()}

    def files(self) -> dict[str, bytes]:
        """The words, in order, and their language."""
        said = {"language": self.data.language, "words": self.vocabulary.words}
        return {VOCABULARY: json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()}

    def small(self) -> "Describing":
        """One animal in most pictures, and fewer of them held out."""
        shares = (0.8, 0.2, 0.0)
        return Describing(replace(self.data, shares=shares, held_out=min(200, self.data.held_out)))


def one_of_each(scenes: Scenes) -> list[int]:
    """The first scenes with one, two, three and once more three animals, as far as there are."""
    counts, chosen = scenes.plan.count.tolist(), []
    for wanted in (1, 2, 3, 3):
        chosen += [i for i, n in enumerate(counts) if n == wanted and i not in chosen][:1]
    return chosen
