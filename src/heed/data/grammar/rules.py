"""The rules: each builds an English phrase and its French counterpart together.

Nothing here is random; ``sampler`` chooses, these build.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from heed.data.grammar.lexicon import (
    AVOIR,
    BEFORE_VOWEL,
    CONTROL,
    ETRE,
    HAD,
    MODALS,
    POSSESSIVES,
    WANT,
    WAS,
    WILL_BE,
    Adjective,
    Name,
    Noun,
    Verb,
)
from heed.data.grammar.morphology import agree, opens_with_vowel
from heed.data.grammar.words import NounPhrase, Phrase, Word, fixed, words

# --- noun phrases -----------------------------------------------------------------------------


def name_phrase(name: Name) -> NounPhrase:
    """“peter” / « pierre »."""
    en = Word(name.english)
    return NounPhrase([en], [Word(name.french, [en])], feminine=name.feminine, kinds=name.kinds)


def _determiner(
    det: str, noun: Noun, plural: bool, head: Word, following: str
) -> tuple[list[Word], list[Word]]:
    """The article or its like; French gender and number come from the noun, so its link to
    the noun is possible and the one to the English determiner sure. ``following`` is the next
    French word, which decides « mon/ma », « ce/cet »."""
    feminine, vowel = noun.feminine, opens_with_vowel(following)
    if det == "the":
        en = Word("the")
        text = "les" if plural else "la" if feminine else "le"
        return [en], [Word(text, [en], [head], article=True)]
    if det == "bare":  # "on trade" / « sur le commerce »
        return [], [Word("la" if feminine else "le", [], [head], "zero article", article=True)]
    if det == "a":
        en = Word("a")
        return [en], [Word("une" if feminine else "un", [en], [head])]
    if det in ("some", "any"):
        en = Word(det)
        if noun.mass and det == "some":
            part = Word("de", [en], [head], "partitive")
            le = Word("la" if feminine else "le", [en], [head], "partitive", article=True)
            return [en], [part, le]
        # « des voitures », but « de grandes voitures » and, after a negation, « de pain »
        short = det == "any" or following != noun.french_plural
        return [en], [Word("de" if short else "des", [en], [head], "partitive")]
    if det == "no a":  # "did not buy a car" / « n'a pas acheté de voiture »
        en = Word("a")
        return [en], [Word("de", [en], [head], "partitive")]
    if det == "this":
        en = Word("these" if plural else "this")
        text = "ces" if plural else "cette" if feminine else "cet" if vowel else "ce"
        return [en], [Word(text, [en], [head])]
    if det in POSSESSIVES:
        en = Word(det)
        masculine, feminine_form, plural_form = POSSESSIVES[det]
        text = plural_form if plural else feminine_form if feminine and not vowel else masculine
        return [en], [Word(text, [en], [head], "possessive")]
    if det == "every":
        en = Word("every")
        return [en], [Word("chaque", [en])]
    if det == "several":
        en = Word("several")
        return [en], [Word("plusieurs", [en])]
    if det == "many":
        en = Word("many")
        return [en], [Word("beaucoup", [en]), Word("de", (), [en])]
    if det == "all":
        every, the = Word("all"), Word("the")
        tous = Word("toutes" if feminine else "tous", [every], [head])
        return [every, the], [tous, Word("les", [the], [head], article=True)]
    number = det.split("/")  # "two/deux"
    en = Word(number[0])
    return [en], [Word(number[1], [en])]


def noun_phrase(
    noun: Noun,
    det: str,
    *,
    plural: bool = False,
    adjectives: Sequence[Adjective] = (),
    owner: NounPhrase | None = None,
) -> NounPhrase:
    """A noun with its determiner (or its owner: "the minister 's car") and adjectives.

    ``adjectives`` come in English order; those behind the French noun stand mirrored there.
    """
    head = Word(noun.english_plural if plural else noun.english)
    noun_fr = Word(noun.french_plural if plural else noun.french, [head])
    before: list[Word] = []
    behind: list[Word] = []
    described: list[Word] = []
    for adjective in adjectives:
        en = Word(adjective.english)
        described.append(en)
        fr = Word(adjective.form(feminine=noun.feminine, plural=plural), [en])
        if adjective.rank == 0:
            before.append(fr)
        else:
            fr.phenomena += ("mirrored adjectives",)
            behind.insert(0, fr)
    if behind:
        noun_fr.phenomena += ("mirrored adjectives",)
    french = [*before, noun_fr, *behind]
    if before and not plural and opens_with_vowel(french[1].text):
        before[-1].text = BEFORE_VOWEL.get(before[-1].text, before[-1].text)

    if owner is not None:
        s = Word("'s")
        article = Word(
            "les" if plural else "la" if noun.feminine else "le",
            (),
            [head, s],
            "possessor",
            article=True,
        )
        en = [*owner.en, s, *described, head]
        fr = [article, *french, Word("de", [s], (), "possessor"), *owner.fr]
    else:
        det_en, det_fr = _determiner(det, noun, plural, head, french[0].text)
        en = [*det_en, *described, head]
        fr = [*det_fr, *french]
    return NounPhrase(en, fr, feminine=noun.feminine, plural=plural, kinds=noun.kinds, noun=noun)


def with_complement(head: NounPhrase, preposition: str, other: NounPhrase) -> NounPhrase:
    """“the agreement on the area” / « l'accord sur la zone »."""
    return extended(head, prepositional(preposition, other))


