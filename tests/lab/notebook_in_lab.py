"""A notebook opened in JupyterLab by a reader who presses Run All and then tries every control."""

import json
import re
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, FloatRect, Locator, Page
from reader import PATIENCE, ROOT, Log

CELLS = (
    """
import torch
torch.manual_seed(0)  # the untrained models below are the same on every run
from heed.labs import AlignmentLab
lab = AlignmentLab("bahdanau_everyday", text="I met Leibniz at the station yesterday.")
lab
""",
    """
from heed.labs import BottleneckLab
BottleneckLab(
    "seq2seq_grammar",
    "bahdanau_grammar",
    story=["the minister signed the agreement", "because the farmers were tired ."],
    examples=["she will admire louis ."],
)
""",
    """
from heed.data.grammar import Grammar, classic
from heed.labs import PredictLab
PredictLab("bahdanau_grammar", [classic(), Grammar(1).pair(4, 8)])
""",
    """
from heed.labs import LearningLab
LearningLab("bahdanau_grammar", [classic()])
""",
    """
from heed.labs import PlaneLab
PlaneLab()
""",
    """
from heed.labs import MaskLab
MaskLab()
""",
    """
from heed.labs import LookingLab
LookingLab()
""",
    """
from heed.labs import EatingLab
EatingLab("lstmn_english")
""",
    """
from heed.labs import RivalsLab
RivalsLab({"attention": "bahdanau_grammar", "one vector": "seq2seq_grammar"})
""",
    """
from heed.labs import YearsLab
YearsLab({"one vector": "seq2seq_grammar", "additive": "bahdanau_grammar"}, shown=[1])
""",
    """
from heed.labs import WindowLab
WindowLab(
    {
        "local-p": "luong_local_p_reverse",
        "local-m": "luong_local_m_reverse",
        "global": "luong_global_reverse",
    },
    text="a b c d e f g h",
    row=2,
)
""",
    """
from pathlib import Path
import heed
from heed.experiments.translation import TrainedTranslator
from heed.labs import HeadsLab
from heed.models.transformer import Transformer, TransformerConfig
known = heed.load("bahdanau_grammar")
sizes = {"source_vocab": len(known.source_vocab), "target_vocab": len(known.target_vocab)}
def heady(heads):
    config = TransformerConfig(
        **sizes, d_model=24, d_inner=32, heads=heads, encoder_layers=2, decoder_layers=2
    )
    model = Transformer(config).eval()
    for name, parameter in model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(parameter, std=0.4)
    return TrainedTranslator(
        model=model,
        card=known.card,
        folder=Path(),
        source_vocab=known.source_vocab,
        target_vocab=known.target_vocab,
    )
HeadsLab({"three": heady(3), "four": heady(4)}, text="the cat was sleeping .")
""",
    """
from pathlib import Path
import heed
from heed.data.prose import ProseData
from heed.experiments.language import TrainedReader
from heed.labs import ReadingLab
from heed.models.lstmn import (
    LSTMLanguageConfig, LSTMLanguageModel, LSTMNLanguageConfig, LSTMNLanguageModel
)
words = ProseData(words=300).load().vocabulary
def untrained(model):
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    card = heed.load("lstmn_recall").card
    return TrainedReader(model=model.eval(), card=card, folder=Path(), vocabulary=words)
sizes = {"vocab": len(words), "d_embedding": 16, "d_state": 12}
ReadingLab(
    untrained(LSTMNLanguageModel(LSTMNLanguageConfig(**sizes, d_align=8))),
    untrained(LSTMLanguageModel(LSTMLanguageConfig(**sizes))),
)
""",
    """
from heed.data.captions import pieces
from heed.experiments.captioning import TrainedCaptioner
from heed.labs import PictureLab
from heed.models.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
said = pieces("en").vocabulary
def captioner(attention):
    config = ShowAttendTellConfig(
        vocab=len(said), channels=(8, 12, 16), d_state=24, attention=attention
    )
    model = ShowAttendTell(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    card = heed.load("lstmn_recall").card
    return TrainedCaptioner(
        model=model, card=card, folder=Path(), vocabulary=said, language="en"
    )
PictureLab({"soft": captioner("soft"), "hard": captioner("hard")})
""",
    """
from heed.experiments.twins import TrainedPainter
from heed.labs import TwinsLab
from heed.models.sagan import SAGAN, SAGANConfig
def painter(attention):
    config = SAGANConfig(
        d_z=6, generator=(16, 12, 8), form="first", generator_attention=attention
    )
    model = SAGAN(config).eval()
    for parameter in model.mean.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    card = heed.load("lstmn_recall").card
    return TrainedPainter(model=model, card=card, folder=Path())
TwinsLab({"SAGAN": painter(16), "DCGAN": painter(0)})
""",
    """
from heed.experiments.tapes import TrainedMachine
from heed.labs import TapeLab
from heed.models.ntm import NTM, NTMConfig
machine = NTM(NTMConfig(d_input=5, d_output=4, d_controller=12, slots=16, d_slot=6)).eval()
for parameter in machine.parameters():
    torch.nn.init.normal_(parameter, std=0.6)
TapeLab(
    TrainedMachine(model=machine, card=heed.load("lstmn_recall").card, folder=Path()), length=6
)
""",
    """
from heed.experiments.pointing import TrainedPointer
from heed.labs import PointerLab
from heed.models.pointer import PointerConfig, PointerNetwork
def pointer(**options):
    model = PointerNetwork(PointerConfig(d_hidden=16, **options)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return TrainedPointer(model=model, card=heed.load("lstmn_recall").card, folder=Path())
PointerLab(
    {"a tour": pointer(rule="each_once"), "the hull": pointer(), "in order": pointer(d_input=1)}
)
""",
    """
from heed.experiments.bandits import TrainedPlayer
from heed.experiments.episodes import TrainedLearner
from heed.labs import BanditLab, EpisodeLab
from heed.models.snail import SNAIL, SNAILConfig, SNAILPolicy, SNAILPolicyConfig
torch.manual_seed(0)  # some draws give a net that says the same of everything
def snail(kind, model):
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return kind(model=model.eval(), card=heed.load("lstmn_recall").card, folder=Path())
EpisodeLab(snail(TrainedLearner, SNAIL(SNAILConfig(channels=4, filters=4))), shots=2)
""",
    """
BanditLab(snail(TrainedPlayer, SNAILPolicy(SNAILPolicyConfig(pulls=20, filters=4))))
""",
)


