"""Windows as pictures, and what is measured through them."""

import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from heed.attention import Attention
from heed.data.pairs import Pair
from heed.data.vocabulary import Vocabulary
from heed.experiments.translation import TrainedTranslator
from heed.layers.local import LocalAttention
from heed.models.luong import Luong, LuongConfig
from heed.scores import Dot
from heed.trace import AttentionTrace
from heed.viz.window import (
    Pointed,
    Seen,
    beside,
    letters_right,
    pull,
    pull_picture,
    right_when_beside,
    seen,
    share_inside,
    step_cost,
    three_stages,
    windows,
)

WORDS = Vocabulary(("a", "b", "c"))


def pair_of(source, order):
    links = frozenset((i, j) for j, i in enumerate(order))
    target = tuple(source[i] for i in order)
    return Pair(source=tuple(source), target=target, sure=links, possible=links)


BACK = pair_of("abc", (2, 1, 0))


def untrained(attention, **options):
    torch.manual_seed(0)
    config = LuongConfig(
        source_vocab=len(WORDS),
        target_vocab=len(WORDS),
        d_embedding=4,
        d_hidden=6,
        d_align=5,
        D=1,
        attention=attention,
    )
    model = Luong(replace(config, **options)).eval()
    trained = object.__new__(TrainedTranslator)  # as if it had been loaded, with hardly a card
    card = SimpleNamespace(experiment=f"luong_{attention}")
    for name, value in (("model", model), ("card", card)):
        object.__setattr__(trained, name, value)
    for side in ("source_vocab", "target_vocab"):
        object.__setattr__(trained, side, WORDS)
    return trained


# --- one look ---------------------------------------------------------------------------------


def test_the_three_stages_are_those_of_the_class():
    scores, place, sigma = torch.tensor([0.0, 1.0, 2.0, 0.5]), 1.4, 0.75
    drawn = three_stages(scores, list("abcd"), place=place, radius=1, sigma=sigma)
    attended = LocalAttention(Dot(), radius=1, sigma=sigma).look(
        torch.ones(1, 1),
        scores[:, None],
        scores[:, None],
        places=torch.tensor([place]),
        keep=torch.ones(1, 4, dtype=torch.bool),
    )
    told = ", ".join(f"{w} {x:.2f}" for w, x in zip("abcd", attended.weights[0], strict=True))
    assert f"their product {told}; sum {attended.weights.sum():.2f}." in drawn.alt
    assert "softmax in the window a 0.00, b 0.27, c 0.73, d 0.00; sum 1.00" in drawn.alt


def test_scores_and_words_must_fit():
    with pytest.raises(ValueError, match=r"^2 scores, but 3 words$"):
        three_stages(torch.zeros(2), list("abc"), place=0, radius=1, sigma=1)


# --- where it is put --------------------------------------------------------------------------


def made(places, radius=1):
    trace = AttentionTrace.of("x", torch.eye(3, 4), query=list("abc"), key=[*"abc", "</s>"])
    return Seen(trace=trace, places=places, radius=radius, pair=BACK)


def test_how_far_a_place_is_from_the_gold_link():
    assert made(np.array([2.0, 1.5, 3.0])).away == [0.0, 0.5, 3.0]
    assert made(None).away == []


def test_local_m_is_seen_on_the_diagonal_and_global_nowhere():
    found = seen(untrained("local_m"), BACK)
    assert found.places.tolist() == [0.0, 1.0, 2.0]
    assert found.radius == 1
    assert found.trace.weights.shape == (1, 3, 4)
    assert found.trace.weights[0, 0, 2:].tolist() == [0.0, 0.0]
    assert seen(untrained("global"), BACK).places is None


def test_rows_of_local_p_sum_to_less_than_one():
    sums = seen(untrained("local_p"), BACK).sums
    assert (sums < 0.95).all()
    assert seen(untrained("local_m"), BACK).sums == pytest.approx([1.0, 1.0, 1.0])


def test_a_window_is_drawn_on_each_row_that_has_one():
    def boxes(*places):
        each = None if not places else np.array(places)
        return windows({"it": made(each)}, gold=False).svg.count("stroke-width: 0.5")

    assert boxes() == 0
    assert boxes(0.0, 1.0, 2.0) == 3
    assert boxes(0.0, 1.0, 9.0) == 2  # beyond the end nothing is left
    assert boxes(3.4, 3.4, 3.4) == 3  # the end mark still is


