"""How long a series is: "under ten volumes", "one-shot", "short", 5巻以内, 全1巻, 長編, "can finish in a weekend"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tools.store.models import Conditions, Range
from tools.store.search.reading.amounts import Amounts, worded
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.wordings import NEAR, Wording, finding

SHORT, LONG, FEW = 5, 20, 5
"""Volumes: a short series has at most so many, a long one at least, "a few volumes" are at most."""

_ENGLISH = Amounts(after=r"(?:[ -]?(?:or so ))?[ -]?(?:volumes?|vols?\b\.?|books|tank[oō]u?bon)(?![a-z]| ?#?[0-9])")
_JAPANESE = Amounts(after=r" ?(?:巻|冊)(?!目)")
_MAY_SAY_SO = re.compile("vol|book|tank")
"""Which each English amount has: most texts are looked at no closer."""
_PART_OF_A_SERIES = re.compile(r"(?:first|last|next|latest|final|missing|these|those|volumes?) $")
_ENDS_THERE = re.compile(
    r"(?:で|の)?(?=完結)|(?:で|に)(?:終わ(?:る|った|っている)|読み終わる|まとまっ(?:た|ている)|読める|収まる)"
)
_READ_SO_FAR = re.compile(
    r"の?[0-9]{1,3}巻(?:まで|を)(?:は|もう|全部)?(?:読(?:んだ|んで(?:い)?る|みました|み終わった|み終えた|み終わりました|了)"
    r"|買(?:った|いました)|持って(?:い)?(?:る|ます))(?:んだけど|ので|けど|から)?(?:、?(?:次|続き)は)?"
)
"""How far somebody is, "3巻まで読んだ、次は": no length, and no word of a name."""
_TAIL = re.compile(r"(?: (?:long|in (?:length|total|all)|total|altogether))?(?: manga)?(?![a-z])")


def find_read_so_far(text: str) -> Iterator[Claim]:
    """Nothing but the words."""
    return (Claim(*match.span(), says="") for match in _READ_SO_FAR.finditer(text))


def find_volumes(text: str) -> Iterator[Claim]:
    """Numbers of volumes. "Naruto 3巻" is one volume of it, and so is no length."""
    for amount in _ENGLISH.find(text) if _MAY_SAY_SO.search(text) else ():
        if not _PART_OF_A_SERIES.search(text, max(0, amount.start - 12), amount.start):
            yield _claim(amount.start, amount.end, amount.range)
    for amount in _JAPANESE.find(text) if "巻" in text or "冊" in text else ():
        if text[amount.start].isascii() and text[amount.start].isalpha():
            continue  # An English word before it belongs to a name: "Trigun Maximum 3巻".
        ends = _ENDS_THERE.match(text, amount.end)
        if amount.stated or ends:
            yield _claim(amount.start, ends.end() if ends else amount.end, amount.range)


def _claim(start: int, end: int, volumes: Range) -> Claim:
    return Claim(start, end, worded(volumes, "volumes"), Conditions(volumes=volumes))


_ADVERB = r"(?:very |really |pretty |fairly |quite |relatively |super |nice |kind of |not too |a )"
_SAYS_IT = (
    r"(?:\b(?:something|anything|is|are|it's|be|but|and|nice|fairly|pretty|very|quite|really|relatively|super|preferably|,))"
)

find_length = finding(
    Wording(
        re.compile(
            r"\b(?:one-? ?shots?|oneshots?|stand-? ?alones?(?: volumes?)?|single[- ]volumes?|one[- ]volumes?"
            r"|yomikiri)\b(?! ?#?[0-9])"
            r"|読み?切り?(?:作品|漫画)?|単巻|[一1](?:巻|冊)(?:完結|もの|だけ)|(?:[一1]冊|一巻)で(?:終わる"
            r"|完結(?:する|した)?|読める)"
        ),
        "one volume at most",
        Conditions(volumes=Range(None, 1)),
    ),
    Wording(
        re.compile(
            rf"\b{_ADVERB}?short(?:er|ish)?(?: and sweet)?{NEAR}|{_SAYS_IT} short(?:er|ish)?\b(?! (?:hair|on|of)|-)"
            r"|\b(?:not|nothing|isn't|aren't) (?:too |very |so |that |super |overly )?long(?:-running)?\b"
            r"|\bno long(?:-running)? (?=series|manga)"
            r"|\bquick reads?\b|\bshort reads?\b"
            r"|\b(?:i can |can |could |to )?(?:be )?(?:finish|read|binge)(?:ed|able)? (?:it )?(?:up )?(?:quickly"
            r"|fast|(?:in|over|within|on) "
            r"(?:a|one|an|the|this|my)(?: single| long)? (?:weekend|day|sitting|afternoon|evening|night|flight"
            r"|train ride))\b"
            r"|短め|短い|短くて?|短編(?!集)|(?:サクッと|さくっと|さっと|すぐ(?:に)?|[1一]日で|週末で|週末に|一晩で"
            r"|短時間で)(?:読める|読み終わる|読み切れる|読了できる)|一気読み(?:できる|したい)?|長くない|長すぎない"
            r"|長すぎず"
        ),
        f"short, at most {SHORT} volumes",
        Conditions(volumes=Range(None, SHORT)),
        loose=True,
    ),
    Wording(
        re.compile(
            rf"\b{_ADVERB}?long(?:er|est|ish)?{NEAR}|\blong[- ]running\b|{_SAYS_IT} long(?:er|ish)?\b(?! (?:hair|ago"
            rf"|time|distance|lost|way)|-)"
            r"|\b(?:the )?longest\b|\b(?:epic|great) length\b|長編|長め|長期連載|(?<![ぁ-ん])長い(?!間|髪|旅|夜|年月"
            r"|目)|大長編"
        ),
        f"long, at least {LONG} volumes",
        Conditions(volumes=Range(LONG, None)),
        loose=True,
    ),
    Wording(
        re.compile(
            r"\b(?:only |just )?(?:a )?(?:few|couple of|couple|handful of) (?:volumes|vols|books)\b|数巻|2、3巻|二、三巻"
        ),
        f"at most {FEW} volumes",
        Conditions(volumes=Range(None, FEW)),
    ),
)


def find_lengths(text: str) -> Iterable[Claim]:
    """Numbers of volumes, and words for them."""
    yield from find_volumes(text)
    yield from find_length(text)
