"""All systems in one table (a Sphinx extension): ``{heed-systems}`` of book/systems.md.

Who asks, what is looked at, what is hidden and what comes out are words, and stand in ``SYSTEMS``.
How large a map is, which score made it, what its rows add up to, what a hidden place gets and how
far the first row can see is asked of a small instance of each system, with random weights, whenever
the book is built.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from book_ledger import chapter
from docutils import nodes
from jaxtyping import Float
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from torch import Tensor, nn

from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.lstmn import LSTMNTranslator, LSTMNTranslatorConfig
from heed.models.luong import Luong, LuongConfig
from heed.models.ntm import NTM, NTMConfig
from heed.models.pointer import PointerConfig, PointerNetwork
from heed.models.sagan import SAGAN, SAGANConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from heed.models.snail import SNAIL, SNAILConfig
from heed.models.transformer import Transformer, TransformerConfig
from heed.scores import Score

WORDS, SHORT, STEPS = 7, 4, 5
"""A sentence of seven words, another of four beside it, five words to be written."""

# ------------------------------------------------------------------ what is asked


@dataclass(frozen=True)
class Look:
    """What a small instance showed.

    whole: the map of an example without padding; padded: the columns of padding in the map of
    another example, in the rows that are real; ``None`` where a system knows no padding.
    scores: the classes of its scores
    taken: what was brought home of a row, where that is not what the row says
    """

    whole: Float[Tensor, "head query key"]
    padded: Float[Tensor, "head query key"] | None
    scores: tuple[str, ...]
    taken: Float[Tensor, "query key"] | None = None


@dataclass(frozen=True)
class Facts:
    """What a map says of its system: the columns of the table that nobody wrote.

    shape: heads, rows, columns; total: what a row adds up to; hidden: what padding gets, a dash
    where there is none
    reach: how many of the columns the first row can see
    """

    shape: tuple[int, int, int]
    score: str
    total: str
    hidden: str
    reach: str


def facts(look: Look | None) -> Facts | None:
    """Nothing of a system that has no map."""
    if look is None:
        return None
    heads, queries, keys = look.whole.shape
    sums = look.whole.sum(dim=-1)
    if torch.allclose(sums, torch.ones_like(sums), atol=1e-5):
        total = "1"
    elif bool((sums < 1).all()):
        total = "less than 1"
    else:
        total = f"{sums.min():.2f} to {sums.max():.2f}"
    if look.taken is not None:
        places = {int(n) for n in (look.taken > 0).sum(dim=-1)}
        total += f"; taken: {min(places)} place" if places == {1} else ""
    if look.padded is None:
        hidden = "–"
    else:
        hidden = "0" if bool((look.padded == 0).all()) else f"up to {look.padded.max():.2f}"
    seen = int((look.whole[:, 0] > 0).any(dim=0).sum())
    return Facts(
        (heads, queries, keys),
        ", ".join(look.scores) or "none",
        total,
        hidden,
        "all" if seen == keys else f"{seen} of {keys}",
    )


def scores(model: nn.Module) -> tuple[str, ...]:
    """The classes of all scores in it, each once."""
    found = (type(part).__name__ for part in model.modules() if isinstance(part, Score))
    return tuple(dict.fromkeys(found))


def shaken(model: nn.Module) -> nn.Module:
    """Every number random, so that nothing is 0 by habit."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.eval()


def sentences() -> tuple[Tensor, Tensor, Tensor]:
    """Two source sentences, their lengths, and two beginnings of translations."""
    source, target = torch.randint(4, 11, (2, WORDS)), torch.randint(4, 11, (2, STEPS))
    source[1, SHORT:] = 0
    return source, torch.tensor([WORDS, SHORT]), target


def translated(model: nn.Module, name: str = "cross", *, own: bool = False) -> Look:
    """The map of that name. own: a text that looks at itself, so that padding asks, too."""
    shaken(model)
    out = model(*sentences())
    weights = (out.maps if name not in out.weights else out.weights)[name]
    rows = SHORT if own else None
    return Look(weights[0], weights[1, :, :rows, SHORT:], scores(model))


