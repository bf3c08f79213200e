"""Place animals in a picture and read what a model says of them, word by word, with the glimpse
that each word was written by."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from heed.attention import Attention
from heed.data.captions import GROUNDS
from heed.data.scenes import HORIZON
from heed.evaluation.captions import describe
from heed.experiments.captioning import TrainedCaptioner, pixels
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs import picture_scene as scenery
from heed.labs.base import END, ChoiceLab, resolve, whole_numbers
from heed.labs.picture_scene import Animal, Scene
from heed.labs.steering import mulberry32, with_parts
from heed.models.show_attend_tell import ShowAttendTell
from heed.scores import Score
from heed.trace import AttentionTrace

FOG, THICK = 128, 0.9
"""The grey that lies over places which are not looked at, and how much it hides there."""

FIRST = (
    scenery.stand("red", "cat", side=30, top=19, left=1),
    scenery.stand("blue", "cow", side=21, top=24, left=39),
)


class Closed(Score):
    """score(s, a_i), and −∞ for places that are closed: they get no weight."""

    def __init__(self, score: Score, keep: Bool[Tensor, " place"]) -> None:
        super().__init__()
        self.score = score
        self.keep = keep

    def prepare(self, keys: Float[Tensor, "*batch key d_k"]) -> Float[Tensor, "*batch key _"]:
        return self.score.prepare(keys)

    def compare(
        self,
        query: Float[Tensor, "*batch query d_q"],
        prepared: Float[Tensor, "*batch key d_p"],
    ) -> Float[Tensor, "*batch query key"]:
        scores = self.score.compare(query, prepared)
        return scores.masked_fill(~self.keep.to(scores.device), float("-inf"))


def closed(model: ShowAttendTell, hidden: Sequence[int]) -> ShowAttendTell:
    """A twin of a model that cannot look at these places; its weights are the model's. Numbers that
    are no places are passed over, and so are all of them if nothing would be left."""
    rows, columns = model.config.grid
    keep = torch.ones(rows * columns, dtype=torch.bool)
    keep[[place for place in hidden if 0 <= place < len(keep)]] = False
    if keep.all() or not keep.any():
        return model
    return with_parts(model, attention=Attention(Closed(model.attention.score, keep)))


class Dice:
    """Draws a place by the weights, with ``mulberry32(seed)``, the same in the page: the first one
    up to which the weights, added up, are more than the number drawn."""

    def __init__(self, seed: int) -> None:
        self.numbers = mulberry32(seed)

    def __call__(self, alpha: Float[Tensor, "batch place"]) -> Int[Tensor, " batch"]:
        return torch.tensor([self._one(row) for row in alpha.tolist()], device=alpha.device)

    def _one(self, row: list[float]) -> int:
        sums = list(accumulate(row))
        drawn = next(self.numbers) * sums[-1]
        return next((i for i, total in enumerate(sums) if total > drawn), int(np.argmax(row)))


class PictureLab(ChoiceLab):
    """A scene of up to three animals, and what models say of it.

    trained: models that describe pictures by the names that a reader sees, as ``heed.load`` gives
        them, or names of shipped ones; such as soft and hard ones, English and French ones
    notes: a short line about some of them, by the same names
    Settings, all of which the view can change:

    animals: in the order in which they were placed; see ``picture_scene.stand``
    ground: into ``GROUNDS``; horizon: the row that it begins at
    choice: which of the models answers, by its place
    draw: of hard attention: 0 looks at the likeliest place, or as the model rests; above, it is
        the seed that places are drawn with
    hidden: places that cannot be looked at, numbered row by row
    word: the word whose glimpse is shown; −1 for none
    """

    kind = "picture"
    settings: ClassVar[tuple[str, ...]] = (
        "animals",
        "ground",
        "horizon",
        "choice",
        "draw",
        "hidden",
        "word",
    )
    asks = settings[:-1]
    facts: ClassVar[tuple[str, ...]] = ("choices", "world", "speech")

    animals = traitlets.List().tag(sync=True)
    ground = traitlets.Int(0, min=0, max=len(GROUNDS) - 1).tag(sync=True)
    horizon = traitlets.Int(32, min=HORIZON[0], max=HORIZON[1] - 1).tag(sync=True)
    draw = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    hidden = traitlets.List().tag(sync=True)
    word = traitlets.Int(-1, min=-1).tag(sync=True)
    world = traitlets.Dict().tag(sync=True)
    speech = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        trained: Mapping[str, Trained | str],
        notes: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        made = next((name for name in self.facts if name in settings), None)
        if made is not None:
            raise TypeError(f"the {made} of a PictureLab are made from its models")
        settings.setdefault("animals", list(FIRST))  # checked, and so copied, as any other ones
        super().__init__(trained, notes, **settings)

    def _checked(self, trained: Trained | str) -> Trained:
        found = resolve(trained, type(self).__name__)
        if not isinstance(found, TrainedCaptioner):
            raise TypeError(
                f"{type(self).__name__} asks models that describe pictures, "
                f"and {found.card.experiment} is a {type(found.model).__name__}"
            )
        return found

    def told_of(self, trained: TrainedCaptioner) -> dict[str, Any]:
        return {"language": trained.language, "hard": trained.model.config.attention == "hard"}

    def first(self, given: Mapping[str, Any]) -> dict[str, Any]:
        languages = dict.fromkeys(each["language"] for each in self.told())
        speech = {language: scenery.speech(language) for language in languages}
        return {"world": scenery.world(), "speech": speech}

    @traitlets.validate("animals")
    def _animals(self, proposal: Mapping[str, Any]) -> list[Animal]:
        try:
            return scenery.checked(proposal["value"])
        except ValueError as fault:
            raise traitlets.TraitError(str(fault)) from None

    @traitlets.validate("hidden")
    def _hidden(self, proposal: Mapping[str, Any]) -> list[int]:
        return sorted(set(whole_numbers(proposal["value"])))

    @property
    def scene(self) -> Scene:
        """What stands where."""
        return Scene(animals=self.animals, ground=self.ground, horizon=self.horizon)

    @property
    def picture(self) -> UInt8[Tensor, "3 row column"]:
        """The scene as the model gets it."""
        return scenery.painted(self.scene)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        trained, scene = self._trained[self.choice], self.scene
        drawn = self.draw and trained.model.config.attention == "hard"
        (caption,) = describe(
            closed(trained.model, self.hidden),
            pixels(scenery.painted(scene))[None],
            trained.vocabulary,
            look=Dice(self.draw) if drawn else None,
        )
        trace = caption.trace()
        answer = {
            "words": list(trace.query.labels),
            "probability": np.exp(caption.log_probs).tolist(),
            "weights": caption.weights.astype(float).tolist(),
            "glimpses": caption.glimpses,
            "gates": caption.gates,
            "finished": caption.finished,
            "right": scenery.right(scene, trained.language),
            "remarks": scenery.remarks(scene),
            "boxes": scenery.boxes_of(scene),
            "message": "",
        }
        return answer, trace

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        label = self.choices[self.choice]["label"]
        words, weights = answer["words"], answer["weights"]
        spoken = [say("picture.end") if word == END else word for word in words]
        glimpses = (
            drawing.tag(
                "figure",
                drawing.tag(
                    "span",
                    class_="heed-picture-drawn",
                    style=f"background-image:url({drawing.image(_fog(row))}),var(--heed-scene)",
                ),
                drawing.tag("figcaption", escape(word)),
            )
            for word, row in zip(spoken, weights, strict=True)
        )
        rows = (
            drawing.tag(
                "tr",
                drawing.tag("th", escape(word), scope="row"),
                drawing.tag("td", _place(row, self._columns)),
                drawing.tag("td", drawing.share(max(float(each or 0) for each in row))),
                drawing.tag("td", drawing.share(float(gate or 0))),
            )
            for word, row, gate in zip(words, weights, answer["gates"], strict=True)
        )
        heads = ("token", "place", "weight", "gate")
        table = drawing.tag(
            "table",
            drawing.tag("caption", escape(say("picture.numbers"))),
            drawing.tag(
                "thead",
                drawing.tag(
                    "tr",
                    *(drawing.tag("th", escape(say(f"picture.{h}")), scope="col") for h in heads),
                ),
            ),
            drawing.tag("tbody", *rows),
            class_="heed-cells heed-picture-table",
        )
        picture = drawing.image(self.picture.numpy())
        return drawing.sheet(
            drawing.line(say("picture.says", name=label), spoken),
            drawing.tag(
                "div",
                *glimpses,
                class_="heed-picture-strip",
                style=f"--heed-scene:url({picture})",
                role="img",
                aria_label=say("picture.strip", words=" ".join(spoken)),
            ),
            drawing.tag("div", table, class_="heed-scroll", tabindex="0"),
            kind="picture",
        )

    @property
    def _columns(self) -> int:
        return self._trained[self.choice].model.config.grid[1]


def _place(row: Sequence[float | int | None], columns: int) -> str:
    """The likeliest, counted from 1: "3, 5" is row 3, column 5."""
    at = int(np.argmax([each or 0 for each in row]))
    return f"{at // columns + 1}, {at % columns + 1}"


def _fog(row: Sequence[float | int | None]) -> UInt8[np.ndarray, "4 row column"]:
    """What hides each place: nothing where half of the look goes to, or more."""
    weights = np.array([each or 0 for each in row], dtype=float)
    thick = THICK * np.clip(1 - np.sqrt(2 * weights), 0, 1)
    side = int(len(weights) ** 0.5)
    alpha = np.round(255 * thick).reshape(1, side, side)
    return np.concatenate([np.full((3, side, side), FOG), alpha]).astype(np.uint8)
