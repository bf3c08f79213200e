"""What our choices cost or gain, as ratios: two ways side by side, turn about, on one thread.

A ratio travels from one machine to another better than a time. Each line is the median of some
turns; a turn runs one way and then the other, so that both meet the same weather. Words are drawn
at random: only speed is measured here.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.attention import Attention
from heed.data.batches import Batch
from heed.data.tapes import CopyTapes
from heed.data.vocabulary import PAD
from heed.evaluation.decoding import greedy
from heed.experiments.table import find
from heed.masks import causal, padding
from heed.models.lstmn import LSTMN
from heed.models.ntm import NTM, NTMConfig
from heed.models.transformer import Transformer, TransformerConfig
from heed.models.translator import DecoderOutput
from heed.scores import Additive, ScaledDot
from heed.training.loop import Precision, train
from heed.training.objectives import translation_loss

TURNS = 7
WORDS = 6_000
SENTENCES, SOURCE, TARGET = 64, 12, 14

Way = Callable[[], object]


def seconds(way: Way) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


def ratio(way: Way, other: Way, turns: int = TURNS) -> float:
    """How many times as long `way` takes as `other`."""
    way(), other()  # the first time pays for what is set up once
    return statistics.median(seconds(way) / seconds(other) for _ in range(turns))


def a_batch() -> Batch:
    source = torch.randint(4, WORDS, (SENTENCES, SOURCE))
    target = torch.randint(4, WORDS, (SENTENCES, TARGET))
    return Batch(
        source=source,
        source_lengths=torch.full((SENTENCES,), SOURCE),
        target=target,
        target_lengths=torch.full((SENTENCES,), TARGET),
    )


def everyday_translator() -> nn.Module:
    row = find("bahdanau_everyday")
    return row.build(row.config(source_vocab=WORDS, target_vocab=WORDS))


def training(precision: Precision) -> Way:
    """One training step of the everyday translator."""
    model, batch = everyday_translator(), a_batch()
    config = replace(find("bahdanau_everyday").train, precision=precision)
    endless = iter(lambda: batch, None)
    steps = train(model, endless, lambda m, b: translation_loss(m, b, label_smoothing=0.1), config)
    return lambda: next(steps)


class Fixed(nn.Module):
    """A translator that has made up its mind: the same scores whatever it is asked."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, *_: Tensor) -> DecoderOutput:
        return DecoderOutput(self.logits, {})


def cross_entropy(ours: bool) -> Way:
    """Loss and its gradient on a table of scores."""
    batch = a_batch()
    logits = torch.randn(SENTENCES, TARGET - 1, WORDS, requires_grad=True)
    wanted = batch.target[:, 1:].flatten()

    def our_loss() -> Tensor:
        return translation_loss(Fixed(logits), batch, label_smoothing=0.1)

    def their_loss() -> Tensor:
        scores = logits.flatten(0, 1)
        return F.cross_entropy(scores, wanted, label_smoothing=0.1, ignore_index=PAD)

    loss = our_loss if ours else their_loss
    return lambda: torch.autograd.grad(loss(), logits)


def attending(score: Additive | ScaledDot, length: int = 64, d: int = 128) -> Way:
    attention, query, keys = Attention(score), torch.randn(1, length, d), torch.randn(1, length, d)

    def look() -> None:
        with torch.inference_mode():
            attention(query, keys, keys)

    return look


def decoding(together: bool) -> Way:
    """Greedy translation of a batch, at once or sentence by sentence."""
    model, batch = everyday_translator().eval(), a_batch()
    rows = [slice(None)] if together else [slice(i, i + 1) for i in range(SENTENCES)]

    def translate() -> None:
        for row in rows:
            greedy(model, batch.source[row], batch.source_lengths[row], max_steps=TARGET)

    return translate


def reading(how: str, texts: int = 64, words: int = 24, d: int = 128) -> Way:
    """Texts read forwards and learnt from. ``"lstmn"``: ours, all at once; ``"tapes"``: in its
    plainest form, which copies the tapes at each step; ``"lstm"``: an LSTM, step by step."""
    inputs, zeros = torch.randn(texts, words, d), torch.zeros(texts, d)
    layer: nn.Module = nn.LSTMCell(d, d)
    if how != "lstm":
        layer = LSTMN(d_input=d, d_state=d, d_align=d)

    def at_once() -> Tensor:
        return layer(inputs).h

    def by_tapes() -> Tensor:
        assert isinstance(layer, LSTMN)
        state, read = layer.start(zeros, zeros), []
        for x in inputs.unbind(1):
            state, out = layer.step(state, x)
            read.append(out.h)
        return torch.stack(read, 1)

    def by_cell() -> Tensor:
        state, read = (zeros, zeros), []
        for x in inputs.unbind(1):
            state = layer(x, state)
            read.append(state[0])
        return torch.stack(read, 1)

    way = {"lstmn": at_once, "tapes": by_tapes, "lstm": by_cell}[how]
    return lambda: torch.autograd.grad(way().sum(), list(layer.parameters()))


