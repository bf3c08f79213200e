"""Every trained model of the book, in one table."""

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from torch import nn

from heed.data.bandits import BanditData
from heed.data.corpora import (
    CopyData,
    EverydayData,
    GrammarData,
    LargeGrammarData,
    ReverseData,
    ShortGrammarData,
)
from heed.data.english import EnglishData
from heed.data.episodes import EpisodeData
from heed.data.prose import ProseData
from heed.data.recall import RecallData
from heed.data.scenes import SceneData
from heed.data.tapes import (
    CopyTapes,
    NGramTapes,
    RecallTapes,
    RepeatTapes,
    SortTapes,
    TapeData,
)
from heed.data.tours import HullData, SortData, TourData
from heed.data.twins import TwinData
from heed.experiments.bandits import Plays
from heed.experiments.captioning import Describes
from heed.experiments.episodes import Recognises
from heed.experiments.everyday import ReadsEveryday
from heed.experiments.exactness import TranslatesExactly
from heed.experiments.halves import ReadsHalves
from heed.experiments.language import Reads
from heed.experiments.pointing import Points
from heed.experiments.recall import Recalls
from heed.experiments.tapes import Answers
from heed.experiments.tasks import DataConfig, Kind, Task
from heed.experiments.translation import Translates
from heed.experiments.twins import Paints
from heed.models.bahdanau import Bahdanau, BahdanauConfig
from heed.models.halves import HalfReader, HalfReaderConfig
from heed.models.lstmn import (
    LSTMLanguageConfig,
    LSTMLanguageModel,
    LSTMNLanguageConfig,
    LSTMNLanguageModel,
    LSTMNTranslator,
    LSTMNTranslatorConfig,
    Recall,
    RecallConfig,
)
from heed.models.luong import Luong, LuongConfig
from heed.models.meta_lstm import EpisodeLSTM, EpisodeLSTMConfig, LSTMPolicy, LSTMPolicyConfig
from heed.models.ntm import NTM, NTMConfig, StackedLSTM, StackedLSTMConfig
from heed.models.pointer import PointerConfig, PointerNetwork
from heed.models.prototypes import Prototypes, PrototypesConfig
from heed.models.sagan import SAGAN, SAGANConfig
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from heed.models.snail import SNAIL, SNAILConfig, SNAILPolicy, SNAILPolicyConfig
from heed.models.transformer import Norm, Transformer, TransformerConfig
from heed.scores import ScoreName
from heed.training.episodes import EpisodeTrainConfig
from heed.training.loop import TrainConfig
from heed.training.policy import PolicyTrainConfig
from heed.training.warmup import PaperTrainConfig

REPOSITORY = Path(__file__).resolve().parents[3]


class UnknownExperiment(LookupError):
    """No row of the table has this name."""


def trained_folder() -> Path:
    """Where shipped weights lie: ``data/trained``, or what ``HEED_TRAINED`` says."""
    return Path(os.environ.get("HEED_TRAINED", REPOSITORY / "data" / "trained"))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence in the prose that a number must back up.

    ``metric`` is a name on the card; a dot goes into a group (``bleu_by_length.26-45``). The mean
    over seeds must be at least, or at most, the bound; with ``times`` the bound is that many times
    another number, with ``above`` that much more than it. The other number may be on another
    card: ``seq2seq_grammar:bleu``.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    times: str | None = None
    above: str | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"a claim on {self.metric} needs at_least or at_most, one of them")
        if self.times is not None and self.above is not None:
            raise ValueError(f"a claim on {self.metric} cannot be both times and above")

    def holds(self, value: float, other: float | None = None) -> bool:
        """Whether the number, next to the ``times`` or ``above`` one, is on the right side."""
        return (
            value >= self.bound(other) if self.at_least is not None else value <= self.bound(other)
        )

    def bound(self, other: float | None = None) -> float:
        """The number on the other side of the comparison."""
        figure = self.at_least if self.at_least is not None else self.at_most
        assert figure is not None
        if self.times is None and self.above is None:
            return figure
        if other is None:
            raise ValueError(
                f"the claim on {self.metric} is relative to {self.times or self.above}"
            )
        return figure * other if self.times is not None else figure + other

    def __str__(self) -> str:
        figure = self.at_least if self.at_least is not None else self.at_most
        relation = f" × {self.times}" if self.times else f" + {self.above}" if self.above else ""
        return f"{self.metric} {'≤' if self.at_least is None else '≥'} {figure:g}{relation}"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One row: which model, on which data, trained how, and what the prose says about it.

    ``task`` is the kind of problem, see ``heed.experiments.tasks``. ``config`` makes the model's
    config once the task's ``sizes`` are known (of vocabularies, say); everything else in it is
    fixed here. ``trained`` is False for sizes that stand here to be read and scaled up to, and for
    which no weights are shipped. ``half`` stores the weights as float16. ``page_bytes`` is what the
    model may weigh in a page: ``python -m heed export`` rounds its largest matrices until it does;
    ``page_short`` rounds the others, too, for gzip's sake.
    """

    name: str
    chapter: str
    title: str
    build: Callable[[Any], nn.Module]
    config: partial
    data: DataConfig
    train: TrainConfig
    task: Kind = field(default_factory=Translates)
    seeds: tuple[int, ...] = (0, 1, 2)
    claims: tuple[Claim, ...] = ()
    half: bool = True
    page_bytes: int = 4_000_000
    page_short: bool = False
    trained: bool = True
    notes: str = ""

    def sized(self, known: Mapping[str, Any]) -> Any:
        """The model's config, once it is known what the task's files say."""
        return self.config(**self.task.sizes(known))

    def load(self, places: Mapping[str, Path] | None = None) -> Task:
        """The row's task with its data; see ``Kind.load`` for places."""
        return self.task.load(self.data, places or {})

    @property
    def folder(self) -> Path:
        """Where the shipped weights and their card lie."""
        return trained_folder() / self.name

    @property
    def recipe(self) -> dict[str, Any]:
        """What two runs must share to be compared: model settings, data, training."""
        return {
            "model": dict(self.config.keywords),
            "data": asdict(self.data),
            "train": asdict(self.train),
        }


