"""The words: about 850 forms in English and 1,350 in French, with what may be said of what.

A noun belongs to *kinds* ("person", "edible", "openable" …). An adjective lists the kinds that
it may describe, a verb the kinds that may do it and suffer it; sense comes from nothing else.
One English meaning has one French word, so a perfect translator would reach BLEU 100.
"""

from dataclasses import dataclass, field

from heed.data.grammar.morphology import (
    english_ed,
    english_ing,
    english_s,
    french_feminine,
    french_plural,
)

Kinds = frozenset[str]


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages; ``mass`` nouns have no plural and take the partitive."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    kinds: Kinds
    mass: bool = False


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective; ``rank`` orders several: 0 stands before the French noun, 1–3 behind it.

    English says quality (1), nationality (2), field (3); French mirrors them behind the noun.
    """

    english: str
    french: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    rank: int
    kinds: Kinds
    predicative: bool = True
    attributive: bool = True
    gradable: bool = True
    more: bool = False  # compares with "more", not with "-er"

    def form(self, *, feminine: bool, plural: bool) -> str:
        """The French form that agrees."""
        return self.french[feminine + 2 * plural]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb; ``prep`` is a French preposition before the object (« obéir à »)."""

    base: str
    third: str
    past: str
    participle: str
    ing: str
    particle: tuple[str, ...]  # "up" of "wake up", "for" of "look for"
    infinitive: str
    french_participle: str
    singular: str  # il signe
    plural: str  # ils signent
    future: str  # signer-a
    imperfect: str  # sign-ait
    subjects: Kinds
    objects: Kinds = frozenset()
    prep: str = ""
    etre: bool = False
    reflexive: bool = False
    progressive: bool = True
    habitual: bool = False


@dataclass(frozen=True, eq=False)
class Name:
    """A person's name, in lower case as all tokens."""

    english: str
    french: str
    feminine: bool
    kinds: Kinds = field(default=frozenset({"person"}))


# --- nouns: english[/plural] french[/plural] gender ------------------------------------------

_NOUNS = {
    "person": """minister ministre m; teacher professeur m; doctor médecin m;
        neighbour voisin m; friend ami m; child/children enfant m; woman/women femme f;
        man/men homme m; girl fille f; boy garçon m; student étudiant m; farmer agriculteur m;
        nurse infirmière f; singer chanteuse f; lawyer avocat m; journalist journaliste m;
        president présidente f; engineer ingénieur m; queen reine f; prince prince m;
        baker boulanger m; painter peintre m; sister sœur f; brother frère m;
        grandmother grand-mère/grands-mères f; mother mère f; father père m;
        tourist touriste m; pilot pilote m; witness témoin m; author auteur m;
        cousin cousine f; hero héros m; director directrice f;
        judge juge m; mayor maire m; dancer danseuse f""",
    "animal": """cat chat m; dog chien m; horse cheval m; cow vache f; mouse/mice souris f;
        bird oiseau m; owl hibou/hiboux m; fox renard m; bear ours m; goat chèvre f;
        elephant éléphant m""",
    "inst": """government gouvernement m; parliament parlement m; committee comité m;
        court tribunal m; bank banque f; council conseil m; commission commission f;
        company entreprise f; university université f; union syndicat m;
        agency agence f""",
    "act": """agreement accord m; treaty traité m; contract contrat m; law loi f; plan plan m;
        proposal proposition f; decision décision f; budget budget m; reform réforme f""",
    "text": """report rapport m; letter lettre f; article article m; novel roman m;
        statement déclaration f; poem poème m; book livre m; newspaper journal m;
        story histoire f""",
    "place": """city ville f; village village m; garden jardin m; forest forêt f; island île f;
        street rue f; market marché m; area zone f; region région f; beach plage f;
        kitchen cuisine f""",
    "building": """house maison f; school école f; station gare f; bridge pont m;
        church église f; airport aéroport m; library bibliothèque f; factory usine f;
        museum musée m; hospital hôpital m; castle château m; hotel hôtel m;
        theatre théâtre m""",
    "vehicle": "car voiture f; bicycle vélo m; boat bateau m; truck camion m",
    "portable": """key clé f; picture photo f; hat chapeau m; umbrella parapluie m;
        coat manteau m; lamp lampe f; ring bague f; guitar guitare f; clock horloge f;
        ticket billet m; suitcase valise f; mirror miroir m; bottle bouteille f;
        flower fleur f; computer ordinateur m; box boîte f; map carte f""",
    "furniture": "chair chaise f; table table f; piano piano m",
    "opening": "window fenêtre f; door porte f",
    "plant": "tree arbre m",
    "food": "apple pomme f; cake gâteau m; orange orange f; egg œuf m",
    "mass": """bread pain m; cheese fromage m; soup soupe f; meat viande f; rice riz m;
        butter beurre m; water eau f; milk lait m; coffee café m; tea thé m; oil huile f""",
    "theme": "industry industrie f; energy énergie f; trade commerce m; health santé f",
}

