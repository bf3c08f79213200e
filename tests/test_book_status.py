"""What the book says of itself, from small notebooks and cards."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import book_status
import nbformat
import pytest
from book_status import Chapter, chapters_table, checked, models_table, stamp
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from heed.experiments.cards import Card
from heed.experiments.table import EXPERIMENTS, Claim, Experiment

RUN = {
    "date": "2026-03-07",
    "seconds": 23.4,
    "memory": 612_000_000,
    "cores": 2,
    "python": "3.11.9",
    "torch": "2.13.0",
}


def test_a_stamp_says_when_how_long_and_with_what() -> None:
    assert stamp(RUN) == (
        "Executed on 7 March 2026 in 23 s on 2 processor cores, "
        "with torch 2.13.0 and Python 3.11.9."
    )
    assert "on 1 processor core, with" in stamp(RUN | {"cores": 1})


def test_without_a_note_of_the_run_there_is_no_stamp() -> None:
    assert stamp({}) == ""


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """A chapter with a lab, an exercise, and two models of the table."""

    def made(heed: dict[str, Any]) -> Path:
        lab = new_code_cell("Lab(reader)")
        lab.outputs = [
            new_output("display_data", data={"text/html": '<heed-lab class="a" kind="reading">'})
        ]
        cells = [
            new_markdown_cell('"bahdanau_grammar" in prose loads nothing'),
            new_code_cell('trained("lstmn_prose")\nother = "lstm_copy" # "ntm_copy"'),
            lab,
            new_code_cell("answer = ...", metadata={"tags": ["exercise"]}),
        ]
        path = tmp_path / "05_small.ipynb"
        nbformat.write(new_notebook(cells=cells, metadata={"heed": heed}), path)
        return path

    return made


def test_a_chapter_is_read_from_its_notebook(notebook: Callable[..., Path]) -> None:
    assert Chapter.read(notebook({"run": RUN})) == Chapter(
        name="05_small",
        run=RUN,
        cells=3,
        exercises=1,
        labs=["reading"],
        models=["lstmn_prose", "lstm_copy"],
    )


def cells(table: str, line: int) -> list[str]:
    return [cell.strip() for cell in table.splitlines()[line].strip("|").split("|")]


def test_a_chapter_is_one_line_of_the_table(notebook: Callable[..., Path]) -> None:
    chapter = Chapter.read(notebook({"run": RUN}))
    known = {"lstmn_prose": card("lstmn_prose", seeds=[0, 1])}
    planned = len(EXPERIMENTS["lstmn_prose"].seeds) + len(EXPERIMENTS["lstm_copy"].seeds)
    line = cells(chapters_table([chapter], known), 2)
    assert line[:8] == [
        "{doc}`/chapters/05_small`",
        "23\N{NO-BREAK SPACE}s",
        "0.61\N{NO-BREAK SPACE}GB",
        "3",
        "1",
        "reading",
        "2",
        f"2 of {planned}",
    ]


def test_what_is_not_known_of_a_chapter_is_a_dash(notebook: Callable[..., Path]) -> None:
    line = cells(chapters_table([Chapter.read(notebook({}))], {}), 2)
    assert line[1:3] == ["–", "–"]
    without = Chapter.read(notebook({"run": RUN | {"memory": None}}))
    assert cells(chapters_table([without], {}), 2)[1:3] == ["23\N{NO-BREAK SPACE}s", "–"]


def card(name: str, *, seeds: list[int] | None = None, **metrics: float) -> Card:
    """A card of the book with other numbers on it."""
    shipped = book_status.cards()[name]
    told = {
        metric: {"mean": value, "std": 0.0, "seeds": [value]} for metric, value in metrics.items()
    }
    return replace(shipped, seeds=seeds or shipped.seeds, metrics=shipped.metrics | told)


def row(*claims: Claim) -> Experiment:
    return replace(EXPERIMENTS["bahdanau_grammar"], claims=claims)


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (Claim(metric="bleu", at_least=40.0), True),
        (Claim(metric="bleu", at_least=41.0), False),
        (Claim(metric="bleu", at_most=40.0), True),
        (Claim(metric="bleu", at_most=2.0, times="bleu_copy"), True),  # 40 ≤ 2 × 20
        (Claim(metric="bleu", at_least=2.1, times="bleu_copy"), False),
        (Claim(metric="bleu", at_least=9.0, above="seq2seq_grammar:bleu"), True),  # 40 ≥ 30 + 9
        (Claim(metric="bleu", at_least=11.0, above="seq2seq_grammar:bleu"), False),
        (Claim(metric="bleu", at_least=1.0, times="transformer_grammar:bleu"), None),
    ],
)
def test_a_claim_is_held_against_the_cards(claim: Claim, holds: bool | None) -> None:
    known = {
        "bahdanau_grammar": card("bahdanau_grammar", bleu=40.0, bleu_copy=20.0),
        "seq2seq_grammar": card("seq2seq_grammar", bleu=30.0),
    }
    (found,) = checked(row(claim), known)
    assert found.holds is holds
    assert found.value == 40.0


def test_a_model_is_one_line_and_a_broken_claim_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = (Claim(metric="bleu", at_least=41.0), Claim(metric="bleu", at_least=39.0))
    monkeypatch.setattr(book_status, "EXPERIMENTS", {"bahdanau_grammar": row(*claims)})
    known = {"bahdanau_grammar": replace(card("bahdanau_grammar", bleu=40.0), seconds=90.0)}
    text = models_table(known)
    line = cells(text, 2)
    assert line[:2] == ["`bahdanau_grammar`", "3"]
    assert line[2] == f"{known['bahdanau_grammar'].parameters:,}"
    assert line[3:] == ["3 of 3", "BLEU 40.0", "1.5", "1 of 2"]
    assert "- `bahdanau_grammar`: bleu ≥ 41, and it is 40" in text
    assert "No claim is broken" not in text


def test_models_without_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    never = replace(row(), name="never_grammar", trained=False)
    waits = replace(row(), name="waits_grammar")
    rows = {each.name: each for each in (never, waits)}
    monkeypatch.setattr(book_status, "EXPERIMENTS", rows)
    assert models_table({}).endswith("Planned, without weights so far: `waits_grammar`.")


def test_every_card_of_the_book_has_its_line() -> None:
    known = book_status.cards()
    lines = models_table(known).splitlines()
    named = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert sorted(named) == sorted(known)
