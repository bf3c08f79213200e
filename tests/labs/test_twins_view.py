"""The lab of twins: in the kernel, and in a page. The models are small and not trained; those that
are shipped are asked as well."""

import math
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from jaxtyping import UInt8
from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE, serious
from reading import Mounted, answered
from small_painters import DCGAN, RELEASED, ROW, ROWS, published
from torch import Tensor

import heed
from heed.data.twins import SHAPES, SIDE, TwinData, joined, read, split
from heed.evaluation.twins import to_bytes
from heed.experiments.export import as_exported
from heed.experiments.table import find
from heed.experiments.twins import Paints, TrainedPainter
from heed.labs import TwinsLab, drawing
from heed.labs.base import strings
from heed.labs.site import exported
from heed.labs.twins import fog, hue_name, latent, normals, places_in, pointed, seen, verdict

SHIPPED = [name for name in exported() if isinstance(find(name).task, Paints)]
CLOSE = 1e-4
NAMES = {"with": ROW, "without": DCGAN, "released": RELEASED}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small models with their graphs; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("painters")
    published(folder)
    return folder / "trained"


@pytest.fixture
def painters(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, TrainedPainter]:
    """All of them, as if they were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    return {
        name: heed.experiments.trained.load(row, folder / row.name) for name, row in NAMES.items()
    }


@pytest.fixture
def lab(painters: dict[str, TrainedPainter]) -> Iterator[TwinsLab]:
    made = TwinsLab(painters)
    yield made
    made.close()


def unpacked(content: str) -> UInt8[np.ndarray, "3 32 32"]:
    return np.frombuffer(b64decode(content), np.uint8).reshape(3, SIDE, SIDE)


# ---------------------------------------------------------------------------- z


def test_normal_numbers_are_normal_and_those_of_a_seed_stay():
    numbers = torch.tensor([normals(seed, 48) for seed in range(400)])
    assert numbers.mean().abs() < 0.03
    assert (numbers.std() - 1).abs() < 0.03
    assert (numbers.abs() < 1).float().mean() == pytest.approx(0.683, abs=0.02)
    assert normals(7, 5) == normals(7, 9)[:5] != normals(8, 5)


def test_z_is_as_long_everywhere_in_the_plane_as_in_training():
    for x, y in ((0.0, 0.0), (2.0, 0.0), (-1.3, 2.0)):
        z = torch.cat([latent(seed, x, y, d_z=16) for seed in range(500)])
        assert z.square().mean().item() == pytest.approx(1, abs=0.06)
    numbers = torch.tensor(normals(5, 12))
    z0, u, v = numbers.unflatten(0, (3, 4))
    torch.testing.assert_close(latent(5, 0.0, 0.0, d_z=4)[0], z0)
    torch.testing.assert_close(
        latent(5, 2.0, -1.0, d_z=4)[0], (z0 + 2 * u - v) / math.sqrt(6), atol=1e-6, rtol=0
    )


# ---------------------------------------------------------------------------- what is there


def test_a_point_is_the_middle_of_a_thing_or_a_place():
    things = [{"box": [9.0, 2.0, 15.0, 8.0]}, {"box": [16.0, 24.0, 22.0, 30.0]}]
    assert pointed(-1, things, 16) == 6 * 16 + 2  # (12, 5) in pixels of half the size
    assert pointed(-2, things, 16) == 9 * 16 + 13
    assert pointed(-2, things, 4) == 2 * 4 + 3
    assert pointed(77, things, 16) == 77
    assert pointed(900, things, 16) == 255
    assert pointed(-1, [{"box": [30.0, -3.0, 38.0, -1.0]}], 16) == 15 * 16


def test_places_of_a_box_are_those_whose_middle_is_inside():
    assert places_in([0.0, 0.0, 8.0, 4.0], 4) == [0]
    assert places_in([4.0, 3.9, 12.0, 12.1], 4) == [0, 1, 4, 5]
    assert places_in([4.1, 3.9, 12.0, 12.1], 4) == [4, 5]
    assert places_in([33.0, 0.0, 40.0, 9.0], 16) == []


def test_what_was_read_is_told_with_boxes_where_the_things_stand():
    drawn = TwinData().draw(40, torch.Generator().manual_seed(1))
    reading = read(drawn.pictures)
    for i in range(40):
        found = seen(reading, i)
        assert found["twins"] is bool(reading.twins[i])
        for half, thing in enumerate(found["things"]):
            top, left, bottom, right = thing["box"]
            column = drawn.things.column[i, half].item()
            assert (top + bottom) / 2 == pytest.approx(drawn.things.row[i, half].item(), abs=0.6)
            assert (left + right) / 2 == pytest.approx(SIDE - column if half else column, abs=0.6)
            assert thing["shape"] == SHAPES[int(drawn.things.shape[i, half])]
            assert thing["clear"] is True


say = drawing.sayer(strings())


def told(*things: tuple[str, float, bool], gap: float = 0.0, twins: bool = False) -> str:
    """The verdict on two things."""
    named = [
        {"shape": shape, "hue": hue, "clear": clear, "box": [0, 0, 1, 1]}
        for shape, hue, clear in things
    ]
    return verdict(
        say,
        {
            "things": named,
            "gap": gap,
            "same_hue": gap < 0.04,
            "same_shape": things[0][0] == things[1][0],
            "twins": twins,
        },
    )


def test_whether_things_agree_is_said_in_words():
    red, also_red, green = ("disc", 0.99, True), ("disc", 0.01, True), ("disc", 0.33, True)
    ring, blot = ("ring", 0.0, True), ("ring", 0.0, False)
    assert told(red, also_red, twins=True) == "red disc and red disc: they agree."
    assert told(red, green, gap=0.3) == "red disc and green disc: one shape, but not one hue."
    assert told(red, ring) == "red disc and red ring: one hue, but not one shape."
    assert told(ring, green, gap=0.3) == "red ring and green disc: neither hue nor shape agrees."
    assert told(blot, red).startswith("No clear thing on the left,")
    assert told(red, blot).startswith("No clear thing on the right,")
    assert told(blot, blot).startswith("No clear thing on either side,")
    assert [hue_name(hue) for hue in (0.0, 0.04, 0.05, 0.5, 0.95, 0.97, 1.0)] == [
        *(0, 0, 1, 6, 11, 0, 0)
    ]
    words = strings()
    assert all(f"twins.hue.{i}" in words for i in range(12))
    assert all(f"twins.thing.{shape}" in words for shape in SHAPES)


# ---------------------------------------------------------------------------- the kernel


@pytest.mark.parametrize("choice", range(3))
def test_left_alone_it_draws_what_the_models_draw(lab, painters, choice):
    lab.choice = choice
    lab.set_state({"x": 0.7, "y": -1.1})
    answer = lab.answer
    z = latent(0, 0.7, -1.1, d_z=6)
    assert torch.equal(lab.z, z)
    for net, trained in zip(answer["nets"], painters.values(), strict=True):
        picture = trained.paint(z)
        assert (unpacked(net["picture"]) == picture[0].numpy()).all()
        assert net["twins"] is bool(trained.read(picture).twins[0])
    chosen = list(painters.values())[choice]
    assert torch.equal(lab.picture, chosen.paint(z)[0])
    assert lab.models == [row.name for row in NAMES.values()]
    if choice == 1:
        assert answer["look"] is None
        assert answer["plain"] is None
        with pytest.raises(ValueError, match="shows no attention"):
            _ = lab.trace
        return
    look, trace = answer["look"], chosen.look(z)
    np.testing.assert_allclose(look["weights"], trace.weights[0, look["point"]], atol=1e-6)
    assert lab.trace.query.labels == (trace.query.labels[look["point"]],)
    assert lab.trace.key == trace.key
    assert (unpacked(answer["plain"]) == chosen.paint(z, dial=0.0)[0].numpy()).all()


def test_where_a_look_falls_is_added_up(lab):
    look, things = lab.answer["look"], lab.answer["nets"][0]["things"]
    assert look["point"] == pointed(-1, things, 16)
    for thing, falls, even in zip(things, look["falls"], look["even"], strict=True):
        inside = places_in(thing["box"], 16)
        assert falls == pytest.approx(sum(look["weights"][i] for i in inside), abs=1e-4)
        assert even == pytest.approx(len(inside) / 256, abs=1e-6)
        assert inside
    assert sum(look["weights"]) == pytest.approx(1, abs=1e-3)
    lab.choice = 2  # half as many places in each direction
    assert len(lab.answer["look"]["weights"]) == 64
    assert lab.trace.key.grid == (8, 8)


def test_the_dial_changes_pictures_and_no_look(lab):
    before = lab.answer
    lab.dial = 0.0
    after = lab.answer
    assert after["nets"][0]["picture"] == before["plain"] == after["plain"]
    assert after["nets"][0]["picture"] != before["nets"][0]["picture"]
    assert after["nets"][1] == before["nets"][1]  # nothing there that could be turned
    lab.point = 40
    looks = []
    for dial in (0.0, 1.5):
        lab.dial = dial
        looks.append(lab.answer["look"]["weights"])
    assert looks[0] == looks[1]
    assert lab.answer["nets"][0]["picture"] != before["nets"][0]["picture"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", 9), ("x", 1.0), ("y", -0.5), ("dial", 0.5), ("choice", 2), ("point", 200)],
)
def test_each_setting_changes_the_answer(lab, name, value):
    before = lab.answer
    setattr(lab, name, value)
    assert lab.answer["count"] == before["count"] + 1
    parts = ("nets", "look")
    assert [lab.answer[part] for part in parts] != [before[part] for part in parts]


def test_what_a_browser_sends_is_bent_into_its_range(lab):
    lab.set_state({"x": 9, "y": -9, "dial": -1, "point": -7, "seed": 2**40})
    assert (lab.x, lab.y, lab.dial, lab.point) == (2.0, -2.0, 0.0, -2)
    assert lab.seed == 2**32 - 1
    lab.set_state({"x": "far", "y": math.nan, "point": 1.5, "choice": 1})
    assert (lab.x, lab.y, lab.point, lab.choice) == (2.0, -2.0, 1, 1)
    with pytest.raises(traitlets.TraitError, match="dial=nan is no finite number"):
        lab.dial = math.nan


def test_the_choices_say_what_each_net_has(lab):
    attends = [each["side"] for each in lab.choices]
    assert attends == [16, 0, 16]
    assert [each["gamma"] for each in lab.choices] == [0.75, None, 0.75]
    with torch.no_grad():
        lab._trained[0].model.mean.attention.gamma.fill_(0.5)
    lab.refresh()
    assert lab.choices[0]["gamma"] == 0.5


def test_without_a_script_each_picture_is_drawn_and_the_look_is_told(lab):
    page = BeautifulSoup(lab.html(), "html.parser")
    assert [each.text for each in page.select(".heed-twins-strip figcaption")] == [*NAMES]
    layers = [str(each["style"]).count("url(") for each in page.select(".heed-twins-drawn")]
    assert layers == [2, 1, 1]  # the chosen one with the fog over it
    assert len(page.select(".heed-twins-strip[role=img][aria-label]")) == 1
    (row,) = page.select("table.heed-cells tbody tr")
    look = lab.answer["look"]
    at, most = look["point"], int(np.argmax(look["weights"]))
    assert row.th is not None
    assert row.th.text == f"{at // 16 + 1}, {at % 16 + 1}"
    assert [cell.text for cell in row.select("td")] == [
        f"{most // 16 + 1}, {most % 16 + 1}",
        *(drawing.share(each) for each in (look["weights"][most], *look["falls"])),
    ]
    lab.choice = 1
    assert not BeautifulSoup(lab.html(), "html.parser").select("table")


def test_the_fog_is_gone_at_the_strongest_place_only():
    found = fog([0.5, 0.125, 0.0, None])
    assert found.shape == (4, 2, 2)
    assert found[3].flatten().tolist() == [0, 96, 191, 191]  # 255 · 0.75 · (1 − √(w / 0.5))
    assert (found[:3] == 128).all()


def test_models_of_another_kind_and_facts_are_refused(painters, monkeypatch):
    with monkeypatch.context() as shipped:
        shipped.delenv("HEED_TRAINED")
        other = heed.load("lstm_recall")
    with pytest.raises(TypeError, match="draws with a SAGAN, and lstm_recall is a Recall"):
        TwinsLab({"a": other})
    with pytest.raises(ValueError, match="needs a model, and got none"):
        TwinsLab({})
    with pytest.raises(ValueError, match="a note on 'x', but the models are with, without, rel"):
        TwinsLab(painters, {"x": "a note"})
    with pytest.raises(TypeError, match="the choices of a TwinsLab are made from its models"):
        TwinsLab(painters, choices=[])
    with pytest.raises(traitlets.TraitError, match="choice=3, but there are 3"):
        TwinsLab(painters, choice=3)


def test_changed_weights_show(lab):
    before = lab.answer
    with torch.no_grad():
        lab._trained[0].model.mean.up[2].bias[1] += 0.5
    lab.refresh()
    assert lab.answer["nets"][0]["picture"] != before["nets"][0]["picture"]
    assert lab.models == []  # a page has no such model


# ---------------------------------------------------------------------------- the page

browser = pytest.mark.browser


def in_page(bench: Page, body: str, given: Any) -> Any:
    return bench.evaluate(
        f"""async (given) => {{
            const at = (path) => new URL(`labs/${{path}}`, location.href).href;
            {body}
        }}""",
        given,
    )


def some_pictures(painters: dict[str, TrainedPainter]) -> UInt8[Tensor, "picture 3 32 32"]:
    """Real twins, things that do not agree, halves of noise, and what nets draw."""
    dice = torch.Generator().manual_seed(3)
    twins = TwinData().draw(25, dice).pictures
    others = TwinData().draw(25, dice, agree=False).pictures
    noise = torch.randint(0, 256, (10, 3, SIDE, SIDE), dtype=torch.uint8, generator=dice)
    grey = torch.full((1, 3, SIDE, SIDE), 200, dtype=torch.uint8)
    half = joined(torch.stack([split(twins[:10])[:, 0], split(noise)[:, 1]], dim=1))
    faint = to_bytes(torch.lerp(torch.tensor(0.8), twins[:10] / 127.5 - 1, 0.06))
    drawn = [each.paint(each.z(8)) for each in painters.values()]
    return torch.cat([twins, others, noise, grey, half, faint, *drawn])


@browser
def test_the_page_reads_pictures_as_the_kernel_does(bench: Page, painters):
    pictures = some_pictures(painters)
    found = in_page(
        bench,
        """const { read } = await import(at("twins_reader.js"));
        return given.map((picture) => read(Uint8Array.from(picture)));""",
        [picture.flatten().tolist() for picture in pictures],
    )
    reading = read(pictures)
    kinds: set[tuple[bool, ...]] = set()
    doubtful = 0
    for i, each in enumerate(found):
        wanted = seen(reading, i)
        fits = [thing.pop("fit") for thing in each["things"]]
        colours = [thing.pop("saturation") for thing in each["things"]]
        np.testing.assert_allclose(fits, reading.fit[i], atol=1e-4, rtol=0)
        # Where two templates fit alike to the last digit, either may be the better one.
        if [t["shape"] for t in each["things"]] != [t["shape"] for t in wanted["things"]] or any(
            not np.allclose(one["box"], other["box"], atol=1e-4)
            for one, other in zip(each["things"], wanted["things"], strict=True)
        ):
            doubtful += 1
            continue
        np.testing.assert_allclose(colours, reading.saturation[i], atol=1e-3, rtol=0)
        for one, other in zip(each["things"], wanted["things"], strict=True):
            apart = abs(one["hue"] - other["hue"])
            assert min(apart, 1 - apart) < 1e-3
            assert one["clear"] is other["clear"]
        for name in ("same_hue", "same_shape", "twins"):
            assert each[name] is wanted[name]
        kinds.add((each["twins"], each["same_hue"], each["same_shape"]))
    assert doubtful <= 2
    assert len(kinds) > 3


@browser
def test_the_page_finds_the_same_z_and_the_same_places(bench: Page):
    cases = [
        {"seed": seed, "x": x, "y": y, "width": width}
        for seed, x, y, width in ((0, 0.0, 0.0, 16), (7, 1.25, -0.4, 6), (2**32 - 1, -2.0, 2.0, 9))
    ]
    found = in_page(
        bench,
        """const { latent } = await import(at("twins_plane.js"));
        return given.map(({ seed, x, y, width }) => [...latent(seed, x, y, width)]);""",
        cases,
    )
    for case, z in zip(cases, found, strict=True):
        wanted = latent(case["seed"], case["x"], case["y"], d_z=case["width"])[0]
        np.testing.assert_allclose(z, wanted, atol=1e-6, rtol=0)
    boxes = [[4.0, 3.9, 12.0, 12.1], [-3.0, -9.0, -1.0, -1.0], [9.3, 24.1, 16.2, 30.9]]
    points = [-1, -2, 0, 13, 900]
    found = in_page(
        bench,
        """const { pointed, placesIn, fogOf, hueName } = await import(at("twins_plane.js"));
        const things = [{ box: given.boxes[1] }, { box: given.boxes[2] }];
        return [
            given.boxes.flatMap((box) => [4, 16].map((side) => placesIn(box, side))),
            given.points.flatMap((point) => [4, 16].map((side) => pointed(point, things, side))),
            fogOf([0.5, 0.125, 0, null]).map((thick) => Math.round(255 * thick)),
            given.hues.map(hueName),
        ];""",
        {"boxes": boxes, "points": points, "hues": [i / 50 for i in range(51)]},
    )
    things = [{"box": boxes[1]}, {"box": boxes[2]}]
    assert found == [
        [places_in(box, side) for box in boxes for side in (4, 16)],
        [pointed(point, things, side) for point in points for side in (4, 16)],
        fog([0.5, 0.125, 0.0, None])[3].flatten().tolist(),
        [hue_name(i / 50) for i in range(51)],
    ]


@browser
@pytest.mark.parametrize("name", [*(row.name for row in ROWS), *SHIPPED])
def test_pictures_and_weights_are_those_of_pytorch(
    bench: Page, models: None, painters: Any, name: str, monkeypatch: pytest.MonkeyPatch
):
    small = {each.card.experiment: each for each in painters.values()}
    monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(small.get(name) or heed.load(name))
    assert isinstance(trained, TrainedPainter)
    z = trained.z(20, seed=4)
    dials = [1.0, 0.0, 1.5]
    found = in_page(
        bench,
        """const { model } = await import(at("painters.js"));
        const painter = await model(given.name);
        const told = [];
        for (const z of given.z) {
            for (const dial of given.dials) {
                const { values, picture, weights } = await painter.paint(z, { dial });
                const rows = weights && [0, 37, weights.length - 1].map((i) => [...weights[i]]);
                told.push({ values: [...values], picture: [...picture], rows });
            }
        }
        return told;""",
        {"name": name, "z": z.tolist(), "dials": dials},
    )
    cases = [(point, dial) for point in z for dial in dials]
    for (point, dial), each in zip(cases, found, strict=True):
        with torch.inference_mode():
            wanted = trained.model(point[None], weights=True, dial=dial)
        np.testing.assert_allclose(each["values"], wanted.pictures.flatten(), atol=CLOSE, rtol=0)
        off = np.array(each["picture"]) - to_bytes(wanted.pictures).flatten().numpy().astype(int)
        assert np.abs(off).max() <= 1
        assert (off == 0).mean() > 0.99
        if wanted.weights is None:
            assert each["rows"] is None
        else:
            rows = wanted.weights[0, [0, 37, -1]]
            np.testing.assert_allclose(each["rows"], rows, atol=CLOSE, rtol=0)


SETTINGS = [
    {},
    {"seed": 4, "x": -1.5, "y": 0.35},
    {"choice": 1, "x": 2.0},
    {"choice": 2, "point": -2, "seed": 11},
    {"dial": 0.0, "point": 77},
    {"dial": 1.5, "point": 99_999, "seed": 2**32 - 1},
    {"choice": 2, "dial": 0.35, "point": 0, "y": -2.0},
]


@browser
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, painters: dict[str, TrainedPainter], settings: dict[str, Any]
):
    made = TwinsLab({name: as_exported(each) for name, each in painters.items()}, **settings)
    facts = {name: getattr(made, name) for name in (*made.settings, *made.facts, "models")}
    found = in_page(
        bench,
        """const engine = await import(at("answers/twins.js"));
        const get = (name) => given[name];
        const models = await Promise.all(engine.models(get).map(engine.model));
        return engine.answer(get, models);""",
        facts,
    )
    wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
    assert found.keys() == wanted.keys()
    assert found["message"] == wanted["message"]
    assert (found["plain"] is None) is (wanted["plain"] is None) is (found["look"] is None)
    pairs = list(zip(found["nets"], wanted["nets"], strict=True))
    if wanted["look"]:
        assert found["look"].keys() == wanted["look"].keys()
        for name, value in wanted["look"].items():
            np.testing.assert_allclose(found["look"][name], value, atol=CLOSE, rtol=0)
        near(found["plain"], wanted["plain"])
    for one, other in pairs:
        assert one.keys() == other.keys()
        near(one.pop("picture"), other.pop("picture"))
        for name in ("same_hue", "same_shape", "twins"):
            assert one[name] is other[name]
        assert one["gap"] == pytest.approx(other["gap"], abs=2e-3)
        for thing, same in zip(one["things"], other["things"], strict=True):
            assert thing.keys() == same.keys()
            assert (thing["shape"], thing["clear"]) == (same["shape"], same["clear"])
            np.testing.assert_allclose(thing["box"], same["box"], atol=CLOSE)
    made.close()


def near(one: str, other: str) -> None:
    """The same picture, but for what rounding to bytes may do."""
    assert np.abs(unpacked(one).astype(int) - unpacked(other).astype(int)).max() <= 1


# ---------------------------------------------------------------------------- the view


class OnPage:
    """The lab, once its models are at work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("heed-lab")
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)
        self.knob = self.root.locator(".heed-twins-knob")
        self.point = self.root.locator(".heed-twins-point")

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)
        self.settled()

    def settled(self) -> None:
        """Until nothing that was asked is outstanding."""
        expect(self.root.locator(".heed-sheet")).to_have_attribute("aria-busy", "false")

    def pixels(self, kind: str, place: int = 0) -> UInt8[np.ndarray, "channel row column"]:
        """What stands on a canvas."""
        found = (
            self.root.locator(f"canvas.heed-twins-{kind}")
            .nth(place)
            .evaluate(
                """(each) => {
                const { width, height } = each;
                const copy = new OffscreenCanvas(width, height);
                const pen = copy.getContext("2d", { willReadFrequently: true });
                pen.drawImage(each, 0, 0);
                return [width, [...pen.getImageData(0, 0, width, height).data]];
            }"""
            )
        )
        side, values = found
        return np.array(values, np.uint8).reshape(side, side, 4).transpose(2, 0, 1)

    def shows(self, lab: TwinsLab) -> None:
        """That it draws what the kernel would."""
        picture = self.pixels("paint")[:3].astype(int)
        assert np.abs(picture - lab.picture.numpy().astype(int)).max() <= 1
        look = lab.answer["look"]
        if look is None:
            expect(self.root.locator(".heed-twins-fog")).to_be_hidden()
            return
        side = lab._model.config.generator_attention
        row, column = divmod(look["point"], side)
        expect(self.point).to_have_attribute(
            "aria-label", f"Point at row {row + 1}, column {column + 1}"
        )
        thick = self.pixels("fog")[3].astype(int)
        # Where there is no fog at all a canvas forgets its colour, not how thick it is.
        assert np.abs(thick - fog(look["weights"])[3].astype(int)).max() <= 1

    def pull(self, what: Locator, ground: Locator, to: tuple[float, float]) -> None:
        """By the mouse, to this part of the ground."""
        box, whole = what.bounding_box(), ground.bounding_box()
        assert box
        assert whole
        mouse = self.page.mouse
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        mouse.down()
        across, down = (
            whole[low] + share * whole[long]
            for low, long, share in (("x", "width", to[0]), ("y", "height", to[1]))
        )
        mouse.move(across, down, steps=3)
        mouse.up()


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: TwinsLab) -> OnPage:
    quiet.set_viewport_size({"width": 1000, "height": 1200})
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