def chapters_with_labs() -> list[Path]:
    """The chapters that have labs in them."""
    return [
        path
        for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
        if any(
            cell.cell_type == "code" and "heed.labs" in cell.source
            for cell in nbformat.read(path, as_version=4).cells
        )
    ]


# What is not about our labs: how long a busy machine took over JupyterLab's own plugins and over
# scrolling to the end; and that jupyterlab-myst, which sees one notebook and not the book, finds no
# target in another file.
NOT_OURS = re.compile(
    r"warning: Plugin \S+ .*\bactivate\.|warning: Item with index \d+ did not appear within"
    r"|(error|warning): Cross reference target was not found: "
)

SETTLE = 20_000  # milliseconds until what a control should change has changed

# What a lab draws, without what its controls show of themselves and what follows the pointer.
DRAWING = """
(root) => {
  const texts = (selector) =>
    [...root.querySelectorAll(selector)].filter((each) => each.checkVisibility())
      .map((each) => each.innerText);
  const cells = [...root.querySelectorAll(".heed-map td[data-row]")];
  return JSON.stringify([
    cells.map((cell) => [cell.dataset.weight, cell.className]),
    texts(".heed-map th"),
    texts(".heed-score, .heed-alone, .heed-lines, .heed-count, .heed-verdict, .heed-left"),
    texts(".heed-guesses, .heed-came, .heed-whole, .heed-eating-two"),
    texts(".heed-plane-table, .heed-plane-facts, .heed-plane-gradient, .heed-meter"),
    [...root.querySelectorAll(".heed-vector")].map((each) => each.getAttribute("aria-label")),
    [...root.querySelectorAll(".heed-window-picture path")].map((each) => each.getAttribute("d")),
    [...root.querySelectorAll(".heed-thumbnail canvas")].map((each) => each.toDataURL()),
    [...root.querySelectorAll(".heed-head, .heed-heads .heed-token")]
      .map((each) => [each.className, each.innerText]),
    texts(".heed-heads-name, .heed-heads-alone"),
    texts(".heed-years-french, .heed-years > .heed-says"),
    [...root.querySelectorAll(".heed-years-plot path")].map((each) => each.getAttribute("d")),
    [...root.querySelectorAll(".heed-heads .heed-selected")].map((each) => each.rowIndex),
    [...root.querySelectorAll(".heed-scene-animal, .heed-scene-fog i")]
      .map((each) => [each.className, each.style.cssText]),
    [...root.querySelectorAll(".heed-scene-paint, :is(.heed-twins, .heed-tape) canvas")]
      .filter((each) => each.checkVisibility()).map((each) => each.toDataURL()),
    [...root.querySelectorAll(".heed-looking canvas")].filter((each) => each.checkVisibility())
      .map((each) => each.toDataURL()),
    [...root.querySelectorAll(".heed-twins-point")].map((each) => each.style.cssText),
    texts(".heed-picture .heed-words, .heed-picture-remarks, .heed-picture .heed-numbers td"),
    [...root.querySelectorAll(".heed-pointer-picture :is(path, .weight)")]
      .map((each) => [each.getAttribute("d"), each.getAttribute("r")]),
    [...root.querySelectorAll(".heed-pointer-picture .point")]
      .map((each) => each.getAttribute("transform")),
    [...root.querySelectorAll(".heed-episode-cell")]
      .map((each) => [each.className, each.innerText]),
    [...root.querySelectorAll(".heed-episode-cell canvas")].map((each) => each.toDataURL()),
    texts(".heed-episode-label, .heed-episode-score, .heed-bandit-arm, .heed-bandit-board"),
    [...root.querySelectorAll(".heed-bandit-strip :is(rect, path)")].map((each) => each.outerHTML),
    [...root.querySelectorAll(".heed-tape-grid td")]
      .map((each) => [each.className, each.textContent]),
  ]);
}
"""


