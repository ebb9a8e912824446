"""Builds the `Lexicon`, which maps phrases to their meanings, from the tables beside this file and the search's themes. One
lexicon holds both languages, since texts mix them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from tools.store.currency import YEN, Currency, codes
from tools.store.models import DIGITAL, PAPER, Audience, CatalogTerms, Conditions, Ordering, Range, Status
from tools.store.search.conditions.wording import describe_ordering
from tools.store.search.query.parsed import ToneTable
from tools.store.search.query.themes import Aversion, Kind, ThemeTable, aversions
from tools.store.search.reading.tokens import Bound, Entry, Fact, Is, Sense, split_words
from tools.store.search.text.characters import has_cjk, normalise, to_hiragana
from tools.store.search.text.tokens import stem
from tools.store.tags import Tag

SHORT, LONG, FEW, WELL_RATED = 5, 20, 5, 4.0
"""Most volumes of a short series, fewest of a long one, most of "a few"; least stars of a well-rated title."""
_SHORTEST_REFUSAL = 5
"""Fewest letters of a refusing word that is also found misspelled."""
_MOST_SLIPPED = 4
"""A phrase of this many words or more adds no misspellings."""
RECENT, CLASSIC = 5, 1999
"""Years that "recent" reaches back, and the last start year of a classic."""


@lru_cache(maxsize=16_384)
def key_of(phrase: str) -> str:
    said = normalise(phrase)
    if has_cjk(said):
        return fold_japanese(said).replace(" ", "")
    return " ".join(stem(word) if word[0].isalpha() else word for word in split_words(said))


_SMALL = str.maketrans("ぁぃぅぇぉゎ", "あいうえおわ")


_LONG = re.compile("(?<=([\u3041-\u3096]))ー")
_VOWELS = {
    letter: vowel
    for vowel, letters in {
        "あ": "あかさたなはまやらわがざだばぱゃ", "い": "いきしちにひみりぎじぢびぴえけせてねへめれげぜでべぺ",
        "う": "うくすつぬふむゆるぐずづぶぷゅおこそとのほもよろごぞどぼぽょ",
    }.items()
    for letter in letters
}  # fmt: skip


def fold_japanese(text: str) -> str:
    """Returns katakana and small vowels as plain hiragana, long-vowel marks as vowels. The length stays the same."""
    folded = to_hiragana(text).translate(_SMALL)
    return _LONG.sub(lambda match: _VOWELS.get(match[1], "ー"), folded) if "ー" in folded else folded


class NumberWords:
    def __init__(self, data: Mapping[str, str]) -> None:
        self._values = {word: float(number) for number, word in enumerate(data["units"].split())}
        self._values |= {word: 10.0 * number for number, word in enumerate(data["tens"].split(), 2)}
        self._values |= {"hundred": 100.0, "thousand": 1_000.0, "thousend": 1_000.0, "dozen": 12.0}
        self._values |= {word: float(number) for number, word in enumerate(data["ordinals"].split(), 1)}
        self._begin = frozenset(each[:2] for each in self._values)

    def value(self, word: str) -> float | None:
        parts, rest = list[float](), word if word[:2] in self._begin else ""
        while rest:
            found = max((each for each in self._values if rest.startswith(each)), key=len, default=None)
            if found is None:
                return None
            parts.append(self._values[found])
            rest = rest[len(found) :]
        return together(parts)


def together(parts: list[float]) -> float | None:
    """Returns the number that values of number words make: 5, 100, 50 make 550, and 20, 15 make 2015; None for no values."""
    if not parts:
        return None
    if len(parts) > 1 and parts[0] in (19, 20) and all(part < 100 for part in parts):
        return parts[0] * 100 + sum(parts[1:])
    total = held = 0.0
    for part in parts:
        if part in (100, 1_000, 12) and held:
            held *= part
        else:
            total, held = (
                (total + held, part) if part in (100, 1_000) or held >= 100 or held % 10 == 0 else (total, held + part)
            )
    return total + held


def _number_words() -> NumberWords:
    return NumberWords(data_of("en")["number"])


_PARTICIPLE = re.compile("[a-z]+ed")
"""A word that states something of a series ("dropped", "finished"), while its bare verb asks for something ("drop that")."""
_CONTRACTED = re.compile(r"\b([a-z]+)n't\b")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Maps phrases to their meanings, the entries. Keys of `latin` are the stems of English phrases, of `exact` their
    words as written, of `japanese` phrases with kana as hiragana, of `stems` Japanese adjectives without い. `joined`
    maps a key of `latin` without its spaces to that key. `starts` maps a first stem to the number of words of its longest
    phrase; `japanese_starts` maps first characters to the length of their longest phrase. `katakana`: Japanese keys that
    a text may write in katakana. `slips` maps a word, whole or without one letter, to the words that it may be.
    `refusing`: words of refusals."""

    latin: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    exact: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    joined: dict[str, str] = field(default_factory=dict)
    japanese: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    katakana: set[str] = field(default_factory=set)
    stems: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    slips: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refusing: set[str] = field(default_factory=set)
    japanese_starts: dict[str, int] = field(default_factory=dict)
    numbers: NumberWords = field(default_factory=_number_words)

    def add(self, phrase: str, entry: Entry, *, slips: bool = True) -> None:
        """Adds an entry for a phrase, unless the phrase has one of the same kind, sense, side and name. A phrase after "="
        matches its exact words only. With `slips`, misspellings of a fact, unit, bound or refusal are found too."""
        exact, said = phrase.startswith("="), phrase.removeprefix("=") or "="
        key = key_of(said) if said != "=" else "="
        if not key:
            return
        if has_cjk(key):
            self.written.add(normalise(said))
            inflects = key.endswith("い") and (entry.kind is Is.FACT or entry.sense is Sense.REFUSE) and len(key) > 1
            for form in (key, *(key[:-1] + ending for ending in ("く", "くて", "かった", "ければ") if inflects)):
                self.hold(form, entry)
            if inflects:
                _append(self.stems, key[:-1], entry)
            if entry.name == "themes" and all("\u3041" <= each <= "\u309f" or each == "ー" for each in key):
                self.katakana.add(key)
            if key != "・" and all("\u30a1" <= each <= "\u30fc" for each in normalise(said)):
                self.katakana.add(key)
            return
        if exact or (entry.fact is not None and entry.fact.matter == "statuses" and _PARTICIPLE.fullmatch(said)):
            _append(self.exact, " ".join(split_words(normalise(said))), entry)
        else:
            _append(self.latin, key, entry)
            if " " in key:
                self.joined.setdefault(key.replace(" ", ""), key)
        words = key.split(" ")
        self.starts[words[0]] = max(self.starts.get(words[0], 0), len(words))
        refuses = entry.sense in (Sense.NOT, Sense.REFUSE)
        if slips and len(words) < _MOST_SLIPPED and (refuses or entry.kind in (Is.FACT, Is.UNIT, Is.BOUND)):
            for word in (*words, *split_words(normalise(said))):
                if not refuses or len(word) >= _SHORTEST_REFUSAL:
                    _learn(self.slips, word)
                if refuses:
                    self.refusing.add(word)

    def hold(self, key: str, entry: Entry) -> None:
        _append(self.japanese, key, entry)
        self.japanese_starts[key[0]] = 1  # longer phrases are looked up by two characters
        self.japanese_starts[key[:2]] = max(self.japanese_starts.get(key[:2], 1), len(key))


