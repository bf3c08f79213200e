"""The grammar: what it writes, in both languages, and which word came from which."""

import hashlib
import re
from collections import Counter
from itertools import pairwise

import pytest

from heed.data.grammar import (
    BUCKETS,
    Grammar,
    GrammarConfig,
    classic,
    grammar,
    lexicon,
    morphology,
    rules,
    split_of,
)
from heed.data.grammar.surface import surface
from heed.data.grammar.words import NounPhrase, Phrase
from heed.data.text import detokenize, tokenize


@pytest.fixture(scope="module")
def many():
    """500 pairs of all lengths."""
    draw = Grammar(2014)
    return [draw.pair(*BUCKETS[k % len(BUCKETS)]) for k in range(500)]


@pytest.fixture(scope="module")
def corpus():
    return grammar(GrammarConfig(sentences=100, valid=5, test=20, seed=3))


def noun(english):
    return next(n for n in lexicon.NOUNS if n.english == english)


def adjective(english):
    return next(a for a in lexicon.ADJECTIVES if a.english == english)


def verb(base):
    verbs = (*lexicon.TRANSITIVE, *lexicon.GIVING, *lexicon.INTRANSITIVE, lexicon.GOING)
    return next(v for v in verbs if v.base == base)


def the(english, *, plural=False, adjectives=(), det="the", owner=None):
    return rules.noun_phrase(
        noun(english),
        det,
        plural=plural,
        adjectives=[adjective(a) for a in adjectives],
        owner=owner,
    )


def said(phrase):
    """Both sides of a phrase as they come out at the end."""
    pair = surface(phrase)
    return " ".join(pair.source), " ".join(pair.target)


def french(phrase):
    return said(phrase)[1]


def doing(subject, base, tense, tail=None, **options):
    group = rules.verb_group(verb(base), subject, tense, **options)
    return rules.Clause(subject, group, tail or Phrase())


def linked(pair, *, sure=True):
    """The links as pairs of words."""
    links = pair.sure if sure else pair.possible
    return {(pair.source[i], pair.target[j]) for i, j in links}


# --- the sentence of the paper ----------------------------------------------------------------


def test_the_1992_sentence_is_derived_with_the_links_of_the_paper():
    pair = classic()
    assert " ".join(pair.source) == (
        "the agreement on the european economic area was signed in august 1992 ."
    )
    assert " ".join(pair.target) == (
        "l' accord sur la zone économique européenne a été signé en août 1992 ."
    )
    assert pair.sure == {
        (0, 0), (1, 1), (2, 2), (3, 3), (4, 6), (5, 5), (6, 4), (7, 7), (7, 8), (8, 9), (9, 10),
        (10, 11), (11, 12), (12, 13),
    }  # fmt: skip
    assert pair.phenomena["mirrored adjectives"] == {(6, 4), (5, 5), (4, 6)}
    assert {"passive", "elision", "date"} <= pair.tags


def test_its_words_are_common_in_what_is_drawn(many):
    counts = Counter(w for pair in many for w in set(pair.source))
    for word, floor in {"agreement": 30, "area": 12, "european": 15, "signed": 50}.items():
        assert counts[word] > floor, word
    phrases = sum("european economic area" in " ".join(pair.source) for pair in many)
    assert phrases >= 2


# --- links and words of every pair ------------------------------------------------------------


def test_every_french_word_has_a_link_and_at_most_one_sure_one(many):
    for pair in many:
        assert {j for _, j in pair.possible} == set(range(len(pair.target))), pair
        assert max(Counter(j for _, j in pair.sure).values()) == 1, pair


def test_only_commas_and_silent_words_of_english_have_no_link(many):
    unlinked = {
        pair.source[i]
        for pair in many
        for i in set(range(len(pair.source))) - {i for i, _ in pair.possible}
    }
    assert unlinked <= {","}


def test_links_of_a_phenomenon_are_links_of_the_pair(many):
    for pair in many:
        assert set(pair.phenomena) == pair.tags
        for links in pair.phenomena.values():
            assert links
            assert links <= pair.possible


