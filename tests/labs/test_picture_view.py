"""The lab of pictures: in the kernel, and in a page. The models are small and not trained; those
that are shipped are asked as well."""

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE, serious
from reading import Mounted, answered
from small_picture_models import FRENCH, HARD, ROW, ROWS, published

import heed
from heed.data.captions import ANIMALS, COLOURS, GROUNDS, pieces
from heed.data.scenes import CANVAS, UNSEEN, SceneData, boxes, paint, stands_out
from heed.data.silhouettes import PARTS, silhouettes
from heed.data.text import Language
from heed.evaluation.captions import cells_in, describe
from heed.experiments.captioning import Describes, TrainedCaptioner, pixels
from heed.experiments.export import as_exported
from heed.experiments.table import find
from heed.labs import PictureLab
from heed.labs.picture import Closed, Dice, closed
from heed.labs.picture_scene import (
    DRAWINGS,
    KNOWN,
    SIZES,
    Scene,
    boxes_of,
    checked,
    order,
    painted,
    plan,
    remarks,
    right,
    speech,
    stand,
    world,
)
from heed.labs.site import exported

SHIPPED = [name for name in exported() if isinstance(find(name).task, Describes)]
CLOSE = 1e-4
NAMES = {"soft": ROW, "hard": HARD, "soft, French": FRENCH}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small models with their graphs; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("captioners")
    published(folder)
    return folder / "trained"