def seq2seq() -> None:
    """No map: nothing of the source is left to look at."""
    model = shaken(Seq2Seq(Seq2SeqConfig(source_vocab=11, target_vocab=11)))
    assert model(*sentences()).weights == {}


def bahdanau() -> Look:
    return translated(Bahdanau(BahdanauConfig(source_vocab=11, target_vocab=11)))


def luong(attention: str) -> Look:
    config = LuongConfig(source_vocab=11, target_vocab=11, attention=attention, D=2)  # type: ignore[arg-type]
    return translated(Luong(config))


def lstmn() -> Look:
    config = LSTMNTranslatorConfig(source_vocab=11, target_vocab=11)
    return translated(LSTMNTranslator(config), "encoder", own=True)


def transformer(place: str) -> Look:
    config = TransformerConfig(
        source_vocab=11, target_vocab=11, d_model=16, d_inner=16, encoder_layers=1, decoder_layers=1
    )
    look = translated(Transformer(config), f"{place} 1", own=place == "encoder")
    if place != "decoder":
        return look
    return Look(look.whole, None, look.scores)  # what is written has no padding while it is written


def show_attend_tell(attention: str) -> Look:
    config = ShowAttendTellConfig(vocab=11, channels=(4, 4, 8), attention=attention)  # type: ignore[arg-type]
    model = shaken(ShowAttendTell(config))
    out = model(torch.rand(1, 3, 64, 64), torch.randint(4, 11, (1, STEPS)))
    weights = out.weights["cross"][0]
    if attention == "soft":
        return Look(weights, None, scores(model))
    places = nn.functional.one_hot(out.glimpses[0], weights.shape[-1]).float()
    return Look(weights, None, scores(model), taken=places)


def ntm() -> Look:
    model = shaken(NTM(NTMConfig(d_input=3, d_output=3, d_controller=8, slots=8, d_slot=4)))
    return Look(model(torch.rand(1, STEPS, 3)).weights[0], None, scores(model))


def pointer() -> Look:
    model = shaken(PointerNetwork(PointerConfig(d_hidden=8)))
    points, lengths = torch.rand(2, WORDS, 2), torch.tensor([WORDS, SHORT])
    answers = torch.tensor([[3, 1, 2, 4, 0]] * 2)
    weights = model(points, answers, lengths).weights
    return Look(weights[:1], weights[1:, :, SHORT + 1 :], scores(model))  # key 0 is ⇐


def snail() -> Look:
    model = shaken(SNAIL(SNAILConfig(channels=4, d_picture=8, longest=WORDS)))
    labels = torch.randint(0, 5, (2, WORDS))
    labels[0, WORDS - 1] = labels[1, SHORT - 1] = -1
    found = model(torch.rand(2, WORDS, 28, 28), labels, torch.tensor([WORDS, SHORT]))
    weights = found.weights["attention 1"]
    return Look(weights[:1], weights[1:, :SHORT, SHORT:], scores(model))


def sagan() -> Look:
    model = shaken(SAGAN(SAGANConfig(generator=(16, 16, 16), discriminator=(16, 16, 16))))
    return Look(model(torch.randn(1, 16), weights=True).weights, None, scores(model.mean))


# ------------------------------------------------------------------ what is said


@dataclass(frozen=True, kw_only=True)
class System:
    """One line of the table. ``probe`` builds and asks it; all else is words."""

    name: str
    year: int
    where: str
    chapter: str
    asks: str
    looked_at: str
    keep: str
    normaliser: str
    out: str
    probe: Callable[[], Look | None]

    def facts(self) -> Facts | None:
        """Asked anew, always with the same random numbers."""
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(0)
            return facts(self.probe())


SENTENCE = "padding is hidden"
SOURCE = "each word of the source: its state"

