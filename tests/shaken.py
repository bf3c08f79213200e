"""Models and sentences for tests of layers and translators: random, and small."""

from typing import TypeVar

import torch
from torch import Tensor, nn

from heed.data.vocabulary import BOS, EOS, PAD

ENGLISH, FRENCH = 23, 29  # words; primes: no two axes can be confused
B, SOURCE, STEPS = 3, 6, 4
LENGTHS = [6, 2, 4]

Module = TypeVar("Module", bound=nn.Module)


def batch_of(lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Random source rows that end with EOS, their lengths, and targets that begin with BOS."""
    source = torch.randint(EOS + 2, ENGLISH, (len(lengths), max(lengths)))
    for row, n in zip(source, lengths, strict=True):
        row[n - 1] = EOS
        row[n:] = PAD
    target_in = torch.randint(EOS + 2, FRENCH, (len(lengths), STEPS))
    target_in[:, 0] = BOS
    return source, torch.tensor(lengths), target_in


def shaken(module: Module) -> Module:
    """In double precision, every parameter random: no zero bias can hide a mistake."""
    module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module
