"""Defines tokens, the meanings that the tables of words (en.toml, ja.toml) give them, and amounts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from tools.store.models import Conditions, Ordering, Range

NOTHING = Conditions()
CORRECTS = ("correction", "second_thought")
"""Names of entries that take back what was said before."""
# Alternating letters and digits, as in an identifier, are one word, so that no number in it becomes an amount.
_WORDS = re.compile(
    r"(?:[0-9]++[a-z]++|[a-z]++[0-9]++){3,}+[0-9a-z]*+|[0-9]+(?:[.,][0-9]+)*|[a-z\u00df-\u024f]+(?:'[a-z]+)*|[<>]=|'s\b|\S"
)


class Is(Enum):
    FACT = "fact"
    AMOUNT = "amount"
    NUMBER = "number"
    OPERATOR = "operator"
    BOUND = "bound"
    UNIT = "unit"
    SCOPE = "scope"
    BREAK = "break"
    RELATIVE = "relative"
    MATTER = "matter"
    NAMED = "named"
    GLUE = "glue"
    WORD = "word"


class Sense(StrEnum):
    """The meaning of an operator, a word such as "not" or "hate", for the items beside it."""

    NOT = "not"
    REFUSE = "refuse"
    WANT = "want"
    REQUIRE = "require"
    FREE = "free"
    TASTE = "taste"
    KNOWN = "known"
    LIKE = "like"
    TOO = "too"
    NAME = "name"
    MAGAZINE = "magazine"
    LIMIT = "limit"
    ASKS = "asks"
    STORY = "story"
    WHICH = "which"


class Bound(Enum):
    MOST = "most"
    UNDER = "under"
    LEAST = "least"
    OVER = "over"
    ABOUT = "about"
    EXACT = "exact"
    BETWEEN = "between"
    DECADE = "decade"
    BAND = "band"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a title may be. `matter`: the field of `Conditions` that it is about, or a word such as "themes".
    `says`: its English description. `conditions` apply if it is wanted, `opposite` if it is refused. A wanted theme requires
    one of `tags` or, if given, one tag of each of `groups`. A refused theme excludes `against` and `also`, tags whose titles
    often have the same content. `loose`: the limit is this project's choice, as for "short". `bare`: the word counts only in
    some contexts. `alone`: the word is itself a refusal ("goreless")."""

    matter: str
    says: str
    conditions: Conditions = NOTHING
    opposite: Conditions | None = None
    loose: bool = False
    bare: bool = False
    ordering: Ordering | None = None
    opposite_ordering: Ordering | None = None
    adult: bool = False
    tags: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unpleasant: bool = False
    alone: bool = False
    mood: bool = False
    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One meaning of a phrase in the tables of words."""

    kind: Is
    fact: Fact | None = None
    sense: Sense | None = None
    side: str = "before"
    bound: Bound | None = None
    name: str = ""
    japanese: bool = False


@dataclass(slots=True)
class Token:
    """The part `text[start:end]` of a normalised text. `entries`: all its meanings; `kind`: the kind chosen among them."""

    start: int
    end: int
    text: str
    kind: Is
    entries: tuple[Entry, ...] = ()
    number: float | None = None
    amount: Amount | None = None
    cjk: bool = False
    space: bool = False
    """True if a space or the beginning of the text precedes it."""
    names: tuple[str, ...] = ()
    title_ids: tuple[str, ...] = ()

    def entry(self, kind: Is) -> Entry | None:
        for each in self.entries:
            if each.kind is kind:
                return each
        return None

    def operator(self, *senses: Sense) -> Entry | None:
        for each in self.entries:
            if each.kind is Is.OPERATOR and (not senses or each.sense in senses):
                return each
        return None

    @property
    def fact(self) -> Fact | None:
        for each in self.entries:
            if each.kind is Is.FACT:
                return each.fact
        return None


@dataclass(frozen=True, slots=True)
class Amount:
    """A number or range with a unit: volumes, money, foreign (money in another currency), year, ago (years), stars or age.
    `bound` is None for a plain number or range. `series`: the amount is the price of the whole series."""

    unit: str
    bound: Bound | None
    least: float
    most: float | None = None
    series: bool = False
    step: float = field(default=1.0)

    def turned(self) -> Amount | None:
        """Returns the amount with the opposite bound, UNDER for a plain or exact number; None for a range or other bound."""
        other = _OPPOSITE.get(self.bound or Bound.EXACT)
        return (
            None
            if other is None or self.most is not None
            else Amount(self.unit, other, self.least, None, self.series, self.step)
        )

    @property
    def range(self) -> Range:
        if self.most is not None:
            return Range(*sorted((self.least, self.most)))
        number = self.least
        match self.bound:
            case Bound.UNDER:
                return Range(None, round(number - self.step, 2))
            case Bound.MOST:
                return Range(None, number)
            case Bound.LEAST:
                return Range(number, None)
            case Bound.OVER:
                return Range(round(number + self.step, 2), None)
            case Bound.ABOUT:
                return Range(round(number * 0.8), round(number * 1.2))
            case _:
                return Range(number, number)


NUMBERS_JA = "〇一二三四五六七八九十百千万"
_DIGITS = {digit: number for number, digit in enumerate(NUMBERS_JA[:10])}
_SCALES = {"十": 10, "百": 100, "千": 1000}


def number_of(word: str) -> float | None:
    """Returns the number that a word of digits or kanji numerals stands for; None if malformed or longer than `MOST_DIGITS`.
    Other words raise KeyError."""
    if len(word) > MOST_DIGITS:
        return None
    if word[0].isdigit():
        whole = word.replace(",", "") if _THOUSANDS.fullmatch(word) else word.replace(",", ".")
        try:
            return float(whole)
        except ValueError:
            return None
    total = part = digit = 0
    for each in word:
        if each in _DIGITS:
            digit = digit * 10 + _DIGITS[each]
        elif each == "万":
            total, part, digit = total + (part + digit or 1) * 10_000, 0, 0
        else:
            part, digit = part + (digit or 1) * _SCALES[each], 0
    return float(total + part + digit)


MOST_DIGITS = 16
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+")
_OPPOSITE = {
    Bound.MOST: Bound.OVER,
    Bound.UNDER: Bound.LEAST,
    Bound.LEAST: Bound.UNDER,
    Bound.OVER: Bound.MOST,
    Bound.EXACT: Bound.UNDER,
}


def split_words(text: str) -> list[str]:
    """Splits a normalised text into Latin words, numbers and single other characters: each kanji, kana or sign is a piece.
    Drops underscores, and hyphens inside a word unless they stand between two digits."""
    return [word for start, word in spans(text)]


def spans(text: str) -> list[tuple[int, str]]:
    """Splits a text as `split_words` does, and returns each piece with its start."""
    found = [(match.start(), match[0]) for match in _WORDS.finditer(text)]
    return [
        (start, word)
        for start, word in found
        if word != "_"
        and not (
            word == "-"
            and 0 < start < len(text) - 1
            and text[start - 1].isalnum()
            and text[start + 1].isalnum()
            and not (text[start - 1].isdigit() and text[start + 1].isdigit())
        )
    ]
