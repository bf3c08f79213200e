"""What only chapters use: models by budget, listings of the code that runs, exercises that mark
themselves."""

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from heed.experiments.table import Experiment, find
from heed.experiments.tasks import Kind, Task, Trained
from heed.experiments.trained import load

_REPOSITORY = Path(__file__).resolve().parents[2]
WIDTH = 72
"""Characters that a page shows of an output before it has to be moved."""


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
        return fill(("Right. " if self.right else "Not yet. ") + self.message, WIDTH)


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
                    return Verdict(
                        False, f"Your function raised {type(problem).__name__}: {problem}"
                    )
                continue
            if hit:
                return Verdict(not hint, hint or self.praise)
        return Verdict(False, self.otherwise)


# ------------------------------------------------------------------------------------ budgets

BUDGETS = ("shipped", "minutes", "full")
MINUTES_STEPS = 800


@cache
def trained(name: str, budget: str = "shipped", seed: int = 0) -> Trained:
    """The model of an experiment, as the parameters at the top of a chapter want it.

    shipped: the weights in ``data/trained``; ``seed`` plays no part
    minutes: a small training here and now, of this one seed, on the easy part of the data (short
        sentences, say). Expect a few minutes, and a model that has understood what to do but
        makes many mistakes.
    full: the run behind the shipped weights, of this one seed: hours. It lies in ``runs/`` and
        goes on where it stopped.

    The card of the last two knows one seed, so it shows no spread.
    """
    if budget not in BUDGETS:
        raise ValueError(f"budget={budget!r} is none of {', '.join(BUDGETS)}")
    if budget == "shipped":
        return load(name)
    # Late: a chapter as it is shipped trains nothing, and a change there does not make it stale.
    from heed.experiments import runner

    experiment = replace(find(name), seeds=(seed,))
    if budget == "full":
        return _run(experiment, _task(experiment), runner.RUNS)
    folder = tempfile.TemporaryDirectory(prefix="heed-")
    _KEPT.append(folder)
    experiment = runner.with_steps(experiment, min(MINUTES_STEPS, experiment.train.steps))
    return _run(experiment, _task(experiment).small(), Path(folder.name))


_KEPT: list[tempfile.TemporaryDirectory] = []
"""Folders of small trainings; they go when Python does."""


def _run(experiment: Experiment, task: Task, runs: Path) -> Trained:
    from heed.experiments.runner import publish, train_one

    (seed,) = experiment.seeds
    train_one(experiment, seed, task, runs=runs, resume=True)
    folder = runs / experiment.name / f"card-{seed}"
    publish(experiment, runs=runs, folder=folder)
    return load(experiment, folder)


def _task(experiment: Experiment) -> Task:
    return _loaded(experiment.task, experiment.data)


@cache
def _loaded(kind: Kind, data: Any) -> Task:  # rows that share their data load them once
    return kind.load(data, {})
