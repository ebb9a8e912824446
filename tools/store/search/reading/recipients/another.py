"""Whether somebody else is to read what is asked for."""

from __future__ import annotations

import re

_PEOPLE = (
    r"(?:niece|nephew|son|daughter|kids?|child(?:ren)?|grand(?:son|daughter|child|ma|pa|mother|father)|(?:god|step)?(?:mother|father)"
    r"|mum|mom|mam|dad|brother|sister|cousin|aunt|uncle|wife|husband|partner|fianc[eé]e?|boyfriend|girlfriend|friend|colleague"
    r"|coworker|boss|teacher|neighbou?r|roommate|flatmate|teenager|teen|boy|girl|someone|somebody|\w+-year-old|\d+ year old)"
)
_PEOPLE_JA = (
    "(?:姪|甥|息子|娘|子供|子ども|孫|母|父|お母さん|お父さん|兄|弟|姉|妹|いとこ|妻|夫|彼氏|彼女|恋人|友達|友人"
    "|同僚|上司|先生|祖母|祖父|小学生|中学生|高校生)"
)
FOR_ANOTHER = re.compile(
    rf"\b(?:gifts?|presents?|birthday|christmas|to give)\b|\bfor (?:(?:my|an?|the|our|his|her) )?(?:\w+ )?{_PEOPLE}\b"
    rf"|\b(?:my|our|his|her) (?:\w+ )?{_PEOPLE}(?:'s)?"
    r" (?:likes?|loves?|enjoys?|wants?|needs?|is|reads?|who|that|has|would|never)\b"
    rf"|プレゼント|贈り物|贈りたい|ギフト|誕生日|クリスマス|{_PEOPLE_JA}(?:に|への?|が|は|向け|のため)"
)
"""Somebody else is to read it: the caller's own taste tells nothing."""

SOMEBODY = re.compile(rf"\b{_PEOPLE}\b|{_PEOPLE_JA}")


def for_another(text: str) -> bool:
    """Whether a normalised text asks for something that somebody else is to read."""
    return FOR_ANOTHER.search(text) is not None
