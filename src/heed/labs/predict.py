"""Mark where the model will look, then see where it does."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from heed.data.batches import encode_batch
from heed.data.pairs import Pair
from heed.evaluation.decoding import forced_weights, greedy, source_of
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import END, LONGEST, Asked, Lab, read, rounded, spoken, whole_numbers
from heed.trace import AttentionTrace


class PredictLab(Lab):
    """A map that stays covered until the reader has said what will be on it.

    trained: as ``heed.load`` gives it, or the name of a shipped model; it must attend
    pairs: examples with gold links. The model is made to write the gold words, so that its look
        can be laid beside the links.
    example: which of them is shown; −1 is the reader's own ``text``, for which there is no gold
    marks: the source position marked for each step, as in ``{0: 1}``; shown: whether revealed
    """

    kind = "predict"
    settings: ClassVar[tuple[str, ...]] = ("example", "text", "marks", "shown")
    asks: ClassVar[tuple[str, ...]] = ("example", "text")
    facts: ClassVar[tuple[str, ...]] = ("examples",)

    trained: Asked = Asked()

    example = traitlets.Int(0, min=-1).tag(sync=True)
    text = traitlets.Unicode("").tag(sync=True)
    marks = traitlets.Dict().tag(sync=True)
    shown = traitlets.Bool(False).tag(sync=True)
    examples = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(self, trained: Trained | str, pairs: Sequence[Pair], **settings: Any) -> None:
        if "examples" in settings:
            raise TypeError("the examples of a PredictLab are made from its pairs")
        self.trained = trained
        self._pairs = list(pairs)
        for pair in self._pairs:
            if not pair.source or not pair.possible:
                raise ValueError(f"{' '.join(pair.source)!r} has no gold links to compare with")
            if len(pair.source) > LONGEST:
                raise ValueError(
                    f"an example has {len(pair.source)} words, and {LONGEST} are the most"
                )
        if not self._pairs:
            settings.setdefault("example", -1)
        super().__init__(examples=self._shown(), **settings)

    @traitlets.validate("example")
    def _example(self, proposal: Mapping[str, Any]) -> int:
        example = proposal["value"]
        if example >= len(self._pairs):
            raise traitlets.TraitError(
                f"example={example}, but there are {len(self._pairs)} examples"
            )
        return example

    def _tamed(self, state: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        example = state.get("example")
        if isinstance(example, int | float) and example >= len(self._pairs):
            state = {**state, "example": len(self._pairs) - 1}
        return super()._tamed(state)

    @traitlets.validate("marks")
    def _marks(self, proposal: dict[str, Any]) -> dict[str, int]:
        marks = proposal["value"]
        try:
            rows = {str(int(row)): column for row, column in marks.items()}
            columns = whole_numbers(rows.values())
            # A text has at most LONGEST words and its end.
            there = all(0 <= column <= LONGEST for column in columns)
            if there and len(columns) == len(rows) and all(int(row) >= 0 for row in rows):
                return rows
        except (TypeError, ValueError, OverflowError):
            pass
        raise traitlets.TraitError(
            f"marks={marks!r}: give a source position by step, as in {{0: 1}}"
        )

    def recount(self) -> None:
        self.examples = self._shown()

    def _shown(self) -> list[dict[str, Any]]:
        """The examples as the view gets them."""
        if not self._pairs:
            return []
        trained = self.trained
        batch = encode_batch(self._pairs, trained.source_vocab, trained.target_vocab)
        maps = forced_weights(trained.model, batch)
        if maps is None:
            raise TypeError(
                f"PredictLab asks where a model looks, "
                f"and a {type(trained.model).__name__} has no attention"
            )
        self._maps = maps
        return [
            {
                "source": [*pair.source, END],
                "known": [*(word in trained.source_vocab for word in pair.source), True],
                "target": [*pair.target, END],
                "weights": rounded(weights.astype(float).tolist(), 4),
                "sure": [list(link) for link in sorted(pair.sure)],
                "possible": [list(link) for link in sorted(pair.possible)],
            }
            for pair, weights in zip(self._pairs, maps, strict=True)
        ]

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        if self.example >= 0:
            shown = self.examples[self.example]
            words = len(shown["source"]) - 1
            answer = {key: shown[key] for key in ("source", "known", "target", "weights")}
            answer |= {"read": words, "of": words, "message": ""}
            exact = self._maps[self.example]
            return answer, AttentionTrace.of(
                "cross", exact, query=shown["target"], key=shown["source"]
            )
        trained = self.trained
        reading = read(self.text, trained.source_vocab)
        answer = reading.told() | {"target": [], "weights": []}
        if not reading.words:
            return answer, None
        source = source_of(trained.model, [reading.words], trained.source_vocab)
        found = greedy(trained.model, *source)[0]
        if found.weights is None:
            raise TypeError(f"a {type(trained.model).__name__} has no attention to predict")
        target = spoken(found, trained.target_vocab)
        answer |= {"target": target, "weights": found.weights.tolist()}
        return answer, AttentionTrace.of("cross", found.weights, query=target, key=reading.source)

    def drawn(self) -> str:
        """The covered map, and the model's own folded away under it: no spoiler, no script."""
        say, answer = drawing.sayer(self.strings), self.answer
        gold = self.examples[self.example] if self.example >= 0 else {"sure": (), "possible": ()}
        parts = {
            "query": answer["target"],
            "key": answer["source"],
            "weights": answer["weights"],
        }
        bare = drawing.attention_map(say, label=say("predict.map"), **parts, blank=not self.shown)
        shown = drawing.attention_map(
            say,
            label=say("predict.model"),
            **parts,
            sure=[tuple(link) for link in gold["sure"]],  # type: ignore[misc]
            possible=[tuple(link) for link in gold["possible"]],  # type: ignore[misc]
        )
        folded = drawing.tag("details", drawing.tag("summary", say("predict.model")), shown)
        return drawing.sheet(bare, folded)
