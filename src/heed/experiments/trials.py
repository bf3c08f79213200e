"""What a model is compared on before its graphs are written: held-out sentences or pictures, z to
draw pictures from, or tapes, asked in each way that a page asks. PyTorch and the graphs go through
the same trial.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heed.data.bandits import Bandits
from heed.data.batches import Batch, encode_batch
from heed.data.corpora import Corpus
from heed.data.episodes import Episodes
from heed.data.pairs import Pair
from heed.data.prose import Prose, Sentence, from_short_to_long
from heed.data.tapes import Tape
from heed.data.tours import HullData, Problems
from heed.data.twins import SIDE, read
from heed.data.vocabulary import BOS, PAD
from heed.evaluation.captions import LONGEST as LONGEST_CAPTION
from heed.evaluation.captions import Gallery
from heed.evaluation.decoding import greedy, translate
from heed.evaluation.hands import Hand, Hands
from heed.evaluation.pointing import point
from heed.evaluation.twins import in_words, to_bytes
from heed.experiments.bandits import Playing
from heed.experiments.captioning import TESTS, Describing, pixels
from heed.experiments.episodes import Asked, Recognising
from heed.experiments.exported import ExportedTransformer
from heed.experiments.graphs import ExportError
from heed.experiments.language import Reading
from heed.experiments.pointing import Pointing, said
from heed.experiments.tapes import Answering, in_bits
from heed.experiments.tasks import Task
from heed.experiments.translation import Translating
from heed.experiments.twins import Painting, normal
from heed.models.lstmn import LanguageOutput
from heed.models.pointer import Rule
from heed.models.transformer import Changes, Transformer, TransformerOutput
from heed.models.translator import DecoderOutput
from heed.training.policy import play

WORDS = 500
"""Words that are predicted, at least."""

LONGEST = 60


@dataclass(frozen=True)
class Answers:
    """What counts of a run: padding left out, one row for each word that is predicted."""

    logits: Float[Tensor, "word vocab"]
    weights: Float[Tensor, " look"] | None

    @property
    def chosen(self) -> Tensor:
        """What a reader gets to see of the logits: the likeliest words."""
        return likeliest(self.logits)


class Colours(Answers):
    """The same of pictures: pixels instead of words, and of each its channels, from −1 to 1."""

    @property
    def chosen(self) -> Tensor:
        """What a screen shows: bytes. A pixel is a picture of one row and one column here."""
        return to_bytes(self.logits[:, :, None, None]).flatten(1)


@runtime_checkable
class Trial(Protocol):
    """Sentences that a model is tried on. lengths: in words, of each."""

    lengths: list[int]

    def together(self, model: Any) -> Answers:
        """All sentences as one padded batch."""
        ...

    def alone(self, model: Any) -> Answers:
        """Each by itself, as a page asks."""
        ...

    def says(self, model: Any) -> list[tuple[str, ...]]:
        """What comes out when nobody says what is right."""
        ...


def trial_of(task: Task) -> Trial:
    """The trial for models of a task; ``ExportError`` if nobody has thought of one."""
    if isinstance(task, Translating):
        return Translations(task.corpus)
    if isinstance(task, Reading):
        return Readings(task.prose)
    if isinstance(task, Describing):
        return Pictures(task)
    if isinstance(task, Painting):
        return Drawings()
    if isinstance(task, Pointing):
        return PointedAt(task)
    if isinstance(task, Answering):
        return Runs(task)
    if isinstance(task, Recognising):
        return Shown(task)
    if isinstance(task, Playing):
        return Pulled(task)
    raise ExportError(f"it is not known how to compare what comes of {type(task).__name__}")


def likeliest(logits: Float[Tensor, "word vocab"]) -> Int[Tensor, " word"]:
    """As decoding chooses: never PAD or BOS."""
    allowed = logits.clone()
    allowed[:, [PAD, BOS]] = float("-inf")
    return allowed.argmax(dim=-1)


# ------------------------------------------------------------------------------- translating


CHANGES = (
    Changes(),
    Changes(off=(("encoder", 1, 1), ("decoder", 1, 1), ("cross", 1, 1))),
    Changes(source_shift=9, target_shift=4),
    Changes(source_places=False, target_places=False),
)
"""What is done to a Transformer while it is tried, each by itself."""


class Translations:
    """Held-out pairs; the model is made to write the gold words, then left to itself. A Transformer
    does so with each of ``CHANGES``, and all its maps count."""

    def __init__(self, corpus: Corpus) -> None:
        self.pairs = held_out(corpus)
        self.lengths = [len(pair.source) for pair in self.pairs]
        self.vocabularies = corpus.source_vocab, corpus.target_vocab
        self.batch = encode_batch(self.pairs, *self.vocabularies)

    def together(self, model: Any) -> Answers:
        batch = self.batch
        given = batch.source, batch.source_lengths, batch.target[:, :-1]
        return joined([real(model(*given, **way), batch) for way in ways(model)])

    def alone(self, model: Any) -> Answers:
        return joined([self._alone(model, way) for way in ways(model)])

    def _alone(self, model: Any, way: Mapping[str, Any]) -> Answers:
        batch, logits = self.batch, []
        weights: dict[str, list[Tensor]] = {}
        for b, (keys, steps) in enumerate(
            zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
        ):
            row, asked = slice(b, b + 1), batch.target[b : b + 1, : steps - 1]
            output = model(batch.source[row, :keys], batch.source_lengths[row], asked, **way)
            logits.append(output.logits[0])
            for name, each in maps(output).items():
                weights.setdefault(name, []).append(each.flatten())
        looks = [torch.cat(each) for each in weights.values()]
        return Answers(torch.cat(logits), torch.cat(looks) if looks else None)

    def says(self, model: Any) -> list[tuple[str, ...]]:
        return [tuple(each.words) for each in translate(model, self.pairs, *self.vocabularies)]


def held_out(corpus: Corpus, *, each: int = 30) -> list[Pair]:
    """Test sentences to compare on: from every set some of each length, one of a single word, and
    as many of 60 words, joined from others, as it takes to have ``WORDS`` target words.
    """
    chosen: list[Pair] = []
    for pairs in corpus.tests.values():
        ordered = sorted(pairs, key=lambda pair: (len(pair.source), pair.source, pair.target))
        count = min(each, len(ordered))
        chosen += [ordered[(2 * i + 1) * len(ordered) // (2 * count)] for i in range(count)]
    chosen.append(Pair(source=chosen[0].source[:1], target=chosen[0].target[:1]))
    endless = itertools.cycle(chosen[:-1])
    while True:
        source: list[str] = []
        target: list[str] = []
        while len(source) < LONGEST:
            pair = next(endless)
            source += pair.source
            target += pair.target
        chosen.append(Pair(source=tuple(source[:LONGEST]), target=tuple(target[:LONGEST])))
        if sum(len(pair.target) + 1 for pair in chosen) >= WORDS:
            return chosen


def real(output: DecoderOutput, batch: Batch) -> Answers:
    """What counts of a padded batch of translations."""
    steps = _first(batch.target_lengths - 1, batch.target.shape[1] - 1)
    keys = _first(batch.source_lengths, batch.source.shape[1])
    sides = {"encoder": (keys, keys), "decoder": (steps, steps), "cross": (steps, keys)}
    looks = []
    for name, each in maps(output).items():
        asks, looked_at = sides[name.split()[0]]
        inside = asks[:, None, :, None] & looked_at[:, None, None, :]
        looks.append(each[inside.expand_as(each)])
    return Answers(output.logits[steps], torch.cat(looks) if looks else None)


def maps(output: DecoderOutput) -> dict[str, Float[Tensor, "batch head query key"]]:
    """Every map that came out."""
    of_heads = output.maps if isinstance(output, TransformerOutput) else {}
    return output.weights | dict(of_heads)


def ways(model: Any) -> list[dict[str, Any]]:
    """How a model is asked: what is said to it besides a pair."""
    if isinstance(model, Transformer | ExportedTransformer):
        return [{"changes": changes} for changes in CHANGES]
    return [{}]


def joined(answers: list[Answers]) -> Answers:
    """Several runs as one."""
    looks = [each.weights for each in answers if each.weights is not None]
    logits = torch.cat([each.logits for each in answers])
    return Answers(logits, torch.cat(looks) if looks else None)


def _first(lengths: Int[Tensor, " batch"], longest: int) -> Bool[Tensor, "batch longest"]:
    return torch.arange(longest) < lengths[:, None]


# ------------------------------------------------------------------------------- reading


class Readings:
    """Held-out sentences that the model reads; what it says is the likeliest word after each."""

    def __init__(self, prose: Prose) -> None:
        self.sentences = held_out_sentences(prose)
        self.lengths = [len(words) for words in self.sentences]
        self.vocabulary = prose.vocabulary
        self.rows = [torch.tensor([BOS, *prose.vocabulary.encode(s)]) for s in self.sentences]

    def together(self, model: Any) -> Answers:
        tokens = torch.nn.utils.rnn.pad_sequence(self.rows, batch_first=True, padding_value=PAD)
        output: LanguageOutput = model(tokens)
        steps = _first(torch.tensor([len(row) for row in self.rows]), tokens.shape[1])
        if output.weights is None:
            return Answers(output.logits[steps], None)
        return Answers(output.logits[steps], _looks(output.weights[steps], steps.nonzero()[:, 1]))

    def alone(self, model: Any) -> Answers:
        found = [model(row[None]) for row in self.rows]
        logits = torch.cat([each.logits[0] for each in found])
        if found[0].weights is None:
            return Answers(logits, None)
        weights = [_looks(each.weights[0], torch.arange(each.weights.shape[1])) for each in found]
        return Answers(logits, torch.cat(weights))

    def says(self, model: Any) -> list[tuple[str, ...]]:
        return [
            tuple(self.vocabulary.decode(likeliest(model(row[None]).logits[0]).tolist()))
            for row in self.rows
        ]


def held_out_sentences(prose: Prose, *, each: int = 30) -> list[Sentence]:
    """Test sentences of all lengths, one of a single word, and as many of 60 words, joined from
    others, as it takes to have ``WORDS`` words to predict."""
    chosen = [*from_short_to_long(prose.test, count=min(each, len(prose.test)))]
    endless: Iterator[str] = itertools.chain.from_iterable(itertools.cycle(list(chosen)))
    chosen.append(chosen[0][:1])
    while True:
        chosen.append(tuple(itertools.islice(endless, LONGEST)))
        if sum(len(words) + 1 for words in chosen) >= WORDS:
            return chosen


def _looks(
    weights: Float[Tensor, "row slot"], steps: Int[Tensor, " row"]
) -> Float[Tensor, " look"]:
    """The slots that there were at each step: step t, counted from 0, has t + 1 of them."""
    return weights[torch.arange(weights.shape[1]) <= steps[:, None]]


# ------------------------------------------------------------------------------- describing


class Pictures:
    """Pictures of both tests; the model is made to write the right captions, then left to itself.

    lengths: of the captions
    """

    def __init__(self, task: Describing, *, each: int = 24) -> None:
        scenes = [task.data.held_out_scenes(test) for test in TESTS]
        self.vocabulary = task.vocabulary
        self.rows = [
            row[:length]
            for drawn in scenes
            for row, length in zip(
                drawn.captions.words[:each], drawn.captions.lengths[:each].tolist(), strict=True
            )
        ]
        self.pictures = pixels(torch.cat([drawn.pictures[:each] for drawn in scenes]))
        self.lengths = [len(row) - 2 for row in self.rows]

    def together(self, model: Any) -> Answers:
        words = torch.nn.utils.rnn.pad_sequence(self.rows, batch_first=True, padding_value=PAD)
        output = model(_as_precise(self.pictures, model), words[:, :-1])
        steps = _first(torch.tensor(self.lengths) + 1, words.shape[1] - 1)
        return Answers(output.logits[steps], output.weights["cross"][:, 0][steps].flatten())

    def alone(self, model: Any) -> Answers:
        found = [
            model(picture[None], row[None, :-1])
            for picture, row in zip(_as_precise(self.pictures, model), self.rows, strict=True)
        ]
        return Answers(
            torch.cat([each.logits[0] for each in found]),
            torch.cat([each.weights["cross"].flatten() for each in found]),
        )

    def says(self, model: Any) -> list[tuple[str, ...]]:
        gallery = Gallery(model, model.encode(self.pictures))
        found = greedy(gallery, *gallery.sentences(), max_steps=LONGEST_CAPTION)
        return [tuple(self.vocabulary.decode(each.tokens)) for each in found]


def _as_precise(numbers: Float[Tensor, "*shape"], model: Any) -> Float[Tensor, "*shape"]:
    """In the precision that a PyTorch model computes in."""
    return numbers.to(next(model.parameters())) if isinstance(model, nn.Module) else numbers


# ------------------------------------------------------------------------------- painting


class Drawings:
    """Pictures that a model draws, with its γ as it was learnt, with γ = 0, and with more; what it
    says is what can be read from them.

    lengths: pixels of each, whatever γ is
    """

    DIALS = (1.0, 0.0, 1.5)

    def __init__(self, *, count: int = 24) -> None:
        self.lengths = [SIDE * SIDE] * count

    def together(self, model: Any) -> Answers:
        return self._drawn(model, [self._points(model)])

    def alone(self, model: Any) -> Answers:
        return self._drawn(model, list(self._points(model).split(1)))

    def says(self, model: Any) -> list[tuple[str, ...]]:
        pictures = to_bytes(model(self._points(model)).pictures.float())
        return [(str(seen),) for seen in in_words(read(pictures))]

    def _points(self, model: Any) -> Float[Tensor, "picture d_z"]:
        """One z for each picture, in the precision that a PyTorch model computes in."""
        if not isinstance(model, nn.Module):
            return normal(len(self.lengths), model.d_z, seed=3)
        z = normal(len(self.lengths), int(model.config.d_z), seed=3)  # pyright: ignore
        return z.to(next(model.parameters()))

    def _drawn(self, model: Any, points: list[Float[Tensor, "_ d_z"]]) -> Answers:
        drawn = [model(z, weights=True, dial=dial) for dial in self.DIALS for z in points]
        looks = [each.weights.flatten() for each in drawn if each.weights is not None]
        pictures = torch.cat([each.pictures for each in drawn])
        pixels = pictures.permute(0, 2, 3, 1).flatten(0, 2)
        return Colours(pixels, torch.cat(looks) if looks else None)


# ------------------------------------------------------------------------------- running


class Bits(Answers):
    """The same of machines: steps instead of words, and of each its output bits."""

    @property
    def chosen(self) -> Tensor:
        """Noughts and ones."""
        return self.logits > 0


class Runs:
    """Tapes of all tests and some as in training, left alone and with each of ``HANDS``; what a
    machine says is its answer.

    lengths: of the sequences, in steps
    """

    HANDS = (
        Hands(),
        Hands(reading=Hand(strength=0.0), writing=Hand(gate=0.0)),
        Hands(reading=Hand(gate=1.0), writing=Hand(focus=1.0)),
        Hands(reading=Hand(focus=3.5), writing=Hand(strength=12.0, gate=0.25)),
    )

    def __init__(self, task: Answering, *, each: int = 2) -> None:
        data = task.data
        self.tapes = [data.held_out_tape(700, each, sizes) for sizes in data.tested]
        while len(self.tapes) < 9 or self._steps() * each * len(self.HANDS) < WORDS:
            self.tapes.append(data.held_out_tape(700 + len(self.tapes), each))
        self.lengths = [len(row) for tape in self.tapes for row in tape.inputs]

    def _steps(self) -> int:
        """How many steps of all tapes count."""
        return sum(int(tape.scored.sum()) for tape in self.tapes)

    def together(self, model: Any) -> Answers:
        return self._ran(model, self.tapes)

    def alone(self, model: Any) -> Answers:
        rows = [tape.rows(slice(i, i + 1)) for tape in self.tapes for i in range(len(tape.inputs))]
        return self._ran(model, rows)

    def says(self, model: Any) -> list[tuple[str, ...]]:
        return [
            tuple(in_bits((row[tape.scored] > 0).float()))
            for tape in self.tapes
            for row in ran(model, tape.inputs, Hands())[0]
        ]

    def _ran(self, model: Any, tapes: list[Tape]) -> Answers:
        logits, weights = [], []
        for hands in self.HANDS:
            for tape in tapes:
                scores, looks = ran(model, tape.inputs, hands)
                logits.append(scores[:, tape.scored].flatten(0, 1))
                weights += [row.flatten() for row in looks]
        return Bits(torch.cat(logits), torch.cat(weights))


def ran(
    model: Any, inputs: Float[Tensor, "batch step d_input"], hands: Hands
) -> tuple[Float[Tensor, "batch step d_output"], Float[Tensor, "batch step head slot"]]:
    """Scores, and where the heads were, readers first."""
    if hasattr(model, "parameters"):  # a graph has none
        inputs = inputs.to(next(model.parameters()))
    state, logits, weights = model.start(len(inputs)), [], []
    for x in inputs.unbind(1):
        state, out = model.step(state, x, hand=hands)
        logits.append(out.logits)
        weights.append(torch.cat([state.heads.reading, state.heads.writing], dim=1))
    return torch.stack(logits, 1), torch.stack(weights, 1)


# ------------------------------------------------------------------------------- pointing


class Pointed(Answers):
    """The same of what is pointed at: steps instead of words, and of each its keys, ⇐ first."""

    @property
    def chosen(self) -> Tensor:
        """The likeliest keys."""
        return self.logits.argmax(dim=-1)


NO_KEY = -1e9
"""The logit of a key that a problem does not have, where others have one."""


class PointedAt:
    """Held-out problems of several n; the model is given the right answers, then left to itself.
    Its logits are those with nothing forbidden, its weights those under the stricter rule.

    lengths: n of each
    """

    def __init__(self, task: Pointing, *, each: int = 24) -> None:
        data = task.data
        self.rule: Rule = "polygon" if isinstance(data, HullData) else "each_once"
        sizes = sorted({data.least, *data.points, *data.tests})
        self.problems = [data.held_out_problems(n, "test", each) for n in sizes]
        while sum(int(some.scored.sum()) for some in self.problems) < WORDS:
            self.problems.append(data.held_out_problems(sizes[-1], "valid", each))
        self.lengths = [len(points) for some in self.problems for points in some.points]

    def together(self, model: Any) -> Answers:
        return self._pointed(model, self.problems)

    def alone(self, model: Any) -> Answers:
        rows = [
            some.rows(slice(i, i + 1)) for some in self.problems for i in range(len(some.points))
        ]
        return self._pointed(model, rows)

    def says(self, model: Any) -> list[tuple[str, ...]]:
        return [
            tuple(map(str, said(answer)))
            for some in self.problems
            for answer in point(model, some.points, rule=self.rule).answers
        ]

    def _pointed(self, model: Any, problems: list[Problems]) -> Answers:
        logits, weights, most = [], [], 1 + max(self.lengths)
        for some in problems:
            points = _as_precise(some.points, model)
            scores = model(points, some.answers, rule="free").logits[some.scored]
            logits.append(nn.functional.pad(scores, (0, most - scores.shape[1]), value=NO_KEY))
            kept = model(points, some.answers, rule=self.rule).weights[some.scored]
            weights.append(kept.flatten())
        return Pointed(torch.cat(logits), torch.cat(weights))


# ------------------------------------------------------------------------------- learning


class Likeliest(Answers):
    """The same of labels, and of arms: one row for each that is asked for."""

    @property
    def chosen(self) -> Tensor:
        """The likeliest of them."""
        return self.logits.argmax(dim=-1)


def by_row(looks: Mapping[str, Tensor]) -> Float[Tensor, " look"]:
    """The looks of all blocks, row by row of a batch."""
    return torch.stack(list(looks.values()), dim=1).flatten()


class Shown:
    """Episodes of the validation's scripts, with every number of shots.

    lengths: pictures of each, the asked one among them
    """

    def __init__(self, task: Recognising) -> None:
        data = task.data
        each = -(-WORDS // data.shots)
        self.episodes = [
            data.held_out_episodes("valid", each, shots) for shots in range(1, data.shots + 1)
        ]
        self.lengths = [length for some in self.episodes for length in some.lengths.tolist()]

    def together(self, model: Any) -> Answers:
        return self._asked(model, self.episodes)

    def alone(self, model: Any) -> Answers:
        rows = [
            some.rows(slice(i, i + 1)) for some in self.episodes for i in range(len(some.answers))
        ]
        return self._asked(model, rows)

    def says(self, model: Any) -> list[tuple[str, ...]]:
        return [
            (str(label),)
            for some in self.episodes
            for label in asked(model, some).logits.argmax(dim=-1).tolist()
        ]

    @staticmethod
    def _asked(model: Any, episodes: list[Episodes]) -> Answers:
        found = [asked(model, some) for some in episodes]
        looks = [by_row(some.looks) for some in found if some.looks]
        logits = torch.cat([some.logits for some in found])
        return Likeliest(logits, torch.cat(looks) if looks else None)


def asked(model: Any, episodes: Episodes) -> Asked:
    """What the last step says, and where it looked; episodes are equally long."""
    pictures = _as_precise(episodes.pictures, model)
    if not isinstance(model, nn.Module):
        return model(pictures, episodes.labels)
    guess = model(pictures, episodes.labels)
    return Asked(guess.logits[:, -1], {block: each[:, -1] for block, each in guess.weights.items()})


class Pulled:
    """Bandits of three lengths, any arm pulled at each pull; what a policy says are the arms that
    it pulls when it plays them itself.

    lengths: pulls of each
    """

    def __init__(self, task: Playing) -> None:
        data = task.data
        pulls = sorted({1, -(-data.pulls // 2), data.pulls})
        each = max(8, -(-WORDS // sum(pulls)))
        drawn = data.held_out_bandits(0, each * len(pulls))
        dice = torch.Generator().manual_seed(data.seed)
        self.bandits = [
            Bandits(drawn.p[i :: len(pulls)], drawn.luck[i :: len(pulls), :n])
            for i, n in enumerate(pulls)
        ]
        self.actions = [torch.randint(data.arms, (each, n), generator=dice) for n in pulls]
        self.rewards = [
            torch.stack([some.pull(t, arms) for t, arms in enumerate(done.unbind(1))], dim=1)
            for some, done in zip(self.bandits, self.actions, strict=True)
        ]
        self.lengths = [n for n in pulls for _ in range(each)]

    def together(self, model: Any) -> Answers:
        return self._scored(model, list(zip(self.actions, self.rewards, strict=True)))

    def alone(self, model: Any) -> Answers:
        rows = [
            row
            for done, paid in zip(self.actions, self.rewards, strict=True)
            for row in zip(done.split(1), paid.split(1), strict=True)
        ]
        return self._scored(model, rows)

    def says(self, model: Any) -> list[tuple[str, ...]]:
        return [
            tuple(map(str, row))
            for some in self.bandits
            for row in play(model, some, likeliest=True).actions.tolist()
        ]

    @staticmethod
    def _scored(model: Any, histories: list[tuple[Tensor, Tensor]]) -> Answers:
        found = [model(done, paid) for done, paid in histories]
        looks = [by_row(some.weights) for some in found if some.weights]
        logits = torch.cat([some.logits.flatten(0, 1) for some in found])
        return Likeliest(logits, torch.cat(looks) if looks else None)
