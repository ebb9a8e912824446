"""Ages and school years as words say them, and the audience that publishers would give them to.

The steps are those on covers in English: all ages, teen (13), older teen (16), adult (18).
"""

from __future__ import annotations

import re

from tools.store.models import Audience

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(f"{_UNITS} {_TEENS}".split())} | {
    word: 10 * i for i, word in enumerate(_TENS.split(), 2)
}
_KANJI = {digit: number for number, digit in enumerate("〇一二三四五六七八九")}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
NUMBER = rf"(?:\d{{1,2}}|{'|'.join(_WORDS)})"
NUMBER_JA = "(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
_FIRST_TEEN, _FIRST_OLDER_TEEN, _FIRST_ADULT = 13, 16, 18


def number(word: str) -> int:
    """`word` matches `NUMBER` or `NUMBER_JA`: digits, an English word, or kanji up to 99."""
    if word.isdecimal():
        return int(word)
    if word in _WORDS:
        return _WORDS[word]
    tens, ten, units = word.rpartition("十")
    return (_KANJI.get(tens, 1) * 10 if ten else 0) + _KANJI.get(units, 0)


def audience_for(age: int) -> Audience | None:
    """What may be given to somebody of this age; None for an adult, who may have anything."""
    if age >= _FIRST_ADULT:
        return None
    if age >= _FIRST_OLDER_TEEN:
        return Audience.OLDER_TEEN
    return Audience.TEEN if age >= _FIRST_TEEN else Audience.ALL_AGES


def of_grade(word: str) -> int:
    """About the age in a school year, counted from six: "4th grade" is nine or ten."""
    return 5 + ordinal(word)


def ordinal(word: str) -> int:
    """ "4th", "fourth" or plain "4"."""
    ordinals = _ORDINALS.split()
    return ordinals.index(word) + 1 if word in ordinals else number(re.sub(r"(?:st|nd|rd|th)$", "", word))
