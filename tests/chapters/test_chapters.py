"""Reads every chapter without running it. Running is nbval's part (`make notebooks`)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from run_chapters import CHAPTERS, code_cells, fingerprint, without_magics

from heed.experiments.table import EXPERIMENTS

PATHS = sorted(CHAPTERS.glob("[0-9]*.ipynb"))
LARGEST = 1_000_000  # bytes: what still fits into a review
SHORTEST_ALT = 30  # characters: "a plot" says nothing

chapter = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def trees(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, ast.Module]]:
    for cell in code_cells(notebook):
        yield cell, ast.parse(without_magics(cell.source))


def test_there_are_chapters() -> None:
    assert PATHS


@chapter
def test_the_file_is_valid(path: Path) -> None:
    nbformat.validate(read(path))


@chapter
def test_classes_are_imported_not_retyped(path: Path) -> None:
    retyped = [
        node.name
        for cell, tree in trees(read(path))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "exercise" not in tags(cell)
    ]
    assert not retyped, f"move to src/ and show_source() instead: {retyped}"


@chapter
def test_names_say_where_they_come_from(path: Path) -> None:
    stars = [
        node.module
        for _, tree in trees(read(path))
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert not stars


@chapter
def test_listings_are_checked_for_drift(path: Path) -> None:
    listings = [
        cell
        for cell, tree in trees(read(path))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "show_source"
    ]
    assert listings, "show the reader the implementation that this chapter runs"
    loose = [cell.source for cell in listings if "nbval-check-output" not in tags(cell)]
    assert not loose


@chapter
def test_first_code_cell_holds_the_parameters(path: Path) -> None:
    cell, tree = next(trees(read(path)))
    assert "parameters" in tags(cell)
    values = {
        node.target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.value is not None
    }
    assert values.get("budget") == "shipped"
    assert values.get("seed") == 0
    assert not any("injected-parameters" in tags(cell) for cell in code_cells(read(path)))


@chapter
def test_ran_from_top_to_bottom(path: Path) -> None:
    counts = [cell.execution_count for cell in code_cells(read(path))]
    assert counts == list(range(1, len(counts) + 1))


@chapter
def test_nothing_went_wrong_in_the_outputs(path: Path) -> None:
    wrong = [
        cell.source
        for cell in code_cells(read(path))
        for output in cell.outputs
        if output.output_type == "error"
        or (output.output_type == "stream" and output.name == "stderr")
    ]
    assert not wrong


@chapter
def test_a_checked_output_is_there_to_be_checked(path: Path) -> None:
    """nbval compares what is stored; a tagged cell without output would check nothing."""
    silent = [
        cell.source
        for cell in code_cells(read(path))
        if "nbval-check-output" in tags(cell) and not cell.outputs
    ]
    assert not silent


@chapter
def test_outputs_are_of_today(path: Path) -> None:
    notebook = read(path)
    stored = notebook.metadata.get("heed", {}).get("fingerprint")
    assert stored == fingerprint(notebook), (
        f"{path.stem} is older than its code, the package or the weights it loads; "
        f"run: make chapters CHAPTER={path.stem}"
    )


@chapter
def test_experiments_are_named_in_full(path: Path) -> None:
    """f"{model}_grammar" would hide from the fingerprint which weights a chapter shows."""
    hidden = [
        part.value
        for _, tree in trees(read(path))
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant) and "_" in part.value.strip()
        for name in EXPERIMENTS
        if name.startswith(part.value) or name.endswith(part.value)
    ]
    assert not hidden


@chapter
def test_nothing_of_this_machine_is_left(path: Path) -> None:
    text = path.read_text("utf-8")
    places = re.findall(r"(?<![\w.])/(?:root|home|work|tmp|Users)/[\w./-]*|0x[0-9a-f]{8,}", text)
    assert not places
    notebook = read(path)
    assert "papermill" not in notebook.metadata
    assert not any({"papermill", "execution"} & set(cell.metadata) for cell in notebook.cells)


@chapter
def test_fits_into_a_review(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


# ------------------------------------------------------------------ pictures that can be heard


def undescribed(cell: NotebookNode) -> list[str]:
    """What a reader who does not see would miss in the outputs of `cell`."""
    faults = []
    picture = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        raster = {"image/png", "image/jpeg", "image/svg+xml"} & set(data)
        if raster and "text/html" not in data and len(picture.strip()) < SHORTEST_ALT:
            faults.append("image without mystnb.image.alt in the cell's metadata")
        markup = data.get("text/html", "")
        for tag in re.findall(r"<(?:svg|img)\b[^>]*>", markup):
            said = re.search(r'\b(?:aria-label|alt)="([^"]*)"', tag)
            if 'aria-hidden="true"' not in tag and (
                said is None or len(said.group(1).strip()) < SHORTEST_ALT
            ):
                faults.append(f"{tag[:60]} without a description")
    return faults


@chapter
def test_every_picture_is_described(path: Path) -> None:
    notebook = read(path)
    faults = [fault for cell in code_cells(notebook) for fault in undescribed(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            faults += re.findall(r"!\[\s{0,3}\]\([^)]*\)", cell.source)
            faults += [
                tag
                for tag in re.findall(r"<(?:img|svg)\b[^>]*>", cell.source)
                if not re.search(r'\b(?:aria-label|alt)="[^"]+"|aria-hidden="true"', tag)
            ]
    assert not faults


@pytest.mark.parametrize(
    ("output", "metadata", "fine"),
    [
        ({"image/png": ""}, {}, False),
        ({"image/png": ""}, {"mystnb": {"image": {"alt": "plot"}}}, False),
        ({"image/png": ""}, {"mystnb": {"image": {"alt": "quality falls " * 3}}}, True),
        ({"text/html": "<svg>"}, {}, False),
        (
            {"text/html": '<svg role="img" aria-label="' + "looks at house " * 3 + '">'},
            {},
            True,
        ),
        ({"text/html": "<table></table>"}, {}, True),
    ],
)
def test_the_check_sees_an_undescribed_picture(
    output: dict[str, str], metadata: dict[str, object], fine: bool
) -> None:
    cell = nbformat.v4.new_code_cell(metadata=metadata)
    cell.outputs = [nbformat.v4.new_output("display_data", data=output)]
    assert bool(undescribed(cell)) is not fine
