import datetime
import random

import pytest
from babel import Locale

from heed.data import cldr
from heed.data.cldr import _compose, _Draw, _Piece, cldr_pairs
from heed.data.text import detokenize, tokenize

KINDS = ["date", "time", "unit", "money", "span", "territories", "languages"]


class Chosen(random.Random):
    """Chance with its mind made up, so that a phrase can be written down by hand."""

    def __init__(self, *, choices=(), ranges=(), sample=()):
        super().__init__(0)
        self.choices_, self.ranges, self.sample_ = list(choices), list(ranges), list(sample)

    def choice(self, seq):
        chosen = self.choices_.pop(0)
        assert chosen in seq
        return chosen

    def randrange(self, *bounds):
        return self.ranges.pop(0)

    def randint(self, a, b):
        return len(self.sample_)

    def sample(self, population, k):
        assert set(self.sample_) <= set(population)
        return self.sample_


def pair_of(kind, languages=("en", "fr"), **chosen):
    draw = _Draw(Chosen(**chosen), [Locale.parse(language) for language in languages])
    return _compose([(kind, draw.phrase(kind))], languages)


def links(pair, which="sure"):
    return {(pair.source[i], pair.target[j]) for i, j in getattr(pair, which)}


@pytest.fixture(scope="module")
def pairs():
    return cldr_pairs(600, seed=1)


# ---------------------------------------------------------------------------- by hand


def test_a_date_is_linked_month_to_month_and_day_to_day():
    day = (datetime.date(2077, 10, 16) - datetime.date(1900, 1, 1)).days
    pair = pair_of("date", choices=["full"], ranges=[day])
    assert pair.source == ("saturday", ",", "october", "16", ",", "2077")
    assert pair.target == ("samedi", "16", "octobre", "2077")
    assert pair.sure == pair.possible == {(0, 0), (2, 2), (3, 1), (5, 3)}
    assert pair.tags == {"date", "crossing"}
    assert pair.phenomena == {"date": pair.sure}


def test_a_number_of_one_word_here_and_two_there_is_sure():
    pair = pair_of("unit", choices=["length-kilometer", 12500])
    assert pair.source == ("12,500", "kilometers")
    assert pair.target == ("12", "500", "kilomètres")
    assert pair.sure == {(0, 0), (0, 1), (1, 2)}


def test_several_words_on_both_sides_are_only_possible():
    pair = pair_of("money", choices=["SEK", 20])
    assert pair.source == ("20", "swedish", "kronor")
    assert pair.target == ("20", "couronnes", "suédoises")
    assert pair.sure == {(0, 0)}
    assert pair.possible == {(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)}


@pytest.mark.parametrize(
    ("sign", "unit", "english", "french", "expected"),
    [
        (1, "year", "in 5 years", "dans 5 ans", {("in", "dans"), ("5", "5"), ("years", "ans")}),
        (
            -1,
            "day",
            "5 days ago",
            "il y a 5 jours",
            {("ago", "il"), ("ago", "y"), ("ago", "a"), ("5", "5"), ("days", "jours")},
        ),
    ],
)
def test_spans_of_time_tell_direction_number_and_unit_apart(sign, unit, english, french, expected):
    pair = pair_of("span", choices=[unit, 5, sign])
    assert (" ".join(pair.source), " ".join(pair.target)) == (english, french)
    assert links(pair) == expected


def test_lists_answer_each_other_name_by_name_and_comma_by_comma():
    pair = pair_of("territories", sample=["FR", "US", "ES"])
    assert pair.source == ("france", ",", "united", "states", ",", "and", "spain")
    assert pair.target == ("france", ",", "états-unis", "et", "espagne")
    assert pair.sure == {
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 2),
        (5, 3),
        (6, 4),
    }  # the last comma is ours


def test_a_time_links_the_clock_and_its_half_of_the_day():
    pair = pair_of("time", ranges=[14, 30])
    assert (pair.source, pair.target) == (("2:30", "pm"), ("14:30",))
    assert pair.sure == {(0, 0), (1, 0)}