@pytest.fixture
def captioners(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, TrainedCaptioner]:
    """All of them, as if they were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    return {
        name: heed.experiments.trained.load(row, folder / row.name) for name, row in NAMES.items()
    }


@pytest.fixture
def lab(captioners: dict[str, TrainedCaptioner]) -> Iterator[PictureLab]:
    made = PictureLab(captioners)
    yield made
    made.close()


# ---------------------------------------------------------------------------- scenes


def as_in_training(count: int, seed: int = 0) -> list[Scene]:
    """Scenes of training but for the silhouettes, and with animals in any order."""
    drawn = SceneData().plan(count, torch.Generator().manual_seed(seed))
    dice, found = random.Random(seed), []
    for i in range(count):
        animals = [
            {
                "animal": int(drawn.animal[i, k]),
                "colour": int(drawn.colour[i, k]),
                "drawing": dice.randrange(KNOWN),
                "side": int(drawn.side[i, k]),
                "top": int(drawn.top[i, k]),
                "left": int(drawn.left[i, k]),
                "mirrored": bool(drawn.mirrored[i, k]),
            }
            for k in range(int(drawn.count[i]))
        ]
        dice.shuffle(animals)
        where = {"ground": int(drawn.ground[i]), "horizon": int(drawn.horizon[i])}
        found.append(Scene(animals=checked(animals), **where))
    return found


def anyhow(count: int, seed: int = 0) -> list[Scene]:
    """Scenes that a reader may come up with."""
    dice, found = random.Random(seed), []
    for _ in range(count):
        animals = [
            {
                "animal": dice.randrange(len(ANIMALS)),
                "colour": dice.randrange(len(COLOURS)),
                "drawing": dice.randrange(KNOWN + 2),
                "side": dice.choice(SIZES),
                "top": dice.randrange(CANVAS),
                "left": dice.randrange(CANVAS),
                "mirrored": dice.random() < 0.5,
            }
            for _ in range(dice.randrange(4))
        ]
        ground = dice.randrange(len(GROUNDS))
        found.append(Scene(animals=checked(animals), ground=ground, horizon=dice.randrange(24, 41)))
    return found


def test_a_scene_is_drawn_as_training_draws_it():
    scenes = as_in_training(60)
    for scene in scenes:
        arranged = order(scene.animals)
        assert arranged is not None
        theirs = paint(plan(scene, arranged[0]), silhouettes())[0]
        assert (painted(scene).int() - theirs.int()).abs().max() <= 1
    one = stand("red", "cat", side=30, top=5, left=5)
    other = stand("blue", "cow", side=22, top=9, left=9)
    overlapping = Scene(animals=[one, other], ground=1, horizon=30)
    theirs = paint(plan(overlapping, [0, 1]), silhouettes())[0]
    assert (painted(overlapping).int() - theirs.int()).abs().max() <= 1


@pytest.mark.parametrize("language", ["en", "fr"])
def test_what_is_right_is_what_training_says(language: Language):
    data = SceneData(language=language)
    drawn = data.plan(80, torch.Generator().manual_seed(0))
    said = data.captions(drawn)
    vocabulary = pieces(language).vocabulary
    for i, scene in enumerate(as_in_training(80)):
        words = vocabulary.decode(said.words[i, 1 : int(said.lengths[i]) - 1].tolist())
        assert right(scene, language) == words
        assert remarks(scene) == []


def said_of(*animals: Any, ground: int = 0, language: Language = "en") -> str:
    words = right(Scene(animals=animals, ground=ground, horizon=30), language)
    assert words
    return " ".join(words)


def test_who_is_named_first():
    one = stand("red", "cat", side=30, top=18, left=1)
    two = stand("blue", "cow", side=30, top=22, left=33)
    assert said_of(two, one) == "a big red cat to the left of a big blue cow on grass"
    small = {**one, "side": 20, "top": 24}
    assert said_of(small, two, ground=2, language="fr") == (
        "une grande vache bleue à droite d' un petit chat rouge dans la neige"
    )
    three = stand("black", "dog", side=20, top=40, left=40)
    assert said_of({**one, "top": 1}, three, {**two, "top": 2}) == (
        "a big blue cow to the right of a big red cat and above a small black dog on grass"
    )


def test_animals_that_stand_in_each_others_way_have_no_right_caption():
    one = stand("red", "cat", side=30, top=18, left=1)
    for other in (
        stand("blue", "cow", side=30, top=18, left=10),  # over it
        stand("blue", "cow", side=30, top=33, left=33),  # askew
        stand("blue", "cow", side=30, top=28, left=33),  # 10 below a common line
    ):
        scene = Scene(animals=[one, other], ground=0, horizon=30)
        assert right(scene, "en") is None
        assert remarks(scene) == [{"about": "arranged", "of": "2"}]
    three = [one, *(stand(c, "dog", side=20, top=1, left=40) for c in ("white", "black"))]
    assert order(three) is None
    assert order([]) is None
    assert remarks(Scene(animals=[], ground=0, horizon=30)) == [{"about": "empty"}]


def test_what_training_never_had_is_said():
    for kind, colour in enumerate(UNSEEN):
        animal = stand(COLOURS[colour].english, ANIMALS[kind].english, side=30, top=9, left=9)
        ground = next(i for i in range(len(GROUNDS)) if stands_out()[i, colour])
        scene = Scene(animals=[animal], ground=ground, horizon=30)
        names = {"colour": COLOURS[colour].english, "animal": ANIMALS[kind].english}
        assert remarks(scene) == [{"about": "unseen", **names}]
    white = stand("white", "dog", side=30, top=9, left=9)
    scene = Scene(animals=[white], ground=2, horizon=30)
    assert remarks(scene) == [{"about": "vanishes", "colour": "white", "ground": "in snow"}]
    assert right(scene, "en") == ["a", "big", "white", "dog", "in", "snow"]
    new = stand("red", "dog", side=30, top=9, left=9, drawing=KNOWN)
    scene = Scene(animals=[new], ground=0, horizon=30)
    assert remarks(scene) == [{"about": "drawing", "animal": "dog"}]
    two = [stand("red", name, side=30, top=18, left=x) for name, x in (("cat", 1), ("dog", 33))]
    assert remarks(Scene(animals=two, ground=0, horizon=30)) == [
        {"about": "twice", "colour": "red"}
    ]


def test_the_silhouettes_of_the_page_are_few_and_of_their_part():
    stock = silhouettes()
    for noun in ANIMALS:
        numbers = DRAWINGS[noun.english]
        assert len(set(numbers)) == len(numbers) == KNOWN + 2
        for i, number in enumerate(numbers):
            assert stock.names[stock.kinds[number]] == noun.english
            assert number % 10 in PARTS["train" if i < KNOWN else "test"]
    assert len(json.dumps(world())) < 15_000


@pytest.mark.parametrize("language", ["en", "fr"])
def test_captions_fall_into_a_lead_a_look_and_a_tail(language: Language):
    told, table = speech(language), pieces(language)
    for lead in range(9):
        for size, colour, animal in ((0, 1, 2), (1, 7, 5), (0, 3, 3)):
            row = table.words[lead, size, colour, animal]
            whole = table.vocabulary.decode(row[row != 0].tolist())
            assert [*told["leads"][lead], *told["looks"][size][colour][animal]] == whole


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"animal": 8}, "animal=8 is none of 0, 1, 2"),
        ({"colour": -1}, "colour=-1 is none of"),
        ({"drawing": 7}, "drawing=7 is none of"),
        ({"side": 25}, "side=25 is none of 19, 20"),
        ({"top": 1.5}, "top=1.5 is no whole number"),
        ({"left": True}, "left=True is no whole number"),
    ],
)
def test_an_animal_that_is_none_is_refused(lab: Any, changes: Any, said: str):
    with pytest.raises(traitlets.TraitError, match=re.escape(said)):
        lab.animals = [{**lab.animals[0], **changes}]
    before = lab.animals
    lab.set_state({"animals": [{**lab.animals[0], **changes}]})
    assert lab.animals == before


def test_too_many_animals_and_things_that_are_none_are_refused(lab: Any):
    first = dict(lab.animals[0])
    with pytest.raises(traitlets.TraitError, match="4 animals, but a scene has 3 at most"):
        lab.animals = [*lab.animals, *lab.animals]
    with pytest.raises(traitlets.TraitError, match="'cat' is no animal: it has animal, colour"):
        lab.animals = ["cat"]
    with pytest.raises(ValueError, match="'lion' is none of bear, bird"):
        stand("red", "lion", side=30, top=1, left=1)
    lab.animals = [{**first, "top": 99, "left": -5}]
    assert (lab.animals[0]["top"], lab.animals[0]["left"]) == (CANVAS - 30, 0)


def test_a_choice_or_a_seed_that_is_none_is_left_out_or_bent(lab: Any):
    before = lab.answer["count"]
    lab.set_state({"choice": len(NAMES), "draw": 2**40})
    assert (lab.choice, lab.draw) == (0, 2**32 - 1)  # more no page can count to in 32 bits
    assert lab.answer["count"] == before + 1


def test_who_moves_an_animal_moves_none_of_another_lab(lab: Any, captioners: Any):
    before = dict(lab.animals[0])
    lab.animals[0]["left"] += 1
    other = PictureLab(captioners)
    assert other.animals[0] == before
    other.close()


# ---------------------------------------------------------------------------- the kernel


@pytest.mark.parametrize("choice", range(3))
def test_left_alone_it_says_what_the_model_says(lab, captioners, choice):
    lab.choice = choice
    trained = list(captioners.values())[choice]
    caption = trained.describe(painted(lab.scene))
    answer = lab.answer
    words = [*caption.words, *(["</s>"] if caption.finished else [])]
    assert answer["words"] == words == list(lab.trace.query.labels)
    assert lab.trace.key.grid == (8, 8)
    np.testing.assert_allclose(answer["weights"], caption.weights, atol=1e-5)
    np.testing.assert_allclose(np.sum(answer["weights"], axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(answer["probability"], np.exp(caption.log_probs), atol=1e-5)
    np.testing.assert_allclose(answer["gates"], caption.gates or [], atol=1e-5)
    assert answer["glimpses"] == caption.glimpses
    assert answer["right"] == right(lab.scene, trained.language)
    assert lab.models == [row.name for row in ROWS]
    whole = plan(lab.scene, [0, 1])
    assert answer["boxes"] == boxes(whole, silhouettes())[0, :2].tolist()
    hard = choice == 1
    assert all((place >= 0) is hard for place in answer["glimpses"])
    if hard:
        assert answer["glimpses"] == [int(np.argmax(row)) for row in answer["weights"]]


@pytest.mark.parametrize("choice", range(2))
def test_places_that_are_closed_get_nothing_and_the_model_is_not_touched(lab, captioners, choice):
    lab.choice = choice
    before = lab.answer
    hidden = sorted({int(np.argmax(row)) for row in before["weights"]})
    lab.hidden = hidden
    weights = np.array(lab.answer["weights"])
    assert (weights[:, hidden] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-4)
    # At the first step nothing but the mask differs: what is left keeps its proportions.
    own = np.array(before["weights"][0])
    own[hidden] = 0
    np.testing.assert_allclose(weights[0], own / own.sum(), atol=1e-4)
    trained = list(captioners.values())[choice]
    assert not isinstance(trained.model.attention.score, Closed)
    lab.hidden = []
    assert lab.answer["weights"] == before["weights"]


def test_closing_all_places_or_none_that_there_are_closes_none(lab):
    before = lab.answer["weights"]
    for hidden in (list(range(64)), [64, 99, -1]):
        lab.hidden = hidden
        assert lab.answer["weights"] == before
    lab.set_state({"hidden": [3, "x", 3, 1.5, True, 2]})
    assert lab.hidden == [2, 3]
    model = lab._trained[0].model
    assert closed(model, []) is model


def test_places_are_drawn_by_their_weights():
    alpha = torch.tensor([[0.0, 0.1, 0.2, 0.0, 0.65, 0.05, 0.0]])
    dice = Dice(11)
    found = torch.bincount(torch.cat([dice(alpha) for _ in range(4000)]), minlength=7) / 4000
    assert found[[0, 3, 6]].eq(0).all()
    torch.testing.assert_close(found, alpha[0], atol=0.03, rtol=0)


def test_the_same_seed_draws_the_same_places_and_another_one_others(lab):
    rest = lab.answer
    lab.draw = 5
    assert lab.answer["weights"] == rest["weights"]  # the soft one draws nothing
    lab.set_state({"choice": 1, "draw": 0})
    still = lab.answer["glimpses"]
    lab.draw = 5
    drawn = lab.answer["glimpses"]
    lab.draw = 6
    assert lab.answer["glimpses"] != drawn
    lab.draw = 5
    assert lab.answer["glimpses"] == drawn != still
    assert all(row[i] > 0 for row, i in zip(lab.answer["weights"], drawn, strict=True))
    model = lab._trained[1].model
    picture = pixels(painted(lab.scene))[None]
    (caption,) = describe(model, picture, pieces("en").vocabulary, look=Dice(5))
    assert caption.glimpses == drawn


@pytest.mark.parametrize(
    ("name", "value"),
    [("ground", 3), ("horizon", 26), ("choice", 1), ("hidden", list(range(30))), ("animals", [])],
)
def test_each_setting_changes_what_is_said_or_looked_at(lab, name, value):
    before = lab.answer
    setattr(lab, name, value)
    assert lab.answer["count"] == before["count"] + 1
    assert lab.answer["weights"] != before["weights"]


def test_a_step_asks_nobody(lab):
    answer = lab.answer
    lab.word = 3
    assert lab.answer is answer


def test_without_a_script_the_picture_is_drawn_once_for_each_word(lab):
    lab.ground = 2
    page = BeautifulSoup(lab.html(), "html.parser")
    words = lab.answer["words"]
    shown = ["the end" if word == "</s>" else word for word in words]
    assert [each.text for each in page.select(".heed-picture-strip figcaption")] == shown
    fogs = [str(each["style"]) for each in page.select(".heed-picture-drawn")]
    assert len(set(fogs)) > 1
    assert len(page.select(".heed-picture-strip[role=img][aria-label]")) == 1
    rows = page.select("table.heed-cells tbody tr")
    assert [row.select("td")[0].text for row in rows] == [
        f"{np.argmax(row) // 8 + 1}, {np.argmax(row) % 8 + 1}" for row in lab.answer["weights"]
    ]
    lab.animals = []
    assert "heed-picture-strip" in lab.html()


def test_models_of_another_kind_and_facts_are_refused(captioners, monkeypatch):
    with monkeypatch.context() as shipped:
        shipped.delenv("HEED_TRAINED")
        other = heed.load("lstm_recall")
    with pytest.raises(TypeError, match="asks models that describe pictures, and lstm_recall is a"):
        PictureLab({"a": other})
    with pytest.raises(ValueError, match="needs a model, and got none"):
        PictureLab({})
    with pytest.raises(ValueError, match="a note on 'x', but the models are soft, hard, soft, Fre"):
        PictureLab(captioners, {"x": "a note"})
    with pytest.raises(TypeError, match="the world of a PictureLab are made from its models"):
        PictureLab(captioners, world={})
    with pytest.raises(traitlets.TraitError, match="choice=3, but there are 3"):
        PictureLab(captioners, choice=3)


def test_changed_weights_show(lab):
    before = lab.answer
    with torch.no_grad():
        lab._trained[0].model.L_o.bias[9] += 4
    lab.refresh()
    assert lab.answer["words"] != before["words"]
    assert lab.models == []  # a page has no such model


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


def told(scene: Scene) -> dict[str, Any]:
    return {"animals": scene.animals, "ground": scene.ground, "horizon": scene.horizon}


def in_page(bench: Page, body: str, given: Any) -> Any:
    return bench.evaluate(
        f"""async (given) => {{
            const at = (path) => new URL(`labs/${{path}}`, location.href).href;
            const page = await import(at("picture_scene.js"));
            {body}
        }}""",
        given,
    )


@browser
def test_the_page_draws_the_same_pixels_and_says_the_same_of_a_scene(bench: Page):
    scenes = [*as_in_training(60, seed=1), *anyhow(60, seed=1)]
    found = in_page(
        bench,
        """return given.scenes.map((scene) => ({
            picture: [...page.painted(scene, given.world)],
            order: page.order(scene.animals, given.world),
            right: Object.values(given.speech).map((each) => page.right(scene, given.world, each)),
            boxes: page.boxes(scene, given.world),
            remarks: page.remarks(scene, given.world),
        }));""",
        {
            "scenes": [told(scene) for scene in scenes],
            "world": world(),
            "speech": {language: speech(language) for language in ("en", "fr")},
        },
    )
    for scene, each in zip(scenes, found, strict=True):
        assert each["picture"] == painted(scene).flatten().tolist()
        arranged = order(scene.animals)
        assert each["order"] == (arranged and {"slots": arranged[0], "relations": arranged[1]})
        assert each["right"] == [right(scene, "en"), right(scene, "fr")]
        assert each["boxes"] == boxes_of(scene)
        assert each["remarks"] == remarks(scene)


@browser
def test_what_is_put_in_order_has_a_right_caption_and_what_is_in_order_stays(bench: Page):
    scenes = [*as_in_training(30, seed=2), *anyhow(200, seed=2)]
    found = in_page(
        bench,
        "return given.scenes.map((animals) => page.tidy(animals, given.world));",
        {"scenes": [scene.animals for scene in scenes], "world": world()},
    )
    for scene, animals in zip(scenes, found, strict=True):
        if scene.animals:
            assert order(checked(animals)) is not None
        if order(scene.animals) is not None:
            assert animals == scene.animals
        where = ("top", "left")
        for before, after in zip(scene.animals, animals, strict=True):
            assert {k: v for k, v in before.items() if k not in where} == {
                k: v for k, v in after.items() if k not in where
            }


@browser
def test_another_scene_is_as_in_training_and_a_strange_one_has_one_strange_animal(bench: Page):
    found = in_page(
        bench,
        """const { mulberry32 } = await import(at("steering.js"));
        const random = mulberry32(7);
        const one = (options) => page.another(random, given, options);
        const many = (options) => Array.from({ length: 200 }, () => one(options));
        return [many({}), many({ unseen: true })];""",
        world(),
    )
    counts: set[int] = set()
    for unseen, scenes in enumerate(found):
        for scene in scenes:
            made = Scene(**{**scene, "animals": checked(scene["animals"])})
            assert made.animals == scene["animals"]
            assert right(made, "en") is not None
            assert [each["about"] for each in remarks(made)] == ["unseen"] * unseen
            counts.add(len(made.animals))
    assert counts == {1, 2, 3}


SETTINGS = [
    {},
    {"choice": 1},
    {"choice": 2},
    {"choice": 1, "draw": 3},
    {"choice": 0, "draw": 3},
    {"choice": 0, "hidden": [0, 9, 18, 27, 36, 63, 64]},
    {"choice": 1, "hidden": list(range(5, 64))},
    {"choice": 1, "draw": 9, "hidden": list(range(32))},
    {"choice": 2, "hidden": list(range(64))},
]


@browser
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, captioners: dict[str, TrainedCaptioner], settings: dict[str, Any]
):
    made = PictureLab({name: as_exported(each) for name, each in captioners.items()}, **settings)
    for scene in [*as_in_training(4, seed=3), *anyhow(4, seed=3)]:
        made.set_state(told(scene))
        facts = {name: getattr(made, name) for name in (*made.settings, *made.facts, "models")}
        found = in_page(
            bench,
            """const engine = await import(at("answers/picture.js"));
            const get = (name) => given[name];
            const models = await Promise.all(engine.models(get).map(engine.model));
            return engine.answer(get, models);""",
            facts,
        )
        wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
        assert found.keys() == wanted.keys()
        numbers = ("weights", "gates", "probability")
        for key in wanted.keys() - set(numbers):
            assert found[key] == wanted[key], key
        for key in numbers:
            np.testing.assert_allclose(found[key], wanted[key], atol=CLOSE, rtol=0)
    made.close()


@browser
@pytest.mark.parametrize("name", [*(row.name for row in ROWS), *SHIPPED])
def test_probabilities_weights_and_gates_are_those_of_pytorch(
    bench: Page, models: None, captioners: Any, name: str, monkeypatch: pytest.MonkeyPatch
):
    small = {each.card.experiment: each for each in captioners.values()}
    monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(small.get(name) or heed.load(name))
    assert isinstance(trained, TrainedCaptioner)
    scenes = as_in_training(20, seed=4)
    assert len({len(scene.animals) for scene in scenes}) == 3  # three lengths
    pictures = [painted(scene) for scene in scenes]
    found = in_page(
        bench,
        """const { model } = await import(at("tellers.js"));
        const teller = await model(given.name);
        const told = [];
        for (const picture of given.pictures) {
            told.push(await teller.tell(Uint8Array.from(picture)));
        }
        return told;""",
        {"name": name, "pictures": [picture.flatten().tolist() for picture in pictures]},
    )
    said = describe(trained.model, pixels(torch.stack(pictures)), trained.vocabulary)
    for each, caption in zip(found, said, strict=True):
        assert each["words"] == [*caption.words, *(["</s>"] if caption.finished else [])]
        assert each["finished"] is caption.finished
        assert each["glimpses"] == caption.glimpses
        np.testing.assert_allclose(np.log(each["probability"]), caption.log_probs, atol=CLOSE)
        np.testing.assert_allclose(each["weights"], caption.weights, atol=CLOSE)
        np.testing.assert_allclose(each["gates"], caption.gates or [], atol=CLOSE)


@browser
def test_the_page_draws_places_as_the_kernel_does(call: Callable[..., Any]):
    dice = random.Random(2)
    for k in range(40):
        row = [dice.random() ** 4 for _ in range(64)]
        number = 1 - 2**-53 if k == 0 else dice.random()
        made = Dice(0)
        made.numbers = iter([number])
        assert call("teller.js", "drawn", row, number) == made._one(row)
    assert call("teller.js", "drawn", [0, 0, 1, 0], 0) == 2


class OnPage:
    """The lab, once its model is at work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("heed-lab")
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)

    def animal(self, i: int = 0) -> Locator:
        return self.root.locator(".heed-scene-animal").nth(i)

    def tab(self, name: str) -> Locator:
        return self.root.locator(".heed-picture-tabs button", has_text=name)

    def words(self) -> Locator:
        return self.root.locator(".heed-words button")

    def where(self, i: int = 0) -> list[int]:
        """Side, left and top, as they are spoken."""
        return [
            int(n) for n in re.findall(r"\d+", self.animal(i).get_attribute("aria-label") or "")
        ]

    def fog(self) -> list[float]:
        return self.root.locator(".heed-scene-fog i").evaluate_all(
            "all => all.map((each) => Number(each.style.getPropertyValue('--fog')))"
        )

    def settled(self) -> None:
        """Until nothing that was asked is outstanding."""
        expect(self.root.locator(".heed-sheet")).to_have_attribute("aria-busy", "false")


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: PictureLab) -> OnPage:
    quiet.set_viewport_size({"width": 1000, "height": 1100})
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