def test_full_stops_and_question_marks_belong_to_each_other(many):
    for pair in many:
        last = (len(pair.source) - 1, len(pair.target) - 1)
        assert pair.source[-1] == pair.target[-1]
        assert last in pair.sure
        assert (pair.source[-1] == "?") == ("question" in pair.tags)


@pytest.mark.parametrize("side", ["en", "fr"])
def test_sentences_survive_being_written_out_and_cut_up_again(many, side):
    for pair in many:
        words = pair.source if side == "en" else pair.target
        assert tuple(tokenize(detokenize(words, side), side)) == words


def test_one_english_sentence_has_one_translation():
    draw, seen = Grammar(5), {}
    for _ in range(1_200):  # short sentences come back often enough to contradict themselves
        pair = draw.pair(3, 6)
        assert seen.setdefault(pair.source, pair.target) == pair.target
    assert len(seen) < 1_200


def test_elision_and_contraction_are_never_forgotten(many):
    for pair in many:
        for word, following in pairwise(pair.target):
            if word in {"le", "la", "de", "ne", "que", "se", "je", "me"}:
                assert not morphology.opens_with_vowel(following), pair.target
            if word.endswith("'") and word != "s'":
                assert morphology.opens_with_vowel(following), pair.target
            if word in {"ma", "sa", "beau", "nouveau", "vieux", "ce"} and following in {
                n.french for n in lexicon.NOUNS
            }:
                assert not morphology.opens_with_vowel(following) or word == "vieux"
        for word, following in pairwise(pair.source):
            if word in {"a", "an"}:
                assert (word == "an") == morphology.takes_an(following), pair.source


def test_de_les_is_contracted_wherever_les_is_an_article(many):
    for pair in many:
        text = " ".join(pair.target)
        for match in re.finditer(r"\b(?:de|à) (?:le|les) (\S+)", text):  # « de les voir » stays
            infinitive = match.group(1)
            assert infinitive in {v.infinitive for v in lexicon.TRANSITIVE}, text


