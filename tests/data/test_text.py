"""Words of a sentence, and sentences of words, in English and French."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heed.data.text import detokenize, tokenize

languages = pytest.mark.parametrize("language", ["en", "fr"])

# Texts that come near to what a reader types: letters of both languages, every mark the cutter
# knows by name, and a few it does not.
near_text = st.text("abcdelmnqrstuçéèœÇÉ0123 .,;:?!…'’\"«»“”()[]-–_%$\u00a0\u202f\t", max_size=40)
texts = st.one_of(st.text(max_size=40), near_text)

ENGLISH = {
    "don't": "do n't",
    "It's late.": "it 's late .",
    "the minister's car": "the minister 's car",
    "the ministers' cars": "the ministers ' cars",
    "I'm sure we'll say you're right, they've gone, she'd know": (
        "i 'm sure we 'll say you 're right , they 've gone , she 'd know"
    ),
    "can't": "ca n't",
    "won't": "wo n't",
    "You shouldn't've.": "you should n't 've .",
    "two o'clock": "two o'clock",
    "a well-known mother-in-law": "a well-known mother-in-law",
    "It cost 3,000 dollars at 2:30 in 1992.": "it cost 3,000 dollars at 2:30 in 1992 .",
    "Wait... what?!": "wait ... what ? !",
    "“Yes”, he said (twice).": '" yes " , he said ( twice ) .',
    "Let’s go": "let 's go",
}
FRENCH = {
    "l'homme": "l' homme",
    "L’homme qu’il n’a pas vu": "l' homme qu' il n' a pas vu",
    "Est-ce que c'est vrai ?": "est -ce que c' est vrai ?",
    "Qu'est-ce que c'est ?": "qu' est -ce que c' est ?",
    "A-t-il mangé ?": "a -t-il mangé ?",
    "Y a-t-il du pain ?": "y a -t-il du pain ?",
    "Parlez-vous anglais ?": "parlez -vous anglais ?",
    "aujourd'hui": "aujourd'hui",
    "jusqu'à aujourd’hui": "jusqu' à aujourd'hui",
    "quelqu'un": "quelqu'un",
    "nos grands-mères": "nos grands-mères",
    "peut-être": "peut-être",
    "là-bas, celui-ci, vingt-deux": "là-bas , celui-ci , vingt-deux",
    "donne-le-moi": "donne -le -moi",
    "« Bonjour », dit-elle\u202f!": '" bonjour " , dit -elle !',
    "Ça coûte 3,50 à 10:30.": "ça coûte 3,50 à 10:30 .",
}
SENTENCES = {
    "en": [
        "The agreement on the European Economic Area was signed in August 1992.",
        "Don't you know that the minister's grandmothers aren't here?",
        "He said: \"it's three o'clock\" (more or less), didn't he?",
    ],
    "fr": [
        "L'accord sur la zone économique européenne a été signé en août 1992.",
        "Est-ce que l'homme qu'elle aime n'est pas là\u202f?",
        "Aujourd'hui, y a-t-il quelqu'un d'autre\u202f?",
        "Les grands-mères dorment peut-être\u202f; qui sait\u202f!",
    ],
}


# --- the cuts --------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "words"), ENGLISH.items(), ids=ENGLISH)
def test_english_is_cut_where_its_clitics_begin(text, words):
    assert tokenize(text, "en") == words.split()


@pytest.mark.parametrize(("text", "words"), FRENCH.items(), ids=FRENCH)
def test_french_is_cut_at_elisions_and_inverted_pronouns(text, words):
    assert tokenize(text, "fr") == words.split()


def test_the_same_letters_are_cut_by_the_rules_of_their_language():
    assert tokenize("l'homme", "en") == ["l'homme"]
    assert tokenize("don't", "fr") == ["don'", "t"]
    assert tokenize("est-ce", "en") == ["est-ce"]


@languages
def test_no_word_is_left_in_capitals(language):
    assert tokenize("ÉTÉ Is HERE", language) == ["été", "is", "here"]


@languages
def test_an_accent_may_be_typed_as_a_letter_or_put_on_top_of_one(language):
    composed, combining = "déjà vu", "de\u0301ja\u0300 vu"
    assert composed != combining
    assert tokenize(composed, language) == tokenize(combining, language) == ["déjà", "vu"]


@languages
@pytest.mark.parametrize("space", [" ", "   ", "\t", "\n", "\u00a0", "\u202f", "\u3000"])
def test_any_white_space_is_just_a_gap(language, space):
    assert tokenize(f"{space}un{space}deux{space}?{space}", language) == ["un", "deux", "?"]


@languages
@pytest.mark.parametrize("quote", ["’", "ʼ", "‘", "'"])
def test_curly_and_straight_apostrophes_are_one_mark(language, quote):
    assert tokenize(f"d{quote}or", language) == tokenize("d'or", language)


# --- odd input -------------------------------------------------------------------------------


@languages
@pytest.mark.parametrize("nothing", ["", " ", "\n\t\u00a0"])
def test_nothing_gives_no_words(language, nothing):
    assert tokenize(nothing, language) == []


@languages
def test_an_emoji_is_a_word(language):
    assert tokenize("un😀 deux 🎉!", language) == ["un", "😀", "deux", "🎉", "!"]


@languages
def test_a_right_to_left_word_stays_whole_and_in_its_place(language):
    assert tokenize("a שלום, مرحبا b", language) == ["a", "שלום", ",", "مرحبا", "b"]


@languages
def test_markup_comes_apart_into_harmless_words(language):
    words = tokenize("<script>x()</script> &amp; <s> <pad>", language)
    assert words[:7] == ["<", "script", ">", "x", "(", ")", "<"]
    assert not {"<s>", "</s>", "<pad>", "<unk>", "<script>"} & set(words)


@languages
def test_ten_thousand_characters_without_a_gap_are_cut_in_an_instant(language):
    for text, count in (
        ("a" * 10_000, 1),
        ("'" * 10_000, 10_000),
        ("a-" * 5_000, 2),  # one long word and the hyphen it ends on
        ("." * 10_000, 3_334),
    ):
        assert len(tokenize(text, language)) == count


@pytest.mark.parametrize(
    ("language", "text", "ending"), [("en", "x", "n't"), ("fr", "", "d'"), ("fr", "x", "-ce")]
)
def test_a_thousand_clitics_in_a_row_are_a_thousand_words(language, text, ending):
    words = tokenize(text + 1000 * ending, language)
    assert words == [*([text] if text else []), *[ending] * 1000]


@languages
@given(text=texts)
def test_cutting_loses_nothing_and_invents_nothing(language, text):
    words = tokenize(text, language)
    one_spelling = str.maketrans("’‘ʼ“”«»", '\'\'\'""""')
    expected = unicodedata.normalize("NFC", text).replace("…", "...").translate(one_spelling)
    assert "".join(words) == "".join(expected.lower().split())
    for word in words:
        assert word
        assert word == word.lower()
        assert not any(letter.isspace() for letter in word)


