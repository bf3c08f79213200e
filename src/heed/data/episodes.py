"""Episodes: classes nobody has seen, a few drawings of each with a label, then some without."""

from dataclasses import dataclass, fields, replace
from functools import cache

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from heed.data.glyphs import SIDE, Part, draw, glyphs

NONE = -1
"""The label of the drawing that is asked about, and of what follows it."""


@dataclass(frozen=True)
class Episodes:
    """Drawings in the order in which they are shown; shorter episodes are filled up at the end.

    labels: from 0, ``NONE`` where there is none; lengths: drawings in each, those that are asked
    about, which come last, among them; answers: the class of the last one; classes: of each;
    glyphs: of which characters the classes are, by label; drawings: a number for each picture, the
    same for the same picture
    """

    pictures: Float[Tensor, "episode step row column"]
    labels: Int[Tensor, "episode step"]
    lengths: Int[Tensor, " episode"]
    answers: Int[Tensor, " episode"]
    classes: Int[Tensor, "episode step"]
    glyphs: Int[Tensor, "episode way"]
    drawings: Int[Tensor, "episode step"]

    @property
    def asked(self) -> Int[Tensor, " episode"]:
        """The step that asks, the last one if several do."""
        return self.lengths - 1

    @property
    def asking(self) -> Bool[Tensor, "episode step"]:
        """All steps that ask."""
        steps = torch.arange(self.labels.shape[1], device=self.labels.device)
        return (self.labels == NONE) & (steps < self.lengths[:, None])

    def rows(self, which: slice) -> "Episodes":
        """Some of the episodes."""
        return Episodes(**{f.name: getattr(self, f.name)[which] for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class EpisodeData:
    """``ways`` characters an episode, up to ``shots`` labelled drawings of each.

    Which character gets which label is drawn anew for each episode, and so is their order: a
    label means nothing beyond it. In training the number of shots is drawn for each episode, from 1
    to ``shots``, and a character turned by a quarter is another one (``turned``), as in the paper.

    drawings: of each character; every episode takes some of these
    sharing: so many episodes of a training step in a row have characters, drawings and number of
        shots in common, to be embedded once. Labels, order and what is asked are each one's own.
    questions: at the end of each training episode, so that there is more to learn from what was
        shown. What is measured asks one.
    permuted: False gives labels by the characters' numbers, from the smallest on: a fault of public
        code, here to be measured. Only training has it; what is measured is measured alike.
    tests: shots of each test; held_out: episodes of each test
    """

    ways: int = 5
    shots: int = 5
    drawings: int = 20
    sharing: int = 1
    questions: int = 1
    turned: bool = True
    permuted: bool = True
    tests: tuple[int, ...] = (1, 5)
    held_out: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ways < 2 or self.shots < 1:
            raise ValueError(
                f"ways={self.ways} and shots={self.shots}: there must be a choice, and an example"
            )
        if self.questions < 1:
            raise ValueError(f"questions={self.questions}: an episode asks one at least")
        if self.drawings < self.shots + self.questions:
            raise ValueError(
                f"drawings={self.drawings} leave none to ask about after {self.shots} shots"
                + (f" and {self.questions - 1} questions" if self.questions > 1 else "")
            )
        if self.sharing < 1:
            raise ValueError(f"sharing={self.sharing}: an episode shares with itself at least")
        if self.held_out < 1 or not self.tests or min(self.tests) < 1:
            raise ValueError(
                f"tests={self.tests} of held_out={self.held_out} episodes: at least one of each"
            )
        if max(self.tests) > self.shots:
            raise ValueError(
                f"tests={self.tests}, but training has never more than {self.shots} shots"
            )

    def held_out_episodes(self, part: Part, count: int, shots: int | None = None) -> Episodes:
        """The same episodes of a part every time, whatever training is like.

        shots: as in ``draw``
        """
        generator = torch.Generator().manual_seed(2**40 + self.seed * 100 + (shots or 0))
        alone = replace(self, permuted=True, sharing=1, questions=1)
        return alone.draw(count, part, generator, shots=shots)

    def draw(
        self,
        episodes: int,
        part: Part,
        generator: torch.Generator,
        *,
        shots: int | None = None,
    ) -> Episodes:
        """As many episodes with characters of a part, from this generator alone.

        shots: of each class in every episode; without it, 1 to ``self.shots``, drawn for each
        """
        numbers = glyphs().numbers(part)
        pool = drawn(part, self.drawings, self.seed)
        turns = 4 if self.turned and part == "train" else 1
        n, ways, questions = episodes, self.ways, self.questions

        def randint(high: int, *shape: int) -> Tensor:
            return torch.randint(high, shape, generator=generator)

        def shuffled(*shape: int) -> Tensor:
            """Along the last axis all numbers from 0, in any order."""
            return torch.rand(*shape, generator=generator).argsort(dim=-1)

        most = self.shots if shots is None else shots
        if not 1 <= most <= self.drawings - questions:
            raise ValueError(f"shots={most}, but there are {self.drawings} drawings of each")
        group = torch.arange(n) // self.sharing
        groups = -(-n // self.sharing)
        many = torch.full((n,), most) if shots is not None else (1 + randint(most, groups))[group]
        classes = shuffled(groups, len(numbers) * turns)[:, :ways]
        if not self.permuted:
            classes = classes.sort(dim=1).values
        classes = classes[group]
        taken = shuffled(groups, ways, self.drawings)[group, :, : most + questions]
        if self.permuted and self.sharing > 1:
            named = shuffled(n, ways)
            classes = classes.gather(1, named)
            taken = taken.gather(1, named[..., None].expand_as(taken))
        which, turn = classes // turns, classes % turns
        answers = randint(ways, n, questions)

        # All (way, shot) in any order, those beyond an episode's shots last, where nobody looks.
        label = torch.arange(ways).repeat_interleave(most).expand(n, -1)
        shot = torch.arange(most).repeat(ways).expand(n, -1)
        order = (torch.rand(n, ways * most, generator=generator) + (shot >= many[:, None])).argsort(
            1
        )
        label, shot = label.gather(1, order), shot.gather(1, order)
        lengths = ways * many + questions
        steps = torch.arange(ways * most + questions)
        question = steps - ways * many[:, None]  # number of the question, from 0; below: shown
        asking = (question >= 0) & (question < questions)
        question = question.clamp(0, questions - 1)
        none = torch.zeros(n, questions, dtype=torch.long)
        label, shot = torch.cat([label, none], 1), torch.cat([shot, none], 1)
        label = torch.where(asking, answers.gather(1, question), label)
        shot = torch.where(asking, most + question, shot)
        row = torch.arange(n)[:, None]
        pictures = pool[which[row, label], taken[row, label, shot]].float() / 255
        turned = turn[row, label]
        for quarter in range(1, turns):
            chosen = turned == quarter
            pictures[chosen] = pictures[chosen].rot90(quarter, dims=(1, 2))
        there = steps < lengths[:, None]
        return Episodes(
            pictures=pictures * there[..., None, None],
            labels=label.masked_fill(asking | ~there, NONE),
            lengths=lengths,
            answers=answers[:, -1],
            classes=label,
            glyphs=numbers[which],
            drawings=classes[row, label] * self.drawings + taken[row, label, shot],
        )


@cache
def drawn(part: Part, drawings: int, seed: int) -> UInt8[Tensor, "glyph drawing row column"]:
    """So many drawings of each character of a part, always the same: half a minute for 20."""
    source = glyphs()
    numbers = source.numbers(part)
    generator = torch.Generator().manual_seed(seed)
    made = draw(source, numbers.repeat_interleave(drawings), generator)
    return (made * 255).round().to(torch.uint8).reshape(len(numbers), drawings, SIDE, SIDE)
