"""Type an English sentence, see where each French word looks, and force it to look elsewhere."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets
from jaxtyping import Int
from torch import Tensor

from heed.data.vocabulary import SPECIALS, UNK
from heed.evaluation.decoding import Hypothesis, beam, greedy, source_of
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import Asked, Finite, Lab, fingerprint, read, spoken, whole_numbers
from heed.labs.steering import COOLEST, HOTTEST, LOOKS, Steered
from heed.models.bahdanau import Bahdanau
from heed.models.luong import Luong
from heed.models.translator import Translator
from heed.trace import AttentionTrace

WIDEST = 5


class AlignmentLab(Lab):
    """A translator with attention, whose look can be steered.

    trained: as ``heed.load`` gives it, or the name of a shipped model; it must be a ``Bahdanau`` or
        a ``Luong``, whose rows may add up to less than 1.
    Settings, all of which the view can change:

    text: an English sentence
    temperature: divides the scores; 0.1 to 5
    hidden: positions of source words that cannot be looked at
    look: ``"own"``, ``"uniform"``, ``"shuffled"`` or ``"yours"``; see ``Steered``
    only: the step that ``look`` is about, −1 for all
    rows: for ``"yours"``, the source positions that each step looks at: ``{3: [4, 5]}``
    shuffle: which shuffle
    width: of the beam; 1 is greedy search
    copy: whether the most looked-at source word stands in for ``<unk>``
    """

    kind = "alignment"
    settings: ClassVar[tuple[str, ...]] = (
        "text",
        "temperature",
        "hidden",
        "look",
        "only",
        "rows",
        "shuffle",
        "width",
        "copy",
    )
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("examples",)

    trained: Asked = Asked((Bahdanau, Luong), "steers the attention of")

    text = traitlets.Unicode("She will admire Louis.").tag(sync=True)
    temperature = Finite(1.0, min=COOLEST, max=HOTTEST).tag(sync=True)
    hidden = traitlets.List(traitlets.Int()).tag(sync=True)
    look = traitlets.Enum(LOOKS, default_value="own").tag(sync=True)
    only = traitlets.Int(-1, min=-1).tag(sync=True)
    rows = traitlets.Dict().tag(sync=True)
    shuffle = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    width = traitlets.Int(1, min=1, max=WIDEST).tag(sync=True)
    copy = traitlets.Bool(True).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode(), default_value=None, allow_none=True).tag(
        sync=True
    )

    def __init__(self, trained: Trained | str, **settings: Any) -> None:
        self.trained = trained
        self._before: tuple[Any, dict[str, Any]] | None = None
        super().__init__(**settings)

    @traitlets.validate("rows")
    def _rows(self, proposal: Mapping[str, Any]) -> dict[str, list[int]]:
        rows = proposal["value"]
        try:
            return {str(int(step)): whole_numbers(keys) for step, keys in rows.items()}
        except (TypeError, ValueError, OverflowError):
            raise traitlets.TraitError(
                f"rows={rows!r}: give source positions by step, as in {{3: [4, 5]}}"
            ) from None

    def steered(self, keys: int) -> Steered | None:
        """The translator as the settings bend it, for a sentence of ``keys`` positions with its
        end; ``None`` if they leave it as it is."""
        hidden = {j for j in self.hidden if 0 <= j < keys}
        if len(hidden) == keys:
            hidden = set()
        rows = {
            int(step): [j for j in chosen if 0 <= j < keys and j not in hidden]
            for step, chosen in self.rows.items()
        }
        rows = {step: chosen for step, chosen in rows.items() if chosen}
        looks_itself = self.look == "own" or (self.look == "yours" and not rows)
        if self.temperature == 1.0 and not hidden and looks_itself:
            return None
        return Steered(
            self.trained.model,
            temperature=self.temperature,
            hidden=sorted(hidden),
            look=self.look,
            rows=rows,
            shuffle=self.shuffle,
            only=self.only,
        )

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        trained = self.trained
        reading = read(self.text, trained.source_vocab)
        answer = reading.told() | {
            "target": [],
            "copied": [],
            "probability": [],
            "weights": [],
            "log_prob": 0.0,
            "finished": True,
            "alone": None,
        }
        if not reading.words:
            return answer, None
        source, lengths = source_of(trained.model, [reading.words], trained.source_vocab)
        steered = self.steered(len(reading.source))
        model = trained.model if steered is None else steered
        found = self._search(model, source, lengths)
        weights = found.weights
        assert weights is not None  # whatever can be steered has them
        target = spoken(found, trained.target_vocab)
        answer |= {
            "target": target,
            "copied": self._copied(target, found),
            "probability": [math.exp(term) for term in found.log_probs],
            "weights": weights.tolist(),
            "log_prob": found.log_prob,
            "finished": found.finished,
        }
        if steered is not None:
            answer["alone"] = self._left_alone(source, lengths)
        return answer, AttentionTrace.of("cross", weights, query=target, key=reading.source)

    def _left_alone(
        self, source: Int[Tensor, "1 source"], lengths: Int[Tensor, " 1"]
    ) -> dict[str, Any]:
        """What the model says by itself. Kept while the reader moves other controls."""
        model = self.trained.model
        case = (source.tolist(), self.width, self.copy, fingerprint(model))
        if self._before is None or self._before[0] != case:
            found = self._search(model, source, lengths)
            said = spoken(found, self.trained.target_vocab)
            copied = self._copied(said, found)
            alone = {"target": said, "copied": copied, "log_prob": found.log_prob}
            self._before = case, alone
        return self._before[1]

    def _copied(self, target: Sequence[str], found: Hypothesis) -> list[int]:
        """For each ``<unk>`` the source position that is looked at most; −1 for other words."""
        if found.weights is None or not self.copy:
            return [-1] * len(target)
        most = found.weights[:, :-1].argmax(axis=1)  # the end of a sentence is no word to copy
        return [int(j) if w == SPECIALS[UNK] else -1 for w, j in zip(target, most, strict=True)]

    def _search(
        self, model: Translator, source: Int[Tensor, "1 source"], lengths: Int[Tensor, " 1"]
    ) -> Hypothesis:
        if self.width == 1:
            return greedy(model, source, lengths)[0]
        return beam(model, source, lengths, width=self.width)[0]

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        shown = [
            word if from_ < 0 else answer["source"][from_]
            for word, from_ in zip(answer["target"], answer["copied"], strict=True)
        ]
        return drawing.sheet(
            drawing.line(say("alignment.english"), answer["source"][:-1]),
            drawing.line(say("alignment.french"), shown[:-1] if answer["finished"] else shown),
            drawing.attention_map(
                say,
                label=say("alignment.map"),
                query=shown,
                key=answer["source"],
                weights=answer["weights"],
                hidden=self.hidden,
            ),
        )