_EXTRA_KINDS = {
    "signable": "agreement agreement agreement treaty contract law",
    "unique": "queen president mayor",
    "family": "sister brother grandmother mother father",
    "kin": "friend neighbour child sister brother grandmother mother father cousin",
    "pet": "cat dog horse goat",
    "openable": "door window box suitcase bottle letter",
    "closable": "door window box suitcase museum library factory school",
    "breakable": "window lamp clock mirror bottle chair guitar",
    "repairable": "car bicycle boat truck clock computer guitar bridge",
    "cleanable": "car kitchen table window house church",
    "paintable": "house door boat chair flower tree garden bridge castle",
    "clothing": "hat coat ring",
    "edible": "apple cake orange egg bread cheese soup meat rice butter",
    "drink": "water milk coffee tea",
    "supply": "bread cheese meat rice butter milk coffee tea oil",
    "coloured": """car bicycle boat truck hat umbrella coat lamp guitar suitcase bottle flower
        chair table box door house""",
    "furred": "cat dog horse cow mouse goat",
    "inside": """city village garden forest street area region kitchen house school station
        church airport library factory museum hospital castle hotel theatre""",
    "fronted": "garden market",
    "goal": """market school station airport church library factory museum hospital castle
        hotel theatre village beach""",
    "zoned": "area region",
    "topic": "area area area area region market industry energy trade health",
    "lengthy": "street bridge report letter article novel poem story statement",
    "pretty": """city village garden forest island beach house church castle bridge car boat
        hat coat lamp ring guitar clock mirror flower bird horse cat poem story tree
        picture""",
    "sized": """city village garden island house school station bridge church airport library
        factory museum hospital castle hotel theatre car boat truck key hat umbrella lamp clock
        suitcase mirror bottle flower box chair table window door tree cake dog cat
        horse bird bear fox""",
    "dear": """car bicycle boat truck hat coat lamp ring guitar clock ticket suitcase computer
        piano house hotel map""",
    "aged": """man woman teacher doctor farmer judge painter neighbour friend queen lawyer
        dog cat horse castle church bridge house hotel theatre city village car bicycle boat
        truck key hat coat lamp ring guitar clock suitcase mirror map piano book tree""",
    "renewable": """agreement treaty contract law plan proposal decision budget reform report
        article novel poem book government committee school station bridge airport library
        factory museum hospital hotel theatre car bicycle boat truck key hat coat lamp guitar
        suitcase computer piano minister teacher doctor director president""",
    "youthful": """woman man doctor teacher lawyer farmer singer nurse engineer student pilot
        prince queen painter author baker judge dancer journalist dog cat horse bear
        fox elephant""",
    "skilled": """teacher doctor nurse lawyer engineer baker painter pilot author singer
        friend student novel book poem report article story plan law proposal decision cake
        soup cheese bread coffee""",
    "poor_quality": """novel book report article story plan law proposal decision student
        painter pilot""",
    "famous_one": """singer painter author lawyer queen prince journalist judge
        engineer novel book poem castle museum theatre church dancer""",
    "odd": """man woman neighbour letter story poem novel castle house forest island
        bird picture clock owl""",
    "perilous": "bear street forest bridge fox island",
    "bleak": "street forest kitchen house castle church library",
    "weighty": "suitcase box table piano chair",
    "hollow": "bottle box suitcase house street station theatre church",
    "modern_one": "station airport library factory museum hospital hotel theatre school",
}

# --- adjectives: rank, kinds, "english french …" ; "+" marks those that compare with "more" ---