# --- and back --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "sentence"), [(lang, s) for lang, group in SENTENCES.items() for s in group]
)
def test_a_sentence_comes_back_as_it_was_written(language, sentence):
    written = detokenize(tokenize(sentence, language), language)
    assert written.lower() == sentence.lower()
    assert written[0] == sentence[0]


@pytest.mark.parametrize(
    ("language", "words", "sentence"),
    [
        ("en", "it 's the dog 's , is n't it ?", "It's the dog's, isn't it?"),
        ("en", 'he said " no " ( twice ) .', 'He said "no" (twice).'),
        ("en", '" no , " he said . " why ? "', '"No," he said. "why?"'),
        ("fr", "l' homme n' est -il pas là ?", "L'homme n'est-il pas là\u202f?"),
        ("fr", "où ? ici ; là : non !", "Où\u202f? ici\u202f; là\u202f: non\u202f!"),
        ("fr", "été", "Été"),
        ("fr", '" oui " , dit -elle .', '"Oui", dit-elle.'),
        ("fr", "?", "?"),
    ],
)
def test_a_sentence_is_written_the_way_a_person_would(language, words, sentence):
    assert detokenize(words.split(), language) == sentence


@languages
def test_no_words_make_an_empty_sentence(language):
    assert detokenize([], language) == ""


@languages
@given(text=texts)
@example(text=". . .")
@example(text="ß")
@example(text="ŉ")
@example(text="…. ..")
def test_whatever_was_cut_can_be_written_and_cut_again(language, text):
    words = tokenize(text, language)
    assert tokenize(detokenize(words, language), language) == words


PIECES = {
    "en": "the | a well-known | minister 's | ministers ' | is n't | it 's | i 'm | do n't "
    "| ca n't | should n't 've | two o'clock | 3,000 | 2:30 | 1992",
    "fr": "la | l' homme | l' œil | qu' il n' y a | est -ce que | qu' est -ce | y a -t-il "
    "| donne -le -moi | aujourd'hui | d' aujourd'hui | quelqu'un | nos grands-mères "
    "| peut-être | 3,50 | 10:30 | 1992",
}
MARKS = [",", ".", "...", "?", "!", ";", ":", "(", ")", '"', "%", "-", "'"]


@languages
@given(data=st.data())
def test_any_order_of_real_phrases_and_marks_goes_there_and_back(language, data):
    pieces = data.draw(st.lists(st.sampled_from(PIECES[language].split("|") + MARKS), max_size=12))
    words = " ".join(pieces).split()
    assert tokenize(detokenize(words, language), language) == words