@browser
def test_z_goes_where_the_dot_is_pulled_and_where_keys_push_it(opened: OnPage, lab: TwinsLab):
    opened.shows(lab)
    pad = opened.root.locator(".heed-twins-pad")
    opened.after(lambda: opened.pull(opened.knob, pad, (0.75, 0.25)))
    where = opened.knob.get_attribute("aria-label") or ""
    x, y = (float(word.replace("−", "-")) for word in where.split() if word[-1].isdigit())
    assert x == pytest.approx(1, abs=0.05)
    assert y == pytest.approx(1, abs=0.05)
    lab.set_state({"x": x, "y": y})
    opened.shows(lab)
    box = pad.bounding_box()
    assert box
    opened.after(lambda: opened.page.mouse.click(box["x"] + 4, box["y"] + box["height"] - 4))
    opened.knob.focus()
    for keys in ("ArrowRight", "Shift+ArrowUp"):
        opened.after(lambda: opened.page.keyboard.press(keys))  # noqa: B023
    moved = opened.knob.get_attribute("aria-label") or ""
    x, y = (float(word.replace("−", "-")) for word in moved.split() if word[-1].isdigit())
    assert x == pytest.approx(-1.9 + 0.1, abs=0.06)
    assert y == pytest.approx(-1.9 + 0.5, abs=0.06)
    lab.set_state({"x": x, "y": y})
    opened.shows(lab)
    expect(opened.root.locator(".heed-twins-place")).to_contain_text("Plane 0,")