_ADJECTIVES: tuple[tuple[int, str, str], ...] = (
    (0, "sized", "small petit; big grand"),
    (0, "renewable", "new nouveau nouvelle nouveaux nouvelles"),
    (0, "aged", "old vieux vieille vieux vieilles"),
    (0, "youthful", "young jeune"),
    (0, "skilled", "good bon bonne"),
    (0, "poor_quality", "bad mauvais"),
    (0, "pretty", "beautiful+ beau belle beaux belles"),
    (0, "lengthy", "long long longue"),
    (0, "person animal inst act text place building vehicle portable food", "other autre"),
    (1, "coloured", "red rouge; green vert; blue bleu; yellow jaune"),
    (1, "coloured furred", "black noir; white blanc blanche; grey gris"),
    (1, "odd", "strange étrange"),
    (1, "bleak", "dark sombre"),
    (1, "person", "happy heureux; tired+ fatigué; brave courageux; rich riche; sad triste"),
    (1, "person animal", "curious+ curieux; hungry affamé; intelligent+ intelligent"),
    (1, "person animal place", "quiet calme"),
    (1, "person pet", "ill malade"),
    (1, "famous_one", "famous+ célèbre"),
    (1, "perilous", "dangerous+ dangereux"),
    (1, "weighty", "heavy lourd"),
    (1, "hollow", "empty vide"),
    (1, "act report letter", "important+ important; secret secret secrète"),
    (1, "modern_one", "modern+ moderne"),
    (1, "dear", "expensive+ cher"),
    (1, "act report map", "useful+ utile"),
    (1, "act text", "difficult+ difficile"),
    (2, "inst act zoned vehicle person newspaper industry trade energy", "european européen"),
    (
        2,
        "inst act region vehicle person newspaper museum industry trade",
        "french français; american américain; italian italien; german allemand; "
        "spanish espagnol; japanese japonais",
    ),
    (3, "inst act zoned report article", "economic économique"),
    (3, "inst act report article", "political politique; financial financier"),
    (3, "inst act museum library newspaper", "national national"),
    (3, "inst act airport trade", "international international"),
    (3, "commission committee council agency report article", "scientific scientifique"),
    (
        3,
        "area region company plan reform agreement",
        "industrial industriel; agricultural agricole",
    ),
)

BEFORE_VOWEL = {"nouveau": "nouvel", "vieux": "vieil", "beau": "bel"}

# --- verbs: english forms | french forms | subjects | objects | flags ------------------------
# English: base [past participle ing], a particle after "+". French: an infinitive in -er, or
# infinitive, participle, il, ils, future stem, imparfait stem. Flags: "h" habitual (used to),
# "x" no progressive, "à" a French preposition, "ê" être, "se" reflexive.

_TRANSITIVE = """
sign | signer | person inst | signable |
read read read reading | lire lu lit lisent lir lis | person | text | h
write wrote written | écrire écrit écrit écrivent écrir écriv | person | text | h
reject | rejeter rejeté rejette rejettent rejetter rejet | inst minister | act | x
approve | approuver | inst minister | act | x
discuss | examiner | inst | act report |
publish | publier | inst author journalist | text | h
criticize | critiquer | person | act inst article novel | h
see saw seen | voir vu voit voient verr voy | person animal \
    | person animal building car boat | x
find found found | trouver | person | portable pet | x
buy bought bought | acheter acheté achète achètent achèter achet | person company \
    | portable vehicle food supply house | h
sell sold sold | vendre vendu vend vendent vendr vend | person company \
    | portable vehicle food supply house | h
visit | visiter | person | place building | h
love | aimer | person | person pet city village garden island beach | hx
lose lost lost | perdre perdu perd perdent perdr perd | person | portable | x
paint | peindre peint peint peignent peindr peign | person | paintable | h
eat ate eaten | manger mangé mange mangent manger mange | person animal | edible | h
drink drank drunk | boire bu boit boivent boir buv | person animal | drink | h
follow | suivre suivi suit suivent suivr suiv | person animal | person animal | h
help | aider | person inst | person | h
meet met met meeting | rencontrer | person | person | hx
open | ouvrir ouvert ouvre ouvrent ouvrir ouvr | person | openable |
close | fermer | person | closable |
build built built | construire construit construit construisent construir construis \
    | inst engineer man | building |
destroy | détruire détruit détruit détruisent détruir détruis | company prince | building |
repair | réparer | person | repairable | h
break broke broken | casser | person | breakable | x
clean | nettoyer nettoyé nettoie nettoient nettoier nettoy | person | cleanable | h
look+for | chercher | person animal | portable person pet | h
listen+to | écouter | person | person | h
wait+for | attendre attendu attend attendent attendr attend | person animal | person | h
ask+for | demander | person | ticket key map coffee water bread | h
forget forgot forgotten forgetting | oublier | person | portable | hx
take took taken | prendre pris prend prennent prendr pren | person | portable | x
steal stole stolen | voler | person fox | portable vehicle food | h
wear wore worn | porter | person | clothing | h
choose chose chosen | choisir choisi choisit choisissent choisir choisiss | person \
    | portable book cake car |
bring brought brought | apporter | person | portable food text supply | h
admire | admirer | person | person building place pretty | hx
protect | protéger protégé protège protègent protéger protége | inst person | animal forest | h
obey | obéir obéi obéit obéissent obéir obéiss | person dog | person | hxà
answer | répondre répondu répond répondent répondr répond | person | person | à
phone | téléphoner | person | person | hà
talk+to | parler | person | person | hà
"""

