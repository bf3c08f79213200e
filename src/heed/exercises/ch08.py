"""Exercises of chapter 8, the Neural Turing Machine."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.book import Exercise
from heed.layers.addressing import Aim, shift
from heed.models.ntm import Commands, MemoryState, operate

_DOTS = "It returns None so far. Replace the dots with your answer, then run the cell again."


# ------------------------------------------------------------------ 1: half a write, with a pencil

ROW, WEIGHT, ERASE, ADD = (0.5, -1.0), 0.5, (1.0, 0.0), (2.0, 2.0)


def _near(wanted: Sequence[float | int]) -> Callable[[Any], bool]:
    expected = torch.tensor(wanted, dtype=torch.float64)

    def test(answer: Any) -> bool:
        given = torch.as_tensor(answer, dtype=torch.float64)
        return given.shape == expected.shape and bool((given - expected).abs().max() <= 0.006)

    return test


def _written(
    *, rub: float | int = WEIGHT, put: float | int = WEIGHT, added_first: bool = False
) -> list[float]:
    """The row after the write; the options are what goes wrong."""
    kept = [1 - rub * e for e in ERASE]
    if added_first:
        return [(m + put * a) * k for m, a, k in zip(ROW, ADD, kept, strict=True)]
    return [m * k + put * a for m, a, k in zip(ROW, ADD, kept, strict=True)]


half_written = Exercise(
    right=_near(_written()),
    praise="Half rubbed out where e is 1, untouched where e is 0, and half of a put on top.",
    otherwise="Number by number: m times (1 − w e), then plus w a.",
    usual=(
        (_near(_written(rub=1)), "You rubbed all of it out. The head is only half there: w = 0.5."),
        (_near(_written(put=1)), "You added all of a. The head is only half there: w = 0.5."),
        (_near(_written(rub=1, put=1)), "That is a head with w = 1. This one has w = 0.5."),
        (_near(_written(rub=0)), "You added, and rubbed nothing out. e is 1 in the first place."),
        (
            _near(_written(added_first=True)),
            "You added first and rubbed out what you had just added. Erase, then add.",
        ),
    ),
)

# ------------------------------------------------------------------ 2: the ring in plain torch

_RING = torch.randn(7, generator=torch.Generator().manual_seed(8)).softmax(dim=0).double()
_MOVES = tuple(
    torch.tensor(each, dtype=torch.float64)
    for each in ([0.1, 0.2, 0.7], [0.05, 0.1, 0.15, 0.3, 0.4], [0.0, 0.0, 1.0])
)


def _turned(w: Tensor, s: Tensor) -> Tensor:
    return shift(w[None, None], s[None, None])[0, 0]


def _off_the_edge(w: Tensor, s: Tensor) -> Tensor:
    """As if the slots stood in a row: what leaves at an end is lost."""
    reach = len(s) // 2
    wide = torch.cat([w.new_zeros(reach), w, w.new_zeros(reach)])
    return _turned(wide, s)[reach:-reach]


def _from_the_first(w: Tensor, s: Tensor) -> Tensor:
    """As if s[0] were s(0)."""
    return sum((share * w.roll(by) for by, share in enumerate(s)), torch.zeros_like(w))


def _does(wanted: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any], bool]:
    def test(answer: Any) -> bool:
        for s in _MOVES:
            given = answer(_RING.clone(), s.clone())
            if given is None or not torch.allclose(
                torch.as_tensor(given, dtype=torch.float64), wanted(_RING, s), atol=1e-6
            ):
                return False
        return True

    return test


round_the_ring = Exercise(
    right=_does(_turned),
    praise="Each share of each weight goes its own way, and whoever leaves at one end comes in at "
    "the other.",
    otherwise="For each slot i: the sum over all slots j of w(j) times s(i − j), with i − j "
    "counted round a ring of N. s(0) is the middle entry.",
    usual=(
        (lambda answer: answer(_RING, _MOVES[0]) is None, _DOTS),
        (
            _does(lambda w, s: _turned(w, s.flip(0))),
            "You turned the ring the other way. s(1), the last of three entries, moves a weight "
            "one slot on. (A convolution in the sense of neural networks does what you did.)",
        ),
        (_does(_off_the_edge), "Your slots stand in a row and fall off its ends. It is a ring."),
        (_does(_from_the_first), "You took s[0] for s(0). The middle entry is the one that stays."),
    ),
)

# ------------------------------------------------------------------ 3: more vectors than slots

VECTORS, SLOTS = 130, 128
_LOST = VECTORS - SLOTS


def _set(wanted: Iterable[int]) -> Callable[[Any], bool]:
    return lambda answer: {int(each) for each in answer} == set(wanted)


full = Exercise(
    right=_set(range(_LOST)),
    praise="What came last lies where the first ones lay. The reader meets it there twice: at the "
    "beginning, where it is wrong, and after a whole round, where it is right.",
    otherwise=f"After {SLOTS} vectors the writer is back on slot 0 and writes over it. What does "
    f"the reader find on slot 0 in step 0? And in step {SLOTS}?",
    usual=(
        (
            _set(range(SLOTS, VECTORS)),
            "Those two were written, over the first ones. And the reader goes round the ring, too.",
        ),
        (
            _set([*range(_LOST), *range(SLOTS, VECTORS)]),
            f"Half of that. In step {SLOTS} the reader is on slot 0 again. What lies there?",
        ),
        (
            _set(range(1, _LOST + 1)),
            "These are counted from 1. Our steps count from 0.",
        ),
        (_set(range(VECTORS)), "Most slots were written once only. Those are as they should be."),
        (_set([]), "Two vectors were written over. Somebody will ask for them."),
    ),
)

# ------------------------------------------------------------------ 4: back to front

Move = tuple[bool, int]


def _aim(move: int, *, key: Tensor, jump: bool = False) -> Aim:
    one = torch.ones(1, 1)
    shifts = F.one_hot(torch.tensor([[move + 1]]), 3).float()
    return Aim(key[None, None], 1e4 * one, float(jump) * one, shifts, one)


def _follow(moves: Sequence[Move], vectors: Tensor, slots: int = 16) -> Tensor:
    """Write the vectors from slot 0 on, the reader going along; then read as the moves say."""
    count, wide = vectors.shape
    mark = F.one_hot(torch.tensor(wide), wide + 1).float()
    nothing = torch.zeros(wide + 1)
    here = F.one_hot(torch.zeros(1, 1, dtype=torch.long), slots).float()
    state = MemoryState(torch.zeros(1, slots, wide + 1), nothing[None, None], here, here)

    def told(move: int, jump: bool, add: Tensor, erase: float) -> Commands:
        return Commands(
            _aim(move, key=mark, jump=jump),
            _aim(0 if erase == 0 else move, key=nothing),
            torch.full((1, 1, wide + 1), erase),
            add[None, None],
        )

    for step, vector in enumerate(vectors):
        first = torch.tensor([float(step == 0)])
        add = torch.cat([vector, first])
        state = operate(state, told(int(step > 0), False, add, 1.0), "write_first")
    said = []
    for jump, move in list(moves)[:count]:
        state = operate(state, told(int(move), bool(jump), nothing, 0.0), "write_first")
        said.append(state.reads[0, 0, :wide] > 0.5)
    return torch.stack(said).float()


_COUNTS = (1, 2, 5)


def _vectors(count: int) -> Tensor:
    """All different, so that a wrong slot shows."""
    return F.one_hot(torch.arange(count), 8).float()


def _says(wanted: Callable[[Tensor], Tensor], counts: Sequence[int] = _COUNTS):
    def test(answer: Any) -> bool:
        for count in counts:
            moves = answer(count)
            if moves is None or len(moves) != count or any(abs(int(move)) > 1 for _, move in moves):
                return False
            if not torch.equal(_follow(moves, _vectors(count)), wanted(_vectors(count))):
                return False
        return True

    return test


def _one_too_far(vectors: Tensor) -> Tensor:
    """As if the first step had gone back already."""
    return torch.cat([vectors.flip(0)[1:], torch.zeros_like(vectors[:1])])


backwards = Exercise(
    right=_says(lambda vectors: vectors.flip(0)),
    praise="It stays once, for it is on the last vector already. Then it goes back. Not one key.",
    otherwise="After writing, the reader is on the last vector. Each step first moves, then reads. "
    "A jump goes to slot 0, and the move comes after the jump.",
    usual=(
        (lambda answer: answer(2) is None, _DOTS),
        (
            lambda answer: len(list(answer(5))) != 5,
            "There must be as many moves as vectors.",
        ),
        (
            lambda answer: any(abs(int(move)) > 1 for _, move in answer(5)),
            "A head goes one slot a step at most: −1, 0 or 1.",
        ),
        (_says(lambda vectors: vectors, (2, 5)), "That says them in the order they came in."),
        (
            _says(_one_too_far, (2, 5)),
            "You moved before the first look. The head is on the last vector already.",
        ),
    ),
)

# ------------------------------------------------------------------ 5: which order?

Machine = Callable[[MemoryState, Commands], MemoryState]


def _swapped(state: MemoryState, commands: Commands) -> MemoryState:
    """Reads what it wrote, but adds before it erases."""
    only_add = Commands(
        commands.reading, commands.writing, torch.zeros_like(commands.erase), commands.add
    )
    only_erase = Commands(
        commands.reading, _stay(commands.writing), commands.erase, torch.zeros_like(commands.add)
    )
    between = operate(state, only_add, "write_first")
    held = MemoryState(between.memory, state.reads, state.reading, between.writing)
    return operate(held, only_erase, "write_first")


def _stay(aim: Aim) -> Aim:
    middle = torch.zeros_like(aim.shifts)
    middle[..., aim.shifts.shape[-1] // 2] = 1.0
    still = torch.zeros_like(aim.gate)
    return Aim(aim.key, aim.strength, still, middle, torch.ones_like(aim.focus))


def _suspects() -> list[tuple[str, Machine, bool]]:
    """Name, machine, and whether it reads what it has just written."""
    return [
        ("writes first", lambda s, c: operate(s, c, "write_first"), True),
        ("reads first", lambda s, c: operate(s, c, "read_first"), False),
        ("writes first, but adds before it erases", _swapped, True),
        (
            "reads first, and keeps nothing",
            lambda s, c: MemoryState(
                s.memory, *vars_of(operate(s, c, "read_first"), "reads", "reading", "writing")
            ),
            False,
        ),
    ]


def vars_of(state: MemoryState, *names: str) -> list[Tensor]:
    """Some fields of a state."""
    return [getattr(state, name) for name in names]


def _judge(answer: Any) -> list[tuple[str, bool, bool]]:
    return [(name, bool(answer(machine)), fresh) for name, machine, fresh in _suspects()]


def _fooled_by(word: str) -> Callable[[Any], bool]:
    return lambda answer: any(
        word in name and given != fresh for name, given, fresh in _judge(answer)
    )


reads_its_own_writing = Exercise(
    right=lambda answer: all(given == fresh for _, given, fresh in _judge(answer)),
    praise="One step, both heads on one slot, nothing erased: only the order can tell.",
    otherwise="Start from an empty memory with both heads on slot 0. Add something, erase nothing, "
    "and look at the reads after that one step.",
    usual=(
        (lambda answer: answer(_suspects()[0][1]) is None, _DOTS),
        (
            lambda answer: len({given for _, given, _ in _judge(answer)}) == 1,
            "You say the same of all of them. Look after the first step; after the second both "
            "orders have read it.",
        ),
        (
            _fooled_by("keeps nothing"),
            "You were taken in by the one that keeps nothing. Do not compare with the memory "
            "after the step. Compare with what was added.",
        ),
        (
            _fooled_by("erases"),
            "You erased while you added. One of them does that in the wrong order, and rubs out "
            "what it has just written. Leave e at 0: that is another fault, and not the question.",
        ),
    ),
)
