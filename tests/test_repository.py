"""What stands around the code: the two commands' files, pins, licences, links, Binder."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml

import heed
from heed.__main__ import app
from heed.data.text import tokenize
from heed.experiments.cards import Card

ROOT = Path(__file__).parents[1]
TRAINED = ROOT / "data" / "trained"
REQUIREMENTS = ["requirements.txt", "requirements-dev.txt", "requirements-extra.txt"]
PROSE = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]


def text(*place: str) -> str:
    return ROOT.joinpath(*place).read_text("utf-8")


def requirements(name: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in text(*name.split("/")).splitlines())
    return [line for line in lines if line and not line.startswith("-")]


def pins(name: str) -> dict[str, str]:
    pairs = [line.partition("==")[::2] for line in requirements(name)]
    return {key.lower().replace("_", "-"): version for key, version in pairs}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_has_one_exact_version(name: str) -> None:
    loose = [r for r in requirements(name) if not re.fullmatch(r"[\w.-]+==[\w.+-]+", r)]
    assert not loose


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_constraints_agree_with_the_requirements(name: str) -> None:
    constraints = pins("constraints.txt")
    different = {k: v for k, v in pins(name).items() if constraints.get(k, v) != v}
    assert not different, "run make lock"


def test_constraints_hold_for_every_kind_of_machine() -> None:
    assert not re.findall(r"\+\w+", text("constraints.txt").split("\n", 1)[1])
    assert "attention-book" not in pins("constraints.txt")


def test_npm_lock_has_hashes_and_no_host() -> None:
    lock = text("package-lock.json")
    assert "resolved" not in lock
    assert "://" not in lock
    packages = {k: v for k, v in json.loads(lock)["packages"].items() if k}
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())


def test_npm_requirements_are_exact() -> None:
    wanted = json.loads(text("package.json"))["dependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


def test_ci_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in script.read_text("utf-8")
    assert script.read_text("utf-8").rstrip().endswith("make test")


# ------------------------------------------------------------------ Binder


def test_binder_gets_the_same_pytorch_without_cuda() -> None:
    assert pins(".binder/requirements.txt")["torch"] == pins("requirements.txt")["torch"] + "+cpu"


def test_binder_points_to_files_that_exist() -> None:
    named = re.findall(r"^-[rc] (\S+)$", text(".binder", "requirements.txt"), re.MULTILINE)
    assert len(named) == 2
    assert all((ROOT / ".binder" / path).is_file() for path in named)


def test_binder_has_our_python() -> None:
    (version,) = re.findall(r"^python-(\d+\.\d+)$", text(".binder", "runtime.txt"), re.MULTILINE)
    assert f'requires-python = ">={version}"' in text("pyproject.toml")


def test_binder_may_run_its_script() -> None:
    script = ROOT / ".binder" / "postBuild"
    assert os.access(script, os.X_OK)
    assert script.read_text("utf-8").startswith("#!")


def test_readme_and_book_name_the_same_repository() -> None:
    url = yaml.safe_load(text("_config.yml"))["repository"]["url"]
    owner_and_name = url.removeprefix("https://github.com/")
    assert f"mybinder.org/v2/gh/{owner_and_name}/main?urlpath=lab/tree/" in text("README.md")


# ------------------------------------------------------------------ prose


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_links_to_files_arrive(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text("utf-8"))
    assert not [target for target in targets if not (path.parent / target).exists()]


def test_readme_lists_exactly_the_chapters_that_exist() -> None:
    linked = set(re.findall(r"\(chapters/([\w]+)\.ipynb\)", text("README.md")))
    assert linked == {path.stem for path in (ROOT / "chapters").glob("[0-9]*.ipynb")}


def test_the_book_lists_exactly_the_chapters_that_exist() -> None:
    toc = yaml.safe_load(text("_toc.yml"))
    files = {c["file"] for part in toc["parts"] for c in part["chapters"]}
    listed = {file.removeprefix("chapters/") for file in files if file.startswith("chapters/")}
    assert listed == {path.stem for path in (ROOT / "chapters").glob("[0-9]*.ipynb")}


def test_chapters_to_come_are_not_there_and_the_others_are() -> None:
    """The welcome page links what exists and announces the rest."""
    page = text("book", "welcome.md")
    announced = {int(number) for number in re.findall(r"Chapter (\d+), to come", page)}
    there = {int(path.stem[:2]) for path in (ROOT / "chapters").glob("[0-9]*.ipynb")}
    linked = {int(number) for number in re.findall(r"\[Chapter (\d+)\]\(", page)}
    assert linked <= there
    assert not announced & there
    assert announced | linked == set(range(2, 13))


def names_in_code() -> set[str]:
    words: set[str] = set()
    for file in (ROOT / "src" / "heed").rglob("*.py"):
        words |= set(re.findall(r"[A-Za-z_]\w*", file.read_text("utf-8")))
    return words


@pytest.mark.parametrize(
    "name", ["notation", "how-to-read", "glossary", "welcome", "ledger", "systems"]
)
def test_names_in_the_prose_exist_in_the_code(name: str) -> None:
    """A name in code type that a later change removed would mislead; so would a misspelt one."""
    without_roles = re.sub(r"\{[\w:-]+\}`[^`]*`", "", text("book", f"{name}.md"))
    spans = re.findall(r"(?<!`)`([^`\n]+)`", without_roles)
    words = {
        word
        for span in spans
        for word in re.findall(r"[A-Za-z_]\w{2,}", span)
        if "…" not in span and "/" not in span
    }
    theirs = {"MultiheadAttention", "key_padding_mask", "scaled_dot_product_attention", "json"}
    theirs |= {"shipped", "minutes", "full"}  # values of a chapter's parameter
    theirs |= {"pytorch", "selector"}  # other people's: pytorch-ntm, a setting of arctic-captions
    assert not words - names_in_code() - theirs


def test_the_sentence_on_the_welcome_page_is_what_the_model_writes() -> None:
    english, french = re.findall(r"^> (\S.*)$", text("book", "welcome.md"), re.MULTILINE)
    written = heed.load("bahdanau_grammar").translate(english).words
    assert list(written) == tokenize(french, "fr")


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", text("README.md"), re.DOTALL):
        exec(code, {})
    assert "accord" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["bahdanau_grammar", "bahdanau_everyday"])
def test_the_readme_says_how_long_a_training_takes(name: str) -> None:
    """In the words of the card, give or take a quarter."""
    after = text("README.md").split(
        f"make train NAME={name}" if "grammar" in name else f"`{name}` takes"
    )[1]
    (minutes,) = re.findall(r"about (\d+)\s+minutes", after)[:1]
    assert float(minutes) == pytest.approx(Card.read(TRAINED / name).seconds / 60, rel=0.25)


def test_the_commands_of_the_readme_exist() -> None:
    makefile, readme = text("Makefile"), text("README.md")
    for target in re.findall(r"\bmake ([a-z]+)\b(?=[ `\n])", "\n".join(commands(readme))):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"-m heed ([a-z]+)", readme)) <= known


def commands(page: str) -> list[str]:
    """Lines of shell, and code in the text."""
    shell = [
        line
        for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    return [line.split("#")[0].strip() for line in shell] + re.findall(r"`([^`\n]+)`", page)


def test_both_licences_are_there() -> None:
    assert text("LICENSE").startswith("MIT License")
    assert "CC BY 4.0" in text("LICENSE-text")


@pytest.mark.parametrize("who", ["Weng", "Tatoeba", "CC BY 2.0 FR", "CLDR", "Babel"])
def test_readme_gives_credit(who: str) -> None:
    assert who in text("README.md").split("## Credits")[1]