def extended(head: NounPhrase, tail: Phrase) -> NounPhrase:
    """``head`` followed by ``tail`` in both languages, agreeing as ``head`` does."""
    return NounPhrase(
        head.en + tail.en,
        head.fr + tail.fr,
        head.feminine,
        head.plural,
        head.person,
        head.kinds,
        head.noun,
    )


_PREPOSITIONS: dict[str, tuple[str, str, str]] = {  # English: French, sure, possible links
    "in": ("dans", "0-0", ""),
    "on": ("sur", "0-0", ""),
    "of": ("de", "0-0", ""),
    "for": ("pour", "0-0", ""),
    "from": ("de", "0-0", ""),
    "to": ("à", "0-0", ""),
    "with": ("avec", "0-0", ""),
    "without": ("sans", "0-0", ""),
    "behind": ("derrière", "0-0", ""),
    "near": ("près de", "0-0", "0-1"),
    "in front of": ("devant", "1-0", "0-0 2-0"),
    "next to": ("à côté de", "0-1 1-2", "0-0"),
}


def prepositional(preposition: str, phrase: NounPhrase) -> Phrase:
    """A preposition, of one word or several, before a noun phrase."""
    french, sure, possible = _PREPOSITIONS[preposition]
    return fixed(preposition, french, sure, possible, "preposition") + phrase


