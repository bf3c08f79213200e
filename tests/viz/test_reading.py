"""Readers that look back: what the pictures show, what they say, what a torn tape changes."""

import itertools
import math
from dataclasses import fields
from pathlib import Path
from typing import get_origin

import numpy as np
import pytest
import torch

from heed.data.vocabulary import BOS, EOS, Vocabulary
from heed.experiments.cards import Card
from heed.experiments.language import TrainedReader
from heed.models.lstmn import (
    LSTMLanguageConfig,
    LSTMLanguageModel,
    LSTMNLanguageConfig,
    LSTMNLanguageModel,
)
from heed.trace import AttentionTrace
from heed.viz.reading import (
    perplexity,
    reach,
    reach_picture,
    reading,
    recall_by_place,
    window_picture,
)

WORDS = ("a", "b", "c")
SENTENCES = [("a", "b", "c", "a"), ("c", "a"), ("b", "b", "a")]
READ = ("<s>", "a", "<b>", "c")
TRACE = AttentionTrace.of(
    "self",
    np.array(
        [[1.0, 0, 0, 0], [0.1, 0.9, 0, 0], [0.2, 0.3, 0.5, 0], [0.25, 0.0, 0.7, 0.05]],
    ),
    query=READ,
    key=("∅", *READ[:-1]),
)


def card(**said) -> Card:
    blank = {f.name: (get_origin(f.type) or f.type)() for f in fields(Card)}
    return Card(**blank | {"experiment": "test"} | said)


def reader(kind: str = "lstmn", seed: int = 0) -> TrainedReader:
    """A language model that was not trained, with weights large enough to tell slots apart."""
    torch.manual_seed(seed)
    vocabulary = Vocabulary(WORDS)
    sizes = {"vocab": len(vocabulary), "d_embedding": 5, "d_state": 6}
    model = (
        LSTMNLanguageModel(LSTMNLanguageConfig(**sizes, d_align=7))
        if kind == "lstmn"
        else LSTMLanguageModel(LSTMLanguageConfig(**sizes))
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    return TrainedReader(model=model, card=card(), folder=Path(), vocabulary=vocabulary)


# ----------------------------------------------------------------- the paper's figure, as text


def test_each_word_gets_a_line_with_the_words_before_it():
    html = reading(TRACE).html
    lines = html.split("</div>")[:-1]
    assert len(lines) == 3
    assert lines[0].count("<span") == 3  # ∅, <s>, and the word itself
    assert lines[2].count("<span") == 5


def test_the_word_that_is_read_is_red_and_underlined_and_the_shade_is_its_weight():
    last = reading(TRACE, rows={3}).html
    assert last.count("text-decoration:underline") == 1
    assert 'text-underline-offset:.2em">c</span>' in last
    assert 'title="0.70"' in last
    assert f'rgba(47,128,208,{0.62 * 0.7:.3f})">a</span>' in last


def test_only_the_rows_that_were_asked_for_are_shown():
    assert reading(TRACE, rows={2}).html.count("<div") == 1


def test_a_reading_can_be_heard():
    shown = reading(TRACE)
    assert "reading 'c', looks at 'a' 0.70" in shown.alt
    assert 'role="img"' in shown._repr_html_()
    assert "looks at &#x27;a&#x27; 0.70" in shown._repr_html_()
    assert repr(shown).startswith("Reading: reading 'a', looks at '<s>' 0.90")


def test_words_are_text_and_never_markup():
    assert "<b>" not in reading(TRACE).html
    assert "&lt;b&gt;" in reading(TRACE).html


# --------------------------------------------------------------------------------- how far back


def test_reach_counts_words_back_and_leaves_the_first_step_out():
    found = reach([TRACE], longest=2)
    assert found.back[1] == pytest.approx((0.9 + 0.5 + 0.05) / 3)
    assert found.back[2] == pytest.approx((0.3 + 0.7) / 2)
    assert found.null == pytest.approx((0.1 + 0.2 + 0.25) / 3)
    assert found.alike == {1: pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3), 2: pytest.approx(7 / 24)}


