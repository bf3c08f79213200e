"""The Python side of the labs that ask no model: the plane, and masks wired wrongly."""

import json
import math
from itertools import product
from typing import Any, get_args

import jaxtyping
import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup

from heed.attention import Attention
from heed.evaluation.leaks import PROMISES, Wiring, attend, leaks
from heed.labs import MaskLab, PlaneLab
from heed.labs.mask import REAL, WORDS, bench
from heed.labs.plane import CELLS, KEYS, LABELS, QUERY, REACH, places, score_in_plane
from heed.scores import ScoreName

SCORES = get_args(ScoreName)
COSINES = ("content_base", "unit_content_base")


# ---------------------------------------------------------------------------- the plane


@pytest.mark.parametrize("score", SCORES)
def test_the_plane_shows_the_packages_attention(score: Any) -> None:
    lab = PlaneLab(score=score, strength=3.0)
    made = score_in_plane(score, lab.matrices, 3.0)
    keys = torch.tensor(KEYS, dtype=torch.float64)
    found = Attention(made)(torch.tensor([QUERY], dtype=torch.float64), keys, keys)
    np.testing.assert_allclose(lab.trace.weights[0], found.weights, atol=1e-6)
    np.testing.assert_allclose(lab.answer["context"], found.context[0], atol=1e-6)
    assert lab.trace.key.labels == LABELS
    assert lab.answer["max"] == max(lab.answer["weights"])
    lab.close()


def test_scores_as_on_paper() -> None:
    keys = [[2, 1], [1, 0], [0, 1], [-1, 0], [0, -1], [3, 3]]
    lab = PlaneLab(score="dot", query=[3.0, 0.0], points=[[float(x) for x in key] for key in keys])
    assert lab.answer["scores"] == [6, 3, 0, -3, 0, 9]
    lab.d = 8
    assert lab.answer["scores"] == [24, 12, 0, -12, 0, 36]
    lab.score = "scaled_dot"
    np.testing.assert_allclose(lab.answer["scores"], np.array([24, 12, 0, -12, 0, 36]) / 8**0.5)
    lab.score, lab.strength = "content_base", 2.0
    cosines = [2 / 5**0.5, 1, 0, -1, 0, 1 / 2**0.5]
    np.testing.assert_allclose(lab.answer["scores"], [2 * c for c in cosines], atol=1e-6)
    lab.score = "unit_content_base"
    np.testing.assert_allclose(lab.answer["scores"], cosines, atol=1e-6)
    lab.score = "general"  # W k turns (1, 0) by 60° and makes it 1.5 long
    assert lab.answer["scores"][1] == pytest.approx(3 * 1.5 * 0.5)
    lab.close()


@pytest.mark.parametrize("score", SCORES)
def test_the_gradient_is_what_a_small_step_finds(score: Any) -> None:
    lab = PlaneLab(score=score, temperature=2.0, d=8, strength=2.0)
    lab.picked = most = int(np.argmax(lab.answer["weights"]))
    gradient = lab.answer["gradient"]
    step = 1e-3
    found = []
    for axis in (0, 1):
        ends = []
        for sign in (1, -1):
            moved = list(QUERY)
            moved[axis] += sign * step
            lab.query = moved
            ends.append(lab.trace.weights[0, 0, most])
        found.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(gradient, found, atol=2e-4)
    assert max(map(abs, gradient)) > 0.02
    lab.close()


def test_a_cosine_has_no_gradient_at_the_origin_and_a_bound() -> None:
    away = [[-1.0, 0.0]] * 5
    lab = PlaneLab(score="unit_content_base", query=[0.0, 0.0], points=[[2.0, 0.0], *away])
    assert lab.answer["gradient"] is None
    assert lab.answer["weights"] == [pytest.approx(1 / 6, abs=1e-6)] * 6
    lab.query = [1.0, 0.0]  # the best that can be: one key ahead, all others behind
    assert lab.answer["max"] == lab.answer["bound"]
    assert lab.answer["bound"] == pytest.approx(math.e / (math.e + 5 / math.e), abs=1e-6)
    lab.score = "dot"
    assert lab.answer["bound"] is None
    lab.query = [0.0, 0.0]
    assert lab.answer["gradient"] is not None
    assert lab.answer["entropy"] == pytest.approx(math.log2(6), abs=1e-6)
    lab.close()


@pytest.mark.parametrize("score", SCORES)
def test_only_location_is_blind_to_the_keys(score: Any) -> None:
    lab = PlaneLab(score=score)
    before = lab.answer
    points = [list(key) for key in KEYS]
    points[2] = [2.0, -2.5]
    lab.points = points
    assert (lab.answer["weights"] == before["weights"]) is (score == "location_base")
    assert lab.answer["blind"] is (score == "location_base")
    assert lab.answer["context"] != before["context"]
    lab.close()


@pytest.mark.parametrize("score", SCORES)
def test_width_and_strength_do_something_for_some_scores_only(score: Any) -> None:
    lab = PlaneLab(score=score)
    before = lab.answer["weights"]
    lab.d = 16
    assert (lab.answer["weights"] != before) is (score in ("dot", "scaled_dot"))
    lab.d, lab.strength = 2, 9.0
    assert (lab.answer["weights"] != before) is (score == "content_base")
    lab.close()


