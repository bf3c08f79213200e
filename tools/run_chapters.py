"""Run the chapters, and know when one is older than what it shows.

    python tools/run_chapters.py                       every chapter, in place
    python tools/run_chapters.py 03_additive           one of them
    python tools/run_chapters.py --budget minutes      copies in runs/chapters; the tree stays

A chapter is committed with its outputs and the book shows exactly those. So each run leaves a
fingerprint in the notebook's metadata, under heed.fingerprint: the hash of

- the chapter's own code cells,
- every file of src/heed that its imports reach, directly or through other files, without
  comments, docstrings and blank lines, so that a better sentence makes no chapter stale. Of a
  package that imports its names late (heed.labs) only the files of the names that are asked for
  count; what a function of the package imports while it runs (book.py: the training of another
  budget) does not count, as it plays no part in the outputs that are committed,
- for every experiment that its code names: the files of its model, data and task, and its card,
  which holds the hash of its weights.

The table of experiments stands for neither its rows nor what they import: a new row must not make
every chapter stale. tests/chapters compares the fingerprint with what it would be now. Names of
experiments must be written out in a chapter ("bahdanau_grammar", not f"{model}_grammar"), or
they are not seen.

Beside it, under heed.run, stands when the run was, how long it took, on what, and the most memory
that its kernel held. tools/book_status.py puts that on the pages.
"""

import argparse
import ast
import hashlib
import io
import os
import re
import sys
import time
import tokenize
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
PACKAGE = ROOT / "src" / "heed"
TRAINED = ROOT / "data" / "trained"
TABLE = Path("experiments", "table.py")


# ------------------------------------------------------------------ the fingerprint


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def without_magics(source: str) -> str:
    """A cell as plain Python: lines for IPython are blanked, so that ast can read the rest."""
    return "\n".join(
        "" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()
    )


def chapter_code(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(without_magics(cell.source) for cell in code_cells(notebook))


@cache
def bare_code(source: str) -> str:
    """`source` without comments, docstrings and blank lines."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        match node:  # a string that stands alone says something to readers and nothing to Python
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(end)):
                lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Dotted names that `tree` imports; the last part of one after `from` may be only a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base]).rstrip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


class Running(ast.NodeTransformer):
    """Leaves of a module what importing it runs: nothing inside a function, nothing that only
    type checkers read."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None: ...

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None: ...

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if for_type_checkers(node) else node


def for_type_checkers(node: ast.AST) -> bool:
    names = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.If) and ast.unparse(node.test) in names


def offered(file: Path) -> dict[str, str]:
    """Names that a package imports only when somebody asks for them, and where they come from.

    Its __getattr__ does that; type checkers read it off an `if TYPE_CHECKING:`, and so do we.
    """
    return _offered(file.read_text("utf-8"), package_of(file))


@cache  # thirteen chapters reach much the same files
def _offered(source: str, where: str) -> dict[str, str]:
    tree = ast.parse(source)
    getters = [n for n in tree.body if getattr(n, "name", "") == "__getattr__"]
    return {
        name.rpartition(".")[2]: name
        for node in (tree.body if getters else [])
        if for_type_checkers(node)
        for name in imported(node, where)
    }


def package_of(file: Path) -> str:
    return ".".join(file.parent.relative_to(PACKAGE.parent).parts)


def late(name: str) -> Iterator[str]:
    """What `name` stands for, if a package offers it late: one name, or, for a package as a whole,
    all that it offers, since nobody knows which attribute will be used."""
    *above, last = [PACKAGE / "nothing", *files_of(name)]
    if last.is_file():
        yield from offered(last).values()
    elif above and above[-1].is_file():
        yield from (each for each in [offered(above[-1]).get(name.rpartition(".")[2])] if each)


def files_of(name: str) -> list[Path]:
    """The files that importing `name` runs: each __init__ on the way, then its own."""
    first, *rest = name.split(".")
    if first != PACKAGE.name:
        return []
    place = PACKAGE
    files = [place / "__init__.py"]
    for part in rest:
        place = place / part
        files.append(place / "__init__.py" if place.is_dir() else place.with_suffix(".py"))
    return files


def reached(code: str, modules: Iterable[str] = ()) -> list[Path]:
    """Every file of the package that `code` imports, directly or not, and those of `modules`."""
    seen: set[Path] = set()
    waiting = [*imported(ast.parse(code), PACKAGE.name), *modules]
    while waiting:
        name = waiting.pop()
        waiting += late(name)
        for file in files_of(name):
            if file in seen or not file.is_file() or file == PACKAGE / TABLE:
                continue
            seen.add(file)
            waiting += _run_by(file.read_text("utf-8"), package_of(file))
    return sorted(seen)


@cache
def _run_by(source: str, where: str) -> tuple[str, ...]:
    """What importing this source imports."""
    return tuple(imported(Running().visit(ast.parse(source)), where))


def modules_behind(names: Iterable[str]) -> set[str]:
    """Where the models, the data and the tasks of these experiments are defined."""
    from heed.experiments.table import EXPERIMENTS

    rows = [EXPERIMENTS[name] for name in names if name in EXPERIMENTS]
    return {getattr(row.build, "func", row.build).__module__ for row in rows} | {
        type(part).__module__ for row in rows for part in (row.data, row.task)
    }