def test_phrases_are_chained_by_semicolons_and_keep_their_own_fields():
    en, fr = [_Piece("3", "number")], [_Piece("3", "number")]
    pair = _compose([("unit", [en, fr]), ("money", [en, fr])], ("en", "fr"))
    assert pair.source == pair.target == ("3", ";", "3")
    assert pair.sure == {(0, 0), (1, 1), (2, 2)}
    assert pair.phenomena == {"unit": {(0, 0)}, "money": {(2, 2)}}
    assert pair.tags == {"unit", "money"}


def test_pieces_that_the_whole_text_would_cut_otherwise_are_refused():
    good, bad = [_Piece("dans")], [_Piece("d"), _Piece("ans")]
    assert _compose([("span", [good, good])], ("en", "fr")) is not None
    assert _compose([("span", [good, bad])], ("en", "fr")) is None


# ---------------------------------------------------------------------------- at large


def test_the_pairs_are_one_and_the_same_for_a_seed(pairs):
    assert cldr_pairs(600, seed=1) == pairs
    assert cldr_pairs(50, seed=1) == pairs[:50]
    assert cldr_pairs(50, seed=2) != pairs[:50]


def test_no_source_comes_twice_and_each_kind_comes_often(pairs):
    assert len({pair.source for pair in pairs}) == len(pairs) == 600
    for kind in KINDS:
        assert sum(kind in pair.tags for pair in pairs) > 40
    assert sum("crossing" in pair.tags for pair in pairs) > 150


def test_words_are_those_that_tokenize_gives(pairs):
    for pair in pairs:
        assert tuple(tokenize(detokenize(pair.source, "en"), "en")) == pair.source
        assert tuple(tokenize(detokenize(pair.target, "fr"), "fr")) == pair.target
        assert not {"\u202f", "\xa0"} & set("".join(pair.source + pair.target))


def test_every_word_but_some_commas_is_linked(pairs):
    for pair in pairs:
        free = [w for i, w in enumerate(pair.source) if all(i != a for a, _ in pair.possible)]
        assert set(free) <= {","}
        assert {j for _, j in pair.possible} == set(range(len(pair.target)))
    share = sum(len(p.sure) for p in pairs) / sum(len(p.possible) for p in pairs)
    assert 0.5 < share < 1


def test_the_phenomena_cover_the_links_of_their_phrases(pairs):
    for pair in pairs:
        assert set(pair.phenomena) == pair.tags - {"crossing"}
        between = {link for link in pair.possible if pair.source[link[0]] == ";"}
        assert frozenset().union(*pair.phenomena.values()) | between == pair.possible


def test_numbers_are_linked_to_themselves(pairs):
    """A check from outside: CLDR's fields agree with what a reader sees at once."""
    for pair in pairs:
        for i, word in enumerate(pair.source):
            if word.isdigit() and pair.target.count(word) == 1 and pair.source.count(word) == 1:
                assert (i, pair.target.index(word)) in pair.sure


def test_chains_reach_the_lengths_of_the_longest_bucket():
    lengths = [len(pair.source) for pair in cldr_pairs(60, seed=0, parts=(8, 11))]
    assert sum(46 <= n <= 60 for n in lengths) > 20


@pytest.mark.parametrize("languages", [("fr", "en"), ("en", "de"), ("en", "zh")])
def test_other_languages_and_directions_work(languages):
    pairs = cldr_pairs(60, seed=0, languages=languages)
    for kind in KINDS:
        assert any(kind in pair.tags for pair in pairs)
    assert sum(len(pair.sure) for pair in pairs) > 200


def test_chinese_dates_walk_backwards():
    day = (datetime.date(2077, 10, 16) - datetime.date(1900, 1, 1)).days
    pair = pair_of("date", ("en", "zh"), choices=["full"], ranges=[day])
    assert pair.target == ("2077", "年", "10", "月", "16", "日", "星期六")
    assert pair.sure == {(0, 6), (2, 2), (3, 4), (5, 0)}


def test_what_cannot_be_had_is_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"parts=\(2, 1\)"):
        cldr_pairs(3, seed=0, parts=(2, 1))
    monkeypatch.setattr(cldr._Draw, "kind", lambda self: "time")
    with pytest.raises(ValueError, match="count=200: only 96"):
        cldr_pairs(200, seed=0, parts=(1, 1))
    assert cldr_pairs(0, seed=0) == []
