"""How words change their form: English endings, French agreement, vowels and h aspiré."""

ASPIRATED = frozenset(["héros", "hibou", "hiboux", "huit", "onze"])
"""Words that elide nothing though they begin like those that do: « le héros », « de huit »."""

_VOWELS = frozenset("aeiouyhàâéèêëîïôûœ")
_AN = frozenset("aeiou")
_NOT_AN = ("uni", "use", "eur", "one")


def opens_with_vowel(french: str) -> bool:
    """True where « le » becomes « l' »: before a vowel or a mute h."""
    return french[0] in _VOWELS and french not in ASPIRATED


def takes_an(english: str) -> bool:
    """True for "an apple", "an old car"; false for "a university"."""
    return english[0] in _AN and not english.startswith(_NOT_AN)


def english_s(word: str) -> str:
    """The plural of a noun, or the third person of a verb."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "o")) else "s")


def english_ed(verb: str) -> str:
    """The regular past: "signed", "arrived", "hurried"."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


def english_ing(verb: str) -> str:
    """The regular present participle: "signing", "writing", "seeing"."""
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + "ing"


def french_plural(noun: str) -> str:
    """The regular plural: « accords », « journaux », « bateaux », « ours »."""
    if noun.endswith(("s", "x", "z")):
        return noun
    if noun.endswith("al"):
        return noun[:-2] + "aux"
    return noun + ("x" if noun.endswith("eau") else "s")


def french_feminine(adjective: str) -> str:
    """The regular feminine: « verte », « heureuse », « européenne », « financière »."""
    if adjective.endswith("e"):
        return adjective
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith("er"):
        return adjective[:-2] + "ère"
    if adjective.endswith(("en", "el")):
        return adjective + adjective[-1] + "e"
    return adjective + "e"


def agree(participle: str, *, feminine: bool, plural: bool) -> str:
    """A past participle made to agree: « signé, signée, signés, signées », « pris, prises »."""
    word = participle + ("e" if feminine else "")
    return word + ("s" if plural and not word.endswith("s") else "")
