"""The command line: ``python -m heed`` list, train, evaluate, publish, export, fetch, serve."""

import errno
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="heed",
    help="Train, measure and serve the models of *Attention, from the bottleneck up*.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="an experiment; see `list`")]
Seeds = Annotated[
    list[int] | None, typer.Option("--seed", help="a seed; may be given several times")
]
Runs = Annotated[Path | None, typer.Option("--runs", help="folder for work in progress")]
Tatoeba = Annotated[
    Path | None,
    typer.Option("--tatoeba", help="folder or file of Tatoeba's sentences (or HEED_TATOEBA)"),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="no progress bar")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="threads of this process")]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu or cuda; without it, a GPU if there is one")
]

WIDE = 80
"""Columns that are never exceeded where we set the line breaks."""


@contextmanager
def one_clear_line() -> Iterator[None]:
    """What can go wrong without a bug in the code ends in one line on stderr and exit code 2."""
    from heed.data.corpora import CorpusError
    from heed.experiments.cards import CardError
    from heed.experiments.files import InUse
    from heed.experiments.graphs import ExportError
    from heed.experiments.parallel import NoDevice
    from heed.experiments.runner import Interrupted, RunError, typed
    from heed.experiments.table import UnknownExperiment
    from heed.training.loop import Diverged

    try:
        yield
    except (
        CardError,
        CorpusError,
        Diverged,
        ExportError,
        InUse,
        NoDevice,
        RunError,
        UnknownExperiment,
    ) as fault:
        complain(str(fault.args[0] if fault.args else fault))
    except OSError as fault:
        what = os.strerror(fault.errno) if fault.errno else str(fault)
        where = f"{fault.filename}: " if fault.filename else ""
        hint = "; nothing was half-written" if fault.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        complain(f"{where}{what}{hint}")
    except Interrupted as stop:
        typer.echo(f"\n{stop}. To go on: the same command with {typed('--resume')}", err=True)
        raise typer.Exit(130) from None
    except KeyboardInterrupt:
        typer.echo("\ninterrupted", err=True)
        raise typer.Exit(130) from None


def places(tatoeba: Path | None) -> dict[str, Path]:
    """Where corpora lie, as far as the command line says it."""
    return {} if tatoeba is None else {"tatoeba": tatoeba}


def note(line: str) -> None:
    """What is going on, for who waits: on stderr, so that numbers can be sent to a file alone."""
    typer.echo("\n".join(textwrap.wrap(line, WIDE, subsequent_indent="  ")), err=True)


def complain(line: str) -> None:
    """One line, exit code 2."""
    typer.echo(f"heed: {' '.join(line.split())}", err=True)
    raise typer.Exit(2)


@app.command("list")
def list_experiments() -> None:
    """Every experiment by chapter: main number, data, whether its weights are here."""
    from heed.experiments.table import EXPERIMENTS

    wide = max(map(len, EXPERIMENTS)) + 2
    typer.echo(f"{'experiment':{wide + 2}}{'main number':16}{'on':14}weights")
    for chapter in sorted({experiment.chapter for experiment in EXPERIMENTS.values()}):
        typer.echo(f"\n{chapter}")
        for experiment in EXPERIMENTS.values():
            if experiment.chapter != chapter:
                continue
            number, weights, fault = standing(experiment)
            data = data_name(experiment.data)
            typer.echo(f"  {experiment.name:{wide}}{number:16}{data:14}{weights}")
            for line in textwrap.wrap(fault or experiment.title, WIDE - 4):
                typer.echo(f"    {line}")
    typer.echo(LEGEND)


LEGEND = """
main number   the mean over the seeds, as data/trained/NAME/card.json has it
on            what it learns from and is measured on. Numbers on different data
              cannot be compared: a program makes up the grammar's sentences,
              people wrote the everyday ones (Tatoeba)
weights       3 seeds      here, in data/trained; trained three times
              none yet     to be here one day; not trained so far
              not shipped  yours to train, or only to be read"""


def standing(experiment: Any) -> tuple[str, str, str]:
    """The main number of an experiment, how its weights stand, and what is wrong with them."""
    from heed.experiments.cards import Card, CardError

    if not (experiment.folder / "card.json").exists():
        return "", "none yet" if experiment.trained else "not shipped", ""
    try:
        card = Card.read(experiment.folder)
        many = len(card.seeds)
        seeds = f"{many} seed{'' if many == 1 else 's'}{'' if card.complete else ' so far'}"
        return experiment.task.headline(card), seeds, ""
    except CardError as fault:
        return "", "damaged", str(fault)


