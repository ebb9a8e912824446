"""Scores queries as titles' names (as typed, a nickname, in katakana, beside the author) and as authors' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor

import numpy as np
from rapidfuzz.distance import OSA

from tools.store.models import Title
from tools.store.search.columns import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.text.characters import has_cjk, has_kanji
from tools.store.search.text.readings import readings
from tools.store.search.text.romaji import is_loanword, sound_key
from tools.store.search.text.tokens import SortedKeys
from tools.store.search.titles.document import AskedName, AuthorKeys
from tools.store.search.titles.names import NameKeys, prior

AskedNames = Sequence[tuple[str, float]]
"""Sound keys that may be a title's name, each with its weight."""
MOST = 60
"""Most ids of other titles of the same series that are stored with a title."""


def series_of(row: int, candidates: Candidates) -> Floats:
    """Returns an array of shape (titles,), above 0 for candidates of the series of the title in `row`: those whose names
    begin with a name of that title, and those that the catalogue relates to it."""
    begun = candidates.names.beginning_with(series_keys(candidates.names.keys_of(row)))
    related = np.float32(WEIGHTS.related) * candidates.columns.of_ids(candidates.columns.related[row])
    return np.asarray(np.maximum(begun, related), np.float32)


def series_keys(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the sound keys long enough to define a series, which is the titles whose names begin with a key."""
    return tuple(key for key in names if len(key) >= (3 if has_cjk(key) else 6))


class SeriesIndex:
    """Finds the series of each title of a catalogue, for a backend that stores the series with its titles."""

    def __init__(self, titles: Sequence[Title]) -> None:
        self._titles = titles
        self._names = [NameKeys.of(title).all for title in titles]
        self._keys = SortedKeys((key, row) for row, keys in enumerate(self._names) for key in keys)
        self._rows: Mapping[str, int] = {title.title_id: row for row, title in enumerate(titles)}
        self._prior = [prior(title) for title in titles]

    def list_series(self, row: int) -> tuple[str, ...]:
        """Returns the ids of at most `MOST` other titles of the series that the title at `row` belongs to, best known
        first."""
        rows = {self._rows[related] for related in self._titles[row].related if related in self._rows}
        for key in series_keys(self._names[row]):
            rows.update(self._keys.beginning_with(key))
        best_known = sorted(rows - {row}, key=lambda other: (-self._prior[other], other))
        return tuple(self._titles[other].title_id for other in best_known[:MOST])


def names_evidence(query: ParsedQuery, candidates: Candidates) -> Floats:
    """Returns the similarity (0 to 1) of each title's names to the query. The series of a surely named title scores too."""
    names = _likeness(candidates, asked_names(query), query.subject)
    read = () if query.theme_share > WEIGHTS.theme_only else query.readings
    names = np.maximum(names, _match_readings(read, candidates))
    for author, name in query.titles_beside_authors():
        theirs = candidates.people.written_by(author)
        if theirs.any():
            beside = _likeness(candidates, [(sound_key(name), WEIGHTS.beside_author)], name, theirs)
            names = np.maximum(names, np.where(theirs, beside, np.float32(0.0)))
    named = confident_match(names, candidates.prior)
    if named is None:
        return names
    series = np.float32(WEIGHTS.series_of_named) * series_of(named, candidates)
    return np.asarray(np.maximum(names, series), np.float32)


def _match_readings(readings: tuple[str, ...], candidates: Candidates) -> Floats:
    """Returns the similarity of each title's names to `readings` of a text in Japanese script; 0 if no name is near."""
    if not readings:
        return np.zeros_like(candidates.prior)
    begun = candidates.names.beginning_with(readings)
    whole = np.where(begun >= WEIGHTS.read_whole, begun, np.float32(0.0))
    like = candidates.names.likeness([(key, 1.0) for key in readings[:1]])
    sure = np.where(like >= WEIGHTS.sure_name, np.float32(WEIGHTS.read_like) * like, np.float32(0.0))
    return (np.float32(WEIGHTS.read) * np.maximum(whole, sure)).astype(np.float32)


def asked_names(query: ParsedQuery) -> AskedNames:
    return [*((key, 1.0) for key in query.names), *((key, WEIGHTS.alias) for key in query.aliases)]


def reference_row(name: str, aliases: Iterable[str], candidates: Candidates) -> int | None:
    """Returns the row of the title that `name` or one of `aliases` (sound keys) surely names; None if there is none."""
    asked = [(sound_key(name), 1.0), *((key, WEIGHTS.alias) for key in aliases)]
    called = _likeness(candidates, asked, name)
    return confident_match(np.maximum(called, _match_readings(readings(name), candidates)), candidates.prior)


def confident_match(names: Floats, prior: Floats) -> int | None:
    """Returns the row of the title that the query surely names; None if there is none. `names` are the similarities of the
    titles' names to the query, `prior` is fame."""
    if not len(names):
        return None
    best = int(np.argmax(names + np.float32(WEIGHTS.surely_called_prior) * prior))
    return best if names[best] >= WEIGHTS.surely_called else None


def _likeness(candidates: Candidates, asked: AskedNames, text: str, among: Mask | None = None) -> Floats:
    named = candidates.names.likeness(asked, among)
    return np.maximum(named, candidates.names.spelled_in_katakana(text)) if is_loanword(text) else named


_WHOLE, _INSIDE_LATIN, _INSIDE_KANJI, _ONE_WORD, _FAMILY, _TYPO = 1.0, 0.97, 0.95, 0.95, 0.85, 0.95
_LEAST_TYPO = 0.84
_READ, _LESS_LIKELY, _SHORTEST_READING = 0.93, 0.003, 4
"""Confidence in a reading of kanji as the whole name, its loss for each likelier reading, and a reading's least length."""
_SHORTEST_FAMILY, _SHORTEST_KANJI = 3, 3
TYPO_LENGTHS = range(5, 41)
"""Lengths of the sound keys that are compared letter by letter, for typos."""


class AskedAuthor:
    """A query read as an author's name, parsed once to be compared with many authors."""

    def __init__(self, query: ParsedQuery) -> None:
        self.name = AskedName(query.author or query.subject)
        self._told = query.author is not None
        self._typo_lengths = _typo_lengths(len(self.name.key))
        likeliest = (key for key in readings(query.author or query.subject) if len(key) >= _SHORTEST_READING)
        self.readings = {key: _READ - _LESS_LIKELY * place for place, key in enumerate(likeliest)}

    def sureness(self, keys: AuthorKeys) -> float:
        """Returns the confidence (0 to 1) that the query names the author with these keys. 1: the query is the author's
        name, or its wording asks for an author ("by …") and the name fits. About 0.95: the query contains the whole name, or
        equals a name of one word, which may also be a family name. About 0.93: the name is a likely reading of its kanji.
        0.80 to 0.93, by length: the query is the name with typos. 0.85: the query is only one part of the name, such as the
        family name, which may also be a title. 0: none of these."""
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
        return sure if not self._told or keys.parts.isdisjoint(self.readings) else max(sure, _FAMILY)


def _latin(asked: list[str], parts: frozenset[str]) -> float:
    if parts.isdisjoint(asked):
        return 0.0
    shared = len(parts.intersection(asked))
    if shared >= 2 and shared == len(parts):
        return _INSIDE_LATIN
    return _FAMILY if shared == len(asked) == 1 and len(asked[0]) >= _SHORTEST_FAMILY else 0.0


def _kanji(key: str, spelling: str) -> float:
    if not has_kanji(spelling):
        return 0.0
    if len(spelling) >= _SHORTEST_KANJI and spelling in key:
        return _INSIDE_KANJI
    return _FAMILY if len(key) >= 2 and (spelling.startswith(key) or spelling.endswith(key)) else 0.0


def _typo_lengths(length: int) -> range:
    if length not in TYPO_LENGTHS:
        return range(0)
    return range(floor(_LEAST_TYPO * length), ceil(length / _LEAST_TYPO) + 1)
