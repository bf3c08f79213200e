"""Real phrases with gold links, from the translators of Unicode's CLDR, by way of Babel.

Dates, times, quantities, prices, spans of time and lists of countries or languages, as every
computer writes them. Nothing has to be aligned by hand: both languages fill the same *fields*
(the month, the number, the unit), so a link joins the words that fill one field. Where a field
is one word on one side at least, its links are sure. Where it is several words on both
("Swedish kronor", "couronnes suédoises"), CLDR does not say which belongs to which: these
links are only possible, in the sense of Och & Ney (2003).

CLDR changes twice a year, so the phrases are one and the same for one version of Babel only.
"""

import datetime
import random
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import cast

from babel import Locale
from babel.dates import (
    DateTimePattern,
    format_time,
    format_timedelta,
    get_date_format,
    parse_pattern,
)
from babel.lists import format_list
from babel.numbers import format_currency, format_decimal
from babel.units import format_unit

from heed.data.pairs import Link, Pair
from heed.data.text import Language, tokenize

CREDIT = "phrases from Unicode CLDR (Unicode licence) by way of Babel (BSD-3-Clause)"

# fmt: off
_UNITS = (
    "length-kilometer", "length-meter", "length-centimeter", "length-mile", "mass-kilogram",
    "mass-gram", "mass-tonne", "volume-liter", "volume-cubic-meter", "area-hectare",
    "area-square-kilometer", "area-square-meter", "speed-kilometer-per-hour",
    "temperature-celsius", "duration-second", "duration-minute", "duration-hour",
    "duration-day", "duration-week", "duration-month", "duration-year", "duration-century",
    "digital-gigabyte", "energy-kilowatt-hour", "frequency-megahertz", "concentr-percent",
    "power-horsepower", "light-lumen",
)
_CURRENCIES = (
    "EUR", "USD", "GBP", "JPY", "CHF", "CAD", "INR", "MXN", "SEK", "BRL", "CNY", "TND", "MAD",
    "NOK", "AUD", "TRY",
)
# fmt: on
_SPANS = {"year": 365, "month": 30, "week": 7, "day": 1, "hour": 1 / 24, "minute": 1 / 1440}
_COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 99, 100, 150, 200, 500)
_AMOUNTS = (*_COUNTS, 0.5, 1.5, 2.5, 7.5, 1000, 1200, 12500, 35000)
_DATE_SKELETONS = ("yMMMM", "MMMMd")
_NO_PLACE_OR_TONGUE = frozenset({"XA", "XB", "ZZ", "QO"})

