"""Tell a story word by word: what comes back through one vector, and what with attention."""

from typing import Any, ClassVar

import torch
import traitlets

from heed.data.batches import encode_source
from heed.evaluation.decoding import Hypothesis, _answering, device_of, greedy
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import END, Lab, Reading, in_place_of, read, resolve, shipped, spoken
from heed.models.seq2seq import Seq2Seq
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

    text = traitlets.Unicode("").tag(sync=True)
    story = traitlets.List(traitlets.Unicode()).tag(sync=True)
    gold = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)
    backward = traitlets.Bool().tag(sync=True)

    def __init__(self, fixed: Trained | str, attended: Trained | str, **settings: Any) -> None:
        self._fixed = _one_vector(resolve(fixed, "BottleneckLab"))
        self._attended = resolve(attended, "BottleneckLab")
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
        self._tell()

    def _tell(self) -> None:
        self.backward = bool(self._fixed.model.config.reverse_source)
        self.models = shipped(self._fixed, self._attended)

    @property
    def fixed(self) -> Trained:
        """The one with the vector; assign another one, a name, or a model that knows the words."""
        return self._fixed

    @fixed.setter
    def fixed(self, fixed: Any) -> None:
        if isinstance(fixed, torch.nn.Module):
            fixed = in_place_of(self._fixed, fixed)
        self._fixed = _one_vector(resolve(fixed, "BottleneckLab"))
        self.refresh()
        self._tell()

    @property
    def attended(self) -> Trained:
        """The one with attention; assign likewise."""
        return self._attended

    @attended.setter
    def attended(self, attended: Any) -> None:
        if isinstance(attended, torch.nn.Module):
            attended = in_place_of(self._attended, attended)
        self._attended = resolve(attended, "BottleneckLab")
        self.refresh()
        self._tell()

    def watched(self) -> tuple[Any, ...]:
        return self._fixed.model, self._attended.model

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        reading = read(self.text, self._fixed.source_vocab, self._attended.source_vocab)
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
        (said, state), (told, _) = (
            _translated(trained, reading) for trained in (self._fixed, self._attended)
        )
        if told.weights is None:
            name = type(self._attended.model).__name__
            raise TypeError(f"BottleneckLab compares with attention, and a {name} has none")
        through = spoken(said, self._fixed.target_vocab)
        target = spoken(told, self._attended.target_vocab)
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
            "state": _as_rows(state),
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


def _one_vector(trained: Trained) -> Trained:
    if not isinstance(trained.model, Seq2Seq):
        raise TypeError(
            f"BottleneckLab shows the vector of a Seq2Seq, "
            f"and {trained.card.experiment} is a {type(trained.model).__name__}"
        )
    return trained


def _translated(trained: Trained, reading: Reading) -> tuple[Hypothesis, Any]:
    """What the model writes, and what it keeps of the source."""
    source, lengths = encode_source([reading.words], trained.source_vocab)
    device = device_of(trained.model)
    source, lengths = source.to(device), lengths.to(device)
    with _answering(trained.model):
        encoded = trained.model.encode(source, lengths)
    return greedy(trained.model, source, lengths)[0], encoded


def _as_rows(thought: Any) -> dict[str, list[Any]]:
    """h and c of each layer, named."""
    names, values = [], []
    for letter in ("h", "c"):
        for layer, row in enumerate(getattr(thought, letter)[0].float().tolist(), start=1):
            names.append(f"{letter}, layer {layer}")
            values.append(row)
    return {"names": names, "values": values}