@dataclass(frozen=True)
class Jupyter:
    """The address of a running server."""

    address: str

    def _ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}/api/{path}", timeout=30) as answer:
            return json.load(answer)

    def kernel_of(self, name: str) -> dict[str, Any] | None:
        """The kernel of a notebook; the page says idle even before there is one."""
        for session in self._ask("sessions"):
            if session["path"] == name:
                return session["kernel"]
        return None

    def shut(self, name: str) -> None:
        """End the kernel of a notebook, so that the next one has the memory."""
        for session in self._ask("sessions"):
            if session["path"] == name:
                gone = urllib.request.Request(
                    f"{self.address}/api/sessions/{session['id']}", method="DELETE"
                )
                urllib.request.urlopen(gone, timeout=30).close()


class Opened:
    """A notebook in a page of its own."""

    def __init__(self, browser: Browser, jupyter: Jupyter, name: str) -> None:
        self.jupyter, self.name = jupyter, name
        self.context = browser.new_context(viewport={"width": 1400, "height": 1000})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.log = Log(jupyter.address)
        self.log.watch(self.page)
        self.page.goto(f"{jupyter.address}/lab/tree/{name}?reset")
        self.page.locator(".jp-NotebookPanel .jp-Notebook").wait_for()
        self.until(lambda: (jupyter.kernel_of(name) or {}).get("execution_state") == "idle")

    def until(self, true: Callable[[], bool], patience: int = PATIENCE) -> None:
        """Wait by the page's clock: while Python sleeps, Playwright hears nothing."""
        waited = 0
        while not true():
            assert waited < patience, f"{self.name}: waited in vain"
            self.page.wait_for_timeout(100)
            waited += 100

    def run_all(self) -> None:
        """Run → Run All Cells, and wait for the last number."""
        page = self.page
        page.locator("#jp-MainMenu .lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
        page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
        page.wait_for_function(
            """() => {
              const cells = [...document.querySelectorAll(".jp-Notebook .jp-CodeCell")];
              const number = (cell) => cell.querySelector(".jp-InputPrompt")?.textContent ?? "";
              return cells.length && cells.every((cell) => /\\[\\d+\\]/.test(number(cell)));
            }"""
        )
        self.idle()
        page.set_default_timeout(SETTLE)

    def idle(self) -> None:
        self.until(
            lambda: (self.jupyter.kernel_of(self.name) or {}).get("execution_state") == "idle"
        )

    def run(self, code: str) -> None:
        """Write a new cell at the end and run it."""
        page = self.page
        cells = page.locator(".jp-Notebook .jp-CodeCell")
        page.locator(".jp-Notebook .jp-CodeCell .cm-content").last.click()
        page.keyboard.press("Escape")
        page.keyboard.press("b")
        page.keyboard.press("Enter")
        page.keyboard.insert_text(code)
        page.keyboard.press("Control+Enter")
        prompt = cells.last.locator(".jp-InputPrompt")
        self.until(lambda: bool(re.search(r"\[\d+\]", prompt.inner_text())))
        page.keyboard.press("Escape")
        self.idle()

    def labs(self) -> list[Locator]:
        found = self.page.locator(".jp-OutputArea .heed-lab:has(.heed-sheet)")
        found.first.wait_for()
        return found.all()

    def faults(self) -> list[str]:
        """Errors and warnings in outputs, on the console, and requests to other hosts."""
        outputs = self.page.locator(
            "[data-mime-type='application/vnd.jupyter.error'], "
            "[data-mime-type='application/vnd.jupyter.stderr']"
        )
        said = [text.strip() for text in outputs.all_inner_texts()] + self.log.complaints
        return [text for text in said if not NOT_OURS.match(text)]

    def close(self) -> None:
        self.context.close()
        self.jupyter.shut(self.name)


class Tried:
    """A lab, and whether what is done to it changes what it draws."""

    def __init__(self, notebook: Opened, lab: Locator) -> None:
        self.notebook, self.lab, self.page = notebook, lab, notebook.page
        lab.scroll_into_view_if_needed()
        self.still = self.settle()

    def drawing(self) -> str:
        return self.lab.evaluate(DRAWING)

    def settle(self) -> str:
        """The drawing, once it stays as it is."""
        last, still = self.drawing(), 0
        while still < 4:
            self.page.wait_for_timeout(100)
            now = self.drawing()
            still = still + 1 if now == last else 0
            last = now
        return last

    def changes(self, what: str, act: Callable[[], Any]) -> None:
        """Do it, and see another drawing."""
        before = self.drawing()
        if before != self.still:
            before = self.settle()
        act()
        waited = 0
        while self.drawing() == before:
            assert waited < SETTLE, f"{what}: the drawing did not change"
            self.page.wait_for_timeout(50)
            waited += 50
        self.still = self.settle()

    def resting(self, control: Locator) -> FloatRect:
        """Where a control is, once it stays there: cells that come into sight are drawn only then,
        and push on what is below them."""
        last = None
        for _ in range(SETTLE // 100):
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            if box is not None and box == last:
                return box
            last = box
            self.page.wait_for_timeout(100)
        raise AssertionError("the page does not come to rest")

    def drag(self, slider: Locator, to: float) -> None:
        """Pull the thumb of a slider by the mouse to this share of its way."""
        box = self.resting(slider)
        low, high, now = (
            float(slider.evaluate(f"each => each.{name}")) for name in ("min", "max", "value")
        )
        middle, thumb = box["y"] + box["height"] / 2, 16

        def at(share: float) -> float:
            return box["x"] + thumb / 2 + share * (box["width"] - thumb)

        self.page.mouse.move(at((now - low) / (high - low)), middle)
        self.page.mouse.down()
        self.page.mouse.move(at(to), middle, steps=5)
        self.page.mouse.up()
