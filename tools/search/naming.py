"""How surely a query names an author, when nobody said that it does."""

from __future__ import annotations

from rapidfuzz.distance import OSA

from tools.search.people import AskedName, AuthorKeys
from tools.search.query import Reading
from tools.search.text import has_kanji

_WHOLE, _INSIDE_LATIN, _INSIDE_KANJI, _FAMILY, _TYPO = 1.0, 0.97, 0.95, 0.85, 0.95
_LEAST_TYPO = 0.84
_SHORTEST_FAMILY, _SHORTEST_KANJI = 4, 3
TYPO_LENGTHS = range(5, 41)
"""Sound keys of these lengths are compared letter by letter."""


class AskedAuthor:
    """The author that a query may be about, read once and held against many."""

    def __init__(self, reading: Reading) -> None:
        self.name = AskedName(reading.author or reading.core)
        self._told = reading.author is not None

    def sureness(self, keys: AuthorKeys) -> float:
        """How surely the query is about the author with these keys, 0 to 1.

        1: it is the name, or the wording asks for an author who has it. About 0.95: the whole name stands inside the query,
        or it is the name with a typo. 0.85: the query is a family name and nothing else, which may as well be a title.
        """
        if self.name.key in keys.spellings or (self._told and self.name.fits(keys)):
            return _WHOLE
        key, spellings = self.name.key, keys.spellings
        return max(_latin(self.name.words, keys.parts), _kanji(key, spellings), _typo(key, spellings))


def _latin(asked: list[str], parts: frozenset[str]) -> float:
    shared = len(parts.intersection(asked))
    if shared >= 2 and shared == len(parts):
        return _INSIDE_LATIN
    return _FAMILY if shared == len(asked) == 1 and len(asked[0]) >= _SHORTEST_FAMILY else 0.0


def _kanji(key: str, spellings: tuple[str, ...]) -> float:
    written = [s for s in spellings if has_kanji(s)]
    if any(len(s) >= _SHORTEST_KANJI and s in key for s in written):
        return _INSIDE_KANJI
    return _FAMILY if len(key) >= 2 and any(s.startswith(key) or s.endswith(key) for s in written) else 0.0


def _typo(key: str, spellings: tuple[str, ...]) -> float:
    if len(key) not in TYPO_LENGTHS:
        return 0.0
    near = max((float(OSA.normalized_similarity(key, s)) for s in spellings), default=0.0)
    return _TYPO * near if near >= _LEAST_TYPO else 0.0