@browser
def test_another_one_is_another_plane_and_the_start_comes_back(opened: OnPage, lab: TwinsLab):
    opened.after(opened.root.get_by_role("button", name="Another one").click)
    lab.seed = 1
    opened.shows(lab)
    opened.after(opened.root.get_by_role("button", name="Back to the start").click)
    lab.seed = 0
    opened.shows(lab)
    expect(opened.root.get_by_role("button", name="Back to the start")).to_be_disabled()


@browser
def test_the_point_goes_where_it_is_clicked_pulled_and_pushed(opened: OnPage, lab: TwinsLab):
    page, stage = opened.page, opened.root.locator(".heed-twins-stage")
    box = stage.bounding_box()
    assert box
    cell = box["width"] / 16
    opened.after(lambda: page.mouse.click(box["x"] + 10.5 * cell, box["y"] + 4.5 * cell))
    lab.point = 4 * 16 + 10
    opened.shows(lab)
    expect(opened.root.get_by_label("a place of yours", exact=True)).to_be_checked()
    opened.after(lambda: page.keyboard.press("ArrowLeft"))  # the focus went there with the mouse
    opened.after(lambda: page.keyboard.press("Shift+ArrowDown"))
    lab.point = 8 * 16 + 9
    opened.shows(lab)
    opened.after(lambda: opened.pull(opened.point, stage, (0.02, 0.98)))
    lab.point = 15 * 16
    opened.shows(lab)
    for keys in ("ArrowLeft", "ArrowDown"):  # there it ends
        page.keyboard.press(keys)
    opened.settled()
    opened.shows(lab)
    opened.after(opened.root.get_by_label("the right thing", exact=True).click)
    lab.point = -2
    opened.shows(lab)
    says = opened.root.locator(".heed-says")
    at = lab.answer["look"]["point"]
    expect(says).to_contain_text(f"point at row {at // 16 + 1}, column {at % 16 + 1} looks most")


