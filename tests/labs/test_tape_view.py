"""The tape lab: in the kernel, and in a page. The machines are small and not trained; those that
are shipped are asked as well."""

import math
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from jaxtyping import UInt8
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PATIENCE, serious
from reading import Mounted, answered
from small_machines import BITS, FEEDFORWARD, ROW, ROWS, lively, published, untrained

import heed
from heed.data.tapes import CopyTapes
from heed.evaluation.hands import Hand, Hands
from heed.experiments.export import as_exported
from heed.experiments.table import find
from heed.experiments.tapes import Answers, TrainedMachine
from heed.labs import TapeLab
from heed.labs.palette import colour, diverging
from heed.labs.site import exported
from heed.labs.tape import LONGEST, drawn_bits, run, shares, told

SHIPPED = [name for name in exported() if isinstance(find(name).task, Answers)]
CLOSE = 1e-4
SLOTS, WIDE, LENGTH = 12, 5, 6
FAR = (-1.0, -0.5, 0.0, 0.25, 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small machines with their graphs; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("machines")
    published(folder)
    return folder / "trained"


@pytest.fixture
def machines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, TrainedMachine]:
    """Both, as if they were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    return {row.name: heed.experiments.trained.load(row, folder / row.name) for row in ROWS}


@pytest.fixture
def lab(machines: dict[str, TrainedMachine]) -> Iterator[TapeLab]:
    made = TapeLab(machines[ROW.name], length=LENGTH)
    yield made
    made.close()


def unpacked(content: str, *shape: int) -> UInt8[np.ndarray, "..."]:
    return np.frombuffer(b64decode(content), np.uint8).reshape(shape)


def inputs_of(pattern: list[str]) -> torch.Tensor:
    """As the task has them."""
    length = len(pattern)
    inputs = torch.zeros(2 * length + 1, BITS + 1)
    inputs[:length, :BITS] = torch.tensor([[float(bit) for bit in each] for each in pattern])
    inputs[length, BITS] = 1.0
    return inputs


# ---------------------------------------------------------------------------- what goes in


def test_patterns_are_coins_and_a_longer_one_begins_as_a_shorter_one():
    assert drawn_bits(3, 5, 8) == drawn_bits(3, 9, 8)[:5] != drawn_bits(4, 5, 8)
    ones = [bit == "1" for seed in range(50) for each in drawn_bits(seed, 40, 8) for bit in each]
    assert len(ones) == 50 * 40 * 8
    assert abs(np.mean(ones) - 0.5) < 0.02


def test_a_shift_between_two_slots_is_shared_by_both():
    assert shares(-1.0) == (1, 0, 0)
    assert shares(0.0) == (0, 1, 0)
    assert shares(1.0) == (0, 0, 1)
    assert shares(0.25) == (0, 0.75, 0.25)
    assert shares(-0.5) == (0.5, 0.5, 0)


def test_the_setting_is_what_a_machine_takes_for_hands():
    assert told({}) == Hands()
    assert told(
        {"read.gate": 1.0, "read.shift": -1.0, "write.focus": 2.0, "read.strength": 0.0}
    ) == (
        Hands(reading=Hand(gate=1.0, shifts=(1.0, 0.0, 0.0), strength=0.0), writing=Hand(focus=2.0))
    )


# ---------------------------------------------------------------------------- the kernel


@pytest.mark.parametrize("name", [ROW.name, FEEDFORWARD.name])
def test_left_alone_it_shows_what_the_machine_does(machines, name):
    made = TapeLab(machines[name], length=LENGTH, step=8)
    wanted = machines[name].run(inputs_of(made.pattern))
    answer = made.answer
    np.testing.assert_allclose(answer["said"], wanted.probabilities[LENGTH + 1 :], atol=1e-5)
    assert wanted.writing is not None
    assert wanted.reading is not None
    for part, trace in (("writing", wanted.writing), ("reading", wanted.reading)):
        bytes_ = unpacked(answer[part], 2 * LENGTH + 1, SLOTS)
        np.testing.assert_allclose(bytes_ / 255, trace.weights[0], atol=0.0025)
        np.testing.assert_allclose(answer["now"][part], trace.weights[0, 8], atol=1e-5)
    bits = np.array([[int(bit) for bit in each] for each in made.pattern])
    said = wanted.probabilities[LENGTH + 1 :].numpy() > 0.5
    assert answer["wrong"] == answer["alone"] == int((said != bits).sum())
    assert answer["of"] == LENGTH * BITS
    np.testing.assert_allclose(made.trace.weights[0], wanted.writing.weights[0], atol=1e-5)
    np.testing.assert_allclose(made.trace.weights[1], wanted.reading.weights[0], atol=1e-5)
    assert made.models == [name]
    made.close()


def test_the_step_on_screen_has_its_memory_and_its_commands(lab, machines):
    model = machines[ROW.name].model
    lab.step = 4
    state = model.start(1)
    with torch.inference_mode():
        for x in inputs_of(lab.pattern)[:5]:
            state, out = model.step(state, x[None])
    now = lab.answer["now"]
    memory = unpacked(now["memory"], SLOTS, WIDE) / 127.5 - 1
    np.testing.assert_allclose(memory, state.heads.memory[0].clamp(-1, 1), atol=0.0045)
    for head, aim in (("write", out.commands.writing), ("read", out.commands.reading)):
        for name in ("strength", "gate", "focus"):
            assert now[head][name] == pytest.approx(getattr(aim, name).item(), abs=1e-5)
        np.testing.assert_allclose(now[head]["shifts"], aim.shifts[0, 0], atol=1e-5)
    lab.step = 2 * LONGEST
    assert lab.answer["now"]["step"] == 2 * LENGTH


def test_a_hand_is_obeyed_by_its_head_from_its_step_on(lab):
    alone = lab.answer
    lab.set_state({"hands": {"read.gate": 1.0, "read.shift": 0.5}, "since": 3, "step": 3})
    now = lab.answer["now"]
    assert now["read"]["gate"] == 1.0
    assert now["read"]["shifts"] == [0.0, 0.5, 0.5]
    assert now["write"]["gate"] not in (0.0, 1.0)
    before, after = (
        unpacked(each["reading"], 2 * LENGTH + 1, SLOTS) for each in (alone, lab.answer)
    )
    assert (before[:3] == after[:3]).all()
    assert (before[3:] != after[3:]).any()
    assert lab.answer["alone"] == alone["wrong"]
    lab.step = 2
    assert lab.answer["now"]["read"]["gate"] != 1.0  # it does not obey yet
    found = run(lab.machine.model, lab.pattern, lab.hand, 3)
    assert lab.answer["wrong"] == found.wrong
    lab.set_state({"since": 500})
    assert lab.since == 2 * LONGEST  # nobody obeys before the last step, then
    assert lab.answer["now"]["read"]["gate"] != 1.0


def test_who_moves_through_the_steps_runs_nothing_anew(lab, monkeypatch):
    lab.hands = {"write.focus": 1.0}
    runs: list[Any] = []
    monkeypatch.setattr("heed.labs.tape.run", lambda *given: runs.append(given) or run(*given))
    for step in range(5):
        lab.step = step
    assert runs == []
    lab.hands = {"write.focus": 2.0}
    assert len(runs) == 1
    with torch.no_grad():
        lab.machine.model.command.bias += 0.1
    lab.step = 9
    assert len(runs) == 3  # by hand and alone: the machine is another one


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pattern", ["010", "111"]),
        ("step", 2),
        ("hands", {"read.strength": 9.0}),
        ("hands", {"write.shift": -1.0}),
    ],
)
def test_each_setting_changes_the_answer(lab, name, value):
    before = lab.answer
    setattr(lab, name, value)
    assert lab.answer["count"] == before["count"] + 1
    parts = ("said", "now", "writing", "reading")
    assert [lab.answer[part] for part in parts] != [before[part] for part in parts]


def test_the_seed_alone_asks_nobody(lab):
    before = lab.answer
    lab.seed = 7
    assert lab.answer is before


WRONG = [
    ("pattern", [], "0 vectors: there must be 1 to 40"),
    ("pattern", ["000"] * 41, "41 vectors: there must be 1 to 40"),
    ("pattern", ["0101"], "vector '0101' is not a text of 3 bits"),
    ("pattern", ["012"], "vector '012' is not a text of 3 bits"),
    ("hands", {"read.key": 1.0}, r"hands\['read.key'\]: give a head and a command"),
    ("hands", {"both.gate": 1.0}, r"hands\['both.gate'\]: give a head and a command"),
    ("hands", {"read.gate": 1.5}, r"hands\['read.gate'\]=1.5 must be from 0 to 1"),
    ("hands", {"read.focus": 0.5}, r"hands\['read.focus'\]=0.5 must be from 1 to 50"),
    ("hands", {"write.shift": math.nan}, r"=nan must be from -1 to 1"),
    ("hands", {"write.gate": True}, r"=True must be from 0 to 1"),
]


@pytest.mark.parametrize(("name", "value", "fault"), WRONG, ids=lambda each: str(each)[:30])
def test_nonsense_is_refused_and_from_a_browser_changes_nothing(lab, name, value, fault):
    before = getattr(lab, name)
    with pytest.raises(traitlets.TraitError, match=fault):
        setattr(lab, name, value)
    lab.set_state({name: value})
    assert getattr(lab, name) == before
    assert lab.answer["message"] == ""


def test_machines_of_another_kind_and_other_lengths_are_refused(machines, monkeypatch):
    with monkeypatch.context() as shipped:
        shipped.delenv("HEED_TRAINED")
        other = heed.load("lstm_recall")
    with pytest.raises(TypeError, match="TapeLab runs a NTM, and lstm_recall is a"):
        TapeLab(other)
    with pytest.raises(ValueError, match="length=0 must be from 1 to 40"):
        TapeLab(machines[ROW.name], length=0)
    with pytest.raises(TypeError, match="the sizes of a TapeLab are those of its machine"):
        TapeLab(machines[ROW.name], sizes={})
    config = machines[ROW.name].model.config
    for changed, fault in (
        ({"readers": 2}, "shows one head of each kind that shifts by 1, not 2 that read, 1"),
        ({"shift": 2}, "not 1 that read, 1 that write and 2"),
        ({"d_input": 5}, "has one input more than outputs, not 5 and 3"),
    ):
        with pytest.raises(ValueError, match=fault):
            TapeLab(replace(untrained(), model=lively(replace(config, **changed))))


def test_changed_weights_show(lab):
    before = lab.answer
    with torch.no_grad():
        lab.machine.model.output.bias += 3
    lab.refresh()
    assert lab.answer["said"] != before["said"]
    assert lab.models == []  # a page has no such machine


def test_numbers_that_are_none_make_no_harm(lab):
    with torch.no_grad():
        lab.machine.model.command.bias.fill_(math.nan)
    lab.refresh()
    assert lab.answer["now"]["read"]["gate"] is None
    assert "Left alone" in lab.html()


def test_without_a_script_there_are_pictures_a_line_and_a_table(lab):
    lab.hands = {"read.gate": 1.0}
    page = BeautifulSoup(lab.html(), "html.parser")
    assert len(page.select(".heed-tape-drawn[role=img][aria-label]")) == 4
    answer = lab.answer
    assert (
        f"{answer['wrong']} of {answer['of']} bits wrong; left alone, {answer['alone']}"
        in page.select(".heed-says")[0].text
    )
    rows = page.select("table.heed-tape-table tbody tr")
    assert [row.th.text for row in rows if row.th] == [str(i) for i in range(1, 2 * LENGTH + 2)]
    cells = [[cell.text for cell in row.select("td")] for row in rows]
    assert cells[0][0] == "vector 1 comes in"
    assert cells[LENGTH][0] == "the mark"
    assert cells[-1][0] == f"vector {LENGTH} is due"
    for place, part in ((1, "writing"), (3, "reading")):
        slots = unpacked(answer[part], 2 * LENGTH + 1, SLOTS).argmax(axis=1)
        assert [row[place] for row in cells] == [str(slot) for slot in slots]


def test_the_longest_pattern_fits_into_a_page(lab):
    lab.set_state({"pattern": drawn_bits(1, LONGEST, BITS), "hands": {"write.focus": 1.0}})
    assert len(lab.html()) < 60_000


# ---------------------------------------------------------------------------- the page

in_chromium = pytest.mark.browser


def in_page(bench: Page, body: str, given: Any) -> Any:
    return bench.evaluate(
        f"""async (given) => {{
            const at = (path) => new URL(`labs/${{path}}`, location.href).href;
            {body}
        }}""",
        given,
    )


@in_chromium
def test_the_page_draws_the_same_patterns_and_finds_the_used_slots(bench: Page):
    cases = [[seed, length, bits] for seed, length, bits in ((0, 20, 8), (2**32 - 1, 3, 5))]
    found = in_page(
        bench,
        """const { drawnBits, shares, inputsOf } = await import(at("tape_bits.js"));
        return [
            given.cases.map((each) => drawnBits(...each)),
            given.far.map(shares),
            inputsOf(["010", "110"]),
        ];""",
        {"cases": cases, "far": FAR},
    )
    assert found[0] == [drawn_bits(*case) for case in cases]
    assert found[1] == [[*shares(far)] for far in FAR]
    assert found[2] == inputs_of(["010", "110"]).tolist()

    def used(*slots: int) -> Any:
        trail = [200 if slot in slots else 5 for slot in range(16)]
        return in_page(
            bench,
            """const { usedSlots } = await import(at("tape_bits.js"));
            return usedSlots([given], 16);""",
            trail,
        )

    assert used(3, 4, 6) == {"first": 2, "count": 6}
    assert used(14, 15, 1) == {"first": 13, "count": 6}  # round the ring
    assert used(0, 1, 2) == {"first": 0, "count": 4}
    assert used(*range(15)) == {"first": 0, "count": 16}
    assert used() == {"first": 0, "count": 16}


HELD: list[tuple[dict[str, float], int]] = [
    ({}, 0),
    ({"read.gate": 1.0, "write.gate": 0.25}, 0),
    ({"write.shift": -1.0, "read.focus": 1.0}, 4),
    ({"read.strength": 0.0, "write.strength": 20.0, "read.shift": 0.3}, 9),
]


@in_chromium
@pytest.mark.parametrize("name", [*(row.name for row in ROWS), *SHIPPED])
def test_steps_are_those_of_pytorch(
    bench: Page, models: None, machines: Any, name: str, monkeypatch: pytest.MonkeyPatch
):
    small = machines
    monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(small.get(name) or heed.load(name))
    config = trained.model.config
    lengths = (1, 5, 40)
    if config.d_input == config.d_output + 1:
        patterns = [drawn_bits(length, length, config.d_output) for length in lengths]
        inputs = [
            CopyTapes(bits=config.d_output).tape(1, torch.Generator(), length=length).inputs[0]
            for length in lengths
        ]
        for pattern, rows in zip(patterns, inputs, strict=True):
            rows[: len(pattern), :-1] = torch.tensor([[float(b) for b in each] for each in pattern])
    else:
        inputs = [(torch.rand(2 * length + 1, config.d_input) < 0.4).float() for length in lengths]
    for rows in inputs:
        found = in_page(
            bench,
            """const { model } = await import(at("machines.js"));
            const { told } = await import(at("tape_bits.js"));
            const machine = await model(given.name);
            const ran = [];
            for (const [hands, since] of given.held) {
                const one = await machine.run(given.inputs, { hands: told(hands), since });
                one.memory = one.memory.slice(-1);
                for (const part of ["logits", "reading", "writing", "memory"]) {
                    one[part] = one[part].map((row) => Array.from(row));
                }
                ran.push(one);
            }
            return ran;""",
            {"name": name, "inputs": rows.tolist(), "held": HELD},
        )
        for (hands, since), one in zip(HELD, found, strict=True):
            state, at = trained.model.start(1), told(hands)
            for t, x in enumerate(rows):
                with torch.inference_mode():
                    state, out = trained.model.step(state, x[None], hand=at if t >= since else None)
                close(one["logits"][t], out.logits[0], 5)  # scores near 15 have no more digits
                close(one["reading"][t], state.heads.reading[0, 0])
                close(one["writing"][t], state.heads.writing[0, 0])
                for head, aim in (("read", out.commands.reading), ("write", out.commands.writing)):
                    close(one["commands"][t][head]["gate"], aim.gate[0, 0])
                    close(one["commands"][t][head]["shifts"], aim.shifts[0, 0])
                    close(one["commands"][t][head]["strength"], aim.strength[0, 0])
                    close(one["commands"][t][head]["focus"], aim.focus[0, 0])
            close(one["memory"][0], state.heads.memory[0].flatten())


def close(one: Any, other: Any, times: float = 1) -> None:
    np.testing.assert_allclose(one, other, atol=times * CLOSE, rtol=0)


SETTINGS: list[dict[str, Any]] = [
    {},
    {"length": 1, "step": 0},
    {"length": 40, "step": 80},
    {"pattern": ["010", "111", "000"], "step": 3, "hands": {"read.gate": 1.0}},
    {"step": 80, "hands": {"write.shift": -0.5, "read.focus": 7.0}, "since": 5},
    {"hands": {"write.strength": 0.0, "write.gate": 1.0}, "since": 80, "seed": 3},
]


@in_chromium
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", [ROW.name, FEEDFORWARD.name])
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, machines: Any, name: str, settings: dict[str, Any]
):
    made = TapeLab(as_exported(machines[name]), **({"length": LENGTH} | settings))
    facts = {name: getattr(made, name) for name in (*made.settings, *made.facts, "models")}
    found = in_page(
        bench,
        """const engine = await import(at("answers/tape.js"));
        const get = (name) => given[name];
        const models = await Promise.all(engine.models(get).map(engine.model));
        return engine.answer(get, models);""",
        facts,
    )
    wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
    assert found.keys() == wanted.keys()
    for name in ("wrong", "of", "alone", "message"):
        assert found[name] == wanted[name]
    close(found["said"], wanted["said"])
    for part in ("writing", "reading"):
        near(found[part], wanted[part])
    one, other = found["now"], wanted["now"]
    assert one.keys() == other.keys()
    assert one["step"] == other["step"]
    near(one["memory"], other["memory"])
    for part in ("writing", "reading"):
        close(one[part], other[part])
    for head in ("read", "write"):
        assert one[head].keys() == other[head].keys()
        for name in other[head]:
            close(one[head][name], other[head][name])
    made.close()


def near(one: str, other: str) -> None:
    """The same bytes, but for what rounding may do."""
    assert np.abs(unpacked(one, -1).astype(int) - unpacked(other, -1).astype(int)).max() <= 1


# ---------------------------------------------------------------------------- the view


class OnPage:
    """The lab, once its machine is at work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("heed-lab")
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)
        self.settled()

    def settled(self) -> None:
        """Until nothing that was asked is outstanding."""
        expect(self.root.locator(".heed-sheet")).to_have_attribute("aria-busy", "false")

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def slider(self, name: str) -> Locator:
        return self.root.get_by_role("slider", name=name, exact=True)

    def bit(self, vector: int, row: int) -> Locator:
        return self.root.locator(f"td[data-row='{row}'][data-column='{vector}']")

    def press(self, keys: str) -> None:
        self.after(lambda: self.page.keyboard.press(keys))

    def pattern(self) -> list[str]:
        """As it stands on the page."""
        rows = self.root.locator(".heed-tape-grid[role='grid'] tr").evaluate_all(
            "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return ["".join(each) for each in zip(*rows, strict=True)]

    def shows(self, lab: TapeLab) -> None:
        """That it draws what the kernel would."""
        assert self.pattern() == lab.pattern
        answer = lab.answer
        wrong = [
            (row, column)
            for column, (vector, said) in enumerate(zip(lab.pattern, answer["said"], strict=True))
            for row, (bit, p) in enumerate(zip(vector, said, strict=True))
            if (p > 0.5) != (bit == "1")
        ]
        cells = self.root.locator(".heed-tape-echo tr").evaluate_all(
            """all => all.flatMap((row, i) => [...row.cells].flatMap((cell, j) =>
                cell.classList.contains("heed-wrong") ? [[i, j]] : []))"""
        )
        assert sorted(map(tuple, cells)) == sorted(wrong)
        assert len(wrong) == answer["wrong"]
        expect(self.root.locator(".heed-tape-result")).to_contain_text(
            f"{answer['wrong']} of {answer['of']} bits wrong"
        )
        steps = 2 * len(lab.pattern) + 1
        expect(self.slider("Step")).to_have_attribute(
            "aria-valuetext", f"{answer['now']['step'] + 1} of {steps}"
        )


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: TapeLab) -> OnPage:
    quiet.set_viewport_size({"width": 1000, "height": 1400})
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


