"""Type a sentence and watch a language model read it: at each word, which of the words before it
the model looks at, what it thinks comes next, and how surprised it then is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import Bool, Float
from torch import Tensor

from heed.attention import Attention
from heed.data.vocabulary import BOS, EOS, PAD, SPECIALS
from heed.evaluation.decoding import answering, device_of
from heed.experiments.language import NULL
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import Asked, Finite, Lab, fingerprint, read
from heed.labs.steering import COOLEST, HOTTEST, Forced, Gaze, Tempered, Uniform, with_parts
from heed.models.lstmn import LSTMLanguageModel, LSTMNLanguageModel
from heed.trace import AttentionTrace

LOOKS = ("own", "last", "uniform")
GUESSES = 5
"""Words that may come next, for each word that was read."""

START = SPECIALS[BOS]


class Last(Gaze):
    """All weight on the last slot."""

    def forward(
        self, own: Float[Tensor, "batch key"], keep: Bool[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key"]:
        looked = torch.zeros_like(own)
        looked[:, -1] = 1.0
        return looked


def steered(
    model: LSTMNLanguageModel, *, look: str = "own", null: bool = True, temperature: float = 1.0
) -> LSTMNLanguageModel:
    """A twin of a language model that looks where it is told to, to be run by ``step``.

    look: ``"own"`` leaves the weights alone. ``"last"`` puts all of them on the last slot: h̃ and c̃
        are then h and c of the word before, and the layer is an LSTM. ``"uniform"`` looks at all
        slots alike.
    null: False takes the null slot away as soon as there is another one
    temperature: divides the scores

    All weights are shared with the model.
    """
    if look not in LOOKS:
        raise ValueError(f"look={look!r} is none of {', '.join(LOOKS)}")
    if not COOLEST <= temperature <= HOTTEST:
        raise ValueError(f"temperature={temperature} is not from {COOLEST} to {HOTTEST:g}")
    layer = model.lstmn
    attention: Any = Attention(Tempered(layer.score, temperature))
    if look != "own":
        attention = Forced(attention, Last() if look == "last" else Uniform())
    twin = with_parts(layer, attention=attention)
    twin.keep_null = layer.keep_null and null
    return with_parts(model, lstmn=twin)


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a language model made of a text: a row for each word, ``<s>`` first.

    weights: the slots there were; None for a model that does not attend
    next: the likeliest words after it, with their probabilities
    bits: −log₂ p of the word that did come
    """

    weights: Float[np.ndarray, "row slot"] | None
    next: list[list[tuple[str, float]]]
    bits: list[float]

    def told(self) -> dict[str, Any]:
        """The part of an answer that every language model has."""
        return {"next": [[list(guess) for guess in row] for row in self.next], "bits": self.bits}


