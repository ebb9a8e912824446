"""The audience that words about a recipient bound.

A child's age is a bound. A grown-up's is none; for a parent, a grandparent, a teacher or a boss nothing above older teens is
chosen, which is what a bookseller would put into their hands unasked, and their taste in readerships is not guessed. "For
adults" is a readership, and asks for nothing explicit; that is asked for by its own words ("18+", 成人向け), and ruled out
by the same ("no 18+", 18禁以外).
The ages of characters ("about a ten-year-old detective", 小学生が主人公) bound nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import Audience, Conditions
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.negation import denial
from tools.store.search.reading.recipients import wordings
from tools.store.search.reading.recipients.ages import audience_for, number, of_grade, ordinal
from tools.store.search.text.characters import has_cjk

_GROWN_UP = Conditions(genres=("seinen", "josei"), no_adult=True)
_BEFORE_SCHOOL, _BEFORE_MIDDLE, _BEFORE_HIGH = 6, 12, 15
_CLAUSE, _CLAUSES = 60, re.compile(r"[,.;!?]")


def find_recipient(text: str) -> Iterator[Claim]:
    """Claims of a normalised text."""
    for match in wordings.ENGLISH.finditer(text):
        if not _is_of_a_character(text, match):
            yield from _claims(text, match)
    if has_cjk(text):
        for match in wordings.JAPANESE.finditer(text):
            if match["explicit"] or not wordings.CHARACTER_JA.match(text, match.end()):
                yield from _claims(text, match)


def _claims(text: str, match: re.Match[str]) -> Iterator[Claim]:
    kind = match.lastgroup or ""
    if kind == "explicit":
        yield _explicit(match, denial(text, *match.span()))
    elif kind == "adult":
        yield Claim(match.start(), match.end(), "for grown-ups: seinen or josei", _GROWN_UP)
    elif kind == "years":
        yield from _of_age(match, _age(match.groupdict()))
    else:
        yield _bounded(match, Audience(kind))


def _explicit(match: re.Match[str], denied: tuple[int, int] | None) -> Claim:
    if denied:
        return Claim(*denied, "nothing adult", Conditions(no_adult=True))
    return Claim(match.start(), match.end(), "adult titles asked for", adult=True)


def _of_age(match: re.Match[str], age: int) -> Iterator[Claim]:
    audience = audience_for(age)
    yield Claim(match.start(), match.end(), "for an adult") if audience is None else _bounded(match, audience)


def _bounded(match: re.Match[str], audience: Audience) -> Claim:
    return Claim(match.start(), match.end(), f"fit for {audience.value.replace('_', ' ')}", Conditions(audience=audience))


def _age(found: dict[str, str | None]) -> int:
    """From whichever group of the wordings holds a number."""
    if stated := found.get("age") or found.get("aged") or found.get("kin") or found.get("beside"):
        return number(stated)
    if birthday := found.get("birthday"):
        return ordinal(birthday)
    if limit := found.get("under") or found.get("below"):
        return number(limit) - 1
    if grade := found.get("grade") or found.get("year"):
        return of_grade(grade)
    schools = (("small", _BEFORE_SCHOOL), ("middle", _BEFORE_MIDDLE), ("high", _BEFORE_HIGH))
    return next(before + number(year) for school, before in schools if (year := found.get(school)))


def _is_of_a_character(text: str, match: re.Match[str]) -> bool:
    """ "About a ten-year-old detective", "a 16 year old girl who fights"."""
    clause = _CLAUSES.split(text[max(0, match.start() - _CLAUSE) : match.start()])[-1]
    if match.lastgroup != "years" or wordings.PREFIXED.match(match[0]):
        return (
            match.lastgroup == "years" and not match[0].startswith("for") and wordings.CHARACTER.search(clause) is not None
        )
    return wordings.CHARACTER.search(clause) is not None or not wordings.ENDED.match(text, match.end())