@in_chromium
def test_bits_are_painted_by_mouse_and_by_keys(opened: OnPage, lab: TapeLab):
    opened.shows(lab)
    pattern = [list(each) for each in lab.pattern]

    def flipped(*places: tuple[int, int]) -> None:
        for vector, row in places:
            pattern[vector][row] = "10"[int(pattern[vector][row])]
        lab.pattern = ["".join(each) for each in pattern]
        opened.settled()
        opened.shows(lab)

    opened.after(opened.bit(2, 1).click)
    flipped((2, 1))
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowLeft")
    expect(opened.bit(1, 2)).to_be_focused()
    opened.press(" ")
    flipped((1, 2))
    opened.page.keyboard.press("End")
    opened.page.keyboard.press("ArrowRight")  # there it ends
    opened.press("Enter")
    flipped((LENGTH - 1, 2))
    expect(opened.bit(LENGTH - 1, 2)).to_have_attribute(
        "aria-label", f"vector {LENGTH}, bit 3: {pattern[-1][2]}"
    )
    assert opened.root.locator("td[data-row][tabindex='0']").count() == 1
    # A stroke gives all bits on its way what the first one got.
    bit = "10"[int(pattern[0][0])]
    mouse = opened.page.mouse
    boxes = [opened.bit(vector, 0).bounding_box() for vector in range(4)]

    def stroke() -> None:
        for i, box in enumerate(boxes):
            assert box
            mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            if not i:
                mouse.down()
        mouse.up()

    opened.after(stroke)
    flipped(*[(vector, 0) for vector in range(4) if pattern[vector][0] != bit])
    before = opened.pattern()
    opened.bit(5, 1).hover()  # the brush is up
    assert opened.pattern() == before


