"""GitHub's workflow: its YAML can be read, and what it calls is there. It runs only on GitHub."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PATHS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
workflow = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)


def read(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text("utf-8"))
    content["on"] = content.pop(True)  # YAML 1.1 takes "on" for a truth value; GitHub does not
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_there_is_one() -> None:
    assert PATHS


@workflow
def test_what_is_called_exists_in_the_makefile(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    scripts = "\n".join(step.get("run", "") for step in steps(path))
    called = set(re.findall(r"\bmake ([\w-]+)", scripts))
    assert called
    for target in called:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@workflow
def test_files_that_a_step_reads_or_makes_are_the_makefiles(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    scripts = "\n".join(step.get("run", "") for step in steps(path))
    for made in re.findall(r"(_build/[\w./-]*\w)", scripts):
        assert made in makefile
    for kept in re.findall(r"(?<![\w/])(\.binder/[\w.]+)", scripts):
        assert (ROOT / kept).is_file()


@workflow
def test_the_small_pytorch_is_found_where_binder_names_it(path: Path) -> None:
    lines = (ROOT / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    (prefix,) = {
        found
        for step in steps(path)
        for found in re.findall(r"sed -n 's/\^(.*?)//p' \.binder", step.get("run", ""))
    }
    assert len([line for line in lines if line.startswith(prefix)]) == 1
    assert not re.search(r"https?://", path.read_text("utf-8")), "no host is named here"


@workflow
def test_every_action_has_one_exact_version(path: Path) -> None:
    actions = [step["uses"] for step in steps(path) if "uses" in step]
    assert actions
    assert not [a for a in actions if not re.fullmatch(r"[\w-]+/[\w-]+@v\d+\.\d+\.\d+", a)]


@workflow
def test_jobs_wait_for_jobs_that_exist_and_none_runs_for_hours(path: Path) -> None:
    jobs = read(path)["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert {needs} <= set(jobs) if isinstance(needs, str) else set(needs) <= set(jobs)
        assert job["timeout-minutes"] <= 120


def test_only_what_was_tested_on_main_is_published() -> None:
    found = read(ROOT / ".github" / "workflows" / "book.yml")
    assert set(found["on"]) == {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert found["on"]["push"]["branches"] == ["main"]
    assert re.fullmatch(r"\d+ \d+ \* \* \d", found["on"]["schedule"][0]["cron"])  # once a week
    publish = found["jobs"]["publish"]
    assert publish["needs"] == "test"
    assert "refs/heads/main" in publish["if"]
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert found["permissions"] == {"contents": "read"}
    order = [step.get("run", step.get("uses", "")) for step in found["jobs"]["test"]["steps"]]
    tests, pages = order.index("make test"), [k for k, s in enumerate(order) if "pages" in s]
    assert pages
    assert tests < pages[0]


def test_python_is_the_one_that_the_book_asks_for() -> None:
    wanted = {
        step["with"]["python-version"]
        for path in PATHS
        for step in steps(path)
        if "setup-python" in step.get("uses", "")
    }
    (least,) = re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert wanted == {least}