@browser
def test_an_animal_goes_where_it_is_dragged(opened: OnPage):
    page = opened.page
    assert opened.where() == [30, 1, 19]
    box, whole = opened.animal().bounding_box(), opened.root.locator(".heed-scene").bounding_box()
    assert box
    assert whole
    pixel = whole["width"] / CANVAS
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = opened.words().all_inner_texts()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 12 * pixel, y - 9 * pixel, steps=4)
    page.mouse.up()
    assert opened.where() == [30, 13, 10]
    opened.settled()
    expect(opened.root.locator(".heed-picture-remarks")).to_contain_text("side by side")
    expect(opened.root.locator(".heed-verdict")).to_have_text(
        "There is no right caption for this scene."
    )
    opened.after(opened.root.get_by_role("button", name="Put them where they may stand").click)
    expect(opened.root.locator(".heed-picture-remarks")).to_have_text("")
    page.mouse.move(*(whole["x"] + 1, whole["y"] + 1))
    box = opened.animal().bounding_box()
    assert box
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] - 900, box["y"] + 9, steps=3)
    page.mouse.up()
    assert opened.where()[1] == 0  # and not beyond the picture
    assert before


@browser
def test_an_animal_obeys_the_keyboard(opened: OnPage):
    opened.animal(1).focus()
    press = opened.page.keyboard.press
    assert opened.where(1) == [21, 39, 24]
    press("ArrowRight")
    press("Shift+ArrowUp")
    assert opened.where(1) == [21, 40, 20]
    press("+")
    press("+")
    assert opened.where(1)[0] == 28  # nothing lies between small and big
    expect(opened.animal(1)).to_have_attribute("aria-label", re.compile("^big blue cow"))
    press("-")
    assert opened.where(1)[0] == 22
    expect(opened.tab("small blue cow")).to_have_attribute("aria-pressed", "true")
    press("Delete")
    expect(opened.root.locator(".heed-scene-animal")).to_have_count(1)
    assert opened.page.evaluate("document.activeElement.className") == "heed-scene-animal"
    press("Delete")
    opened.settled()
    expect(opened.root.locator(".heed-picture-remarks")).to_contain_text("Nobody is there")
    assert opened.page.evaluate("document.activeElement.textContent") == "Add an animal"