# One field has other letters in some languages: stand-alone months, weekdays of the region.
_SAME_FIELD = {"L": "M", "c": "E", "e": "E"}
_FIELD = re.compile(r"%\((?P<field>\w+)\)s|(?P<literal>(?:[^%]|%(?!\())+)")
_MARKS = re.compile(r"[.,;&()\[\]/]")  # "St. Pierre & Miquelon", "Myanmar (Burma)": not told apart
_TOKENIZED = ("en", "fr")
_HOLE = 0xE000  # private use: stands in a pattern where a list item goes
_PLAIN_WORD = re.compile(r"\d+(?:[.,:]\d+)*(?!\w)|\w+(?:[-'’]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class _Piece:
    """Text that fills one field. ``field`` is None for what has no counterpart, as commas."""

    text: str
    field: Hashable = None


Side = list[_Piece]


def cldr_pairs(
    count: int,
    seed: int,
    languages: tuple[str, str] = ("en", "fr"),
    *,
    parts: tuple[int, int] = (1, 3),
) -> list[Pair]:
    """``count`` pairs of phrases with different sources, one and the same for a seed.

    Each is a chain of some phrases with semicolons between them: 1 to 3 give about 10 words, 6
    to 10 about 50. ``Pair.phenomena`` has the links of each kind of phrase (``date``, ``money``
    …), ``Pair.tags`` the kinds, and ``crossing`` where some words change places.

    languages: any two locales of CLDR; words are cut as ``heed.data.text`` does it for English
        and French, and at spaces and punctuation otherwise
    parts: fewest and most phrases of a chain
    """
    if not 1 <= parts[0] <= parts[1]:
        raise ValueError(f"parts={parts} must be a fewest and a most, 1 or more")
    draw = _Draw(random.Random(seed), [Locale.parse(language) for language in languages])
    pairs: dict[tuple[str, ...], Pair] = {}
    vain = 0
    while len(pairs) < count:
        kinds = [draw.kind() for _ in range(draw.random.randint(*parts))]
        pair = _compose([(kind, draw.phrase(kind)) for kind in kinds], languages)
        if pair is None or pair.source in pairs:
            vain += 1
            if vain > 2_000:
                raise ValueError(f"count={count}: only {len(pairs)} different phrases are found")
            continue
        pairs[pair.source], vain = pair, 0
    return list(pairs.values())


# ---------------------------------------------------------------------------- phrases


class _Draw:
    """Draws a phrase of some kind and says it in both languages, cut into fields."""

    def __init__(self, source: random.Random, locales: Sequence[Locale]) -> None:
        self.random = source
        self.locales = locales
        self.draws: dict[str, Callable[[], list[Side]]] = {
            "date": self._date,
            "time": self._time,
            "unit": self._unit,
            "money": self._money,
            "span": self._span,
            "territories": lambda: self._names("territories"),
            "languages": lambda: self._names("languages"),
        }

    def kind(self) -> str:
        """Dates come twice as often as each other kind: they reorder the most."""
        return self.random.choice(["date", *self.draws])

    def phrase(self, kind: str) -> list[Side]:
        return self.draws[kind]()

    def _date(self) -> list[Side]:
        day = datetime.date(1900, 1, 1) + datetime.timedelta(self.random.randrange(73_000))
        style = self.random.choice(["full", "full", "long", *_DATE_SKELETONS])
        return [_date(_date_pattern(style, locale), day, locale) for locale in self.locales]

    def _time(self) -> list[Side]:
        value = datetime.time(self.random.randrange(24), self.random.randrange(0, 60, 15))
        return [[_Piece(format_time(value, "short", locale=loc), "time")] for loc in self.locales]

    def _unit(self) -> list[Side]:
        unit, amount = self.random.choice(_UNITS), self.random.choice(_AMOUNTS)
        return [
            _around(format_unit(amount, unit, "long", locale=loc), _number(amount, loc), "unit")
            for loc in self.locales
        ]

    def _money(self) -> list[Side]:
        currency, amount = self.random.choice(_CURRENCIES), self.random.choice(_AMOUNTS)
        return [
            _around(
                format_currency(
                    amount,
                    currency,
                    "#,##0.##",
                    locale=loc,
                    currency_digits=False,
                    format_type="name",
                ),
                _number(amount, loc),
                "currency",
            )
            for loc in self.locales
        ]

    def _span(self) -> list[Side]:
        """ "in 5 days", "il y a 5 jours": direction, number and unit, wherever they stand."""
        unit, amount = self.random.choice(list(_SPANS)), self.random.choice(_COUNTS)
        sign = self.random.choice([-1, 1])
        span = datetime.timedelta(days=_SPANS[unit] * amount * sign)
        return [_span(span, unit, amount, locale) for locale in self.locales]

    def _names(self, what: str) -> list[Side]:
        tables = [cast(dict[str, str], getattr(locale, what)) for locale in self.locales]
        codes = sorted(
            code
            for code in set(tables[0]).intersection(*tables[1:])
            if re.fullmatch("[A-Za-z]{2}", code)
            and code not in _NO_PLACE_OR_TONGUE
            and not any(_MARKS.search(table[code]) for table in tables)
        )
        chosen = self.random.sample(codes, self.random.randint(2, 5))
        return [
            _list([table[code] for code in chosen], locale)
            for table, locale in zip(tables, self.locales, strict=True)
        ]


def _number(amount: int | float, locale: Locale) -> str:
    return format_decimal(amount, locale=locale)


def _around(text: str, number: str, field: str) -> Side:
    """The number, and what is left and right of it as one field."""
    before, found, after = text.partition(number)
    pieces = [_Piece(before, field), _Piece(found, "number"), _Piece(after, field)]
    return [piece for piece in pieces if piece.text]


def _date_pattern(style: str, locale: Locale) -> DateTimePattern:
    if style in _DATE_SKELETONS:
        return locale.datetime_skeletons[style]
    return get_date_format(style, locale)  # pyright: ignore[reportArgumentType]


def _date(pattern: DateTimePattern, day: datetime.date, locale: Locale) -> Side:
    """CLDR's pattern, say ``%(EEEE)s, %(MMMM)s %(d)s, %(y)s``, with each field filled."""
    side: Side = []
    for found in _FIELD.finditer(str(pattern.format)):
        field, literal = found["field"], found["literal"]
        if field:
            text = parse_pattern(field).apply(day, locale)
            side.append(_Piece(text, _SAME_FIELD.get(field[0], field[0])))
        else:
            side.append(_Piece(literal))
    return side


def _span(span: datetime.timedelta, unit: str, amount: int, locale: Locale) -> Side:
    text = format_timedelta(
        span,
        granularity=unit,  # pyright: ignore[reportArgumentType]
        threshold=1e9,
        add_direction=True,
        locale=locale,
    )
    name = format_unit(amount, f"duration-{unit}", "long", locale=locale)
    name = re.escape(name.replace(_number(amount, locale), "").strip())
    # As a word of its own, for "ans" is in "dans" too; anywhere, where nobody writes spaces.
    alone = rf"(?<!\w){name}(?!\w)"
    where = alone if re.search(alone, text) else name
    side: Side = []
    for piece in _around(text, _number(amount, locale), "direction"):
        found = re.search(where, piece.text) if piece.field == "direction" else None
        if found:
            before, after = piece.text[: found.start()], piece.text[found.end() :]
            side += [_Piece(before, "direction"), _Piece(found[0], "unit")]
            side.append(_Piece(after, "direction"))
        else:
            side.append(piece)
    return [piece for piece in side if piece.text]


def _list(names: Sequence[str], locale: Locale) -> Side:
    """The names as CLDR lists them; commas and the last "and" answer each other by position."""
    pattern = format_list([chr(_HOLE + i) for i in range(len(names))], locale=locale)
    side: Side = []
    gap = 0
    for text in re.split(f"([{chr(_HOLE)}-{chr(_HOLE + len(names))}])", pattern):
        if text and _HOLE <= ord(text[0]) < _HOLE + len(names):
            number = ord(text) - _HOLE
            side.append(_Piece(names[number], ("name", number)))
            gap += 1
        elif text:  # ", and " holds a comma and a word, each a field of its own
            for each in re.findall(r"\s*\w+\s*|\W+", text):
                side.append(_Piece(each, ("word" if each.strip().isalpha() else "mark", gap)))
    return side


# ---------------------------------------------------------------------------- pairs


def _compose(phrases: Sequence[tuple[str, list[Side]]], languages: tuple[str, str]) -> Pair | None:
    """Phrases side by side with semicolons, and the links of their fields.

    None where ``tokenize`` would cut the whole text otherwise than piece by piece: then the
    words would not be those of the sentence that a reader can type.
    """
    words: list[tuple[str, ...]] = []
    places: list[dict[Hashable, list[int]]] = []
    for side, language in enumerate(languages):
        pieces: list[_Piece] = []
        for part, (_, phrase) in enumerate(phrases):
            if part:
                pieces.append(_Piece(" ; ", ("between", part)))
            pieces += [
                _Piece(piece.text, None if piece.field is None else (part, piece.field))
                for piece in phrase[side]
            ]
        found: list[str] = []
        at: dict[Hashable, list[int]] = defaultdict(list)
        for piece in pieces:
            cut = _words(piece.text, language)
            if piece.field is not None:
                at[piece.field] += range(len(found), len(found) + len(cut))
            found += cut
        whole = "".join(piece.text for piece in pieces)
        if language in _TOKENIZED and found != _words(whole, language):
            return None
        words.append(tuple(found))
        places.append(at)

    sure: set[Link] = set()
    possible: set[Link] = set()
    phenomena: dict[str, set[Link]] = defaultdict(set)
    for field in places[0].keys() & places[1].keys():
        here, there = places[0][field], places[1][field]
        links = set(product(here, there))
        possible |= links
        if min(len(here), len(there)) == 1:
            sure |= links
        part = cast(tuple[Hashable, Hashable], field)[0]
        if isinstance(part, int):
            phenomena[phrases[part][0]] |= links
    tags = {kind for kind, _ in phrases} | ({"crossing"} if _crossing(possible) else set())
    return Pair(
        source=words[0],
        target=words[1],
        sure=frozenset(sure),
        possible=frozenset(possible),
        phenomena={kind: frozenset(links) for kind, links in sorted(phenomena.items())},
        tags=frozenset(tags),
    )


def _words(text: str, language: str) -> list[str]:
    if language in _TOKENIZED:
        return tokenize(text, cast(Language, language))
    return _PLAIN_WORD.findall(text.lower())


def _crossing(links: Iterable[Link]) -> bool:
    """Do two words with one link each change places?"""
    ordered = sorted(links)
    ones = [
        (i, j)
        for i, j in ordered
        if sum(i == a for a, _ in ordered) == sum(j == b for _, b in ordered) == 1
    ]
    return any(later[1] < earlier[1] for earlier, later in pairwise(ones))
