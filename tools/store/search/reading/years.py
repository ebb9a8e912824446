"""When a series began: periods, years with their bounds, and times as seen from today."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import Conditions, Range
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.lately import counted, loosely
from tools.store.search.reading.periods import periods
from tools.store.search.reading.when import JA_MADE, JA_SETTING, MADE, SETTING, YEAR, Spell

_BETWEEN = re.compile(
    rf"{SETTING}\b{MADE}(?:between|from|in) )?(?P<first>{YEAR}) ?年?(?: ?(?:and|to|until|till|through|-|~|〜) ?"
    rf"|から)(?P<last>{YEAR})(?:年(?:まで|の間)?)?"
)
_SINCE = re.compile(
    rf"\b{MADE}(?:since|starting (?:in|from)|beginning (?:in|from)|no (?:older|earlier) than|not (?:before"
    rf"|older than|earlier than)|nothing (?:before|older than)) )(?P<year>{YEAR})"
    rf"|\b{MADE}(?:from|in) )?(?P<onward>{YEAR}) (?:onwards?|and later|or later|or newer|and (?:after|newer)|on)\b"
    rf"|(?P<ja>{YEAR})年?(?:以降|以後|から)(?:に|の)?{JA_MADE}"
)
_AFTER = re.compile(
    rf"\b{MADE}(?:after|later than|newer than|younger than|more recent than) )(?P<year>{YEAR})"
    rf"|(?P<ja>{YEAR})年より(?:後|新しい)"
)
_BEFORE = re.compile(
    rf"\b{MADE}(?:before|earlier than|older than|pre-?) ?)(?P<year>{YEAR})|(?P<ja>{YEAR})年より(?:前|古い)(?:に"
    rf"|の)?{JA_MADE}"
)
_UNTIL = re.compile(
    rf"\b{MADE}(?:until|till|up to|by|no (?:later|newer) than|not (?:after|later than|newer than)) )(?P<year>{YEAR})"
    rf"|\b(?P<earlier>{YEAR}) (?:or|and) (?:earlier|older|before)\b|(?P<ja>{YEAR})年(?:以前|まで)(?:に|の)?{JA_MADE}"
)
_IN = re.compile(
    rf"{SETTING}\b{MADE}(?:in|from|of) )(?:the year )?(?P<year>{YEAR})\b|(?P<ja>{YEAR})年(?!代"
    rf"|[0-9以前後間まよか]){JA_SETTING}{JA_MADE}"
)
_A_YEAR = re.compile(YEAR)
"""Which each of these has: most texts are looked at no closer."""


def years_from(this_year: int) -> Find:
    """A finder of times, for a reader who lives in `this_year`."""

    def find(text: str) -> Iterator[Claim]:
        for start, end, years in (*periods(text), *_bounds(text), *counted(text, this_year)):
            yield Claim(start, end, _says(years), Conditions(years=years))
        for start, end, years in loosely(text, this_year):
            yield Claim(start, end, _says(years), Conditions(years=years), loose=True)

    return find


def _bounds(text: str) -> Iterator[Spell]:
    if not _A_YEAR.search(text):
        return
    for match in _BETWEEN.finditer(text):
        yield (*match.span(), Range(*sorted((int(match["first"]), int(match["last"])))))
    for pattern, least, most in ((_SINCE, 0, None), (_AFTER, 1, None), (_BEFORE, None, -1), (_UNTIL, None, 0), (_IN, 0, 0)):
        for match in pattern.finditer(text):
            year = int(next(group for group in match.groups() if group))
            yield (*match.span(), Range(*(None if shift is None else year + shift for shift in (least, most))))


def _says(years: Range) -> str:
    least, most = (None if bound is None else int(bound) for bound in (years.least, years.most))
    if least is None:
        return f"begun by {most}"
    if most is None:
        return f"begun in {least} or later"
    return f"begun in {least}" if least == most else f"begun {least} to {most}"
