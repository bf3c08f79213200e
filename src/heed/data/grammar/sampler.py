"""Choosing: which words, which rules, how long. ``Grammar`` draws one pair after another."""

import random
from collections.abc import Sequence, Set
from math import fsum
from typing import TypeVar

from heed.data.grammar import lexicon, rules
from heed.data.grammar.lexicon import Adjective, Kinds, Noun, Verb
from heed.data.grammar.rules import Clause, Clitic
from heed.data.grammar.surface import surface
from heed.data.grammar.words import NounPhrase, Phrase, Word, fixed
from heed.data.pairs import Pair

T = TypeVar("T")

_YEARS = tuple(str(year) for year in range(1990, 2021))
_DAYS = tuple(str(day) for day in range(2, 32))
_UNITS = (("days", "jours"), ("weeks", "semaines"), ("months", "mois"), ("years", "ans"))

_PERSON = frozenset({"person"})
_TOPIC = frozenset({"topic"})
_FRONTED = frozenset({"building", "fronted"})
_INSIDE = frozenset({"inside"})
_SITE = frozenset({"place", "building"})
_COMPARABLE = ("person", "animal", "building", "vehicle", "portable", "text", "act")

_REPORTS = {  # time of the sentence: English, French singular, plural, sure and possible links
    "past": (
        ("said that", "a dit que", "ont dit que", "0-1 1-2", "0-0"),
        ("announced that", "a annoncé que", "ont annoncé que", "0-1 1-2", "0-0"),
        ("explained that", "a expliqué que", "ont expliqué que", "0-1 1-2", "0-0"),
        ("knew that", "savait que", "savaient que", "0-0 1-1", ""),
        ("thought that", "pensait que", "pensaient que", "0-0 1-1", ""),
        ("asked whether", "a demandé si", "ont demandé si", "0-1 1-2", "0-0"),
    ),
    "present": (
        ("says that", "dit que", "disent que", "0-0 1-1", ""),
        ("thinks that", "pense que", "pensent que", "0-0 1-1", ""),
        ("knows that", "sait que", "savent que", "0-0 1-1", ""),
        ("explains that", "explique que", "expliquent que", "0-0 1-1", ""),
    ),
    "future": (
        ("thinks that", "pense que", "pensent que", "0-0 1-1", ""),
        ("says that", "dit que", "disent que", "0-0 1-1", ""),
        ("knows that", "sait que", "savent que", "0-0 1-1", ""),
    ),
}
_PLURAL_REPORT = {
    "says": "say", "thinks": "think", "knows": "know", "explains": "explain",
}  # fmt: skip

_JOINS = {  # English, French, sure links, possible links
    "and": ("and", "et", "0-0", ""),
    "but": (", but", ", mais", "0-0 1-1", ""),
    "so": (", so", ", donc", "0-0 1-1", ""),
    "semicolon": (";", ";", "0-0", ""),
    "because": ("because", "parce que", "0-0", "0-1"),
    "when": ("when", "quand", "0-0", ""),
    "while": ("while", "pendant que", "0-0", "0-1"),
    "that is why": ("and that is why", "et c' est pourquoi", "0-0 1-1 2-2 3-3", ""),
}


