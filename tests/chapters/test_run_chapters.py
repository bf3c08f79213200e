"""The fingerprint that ties a chapter to what it was run with."""

import os
import platform
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import nbformat
import pytest
import run_chapters
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package: models/a.py uses scores.py, b.py stands alone; one trained model, a."""
    package = tmp_path / "src" / "heed"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text('"""The package."""\n')
    (package / "scores.py").write_text('"""Scores."""\nONE = 1  # why\n')
    (package / "models" / "__init__.py").write_text("")
    (package / "models" / "a.py").write_text("from ..scores import ONE\n")
    (package / "models" / "b.py").write_text("TWO = 2\n")
    card = tmp_path / "data" / "trained" / "a_grammar" / "card.json"
    card.parent.mkdir(parents=True)
    card.write_text("{}")
    monkeypatch.setattr(run_chapters, "ROOT", tmp_path)
    monkeypatch.setattr(run_chapters, "PACKAGE", package)
    monkeypatch.setattr(run_chapters, "TRAINED", card.parents[1])
    monkeypatch.setattr(
        run_chapters,
        "modules_behind",
        lambda names: ["heed.models.a"] if "a_grammar" in names else [],
    )
    return tmp_path


def chapter(
    code: str = 'from heed.models import a\nname = "a_grammar"',
) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_markdown_cell("prose"), new_code_cell(code)])


def edit(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.mark.parametrize(
    ("file", "text", "stale"),
    [
        ("src/heed/scores.py", '"""Scores."""\nONE = 2  # why\n', True),
        ("src/heed/scores.py", '"""Better said."""\n\nONE = 1  # better why\n', False),
        ("src/heed/models/a.py", "from ..scores import ONE as one\n", True),
        ("src/heed/models/__init__.py", "import math\n", True),
        ("src/heed/models/b.py", "TWO = 3\n", False),
        ("data/trained/a_grammar/card.json", '{"sha256": "0"}', True),
    ],
)
def test_a_change_that_matters_makes_a_chapter_stale(
    tree: Path, file: str, text: str, stale: bool
) -> None:
    before = run_chapters.fingerprint(chapter())
    edit(tree / file, text)
    assert (run_chapters.fingerprint(chapter()) != before) is stale


def test_a_changed_cell_makes_it_stale_and_prose_does_not(tree: Path) -> None:
    before = run_chapters.fingerprint(chapter())
    assert run_chapters.fingerprint(chapter('import heed ; "a_grammar"')) != before
    told = chapter()
    told.cells[0].source = "better prose"
    assert run_chapters.fingerprint(told) == before


def test_experiments_that_are_not_named_do_not_count(tree: Path) -> None:
    code = "from heed.models import b"
    before = run_chapters.fingerprint(chapter(code))
    edit(tree / "src/heed/models/a.py", "from ..scores import ONE as one\n")
    edit(tree / "data/trained/a_grammar/card.json", "[]")
    assert run_chapters.fingerprint(chapter(code)) == before


def test_the_table_leads_nowhere(tree: Path) -> None:
    table = tree / "src/heed/experiments/table.py"
    table.parent.mkdir()
    edit(table, "from heed.models import b\n")
    code = "from heed.experiments.table import EXPERIMENTS"
    before = run_chapters.fingerprint(chapter(code))
    edit(table, "from heed.models import a, b\n")
    edit(tree / "src/heed/models/b.py", "TWO = 3\n")
    assert run_chapters.fingerprint(chapter(code)) == before


LAZY = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from heed.models.a import A
    from .models.b import B
def __getattr__(name):
    ...
"""


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("from heed import A", {"a.py"}),
        ("from heed import B", {"b.py"}),
        ("from heed import A, B", {"a.py", "b.py"}),
        ("import heed\nheed.A", {"a.py", "b.py"}),  # which attribute will it be? all of them
        ("from heed.models import b", {"b.py"}),
        ("from heed import scores", set()),
    ],
)
def test_of_a_late_package_only_what_is_asked_for_counts(
    tree: Path, code: str, files: set[str]
) -> None:
    edit(tree / "src/heed/__init__.py", LAZY)
    edit(tree / "src/heed/models/a.py", "A = 1\n")
    found = {file.name for file in run_chapters.reached(code)}
    assert found & {"a.py", "b.py"} == files


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("if True:\n    from heed.models import b\n", True),
        ("class Two:\n    from heed.models import b\n", True),
        ("def later():\n    from heed.models import b\n", False),
        ("class Two:\n    def later(self):\n        from heed.models import b\n", False),
        ("import typing\nif typing.TYPE_CHECKING:\n    from heed.models import b\n", False),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from heed.models import b\n", True),
    ],
)
def test_only_what_an_import_runs_counts(tree: Path, text: str, counts: bool) -> None:
    edit(tree / "src/heed/scores.py", text)
    found = run_chapters.reached("from heed.scores import ONE")
    assert (tree / "src/heed/models/b.py" in found) is counts


def test_a_late_import_in_a_cell_of_a_chapter_counts(tree: Path) -> None:
    code = "def later():\n    from heed.models import b\n"
    assert tree / "src/heed/models/b.py" in run_chapters.reached(code)


def test_a_chapter_does_not_hang_on_training_export_and_other_labs() -> None:
    code = "from heed.book import trained\nfrom heed.labs import BottleneckLab"
    found = {
        file.relative_to(run_chapters.PACKAGE).as_posix() for file in run_chapters.reached(code)
    }
    assert {"book.py", "experiments/trained.py", "labs/bottleneck.py", "labs/base.py"} <= found
    others = {"experiments/runner.py", "experiments/export.py", "labs/alignment.py"}
    assert not found & others


