"""What only chapters use: listings of the code that runs, and exercises that mark themselves."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).resolve().parents[2]


class Source:
    """The text of a class or function, shown as a highlighted listing."""

    def __init__(self, thing: Any) -> None:
        self.code = inspect.getsource(thing)
        path = Path(inspect.getsourcefile(thing) or "").resolve()
        inside = path.is_relative_to(_REPOSITORY)
        self.where = path.relative_to(_REPOSITORY).as_posix() if inside else path.name

    def __repr__(self) -> str:
        return f"Source({self.where})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {
            "text/plain": self.code,
            "text/markdown": f"```python\n{self.code}```\n\n`{self.where}`",
        }


def show_source(thing: Any) -> Source:
    """Put the implementation that this chapter runs in front of the reader."""
    return Source(thing)


@dataclass(frozen=True)
class Verdict:
    """What a check says. Falsy unless the answer is right."""

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return ("Right. " if self.right else "Not yet. ") + self.message


@dataclass(frozen=True)
class Exercise:
    """A question that marks its own answers.

    ``right`` decides; ``praise`` is said when it is. ``usual`` lists wrong answers that readers
    give, each with a hint: a test of the answer, and the sentence that leads on. ``otherwise`` is
    said to every other wrong answer.
    """

    right: Callable[[Any], bool]
    praise: str
    otherwise: str
    usual: tuple[tuple[Callable[[Any], bool], str], ...] = ()

    def check(self, answer: Any) -> Verdict:
        """Mark an answer. An answer that breaks the check is a wrong answer, not a traceback."""
        if answer is None or answer is ...:
            return Verdict(False, "Replace the dots with your answer, then run the cell again.")
        for test, hint in ((self.right, ""), *self.usual):
            try:
                hit = bool(test(answer))
            except Exception as problem:
                if test is self.right and callable(answer):
                    return Verdict(False, f"Your function raised {type(problem).__name__}: {problem}")
                continue
            if hit:
                return Verdict(not hint, hint or self.praise)
        return Verdict(False, self.otherwise)
