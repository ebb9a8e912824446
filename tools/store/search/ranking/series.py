"""A title's series: titles whose names begin with one of its names, and those that the catalogue relates to it. Sequels,
spin-offs and side stories mostly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tools.store.models import Title
from tools.store.search.arrays import Floats
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.weights import Weights
from tools.store.search.text.characters import has_cjk
from tools.store.search.text.prefixes import SortedKeys
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.prior import prior

MOST = 60
"""Titles of one series that are stored with each of them."""
_SHORTEST_CJK, _SHORTEST_LATIN = 3, 6


def series_of(row: int, candidates: Candidates, weights: Weights) -> Floats:
    """Shape (titles,): above 0 for the candidates of the same series as the one in `row`, itself included."""
    begun = candidates.beginning_with(series_keys(candidates.name_keys(row)))
    related = np.float32(weights.related) * candidates.related_to(row)
    return np.asarray(np.maximum(begun, related), np.float32)


def series_keys(names: Sequence[str]) -> tuple[str, ...]:
    """Those of a title's sound keys that are long enough for a name beginning with one to be of its series, not chance."""
    return tuple(key for key in names if len(key) >= (_SHORTEST_CJK if has_cjk(key) else _SHORTEST_LATIN))


class SeriesIndex:
    """The series of every title of a catalogue, for a backend that stores them with its titles."""

    def __init__(self, titles: Sequence[Title]) -> None:
        self._titles = titles
        self._names = [NameKeys.of(title).all for title in titles]
        self._keys = SortedKeys((key, row) for row, keys in enumerate(self._names) for key in keys)
        self._rows: Mapping[str, int] = {title.title_id: row for row, title in enumerate(titles)}
        self._prior = [prior(title) for title in titles]

    def of(self, row: int) -> tuple[str, ...]:
        """Ids of the titles in the series of the title in this row, itself left out; the best known 60, best known first."""
        rows = {self._rows[related] for related in self._titles[row].related if related in self._rows}
        for key in series_keys(self._names[row]):
            rows.update(self._keys.beginning_with(key))
        best_known = sorted(rows - {row}, key=lambda other: (-self._prior[other], other))
        return tuple(self._titles[other].title_id for other in best_known[:MOST])
