"""Is attention an explanation? What happens to a word when the look that it came from is changed.

Jain & Wallace 2019 (arXiv:1902.10186) say: if the weights explain an output, then other weights
must give another output, and the words with the largest weights must be those without which it
changes most. Wiegreffe & Pinter 2019 (arXiv:1908.04626) say what such a test does not show.

All here is under teacher forcing, and about one step at a time: the step that writes y_t is
changed, and all before it stays as it was.

    fall     log p(y_t | y_<t, x) − log p′(y_t | y_<t, x), in nats: what the change costs y_t
    turned   whether another word is the likeliest now
    moved    ½ Σ_y |p(y) − p′(y)|, the total variation distance of the two distributions

A word can be dropped in two ways. *Hidden*, it cannot be looked at in this one step; but whatever
read the sentence has read it, and the states of its neighbours still know of it. *Removed*, it was
never there: the sentence is read anew without it, from the first step on. That is
*leave-one-out* in Jain & Wallace, and makes of a sentence one that nobody would write.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.data.batches import encode_batch, encode_source
from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.evaluation.decoding import answering, device_of, in_batches
from heed.evaluation.otherwise import Otherwise, Rule
from heed.layers.multihead import Looked, MultiHead, Prepared
from heed.models.bahdanau import Bahdanau
from heed.models.lstmn import LSTMNTranslator
from heed.models.luong import Luong
from heed.models.transformer import Transformer

Number = Float[np.ndarray, " _"] | Bool[np.ndarray, " _"]
"""One a word."""

HIDDEN, REMOVED = ("hidden most", "hidden random"), ("removed most", "removed random")
WEIGHTS = ("uniform", "permuted")
CHANGES = (*HIDDEN, *WEIGHTS, *REMOVED)

# ------------------------------------------------------------------------ weights that are others


class OtherwiseHeads(nn.Module):
    """In place of a ``MultiHead``: the weights of all heads, changed by the same rule."""

    def __init__(self, attention: MultiHead, rule: Rule) -> None:
        super().__init__()
        self.attention, self.rule = attention, rule
        self.prepare = attention.prepare

    def look(
        self,
        query: Float[Tensor, "batch query d_model"],
        prepared: Prepared,
        *,
        keep: Bool[Tensor, "batch 1 key"],
        on: Bool[Tensor, " head"] | None = None,
        weights: bool = True,
    ) -> Looked:
        """As the attention's own ``look``; no head is off."""
        assert on is None
        own = self.attention.look(query, prepared, keep=keep, weights=True)
        assert own.weights is not None
        alpha = self.rule(own.weights, keep.unsqueeze(1))
        seen = alpha @ prepared.values
        return Looked(self.attention.W_o(seen.transpose(1, 2).flatten(2)), alpha)


@contextmanager
def looking(model: Any, rule: Rule) -> Iterator[None]:
    """Inside, all looks at the source go by the rule; afterwards the model is as it was."""
    match model:
        case Bahdanau() | Luong():
            places = [(model, "attention")]
        case LSTMNTranslator():
            places = [(model, "inter")]
        case Transformer():
            places = [(layer, "cross") for layer in model.decoder]
        case _:
            raise TypeError(f"a {type(model).__name__} looks at no source that is known here")
    before = [getattr(owner, name) for owner, name in places]
    for (owner, name), own in zip(places, before, strict=True):
        kind = OtherwiseHeads if isinstance(own, MultiHead) else Otherwise
        setattr(owner, name, kind(own, rule))
    try:
        yield
    finally:
        for (owner, name), own in zip(places, before, strict=True):
            setattr(owner, name, own)


def uniform(own: Float[Tensor, "*batch key"], keep: Bool[Tensor, "*b key"]) -> Tensor:
    """α_j = 1/n over the n positions that may be looked at, also where a window was smaller."""
    return (keep.to(own.dtype) / keep.sum(-1, keepdim=True)).expand_as(own)


def permuted(order: Int[Tensor, "batch key"]) -> Rule:
    """α′_j = α_{σ(j)}, the same σ for all heads and layers."""

    def rule(own: Float[Tensor, "batch *more key"], keep: Tensor) -> Tensor:
        wide = order.reshape(len(order), *[1] * (own.ndim - 2), -1)
        return own.gather(-1, wide.expand_as(own))

    return rule


def shuffled(
    lengths: Int[Tensor, " batch"], longest: int, generator: torch.Generator
) -> Int[Tensor, "batch {longest}"]:
    """A random order of each row's first ``lengths`` places; padding stays where it is."""
    place = torch.arange(longest)
    drawn = torch.rand(len(lengths), longest, generator=generator)
    padding = place >= lengths.cpu()[:, None]
    return torch.where(padding, 1.0 + place, drawn).argsort(dim=-1)