def data_name(data: Any) -> str:
    """Data as a column says it: LargeGrammarData is "large grammar"."""
    words = re.findall(r"[A-Z][a-z0-9]*", type(data).__name__.removesuffix("Data"))
    return " ".join(words).lower()


@app.command("train")
def train_command(
    name: Name,
    seed: Seeds = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on where it stopped")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="begin anew")] = False,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="a smaller budget")] = None,
    runs: Runs = None,
    tatoeba: Tatoeba = None,
    threads: Threads = 1,
    device: Device = None,
    quiet: Quiet = False,
    save_every: Annotated[
        float, typer.Option("--save-every", min=0, help="seconds between two saved states")
    ] = 60.0,
) -> None:
    """Train one experiment, each of its seeds; `publish` then makes the card.

    In several processes, each with a GPU of its own if there are any:
    torchrun --nproc-per-node N -m heed train NAME
    """
    with one_clear_line():
        import torch

        from heed.experiments import runner
        from heed.experiments.parallel import processes
        from heed.experiments.table import find

        torch.set_num_threads(threads)
        experiment = runner.with_steps(find(name), steps)
        seeds = seed or list(experiment.seeds)
        for each in seeds:  # found out before the first one has taken its hours
            place = (runs or runner.RUNS) / name / f"seed-{each}"
            runner.refuse_a_run(place, resume=resume, overwrite=overwrite)
        with processes(device) as together:
            tell = together.first and not quiet
            if tell:
                note(outlook(experiment, seeds, runs or runner.RUNS, str(together.device)))
            task = experiment.load(places(tatoeba))
            for each in seeds:
                record = runner.train_one(
                    experiment,
                    each,
                    task,
                    runs=runs or runner.RUNS,
                    resume=resume,
                    overwrite=overwrite,
                    show=not quiet,
                    save_every=save_every,
                    processes=together,
                    seeds=seeds,
                )
                if record is not None:
                    show(f"{name} seed {each}", record.metrics)
            if tell and steps is None:
                note(f"next: {as_typed('publish', name)} (makes the card, ships the weights)")


def outlook(experiment: Any, seeds: list[int], runs: Path, device: str) -> str:
    """What a training is going to do, and how long that took where the card was made."""
    from heed.experiments.cards import Card, CardError
    from heed.experiments.runner import in_words, typed

    many = f"{len(seeds)} seeds" if len(seeds) > 1 else f"seed {seeds[0]}"
    line = f"{experiment.name}: {many}, {experiment.train.steps:,} steps"
    line += " each" if len(seeds) > 1 else ""
    try:
        card = Card.read(experiment.folder)
        each = card.seconds / card.steps * experiment.train.steps
        line += f", about {in_words(each)}" + (" a seed" if len(seeds) > 1 else "")
        line += f" and {in_words(each * len(seeds))} in all" if len(seeds) > 1 else ""
        line += " at the pace of the shipped ones (one of two cores)"
    except CardError:
        pass  # never trained yet, or damaged: whoever asks for the weights will be told
    line += f". On {device}. Works in {runs / experiment.name}; Ctrl-C saves, {typed('--resume')}"
    line += " goes on. Reading the data first"
    return line + (" …" if sys.stderr.isatty() else "; then a line of progress every 30 s …")


def as_typed(command: str, name: str) -> str:
    """A command of ours as whoever started us types such: through make, or not."""
    return (
        f"make {command} NAME={name}"
        if os.environ.get("HEED_MAKE")
        else f"python -m heed {command} {name}"
    )


