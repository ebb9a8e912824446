"""What "it" is in "something like it": the name that was said last before it.

"Naruto... no wait, something like it", それみたいなの. Which of the words before it are a name the catalogue tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.search.reading.claim import About, Claim
from tools.store.search.reading.naming import alternatives

_IT = re.compile(
    r" (?:it|that(?: one)?|this(?: one)?|them|those)\b(?! (?:[a-z]+ ){0,2}(?:manga|series|story|title|with|where|who)\b)"
)
_IT_JA = re.compile(r"(?:それ|これ|あれ|そういうの|こういうの)$")
_PIECE = re.compile(r"(?:(?<![a-z])|(?= ))(?:(?!\b(?:but|and|or|so|because)\b|けど|ので|でも)[^,.;!?…。、！？-])+")
_LED_BY = re.compile(
    r"(?:(?:no|not|wait|well|ok|okay|actually|oh|hmm|sorry|i|we|he|she|my [a-z]{1,12}|they|i've|do|you|just|really|have|has"
    r"|had|got|know|own|loved?|liked?|likes?|loves?|enjoyed|adored|read|finished|want|need|is|was|are|there|thinking of"
    r"|about|more|something|anything|in|to|or|and|but|the|mangas?|series|great)\b ?"
    r"|いや|やっぱり|やはり|じゃあ|最近|前に| |[\"'「『]){0,12}"
)
_FOLLOWED_BY = re.compile(r" (?:was|is|were|are) [a-z ]+$|[がをはもの](?:[^がをはも]{0,12})$")
_LONGEST, _REACH, _MOST = 6, 200, 3
"""Words of a name, characters before the pronoun, and names that are thought of."""


def like_it(text: str, start: int, end: int) -> tuple[Claim, ...]:
    """The claims of a comparison that ends in a pronoun: its own, and of the words that it may mean. None where no pronoun
    follows, or nothing is said before it."""
    pronoun = _IT.match(text, end)
    return _claims(text, start, pronoun.end()) if pronoun else ()


def like_it_ja(text: str, start: int, end: int) -> tuple[Claim, ...]:
    """The same of a pronoun before the comparison."""
    pronoun = _IT_JA.search(text, max(0, start - 8), start)
    return _claims(text, pronoun.start(), end) if pronoun else ()


def _claims(text: str, start: int, end: int) -> tuple[Claim, ...]:
    said = list(_said_before(text, start))[-_MOST:]
    if not said:
        return ()
    names = tuple(dict.fromkeys(name for each in reversed(said) for name in each.names))
    return (Claim(start, end, f"like {names[0]}", names=names, about=About.LIKE), *said)


def _said_before(text: str, at: int) -> Iterator[Claim]:
    """The names that may be meant, in the text's order: they say nothing else."""
    for piece in _PIECE.finditer(text, max(0, at - _REACH), at):
        led = _LED_BY.match(text, piece.start(), piece.end())
        start = led.end() if led else piece.start()
        name = text[start : piece.end()].strip(" '\"」』")
        if len(name) > 1 and len(name.split()) <= _LONGEST:
            bare = _FOLLOWED_BY.sub("", name)
            names = (*((bare,) if len(bare) > 1 else ()), *alternatives(name))
            yield Claim(start, piece.end(), says="", names=tuple(dict.fromkeys(names)), about=About.LIKE)