@browser
def test_the_editor_changes_the_animal_that_is_chosen(opened: OnPage, lab: PictureLab):
    root = opened.root
    opened.tab("small blue cow").click()
    opened.after(lambda: root.get_by_label("Animal", exact=True).select_option("horse"))
    opened.after(lambda: root.get_by_label("yellow", exact=True).check(force=True))
    opened.after(lambda: root.get_by_role("radio", name="silhouette 7, never in").check(force=True))
    opened.after(lambda: root.get_by_label("Mirrored").check(force=True))
    opened.after(lambda: root.get_by_label("at night", exact=True).check(force=True))
    lab.set_state(
        {
            "animals": [
                lab.animals[0],
                {**lab.animals[1], "animal": 7, "colour": 5, "drawing": 6, "mirrored": True},
            ],
            "ground": 3,
        }
    )
    shown = root.locator(".heed-scene-paint").evaluate(
        """(canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, 64, 64);
            return [0, 1, 2].map((c) => [...data.filter((_, i) => i % 4 === c)]);
        }"""
    )
    assert shown == lab.picture.flatten(1).tolist()
    end = {"</s>": "the end"}
    words = [end.get(word, word) for word in lab.answer["words"]]
    assert opened.words().all_inner_texts() == words
    expect(root.locator(".heed-picture-remarks")).to_contain_text("this silhouette of a horse")
    expect(root.locator(".heed-scene-paint")).to_have_attribute(
        "aria-label", "The picture, at night: big red cat, small yellow horse"
    )
    opened.after(root.get_by_role("button", name="Add an animal").click)
    expect(root.locator(".heed-scene-animal")).to_have_count(3)
    expect(root.get_by_role("button", name="Add an animal")).to_be_disabled()
    opened.after(root.get_by_role("button", name="Take it away").click)
    opened.after(root.get_by_role("button", name="Back to the start").click)
    expect(root.locator(".heed-scene-animal")).to_have_count(2)
    expect(opened.tab("small blue cow")).to_be_visible()