def test_a_reader_that_looks_everywhere_alike_reaches_as_far_as_that():
    n = 5
    weights = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    names = [str(i) for i in range(n)]
    found = reach([AttentionTrace.of("self", weights, query=names, key=names)], longest=3)
    for d in (1, 2, 3):
        assert found.back[d] == pytest.approx(found.alike[d])


def test_no_look_that_had_a_choice_no_reach():
    alone = AttentionTrace.of("self", np.ones((1, 1)), query=["<s>"], key=["∅"])
    with pytest.raises(ValueError, match="no look"):
        reach([alone])


def test_the_picture_of_reach_says_its_numbers():
    drawn = reach_picture(reach([TRACE], longest=2))
    assert "1 back 0.48, 2 back 0.50" in drawn.alt
    assert "The null slot has 0.18" in drawn.alt


# ---------------------------------------------------------------------------- tapes torn off


@pytest.mark.parametrize("kind", ["lstmn", "lstm"])
def test_perplexity_is_that_of_the_surprises(kind):
    made = reader(kind)
    bits = [each for words in SENTENCES for _, each in made.surprise(words)]
    assert perplexity(made, SENTENCES) == pytest.approx(2 ** (sum(bits) / len(bits)), rel=1e-4)


def test_a_window_as_long_as_the_tape_is_the_tape():
    made = reader()
    assert perplexity(made, SENTENCES, last=99) == pytest.approx(
        perplexity(made, SENTENCES), rel=1e-5
    )


def torn_by_hand(made: TrainedReader, words, *, last: int) -> float:
    """−log p of a sentence, with the tape cut by slicing."""
    from dataclasses import replace

    model, nats = made.model, 0.0
    state = model.start(1)
    tokens = [BOS, *made.vocabulary.encode(words), EOS]
    for token, wanted in itertools.pairwise(tokens):
        slots = state.tape.shape[1]
        seen = sorted({i for i in range(slots) if i >= slots - last} | {0})
        cut = replace(
            state,
            tape=state.tape[:, seen],
            prepared=state.prepared[:, seen],
            keep=state.keep[:, seen],
        )
        after, out = model.step(cut, torch.tensor([token]))
        state = model.lstmn.write(state, *after.tape[:, -1].chunk(2, dim=-1), after.summary)
        nats -= out.logits[0].log_softmax(-1)[wanted].item()
    return nats


@pytest.mark.parametrize("last", [1, 2])
def test_a_torn_tape_is_a_shorter_tape(last):
    made = reader()
    with torch.no_grad():
        nats = sum(torn_by_hand(made, words, last=last) for words in SENTENCES)
    count = sum(len(words) + 1 for words in SENTENCES)
    found = perplexity(made, SENTENCES, last=last)
    assert found == pytest.approx(math.exp(nats / count), rel=1e-4)
    assert found != pytest.approx(perplexity(made, SENTENCES), rel=1e-4)


def test_an_lstm_has_no_tape_to_tear():
    with pytest.raises(ValueError, match="no tape to tear"):
        perplexity(reader("lstm"), SENTENCES, last=1)


def test_a_tape_without_slots_cannot_be_read_from():
    with pytest.raises(ValueError, match="last=0"):
        perplexity(reader(), SENTENCES, last=0)


def test_the_picture_of_windows_says_its_numbers():
    drawn = window_picture({1: 90.0, 4: 60.0}, whole=58.0, rival=57.0)
    assert "1 slots 90, 4 slots 60; the whole tape 58" in drawn.alt
    assert "LSTM: 57" in drawn.alt
    assert "perplexity" in drawn.svg


# ------------------------------------------------------------------------------------ recall


def test_recall_is_drawn_by_how_far_back_the_pair_lies():
    def spread(*seeds):
        return {"mean": sum(seeds) / len(seeds), "std": 0.1, "seeds": list(seeds)}

    metrics = {"accuracy_by_place": {"1": spread(0.2, 0.4), "2": spread(0.9, 0.9)}}
    drawn = recall_by_place({"mine": card(metrics=metrics, settings={"chance": 0.05})})
    assert "mine: 1 back 90 ± 10, 2 back 30 ± 10" in drawn.alt
    assert "Chance is 5." in drawn.alt
