"""A synchronous English-French grammar: sentence pairs with gold word links."""

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
