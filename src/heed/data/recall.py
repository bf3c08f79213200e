"""Pairs of a key and a value go by, then a key comes alone: which value belonged to it?

A pair is one step, so nothing has to be learnt about which value follows which key: what is asked
is only whether a network can keep several things apart and find one of them again.
"""

import string
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

LETTERS = string.ascii_lowercase


@dataclass(frozen=True)
class Questions:
    """keys, values: of each step; the last step asks, and has the value that stands for none.

    places: which pair has the answer, counted from 0
    answers: the value that belongs there
    """

    keys: Int[Tensor, "batch step"]
    values: Int[Tensor, "batch step"]
    places: Int[Tensor, " batch"]
    answers: Int[Tensor, " batch"]


@dataclass(frozen=True, kw_only=True)
class RecallData:
    """``pairs`` different keys of ``keys`` letters, each with one of ``values`` numbers.

    Training draws without end; validation and test have ``held_out`` questions each.
    """

    pairs: int = 8
    keys: int = 26
    values: int = 20
    held_out: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.pairs <= self.keys <= len(LETTERS):
            raise ValueError(
                f"pairs={self.pairs} and keys={self.keys}: at least one pair, no more than there "
                f"are keys, and no more keys than {len(LETTERS)} letters"
            )

    def draw(self, questions: int, generator: torch.Generator) -> Questions:
        """As many questions, from this generator alone."""
        keys = torch.rand(questions, self.keys, generator=generator).argsort(dim=1)
        keys = keys[:, : self.pairs]
        values = torch.randint(self.values, (questions, self.pairs), generator=generator)
        places = torch.randint(self.pairs, (questions, 1), generator=generator)
        none = torch.full((questions, 1), self.values)
        return Questions(
            keys=torch.cat([keys, keys.gather(1, places)], dim=1),
            values=torch.cat([values, none], dim=1),
            places=places.squeeze(1),
            answers=values.gather(1, places).squeeze(1),
        )

    def held_out_questions(self, part: int) -> Questions:
        """Part 0 is for validation, part 1 for the test."""
        # Far from the generators of training, which are numbered by seed and step.
        generator = torch.Generator().manual_seed(2**40 + 2 * self.seed + part)
        return self.draw(self.held_out, generator)
