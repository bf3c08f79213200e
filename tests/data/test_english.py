"""The English side of Tatoeba; a few sentences that are written here, where the file is absent."""

from pathlib import Path

import pytest
import torch
from torch import nn

from heed.data.english import OURS, EnglishData
from heed.data.text import tokenize
from heed.experiments.everyday import Everyday, ReadsEveryday
from heed.models.lstmn import LanguageOutput


class Alike(nn.Module):
    """Finds all words equally likely."""

    def forward(self, tokens):
        return LanguageOutput(torch.zeros(*tokens.shape, 54), None)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As manythings.org packs it: English, tab, French; one sentence with two translations."""
    lines = [f"We saw {i} dogs.\tNous avons vu {i} chiens." for i in range(400)]
    lines += ["We saw 7 dogs.\tOn a vu 7 chiens.", f"{OURS[0]}\tElle mange une pomme verte."]
    lines += ["I " + "really " * 30 + "mean it.\tVraiment."]
    path = tmp_path_factory.mktemp("tatoeba") / "fra.txt"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_each_sentence_is_there_once_in_one_part(file):
    prose = EnglishData(words=50).load(tatoeba=file)
    every = [*prose.train, *prose.valid, *prose.test]
    assert len(every) == len(set(every)) == 400
    assert prose.valid
    assert prose.test
    assert max(map(len, every)) <= 20
    assert len(prose.vocabulary) == 50 + 4
    assert "Tatoeba" in prose.credits[0]


def test_the_sentence_of_the_survey_is_watched_and_never_learnt(file):
    prose = EnglishData().load(tatoeba=file)
    ours = tuple(tokenize(OURS[0], "en"))
    assert prose.watched[0] == ours
    assert ours not in {*prose.train, *prose.valid, *prose.test}


def test_the_task_names_the_corpus_and_measures_what_is_expected(file):
    task = ReadsEveryday().load(EnglishData(words=50), {"tatoeba": file})
    assert isinstance(task, Everyday)
    assert isinstance(task.small(), Everyday)

    metrics, settings = task.evaluate(Alike())
    assert metrics["perplexity"] == pytest.approx(54)
    assert metrics["food"]["eat"] == metrics["food"]["others"] == 0.0  # none of them is known
    assert set(settings["corpus_sha256"]) == {"tatoeba"}
