"""How surely a query is the name of a title: as it stands, as a nickname, spelled in katakana, or beside its author."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tools.store.search.arrays import Floats
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import AskedNames, Candidates
from tools.store.search.ranking.series import series_of
from tools.store.search.ranking.weights import Weights
from tools.store.search.text.romaji import sound_key


def names_evidence(query: ParsedQuery, candidates: Candidates, weights: Weights) -> Floats:
    """The likeness of each title to what the query names; the series of the one that is surely named comes with it."""
    names = _likeness(candidates, asked_names(query, weights), query.subject)
    for author, name in query.titles_beside_authors():
        names = np.maximum(names, _beside_author(candidates, author, name, weights))
    named = surely_called(names, candidates.prior, weights)
    if named is None:
        return names
    series = np.float32(weights.series_of_named) * series_of(named, candidates, weights)
    return np.asarray(np.maximum(names, series), np.float32)


def asked_names(query: ParsedQuery, weights: Weights) -> AskedNames:
    """The sound keys that the query may be a name by, with what each counts."""
    return _with_aliases(query.names, query.aliases, weights)


def pointed_from(name: str, aliases: Iterable[str], candidates: Candidates, weights: Weights) -> int | None:
    """The row of the best known title that is called `name`, or that `name` is a nickname of, if one is."""
    asked = _with_aliases([sound_key(name)], aliases, weights)
    return surely_called(_likeness(candidates, asked, name), candidates.prior, weights)


def surely_called(names: Floats, prior: Floats, weights: Weights) -> int | None:
    """The row of the best known of the titles that are surely called so, if one is."""
    if not len(names):
        return None
    best = int(np.argmax(names + np.float32(weights.surely_called_prior) * prior))
    return best if names[best] >= weights.surely_called else None


def _with_aliases(keys: Iterable[str], aliases: Iterable[str], weights: Weights) -> AskedNames:
    return [*((key, 1.0) for key in keys), *((key, weights.alias) for key in aliases)]


def _likeness(candidates: Candidates, asked: AskedNames, text: str) -> Floats:
    return np.maximum(candidates.named(asked), candidates.spelled_in_katakana(text))


def _beside_author(candidates: Candidates, author: str, name: str, weights: Weights) -> Floats:
    """Likeness to `name` among the works of whoever has the name `author`."""
    theirs = candidates.written_by(author)
    if not theirs.any():
        return np.zeros(len(theirs), np.float32)
    near = candidates.named([(sound_key(name), weights.beside_author)], theirs)
    return np.where(theirs, np.maximum(near, candidates.spelled_in_katakana(name)), np.float32(0.0)).astype(np.float32)
