"""A window over the sentence: place it and make it wider by hand, or let the model place it."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets
from jaxtyping import Int
from torch import Tensor

from heed.evaluation.decoding import greedy, source_of
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import LONGEST, ChoiceLab, Finite, fingerprint, read, spoken
from heed.labs.steering import Steered, SteeredState, Window
from heed.layers.local import LocalAttention, gaussian
from heed.models.luong import Luong
from heed.models.translator import StepOutput
from heed.trace import AttentionTrace

WHERE = ("model", "step", "hand")


class WindowLab(ChoiceLab):
    """Luong's local attention, with the window in the reader's hands. Greedy search.

    trained: a ``Luong`` as ``heed.load`` gives it, or the name of a shipped one; or several, by the
        names that the reader sees
    notes: a short line about some of them, by the same names
    text: an English sentence
    choice: which of the models answers, by its place
    where: who says where the window is. ``"model"`` itself; ``"step"``, p_t = t; ``"hand"``,
        ``places`` and ``still``, and the model in all other steps
    places: p_t for the words written at some steps, ``{3: 4.5}``; places and steps count from 0
    still: p_t for all other words; −1 for none
    radius: D, how many words the window reaches to each side
    linked: σ = D/2; otherwise it is ``sigma``
    hill: whether there is a Gaussian
    everything: the window holds all words and has no Gaussian: global attention
    row: which word's look is shown

    What is not given of ``radius``, ``sigma``, ``linked`` and ``hill`` is as in the chosen model.

    The answer has for each word of ``target`` its ``weights``; what they were before the Gaussian,
    ``align``; and in ``places`` where its window was, None for a word that had none. ``alone`` is
    what the model writes with the window it learnt, None while it has that.
    """

    kind = "window"
    settings: ClassVar[tuple[str, ...]] = (
        "text",
        "choice",
        "where",
        "places",
        "still",
        "radius",
        "sigma",
        "linked",
        "hill",
        "everything",
        "row",
    )
    asks = settings[:-1]
    facts: ClassVar[tuple[str, ...]] = ("choices", "examples")
    kinds, does = Luong, "moves the window of a"

    text = traitlets.Unicode("She will admire Louis.").tag(sync=True)
    where = traitlets.Enum(WHERE, default_value="model").tag(sync=True)
    places = traitlets.Dict().tag(sync=True)
    still = Finite(-1.0, min=-1.0, max=LONGEST + 1.0).tag(sync=True)
    radius = traitlets.Int(10, min=1, max=LONGEST).tag(sync=True)
    sigma = Finite(5.0, min=0.1, max=float(LONGEST)).tag(sync=True)
    linked = traitlets.Bool(True).tag(sync=True)
    hill = traitlets.Bool(True).tag(sync=True)
    everything = traitlets.Bool(False).tag(sync=True)
    row = traitlets.Int(0, min=0).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        trained: Mapping[str, Trained | str] | Trained | str,
        notes: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self._before: tuple[Any, list[str]] | None = None
        super().__init__(
            trained if isinstance(trained, Mapping) else {"": trained}, notes, **settings
        )

    def told_of(self, trained: Trained) -> dict[str, Any]:
        return own(trained.model)

    def first(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The window of the model that is chosen at first."""
        chosen = self.told()[min(given.get("choice", 0), len(self._trained) - 1)]
        return {name: chosen[name] for name in ("radius", "sigma", "linked", "hill")}

    @traitlets.validate("places")
    def _places(self, proposal: Mapping[str, Any]) -> dict[str, float]:
        said = proposal["value"]
        try:
            places = {str(int(step)): float(place) for step, place in said.items()}
        except (TypeError, ValueError, OverflowError):
            raise traitlets.TraitError(
                f"places={said!r}: give places by step, as in {{3: 4.5}}"
            ) from None
        beyond = next((at for at in places.values() if not 0 <= at <= LONGEST + 1), None)
        if beyond is not None:
            raise traitlets.TraitError(f"a place at {beyond} is not from 0 to {LONGEST + 1}")
        return places

    # ------------------------------------------------------------------ what is asked

    @property
    def window(self) -> Window:
        """The window as the settings have it."""
        hand = self.where == "hand"
        flat = self.everything or not self.hill
        return Window(
            radius=math.inf if self.everything else self.radius,
            sigma=math.inf if flat else self.radius / 2 if self.linked else self.sigma,
            places={int(step): place for step, place in self.places.items()} if hand else {},
            still=self.still if hand and self.still >= 0 else None,
            monotonic=self.where == "step",
        )

    @property
    def moved(self) -> bool:
        """Whether that is another window than the chosen model's own."""
        window, own = self.window, self.choices[self.choice]
        if own["attention"] == "global":
            return bool(window.places) or window.still is not None or window.monotonic
        held = bool(window.places) or window.still is not None
        stepped = window.monotonic and own["attention"] != "local_m"
        sigma = own["sigma"] if own["hill"] else math.inf
        return held or stepped or (window.radius, window.sigma) != (own["radius"], sigma)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        trained = self._trained[self.choice]
        reading = read(self.text, trained.source_vocab)
        answer = reading.told() | {
            "target": [],
            "weights": [],
            "align": [],
            "places": [],
            "finished": True,
            "alone": None,
        }
        if not reading.words:
            return answer, None
        source, lengths = source_of(trained.model, [reading.words], trained.source_vocab)
        model = Watched(trained.model, window=self.window)
        found = greedy(model, source, lengths)[0]
        target, seen = spoken(found, trained.target_vocab), model.seen
        assert found.weights is not None  # a Luong has them
        answer |= {
            "target": target,
            "weights": found.weights.tolist(),
            "align": [align for align, _ in seen[: len(target)]],
            "places": [place for _, place in seen[: len(target)]],
            "finished": found.finished,
            "alone": self._left_alone(source, lengths) if self.moved else None,
        }
        return answer, AttentionTrace.of("cross", found.weights, query=target, key=reading.source)

    def _left_alone(self, source: Int[Tensor, "1 source"], lengths: Int[Tensor, " 1"]) -> list[str]:
        """What the model writes by itself. Kept while the reader moves the window."""
        trained = self._trained[self.choice]
        case = (self.choice, source.tolist(), fingerprint(trained.model))
        if self._before is None or self._before[0] != case:
            found = greedy(trained.model, source, lengths)[0]
            self._before = case, spoken(found, trained.target_vocab)
        return self._before[1]

    # ------------------------------------------------------------------ without a script

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        words = answer["target"]
        parts = [
            drawing.line(say("window.english"), answer["source"][:-1]),
            drawing.line(say("window.french"), words[:-1] if answer["finished"] else words),
            drawing.attention_map(
                say,
                label=say("window.map"),
                query=words,
                key=answer["source"],
                weights=answer["weights"],
            ),
        ]
        return drawing.sheet(*parts, *(self._stages(say) if words else []))

    def _stages(self, say: drawing.Say) -> list[str]:
        """The look of one word: before the Gaussian, the Gaussian, and after it."""
        answer = self.answer
        row = min(self.row, len(answer["target"]) - 1)
        place, weights = answer["places"][row], answer["weights"][row]
        stages = {"align": answer["align"][row], "weights": weights}
        word = answer["target"][row]
        said = say("window.nowhere", word=word)
        if place is not None:
            sigma = self.window.sigma
            if sigma is not None and math.isfinite(sigma):
                hill = gaussian(torch.tensor([place]), sigma, len(weights))[0]
                stages = {"align": stages["align"], "hill": hill.tolist(), "weights": weights}
            left = sum(weight or 0 for weight in weights)
            said = say("window.left", word=word, place=f"{place:.1f}", left=f"{left:.2f}")
        return [
            drawing.tag("p", drawing.escape(said)),
            drawing.attention_map(
                drawing.sayer({**self.strings, "map.query": say("window.stage")}),
                label=say("window.stages", word=word),
                query=[say(f"window.{stage}") for stage in stages],
                key=answer["source"],
                weights=list(stages.values()),
            ),
        ]


