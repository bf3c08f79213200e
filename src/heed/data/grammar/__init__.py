"""A synchronous English-French grammar: sentence pairs with gold word links.

Each rule builds both languages at once from word objects, so links survive reordering, elision
and contraction (``rules``); choices are made apart (``sampler``), words are counted and joined
at the end (``surface``). One English meaning has one French word: "you" is « vous », the simple
past is the passé composé, so a perfect translator would reach BLEU 100.

The links follow Och & Ney (2003). A *sure* link joins two words that render each other; a French
word has one at most. A *possible* link may be found without blame: every French word has one.

- content words, pronouns, prepositions, conjunctions, punctuation: sure. A comma that only
  English writes ("on monday , january 27") has no link;
- articles, « ce », « son », « un »: sure to their like, possible to the noun, whose gender and
  number they carry; « la » of « la voiture de marie » and « le commerce » ("trade"): possible;
- « a vendue » for "sold": participle sure, auxiliary possible, as for "did"; but "was signed",
  "has signed", "had signed": each auxiliary sure to its like;
- "will sign", "was signing", "used to sign": the verb sure, the auxiliary possible;
- « ne … pas »: « pas » sure to "not", « ne » possible; reflexive « se »: possible to the verb;
- "look for", "wake up", « près de », « parce que »: the head sure, the rest possible;
- « est-ce que »: possible to the auxiliary that English moves in front;
- « du, au, des »: possible to both of their parts, sure to the preposition.
"""

from heed.data.grammar.corpus import (
    BUCKETS,
    GrammarConfig,
    GrammarCorpus,
    grammar,
    split_of,
)
from heed.data.grammar.sampler import Grammar, classic

__all__ = [
    "BUCKETS",
    "Grammar",
    "GrammarConfig",
    "GrammarCorpus",
    "classic",
    "grammar",
    "split_of",
]
