"""Pick a verb, and see which words are expected after it: does *eating* ask for food?"""

from html import escape
from typing import Any, ClassVar

import torch
import traitlets

from heed.data.vocabulary import BOS, PAD
from heed.evaluation.decoding import answering, device_of
from heed.evaluation.expecting import COLOURS, FOODS, FORMS
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import Asked, Lab
from heed.models.lstmn import LSTMLanguageModel, LSTMNLanguageModel
from heed.trace import AttentionTrace

VERBS = tuple(FORMS)
TAILS = ("", "the", "a", "a green", "a red", "a white", "a new", "an old")
GUESSES = 8
NULL = "∅"


class EatingLab(Lab):
    """Two sentences that differ in their verb, and what a language model expects next.

    trained: as ``heed.load`` gives it, or the name of a shipped model of everyday English
    verb, other: the two verbs, by their names in ``FORMS``; tail: the words behind the verb

    The answer has, for each of the two ``sides``, the ``words``, the likeliest ``next`` ones, the
    probability of all ``food`` words and of all ``colour`` words, and the ``weights`` with which
    the last word looked at the null slot and at the words before it.
    """

    kind = "eating"
    settings: ClassVar[tuple[str, ...]] = ("verb", "other", "tail")
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("choices",)

    trained: Asked = Asked((LSTMNLanguageModel, LSTMLanguageModel), "asks")

    verb = traitlets.Enum(VERBS, "eat").tag(sync=True)
    other = traitlets.Enum(VERBS, "see").tag(sync=True)
    tail = traitlets.Enum(TAILS, "a").tag(sync=True)
    choices = traitlets.Dict().tag(sync=True)

    def __init__(self, trained: Trained | str, **settings: Any) -> None:
        if "choices" in settings:
            raise TypeError("the choices of an EatingLab are the same for everybody")
        self.trained = trained
        choices = {
            "verbs": {verb: ing for verb, (ing, _, _) in FORMS.items()},
            "tails": list(TAILS),
            "foods": list(FOODS),
            "colours": list(COLOURS),
        }
        super().__init__(choices=choices, **settings)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        sides = [self._side(verb) for verb in (self.verb, self.other)]
        words, weights = sides[0]["words"], sides[0]["weights"]
        trace = None
        if weights:
            key = (NULL, "<s>", *words[:-1])
            shown = torch.tensor([weights])
            trace = AttentionTrace.of("self", shown, query=words[-1:], key=key, heads=("self",))
        return {"sides": sides}, trace

    def _side(self, verb: str) -> dict[str, Any]:
        vocabulary = self.trained.vocabulary
        words = f"she is {FORMS[verb][0]} {self.tail}".split()
        model = self.trained.model
        tokens = torch.tensor([[BOS, *vocabulary.encode(words)]], device=device_of(model))
        with answering(model):
            out = model(tokens)
            p = out.logits[0, -1].float().softmax(dim=-1).cpu()
        p = p.clone()  # no longer a tensor of inference mode
        weights = [] if out.weights is None else out.weights[0, -1].float().tolist()
        shares = {
            name: float(p[vocabulary.encode([word for word in group if word in vocabulary])].sum())
            for name, group in (("food", FOODS), ("colour", COLOURS))
        }
        p[[PAD, BOS]] = -1.0  # neither is ever a next word
        likely, which = p.topk(min(GUESSES, len(p) - 2))
        guesses = zip(vocabulary.decode(which.tolist()), likely.tolist(), strict=True)
        return {
            "words": words,
            "next": [list(guess) for guess in guesses],
            **shares,
            "weights": weights,
        }

    def drawn(self) -> str:
        say = drawing.sayer(self.strings)
        tables = []
        for side in self.answer["sides"]:
            rows = (
                drawing.tag(
                    "tr",
                    drawing.tag("th", escape(word), scope="row"),
                    drawing.tag("td", f"{p:.3f}"),
                )
                for word, p in side["next"]
            )
            said = f"{' '.join(side['words'])} …"
            shares = {name: f"{side[name]:.3f}" for name in ("food", "colour")}
            tables.append(
                drawing.tag(
                    "div",
                    drawing.tag(
                        "table",
                        drawing.tag("caption", escape(said)),
                        drawing.tag("tbody", *rows),
                        class_="heed-eating-table",
                    ),
                    drawing.tag("p", escape(say("eating.shares", **shares))),
                )
            )
        return drawing.sheet(drawing.tag("div", *tables, class_="heed-eating-two"), kind="eating")
