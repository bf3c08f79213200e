"""One sentence, several translators: switch between them and see the French and the map change."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from heed.evaluation.decoding import greedy, source_of
from heed.evaluation.metrics import entropy
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import Lab, read, resolve, spoken
from heed.trace import AttentionTrace


class RivalsLab(Lab):
    """Trained translators that a reader changes between, each searching greedily.

    trained: by the name that the reader sees, a model as ``heed.load`` gives it, or the name of a
        shipped one
    notes: a short line about some of them, by the same names
    text: an English sentence
    choice: which of the models answers, by its place
    """

    kind = "rivals"
    settings: ClassVar[tuple[str, ...]] = ("text", "choice")
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("choices",)

    text = traitlets.Unicode("She will admire Louis.").tag(sync=True)
    choice = traitlets.Int(0, min=0).tag(sync=True)
    choices = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(
        self,
        trained: Mapping[str, Trained | str],
        notes: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        if len(trained) < 2:
            raise ValueError(f"there is nothing to switch between with {len(trained)} model")
        strange = next((name for name in notes or {} if name not in trained), None)
        if strange is not None:
            raise ValueError(f"a note on {strange!r}, but the models are {', '.join(trained)}")
        if "choices" in settings:
            raise TypeError("the choices of a RivalsLab are made from its models")
        self._trained = [resolve(each, type(self).__name__) for each in trained.values()]
        choices = [{"label": name, "note": (notes or {}).get(name, "")} for name in trained]
        super().__init__(choices=choices, **settings)

    @traitlets.validate("choice")
    def _choice(self, proposal: Mapping[str, Any]) -> int:
        choice = proposal["value"]
        if choice >= len(self._trained):
            raise traitlets.TraitError(f"choice={choice}, but there are {len(self._trained)}")
        return choice

    def asked(self) -> tuple[Trained, ...]:
        return tuple(self._trained)

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