@in_chromium
def test_a_finger_taps_bits(models: None, browser: Browser, sheet: Any, lab: TapeLab):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(sheet(lab.html()))
    opened = OnPage(page)
    opened.after(opened.bit(1, 1).tap)
    vector = lab.pattern[1]
    changed = vector[0] + "10"[int(vector[1])] + vector[2]
    lab.pattern = [lab.pattern[0], changed, *lab.pattern[2:]]
    opened.shows(lab)
    context.close()


@in_chromium
def test_another_pattern_a_longer_one_and_the_start(opened: OnPage, lab: TapeLab):
    opened.after(opened.button("Another pattern").click)
    lab.pattern = drawn_bits(1, LENGTH, BITS)
    opened.shows(lab)
    opened.slider("Vectors").focus()
    opened.press("ArrowRight")
    # Who looked at the third vector that is due goes on looking at it.
    assert lab.step == LENGTH + 3
    lab.set_state({"pattern": drawn_bits(1, LENGTH + 1, BITS), "step": LENGTH + 4})
    opened.shows(lab)
    opened.press("Home")
    lab.set_state({"pattern": drawn_bits(1, 1, BITS), "step": 2})
    opened.shows(lab)
    opened.press("End")
    expect(opened.slider("Vectors")).to_have_attribute("aria-valuetext", "40")
    assert opened.pattern() == drawn_bits(1, LONGEST, BITS)
    opened.after(opened.button("Back to the start").click)
    lab.set_state({"pattern": drawn_bits(0, LENGTH, BITS), "step": LENGTH + 3})
    opened.shows(lab)
    expect(opened.button("Back to the start")).to_be_disabled()


