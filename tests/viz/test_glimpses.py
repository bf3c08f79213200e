"""Glimpses over a picture, how a model looks at what it names, and the scatter of estimates."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_cards import blank_card

from heed.data.captions import NOUN, pieces
from heed.data.scenes import SceneData
from heed.evaluation.captions import Caption, cells_in
from heed.experiments.captioning import TrainedCaptioner
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from heed.viz.glimpses import (
    THICK,
    Shown,
    _fog,
    aimed,
    animals,
    glimpses,
    looks,
    mistakes,
    noise,
    running,
    said,
    scene,
    side_by_side,
    told,
    when,
)

SCENES = SceneData(held_out=6).held_out_scenes("silhouettes")
VOCABULARY = pieces("en").vocabulary


def small(**options: Any) -> TrainedCaptioner:
    """An untrained captioner; nothing but what the pictures ask for."""
    torch.manual_seed(0)
    config = ShowAttendTellConfig(
        vocab=len(VOCABULARY), channels=(4, 8, 8), d_embedding=6, d_state=12, d_align=8, **options
    )
    model = ShowAttendTell(config).eval()
    return TrainedCaptioner(
        model=model,
        card=blank_card(experiment="test"),
        folder=Path(),
        vocabulary=VOCABULARY,
        language="en",
    )


def caption(words: tuple[str, ...], **options: Any) -> Caption:
    """Words, all written while looking at the second place of four."""
    looked = np.tile(np.array([0.1, 0.7, 0.1, 0.1]), (len(words), 1))
    given: dict[str, Any] = {
        "weights": looked,
        "grid": (2, 2),
        "glimpses": [-1] * len(words),
        "gates": [0.25] * len(words),
    }
    return Caption(
        words=words,
        log_prob=-1.0,
        log_probs=[-1.0] * len(words),
        finished=True,
        **(given | options),
    )


PICTURE = torch.full((3, 64, 64), 200, dtype=torch.uint8)
CAT = Shown(
    picture=PICTURE,
    caption=caption(("a", "cat")),
    boxes=[None, (0, 40, 20, 60)],
    right=("a", "dog"),
)


def test_a_strip_says_where_each_word_looks_and_what_would_be_right():
    drawn = glimpses(CAT)
    assert "writing 'a', looks at 1, 2 0.70, gate 0.25;" in drawn.alt
    assert "writing 'cat', looks at 1, 2 0.70, on the animal, gate 0.25, right" in drawn.alt
    assert "right would be 'dog'" in drawn.alt
    assert "(dog)" in drawn.svg
    assert drawn.svg.count("<use ") == 2
    assert drawn.svg.count("<symbol ") == 1
    beside = replace(CAT, boxes=[None, (40, 0, 60, 20)])
    assert "beside the animal" in glimpses(beside).alt


def test_the_place_looked_at_alone_has_a_white_square_around_it():
    hard = replace(CAT, caption=caption(("a", "cat"), glimpses=[-1, 2]))
    (square,) = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*stroke: #ffffff', glimpses(hard).svg
    )
    assert [float(edge) for edge in square] == [0.0, 46.0]
    assert "stroke: #ffffff" not in glimpses(CAT).svg


def test_the_fog_thins_with_the_weight_and_is_gone_from_a_quarter_on():
    thick, thin, gone, more = (
        int(each) for each in _fog(np.array([[0.0, 0.1, 0.25, 0.9]]))[0, :, 3]
    )
    assert thick == round(255 * THICK)
    assert thin == round(255 * THICK * (1 - 0.4**0.5))
    assert gone == more == 0


def test_rows_of_two_models_stand_under_each_other_and_share_a_page():
    drawn = side_by_side(
        {"soft": CAT, "hard": replace(CAT, caption=caption(("a", "cat", "<b>")), boxes=())}
    )
    assert drawn.alt.startswith("soft. writing 'a'")
    assert "hard. writing 'a'" in drawn.alt
    assert "&lt;b&gt;" in drawn.svg
    assert "<b>" not in drawn.svg
    ids = re.findall(r'<symbol id="([^"]+)"', drawn.svg)
    assert len(ids) == len(set(ids)) == 2
    assert set(re.findall(r'<use href="#([^"]+)"', drawn.svg)) == set(ids)


def test_a_caption_with_a_box_too_few_is_refused():
    with pytest.raises(ValueError, match="2 words, but 1 boxes"):
        replace(CAT, boxes=[None])


def test_a_scene_names_its_animals_and_where_they_stand():
    number = int((SCENES.plan.count == 2).nonzero()[0])
    named = animals(SCENES, number)
    assert len(named) == 2
    assert all(name in " ".join(_right(number)) for name in named)
    drawn = scene(SCENES.pictures[number], boxes=named)
    for name in named:
        assert f"{name}: rows" in drawn.alt
        assert f">{name}</text>" in drawn.svg
    assert drawn.svg.count("<line ") == 14
    corner = scene(PICTURE, boxes={"cat": (0, 40, 20, 64)})
    assert "cat: rows 1 to 3, columns 6 to 8" in corner.alt


def _right(number: int) -> list[str]:
    end = int(SCENES.captions.lengths[number]) - 1
    return list(VOCABULARY.decode(SCENES.captions.words[number, 1:end].tolist()))


def test_told_writes_what_is_right_with_a_box_for_words_about_an_animal():
    shown = told(small(), SCENES, 2)
    assert list(shown.caption.words) == _right(2)
    assert len(shown.caption.weights) == len(shown.caption.words) + 1
    assert shown.boxes[0] == tuple(SCENES.boxes[2, 0].tolist())
    assert shown.boxes[-1] is None
    assert min(told(small(attention="hard"), SCENES, 2).caption.glimpses or [-1]) >= 0


def test_said_writes_by_itself():
    shown = said(small(), SCENES, 2)
    assert list(shown.right) == _right(2)
    assert shown.caption.words == small().describe(SCENES.pictures[2]).words


# ------------------------------------------------------------------ numbers


def test_what_is_taken_in_is_the_gate_times_the_share_on_the_animal():
    net = small()
    assert net.model.f_beta is not None
    torch.nn.init.zeros_(net.model.f_beta.weight)
    torch.nn.init.constant_(net.model.f_beta.bias, 0.0)  # a gate of a half, always
    found = looks(net, SCENES)
    assert set(found) == {"article", "size", "colour", "noun"}
    animals_there = int(SCENES.plan.count.sum())
    for of in found.values():
        assert of.words == animals_there
        assert of.gate == pytest.approx(0.5)
        assert of.taken == pytest.approx(of.mass / 2)


def test_a_role_counts_the_looks_of_its_own_words():
    net = small()
    torch.nn.init.normal_(net.model.embed.weight, std=3.0)  # words move the look
    torch.nn.init.normal_(net.model.attention.score.v.weight, std=3.0)
    masses = []
    for number in range(len(SCENES.pictures)):
        shown = told(net, SCENES, number)
        for t in range(len(shown.caption.words)):
            if int(SCENES.captions.role[number, t + 1]) == NOUN:
                inside = cells_in(torch.tensor(shown.boxes[t]), (8, 8), 64)
                masses.append(float(shown.caption.weights[t][inside.numpy()].sum()))
    assert looks(net, SCENES)["noun"].mass == pytest.approx(np.mean(masses), abs=1e-5)


def test_even_weights_have_as_much_on_the_animal_as_chance():
    net = small()
    torch.nn.init.zeros_(net.model.attention.score.v.weight)
    for of in looks(net, SCENES).values():
        assert of.mass == pytest.approx(of.chance)


def test_looks_by_rule_stay_on_the_animal_and_are_even_where_a_word_speaks_of_none():
    found = aimed(SCENES, grid=(8, 8), side=64)
    spread, one = found["spread over the animal"], found["at one place of it"]
    about = SCENES.captions.about[:, 1:]
    assert set(about.unique().tolist()) >= {-1, 0}
    for number, row in enumerate(about.tolist()):
        for t, slot in enumerate(row):
            if slot < 0:
                expected = torch.full((64,), 1 / 64)
                torch.testing.assert_close(one[number, t], expected)
            else:
                inside = cells_in(SCENES.boxes[number, slot], (8, 8), 64)
                expected = inside / inside.sum()
                assert one[number, t][inside].sum() == one[number, t].max() == 1
            torch.testing.assert_close(spread[number, t], expected)


def test_bars_say_what_each_word_takes_in():
    found = looks(small(), SCENES)
    drawn = when({"soft": found, "hard": found})
    assert f"soft: article {found['article'].taken:.2f}" in drawn.alt
    assert "hard: article" in drawn.alt


def test_mistakes_are_counted_by_what_a_word_is_there_for(monkeypatch):
    net, right = small(), [_right(number) for number in range(6)]
    place = SCENES.captions.about[0, 1 : len(right[0]) + 1]
    noun = int((SCENES.captions.role[0] == NOUN).nonzero()[0]) - 1

    def described(model, pictures, vocabulary, look=None):
        found = []
        for number, words in enumerate(right):
            written = list(words)
            if number == 0:
                written[noun] = "unicorn"
            if number == 1:
                written = written[:-1]
            top, left, _, _ = SCENES.boxes[number, 0].tolist()
            weights = np.zeros((len(written) + 1, 64))
            weights[:, (top // 8) * 8 + left // 8] = 1.0
            found.append(caption(tuple(written), weights=weights, grid=(8, 8)) if written else None)
        return found

    monkeypatch.setattr("heed.viz.glimpses.describe", described)
    found = mistakes(net, SCENES)
    assert found.numbers == [0, 1]
    assert found.length == 1
    assert found.roles == {"nouns": 1, "colours": 0, "sizes": 0, "others": 0}
    assert int(place[noun]) == 0
    assert found.looked == 1.0


def test_a_mistake_beside_the_animal_was_not_looked_at(monkeypatch):
    one = SceneData(held_out=1, shares=(1.0, 0.0, 0.0)).held_out_scenes("silhouettes")
    right = VOCABULARY.decode(one.captions.words[0, 1:-1].tolist())
    noun = int((one.captions.role[0] == NOUN).nonzero()[0]) - 1
    inside = cells_in(one.boxes[0, 0], (8, 8), 64)
    weights = np.zeros((len(right) + 1, 64))
    weights[:, int(inside.int().argmin())] = 1.0
    words = (*right[:noun], "unicorn", *right[noun + 1 :])
    monkeypatch.setattr(
        "heed.viz.glimpses.describe",
        lambda *given, **named: [caption(words, weights=weights, grid=(8, 8))],
    )
    found = mistakes(small(), one)
    assert found.roles["nouns"] == 1
    assert found.looked == 0.0


def test_a_running_mean_ends_at_the_mean():
    torch.manual_seed(0)
    draws = torch.randn(3_000).double() + 2
    drawn = running({"throws": draws}, 2.0)
    assert (
        f"throws: {draws[:100].mean():.2f} after 100 throws, {draws.mean():.3f} at the end"
        in drawn.alt
    )
    assert "exact 2.000" in drawn.alt


def test_a_baseline_takes_most_of_the_scatter_from_an_untrained_model():
    model = small(attention="hard").model
    before = {name: each.clone() for name, each in model.state_dict().items()}
    config = model.config
    found = noise(model, SCENES, draws=12)
    assert found["less baseline"] < found["as it is"] / 2
    assert found["to go"] < found["as it is"] / 2
    assert found == noise(model, SCENES, draws=12)
    for name, each in model.state_dict().items():
        assert torch.equal(each, before[name])
    assert model.config is config
