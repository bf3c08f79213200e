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


def same_pictures(episodes):
    """Pairs of equal pictures among those that are there, and of equal numbers."""
    there = torch.arange(episodes.labels.shape[1]) < episodes.lengths[:, None]
    flat, numbers = episodes.pictures[there].flatten(1), episodes.drawings[there]
    return (flat[:, None] == flat).all(dim=-1), numbers[:, None] == numbers


def test_equal_numbers_are_equal_pictures():
    equal, same = same_pictures(DATA.draw(40, "valid", generator()))
    assert torch.equal(equal, same)
    assert not torch.equal(same, torch.eye(len(same), dtype=torch.bool))


def test_episodes_that_share_have_drawings_in_common_and_nothing_else():
    some = replace(DATA, sharing=4).draw(200, "valid", generator())
    equal, same = same_pictures(some.rows(slice(0, 40)))
    assert torch.equal(equal, same)
    for first in range(0, 200, 4):
        four = some.rows(slice(first, first + 4))
        assert len(set(four.lengths.tolist())) == 1
        assert all(set(each) == set(four.glyphs[0].tolist()) for each in four.glyphs.tolist())
        shown = four.drawings[:, : int(four.lengths[0]) - 1].sort(dim=1).values
        assert (shown == shown[0]).all()
    orders = {tuple(each.tolist()) for each in some.glyphs[:4]}
    assert len(orders) > 1, "labels are given anew"
    assert len({tuple(each.tolist()) for each in some.drawings[:4]}) == 4, "and so is the order"
    for way in range(3):
        assert 0.2 < (some.answers == way).float().mean() < 0.47
    first = some.glyphs[:, 0] < some.glyphs[:, 1]
    assert 0.35 < first.float().mean() < 0.65


def test_episodes_that_share_may_all_have_labels_by_the_characters_order():
    some = replace(DATA, sharing=4, permuted=False).draw(8, "valid", generator())
    assert all(each == sorted(each) for each in some.glyphs.tolist())


def test_several_questions_come_last_each_with_a_drawing_that_was_not_shown():
    data = replace(DATA, shots=1, tests=(1,), questions=3)
    some = data.draw(100, "valid", generator())
    assert some.labels.shape == (100, 6)
    assert (some.labels[:, 3:] == NONE).all()
    assert torch.equal(some.asking, some.labels == NONE)
    assert torch.equal(some.classes[:, :3], some.labels[:, :3])
    assert torch.equal(some.classes[:, -1], some.answers)
    for e, each in enumerate(some.drawings.tolist()):
        assert len(set(each)) == 6
        for t in range(6):
            shown = some.labels[e].tolist().index(int(some.classes[e, t]))
            assert each[t] // DATA.drawings == each[shown] // DATA.drawings
    assert len({tuple(each) for each in some.classes[:, 3:].tolist()}) > 20


def test_shorter_episodes_ask_as_many():
    some = replace(DATA, drawings=5, questions=3).draw(60, "valid", generator())
    assert set(some.lengths.tolist()) == {6, 9}
    assert (some.asking.sum(dim=1) == 3).all()
    assert all(
        bool(row[length - 3 : length].all())
        for row, length in zip(some.asking, some.lengths, strict=True)
    )


def test_nothing_that_is_measured_shares_or_asks_more_than_once():
    sharing = replace(DATA, sharing=4, questions=2).held_out_episodes("valid", 20, 2)
    assert torch.equal(sharing.pictures, DATA.held_out_episodes("valid", 20, 2).pictures)


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
        ({"tests": ()}, r"^tests=\(\) of held_out=2000 episodes: at least one"),
        ({"held_out": 0}, r"^tests=\(1, 5\) of held_out=0 episodes"),
        ({"questions": 0}, r"^questions=0: an episode asks one"),
        ({"drawings": 8, "questions": 4}, r"^drawings=8 leave none .* shots and 3 questions$"),
        ({"sharing": 0}, r"^sharing=0: an episode shares"),
        ({"drawings": 5}, r"^drawings=5 leave none to ask about after 5 shots$"),
    ],
)
def test_what_makes_no_episode_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        EpisodeData(**wrong)


def test_more_shots_than_drawings_are_refused():
    with pytest.raises(ValueError, match=r"^shots=4, but there are 4 drawings of each$"):
        DATA.draw(1, "valid", generator(), shots=4)
