"""Watch attention being learnt: one slider over the moments of a training."""

import base64
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from heed.data.pairs import Pair
from heed.experiments.maps import quantise
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import END, Lab, resolve, rounded
from heed.trace import AttentionTrace
from heed.viz.learning import precision_by_moment


class LearningLab(Lab):
    """The maps that were kept while a model learnt. Nothing is asked anew, so page and notebook
    do the same.

    trained: as ``heed.load`` gives it, or the name of a shipped model that was watched
    pairs: gold links for those of the watched sentences that have them
    sentence, moment: what is shown; without ``moment`` it is the last
    """

    kind = "learning"
    settings: ClassVar[tuple[str, ...]] = ("sentence", "moment")
    facts: ClassVar[tuple[str, ...]] = ("data",)

    sentence = traitlets.Int(0, min=0).tag(sync=True)
    moment = traitlets.Int(0, min=0).tag(sync=True)
    data = traitlets.Dict().tag(sync=True)

    def __init__(self, trained: Trained | str, pairs: Sequence[Pair] = (), **settings: Any) -> None:
        if "data" in settings:
            raise TypeError("the data of a LearningLab are the model's own")
        self._trained = resolve(trained, "LearningLab")
        card = self._trained.card
        if "maps.npz" not in card.files or not card.moments:
            raise ValueError(f"{card.experiment} was not watched while it learnt")
        self._steps, self._maps = self._trained.maps()
        for name, count in (("sentence", len(self._maps)), ("moment", len(self._steps))):
            given = settings.get(name, 0)
            if isinstance(given, int) and given >= count:
                raise ValueError(f"{name}={given}, but there are {count}")
        settings.setdefault("moment", len(self._steps) - 1)
        super().__init__(data=self._told(pairs), **settings)

    def _told(self, pairs: Sequence[Pair]) -> dict[str, Any]:
        card = self._trained.card
        gold = {(pair.source, pair.target): pair for pair in pairs}
        inputs = []
        for i, (watched, maps) in enumerate(zip(card.inputs, self._maps, strict=True)):
            source, target = watched["source"], watched["target"]
            pair = gold.get((tuple(source), tuple(target)))
            levels = quantise(maps.reshape(len(maps), -1)).tobytes()
            inputs.append(
                {
                    "source": [*source, END],
                    "target": [*target, END],
                    "maps": base64.b64encode(levels).decode(),
                    "said": [moment["said"][i] for moment in card.moments],
                    "right": pair and precision_by_moment([maps], [pair]),
                    "sure": sorted(pair.sure) if pair else [],
                    "possible": sorted(pair.possible) if pair else [],
                }
            )
        curve = card.curves.get(str(card.seed), [])
        loss = [[point["step"], point["loss"], point["valid_loss"]] for point in curve]
        # A run that diverged has losses that are no numbers.
        return {"steps": list(self._steps), "loss": rounded(loss, 6), "inputs": inputs}

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        return {}, None

    @property
    def trace(self) -> AttentionTrace:
        """The attention that ``sentence`` and ``moment`` point at."""
        sentence = min(self.sentence, len(self._maps) - 1)
        moment = min(self.moment, len(self._steps) - 1)
        shown = self.data["inputs"][sentence]
        weights = np.asarray(self._maps[sentence][moment])
        return AttentionTrace.of(
            f"step {self._steps[moment]}", weights, query=shown["target"], key=shown["source"]
        )

    def drawn(self) -> str:
        say, trace = drawing.sayer(self.strings), self.trace
        step = trace.name.removeprefix("step ")
        return drawing.sheet(
            drawing.tag("p", drawing.escape(say("learning.step", step=step, last=self._steps[-1]))),
            drawing.attention_map(
                say,
                label=say("learning.map"),
                query=trace.query.labels,
                key=trace.key.labels,
                weights=trace.weights[0].tolist(),
            ),
        )
