"""The table of the years, and what is kept about whether attention explains."""

import json

import pytest

from heed.evaluation.faithfulness import CHANGES
from heed.experiments import faithful, years
from heed.experiments.cards import Card, CardError, spread
from heed.experiments.compare import plus_minus
from heed.experiments.table import EXPERIMENTS
from heed.experiments.years import YEARS, sentence_times, trained_years, years_table

ADDITIVE, VECTOR = "bahdanau_grammar", "seq2seq_grammar"


def test_every_year_is_a_row_of_the_same_sentences():
    rows = [EXPERIMENTS[name] for name in YEARS.values()]
    assert all(row.data == rows[0].data for row in rows)
    assert [label[:4] for label in YEARS] == sorted(label[:4] for label in YEARS)


def test_the_table_says_what_the_cards_say():
    header, *rows = years_table().table
    assert header == ["", "BLEU", "AER", "parameters", "minutes trained", "seeds"]
    found = {row[0]: row[1:] for row in rows}
    assert list(found) == list(YEARS)
    for label, name in trained_years().items():
        card = Card.read(EXPERIMENTS[name].folder)
        aer = plus_minus(card.metrics["aer"], digits=3) if "aer" in card.metrics else "–"
        assert found[label][:2] == [plus_minus(card.metrics["bleu"]), aer]
        assert found[label][2] == f"{card.parameters:,}"
        assert found[label][3] == f"{card.seconds / 60:.0f}"


def test_a_row_without_weights_is_there_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("HEED_TRAINED", str(tmp_path))
    table = years_table({"one": ADDITIVE})
    assert table.table[1] == ["one", *["–"] * 5]
    assert str(table).splitlines()[-1] == "no weights yet: one"
    assert trained_years() == {}


def test_times_are_a_column_of_their_own(monkeypatch):
    monkeypatch.setattr(years, "sentence_times", lambda rows: {"b": [0.010, 0.012, 0.014]})
    table = years_table({"a": VECTOR, "b": ADDITIVE}, timed=True)
    assert [row[-1] for row in table.table] == ["ms a sentence", "–", "12 ± 1"]
    assert "median of 3 turns" in str(table)
    assert len({line.index("BLEU") for line in str(table).splitlines()[:1]}) == 1
    assert "12\u00a0±\u00a01" in table._repr_mimebundle_()["text/markdown"]


def test_a_sentence_takes_time():
    (times,) = sentence_times({"one": ADDITIVE}, sentences=1, repeats=2).values()
    assert len(times) == 2
    assert min(times) > 0


# ---------------------------------------------------------------------------- what is kept

MEAN = {"mean": 0.123456789, "error": 0.01}
CONTENT = {
    "sentences": 2,
    "words": 7,
    "read_anew": 1,
    "effects": {change: {"fall": MEAN, "turned": MEAN, "moved": MEAN} for change in CHANGES},
    "agrees": MEAN,
    "by_chance": 0.25,
}


def test_what_is_kept_comes_back_beside_the_others(tmp_path):
    file = tmp_path / "new" / "kept.json"
    sums = {
        name: Card.read(EXPERIMENTS[name].folder).files["model.safetensors"]
        for name in (ADDITIVE, VECTOR)
    }
    for name, weights in sums.items():
        faithful.keep(name, {"model.safetensors": weights, **CONTENT}, file)
    found = faithful.kept(ADDITIVE, file)
    assert found.words == 7
    assert found.effects["uniform"].fall.mean == 0.12346
    assert faithful.kept(VECTOR, file).agrees.error == 0.01


def test_numbers_of_other_weights_and_of_nobody_are_refused(tmp_path):
    file = tmp_path / "kept.json"
    with pytest.raises(CardError, match="has nothing about bahdanau_grammar"):
        faithful.kept(ADDITIVE, file)
    faithful.keep(ADDITIVE, {"model.safetensors": "0", **CONTENT}, file)
    with pytest.raises(CardError, match="is about other weights of bahdanau_grammar"):
        faithful.kept(ADDITIVE, file)


@pytest.mark.parametrize("name", json.loads(faithful.FILE.read_text("utf-8")))
def test_what_is_shipped_speaks_of_the_shipped_weights_and_of_the_whole_test_set(name):
    found = faithful.kept(name)
    card = Card.read(EXPERIMENTS[name].folder)
    assert found.sentences == card.settings["sentences"]["grammar"]
    assert list(found.effects) == list(CHANGES)
    assert spread([found.agrees.mean])["mean"] > 3 * found.by_chance
