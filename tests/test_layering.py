"""A file imports only from its own floor or from one below."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_chapters import imported

PACKAGE = Path(__file__).parents[1] / "src" / "heed"

FLOORS = {
    "masks": 0,
    "scores": 0,
    "data": 0,
    "attention": 1,
    "trace": 1,
    "layers": 2,
    "models": 3,
    "training": 4,
    "evaluation": 5,
    "experiments": 6,
    "labs": 7,
    "viz": 7,
    "book": 7,
    "exercises": 7,
    "__main__": 7,
    "__init__": 7,  # heed.load reaches for everything: who imports the bare package is on top
}

# What a model is not made of: no optimiser, no path, no plot, no progress bar.
NOT_IN_MODELS = {"torch.optim", "pathlib", "os", "matplotlib", "tqdm", "typer", "json"}


def files(package: Path = PACKAGE) -> list[Path]:
    return sorted(package.rglob("*.py"))


def inside(file: Path, package: Path = PACKAGE) -> str:
    """First part of a file's place in the package: 'scores' of scores.py, 'data' of data/…"""
    first = file.relative_to(package).parts[0]
    return first.removesuffix(".py")


def imports(file: Path, package: Path = PACKAGE) -> Iterator[str]:
    where = ".".join(file.parent.relative_to(package.parent).parts)
    yield from imported(ast.parse(file.read_text("utf-8")), where)


def upstairs(file: Path, package: Path = PACKAGE) -> list[str]:
    """Imports of `file` that reach for a higher floor."""
    own = FLOORS[inside(file, package)]
    wrong = []
    for name in imports(file, package):
        first, *rest = name.split(".")
        if first != package.name:
            continue
        # `from heed import scores` yields "heed" and "heed.scores": the second says it all
        room = rest[0] if rest else None
        if room in FLOORS and FLOORS[room] > own:
            wrong.append(name)
        elif room is not None and room not in FLOORS and own < FLOORS["__init__"]:
            wrong.append(f"{name} (a name of the bare package)")
    return wrong


def test_every_file_has_a_floor() -> None:
    homeless = [file.name for file in files() if inside(file) not in FLOORS]
    assert not homeless, f"give {homeless} a floor, here and in the design"


@pytest.mark.parametrize("file", files(), ids=lambda f: f.relative_to(PACKAGE).as_posix())
def test_imports_go_down(file: Path) -> None:
    assert not upstairs(file)


@pytest.mark.parametrize(
    "file",
    [file for file in files() if inside(file) in {"layers", "models"}],
    ids=lambda f: f.relative_to(PACKAGE).as_posix(),
)
def test_a_model_holds_no_optimiser_path_or_plot(file: Path) -> None:
    found = {
        name
        for name in imports(file)
        for unwanted in NOT_IN_MODELS
        if name == unwanted or name.startswith(unwanted + ".")
    }
    assert not found


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("from heed.attention import Attention", True),
        ("import heed.models.bahdanau", True),
        ("from heed import attention", True),
        ("from heed import load", True),
        ("from .attention import Attention", True),
        ("def later():\n    from heed.training import loop", True),
        ("from heed.masks import causal", False),
        ("from heed import masks", False),
        ("import torch", False),
    ],
)
def test_the_check_sees_a_step_upstairs(tmp_path: Path, line: str, caught: bool) -> None:
    package = tmp_path / "heed"
    package.mkdir()
    file = package / "scores.py"
    file.write_text(line)
    assert bool(upstairs(file, package)) is caught
