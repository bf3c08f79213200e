import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from heed.data.batches import encode_batch, pad
from heed.data.pairs import Pair
from heed.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from heed.evaluation.decoding import (
    beam,
    forced_weights,
    greedy,
    in_batches,
    replace_unknown,
    translate,
)

SOURCE, LENGTHS = pad([[5, 7, 4, EOS], [9, EOS], [6, 8, 8, 4, 10, 7, EOS], [4, 9, 5, EOS]])
WORDS = Vocabulary(("a", "b"))
SIX = Vocabulary(("one", "two", "three", "four", "five", "six", "seven"))


def follow(model, source, tokens):
    """Log-probability of each of ``tokens`` and weights, for one sentence, by a plain loop."""
    source = torch.tensor([source])
    encoded = model.encode(source, torch.tensor([source.shape[1]]))
    state, terms, looked = model.start(encoded), [], []
    for before, token in itertools.pairwise([BOS, *tokens]):
        state, out = model.step(state, torch.tensor([before]), encoded)
        terms.append(out.logits[0].log_softmax(-1)[token].item())
        if out.weights is not None:
            looked.append(out.weights[0].tolist())
    return terms, np.array(looked)


def greedy_by_hand(model, source, limit):
    encoded = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    state, token, tokens = model.start(encoded), BOS, []
    while len(tokens) < limit and token != EOS:
        state, out = model.step(state, torch.tensor([token]), encoded)
        logits = out.logits[0].tolist()
        token = max((t for t in range(len(logits)) if t not in (PAD, BOS)), key=lambda t: logits[t])
        tokens.append(token)
    return tokens


def rows(source, lengths):
    return [row[:n] for row, n in zip(source.tolist(), lengths.tolist(), strict=True)]


def written(hypothesis):
    return hypothesis.tokens + [EOS] * hypothesis.finished


@pytest.mark.parametrize("seed", range(8))
def test_greedy_writes_what_a_loop_over_single_sentences_writes(tiny, seed):
    model = tiny(seed=seed, vocab=11)
    with torch.no_grad():
        for source, hypothesis in zip(
            rows(SOURCE, LENGTHS), greedy(model, SOURCE, LENGTHS, max_steps=9), strict=True
        ):
            tokens = greedy_by_hand(model, source, 9)
            assert written(hypothesis) == tokens
            terms, weights = follow(model, source, tokens)
            assert hypothesis.log_probs == pytest.approx(terms, abs=1e-9)
            assert hypothesis.log_prob == pytest.approx(sum(terms), abs=1e-9)
            np.testing.assert_allclose(hypothesis.weights, weights, atol=1e-9)


def test_what_is_encoded_already_is_not_encoded_again(tiny, monkeypatch):
    model = tiny(vocab=11)
    whole, encoded = greedy(model, SOURCE, LENGTHS), model.encode(SOURCE, LENGTHS)
    monkeypatch.delattr(type(model), "encode")
    for one, other in zip(greedy(model, SOURCE, LENGTHS, encoded=encoded), whole, strict=True):
        assert (one.tokens, one.log_prob) == (other.tokens, other.log_prob)


def test_the_searches_see_both_finished_and_cut_sentences(tiny):
    """The tests above and below would prove little if every random model ran to its limit."""
    ends = [
        h.finished
        for seed in range(8)
        for h in greedy(tiny(seed=seed, vocab=11), SOURCE, LENGTHS, max_steps=9)
    ]
    assert 4 <= sum(ends) <= len(ends) - 4


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_beam_one_wide_is_greedy(tiny, seed, length_penalty):
    model = tiny(seed=seed, vocab=11)
    narrow = beam(model, SOURCE, LENGTHS, width=1, length_penalty=length_penalty, max_steps=9)
    for one, other in zip(narrow, greedy(model, SOURCE, LENGTHS, max_steps=9), strict=True):
        assert (one.tokens, one.finished) == (other.tokens, other.finished)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-12)
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_wide_enough_finds_the_best_of_all_sentences(tiny, seed, length_penalty):
    model, steps = tiny(seed=seed), 4
    letters = (EOS, UNK, 4, 5)
    every = [
        (*middle, last)
        for n in range(steps)
        for middle in itertools.product(letters[1:], repeat=n)
        for last in (letters if n == steps - 1 else (EOS,))
    ]

    def rank(source, tokens):
        return sum(follow(model, source, tokens)[0]) / ((5 + len(tokens)) / 6) ** length_penalty

    with torch.no_grad():
        found = beam(
            model, SOURCE, LENGTHS, width=4**4, length_penalty=length_penalty, max_steps=steps
        )
        for source, hypothesis in zip(rows(SOURCE, LENGTHS), found, strict=True):
            best = max(every, key=lambda tokens: rank(source, tokens))
            assert tuple(written(hypothesis)) == best
            assert hypothesis.log_prob == pytest.approx(
                sum(follow(model, source, best)[0]), abs=1e-9
            )