@browser
def test_a_touch_moves_the_point(models: None, browser: Any, sheet: Any, lab: TwinsLab):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(sheet(lab.html()))
    opened = OnPage(page)
    opened.root.locator(".heed-twins-stage").scroll_into_view_if_needed()
    box = opened.root.locator(".heed-twins-stage").bounding_box()
    assert box
    cell = box["width"] / 16
    x, y = box["x"] + 12.5 * cell, box["y"] + 2.5 * cell
    opened.after(lambda: page.touchscreen.tap(x, y))
    lab.point = 2 * 16 + 12
    opened.shows(lab)
    context.close()


@browser
def test_gamma_is_turned_to_nothing_and_beyond(opened: OnPage, lab: TwinsLab):
    slider = opened.root.get_by_label("Strength γ")
    expect(slider).to_have_attribute("aria-valuetext", "0.75, learnt")
    slider.focus()
    opened.after(lambda: opened.page.keyboard.press("Home"))
    lab.dial = 0.0
    opened.shows(lab)
    expect(slider).to_have_attribute("aria-valuetext", "0")
    expect(opened.root.locator(".heed-says")).to_contain_text("γ is 0")
    added = opened.root.locator(".heed-twins-added")
    expect(added).to_contain_text("nothing is added")
    assert (opened.pixels("thumb", 3)[:3] == 128).all()
    opened.after(lambda: opened.page.keyboard.press("End"))
    lab.dial = 1.5
    opened.shows(lab)
    expect(slider).to_have_attribute("aria-valuetext", "1.13")
    change = lab.picture.numpy().astype(int) - unpacked(lab.answer["plain"]).astype(int)
    expect(added).to_contain_text(f"{np.abs(change).mean():.1f} of 255")
    assert np.abs(opened.pixels("thumb", 3)[:3].astype(int) - 128 - change / 2).max() <= 1.01