@in_chromium
def test_time_goes_by_slider_by_button_by_a_press_on_a_trail_and_by_itself(
    opened: OnPage, lab: TapeLab
):
    says = opened.root.locator(".heed-says")
    opened.slider("Step").focus()
    opened.press("Home")
    lab.step = 0
    opened.shows(lab)
    expect(says).to_contain_text("Step 1: vector 1 comes in. The write head is ")
    opened.after(opened.button("One step on").click)
    lab.step = 1
    opened.shows(lab)
    trail = opened.root.locator(".heed-tape-time").last
    box = trail.bounding_box()
    assert box
    width = box["width"] / (2 * LENGTH + 1)
    opened.after(lambda: trail.click(position={"x": (LENGTH + 0.5) * width, "y": 20}))
    lab.step = LENGTH
    opened.shows(lab)
    expect(says).to_contain_text(f"Step {LENGTH + 1}: the mark comes in")
    opened.button("Play").click()
    expect(opened.slider("Step")).to_have_attribute(
        "aria-valuetext", f"{2 * LENGTH + 1} of {2 * LENGTH + 1}"
    )
    expect(opened.button("Play")).to_be_visible()  # at the end it stops
    opened.settled()
    lab.step = 2 * LENGTH
    opened.shows(lab)
    expect(says).to_contain_text(f"the machine says vector {LENGTH}.")


