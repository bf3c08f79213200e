import json
from dataclasses import asdict

import pytest

from heed.experiments.cards import (
    Card,
    CardError,
    compact,
    first_difference,
    gather,
    numbers,
    spread,
)


def test_a_card_comes_back_as_it_went(shipped, tmp_path):
    card = Card.read(shipped)
    card.write(tmp_path)
    assert Card.read(tmp_path) == card


def test_spread_is_mean_and_sample_deviation():
    assert spread([1.0, 2.0, 6.0]) == {
        "mean": 3.0,
        "std": pytest.approx(7**0.5),
        "seeds": [1.0, 2.0, 6.0],
    }
    assert spread([4.0]) == {"mean": 4.0, "std": 0.0, "seeds": [4.0]}


def test_groups_are_gathered_name_by_name_even_if_a_seed_lacks_one():
    runs = [{"bleu": 1.0, "by": {"3-8": 10.0, "9-15": 5.0}}, {"bleu": 3.0, "by": {"3-8": 20.0}}]
    gathered = gather(runs)
    assert gathered["bleu"]["mean"] == 2.0
    assert gathered["by"]["3-8"]["seeds"] == [10.0, 20.0]
    assert gathered["by"]["9-15"]["seeds"] == [5.0, None]
    assert gathered["by"]["9-15"]["mean"] == 5.0
    assert [name for name, _ in numbers(gathered)] == ["bleu", "by.3-8", "by.9-15"]


def test_a_number_is_found_by_its_dotted_name(shipped):
    card = Card.read(shipped)
    assert card.number("bleu_by_length.3-8") == card.metrics["bleu_by_length"]["3-8"]["mean"]


@pytest.mark.parametrize("metric", ["blue", "bleu.3-8", "bleu_by_length", "bleu_by_length.1-2"])
def test_a_number_that_is_not_there_is_named(shipped, metric):
    with pytest.raises(CardError, match=metric):
        Card.read(shipped).number(metric)


def test_a_missing_card_is_named(tmp_path):
    with pytest.raises(CardError, match=r"card\.json is missing"):
        Card.read(tmp_path)


@pytest.mark.parametrize("keep", [0, 1, 100, -2])
def test_a_truncated_card_is_named(shipped, keep):
    path = shipped / "card.json"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CardError, match=r"card\.json is damaged"):
        Card.read(shipped)


def broken(card, how):
    if how == "a list":
        return [card]
    if how == "a field gone":
        return {name: value for name, value in card.items() if name != "files"}
    if how == "a field too many":
        return card | {"pickle": "no"}
    return card | {how: 7}


@pytest.mark.parametrize(
    "how", ["a list", "a field gone", "a field too many", "experiment", "config", "files", "seeds"]
)
def test_a_card_of_the_wrong_form_is_refused_in_one_line(shipped, how):
    path = shipped / "card.json"
    path.write_text(json.dumps(broken(json.loads(path.read_text()), how)))
    with pytest.raises(CardError, match=r"card\.json is damaged") as fault:
        Card.read(shipped)
    assert "\n" not in str(fault.value)


def test_bytes_that_are_no_text_are_refused(shipped):
    (shipped / "card.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CardError, match=r"card\.json is damaged"):
        Card.read(shipped)


def test_a_number_that_is_none_never_reaches_a_card(shipped, tmp_path):
    card = Card.read(shipped)
    card.metrics["bleu"]["mean"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        card.write(tmp_path)
    assert not (tmp_path / "card.json").exists()


def test_a_card_is_compact_and_still_the_same_json(shipped):
    text = (shipped / "card.json").read_text()
    card = json.loads(text)
    plain = json.dumps(card, indent=1, ensure_ascii=False)
    assert json.loads(compact(plain)) == card
    assert len(text.splitlines()) < len(plain.splitlines()) / 2
    assert asdict(Card.read(shipped)) == card


def test_the_first_difference_is_told_with_its_place():
    there, here = {"a": {"b": 1, "c": [1, 2]}}, {"a": {"b": 1, "c": [1, 3]}}
    assert first_difference(there, here) == "a.c was [1, 2], the table says [1, 3]"
    assert first_difference({"a": 1}, {}) == "a is gone in the table"
    assert first_difference({}, {"a": 1}) == "a is new in the table"
    assert first_difference(there, json.loads(json.dumps(there))) is None
