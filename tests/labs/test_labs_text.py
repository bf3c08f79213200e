"""The page cuts text exactly as the models' Python does."""

import random
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from heed.data.grammar.corpus import GrammarConfig, grammar
from heed.data.text import Language, detokenize, tokenize

pytestmark = pytest.mark.browser

EVERYDAY = [
    "I don't know what you're talking about.",
    "It's 2:30 p.m., isn't it? No… it's 1,000,000.5!",
    "The ministers' offices; the minister's 'office'.",
    "He said: “Go!” – and left (for good).",
    "We'll see, they'd've said; y'all'd've.",
    "Rock 'n' roll in the '90s, o'clock, ma'am.",
    "COVID-19 and 3D-printing cost 50% more: $3.50.",
    "J'ai l'impression qu'aujourd'hui quelqu'un viendra.",
    "Est-ce que tu l'as vu ? A-t-il parlé ? Donne-le-moi !",
    "« Peut-être », dit-elle, les grands-mères et les arcs-en-ciel.",
    "Va-t'en ! Qu'est-ce que c'est ? Presqu'île, entr'acte, rendez-vous.",
    "Vas-y, allons-nous-en, dit-on, parle-leur-en.",
]

NASTY = [
    "",
    " \t\n ",
    "'",
    "''''",
    "-",
    "n't",
    "'s's's",
    "a'",
    "l'",
    "qu'l'd'",
    "-ce-ce",
    "x-t-il-t-elle-y",
    "aujourd'hui's",
    "...",
    "......",
    ". . .",
    "1,2.3:4.",
    "1,2a",
    "٣٬٠٠٠ ١٢٣ ४५६ ²³ ½ Ⅷ ①",
    "e\u0301te\u0301 ET\u0301 \u1e9b\u0323",
    "q\u0301ueue \u0301alone",
    "İstanbul ISTANBUL ıi ŒUVRE ǅ ß ẞ ﬁ",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΑΣ'",
    "שלום עולם مرحبا بالعالم",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ☎️ 🇫🇷",
    "𝒜𝓫𝒸 𐐀𐐁 😀word😀",
    "ｆｕｌｌ　ｗｉｄｔｈ　１２３",
    "中文句子。日本語、テキスト",
    "a\u200bb\u00adc\ufeffd\u2060e",
    "a\x85b\x1cc\x1fd\u2028e\u3000f\x00g",
    "<script>alert(1)</script> &amp; <b>",
    "snake_case __init__ _",
    "ʼtis ‘quoted’ ’twas",
    "word" * 500,
    "a'b'c-d-e'f" * 40,
]


def random_text(generator: random.Random) -> str:
    """Anything that this Python knows, with much of what the rules are about."""
    pieces = ["'", "-", ".", ",", " ", "n't", "'s", "l'", "-t-il", "-ce", "3", "é", "…", '"', "("]
    letters = []
    while len(letters) < 30:
        if generator.random() < 0.6:
            letters.append(generator.choice([*pieces, "a", "b", "Zo", "je", "qu'"]))
            continue
        letter = chr(generator.randrange(0x20, 0x20000))
        # The browser's Unicode is newer than this Python's: what is not assigned here may be there.
        if unicodedata.category(letter) not in {"Cn", "Cs", "Co"}:
            letters.append(letter)
    return "".join(letters)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    generator = random.Random(0)
    return EVERYDAY + NASTY + [random_text(generator) for _ in range(400)]


@pytest.fixture(scope="module")
def batch(bench: Any) -> Callable[[str, list[Any], str], list[Any]]:
    """All texts in one call."""
    return lambda name, given, language: bench.evaluate(
        """async ([name, given, language]) => {
            const text = await import(new URL("labs/text.js", location.href).href);
            return given.map((each) => text[name](each, language));
        }""",
        [name, given, language],
    )


@pytest.mark.parametrize("language", ["en", "fr"])
def test_texts_are_cut_alike(
    batch: Callable[..., list[Any]], texts: list[str], language: Language
) -> None:
    found = batch("tokenize", texts, language)
    expected = [tokenize(text, language) for text in texts]
    different = [pair for pair in zip(texts, expected, found, strict=True) if pair[1] != pair[2]]
    assert different == []


@pytest.mark.parametrize("language", ["en", "fr"])
def test_words_are_joined_alike(
    batch: Callable[..., list[Any]], texts: list[str], language: Language
) -> None:
    words = [tokenize(text, language) for text in texts]
    found = batch("detokenize", words, language)
    expected = [detokenize(each, language) for each in words]
    different = [pair for pair in zip(words, expected, found, strict=True) if pair[1] != pair[2]]
    assert different == []


def test_sentences_of_the_grammar_are_cut_and_joined_alike(
    batch: Callable[..., list[Any]],
) -> None:
    corpus = grammar(GrammarConfig(sentences=200, valid=0, test=0, seed=5))
    for language, side in (("en", "source"), ("fr", "target")):
        words = [list(getattr(pair, side)) for pair in corpus.train]
        written = batch("detokenize", words, language)
        assert written == [detokenize(each, language) for each in words]
        assert batch("tokenize", written, language) == words


def test_every_letter_of_the_alphabets_is_cut_alike(batch: Callable[..., list[Any]]) -> None:
    """One text a letter: whatever Python calls a word, a digit or a space, the page does too."""
    letters = [
        letter
        for letter in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(letter) not in {"Cn", "Cs", "Co"}
        and "CJK UNIFIED IDEOGRAPH" not in unicodedata.name(letter, "")
        and "HANGUL SYLLABLE" not in unicodedata.name(letter, "")
    ]
    texts = [f"x{letter}y 1{letter}2" for letter in letters]
    found = batch("tokenize", texts, "en")
    different = [
        (text, cut) for text, cut in zip(texts, found, strict=True) if tokenize(text, "en") != cut
    ]
    assert different == []
