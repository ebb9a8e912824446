"""Numbers as shoppers write them: digits, English words up to a hundred, kanji numerals up to the ten thousands."""

from __future__ import annotations

import re

_ONES = (
    "one two three four five six seven eight nine"
    " ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(_ONES.split(), 1)}
_WORDS |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_WORDS |= {"a single": 1, "single": 1, "a dozen": 12, "dozen": 12, "two dozen": 24, "a hundred": 100, "hundred": 100}
_KANJI = {kanji: number for number, kanji in enumerate("〇一二三四五六七八九")}
_POWERS = {"十": 10, "百": 100, "千": 1_000}
_MYRIAD = 10_000

_TENS_AND_ONES = rf"(?:{'|'.join(_TENS.split())})[- ](?:{'|'.join(_ONES.split()[:9])})"
_ALONE = "|".join(sorted(_WORDS, key=len, reverse=True))
NUMBER = (
    r"(?:(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3}){1,2}|(?<![0-9.,])[0-9]{1,4}[千万]"
    r"|(?<![0-9.,])[0-9]{1,7}(?:\.[0-9]{1,2})?(?![0-9])"
    rf"|(?<![a-z])(?:{_TENS_AND_ONES}|{_ALONE})(?![a-z])|[〇一二三四五六七八九十百千万]{{1,7}})"
)
"""Source of a pattern of one number in a normalised text; no groups."""
_MIXED = re.compile(r"([0-9]{1,4})([千万])")


def value_of(written: str) -> float:
    """The number that a match of `NUMBER` writes."""
    if written[0] in "0123456789":
        if mixed := _MIXED.fullmatch(written):
            return int(mixed[1]) * (_MYRIAD if mixed[2] == "万" else _POWERS[mixed[2]])
        return float(written.replace(",", ""))
    if written in _WORDS:
        return _WORDS[written]
    if written[0].isascii():
        return sum(_WORDS[word] for word in re.split("[- ]", written))
    return _kanji(written)


def _kanji(written: str) -> int:
    """千二百 is 1200; 二〇, digit by digit, 20."""
    if all(kanji in _KANJI for kanji in written):
        return int("".join(str(_KANJI[kanji]) for kanji in written))
    total, block, digit = 0, 0, 0
    for kanji in written:
        if kanji == "万":
            total, block, digit = (total + (block + digit or 1) * _MYRIAD), 0, 0
        elif kanji in _POWERS:
            block, digit = block + (digit or 1) * _POWERS[kanji], 0
        else:
            digit = _KANJI[kanji]
    return total + block + digit