@browser
def test_a_net_without_attention_has_no_point_and_no_dial(opened: OnPage, lab: TwinsLab):
    root = opened.root
    expect(root.locator(".heed-twins-nets input")).to_have_count(3)
    opened.after(lambda: root.get_by_label("without", exact=True).check(force=True))
    lab.choice = 1
    opened.shows(lab)
    expect(opened.point).to_be_hidden()
    expect(root.get_by_label("Strength γ")).to_be_hidden()
    expect(root.get_by_label("the left thing", exact=True)).to_be_hidden()
    expect(root.get_by_text("This net has no attention")).to_be_visible()
    box = root.locator(".heed-twins-stage").bounding_box()
    assert box
    count = root.get_attribute("data-count")
    opened.page.mouse.click(box["x"] + 30, box["y"] + 30)
    opened.settled()
    assert root.get_attribute("data-count") == count  # there is nobody to ask
    opened.after(lambda: root.get_by_label("released", exact=True).check(force=True))
    lab.choice = 2
    opened.shows(lab)
    assert opened.pixels("fog").shape == (4, 8, 8)


@browser
def test_the_fog_lifts_when_the_picture_is_wanted(opened: OnPage, lab: TwinsLab):
    veil = opened.root.locator(".heed-twins-fog")
    expect(veil).to_be_visible()
    opened.root.get_by_label("Show where it looks").uncheck(force=True)
    expect(veil).to_be_hidden()
    expect(opened.point).to_be_visible()
    opened.root.get_by_label("Show where it looks").check(force=True)
    expect(veil).to_be_visible()


