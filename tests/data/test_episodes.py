"""Episodes: nothing can be known of them beforehand, and everything needed is in them."""

from dataclasses import replace

import pytest
import torch

from heed.data.episodes import NONE, EpisodeData, drawn
from heed.data.glyphs import glyphs

DATA = EpisodeData(ways=3, shots=2, drawings=4, tests=(1, 2))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def episodes():
    return DATA.draw(200, "valid", generator())


def test_each_class_is_shown_as_often_as_the_episode_says_and_one_is_asked(episodes):
    for labels, length in zip(episodes.labels, episodes.lengths.tolist(), strict=True):
        shots = (length - 1) // 3
        assert labels[: length - 1].bincount(minlength=3).tolist() == [shots] * 3
        assert (labels[length - 1 :] == NONE).all()
    assert set(episodes.lengths.tolist()) == {4, 7}
    assert torch.equal(episodes.asked, episodes.lengths - 1)
    assert set(episodes.answers.tolist()) == {0, 1, 2}


def test_pictures_are_drawings_of_the_character_that_the_label_stands_for(episodes):
    pool, numbers = drawn("valid", 4, 0), glyphs().numbers("valid").tolist()
    for e in range(20):
        seen = set()
        for t in range(int(episodes.lengths[e])):
            label = int(episodes.labels[e, t])
            label = int(episodes.answers[e]) if label == NONE else label
            place = numbers.index(int(episodes.glyphs[e, label]))
            same = (pool[place].float() / 255 == episodes.pictures[e, t]).all(-1).all(-1)
            assert same.sum() == 1
            seen.add((label, int(same.int().argmax())))
        assert len(seen) == episodes.lengths[e], "no drawing is shown twice"
        assert (episodes.pictures[e, int(episodes.lengths[e]) :] == 0).all()


def test_a_label_says_nothing_of_the_character_nor_of_the_place(episodes):
    first = episodes.glyphs[:, 0] < episodes.glyphs[:, 1]
    assert 0.35 < first.float().mean() < 0.65
    assert all(0.2 < (episodes.labels[:, 0] == way).float().mean() < 0.47 for way in range(3))
    assert all(0.2 < (episodes.answers == way).float().mean() < 0.47 for way in range(3))


def test_the_classes_of_an_episode_are_different_and_of_the_part(episodes):
    inside = set(glyphs().numbers("valid").tolist())
    for each in episodes.glyphs.tolist():
        assert len(set(each)) == 3
        assert set(each) <= inside


def test_a_number_of_shots_may_be_asked_for():
    some = DATA.draw(5, "valid", generator(), shots=1)
    assert some.lengths.tolist() == [4] * 5
    assert some.pictures.shape == (5, 4, 28, 28)


def test_episodes_come_from_the_generator_alone():
    one, again, other = (DATA.draw(3, "valid", generator(seed)) for seed in (5, 5, 6))
    assert torch.equal(one.pictures, again.pictures)
    assert not torch.equal(one.pictures, other.pictures)


def test_in_training_a_quarter_turn_makes_another_class(monkeypatch):
    monkeypatch.setattr("heed.data.episodes.drawn", lambda part, n, seed: drawn("valid", n, seed))
    monkeypatch.setattr(
        "heed.data.episodes.glyphs", lambda: type("", (), {"numbers": lambda _, part: VALID})()
    )
    some = DATA.draw(60, "train", generator())
    pool = drawn("valid", 4, 0).float() / 255
    turns = set()
    for e in range(60):
        way = int(some.labels[e, 0])
        mine = pool[VALID.tolist().index(int(some.glyphs[e, way]))]
        turns |= {
            quarter
            for quarter in range(4)
            if any(torch.equal(some.pictures[e, 0], each.rot90(quarter)) for each in mine)
        }
    assert turns == {0, 1, 2, 3}


VALID = glyphs().numbers("valid")


def test_labels_may_follow_the_characters_order_but_not_when_it_is_measured():
    fault = replace(DATA, permuted=False)
    for each in fault.draw(20, "valid", generator()).glyphs.tolist():
        assert each == sorted(each)
    held_out = fault.held_out_episodes("valid", 20, 2)
    assert torch.equal(held_out.glyphs, DATA.held_out_episodes("valid", 20, 2).glyphs)
    assert torch.equal(held_out.pictures, DATA.held_out_episodes("valid", 20, 2).pictures)
    assert any(each != sorted(each) for each in held_out.glyphs.tolist())


def test_some_episodes_are_those_among_all(episodes):
    some = episodes.rows(slice(3, 5))
    assert torch.equal(some.pictures, episodes.pictures[3:5])
    assert torch.equal(some.glyphs, episodes.glyphs[3:5])
    assert torch.equal(some.asked, episodes.asked[3:5])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ways": 1}, r"^ways=1 and shots=5: there must be"),
        ({"shots": 0}, r"^ways=5 and shots=0"),
        ({"tests": (1, 6)}, r"^tests=\(1, 6\), but training has never more than 5 shots$"),
        ({"tests": ()}, r"^tests=\(\) of held_out=1000 episodes: at least one"),
        ({"held_out": 0}, r"^tests=\(1, 5\) of held_out=0 episodes"),
        ({"drawings": 5}, r"^drawings=5 leave none to ask about after 5 shots$"),
    ],
)
def test_what_makes_no_episode_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        EpisodeData(**wrong)


def test_more_shots_than_drawings_are_refused():
    with pytest.raises(ValueError, match=r"^shots=4, but there are 4 drawings of each$"):
        DATA.draw(1, "valid", generator(), shots=4)
