"""Captions: right words in both languages, and which animal each word speaks of."""

import re
from itertools import product

import pytest
import torch

from heed.data.captions import (
    ANIMALS,
    COLOUR,
    COLOURS,
    GROUNDS,
    MOST,
    NOUN,
    OTHER,
    RELATIONS,
    SIZE,
    SIZES,
    captions,
    pieces,
)
from heed.data.scenes import PAINT, SKY_AND_GROUND, SceneData
from heed.data.text import detokenize, tokenize
from heed.data.vocabulary import BOS, EOS, PAD


def said(language, *animals, relations=(), ground=0):
    """The caption of (size, colour, animal) names, as a person writes it."""
    index = [
        {each.english: i for i, each in enumerate(table)} for table in (SIZES, COLOURS, ANIMALS)
    ]
    rows = [[index[k][name] for k, name in enumerate(animal.split())] for animal in animals]
    rows += [[0, 0, 0]] * (MOST - len(rows))
    size, colour, animal = torch.tensor(rows).T.unsqueeze(1)
    relation = torch.tensor([[0, *relations, 0, 0][:MOST]])
    found = captions(
        language,
        count=torch.tensor([len(animals)]),
        size=size,
        colour=colour,
        animal=animal,
        relation=relation,
        ground=torch.tensor([ground]),
    )
    words = pieces(language).vocabulary.decode(found.words[0].tolist())
    assert words[0] == "<s>"
    assert words[-1] == "</s>"
    return detokenize(words[1:-1], language)


def test_one_animal():
    assert said("en", "big red cat") == "A big red cat on grass"
    assert said("fr", "big red cat") == "Un grand chat rouge sur l'herbe"
    assert said("fr", "small white cow", ground=2) == "Une petite vache blanche dans la neige"
    assert said("fr", "big green giraffe", ground=3) == "Une grande girafe verte la nuit"


def test_two_animals():
    pair = ("big pink elephant", "small grey giraffe")
    assert (
        said("en", *pair, relations=[2], ground=1)
        == "A big pink elephant above a small grey giraffe on sand"
    )
    assert (
        said("fr", *pair, relations=[2], ground=1)
        == "Un grand éléphant rose au-dessus d'une petite girafe grise sur le sable"
    )


def test_three_animals():
    three = ("big black bird", "small blue cow", "big yellow horse")
    assert (
        said("en", *three, relations=[1, 3], ground=2)
        == "A big black bird to the right of a small blue cow and below a big yellow horse in snow"
    )
    assert said("fr", *three, relations=[0, 3]) == (
        "Un grand oiseau noir à gauche d'une petite vache bleue "
        "et au-dessous d'un grand cheval jaune sur l'herbe"
    )


FEMININE = {"blanc": "blanche", "vert": "verte", "bleu": "bleue", "noir": "noire", "gris": "grise"}


@pytest.mark.parametrize("animal", [animal.english for animal in ANIMALS])
def test_article_size_and_colour_agree_with_every_animal(animal):
    feminine = animal in ("cow", "giraffe")
    for size, (english, french) in product(
        ("small", "big"),
        [
            ("red", "rouge"),
            ("blue", "bleu"),
            ("green", "vert"),
            ("white", "blanc"),
            ("black", "noir"),
            ("yellow", "jaune"),
            ("pink", "rose"),
            ("grey", "gris"),
        ],
    ):
        article, measure, _, colour, *_ = said("fr", f"{size} {english} {animal}").lower().split()
        assert article == ("une" if feminine else "un")
        assert measure == {"small": "petit", "big": "grand"}[size] + ("e" if feminine else "")
        assert colour == (FEMININE.get(french, french) if feminine else french)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_what_a_word_speaks_of_is_what_it_says(language):
    scenes = SceneData(language=language).draw(400, torch.Generator().manual_seed(0))
    found, plan, vocabulary = scenes.captions, scenes.plan, pieces(language).vocabulary
    for i in range(400):
        words = vocabulary.decode(found.words[i].tolist())
        named = {NOUN: [], COLOUR: [], SIZE: []}
        for word, about, role in zip(
            words, found.about[i].tolist(), found.role[i].tolist(), strict=True
        ):
            if role == OTHER:
                continue
            named[role].append(about)
            animal = ANIMALS[plan.animal[i, about]]
            says = {
                NOUN: animal,
                COLOUR: COLOURS[plan.colour[i, about]],
                SIZE: SIZES[int(plan.big[i, about])],
            }[role]
            if language == "en":
                assert word == says.english
            elif role == NOUN:
                assert word == says.french
            else:
                assert word == says.form(feminine=animal.feminine, plural=False)
        slots = list(range(int(plan.count[i])))
        assert named == {NOUN: slots, COLOUR: slots, SIZE: slots}


@pytest.mark.parametrize("language", ["en", "fr"])
def test_words_that_lead_in_or_say_where_it_is_speak_of_nobody(language):
    scenes = SceneData(language=language).draw(300, torch.Generator().manual_seed(1))
    vocabulary = pieces(language).vocabulary
    nobody = {"and", "et", "above", "below", "left", "right", "of", "d'", "gauche", "sable", "snow"}
    articles = {"a", "un", "une"}
    for words, about in zip(
        scenes.captions.words.tolist(), scenes.captions.about.tolist(), strict=True
    ):
        for word, who in zip(vocabulary.decode(words), about, strict=True):
            if word in nobody or word.startswith("<"):
                assert who == -1
            if word in articles:
                assert who >= 0


@pytest.mark.parametrize("language", ["en", "fr"])
def test_rows_run_from_bos_to_eos_and_are_padded(language):
    found = SceneData(language=language).draw(200, torch.Generator().manual_seed(0)).captions
    for row, length in zip(found.words.tolist(), found.lengths.tolist(), strict=True):
        assert row[0] == BOS
        assert row[length - 1] == EOS
        assert row[length:] == [PAD] * (len(row) - length)
        assert min(row[1 : length - 1]) > EOS
    assert found.words.shape[1] == found.lengths.max()


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_caption_is_cut_as_heed_cuts_what_a_reader_types(language):
    scenes = SceneData(language=language).draw(100, torch.Generator().manual_seed(0))
    vocabulary = pieces(language).vocabulary
    for row, length in zip(
        scenes.captions.words.tolist(), scenes.captions.lengths.tolist(), strict=True
    ):
        words = vocabulary.decode(row[1 : length - 1])
        assert tokenize(detokenize(words, language), language) == words


def test_the_vocabularies_hold_the_words_of_the_captions_and_no_more():
    assert len(pieces("en").vocabulary) == 38
    assert len(pieces("fr").vocabulary) == 47
    assert not any(re.search(r"\s", word) for word in pieces("fr").vocabulary.words)


def test_every_colour_and_every_ground_has_its_paint():
    assert [colour.english for colour in COLOURS] == list(PAINT)
    assert [english for english, _ in GROUNDS] == list(SKY_AND_GROUND)
    assert len(RELATIONS) == 4
