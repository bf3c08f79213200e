"""Exercises of chapter 10, the Transformer."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heed.book import Exercise
from heed.layers.multihead import MultiHead
from heed.masks import causal

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


# ------------------------------------------------------------------ 1: one look, with a pencil

PRODUCTS, D_K, VALUES = (2 * math.log(3), 0.0, 2 * math.log(6)), 4, (4.0, 8.0, 100.0)
ASKS = 2
"""The second of three words asks; it may see itself and the one before."""


def _found(
    *, root: float | int = math.sqrt(D_K), seen: int = ASKS, counted: int | None = None
) -> float:
    """What the look brings home; the options are what goes wrong.

    seen: so many words may be looked at; counted: so many share the softmax
    """
    counted = seen if counted is None else counted
    raised = [math.exp(each / root) for each in PRODUCTS]
    mixed = sum(r * v for r, v in zip(raised[:seen], VALUES, strict=False))
    return mixed / sum(raised[:counted])


def _near(wanted: float) -> Callable[[Any], bool]:
    return lambda answer: abs(float(answer) - wanted) <= 0.006


one_look = Exercise(
    right=_near(_found()),
    praise="Halved, the scores are ln 3 and 0: three parts of 4 and one of 8. The 100 behind it "
    "has no say.",
    otherwise="Divide each product by √d_k = 2. Keep what word 2 may see, itself among them. "
    "Raise e to each, share, mix.",
    usual=(
        (_near(_found(seen=3)), "You let word 2 see word 3. It has not been written yet."),
        (_near(_found(root=1.0)), "You forgot to divide by √d_k. That makes 9 to 1 of 3 to 1."),
        (_near(_found(root=D_K)), "You divided by d_k. It is its root: 2."),
        (
            _near(_found(counted=3)),
            "You shared among three and struck out the third afterwards. The mask comes before "
            "the softmax, so that the rest adds up to one.",
        ),
        (_near(VALUES[0]), "A word may look at itself, too."),
        (_near(6.0), "That is the plain mean. The scores are not equal."),
    ),
)


# ------------------------------------------------------------------ 2: how many parameters?

D_MODEL, D_INNER, HEADS = 512, 2048, 8


def _count(*, matrices: int = 4, biases: bool = True, norms: int = 2, per_head: int = 1) -> int:
    """Parameters of an encoder layer of *base*; the options are what is forgotten."""
    attention = matrices * D_MODEL**2 * per_head
    feed = 2 * D_MODEL * D_INNER + (D_INNER + D_MODEL if biases else 0)
    return attention + feed + norms * 2 * D_MODEL


def _is(wanted: int) -> Callable[[Any], bool]:
    return lambda answer: int(answer) == wanted and float(answer) == wanted


layer_size = Exercise(
    right=_is(_count()),
    praise="Two thirds of them are in the position-wise network, which never looks anywhere. And "
    "the number of heads is not in the sum.",
    otherwise="Four matrices of 512 × 512 for all heads together. Two of 512 × 2048 with their "
    "biases. Two norms, each with a gain and a bias of 512.",
    usual=(
        (_is(_count(matrices=3)), "You forgot W^O, which joins the heads."),
        (_is(_count(biases=False)), "The two matrices of the position-wise network have biases."),
        (_is(_count(norms=0)), "A LayerNorm has parameters, too: a gain and a bias for each unit."),
        (_is(_count(norms=1)), "There are two norms, one after each sublayer."),
        (
            _is(_count(per_head=HEADS)),
            "Each head has matrices of 512 × 64, not of 512 × 512: eight of them are one such.",
        ),
    ),
)


# ------------------------------------------------------------------ 3: on by k places

_TURNS = ((1.0, 3.0), (0.1, 7.0), (0.35, 0.0), (0.02, 40.0))
"""(ω, k)"""


def _turn(frequency: float, by: float, *, back: bool = False, flipped: bool = False) -> Tensor:
    """The matrix; the options are what goes wrong."""
    angle = torch.tensor(-by * frequency if back else by * frequency, dtype=torch.float64)
    c, s = angle.cos(), angle.sin()
    rows = [[c, -s], [s, c]] if flipped else [[c, s], [-s, c]]
    return torch.stack([torch.stack(row) for row in rows])


def _turns(wanted: Callable[[float, float], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for frequency, by in _TURNS:
            given = answer(frequency, by)
            if given is None:
                return False
            table = torch.as_tensor(given, dtype=torch.float64)
            if table.shape != (2, 2) or not torch.allclose(table, wanted(frequency, by), atol=1e-5):
                return False
        return True

    return test


turn = Exercise(
    right=_turns(_turn),
    praise="It knows ω and k, and nothing of p. So one matrix finds the word k places on, from "
    "everywhere in the sentence.",
    otherwise="sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b − sin a sin b. "
    "Here a = ωp and b = ωk; what stands beside sin ωp and cos ωp are the four entries.",
    usual=(
        (lambda answer: answer(1.0, 3.0) is None, _DOTS),
        (
            _turns(lambda frequency, by: _turn(frequency, by, flipped=True)),
            "That turns backwards. Our pair has the sine first and the cosine second.",
        ),
        (
            _turns(lambda frequency, by: _turn(frequency, 1.0)),
            "That moves by one place, whatever k is.",
        ),
        (_turns(lambda frequency, by: _turn(1.0, by)), "Every frequency turns alike. Where is ω?"),
    ),
)


# ------------------------------------------------------------------ 4: heads in plain torch

_WIDE, _SPLIT, _LENGTH = 12, 3, 5


def _layer() -> tuple[MultiHead, Tensor]:
    generator = torch.Generator().manual_seed(10)
    layer = MultiHead(d_model=_WIDE, heads=_SPLIT).requires_grad_(False)
    for parameter in layer.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator) / math.sqrt(_WIDE))
    return layer, torch.randn(_LENGTH, _WIDE, generator=generator)


def _looked(
    *, heads: int = _SPLIT, root: int | None = None, every: bool = False, join: bool = True
) -> Tensor:
    """What the layer gives; the options are what goes wrong."""
    layer, x = _layer()
    d_k = _WIDE // heads
    sides = [x @ each.weight.T for each in (layer.W_q, layer.W_k, layer.W_v)]
    parts = []
    for head in range(heads):
        own = slice(head, None, heads) if every else slice(head * d_k, (head + 1) * d_k)
        q, k, v = (each[:, own] for each in sides)
        parts.append((q @ k.T / math.sqrt(root or d_k)).softmax(-1) @ v)
    out = torch.cat(parts, -1)
    return out @ layer.W_o.weight.T if join else out


def _asked(answer: Any) -> Tensor | None:
    layer, x = _layer()
    matrices = (each.weight.T for each in (layer.W_q, layer.W_k, layer.W_v, layer.W_o))
    return answer(x, *matrices, _SPLIT)


def _gives(**options: Any) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        given, wanted = _asked(answer), _looked(**options)
        return (
            given is not None
            and given.shape == wanted.shape
            and torch.allclose(given, wanted, atol=1e-5)
        )

    return test


heads = Exercise(
    right=_gives(),
    praise="The same as the package's MultiHead, to rounding.",
    otherwise="x times W_q, W_k and W_v; head i takes columns i·d_k to (i + 1)·d_k of all three, "
    "with d_k = d / h. Each looks for itself. What they bring home stands side by side, times W_o.",
    usual=(
        (lambda answer: _asked(answer) is None, _DOTS),
        (_gives(heads=1), "That is one head as wide as the model. Cut the columns into h."),
        (_gives(root=_WIDE), "You divided by √d. A head's products are d_k = d / h long."),
        (_gives(root=1), "You forgot to divide by √d_k."),
        (_gives(join=False), "Side by side is right. W_o is missing."),
        (
            _gives(every=True),
            "Your heads take every h-th column. The package, like the paper, gives each head a "
            "block: W_i^Q are columns that stand together.",
        ),
    ),
)


# ------------------------------------------------------------------ 5: who looks ahead?

Decoder = Callable[[Tensor], Tensor]


def _attend(x: Tensor, keep: Tensor | None, *, after: bool = False) -> Tensor:
    scores = x @ x.T / math.sqrt(x.shape[-1])
    if keep is not None and not after:
        scores = scores.masked_fill(~keep, float("-inf"))
    weights = scores.softmax(-1)
    if keep is not None and after:
        weights = weights * keep
    return x + weights @ x


def _suspects() -> list[tuple[str, Decoder, bool]]:
    """Name, decoder, and whether some word in it can tell what stands behind it."""

    def twice(x: Tensor, first: Tensor | None, second: Tensor | None) -> Tensor:
        return _attend(_attend(x, first), second)

    def seen(x: Tensor, diagonal: int) -> Tensor:
        return torch.ones(len(x), len(x), dtype=torch.bool).tril(diagonal)

    return [
        ("right", lambda x: twice(x, causal(len(x)), causal(len(x))), False),
        ("no mask", lambda x: twice(x, None, None), True),
        ("one too far", lambda x: _attend(x, seen(x, 1)), True),
        ("second layer only", lambda x: twice(x, None, causal(len(x))), True),
        ("masked afterwards", lambda x: _attend(x, causal(len(x)), after=True), True),
        ("right, and blind to itself", lambda x: x.cumsum(0) - x, False),
    ]


def _judge(answer: Any) -> list[tuple[str, bool, bool]]:
    return [(name, bool(answer(decoder)), leaks) for name, decoder, leaks in _suspects()]


def _fooled_by(*names: str) -> Callable[[Any], bool]:
    return lambda answer: any(
        name in names and given != leaks for name, given, leaks in _judge(answer)
    )


looks_ahead = Exercise(
    right=lambda answer: all(given == leaks for _, given, leaks in _judge(answer)),
    praise="Six of six. The test knows nothing of masks, so it works on anybody's decoder.",
    otherwise="Draw some vectors. Change all that stand behind word t, and see whether what comes "
    "out at 0 to t moved. Do so for each t.",
    usual=(
        (lambda answer: answer(_suspects()[0][1]) is None, _DOTS),
        (
            lambda answer: len({given for _, given, _ in _judge(answer)}) == 1,
            "You say the same of all six.",
        ),
        (
            lambda answer: all(given != leaks for _, given, leaks in _judge(answer)),
            "The other way round: True is for those who peep.",
        ),
        (
            _fooled_by("right", "right, and blind to itself"),
            "You accuse one that does not look ahead. A word may see itself; change only what "
            "stands behind it.",
        ),
        (
            _fooled_by("one too far"),
            "One of them sees one word too many, and only one. Change the very next word, too.",
        ),
        (
            _fooled_by("second layer only"),
            "In one of them the second layer is masked and the first is not. What the first has "
            "seen is already in the vectors. Look at what comes out of all layers.",
        ),
        (
            _fooled_by("masked afterwards"),
            "In one of them weights are struck out after the softmax. Words behind add nothing "
            "then, but they have taken their share: what comes out still moves.",
        ),
    ),
)