def _learn(slips: dict[str, tuple[str, ...]], word: str) -> None:
    if len(word) > 2 and word.isalpha() and word not in slips.get(word, ()):
        for left in dict.fromkeys(left_out(word)):
            slips[left] = (*slips.get(left, ()), word)


def left_out(word: str) -> Iterator[str]:
    """Yields the word, then the word without one letter, for each of its letters."""
    yield word
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]


def _append(table: dict[str, tuple[Entry, ...]], key: str, entry: Entry) -> None:
    held = table.get(key, ())
    if all(
        (each.kind, each.sense, each.side, each.name) != (entry.kind, entry.sense, entry.side, entry.name) for each in held
    ):
        table[key] = (*held, entry)


@cache
def data_of(language: str) -> Mapping[str, Any]:
    return tomllib.loads(files("tools.store.search.reading").joinpath(f"{language}.toml").read_text(encoding="utf-8"))


def lexicon(terms: CatalogTerms, year: int, own: Mapping[str, Tag] | None = None, currency: Currency = YEN) -> Lexicon:
    """Builds the lexicon of the tables, the search's themes, the catalogue's tags and the shop's `own` tags. `year` is the
    current one, for words such as "recent". Amounts in a currency other than `currency` get the unit "foreign"."""
    made = Lexicon()
    for language in ("en", "ja"):
        for phrase, entry in _entries(data_of(language), year, japanese=language == "ja"):
            for form in _forms(phrase, entry):
                made.add(form, entry, slips=language == "en")  # a word near a romaji word may be a name: "Inoue"
        for phrase, entry in _money(data_of(language).get("money", {}), currency):
            made.add(phrase, entry, slips=language == "en" and entry.name == "money")
    paraphrases = {phrase for phrase, _ in _listed("paraphrase")}
    for phrase, entry in _themes(terms, own or {}):
        made.add(phrase, entry, slips=phrase not in paraphrases)
    return made