@pytest.mark.parametrize("seed", range(6))
def test_weights_and_log_probs_of_a_beam_are_those_of_the_sentence_that_it_hands_back(tiny, seed):
    model = tiny(seed=seed, vocab=11)
    with torch.no_grad():
        for source, hypothesis in zip(
            rows(SOURCE, LENGTHS),
            beam(model, SOURCE, LENGTHS, width=3, max_steps=7),
            strict=True,
        ):
            terms, weights = follow(model, source, written(hypothesis))
            assert hypothesis.log_probs == pytest.approx(terms, abs=1e-9)
            assert hypothesis.log_prob == pytest.approx(sum(terms), abs=1e-9)
            np.testing.assert_allclose(hypothesis.weights, weights, atol=1e-9)


@pytest.mark.parametrize("width", [1, 3])
def test_a_sentence_is_translated_alike_alone_and_in_a_batch(tiny, width):
    model = tiny(seed=3, vocab=11)
    together = beam(model, SOURCE, LENGTHS, width=width)
    for source, hypothesis in zip(rows(SOURCE, LENGTHS), together, strict=True):
        (alone,) = beam(model, *pad([source]), width=width)
        assert alone.tokens == hypothesis.tokens
        np.testing.assert_allclose(alone.weights, hypothesis.weights, atol=1e-12)


def test_a_length_penalty_makes_sentences_longer(tiny):
    def words(length_penalty):
        return sum(
            len(h.tokens)
            for seed in range(6)
            for h in beam(
                tiny(seed=seed),
                SOURCE,
                LENGTHS,
                width=8,
                length_penalty=length_penalty,
                max_steps=8,
            )
        )

    assert words(3.0) > words(0.0)


def test_the_search_goes_on_while_a_longer_sentence_may_still_overtake(scripted):
    """Stop at once has -1.0; a sentence of 3 words and EOS has -1.2, and nothing after costs."""
    model = scripted({BOS: {EOS: -1.0, 4: -1.2}, 4: {4: 0.0}}, ends_at=4)
    source, lengths = pad([[4, EOS]])
    (plain,) = beam(model, source, lengths, width=2)
    assert plain.tokens == []
    (long,) = beam(model, source, lengths, width=2, length_penalty=2.0)
    assert long.tokens == [4, 4, 4]  # -1.2 / (9/6)² = -0.53, more than -1.0
    assert long.log_prob == pytest.approx(-1.2, abs=1e-5)


@pytest.mark.parametrize("width", [1, 3])
def test_pad_and_bos_are_never_written_but_unknown_may_be(tiny, width):
    model = tiny(vocab=11)
    with torch.no_grad():
        model.bias[[PAD, BOS]], model.bias[UNK] = 100.0, 90.0
    for hypothesis in beam(model, SOURCE, LENGTHS, width=width, max_steps=3):
        assert hypothesis.tokens == [UNK] * 3
    for hypothesis in greedy(model, SOURCE, LENGTHS, max_steps=3):
        assert hypothesis.tokens == [UNK] * 3
        assert hypothesis.log_prob < -15  # the model's own, not shared out anew among the rest


@pytest.mark.parametrize("width", [1, 2])
def test_a_model_that_never_stops_is_cut_by_the_length_of_each_source(tiny, width):
    model = tiny(vocab=11)
    with torch.no_grad():
        model.bias[EOS] = -1e4
    source, lengths = pad([[4] * n + [EOS] for n in (1, 5, 6, 30)])
    found = beam(model, source, lengths, width=width)
    assert [len(h.tokens) for h in found] == [20, 20, 22, 70]
    assert [h.weights.shape for h in found] == [(20, 2), (20, 6), (22, 7), (70, 31)]
    assert not any(h.finished for h in found)


def test_the_search_stops_when_the_last_sentence_is_finished(tiny):
    model = tiny(vocab=11)
    with torch.no_grad():
        model.bias[EOS] = 1e4
    for search in (greedy, lambda *a: beam(*a, width=3)):
        model.steps = 0
        for hypothesis in search(model, SOURCE, LENGTHS):
            assert hypothesis.tokens == []
            assert hypothesis.finished
            assert hypothesis.weights.shape[0] == 1
        assert model.steps == 1


