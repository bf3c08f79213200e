"""Tell a story word by word: what comes back through one vector, and what with attention."""

from typing import Any, ClassVar

import traitlets

from heed.evaluation.decoding import answering, greedy, source_of
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import END, Asked, Lab, read, spoken
from heed.models.seq2seq import Seq2Seq, Thought
from heed.trace import AttentionTrace
from heed.viz.bottleneck import common


class BottleneckLab(Lab):
    """One vector beside attention, both searching greedily.

    fixed: a trained ``Seq2Seq``, or the name of a shipped one
    attended: a trained model with attention, or a name
    story: clauses in English, through which the view lengthens the text word by word
    gold: the French of each clause as words; may be empty
    examples: other texts to try
    text: what both translate; the whole story if it is not given
    """

    kind = "bottleneck"
    settings: ClassVar[tuple[str, ...]] = ("text",)
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("story", "gold", "examples", "backward")

    fixed: Asked = Asked(Seq2Seq, "shows the vector of")
    attended: Asked = Asked()

    text = traitlets.Unicode("").tag(sync=True)
    story = traitlets.List(traitlets.Unicode()).tag(sync=True)
    gold = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)
    backward = traitlets.Bool().tag(sync=True)

    def __init__(self, fixed: Trained | str, attended: Trained | str, **settings: Any) -> None:
        self.fixed, self.attended = fixed, attended
        if "backward" in settings:
            raise TypeError("backward is the model's own: set reverse_source in its config")
        story = settings.get("story", ())
        if isinstance(story, str):
            raise TypeError(f"story={story!r} is one text: give a list of clauses")
        settings["story"] = list(story)
        settings["gold"] = [
            words.split() if isinstance(words, str) else list(words)
            for words in settings.get("gold", ())
        ]
        settings.setdefault("text", " ".join(story))
        super().__init__(**settings)
        self.recount()

    def recount(self) -> None:
        self.backward = bool(self.fixed.model.config.reverse_source)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        reading = read(self.text, self.fixed.source_vocab, self.attended.source_vocab)
        answer = reading.told()
        if not reading.words:
            nothing = {"target": [], "finished": True, "kept": []}
            answer |= {
                "fixed": nothing,
                "attended": {**nothing, "weights": []},
                "lost": [],
                "state": {"names": [], "values": []},
            }
            return answer, None
        source = source_of(self.fixed.model, [reading.words], self.fixed.source_vocab)
        with answering(self.fixed.model):
            vector = self.fixed.model.encode(*source)
        said = greedy(self.fixed.model, *source, encoded=vector)[0]
        source = source_of(self.attended.model, [reading.words], self.attended.source_vocab)
        told = greedy(self.attended.model, *source)[0]
        if told.weights is None:
            name = type(self.attended.model).__name__
            raise TypeError(f"BottleneckLab compares with attention, and a {name} has none")
        through = spoken(said, self.fixed.target_vocab)
        target = spoken(told, self.attended.target_vocab)
        pairs = common(through, target)
        kept_here, kept_there = ({pair[side] for pair in pairs} for side in (0, 1))
        lost: dict[int, bool] = {}
        for i, most in enumerate(told.weights.argmax(axis=1).tolist()):
            lost[most] = lost.get(most, True) and i not in kept_there
        answer |= {
            "fixed": {
                "target": through,
                "finished": said.finished,
                "kept": [i in kept_here for i in range(len(through))],
            },
            "attended": {
                "target": target,
                "finished": told.finished,
                "kept": [i in kept_there for i in range(len(target))],
                "weights": told.weights.tolist(),
            },
            "lost": [lost.get(j, False) for j in range(len(reading.source))],
            "state": _as_rows(vector),
        }
        trace = AttentionTrace.of("cross", told.weights, query=target, key=reading.source)
        return answer, trace

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        lost = {j for j, gone in enumerate(answer["lost"]) if gone}
        made_up = {i for i, kept in enumerate(answer["fixed"]["kept"]) if not kept}
        return drawing.sheet(
            drawing.line(say("bottleneck.english"), _bare(answer["source"]), lost, "s"),
            drawing.line(say("bottleneck.fixed"), _bare(answer["fixed"]["target"]), made_up, "em"),
            drawing.line(say("bottleneck.attended"), _bare(answer["attended"]["target"])),
            drawing.attention_map(
                say,
                label=say("bottleneck.attended"),
                query=answer["attended"]["target"],
                key=answer["source"],
                weights=answer["attended"]["weights"],
            ),
        )


def _bare(words: list[str]) -> list[str]:
    return [word for word in words if word != END]


def _as_rows(vector: Thought) -> dict[str, list[Any]]:
    """h and c of each layer, named."""
    names, values = [], []
    for letter in ("h", "c"):
        for layer, row in enumerate(getattr(vector, letter)[0].float().tolist(), start=1):
            names.append(f"{letter}, layer {layer}")
            values.append(row)
    return {"names": names, "values": values}
