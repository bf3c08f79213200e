"""From a row of the table to weights on disk: train a seed, go on with one, measure, publish.

A run lives in ``runs/NAME/seed-S/`` (never committed): ``state.safetensors`` while it goes, then
``model.safetensors``, the task's files, ``maps.npz`` and ``record.json``. ``publish`` turns the
records of all seeds into one card and ships the weights of the first.
"""

import json
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from tqdm import tqdm

from heed.experiments.cards import (
    Card,
    CardError,
    first_difference,
    gather,
    jsonable,
    of_one,
)
from heed.experiments.checkpoint import (
    checked,
    load_weights,
    part,
    read_state,
    restore,
    save_state,
    weights,
)
from heed.experiments.files import alone_in, sha256, write_by_rename
from heed.experiments.maps import Bytes, moments, pack
from heed.experiments.parallel import Processes
from heed.experiments.table import REPOSITORY, Experiment
from heed.experiments.tasks import Task
from heed.training.loop import Report, TrainConfig, adam, computed_in, train

RUNS = REPOSITORY / "runs"
STATE = "state.safetensors"
SAVE_EVERY = 60.0
"""Seconds between two saved states: what a kill -9 may cost."""
VALIDATIONS = 40
"""Points of a learning curve, but for short runs: ten steps lie between two at least."""
MOMENTS = 30


class RunError(RuntimeError):
    """A run that cannot begin, go on or be published as asked."""


@runtime_checkable
class Teaches(Protocol):
    """A task whose models are not taught by one loss: two nets against each other, say. It makes
    the optimiser and takes the steps; everything around a step stays the runner's.

    What it draws while it teaches must come from its batches or from PyTorch's own random numbers,
    and what it keeps must be in the model or in the optimiser, or no run could go on.
    """

    def optimiser(self, model: Any, train: TrainConfig) -> torch.optim.Optimizer:
        """The one that holds all that the steps remember."""
        ...

    def teach(
        self,
        model: Any,
        batches: Iterable[Any],
        train: TrainConfig,
        *,
        optimiser: torch.optim.Optimizer,
        done: int,
    ) -> Iterator[Report]:
        """As ``heed.training.loop.train`` does it."""
        ...


def typed(option: str) -> str:
    """An option as whoever started us has to type it: make takes it as ``ARGS=--resume``."""
    return f"ARGS={option}" if os.environ.get("HEED_MAKE") else option


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came, and what was reached is safe. ``folder`` holds it."""

    def __init__(self, folder: Path, step: int, steps: int) -> None:
        super().__init__(f"saved step {step:,} of {steps:,} in {folder}")
        self.folder = folder


@dataclass
class Progress:
    """What a run has seen so far; travels in the header of its state."""

    recipe: dict[str, Any]
    seed: int
    step: int = 0
    seconds: float = 0.0
    curve: list[dict[str, int | float]] = field(default_factory=list)
    said: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One seed, measured. Fields as on a ``Card``."""

    experiment: str
    recipe: dict[str, Any]
    config: dict[str, Any]
    credits: list[str]
    licence: str
    metrics: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    step: int
    steps: int
    seconds: float
    parameters: int
    dtype: str
    precision: str
    threads: int
    processes: int
    versions: dict[str, str]
    files: dict[str, str]
    curve: list[dict[str, int | float]]
    inputs: list[dict[str, Any]]
    moments: list[dict[str, Any]]

    @property
    def complete(self) -> bool:
        return self.step == self.steps

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """What ``finish`` left in the folder."""
        path = folder / "record.json"
        try:
            return cls(**json.loads(path.read_bytes()))
        except (json.JSONDecodeError, UnicodeDecodeError, TypeError) as fault:
            raise CardError(f"{path} is damaged: {fault}") from None

    @classmethod
    def on(cls, card: Card, seed: int, recipe: Mapping[str, Any]) -> "Record":
        """A seed as a card tells of it. What a card says of the shipped seed only (files, seconds,
        what was watched) is that of the shipped one."""
        told = {field.name for field in fields(cls)} & {field.name for field in fields(card)}
        curve = card.curves[str(seed)]
        own = {
            "recipe": {
                "model": {name: card.config.get(name) for name in recipe["model"]},
                "data": card.data,
                "train": card.train,
            },
            "metrics": of_one(card.metrics, card.seeds.index(seed)),
            "seed": seed,
            "step": int(curve[-1]["step"]),
            "steps": int(card.train["steps"]),
            "processes": 1,
            "curve": curve,
        }
        return cls(**{name: getattr(card, name) for name in told} | own)


