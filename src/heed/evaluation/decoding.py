"""From a model that scores the next word to a whole sentence: greedy and beam search.

Both work on any ``heed.models.translator.Translator`` and on whole batches; no step loops
over the sentences. Everything here is free-running: a model sees what it wrote itself, never
the gold words (``forced_weights`` is the one exception, and its name says so).

Weights are handed back as numpy arrays, *target step × source position*. Their last column is
the ``EOS`` that ends every source sentence, a real position that a model may look at. Their
rows are the words, then one more for the step that wrote the ``EOS``, if the sentence was
finished.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.data.batches import Batch, encode_source
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from heed.models.translator import Translator, select
from heed.trace import AttentionTrace

Weights = Float[np.ndarray, "step key"]

_NEVER_WRITTEN = [PAD, BOS]
_POSITIONS_AT_ONCE = 16_384  # bounds the memory of one batch, however long the sentences are


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One sentence as a model wrote it.

    tokens: word numbers, without ``BOS`` and ``EOS``
    log_prob: Σ_t log p(y_t | y_<t, x) in nats, the ``EOS`` included if the sentence is finished
    log_probs: the terms of that sum: one for each token, then one for the ``EOS`` if finished
    weights: a row for each token, then one for the ``EOS`` if finished; a column for each
        source word, then one for its ``EOS``. ``None`` from a model without attention.
    finished: False when the step limit cut the sentence off
    """

    tokens: list[int]
    log_prob: float
    log_probs: list[float]
    weights: Weights | None
    finished: bool


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A ``Hypothesis`` in words.

    weights: as in ``Hypothesis``; ``None`` from a model without attention, and for no words
    """

    source: tuple[str, ...]
    words: tuple[str, ...]
    log_prob: float
    weights: Weights | None
    finished: bool

    def __repr__(self) -> str:
        """The words alone: a cell that ends in a translation should not print its whole map."""
        return f"Translation({' '.join(self.words)!r})"

    def trace(self, name: str = "cross") -> AttentionTrace:
        """The weights with a name for each row and column; the two ends are ``</s>``."""
        if self.weights is None:
            raise ValueError(f"{name}: there are no weights to show")
        end = SPECIALS[EOS]
        written = (*self.words, end) if self.finished else self.words
        return AttentionTrace.of(name, self.weights, query=written, key=(*self.source, end))


# ---------------------------------------------------------------------------- how a model is asked


@contextmanager
def answering(model: Any) -> Iterator[None]:
    """No gradient and no dropout inside; afterwards every part is as it was before."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    before = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


def device_of(model: Any) -> torch.device:
    """Where the model's parameters are; the CPU for a model without any."""
    parameters = model.parameters() if isinstance(model, nn.Module) else ()
    return next((p.device for p in parameters), torch.device("cpu"))


def source_of(
    model: Any, sentences: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> tuple[Int[Tensor, "batch source"], Int[Tensor, " batch"]]:
    """The sentences as the model reads them, where the model is: word numbers, and lengths."""
    source, lengths = encode_source(sentences, vocabulary)
    device = device_of(model)
    return source.to(device), lengths.to(device)


# ---------------------------------------------------------------------------- two searches


def greedy(
    model: Translator,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, " batch"],
    *,
    max_steps: int | None = None,
    encoded: Any = None,
) -> list[Hypothesis]:
    """Write the likeliest next word until ``EOS``: y_t = argmax_y p(y | y_<t, x).

    ``PAD`` and ``BOS`` are never written; ``UNK`` may be.

    source: word numbers, each row ending with ``EOS``; source_lengths count it.
    max_steps: how many tokens a sentence may have, its ``EOS`` included. Without it,
        max(20, 2·words + 10) for each sentence by itself.
    encoded: what ``model.encode`` makes of the source, if somebody has it already.
    """
    limits = _limits(source_lengths, max_steps)
    if not len(source):
        return []
    with answering(model):
        encoded = model.encode(source, source_lengths) if encoded is None else encoded
        state = model.start(encoded)
        token = torch.full_like(source_lengths, BOS)
        done = torch.zeros_like(source_lengths, dtype=torch.bool)
        lengths = torch.zeros_like(source_lengths)
        log_prob = None
        written, gained, looked = [], [], []
        for step in range(1, int(limits.max()) + 1):
            state, out = model.step(state, token, encoded)
            gains, token = _log_probabilities(out.logits).max(dim=-1)
            token = token.masked_fill(done, EOS)
            gains = gains.masked_fill(done, 0.0)
            log_prob = gains if log_prob is None else log_prob + gains
            lengths += ~done
            written.append(token)
            gained.append(gains)
            looked.append(out.weights)
            done = done | (token == EOS) | (step >= limits)
            if done.all():
                break
    assert log_prob is not None
    tokens, gains = torch.stack(written, 1), torch.stack(gained, 1)
    return _collect(tokens, lengths, log_prob, gains, _stack(looked), source_lengths)


