"""Decades and eras: "the eighties", "late 90s", 2010年代, 昭和."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import Range
from tools.store.search.reading.when import JA_MADE, JA_SETTING, MADE, SETTING, Spell

_DECADES = {
    word: number
    for number, words in {
        1950: "fifties",
        1960: "sixties",
        1970: "seventies",
        1980: "eighties",
        1990: "nineties",
        2000: "noughties aughts two-thousands",
        2010: "twenty-tens",
        2020: "twenty-twenties",
    }.items()
    for word in words.split()
}
_ERAS = {
    **dict.fromkeys(("昭和", "showa"), Range(1926, 1989)),
    **dict.fromkeys(("平成", "heisei"), Range(1989, 2019)),
    **dict.fromkeys(("令和", "reiwa"), Range(2019, None)),
    **dict.fromkeys(("20世紀", "20th century", "twentieth century"), Range(1901, 2000)),
    **dict.fromkeys(("21世紀", "21st century", "twenty-first century", "this century", "今世紀"), Range(2001, None)),
}
_FIRST_DECADE = 194
"""Before the forties there was hardly a manga that is sold: such times are a story's own."""
_KANJI_DIGITS = {"五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_ERA_YEARS = {"昭和": 1925, "平成": 1988, "令和": 2018}
_PARTS = {
    **dict.fromkeys(("early", "前半", "初頭", "初期"), (0, 4)),
    **dict.fromkeys(("mid", "半ば", "中盤"), (3, 6)),
    **dict.fromkeys(("late", "後半", "末"), (5, 9)),
}
_DECADE = re.compile(
    rf"{SETTING}(?<![a-z0-9]){MADE}(?:in |from |during |of )?(?:the )?)?"
    rf"(?:(?P<part>early|mid|late)[- ](?:the )?)?'?(?P<digits>(?:19|20)[0-9]"
    rf"|(?<!my )(?<!her )(?<!his )(?<!their )(?<!your )[5-9])0'?s\b(?! setting)"
)
_DECADE_WORD = re.compile(
    rf"{SETTING}\b{MADE}(?:in |from |of )?(?:the )?)?(?:(?P<part>early|mid"
    rf"|late)[- ])?(?P<word>{'|'.join(_DECADES)})\b(?! setting)"
)
_DECADE_JA = re.compile(
    rf"(?:(?P<digits>(?:19|20)?[0-9])0|(?P<kanji>[五六七八九])十)年代(?P<part>前半|初頭|初期|半ば|中盤|後半"
    rf"|末)?{JA_SETTING}{JA_MADE}"
)
_ERA = re.compile(
    rf"{SETTING}(?:(?:from|in) )?(?:the )?(?P<era>{'|'.join(_ERAS)})(?:[ -](?:era|period|years))?(?:時代"
    rf"|期)?(?:に連載(?:された|していた))?"
    rf"(?![0-9]|ライダー|元禄|レトロ|風| boys){JA_SETTING}"
)
_MAY_SAY_SO = re.compile("|".join(("0'?s", "年代", *_DECADES, *_ERAS)))
"""Which each of these has: most texts are looked at no closer."""
_ERA_DECADE = re.compile(r"(?P<era>昭和|平成)(?P<digits>[1-6])0年代")


def periods(text: str) -> Iterator[Spell]:
    """The years of the decades and eras that a normalised text says."""
    if _MAY_SAY_SO.search(text):
        yield from _periods(text)


def _periods(text: str) -> Iterator[Spell]:
    for match in (*_DECADE.finditer(text), *_DECADE_JA.finditer(text)):
        digits = int(match["digits"] or _KANJI_DIGITS[match["kanji"]])
        if 100 <= digits < _FIRST_DECADE:
            continue
        century = 0 if digits >= 100 else 190 if digits >= 5 else 200
        yield (*match.span(), _decade(10 * (century + digits), match["part"]))
    for match in _DECADE_WORD.finditer(text):
        yield (*match.span(), _decade(_DECADES[match["word"]], match["part"]))
    for match in _ERA.finditer(text):
        yield (*match.span(), _ERAS[match["era"]])
    for match in _ERA_DECADE.finditer(text):
        yield (*match.span(), _decade(_ERA_YEARS[match["era"]] + 10 * int(match["digits"]), None))


def _decade(first: int, part: str | None) -> Range:
    least, most = _PARTS[part] if part else (0, 9)
    return Range(first + least, first + most)
