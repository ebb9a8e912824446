"""The shop's identifiers: readerships, audiences, patterns of title and order ids, and the currency.

A shop may set its own patterns (`MANGA_TITLE_PATTERN`, `MANGA_ORDER_PATTERN`). They are a small subset of regular
expressions: bounded, matched in linear time, and simple enough to turn an id as typed into the shop's spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from tools.store.currency import Currency

CHILDREN = "kodomo"
"""The readership of titles made for children."""
GENRES = ("shonen", "seinen", "shojo", "josei", "kodomo")
"""The readerships, each the target group of a kind of magazine."""
AUDIENCES = ("all_ages", "teen", "older_teen", "adult")
"""Audiences that a title may be fit for, youngest first."""
SAFE_ID = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
"""The form of every id and number of a shop, whatever its own pattern: safe in keys, lists and URLs."""
TITLE_ID = "^manga-[a-z0-9]{6,12}$"
ORDER_ID = "^MNG-[A-Z0-9]{8}$"
"""The demo shop's patterns, which the tools' schemas state; the tool registry replaces them by a shop's own."""
MONTH = "^[0-9-]{7}$"
"""YYYY-MM, loosely; `tools.store.models.values.is_month` checks the calendar."""
SEPARATORS = re.compile("[ #./_:\\-\u2010-\u2015\u2212\u30fc]")
"""Characters that people type before and between the parts of a number; a Japanese keyboard has several dashes."""
LONGEST = 64
_ELEMENT = re.compile(
    r"(?:(?P<set>\[(?:[A-Za-z0-9](?:-[A-Za-z0-9])?)+\]|\\d)|\\?(?P<literal>[A-Za-z0-9._:-]))"
    r"(?:\{(?P<least>\d{1,2})(?:,(?P<most>\d{1,2}))?\})?"
)
_EXAMPLES = {TITLE_ID: "manga-001001", ORDER_ID: "MNG-DEMO1001"}
_MOST_READINGS = 1000


@dataclass(frozen=True, slots=True)
class _Element:
    characters: str
    is_set: bool
    least: int
    most: int

    @property
    def pattern(self) -> str:
        one = self.characters if self.is_set else re.escape(self.characters)
        return f"{one}{{{self.least},{self.most}}}"

    def spell(self, text: str) -> str:
        for spelled in (text, text.upper(), text.lower()):
            if re.fullmatch(self.pattern, spelled):
                return spelled
        return text


class IdPattern:
    """A pattern of ids. `text` is its regular expression, `example` an id that matches.

    Raises ValueError, with a remedy, unless the pattern has only literal characters, sets such as [A-Z0-9] and \\d, and
    counts such as {8} and {6,12}. It needs a set, allows at most 64 characters, and has to begin with a letter or digit."""

    def __init__(self, text: str) -> None:
        body = text.removeprefix("^").removesuffix("$")
        self._elements = _parse(body)
        self.text = f"^{body}$"
        self._whole = re.compile(self.text, re.ASCII)
        self._said = _said_pattern(self._elements)
        self.example = _EXAMPLES.get(self.text) or "".join(map(_sample, self._elements))
        if not re.fullmatch(SAFE_ID, self.example):
            raise ValueError("has to begin with a letter or digit")

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdPattern) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def matches(self, text: str) -> bool:
        """Returns True if `text` matches the pattern exactly, letter case and separators included."""
        return self._whole.fullmatch(text) is not None

    def mismatch(self, text: str, setting: str) -> str:
        """Returns the error text for an id in a file that does not match. `setting` is the environment variable that has the
        pattern."""
        return f"{text!r} is not of the shop's pattern {self.text}, which {setting} states"

    def normalise(self, text: str, *, whole: bool = False) -> str:
        """Returns an id in the shop's spelling: "mng demo1001", "DEMO1001" and "#MNG‐DEMO1001" become MNG-DEMO1001. Other
        text is returned unchanged, and so are letters alone without the prefix, which are likely a word. `whole`: only text
        with both prefix and digits is changed, since any other may be a title's name ("1984")."""
        bare = SEPARATORS.sub("", text)
        found, numbered = self._said.fullmatch(bare), any(map(str.isdigit, bare))
        if found is None or not (numbered and found["prefix"] if whole else numbered or found["prefix"]):
            return text
        parts = iter(found.groups()[1:])
        spelled = "".join(
            each.spell(next(parts)) if each.is_set else each.characters * each.least for each in self._elements
        )
        return spelled if self.matches(spelled) else text


def _said_pattern(elements: list[_Element]) -> re.Pattern[str]:
    """Compiles a regular expression for ids as people type them: in any case, without separators, and with an optional
    prefix (the literals before the first set). Its groups are the prefix, then one for each set."""
    spoken = [each for each in elements if each.is_set or not SEPARATORS.match(each.characters)]
    first = next(place for place, each in enumerate(spoken) if each.is_set)
    prefix = "".join(each.pattern for each in spoken[:first])
    rest = "".join(f"({each.pattern})" if each.is_set else each.pattern for each in spoken[first:])
    return re.compile(f"(?P<prefix>{prefix})?{rest}", re.IGNORECASE | re.ASCII)


def _parse(body: str) -> list[_Element]:
    elements: list[_Element] = []
    place = 0
    while place < len(body):
        found = _ELEMENT.match(body, place)
        if found is None:
            raise ValueError(
                f"cannot use {body[place]!r} at place {place + 1}: only letters, digits, . _ : -, sets such as [A-Z0-9], "
                "\\d, and counts such as {8} or {6,12}"
            )
        least = int(found["least"] or 1)
        most = int(found["most"] or least)
        if least > most:
            raise ValueError(f"counts from {least} to {most}; the first number has to be the smaller one")
        elements.append(_Element(found["set"] or found["literal"], found["set"] is not None, least, most))
        place = found.end()
    readings = 1
    for each in elements:
        readings *= each.most - each.least + 1
    if not any(each.is_set for each in elements):
        raise ValueError("needs a set such as [0-9]{8}: one name for everything is no pattern")
    if sum(each.most for each in elements) > LONGEST or readings > _MOST_READINGS:
        raise ValueError(f"may allow at most {LONGEST} characters, and few counts that vary")
    for each in elements:
        try:
            re.compile(each.pattern)
        except re.error as error:
            raise ValueError(f"is no pattern: {error.msg}") from None
    return elements


def _sample(element: _Element) -> str:
    if not element.is_set:
        return element.characters * element.least
    allowed = [each for each in "1234567890ABCDEFabcdef" if re.match(element.characters, each)]
    return "".join(islice(cycle(allowed or [element.characters[1]]), element.least))


@dataclass(frozen=True, slots=True)
class Identifiers:
    titles: IdPattern = field(default_factory=lambda: IdPattern(TITLE_ID))
    orders: IdPattern = field(default_factory=lambda: IdPattern(ORDER_ID))
    currency: Currency = Currency()

    def adapt(self, value: Any) -> Any:
        """Replaces the demo shop's patterns, examples and currency by this shop's in a schema, description or message."""
        return self.currency.adapt(self._adapt(value))

    def _adapt(self, value: Any) -> Any:
        if isinstance(value, str):
            changes = {TITLE_ID: self.titles.text, ORDER_ID: self.orders.text}
            if value in changes:
                return changes[value]
            for pattern, own in ((TITLE_ID, self.titles), (ORDER_ID, self.orders)):
                value = value.replace(_EXAMPLES[pattern], own.example)
            return value
        if isinstance(value, Mapping):
            return {name: self._adapt(each) for name, each in value.items()}
        return [self._adapt(each) for each in value] if isinstance(value, list) else value