# ------------------------------------------------------------------------ word by word


@dataclass(frozen=True, kw_only=True)
class Words:
    """What the changes did to the words of one gold sentence, the end mark not among them.

    source: how many words the source has
    most, other: the source word that is looked at most, and one of the others, at each step
    fall, turned, moved: by the name of a change, as at the top
    """

    source: int
    most: Int[np.ndarray, " word"]
    other: Int[np.ndarray, " word"]
    fall: dict[str, Float[np.ndarray, " word"]]
    turned: dict[str, Bool[np.ndarray, " word"]]
    moved: dict[str, Float[np.ndarray, " word"]]


def changed(
    model: Any,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    seed: int = 0,
    batch_size: int = 128,
) -> list[Words]:
    """Hidden words and other weights, in the order given. Every source has two words or more.

    ``seed`` draws the other word and the permutation, anew at each step.
    """
    for pair in pairs:
        if len(pair.source) < 2:
            raise ValueError(f"{' '.join(pair.source)!r} has no other word to drop")
    found: list[Any] = [None] * len(pairs)
    sizes = [max(len(pair.source), len(pair.target)) for pair in pairs]
    generator = torch.Generator().manual_seed(seed)
    device = device_of(model)
    for rows in in_batches(sizes, batch_size):
        batch = encode_batch([pairs[i] for i in rows], source_vocab, target_vocab)
        source, lengths = batch.source.to(device), batch.source_lengths.to(device)
        with answering(model):
            steps = _steps(model, source, lengths, batch.target.to(device), generator)
        for b, i in enumerate(rows):
            words = slice(0, len(pairs[i].target))
            found[i] = Words(
                source=len(pairs[i].source),
                most=steps["most"][b, words],
                other=steps["other"][b, words],
                fall={name: steps[f"fall {name}"][b, words] for name in (*HIDDEN, *WEIGHTS)},
                turned={name: steps[f"turned {name}"][b, words] for name in (*HIDDEN, *WEIGHTS)},
                moved={name: steps[f"moved {name}"][b, words] for name in (*HIDDEN, *WEIGHTS)},
            )
    return found


def _steps(
    model: Any,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    target: Int[Tensor, "batch target"],
    generator: torch.Generator,
) -> dict[str, np.ndarray]:
    """Step by step: the own one, and beside it each of the changed ones, from the same state."""
    encoded = model.encode(source, lengths)
    state = model.start(encoded)
    place = torch.arange(source.shape[1], device=source.device)
    word = place < lengths[:, None] - 1  # without the end mark
    kept: dict[str, list[Tensor]] = {}

    def note(name: str, value: Tensor) -> None:
        kept.setdefault(name, []).append(value.cpu())

    for t in range(target.shape[1] - 1):
        token, gold = target[:, t], target[:, t + 1]
        after, own = model.step(state, token, encoded)
        most = own.weights.masked_fill(~word, -1.0).argmax(-1)
        drawn = torch.rand(source.shape, generator=generator).to(source.device)
        other = drawn.masked_fill(~word | (place == most[:, None]), -1.0).argmax(-1)
        order = shuffled(lengths, source.shape[1], generator).to(source.device)
        note("most", most)
        note("other", other)
        changes = {
            HIDDEN[0]: (_without(encoded, most), None),
            HIDDEN[1]: (_without(encoded, other), None),
            WEIGHTS[0]: (encoded, uniform),
            WEIGHTS[1]: (encoded, permuted(order)),
        }
        for name, (read, rule) in changes.items():
            if rule is None:
                _, out = model.step(state, token, read)
            else:
                with looking(model, rule):
                    _, out = model.step(state, token, read)
            for effect, value in _effects(own.logits, out.logits, gold).items():
                note(f"{effect} {name}", value)
        state = after
    return {name: torch.stack(values, 1).numpy() for name, values in kept.items()}


def _without(encoded: Any, place: Int[Tensor, " batch"]) -> Any:
    """The sentence as it was read, one place of it hidden from the look."""
    keep = encoded.keep.clone()
    keep[torch.arange(len(place), device=place.device), ..., place] = False
    return replace(encoded, keep=keep)


