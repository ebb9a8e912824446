"""Adjectives that say something of a work where a theme or a readership follows: "short romance", "old shojo".

Before anything else they are the story's own: short hair, an old man, a new school.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import DIGITAL, Conditions, Range
from tools.store.search.query.themes import ThemeTable
from tools.store.search.query.wordings import GENRES
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.lately import CLASSIC, RECENT
from tools.store.search.reading.length import LONG, SHORT
from tools.store.search.text.tokens import stem

_FOLLOWED = re.compile(
    r"\b(?P<word>short|long|new|newer|modern|old|older|digital) "
    r"(?=(?:(?:finished|completed?|ongoing|short|long|classic|digital|good|great|popular"
    r"|cheap) ){0,2}(?P<next>[a-z][a-z-]{2,20})(?P<more> [a-z-]{2,20})?)"
)


_REACH = 12
_ELSEWHERE = re.compile(r"\b(?:to|in|at|of|with|into|from|his|her|their|my|its|your|our|by|about|on) (?:an? |the )?$")
"""Leads to something in the story: "moves to a new school"."""


def adjectives_in(this_year: int) -> Find:
    """A finder of them, for a reader who lives in `this_year`."""
    recent = (f"begun in {this_year - RECENT} or later", Conditions(years=Range(this_year - RECENT, None)))
    old = (f"begun by {CLASSIC}", Conditions(years=Range(None, CLASSIC)))
    said = {
        "short": (f"short, at most {SHORT} volumes", Conditions(volumes=Range(None, SHORT))),
        "long": (f"long, at least {LONG} volumes", Conditions(volumes=Range(LONG, None))),
        **dict.fromkeys(("new", "newer", "modern"), recent),
        **dict.fromkeys(("old", "older"), old),
        "digital": ("digital", Conditions(format=DIGITAL)),
    }

    def find(text: str) -> Iterator[Claim]:
        for match in _FOLLOWED.finditer(text):
            elsewhere = _ELSEWHERE.search(text, max(0, match.start() - _REACH), match.start())
            if not elsewhere and _is_theme(match["next"], match["more"] or ""):
                yield Claim(match.start(), match.end("word"), *said[match["word"]], loose=match["word"] != "digital")

    return find


def _is_theme(word: str, more: str) -> bool:
    """Whether a theme or a readership begins with the word."""
    if any(wording.match(word + more) for wording in GENRES.values()):
        return True
    themes = ThemeTable.load().themes(word + more)
    return bool(themes) and themes[0].phrase.split()[0] == stem(word.split("-")[0])
