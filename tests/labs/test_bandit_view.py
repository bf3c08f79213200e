"""The lab of bandits: in the kernel, and in a page. The policy is small and not trained; those that
are shipped are asked as well."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from bs4 import BeautifulSoup
from playwright.sync_api import Page, expect
from reader import PATIENCE, serious
from reading import Mounted, answered
from small_learners import BANDIT, GLYPHS, published, untrained

import heed
from heed.data.bandits import Bandits
from heed.evaluation.bandits import gittins_indices
from heed.experiments.bandits import TrainedPlayer
from heed.experiments.export import as_exported
from heed.experiments.table import find
from heed.experiments.trained import load
from heed.labs import BanditLab, drawing
from heed.labs.bandit import by_rule, drawn_arm, drawn_bandit, ending, played
from heed.labs.base import strings
from heed.labs.site import exported
from heed.models.snail import SNAILPolicy
from heed.training.policy import play

ROWS = (BANDIT,)
SHIPPED = [name for name in exported() if find(name).build is SNAILPolicy]
CLOSE = 1e-4
PULLS = BANDIT.data.pulls
say = drawing.sayer(strings())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small policy with its graph; trained/ in it is as ``data/trained``."""
    folder = tmp_path_factory.mktemp("bandits")
    published(folder, ROWS)
    return folder / "trained"