def test_the_alt_text_says_where_the_windows_are():
    alt = windows({"local-p": made(np.array([2.0, 1.0, 1.0]))}).alt
    assert "local-p: windows of 1 to each side, centred from 2.0 in the first row to 1.0" in alt
    assert "0.3 words from the gold link on average" in alt


def test_the_share_of_cells_inside():
    # three rows of four positions, D = 1: 2 + 3 + 3 of 12
    assert share_inside([BACK], 1) == pytest.approx(8 / 12)
    assert share_inside([BACK, BACK], 9) == 1.0


def test_letters_are_told_apart_by_the_window():
    trained = untrained("local_m")
    with torch.no_grad():  # always "b"
        trained.model.output.weight.zero_()
        trained.model.output.bias[WORDS.encode(["b"])[0]] = 1.0
    # of c b a only the middle one is written right, and only its letter is inside
    assert letters_right(trained, [BACK]) == {"inside": 1.0, "outside": 0.0}
    with pytest.raises(ValueError, match=r"^luong_global looks through no window$"):
        letters_right(untrained("global"), [BACK])


# --- beside -----------------------------------------------------------------------------------


def test_looks_beside_are_counted_with_their_direction():
    trained = untrained("local_m", D=1)
    trained.model.attention = Pointed(Dot(), [2, 2, 1, 0])
    assert beside(trained, [BACK]) == {0: 1, 1: 2}


def test_pointing_puts_all_weight_on_the_next_key():
    pointed, values = Pointed(Dot(), [1, 0]), torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    looks = [pointed.look(torch.zeros(1, 1, 2), values, values) for _ in range(2)]
    assert [look.context.tolist() for look in looks] == [[[[3.0, 4.0]]], [[[1.0, 2.0]]]]


def test_a_model_that_copies_what_it_looks_at_is_right_where_it_is_pointed():
    """Annotations are the words themselves, one-hot, and h̃ hands the context on."""
    trained = untrained("global", d_hidden=len(WORDS), d_embedding=len(WORDS))
    model, d = trained.model, len(WORDS)
    with torch.no_grad():
        model.combine.weight[:] = torch.cat([torch.eye(d), torch.zeros(d, d)], 1)
        model.output.weight[:] = torch.eye(d)
        model.output.bias.zero_()
    model.encode = _one_hot(model)
    assert right_when_beside(trained, [BACK], 0) == 1.0
    assert right_when_beside(trained, [BACK], 1) == 0.0  # b for c, c for b, and the end mark
    assert trained.model.attention is model.attention
    assert isinstance(model.attention, Attention)


def _one_hot(model):
    read = type(model).encode

    def encode(source, lengths):
        known = read(model, source, lengths)
        words = torch.nn.functional.one_hot(source, len(WORDS)).float()
        return replace(known, annotations=words)

    return encode


# --- what moves it ----------------------------------------------------------------------------


def test_the_pull_is_the_derivative_on_paper():
    sigma, away = 1.5, [0.0, 1.0, 4.0]
    wanted = [s / sigma**2 * math.exp(-(s**2) / (2 * sigma**2)) for s in away]
    assert pull(sigma, away) == pytest.approx(wanted)


def test_the_strongest_pull_comes_from_sigma_away():
    alt = pull_picture([0.5, 2], radius=6).alt
    assert "σ = 0.5 pulls most from 0.5 words away" in alt
    assert "σ = 2 pulls most from 2.0 words away" in alt


class Watched(Dot):
    """How many keys were asked, each time."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def compare(self, query, prepared):
        self.asked.append(prepared.shape[0])
        return super().compare(query, prepared)


def test_a_step_is_timed_with_all_keys_and_with_those_of_the_window():
    score = Watched()
    cost = step_cost(score, 500, radius=3, d=16, repeats=3, inner=2)
    assert Counter(score.asked) == {500: 2 * (1 + 3), 7: 2 * (1 + 3)}
    assert cost.keys == 500
    assert cost.seconds > 0
    assert cost.window_seconds > 0