# --- chosen examples --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "english", "translation"),
    [
        (the("hero"), "the hero", "le héros"),
        (the("owl", det="eight/huit", plural=True), "eight owls", "huit hiboux"),
        (the("hospital"), "the hospital", "l' hôpital"),
        (the("friend", det="this"), "this friend", "cet ami"),
        (the("hero", det="this"), "this hero", "ce héros"),
        (the("umbrella", det="a"), "an umbrella", "un parapluie"),
        (the("university", det="a"), "a university", "une université"),
        (the("hotel", adjectives=["new"]), "the new hotel", "le nouvel hôtel"),
        (the("tree", det="a", adjectives=["old"]), "an old tree", "un vieil arbre"),
        (the("hero", det="a", adjectives=["old"]), "an old hero", "un vieux héros"),
        (the("grandmother", plural=True), "the grandmothers", "les grands-mères"),
        (the("horse", plural=True), "the horses", "les chevaux"),
        (the("friend", det="her"), "her friend", "son ami"),
        (the("lamp", det="her"), "her lamp", "sa lampe"),
        (the("church", det="their", plural=True), "their churches", "leurs églises"),
        (the("bread", det="some"), "some bread", "du pain"),
        (the("water", det="some"), "some water", "de l' eau"),
        (the("meat", det="some"), "some meat", "de la viande"),
        (the("car", det="some", plural=True), "some cars", "des voitures"),
        (
            the("car", det="some", plural=True, adjectives=["big", "red"]),
            "some big red cars",
            "de grandes voitures rouges",
        ),
        (the("box", det="all", plural=True), "all the boxes", "toutes les boîtes"),
        (the("bird", det="many", plural=True), "many birds", "beaucoup d' oiseaux"),
        (the("trade", det="bare"), "trade", "le commerce"),
        (
            the("region", adjectives=["industrial"], plural=True),
            "the industrial regions",
            "les régions industrielles",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_noun_phrases(phrase, english, translation):
    assert said(phrase) == (english, translation)


def test_contraction_is_possible_to_both_and_sure_to_the_preposition():
    pair = surface(the("car", owner=the("minister")))
    assert " ".join(pair.source) == "the minister 's car"
    assert " ".join(pair.target) == "la voiture du ministre"
    assert ("'s", "du") in linked(pair)
    assert ("the", "du") in linked(pair, sure=False) - linked(pair)
    assert pair.phenomena["contraction"] == {(0, 2), (1, 2), (2, 2)}
    assert french(rules.prepositional("to", the("market", plural=True))) == "aux marchés"
    assert french(rules.prepositional("from", the("school"))) == "de l' école"


def test_it_takes_its_gender_from_what_it_stands_for():
    boy = the("boy")
    for antecedent, pronoun, participle in (("car", "la", "vendue"), ("bicycle", "le", "vendu")):
        thing = the(antecedent)
        it = rules.clitic("it", feminine=thing.feminine)
        clause = doing(boy, "sell", "past", Phrase([it.en]), climbing=[it])
        words = [w.text for w in clause.statement().fr]
        assert words == ["le", "garçon", pronoun, "a", participle]
    it = rules.clitic("it", feminine=True)
    pair = surface(doing(boy, "sell", "past", Phrase([it.en]), climbing=[it]).statement())
    assert " ".join(pair.target) == "le garçon l' a vendue"
    assert {("it", "l'"), ("sold", "vendue")} <= linked(pair)
    assert ("sold", "a") in linked(pair, sure=False) - linked(pair)


def test_the_drawn_it_agrees_with_a_noun_that_was_said_before():
    """The gender of the French subject pronoun is that of some earlier singular thing."""
    genders = {n.english: n.feminine for n in lexicon.NOUNS}
    draw = Grammar(8)
    for _ in range(30):
        pair = draw.pair_with({"pronoun it"}, 6, 25)
        for i, j in pair.phenomena["pronoun it"]:
            earlier = {genders[w] for w in pair.source[:i] if w in genders}
            if pair.target[j] in {"il", "elle", "le", "la"}:
                assert (pair.target[j] in {"elle", "la"}) in earlier, pair


@pytest.mark.parametrize(
    ("clause", "english", "translation"),
    [
        (
            lambda: doing(the("girl"), "see", "past", the("dog"), negation="not"),
            "the girl did not see the dog",
            "la fille n' a pas vu le chien",
        ),
        (
            lambda: doing(the("girl"), "see", "can", the("dog"), negation="not"),
            "the girl cannot see the dog",
            "la fille ne peut pas voir le chien",
        ),
        (
            lambda: doing(the("sister"), "arrive", "past"),
            "the sister arrived",
            "la sœur est arrivée",
        ),
        (
            lambda: doing(the("nurse", plural=True), "wake", "past", negation="never"),
            "the nurses never woke up",
            "les infirmières ne se sont jamais réveillées",
        ),
        (
            lambda: doing(the("man"), "read", "past progressive", the("book")),
            "the man was reading the book",
            "l' homme lisait le livre",
        ),
        (
            lambda: doing(the("man"), "read", "used to", the("book")),
            "the man used to read the book",
            "l' homme lisait le livre",
        ),
        (
            lambda: doing(the("author"), "write", "pluperfect", the("poem"), adverb="already"),
            "the author had already written the poem",
            "l' auteur avait déjà écrit le poème",
        ),
        (
            lambda: doing(the("cat"), "follow", "future", the("mouse", plural=True)),
            "the cat will follow the mice",
            "le chat suivra les souris",
        ),
        (
            lambda: rules.passive(verb("sign"), the("law", plural=True), "past", negation="not"),
            "the laws were not signed",
            "les lois n' ont pas été signées",
        ),
        (
            lambda: rules.passive(verb("sign"), the("law"), "future", agent=the("queen")),
            "the law will be signed by the queen",
            "la loi sera signée par la reine",
        ),
        (
            lambda: rules.passive(verb("sign"), the("law"), "can", negation="not"),
            "the law cannot be signed",
            "la loi ne peut pas être signée",
        ),
    ],
)
def test_clauses(clause, english, translation):
    assert said(clause().statement()) == (english, translation)


def test_clitics_climb_to_the_verb_that_governs_them():
    him = rules.clitic("him")
    clause = doing(the("boy"), "see", "decide", Phrase([him.en]), climbing=[him])
    # « de le voir » does not contract: « le » is no article here
    assert french(clause.statement()) == "le garçon a décidé de le voir"
    her = rules.clitic("her", feminine=True, dative=True)
    clause = doing(
        the("boy"), "give", "past", Phrase([her.en]) + the("ring"), climbing=[her], negation="not"
    )
    assert said(clause.statement()) == (
        "the boy did not give her the ring",
        "le garçon ne lui a pas donné la bague",
    )


def test_questions_leave_the_french_order_alone():
    clause = doing(rules.subject_pronoun("she", feminine=True), "open", "past", the("door"),
                   inverted=True)  # fmt: skip
    pair = surface(clause.question("why"))
    assert " ".join(pair.source) == "why did she open the door"
    assert " ".join(pair.target) == "pourquoi est -ce qu' elle a ouvert la porte"
    assert {("did", "est"), ("did", "-ce"), ("did", "qu'")} <= linked(pair, sure=False)


def test_object_relatives_agree_at_a_distance():
    cars = the("car", plural=True)
    clause = doing(rules.name_phrase(lexicon.NAMES[2]), "buy", "past", antecedent=cars)
    assert said(rules.relative_object(cars, clause)) == (
        "the cars that anna bought",
        "les voitures qu' anna a achetées",
    )


def test_comparison_agrees_with_the_first_and_compares_with_the_second():
    house = the("house")
    clause = rules.Clause(
        house,
        rules.copula_group(house, "past"),
        rules.comparison(adjective("expensive"), house, "more", the("hotel")),
    )
    assert said(clause.statement()) == (
        "the house was more expensive than the hotel",
        "la maison était plus chère que l' hôtel",
    )


@pytest.mark.parametrize(
    ("date", "english", "translation"),
    [
        (rules.full_date(("may", "mai"), "8", "2001"), "on may 8 , 2001", "le 8 mai 2001"),
        (rules.ago(("two", "deux"), ("years", "ans")), "two years ago", "il y a deux ans"),
        (
            rules.weekday_date(("monday", "lundi"), ("january", "janvier"), "27"),
            "on monday , january 27",
            "le lundi 27 janvier",
        ),
    ],
)
def test_dates(date, english, translation):
    assert said(date) == (english, translation)


@pytest.mark.parametrize(
    ("word", "feminine", "plural", "expected"),
    [
        ("signé", True, True, "signées"),
        ("pris", False, True, "pris"),
        ("pris", True, True, "prises"),
        ("lu", True, False, "lue"),
    ],
)
def test_participles_agree(word, feminine, plural, expected):
    assert morphology.agree(word, feminine=feminine, plural=plural) == expected


# --- drawing ----------------------------------------------------------------------------------

PHENOMENA = (
    "mirrored adjectives", "clitic", "negation", "passive", "relative clause", "contraction",
    "coordination", "subordination", "question", "partitive", "imparfait", "pronoun it",
    "pronoun they", "pronoun them", "elision", "possessor", "possessive", "comparison",
    "reported speech", "preposition", "date", "reflexive", "adverb", "modal", "infinitive",
    "future", "there is", "predicate adjective", "zero article",
)  # fmt: skip


def test_every_phenomenon_occurs_and_no_other(many):
    assert {tag for pair in many for tag in pair.tags} == set(PHENOMENA)


@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_a_phenomenon_can_be_asked_for(phenomenon):
    pair = Grammar(1).pair_with({phenomenon}, 3, 30)
    assert phenomenon in pair.tags


def test_an_impossible_wish_is_refused():
    with pytest.raises(ValueError, match=r"no sentence of 3 to 5 words shows \['subjunctive'\]"):
        Grammar(1).pair_with({"subjunctive"}, 3, 5, tries=20)


@pytest.mark.parametrize("lengths", [*BUCKETS, (3, 3), (60, 60), (17, 17)])
def test_lengths_are_kept(lengths):
    draw = Grammar(4)
    for _ in range(12):
        assert lengths[0] <= len(draw.pair(*lengths).source) <= lengths[1]


@pytest.mark.parametrize("lengths", [(2, 10), (10, 9), (3, 61)])
def test_lengths_out_of_reach_are_refused(lengths):
    with pytest.raises(ValueError, match=f"shortest={lengths[0]}, longest={lengths[1]}"):
        Grammar().pair(*lengths)


def test_the_same_seed_draws_the_same_sentences_for_ever():
    """The trained models saw these; a change here asks for training them again."""
    draw, digest = Grammar(12345), hashlib.sha256()
    for k in range(200):
        pair = draw.pair(*BUCKETS[k % len(BUCKETS)])
        digest.update(" ".join((*pair.source, "|", *pair.target, "")).encode())
    assert digest.hexdigest()[:16] == "3db358c923f0f494"


# --- the corpus -------------------------------------------------------------------------------


def test_splits_are_disjoint_distinct_and_decided_by_the_sentence(corpus):
    sources = {
        name: [p.source for p in getattr(corpus, name)] for name in ("train", "valid", "test")
    }
    everything = [s for split in sources.values() for s in split]
    assert len(set(everything)) == len(everything) == 125
    for name, split in sources.items():
        assert {split_of(s) for s in split} == {name}
    assert classic().source not in everything


def test_splits_of_different_seeds_never_mix(corpus):
    other = grammar(GrammarConfig(sentences=100, valid=0, test=0, seed=4))
    train = {pair.source for pair in other.train}
    assert train.isdisjoint(pair.source for pair in (*corpus.valid, *corpus.test))


def test_a_corpus_can_be_drawn_again(corpus):
    again = grammar(GrammarConfig(sentences=100, valid=5, test=20, seed=3))
    assert again == corpus
    assert grammar(GrammarConfig(sentences=20, valid=0, test=0, seed=9)).train != corpus.train


def bucket_counts(pairs):
    return [sum(low <= len(p.source) <= high for p in pairs) for low, high in BUCKETS]


def test_buckets_are_filled_as_asked(corpus):
    assert bucket_counts(corpus.train) == [30, 30, 20, 14, 6]
    assert bucket_counts(corpus.test) == [4, 4, 4, 4, 4]


def test_a_shorter_corpus_keeps_the_shares_of_the_buckets_it_has():
    corpus = grammar(GrammarConfig(sentences=160, valid=0, test=10, shortest=5, longest=20))
    assert min(len(p.source) for p in corpus.train) >= 5
    assert max(len(p.source) for p in corpus.train) <= 20
    assert bucket_counts(corpus.train) == [60, 60, 40, 0, 0]


def test_held_out_pairs_carry_links_and_training_pairs_do_not(corpus):
    assert all(pair.sure and pair.tags for pair in (*corpus.valid, *corpus.test))
    assert not any(pair.possible for pair in corpus.train)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"shortest": 2}, "shortest=2, longest=60: a sentence has 3 to 60 words"),
        ({"shortest": 20, "longest": 10}, "shortest=20, longest=10"),
        ({"sentences": -1}, "sentences=-1 cannot be negative"),
        ({"shares": (1.0,)}, r"shares=\(1.0,\) needs 5 weights"),
        ({"held_out_shares": (1.0, 1.0, 1.0, 1.0, -1.0)}, "none of them negative"),
        (
            {"shares": (1.0, 0.0, 0.0, 0.0, 0.0), "shortest": 10},
            "leaves no sentence of 10 to 60 words",
        ),
    ],
)
def test_bad_configs_are_refused_in_one_line(bad, message):
    with pytest.raises(ValueError, match=message) as caught:
        GrammarConfig(**bad)
    assert "\n" not in str(caught.value)


def test_words_are_few_enough_to_learn(many):
    english = Counter(w for pair in many for w in pair.source)
    translation = Counter(w for pair in many for w in pair.target)
    assert 600 < len(english) < 900
    assert 900 < len(translation) < 1_450


def test_a_coordination_of_women_is_feminine():
    both = rules.coordinated(the("girl"), the("nurse"))
    assert both.plural
    assert both.feminine
    assert isinstance(both, NounPhrase)
    mixed = rules.coordinated(the("girl"), the("boy"))
    assert french(doing(mixed, "arrive", "past").statement()) == (
        "la fille et le garçon sont arrivés"
    )