SYSTEMS: Sequence[System] = (
    System(
        name="Sequence to sequence",
        year=2014,
        where="models.seq2seq.Seq2Seq",
        chapter="02_bottleneck",
        asks="nobody",
        looked_at="nothing; the last state of the source was handed over",
        keep="–",
        normaliser="–",
        out="a word",
        probe=seq2seq,
    ),
    System(
        name="Additive attention (Bahdanau)",
        year=2014,
        where="models.bahdanau.Bahdanau",
        chapter="03_additive",
        asks="each word to be written: the state before its step",
        looked_at=SOURCE + " in both directions",
        keep=SENTENCE,
        normaliser="softmax",
        out="a mean of the states, for the step",
        probe=bahdanau,
    ),
    System(
        name="Neural Turing Machine",
        year=2014,
        where="models.ntm.NTM",
        chapter="08_neural_turing_machine",
        asks="each head at each step: a key, and four commands more",
        looked_at="each slot of a memory that changes",
        keep="nothing is hidden",
        normaliser="softmax of β · cosine, mixed with where it was, shifted round, sharpened",
        out="a mean of the slots; or where to erase and add",
        probe=ntm,
    ),
    System(
        name="Show, Attend and Tell, soft",
        year=2015,
        where="models.show_attend_tell.ShowAttendTell",
        chapter="06_soft_hard",
        asks="each word to be written: the state before its step",
        looked_at="each place of a picture",
        keep="nothing is hidden",
        normaliser="softmax",
        out="a mean of the places, through a gate",
        probe=lambda: show_attend_tell("soft"),
    ),
    System(
        name="Show, Attend and Tell, hard",
        year=2015,
        where='ShowAttendTellConfig(attention="hard")',
        chapter="06_soft_hard",
        asks="the same",
        looked_at="each place of a picture",
        keep="nothing is hidden",
        normaliser="softmax, then one place is thrown (at rest, the likeliest)",
        out="one place",
        probe=lambda: show_attend_tell("hard"),
    ),
    System(
        name="Pointer Network",
        year=2015,
        where="models.pointer.PointerNetwork",
        chapter="09_pointer_network",
        asks="each step of the answer: the state after it",
        looked_at="each point, and ⇐",
        keep="padding is hidden, and what the rule forbids",
        normaliser="softmax",
        out="the weights themselves",
        probe=pointer,
    ),
    System(
        name="Luong, global",
        year=2015,
        where="models.luong.Luong",
        chapter="07_global_local",
        asks="each word to be written: the state after its step",
        looked_at=SOURCE,
        keep=SENTENCE,
        normaliser="softmax",
        out="a mean of the states, for the word and for the next step",
        probe=lambda: luong("global"),
    ),
    System(
        name="Luong, local-m",
        year=2015,
        where='LuongConfig(attention="local_m")',
        chapter="07_global_local",
        asks="the same",
        looked_at=SOURCE,
        keep="padding is hidden, and all that is further than D from the place of the same number",
        normaliser="softmax in the window",
        out="the same",
        probe=lambda: luong("local_m"),
    ),
    System(
        name="Luong, local-p",
        year=2015,
        where='LuongConfig(attention="local_p")',
        chapter="07_global_local",
        asks="the same; it also says a place",
        looked_at=SOURCE,
        keep="padding is hidden, and all that is further than D from that place",
        normaliser="softmax in the window, times a Gaussian",
        out="the same",
        probe=lambda: luong("local_p"),
    ),
    System(
        name="LSTMN",
        year=2016,
        where="models.lstmn.LSTMN",
        chapter="05_self_attention",
        asks="each word that is read: it, and the last look",
        looked_at="each word before it, and the null slot",
        keep="what is still to be read is not there",
        normaliser="softmax",
        out="a mean of both tapes: the memory to go on from",
        probe=lstmn,
    ),
    System(
        name="Transformer, encoder",
        year=2017,
        where="models.transformer.EncoderLayer",
        chapter="10_transformer",
        asks="each word of the source, in each head",
        looked_at="each word of the source",
        keep=SENTENCE,
        normaliser="softmax",
        out="a mean of the values of each head, side by side",
        probe=lambda: transformer("encoder"),
    ),
    System(
        name="Transformer, decoder",
        year=2017,
        where="models.transformer.DecoderLayer",
        chapter="10_transformer",
        asks="each word that was written, in each head",
        looked_at="each word that was written",
        keep="what comes later is hidden",
        normaliser="softmax",
        out="the same",
        probe=lambda: transformer("decoder"),
    ),
    System(
        name="Transformer, cross",
        year=2017,
        where="models.transformer.DecoderLayer",
        chapter="10_transformer",
        asks="each word that was written, in each head",
        looked_at="each word of the source",
        keep=SENTENCE,
        normaliser="softmax",
        out="the same",
        probe=lambda: transformer("cross"),
    ),
    System(
        name="SNAIL",
        year=2017,
        where="models.snail.SNAIL",
        chapter="11_snail",
        asks="each step of an episode",
        looked_at="each step of the episode, itself among them",
        keep="what comes later is hidden",
        normaliser="softmax",
        out="a mean of the values, put beside what was there",
        probe=snail,
    ),
    System(
        name="SAGAN",
        year=2018,
        where="models.sagan.SAGAN",
        chapter="12_sagan",
        asks="each pixel of a map",
        looked_at="each place of the map (in the authors' program, maxima of 2 × 2)",
        keep="nothing is hidden",
        normaliser="softmax",
        out="a mean of the places, times γ, added to the pixel",
        probe=sagan,
    ),
)

