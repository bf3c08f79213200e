import pytest

from heed.experiments.compare import plus_minus, verdict
from heed.viz.length import Curve, apart, ends, line_plot, quality_by_length

BY_LENGTH = {
    "3-8": {"mean": 95.04, "std": 0.41, "seeds": [95.0, 94.6, 95.5]},
    "26-45": {"mean": 31.26, "std": 2.2, "seeds": [29.0, 31.5, 33.3]},
    "46-60": {"mean": None, "std": 0.0, "seeds": [None, None, None]},
}


def test_the_description_says_every_mean_with_its_spread_and_leaves_empty_buckets_out():
    alt = quality_by_length({"seq2seq": BY_LENGTH}).alt
    assert "3-8 words 95.0 ± 0.4" in alt
    assert "26-45 words 31.3 ± 2.2" in alt
    assert "46-60" not in alt


def test_a_model_is_named_at_its_line_and_axes_say_what_they_count():
    svg = quality_by_length({"one": BY_LENGTH, "another": BY_LENGTH}).svg
    for text in ("one", "another", "BLEU", "words in the source sentence"):
        assert f">{text}<" in svg


def test_the_same_curves_give_the_same_bytes():
    curves = {"a": Curve(x=[1, 2], y=[3, 4], spread=[0.1, 0.2])}
    first, second = (line_plot(curves, x="x", y="y", alt="a rises").svg for _ in range(2))
    assert first == second


def test_no_curves_and_uneven_curves_are_refused():
    with pytest.raises(ValueError, match="no curves"):
        line_plot({}, x="x", y="y", alt="nothing")
    with pytest.raises(ValueError, match="2 points, but 1 values of spread"):
        Curve(x=[1, 2], y=[3, 4], spread=[0.1])


def test_names_that_would_overlap_move_apart_and_keep_their_order():
    moved = apart([50.0, 50.5, 10.0, 49.0], gap=4.0)
    assert sorted(range(4), key=lambda i: moved[i]) == [2, 3, 0, 1]
    assert all(
        b - a >= 4.0 - 1e-6 for a, b in zip(sorted(moved)[:-1], sorted(moved)[1:], strict=True)
    )
    assert moved[2] == 10.0


def test_names_far_enough_apart_stay_where_they_are():
    assert apart([1.0, 9.0], gap=4.0) == [1.0, 9.0]


def test_a_bucket_is_two_lengths():
    assert ends("26-45") == (26, 45)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ((70.0, 1.0), (72.0, 1.0), "no difference seen"),
        ((70.0, 1.0), (72.5, 1.0), "lower"),
        ((72.5, 1.0), (70.0, 1.0), "higher"),
    ],
)
def test_a_difference_within_the_spreads_is_not_called_one(first, second, says):
    a, b = ({"mean": mean, "std": std, "seeds": [mean] * 3} for mean, std in (first, second))
    assert verdict(a, b) == says


def test_one_seed_decides_nothing():
    one, three = ({"mean": 1.0, "std": 0.0, "seeds": [1.0] * n} for n in (1, 3))
    assert verdict(one, three) == verdict(three, one) == "too few seeds to say"


def test_one_seed_has_no_spread_to_show():
    assert plus_minus({"mean": 31.26, "std": 0.0, "seeds": [31.26]}) == "31.3"
    assert plus_minus(BY_LENGTH["26-45"]) == "31.3 ± 2.2"
    assert plus_minus({"mean": 0.5, "std": 0.01, "seeds": [1, 0]}, times=100) == "50.0 ± 1.0"


def test_six_lines_can_be_told_apart():
    group = {
        "3-8": {"mean": 90.0, "std": 1.0, "seeds": [89.0, 91.0]},
        "9-15": {"mean": 40.0, "std": 0.0, "seeds": [40.0]},
    }
    drawn = quality_by_length({name: group for name in "abcdef"})
    assert "f, over 2 seeds: 3-8 words 90.0 ± 1.0, 9-15 words 40.0" in drawn.alt
    for name in "abcdef":
        assert f">{name}<" in drawn.svg