@in_chromium
def test_heads_are_taken_in_hand_and_given_back(opened: OnPage, lab: TapeLab):
    def holds(hands: Mapping[str, float], since: int = 0) -> None:
        lab.set_state({"hands": hands, "since": since})
        opened.settled()
        opened.shows(lab)

    result = opened.root.locator(".heed-tape-result")
    reader = opened.root.get_by_role("group", name="Read head", exact=True)
    opened.after(opened.button("g = 1").click)
    both = {"read.gate": 1.0, "write.gate": 1.0}
    holds(both)
    expect(result).to_contain_text("With g = 1 the machine has")
    expect(result).to_contain_text(f"left alone, {lab.answer['alone']}.")
    expect(opened.button("g = 1")).to_have_attribute("aria-pressed", "true")
    expect(reader.get_by_label("g by hand")).to_be_checked()
    opened.after(lambda: reader.get_by_label("g by hand").uncheck(force=True))
    holds({"write.gate": 1.0})
    expect(result).to_contain_text("With g = 1 on the write head the machine has")
    focus = reader.get_by_label("Focus γ")
    focus.focus()
    opened.press("Home")
    holds({"write.gate": 1.0, "read.focus": 1.0})
    expect(reader.get_by_label("γ by hand")).to_be_checked()
    expect(focus).to_have_attribute("aria-valuetext", "1")
    shift = reader.get_by_label("Shift s")
    shift.focus()
    opened.press("End")
    holds({"write.gate": 1.0, "read.focus": 1.0, "read.shift": 1.0})
    expect(shift).to_have_attribute("aria-valuetext", "one slot on")
    opened.after(opened.button("From this step on").click)
    holds(lab.hands, since=LENGTH + 3)
    expect(result).to_contain_text(f"from step {LENGTH + 4} on,")
    opened.after(opened.button("In all steps").click)
    holds(lab.hands)
    opened.after(opened.button("Hands off").click)
    holds({})
    expect(result).to_contain_text("Left alone,")
    # Nothing is taken by what the machine says itself; taken over, it goes on as it was.
    own = lab.answer["now"]["read"]["gate"]
    said = f"{own:.2f}".rstrip("0")
    expect(reader.get_by_label("Gate g")).to_have_attribute("aria-valuetext", said)
    opened.after(lambda: reader.get_by_label("g by hand").check(force=True))
    expect(result).to_contain_text(f"With g = {said} on the read head")


