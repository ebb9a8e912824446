"""Pieces of a text, and what the tables say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from tools.store.models import Conditions, Ordering, Range

NOTHING = Conditions()
# A run of letters and digits in turn, an identifier, is one word: no number in it is an amount.
_WORDS = re.compile(
    r"(?:[0-9]++[a-z]++|[a-z]++[0-9]++){3,}+[0-9a-z]*+|[0-9]+(?:[.,][0-9]+)*|[a-z\u00df-\u024f]+(?:'[a-z]+)*|[<>]=|'s\b|\S"
)


class Is(Enum):
    """A kind of token."""

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
    """The effect of an operator on the items on its side."""

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
    """The kind of limit that a number in a query sets: at least, at most, exactly, about and the like."""

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
    """Something that a title may be. `matter`: the field of `Conditions` that it is about, or themes, ordering, adult,
    person.
    `conditions` hold where it is wanted, `opposite` where it is refused. Of a theme `tags` are asked for, and `against` and
    `also`, what may well hold it, excluded. `loose`: its measure is ours. `bare`: it counts only where no particle follows.
    `alone`: it excludes without any word of refusal ("goreless")."""

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
    """The meaning of a phrase in a table."""

    kind: Is
    fact: Fact | None = None
    sense: Sense | None = None
    side: str = "before"
    bound: Bound | None = None
    name: str = ""
    japanese: bool = False


@dataclass(slots=True)
class Token:
    """`text[start:end]` of a normalised text. `entries`: all that its words may be, `kind` and `entry` what they are taken
    for. `amount`: of an amount the unit, the bound and the numbers."""

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
    """Numbers of a unit: volumes, money, foreign (money of another currency), year, stars, age, grade. `bound` of None:
    nothing bounds it."""

    unit: str
    bound: Bound | None
    least: float
    most: float | None = None
    series: bool = False
    step: float = field(default=1.0)

    def turned(self) -> Amount | None:
        """Returns the amount with the opposite bound; None where all other numbers are no single range."""
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
    """Returns the number that digits with commas or a point are, or kanji up to 99,999,999; None for another word, and for
    more digits than anybody means."""
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
    """Words, numbers and signs of a normalised text, hyphens between letters left out."""
    return [word for start, word in spans(text)]


def spans(text: str) -> list[tuple[int, str]]:
    """Returns the pieces of `split_words`, each with its start."""
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
