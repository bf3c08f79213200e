import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
import torch

from heed.data.vocabulary import Vocabulary
from heed.experiments.bandits import Plays
from heed.experiments.captioning import Describes
from heed.experiments.cards import Card, CardError, first_difference, jsonable, numbers
from heed.experiments.episodes import Recognises
from heed.experiments.everyday import ReadsEveryday
from heed.experiments.exactness import TranslatesExactly
from heed.experiments.halves import ReadsHalves
from heed.experiments.language import Reads
from heed.experiments.pointing import Points
from heed.experiments.recall import Recalls
from heed.experiments.table import EXPERIMENTS, Claim, UnknownExperiment, find, table
from heed.experiments.tapes import Answers
from heed.experiments.trained import load
from heed.experiments.translation import Translates
from heed.experiments.twins import Paints

WORDS = Vocabulary(tuple(f"w{i}" for i in range(600)))
KNOWN = {
    Translates: {"source_vocab": WORDS, "target_vocab": WORDS},
    TranslatesExactly: {"source_vocab": WORDS, "target_vocab": WORDS},
    Reads: {"vocabulary": WORDS},
    ReadsEveryday: {"vocabulary": WORDS},
    Recalls: {},
    Answers: {},
    Points: {},
    ReadsHalves: {},
    Paints: {},
    Recognises: {},
    Plays: {},
    Describes: {"vocabulary": WORDS, "language": "en"},
}
"""What the files beside the weights may say, for each kind of task in the table."""
SHIPPED = [e for e in EXPERIMENTS.values() if (e.folder / "card.json").exists()]


def test_names_are_those_of_the_rows_and_say_model_and_data():
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        model, _, data = name.partition("_")
        assert model
        assert data
        assert experiment.title
        assert experiment.trained or experiment.notes