_INFLECTIONS = {"う": "わいえおっ", "く": "かきけこい", "す": "さしせそ", "む": "まみめもん", "る": "らりれろっ"}
"""By the last kana of a godan verb in the tables, the ends of its stems before endings such as ない, たい, ば, う, て."""


def _forms(phrase: str, entry: Entry) -> Iterator[str]:
    """Yields the phrase as it is, with です if it is a Japanese operator in で, with its contraction spelt out, and, of a
    fact, with each of its words that many write in kana. Yields a Japanese verb and its stems: 除く, 除か, 除き … for 除く*
    (godan), 避ける, 避け for 避ける+ (ichidan)."""
    if phrase[-1] in "*+" and has_cjk(phrase):
        verb, last = phrase[:-1], phrase[-2]
        yield verb
        yield from (verb[:-1] + kana for kana in (_INFLECTIONS[last] if phrase[-1] == "*" else [""]))
        return
    yield phrase
    if entry.kind is Is.FACT and has_cjk(phrase):
        yield from (phrase.replace(kanji, kana) for kanji, kana in data_of("ja")["kana"].items() if kanji in phrase)
    if entry.japanese and entry.kind is Is.OPERATOR and phrase.endswith("で"):
        yield f"{phrase}す"
    if (full := _CONTRACTED.sub(_spell_out, phrase)) != phrase:
        yield full


def _spell_out(contracted: re.Match[str]) -> str:
    """Returns the two words of a contraction with "not": "do not" for "don't"."""
    return {"ca": "can", "wo": "will", "sha": "shall"}.get(contracted[1], contracted[1]) + " not"


def phrases(text: str) -> Iterator[str]:
    yield from (each for part in text.replace("\n", " ").split(",") if (each := " ".join(part.split())))


def words_of(name: str) -> frozenset[str]:
    """Returns the words that the tables of both languages list under a name in the section `words`."""
    return frozenset(each for language in ("en", "ja") for each in phrases(data_of(language)["words"].get(name, "")))