def test_an_experiment_leads_to_its_model_its_data_and_its_task() -> None:
    modules = run_chapters.modules_behind(["bahdanau_grammar", "no experiment"])
    assert modules == {
        "heed.models.bahdanau",
        "heed.data.corpora",
        "heed.experiments.translation",
    }


def test_a_chapter_runs_in_place_and_leaves_nothing_of_the_run(tree: Path) -> None:
    path = tree / "01_small.ipynb"
    nbformat.write(
        new_notebook(
            cells=[
                new_code_cell("seed: int = 0", metadata={"tags": ["parameters"]}),
                new_code_cell("print(seed + 1)"),
            ]
        ),
        path,
    )
    run_chapters.run(path, path, {})
    ran = nbformat.read(path, as_version=4)
    assert [cell.execution_count for cell in ran.cells] == [1, 2]
    assert ran.cells[1].outputs[0].text == "1\n"
    assert ran.metadata["heed"]["fingerprint"] == run_chapters.fingerprint(ran)
    assert "papermill" not in ran.metadata
    assert not {"papermill", "execution"} & set(ran.cells[1].metadata)
    assert [file.name for file in tree.glob("*.ipynb")] == ["01_small.ipynb"]


def test_a_run_says_when_where_and_what_it_took(tree: Path) -> None:
    path, before = tree / "01_small.ipynb", datetime.now(UTC).date()
    nbformat.write(new_notebook(cells=[new_code_cell("held = bytearray(300_000_000)")]), path)
    seconds = run_chapters.run(path, path, {})
    found = nbformat.read(path, as_version=4).metadata["heed"]["run"]
    assert before <= date.fromisoformat(found["date"]) <= datetime.now(UTC).date()
    assert found["seconds"] == pytest.approx(seconds, abs=0.06)
    assert found["python"] == platform.python_version()
    assert found["torch"] == torch.__version__.partition("+")[0]
    assert 1 <= found["cores"] <= (os.cpu_count() or 1)
    # the kernel's own memory, not this process's: the array counts, and little beside it
    linux = sys.platform == "linux"
    assert not linux or 300_000_000 < found["memory"] < 500_000_000


def test_of_a_process_that_is_gone_no_memory_is_known() -> None:
    assert run_chapters.most_memory(2**22 + 1) is None  # Linux gives no such number


def test_printed_text_is_kept_in_one_piece() -> None:
    def said(text: str, name: str = "stdout") -> nbformat.NotebookNode:
        return nbformat.v4.new_output("stream", name=name, text=text)

    shown = nbformat.v4.new_output("display_data", data={"text/plain": "a picture"})
    whole = run_chapters.joined([said("1"), said("\n"), shown, said("2"), said("oh", "stderr")])
    assert [each.get("text") for each in whole] == ["1\n", None, "2", "oh"]


def test_of_a_widget_only_its_html_is_kept(tree: Path) -> None:
    path = tree / "01_small.ipynb"
    code = """
import ipywidgets

class Drawn(ipywidgets.IntSlider):
    def _repr_mimebundle_(self, **kwargs):
        return {**super()._repr_mimebundle_(**kwargs), "text/html": "<b>3</b>"}

Drawn(3)
"""
    nbformat.write(new_notebook(cells=[new_code_cell(code.strip())]), path)
    run_chapters.run(path, path, {})
    ran = nbformat.read(path, as_version=4)
    assert "widgets" not in ran.metadata
    assert set(ran.cells[0].outputs[0].data) == {"text/html", "text/plain"}


def test_the_kernel_is_asked_to_leave_and_not_interrupted(tree: Path) -> None:
    """An interrupted kernel prints KeyboardInterrupt after a chapter that went well."""
    path, seen = tree / "01_small.ipynb", tree / "interrupted"
    code = f"""
import pathlib, signal
def note(*_):
    pathlib.Path({str(seen)!r}).touch()
# Between two cells a kernel ignores interrupts; the error came when one was quicker than that.
get_ipython().kernel.post_handler_hook = lambda: signal.signal(signal.SIGINT, note)
"""
    nbformat.write(new_notebook(cells=[new_code_cell(code.strip())]), path)
    run_chapters.run(path, path, {})
    assert not seen.exists()


def test_a_failing_chapter_keeps_its_old_outputs(tree: Path) -> None:
    path = tree / "01_small.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="division"):
        run_chapters.run(path, path, {})
    assert path.read_bytes() == before
    assert list(tree.glob(".*")) == []


def test_another_budget_is_a_copy_with_its_parameters(tree: Path) -> None:
    path = tree / "01_small.ipynb"
    cells = [
        new_code_cell('budget: str = "shipped"', metadata={"tags": ["parameters"]}),
        new_code_cell("print(budget)"),
    ]
    nbformat.write(new_notebook(cells=cells), path)
    before = path.read_bytes()
    copy = tree / "runs" / "01_small.ipynb"
    run_chapters.run(path, copy, {"budget": "minutes"})
    assert nbformat.read(copy, as_version=4).cells[-1].outputs[0].text == "minutes\n"
    assert path.read_bytes() == before


def test_an_unknown_chapter_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="no chapter 99_nothing; there are"):
        run_chapters.chapters(["99_nothing"])