def beam(
    model: Translator,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, " batch"],
    *,
    width: int,
    length_penalty: float = 0.0,
    max_steps: int | None = None,
) -> list[Hypothesis]:
    """Keep the ``width`` best beginnings of each sentence; hand back the best that is found.

    Beginnings are ranked as in Wu et al. 2016 ("Google's Neural Machine Translation System",
    section 7, without the coverage term):

        s(y, x) = log p(y | x) / lp(y),    lp(y) = ((5 + |y|) / (5 + 1))^α

    |y| counts the tokens, ``EOS`` included; α is ``length_penalty``, and 0 ranks by
    probability alone. A finished sentence stays in the beam, grows no more, and competes with
    the others; the search ends when no unfinished one can overtake the best. Width 1 is
    ``greedy``.

    Arguments as in ``greedy``. ``log_prob`` of a hypothesis is log p(y | x), not s.
    """
    if width < 1:
        raise ValueError(f"width={width} keeps nothing: a beam is 1 wide or wider")
    if length_penalty < 0:
        raise ValueError(f"length_penalty={length_penalty} rewards short sentences: use 0 or more")
    limits = _limits(source_lengths, max_steps)
    if not len(source):
        return []
    batch, rows = len(source), torch.arange(len(source), device=source.device)

    def penalty(lengths: Tensor) -> Tensor:
        return ((5.0 + lengths) / 6.0) ** length_penalty

    with answering(model):
        encoded = model.encode(source, source_lengths)
        state = model.start(encoded)
        # Slot k of sentence b is row b·width + k of every tensor that the model sees.
        spread = rows.repeat_interleave(width)
        encoded, state = select(encoded, spread), select(state, spread)
        token = torch.full_like(spread, BOS)
        done = torch.zeros((batch, width), dtype=torch.bool, device=source.device)
        lengths = torch.zeros_like(done, dtype=torch.long)
        log_prob = None
        written, gained, parents, looked = [], [], [], []
        for step in range(1, int(limits.max()) + 1):
            state, out = model.step(state, token, encoded)
            gains = _log_probabilities(out.logits).unflatten(0, (batch, width))
            if log_prob is None:  # all slots start alike: only the first one counts
                log_prob = gains.new_full((batch, width), float("-inf"))
                log_prob[:, 0] = 0.0
            gains = gains.masked_fill(done[..., None], float("-inf"))
            gains[..., EOS] = gains[..., EOS].masked_fill(done, 0.0)
            grown = lengths + ~done
            totals = log_prob[..., None] + gains
            ranks = (totals / penalty(grown)[..., None]).flatten(1)
            _, best = ranks.topk(width, dim=-1)

            parent, word = best // gains.shape[-1], best % gains.shape[-1]
            log_prob = totals.flatten(1).gather(1, best)
            lengths = grown.gather(1, parent)
            done = done.gather(1, parent) | (word == EOS) | (step >= limits)[:, None]
            written.append(word)
            gained.append(gains.flatten(1).gather(1, best))
            parents.append(parent)
            looked.append(None if out.weights is None else out.weights.unflatten(0, (batch, width)))

            # An unfinished sentence only loses probability, so this is the best it can become.
            reachable = torch.maximum(lengths, limits[:, None])
            hope = (log_prob / penalty(reachable)).masked_fill(done, float("-inf"))
            sure = (log_prob / penalty(lengths)).masked_fill(~done, float("-inf"))
            if (sure.amax(1) >= hope.amax(1)).all():
                break
            token = word.flatten()
            state = select(state, (rows[:, None] * width + parent).flatten())

    assert log_prob is not None
    slot = (log_prob / penalty(lengths)).masked_fill(~done, float("-inf")).argmax(dim=1)
    chosen = slot[:, None]
    log_prob, lengths = log_prob.gather(1, chosen)[:, 0], lengths.gather(1, chosen)[:, 0]
    tokens, terms, maps = [], [], []
    for word, gain, parent, weights in zip(
        *(reversed(each) for each in (written, gained, parents, looked)), strict=True
    ):
        tokens.append(word[rows, slot])
        terms.append(gain[rows, slot])
        slot = parent[rows, slot]
        # What a step looked at belongs to the beginning that it went on from.
        maps.append(None if weights is None else weights[rows, slot])
    words, gains = torch.stack(tokens[::-1], 1), torch.stack(terms[::-1], 1)
    return _collect(words, lengths, log_prob, gains, _stack(maps[::-1]), source_lengths)


