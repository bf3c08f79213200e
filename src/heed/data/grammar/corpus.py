"""A corpus drawn from the grammar: train, valid and test, which share no English sentence."""

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from heed.data.grammar.sampler import Grammar, check_lengths, classic
from heed.data.pairs import Pair

BUCKETS = ((3, 8), (9, 15), (16, 25), (26, 45), (46, 60))
"""Source lengths, in words, that results are reported by."""

_VALID_PERCENT = _TEST_PERCENT = 5


@dataclass(frozen=True, kw_only=True)
class GrammarConfig:
    """How many sentences, how long, from which seed.

    ``shares`` says how much of the training set falls into each of ``BUCKETS``;
    ``held_out_shares`` the same for valid and test, where each bucket should be full enough
    to be measured. Both are weights: they need not add up to one.
    """

    sentences: int = 60_000
    valid: int = 1_000
    test: int = 1_000
    shortest: int = 3
    longest: int = 60
    shares: tuple[float, ...] = (0.30, 0.30, 0.20, 0.14, 0.06)
    held_out_shares: tuple[float, ...] = (0.20, 0.20, 0.20, 0.20, 0.20)
    seed: int = 0

    def __post_init__(self) -> None:
        check_lengths(self.shortest, self.longest)
        for name in ("sentences", "valid", "test"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} cannot be negative")
        for name in ("shares", "held_out_shares"):
            shares = getattr(self, name)
            if len(shares) != len(BUCKETS) or min(shares) < 0:
                raise ValueError(
                    f"{name}={shares} needs {len(BUCKETS)} weights, none of them negative"
                )
            if sum(share for share, _, _ in self.buckets(shares)) == 0:
                raise ValueError(
                    f"{name}={shares} leaves no sentence of {self.shortest} to {self.longest} words"
                )

    def buckets(self, shares: tuple[float, ...]) -> list[tuple[float, int, int]]:
        """(share, shortest, longest) of each bucket, cut to the lengths asked for."""
        cut = [
            (share, max(low, self.shortest), min(high, self.longest))
            for share, (low, high) in zip(shares, BUCKETS, strict=True)
        ]
        return [(share if low <= high else 0.0, low, high) for share, low, high in cut]


@dataclass(frozen=True)
class GrammarCorpus:
    """Three lists of pairs, shuffled."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def split_of(source: tuple[str, ...]) -> str:
    """“train”, “valid” or “test”: decided by the English words alone, whatever the seed."""
    digest = hashlib.sha256(" ".join(source).encode()).digest()
    percent = int.from_bytes(digest[:4], "big") % 100
    if percent < _TEST_PERCENT:
        return "test"
    return "valid" if percent < _TEST_PERCENT + _VALID_PERCENT else "train"


def _quotas(count: int, weights: list[float]) -> list[int]:
    """``count`` cut up by ``weights``: whole numbers that add up to it."""
    total = sum(weights)
    ends = [0]
    running = 0.0
    for weight in weights:
        running += weight
        ends.append(round(count * running / total))
    return [high - low for low, high in pairwise(ends)]


def grammar(config: GrammarConfig) -> GrammarCorpus:
    """The corpus of ``config``: the same on every machine and in every run.

    Training pairs carry no links and no phenomena (nothing learns from them, and 60,000 pairs
    stay light); valid and test pairs carry all.
    """
    draw = Grammar(config.seed)
    train_buckets = config.buckets(config.shares)
    held_out_buckets = config.buckets(config.held_out_shares)
    quotas = {
        "train": _quotas(config.sentences, [share for share, _, _ in train_buckets]),
        "valid": _quotas(config.valid, [share for share, _, _ in held_out_buckets]),
        "test": _quotas(config.test, [share for share, _, _ in held_out_buckets]),
    }
    corpus: dict[str, list[Pair]] = {"train": [], "valid": [], "test": []}
    seen = {classic().source}  # the figure of the book stays unseen
    for k, (_, low, high) in enumerate(train_buckets):
        left = {name: quota[k] for name, quota in quotas.items()}
        missing, stale = sum(left.values()), 0
        while missing:
            pair = draw.pair(low, high)
            name = split_of(pair.source)
            if pair.source in seen or not left[name]:
                stale += 1
                if stale > 50_000:
                    raise ValueError(
                        f"sentences={config.sentences}, valid={config.valid}, "
                        f"test={config.test}: the grammar does not have that many sentences "
                        f"of {low} to {high} words"
                    )
                continue
            stale = 0
            seen.add(pair.source)
            left[name] -= 1
            missing -= 1
            if name == "train":
                pair = Pair(source=pair.source, target=pair.target)
            corpus[name].append(pair)
    for name, pairs in corpus.items():
        Random(f"{config.seed} {name}").shuffle(pairs)
    return GrammarCorpus(**corpus)