HEAD = (
    "system",
    "who asks",
    "what is looked at",
    "map: heads × rows × columns",
    "score",
    "what is hidden, and what padding gets",
    "what makes a row, and its sum",
    "the first row sees",
    "what comes out",
)
Part = tuple[str, bool]
"""Words, and whether they were asked of the code."""


def cells(system: System) -> Iterator[list[Part]]:
    """A line of the table after its first cell."""
    found = system.facts()
    yield [(system.asks, False)]
    yield [(system.looked_at, False)]
    if found is None:
        yield from ([("–", True)] for _ in range(2))
        yield from ([("–", False)] for _ in range(2))
        yield [("–", True)]
    else:
        yield [(" × ".join(map(str, found.shape)), True)]
        yield [(found.score, True)]
        padding = [(": ", False), (found.hidden, True)] if found.hidden != "–" else []
        yield [(system.keep, False), *padding]
        yield [(f"{system.normaliser}: ", False), (found.total, True)]
        yield [(found.reach, True)]
    yield [(system.out, False)]


# ------------------------------------------------------------------ in Sphinx


class Systems(SphinxDirective):
    """``{heed-systems}``. On a phone each line is a card, and every cell says its column."""

    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=len(HEAD))
        group += [nodes.colspec(colwidth=1) for _ in HEAD]
        group += nodes.thead("", nodes.row("", *(nodes.entry("", text(name)) for name in HEAD)))
        group += nodes.tbody("", *map(self.line, SYSTEMS))
        table = nodes.table("", group)
        return [nodes.container("", table, classes=["heed-facts", "heed-cards"])]

    def line(self, system: System) -> nodes.row:
        first = nodes.paragraph(
            "", "", nodes.strong("", system.name), nodes.Text(f", {system.year}")
        )
        first += [nodes.Text("; "), chapter(system.chapter, self.env), nodes.Text("; ")]
        first += nodes.literal("", system.where)
        row = nodes.row("", nodes.entry("", first))
        for name, parts in zip(HEAD[1:], cells(system), strict=True):
            said = nodes.inline()
            said += [nodes.strong("", it) if asked else nodes.Text(it) for it, asked in parts]
            label = nodes.inline("", name, classes=["heed-column"])
            row += nodes.entry("", nodes.paragraph("", "", label, said))
        return row


def text(words: str) -> nodes.paragraph:
    return nodes.paragraph("", words)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("heed-systems", Systems)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