def test_decoding_switches_dropout_off_and_on_again(tiny):
    model = tiny(seed=1, vocab=11, dropout=0.5)
    model.frozen = torch.nn.Dropout(0.5)
    model.train()
    model.frozen.eval()
    first, second = (greedy(model, SOURCE, LENGTHS) for _ in range(2))
    assert [h.log_prob for h in first] == [h.log_prob for h in second]
    assert (model.training, model.dropout.training, model.frozen.training) == (True, True, False)


def test_a_model_without_attention_hands_back_no_weights(tiny):
    model = tiny(attends=False)
    assert all(h.weights is None for h in greedy(model, SOURCE, LENGTHS))
    assert all(h.weights is None for h in beam(model, SOURCE, LENGTHS, width=2))
    pair = Pair(source=("one",), target=("a",))
    assert forced_weights(model, encode_batch([pair], SIX, WORDS)) is None


def test_bad_settings_are_refused_with_their_value(tiny):
    with pytest.raises(ValueError, match="width=0"):
        beam(tiny(), SOURCE, LENGTHS, width=0)
    with pytest.raises(ValueError, match=r"length_penalty=-1\.0"):
        beam(tiny(), SOURCE, LENGTHS, width=2, length_penalty=-1.0)
    with pytest.raises(ValueError, match="max_steps=0"):
        greedy(tiny(), SOURCE, LENGTHS, max_steps=0)


def test_no_sentence_gives_no_hypothesis(tiny):
    empty, lengths = torch.zeros((0, 3), dtype=torch.long), torch.zeros(0, dtype=torch.long)
    assert greedy(tiny(), empty, lengths) == []
    assert beam(tiny(), empty, lengths, width=2) == []


# ---------------------------------------------------------------------------- translate

SENTENCES = [("one", "two"), ("six",), (), ("four", "five", "unheard", "one"), ("three", "one")]


@pytest.mark.parametrize("width", [1, 3])
def test_translate_keeps_the_order_and_does_not_depend_on_the_batches(tiny, width):
    model = tiny(seed=2)
    found = translate(model, SENTENCES, SIX, WORDS, width=width)
    assert [t.source for t in found] == SENTENCES
    one_by_one = translate(model, SENTENCES, SIX, WORDS, width=width, batch_size=1)
    pairs = [Pair(source=s, target=()) for s in SENTENCES]
    of_pairs = translate(model, pairs, SIX, WORDS, width=width, batch_size=2)
    for a, b, c in zip(found, one_by_one, of_pairs, strict=True):
        assert a.words == b.words == c.words
        assert a.log_prob == pytest.approx(b.log_prob, abs=1e-12)


def test_an_empty_sentence_is_translated_by_an_empty_one(tiny):
    (found,) = translate(tiny(), [()], SIX, WORDS)
    assert (found.words, found.log_prob, found.weights, found.finished) == ((), 0.0, None, True)
    assert translate(tiny(), [], SIX, WORDS) == []


@pytest.mark.parametrize("width", [1, 2])
def test_a_sentence_of_500_words_is_translated(tiny, width):
    (found,) = translate(tiny(seed=5), [["one", "two"] * 250], SIX, WORDS, width=width)
    assert found.weights.shape == (len(found.words) + found.finished, 501)
    np.testing.assert_allclose(found.weights.sum(1), 1.0, atol=1e-6)


def test_an_empty_word_is_refused(tiny):
    with pytest.raises(ValueError, match="empty word"):
        translate(tiny(), [("one", "")], SIX, WORDS)


def test_batches_hold_every_row_once_and_stay_within_bounds():
    lengths = [3, 0, 900, 4, 4, 900, 1, 20_000]
    batches = list(in_batches(lengths, batch_size=4, width=2))
    assert sorted(i for batch in batches for i in batch) == [0, 2, 3, 4, 5, 6, 7]
    assert batches[0] == [7]  # longer than the bound: alone, but not dropped
    assert all(len(batch) <= 2 for batch in batches)


def test_an_unknown_word_is_copied_from_where_the_model_looks_most():
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.1, 0.6], [0.2, 0.2, 0.6]])
    words = replace_unknown(("<unk>", "mange", "<unk>"), ("Zoe", "eats"), weights)
    assert words == ("eats", "mange", "Zoe")  # the EOS column and later rows copy nothing
    assert replace_unknown((), (), np.zeros((1, 1))) == ()
    assert replace_unknown(("<unk>",), (), np.ones((1, 1))) == ("<unk>",)
    with pytest.raises(ValueError, match="do not cover"):
        replace_unknown(("<unk>", "b"), ("x",), np.ones((1, 2)))


