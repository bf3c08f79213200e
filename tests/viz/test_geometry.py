"""Level lines are the score's; the kinds of attention keep to their windows and draws."""

import numpy as np
import torch
from test_scores_pictures import PAIR, untrained

from heed.scores import Cosine, Dot, Location
from heed.viz.geometry import kinds_of, kinds_of_attention, level_lines

QUERY = torch.tensor([2.0, 1.0])
KEYS = {"near": torch.tensor([2.0, 1.0]), "far": torch.tensor([4.0, 2.0])}


def test_the_picture_ranks_the_keys_as_the_score_does():
    drawn = level_lines({"dot": Dot(), "cosine": Cosine()}, QUERY, KEYS)
    assert "dot: keys from best to worst far 10.00, near 5.00" in drawn.alt
    assert "cosine: keys from best to worst near 1.00, far 1.00" in drawn.alt


def test_a_score_that_is_blind_to_keys_has_one_colour():
    drawn = level_lines({"location": Location(d_q=2, max_keys=3)}, QUERY, KEYS)
    assert "location: one colour everywhere" in drawn.alt


def test_the_picture_is_light_enough_for_a_page():
    six = {str(i): Dot() for i in range(6)}
    assert len(level_lines(six, QUERY, KEYS).svg) < 150_000


def test_a_window_is_kept_and_still_adds_up_to_one():
    kinds = {kind.name: kind for kind in kinds_of(untrained("dot"), PAIR, radius=2)}
    local = kinds["local, soft"]
    assert not local.trace.weights[0][~local.keep].any()
    np.testing.assert_allclose(local.trace.weights[0].sum(-1), 1.0, rtol=1e-5)
    assert local.keep.sum(-1).max() == 5
    assert "of 14" in local.looked_at
    assert kinds["global, soft"].looked_at == "all"


def test_hard_rows_take_one_word_and_a_seed_fixes_which():
    net = untrained("dot")
    hard, again, other = (kinds_of(net, PAIR, seed=seed)[3].trace.weights[0] for seed in (0, 0, 1))
    assert set(np.unique(hard)) == {0.0, 1.0}
    assert (hard.sum(-1) == 1).all()
    assert (hard == again).all()
    assert (hard != other).any()


def test_in_self_attention_the_same_words_ask_and_are_asked():
    itself = kinds_of(untrained("dot"), PAIR)[0]
    assert itself.trace.query.labels == itself.trace.key.labels == (*PAIR.source, "</s>")


def test_the_picture_says_who_asks_whom():
    drawn = kinds_of_attention(kinds_of(untrained("dot"), PAIR))
    assert (
        "self: English words ask English words, each looks at all and takes a mixture" in drawn.alt
    )
    assert (
        "global, hard: French words ask English words, each looks at all and takes one, drawn"
        in drawn.alt
    )


def test_a_word_that_asks_can_be_framed_and_its_row_is_said():
    kinds = kinds_of(untrained("dot"), PAIR)
    drawn = kinds_of_attention(kinds, framed="zone")
    itself, *french = drawn.alt.split(". ")[1:]
    assert "; zone looks at" not in itself  # no English word is called so
    assert all("; zone looks at" in each for each in french)
    taken = kinds[3].trace.key.labels[int(kinds[3].trace.weights[0][4].argmax())]
    assert f"takes one, drawn; zone looks at {taken} 1.00" in drawn.alt
    assert drawn.svg.count("#e8590c") == 3
    assert "zone looks" not in kinds_of_attention(kinds).alt