# ---------------------------------------------------------------------------- whole sentences


def translate(
    model: Translator,
    sentences: Sequence[Pair] | Sequence[Sequence[str]],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    *,
    width: int = 1,
    length_penalty: float = 0.0,
    max_steps: int | None = None,
    copy_unknown: bool = False,
    batch_size: int = 128,
) -> list[Translation]:
    """Translate tokenised sentences (or the sources of pairs), in the order given.

    Sentences of like length go through the model together. An empty sentence is translated by
    an empty one, without asking the model.

    copy_unknown: put the source word that is looked at most where the model writes ``<unk>``
        (``replace_unknown``); needs a model with attention.
    """
    sources = [tuple(s.source if isinstance(s, Pair) else s) for s in sentences]
    for words in sources:
        if any(not word for word in words):
            raise ValueError(f"{words!r} holds an empty word: pass words as tokenize gives them")
    found = [
        Translation(source=words, words=(), log_prob=0.0, weights=None, finished=True)
        for words in sources
    ]
    for batch in in_batches([len(words) for words in sources], batch_size, width):
        source, source_lengths = source_of(model, [sources[i] for i in batch], source_vocab)
        if width == 1:
            hypotheses = greedy(model, source, source_lengths, max_steps=max_steps)
        else:
            hypotheses = beam(
                model,
                source,
                source_lengths,
                width=width,
                length_penalty=length_penalty,
                max_steps=max_steps,
            )
        for i, hypothesis in zip(batch, hypotheses, strict=True):
            words = tuple(target_vocab.decode(hypothesis.tokens))
            if copy_unknown:
                if hypothesis.weights is None:
                    raise ValueError("copy_unknown follows attention, and this model has none")
                words = replace_unknown(words, sources[i], hypothesis.weights)
            found[i] = Translation(
                source=sources[i],
                words=words,
                log_prob=hypothesis.log_prob,
                weights=hypothesis.weights,
                finished=hypothesis.finished,
            )
    return found


def replace_unknown(
    words: Sequence[str], source: Sequence[str], weights: Float[np.ndarray, "step key"]
) -> tuple[str, ...]:
    """Copy the source word that was looked at most for each ``<unk>``.

    The idea is Luong et al. 2015 ("Addressing the Rare Word Problem"), with attention in
    place of their position tokens, as Jean et al. 2015 do. A look at the ``EOS`` column
    copies nothing, so only real words compete.

    weights: at least a row for each word and a column for each source word; more are ignored.
    """
    if weights.shape[0] < len(words) or weights.shape[1] < len(source):
        raise ValueError(
            f"weights of shape {weights.shape} do not cover {len(words)} words "
            f"and {len(source)} source words"
        )
    if not source:
        return tuple(words)
    most = weights[: len(words), : len(source)].argmax(axis=1).tolist()
    return tuple(
        source[int(i)] if word == SPECIALS[UNK] else word
        for word, i in zip(words, most, strict=True)
    )