def strings(code: str) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def fingerprint(notebook: nbformat.NotebookNode) -> str:
    code = chapter_code(notebook)
    digest = hashlib.sha256(code.encode())
    named = strings(code)
    for file in reached(code, modules_behind(named)):
        digest.update(f"\0{file.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(bare_code(file.read_text("utf-8")).encode())
    for card in sorted(TRAINED.glob("*/card.json")):
        if card.parent.name in named:
            digest.update(f"\0{card.relative_to(ROOT).as_posix()}\0".encode())
            digest.update(card.read_bytes())
    return digest.hexdigest()


# ------------------------------------------------------------------ running


WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Take out what changes from run to run in the cells: times, paths, the runner's own notes.

    A widget's state goes too, and with it the view that would look for it: where no kernel runs,
    JupyterLab would say "model not found" in its place. The text/html of our labs stays.
    """
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
            for output in cell.outputs:
                data = output.get("data", {})
                if "text/html" in data:
                    data.pop(WIDGET_VIEW, None)


def joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Printed text in one piece. It arrives in several, cut by the clock, and each would get a
    box of its own on the page."""
    whole: list[nbformat.NotebookNode] = []
    for output in outputs:
        before = whole[-1] if whole else None
        streams = before is not None and before.output_type == output.output_type == "stream"
        if before is not None and streams and before.name == output.name:
            before.text += output.text
        else:
            whole.append(output)
    return whole


def most_memory(process: int) -> int | None:
    """The most bytes that a process held so far, where the system (Linux) says it."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), re.M)
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def cores() -> int:
    """How many processor cores this process may use."""
    # os.process_cpu_count came with Python 3.13, and macOS has no affinity to ask for
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def asked_to_leave(memory: list[int | None]) -> type:
    """A manager that ends its kernel by the message for it, and notes in `memory` how much that
    kernel held. Jupyter's own interrupts it first, in case it is busy; an idle one, as after a
    notebook, prints that as an error of its own."""
    from jupyter_client.manager import AsyncKernelManager

    class Asked(AsyncKernelManager):
        async def _async_shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
            memory.append(most_memory(getattr(self.provisioner, "pid", 0) or 0))
            await super()._async_shutdown_kernel(now=now, restart=restart)

        async def _async_interrupt_kernel(self) -> None:
            if not self.shutting_down:
                await super()._async_interrupt_kernel()

        # What is public is bound to the other class's private one where it is made.
        interrupt_kernel = _async_interrupt_kernel  # type: ignore[assignment]
        shutdown_kernel = _async_shutdown_kernel  # type: ignore[assignment]

    return Asked


def run(source: Path, target: Path, parameters: dict[str, object]) -> float:
    """Run `source` from its folder, write `target`, return the seconds it took."""
    import papermill  # only here: the tests need the fingerprint alone

    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.stem}.running.ipynb")  # a failed run changes nothing
    today, started = datetime.now(UTC).date(), time.perf_counter()
    memory: list[int | None] = []
    try:
        papermill.execute_notebook(
            source,
            draft,
            parameters=parameters,
            cwd=source.parent,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            kernel_manager_class=asked_to_leave(memory),
            extra_arguments=["--log-level=ERROR"],  # the kernel warns of its own transport
            execution_timeout=None if parameters.get("budget") else 120,
        )
        seconds = time.perf_counter() - started
        notebook = nbformat.read(draft, as_version=4)
        python = notebook.metadata.language_info.version  # the kernel's own word for it
        tidy(notebook)
        notebook.metadata["heed"] = {
            "fingerprint": fingerprint(notebook),
            "run": {
                "date": today.isoformat(),
                "seconds": round(seconds, 1),
                "memory": memory[0] if memory else None,
                "cores": cores(),
                "python": python,
                "torch": version("torch").partition("+")[0],
            },
        }
        nbformat.write(notebook, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return seconds


def chapters(names: list[str]) -> list[Path]:
    known = {path.stem: path for path in sorted(CHAPTERS.glob("[0-9]*.ipynb"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no chapter {', '.join(unknown)}; there are {', '.join(known) or 'none'}")
    return [known[name] for name in names] or list(known.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="chapters, as in 03_additive; none means all")
    parser.add_argument("--budget", choices=("shipped", "minutes", "full"), default="shipped")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()

    # What the tree holds is always the shipped budget at seed 0; anything else is a copy.
    parameters: dict[str, object] = {}
    folder = CHAPTERS
    if (asked.budget, asked.seed) != ("shipped", 0):
        parameters = {"budget": asked.budget, "seed": asked.seed}
        folder = ROOT / "runs" / "chapters" / f"{asked.budget}-{asked.seed}"
    for path in chapters(asked.names):
        print(f"{path.stem} …", end=" ", flush=True)
        seconds = run(path, folder / path.name, parameters)
        print(f"{seconds:.0f} s → {(folder / path.name).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
