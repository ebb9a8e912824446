"""Where words point to a name: how far it may reach, and which parts of it may be names of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(
    r"[ :\"'「『]*(?:(?:the )?(?:mangas?|series|titles?|works?|stuff|anything|books?) (?:like|by|of|called"
    r"|from) )?[ \"'「『]*"
)
_BREAK = re.compile(
    r"[,.;?!()\"」』。、！？]"
    r"| (?:but|except|without|with|only|though|although|however|which|because|since|so|for|in|from|please|yet|if"
    r"|what|i|i'm|i've|i'd|we|he|she"
    r"|my|give|any|something|anything|not|no|less|more|that|who|where|minus|just|instead|already|now|next|recently|last|too"
    r"|as|then|than|is|are|was|either"
    r"|at home|at the moment|on my|again|anymore|a lot|very much|so much|and (?:not|i|i'm|want|need|would|something|am"
    r"|is|now|it|loved|looking|my|he"
    r"|she|they|we"
    r"|also want))\b"
)
_SPLIT = re.compile(r" (?:and|n?or|&) |でもなく|でも(?=.)|, ?| ?/ ?|[や・と]| +(?=[^a-z])")
_COMMA = re.compile(r" ?, ?")
_CLOSING = re.compile(r"(?:^|.)\b(?:and|&) .")
_QUOTED = re.compile(r"[「『\"]([^「」『』\"]{1,60})[」』\"] ?$")
_UNBROKEN = re.compile(r"[^、。,？?「」『』()]+$")
_BREAK_JA = re.compile(r"で(?=[^す])|けど|ので|から|でも|は|を|もう|私|僕|俺")
_WORK_JA = re.compile(
    r"(?:っていう|という)?(?:の)?(?:漫画|マンガ|まんが|作品|もの|話)?[はもがを]?(?:ちょっと|少し|本当に|あまり"
    r"|あんまり|もう|まだ)?$"
)
_LONGEST, _LONGEST_JA, _MOST = 80, 30, 8


@dataclass(frozen=True, slots=True)
class Name:
    """A name that may stand at `text[start:end]`."""

    text: str
    start: int
    end: int


def name_at(text: str, at: int) -> Name | None:
    """The name that begins here, up to a word or a mark that can hardly belong to it; None where nothing is left.

    No list of words can tell where a name ends ("In/Spectre", "Not Simple"): whoever protects names finds those first.
    """
    opening = _OPENING.match(text, at)
    start = opening.end() if opening else at
    stop = _BREAK.search(text, start, start + _LONGEST)
    end = stop.start() if stop else min(len(text), start + _LONGEST)
    name = text[start:end].strip(" '\"")
    return Name(name, start, start + len(text[start:end].rstrip())) if len(name) > 1 else None


def names_at(text: str, at: int) -> Name | None:
    """The name that begins here, or the list of names that an "and" closes: "naruto, bleach and one piece"."""
    first = last = name_at(text, at)
    for _ in range(_MOST):
        comma = _COMMA.match(text, last.end) if last else None
        if first is None or last is None or comma is None or (next_ := name_at(text, comma.end())) is None:
            break
        last = next_
        if _CLOSING.search(last.text):
            return Name(text[first.start : last.end], first.start, last.end)
    return first


def name_before(text: str, at: int, least: int = 0) -> Name | None:
    """The name that ends here and begins at `least` or after it, in a language that points backwards."""
    before = text[max(least, at - _LONGEST_JA) : at]
    if quoted := _QUOTED.search(before):
        return Name(quoted[1].strip(), at - len(before) + quoted.start(), at)
    whole = _UNBROKEN.search(before)
    name = _BREAK_JA.split(whole[0])[-1].lstrip() if whole else ""
    bare = _WORK_JA.sub("", name)
    return Name(bare, at - len(name), at) if len(bare) > 1 else None


def alternatives(name: str) -> tuple[str, ...]:
    """The name as a whole, then the parts that "and", "or" and commas make of it: whichever something goes by."""
    return tuple(dict.fromkeys((name, *(part.strip() for part in _SPLIT.split(name) if len(part.strip()) > 1))))[:_MOST]