def table(*experiments: Experiment) -> dict[str, Experiment]:
    """The rows by name."""
    by_name = {row.name: row for row in experiments}
    if len(by_name) != len(experiments):
        raise ValueError("two experiments share a name")
    return by_name


def find(name: str, experiments: Mapping[str, Experiment] | None = None) -> Experiment:
    """The row of that name; ``UnknownExperiment`` names the nearest ones."""
    experiments = EXPERIMENTS if experiments is None else experiments
    if name in experiments:
        return experiments[name]
    near = difflib.get_close_matches(name, experiments, n=2, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "see python -m heed list"
    raise UnknownExperiment(f"there is no experiment {name!r}; {hint}")


# ------------------------------------------------------------------------------------ the rows

ON_GRAMMAR = TrainConfig(steps=3_000, batch_size=128, lr=3e-3, warmup=300, precision="bfloat16")
ON_EVERYDAY = TrainConfig(
    steps=10_000, batch_size=128, lr=2.5e-3, warmup=500, label_smoothing=0.1, precision="bfloat16"
)


def bahdanau_reverse() -> Experiment:
    return Experiment(
        name="bahdanau_reverse",
        chapter="03_additive",
        title="The smallest one: letters back to front, in about a minute",
        build=Bahdanau,
        config=partial(
            BahdanauConfig, d_embedding=32, d_encoder=48, d_state=64, d_align=32, d_maxout=32
        ),
        data=ReverseData(),
        train=TrainConfig(steps=1_000, batch_size=64, lr=3e-3, warmup=50),
        claims=(Claim(metric="exact_match", at_least=0.9), Claim(metric="aer", at_most=0.1)),
        trained=False,
        notes="it is there to try the machinery; train it yourself",
    )


def seq2seq_grammar() -> Experiment:
    return Experiment(
        name="seq2seq_grammar",
        chapter="02_bottleneck",
        title="Two LSTMs and one vector between them, on the grammar",
        build=Seq2Seq,
        config=partial(
            Seq2SeqConfig, d_embedding=96, d_hidden=192, layers=2, reverse_source=True, dropout=0.1
        ),
        data=GrammarData(),
        train=ON_GRAMMAR,
        page_short=True,
    )


def seq2seq_forward_grammar() -> Experiment:
    """The same, reading the source from front to back: what is reversal worth?"""
    reversed_ = seq2seq_grammar()
    return replace(
        reversed_,
        name="seq2seq_forward_grammar",
        title="The same two LSTMs, the source read from front to back",
        config=partial(reversed_.config, reverse_source=False),
    )


def seq2seq_grammar_large() -> Experiment:
    """The same, given three times the sentences and twice the steps."""
    small = seq2seq_grammar()
    return replace(
        small,
        name="seq2seq_grammar_large",
        title="The same two LSTMs, three times the sentences and twice the steps",
        data=LargeGrammarData(),
        train=replace(ON_GRAMMAR, steps=6_000),
    )


def bahdanau_grammar() -> Experiment:
    return Experiment(
        name="bahdanau_grammar",
        chapter="03_additive",
        title="Additive attention on the grammar",
        build=Bahdanau,
        config=partial(
            BahdanauConfig,
            d_embedding=96,
            d_encoder=96,
            d_state=144,
            d_align=64,
            d_maxout=96,
            dropout=0.1,
        ),
        data=GrammarData(),
        train=ON_GRAMMAR,
        page_bytes=850_000,
        claims=(
            Claim(metric="bleu_by_length.26-45", at_least=0.9, times="bleu_by_length.9-15"),
            Claim(
                metric="bleu_by_length.26-45",
                at_least=1.5,
                times="seq2seq_grammar:bleu_by_length.26-45",
            ),
            Claim(metric="aer", at_most=0.12),
        ),
    )


def bahdanau_current_grammar() -> Experiment:
    """The same, but the output read from s_i, as most public code has it."""
    appendix = bahdanau_grammar()
    return replace(
        appendix,
        name="bahdanau_current_grammar",
        title="Additive attention, its output read from the state after the step",
        config=partial(appendix.config, readout_state="current"),
        claims=(),
    )


SCORES: tuple[ScoreName, ...] = (
    "content_base",
    "unit_content_base",
    "additive",
    "location_base",
    "general",
    "dot",
    "scaled_dot",
)


def bahdanau_score(score: ScoreName) -> Experiment:
    """One encoder and one decoder, in which only the score changes: ``bahdanau_dot_short``, …

    The widths are such that a dot product is possible: d_state = 2 d_encoder.
    """
    longest = ShortGrammarData().drawn.longest
    claims: dict[str, tuple[Claim, ...]] = {
        "location_base": (Claim(metric="bleu_longer", at_most=0.5, times="bleu_inside"),),
        "unit_content_base": (
            Claim(
                metric="bleu_inside", at_most=0.5, times="bahdanau_content_base_short:bleu_inside"
            ),
        ),
    }
    return Experiment(
        name=f"bahdanau_{score}_short",
        chapter="04_scores",
        title=f"The same encoder and decoder, its score: {score.replace('_', ' ')}",
        build=Bahdanau,
        config=partial(
            BahdanauConfig,
            d_embedding=64,
            d_encoder=64,
            d_state=128,
            d_align=64,
            d_maxout=64,
            dropout=0.1,
            score=score,
            max_keys=longest + 1,  # EOS is looked at, too
        ),
        data=ShortGrammarData(),
        train=replace(ON_GRAMMAR, steps=2_500),
        claims=claims.get(score, ()),
        # Rounded to a byte, the first would write other words, and the second would be farther
        # from PyTorch than rounding errors explain.
        page_bytes=950_000 if score in ("unit_content_base", "additive") else 560_000,
    )


Where = Literal["global", "local_m", "local_p"]
WHERE: tuple[Where, ...] = get_args(Where)
Letters = Literal["copy", "reverse"]
DONE: dict[Letters, str] = {"copy": "to be copied", "reverse": "to be turned round"}
ON_LETTERS = TrainConfig(steps=1_200, batch_size=64, lr=3e-3, warmup=50)


def luong(attention: Where, data: Letters) -> Experiment:
    """A toy: letters to be copied or turned round, with each of Luong's three attentions."""
    claims = {
        ("local_p", "reverse"): (
            Claim(metric="exact_match", at_least=0.95),
            Claim(metric="place_error", at_most=1.0),
        ),
        ("local_m", "reverse"): (Claim(metric="exact_match", at_most=0.5),),
        ("global", "reverse"): (),
    }
    copied = (Claim(metric="exact_match", at_least=0.98),)
    named = attention.replace("_", "-")
    return Experiment(
        name=f"luong_{attention}_{data}",
        chapter="07_global_local",
        title=f"Luong's {named} attention on letters {DONE[data]}",
        build=Luong,
        config=partial(LuongConfig, d_embedding=32, d_hidden=64, D=3, attention=attention),
        data=ReverseData(longest=20) if data == "reverse" else CopyData(longest=20),
        train=ON_LETTERS,
        claims=claims.get((attention, data), copied),
    )


def luong_grammar(attention: Where) -> Experiment:
    """About as large as ``bahdanau_grammar``, on the same sentences.

    The encoder reads back to front, as in the paper's Table 1 from the second row on. Front to
    back, the vector of *this* has not heard of the noun that says how it ends in French. More
    steps at Bahdanau's learning rate made the loss of local-p rise again half-way: hence a smaller
    one. At this rate, 6,000 steps on three times the sentences did the same: after 2,700 of them
    the loss rose from 0.28 to 2.0.
    """
    return Experiment(
        name=f"luong_{attention}_grammar",
        chapter="07_global_local",
        title=f"Luong's {attention.replace('_', '-')} attention on the grammar",
        build=Luong,
        config=partial(
            LuongConfig,
            d_embedding=96,
            d_hidden=128,
            d_align=64,
            D=10,
            reverse_source=True,
            dropout=0.1,
            attention=attention,
        ),
        data=GrammarData(),
        train=replace(ON_GRAMMAR, steps=4_000, lr=2e-3),
        page_bytes=850_000,
    )


def luong_everyday(attention: Where) -> Experiment:
    return Experiment(
        name=f"luong_{attention}_everyday",
        chapter="07_global_local",
        title=f"Luong's {attention.replace('_', '-')} attention on everyday sentences",
        build=Luong,
        config=partial(
            LuongConfig,
            d_embedding=160,
            d_hidden=224,
            d_align=128,
            D=10,
            reverse_source=True,
            tie_output=True,
            dropout=0.15,
            attention=attention,
        ),
        data=EverydayData(),
        train=replace(ON_EVERYDAY, steps=6_000, lr=4e-3),
        seeds=(0,),
        page_bytes=3_150_000,
    )


def lstmn_english() -> Experiment:
    return Experiment(
        name="lstmn_english",
        chapter="01_looking",
        title="An LSTMN that guesses the next word of everyday English",
        build=LSTMNLanguageModel,
        config=partial(LSTMNLanguageConfig, d_embedding=96, d_state=112, d_align=32, dropout=0.2),
        data=EnglishData(),
        train=TrainConfig(steps=1_500, batch_size=128, lr=1e-2, warmup=100, precision="bfloat16"),
        task=ReadsEveryday(),
        seeds=(0,),
    )


ON_PROSE = TrainConfig(steps=4_800, batch_size=64, lr=1e-2, warmup=100, precision="bfloat16")
ON_RECALL = TrainConfig(steps=2_000, batch_size=64, lr=3e-3, warmup=100)


def lstmn_prose() -> Experiment:
    return Experiment(
        name="lstmn_prose",
        chapter="05_self_attention",
        title="An LSTMN that guesses the next word of Python documentation",
        build=LSTMNLanguageModel,
        config=partial(LSTMNLanguageConfig, d_embedding=128, d_state=144, d_align=32, dropout=0.3),
        data=ProseData(),
        train=ON_PROSE,
        # The paper's LSTMN is ahead of its LSTM, ours is not: the chapter says so.
        claims=(Claim(metric="perplexity", at_least=1.0, times="lstm_prose:perplexity"),),
        task=Reads(),
    )


def lstm_prose() -> Experiment:
    """The same without attention, and about as many parameters."""
    return replace(
        lstmn_prose(),
        name="lstm_prose",
        title="An LSTM of the same size that guesses the next word",
        build=LSTMLanguageModel,
        config=partial(LSTMLanguageConfig, d_embedding=128, d_state=148, dropout=0.3),
        claims=(),
    )


def lstmn_grammar() -> Experiment:
    """Two texts that look at themselves, on the sentences of the others. Half as many steps, for
    each takes far longer than one of theirs."""
    return Experiment(
        name="lstmn_grammar",
        chapter="05_self_attention",
        title="An encoder and a decoder that look at themselves, on the grammar",
        build=LSTMNTranslator,
        config=partial(LSTMNTranslatorConfig, d_embedding=96, d_state=128, d_align=64, dropout=0.1),
        data=GrammarData(),
        train=replace(ON_GRAMMAR, steps=1_500, warmup=150, precision="float32"),
        page_bytes=850_000,
    )


def lstmn_recall() -> Experiment:
    return Experiment(
        name="lstmn_recall",
        chapter="05_self_attention",
        title="An LSTMN that recalls one of eight values by its key",
        build=Recall,
        config=partial(RecallConfig, keys=26, values=20, d_embedding=64, d_state=64, d_align=64),
        data=RecallData(),
        train=ON_RECALL,
        task=Recalls(),
        claims=(
            Claim(metric="accuracy", at_least=0.95),
            Claim(metric="accuracy", at_least=0.25, above="lstm_recall:accuracy"),
        ),
    )


def lstm_recall() -> Experiment:
    """The same without attention, and about as many parameters."""
    row = lstmn_recall()
    return replace(
        row,
        name="lstm_recall",
        title="An LSTM of the same size that tries to recall",
        config=partial(row.config, d_state=78, cell="lstm"),
        claims=(),
    )


ON_SCENES = TrainConfig(steps=6_000, batch_size=64, lr=2e-3, warmup=200, precision="bfloat16")
POINTING = tuple(
    Claim(metric=f"pointing.{test}", at_least=0.85) for test in ("silhouettes", "combinations")
)


def sat_soft() -> Experiment:
    """λ is small: with about 14 words and 64 places, staring at one place of what is named costs 31
    nats a caption at λ = 1, as in the authors' program. Looks that lie all over it cost 2.

    Asked for were 95 % exact in new combinations, too. It is not there, so there is no claim about
    it; what was tried stands in ``docs/decisions/0031-pictures.md``.
    """
    return Experiment(
        name="sat_soft",
        chapter="06_soft_hard",
        title="Show, attend and tell: pictures of animals, looked at softly",
        build=ShowAttendTell,
        config=partial(
            ShowAttendTellConfig,
            channels=(32, 64, 128),
            d_embedding=64,
            d_state=160,
            d_align=64,
            doubly_stochastic=0.002,
        ),
        data=SceneData(),
        train=ON_SCENES,
        task=Describes(),
        claims=(
            Claim(metric="exact.silhouettes", at_least=0.95),
            *POINTING,
        ),
    )


BY_DICE: dict[str, Any] = {
    "attention": "hard",
    "coin": 0.5,
    "reinforce": 0.1,
    "entropy": 0.002,
    "credit": "to_go",
}


def sat_hard() -> Experiment:
    """The same, one place a look, and no gate: the paper has one in its section on soft attention
    only.

    Asked for were captions at most 3 points behind those of ``sat_soft``. They are further behind,
    so there is no claim about it; the chapter prints how far.
    """
    soft = sat_soft()
    return replace(
        soft,
        name="sat_hard",
        title="Show, attend and tell: the same pictures, one place at a time",
        config=partial(soft.config, gate=False, **BY_DICE),
        claims=POINTING,
    )


def sat_hard_gated() -> Experiment:
    """With a gate: it looks once at an animal, shuts the gate, and writes the name from memory."""
    return replace(
        sat_hard(),
        name="sat_hard_gated",
        title="Show, attend and tell: one place at a time, and a gate before it",
        config=partial(sat_soft().config, **BY_DICE),
        claims=(),
    )


def sat_soft_french() -> Experiment:
    """The same pictures, told in French: the animal is named before its colour."""
    return replace(
        sat_soft(),
        name="sat_soft_french",
        title="Show, attend and tell: the same pictures, told in French",
        data=SceneData(language="fr"),
    )


ON_TAPES = TrainConfig(steps=6_250, batch_size=16, lr=3e-3, warmup=200)
"""The 100,000 sequences within which the paper's machine has learnt to copy."""


def on_tape(data: TapeData) -> dict[str, int]:
    """The widths of a model that reads and writes these tapes."""
    return dict(zip(("d_input", "d_output"), data.widths, strict=True))


def ntm_copy() -> Experiment:
    data = CopyTapes()
    return Experiment(
        name="ntm_copy",
        chapter="08_neural_turing_machine",
        title="A Neural Turing Machine that copies up to 20 vectors",
        build=NTM,
        config=partial(NTMConfig, **on_tape(data)),
        data=data,
        train=ON_TAPES,
        task=Answers(),
        claims=(
            Claim(metric="wrong_bits.20", at_most=0.01),
            Claim(metric="wrong_bits.50", at_most=0.05, times="lstm_copy:wrong_bits.50"),
        ),
        half=False,
        page_bytes=1_000_000,
    )


def lstm_copy() -> Experiment:
    """The same tapes without a memory."""
    row = ntm_copy()
    return replace(
        row,
        name="lstm_copy",
        title="Three layers of LSTM, and twenty times the parameters, that copy as far as they can",
        build=StackedLSTM,
        config=partial(StackedLSTMConfig, **on_tape(CopyTapes())),
        train=replace(ON_TAPES, lr=1e-3),
        claims=(),
        half=True,
    )


def ntm_repeat_copy() -> Experiment:
    data = RepeatTapes()
    return replace(
        ntm_copy(),
        name="ntm_repeat_copy",
        title="A Neural Turing Machine that copies as often as it is told",
        config=partial(NTMConfig, **on_tape(data)),
        data=data,
        claims=(Claim(metric="wrong_bits.10x10", at_most=1.0),),
    )


def ntm_recall() -> Experiment:
    data = RecallTapes()
    return replace(
        ntm_copy(),
        name="ntm_recall",
        title="A Neural Turing Machine that says which item came after another",
        config=partial(NTMConfig, **on_tape(data)),
        data=data,
        train=replace(ON_TAPES, steps=12_500),
        claims=(
            Claim(metric="wrong_bits.6", at_most=0.1),
            Claim(metric="wrong_bits.15", at_most=1.0),
        ),
    )


def ntm_ngrams() -> Experiment:
    data = NGramTapes()
    return replace(
        ntm_copy(),
        name="ntm_ngrams",
        title="A Neural Turing Machine that learns a source while it listens",
        config=partial(NTMConfig, **on_tape(data)),
        data=data,
        train=replace(ON_TAPES, lr=1e-3),
        claims=(Claim(metric="cost.200", at_most=6.0, above="ntm_ngrams:best.200"),),
    )


def ntm_sort() -> Experiment:
    """Five heads of each kind, as the paper's LSTM machine has here."""
    data = SortTapes()
    return replace(
        ntm_copy(),
        name="ntm_sort",
        title="A Neural Turing Machine that sorts by priority",
        config=partial(NTMConfig, readers=5, writers=5, **on_tape(data)),
        data=data,
        train=replace(ON_TAPES, steps=12_500, lr=1e-3),
        claims=(),
    )


ON_POINTS = TrainConfig(steps=10_000, batch_size=128, lr=2e-3, warmup=500, clip=2.0)


def pointer_sort() -> Experiment:
    return Experiment(
        name="pointer_sort",
        chapter="09_pointer_network",
        title="A Pointer Network that sorts numbers",
        build=PointerNetwork,
        config=partial(PointerConfig, d_input=1, d_hidden=128, rule="each_once"),
        data=SortData(tests=(10, 5, 15)),
        train=ON_POINTS,
        task=Points(main="exact.10"),
        page_bytes=1_000_000,
        claims=(Claim(metric="exact.10", at_least=0.98),),
    )


def pointer_hull() -> Experiment:
    """Nothing is forbidden in training: that a polygon closes has to be learnt, too.

    Asked for were 95 % of the hulls of 5 points exact, and 87 % of those of 10. It is not there
    yet, so there is no claim about it; the card and the chapter print what it is.
    """
    return Experiment(
        name="pointer_hull",
        chapter="09_pointer_network",
        title="A Pointer Network that finds the convex hull",
        build=PointerNetwork,
        config=partial(PointerConfig, d_hidden=160, rule="free"),
        data=HullData(tests=(10, 5, 20)),
        train=replace(ON_POINTS, steps=20_000),
        task=Points(main="exact.10"),
        page_bytes=1_000_000,
        claims=(
            Claim(metric="covered.10", at_least=0.997),
            Claim(metric="covered.20", at_least=0.98),
        ),
    )


def pointer_tsp() -> Experiment:
    """Asked for were tours of 10 points within 1.2 % of the shortest. It is not there yet, so there
    is no claim about it; the card and the chapter print what it is.
    """
    return Experiment(
        name="pointer_tsp",
        chapter="09_pointer_network",
        title="A Pointer Network that finds short tours through 5 to 10 points",
        build=PointerNetwork,
        config=partial(PointerConfig, d_hidden=192, rule="each_once"),
        data=TourData(tests=(10, 5, 12, 20)),
        train=replace(ON_POINTS, steps=20_000),
        task=Points(main="ratio.10"),
        page_bytes=1_000_000,
        claims=(Claim(metric="ratio.5", at_most=1.003),),
    )


def pointer_tsp20() -> Experiment:
    """The same for up to 20 points; beyond 12, it learns from tours that are good, not exact."""
    return replace(
        pointer_tsp(),
        name="pointer_tsp20",
        title="A Pointer Network that finds short tours through up to 20 points",
        data=TourData(points=(5, 20), tests=(20, 10, 30)),
        task=Points(main="ratio.20"),
        claims=(Claim(metric="ratio.20", at_most=1.05),),
    )


ON_GLYPHS = EpisodeTrainConfig(
    steps=4_000, batch_size=64, lr=1e-3, warmup=200, prototypes=1.0, precision="bfloat16"
)


def snail_glyphs() -> Experiment:
    """Five characters an episode; one to five drawings of each in training, drawn an episode.

    Asked for were also 96 % from one drawing of each, and more than the nearest mean on the same
    embedding. The one seed that there is misses the first by less than its interval, and the
    second plainly. The card and the chapter print both.
    """
    return Experiment(
        name="snail_glyphs",
        chapter="11_snail",
        title="A SNAIL that learns five new characters from a few drawings of each",
        build=SNAIL,
        config=partial(SNAILConfig, longest=29),
        data=EpisodeData(sharing=4, questions=4),
        train=ON_GLYPHS,
        task=Recognises(),
        claims=(Claim(metric="accuracy.5", at_least=0.985),),
    )


def lstm_glyphs() -> Experiment:
    """The same embedding, and as many parameters behind it."""
    return replace(
        snail_glyphs(),
        name="lstm_glyphs",
        title="An LSTM of the same size on the same characters",
        build=EpisodeLSTM,
        config=partial(EpisodeLSTMConfig),
        claims=(),
    )


def prototype_glyphs() -> Experiment:
    """The same embedding, and nothing behind it but a distance."""
    return replace(
        snail_glyphs(),
        name="prototype_glyphs",
        title="Prototypes, by the same embedding of the same characters",
        build=Prototypes,
        config=partial(PrototypesConfig),
        train=replace(ON_GLYPHS, prototypes=0.0),  # they have that loss already
        claims=(),
    )


def snail_20_glyphs() -> Experiment:
    """Twenty characters, one drawing of each. A label is a place of 20, so weights for five do not
    fit: it is trained by itself."""
    five = snail_glyphs()
    return replace(
        five,
        name="snail_20_glyphs",
        title="A SNAIL that learns twenty new characters from one drawing of each",
        config=partial(SNAILConfig, ways=20, longest=28),
        data=EpisodeData(ways=20, shots=1, tests=(1,), sharing=4, questions=8),
        seeds=(0,),
        claims=(Claim(metric="accuracy.1", at_least=0.88),),
    )


SNAILWithout = Literal["attention", "convolution", "odd_steps", "keys", "permutation"]
"""What a row leaves out; the last three are faults of public code, or of the paper's print."""


def snail_short_glyphs() -> Experiment:
    """A quarter of the steps: what the rows with one thing less are held against."""
    return replace(
        snail_glyphs(),
        name="snail_short_glyphs",
        title="SNAIL, a quarter of its steps",
        train=replace(ON_GLYPHS, steps=1_000),
        seeds=(0,),
        claims=(),
    )


def snail_without(what: SNAILWithout) -> Experiment:
    """``snail_without_attention_glyphs``, …: ``snail_short_glyphs`` with one thing less."""
    whole = snail_short_glyphs()
    options, title = {
        "attention": ({"attention": (None, None, None)}, "without attention"),
        "convolution": ({"temporal": False}, "without convolutions"),
        "odd_steps": ({"dilations": "as_printed"}, "with dilations from 2, as printed"),
        "keys": ({"over": "queries"}, "with its softmax over queries instead of keys"),
        "permutation": ({}, "taught with labels that follow the characters' order"),
    }[what]
    return replace(
        whole,
        name=f"snail_without_{what}_glyphs",
        title=f"SNAIL {title}",
        config=partial(whole.config, **options),
        data=replace(whole.data, permuted=what != "permutation"),
    )


def snail_bandit() -> Experiment:
    return Experiment(
        name="snail_bandit",
        chapter="11_snail",
        title="A SNAIL that plays bandits: five arms, a hundred pulls",
        build=SNAILPolicy,
        config=partial(SNAILPolicyConfig),
        data=BanditData(),
        train=PolicyTrainConfig(steps=500, lr=2e-3, warmup=20, precision="bfloat16"),
        task=Plays(),
        claims=(
            Claim(metric="reward", at_least=76.0),
            Claim(metric="reward", at_least=0.0, above="players.greedy"),
        ),
    )


def lstm_bandit() -> Experiment:
    """As many parameters, and the same teaching."""
    return replace(
        snail_bandit(),
        name="lstm_bandit",
        title="An LSTM of the same size that plays the same bandits",
        build=LSTMPolicy,
        config=partial(LSTMPolicyConfig),
        claims=(),
    )


ON_TWINS = TrainConfig(steps=15_000, batch_size=32, lr=1e-3, warmup=0, clip=1_000.0)


def sagan_twins() -> Experiment:
    """The two things stand so far apart that no place of the discriminator sees both. There,
    attention is all that could notice whether they agree.

    Asked for was also that 4 % of the pictures show the rarest shape, in the mean of three seeds.
    It is not so: the third seed all but forgot one of four. The card and the chapter print it.
    """
    return Experiment(
        name="sagan_twins",
        chapter="12_sagan",
        title="A SAGAN that draws two things far apart, of one hue and one shape",
        build=SAGAN,
        config=partial(
            SAGANConfig,
            d_z=16,
            generator=(64, 48, 24),
            discriminator=(48, 32, 16),
            form="first",
            generator_rate=0.5,
            beta_2=0.99,
            memory=0.995,
        ),
        data=TwinData(),
        train=ON_TWINS,
        task=Paints(),
        claims=(
            Claim(metric="twins", at_least=0.1, above="dcgan_twins:twins"),
            Claim(metric="frechet", at_most=1.0, times="dcgan_twins:frechet"),
            Claim(metric="frechet", at_most=0.25, times="frechet_untrained"),
            Claim(metric="sigma.largest", at_most=1.1),
            Claim(metric="sigma.smallest", at_least=0.9),
            Claim(metric="evenness.generator", at_most=0.9),
        ),
        page_bytes=250_000,
    )


def dcgan_twins() -> Experiment:
    """The same without attention, and about as many parameters."""
    row = sagan_twins()
    return replace(
        row,
        name="dcgan_twins",
        title="A DCGAN of the same size, with spectral norm, on the same pictures",
        config=partial(
            row.config,
            generator=(64, 48, 25),
            discriminator=(48, 35, 16),
            generator_attention=0,
            discriminator_attention=0,
        ),
        claims=(),
    )


def reader_twins() -> Experiment:
    return Experiment(
        name="reader_twins",
        chapter="12_sagan",
        title="A small network that says what half a picture shows",
        build=HalfReader,
        config=partial(HalfReaderConfig),
        data=TwinData(),
        train=TrainConfig(steps=600, batch_size=64, lr=3e-3, warmup=50),
        task=ReadsHalves(),
        claims=(
            Claim(metric="accuracy", at_least=0.97),
            Claim(metric="hue_error", at_most=0.02),
            Claim(metric="fitted", at_least=0.97),
        ),
    )


def transformer_letters(data: Letters) -> Experiment:
    """``transformer_copy`` and ``transformer_reverse``: the paper's layers, two and two."""
    return Experiment(
        name=f"transformer_{data}",
        chapter="10_transformer",
        title=f"A small Transformer on letters {DONE[data]}",
        build=Transformer,
        config=partial(
            TransformerConfig,
            d_model=128,
            d_inner=256,
            heads=4,
            encoder_layers=2,
            decoder_layers=2,
            dropout=0.0,
        ),
        data=ReverseData(longest=20, pairs=30_000)
        if data == "reverse"
        else CopyData(longest=20, pairs=30_000),
        train=TrainConfig(steps=2_400, batch_size=64, lr=1.5e-3, warmup=200),
        task=TranslatesExactly(),
        claims=(
            Claim(metric="words_right", at_least=0.999),
            Claim(metric="exact_match", at_least=0.99),
        ),
    )


def transformer_small_reverse() -> Experiment:
    """A minute of one core: what the rows below are held against."""
    whole = transformer_letters("reverse")
    return replace(
        whole,
        name="transformer_small_reverse",
        title="A smaller Transformer on letters to be turned round, 12 at most",
        config=partial(whole.config, d_model=64, d_inner=128),
        data=ReverseData(pairs=30_000),
        train=TrainConfig(steps=1_000, batch_size=64, lr=2e-3, warmup=100),
        claims=(),
    )


TransformerWithout = Literal["heads", "scale", "positions"]


def transformer_without(what: TransformerWithout) -> Experiment:
    """``transformer_one_head_reverse``, …: the smaller one, and one thing is missing."""
    whole = transformer_small_reverse()
    options: dict[TransformerWithout, tuple[str, str, dict[str, Any]]] = {
        "heads": ("one_head", "with one head for four", {"heads": 1}),
        "scale": ("unscaled", "without the division by √d_k", {"scaled": False}),
        "positions": ("no_positions", "without positions", {"positions": "none"}),
    }
    named, title, changed = options[what]
    return replace(
        whole,
        name=f"transformer_{named}_reverse",
        title=f"The smaller Transformer {title}",
        config=partial(whole.config, **changed),
    )


def transformer_deep(*, norm: Norm, warmup: int) -> Experiment:
    """As many layers as in the paper, narrow ones; post- or pre-norm, with a warm-up or *cold*."""
    whole = transformer_small_reverse()
    called = ("deep" if warmup else "cold") + ("_pre" if norm == "pre" else "")
    return replace(
        whole,
        name=f"transformer_{called}_reverse",
        title=f"Six and six narrow layers, {norm}-norm, "
        + ("with a warm-up" if warmup else "at full rate from the first step"),
        config=partial(whole.config, encoder_layers=6, decoder_layers=6, norm=norm),
        train=replace(whole.train, warmup=warmup),
    )


def transformer_grammar() -> Experiment:
    """The paper's layers, each half as many."""
    return Experiment(
        name="transformer_grammar",
        chapter="10_transformer",
        title="A Transformer on the grammar",
        build=Transformer,
        config=partial(
            TransformerConfig,
            d_model=128,
            d_inner=256,
            heads=4,
            encoder_layers=3,
            decoder_layers=3,
            dropout=0.1,
        ),
        data=GrammarData(),
        train=replace(ON_GRAMMAR, steps=4_000, lr=1.5e-3, warmup=400),
        task=TranslatesExactly(),
        page_bytes=2_650_000,
        claims=(Claim(metric="exact_match_by_length.9-15", at_least=0.95),),
    )


def transformer_everyday() -> Experiment:
    """The inner layers twice as wide as on the grammar, and the sums normalised before each
    sublayer."""
    return Experiment(
        name="transformer_everyday",
        chapter="10_transformer",
        title="A Transformer on everyday sentences",
        build=Transformer,
        config=partial(
            TransformerConfig,
            d_model=128,
            d_inner=512,
            heads=4,
            encoder_layers=3,
            decoder_layers=3,
            norm="pre",
            dropout=0.1,
        ),
        data=EverydayData(),
        train=replace(ON_EVERYDAY, lr=2e-3),
        seeds=(0,),
        page_bytes=3_150_000,
        claims=(
            Claim(metric="bleu_tatoeba", at_least=50.0),
            Claim(metric="bleu_tatoeba", at_least=0.0, above="bahdanau_everyday:bleu_tatoeba"),
        ),
    )


def seq2seq_everyday() -> Experiment:
    return Experiment(
        name="seq2seq_everyday",
        chapter="02_bottleneck",
        title="Two LSTMs and one vector between them, on everyday sentences",
        build=Seq2Seq,
        config=partial(
            Seq2SeqConfig, d_embedding=160, d_hidden=184, layers=2, tie_output=True, dropout=0.15
        ),
        data=EverydayData(),
        train=ON_EVERYDAY,
        seeds=(0,),
        page_bytes=3_150_000,
    )


def bahdanau_everyday() -> Experiment:
    return Experiment(
        name="bahdanau_everyday",
        chapter="03_additive",
        title="Additive attention on everyday sentences",
        build=Bahdanau,
        config=partial(
            BahdanauConfig,
            d_embedding=160,
            d_encoder=160,
            d_state=224,
            d_align=128,
            d_maxout=160,
            tie_output=True,
            dropout=0.15,
        ),
        data=EverydayData(),
        train=ON_EVERYDAY,
        seeds=(0,),
        page_bytes=3_150_000,
        claims=(
            Claim(metric="bleu_tatoeba", at_least=42.0),
            Claim(metric="bleu_tatoeba", at_least=5.0, above="seq2seq_everyday:bleu_tatoeba"),
        ),
    )


def seq2seq_paper() -> Experiment:
    """Sutskever et al. (2014), section 3.4, but for the corpus and the vocabularies."""
    return Experiment(
        name="seq2seq_paper",
        chapter="02_bottleneck",
        title="The paper's size: four layers of 1,000 cells",
        build=Seq2Seq,
        config=partial(
            Seq2SeqConfig, d_embedding=1000, d_hidden=1000, layers=4, reverse_source=True
        ),
        data=EverydayData(),
        train=TrainConfig(steps=100_000, batch_size=128, lr=1e-3, warmup=1_000, clip=5.0),
        seeds=(0,),
        trained=False,
        notes="ten days on eight GPUs in 2014; start it with torchrun",
    )


def bahdanau_paper() -> Experiment:
    """RNNsearch-50 of Bahdanau et al. (2015), appendix B, but for the corpus and vocabularies."""
    return Experiment(
        name="bahdanau_paper",
        chapter="03_additive",
        title="The paper's size: 1,000 units a direction",
        build=Bahdanau,
        config=partial(
            BahdanauConfig,
            d_embedding=620,
            d_encoder=1000,
            d_state=1000,
            d_align=1000,
            d_maxout=500,
            init="paper",
        ),
        data=EverydayData(),
        train=TrainConfig(steps=100_000, batch_size=80, lr=1e-3, warmup=1_000, clip=1.0),
        seeds=(0,),
        trained=False,
        notes="about five days on one GPU in 2015; start it with torchrun",
    )


def transformer_paper() -> Experiment:
    """*base* of Vaswani et al. (2017), Table 3, but for the corpus and vocabularies: the paper's
    one vocabulary lets both sides share a matrix, two cannot."""
    return Experiment(
        name="transformer_paper",
        chapter="10_transformer",
        title="The paper's size: six and six layers, 512 wide, eight heads",
        build=Transformer,
        config=partial(
            TransformerConfig,
            d_model=512,
            d_inner=2048,
            heads=8,
            encoder_layers=6,
            decoder_layers=6,
        ),
        data=EverydayData(),
        train=PaperTrainConfig(steps=100_000, batch_size=1_000, d_model=512),
        seeds=(0,),
        trained=False,
        notes="twelve hours on eight GPUs in 2017; start it with torchrun",
    )


EXPERIMENTS = table(
    seq2seq_grammar(),
    seq2seq_forward_grammar(),
    seq2seq_grammar_large(),
    bahdanau_grammar(),
    bahdanau_current_grammar(),
    *map(bahdanau_score, SCORES),
    seq2seq_everyday(),
    bahdanau_everyday(),
    lstmn_english(),
    lstmn_grammar(),
    lstmn_recall(),
    lstm_recall(),
    lstmn_prose(),
    lstm_prose(),
    sat_soft(),
    sat_hard(),
    sat_hard_gated(),
    sat_soft_french(),
    reader_twins(),
    sagan_twins(),
    dcgan_twins(),
    ntm_copy(),
    lstm_copy(),
    ntm_repeat_copy(),
    ntm_recall(),
    ntm_ngrams(),
    ntm_sort(),
    pointer_sort(),
    pointer_hull(),
    pointer_tsp(),
    pointer_tsp20(),
    snail_glyphs(),
    lstm_glyphs(),
    prototype_glyphs(),
    snail_20_glyphs(),
    snail_short_glyphs(),
    *map(snail_without, get_args(SNAILWithout)),
    snail_bandit(),
    lstm_bandit(),
    *(luong(where, data) for data in DONE for where in WHERE),
    *map(luong_grammar, WHERE),
    *map(luong_everyday, WHERE),
    *map(transformer_letters, DONE),
    transformer_small_reverse(),
    *map(transformer_without, get_args(TransformerWithout)),
    transformer_deep(norm="post", warmup=100),
    transformer_deep(norm="post", warmup=0),
    transformer_deep(norm="pre", warmup=0),
    transformer_grammar(),
    transformer_everyday(),
    bahdanau_reverse(),
    seq2seq_paper(),
    bahdanau_paper(),
    transformer_paper(),
)