@pytest.fixture
def player(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TrainedPlayer:
    """As if it were shipped."""
    monkeypatch.setenv("HEED_TRAINED", str(folder))
    found = load(BANDIT, folder / BANDIT.name)
    assert isinstance(found, TrainedPlayer)
    return found


@pytest.fixture
def lab(player: TrainedPlayer) -> Iterator[BanditLab]:
    made = BanditLab(player)
    yield made
    made.close()


# ---------------------------------------------------------------------------- the bandit


def test_a_bandit_of_a_seed_stays_and_pays_as_often_as_it_says():
    bandit = drawn_bandit(3, 5, 100)
    assert drawn_bandit(3, 5, 100) == bandit != drawn_bandit(4, 5, 100)
    assert len(bandit.pays) == 100
    p, paid = zip(
        *(
            pair
            for seed in range(60)
            for each in [drawn_bandit(seed, 5, 100)]
            for pair in zip(each.p, np.mean(each.pays, axis=0), strict=True)
        ),
        strict=True,
    )
    assert np.abs(np.subtract(p, paid)).max() < 0.2  # four standard errors
    assert np.mean(p) == pytest.approx(0.5, abs=0.07)


def test_an_arm_is_drawn_as_often_as_its_probability_says():
    p = [0.2, 0.0, 0.5, 0.3]
    drawn = [drawn_arm(p, (k + 0.5) / 1000) for k in range(1000)]
    assert np.bincount(drawn, minlength=4).tolist() == [200, 0, 500, 300]


@pytest.mark.parametrize("likeliest", [True, False])
def test_a_policy_plays_as_evaluation_lets_it_play(player, likeliest):
    for seed in range(4):
        bandit = drawn_bandit(seed, 5, PULLS)
        game = played(player.model, bandit, likeliest=likeliest)
        assert len(game.arms) == PULLS
        assert game.paid == [row[arm] for row, arm in zip(bandit.pays, game.arms, strict=True)]
        done, paid = torch.tensor([game.arms]), torch.tensor([game.paid])
        with torch.inference_mode():
            policy = player.model(done, paid)
        torch.testing.assert_close(
            game.probabilities, policy.logits[0].softmax(dim=-1), atol=1e-5, rtol=0
        )
        for name, rows in game.looks.items():
            for t, row in enumerate(rows):
                torch.testing.assert_close(
                    row, policy.weights[name][0, t, : t + 1], atol=1e-5, rtol=0
                )
        if likeliest:
            luck = 1.0 - torch.tensor([bandit.pays], dtype=torch.float)
            same = Bandits(torch.full((1, 5), 0.5), luck)
            assert play(player.model, same, likeliest=True).actions[0].tolist() == game.arms


def test_players_by_rule_follow_their_rule():
    bandit = drawn_bandit(1, 3, 30)
    for name in ("gittins", "greedy"):
        game = by_rule(name, bandit)
        wins, losses = np.zeros(3, int), np.zeros(3, int)
        for t, (arm, paid) in enumerate(game.history()):
            if name == "greedy":
                worth = (wins + 1) / (wins + losses + 2)
            else:
                worth = gittins_indices(30)[30 - t, wins, losses].numpy()
            assert worth[arm] == worth.max()
            assert paid == bandit.pays[t][arm]
            (wins if paid else losses)[arm] += 1


# ---------------------------------------------------------------------------- the kernel


def unpacked(content: str) -> np.ndarray:
    return np.frombuffer(b64decode(content), np.uint8) / 255


def test_the_answer_is_the_whole_game(lab, player):
    answer = lab.answer
    bandit = drawn_bandit(0, 5, PULLS)
    game = played(player.model, bandit, likeliest=False)
    assert answer["p"] == pytest.approx(list(bandit.p), abs=1e-6)
    assert answer["pays"] == ["".join(map(str, row)) for row in bandit.pays]
    assert answer["players"]["snail"] == game.told()
    assert answer["players"]["greedy"] == by_rule("greedy", bandit).told()
    assert answer["players"]["gittins"] == by_rule("gittins", bandit).told()
    found = unpacked(answer["probabilities"]).reshape(PULLS, 5)
    np.testing.assert_allclose(found, game.probabilities, atol=0.5 / 255 + 1e-6)
    for name, rows in game.looks.items():
        np.testing.assert_allclose(unpacked(answer["looks"][name]), torch.cat(rows), atol=0.002)
    assert lab.models == [BANDIT.name]
    np.testing.assert_allclose(lab.trace.weights.sum(-1), 1, atol=1e-5)
    assert lab.trace.key.labels[0] == "∅"
    assert lab.trace.key.labels[1][0] == str(game.arms[0] + 1)


def test_each_setting_that_asks_is_answered_and_the_others_ask_nobody(lab):
    before = lab.answer
    lab.pulls, lab.at, lab.block = [0, 1, 4], 2, 0
    assert lab.answer["count"] == before["count"]
    lab.seed = 7
    assert lab.answer["count"] == before["count"] + 1
    assert lab.answer["p"] != before["p"]
    lab.likeliest = True
    assert lab.answer["count"] == before["count"] + 2
    assert lab.answer["asked"] == {"seed": 7, "likeliest": True}


def test_what_a_browser_sends_is_checked(lab):
    for bad in ([5], [-1], [0] * (PULLS + 1), [True], ["1"], "here"):
        lab.set_state({"pulls": bad})
        assert lab.pulls == []
    lab.set_state({"seed": -4, "at": 999, "block": -9})
    assert (lab.seed, lab.at, lab.block) == (0, 100, -1)
    with pytest.raises(traitlets.TraitError, match="the arm 5 is none of 0 to 4"):
        lab.pulls = [0, 5]
    with pytest.raises(traitlets.TraitError, match=f"13 pulls, but there are {PULLS}"):
        lab.pulls = [0] * 13


def test_models_of_another_kind_and_facts_are_refused(player):
    with pytest.raises(TypeError, match="plays beside a SNAILPolicy, and tiny_glyphs is a SNAIL"):
        BanditLab(untrained(GLYPHS))
    with pytest.raises(TypeError, match="the sizes of a BanditLab are those of its player"):
        BanditLab(player, sizes={})


def test_without_a_script_the_game_is_told(lab):
    page = BeautifulSoup(lab.html(), "html.parser")
    rows = page.select("table.heed-cells tbody tr")
    assert [row.find("th").text for row in rows] == [str(t) for t in range(1, PULLS + 1)]
    arms = "".join(str(int(row.find_all("td")[0].text) - 1) for row in rows)
    assert arms == lab.answer["players"]["snail"]["arms"]
    assert ending(say, lab.answer) in page.text
    assert rows[0].find_all("td")[2].text == "the beginning 1.00"


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


@browser
def test_the_page_has_the_same_bandits_and_the_same_rules(bench: Page):
    seeds = [0, 1, 5, 4_294_967_295]
    found = in_page(
        bench,
        """const bandits = await import(at("bandits.js"));
        const { BESIDE, byRule, drawnArm, drawnBandit, packed, unpacked } = bandits;
        const games = [];
        for (const seed of given) {
            const bandit = drawnBandit(seed, { arms: 4, pulls: 40 });
            const game = { p: bandit.p, pays: bandit.pays };
            for (const name of BESIDE) game[name] = await byRule(name, bandit);
            games.push(game);
        }
        const arms = [0.1, 0.2, 0.69, 0.71, 0.9999].map((x) => drawnArm([0.2, 0, 0.5, 0.3], x));
        const bytes = Array.from(unpacked(packed([0, 0.5, 1, NaN])));
        return { games, arms, bytes };""",
        seeds,
    )
    for seed, game in zip(seeds, found["games"], strict=True):
        bandit = drawn_bandit(seed, 4, 40)
        assert game["p"] == list(bandit.p)
        assert game["pays"] == [list(row) for row in bandit.pays]
        for name in ("gittins", "greedy"):
            wanted = by_rule(name, bandit)
            assert game[name] == {"arms": wanted.arms, "paid": wanted.paid}, (seed, name)
    assert found["arms"] == [0, 2, 2, 3, 3]
    assert found["bytes"] == [0, 128, 255, 0]


@browser
def test_the_page_computes_the_index_of_gittins(bench: Page):
    table = gittins_indices(25)
    states = [
        (n, w, losses) for n in range(1, 26) for w in range(26 - n) for losses in range(26 - n - w)
    ]
    found = in_page(
        bench,
        """const { gittinsIndices } = await import(at("gittins.js"));
        const index = await gittinsIndices(25);
        return given.map(([n, wins, losses]) => index(n, wins, losses));""",
        states,
    )
    np.testing.assert_allclose(found, [table[state] for state in states], atol=1e-12)


@browser
@pytest.mark.parametrize("name", [BANDIT.name, *SHIPPED])
def test_the_page_computes_what_pytorch_computes(
    bench: Page, models: None, player: TrainedPlayer, name: str, monkeypatch: pytest.MonkeyPatch
):
    if name != BANDIT.name:
        monkeypatch.undo()  # the shipped ones lie elsewhere
    trained = as_exported(player if name == BANDIT.name else heed.load(name))
    config = trained.model.config
    lengths = [1, config.pulls // 2, config.pulls]
    cases = [
        [[(seed * t + seed) % config.arms, (seed * t) % 3 % 2] for t in range(lengths[seed % 3])]
        for seed in range(20)
    ]
    found = in_page(
        bench,
        """const { model } = await import(at("players.js"));
        const network = await model(given.name);
        const told = [];
        for (const pulls of given.cases) {
            const choose = (t) => ({ arm: pulls[t][0], reward: pulls[t][1] });
            told.push(await network.play(pulls.length, choose));
        }
        return told;""",
        {"name": name, "cases": cases},
    )
    for case, each in zip(cases, found, strict=True):
        done, paid = torch.tensor(case).T
        with torch.inference_mode():
            wanted = trained.model(done[None], paid[None])
        p = wanted.logits[0].softmax(dim=-1)
        np.testing.assert_allclose(each["probabilities"], p, atol=CLOSE, rtol=0)
        np.testing.assert_allclose(each["values"], wanted.values[0], atol=CLOSE, rtol=0)
        assert len(each["looks"]) == len(wanted.weights)
        for rows, weights in zip(each["looks"], wanted.weights.values(), strict=True):
            for t, row in enumerate(rows):
                np.testing.assert_allclose(row, weights[0, t, : t + 1], atol=CLOSE, rtol=0)


@browser
@pytest.mark.parametrize("settings", [{}, {"seed": 12}, {"seed": 3, "likeliest": True}], ids=str)
def test_the_page_answers_what_the_kernel_answers(
    bench: Page, models: None, player: TrainedPlayer, settings: dict[str, Any]
):
    made = BanditLab(as_exported(player), **settings)
    facts = {name: getattr(made, name) for name in (*made.settings, *made.facts, "models")}
    found = in_page(
        bench,
        """const engine = await import(at("answers/bandit.js"));
        const get = (name) => given[name];
        const models = await Promise.all(engine.models(get).map(engine.model));
        return engine.answer(get, models);""",
        facts,
    )
    wanted = {key: made.answer[key] for key in made.answer if key not in ("asked", "count")}
    assert found.pop("p") == pytest.approx(wanted.pop("p"), abs=1e-6)
    given, own = found.pop("looks"), wanted.pop("looks")
    given["p"], own["p"] = found.pop("probabilities"), wanted.pop("probabilities")
    assert given.keys() == own.keys()
    for name, content in own.items():  # a byte may be rounded the other way
        np.testing.assert_allclose(unpacked(given[name]), unpacked(content), atol=1.01 / 255)
    assert found == wanted
    made.close()


# ---------------------------------------------------------------------------- the view


class OnPage:
    """The lab, once its model is at work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("heed-lab")
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)
        self.arms = self.root.locator(".heed-bandit-arm")

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)
        expect(self.root.locator(".heed-sheet")).to_have_attribute("aria-busy", "false")

    def button(self, name: str) -> Any:
        return self.root.get_by_role("button", name=name)

    def shows(self, lab: BanditLab) -> None:
        """What the kernel would, after the reader's pulls."""
        answer, done = lab.answer, len(lab.pulls)
        yours = [answer["pays"][t][arm] == "1" for t, arm in enumerate(lab.pulls)]
        scores = [sum(yours)]
        for name in ("snail", "gittins", "greedy"):
            scores.append(answer["players"][name]["paid"][:done].count("1"))
        expect(self.root.locator(".heed-bandit-board b")).to_have_text([str(n) for n in scores])
        for arm in range(5):
            own = [paid for pull, paid in zip(lab.pulls, yours, strict=True) if pull == arm]
            expect(self.arms.nth(arm)).to_contain_text(f"you: {sum(own)} of {len(own)}")
            snail = answer["players"]["snail"]
            its = [
                paid
                for pull, paid in zip(snail["arms"][:done], snail["paid"], strict=False)
                if pull == str(arm)
            ]
            expect(self.arms.nth(arm)).to_contain_text(f"SNAIL: {its.count('1')} of {len(its)}")
        at = lab.at if 0 < lab.at <= done else min(done + 1, PULLS)
        p = unpacked(answer["probabilities"]).reshape(PULLS, 5)[at - 1]
        shown = self.root.locator(".heed-bandit-next").all_inner_texts()
        np.testing.assert_allclose([float(each) for each in shown], p, atol=0.0051)
        strips = self.root.locator(".heed-bandit-strip")
        for strip, paid in zip(strips.all(), scores[:2], strict=True):
            expect(strip.locator(".marks rect")).to_have_count(done)
            expect(strip.locator(".marks .paid")).to_have_count(paid)


@pytest.fixture
def opened(models: None, quiet: Page, sheet: Callable[[str], str], lab: BanditLab) -> OnPage:
    quiet.set_viewport_size({"width": 1000, "height": 1300})
    quiet.goto(sheet(lab.html()))
    return OnPage(quiet)


@browser
def test_who_pulls_is_paid_and_the_others_pull_beside(opened: OnPage, lab: BanditLab):
    opened.shows(lab)
    before = opened.root.get_attribute("data-count")
    opened.button("Arm 3").click()
    opened.button("Arm 3").click()
    opened.page.keyboard.press("5")
    expect(opened.button("Arm 5")).to_be_focused()
    opened.page.keyboard.press("ArrowLeft")
    opened.page.keyboard.press("Enter")
    lab.pulls = [2, 2, 4, 3]
    opened.shows(lab)
    paid = lab.answer["pays"][3][3] == "1"
    said = f"Pull 4 of {PULLS}: arm 4 paid{'' if paid else ' nothing'}."
    expect(opened.root.locator(".heed-verdict")).to_have_text(said)
    expect(opened.root.locator(".heed-bandit-arm").first).to_contain_text("pays ?")
    assert opened.root.get_attribute("data-count") == before  # nobody was asked
    opened.button("Begin again").click()
    lab.pulls = []
    opened.shows(lab)


@browser
def test_at_the_end_the_chances_are_shown(opened: OnPage, lab: BanditLab):
    opened.button("Arm 1").click()
    opened.button("Pull as SNAIL does, to the end").click()
    lab.pulls = [0, *(int(arm) for arm in lab.answer["players"]["snail"]["arms"][1:])]
    opened.shows(lab)
    for arm, p in enumerate(lab.answer["p"]):
        expect(opened.arms.nth(arm)).to_contain_text(f"pays {p:.2f}")
        expect(opened.button(f"Arm {arm + 1}")).to_be_disabled()
    best = int(np.argmax(lab.answer["p"]))
    expect(opened.arms.nth(best)).to_have_class(re.compile("heed-bandit-best"))
    expect(opened.root.locator(".heed-verdict")).to_contain_text(f"Arm {best + 1} pays most often")
    opened.button("Back to the start").click()
    lab.pulls = []
    opened.shows(lab)
    opened.button("Arm 2").click()
    opened.button("The same arm, 10 times more").click()
    lab.pulls = [1] * 11
    opened.shows(lab)


@browser
def test_another_bandit_and_another_way_to_play(opened: OnPage, lab: BanditLab):
    opened.button("Arm 2").click()
    opened.after(opened.button("Another bandit").click)
    lab.seed = 1
    opened.shows(lab)
    opened.after(lambda: opened.root.get_by_label("its likeliest arm").check(force=True))
    lab.likeliest = True
    opened.shows(lab)
    opened.after(opened.button("Back to the start").click)
    lab.set_state({"seed": 0, "likeliest": False})
    opened.shows(lab)


@browser
def test_each_pull_of_the_policy_can_be_looked_at(opened: OnPage, lab: BanditLab):
    for _ in range(6):
        opened.button("Arm 2").click()
    lab.pulls = [1] * 6
    when = opened.root.get_by_role("slider", name="Pull of SNAIL")
    expect(when).to_have_attribute("aria-valuetext", "7, the next")
    when.focus()
    opened.page.keyboard.press("Home")
    for _ in range(3):
        opened.page.keyboard.press("ArrowRight")
    lab.at = 4
    opened.shows(lab)
    says = opened.root.locator(".heed-says")
    expect(says).to_contain_text("Before pull 4 SNAIL would pull arm")
    expect(says).to_contain_text("attention 2 looks most at")
    opened.root.locator(".heed-numbers summary").click()
    rows = opened.root.locator(".heed-numbers tbody tr")
    expect(rows).to_have_count(4)
    for column, block in enumerate(lab.trace.weights):
        shown = rows.locator(f"td:nth-child({4 + column})").all_inner_texts()
        np.testing.assert_allclose([float(w) for w in shown], block[3, :4], atol=0.0075)
    shades = opened.root.locator(".heed-bandit-strip .looks").nth(1)
    before = shades.inner_html()
    opened.root.get_by_label("attention 1", exact=True).check(force=True)
    assert shades.inner_html() != before
    expect(says).to_contain_text("attention 1 looks")


@browser
def test_fingers_pull(models: None, browser: Any, sheet: Any, lab: BanditLab):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(sheet(lab.html()))
    opened = OnPage(page)
    opened.button("Arm 4").tap()
    lab.pulls = [3]
    opened.shows(lab)
    context.close()


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_screen_reader(opened: OnPage, theme: str):
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    opened.button("Arm 4").click()
    opened.root.locator(".heed-numbers summary").click()
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


@browser
def test_a_model_that_was_changed_leaves_only_the_picture(
    quiet: Page, sheet: Callable[[str], str], lab: BanditLab
):
    with torch.no_grad():
        lab.player.model.output.pi.weight.mul_(-1)
    lab.pulls = [0, 1, 2]
    lab.refresh()
    quiet.goto(sheet(lab.html()))
    root = quiet.locator("heed-lab")
    expect(root).to_contain_text("This model was changed in the notebook", timeout=PATIENCE)
    for name in ("Another bandit", "Begin again", "Back to the start"):
        expect(root.get_by_role("button", name=name)).to_be_hidden()
    expect(root.get_by_role("button", name="Arm 1")).to_be_disabled()
    when = root.get_by_role("slider", name="Pull of SNAIL")
    when.focus()
    quiet.keyboard.press("Home")  # what was computed is there to be looked at
    expect(when).to_have_attribute("aria-valuetext", "1")


@browser
def test_a_kernel_that_fails_at_a_change_is_told(bench: Page, lab: BanditLab):
    Mounted(bench, lab.html()).fails(seed=4)
