"""Cards side by side, on cards made up here."""

from dataclasses import replace

import pytest

from heed.experiments.cards import Card, CardError, spread
from heed.experiments.compare import Times, compare, plus_minus, step_times, verdict
from heed.experiments.table import EXPERIMENTS, UnknownExperiment

NAMES = ("bahdanau_dot_short", "bahdanau_general_short")
BLEU = {NAMES[0]: [90.0, 91.0, 92.0], NAMES[1]: [80.0, 81.0, 82.0]}


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder of trained rows in which two rows have a card."""
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    return tmp_path


def put(shelf, name, bleu, **changed):
    metrics = {
        "bleu": spread(bleu),
        "bleu_longer": spread([b - 10 for b in bleu]),
        "bleu_by_length": {"3-8": spread(bleu)},
        "aer": spread([0.1, 0.1, 0.1]),
        "something_else": spread([1.0, 2.0, 3.0]),
    }
    fields = {
        "experiment": name, "chapter": "04_scores", "title": "", "config": {}, "data": {},
        "train": {}, "credits": [], "licence": "", "metrics": metrics, "settings": {},
        "claims": [], "seed": 0, "seeds": [0, 1, 2], "steps": 1, "seconds": 1.0,
        "complete": True, "parameters": 1234, "dtype": "float16", "precision": "float32",
        "threads": 1, "versions": {}, "files": {},
    }  # fmt: skip
    (shelf / name).mkdir()
    Card(**(fields | changed)).write(shelf / name)


def test_the_numbers_of_all_cards_stand_in_one_table(shelf):
    for name, bleu in BLEU.items():
        put(shelf, name, bleu)
    said = str(compare(NAMES)).splitlines()
    assert said[0].split() == ["parameters", "seeds", "bleu", "bleu_longer", "aer"]
    assert said[1].split() == f"{NAMES[0]} 1,234 3 91.0 ± 1.0 81.0 ± 1.0 0.100 ± 0.000".split()
    assert len(said) == 3
    assert len({len(line) for line in said}) == 1


def test_a_star_stands_for_any_letters_and_what_is_not_trained_is_said(shelf):
    put(shelf, NAMES[0], BLEU[NAMES[0]], complete=False)
    found = compare(["bahdanau_*_short"], ["bleu"])
    assert list(found.cards) == [NAMES[0]]
    lines = str(found).splitlines()
    assert "3*" in lines[1]
    assert "not all planned seeds" in lines[2]
    assert f"{NAMES[1]}: no weights yet" in lines
    assert len(found.missing) == 6


def test_a_row_is_judged_against_another_by_both_spreads(shelf):
    put(shelf, NAMES[0], BLEU[NAMES[0]])
    put(shelf, NAMES[1], [90.0, 91.0, 93.0])
    put(shelf, "bahdanau_additive_short", BLEU[NAMES[1]])
    found = compare(["bahdanau_*_short"])
    assert found.verdicts("bleu", against=NAMES[0]) == {
        NAMES[1]: "no difference seen",
        "bahdanau_additive_short": "lower",
    }
    with pytest.raises(CardError, match="'nobody' is not among the rows"):
        found.verdicts("bleu", against="nobody")


def test_what_cannot_be_compared_is_named(shelf):
    with pytest.raises(CardError, match="nothing trained to compare under bahdanau_dot_short"):
        compare(NAMES[:1])
    with pytest.raises(UnknownExperiment, match="no experiment 'bahdanau_dott_short'"):
        compare(["bahdanau_dott_short"])
    put(shelf, NAMES[0], BLEU[NAMES[0]])
    with pytest.raises(CardError, match="has no metric 'blue'"):
        str(compare(NAMES[:1], ["blue"]))


def test_all_seven_rows_differ_in_their_score_alone():
    rows = [row for name, row in EXPERIMENTS.items() if name.endswith("_short")]
    assert len(rows) == 7
    recipes = []
    for row in rows:
        recipe = row.recipe
        assert recipe["model"].pop("score") in row.name
        recipes.append(recipe)
    assert all(recipe == recipes[0] for recipe in recipes)


def test_a_step_of_each_translator_is_timed():
    called = {"with": "bahdanau_grammar", "without": "seq2seq_grammar"}
    times = step_times(called, rows=2, words=3, repeats=2)
    assert list(times.seconds) == list(called)
    assert all(len(turns) == 2 for turns in times.seconds.values())
    assert all(0 < turn < 60 for turns in times.seconds.values() for turn in turns)
    assert times.median(times.to) == 1
    with pytest.raises(CardError, match="'nobody' is not among the rows: with, without"):
        step_times(called, to="nobody")


def test_a_ratio_is_taken_within_a_turn_and_a_hiccup_does_not_move_it():
    times = Times(
        seconds={
            "slow": [2.0, 4.0, 2.0, 2.0, 400.0],
            "fast": [1.0, 2.0, 1.0, 1.0, 1.0],
        },
        to="fast",
    )
    assert times.said("slow") == "2.00 ± 0.00"  # the second turn was slow for both
    assert times.said("fast") == "1.00 ± 0.00"
    spread_out = replace(times, seconds={"slow": [1.0, 2.0, 3.0, 4.0, 5.0], "fast": [1.0] * 5})
    assert spread_out.said("slow") == "3.00 ± 1.00"


def test_what_a_step_takes_stands_in_the_last_column(shelf):
    for name, bleu in BLEU.items():
        put(shelf, name, bleu, complete=False)
    times = Times(seconds={NAMES[0]: [1.0, 1.0], NAMES[1]: [3.0, 3.0]}, to=NAMES[0])
    found = replace(compare(NAMES, ["bleu"]), times=times)
    header, first, second, legend, unfinished = str(found).splitlines()
    assert header.split() == ["parameters", "seeds", "bleu", "step"]
    assert first.endswith(" 1.00 ± 0.00")
    assert second.endswith(" 3.00 ± 0.00")
    assert f"× that of {NAMES[0]}" in legend
    shown = found._repr_mimebundle_()
    assert shown["text/plain"] == str(found)
    page = shown["text/markdown"].splitlines()
    assert page[0] == "|  | parameters | seeds | bleu | step |"
    assert page[3] == f"| {NAMES[1]} | 1,234 | 3* | 81.0\u00a0±\u00a01.0 | 3.00\u00a0±\u00a00.00 |"
    assert page[-1] == "\\" + unfinished


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], "lower"), ([4.0, 5.0, 6.0], [1.0, 2.0, 3.0], "higher")],
)
def test_a_verdict_has_a_direction(first, second, says):
    assert verdict(spread(first), spread(second)) == says
    assert plus_minus(spread(first)) == f"{sum(first) / 3:.1f} ± 1.0"