_SENSES = {
    "negation": Sense.NOT, "refuse": Sense.REFUSE, "want": Sense.WANT, "taste": Sense.TASTE, "known": Sense.KNOWN,
    "require": Sense.REQUIRE, "free": Sense.FREE, "like": Sense.LIKE, "too": Sense.TOO, "name": Sense.NAME,
    "magazine": Sense.MAGAZINE, "limit": Sense.LIMIT, "asks": Sense.ASKS, "story": Sense.STORY,
}  # fmt: skip
_BOUNDS = {
    "most": Bound.MOST, "under": Bound.UNDER, "least": Bound.LEAST, "over": Bound.OVER, "about": Bound.ABOUT,
    "exact": Bound.EXACT,
    "between": Bound.BETWEEN, "decade": Bound.DECADE, "band": Bound.BAND,
}  # fmt: skip


def _entries(data: Mapping[str, Any], year: int, *, japanese: bool) -> Iterator[tuple[str, Entry]]:
    for section, sense in _SENSES.items():
        for key, text in data.get(section, {}).items():
            side, _, name = key.partition("_")
            made = Entry(Is.OPERATOR, sense=sense, side=side, japanese=japanese, name=name or side)
            yield from ((phrase, made) for phrase in phrases(text))
    for name, text in data.get("bound", {}).items():
        bound, _, after = name.partition("_")
        made = Entry(Is.BOUND, bound=_BOUNDS[bound], side="after" if after else "before", name=bound)
        for phrase in phrases(text):
            yield phrase, made
    for name, text in data.get("unit", {}).items():
        unit, _, _before = name.partition("_before")
        kind = Is.SCOPE if name in ("per_volume", "whole_series") else Is.UNIT
        side = "before" if name.endswith("_before") else "after"
        yield from ((phrase, Entry(kind, name=unit, side=side)) for phrase in phrases(text))
    for name, text in data.get("break", {}).items():
        yield from ((phrase, Entry(Is.BREAK, name=name, japanese=japanese)) for phrase in phrases(text))
    for name, text in data.get("glue", {}).items():
        yield from ((phrase, Entry(Is.GLUE, name=name)) for phrase in phrases(text))
    for section, facts in _facts(year).items():
        for name, fact in facts.items():
            yield from (
                (phrase, Entry(Is.FACT, fact=fact, name=name)) for phrase in phrases(data.get(section, {}).get(name, ""))
            )
    for name, text in data.get("relative", {}).items():
        yield from ((phrase, Entry(Is.RELATIVE, name=name)) for phrase in phrases(text))
    for name, text in data.get("matters", {}).items():
        yield from ((phrase, Entry(Is.MATTER, name=name)) for phrase in phrases(text))
    for phrase in phrases(data.get("which", {}).get("plain", "")):
        yield phrase, Entry(Is.OPERATOR, sense=Sense.WHICH, japanese=japanese)
    for phrase in phrases(data.get("like", {}).get("again", "")):
        yield phrase, Entry(Is.OPERATOR, sense=Sense.LIKE, side="again", japanese=japanese)


def _money(data: Mapping[str, str], currency: Currency) -> Iterator[tuple[str, Entry]]:
    """Yields the units of money, the shop's currency first, since currencies share words such as "bucks". A sign or a code
    gets two entries, since it may precede or follow its number."""
    for name in sorted({*data, currency.noun}, key=lambda name: name != currency.noun):
        unit = "money" if name == currency.noun else "foreign"
        for phrase in (*phrases(data.get(name, "")), *([currency.code.lower()] if unit == "money" else [])):
            yield phrase, Entry(Is.UNIT, name=unit, side="after")
            if not phrase[0].isalpha() or phrase.upper() in codes():
                yield phrase, Entry(Is.UNIT, name=unit, side="before")


def _of(matter: str, says: str, *, loose: bool = False, opposite: Conditions | None = None, **conditions: Any) -> Fact:
    return Fact(matter, says, Conditions(**conditions), opposite, loose=loose)