class Run:
    """One seed of one experiment, in its folder: model, optimiser and progress together."""

    def __init__(
        self,
        experiment: Experiment,
        seed: int,
        task: Task,
        *,
        runs: Path = RUNS,
        processes: Processes | None = None,
    ) -> None:
        many = 1 if processes is None else processes.world
        if isinstance(task, Teaches) and many > 1:
            raise RunError(f"{experiment.name} is taught in one process, not in {many}")
        self.experiment, self.seed = experiment, seed
        self.folder = runs / experiment.name / f"seed-{seed}"
        self.task = task
        self.processes = processes or Processes()
        torch.manual_seed(seed)  # once, and before the model draws its first weights
        self.config = experiment.sized(experiment.task.read(task.files()))
        self.model: Any = experiment.build(self.config).to(self.processes.device)
        make = task.optimiser if isinstance(task, Teaches) else adam
        self.optimiser = make(self.model, experiment.train)
        self.progress = Progress(recipe=jsonable(experiment.recipe), seed=seed)
        self.maps: dict[int, list[Bytes]] = {}
        if not self.processes.first:
            torch.manual_seed(seed + 1_000_003 * self.processes.rank)  # dropout of its own

    @property
    def state(self) -> Path:
        return self.folder / STATE

    def load(self) -> None:
        """Go back to where the saved state is; ``RunError`` if it is of another recipe."""
        progress, found = read_state(self.state)
        try:
            self.progress = Progress(**progress)
        except TypeError as fault:
            raise CardError(f"{self.state} is damaged: {fault}") from None
        difference = first_difference(self.progress.recipe, jsonable(self.experiment.recipe))
        if difference:
            raise RunError(f"{self.state} is from another recipe: {difference}")
        random = torch.get_rng_state()
        restore(found, self.model, self.optimiser, where=self.state)
        if not self.processes.first:
            torch.set_rng_state(random)
        self.maps = {}
        for name, tensor in sorted(part(found, "extra.").items()):
            step, _ = name.split(".")
            self.maps.setdefault(int(step), []).append(tensor.numpy())

    def save(self) -> None:
        """Write the state, by rename."""
        extra = {
            f"{step}.{i:02d}": torch.from_numpy(table)
            for step, tables in self.maps.items()
            for i, table in enumerate(tables)
        }
        save_state(
            self.state, self.model, self.optimiser, progress=asdict(self.progress), extra=extra
        )

    def watch(self) -> None:
        """Note where the model looks and what it says at this step."""
        self.maps[self.progress.step] = self.task.maps(self.model)
        self.progress.said[str(self.progress.step)] = self.task.says(self.model)

    def steps(
        self, *, show: bool = True, save_every: float = SAVE_EVERY, seeds: Sequence[int] = ()
    ) -> Iterator[int]:
        """Train to the end, saving and watching on the way; yields after each step.

        ``seeds`` are all those of which this one is shown to be a part. Ctrl-C is heeded between
        two steps, never within one: it saves and raises ``Interrupted``.
        """
        plan, progress, first = self.experiment.train, self.progress, self.processes.first
        watched = set(moments(plan.steps, count=MOMENTS))
        often = max(1, min(VALIDATIONS, plan.steps // 10))
        validated = {round(plan.steps * k / often) for k in range(1, often + 1)}
        stream = self.task.stream(
            plan, seed=self.seed, rank=self.processes.rank, world=self.processes.world
        )
        reports = self._reports(stream.starting_after(progress.step))
        if first:
            self.save()  # a folder that cannot be written is found out now, not in a minute
            if not progress.step:
                self.watch()
        started, before, began = progress.step, progress.seconds, time.monotonic()
        saved, recent, shown = began, [], {}
        place, many = place_among(self.seed, seeds)
        among = f" ({place} of {many})" if many > 1 else ""
        bar = tqdm(
            total=plan.steps,
            initial=progress.step,
            desc=f"{self.experiment.name} seed {self.seed}{among}",
            disable=not (show and first),
            unit="step",
            mininterval=1.0 if sys.stderr.isatty() else 30.0,  # a log file is read later
            smoothing=0.05,
        )
        with bar, interrupt_between() as asked:
            for report in reports:
                progress.step = report.step
                progress.seconds = before + time.monotonic() - began
                recent.append(report.loss)
                bar.update()
                if report.step % 10 == 0 and recent:
                    shown["loss"] = f"{sum(recent[-100:]) / len(recent[-100:]):.3f}"
                    if many > place:
                        pace = (time.monotonic() - began) / (report.step - started)
                        left = plan.steps - report.step + (many - place) * plan.steps
                        shown["all seeds"] = f"{in_words(left * pace)} left"
                    bar.set_postfix(shown, refresh=False)
                if first and report.step in watched:
                    self.watch()
                if first and report.step in validated:
                    valid_loss = self.task.validate(self.model)
                    progress.curve.append(
                        {
                            "step": report.step,
                            "loss": round(sum(recent) / len(recent), 4),
                            "valid_loss": round(valid_loss, 4),
                            "lr": report.lr,
                            "seconds": round(progress.seconds, 1),
                        }
                    )
                    recent = []
                    shown["valid"] = f"{valid_loss:.3f}"
                if first and (asked or time.monotonic() - saved >= save_every):
                    self.save()
                    saved = time.monotonic()
                if asked:
                    raise Interrupted(self.folder, report.step, plan.steps)
                yield report.step
            if first:
                self.save()

    def _reports(self, batches: Iterator[Any]) -> Iterator[Report]:
        """The steps from here on."""
        plan, done = self.experiment.train, self.progress.step
        if isinstance(self.task, Teaches):
            return self.task.teach(self.model, batches, plan, optimiser=self.optimiser, done=done)
        model = self.processes.wrap(self.model)
        return train(model, batches, self._objective, plan, optimiser=self.optimiser, done=done)

    def _objective(self, model: nn.Module, batch: Any) -> Tensor:
        loss = self.task.loss(model, batch, self.experiment.train)
        return self.processes.share(loss, self.task.count(batch))

    def finish(self) -> Record:
        """Measure what was reached and write it down: weights, the task's files, maps, record.

        The weights are rounded to what is stored before they are measured, so that every number on
        the card belongs to the very file beside it.
        """
        half = self.experiment.half
        content = {
            "model.safetensors": weights(self.model, half=half),
            **self.task.files(),
        }
        if any(self.maps.values()):
            content["maps.npz"] = pack(self.maps)
        load_weights(self.model, content["model.safetensors"], where="the rounded model")
        metrics, settings = self.task.evaluate(self.model)
        progress = self.progress
        record = Record(
            experiment=self.experiment.name,
            recipe=progress.recipe,
            config=asdict(self.config),
            credits=list(self.task.credits),
            licence=self.task.licence,
            metrics=metrics,
            settings=settings,
            seed=self.seed,
            step=progress.step,
            steps=self.experiment.train.steps,
            seconds=round(progress.seconds, 1),
            parameters=sum(p.numel() for p in self.model.parameters()),
            dtype="float16" if half else "float32",
            precision=computed_in(self.experiment.train.precision, self.processes.device),
            threads=torch.get_num_threads(),
            processes=self.processes.world,
            versions=versions(self.processes.device),
            files={name: sha256(each) for name, each in content.items()},
            curve=progress.curve,
            inputs=self.task.inputs(),
            moments=[{"step": int(step), "said": said} for step, said in progress.said.items()],
        )
        for name, each in content.items():
            write_by_rename(self.folder / name, each)
        text = json.dumps(asdict(record), indent=1, ensure_ascii=False)
        write_by_rename(self.folder / "record.json", text.encode())
        return record


def train_one(
    experiment: Experiment,
    seed: int,
    task: Task,
    *,
    runs: Path = RUNS,
    resume: bool = False,
    overwrite: bool = False,
    show: bool = True,
    save_every: float = SAVE_EVERY,
    processes: Processes | None = None,
    seeds: Sequence[int] = (),
) -> Record | None:
    """Train one seed to the end and measure it; ``seeds`` are all that are to be trained.

    A folder that holds a run already is not touched, unless ``resume`` goes on with it or
    ``overwrite`` begins anew. Only the first of several processes measures and gets a ``Record``.
    """
    run = Run(experiment, seed, task, runs=runs, processes=processes)
    with alone_in(run.folder) if run.processes.first else nullcontext():
        refuse_a_run(run.folder, resume=resume, overwrite=overwrite)
        if run.state.exists() and resume:
            run.load()
        run.processes.wait()  # nobody writes before everybody has read
        for _ in run.steps(show=show, save_every=save_every, seeds=seeds):
            pass
        if show and run.processes.first:
            print(f"measuring seed {seed} on the test sentences …", file=sys.stderr, flush=True)
        return run.finish() if run.processes.first else None


def refuse_a_run(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """``RunError`` if the folder holds a run and nobody said what is to become of it."""
    if (folder / STATE).exists() and not resume and not overwrite:
        raise RunError(
            f"{folder} holds a run already: {typed('--resume')} goes on with it, "
            f"{typed('--overwrite')} begins anew"
        )


def publish(
    experiment: Experiment,
    *,
    runs: Path = RUNS,
    folder: Path | None = None,
    task: Task | None = None,
    join: bool = False,
) -> Card:
    """Make one card of all finished seeds and ship the weights of the first.

    With a ``task``, seeds that are still on their way are measured as far as they are; the card
    then says that it is not complete. With ``join``, seeds that the card in ``folder`` has already,
    and that are not in ``runs``, stay on it: seeds may be trained on several machines.
    """
    target = folder or experiment.folder
    old = Card.read(target) if join else None
    records: list[Record] = []
    faults: list[str] = []
    for seed in experiment.seeds:
        place = runs / experiment.name / f"seed-{seed}"
        record = Record.read(place) if (place / "record.json").exists() else None
        if (
            (record is None or not record.complete)
            and task is not None
            and (place / STATE).exists()
        ):
            run = Run(experiment, seed, task, runs=runs)
            run.load()
            record = run.finish()
        if record is None and old is not None and seed in old.seeds:
            record = Record.on(old, seed, experiment.recipe)
        if record is None:
            faults.append(f"seed {seed} is not finished")
            continue
        difference = first_difference(record.recipe, jsonable(experiment.recipe))
        if difference:
            faults.append(f"seed {seed} is from another recipe ({difference})")
        else:
            records.append(record)
    if not records:
        raise RunError(f"nothing to publish of {experiment.name}: {'; '.join(faults)}")
    shipped = records[0]
    source = runs / experiment.name / f"seed-{shipped.seed}"
    if not (source / "record.json").exists():
        source = target
    card = Card(
        experiment=experiment.name,
        chapter=experiment.chapter,
        title=experiment.title,
        config=shipped.config,
        data=shipped.recipe["data"],
        train=shipped.recipe["train"],
        credits=shipped.credits,
        licence=shipped.licence,
        metrics=rounded(gather([record.metrics for record in records])),
        settings=shipped.settings,
        claims=[str(claim) for claim in experiment.claims],
        seed=shipped.seed,
        seeds=[record.seed for record in records],
        steps=shipped.step,
        seconds=shipped.seconds,
        complete=not faults and all(record.complete for record in records),
        parameters=shipped.parameters,
        dtype=shipped.dtype,
        precision=shipped.precision,
        threads=shipped.threads,
        versions=shipped.versions,
        files=shipped.files,
        curves={str(record.seed): record.curve for record in records},
        inputs=shipped.inputs,
        moments=shipped.moments,
    )
    for name in shipped.files:
        write_by_rename(target / name, checked(source, name, shipped.files))
    card.write(target)
    return card


def with_steps(experiment: Experiment, steps: int | None) -> Experiment:
    """The experiment on another budget; its schedule shrinks with it."""
    if steps is None:
        return experiment
    warmup = min(experiment.train.warmup, steps // 4)
    return replace(experiment, train=replace(experiment.train, steps=steps, warmup=warmup))


@contextmanager
def interrupt_between() -> Iterator[list[int]]:
    """Inside, the first Ctrl-C (or SIGTERM) only makes the list true; the second one interrupts."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield asked  # signals go to the main thread only
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def place_among(seed: int, seeds: Sequence[int]) -> tuple[int, int]:
    """Which of the seeds this one is, and how many there are: (2, 3)."""
    return (seeds.index(seed) + 1, len(seeds)) if seed in seeds else (1, 1)


def in_words(seconds: float) -> str:
    """A duration as one says it: 40 s, 22 min, 3.5 h."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


def versions(device: torch.device | None = None) -> dict[str, str]:
    """What the numbers were made with, and the GPU if there was one."""
    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "heed": version("attention-book"),
        "sacrebleu": version("sacrebleu"),
    }
    if device is not None and device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def rounded(value: Any, digits: int = 6) -> Any:
    """No more digits than are worth a line in a diff."""
    if isinstance(value, Mapping):
        return {name: rounded(each, digits) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each, digits) for each in value]
    return round(value, digits) if isinstance(value, float) else value
