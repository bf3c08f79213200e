"""Cut English and French text into words, and put words back together.

The cuts follow what translators align: ``don't`` is *do* + *n't*, ``the minister's`` ends in *'s*,
``l'homme`` is *l'* + *homme*, ``est-ce`` is *est* + *-ce*. Everything is lower-case, so a small
vocabulary goes further; the price is that "March" and "march" are one word.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

Language = Literal["en", "fr"]

_SPELLING = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"'})
_PIECE = re.compile(
    r"\d+(?:[.,:]\d+)*(?!\w)"  # 3,000  2:30  1992
    r"|\w+(?:[-']\w+)*'?"  # words with their hyphens and apostrophes
    r"|\.\.\."
    r"|[^\w\s]"
)
_ENGLISH_CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|m|re|ve|ll|d))$")
_FRENCH_INVERSION = re.compile(
    r"(?<=\w)(-(?:t-)?(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en))$"
)
_FRENCH_WHOLE = frozenset({"aujourd'hui", "quelqu'un", "quelqu'une", "rendez-vous", "entr'acte"})

_NO_SPACE_BEFORE = frozenset(".,?!;:%)]}") | {"..."}
_NO_SPACE_AFTER = frozenset("([{")
_ENGLISH_ENDINGS = frozenset({"n't", "'s", "'m", "'re", "'ve", "'ll", "'d"})


def tokenize(text: str, language: Language) -> list[str]:
    """The words of ``text``, lower-case; each punctuation mark is a word of its own."""
    text = unicodedata.normalize("NFC", text).translate(_SPELLING).replace("…", "...").lower()
    cut = _cut_english if language == "en" else _cut_french
    return [word for piece in _PIECE.findall(text) for word in cut(piece)]


def _cut_english(piece: str) -> list[str]:
    endings = []
    while True:
        if len(piece) > 1 and piece.endswith("'"):
            endings.append("'")
        elif found := _ENGLISH_CLITIC.search(piece):
            endings.append(found.group())
        else:
            return [piece, *reversed(endings)]
        piece = piece.removesuffix(endings[-1])


def _cut_french(piece: str) -> list[str]:
    elided, endings = [], []
    while piece not in _FRENCH_WHOLE and "'" in piece:
        head, _, piece = piece.partition("'")
        elided.append(head + "'")
    while piece not in _FRENCH_WHOLE and (found := _FRENCH_INVERSION.search(piece)):
        endings.append(found.group())
        piece = piece[: found.start()]
    return [*elided, *([piece] if piece else []), *reversed(endings)]


def detokenize(words: Sequence[str], language: Language) -> str:
    """A sentence as a person would write it: spaces where they belong, a capital in front."""
    text, glue, quoted = "", True, False
    for word in words:
        before = after = False
        if word == '"':
            before, after, quoted = quoted, not quoted, not quoted
        elif word in _NO_SPACE_BEFORE:
            before = not (word.startswith(".") and text.endswith("."))  # ". . ." is no "..."
        elif word in _NO_SPACE_AFTER:
            after = True
        elif language == "en":
            before = word in _ENGLISH_ENDINGS
        else:
            after = len(word) > 1 and word.endswith("'")
            before = len(word) > 1 and word.startswith("-")
        high = language == "fr" and not glue and word in {"?", "!", ";", ":"}
        text += ("\u202f" if high else "" if glue or before else " ") + word
        glue = after
    first = next((i for i, letter in enumerate(text) if letter.isalnum()), len(text))
    capital = text[first : first + 1].upper()
    if capital.lower() != text[first : first + 1]:  # ß and a few more have no way back
        return text
    return text[:first] + capital + text[first + 1 :]