@pytest.mark.parametrize("score", SCORES)
def test_the_field_says_what_a_query_there_would_give(score: Any) -> None:
    lab = PlaneLab(score=score, picked=3, d=4)
    field = np.array(lab.answer["field"])
    assert field.shape == (CELLS, CELLS)
    where = places().reshape(CELLS, CELLS, 2)
    assert where[0, 0].tolist() == [-REACH + 0.125, REACH - 0.125]  # the top left
    for i, j in ((0, 0), (5, 17), (23, 2)):
        lab.query = where[i, j].tolist()
        assert field[i, j] == pytest.approx(lab.answer["weights"][3], abs=2e-6)
    lab.close()


# ---------------------------------------------------------------------------- masks


@pytest.mark.parametrize(
    ("padding", "causal", "over", "swapped"),
    [*product(("before", "after", "none"), (False, True), ("keys", "queries"), (False, True))],
)
def test_the_meter_is_the_packages(padding: Any, causal: bool, over: Any, swapped: bool) -> None:
    lab = MaskLab(padding=padding, causal=causal, over=over, swapped=swapped)
    wiring = Wiring(padding=padding, causal=causal, over=over, swapped=swapped)
    assert lab.wiring == wiring
    weights = attend(wiring, bench()).weights
    np.testing.assert_allclose(lab.answer["weights"], weights, atol=1e-6)
    np.testing.assert_allclose(lab.answer["sums"], weights.sum(-1), atol=1e-6)
    assert list(lab.answer["leaks"]) == list(PROMISES)
    found = leaks(wiring, bench())
    assert lab.answer["leaks"] == pytest.approx(found, abs=1e-6)
    lab.close()


def test_the_map_has_all_words_and_the_padding() -> None:
    lab = MaskLab()
    assert lab.trace.query.labels == lab.trace.key.labels == WORDS
    assert lab.trace.weights[0, :, REAL:].max() == 0
    np.testing.assert_allclose(lab.answer["sums"], 1)
    lab.causal = True
    assert np.triu(lab.trace.weights[0], 1).max() == 0
    lab.close()


# ---------------------------------------------------------------------------- both


@pytest.mark.parametrize("make", [PlaneLab, MaskLab])
def test_the_page_needs_no_model(make: Any) -> None:
    lab = make()
    page = BeautifulSoup(lab.html(), "html.parser")
    script = page.find("script")
    assert script is not None
    told = json.loads(script.text)
    assert told["models"] is None
    assert told["asks"] is True
    # Four digits go into a page, and none of the numbers that both compute with has more.
    for name in lab.facts:
        assert told[name] == json.loads(json.dumps(getattr(lab, name)))
    lab.close()


def test_what_is_drawn_without_javascript() -> None:
    lab = PlaneLab(query=[0.5, 2.0])
    page = BeautifulSoup(lab.html(), "html.parser")
    picture = page.find("svg")
    assert picture is not None
    assert "(0.5, 2)" in picture["aria-label"]
    said = [text.text for text in picture.find_all("text")]
    weights = zip(LABELS, lab.answer["weights"], strict=True)
    assert said == [f"{name} {weight:.2f}" for name, weight in weights]
    lab.close()
    lab = MaskLab(padding="none")
    page = BeautifulSoup(lab.html(), "html.parser")
    verdicts = [row.find_all("td")[-1].text for row in page.select(".heed-meter tr")]
    assert verdicts == ["holds", "broken", "broken", "a reader may", "holds"]
    lab.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PlaneLab(score="cosine"), "cosine"),
        (lambda: PlaneLab(d=3), "d=3 is no power of two from 2 to 512"),
        (lambda: PlaneLab(query=[4.0, 0.0]), "query=[4.0, 0.0] is no place [x, y] between −3 and"),
        (lambda: PlaneLab(query=[math.nan, 0.0]), "query=[nan, 0.0] is no place"),
        (lambda: PlaneLab(query=[1.0]), "query=[1.0] is no place"),
        (lambda: PlaneLab(points=[[0.0, 0.0]]), "1 keys, but there are 6"),
        (lambda: PlaneLab(points=[[0.0, 9.0]] * 6), "key A=[0.0, 9.0] is no place"),
        (lambda: PlaneLab(matrices={}), "the matrices of a PlaneLab are the same for everybody"),
        (lambda: PlaneLab(keys=[]), "no setting 'keys'; it has score, query, points"),
        (lambda: PlaneLab(temperature=math.nan), "temperature=nan is no finite number"),
        (lambda: PlaneLab(strength=10**400), "strength=inf is no finite number"),
        (lambda: MaskLab(padding="during"), "padding"),
        (lambda: MaskLab(words=["a"]), "the words of a MaskLab are the same for everybody"),
    ],
)
def test_a_mistake_in_python_gets_one_clear_line(
    make: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a reader has no such hook
    with pytest.raises((TypeError, traitlets.TraitError)) as caught:
        make()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nonsense_from_a_browser_is_left_out() -> None:
    lab = PlaneLab()
    before = {**lab.answer, "count": 0}
    for value in (None, "x", {}, [1], [[1.0, 2.0]], math.nan, 10**400, [math.inf, 0.0]):
        lab.set_state(dict.fromkeys(("score", "query", "points"), value))
    lab.set_state({"d": 3, "temperature": None, "picked": "B"})  # 3 is bent to 2
    assert {**lab.answer, "count": 0} == before
    lab.set_state({"d": 99_999, "temperature": -1, "picked": 77, "query": [1, -2]})
    assert (lab.d, lab.temperature, lab.picked, lab.query) == (512, 0.1, 5, [1.0, -2.0])
    lab.set_state({"d": 9})
    assert lab.d == 8
    lab.close()
