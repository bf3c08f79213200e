"""What a language model expects after a verb, asked of models whose answer is known."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from heed.data.text import tokenize
from heed.data.vocabulary import Vocabulary
from heed.evaluation.expecting import (
    COLOURS,
    FOODS,
    FORMS,
    OTHERS,
    PLACES,
    after,
    expectations,
    frames,
    probability,
)

WORDS = Vocabulary(("she", "is", "eating", "seeing", "a", "green", "apple", "bread", "door"))


class Hungry(nn.Module):
    """After *eating*, wherever it stood, an apple is 8 times as likely as anything else."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.size = len(vocabulary)
        self.eating, self.apple = vocabulary.encode(["eating", "apple"])

    def forward(self, tokens):
        ate = (tokens == self.eating).cumsum(1) > 0
        logits = torch.zeros(*tokens.shape, self.size)
        logits[..., self.apple] = ate * torch.tensor(8.0).log()
        return SimpleNamespace(logits=logits, weights=None)


def test_a_verb_stands_in_thirty_frames():
    found = frames("eat", "a green")
    assert len(found) == 30
    assert ["she", "is", "eating", "a", "green"] in found
    assert ["my", "brother", "wants", "to", "eat", "a", "green"] in found
    assert len({tuple(words) for words in found}) == 30
    assert all(len(a) == len(b) for a, b in zip(found, frames("see", "a green"), strict=True))


def test_no_word_is_food_and_colour_and_each_is_one_word():
    assert not set(FOODS) & set(COLOURS)
    assert len(set(FOODS)) == len(FOODS)
    assert all(tokenize(word, "en") == [word] for word in (*FOODS, *COLOURS))
    assert set(OTHERS) == set(FORMS) - {"eat"}


def test_the_probabilities_of_all_food_words_are_summed():
    model = Hungry(WORDS)
    n = len(WORDS)
    asked = [["she", "is", "eating"], ["she", "is", "seeing", "a"], ["eating", "a", "green"]]
    found = probability(model, WORDS, asked, FOODS)
    assert found.tolist() == pytest.approx([9 / (n + 7), 2 / n, 9 / (n + 7)])
    colours = probability(model, WORDS, asked, COLOURS)
    assert colours.tolist() == pytest.approx([1 / (n + 7), 1 / n, 1 / (n + 7)])


def test_a_beginning_is_asked_after_its_own_last_word_whatever_stands_in_the_batch():
    model = Hungry(WORDS)
    alone = probability(model, WORDS, [["she"]], FOODS)
    beside = probability(model, WORDS, [["she"], ["she", "is", "eating", "a", "green"]], FOODS)
    assert alone[0] == beside[0]


def test_tails_are_averaged_and_others_are_all_verbs_but_one():
    said = dict.fromkeys(word for verb in FORMS for words in frames(verb) for word in words)
    everything = Vocabulary((*said, *FOODS, *COLOURS, "a"))
    model = Hungry(everything)
    both = after(model, everything, "eat", FOODS, tails=("", "a"))
    each = [after(model, everything, "eat", FOODS, tails=(tail,)) for tail in ("", "a")]
    torch.testing.assert_close(both, (each[0] + each[1]) / 2)
    found = expectations(model, everything)
    assert set(found) == set(PLACES)
    assert found["food"]["eat"] > found["food"]["others"]
    assert found["food"]["see"] == pytest.approx(found["food"]["others"])
    assert found["colour_after_a"]["eat"] < found["colour_after_a"]["see"]