@app.command()
def compare(
    names: Annotated[
        list[str] | None, typer.Argument(help='rows, as in "bahdanau_*_short"')
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="one to show; may be given several times")
    ] = None,
    against: Annotated[
        str, typer.Option("--against", help="a row that the others are judged by")
    ] = "",
    timed: Annotated[
        bool, typer.Option("--time", help="time a training step of each, here and now")
    ] = False,
    years: Annotated[
        bool, typer.Option("--years", help="the translators of all years; --time: a sentence each")
    ] = False,
) -> None:
    """The numbers on the cards of some rows side by side, and whether they differ."""
    if bool(names) == years:
        complain("give some rows, or --years" if not years else "--years has its own rows")
    with one_clear_line():
        if years:
            import torch

            from heed.experiments.years import years_table

            torch.set_num_threads(1)
            print(years_table(timed=timed))
            return
        from heed.experiments.compare import compare as side_by_side
        from heed.experiments.compare import step_times

        found = side_by_side(names or (), metric or ())
        if timed:
            import torch

            torch.set_num_threads(1)
            found = replace(found, times=step_times(list(found.cards), to=against or None))
        lines = [str(found)]
        for each in found.metrics if against else ():
            lines.append(f"\n{each}, against {against}:")
            for name, says in found.verdicts(each, against=against).items():
                lines.append(f"  {name:34} {says}")
        print("\n".join(lines))


@app.command("faithfulness")
def faithfulness_command(
    names: Annotated[list[str] | None, typer.Argument(help="translators; all of --years")] = None,
    every: Annotated[
        int, typer.Option("--every", min=1, help="remove words from one in so many sentences")
    ] = 5,
) -> None:
    """Measure over the whole test set whether attention explains, for chapter 13; minutes each."""
    with one_clear_line():
        import torch

        from heed.experiments.faithful import FILE, keep, measured
        from heed.experiments.table import find
        from heed.experiments.trained import load
        from heed.experiments.years import trained_years

        torch.set_num_threads(1)
        for name in names or list(trained_years().values()):
            trained: Any = load(name)
            if "aer" not in trained.card.metrics:
                note(f"{name} has no attention that could be changed")
                continue
            note(f"{name}: reading its data, then changing its looks …")
            task: Any = find(name).load()
            keep(name, measured(trained, task.corpus.test, every=every))
            typer.echo(f"{name}: in {FILE}")


@app.command()
def evaluate(name: Name, tatoeba: Tatoeba = None, threads: Threads = 1) -> None:
    """Measure the shipped weights again, beside what their card says."""
    with one_clear_line():
        import torch

        from heed.experiments.cards import numbers
        from heed.experiments.table import find
        from heed.experiments.trained import load

        torch.set_num_threads(threads)
        experiment = find(name)
        trained = load(experiment)
        which = f"{name}, seed {trained.card.seed}"
        note(f"{which}: reading its data, then measuring the shipped weights …")
        task = experiment.load(places(tatoeba))
        for part, here in experiment.task.read(task.files()).items():
            if here != getattr(trained, part):
                complain(f"the data give another {part} than that of {name}: another version")
        metrics, _ = task.evaluate(trained.model)
        now = dict(flat(metrics))
        known = list(numbers(trained.card.metrics))
        wide = max(36, *(len(metric) for metric, _ in known))
        typer.echo(f"{which:{wide}} {'now':>9} {'card':>9}")
        for metric, seeds in known:
            before = seeds["seeds"][trained.card.seeds.index(trained.card.seed)]
            if before is not None:
                again = now.get(metric, float("nan"))
                typer.echo(f"{metric:{wide}} {again:9.4f} {before:9.4f}")


@app.command()
def publish(
    name: Name,
    runs: Runs = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="measure unfinished seeds as far as they are")
    ] = False,
    join: Annotated[
        bool, typer.Option("--join", help="keep the seeds of the shipped card that are not in runs")
    ] = False,
    tatoeba: Tatoeba = None,
    threads: Threads = 1,
) -> None:
    """Make the card of all finished seeds and ship the weights of the first."""
    with one_clear_line():
        import torch

        from heed.experiments import runner
        from heed.experiments.cards import numbers
        from heed.experiments.table import find

        torch.set_num_threads(threads)
        experiment = find(name)
        task = experiment.load(places(tatoeba)) if partial else None
        card = runner.publish(experiment, runs=runs or runner.RUNS, task=task, join=join)
        for metric, seeds in numbers(card.metrics):
            if seeds["mean"] is not None:
                typer.echo(f"{metric:36} {seeds['mean']:9.4f} ± {seeds['std']:.4f}")
        typer.echo(f"{experiment.folder}" + ("" if card.complete else " (not complete)"))
        note(f"next, for the pages: {as_typed('export', name)}; then make chapters")


