"""Scenes: who stands where, what is drawn, and that nothing vanishes or leaks."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from heed.data.captions import ABOVE, ANIMALS, BELOW, COLOURS, LEFT, MOST, RIGHT
from heed.data.scenes import (
    BIG,
    CANVAS,
    CONTRAST,
    SMALL,
    UNSEEN,
    SceneData,
    boxes,
    coverage,
    grounds,
    lab,
    paint,
    paints,
    stands_out,
)
from heed.data.silhouettes import silhouettes

MANY = 2_000


@pytest.fixture(scope="module")
def scenes():
    return SceneData().draw(MANY, torch.Generator().manual_seed(0))


def there(plan):
    return torch.arange(MOST) < plan.count[:, None]


def pairs(plan) -> set[tuple[int, int]]:
    """Animals and the colours that they have somewhere."""
    seen = there(plan)
    return set(zip(plan.animal[seen].tolist(), plan.colour[seen].tolist(), strict=True))


# ------------------------------------------------------------------ what is drawn


def test_a_box_holds_every_pixel_that_its_animal_touches_and_no_empty_edge(scenes):
    plan = scenes.plan
    for slot in range(MOST):
        rows = (plan.count > slot).nonzero().squeeze(1)
        drawn = coverage(plan, silhouettes(), rows, slot) > 1e-4
        top, left, bottom, right = scenes.boxes[rows, slot].unbind(1)
        pixel = torch.arange(CANVAS)
        inside = ((pixel >= top[:, None]) & (pixel < bottom[:, None]))[:, :, None] & (
            (pixel >= left[:, None]) & (pixel < right[:, None])
        )[:, None]
        assert not (drawn & ~inside).any()
        some = torch.arange(len(rows))
        for along, (low, high) in ((2, (top, bottom)), (1, (left, right))):
            touched = drawn.any(along)
            assert touched[some, low].all()
            assert touched[some, high - 1].all()


def test_a_box_of_nobody_is_empty_and_all_others_lie_on_the_canvas(scenes):
    seen = there(scenes.plan)
    assert (scenes.boxes[~seen] == 0).all()
    top, left, bottom, right = scenes.boxes[seen].unbind(-1)
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (bottom <= CANVAS).all()
    assert (right <= CANVAS).all()
    assert (bottom > top).all()
    assert (right > left).all()


def test_no_two_animals_touch(scenes):
    for i, (one, other) in enumerate([(0, 1), (0, 2), (1, 2)]):
        both = scenes.plan.count > (1 if i == 0 else 2)
        a, b = scenes.boxes[both, one], scenes.boxes[both, other]
        apart = (a[:, 2:] <= b[:, :2]) | (b[:, 2:] <= a[:, :2])
        assert apart.any(dim=1).all()


def test_without_noise_a_picture_is_its_colours_where_they_cover_it_fully():
    data = SceneData(shares=(1.0, 0.0, 0.0))
    plan = data.plan(20, torch.Generator().manual_seed(0))
    pictures = data.drawn(plan).pictures
    full = coverage(plan, silhouettes(), torch.arange(20), 0) > 0.9999
    none = coverage(plan, silhouettes(), torch.arange(20), 0) == 0
    for i in range(20):
        inside = pictures[i].permute(1, 2, 0)[full[i]].float()
        assert (inside - paints()[plan.colour[i, 0]]).abs().max() <= 1
        outside = {tuple(p) for p in pictures[i].permute(1, 2, 0)[none[i]].tolist()}
        sky_and_ground = {tuple(p) for p in grounds()[plan.ground[i]].int().tolist()}
        assert outside <= sky_and_ground


def test_the_sky_ends_at_the_horizon():
    data = SceneData()
    plan = data.plan(30, torch.Generator().manual_seed(3))
    empty = paint(replace(plan, count=torch.zeros_like(plan.count)), silhouettes())
    for picture, ground, horizon in zip(
        empty, plan.ground.tolist(), plan.horizon.tolist(), strict=True
    ):
        sky, soil = grounds()[ground].int()
        assert (picture[:, :horizon] == sky[:, None, None]).all()
        assert (picture[:, horizon:] == soil[:, None, None]).all()


def test_a_mirrored_animal_is_its_picture_mirrored():
    data = SceneData(shares=(1.0, 0.0, 0.0))
    plan = data.plan(10, torch.Generator().manual_seed(1))
    middle = torch.full_like(plan.side, 16)
    plan = replace(plan, left=middle, side=torch.full_like(plan.side, 32))
    plan = replace(plan, mirrored=torch.zeros_like(plan.mirrored))
    other = replace(plan, mirrored=~plan.mirrored)
    assert torch.equal(data.drawn(plan).pictures.flip(-1), data.drawn(other).pictures)
    box, turned = boxes(plan, silhouettes())[:, 0], boxes(other, silhouettes())[:, 0]
    assert torch.equal(box[:, 1], CANVAS - turned[:, 3])


# ------------------------------------------------------------------ contrast


def test_lab_of_colours_that_are_in_every_table():
    known = {
        (255, 255, 255): (100, 0, 0),
        (0, 0, 0): (0, 0, 0),
        (255, 0, 0): (53.24, 80.09, 67.20),
        (0, 0, 255): (32.30, 79.19, -107.86),
    }
    for rgb, expected in known.items():
        found = lab(torch.tensor(rgb, dtype=torch.float32)).tolist()
        assert found == pytest.approx(expected, abs=0.05)


def test_no_animal_has_a_colour_that_vanishes_into_sky_or_ground(scenes):
    plan, allowed = scenes.plan, stands_out()
    seen = there(plan)
    assert allowed[plan.ground[:, None].expand(-1, MOST)[seen], plan.colour[seen]].all()
    away = lab(grounds())[:, :, None] - lab(paints())
    assert (away.norm(dim=-1).amin(dim=1)[allowed] >= CONTRAST).all()
    # white on snow, green on grass, black at night: the rule must forbid something
    assert 0 < (~allowed).sum() < allowed.numel() / 4
    assert (allowed.sum(dim=1) >= MOST).all()
    assert allowed.any(dim=0).all()


def test_what_is_drawn_stands_out_though_it_is_noisy(scenes):
    plan = scenes.plan
    rows = torch.arange(300)
    ink = coverage(plan, silhouettes(), rows, 0)
    for i in range(300):
        box = scenes.boxes[i, 0].tolist()
        picture = scenes.pictures[i].permute(1, 2, 0).float()
        animal = picture[ink[i] > 0.99]
        around = picture[box[0] : box[2], box[1] : box[3]][
            ink[i, box[0] : box[2], box[1] : box[3]] == 0
        ]
        if len(animal) > 5 and len(around) > 5:
            away = (lab(animal.mean(0)) - lab(around.mean(0))).norm()
            assert away > 0.6 * CONTRAST, (i, away)


def test_any_two_colours_can_be_told_apart():
    tints = lab(paints())
    away = torch.cdist(tints, tints) + 1e3 * torch.eye(len(tints))
    assert away.min() >= CONTRAST


# ------------------------------------------------------------------ who is named first, and where


def test_relations_are_what_the_boxes_show(scenes):
    plan = scenes.plan
    middle = (scenes.boxes[..., :2] + scenes.boxes[..., 2:]).float() / 2
    holds = {
        LEFT: lambda first, other: first[:, 1] < other[:, 1],
        RIGHT: lambda first, other: first[:, 1] > other[:, 1],
        ABOVE: lambda first, other: first[:, 0] < other[:, 0],
        BELOW: lambda first, other: first[:, 0] > other[:, 0],
    }
    for slot in (1, 2):
        for relation, rule in holds.items():
            rows = (plan.count > slot) & (plan.relation[:, slot] == relation)
            if slot == 1 or relation in (ABOVE, BELOW):
                assert rows.sum() > 50
            assert rule(middle[rows, 0], middle[rows, slot]).all()
    assert (plan.relation[:, 2] >= ABOVE).all()
    assert (plan.relation[plan.count == 3, 1] <= RIGHT).all()


def test_of_two_the_bigger_is_named_first_then_the_left_or_upper_one(scenes):
    plan = scenes.plan
    two = plan.count == 2
    first, second = plan.big[two, 0], plan.big[two, 1]
    assert not (second & ~first).any()
    alike = two & (plan.big[:, 0] == plan.big[:, 1])
    assert set(plan.relation[alike, 1].tolist()) == {LEFT, ABOVE}
    assert set(plan.relation[two & ~alike, 1].tolist()) == {LEFT, RIGHT, ABOVE, BELOW}


def test_of_three_the_first_one_shares_a_side_with_each_of_the_others(scenes):
    three = scenes.boxes[scenes.plan.count == 3]
    half = ((three[..., :2] + three[..., 2:]) // 2 >= CANVAS // 2).int()
    assert (half[:, 0, 0] == half[:, 1, 0]).all()
    assert (half[:, 0, 1] == half[:, 2, 1]).all()
    assert (half[:, 0, 1] != half[:, 1, 1]).all()
    assert (half[:, 0, 0] != half[:, 2, 0]).all()


def test_big_and_small_leave_a_gap_between_them(scenes):
    side, big = scenes.plan.side, scenes.plan.big
    assert side[big].min() >= BIG[0] > SMALL[1] + 4
    assert side[~big].max() <= SMALL[1]
    assert side.max() <= BIG[1] <= CANVAS // 2


def test_scenes_have_one_two_and_three_animals_in_their_shares(scenes):
    shares = torch.bincount(scenes.plan.count, minlength=4)[1:] / MANY
    assert shares.tolist() == pytest.approx([0.3, 0.4, 0.3], abs=0.05)


# ------------------------------------------------------------------ parts


def test_training_never_has_an_unseen_pair_and_everything_else():
    plan = SceneData().plan(20_000, torch.Generator().manual_seed(0))
    never = set(enumerate(UNSEEN))
    assert pairs(plan) == {(a, c) for a in range(len(ANIMALS)) for c in range(len(COLOURS))} - never
    assert len(set(UNSEEN)) == len(COLOURS)


def test_every_scene_of_unseen_combinations_has_exactly_one():
    scenes = SceneData(held_out=500).held_out_scenes("combinations")
    unseen = scenes.plan.colour == torch.tensor(UNSEEN)[scenes.plan.animal]
    assert ((unseen & there(scenes.plan)).sum(dim=1) == 1).all()
    assert pairs(scenes.plan) >= set(enumerate(UNSEEN))


def test_parts_share_no_silhouette():
    data = SceneData(held_out=400)
    train = data.plan(4_000, torch.Generator().manual_seed(0))
    used = {"train": set(train.silhouette[there(train)].tolist())}
    for name in ("valid", "silhouettes", "combinations"):
        plan = data.held_out_scenes(name).plan
        used[name] = set(plan.silhouette[there(plan)].tolist())
    assert not used["train"] & (used["valid"] | used["silhouettes"] | used["combinations"])
    assert not used["valid"] & (used["silhouettes"] | used["combinations"])


def test_every_silhouette_is_of_the_animal_that_is_named(scenes):
    stock, plan = silhouettes(), scenes.plan
    kinds = stock.kinds[plan.silhouette]
    names = [stock.names[kind] for kind in kinds.flatten().tolist()]
    assert names == [ANIMALS[a].english for a in plan.animal.flatten().tolist()]
    assert min(Counter(names).values()) > MANY / 4


def test_a_generator_always_gives_the_same_scenes():
    data = SceneData()
    one, again, other = (data.draw(5, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert torch.equal(one.pictures, again.pictures)
    assert torch.equal(one.captions.words, again.captions.words)
    assert not torch.equal(one.pictures, other.pictures)


def test_held_out_scenes_are_fixed_and_differ():
    data = SceneData(held_out=5)
    names = ("valid", "silhouettes", "combinations")
    first = [data.held_out_scenes(name).pictures for name in names]
    assert all(
        torch.equal(a, data.held_out_scenes(n).pictures) for a, n in zip(first, names, strict=True)
    )
    assert not torch.equal(first[1], first[2])
    assert not torch.equal(
        first[0], SceneData(held_out=5, seed=1).held_out_scenes("valid").pictures
    )


def test_english_and_french_have_the_same_pictures():
    drawn = [
        SceneData(language=language).draw(5, torch.Generator().manual_seed(0))
        for language in ("en", "fr")
    ]
    assert torch.equal(drawn[0].pictures, drawn[1].pictures)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"shares": (1.0, -1.0, 1.0)}, "none of them negative"),
        ({"shares": (0.0, 0.0, 0.0)}, "3 weights"),
    ],
)
def test_what_makes_no_sense_is_refused(field, message):
    with pytest.raises(ValueError, match=message):
        SceneData(**field)
