"""What is said of a scene, in English and in French: who is there, what like, and where.

    a big red cat to the left of a small blue cow and above a black dog in snow
    un grand chat rouge à gauche d'une petite vache bleue et au-dessus d'un petit chien noir …

A scene has one right caption. It starts with the animal that the others are placed by
(``heed.data.scenes`` says which), so a model that writes another order is wrong.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

import torch
from jaxtyping import Int
from torch import Tensor

from heed.data.batches import pad
from heed.data.grammar.lexicon import ADJECTIVES, NOUNS, Adjective, Noun
from heed.data.grammar.surface import surface
from heed.data.grammar.words import Phrase, Word
from heed.data.text import Language
from heed.data.vocabulary import BOS, EOS, PAD, Vocabulary

_NOUNS = {noun.english: noun for noun in NOUNS} | {
    "giraffe": Noun("giraffe", "giraffes", "girafe", "girafes", True, frozenset({"animal"}))
}
_ADJECTIVES = {adjective.english: adjective for adjective in ADJECTIVES} | {
    "pink": Adjective("pink", ("rose", "rose", "roses", "roses"), 1, frozenset({"coloured"}))
}
ANIMALS = tuple(
    _NOUNS[name] for name in ("bear", "bird", "cat", "cow", "dog", "elephant", "giraffe", "horse")
)
COLOURS = tuple(
    _ADJECTIVES[name]
    for name in ("red", "blue", "green", "white", "black", "yellow", "pink", "grey")
)
SIZES = tuple(_ADJECTIVES[name] for name in ("small", "big"))
RELATIONS = (
    ("to the left of", "à gauche de"),
    ("to the right of", "à droite de"),
    ("above", "au-dessus de"),
    ("below", "au-dessous de"),
)
LEFT, RIGHT, ABOVE, BELOW = range(4)
GROUNDS = (
    ("on grass", "sur la herbe"),
    ("on sand", "sur le sable"),
    ("in snow", "dans la neige"),
    ("at night", "la nuit"),
)
"""French articles as in the dictionary: « la herbe » is elided with everything else."""

OTHER, SIZE, COLOUR, NOUN = range(4)
"""What a word is there for."""
MOST = 3
"""Animals in a scene."""


@dataclass(frozen=True)
class Captions:
    """Rows run ``BOS`` to ``EOS``; the rest is ``PAD``.

    about: which animal of the scene a word speaks of, 0 for the first one named; −1 for none.
        Articles, sizes, colours and nouns speak of theirs.
    role: ``NOUN``, ``COLOUR``, ``SIZE``, or ``OTHER``
    """

    words: Int[Tensor, "scene word"]
    lengths: Int[Tensor, " scene"]
    about: Int[Tensor, "scene word"]
    role: Int[Tensor, "scene word"]


# ------------------------------------------------------------------------------ pieces of captions


def phrase(
    *, size: int, colour: int, animal: int, relation: int | None = None, joined: bool = False
) -> tuple[Phrase, list[int], list[int]]:
    """«[and] [to the left of] a big red cat» in both languages, and what each word is there for."""
    noun, tint, measure = ANIMALS[animal], COLOURS[colour], SIZES[size]
    en, fr = [], []
    if relation is not None:
        english, french = RELATIONS[relation]
        en += [*(["and"] if joined else []), *english.split()]
        fr += [*(["et"] if joined else []), *french.split()]
    roles_en = [OTHER] * (len(en) + 1) + [SIZE, COLOUR, NOUN]
    roles_fr = [OTHER] * (len(fr) + 1) + [SIZE, NOUN, COLOUR]
    en += ["a", measure.english, tint.english, noun.english]
    fr += [
        "une" if noun.feminine else "un",
        measure.form(feminine=noun.feminine, plural=False),
        noun.french,
        tint.form(feminine=noun.feminine, plural=False),
    ]
    return Phrase([Word(w) for w in en], [Word(w) for w in fr]), roles_en, roles_fr


def spoken(said: Phrase, language: Language) -> tuple[str, ...]:
    """The words as they stand in a sentence: «d' une», «l' herbe»."""
    pair = surface(said)
    return pair.source if language == "en" else pair.target


@dataclass(frozen=True)
class Pieces:
    """Everything that a caption can be put together from, as word numbers.

    words, roles: of each animal by how it is led in, then size, colour and animal. Led in by
        nothing (0), by one of ``RELATIONS`` (1 to 4), or by «and» and one of them (5 to 8).
    tails: where it all is
    """

    vocabulary: Vocabulary
    words: Int[Tensor, "lead size colour animal piece"]
    roles: Int[Tensor, "lead size colour animal piece"]
    tails: Int[Tensor, "ground tail"]


@cache
def pieces(language: Language) -> Pieces:
    """The pieces of a language, and its words: about forty."""
    leads = [(None, False), *((r, joined) for joined in (False, True) for r in range(4))]
    shape = (len(leads), len(SIZES), len(COLOURS), len(ANIMALS))
    said, roles = [], []
    looks = product(range(len(SIZES)), range(len(COLOURS)), range(len(ANIMALS)))
    for (relation, joined), (size, colour, animal) in product(leads, looks):
        made, roles_en, roles_fr = phrase(
            size=size, colour=colour, animal=animal, relation=relation, joined=joined
        )
        said.append(spoken(made, language))
        roles.append(roles_en if language == "en" else roles_fr)
    places = [
        spoken(Phrase([Word(w) for w in en.split()], [Word(w) for w in fr.split()]), language)
        for en, fr in GROUNDS
    ]
    vocabulary = Vocabulary(tuple(sorted({word for each in [*said, *places] for word in each})))
    words, _ = pad([vocabulary.encode(each) for each in said])
    tails, _ = pad([vocabulary.encode(each) for each in places])
    return Pieces(
        vocabulary,
        words.unflatten(0, shape),
        pad(roles)[0].unflatten(0, shape),
        tails,
    )


# ------------------------------------------------------------------------------ whole captions


def captions(
    language: Language,
    *,
    count: Int[Tensor, " scene"],
    size: Int[Tensor, "scene slot"],
    colour: Int[Tensor, "scene slot"],
    animal: Int[Tensor, "scene slot"],
    relation: Int[Tensor, "scene slot"],
    ground: Int[Tensor, " scene"],
) -> Captions:
    """One caption a scene. ``relation`` says where the first animal is, seen from each other one;
    that of the first says nothing. What lies beyond ``count`` is not looked at."""
    table = pieces(language)
    slot = torch.arange(MOST)
    lead = torch.where(slot == 0, 0, relation + 1 + 4 * (slot == 2))
    there = (slot < count[:, None])[..., None]
    words = table.words[lead, size, colour, animal] * there
    role = table.roles[lead, size, colour, animal] * there
    ends = torch.full((len(count), 1), BOS), torch.full((len(count), 1), EOS)
    # The words before an article lead in, and speak of nobody.
    first = (role == SIZE).int().argmax(dim=-1, keepdim=True) - 1
    speaks = torch.arange(words.shape[-1]) >= first
    about = torch.where(speaks, slot[:, None], -1)
    line = torch.cat([ends[0], words.flatten(1), table.tails[ground], ends[1]], dim=1)
    tail = table.tails.shape[1] + 1
    about, role = framed(about.flatten(1), tail, -1), framed(role.flatten(1), tail, OTHER)
    # A stable sort closes the gaps that short pieces left.
    order = (line == PAD).int().argsort(dim=1, stable=True)
    lengths = (line != PAD).sum(dim=1)
    order = order[:, : int(lengths.max())] if len(lengths) else order
    line, about, role = (each.gather(1, order) for each in (line, about, role))
    return Captions(line, lengths, about.masked_fill(line == PAD, -1), role)


def framed(rows: Int[Tensor, "scene word"], behind: int, value: int) -> Int[Tensor, "scene longer"]:
    """The rows with one more in front and ``behind`` more behind, all of this value."""
    return torch.nn.functional.pad(rows, (1, behind), value=value)
