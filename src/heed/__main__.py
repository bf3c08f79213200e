"""The command line: ``python -m heed`` list, train, evaluate, publish, export, fetch, serve."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def one_clear_line() -> Iterator[None]:
    """What can go wrong without a bug in the code ends in one line on stderr and exit code 2."""
    from heed.data.corpora import CorpusError
    from heed.experiments.cards import CardError
    from heed.experiments.files import InUse
    from heed.experiments.graphs import ExportError
    from heed.experiments.runner import Interrupted, RunError
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
        typer.echo(f"\n{stop}. To go on: the same command with --resume", err=True)
        raise typer.Exit(130) from None
    except KeyboardInterrupt:
        typer.echo("\ninterrupted", err=True)
        raise typer.Exit(130) from None


def places(tatoeba: Path | None) -> dict[str, Path]:
    """Where corpora lie, as far as the command line says it."""
    return {} if tatoeba is None else {"tatoeba": tatoeba}


def complain(line: str) -> None:
    """One line, exit code 2."""
    typer.echo(f"heed: {' '.join(line.split())}", err=True)
    raise typer.Exit(2)


@app.command("list")
def list_experiments() -> None:
    """Every experiment: chapter, whether it is trained, its main number."""
    from heed.experiments.cards import Card, CardError
    from heed.experiments.table import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        if not experiment.trained:
            state = "not trained here"
        elif not (experiment.folder / "card.json").exists():
            state = "no weights yet"
        else:
            try:
                card = Card.read(experiment.folder)
                state = f"{experiment.task.headline(card)}, {len(card.seeds)} seeds"
                state += "" if card.complete else ", not complete"
            except CardError as fault:
                state = str(fault)
        typer.echo(f"{experiment.name:20} {experiment.chapter:14} {state:32} {experiment.title}")


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
    quiet: Quiet = False,
    save_every: Annotated[
        float, typer.Option("--save-every", min=0, help="seconds between two saved states")
    ] = 60.0,
) -> None:
    """Train one experiment, each of its seeds; `publish` then makes the card.

    Bigger than one machine: torchrun --nproc-per-node N -m heed train NAME
    """
    with one_clear_line():
        import torch

        from heed.experiments import runner
        from heed.experiments.parallel import processes
        from heed.experiments.table import find

        torch.set_num_threads(threads)
        experiment = runner.with_steps(find(name), steps)
        task = experiment.load(places(tatoeba))
        with processes() as together:
            for each in seed or experiment.seeds:
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
                )
                if record is not None:
                    show(f"{name} seed {each}", record.metrics)


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
        task = experiment.load(places(tatoeba))
        for part, here in experiment.task.read(task.files()).items():
            if here != getattr(trained, part):
                complain(f"the data give another {part} than that of {name}: another version")
        metrics, _ = task.evaluate(trained.model)
        now = dict(flat(metrics))
        for metric, seeds in numbers(trained.card.metrics):
            before = seeds["seeds"][trained.card.seeds.index(trained.card.seed)]
            if before is not None:
                again = now.get(metric, float("nan"))
                typer.echo(f"{metric:36} {again:9.4f}   card {before:9.4f}")


@app.command()
def publish(
    name: Name,
    runs: Runs = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="measure unfinished seeds as far as they are")
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
        card = runner.publish(experiment, runs=runs or runner.RUNS, task=task)
        for metric, seeds in numbers(card.metrics):
            if seeds["mean"] is not None:
                typer.echo(f"{metric:36} {seeds['mean']:9.4f} ± {seeds['std']:.4f}")
        typer.echo(f"{experiment.folder}" + ("" if card.complete else " (not complete)"))


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
        task: Any = experiment.load(places(tatoeba))
        manifest = export(
            trained, task.corpus, limit=experiment.page_bytes, short=experiment.page_short
        )
        for file, about in manifest["files"].items():
            typer.echo(f"{trained.folder / file}  {about['bytes']:,} bytes")
        for name, value in manifest["parity"].items():
            if name != "lengths":
                typer.echo(f"  {name:34} {value:9.4g}")


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
                complain(f"port {port} is in use; take another with --port")
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
