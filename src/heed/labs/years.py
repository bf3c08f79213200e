"""One sentence through the years: several translators side by side, their maps on one scale."""

import zlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import traitlets

from heed.evaluation.decoding import greedy, source_of
from heed.experiments.cards import Card
from heed.experiments.trained import Trained
from heed.experiments.translation import TrainedTranslator
from heed.labs import drawing
from heed.labs.base import ChoiceLab, read, spoken
from heed.trace import AttentionTrace

GRAPHS = ("encoder.onnx", "decoder.onnx")


class YearsLab(ChoiceLab):
    """Trained translators beside each other on one sentence, each searching greedily, and how good
    each is on test sentences of that length.

    trained: by the name that the reader sees, a model as ``heed.load`` gives it, or the name of a
        shipped one
    notes: a short line about some of them, by the same names
    text: an English sentence
    shown: which of the models translate, by their places. A page fetches these and no other; the
        reader asks for more.
    examples: sentences to pick

    The answer has in ``years`` for each model what it wrote (``target``) and where it looked
    (``weights``, none without attention), or None for one that is not shown.
    """

    kind = "years"
    with_several = "compare"
    settings: ClassVar[tuple[str, ...]] = ("text", "shown")
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("choices", "examples")

    text = traitlets.Unicode("She will admire Louis.").tag(sync=True)
    shown = traitlets.List().tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def _checked(self, trained: Trained | str) -> Trained:
        found = super()._checked(trained)
        if not isinstance(found, TrainedTranslator):
            raise TypeError(f"{found.card.experiment} does not translate")
        return found

    def first(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All of them, if nothing else is said."""
        return {"shown": list(range(len(self._trained)))}

    def told_of(self, trained: Trained) -> dict[str, Any]:
        """BLEU by length, as [mean, spread] (None: no such sentence); what a page has to fetch."""
        return {"quality": _quality(trained.card), "megabytes": _megabytes(trained)}

    @traitlets.validate("shown")
    def _shown(self, proposal: Mapping[str, Any]) -> list[int]:
        shown = proposal["value"]
        for place in shown:
            if type(place) is not int or not 0 <= place < len(self._trained):
                most = len(self._trained) - 1
                raise traitlets.TraitError(f"shown: {place!r} is no place from 0 to {most}")
        return sorted(set(shown))

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        asked = {place: self._trained[place] for place in self.shown}
        reading = read(self.text, *(each.source_vocab for each in asked.values()))
        years: list[dict[str, Any] | None] = [None] * len(self._trained)
        answer, trace = reading.told() | {"years": years}, None
        for place, trained in asked.items() if reading.words else ():
            source = source_of(trained.model, [reading.words], trained.source_vocab)
            found = greedy(trained.model, *source)[0]
            target = spoken(found, trained.target_vocab)
            weights = [] if found.weights is None else found.weights.astype(float).tolist()
            years[place] = {"target": target, "weights": weights, "finished": found.finished}
            if found.weights is not None:  # ``trace`` is the last one's
                label = self.choices[place]["label"]
                trace = AttentionTrace.of(label, found.weights, query=target, key=reading.source)
        return answer, trace

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        parts = [drawing.line(say("years.english"), answer["source"][:-1])]
        for choice, said in zip(self.choices, answer["years"], strict=True):
            if said is None:
                continue
            words = said["target"][:-1] if said["finished"] else said["target"]
            parts.append(drawing.line(choice["label"], words))
            if said["weights"]:
                parts.append(
                    drawing.attention_map(
                        say,
                        label=say("years.map", name=choice["label"]),
                        query=said["target"],
                        key=answer["source"],
                        weights=said["weights"],
                    )
                )
        return drawing.sheet(*parts, self._numbers(say), kind="years")

    def _numbers(self, say: drawing.Say) -> str:
        """BLEU by length, as a table."""
        tag = drawing.tag
        buckets = list(dict.fromkeys(b for each in self.choices for b in each["quality"]))
        if not buckets:
            return ""
        rows = [
            tag(
                "tr",
                tag("th", escape(each["label"]), scope="row"),
                *(tag("td", escape(_said(each["quality"].get(b)))) for b in buckets),
            )
            for each in self.choices
        ]
        heads = [tag("th", escape(name), scope="col") for name in (say("years.who"), *buckets)]
        table = tag(
            "table",
            tag("caption", escape(say("years.numbers"))),
            tag("thead", tag("tr", *heads)),
            tag("tbody", *rows),
            class_="heed-years-table",
        )
        return tag("div", table, class_="heed-scroll", tabindex="0")


def _said(result: Sequence[float] | None) -> str:
    return "–" if result is None else f"{result[0]:.1f}" + (f" ± {result[1]:.1f}" * bool(result[1]))


def _quality(card: Card) -> dict[str, list[float] | None]:
    groups = card.metrics.get("bleu_by_length", {})
    return {
        bucket: None if of["mean"] is None else [round(of["mean"], 2), round(of["std"], 2)]
        for bucket, of in groups.items()
    }


def _megabytes(trained: Trained) -> float:
    """Of its graphs, compressed as a page gets them; 0 where there are none."""
    files = [trained.folder / name for name in GRAPHS]
    there = [zlib.compress(each.read_bytes(), 1) for each in files if each.is_file()]
    return round(sum(map(len, there)) / 1e6, 1)
