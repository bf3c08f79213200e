"""Numbers in the ledger: from cards, from chapters, from the package, and from nowhere else."""

import json
import re
from dataclasses import replace
from pathlib import Path

import book_ledger
import pytest
from book_ledger import COMPUTED, NoSuchNumber, Told, computed, line, number, rounded
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.parsers.rst.states import Inliner
from docutils.utils import new_document

from heed.experiments.cards import Card
from heed.experiments.table import EXPERIMENTS

PAGE = (Path(__file__).parents[1] / "book" / "ledger.md").read_text("utf-8")
ENTRIES = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder with one card: BLEU of three seeds, and of sentences by length."""
    shipped = Card.read(EXPERIMENTS["bahdanau_grammar"].folder)
    metrics = {
        "bleu": {"mean": 40.256, "std": 0.214, "seeds": [40.1, 40.2, 40.5]},
        "by_length": {"3-8": {"mean": 0.9, "std": 0.0, "seeds": [0.9, 0.9, 0.9]}},
    }
    folder = tmp_path / "bahdanau_grammar"
    folder.mkdir()
    replace(shipped, metrics=metrics, seeds=[0, 1, 2]).write(folder)
    return tmp_path


def test_a_number_comes_from_the_card_with_its_spread(trained: Path) -> None:
    assert number("bahdanau_grammar:bleu", trained) == "40.26 ± 0.21"
    assert number("bahdanau_grammar:by_length.3-8", trained) == "0.9 ± 0"


def test_one_seed_has_no_spread(trained: Path) -> None:
    folder = trained / "bahdanau_grammar"
    replace(Card.read(folder), seeds=[0]).write(folder)
    assert number("bahdanau_grammar:bleu", trained) == "40.3 (one seed)"


def test_a_row_without_a_card_is_not_trained_yet(trained: Path) -> None:
    assert number("seq2seq_grammar:bleu", trained) == "not trained yet"


@pytest.mark.parametrize(
    "name", ["bahdanau_gramar:bleu", "bahdanau_grammar:blue", "bahdanau_grammar"]
)
def test_a_name_that_is_not_there_is_refused(trained: Path, name: str) -> None:
    with pytest.raises(NoSuchNumber, match=r"gramar|blue|metric ''"):
        number(name, trained)


@pytest.mark.parametrize(
    ("value", "like", "said"),
    [
        (99.1512, 0.2149, "99.15"),
        (0.02843, 0.0089, "0.0284"),
        (69.94, 12.2, "70"),
        (0.32, 0, "0.32"),
        (0.662, 0.00071, "0.6620"),
        (-0.5, 0.1, "\N{MINUS SIGN}0.50"),
    ],
)
def test_a_mean_has_no_more_digits_than_its_spread_allows(value, like, said) -> None:
    assert rounded(value, like) == said


def chapter(folder: Path, *texts: str) -> None:
    outputs = [{"output_type": "stream", "text": list(texts)}, {"output_type": "display_data"}]
    (folder / "03_small.ipynb").write_text(json.dumps({"cells": [{"outputs": outputs}, {}]}))


def test_a_line_is_what_a_chapter_printed(tmp_path: Path) -> None:
    chapter(tmp_path, "ours     0.31 ± 0.10 nats\n", "the paper's: 1.64 nats\n", "ours is lower\n")
    assert line("03_small:ours:nats", tmp_path) == "0.31 ± 0.10 nats"
    assert line("03_small:ours:is", tmp_path) == "is lower"
    assert line("03_small:the paper's:nats", tmp_path) == "1.64 nats"


@pytest.mark.parametrize(
    "name", ["03_small:theirs:1", "03_small:o:1", "03_small:o", "03_small::1", "04_none:ours:1"]
)
def test_a_line_that_is_not_there_or_not_the_only_one_is_refused(tmp_path: Path, name: str) -> None:
    chapter(tmp_path, "ours 1\n", "others 1\n")
    book_ledger.printed.cache_clear()
    with pytest.raises(NoSuchNumber, match=r"lines of chapter|no chapter"):
        line(name, tmp_path)


def test_what_the_package_says() -> None:
    """By hand: e / (e + 19/e); sums of 2 and 4 below 8; ln(e + 9) − 1; 1 / (1 + 1/e)."""
    assert computed("cosine cap, 20 keys") == "0.28"
    assert computed("lags as printed") == "0, 2, 4, 6"
    assert computed("lags from one") == "0, 1, 2, 3, 4, 5, 6, 7"
    assert computed("two softmaxes, 10 keys") == "1.46"
    assert computed("padding times zero") == "0.73"
    assert computed("doubly stochastic floor") == "39.1"
    assert computed("local-p, sum of a row, renormalised") == "1.00"
    assert 0.3 < float(computed("local-p, sum of a row")) < 0.9
    assert computed("parameters of base") == "63.0 million"
    assert computed("nowhere to look") == (
        "−∞ no number, −10⁹ 0.25 each, PyTorch's fused one 0 each, ours 0 each"
    )
    low, high = map(float, computed("softmax over queries").split(" to "))
    assert low < 0.9
    assert high > 1.1


def test_another_name_is_refused() -> None:
    with pytest.raises(NoSuchNumber, match="'the moon' is none of nowhere to look"):
        computed("the moon")


def role(text: str) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """What {heed-computed} puts on a page, and what it complains of."""
    settings = get_default_settings(Parser())
    settings.report_level = 5  # what is complained of comes back; it need not be printed
    inliner = Inliner()
    inliner.document = new_document("page.md", settings)
    inliner.reporter, inliner.parent = inliner.document.reporter, None
    return Told(computed)("heed-computed", f"`{text}`", text, 7, inliner)


def test_a_role_puts_the_number_on_the_page() -> None:
    (said,), complaints = role("cosine cap, 20 keys")
    assert said.astext() == "0.28"
    assert not complaints


def test_a_role_that_cannot_is_an_error_of_the_build_with_its_line() -> None:
    _, (complaint,) = role("the moon")
    assert complaint["level"] == 3
    assert complaint["line"] == 7
    assert "heed-computed: 'the moon' is none of" in complaint.astext()


# ------------------------------------------------------------------ the page


def asked(role: str) -> list[str]:
    return re.findall(rf"\{{{role}\}}`([^`]+)`", PAGE)


def test_every_number_of_the_page_is_there() -> None:
    for tell, role in ((number, "heed-number"), (line, "heed-line"), (computed, "heed-computed")):
        assert all(tell(name) for name in asked(role))


def test_everything_that_can_be_computed_is_used() -> None:
    assert set(asked("heed-computed")) == set(COMPUTED)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.splitlines()[0])
def test_an_entry_says_what_differs_what_we_do_and_what_it_changes(entry: str) -> None:
    fields = re.findall(r"^:([\w ]+):", entry, re.MULTILINE)
    assert fields[-3:] == ["Here", "Shown in", "Measured"]
    assert {"Papers", "Survey", "Public code"} & set(fields[:-3]), "nobody to differ from"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.splitlines()[0])
def test_no_measured_number_is_typed(entry: str) -> None:
    """What stands outside of the roles: words, and the sizes that say what was measured."""
    measured = entry.split(":Measured:")[1].split("\n#")[0]
    typed = re.sub(r"\{heed-\w+\}`[^`]+`|\$[^$]*\$", "", measured)
    assert not re.findall(r"\d[.,]\d|\d\s?%|±", typed)