class ReadingLab(Lab):
    """An LSTMN reads a sentence word by word, and an LSTM beside it.

    trained, rival: as ``heed.load`` gives them, or names of shipped models, with the same words
    Settings, all of which the view can change:

    text: an English sentence
    word: the word being read: 0 is ``<s>``, −1 (and all that is beyond) the last one
    look, null, temperature: see ``steered``
    """

    kind = "reading"
    settings: ClassVar[tuple[str, ...]] = ("text", "word", "look", "null", "temperature")
    asks = ("text", "look", "null", "temperature")
    facts: ClassVar[tuple[str, ...]] = ("examples",)

    trained: Asked = Asked(LSTMNLanguageModel, "shows the looks of")
    rival: Asked = Asked(LSTMLanguageModel, "holds against it")

    text = traitlets.Unicode("Return the name of the file that was opened by the caller.").tag(
        sync=True
    )
    word = traitlets.Int(-1, min=-1).tag(sync=True)
    look = traitlets.Enum(LOOKS, default_value="own").tag(sync=True)
    null = traitlets.Bool(True).tag(sync=True)
    temperature = Finite(1.0, min=COOLEST, max=HOTTEST).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode(), default_value=None, allow_none=True).tag(
        sync=True
    )

    def __init__(self, trained: Trained | str, rival: Trained | str, **settings: Any) -> None:
        self.trained, self.rival = trained, rival
        self._kept: dict[str, tuple[Any, Read]] = {}
        super().__init__(**settings)

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        if self.rival.vocabulary != self.trained.vocabulary:
            names = " and ".join(each.card.experiment for each in self.asked())
            raise ValueError(f"{names} know different words: their surprise cannot be compared")
        reading = read(self.text, self.trained.vocabulary)
        answer = reading.told() | {"weights": [], "next": [], "bits": []}
        answer |= {"rival": {"next": [], "bits": []}, "alone": None}
        if not reading.words:
            return answer, None
        alone = self._left_alone("trained", reading.words)
        found = alone
        if self.look != "own" or not self.null or self.temperature != 1.0:
            how = {name: getattr(self, name) for name in ("look", "null", "temperature")}
            twin = steered(self.trained.model, **how)
            found = read_by(twin, self.trained, reading.words)
            answer["alone"] = {"bits": alone.bits}
        answer |= found.told() | {"rival": self._left_alone("rival", reading.words).told()}
        assert found.weights is not None  # an LSTMN has them
        answer["weights"] = [row[: t + 1].tolist() for t, row in enumerate(found.weights)]
        query = (START, *reading.words)
        trace = AttentionTrace.of(
            "self", found.weights, query=query, key=(NULL, *query[:-1]), heads=("self",)
        )
        return answer, trace

    def _left_alone(self, name: str, words: Sequence[str]) -> Read:
        """What a model makes of the text by itself. Kept while the reader moves other controls."""
        trained = getattr(self, name)
        case = (tuple(words), fingerprint(trained.model))
        if name not in self._kept or self._kept[name][0] != case:
            self._kept[name] = case, read_by(trained.model, trained, words)
        return self._kept[name][1]

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        source = answer["source"]
        if not source:
            return drawing.sheet(drawing.tag("p", escape(say("reading.message.empty"))))
        rows = [START, *source[:-1]]
        last = len(rows) - 1
        row = self.word if 0 <= self.word < last else last
        after = {"word": rows[row], "next": source[row]}
        both = (("reading.drawn", answer), ("reading.drawn.rival", answer["rival"]))
        return drawing.sheet(
            drawing.tag("p", *self._line(row), class_="heed-words heed-drawn-words"),
            *(
                drawing.tag("p", escape(say(key, **after, words=_listed(told["next"][row]))))
                for key, told in both
            ),
            drawing.attention_map(
                say,
                label=say("reading.map"),
                query=rows,
                key=[NULL, *rows[:-1]],
                weights=answer["weights"],
                own="reading.map",
            ),
            kind="reading",
        )

    def _line(self, row: int) -> list[str]:
        """The sentence with the word being read in red, what it looks at in blue."""
        words, weights = [NULL, START, *self.answer["source"][:-1]], self.answer["weights"][row]
        parts = []
        for i, word in enumerate(words):
            weight = (weights[i] if i < len(weights) else None) or 0.0  # None: it wrote no number
            marks = ["heed-token"] + ["heed-is-mark"] * (i < 2)
            marks += ["heed-is-now"] * (i == row + 1) + ["heed-is-unread"] * (i > row + 1)
            shown = f"{weight:.2f}" if weight >= drawing.WRITTEN else None
            parts.append(
                drawing.tag(
                    "span",
                    escape(word),
                    class_=" ".join(marks),
                    style=f"--weight:{round(100 * weight)}",
                    data_weight=shown,
                )
            )
        return parts


def _listed(guesses: Sequence[Sequence[Any]]) -> str:
    return ", ".join(f"‘{word}’ {'–' if p is None else format(p, '.2f')}" for word, p in guesses)


def read_by(model: Any, trained: Trained, words: Sequence[str]) -> Read:
    """What a language model makes of a text, step by step; ``trained`` knows the words."""
    vocabulary = trained.vocabulary
    wanted = torch.tensor([*vocabulary.encode(words), EOS])
    logits, weights = [], []
    with answering(model):
        state = model.start(1)
        for token in (BOS, *wanted[:-1].tolist()):
            state, out = model.step(state, torch.tensor([token], device=device_of(model)))
            logits.append(out.logits[0])
            if out.weights is not None:
                weights.append(out.weights[0].float().cpu())
    p = torch.stack(logits).float().log_softmax(dim=-1).cpu()
    bits = -p.gather(1, wanted.unsqueeze(1)).flatten() / math.log(2)
    p[:, [PAD, BOS]] = -math.inf  # neither is ever a next word
    likely, which = p.exp().topk(min(GUESSES, p.shape[1] - 2))
    return Read(
        weights=_square(weights) if weights else None,
        next=[
            list(zip(vocabulary.decode(row.tolist()), each.tolist(), strict=True))
            for row, each in zip(which, likely, strict=True)
        ],
        bits=bits.tolist(),
    )


def _square(rows: Sequence[Tensor]) -> Float[np.ndarray, "row slot"]:
    """Rows of 1, 2, 3 … weights with zeros after them."""
    return torch.stack(
        [torch.cat([row, row.new_zeros(len(rows) - len(row))]) for row in rows]
    ).numpy()