def coordinated(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """“the girl and the boy”: plural, and feminine only if both are."""
    both = first + fixed("and", "et", "0-0", "", "coordination") + second
    return NounPhrase(
        both.en,
        both.fr,
        feminine=first.feminine and second.feminine,
        plural=True,
        kinds=first.kinds & second.kinds,
    )


_SUBJECTS: dict[str, tuple[str, str, int, bool]] = {  # French m., French f., person, plural
    "he": ("il", "il", 3, False),
    "she": ("elle", "elle", 3, False),
    "it": ("il", "elle", 3, False),
    "they": ("ils", "elles", 3, True),
    "i": ("je", "je", 1, False),
    "we": ("nous", "nous", 1, True),
    "you": ("vous", "vous", 2, True),
}


def subject_pronoun(english: str, *, feminine: bool) -> NounPhrase:
    """“it” is « il » or « elle » by the gender of what it stands for."""
    masculine_fr, feminine_fr, person, plural = _SUBJECTS[english]
    en = Word(english)
    fr = Word(feminine_fr if feminine else masculine_fr, [en])
    if english in ("it", "they"):
        fr.phenomena += (f"pronoun {english}",)
    return NounPhrase([en], [fr], feminine=feminine, plural=plural, person=person)


@dataclass(slots=True)
class Clitic:
    """An object pronoun: behind the verb in English, before it in French."""

    en: Word
    fr: Word
    feminine: bool
    plural: bool
    dative: bool


_CLITICS: dict[str, tuple[str, str, bool]] = {  # direct, dative, plural
    "him": ("le", "lui", False),
    "her": ("la", "lui", False),
    "it": ("le", "le", False),
    "them": ("les", "leur", True),
    "us": ("nous", "nous", True),
    "me": ("me", "me", False),
    "you": ("vous", "vous", True),
}


def clitic(english: str, *, feminine: bool = False, dative: bool = False) -> Clitic:
    """« le, la, les, lui, leur, me, nous, vous » for "him, her, it, them, me, us, you"."""
    direct, indirect, plural = _CLITICS[english]
    en = Word(english)
    text = indirect if dative else "la" if direct == "le" and feminine else direct
    fr = Word(text, [en], (), "clitic")
    if english in ("it", "them"):
        fr.phenomena += (f"pronoun {english}",)
    return Clitic(en, fr, feminine, plural, dative)


# --- verb groups ------------------------------------------------------------------------------

_BE = {"3s": "is", "3p": "are", "1s": "am", "1p": "are", "2p": "are"}
_BEEN = {"3s": "was", "3p": "were", "1s": "was", "1p": "were", "2p": "were"}


@dataclass(slots=True)
class VerbGroup:
    """The verb with its auxiliaries; a question puts ``aux`` before the subject."""

    aux: list[Word]
    en: list[Word]
    fr: list[Word]


@dataclass(slots=True)
class _Negation:
    en: list[Word] = field(default_factory=list)
    ne: list[Word] = field(default_factory=list)
    pas: list[Word] = field(default_factory=list)

    def join(self, can: list[Word]) -> None:
        """“can not” is one word, “cannot”; « ne … pas » is then its work too."""
        can[0].text = "cannot"
        self.en = []
        self.ne[0].possible = self.pas[0].sure = (can[0],)


def _negate(negation: str) -> _Negation:
    if not negation:
        return _Negation()
    en = Word(negation)
    pas = "pas" if negation == "not" else "jamais"
    return _Negation([en], [Word("ne", (), [en], "negation")], [Word(pas, [en], (), "negation")])


_ADVERBS = {"often": "souvent", "always": "toujours", "already": "déjà"}


def verb_group(
    verb: Verb,
    subject: NounPhrase,
    tense: str,
    *,
    negation: str = "",
    adverb: str = "",
    inverted: bool = False,
    climbing: Sequence[Clitic] = (),
    antecedent: NounPhrase | None = None,
) -> VerbGroup:
    """A verb in one of the tenses, with what goes between its words.

    ``tense``: "present", "progressive", "past", "perfect", "pluperfect", "past progressive",
    "used to", "future", "can", "must", "want", or a control verb ("decide" …, always past).
    ``climbing`` are object pronouns on their way to the French verb; ``antecedent`` is a direct
    object that already stands before it ("that she bought" / « qu'elle a achetée »).
    """
    who = subject.agreement
    third = who == "3s"
    control = tense if tense in CONTROL or tense == "want" else ""
    neg = _negate(negation)
    often = [Word(adverb)] if adverb else []
    souvent = [Word(_ADVERBS[adverb], often, (), "adverb")] if adverb else []
    support = negation == "not" or inverted
    particles = words(" ".join(verb.particle))
    aux: list[Word] = []
    to: list[Word] = []

    # English: one auxiliary at most comes first; ``head`` carries the meaning
    if control == "want":
        forms = ("want", "wants" if third else "want", "do", "does")
    elif control:
        forms = (control, CONTROL[control][0], "did", "did")
    elif tense == "past":
        forms = (verb.base, verb.past, "did", "did")
    else:
        forms = (verb.base, verb.third if third else verb.base, "do", "does")
    match tense:
        case "progressive" | "past progressive":
            aux = [Word((_BE if tense == "progressive" else _BEEN)[who])]
            head = Word(verb.ing)
        case "perfect":
            aux, head = [Word("has" if third else "have")], Word(verb.participle)
        case "pluperfect":
            aux, head = [Word("had")], Word(verb.participle)
        case "used to":
            aux, head = words("used to"), Word(verb.base)
        case "future":
            aux, head = [Word("will")], Word(verb.base)
        case "can" | "must":
            aux, head = [Word(tense)], Word(verb.base)
        case _ if support:
            aux, head = [Word(forms[3] if third else forms[2])], Word(forms[0])
        case _:
            head = Word(forms[1])
    main = [head]
    meaning = head
    if control:
        meaning = Word(verb.base)
        to = [Word("to")]
        main = [head, *to, meaning]
    if tense == "can" and negation == "not":
        neg.join(aux)
    en = [*neg.en, *often, *main, *particles]

    # French: a finite word, then participles and infinitives
    around = [*aux, *particles]
    feminine, plural = subject.feminine, subject.plural
    etre = verb.etre
    if not etre:
        leading = next((c for c in climbing if not c.dative), None) or antecedent
        feminine, plural = (leading.feminine, leading.plural) if leading else (False, False)
    participle = agree(verb.french_participle, feminine=feminine, plural=plural)
    past = Word(participle, [meaning], particles)
    infinitive = Word(verb.infinitive, [meaning], [*to, *particles])
    climbers = [c.fr for c in climbing]
    if verb.reflexive:
        climbers.insert(0, Word("se", (), [meaning, *particles], "reflexive"))

    rest: list[Word] = []
    host_is_infinitive = False
    match tense:
        case "past" | "perfect":
            text = (ETRE if etre else AVOIR)[who]
            sure = aux if tense == "perfect" else ()
            finite, rest = Word(text, sure, [*aux, head, *particles]), [past]
        case "pluperfect":
            finite = Word((WAS if etre else HAD)[who], aux, [head, *particles])
            rest = [past]
        case "present" | "progressive":
            finite = Word(verb.plural if subject.plural else verb.singular, [head], around)
        case "past progressive" | "used to":
            ending = "aient" if subject.plural else "ait"
            finite = Word(verb.imperfect + ending, [head], around, "imparfait")
        case "future":
            finite = Word(verb.future + ("ont" if subject.plural else "a"), [head], around)
            finite.phenomena += ("future",)
        case "can" | "must":
            finite, rest = Word(MODALS[tense][who], aux, (), "modal"), [infinitive]
            host_is_infinitive = True
        case "want":
            finite = Word(WANT[who], [head], [*aux, *to], "modal")
            rest, host_is_infinitive = [infinitive], True
        case _:
            _, governed, link = CONTROL[control]
            finite = Word(AVOIR[who], (), [*aux, head])
            rest = [Word(governed, [head]), Word(link, to, (), "infinitive"), infinitive]
            host_is_infinitive = True
    if host_is_infinitive:
        rest[-1:] = [*climbers, infinitive]
        climbers = []
    return VerbGroup(aux, en, [*neg.ne, *climbers, finite, *neg.pas, *souvent, *rest])


def passive_group(verb: Verb, subject: NounPhrase, tense: str, *, negation: str = "") -> VerbGroup:
    """The passive: "past", "pluperfect", "future", "can" or "must".

    "was signed" / « a été signé », "had been", "will be", "must be" …
    """
    who = subject.agreement
    neg = _negate(negation)
    done = Word(verb.participle)
    text = agree(verb.french_participle, feminine=subject.feminine, plural=subject.plural)
    done_fr = Word(text, [done], (), "passive")
    if tense == "past":
        was = Word(_BEEN[who])
        finite = Word(AVOIR[who], [was], [done], "passive")
        ete = Word("été", [was], [done], "passive")
        return VerbGroup([was], [*neg.en, done], [*neg.ne, finite, *neg.pas, ete, done_fr])
    if tense == "pluperfect":
        had, been = Word("had"), Word("been")
        finite = Word(HAD[who], [had], [done], "passive")
        ete = Word("été", [been], [done], "passive")
        return VerbGroup([had], [*neg.en, been, done], [*neg.ne, finite, *neg.pas, ete, done_fr])
    aux, be = Word("will" if tense == "future" else tense), Word("be")
    if tense == "can" and negation == "not":
        neg.join([aux])
    if tense == "future":
        french = [Word(WILL_BE[who], [be], [aux], "passive"), *neg.pas]
    else:
        etre = Word("être", [be], (), "passive")
        french = [Word(MODALS[tense][who], [aux], (), "modal"), *neg.pas, etre]
    return VerbGroup([aux], [*neg.en, be, done], [*neg.ne, *french, done_fr])


def copula_group(subject: NounPhrase, tense: str, *, negation: str = "") -> VerbGroup:
    """“is” / « est », “was” / « était », “will be” / « sera »."""
    who = subject.agreement
    neg = _negate(negation)
    if tense == "future":
        will, be = Word("will"), Word("be")
        return VerbGroup(
            [will], [*neg.en, be], [*neg.ne, Word(WILL_BE[who], [be], [will]), *neg.pas]
        )
    past = tense == "past"
    be = Word((_BEEN if past else _BE)[who])
    text = (WAS if past else ETRE)[who]
    finite = Word(text, [be], (), *(("imparfait",) if past else ()))
    return VerbGroup([be], neg.en, [*neg.ne, finite, *neg.pas])


def predicate_adjective(adjective: Adjective, subject: NounPhrase, degree: str) -> Phrase:
    """The adjective after "to be", agreeing with the subject at a distance."""
    en = Word(adjective.english)
    form = adjective.form(feminine=subject.feminine, plural=subject.plural)
    fr = Word(form, [en], (), "predicate adjective")
    if not degree:
        return Phrase([en], [fr])
    very = Word(degree)
    return Phrase([very, en], [Word({"very": "très", "too": "trop"}[degree], [very]), fr])


def comparison(adjective: Adjective, subject: NounPhrase, degree: str, other: NounPhrase) -> Phrase:
    """“more … than” / « plus … que », “less … than”, “as … as” / « aussi … que »."""
    plus = {"more": "plus", "less": "moins", "as": "aussi"}[degree]
    first, than = Word(degree), Word("as" if degree == "as" else "than")
    predicate = predicate_adjective(adjective, subject, "")
    return Phrase(
        [first, *predicate.en, than, *other.en],
        [
            Word(plus, [first], (), "comparison"),
            *predicate.fr,
            Word("que", [than], (), "comparison"),
            *other.fr,
        ],
    )


# --- clauses ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Clause:
    """Subject, verb group and the rest; the order of English is decided by the caller."""

    subject: NounPhrase
    group: VerbGroup
    tail: Phrase = field(default_factory=Phrase)
    tense: str = ""
    verb: Verb | None = None

    def statement(self) -> Phrase:
        """Subject first."""
        return Phrase(
            self.subject.en + self.group.aux + self.group.en + self.tail.en,
            self.subject.fr + self.group.fr + self.tail.fr,
        )

    def predicate(self) -> Phrase:
        """Without its subject: after "and", or after "who"."""
        return Phrase(self.group.aux + self.group.en + self.tail.en, self.group.fr + self.tail.fr)

    def question(self, asking: str = "") -> Phrase:
        """The auxiliary first, « est-ce que » in French; ``asking`` is "why", "when" …"""
        aux = self.group.aux
        est = [Word(w, (), aux, "question") for w in ("est", "-ce", "que")]
        wh: list[Word] = []
        pourquoi: list[Word] = []
        if asking:
            french = {"why": "pourquoi", "when": "quand", "where": "où", "what": "que"}[asking]
            wh = [Word(asking)]
            pourquoi = [Word(french, wh, (), "question")]
        return Phrase(
            [*wh, *aux, *self.subject.en, *self.group.en, *self.tail.en],
            [*pourquoi, *est, *self.subject.fr, *self.group.fr, *self.tail.fr],
        )


def passive(
    verb: Verb,
    subject: NounPhrase,
    tense: str,
    *,
    negation: str = "",
    agent: NounPhrase | None = None,
) -> Clause:
    """A passive clause, with or without "by" / « par »."""
    tail = Phrase()
    if agent is not None:
        by = Word("by")
        tail = Phrase([by, *agent.en], [Word("par", [by], (), "passive"), *agent.fr])
    group = passive_group(verb, subject, tense, negation=negation)
    return Clause(subject, group, tail, "passive " + tense, verb)


def relative_subject(head: NounPhrase, clause: Clause) -> NounPhrase:
    """“the man who signed it” / « l'homme qui … »; ``clause`` has ``head`` as its subject."""
    who = Word("who" if "person" in head.kinds else "that")
    qui = Word("qui", [who], (), "relative clause")
    rest = clause.predicate()
    return extended(head, Phrase([who, *rest.en], [qui, *rest.fr]))


def relative_object(head: NounPhrase, clause: Clause) -> NounPhrase:
    """“the car that she bought” / « la voiture qu'elle a achetée »."""
    that = Word("whom" if "person" in head.kinds else "that")
    que = Word("que", [that], (), "relative clause")
    rest = clause.statement()
    return extended(head, Phrase([that, *rest.en], [que, *rest.fr]))


def relative_owner(
    head: NounPhrase, noun: Noun, clause_about: Callable[[NounPhrase], Clause]
) -> NounPhrase:
    """“the man whose dog sleeps” / « l'homme dont le chien dort ».

    ``clause_about`` makes the clause whose subject is the noun phrase it is given, "dog" here.
    """
    whose = Word("whose")
    dont = Word("dont", [whose], (), "relative clause")
    en = Word(noun.english)
    le = Word("la" if noun.feminine else "le", (), [whose, en], "relative clause", article=True)
    fr = Word(noun.french, [en])
    owned = NounPhrase([en], [le, fr], noun.feminine, kinds=noun.kinds, noun=noun)
    rest = clause_about(owned).statement()
    return extended(head, Phrase([whose, *rest.en], [dont, *rest.fr]))


# --- time and place ---------------------------------------------------------------------------


def month_year(month: tuple[str, str], year: str) -> Phrase:
    """“in august 1992” / « en août 1992 »."""
    return fixed(f"in {month[0]} {year}", f"en {month[1]} {year}", "0-0 1-1 2-2", "", "date")


def in_year(year: str) -> Phrase:
    """“in 1992” / « en 1992 »."""
    return fixed(f"in {year}", f"en {year}", "0-0 1-1", "", "date")


def full_date(month: tuple[str, str], day: str, year: str) -> Phrase:
    """“on january 27 , 1992” / « le 27 janvier 1992 »."""
    return fixed(
        f"on {month[0]} {day} , {year}",
        f"le {day} {month[1]} {year}",
        "0-0 2-1 1-2 4-3",
        "",
        "date",
    )


def weekday_date(weekday: tuple[str, str], month: tuple[str, str], day: str) -> Phrase:
    """“on monday , january 27” / « le lundi 27 janvier »."""
    return fixed(
        f"on {weekday[0]} , {month[0]} {day}",
        f"le {weekday[1]} {day} {month[1]}",
        "0-0 1-1 4-2 3-3",
        "",
        "date",
    )


def weekday_alone(weekday: tuple[str, str]) -> Phrase:
    """“on monday” / « lundi »."""
    return fixed(f"on {weekday[0]}", weekday[1], "1-0", "0-0", "date")


def ago(number: tuple[str, str], unit: tuple[str, str]) -> Phrase:
    """“two years ago” / « il y a deux ans »."""
    return fixed(
        f"{number[0]} {unit[0]} ago",
        f"il y a {number[1]} {unit[1]}",
        "2-2 0-3 1-4",
        "2-0 2-1",
        "date",
    )