@browser
def test_what_is_said_is_what_is_drawn(opened: OnPage, lab: TwinsLab):
    told = opened.root.locator(".heed-twins-verdicts li")
    for i, (label, net) in enumerate(zip(NAMES, lab.answer["nets"], strict=True)):
        expect(told.nth(i)).to_have_text(f"{label} {verdict(say, net)}")
        thumb = opened.pixels("thumb", i)[:3].astype(int)
        assert np.abs(thumb - unpacked(net["picture"]).astype(int)).max() <= 1
    opened.root.locator(".heed-numbers summary").click()
    rows = opened.root.locator(".heed-numbers tbody tr")
    weights = np.array(lab.answer["look"]["weights"])
    best = np.argsort(-weights, kind="stable")[:8]
    expect(rows).to_have_count(8)
    for row, at in zip(rows.all(), best, strict=True):
        written = float(row.locator("td").inner_text())
        assert written == pytest.approx(weights[at], abs=6e-4)
    row, column = divmod(int(best[0]), 16)
    expect(rows.first.locator("th")).to_have_text(f"row {row + 1}, column {column + 1}")


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert serious(opened.page) == {}
    opened.root.locator(".heed-numbers summary").click()
    opened.after(lambda: opened.root.get_by_label("without", exact=True).check(force=True))
    assert serious(opened.page) == {}