_GIVING = """
give gave given | donner | person | portable book letter cake flower |
send sent sent | envoyer envoyé envoie envoient enverr envoy | person inst \
    | letter report article book picture | h
show showed shown | montrer | person | portable text house garden |
"""

_INTRANSITIVE = """
arrive | arriver | person truck boat | | ê
leave left left | partir parti part partent partir part | person boat | | ê
fall fell fallen | tomber | person animal flower | | êx
sleep slept slept | dormir dormi dort dorment dormir dorm | person animal | | h
sing sang sung | chanter | person bird | | h
work | travailler | person | | h
dance | danser | person bear | | h
disappear | disparaître disparu disparaît disparaissent disparaîtr disparaiss \
    | person animal | | x
laugh | rire ri rit rient rir ri | person | | h
run ran run running | courir couru court courent courr cour | person animal | | h
swim swam swum swimming | nager nagé nage nagent nager nage | person dog bear | | h
cry cried cried | pleurer | person | | h
travel travelled travelled travelling | voyager voyagé voyage voyagent voyager voyage \
    | person | | h
wake+up woke woken | réveiller | person animal | | êsex
get+lost got got getting | perdre perdu perd perdent perdr perd | person pet | | êsex
get+up got got getting | lever levé lève lèvent lèver lev | person | | êsex
rest | reposer | person animal | | êse
stop stopped stopped stopping | arrêter | person animal truck car | | êsex
"""

_GOING = "go went gone | aller allé va vont ir all | person | goal | êh"
_COMING = "return | revenir revenu revient reviennent reviendr reven | person | goal | êh"


def _english_forms(cell: str) -> tuple[str, str, str, str, str, tuple[str, ...]]:
    first, *forms = cell.split()
    base, *particle = first.split("+")
    past = forms[0] if forms else english_ed(base)
    participle = forms[1] if len(forms) > 1 else past
    ing = forms[2] if len(forms) > 2 else english_ing(base)
    return base, english_s(base), past, participle, ing, tuple(particle)


def _french_forms(cell: str) -> tuple[str, str, str, str, str, str]:
    match cell.split():
        case [infinitive]:
            stem = infinitive[:-2]
            return infinitive, stem + "é", stem + "e", stem + "ent", infinitive, stem
        case [infinitive, participle, singular, plural, future, imperfect]:
            return infinitive, participle, singular, plural, future, imperfect
    raise ValueError(f"verb forms {cell!r}: one infinitive in -er, or six forms")


def _kinds(cell: str) -> Kinds:
    return frozenset(cell.split())


def _verb(row: str) -> Verb:
    english, french, subjects, objects, flags = (cell.strip() for cell in row.split("|"))
    return Verb(
        *_english_forms(english),
        *_french_forms(french),
        subjects=_kinds(subjects),
        objects=_kinds(objects),
        prep="à" if "à" in flags else "",
        etre="ê" in flags,
        reflexive="se" in flags,
        progressive="x" not in flags,
        habitual="h" in flags,
    )


def _verbs(table: str) -> tuple[Verb, ...]:
    return tuple(_verb(row) for row in table.strip().splitlines())


def _read_nouns() -> tuple[Noun, ...]:
    extra: dict[str, set[str]] = {}
    for kind, members in _EXTRA_KINDS.items():
        for member in members.split():
            extra.setdefault(member, set()).add(kind)
    nouns = []
    for kind, table in _NOUNS.items():
        for row in table.split(";"):
            english, french, gender = row.split()
            english, _, plural = english.partition("/")
            french, _, plural_fr = french.partition("/")
            # the noun's own name is a kind too, so a verb may ask for "ticket" alone
            kinds = {kind, english} | extra.get(english, set())
            if kind in ("vehicle", "portable") or kinds & {"kin", "pet"}:
                kinds.add("owned")
            if english in ("house", "garden", "book", "letter", "piano"):
                kinds.add("owned")
            nouns.append(
                Noun(
                    english,
                    plural or english_s(english),
                    french,
                    plural_fr or french_plural(french),
                    gender == "f",
                    frozenset(kinds),
                    mass=kind in ("mass", "theme"),
                )
            )
    return tuple(nouns)