def forced_weights(model: Translator, batch: Batch) -> list[Weights] | None:
    """Where the model looks while it is made to write the gold words (teacher forcing).

    This is what alignments are read from: the words are the gold ones, so gold links can be
    compared. Row t holds the weights of the step that predicts word t; the last row predicts
    ``EOS``. Several heads are averaged. ``None`` from a model without attention.
    """
    with answering(model):
        device = device_of(model)
        source, source_lengths = batch.source.to(device), batch.source_lengths.to(device)
        target_in = batch.target[:, :-1].to(device)
        weights = model(source, source_lengths, target_in).weights.get("cross")
    if weights is None:
        return None
    table = _to_numpy(weights.mean(dim=1))
    return [
        row[: steps - 1, :keys]
        for row, steps, keys in zip(
            table, batch.target_lengths.tolist(), batch.source_lengths.tolist(), strict=True
        )
    ]


# ---------------------------------------------------------------------------- helpers


def _limits(source_lengths: Int[Tensor, " batch"], max_steps: int | None) -> Tensor:
    if max_steps is None:
        return (2 * (source_lengths - 1) + 10).clamp(min=20)
    if max_steps < 1:
        raise ValueError(f"max_steps={max_steps} lets nothing be written: use 1 or more")
    return torch.full_like(source_lengths, max_steps)


def _log_probabilities(logits: Float[Tensor, "batch vocab"]) -> Float[Tensor, "batch vocab"]:
    """log p(y), what the model says; then PAD and BOS are struck out, not shared out again."""
    precise = torch.promote_types(logits.dtype, torch.float32)
    log_p = logits.log_softmax(dim=-1, dtype=precise)
    log_p[:, _NEVER_WRITTEN] = float("-inf")
    return log_p


def in_batches(lengths: Sequence[int], batch_size: int, width: int = 1) -> Iterator[list[int]]:
    """Row numbers in batches of like length; rows of length 0 are left out.

    Longest first, so that memory runs out at once or never. Each row takes ``width`` places.
    """
    order = sorted((i for i, n in enumerate(lengths) if n), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        room = _POSITIONS_AT_ONCE // (width * (lengths[order[start]] + 1))
        end = start + max(1, min(batch_size // width, room))
        yield order[start:end]
        start = end


def _stack(steps: Sequence[Tensor | None]) -> Float[Tensor, "batch step key"] | None:
    present = [weights for weights in steps if weights is not None]
    return torch.stack(present, dim=1) if present else None


def _to_numpy(tensor: Tensor) -> np.ndarray:
    precise = torch.promote_types(tensor.dtype, torch.float32)  # numpy has no bfloat16
    return tensor.to(precise).cpu().numpy()


def _collect(
    tokens: Int[Tensor, "batch step"],
    lengths: Int[Tensor, " batch"],
    log_prob: Float[Tensor, " batch"],
    gains: Float[Tensor, "batch step"],
    weights: Float[Tensor, "batch step key"] | None,
    source_lengths: Int[Tensor, " batch"],
) -> list[Hypothesis]:
    table = None if weights is None else _to_numpy(weights)
    rows = zip(
        tokens.tolist(),
        lengths.tolist(),
        log_prob.tolist(),
        gains.tolist(),
        source_lengths.tolist(),
        strict=True,
    )
    found = []
    for b, (words, length, total, terms, keys) in enumerate(rows):
        finished = words[length - 1] == EOS
        found.append(
            Hypothesis(
                tokens=words[: length - 1] if finished else words[:length],
                log_prob=total,
                log_probs=terms[:length],
                weights=None if table is None else table[b, :length, :keys].copy(),
                finished=finished,
            )
        )
    return found
