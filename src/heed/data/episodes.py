"""Episodes: some classes nobody has seen, a few drawings of each with a label, then one without."""

from dataclasses import dataclass, fields, replace
from functools import cache

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from heed.data.glyphs import SIDE, Part, draw, glyphs

NONE = -1
"""The label of the drawing that is asked about, and of what follows it."""


@dataclass(frozen=True)
class Episodes:
    """Drawings in the order in which they are shown; shorter episodes are filled up at the end.

    labels: from 0, ``NONE`` where there is none; lengths: drawings in each, the asked one, which
    is the last, among them; answers: its class; glyphs: of which characters the classes are, by
    label
    """

    pictures: Float[Tensor, "episode step row column"]
    labels: Int[Tensor, "episode step"]
    lengths: Int[Tensor, " episode"]
    answers: Int[Tensor, " episode"]
    glyphs: Int[Tensor, "episode way"]

    @property
    def asked(self) -> Int[Tensor, " episode"]:
        """The step that asks."""
        return self.lengths - 1

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
    permuted: False gives labels by the characters' numbers, from the smallest on: a fault of public
        code, here to be measured. Only training has it; what is measured is measured alike.
    tests: shots of each test; held_out: episodes of each test
    """

    ways: int = 5
    shots: int = 5
    drawings: int = 20
    turned: bool = True
    permuted: bool = True
    tests: tuple[int, ...] = (1, 5)
    held_out: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ways < 2 or self.shots < 1:
            raise ValueError(
                f"ways={self.ways} and shots={self.shots}: there must be a choice, and an example"
            )
        if self.drawings <= self.shots:
            raise ValueError(
                f"drawings={self.drawings} leave none to ask about after {self.shots} shots"
            )
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
        return replace(self, permuted=True).draw(count, part, generator, shots=shots)

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
        n, ways = episodes, self.ways

        def randint(high: int, *shape: int) -> Tensor:
            return torch.randint(high, shape, generator=generator)

        def shuffled(*shape: int) -> Tensor:
            """Along the last axis all numbers from 0, in any order."""
            return torch.rand(*shape, generator=generator).argsort(dim=-1)

        most = self.shots if shots is None else shots
        if not 1 <= most < self.drawings:
            raise ValueError(f"shots={most}, but there are {self.drawings} drawings of each")
        many = torch.full((n,), most) if shots is not None else 1 + randint(most, n)
        classes = shuffled(n, len(numbers) * turns)[:, :ways]
        if not self.permuted:
            classes = classes.sort(dim=1).values
        which, turn = classes // turns, classes % turns
        taken = shuffled(n, ways, self.drawings)[..., : most + 1]
        answers = randint(ways, n)

        # All (way, shot) in any order, those beyond an episode's shots last, where nobody looks.
        label = torch.arange(ways).repeat_interleave(most).expand(n, -1)
        shot = torch.arange(most).repeat(ways).expand(n, -1)
        order = (torch.rand(n, ways * most, generator=generator) + (shot >= many[:, None])).argsort(
            1
        )
        label, shot = label.gather(1, order), shot.gather(1, order)
        lengths = ways * many + 1
        steps = torch.arange(ways * most + 1)
        asking = steps == lengths[:, None] - 1
        none = torch.zeros(n, 1, dtype=torch.long)
        label, shot = torch.cat([label, none], 1), torch.cat([shot, none], 1)
        label = torch.where(asking, answers[:, None], label)
        shot = torch.where(asking, most, shot)
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
            answers=answers,
            glyphs=numbers[which],
        )


@cache
def drawn(part: Part, drawings: int, seed: int) -> UInt8[Tensor, "glyph drawing row column"]:
    """So many drawings of each character of a part, always the same: half a minute for 20."""
    source = glyphs()
    numbers = source.numbers(part)
    generator = torch.Generator().manual_seed(seed)
    made = draw(source, numbers.repeat_interleave(drawings), generator)
    return (made * 255).round().to(torch.uint8).reshape(len(numbers), drawings, SIDE, SIDE)