@in_chromium
def test_pictures_have_the_numbers_of_the_answer(opened: OnPage, lab: TapeLab):
    def pixels(kind: str, place: int = 0) -> Any:
        return (
            opened.root.locator(f"canvas.heed-tape-{kind}")
            .nth(place)
            .evaluate(
                """(each) => [each.width, each.height,
                    [...each.getContext("2d").getImageData(0, 0, each.width, each.height).data]]"""
            )
        )

    def channels(hex_: str) -> list[int]:
        return [int(hex_[i : i + 2], 16) for i in (1, 3, 5)]

    if opened.root.get_by_label("Show all").is_visible():
        opened.root.get_by_label("Show all").check(force=True)
    steps = 2 * LENGTH + 1
    for place, part in enumerate(("writing", "reading")):
        width, height, values = pixels("trail", place)
        assert (width, height) == (steps, SLOTS)
        found = np.array(values).reshape(SLOTS, steps, 4)[..., :3]
        wanted = [
            [channels(colour(byte / 255).background) for byte in row]
            for row in unpacked(lab.answer[part], steps, SLOTS).T
        ]
        assert np.abs(found - np.array(wanted)).max() <= 3  # a byte may be rounded another way
    width, height, values = pixels("memory")
    assert (width, height) == (WIDE, SLOTS)
    found = np.array(values).reshape(SLOTS, WIDE, 4)[..., :3]
    memory = unpacked(lab.answer["now"]["memory"], SLOTS, WIDE)
    wanted = [[channels(diverging(byte / 127.5 - 1).background) for byte in row] for row in memory]
    assert np.abs(found - np.array(wanted)).max() <= 3
    opened.root.locator(".heed-numbers summary").click()
    rows = opened.root.locator(".heed-numbers tbody tr")
    expect(rows).to_have_count(8)
    best = int(np.argmax(lab.answer["now"]["writing"]))
    expect(rows.first.locator("td").first).to_have_text(str(best))