def test_translate_copies_unknown_words_when_asked(tiny):
    model = tiny(seed=1)
    with torch.no_grad():
        model.bias[UNK] = 30.0
    plain = translate(model, [("one", "unheard")], SIX, WORDS, max_steps=2)[0]
    copied = translate(model, [("one", "unheard")], SIX, WORDS, max_steps=2, copy_unknown=True)[0]
    assert plain.words == ("<unk>", "<unk>")
    most = plain.weights[:2, :2].argmax(1)
    assert copied.words == tuple(("one", "unheard")[i] for i in most)
    with pytest.raises(ValueError, match="has none"):
        translate(tiny(attends=False), [("one",)], SIX, WORDS, copy_unknown=True)


def test_forced_weights_are_those_of_the_steps_that_write_the_gold_words(tiny):
    model = tiny(seed=4)
    pairs = [
        Pair(source=("one", "two", "six"), target=("a",)),
        Pair(source=("three",), target=("b", "a", "b")),
        Pair(source=("four",), target=()),
    ]
    found = forced_weights(model, encode_batch(pairs, SIX, WORDS))
    with torch.no_grad():
        for pair, weights in zip(pairs, found, strict=True):
            gold = [*WORDS.encode(pair.target), EOS]
            _, expected = follow(model, [*SIX.encode(pair.source), EOS], gold)
            np.testing.assert_allclose(weights, expected, atol=1e-9)


def test_half_precision_models_are_summed_in_single_precision(tiny):
    model = tiny(seed=1, vocab=11).to(torch.bfloat16)
    (hypothesis, *_) = greedy(model, SOURCE, LENGTHS, max_steps=5)
    assert hypothesis.weights.dtype == np.float32
    assert math.isfinite(hypothesis.log_prob)


@pytest.mark.parametrize("finished", [True, False])
def test_a_trace_names_every_row_and_column(tiny, finished):
    model = tiny(seed=2)
    with torch.no_grad():
        model.bias[EOS] = -1e4
        model.bias[4] = 1e4
    (found,) = translate(model, [("one", "two")], SIX, WORDS, max_steps=3)
    if finished:
        found = replace(found, words=("a", "a"), finished=True)
    trace = found.trace()
    assert trace.name == "cross"
    assert trace.key.labels == ("one", "two", "</s>")
    assert trace.query.labels == (("a", "a", "</s>") if finished else ("a", "a", "a"))
    np.testing.assert_array_equal(trace.weights[0], found.weights)
    with pytest.raises(ValueError, match="no weights to show"):
        replace(found, weights=None).trace()


# ---------------------------------------------------------------------------- the real models


def _bahdanau():
    from heed.models.bahdanau import Bahdanau, BahdanauConfig

    sizes = {"d_embedding": 4, "d_encoder": 3, "d_state": 5, "d_align": 7, "d_maxout": 4}
    return Bahdanau(BahdanauConfig(source_vocab=11, target_vocab=9, **sizes))


def _seq2seq():
    from heed.models.seq2seq import Seq2Seq, Seq2SeqConfig

    sizes = {"d_embedding": 4, "d_hidden": 5, "layers": 2}
    return Seq2Seq(Seq2SeqConfig(source_vocab=11, target_vocab=9, **sizes))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("build", [_bahdanau, _seq2seq])
def test_the_states_of_the_real_models_survive_the_beam(build, width):
    """What a beam adds up, states reordered, is what the model gives the sentence at once."""
    torch.manual_seed(0)
    model = build().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # fresh weights are so flat that no beginning overtakes another
    found = beam(model, SOURCE, LENGTHS, width=width, max_steps=6)
    targets, _ = pad([[BOS, *written(h)] for h in found])
    with torch.no_grad():
        out = model.eval()(SOURCE, LENGTHS, targets[:, :-1])
    gains = out.logits.log_softmax(-1).gather(-1, targets[:, 1:, None])[..., 0]
    for row, hypothesis in enumerate(found):
        steps = len(written(hypothesis))
        assert hypothesis.log_prob == pytest.approx(gains[row, :steps].sum().item(), abs=1e-9)
        if "cross" in out.weights:
            expected = out.weights["cross"][row, 0, :steps, : LENGTHS[row]].numpy()
            np.testing.assert_allclose(hypothesis.weights, expected, atol=1e-9)
        else:
            assert hypothesis.weights is None


def test_a_translation_shows_its_words_and_not_its_map() -> None:
    from heed.evaluation.decoding import Translation

    shown = Translation(
        source=("a",), words=("le", "chat"), log_prob=0.0, weights=np.eye(3), finished=True
    )
    assert repr(shown) == "Translation('le chat')"
