"""The table of all systems: what it asks of the code is what the papers promise."""

import re
from collections.abc import Callable
from pathlib import Path

import book_systems
import pytest
import torch
from book_systems import HEAD, SYSTEMS, Facts, Look, cells, facts

ROOT = Path(__file__).parents[1]

# heads, rows, columns; score; sum of a row; what padding gets; what the first row sees
PROMISED = {
    "Sequence to sequence": None,
    "Additive attention (Bahdanau)": Facts((1, 5, 7), "Additive", "1", "0", "all"),
    "Neural Turing Machine": Facts((2, 5, 8), "none", "1", "–", "all"),
    "Show, Attend and Tell, soft": Facts((1, 5, 64), "Additive", "1", "–", "all"),
    "Show, Attend and Tell, hard": Facts((1, 5, 64), "Additive", "1; taken: 1 place", "–", "all"),
    "Pointer Network": Facts((1, 5, 8), "Additive", "1", "0", "all"),
    "Luong, global": Facts((1, 5, 7), "General", "1", "0", "all"),
    "Luong, local-m": Facts((1, 5, 7), "General", "1", "0", "3 of 7"),
    "Luong, local-p": Facts(
        (1, 5, 7), "General", "less than 1", "0", "3 of 7"
    ),  # it points at an end
    "LSTMN": Facts((1, 7, 7), "Additive", "1", "0", "1 of 7"),
    "Transformer, encoder": Facts((4, 7, 7), "ScaledDot", "1", "0", "all"),
    "Transformer, decoder": Facts((4, 5, 5), "ScaledDot", "1", "–", "1 of 5"),
    "Transformer, cross": Facts((4, 5, 7), "ScaledDot", "1", "0", "all"),
    "SNAIL": Facts((1, 7, 7), "ScaledDot", "1", "0", "1 of 7"),
    "SAGAN": Facts((1, 256, 64), "Dot", "1", "–", "all"),
}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_small_instance_keeps_what_its_paper_promises(system: book_systems.System) -> None:
    assert system.facts() == PROMISED[system.name]


@pytest.mark.parametrize(
    "probe",
    [book_systems.lstmn, book_systems.snail, lambda: book_systems.transformer("decoder")],
    ids=["LSTMN", "SNAIL", "Transformer"],
)
def test_each_row_sees_one_more_than_the_one_before_it(probe: Callable[[], Look]) -> None:
    seen = (probe().whole > 0).sum(dim=-1)
    assert bool((seen == torch.arange(1, seen.shape[-1] + 1)).all())


@pytest.mark.parametrize("attention", ["local_m", "local_p"])
def test_no_row_reaches_beyond_its_window(attention: str) -> None:
    seen = (book_systems.luong(attention).whole > 0).sum(dim=-1)
    assert int(seen.max()) <= 5


def test_every_system_has_its_line_and_they_stand_in_the_order_of_time() -> None:
    assert [system.name for system in SYSTEMS] == list(PROMISED)
    years = [system.year for system in SYSTEMS]
    assert years == sorted(years)


def test_a_line_has_a_cell_for_each_column_and_says_what_was_asked() -> None:
    for system in (SYSTEMS[0], SYSTEMS[1]):
        assert len(list(cells(system))) == len(HEAD) - 1
    asked = [text for parts in cells(SYSTEMS[1]) for text, was in parts if was]
    assert asked == ["1 × 5 × 7", "Additive", "0", "1", "all"]


def test_what_a_line_names_is_in_the_package() -> None:
    sources = "\n".join(
        file.read_text("utf-8") for file in (ROOT / "src" / "heed" / "models").glob("*.py")
    )
    for system in SYSTEMS:
        name, _, options = system.where.rpartition(".")[2].partition("(")
        assert re.search(rf"^class {name}\b", sources, re.MULTILINE)
        for value in re.findall(r'"(\w+)"', options):
            assert f'"{value}"' in sources


WHOLE = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]])


def test_a_fault_would_be_seen() -> None:
    sound = facts(Look(WHOLE, torch.zeros(1, 2, 1), ("Dot",)))
    assert sound == Facts((1, 2, 3), "Dot", "1", "0", "2 of 3")
    leaking = facts(Look(WHOLE, torch.tensor([[[0.0], [0.25]]]), ("Dot",)))
    assert leaking is not None
    assert leaking.hidden == "up to 0.25"
    lost = facts(Look(WHOLE * torch.tensor([[1.0], [3.0]]), None, ()))
    assert lost is not None
    assert (lost.total, lost.score) == ("1.00 to 3.00", "none")


def test_asking_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(3)
    untouched = torch.rand(2)
    torch.manual_seed(3)
    SYSTEMS[1].facts()
    torch.testing.assert_close(torch.rand(2), untouched, rtol=0, atol=0)