@in_chromium
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.after(opened.button("γ = 1").click)
    opened.root.locator(".heed-numbers summary").click()
    assert serious(opened.page) == {}


@in_chromium
def test_a_phone_needs_no_sideways_scrolling_and_fingers_find_their_aim(opened: OnPage):
    opened.page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) <= 0
    opened.slider("Vectors").focus()
    opened.press("End")
    assert opened.page.evaluate(wide) <= 0
    sizes = opened.root.locator(
        "button:visible, summary:visible, .heed-tape-grid[role='grid'] td"
    ).evaluate_all("all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight))")
    assert min(sizes) >= 24


@in_chromium
def test_a_machine_that_was_changed_leaves_only_the_picture(
    quiet: Page, sheet: Callable[[str], str], lab: TapeLab
):
    with torch.no_grad():
        lab.machine.model.output.bias += 3
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    for name in ("Another pattern", "Play", "g = 1", "From this step on"):
        expect(root.get_by_role("button", name=name)).to_be_hidden()
    expect(root.get_by_label("Focus γ").first).to_be_disabled()
    expect(root.locator(".heed-tape-memory")).to_be_visible()
    before = root.locator("td[data-row='0'][data-column='0']").inner_text()
    root.locator("td[data-row='0'][data-column='0']").click()
    expect(root.locator("td[data-row='0'][data-column='0']")).to_have_text(before)


@in_chromium
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: TapeLab):
    Mounted(bench, lab.html()).fails(step=1)
