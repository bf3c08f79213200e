"""Paint bits on a tape, let a machine with a memory copy them, and take its heads in hand."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets
from jaxtyping import Float, UInt8
from torch import Tensor

from heed.evaluation.decoding import answering, device_of
from heed.evaluation.hands import Hand, Hands
from heed.experiments.trained import Trained
from heed.labs import drawing
from heed.labs.base import Asked, Lab, fingerprint
from heed.labs.palette import colour
from heed.labs.steering import mulberry32
from heed.layers.addressing import Aim
from heed.models.ntm import NTM, NTMConfig
from heed.trace import AttentionTrace

LONGEST = 40
"""Vectors of a pattern: twice as many as in training."""
LARGEST = 50.0
"""β and γ by hand, at most."""
HEADS = {"write": "writing", "read": "reading"}
"""What a reader calls the heads, and what the answer calls where they were."""
RANGES = {
    "strength": (0.0, LARGEST),
    "gate": (0.0, 1.0),
    "shift": (-1.0, 1.0),
    "focus": (1.0, LARGEST),
}
"""What a reader may tell a head: β, g, how far to shift, and γ."""
KEPT = 4
"""Runs that are kept while the reader moves through one of them."""


class TapeLab(Lab):
    """A machine that copies what a reader paints.

    trained: a Neural Turing Machine with one head of each kind that copies, as ``heed.load`` gives
        it, or the name of a shipped one
    pattern: the vectors, each a text of bits; ``drawn_bits(seed, length)`` if not given
    seed: of the pattern that was drawn last
    step: the one that is looked at, from 0; one beyond the end is the last
    hands: what the reader tells the heads in place of the controller, as in ``{"read.gate": 1.0}``:
        "write" or "read", and one of ``RANGES``; "shift" is how far, see ``shares``
    since: the step from which on they obey; 0 is always

    The answer has in ``said`` the probability of a 1 for each bit that is due, in ``wrong`` how
    many ``of`` them are on the wrong side of ½, and in ``alone`` how many with no hand; in
    ``writing`` and ``reading`` where the heads were, step by step, as bytes in base 64; in ``now``
    the chosen step: its ``memory`` as bytes, from −1 to 1, slot by slot, where the heads are, and
    what each is told.
    """

    kind = "tape"
    settings: ClassVar[tuple[str, ...]] = ("pattern", "seed", "step", "hands", "since")
    asks = ("pattern", "step", "hands", "since")
    facts: ClassVar[tuple[str, ...]] = ("sizes",)
    machine: Asked = Asked(NTM, "runs")

    pattern = traitlets.List(traitlets.Unicode()).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
    step = traitlets.Int(0, min=0, max=2 * LONGEST).tag(sync=True)
    hands = traitlets.Dict().tag(sync=True)
    since = traitlets.Int(0, min=0, max=2 * LONGEST).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)

    def __init__(self, trained: Trained | str, *, length: int = 20, **settings: Any) -> None:
        if "sizes" in settings:
            raise TypeError(f"the sizes of a {type(self).__name__} are those of its machine")
        if not 1 <= length <= LONGEST:
            raise ValueError(f"length={length} must be from 1 to {LONGEST}")
        self.machine = trained
        self._runs: dict[str, Run] = {}
        config = self._config
        settings.setdefault("pattern", drawn_bits(settings.get("seed", 0), length, config.d_output))
        # In the middle of the answer, where the reading head is on its way.
        settings.setdefault("step", len(settings["pattern"]) * 3 // 2)
        super().__init__(sizes=sizes(config), **settings)

    @property
    def _config(self) -> NTMConfig:
        """That of the machine; ``ValueError`` if it copies nothing, or has more heads."""
        config = self.machine.model.config
        if config.d_input != config.d_output + 1:
            raise ValueError(
                f"a machine that copies has one input more than outputs, "
                f"not {config.d_input} and {config.d_output}"
            )
        if (config.readers, config.writers, config.shift) != (1, 1, 1):
            raise ValueError(
                f"{type(self).__name__} shows one head of each kind that shifts by 1, "
                f"not {config.readers} that read, {config.writers} that write and {config.shift}"
            )
        return config

    @traitlets.validate("pattern")
    def _pattern(self, proposal: Mapping[str, Any]) -> list[str]:
        pattern, bits = proposal["value"], self._config.d_output
        if not 1 <= len(pattern) <= LONGEST:
            raise traitlets.TraitError(f"{len(pattern)} vectors: there must be 1 to {LONGEST}")
        for vector in pattern:
            if len(vector) != bits or set(vector) - {"0", "1"}:
                raise traitlets.TraitError(
                    f"the vector {vector[:60]!r} is not a text of {bits} bits"
                )
        return list(pattern)

    @traitlets.validate("hands")
    def _hands(self, proposal: Mapping[str, Any]) -> dict[str, float]:
        found = {}
        for name, value in proposal["value"].items():
            head, _, command = str(name).partition(".")
            if head not in HEADS or command not in RANGES:
                raise traitlets.TraitError(
                    f"hands[{name!r}]: give a head and a command, as in {{'read.gate': 1.0}}"
                )
            least, most = RANGES[command]
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not least <= value <= most
            ):
                raise traitlets.TraitError(
                    f"hands[{name!r}]={value!r} must be from {least:g} to {most:g}"
                )
            found[str(name)] = float(value)
        return found

    def recount(self) -> None:
        self.sizes = sizes(self._config)

    # ------------------------------------------------------------------ what is run

    @property
    def hand(self) -> Hands:
        """What the heads are told by hand, as ``NTM.step`` takes it."""
        return told(self.hands)

    def _ran(self, hands: Hands, since: int) -> "Run":
        """A run of the pattern. Some are kept: who moves through the steps wants none anew."""
        case = repr((fingerprint(self.machine.model), self.pattern, hands, since))
        found = self._runs.pop(case, None) or run(self.machine.model, self.pattern, hands, since)
        self._runs[case] = found  # the one asked for last goes last
        if len(self._runs) > KEPT:
            self._runs.pop(next(iter(self._runs)))
        return found

    def find(self) -> tuple[dict[str, Any], AttentionTrace | None]:
        alone = self._ran(Hands(), 0)
        steps, hands = len(alone.reading), self.hand
        since = min(self.since, steps - 1)
        found = alone if hands == Hands() else self._ran(hands, since)
        step = min(self.step, steps - 1)
        answer = {
            "said": found.said.tolist(),
            "wrong": found.wrong,
            "of": found.said.numel(),
            "alone": alone.wrong,
            "writing": packed(found.writing),
            "reading": packed(found.reading),
            "now": {
                "step": step,
                "memory": packed((found.memory[step].clamp(-1, 1) + 1) / 2),
                "writing": found.writing[step].tolist(),
                "reading": found.reading[step].tolist(),
                "write": found.commands[step]["write"],
                "read": found.commands[step]["read"],
            },
            "message": "",
        }
        labels = [str(i) for i in range(1, steps + 1)]
        slots = [str(i) for i in range(found.reading.shape[1])]
        weights = torch.stack([found.writing, found.reading])
        return answer, AttentionTrace.of(
            "tape", weights, query=labels, key=slots, heads=tuple(HEADS)
        )

    # ------------------------------------------------------------------ without JavaScript

    def drawn(self) -> str:
        say, answer = drawing.sayer(self.strings), self.answer
        pattern = np.array([[float(bit) for bit in each] for each in answer["asked"]["pattern"]]).T
        said = np.array([[float(p or 0) for p in row] for row in answer["said"]]).T
        # Most slots are never used; a head may well begin on the last ones, for a moment.
        trails = {head: self._trail(part) for head, part in HEADS.items()}
        used = np.flatnonzero((np.stack([*trails.values()]) >= 0.5).any(axis=(0, 1)))
        rows = int(used.max()) + 2 if used.size else None
        pictures = {
            "input": shaded(pattern),
            "output": shaded(said),
            **{f"trail.{head}": shaded(trail[:, :rows].T) for head, trail in trails.items()},
        }
        figures = [
            drawing.tag(
                "figure",
                drawing.tag(
                    "span",
                    class_="heed-tape-drawn",
                    role="img",
                    aria_label=say(f"tape.{name}"),
                    style=f"background-image:url({drawing.image(picture)})",
                ),
                drawing.tag("figcaption", escape(say(f"tape.{name}"))),
            )
            for name, picture in pictures.items()
        ]
        return drawing.sheet(
            drawing.tag("div", *figures, class_="heed-tape-strip"),
            drawing.tag("p", escape(result(say, answer)), class_="heed-says"),
            self._table(say, [*trails.values()]),
            kind="tape",
        )

    def _trail(self, part: str) -> Float[np.ndarray, "step slot"]:
        """Where a head was, as far as the bytes of the answer say."""
        content = np.frombuffer(b64decode(self.answer[part]), np.uint8)
        return content.reshape(-1, self.sizes["slots"]) / 255

    def _table(self, say: drawing.Say, trails: Sequence[Float[np.ndarray, "step slot"]]) -> str:
        heads = ("step", "what", "writes", "weight", "reads", "weight")
        rows, length = [], len(self.answer["asked"]["pattern"])
        for i in range(2 * length + 1):
            cells = [phase(say, i, length)]
            for trail in trails:
                slot = int(trail[i].argmax())
                cells += [str(slot), drawing.share(float(trail[i, slot]))]
            rows.append(
                drawing.tag(
                    "tr",
                    drawing.tag("th", str(i + 1), scope="row"),
                    *(drawing.tag("td", escape(cell)) for cell in cells),
                )
            )
        return drawing.tag(
            "div",
            drawing.tag(
                "table",
                drawing.tag("caption", escape(say("tape.table"))),
                drawing.tag(
                    "thead",
                    drawing.tag(
                        "tr",
                        *(drawing.tag("th", escape(say(f"tape.{h}")), scope="col") for h in heads),
                    ),
                ),
                drawing.tag("tbody", *rows),
                class_="heed-cells heed-tape-table",
            ),
            class_="heed-scroll",
            tabindex="0",
        )


# ---------------------------------------------------------------------------- what goes in


def drawn_bits(seed: int, length: int, bits: int = 8) -> list[str]:
    """Vectors of fair coins, a text each; a longer pattern begins as a shorter one does."""
    dice = mulberry32(seed)
    return ["".join("1" if next(dice) < 0.5 else "0" for _ in range(bits)) for _ in range(length)]


def shares(far: float) -> tuple[float, float, float]:
    """s for a shift by so much, from −1 to 1: what lies between two slots is shared by both."""
    return (max(-far, 0.0), 1 - abs(far), max(far, 0.0))


def told(hands: Mapping[str, float]) -> Hands:
    """The setting ``hands``, as a machine takes it."""
    found: dict[str, dict[str, Any]] = {head: {} for head in HEADS}
    for name, value in hands.items():
        head, command = name.split(".")
        if command == "shift":
            found[head]["shifts"] = shares(value)
        else:
            found[head][command] = value
    return Hands(reading=Hand(**found["read"]), writing=Hand(**found["write"]))


def sizes(config: NTMConfig) -> dict[str, int]:
    """What the view is told of a machine."""
    return {"bits": config.d_output, "slots": config.slots, "d_slot": config.d_slot}


# ---------------------------------------------------------------------------- what comes out


@dataclass(frozen=True, kw_only=True)
class Run:
    """A pattern that went through a machine.

    said: the probability of a 1 for each bit that is due; wrong: bits on the wrong side of ½
    writing, reading, memory: after each step; commands: what each head was told in it
    """

    said: Float[Tensor, "vector bit"]
    wrong: int
    writing: Float[Tensor, "step slot"]
    reading: Float[Tensor, "step slot"]
    memory: Float[Tensor, "step slot d"]
    commands: list[dict[str, dict[str, Any]]]


def run(model: NTM, pattern: Sequence[str], hands: Hands, since: int) -> Run:
    """Put a pattern through a machine, which obeys the hands from a step on."""
    wanted = torch.tensor([[float(bit) for bit in vector] for vector in pattern])
    length, device = len(wanted), device_of(model)
    inputs = torch.zeros(2 * length + 1, wanted.shape[1] + 1)
    inputs[:length, :-1] = wanted
    inputs[length, -1] = 1.0
    logits, states, commands = [], [], []
    with answering(model):
        state = model.start(1)
        for t, x in enumerate(inputs.to(device)):
            state, out = model.step(state, x[None], hand=hands if t >= since else None)
            logits.append(out.logits[0])
            states.append(state.heads)
            commands.append(
                {"write": said_to(out.commands.writing), "read": said_to(out.commands.reading)}
            )
    scores = torch.stack(logits[length + 1 :]).float().cpu()
    return Run(
        said=scores.sigmoid(),
        wrong=int(((scores > 0) != (wanted > 0.5)).sum()),
        writing=torch.stack([each.writing[0, 0] for each in states]).float().cpu(),
        reading=torch.stack([each.reading[0, 0] for each in states]).float().cpu(),
        memory=torch.stack([each.memory[0] for each in states]).float().cpu(),
        commands=commands,
    )


def said_to(aim: Aim) -> dict[str, Any]:
    """β, g, s and γ of a head, as it obeys them."""
    return {
        "strength": aim.strength[0, 0].item(),
        "gate": aim.gate[0, 0].item(),
        "shifts": aim.shifts[0, 0].tolist(),
        "focus": aim.focus[0, 0].item(),
    }


def packed(numbers: Float[Tensor, "row column"]) -> str:
    """Numbers from 0 to 1 as bytes in base 64."""
    return b64encode(in_bytes(numbers).tobytes()).decode()


def in_bytes(numbers: Float[Tensor, "row column"]) -> UInt8[np.ndarray, "row column"]:
    """Numbers from 0 to 1 as bytes; what is no number is 0."""
    return np.floor(255 * numbers.nan_to_num(0.0).numpy() + 0.5).astype(np.uint8)


def shaded(weights: Float[np.ndarray, "row column"]) -> UInt8[np.ndarray, "3 row column"]:
    """A picture of weights, in the colours of maps."""
    table = [colour(i / 255).background for i in range(256)]
    channels = np.array([[int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in table], np.uint8)
    level = np.floor(255 * np.nan_to_num(weights, nan=0.0).clip(0, 1) + 0.5).astype(int)
    return np.moveaxis(channels[level], -1, 0)


def phase(say: drawing.Say, step: int, length: int) -> str:
    """What happens in a step, in words."""
    if step < length:
        return say("tape.phase.in", vector=step + 1)
    if step == length:
        return say("tape.phase.mark")
    return say("tape.phase.out", vector=step - length)


def result(say: drawing.Say, answer: Mapping[str, Any]) -> str:
    """How many bits are wrong, and how many if nobody takes the heads in hand."""
    values = {name: answer[name] for name in ("wrong", "of", "alone")}
    by_hand = bool(answer["asked"]["hands"])
    return say("tape.result.hand" if by_hand else "tape.result.alone", **values)
