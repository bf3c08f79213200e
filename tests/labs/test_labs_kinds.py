"""A lab has many parts in many places; here is the list of them, demanded of each kind."""

import json
import re
from pathlib import Path

import pytest
from reader import ROOT

import heed.labs
from heed.labs import base, modules

LABS: dict[str, type[base.Lab]] = {
    name.removesuffix("Lab").lower(): getattr(heed.labs, name) for name in heed.labs.__all__
}
FRONTEND = modules.FRONTEND
TESTS = ROOT / "tests"
every_kind = pytest.mark.parametrize("kind", LABS)


def texts(folder: Path, pattern: str = "*.js") -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in folder.glob(pattern)}


def asks_models(lab: type[base.Lab]) -> bool:
    """Some labs compute what they show from their settings alone."""
    return bool(lab._models) or lab.asked is not base.Lab.asked


@every_kind
def test_the_class_says_what_it_needs(kind: str) -> None:
    lab = LABS[kind]
    assert lab.kind == kind
    assert lab.__doc__
    assert lab.settings
    assert set(lab.asks) <= set(lab.settings)
    assert not set(lab.settings) & set(lab.facts)
    traits = lab.class_traits(sync=True)
    assert {*lab.settings, *lab.facts} <= set(traits)
    for part in ("find", "drawn"):
        assert getattr(lab, part) is not getattr(base.Lab, part)
    assert lab.asks or not asks_models(lab)  # whom a lab asks, it asks because a setting changed


@every_kind
def test_the_view_has_its_words_and_its_look(kind: str) -> None:
    assert "export function render(" in (FRONTEND / f"{kind}.js").read_text("utf-8")
    words = json.loads((FRONTEND / "strings.en.json").read_text("utf-8"))
    assert any(key.startswith(f"{kind}.") for key in words)
    assert re.search(rf"\.heed-{kind}\b", (FRONTEND / "labs.css").read_text("utf-8"))


@every_kind
def test_the_page_can_answer_where_something_is_asked(kind: str) -> None:
    engine = FRONTEND / "answers" / f"{kind}.js"
    assert engine.exists() is bool(LABS[kind].asks)
    if engine.exists():
        exported = re.findall(
            r"^export (?:(?:async )?(?:const|function) |\{)(\w+)", engine.read_text(), re.M
        )
        fetched = {"models", "model"} if asks_models(LABS[kind]) else set()
        assert set(exported) & {"settings", "models", "model", "answer"} == {
            "settings",
            "answer",
            *fetched,
        }


@every_kind
def test_it_is_tried_in_the_page_and_in_jupyterlab(kind: str) -> None:
    assert (TESTS / "labs" / f"test_{kind}_view.py").exists()
    name = LABS[kind].__name__
    assert f"{name}(" in (TESTS / "lab" / "notebook_in_lab.py").read_text("utf-8")
    tried = (TESTS / "lab" / "test_jupyterlab.py").read_text("utf-8")
    assert f'lab(notebook, "{kind}")' in tried
    assert f'"heed-{kind}": ' in tried
    assert f"{name}(" in (TESTS / "labs" / "test_labs_python.py").read_text("utf-8")


def test_no_part_is_left_of_a_kind_that_is_none() -> None:
    views = {name for name, text in texts(FRONTEND).items() if "export function render(" in text}
    assert views == set(LABS)
    assert set(texts(FRONTEND / "answers")) <= set(LABS)
    classes = {
        name
        for module, text in texts(Path(base.__file__).parent, "*.py").items()
        if module != "base"
        for name in re.findall(r"^class (\w+)\((?:Choice)?Lab\):", text, re.M)
    }
    assert classes == set(heed.labs.__all__)


def test_what_all_labs_share_knows_no_kind() -> None:
    quoted = re.compile(rf"""["'`](?:{"|".join(LABS)})["'`]""")
    for name, text in texts(FRONTEND).items():
        code = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
        if name not in LABS:
            assert not quoted.findall("\n".join(code)), name
