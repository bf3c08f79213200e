"""Maps beside each other."""

import numpy as np
import pytest

from heed.evaluation.faithfulness import CHANGES, Effect, Faithfulness, Mean
from heed.trace import AttentionTrace
from heed.viz.years import side_by_side, turned_by


def trace(name: str, rows: int) -> AttentionTrace:
    weights = np.full((rows, 2), [0.25, 0.75])
    return AttentionTrace.of(name, weights, query=["le"] * rows, key=["a", "b"])


def test_each_map_has_its_name_and_is_described():
    drawn = side_by_side({"first": trace("x", 1), "second": trace("y", 2), "third": trace("z", 1)})
    for name in ("first", "second", "third"):
        assert f">{name}<" in drawn.svg
        assert f"{name}: writing 'le', looks at 'b' 0.75" in drawn.alt
    assert drawn.svg.count(">looked at<") == 3


def test_no_map_is_no_picture():
    with pytest.raises(ValueError, match="no map to put beside another"):
        side_by_side({})


def test_every_change_has_a_row_and_every_model_its_words():
    share = Mean(mean=0.25, error=0.01)
    effect = Effect(fall=share, turned=share, moved=share)
    found = Faithfulness(
        sentences=1,
        words=2,
        read_anew=1,
        effects=dict.fromkeys(CHANGES, effect),
        agrees=share,
        by_chance=0.1,
    )
    drawn = turned_by({"one": found, "two": found})
    assert "one: word looked at most: hidden 25" in drawn.alt
    assert drawn.alt.count(" 25") == 2 * len(CHANGES)
    assert ">two<" in drawn.svg