class Watched(Steered):
    """A steered ``Luong`` that keeps what it saw in each step, for one sentence in one beam.

    seen: for each step the weights before the Gaussian, and the middle of the window or None
    """

    seen: list[tuple[list[float], float | None]]

    def start(self, encoded: Any) -> SteeredState:
        self.seen = []
        return super().start(encoded)

    def step(
        self, state: SteeredState, token: Int[Tensor, " batch"], encoded: Any
    ) -> tuple[SteeredState, StepOutput]:
        moved, out = super().step(state, token, encoded)
        attention = self.at(int(state.step[0])).attention
        weights, place = out.weights, None
        if isinstance(attention, LocalAttention) and out.places is not None:
            place = float(out.places[0])
            asks = moved.own.h[:, -1:]
            places = out.places[:, None]
            weights = attention.align(asks, encoded.prepared, places=places, keep=encoded.keep)[
                :, 0
            ]
        assert weights is not None  # a Luong has them
        self.seen.append((weights[0].tolist(), place))
        return moved, out


def own(model: Luong) -> dict[str, Any]:
    """The window that a model learnt with, in the lab's settings. Where it has no Gaussian, or no
    window, those are what a reader begins with who gives it one."""
    config = model.config
    hill = config.attention == "local_p"
    sigma = float(config.own_sigma) if hill else config.D / 2
    return {
        "attention": config.attention,
        "radius": config.D,
        "sigma": sigma,
        "linked": sigma == config.D / 2,
        "hill": hill,
    }