@app.command("export")
def export_command(name: Name, tatoeba: Tatoeba = None, threads: Threads = 1) -> None:
    """Put the shipped model beside its weights as ONNX, for the pages; needs requirements-dev.txt.

    Compared with PyTorch on held-out sentences first, and not written if it differs.
    """
    with one_clear_line():
        import torch

        from heed.experiments.export import export, require_tools
        from heed.experiments.graphs import family_of
        from heed.experiments.table import find
        from heed.experiments.trained import load

        require_tools()
        torch.set_num_threads(threads)
        experiment = find(name)
        trained = load(experiment)
        family_of(trained.model)  # refused at once: its data may take a minute to load
        task = experiment.load(places(tatoeba))
        manifest = export(trained, task, limit=experiment.page_bytes, short=experiment.page_short)
        for file, about in manifest["files"].items():
            typer.echo(f"{trained.folder / file}  {about['bytes']:,} bytes")
        for name, value in manifest["parity"].items():
            if name != "lengths":
                typer.echo(f"  {name:34} {value:9.4g}")


@app.command()
def bandits(
    arms: Annotated[int, typer.Option("--arms", min=2)] = 5,
    pulls: Annotated[int, typer.Option("--pulls", min=2, max=200)] = 100,
    count: Annotated[int, typer.Option("--bandits", min=2, help="how many are played")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
) -> None:
    """What players whose rule is known get of bandits: Gittins, Thompson, greedy and others."""
    with one_clear_line():
        from heed.data.bandits import BanditData
        from heed.evaluation.bandits import scores

        note(f"{count:,} bandits, {arms} arms, {pulls} pulls, the same luck for all players …")
        data = BanditData(arms=arms, pulls=pulls, held_out=count, seed=seed)
        typer.echo(f"{'player':12} reward, standard error")
        for name, score in scores(data.held_out_bandits(1, count), seed=seed).items():
            typer.echo(f"{name:12} {score}")


@app.command()
def fetch(
    corpus: Annotated[str, typer.Argument(help="tatoeba")],
    to: Annotated[Path | None, typer.Option("--to", help="folder to put it in")] = None,
) -> None:
    """Download a corpus that may not be shipped."""
    with one_clear_line():
        from heed.data.corpora import fetch as fetch_corpus

        typer.echo(f"{fetch_corpus(corpus, to)}")


class Handler(SimpleHTTPRequestHandler):
    """Static files with the types that browsers insist on for modules and WebAssembly."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".onnx": "application/octet-stream",
        ".gz": "application/gzip",  # and no Content-Encoding: it arrives as it lies here
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".woff2": "font/woff2",
    }

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of what went well."""

    def log_error(self, format: str, *args: Any) -> None:
        sys.stderr.write(f"{self.path}: {format % args}\n")


def server(folder: Path, *, host: str, port: int) -> ThreadingHTTPServer:
    """A server of the built book, not yet running; port 0 takes a free one."""
    handler: Callable[..., Any] = partial(Handler, directory=str(folder))
    return ThreadingHTTPServer((host, port), handler)


@app.command()
def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 8000,
    host: Annotated[str, typer.Option("--host", help="0.0.0.0 lets others in")] = "127.0.0.1",
    folder: Annotated[Path, typer.Option("--folder", help="the built book")] = Path("_build/html"),
) -> None:
    """Serve the built book."""
    with one_clear_line():
        if not (folder / "index.html").is_file():
            complain(f"{folder} holds no built book; make book builds it")
        try:
            web = server(folder, host=host, port=port)
        except OSError as fault:
            if fault.errno == errno.EADDRINUSE:
                other = "PORT=" if os.environ.get("HEED_MAKE") else "--port "
                complain(f"port {port} is in use; take another with {other}{min(port + 1, 65535)}")
            raise
        typer.echo(f"the book: http://{host}:{web.server_address[1]}/   (Ctrl-C ends it)")
        sys.stdout.flush()
        with web:
            try:
                web.serve_forever()
            except KeyboardInterrupt:
                typer.echo("")


def flat(metrics: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Metrics with dotted names."""
    for name, value in metrics.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def show(title: str, metrics: dict[str, Any]) -> None:
    """Metrics, one a line."""
    typer.echo(title)
    for name, value in flat(metrics):
        typer.echo(f"  {name:34} {value:9.4f}")


def main() -> None:
    """Entry point of ``python -m heed``."""
    app()


if __name__ == "__main__":
    main()
