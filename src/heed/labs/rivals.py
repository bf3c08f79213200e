"""One sentence, several translators: switch between them and see the French and the map change."""

from typing import Any, ClassVar

import traitlets

from heed.evaluation.decoding import greedy, source_of
from heed.evaluation.metrics import entropy
from heed.labs import drawing
from heed.labs.base import ChoiceLab, read, spoken
from heed.trace import AttentionTrace


class RivalsLab(ChoiceLab):
    """Trained translators that a reader changes between, each searching greedily.

    trained: by the name that the reader sees, a model as ``heed.load`` gives it, or the name of a
        shipped one
    notes: a short line about some of them, by the same names
    text: an English sentence
    choice: which of the models answers, by its place
    """

    kind = "rivals"
    with_several = "switch between"
    settings: ClassVar[tuple[str, ...]] = ("text", "choice")
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("choices",)

    text = traitlets.Unicode("She will admire Louis.").tag(sync=True)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        trained = self._trained[self.choice]
        reading = read(self.text, trained.source_vocab)
        answer = reading.told() | {"target": [], "weights": [], "finished": True, "bits": 0.0}
        if not reading.words:
            return answer, None
        found = greedy(
            trained.model, *source_of(trained.model, [reading.words], trained.source_vocab)
        )[0]
        target = spoken(found, trained.target_vocab)
        answer |= {"target": target, "finished": found.finished}
        if found.weights is None:
            return answer, None
        weights = found.weights.astype(float)
        answer |= {"weights": weights.tolist(), "bits": float(entropy(weights).mean())}
        return answer, AttentionTrace.of("cross", found.weights, query=target, key=reading.source)

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        words = answer["target"]
        label = self.choices[self.choice]["label"]
        parts = [
            drawing.line(say("rivals.english"), answer["source"][:-1]),
            drawing.line(
                say("rivals.french", name=label), words[:-1] if answer["finished"] else words
            ),
        ]
        if answer["weights"]:
            parts.append(
                drawing.attention_map(
                    say,
                    label=say("rivals.map", name=label),
                    query=words,
                    key=answer["source"],
                    weights=answer["weights"],
                )
            )
        return drawing.sheet(*parts)