@browser
def test_a_colour_that_vanishes_and_a_strange_scene_are_told(opened: OnPage):
    root = opened.root
    opened.after(lambda: root.get_by_label("in snow", exact=True).check(force=True))
    opened.after(lambda: root.get_by_label("white", exact=True).check(force=True))
    line = root.locator(".heed-picture-remarks")
    expect(line).to_have_text("white hardly shows in snow: training never had that.")
    opened.after(root.get_by_role("button", name="One that training never had").click)
    expect(line).to_contain_text("Training never had a")
    opened.after(root.get_by_role("button", name="Another scene").click)
    expect(line).to_have_text("")
    expect(root.locator(".heed-verdict")).to_contain_text("Right")


@browser
def test_each_word_has_its_fog(opened: OnPage, lab: PictureLab):
    count = opened.root.get_attribute("data-count")
    assert set(opened.fog()) == {0}
    for t in (0, 2):
        opened.words().nth(t).click()
        wanted = [0.9 * max(0, 1 - (2 * w) ** 0.5) for w in lab.answer["weights"][t]]
        np.testing.assert_allclose(opened.fog(), wanted, atol=2e-3)
    says = opened.root.locator(".heed-says").first
    expect(says).to_contain_text(f"Writing ‘{lab.answer['words'][2]}’")
    row = lab.answer["weights"][2]
    at = int(np.argmax(row))
    expect(says).to_contain_text(
        f"looks most at row {at // 8 + 1}, column {at % 8 + 1} ({row[at]:.2f})"
    )
    inside = [
        name
        for name, box in zip(("big red cat", "small blue cow"), lab.answer["boxes"], strict=True)
        if cells_in(torch.tensor(box), (8, 8), CANVAS)[at]
    ]
    expect(says).to_contain_text(f"on the {' and the '.join(inside)}" if inside else "on nobody")
    assert opened.root.locator(".heed-is-unread").count() == len(lab.answer["words"]) - 3
    assert opened.root.get_attribute("data-count") == count  # nobody was asked