def test_two_rows_cannot_share_a_name():
    one = EXPERIMENTS["bahdanau_reverse"]
    with pytest.raises(ValueError, match="share a name"):
        table(one, replace(one, title="another"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_recipe_can_be_said_in_json(name):
    recipe = EXPERIMENTS[name].recipe
    assert first_difference(jsonable(recipe), recipe | jsonable(recipe)) is None
    assert asdict(EXPERIMENTS[name].train) == recipe["train"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_builds_its_model(name):
    experiment = EXPERIMENTS[name]
    with torch.device("meta"):  # the paper's sizes take no memory this way
        model = experiment.build(experiment.sized(KNOWN[type(experiment.task)]))
    assert sum(p.numel() for p in model.parameters()) > 1_000


def test_the_nearest_name_is_offered():
    with pytest.raises(UnknownExperiment, match="did you mean bahdanau_grammar"):
        find("bahdanau_gramar")
    with pytest.raises(UnknownExperiment, match="python -m heed list"):
        find("zzz")


# ------------------------------------------------------------------ claims


@pytest.mark.parametrize(
    ("claim", "value", "other", "holds"),
    [
        (Claim(metric="bleu", at_least=42.0), 42.0, None, True),
        (Claim(metric="bleu", at_least=42.0), 41.9, None, False),
        (Claim(metric="aer", at_most=0.12), 0.12, None, True),
        (Claim(metric="aer", at_most=0.12), 0.13, None, False),
        (Claim(metric="bleu", at_least=1.5, times="x:bleu"), 15.0, 10.0, True),
        (Claim(metric="bleu", at_least=1.5, times="x:bleu"), 14.9, 10.0, False),
        (Claim(metric="bleu", at_least=5.0, above="x:bleu"), 15.0, 10.0, True),
        (Claim(metric="bleu", at_least=5.0, above="x:bleu"), 14.9, 10.0, False),
    ],
)
def test_a_claim_holds_or_not(claim, value, other, holds):
    assert claim.holds(value, other) is holds


def test_a_claim_reads_as_a_sentence():
    assert str(Claim(metric="aer", at_most=0.12)) == "aer ≤ 0.12"
    assert str(Claim(metric="bleu", at_least=1.5, times="x:bleu")) == "bleu ≥ 1.5 × x:bleu"
    assert str(Claim(metric="bleu", at_least=5.0, above="x:bleu")) == "bleu ≥ 5 + x:bleu"


def test_a_claim_needs_exactly_one_side():
    with pytest.raises(ValueError, match="one of them"):
        Claim(metric="bleu")
    with pytest.raises(ValueError, match="one of them"):
        Claim(metric="bleu", at_least=1.0, at_most=2.0)
    with pytest.raises(ValueError, match="cannot be both"):
        Claim(metric="bleu", at_least=1.0, times="a", above="b")
    with pytest.raises(ValueError, match="relative"):
        Claim(metric="bleu", at_least=1.0, times="a").bound()


# ------------------------------------------------------------------ what is shipped


MEASURE = """
import functools, json, sys
from heed.data import corpora
from heed.experiments.table import find
from heed.experiments.trained import load

corpora.grammar = functools.cache(corpora.grammar)  # three rows' data begin with the same draw
tasks, measured = {}, {}
for name in sys.argv[1:]:
    experiment = find(name)
    same = experiment.task, experiment.data
    if same not in tasks:
        try:
            tasks[same] = experiment.load()
        except FileNotFoundError as absent:
            tasks[same] = str(absent)
    task = tasks[same]
    if isinstance(task, str):
        measured[name] = task
        continue
    trained = load(experiment)
    for part, here in experiment.task.read(task.files()).items():
        assert here == getattr(trained, part), (name, part)
    measured[name] = task.validate(trained.model)
print(json.dumps(measured))
"""


@pytest.fixture(scope="module")
def measured():
    """The loss of every shipped model on its own validation sentences, or why there is none.

    In a process of its own: drawing 60,000 sentences takes half a minute, and ten times that
    where every call has its shapes checked.
    """
    command = [sys.executable, "-c", MEASURE, *(experiment.name for experiment in SHIPPED)]
    out = subprocess.run(command, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def number(path: str, card: Card) -> float:
    name, colon, metric = path.rpartition(":")
    return (Card.read(find(name).folder) if colon else card).number(metric)


@pytest.mark.parametrize("experiment", SHIPPED, ids=lambda e: e.name)
class TestShipped:
    def test_it_loads_as_the_table_has_it(self, experiment):
        trained = load(experiment)
        assert trained.card.parameters == sum(p.numel() for p in trained.model.parameters())
        assert trained.card.claims == [str(claim) for claim in experiment.claims]

    def test_it_is_small(self, experiment):
        assert (experiment.folder / "model.safetensors").stat().st_size <= 6_000_000
        assert (experiment.folder / "card.json").stat().st_size <= 300_000
        maps = experiment.folder / "maps.npz"
        assert not maps.exists() or maps.stat().st_size <= 300_000

    def test_the_card_says_whose_sentences_these_are(self, experiment):
        card = Card.read(experiment.folder)
        assert card.licence
        assert card.credits or card.licence == "generated here"
        assert len(card.seeds) == len(set(card.seeds))
        measured = list(numbers(card.metrics))
        assert measured
        for name, values in measured:
            assert len(values["seeds"]) == len(card.seeds), name
        if card.complete:
            assert card.seeds == list(experiment.seeds)

    def test_its_claims_hold(self, experiment):
        card = Card.read(experiment.folder)
        untrained = []
        for claim in experiment.claims:
            reference = claim.times or claim.above or ""
            rival, colon, _ = reference.rpartition(":")
            if colon and find(rival) not in SHIPPED:
                untrained.append(str(claim))
                continue
            other = number(reference, card) if reference else None
            value = card.number(claim.metric)
            assert claim.holds(value, other), (
                f"{claim}: {value:.4g} against {claim.bound(other):.4g}"
            )
        if untrained:
            pytest.skip(f"no weights to compare with yet: {'; '.join(untrained)}")

    @pytest.mark.slow
    def test_the_weights_score_what_the_card_says(self, experiment, measured):
        if isinstance(measured[experiment.name], str):
            pytest.skip(measured[experiment.name])
        card = Card.read(experiment.folder)
        expected = card.metrics["valid_loss"]["seeds"][card.seeds.index(card.seed)]
        assert measured[experiment.name] == pytest.approx(expected, abs=2e-3)


def test_a_missing_reference_card_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    with pytest.raises(CardError, match="nothing trained lies here"):
        load("bahdanau_grammar")