def _effects(
    own: Float[Tensor, "*batch vocab"],
    other: Float[Tensor, "*batch vocab"],
    gold: Int[Tensor, "*batch"],
) -> dict[str, Tensor]:
    """fall, turned and moved."""
    before, after = (each.float().log_softmax(-1) for each in (own, other))
    lost = (before - after).gather(-1, gold.unsqueeze(-1)).squeeze(-1)
    return {
        "fall": lost,
        "turned": before.argmax(-1) != after.argmax(-1),
        "moved": (before.exp() - after.exp()).abs().sum(-1) / 2,
    }


# ------------------------------------------------------------------------ removed


@dataclass(frozen=True, kw_only=True)
class Removals:
    """What it does to each gold word of a sentence when a source word was never there."""

    fall: Float[np.ndarray, "word source"]
    turned: Bool[np.ndarray, "word source"]
    moved: Float[np.ndarray, "word source"]


def removed(model: Any, pair: Pair, source_vocab: Vocabulary, target_vocab: Vocabulary) -> Removals:
    """Every source word of a sentence in turn; the whole sentence goes through with them."""
    n, device = len(pair.source), device_of(model)
    sentences = [pair.source] + [(*pair.source[:j], *pair.source[j + 1 :]) for j in range(n)]
    source, lengths = encode_source(sentences, source_vocab)
    target = encode_batch([pair], source_vocab, target_vocab).target.to(device)
    with answering(model):
        given = target[:, :-1].expand(n + 1, -1)
        logits = model(source.to(device), lengths.to(device), given).logits[:, :-1]
        gold = target[:, 1:-1].expand(n, -1)
        effects = _effects(logits[:1].expand(n, -1, -1), logits[1:], gold)
    return Removals(**{name: value.T.cpu().numpy() for name, value in effects.items()})


def _with_removals(words: Words, found: Removals) -> Words:
    at = np.arange(len(words.most))
    added: dict[str, dict[str, np.ndarray]] = {}
    for effect in ("fall", "turned", "moved"):
        table = getattr(found, effect)
        chosen = zip(REMOVED, (words.most, words.other), strict=True)
        added[effect] = getattr(words, effect) | {name: table[at, j] for name, j in chosen}
    return replace(words, **added)


# ------------------------------------------------------------------------ all together


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean over words, and its standard error: sentences are drawn, not words, so a sentence
    counts as one draw."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.error:.2f}"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a change does on average; see the top of this file."""

    fall: Mean
    turned: Mean
    moved: Mean


@dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """All changes of a model over some sentences.

    sentences, words: how many there were; read_anew: how many sentences words were removed from
    agrees: how often the word looked at most is the one whose removal costs most
    by_chance: how often a word drawn at random would be
    """

    sentences: int
    words: int
    read_anew: int
    effects: dict[str, Effect]
    agrees: Mean
    by_chance: float


def mean_over(sentences: Sequence[Number]) -> Mean:
    """m = Σ_s Σ_w x_sw / N and its error √Σ_s (Σ_w (x_sw − m))² / N, N words in all."""
    everything = np.concatenate(sentences).astype(float)
    mean = float(everything.mean())
    away = [float(each.astype(float).sum()) - mean * len(each) for each in sentences]
    return Mean(mean=mean, error=math.sqrt(sum(each**2 for each in away)) / len(everything))


def summed_up(found: Sequence[Words], removals: Mapping[int, Removals]) -> Faithfulness:
    """What ``changed`` and ``removed`` found, as means; removals: by the number of the sentence."""
    anew = [_with_removals(found[i], each) for i, each in removals.items()]

    def effect(name: str) -> Effect:
        over = anew if name in REMOVED else found
        return Effect(
            fall=mean_over([each.fall[name] for each in over]),
            turned=mean_over([each.turned[name] for each in over]),
            moved=mean_over([each.moved[name] for each in over]),
        )

    hits = [each.fall.argmax(-1) == found[i].most for i, each in removals.items()]
    chances = [np.full(len(each.most), 1 / each.source) for each in anew]
    return Faithfulness(
        sentences=len(found),
        words=sum(len(each.most) for each in found),
        read_anew=len(anew),
        effects={name: effect(name) for name in CHANGES},
        agrees=mean_over(hits),
        by_chance=mean_over(chances).mean,
    )


def faithfulness(
    model: Any,
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    every: int = 1,
    seed: int = 0,
) -> Faithfulness:
    """All changes of a model over some sentences of two source words or more.

    every: words are removed from the first sentence of each so many: a sentence of n words is then
        read n times more, and that takes most of the time
    """
    found = changed(model, pairs, source_vocab, target_vocab, seed=seed)
    chosen = range(0, len(pairs), every)
    lost = {i: removed(model, pairs[i], source_vocab, target_vocab) for i in chosen}
    return summed_up(found, lost)
