"""Numbers on a page of prose that nobody types (a Sphinx extension). Roles:

- ``{heed-number}`bahdanau_grammar:bleu` ``: a metric of a card, with its spread over the seeds.
- ``{heed-line}`03_additive:ours:nats` ``: what a chapter printed, the line that begins with the
  second part and has the third one, if there is one, in it.
- ``{heed-computed}`cosine cap, 20 keys` ``: one of ``COMPUTED``, asked of the package while the
  book is built.
- ``{heed-chapter}`03_additive` ``: a link to the chapter, or that it is still to come.

A name that is not there is an error of the build.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from book_status import TRAINED
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from heed.attention import masked_softmax
from heed.experiments.cards import Card, CardError
from heed.experiments.table import EXPERIMENTS
from heed.layers.local import LocalAttention
from heed.layers.temporal import AttentionBlock, dilations
from heed.models.transformer import Transformer, base
from heed.scores import Cosine, Dot
from heed.training.captions import doubly_stochastic_floor

CHAPTERS = Path(__file__).parents[1] / "chapters"
MINUS = "\N{MINUS SIGN}"


class NoSuchNumber(ValueError):
    """Nothing of that name; the message says what there is."""


# ------------------------------------------------------------------ from a card


def number(name: str, trained: Path = TRAINED) -> str:
    """``experiment:metric`` as mean ± standard deviation, or with a note where one seed is all."""
    experiment, _, metric = name.partition(":")
    if experiment not in EXPERIMENTS:
        raise NoSuchNumber(f"there is no experiment {experiment!r}")
    if not (trained / experiment / "card.json").is_file():
        return "not trained yet"
    try:
        card = Card.read(trained / experiment)
        mean = card.number(metric)
    except CardError as fault:
        raise NoSuchNumber(str(fault)) from None
    found: Any = card.metrics
    for part in metric.split("."):
        found = found[part]
    if len(card.seeds) < 2:
        return f"{rounded(mean, 0)} (one seed)"
    step = found["std"]
    return f"{rounded(mean, step)} ± {rounded(step, step)}"


def rounded(value: float, like: float) -> str:
    """With two digits of ``like``, four places at most: a mean has no more than its spread allows.
    With three digits where there is no spread."""
    if not like:
        return f"{value:.3g}".replace("-", MINUS)
    places = min(4, max(0, 1 - math.floor(math.log10(abs(like)))))
    return f"{value:.{places}f}".replace("-", MINUS)


# ------------------------------------------------------------------ from a chapter


@cache
def printed(chapter: Path) -> tuple[str, ...]:
    """Every line that the cells of a chapter printed, as it is committed."""
    try:
        notebook = json.loads(chapter.read_text("utf-8"))
    except FileNotFoundError:
        raise NoSuchNumber(f"there is no chapter {chapter.stem!r}") from None
    texts = (
        "".join(output["text"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        if output["output_type"] == "stream"
    )
    return tuple(" ".join(line.split()) for text in texts for line in text.splitlines())


def line(name: str, folder: Path = CHAPTERS) -> str:
    """``chapter:beginning:inside``: the rest of the one line that begins so and has that in it."""
    chapter, _, what = name.partition(":")
    beginning, _, inside = what.partition(":")
    rest = [
        each.removeprefix(beginning)
        for each in printed(folder / f"{chapter}.ipynb")
        if each.startswith(beginning)
    ]
    found = [each for each in rest if inside in each]
    if not beginning or len(found) != 1:
        raise NoSuchNumber(
            f"{len(found)} lines of chapter {chapter} are {beginning!r} … {inside!r}"
        )
    return found[0].strip(" :")


# ------------------------------------------------------------------ from the package


def cosine_cap() -> str:
    """The largest weight a cosine can give to one of 20 keys: one alike, the others opposite."""
    keys = torch.tensor([[1.0]] + [[-1.0]] * 19)
    return f"{Cosine()(torch.ones(1, 1), keys).softmax(dim=-1).max():.2f}"


def local_sum(*, renormalise: bool) -> float:
    """What a row of local-p adds up to in the middle of a long sentence, all words alike."""
    look = LocalAttention(Dot(), radius=10, sigma=5, renormalise=renormalise).look(
        torch.zeros(1, 1, 1),
        torch.zeros(1, 61, 1),
        torch.zeros(1, 61, 1),
        places=torch.tensor([[30.0]]),
        keep=torch.ones(1, 1, 61, dtype=torch.bool),
    )
    return float(look.weights.sum())


def lags(kind: Any) -> str:
    """How many steps back the convolutions of a SNAIL of 8 steps can see."""
    seen = {0}
    for dilation in dilations(8, kind):
        seen |= {back + dilation for back in seen}
    return ", ".join(str(back) for back in sorted(seen) if back < 8)


def over_queries() -> str:
    """Row sums of SNAIL's attention with the softmax over the wrong axis, from random numbers."""
    torch.manual_seed(0)
    block = AttentionBlock(d_input=8, d_key=8, d_value=4, over="queries")
    with torch.no_grad():
        sums = block(torch.randn(1, 6, 8)).weights.sum(dim=-1)
    return f"{sums.min():.2f} to {sums.max():.2f}"


