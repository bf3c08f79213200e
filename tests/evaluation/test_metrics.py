import math

import pytest

from heed.data.pairs import Pair
from heed.evaluation.metrics import bleu, bleu_by_length, by_length, exact_match


def words(text):
    return tuple(text.split())


def test_bleu_of_a_hand_computed_sentence():
    """7 words; 6 of 7 unigrams, 4 of 6 bigrams, 2 of 5 trigrams, 1 of 4 four-grams; r = 7."""
    hypothesis = words("the cat is on the mat .")
    reference = words("the cat sat on the mat .")
    expected = 100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    assert bleu([hypothesis], [[reference]]).score == pytest.approx(expected, abs=1e-9)


def test_a_short_translation_pays_the_brevity_penalty():
    hypothesis, reference = words("a b c d e f"), words("a b c d e f g h")
    assert bleu([hypothesis], [[reference]]).score == pytest.approx(100 * math.exp(1 - 8 / 6))


def test_bleu_sums_counts_over_the_corpus_before_dividing():
    one, two = words("a b c d"), words("e f g h i j k l")
    score = bleu([one, two], [[one], [words("e f g h m n o p")]]).score
    assert score == pytest.approx(100 * (8 / 12 * 6 / 10 * 4 / 8 * 2 / 6) ** 0.25)


def test_every_accepted_translation_counts_and_their_number_may_differ():
    hypotheses = [words("je suis à la maison ."), words("il dort bien ce soir")]
    references = [
        [words("je me trouve chez moi ."), words("je suis à la maison .")],
        [words("il dort bien ce soir")],
    ]
    result = bleu(hypotheses, references)
    assert result.score == pytest.approx(100.0)
    assert bleu(hypotheses, [[r[0]] for r in references]).score < 80
    assert "nrefs:var" in result.signature


def test_the_signature_says_what_text_was_scored():
    signature = bleu([words("a b c d")], [[words("a b c d")]]).signature
    for part in ("nrefs:1", "case:lc", "tok:none", "version:2.", "text:heed-lower-case-tokens"):
        assert part in signature.split("|") or part in signature
    assert signature.split("|")[-1] == "text:heed-lower-case-tokens"


def test_words_are_not_cut_again():
    """With its default tokeniser sacreBLEU would cut l'homme and 3,5 once more."""
    a = words("c' est-ce 3,5 dit-il aujourd'hui")
    assert bleu([a], [[a]]).score == pytest.approx(100.0)
    b = words("c' est-ce 3,6 dit-il aujourd'hui")
    expected = 100 * (4 / 5 * 2 / 4 * (1 / 2 / 3) * (1 / 4 / 2)) ** 0.25  # exp smoothing of zeros
    assert bleu([a], [[b]]).score == pytest.approx(expected)


def test_an_empty_translation_scores_nothing_but_is_allowed():
    assert bleu([()], [[words("a b c d")]]).score == 0.0
    assert bleu([(), words("a b c d e")], [[words("a b c d")], [words("a b c d e")]]).score > 0


def test_bleu_refuses_what_it_cannot_score():
    with pytest.raises(ValueError, match="2 hypotheses but 1"):
        bleu([("a",), ("b",)], [[("a",)]])
    with pytest.raises(ValueError, match="no sentences"):
        bleu([], [])
    with pytest.raises(ValueError, match="sentence 1 has no reference"):
        bleu([("a",), ("b",)], [[("a",)], []])


def _pair(length):
    target = tuple(f"w{i}" for i in range(length))
    return Pair(source=target, target=target, references=(target, ("other",)))


def test_bleu_by_length_keeps_the_buckets_apart():
    pairs = [_pair(n) for n in (2, 3, 8, 9, 15, 16, 25, 45, 46, 60, 61)]
    rows = by_length(pairs)
    assert rows == {
        "3-8": [1, 2],
        "9-15": [3, 4],
        "16-25": [5, 6],
        "26-45": [7],
        "46-60": [8, 9],
    }
    hypotheses = [pair.target for pair in pairs]
    hypotheses[3] = hypotheses[4] = ("wrong",) * 9
    scores = bleu_by_length(hypotheses, pairs)
    assert list(scores) == list(rows)
    assert scores["9-15"] < 5
    assert all(scores[name] == pytest.approx(100.0) for name in scores if name != "9-15")


def test_a_bucket_without_sentences_is_left_out():
    assert list(bleu_by_length([_pair(5).target], [_pair(5)])) == ["3-8"]
    with pytest.raises(ValueError, match="1 hypotheses but 2 pairs"):
        bleu_by_length([("a",)], [_pair(5)] * 2)


def test_exact_match_takes_any_accepted_translation():
    references = [[("a", "b"), ("c",)], [("d",)], [("e",)], [()]]
    assert exact_match([["c"], ["d", "d"], ["e"], []], references) == 0.75
    with pytest.raises(ValueError, match="1 hypotheses but 4"):
        exact_match([["c"]], references)
    with pytest.raises(ValueError, match="no sentences"):
        exact_match([], [])
