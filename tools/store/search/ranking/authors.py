"""How surely a query names an author, when nobody said that it does."""

from __future__ import annotations

from math import ceil, floor

from rapidfuzz.distance import OSA

from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.readings import readings
from tools.store.search.titles.people import AskedName, AuthorKeys

_WHOLE, _INSIDE_LATIN, _INSIDE_KANJI, _ONE_WORD, _FAMILY, _TYPO = 1.0, 0.97, 0.95, 0.95, 0.85, 0.95
_LEAST_TYPO = 0.84
_READ, _LESS_LIKELY, _SHORTEST_READING = 0.93, 0.003, 4
"""Kanji that may be read as the whole name, a little less for each reading that is likelier."""
_SHORTEST_FAMILY, _SHORTEST_KANJI = 3, 3
TYPO_LENGTHS = range(5, 41)
"""Sound keys of these lengths are compared letter by letter."""


class AskedAuthor:
    """The author that a query may be about, read once and held against many."""

    def __init__(self, query: ParsedQuery) -> None:
        self.name = AskedName(query.author or query.subject)
        self._told = query.author is not None
        self._typo_lengths = _typo_lengths(len(self.name.key))
        likeliest = (key for key in readings(query.author or query.subject) if len(key) >= _SHORTEST_READING)
        self.readings = {key: _READ - _LESS_LIKELY * place for place, key in enumerate(likeliest)}

    def sureness(self, keys: AuthorKeys) -> float:
        """How surely the query is about the author with these keys, 0 to 1.

        1: it is the name, or the wording asks for an author who has it. About 0.95: the whole name stands inside the query,
        or it is the name with a typo, or a name of one word, which may be somebody else's family name. 0.85: the query is a
        family name and nothing else, which may as well be a title.
        """
        if self._told and self.name.fits(keys):
            return _WHOLE
        if self.name.key in keys.spellings:
            return _ONE_WORD if len(keys.parts) == len(self.name.words) == 1 else _WHOLE
        key, sure = self.name.key, _latin(self.name.words, keys.parts)
        for spelling in keys.spellings:
            sure = max(sure, self.readings.get(spelling, 0.0))
            if spelling in key or key in spelling:
                sure = max(sure, _kanji(key, spelling))
            if len(spelling) in self._typo_lengths:
                sure = max(sure, _TYPO * OSA.normalized_similarity(key, spelling, score_cutoff=_LEAST_TYPO))
        return max(sure, self._read_as_family(keys)) if self._told else sure

    def _read_as_family(self, keys: AuthorKeys) -> float:
        """Where the wording asks for an author, kanji may be read as a part of the name."""
        return 0.0 if keys.parts.isdisjoint(self.readings) else _FAMILY


def _latin(asked: list[str], parts: frozenset[str]) -> float:
    if parts.isdisjoint(asked):
        return 0.0
    shared = len(parts.intersection(asked))
    if shared >= 2 and shared == len(parts):
        return _INSIDE_LATIN
    return _FAMILY if shared == len(asked) == 1 and len(asked[0]) >= _SHORTEST_FAMILY else 0.0


def _kanji(key: str, spelling: str) -> float:
    """For a spelling that is inside the key, or the other way round."""
    if not has_kanji(spelling):
        return 0.0
    if len(spelling) >= _SHORTEST_KANJI and spelling in key:
        return _INSIDE_KANJI
    return _FAMILY if len(key) >= 2 and (spelling.startswith(key) or spelling.endswith(key)) else 0.0


def _typo_lengths(length: int) -> range:
    """How long a spelling may be that a key of this length is nearly: each letter more or less is an edit."""
    if length not in TYPO_LENGTHS:
        return range(0)
    return range(floor(_LEAST_TYPO * length), ceil(length / _LEAST_TYPO) + 1)
