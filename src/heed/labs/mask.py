"""Wire the masks and the softmax wrongly, and see which promises break."""

from typing import Any, ClassVar, get_args

import torch
import traitlets

from heed.evaluation.leaks import Bench, Over, Padding, Wiring, attend, leaks
from heed.labs import drawing
from heed.labs.base import Lab
from heed.trace import AttentionTrace

WORDS = ("the", "cat", "slept", "well", ".", "<pad>", "<pad>")
REAL = 5

BROKEN = 1e-6
"""A leak beyond this is one; below it is what float64 rounds."""


def bench(seed: int = 0) -> Bench:
    """The sentence's vectors and matrices, with three digits, so that they travel unchanged."""
    drawn = Bench.of(words=REAL, padding=len(WORDS) - REAL, seed=seed)
    x, other, W_q, W_k = (
        tensor.mul(1000).round().div(1000)
        for tensor in (drawn.x, drawn.other, drawn.W_q, drawn.W_k)
    )
    return Bench(x=x, other=other, W_q=W_q, W_k=W_k, real=drawn.real)


class MaskLab(Lab):
    """Five words and two of padding attend to themselves; see ``heed.evaluation.leaks``.

    padding, causal, over, swapped: the ``Wiring``

    The answer has the ``weights`` of all seven rows, what each row adds up to (``sums``), and the
    ``leaks``: how far each promise is from being kept, 0 where it holds.
    """

    kind = "mask"
    settings: ClassVar[tuple[str, ...]] = ("padding", "causal", "over", "swapped")
    asks = settings
    facts: ClassVar[tuple[str, ...]] = ("words", "bench")

    padding = traitlets.Enum(get_args(Padding), "before").tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    over = traitlets.Enum(get_args(Over), "keys").tag(sync=True)
    swapped = traitlets.Bool(False).tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    bench = traitlets.Dict().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        for name in self.facts:
            if name in settings:
                raise TypeError(f"the {name} of a MaskLab are the same for everybody")
        self._bench = bench()
        numbers = {
            name: getattr(self._bench, name).tolist() for name in ("x", "other", "W_q", "W_k")
        }
        super().__init__(words=list(WORDS), bench={**numbers, "real": REAL}, **settings)

    @property
    def wiring(self) -> Wiring:
        """What the controls say."""
        return Wiring(
            padding=self.padding, causal=self.causal, over=self.over, swapped=self.swapped
        )

    @torch.no_grad()
    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        weights = attend(self.wiring, self._bench).weights
        answer = {
            "weights": weights.tolist(),
            "sums": weights.sum(dim=-1).tolist(),
            "leaks": dict(leaks(self.wiring, self._bench)),
        }
        return answer, AttentionTrace.of("self", weights, query=WORDS, key=WORDS)

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        own = {"map.query": say("mask.from"), "map.key": say("mask.at")}
        rows = [
            drawing.tag(
                "tr",
                drawing.tag("th", drawing.escape(say(f"mask.promise.{name}")), scope="row"),
                drawing.tag("td", f"{leak:.2f}"),
                drawing.tag("td", drawing.escape(say(f"mask.{self._verdict(name, leak)}"))),
            )
            for name, leak in answer["leaks"].items()
        ]
        meter = drawing.tag(
            "table",
            drawing.tag("caption", drawing.escape(say("mask.meter"))),
            drawing.tag("tbody", *rows),
            class_="heed-meter",
        )
        return drawing.sheet(
            drawing.attention_map(
                drawing.sayer({**self.strings, **own}),
                label=say("mask.map"),
                query=WORDS,
                key=WORDS,
                weights=answer["weights"],
            ),
            meter,
        )

    def _verdict(self, name: str, leak: float | int) -> str:
        if leak <= BROKEN:
            return "holds"
        return "reader" if name == "ahead" and not self.causal else "broken"