class Grammar:
    """Draws pairs of sentences with gold links; the same seed gives the same pairs."""

    def __init__(self, seed: int | random.Random = 0) -> None:
        self.random = seed if isinstance(seed, random.Random) else random.Random(seed)
        self._nouns: dict[Kinds, tuple[Noun, ...]] = {}
        self._adjectives: dict[Noun, tuple[Adjective, ...]] = {}
        self._forget()

    # --- the public side ----------------------------------------------------------------------

    def pair(self, shortest: int = 3, longest: int = 60) -> Pair:
        """One pair whose English side has ``shortest`` to ``longest`` tokens."""
        check_lengths(shortest, longest)
        while True:
            target = self.random.randint(shortest, longest)
            phrase = self._sentence(target)
            if shortest <= len(phrase.en) <= longest:
                return surface(phrase)

    def pair_with(
        self,
        phenomena: Set[str],
        shortest: int = 3,
        longest: int = 60,
        *,
        tries: int = 20_000,
    ) -> Pair:
        """One pair that shows all of ``phenomena``, such as {"clitic", "negation"}."""
        for _ in range(tries):
            pair = self.pair(shortest, longest)
            if phenomena <= pair.tags:
                return pair
        raise ValueError(
            f"no sentence of {shortest} to {longest} words shows {sorted(phenomena)} "
            f"in {tries} tries"
        )

    # --- chance -------------------------------------------------------------------------------

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _one(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.random() * len(choices))]

    def _weighted(self, choices: Sequence[tuple[float, T]]) -> T:
        left = self.random.random() * fsum(weight for weight, _ in choices)
        for weight, choice in choices:
            left -= weight
            if left < 0:
                return choice
        return choices[-1][1]

    # --- memory: what a pronoun may stand for -------------------------------------------------

    def _forget(self) -> None:
        self._person: NounPhrase | None = None  # the last subject, if a person
        self._thing: NounPhrase | None = None  # the last object, or subject of a passive
        self._used: set[object] = set()  # words said already, so as not to repeat them
        self._last_verb: Verb | None = None

    @property
    def _being(self) -> str:
        """The tense of "to be": what is reported of the past is past too."""
        return "past" if self._time == "reported" else self._time

    # --- noun phrases -------------------------------------------------------------------------

    def _pool(self, kinds: Kinds) -> tuple[Noun, ...]:
        pool = self._nouns.get(kinds)
        if pool is None:
            pool = tuple(n for n in lexicon.NOUNS if n.kinds & kinds)
            self._nouns[kinds] = pool
        return pool

    def _noun(self, kinds: Kinds) -> Noun:
        pool = self._pool(kinds)
        noun = self._one(pool)
        for _ in range(3):
            if noun not in self._used:
                break
            noun = self._one(pool)
        if "signable" in kinds and self._chance(0.5):
            noun = _AGREEMENT
        elif "topic" in kinds and self._chance(0.35):
            noun = _AREA
        self._used.add(noun)
        return noun

    def _name(self) -> NounPhrase:
        name = self._one(lexicon.NAMES)
        for _ in range(3):
            if name not in self._used:
                break
            name = self._one(lexicon.NAMES)
        self._used.add(name)
        return rules.name_phrase(name)

    def _fitting(self, noun: Noun) -> tuple[Adjective, ...]:
        fitting = self._adjectives.get(noun)
        if fitting is None:
            fitting = tuple(a for a in lexicon.ADJECTIVES if a.kinds & noun.kinds)
            self._adjectives[noun] = fitting
        return fitting

    def _some_adjectives(self, noun: Noun, room: int, determiner: str) -> list[Adjective]:
        fitting = self._fitting(noun)
        if room < 1 or not fitting or not self._chance(0.55):
            return []
        want = 1 + (room > 2 and self._chance(0.45)) + (room > 4 and self._chance(0.2))
        chosen: dict[int, Adjective] = {}
        for _ in range(want):
            adjective = self._one(fitting)
            if adjective in self._used or not adjective.attributive:
                continue
            if adjective.english == "other" and determiner not in ("the", "some", "two/deux"):
                continue  # English would say "another"
            chosen.setdefault(adjective.rank, adjective)
        self._used.update(chosen.values())
        if noun is _AREA and room > 1 and self._chance(0.7):
            chosen = {2: _EUROPEAN, 3: _ECONOMIC}
        return [chosen[rank] for rank in sorted(chosen)]

    def _number_and_determiner(self, noun: Noun, negated: bool) -> tuple[bool, str]:
        if noun.mass:
            if "theme" in noun.kinds:
                return False, "bare"
            return False, ("any" if negated else self._weighted(_MASS_DETERMINERS))
        if negated and self._chance(0.3) and "person" not in noun.kinds:
            return False, "no a"
        if "family" in noun.kinds:
            return False, self._weighted(_FAMILY_DETERMINERS)
        if "unique" in noun.kinds:
            return False, self._weighted(_UNIQUE_DETERMINERS)
        if "inst" in noun.kinds and self._chance(0.7):
            return False, "the"
        plural = self._chance(0.3)
        while True:
            det = self._weighted(_PLURAL_DETERMINERS if plural else _SINGULAR_DETERMINERS)
            if det == "possessive":
                if "owned" not in noun.kinds:
                    continue
                det = self._one(("his", "her", "their", "my", "our", "your"))
            elif det == "number":
                number = self._one(lexicon.NUMBERS)
                det = f"{number[0]}/{number[1]}"
            if negated and det in ("some", "many", "several", "every", "all"):
                continue
            if negated and det == "a":
                det = "the" if "person" in noun.kinds else "no a"
            return plural, det

    def _np(
        self,
        kinds: Kinds,
        room: int,
        *,
        definite: bool = False,
        negated: bool = False,
        singular: bool = False,
        embedded: bool = False,
        specific: bool = False,
    ) -> NounPhrase:
        """A noun phrase about a noun of one of ``kinds`` with some ``room`` words to spare."""
        if "person" in kinds and not definite and self._chance(0.4 if room < 0 else 0.12):
            return self._name()
        noun = self._noun(kinds)
        owner = None
        if definite:
            plural, det = False, "bare" if "theme" in noun.kinds else "the"
            if not noun.mass and not singular and "unique" not in noun.kinds:
                plural = self._chance(0.2)
        else:
            plural, det = self._number_and_determiner(noun, negated)
            if singular and plural:
                plural, det = False, "the"
            if specific and (det in _INDEFINITE or "/" in det):
                det = "this" if self._chance(0.2) else "the"
        if room > 2 and not embedded and "owned" in noun.kinds and self._chance(0.2):
            owner = (
                self._name()
                if self._chance(0.5)
                else self._np(_PERSON, 0, definite=True, singular=True, embedded=True)
            )
            room -= len(owner.en)
        adjectives = self._some_adjectives(noun, room, det)
        phrase = rules.noun_phrase(noun, det, plural=plural, adjectives=adjectives, owner=owner)
        room -= len(adjectives)
        if embedded or noun.mass:
            return phrase
        if "act" in noun.kinds or noun.english in ("report", "article"):
            if room > 2 and self._chance(0.5):
                topic = self._np(_TOPIC, room - 3, definite=True, singular=True, embedded=True)
                return rules.with_complement(phrase, "on", topic)
        elif noun.english in _HEADED and room > 2 and self._chance(0.35):
            whole = self._np(
                frozenset(_HEADED[noun.english]),
                room - 4,
                definite=True,
                singular=True,
                embedded=True,
            )
            if owner is None:
                return rules.with_complement(phrase, "of", whole)
        if room > 3 and self._chance(0.45):
            return self._relative(phrase, room - 2)
        return phrase

    def _relative(self, head: NounPhrase, room: int) -> NounPhrase:
        """``head`` with a relative clause of about ``room`` words, if one makes sense."""
        noun = head.noun
        assert noun is not None
        person, thing, last = self._person, self._thing, self._last_verb
        choice = self.random.random()
        if choice < 0.4 and noun.kinds & {"person", "animal", "inst"}:
            clause = self._active(head, room, embedded=True)
            head = rules.relative_subject(head, clause)
        elif choice < 0.5 and "person" in noun.kinds:
            verb = self._one(_PET_VERBS)
            owned = self._one(self._pool(frozenset({"pet"})))
            tense = self._tense(verb, embedded=True)

            head = rules.relative_owner(
                head, owned, lambda pet: Clause(pet, rules.verb_group(verb, pet, tense))
            )
        else:
            verbs = _verbs_with_object(noun)
            if verbs:
                verb = self._one(verbs)
                subject = self._np(verb.subjects, min(room - 4, 2), embedded=True)
                tense = self._tense_for(verb, subject, embedded=True)
                group = rules.verb_group(verb, subject, tense, antecedent=head)
                head = rules.relative_object(head, Clause(subject, group))
        self._person, self._thing, self._last_verb = person, thing, last
        return head

    # --- verb phrases -------------------------------------------------------------------------

    def _tense(self, verb: Verb, *, embedded: bool = False) -> str:
        table = _TENSES_EMBEDDED if embedded else _TENSES
        while True:
            tense = self._weighted(table[self._time])
            if tense in ("progressive", "past progressive") and not verb.progressive:
                continue
            if tense == "used to" and not verb.habitual:
                continue
            if tense in (*lexicon.CONTROL, "want", "can", "must") and verb in _UNWILLED:
                continue
            return tense

    def _negation(self, tense: str) -> str:
        if tense == "used to" or self._chance(0.84):
            return ""
        if tense in ("progressive", "past progressive", *lexicon.CONTROL, "want"):
            return "not"
        return "not" if self._chance(0.7) else "never"

    def _adverb(self, verb: Verb, tense: str, negation: str) -> str:
        if negation or not self._chance(0.1):
            return ""
        if tense in ("perfect", "pluperfect"):
            return "already"
        if tense in ("past", "present") and verb.habitual:
            return "often" if tense == "past" else self._one(("often", "always"))
        return ""

    def _subject(
        self, kinds: Kinds, room: int, *, anaphora: bool, specific: bool = False
    ) -> NounPhrase:
        if "person" in kinds:
            last = self._person
            if anaphora and last is not None and self._chance(0.5):
                if last.plural:
                    return rules.subject_pronoun("they", feminine=last.feminine)
                return rules.subject_pronoun(
                    "she" if last.feminine else "he", feminine=last.feminine
                )
            if not anaphora and self._chance(0.3 if room < 0 else 0.08):
                return self._first_pronoun()
            if self._chance(0.06) and room > 3:
                return rules.coordinated(
                    self._np(_PERSON, 0, embedded=True), self._np(_PERSON, 0, embedded=True)
                )
        return self._np(kinds, room, specific=specific)

    def _first_pronoun(self) -> NounPhrase:
        pronoun = self._weighted(_FIRST_PRONOUNS)
        if pronoun == "i" and self._asking:
            pronoun = "you"
        return rules.subject_pronoun(pronoun, feminine=pronoun == "she")

    def _clitic(self, verb: Verb, tense: str, subject: NounPhrase) -> Clitic | None:
        """An object pronoun that the verb can take, or none."""
        dative = verb.prep == "à"
        thing = self._thing
        fits = thing is not None and bool(thing.kinds & verb.objects)
        if fits and thing is not None and verb is not self._last_verb and self._chance(0.6):
            if thing.plural:
                return rules.clitic("them", feminine=thing.feminine, dative=dative)
            if "person" not in thing.kinds:
                return rules.clitic("it", feminine=thing.feminine)
        if "person" in verb.objects and self._chance(0.2):
            english = self._one(("him", "her", "us", "me", "you"))
            if subject.person == 1 and english in ("us", "me"):
                return None  # "we saw us" would be reflexive
            if subject.person == 2 and english == "you":
                return None
            return rules.clitic(english, feminine=english == "her", dative=dative)
        return None

    def _tense_for(self, verb: Verb, subject: NounPhrase, *, embedded: bool = False) -> str:
        """A tense that the subject can say, and that does not sound like another one."""
        if subject.person != 3:
            return {"present": "can", "future": "must"}.get(self._time, "past")
        tense = self._tense(verb, embedded=embedded)
        if tense == "present" and subject.plural and verb.base == verb.past:
            return "progressive"  # "they read" could be yesterday
        return tense

    def _active(
        self,
        subject: NounPhrase,
        room: int,
        *,
        embedded: bool = False,
        inverted: bool = False,
        negatable: bool = True,
        ahead: Sequence[Verb] = (),
    ) -> Clause:
        """A clause whose ``subject`` acts; about ``room`` words follow the subject."""
        verbs = ahead or _verbs_of(subject)
        verb = self._one(verbs)
        if subject.person != 3 and (verb.etre or verb.reflexive):
            verb = self._one(_EVERYBODY)
        tense = self._tense_for(verb, subject, embedded=embedded)
        if inverted and tense == "used to":
            tense = "past"
        negation = self._negation(tense) if negatable and not inverted else ""
        adverb = self._adverb(verb, tense, negation)
        thing, tail, climbing = None, Phrase(), []
        person_object: NounPhrase | None = None
        if verb.objects and "goal" not in verb.objects:
            pronoun = None if embedded else self._clitic(verb, tense, subject)
            if verb in _GIVING:
                tail, climbing, thing = self._gift(verb, room, pronoun, bool(negation))
            elif pronoun is not None:
                tail, climbing = Phrase([pronoun.en]), [pronoun]
            else:
                thing = self._np(
                    verb.objects, room - 4, negated=bool(negation) and not verb.prep,
                    embedded=embedded and room < 6,
                )  # fmt: skip
                tail = thing
                if verb.prep:
                    person_object, thing = thing, None
        group = rules.verb_group(
            verb,
            subject,
            tense,
            negation=negation,
            adverb=adverb,
            inverted=inverted,
            climbing=climbing,
        )
        if person_object is not None:  # « obéir à »: the preposition is French only
            a = Word(verb.prep, (), group.en, "preposition")
            a.possible = tuple(group.en[-1 - len(verb.particle) :])
            tail = Phrase(tail.en, [a, *tail.fr])
        elif "goal" in verb.objects and (verb is lexicon.GOING or self._chance(0.6)):
            tail = rules.prepositional(
                "to" if verb is lexicon.GOING else "from",
                self._np(_GOAL, room - 4, definite=True, singular=True, embedded=True),
            )
        if not embedded:
            if "person" in subject.kinds:
                self._person = subject
            if climbing and thing is None:
                pass  # the pronoun keeps standing for the same thing
            else:
                self._thing = thing if _can_be_it(thing) and not negation else None
            self._last_verb = verb
        return Clause(subject, group, tail, tense, verb)

    def _gift(
        self, verb: Verb, room: int, pronoun: Clitic | None, negated: bool
    ) -> tuple[Phrase, list[Clitic], NounPhrase | None]:
        """What is given, and to whom: "gave it to the girl", "gave him the book"."""
        if pronoun is not None and pronoun.en.text in ("it", "them"):
            receiver = rules.prepositional("to", self._np(_PERSON, room - 5, definite=True))
            return Phrase([pronoun.en], []) + receiver, [pronoun], None
        to_whom = self._chance(0.55)
        thing = self._np(verb.objects, (room - 6) // 2, negated=negated, embedded=to_whom)
        if not to_whom:
            english = self._one(("him", "her"))
            receiver = rules.clitic(english, feminine=english == "her", dative=True)
            return Phrase([receiver.en, *thing.en], thing.fr), [receiver], thing
        receiver = rules.prepositional(
            "to", self._np(_PERSON, (room - 6) // 2, definite=self._chance(0.7), embedded=True)
        )
        return thing + receiver, [], thing

    # --- clauses ------------------------------------------------------------------------------

    def _clause(
        self,
        room: int,
        *,
        anaphora: bool = False,
        questioned: bool = False,
        plain: bool = False,
    ) -> Clause:
        """A clause of about ``room`` words in the time of the sentence; ``plain`` ones tell
        what happens and not how things are."""
        choice = self.random.random()
        if anaphora and self._thing is not None and self._chance(0.3):
            clause = self._about_it(room)
        elif choice < 0.18 and room >= 5:
            clause = self._passive(room, questioned)
        elif choice < 0.32 and room >= 4 and not plain:
            clause = self._copula(room, anaphora=anaphora, questioned=questioned)
        elif choice < 0.36 and room >= 7 and not questioned:
            clause = self._there_is(room)
        else:
            clause = self._doing(room, anaphora=anaphora, questioned=questioned)
        left = room - len(clause.subject.en) - len(clause.group.aux)
        left -= len(clause.group.en) + len(clause.tail.en)
        clause.tail = clause.tail + self._adverbials(left, clause)
        return clause

    def _doing(self, room: int, *, anaphora: bool, questioned: bool = False) -> Clause:
        kind = self._weighted(_DOERS_SHORT if room < 6 else _DOERS)
        if kind == "intransitive":
            verb = self._one(lexicon.INTRANSITIVE)
        elif kind == "going":
            verb = self._one((lexicon.GOING, lexicon.GOING, lexicon.COMING))
        elif kind == "giving":
            verb = self._one(lexicon.GIVING)
        else:
            verb = self._one(lexicon.TRANSITIVE)
            if self._chance(0.05):
                verb = _SIGN
            thing = self._thing
            if anaphora and thing is not None and thing.noun is not None and self._chance(0.5):
                verb = self._one(_verbs_with_object(thing.noun) or (verb,))
        spare = room - (5 if kind in ("transitive", "giving") else 3)
        share = spare if kind == "intransitive" else spare // 2
        subject = self._subject(verb.subjects, share - 1, anaphora=anaphora)
        rest = room - len(subject.en)
        return self._active(subject, rest, inverted=questioned, ahead=(verb,))

    def _passive(self, room: int, questioned: bool) -> Clause:
        verb = _SIGN if self._chance(0.3) else self._one(_PASSIVE)
        spare = room - 5
        agent_wanted = spare > 2 and self._chance(0.45)
        subject = self._np(verb.objects, (spare - 3) if agent_wanted else spare - 2)
        tense = self._weighted(_PASSIVE_TENSES[self._time])
        negation = "not" if self._chance(0.12) and not questioned else ""
        agent = None
        if agent_wanted:
            agent = self._np(verb.subjects, spare - len(subject.en), definite=self._chance(0.8))
        self._person = None
        self._thing = subject if _can_be_it(subject) and not negation else None
        self._last_verb = verb
        return rules.passive(verb, subject, tense, negation=negation, agent=agent)

    def _about_it(self, room: int) -> Clause:
        """“it was beautiful”, “they were signed”: the subject stands for the last thing."""
        thing = self._thing
        assert thing is not None
        assert thing.noun is not None
        pronoun = "they" if thing.plural else "it"
        subject = rules.subject_pronoun(pronoun, feminine=thing.feminine)
        subject.kinds = thing.kinds
        adjectives = [
            a for a in self._fitting(thing.noun) if a.predicative and not self._clashes(a)
        ]
        verbs = [v for v in _PASSIVE if v.objects & thing.kinds and v is not self._last_verb]
        if adjectives and (not verbs or self._chance(0.6)):
            adjective = self._one(adjectives)
            self._used.add(adjective)
            degree = self._degree(adjective)
            group = rules.copula_group(subject, self._being)
            tail = rules.predicate_adjective(adjective, subject, degree)
            return Clause(subject, group, tail)
        if not verbs:
            return self._doing(room, anaphora=True)
        tense = self._weighted(_PASSIVE_TENSES[self._time])
        verb = self._one(verbs)
        self._last_verb = verb
        return rules.passive(verb, subject, tense)

    def _degree(self, adjective: Adjective) -> str:
        """“very” or “too” or nothing; praise is never “too” much."""
        if not adjective.gradable:
            return ""
        degree = self._weighted(_DEGREES)
        return degree if degree != "too" or adjective.english in _BURDENS else ""

    def _clashes(self, adjective: Adjective) -> bool:
        """True if it, or its contrary, was said already: no "the small house is big"."""
        group = _CONTRARIES.get(adjective, (adjective,))
        return any(a in self._used for a in group)

    def _copula(self, room: int, *, anaphora: bool, questioned: bool = False) -> Clause:
        kind = self._one(_COMPARABLE)
        kinds = frozenset({kind})
        if kind == "person":
            subject = self._subject(kinds, (room - 4) // 2, anaphora=anaphora, specific=True)
            if subject.person != 3:
                subject = rules.subject_pronoun("she", feminine=True)
        else:
            subject = self._np(kinds, (room - 4) // 2, specific=True)
        adjectives = [
            a
            for a in (self._fitting(subject.noun) if subject.noun else _OF_PEOPLE)
            if a.predicative and not self._clashes(a)
        ]
        if not adjectives:
            return self._doing(room, anaphora=anaphora, questioned=questioned)
        adjective = self._one(adjectives)
        self._used.add(adjective)
        negation = "not" if self._chance(0.15) and not questioned else ""
        group = rules.copula_group(subject, self._being, negation=negation)
        left = room - len(subject.en) - 3
        tail: Phrase | None = None
        if left > 3 and self._chance(0.5) and adjective.gradable:
            other = self._other(subject, adjective, left - 4)
            if other is not None:
                degrees = ("more", "less", "as") if adjective.more else ("as",)
                tail = rules.comparison(adjective, subject, self._one(degrees), other)
        if tail is None:
            degree = self._degree(adjective)
            tail = rules.predicate_adjective(adjective, subject, degree)
        self._person = subject if "person" in subject.kinds else self._person
        self._thing = None
        return Clause(subject, group, tail)

    def _other(self, subject: NounPhrase, adjective: Adjective, room: int) -> NounPhrase | None:
        """Something of the same kind to compare with, to which the adjective applies too."""
        kinds = adjective.kinds & subject.kinds if subject.noun else _PERSON
        pool = [
            n
            for n in self._pool(frozenset(kinds or _PERSON))
            if n is not subject.noun
            and not n.mass
            and (subject.noun is None or n.kinds & subject.kinds & frozenset(_COMPARABLE))
        ]
        if not pool:
            return None
        noun = self._one(pool)
        det = self._weighted(((0.6, "the"), (0.25, "this"), (0.15, "possessive")))
        if det == "possessive":
            det = self._one(("my", "our", "your")) if "owned" in noun.kinds else "the"
        adjectives = [a for a in self._some_adjectives(noun, room, "a") if a is not adjective]
        return rules.noun_phrase(noun, det, plural=self._chance(0.25), adjectives=adjectives)

    def _there_is(self, room: int) -> Clause:
        """“there is a cat in the garden” / « il y a un chat dans le jardin »."""
        noun = self._noun(frozenset({"person", "animal", "portable", "vehicle", "supply"}))
        while noun.kinds & {"family", "unique"}:
            noun = self._noun(_PERSON)
        plural = not noun.mass and self._chance(0.45)
        negated = self._chance(0.15)
        if noun.mass or plural:
            det = "any" if negated else "some"
            if plural and not negated and self._chance(0.5):
                number = self._one(lexicon.NUMBERS)
                det = f"{number[0]}/{number[1]}"
        else:
            det = "no a" if negated else "a"
        adjectives = [a for a in self._some_adjectives(noun, room - 7, "a") if a.english != "other"]
        thing = rules.noun_phrase(noun, det, plural=plural, adjectives=adjectives)
        there = Word("there")
        past = self._being == "past"
        future = self._time == "future"
        not_ = [Word("not")] if negated else []
        if future:
            aux, body = [Word("will")], [*not_, Word("be")]
            be, text = body[-1], "aura"
        else:
            text = "was" if past else "is"
            if plural:
                text = "were" if past else "are"
            aux, body = [Word(text)], not_
            be, text = aux[0], "avait" if past else "a"
        mark = ("imparfait",) if past else ()
        ne = [Word("ne", (), not_, "negation")] if negated else []
        pas = [Word("pas", not_, (), "negation")] if negated else []
        il = Word("il", [there], (), "there is")
        y = Word("y", (), [there, be], "there is")
        finite = Word(text, [be], [aux[0]] if future else (), "there is", *mark)
        group = rules.VerbGroup(aux, body, [*ne, y, finite, *pas])
        where = self._place(room - 5 - len(adjectives))
        self._person = self._thing = None
        return Clause(NounPhrase([there], [il]), group, thing + where)

    # --- adverbials ---------------------------------------------------------------------------

    def _adverbials(self, left: int, clause: Clause) -> Phrase:
        """Place or company, then time, as far as there is room and sense."""
        out = Phrase()
        has_place = self._placed or any(
            p in ("preposition", "there is") for w in clause.tail.fr for p in w.phenomena
        )
        if left >= 3 and not has_place and clause.verb is not None and self._chance(0.5):
            if clause.verb in _SOCIABLE and clause.subject.person == 3 and self._chance(0.5):
                kin = self._noun(frozenset({"kin"}))
                det = self._one(("his", "her", "my", "our"))
                out = rules.prepositional("with", rules.noun_phrase(kin, det))
            elif clause.verb.base not in ("return", "leave", "love", "obey"):
                out = self._place(left - 3)
        if left - len(out.en) >= 1 and self._chance(0.65):
            time = self._when(clause, left - len(out.en))
            if time is not None:
                out = out + time
        return out

    def _place(self, room: int) -> Phrase:
        choice = self.random.random()
        if choice < 0.15:
            english, french = self._one(lexicon.CITIES)
            return fixed(f"in {english}", f"à {french}", "0-0 1-1", "", "preposition")
        if choice < 0.3:
            english, french = self._one(lexicon.COUNTRIES)
            return fixed(f"in {english}", french, "0-0 1-1", "", "preposition")
        if choice < 0.65 or room < 2:
            site = self._np(_INSIDE, room, definite=True, singular=True, embedded=True)
            return rules.prepositional("in", site)
        preposition = self._one(("near", "behind", "in front of", "next to"))
        where = _SITE if preposition == "near" else _FRONTED
        site = self._np(where, room - 2, definite=True, singular=True, embedded=True)
        return rules.prepositional(preposition, site)

    def _when(self, clause: Clause, room: int) -> Phrase | None:
        """A time that fits the tense of ``clause``, of at most ``room`` words, once a while."""
        if self._dated or clause.verb is None or clause.verb.base == "love":
            return None
        choices = [c for c in _WHEN.get(self._moment(clause), ()) if c[1] <= room]
        if not choices:
            return None
        kind = self._weighted([(weight, kind) for weight, _, kind in choices])
        self._dated = True
        match kind:
            case "month":
                return rules.month_year(self._one(lexicon.MONTHS), self._one(_YEARS))
            case "year":
                return rules.in_year(self._one(_YEARS))
            case "date":
                return rules.full_date(
                    self._one(lexicon.MONTHS), self._one(_DAYS), self._one(_YEARS)
                )
            case "weekday date":
                return rules.weekday_date(
                    self._one(lexicon.DAYS), self._one(lexicon.MONTHS), self._one(_DAYS)
                )
            case "weekday":
                return rules.weekday_alone(self._one(lexicon.DAYS))
            case "ago":
                return rules.ago(self._one(lexicon.NUMBERS), self._one(_UNITS))
        return fixed(*_TIMES[kind])

    def _moment(self, clause: Clause) -> str:
        """Which row of the table of times goes with the tense of ``clause``."""
        tense = clause.tense
        if tense in ("past", "passive past", "passive pluperfect"):
            return "past"
        if tense == "pluperfect":
            return "past" if self._time == "reported" else ""
        if tense == "past progressive":
            return tense
        if tense in lexicon.CONTROL:
            return "past"
        if tense == "used to" or (
            tense == "present" and clause.verb is not None and clause.verb.habitual
        ):
            return "habit"
        if tense == "progressive":
            return "now"
        if self._time == "future":
            return "future"
        return "today" if tense in ("can", "must", "want", "passive must") else ""

    # --- sentences ----------------------------------------------------------------------------

    def _sentence(self, length: int) -> Phrase:
        self._forget()
        self._dated = self._placed = self._asking = False
        self._joined: set[str] = set()
        self._time = self._weighted(((0.62, "past"), (0.23, "present"), (0.15, "future")))
        if 4 <= length <= 30 and self._chance(0.14):
            self._asking = True
            body, mark = self._question(length - 1), "?"
        else:
            body, mark = self._statement(length - 1), "."
        end = Word(mark)
        return Phrase([*body.en, end], [*body.fr, Word(mark, [end])])

    def _question(self, room: int) -> Phrase:
        choice = self.random.random()
        if choice < 0.12 and room >= 4:
            who = Word("who")
            subject = NounPhrase([who], [Word("qui", [who], (), "question")], kinds=_PERSON)
            clause = self._active(subject, room - 1, negatable=False, ahead=_PERSON_VERBS)
            left = room - 1 - len(clause.predicate().en)
            return clause.statement() + self._adverbials(left, clause)
        if choice < 0.24 and room >= 5:
            verb = self._one(_ASKABLE)
            subject = self._subject(verb.subjects, min(room - 4, 6), anaphora=False)
            tense = self._tense_for(verb, subject)
            if tense == "used to":
                tense = "past"
            group = rules.verb_group(verb, subject, tense, inverted=True)
            clause = Clause(subject, group, tense=tense, verb=verb)
            left = room - 1 - len(clause.statement().en)
            clause.tail = self._adverbials(left, clause)
            return clause.question("what")
        asking = self._one(("why", "when", "where")) if choice < 0.45 and room > 5 else ""
        self._dated, self._placed = asking == "when", asking == "where"
        clause = self._clause(room - bool(asking), questioned=True, plain=asking != "")
        return clause.question(asking)

    def _statement(self, room: int, *, anaphora: bool = False, depth: int = 0) -> Phrase:
        """One clause, or two statements joined, or one reported, to fill ``room`` words."""
        if room < 9 or (room < 16 and self._chance(0.55)) or depth > 4:
            return self._simple(room, anaphora=anaphora, fronting=not anaphora)
        if room > 11 and depth < 3 and "reported" not in self._joined and self._chance(0.3):
            return self._reported(room, depth)
        if (
            room > 13
            and not anaphora
            and "if" not in self._joined
            and self._time == "future"
            and self._chance(0.4)
        ):
            return self._if(room, depth)
        if room < 26 and self._chance(0.25):
            return self._simple(room, anaphora=anaphora, fronting=not anaphora)
        return self._joined_pair(room, anaphora, depth)

    def _simple(self, room: int, *, anaphora: bool, fronting: bool) -> Phrase:
        if fronting and room > 8 and not self._dated and self._chance(0.2):
            self._dated = True
            clause = self._clause(room - 4, anaphora=anaphora, plain=True)
            self._dated = False
            time = self._when(clause, 3)
            if time is not None:
                comma = Word(",")
                front = Phrase([*time.en, comma], [*time.fr, Word(",", [comma])])
                return front + clause.statement()
            return clause.statement()
        return self._clause(room, anaphora=anaphora).statement()

    def _joined_pair(self, room: int, anaphora: bool, depth: int) -> Phrase:
        """Two statements with a conjunction; no conjunction twice if it can be helped."""
        table = [c for c in _JOIN_WEIGHTS[self._time] if c[1] not in self._joined]
        name = self._weighted(table) if table else "and"
        self._joined.add(name)
        english, french, sure, possible = _JOINS[name]
        tag = "coordination" if name in ("and", "but", "so", "semicolon") else "subordination"
        join = fixed(english, french, sure, possible, tag)
        width = len(join.en)
        share = self._one((0.35, 0.45, 0.5, 0.6))
        size = max(5, int((room - width) * share))
        if name in ("when", "while"):
            size = min(size, 24)
        first = self._statement(size, anaphora=anaphora, depth=depth + 1)
        left = max(4, room - width - len(first.en))
        dated = self._dated
        if left > 16:
            self._dated = False
        if name == "while":
            second = self._background(left)
        elif name == "and" and self._person is not None and left < 14 and self._chance(0.35):
            second = self._same_subject(left)
        else:
            second = self._statement(left, anaphora=True, depth=depth + 1)
        self._dated = self._dated or dated
        return first + join + second

    def _background(self, room: int) -> Phrase:
        """What was going on meanwhile: past progressive, « imparfait »."""
        verb = self._one(_ONGOING)
        subject = self._subject(verb.subjects, (room - 5) // 2, anaphora=True)
        tail = Phrase()
        if verb.objects:
            thing = self._np(verb.objects, room - 5 - len(subject.en), embedded=room < 12)
            tail = thing
        tense = "progressive" if self._time == "present" else "past progressive"
        group = rules.verb_group(verb, subject, tense)
        clause = Clause(subject, group, tail, tense=tense, verb=verb)
        self._person = subject if "person" in subject.kinds else self._person
        self._thing = None
        left = room - len(clause.statement().en)
        return (clause.statement()) + self._adverbials(left, clause)

    def _same_subject(self, room: int) -> Phrase:
        """“… and sold it”: the second predicate shares the subject of the first."""
        person = self._person
        assert person is not None
        verbs = _verbs_of(person)
        thing = self._thing
        if thing is not None and thing.noun is not None and self._chance(0.7):
            fitting = tuple(
                v
                for v in _verbs_with_object(thing.noun)
                if v.subjects & person.kinds and v is not self._last_verb
            )
            verbs = fitting or verbs
        silent = NounPhrase(
            [], [], person.feminine, person.plural, person.person, person.kinds, person.noun
        )
        clause = self._active(silent, room, ahead=verbs)
        left = room - len(clause.statement().en)
        return clause.statement() + self._adverbials(left, clause)

    def _reported(self, room: int, depth: int) -> Phrase:
        """“the minister said that …” / « le ministre a dit que … »."""
        self._joined.add("reported")
        time = self._time
        kinds = _SPEAKERS
        spare = 2 if room < 24 else 6
        subject = self._subject(kinds, spare, anaphora=False)
        while subject.person != 3:
            subject = self._first_pronoun()
        english, singular, plural, sure, possible = self._one(_REPORTS[time])
        if subject.plural:
            verb, that = english.split()
            english = f"{_PLURAL_REPORT.get(verb, verb)} {that}"
        french = plural if subject.plural else singular
        said = fixed(english, french, sure, possible, "reported speech")
        front = Phrase(subject.en + said.en, subject.fr + said.fr)
        self._person = subject if "person" in subject.kinds else None
        self._thing = None
        left = room - len(front.en)
        if time == "past":
            self._time = "reported"
        said_so = self._statement(max(4, left), anaphora=True, depth=depth + 1)
        self._time = time
        return front + said_so

    def _if(self, room: int, depth: int) -> Phrase:
        """“if it rains , …”: present in the condition, future in what follows."""
        self._joined.add("if")
        if_ = fixed("if", "si", "0-0", "", "subordination")
        self._time = "present"
        self._dated, dated = True, self._dated
        condition = self._clause(max(4, min(14, (room - 2) // 3))).statement()
        self._dated = dated
        self._time = "future"
        comma = fixed(",", ",", "0-0")
        front = if_ + condition + comma
        left = max(4, room - len(front.en))
        return front + self._statement(left, anaphora=True, depth=depth + 1)


# --- tables that the choices use --------------------------------------------------------------

_MASS_DETERMINERS = ((0.6, "some"), (0.3, "the"), (0.1, "this"))
_SINGULAR_DETERMINERS = (
    (0.5, "the"), (0.24, "a"), (0.1, "this"), (0.12, "possessive"), (0.04, "every"),
)  # fmt: skip
_PLURAL_DETERMINERS = (
    (0.4, "the"), (0.16, "some"), (0.08, "this"), (0.12, "possessive"), (0.12, "number"),
    (0.04, "several"), (0.04, "many"), (0.04, "all"),
)  # fmt: skip
_INDEFINITE = frozenset({"a", "some", "any", "every", "several", "many"})
_FAMILY_DETERMINERS = (
    (0.25, "the"), (0.2, "his"), (0.2, "her"), (0.15, "my"), (0.1, "our"), (0.1, "your"),
)  # fmt: skip
_UNIQUE_DETERMINERS = ((0.8, "the"), (0.2, "this"))
_FIRST_PRONOUNS = ((0.3, "he"), (0.3, "she"), (0.16, "i"), (0.12, "we"), (0.12, "you"))

_HEADED = {  # "the director of the museum"
    "director": ("museum", "school", "bank", "hospital", "theatre", "hotel", "agency"),
    "president": ("council", "commission", "court", "company", "university", "committee"),
    "mayor": ("city", "village"),
    "door": ("church", "house", "castle", "museum", "school"),
    "window": ("house", "castle", "kitchen", "station"),
    "street": ("village",),
    "garden": ("castle", "hotel", "hospital"),
    "key": ("house", "library", "castle"),
    "author": ("novel", "report", "article", "poem"),
}

_TENSES = {
    "past": (
        (0.6, "past"), (0.08, "perfect"), (0.06, "pluperfect"), (0.1, "past progressive"),
        (0.09, "used to"), (0.02, "decide"), (0.02, "try"), (0.01, "refuse"),
        (0.01, "promise"), (0.01, "begin"),
    ),
    "reported": ((0.75, "pluperfect"), (0.13, "past progressive"), (0.12, "used to")),
    "present": (
        (0.5, "present"), (0.22, "progressive"), (0.1, "can"), (0.09, "must"), (0.09, "want"),
    ),
    "future": ((0.72, "future"), (0.14, "can"), (0.14, "must")),
}  # fmt: skip
_TENSES_EMBEDDED = {
    "past": ((0.8, "past"), (0.1, "pluperfect"), (0.1, "past progressive")),
    "reported": ((1.0, "pluperfect"),),
    "present": ((0.6, "present"), (0.25, "past"), (0.15, "progressive")),
    "future": ((0.6, "present"), (0.4, "past")),
}
_DEGREES = ((0.5, ""), (0.3, "very"), (0.2, "too"))
_PASSIVE_TENSES = {
    "past": ((1.0, "past"),),
    "reported": ((1.0, "pluperfect"),),
    "present": ((0.6, "must"), (0.4, "can")),
    "future": ((0.8, "future"), (0.2, "must")),
}
_DOERS = ((0.68, "transitive"), (0.16, "intransitive"), (0.06, "going"), (0.1, "giving"))
_DOERS_SHORT = ((0.55, "transitive"), (0.45, "intransitive"))

_TIMES: dict[str, tuple[str, str, str, str, str]] = {
    "yesterday": ("yesterday", "hier", "0-0", "", "date"),
    "today": ("today", "aujourd'hui", "0-0", "", "date"),
    "tomorrow": ("tomorrow", "demain", "0-0", "", "date"),
    "now": ("now", "maintenant", "0-0", "", "date"),
    "last week": ("last week", "la semaine dernière", "1-1 0-2", "0-0 1-0", "date"),
    "next week": ("next week", "la semaine prochaine", "1-1 0-2", "0-0 1-0", "date"),
    "every day": ("every day", "tous les jours", "0-0 1-2", "0-1 1-1", "date"),
    "at noon": ("at noon", "à midi", "0-0 1-1", "", "date"),
    "in the morning": ("in the morning", "le matin", "1-0 2-1", "0-0", "date"),
}
_WHEN: dict[str, tuple[tuple[float, int, str], ...]] = {  # weight, length, kind
    "past": (
        (0.14, 1, "yesterday"), (0.1, 2, "last week"), (0.06, 2, "at noon"),
        (0.26, 3, "month"), (0.1, 2, "year"), (0.12, 5, "date"), (0.12, 5, "weekday date"),
        (0.08, 2, "weekday"), (0.1, 3, "ago"),
    ),
    "past progressive": ((0.4, 1, "yesterday"), (0.3, 2, "at noon"), (0.3, 2, "weekday")),
    "habit": ((0.6, 2, "every day"), (0.4, 3, "in the morning")),
    "now": ((0.5, 1, "now"), (0.5, 1, "today")),
    "today": ((1.0, 1, "today"),),
    "future": (
        (0.2, 1, "tomorrow"), (0.2, 2, "next week"), (0.1, 2, "at noon"), (0.15, 2, "weekday"),
        (0.2, 5, "weekday date"), (0.15, 1, "today"),
    ),
}  # fmt: skip
_JOIN_WEIGHTS = {
    "past": (
        (0.26, "and"), (0.16, "but"), (0.2, "because"), (0.14, "when"), (0.14, "while"),
        (0.06, "so"), (0.05, "semicolon"), (0.03, "that is why"),
    ),
    "present": (
        (0.3, "and"), (0.2, "but"), (0.24, "because"), (0.06, "when"), (0.08, "while"),
        (0.06, "so"), (0.06, "semicolon"),
    ),
    "reported": ((0.3, "and"), (0.1, "but"), (0.3, "because"), (0.15, "when"), (0.15, "while")),
    "future": ((0.4, "and"), (0.25, "but"), (0.2, "because"), (0.1, "so"), (0.05, "semicolon")),
}  # fmt: skip

_SPEAKERS = frozenset({"person", "inst"})
_GOAL = frozenset({"goal"})
_GIVING = frozenset(lexicon.GIVING)


def _noun_named(english: str) -> Noun:
    return next(n for n in lexicon.NOUNS if n.english == english)


def _adjective_named(english: str) -> Adjective:
    return next(a for a in lexicon.ADJECTIVES if a.english == english)


def _verb_named(base: str) -> Verb:
    return next(v for v in lexicon.TRANSITIVE if v.base == base)


_CONTRARIES = {
    _adjective_named(english): tuple(_adjective_named(e) for e in group.split())
    for group in ("red green blue yellow black white grey", "small big", "old new young",
                  "happy sad")
    for english in group.split()
}  # fmt: skip
_BURDENS = frozenset(
    [
        "small",
        "big",
        "old",
        "dark",
        "heavy",
        "expensive",
        "dangerous",
        "difficult",
        "tired",
        "quiet",
        "sad",
        "hungry",
        "young",
        "curious",
    ]
)
_AGREEMENT, _AREA = _noun_named("agreement"), _noun_named("area")
_EUROPEAN, _ECONOMIC = _adjective_named("european"), _adjective_named("economic")
_SIGN = _verb_named("sign")
_UNWILLED = frozenset(
    v
    for v in (*lexicon.TRANSITIVE, *lexicon.INTRANSITIVE)
    if v.base in ("lose", "forget", "fall", "disappear", "get", "see", "love")
)
_PASSIVE = tuple(
    v
    for v in lexicon.TRANSITIVE
    if not v.prep
    and not v.particle
    and v.base not in ("see", "love", "take", "wear", "drink", "eat", "meet", "lose")
)
_ASKABLE = tuple(
    v
    for v in lexicon.TRANSITIVE
    if not v.prep
    and not v.particle
    and "person" in v.subjects
    and v.base
    in [
        "sign",
        "read",
        "write",
        "see",
        "find",
        "buy",
        "sell",
        "lose",
        "paint",
        "eat",
        "drink",
        "forget",
        "take",
        "steal",
        "choose",
        "bring",
        "build",
        "repair",
        "break",
        "clean",
        "open",
    ]
)
_ALL_VERBS = (*lexicon.TRANSITIVE, *lexicon.INTRANSITIVE, *lexicon.GIVING)
_PERSON_VERBS = tuple(v for v in lexicon.TRANSITIVE if "person" in v.subjects)
_EVERYBODY = tuple(v for v in _PERSON_VERBS if not v.etre and not v.reflexive)
_ONGOING = tuple(
    v
    for v in (*lexicon.TRANSITIVE, *lexicon.INTRANSITIVE)
    if v.progressive and not v.prep and v.base not in ("publish", "destroy", "steal")
)
_SOCIABLE = frozenset(
    v
    for v in (*lexicon.TRANSITIVE, *lexicon.INTRANSITIVE, lexicon.GOING, lexicon.COMING)
    if v.base
    in [
        "visit",
        "arrive",
        "sing",
        "work",
        "dance",
        "laugh",
        "swim",
        "travel",
        "go",
        "return",
        "eat",
        "drink",
    ]
)
_PET_VERBS = tuple(
    v
    for v in lexicon.INTRANSITIVE
    if "animal" in v.subjects or (v.base == "get" and v.particle == ("lost",))
)
_OF_PEOPLE = tuple(
    a for a in lexicon.ADJECTIVES if "person" in a.kinds and a.english not in ("other",)
)
_SUBJECT_CACHE: dict[Kinds, tuple[Verb, ...]] = {}
_OBJECT_CACHE: dict[Noun, tuple[Verb, ...]] = {}


def _verbs_of(subject: NounPhrase) -> tuple[Verb, ...]:
    """The verbs whose subject ``subject`` may be."""
    verbs = _SUBJECT_CACHE.get(subject.kinds)
    if verbs is None:
        verbs = tuple(v for v in _ALL_VERBS if v.subjects & subject.kinds) or _EVERYBODY
        _SUBJECT_CACHE[subject.kinds] = verbs
    return verbs


def _verbs_with_object(noun: Noun) -> tuple[Verb, ...]:
    """The verbs whose direct object ``noun`` may be."""
    verbs = _OBJECT_CACHE.get(noun)
    if verbs is None:
        verbs = tuple(v for v in lexicon.TRANSITIVE if not v.prep and v.objects & noun.kinds)
        _OBJECT_CACHE[noun] = verbs
    return verbs


def _can_be_it(phrase: NounPhrase | None) -> bool:
    """A later "it" or "them" may stand for a thing, or for several people, but a single
    person would be "him" or "her"."""
    if phrase is None or phrase.noun is None:
        return False
    return phrase.plural or "person" not in phrase.kinds


def check_lengths(shortest: int, longest: int) -> None:
    """Raise unless 3 ≤ shortest ≤ longest ≤ 60."""
    if not 3 <= shortest <= longest <= 60:
        raise ValueError(
            f"shortest={shortest}, longest={longest}: a sentence has 3 to 60 words, "
            f"and the shortest is not longer than the longest"
        )


def classic() -> Pair:
    """The sentence of Bahdanau et al. (2015), Figure 3, derived with the choices held fixed."""
    area = rules.noun_phrase(_AREA, "the", adjectives=(_EUROPEAN, _ECONOMIC))
    agreement = rules.with_complement(rules.noun_phrase(_AGREEMENT, "the"), "on", area)
    clause = rules.passive(_SIGN, agreement, "past")
    clause.tail = rules.month_year(("august", "août"), "1992")
    end = Word(".")
    return surface(clause.statement() + Phrase([end], [Word(".", [end])]))