@browser
def test_a_phone_needs_no_sideways_scrolling_and_fingers_find_their_aim(opened: OnPage):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
    sizes = opened.root.locator(
        "button:visible, summary:visible, .heed-options label:visible"
    ).evaluate_all("all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight))")
    assert min(sizes) >= 24
    for handle in (opened.point, opened.knob):  # what is around them is theirs, too
        box = handle.evaluate(
            """(each) => {
                const inset = getComputedStyle(each, "::after").inset.split(" ")[0];
                return each.offsetWidth - 2 * parseFloat(inset);
            }"""
        )
        assert box >= 24


@browser
def test_a_model_that_was_changed_leaves_only_the_picture(
    quiet: Page, sheet: Callable[[str], str], lab: TwinsLab
):
    with torch.no_grad():
        lab._trained[0].model.mean.up[2].bias[1] += 0.5
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    for name in ("Another one", "Back to the start"):
        expect(root.get_by_role("button", name=name)).to_be_hidden()
    expect(root.locator(".heed-twins-pad")).to_be_hidden()
    expect(root.get_by_label("Strength γ")).to_be_hidden()
    expect(root.locator(".heed-twins-paint")).to_be_visible()
    expect(root.locator(".heed-twins-nets input").first).to_be_disabled()


def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: TwinsLab):
    Mounted(bench, lab.html()).fails(x=1.0)