def _read_adjectives() -> tuple[Adjective, ...]:
    adjectives = []
    for rank, kinds, table in _ADJECTIVES:
        for row in table.split(";"):
            english, masculine, *rest = row.split()
            feminine = rest[0] if rest else french_feminine(masculine)
            plurals = rest[1:] or [french_plural(masculine), french_plural(feminine)]
            adjectives.append(
                Adjective(
                    english.rstrip("+"),
                    (masculine, feminine, plurals[0], plurals[1]),
                    rank,
                    _kinds(kinds),
                    # "the student is good" and "the cat is other" are said otherwise
                    predicative=rank < 2 and english not in ("other", "new", "good", "bad", "long"),
                    attributive=english != "ill",
                    gradable=rank < 2 and "coloured" not in kinds,
                    more=english.endswith("+"),
                )
            )
    return tuple(adjectives)


NOUNS = _read_nouns()
ADJECTIVES = _read_adjectives()
TRANSITIVE = _verbs(_TRANSITIVE)
GIVING = _verbs(_GIVING)
INTRANSITIVE = _verbs(_INTRANSITIVE)
GOING = _verb(_GOING)
COMING = _verb(_COMING)

NAMES = tuple(
    Name(english, french, gender == "f")
    for english, french, gender in (
        row.split()
        for row in [
            "marie marie f",
            " paul paul m",
            " anna anna f",
            " ahmed ahmed m",
            " julia julia f",
            "\n        peter pierre m",
            " sophie sophie f",
            " louis louis m",
            " emma emma f",
            " omar omar m",
        ]
    )
)

# --- small words ------------------------------------------------------------------------------

MONTHS = tuple(
    zip(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        strict=True,
    )
)
DAYS = tuple(
    zip(
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
        ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        strict=True,
    )
)
NUMBERS = tuple(
    zip(
        [
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "twenty",
        ],
        [
            "deux",
            "trois",
            "quatre",
            "cinq",
            "six",
            "sept",
            "huit",
            "neuf",
            "dix",
            "onze",
            "douze",
            "vingt",
        ],
        strict=True,
    )
)
CITIES = (
    ("paris", "paris"), ("london", "londres"), ("rome", "rome"), ("geneva", "genève"),
    ("brussels", "bruxelles"), ("athens", "athènes"),
)  # fmt: skip
COUNTRIES = (
    ("france", "en france"), ("italy", "en italie"), ("japan", "au japon"),
    ("canada", "au canada"), ("spain", "en espagne"), ("portugal", "au portugal"),
    ("germany", "en allemagne"),
)  # fmt: skip

AVOIR = {"3s": "a", "3p": "ont", "1s": "ai", "1p": "avons", "2p": "avez"}
ETRE = {"3s": "est", "3p": "sont"}
HAD = {"3s": "avait", "3p": "avaient"}
WAS = {"3s": "était", "3p": "étaient"}
WILL_BE = {"3s": "sera", "3p": "seront"}
MODALS = {
    "can": {"3s": "peut", "3p": "peuvent", "1s": "peux", "1p": "pouvons", "2p": "pouvez"},
    "must": {"3s": "doit", "3p": "doivent", "1s": "dois", "1p": "devons", "2p": "devez"},
}
WANT = {"3s": "veut", "3p": "veulent", "1s": "veux", "1p": "voulons", "2p": "voulez"}
CONTROL = {  # "decided to" -> « a décidé de »
    "decide": ("decided", "décidé", "de"),
    "try": ("tried", "essayé", "de"),
    "refuse": ("refused", "refusé", "de"),
    "promise": ("promised", "promis", "de"),
    "begin": ("began", "commencé", "à"),
}

POSSESSIVES = {  # masculine, feminine, plural
    "his": ("son", "sa", "ses"), "her": ("son", "sa", "ses"),
    "their": ("leur", "leur", "leurs"), "my": ("mon", "ma", "mes"),
    "our": ("notre", "notre", "nos"), "your": ("votre", "votre", "vos"),
}  # fmt: skip