def two_softmaxes(keys: int) -> str:
    """Cross-entropy of a perfect answer when its probabilities are put through a softmax again."""
    sure = torch.eye(keys)[0]
    return f"{-sure.log_softmax(dim=0)[0]:.2f}"


def padding_times_zero() -> str:
    """What a padded place gets if its score is multiplied by 0 and not hidden: three words with
    scores −1, three places of padding."""
    weights = (torch.tensor([-1.0] * 3 + [7.0] * 3) * torch.tensor([1.0] * 3 + [0.0] * 3)).softmax(
        0
    )
    return f"{weights[3:].sum():.2f}"


def base_parameters() -> str:
    """Parameters of the Transformer's *base* with 37,000 shared word pieces, in millions."""
    with torch.device("meta"):
        model = Transformer(base(vocab=37_000))
    return f"{sum(each.numel() for each in model.parameters()) / 1e6:.1f} million"


def staring() -> str:
    """The least that the doubly stochastic penalty can be: 14 words, 64 places."""
    return f"{doubly_stochastic_floor(64, 14):.1f}"


def nowhere() -> str:
    """Three ways of hiding every key: PyTorch's softmax over −∞, over −10⁹, and its fused one."""
    hidden, scores = torch.zeros(1, 4, dtype=torch.bool), torch.zeros(1, 4)
    ways = {
        "−∞": scores.masked_fill(~hidden, float("-inf")).softmax(dim=-1),
        "−10⁹": scores.masked_fill(~hidden, -1e9).softmax(dim=-1),
        "PyTorch's fused one": F.scaled_dot_product_attention(
            torch.ones(1, 1), torch.ones(4, 1), torch.eye(4), hidden
        ),
        "ours": masked_softmax(scores, hidden),
    }
    said = {
        name: "no number" if bool(found.isnan().any()) else f"{float(found[0, 0]):.2g} each"
        for name, found in ways.items()
    }
    return ", ".join(f"{name} {value}" for name, value in said.items())


COMPUTED: Mapping[str, Callable[[], str]] = {
    "nowhere to look": nowhere,
    "cosine cap, 20 keys": cosine_cap,
    "local-p, sum of a row": lambda: f"{local_sum(renormalise=False):.2f}",
    "local-p, sum of a row, renormalised": lambda: f"{local_sum(renormalise=True):.2f}",
    "lags from one": lambda: lags("from_one"),
    "lags as printed": lambda: lags("as_printed"),
    "softmax over queries": over_queries,
    "two softmaxes, 10 keys": lambda: two_softmaxes(10),
    "padding times zero": padding_times_zero,
    "parameters of base": base_parameters,
    "doubly stochastic floor": staring,
}


@cache
def computed(name: str) -> str:
    """The value of that name."""
    if name not in COMPUTED:
        raise NoSuchNumber(f"{name!r} is none of {', '.join(COMPUTED)}")
    return COMPUTED[name]()


# ------------------------------------------------------------------ in Sphinx


class Told(SphinxRole):
    """What ``tell`` says to the role's text, as it stands."""

    def __init__(self, tell: Callable[[str], str]) -> None:
        super().__init__()
        self.tell = tell

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            said = self.tell(self.text)
        except NoSuchNumber as fault:
            message = self.inliner.reporter.error(f"{self.name}: {fault}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.inline(self.rawtext, said, classes=["heed-told"])], []


class ToChapter(SphinxRole):
    """A link to a chapter that is in the book; of another one, that it is to come."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [chapter(self.text, self.env)], []


def chapter(name: str, env: BuildEnvironment) -> nodes.Node:
    """ "chapter 3", as a link where the chapter is there."""
    said = f"chapter {int(name[:2])}"
    if f"chapters/{name}" not in env.found_docs:
        return nodes.inline("", f"{said}, to come")
    link = pending_xref(
        "",
        nodes.inline("", said),
        refdomain="std",
        reftype="doc",
        reftarget=f"/chapters/{name}",
        refexplicit=True,
        refdoc=env.docname,
        refwarn=True,
    )
    return link


ROLES: Sequence[tuple[str, Callable[[str], str]]] = (
    ("heed-number", number),
    ("heed-line", line),
    ("heed-computed", computed),
)


def setup(app: Sphinx) -> dict[str, bool]:
    for name, tell in ROLES:
        app.add_role(name, Told(tell))
    app.add_role("heed-chapter", ToChapter())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
