"""Every exercise: the starter is not right, the solution is, the usual mistakes get their hint."""

import pytest
import torch

from heed.data.vocabulary import BOS, EOS, PAD
from heed.exercises import ch02
from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig

# ---------------------------------------------------------------------------- 1


def test_width():
    assert ch02.width.check(2_000)
    assert "Replace the dots" in ch02.width.check(...).message
    assert "h and its c" in ch02.width.check(4_000).message
    assert "shared out" in ch02.width.check(8_000).message
    assert "four layers" in ch02.width.check(1_000).message
    assert "Count the vectors" in ch02.width.check(7).message


# ---------------------------------------------------------------------------- 2


def lag(i, j, n, reverse):
    read = n - i if reverse else i + 1
    return n + 2 + j - read


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda i, j, n, reverse: None, "None so far"),
        (lambda i, j, n, reverse: lag(i, j, n, reverse) - 1, "also reads </s>"),
        (lambda i, j, n, reverse: lag(i, j, n, not reverse), "exchanged"),
        (lambda i, j, n, reverse: lag(i, j, n, False), "does not depend on reverse"),
        (lambda i, j, n, reverse: j, "two words"),
        (lambda i: i, "TypeError"),
    ],
)
def test_lag_hints(answer, hint):
    verdict = ch02.lag.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_lag():
    assert ch02.lag.check(lag)


# ---------------------------------------------------------------------------- 3


def turn_round(source, lengths):
    rows = [
        [*row[: n - 1].flip(0).tolist(), *row[n - 1 :].tolist()]
        for row, n in zip(source, lengths.tolist(), strict=True)
    ]
    return torch.tensor(rows)


def eos_first(source, lengths):
    rows = [
        [*row[:n].flip(0).tolist(), *row[n:].tolist()]
        for row, n in zip(source, lengths.tolist(), strict=True)
    ]
    return torch.tensor(rows)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda source, lengths: None, "None so far"),
        (lambda source, lengths: source.flip(1), "padding stands in front"),
        (eos_first, "read first"),
        (lambda source, lengths: source, "Nothing has moved"),
        (lambda source, lengths: source + 1, "[10, 9, 2, 0, 0]"),
    ],
)
def test_turn_round_hints(answer, hint):
    verdict = ch02.turn_round.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_turn_round():
    assert ch02.turn_round.check(turn_round)


# ---------------------------------------------------------------------------- 4


@pytest.fixture(scope="module")
def translator():
    """Untrained, with weights large enough to write several words and then stop."""
    torch.manual_seed(66)
    model = Seq2Seq(
        Seq2SeqConfig(source_vocab=9, target_vocab=8, d_embedding=8, d_hidden=8, layers=2)
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(6)
        model.output.bias.zero_()
        model.output.bias[[PAD, BOS]] = -1e9
    source = torch.tensor([[5, 6, 7, 8, EOS]])
    return model, source, torch.tensor([5])


def write(model, encoded, limit, *, first=BOS, keep=True, stop=True, with_eos=False):
    state, token, words = model.start(encoded), torch.tensor([first]), []
    while len(words) < limit:
        after, out = model.step(state, token, encoded)
        state = after if keep else state
        token = out.logits.argmax(-1)
        if stop and token.item() == EOS:
            return [*words, EOS] if with_eos else words
        words.append(token.item())
    return words


def test_writing(translator):
    exercise = ch02.writing(*translator)
    words = write(translator[0], translator[0].encode(*translator[1:]), 50)
    assert len(set(words)) > 1  # else the slips below could not be told apart
    assert exercise.check(write)


@pytest.mark.parametrize(
    ("slip", "hint"),
    [
        ({"with_eos": True}, "no word of it"),
        ({"stop": False}, "goes on writing"),
        ({"first": EOS}, "must be BOS"),
        ({"keep": False}, "same state"),
    ],
)
def test_writing_hints(translator, slip, hint):
    def answer(model, encoded, limit):
        return write(model, encoded, limit, **slip)

    verdict = ch02.writing(*translator).check(answer)
    assert not verdict
    assert hint in verdict.message


def test_writing_nothing(translator):
    exercise = ch02.writing(*translator)
    assert "None so far" in exercise.check(lambda model, encoded, limit: None).message
    assert "Start from" in exercise.check(lambda model, encoded, limit: [7]).message


# ---------------------------------------------------------------------------- 5


def rounded(values, bits):
    low, high = values.amin(0), values.amax(0)
    steps = 2**bits - 1
    return low + (high - low) * ((values - low) / (high - low) * steps).round() / steps


def one_range(values, bits):
    low, high, steps = values.min(), values.max(), 2**bits - 1
    return low + (high - low) * ((values - low) / (high - low) * steps).round() / steps


def one_level_more(values, bits):
    low, high = values.amin(0), values.amax(0)
    return low + (high - low) * ((values - low) / (high - low) * 2**bits).round() / 2**bits


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda values, bits: None, "None so far"),
        (one_range, "One range for all"),
        (one_level_more, "one level too many"),
        (lambda values, bits: values, "one level too many"),
        (lambda values, bits: values * 0, "For each number"),
    ],
)
def test_rounding_hints(answer, hint):
    verdict = ch02.rounding.check(answer)
    assert not verdict
    assert hint in verdict.message


def test_rounding():
    assert ch02.rounding.check(rounded)