def copying(sequences: int, *, machine: bool = True) -> Way:
    """Ten vectors copied, forwards and backwards: by the paper's NTM, or an ``nn.LSTM`` that reads
    as many steps and whose outputs are summed up."""
    tape = CopyTapes().tape(sequences, torch.Generator().manual_seed(0), length=10)
    model = NTM(NTMConfig(d_input=9, d_output=8)) if machine else nn.LSTM(9, 100, batch_first=True)

    def loss() -> Tensor:
        if not machine:
            return model(tape.inputs)[0].sum()
        logits, wanted = model(tape.inputs).logits, tape.targets
        return F.binary_cross_entropy_with_logits(logits[:, tape.scored], wanted[:, tape.scored])

    return lambda: torch.autograd.grad(loss(), list(model.parameters()))


def attending_alone(how: str) -> Way:
    """One training step of a small Transformer. ``"ours"`` (post-norm, no map asked for);
    ``"asked"``: the same, all maps handed out; ``"theirs"``: PyTorch's ``nn.Transformer``, whose
    one norm more costs next to nothing. Nothing is dropped: PyTorch drops in more places."""
    d, inner, heads, layers, batch = 128, 512, 4, 3, a_batch()
    model = Transformer(
        TransformerConfig(
            source_vocab=WORDS,
            target_vocab=WORDS,
            d_model=d,
            d_inner=inner,
            heads=heads,
            encoder_layers=layers,
            decoder_layers=layers,
            dropout=0.0,
            bias=True,
        )
    )
    theirs = nn.Transformer(d, heads, layers, layers, inner, 0.0, batch_first=True)
    keep = padding(batch.source_lengths, SOURCE)[:, 0]
    ahead = ~causal(TARGET - 1)

    class Theirs(nn.Module):
        """PyTorch's layers between our embeddings and our output."""

        def __init__(self) -> None:
            super().__init__()
            self.ours, self.layers = model, theirs

        def forward(self, source: Tensor, _: Tensor, target_in: Tensor) -> DecoderOutput:
            x, y = (
                table(words) * d**0.5 + model.positions_source(words.shape[1])
                for table, words in (
                    (model.embed_source, source),
                    (model.embed_target, target_in),
                )
            )
            y = self.layers(
                x,
                y,
                tgt_mask=ahead,
                src_key_padding_mask=~keep,
                memory_key_padding_mask=~keep,
            )
            return DecoderOutput(model.output(y), {})

    class Asked(nn.Module):
        """Ours, with every map."""

        def __init__(self) -> None:
            super().__init__()
            self.ours = model

        def forward(self, *read: Tensor) -> DecoderOutput:
            return self.ours(*read, weights=True)

    net = {"ours": model, "asked": Asked(), "theirs": Theirs()}[how]
    used = (
        [*model.parameters()]
        if how != "theirs"
        else [model.embed_source.weight, model.output.weight, *theirs.parameters()]
    )
    return lambda: torch.autograd.grad(translation_loss(net, batch), used)


def comparisons() -> Iterator[tuple[str, float]]:
    yield (
        "training step, bfloat16 against float32",
        ratio(training("bfloat16"), training("float32")),
    )
    yield (
        "cross-entropy, ours against PyTorch's",
        ratio(cross_entropy(ours=True), cross_entropy(ours=False)),
    )
    additive, scaled = Additive(d_q=128, d_k=128, d_hidden=128), ScaledDot()
    yield (
        "attention of 64 words, additive against scaled dot",
        ratio(attending(additive), attending(scaled), turns=50),
    )
    yield (
        "LSTMN with its tapes written in place against copied ones",
        ratio(reading("lstmn"), reading("tapes")),
    )
    yield "LSTMN against an LSTM, step by step", ratio(reading("lstmn"), reading("lstm"))
    yield (
        "NTM against nn.LSTM(9, 100), 21 steps of 16 sequences",
        ratio(copying(16), copying(16, machine=False), turns=30),
    )
    for few in (1, 16):
        yield (
            f"NTM, {20 * few} sequences at once against {few}",
            ratio(copying(20 * few), copying(few)),
        )
    yield (
        "Transformer, a training step against PyTorch's layers",
        ratio(attending_alone("ours"), attending_alone("theirs"), turns=15),
    )
    yield (
        "Transformer, a training step with every map against without",
        ratio(attending_alone("asked"), attending_alone("ours"), turns=15),
    )
    yield (
        f"{SENTENCES} sentences translated one by one against all at once",
        ratio(decoding(together=False), decoding(together=True), turns=3),
    )


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("\nratios of time")
    for what, times in comparisons():
        print(f"  {what:58} {times:7.2f} ×", flush=True)


if __name__ == "__main__":
    main()
