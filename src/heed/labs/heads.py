"""Every head of a Transformer on one sentence: look at each, switch some off, take places away."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import torch
import traitlets
from jaxtyping import Float, Int
from torch import Tensor

from heed.data.vocabulary import BOS, EOS, SPECIALS
from heed.evaluation.decoding import answering, greedy, source_of
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import LONGEST, ChoiceLab, fingerprint, read, spoken, whole_numbers
from heed.models.transformer import PLACES, UNCHANGED, Changed, Changes, Place, Transformer
from heed.trace import AttentionTrace

START = SPECIALS[BOS]

Off = list[str | int]
"""A head as JSON says it: place, layer and number."""


class HeadsLab(ChoiceLab):
    """A Transformer's heads, layer by layer, while it translates. Greedy search.

    trained: a ``Transformer`` as ``heed.load`` gives it, or the name of a shipped one; or several,
        by the names that the reader sees
    notes: a short line about some of them, by the same names
    text: an English sentence
    choice: which of the models answers, by its place
    off: heads that are switched off, as in ``Changes``: ``("cross", 2, 1)``. One that the chosen
        model does not have waits for another model.
    source_shift, target_shift: so many places are left free before the first word
    source_places, target_places: whether words are told their places at all
    place, layer, head: which map is shown large; row: which word of it

    The answer has in ``maps``, for each place, layer and head, a row for each word that looks: the
    words of ``source`` in the encoder, those of ``target`` in the other two. A word that is written
    looks at those before it, the start of the sentence first; its row in ``"decoder"`` ends with
    the last of them. ``alone`` is what the model writes if nothing is done to it, None while
    nothing is.
    """

    kind = "heads"
    settings: ClassVar[tuple[str, ...]] = (
        "text",
        "choice",
        "off",
        "source_shift",
        "target_shift",
        "source_places",
        "target_places",
        "place",
        "layer",
        "head",
        "row",
    )
    asks = settings[:-4]
    facts: ClassVar[tuple[str, ...]] = ("choices", "examples")
    kinds, does = Transformer, "shows the heads of a"

    text = traitlets.Unicode("She will admire Louis.").tag(sync=True)
    off = traitlets.List().tag(sync=True)
    source_shift = traitlets.Int(0, min=0, max=LONGEST).tag(sync=True)
    target_shift = traitlets.Int(0, min=0, max=LONGEST).tag(sync=True)
    source_places = traitlets.Bool(True).tag(sync=True)
    target_places = traitlets.Bool(True).tag(sync=True)
    place = traitlets.Enum(PLACES, default_value="cross").tag(sync=True)
    layer = traitlets.Int(1, min=1).tag(sync=True)
    head = traitlets.Int(1, min=1).tag(sync=True)
    row = traitlets.Int(0, min=0).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        trained: Mapping[str, Trained | str] | Trained | str,
        notes: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self._before: tuple[Any, list[str]] | None = None
        self._maps: Mapping[str, Float[Tensor, "1 head query key"]] = {}
        super().__init__(
            trained if isinstance(trained, Mapping) else {"": trained}, notes, **settings
        )

    def told_of(self, trained: Trained) -> dict[str, Any]:
        """How many layers each place has, and how many heads each layer."""
        config = trained.model.config
        return {"layers": {place: config.layers(place) for place in PLACES}, "heads": config.heads}

    @traitlets.validate("off")
    def _off(self, proposal: Mapping[str, Any]) -> list[Off]:
        return [_head(each) for each in proposal["value"]]

    # ------------------------------------------------------------------ what is asked

    @property
    def changes(self) -> Changes:
        """What the settings do to the chosen model."""
        own = self.choices[self.choice]
        return Changes(
            off=tuple(
                (place, layer, head)
                for place, layer, head in self.off
                if layer <= own["layers"][place] and head <= own["heads"]
            ),
            source_shift=self.source_shift,
            target_shift=self.target_shift,
            source_places=self.source_places,
            target_places=self.target_places,
        )

    @property
    def shown(self) -> tuple[Place, int, int]:
        """Place, layer and head of the large map: the last that the chosen model has, where the
        settings go beyond."""
        own, place = self.choices[self.choice], cast(Place, self.place)
        return place, min(self.layer, own["layers"][place]), min(self.head, own["heads"])

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        self._maps = {}
        trained, changes = self._trained[self.choice], self.changes
        reading = read(self.text, trained.source_vocab)
        answer = reading.told() | {
            "target": [],
            "finished": True,
            "maps": {place: [] for place in PLACES},
            "alone": None,
        }
        if not reading.words:
            return answer, None
        source, lengths = source_of(trained.model, [reading.words], trained.source_vocab)
        model = Changed(trained.model, changes)
        found = greedy(model, source, lengths)[0]
        target = spoken(found, trained.target_vocab)
        written = torch.tensor([[BOS, *found.tokens][: len(target)]], device=source.device)
        with answering(model):
            self._maps = model(source, lengths, written).maps  # as they were while it wrote
        answer |= {
            "target": target,
            "finished": found.finished,
            "maps": {place: _listed(self._maps, place) for place in PLACES},
            "alone": self._left_alone(source, lengths) if changes != UNCHANGED else None,
        }
        return answer, None  # ``trace`` follows the map that is shown

    def _left_alone(self, source: Int[Tensor, "1 source"], lengths: Int[Tensor, " 1"]) -> list[str]:
        """What the model writes by itself. Kept while the reader tries its heads."""
        trained = self._trained[self.choice]
        case = (self.choice, source.tolist(), fingerprint(trained.model))
        if self._before is None or self._before[0] != case:
            found = greedy(trained.model, source, lengths)[0]
            self._before = case, spoken(found, trained.target_vocab)
        return self._before[1]

    def _axes(self, place: Place, answer: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Who looks in the maps of a place, and what is looked at."""
        source, target = answer["source"], answer["target"]
        if place == "encoder":
            return source, source
        return target, source if place == "cross" else [START, *target[:-1]]

    @property
    def trace(self) -> AttentionTrace:
        """The map that is shown large."""
        if not self._maps:
            return super().trace  # which says that there is none
        place, layer, head = self.shown
        query, key = self._axes(place, self.answer)
        weights = self._maps[f"{place} {layer}"][0, head - 1]
        return AttentionTrace.of(f"{place} {layer}.{head}", weights, query=query, key=key)

    # ------------------------------------------------------------------ without a script

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        target = answer["target"]

        def words(sentence: Sequence[str]) -> list[str]:
            return [word for word in sentence if word != SPECIALS[EOS]]

        parts = [
            drawing.line(say("heads.english"), answer["source"][:-1]),
            drawing.line(say("heads.french"), words(target)),
        ]
        if answer["alone"] is not None:
            parts.append(drawing.line(say("heads.alone"), words(answer["alone"])))
        if target:
            place, layer, head = self.shown
            query, key = self._axes(place, answer)
            named = say("heads.map", place=say(f"heads.place.{place}"), layer=layer, head=head)
            if [place, layer, head] in self.off:
                said = say("heads.name.off", layer=layer, head=head)
                parts.append(drawing.tag("p", drawing.escape(said)))
            parts.append(
                drawing.attention_map(
                    say,
                    label=named,
                    query=query,
                    key=key,
                    weights=answer["maps"][place][layer - 1][head - 1],
                    own=f"heads.{place}",
                )
            )
        return drawing.sheet(*parts)


def _head(said: Any) -> Off:
    """A head as JSON says it; a line about what is none."""
    parts = list(said) if isinstance(said, list | tuple) else []
    numbers = whole_numbers(parts[1:])
    if len(parts) != 3 or parts[0] not in PLACES or len(numbers) != 2 or min(numbers) < 1:
        raise traitlets.TraitError(
            f"off={said!r}: give heads by place, layer and number, as in [('cross', 2, 1)]"
        )
    return [str(parts[0]), *numbers]


def _listed(
    maps: Mapping[str, Float[Tensor, "1 head query key"]], place: Place
) -> list[list[list[list[float]]]]:
    """The maps of a place, layer by layer, head by head. In the decoder a row ends with the word
    that was written last."""
    layers = [each[0].tolist() for name, each in maps.items() if name.split()[0] == place]
    if place != "decoder":
        return layers
    return [[[row[: i + 1] for i, row in enumerate(head)] for head in heads] for heads in layers]