@browser
def test_words_go_by_keyboard_slider_and_play(opened: OnPage):
    root, page = opened.root, opened.page
    now = root.locator(".heed-is-now")
    texts = opened.words().all_inner_texts()
    opened.words().nth(1).focus()
    expect(now).to_have_text(texts[1])
    page.keyboard.press("ArrowRight")
    expect(now).to_have_text(texts[2])
    slider = root.get_by_label("Word", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    expect(now).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(now).to_have_text(texts[0])
    page.keyboard.press("End")
    expect(now).to_have_text(texts[-1])
    root.get_by_role("button", name="Play").click()
    expect(now).to_have_text(texts[0])
    expect(now).to_have_text(texts[1], timeout=PATIENCE)
    root.get_by_role("button", name="Pause").click()
    expect(root.get_by_role("button", name="Play")).to_be_visible()


@browser
def test_play_comes_to_an_end(opened: OnPage):
    opened.page.evaluate(
        "globalThis.setInterval = ((real) => (work) => real(work, 5))(globalThis.setInterval)"
    )
    opened.root.get_by_role("button", name="Play").click()
    expect(opened.root.locator(".heed-is-now")).to_have_count(0, timeout=PATIENCE)
    expect(opened.root.get_by_role("button", name="Play")).to_be_visible()
    assert set(opened.fog()) == {0}


@browser
def test_who_wants_no_motion_sees_words_step_without_a_fade(opened: OnPage):
    duration = "getComputedStyle(document.querySelector('.heed-scene-fog i')).transitionDuration"
    opened.page.emulate_media(reduced_motion="no-preference")
    assert opened.page.evaluate(duration) == "0.2s"
    opened.page.emulate_media(reduced_motion="reduce")
    assert opened.page.evaluate(duration) == "0s"


@browser
def test_hard_attention_looks_at_one_place_and_can_be_drawn_again(opened: OnPage, lab: PictureLab):
    root = opened.root
    expect(root.get_by_label("a place that is drawn", exact=True)).to_be_hidden()
    opened.after(lambda: root.get_by_label("hard", exact=True).check(force=True))
    lab.choice = 1
    opened.words().nth(1).click()

    def glimpse() -> list[int]:
        return root.locator(".heed-scene-fog i").evaluate_all(
            "all => all.flatMap((each, i) => each.classList.contains('heed-glimpse') ? [i] : [])"
        )

    assert glimpse() == [lab.answer["glimpses"][1]]
    expect(root.locator(".heed-says").first).to_contain_text("alone, the likeliest")
    for seed in (1, 2, 3):
        if seed == 1:
            drawn = root.get_by_label("a place that is drawn", exact=True)
            opened.after(lambda: drawn.check(force=True))  # noqa: B023
        else:
            opened.after(root.get_by_role("button", name="Sample again").click)
        lab.draw = seed
        opened.words().nth(0).click()
        assert glimpse() == [lab.answer["glimpses"][0]]
        opened.words().nth(1).click()
        assert glimpse() == [lab.answer["glimpses"][1]]


@browser
def test_places_are_closed_by_mouse_and_keyboard(opened: OnPage, lab: PictureLab):
    root, page = opened.root, opened.page
    cells = root.locator(".heed-scene-cells button")
    expect(cells.first).to_be_hidden()
    root.get_by_label("close places", exact=True).check(force=True)
    expect(root.locator(".heed-scene-animal").first).to_be_hidden()
    opened.after(cells.nth(27).click)
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    opened.after(lambda: page.keyboard.press("Enter"))
    lab.hidden = [9, 27]
    opened.words().nth(0).click()
    closed = root.locator(".heed-scene-fog .heed-closed")
    expect(closed).to_have_count(2)
    expect(cells.nth(9)).to_have_attribute("aria-pressed", "true")
    expect(cells.nth(9)).to_have_attribute("aria-label", "row 2, column 2, closed")
    wanted = [0.9 * max(0, 1 - (2 * w) ** 0.5) for w in lab.answer["weights"][0]]
    np.testing.assert_allclose(opened.fog(), wanted, atol=2e-3)
    opened.after(root.get_by_role("button", name="Open all places").click)
    expect(closed).to_have_count(0)


@browser
def test_the_last_place_cannot_be_closed(
    models: None, quiet: Page, sheet: Callable[[str], str], lab: PictureLab
):
    lab.hidden = [place for place in range(64) if place != 5]
    quiet.goto(sheet(lab.html()))
    opened = OnPage(quiet)
    opened.root.get_by_label("close places", exact=True).check(force=True)
    cells = opened.root.locator(".heed-scene-cells button")
    cells.nth(5).click()
    expect(cells.nth(5)).to_have_attribute("aria-pressed", "false")
    opened.after(cells.nth(6).click)
    expect(cells.nth(6)).to_have_attribute("aria-pressed", "false")


@browser
def test_a_caption_in_french_is_french(opened: OnPage):
    root = opened.root
    opened.after(lambda: root.get_by_label("soft, French", exact=True).check(force=True))
    expect(root.locator(".heed-words")).to_have_attribute("lang", "fr")
    expect(root.locator(".heed-verdict [lang=fr]")).to_contain_text("un grand chat rouge")


@browser
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: PictureLab):
    Mounted(bench, lab.html()).fails(ground=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert serious(opened.page) == {}
    opened.words().nth(1).click()
    opened.root.get_by_label("close places", exact=True).check(force=True)
    opened.root.locator(".heed-numbers summary").click()
    assert serious(opened.page) == {}


@browser
def test_a_phone_needs_no_sideways_scrolling_and_fingers_find_their_aim(opened: OnPage):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    opened.words().nth(1).click()
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
    opened.root.get_by_label("close places", exact=True).check(force=True)
    sizes = opened.root.locator(
        "button:visible, select:visible, .heed-options label:visible"
    ).evaluate_all("all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight))")
    assert min(sizes) >= 24


@browser
def test_a_model_that_was_changed_leaves_only_steps(
    quiet: Page, sheet: Callable[[str], str], lab: PictureLab
):
    with torch.no_grad():
        lab._trained[0].model.L_o.bias[5] += 1
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    expect(root.get_by_role("button", name="Another scene")).to_be_hidden()
    expect(root.locator(".heed-scene-animal").first).to_be_hidden()
    root.locator(".heed-words button").nth(1).click()
    expect(root.locator(".heed-is-now")).to_have_count(1)