def _facts(year: int) -> dict[str, dict[str, Fact]]:
    statuses = {
        each.value: _of("statuses", _STATUS[each], statuses=(each,), opposite=Conditions(statuses=_but(each)))
        for each in Status
    }
    finished = Conditions(statuses=(Status.FINISHED,))
    statuses["publishing"] = _of("statuses", _STATUS[Status.PUBLISHING], statuses=(Status.PUBLISHING,), opposite=finished)
    statuses["unfinished"] = _of("statuses", "unfinished", statuses=_but(Status.FINISHED), opposite=finished)
    genres = {
        each: _of("genres", each, genres=(each,), opposite=Conditions(without_genres=(each,)))
        for each in ("shonen", "seinen", "shojo", "josei", "kodomo")
    }
    adults = _of(
        "genres",
        "for grown-ups: seinen or josei",
        genres=("seinen", "josei"),
        no_adult=True,
        opposite=Conditions(without_genres=("seinen", "josei")),
    )

    audiences = {
        each.value: _of("audience", says, audience=each, opposite=_NOT_FOR.get(each)) for each, says in _AUDIENCE.items()
    }

    def volumes(least: int | None, most: int | None, opposite: Range) -> Fact:
        return _of("volumes", "", loose=True, volumes=Range(least, most), opposite=Conditions(volumes=opposite))

    def years(least: int | None, most: int | None, opposite: Range | None, *, loose: bool = False) -> Fact:
        against = None if opposite is None else Conditions(years=opposite)
        return _of("years", "", years=Range(least, most), opposite=against, loose=loose)

    return {
        "status": statuses,
        "genre": genres | {"adults": adults} | {f"bare_{name}": _bare(fact) for name, fact in genres.items()},
        "length": {
            "one": _of("volumes", "", volumes=Range(None, 1), opposite=Conditions(volumes=Range(2))),
            "few": _of("volumes", "", volumes=Range(None, FEW), opposite=Conditions(volumes=Range(FEW + 1))),
            "short": volumes(None, SHORT, Range(SHORT + 1)),
            "long": volumes(LONG, None, Range(None, LONG - 1)),
        },
        "era": {
            "recent": years(year - RECENT, None, Range(None, year - RECENT - 1), loose=True),
            "old": years(None, CLASSIC, Range(CLASSIC + 1), loose=True),
            "this_century": years(2001, None, Range(None, 2000)),
            "showa": years(None, 1988, Range(1989)),
            "heisei": years(1989, 2018, None),
            "reiwa": years(2019, None, Range(None, 2018)),
            "this_year": years(year, year, None),
            "last_year": years(year - 1, year - 1, None),
            "this_decade": years(year // 10 * 10, None, None),
            "few_years": years(year - RECENT, None, None),
            **{name: years(first, first + 9, None) for name, first in _DECADES.items()},
        },
        "audience": {
            **audiences,
            "explicit": Fact("adult", "adult titles asked for", Conditions(), Conditions(no_adult=True), adult=True),
            "person": Fact("person", ""),
        },
        "format": {
            "digital": _of("format", "digital", format=DIGITAL, opposite=Conditions(format=PAPER)),
            "physical": _of("format", "on paper", format=PAPER, opposite=Conditions(format=DIGITAL)),
        },
        "stock": {
            "in_stock": _of("in_stock", "in stock", in_stock=True),
            "out_of_stock": Fact("in_stock", "sold out", Conditions(), Conditions(in_stock=True)),
            "all_volumes": _of("all_volumes", "all volumes in stock", all_volumes=True),
        },
        "sort": {each.value: Fact("ordering", describe_ordering(each), ordering=each) for each in Ordering},
        "rating": {
            "high": _of("min_rating", f"rated at least {WELL_RATED:g}", min_rating=WELL_RATED, loose=True),
            "low": Fact("min_rating", "badly rated", Conditions(), Conditions(min_rating=WELL_RATED)),
        },
        "unheld": {"plain": Fact("unheld", "")},
        "price": {"expensive": Fact("ordering", "expensive", opposite_ordering=Ordering.PRICE)},
    }  # fmt: skip


def _bare(fact: Fact) -> Fact:
    return Fact(fact.matter, fact.says, fact.conditions, fact.opposite, bare=True)


def _but(status: Status) -> tuple[Status, ...]:
    return tuple(each for each in Status if each is not status)


_STATUS = {
    Status.FINISHED: "finished", Status.PUBLISHING: "still running", Status.HIATUS: "on hiatus",
    Status.DISCONTINUED: "discontinued",
}  # fmt: skip
_AUDIENCE = {
    Audience.ALL_AGES: "fit for all ages", Audience.TEEN: "fit for teen", Audience.OLDER_TEEN: "fit for older teen",
}  # fmt: skip
_NOT_FOR = {Audience.ALL_AGES: Conditions(without_genres=("kodomo",))}
_DECADES = {"nineties": 1990, "eighties": 1980, "seventies": 1970, "sixties": 1960, "noughties": 2000, "tens": 2010}


def _themes(terms: CatalogTerms, own: Mapping[str, Tag]) -> Iterator[tuple[str, Entry]]:
    asked: dict[str, tuple[str, ...]] = {tag.casefold(): (tag,) for tag in terms.tags}
    moods: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for phrase, tags in (*ThemeTable.load().tags.items(), *_listed()):
        asked[phrase] = tuple(dict.fromkeys((*asked.get(phrase, ()), *tags)))
    for phrase, tone in ToneTable.load().tones.items():
        moods[phrase] = (tone.wanted, tone.unwanted)
    unwanted = dict(aversions())
    for tag, rule in own.items():
        for phrase in map(str.casefold, (tag, *rule.synonyms)):
            asked[phrase] = tuple(dict.fromkeys((*asked.get(phrase, ()), tag)))
            moods.pop(phrase, None)  # A word that the shop uses as a tag is a condition, not just a mood.
        for phrase in map(str.casefold, rule.aversions):
            known = unwanted.get(phrase, Aversion(()))
            unwanted[phrase] = replace(known, tags=(*known.tags, tag))
    listed: dict[str, tuple[str, ...]] = {}
    for phrase, tags in _listed():
        listed[phrase] = tuple(dict.fromkeys((*listed.get(phrase, ()), *(tag for tag in tags if tag in terms.tags))))
    combined = {key_of(phrase): tuple((tag,) for tag in tags.split(" + ")) for tags, phrase in _both()}
    keys = {tag: key_of(tag) for tag in {tag for tags in asked.values() for tag in tags}}
    for phrase in dict.fromkeys((*asked, *unwanted, *moods)):
        tags, mood = asked.get(phrase, ()), moods.get(phrase)
        key = key_of(phrase)
        refused = unwanted.get(phrase) or unwanted.get(key)
        alone = refused is not None and refused.kind is Kind.ALONE
        same = tuple(tag for tag in tags if keys[tag] == key)
        against = refused.tags if refused else same or tags or (mood[0] if mood else ())
        groups = combined.get(key, ())
        if not tags and not alone:
            tags = mood[0] if mood else refused.tags if refused else ()
        also = refused.also if refused else mood[1] if mood and not mood[0] else ()
        unpleasant = refused is not None and refused.kind is Kind.UNPLEASANT
        if (closest := listed.get(phrase) or same) and mood is None:
            tags = closest
        fact = Fact(
            "themes",
            phrase,
            tags=tags,
            against=against,
            also=also,
            unpleasant=unpleasant,
            alone=alone,
            mood=mood is not None,
            groups=groups,
        )
        yield phrase, Entry(Is.FACT, fact=fact, name="themes")


def _listed(*sections: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for language in ("en", "ja"):
        for section in sections or ("theme", "paraphrase"):
            for tag, text in data_of(language)[section].items():
                yield from ((phrase, (tag,)) for phrase in phrases(text))


def _both() -> Iterator[tuple[str, str]]:
    for language in ("en", "ja"):
        for tags, text in data_of(language).get("combined", {}).items():
            yield from ((tags, phrase) for phrase in phrases(text))
