"""Times as seen from today: "the last three years", この3年, "recent", "classic"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import Range
from tools.store.search.reading.numbers import NUMBER, value_of
from tools.store.search.reading.when import JA_MADE, MADE, Spell
from tools.store.search.reading.wordings import NEAR

RECENT, CLASSIC = 5, 1999
"""Years that "recent" reaches back, and the last year of what is called a classic."""

_LAST = re.compile(
    rf"\b{MADE}(?:in|within|over|from|during) )?(?:the )?(?:last|past) (?P<number>{NUMBER}|few|couple of|several"
    rf"|) ?(?P<unit>years?|decades?)\b"
    rf"|(?:ここ|この|最近の?|直近|過去|近)(?P<ja>{NUMBER}|数)年(?:間|以内|くらい|ほど)?(?:に|で|の)?{JA_MADE}"
    rf"|(?P<within>[0-9]{{1,2}})年以内(?:に|の)?{JA_MADE}"
)
_THIS = re.compile(rf"\b{MADE}(?:this year|last year))\b|今年(?:の|に)?{JA_MADE}|(?:去年|昨年)(?:の|に)?{JA_MADE}")
_THIS_DECADE = re.compile(r"\b(?:(?:from|of|in) )?(?:this|the current) decade(?:'s)?\b")
_SAYS_IT = r"\b(?:something|anything|is|are|it's|be|but|and|more|fairly|pretty|very|quite|really|relatively)"
_RECENT = re.compile(
    rf"\b(?:more |very |fairly )?recent(?:ly)?(?: (?:published|released|started|serialized))?\b(?! years| purchase)"
    rf"|\b(?:brand[- ])?new(?:er|ish)?{NEAR}|{_SAYS_IT} (?:new|newer|modern|recent)\b(?! (?:to|for|school|world|life"
    rf"|girl|boy|student))|\bmodern{NEAR}"
    r"|最近(?:の|始まった|出た)|近年の?|ここ数年の?|新しめの?|(?<![ぁ-ん])新しい(?!順)(?=(?:漫画|マンガ|まんが|作品"
    r"|もの|やつ|の|[^ぁ-ん ]{0,8}(?:漫画|マンガ)))"
)
_CLASSICS = re.compile(
    rf"\b(?:the )?classics?\b(?! (?:music|literature|car))|\b(?:really |very )?old(?:er)?{NEAR}|\bold-?school\b"
    rf"|\bretro\b|\bvintage\b"
    rf"|{_SAYS_IT} old(?:er)?\b(?! (?:man|men|woman|lady|boy|girl|friend|enough|than|people|couple))"
    r"|古典(?:的な?|作品)?(?!部|文学)|懐かしの|懐かしい|なつかしい|昔の|往年の|レトロな"
    r"|(?<![ぁ-ん])古い(?=[^ぁ-ん ]{0,8}(?:漫画|マンガ|まんが|作品)|もの|やつ)|古めの"
)


def counted(text: str, this_year: int) -> Iterator[Spell]:
    """Years that are counted back from this one."""
    for match in _LAST.finditer(text):
        yield (*match.span(), Range(this_year - _ago(match), None))
    for match in _THIS_DECADE.finditer(text):
        yield (*match.span(), Range(this_year // 10 * 10, None))
    for match in _THIS.finditer(text):
        year = this_year - any(word in match[0] for word in ("last", "去年", "昨年"))
        yield (*match.span(), Range(year, year))


def loosely(text: str, this_year: int) -> Iterator[Spell]:
    """What is recent or a classic, by our measure."""
    for match in _RECENT.finditer(text):
        yield (*match.span(), Range(this_year - RECENT, None))
    for match in _CLASSICS.finditer(text):
        yield (*match.span(), Range(None, CLASSIC))


def _ago(match: re.Match[str]) -> int:
    """Years that "the last … years" reaches back; a few are as many as "recent"."""
    written = match["number"] or match["ja"] or match["within"] or "1"
    if written in ("few", "couple of", "several", "数"):
        return RECENT
    number = int(value_of(written))
    return number * 10 if (match["unit"] or "").startswith("decade") else number
