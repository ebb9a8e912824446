"""How surely a query is the name of a title: as it stands, as a nickname, spelled in katakana, or beside its author."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import AskedNames, Candidates
from tools.store.search.ranking.series import series_of
from tools.store.search.ranking.weights import Weights
from tools.store.search.text.loanwords import is_loanword
from tools.store.search.text.readings import readings
from tools.store.search.text.romaji import sound_key


def names_evidence(query: ParsedQuery, candidates: Candidates, weights: Weights) -> Floats:
    """The likeness of each title to what the query names; the series of the one that is surely named comes with it."""
    names = _likeness(candidates, asked_names(query, weights), query.subject)
    names = np.maximum(names, read_as(query, candidates, weights))
    for author, name in query.titles_beside_authors():
        theirs = candidates.written_by(author)
        if theirs.any():
            beside = _likeness(candidates, [(sound_key(name), weights.beside_author)], name, theirs)
            names = np.maximum(names, np.where(theirs, beside, np.float32(0.0)))
    named = surely_called(names, candidates.prior, weights)
    if named is None:
        return names
    series = np.float32(weights.series_of_named) * series_of(named, candidates, weights)
    return np.asarray(np.maximum(names, series), np.float32)


def read_as(query: ParsedQuery, candidates: Candidates, weights: Weights) -> Floats:
    """The likeness of titles that the query may be read as; a theme is not read as a name."""
    if not query.readings or query.theme_share > weights.theme_only:
        return np.zeros_like(candidates.prior)
    return _read_as(query.readings, candidates, weights)


def _read_as(readings: tuple[str, ...], candidates: Candidates, weights: Weights) -> Floats:
    """A whole name that is one of the readings, or one that is surely like the likeliest."""
    begun = candidates.beginning_with(readings)
    whole = np.where(begun >= weights.read_whole, begun, np.float32(0.0))
    like = candidates.named([(key, 1.0) for key in readings[:1]])
    sure = np.where(like >= weights.sure_name, np.float32(weights.read_like) * like, np.float32(0.0))
    return (np.float32(weights.read) * np.maximum(whole, sure)).astype(np.float32)


def asked_names(query: ParsedQuery, weights: Weights) -> AskedNames:
    """The sound keys that the query may be a name by, with what each counts."""
    return _with_aliases(query.names, query.aliases, weights)


def pointed_from(name: str, aliases: Iterable[str], candidates: Candidates, weights: Weights) -> int | None:
    """The row of the best known title that is called `name`, or that `name` is a nickname of, if one is."""
    asked = _with_aliases([sound_key(name)], aliases, weights)
    called = _likeness(candidates, asked, name)
    if read := readings(name):
        called = np.maximum(called, _read_as(read, candidates, weights))
    return surely_called(called, candidates.prior, weights)


def surely_called(names: Floats, prior: Floats, weights: Weights) -> int | None:
    """The row of the best known of the titles that are surely called so, if one is."""
    if not len(names):
        return None
    best = int(np.argmax(names + np.float32(weights.surely_called_prior) * prior))
    return best if names[best] >= weights.surely_called else None


def _with_aliases(keys: Iterable[str], aliases: Iterable[str], weights: Weights) -> AskedNames:
    return [*((key, 1.0) for key in keys), *((key, weights.alias) for key in aliases)]


def _likeness(candidates: Candidates, asked: AskedNames, text: str, among: Mask | None = None) -> Floats:
    """How near each title's names are to what is asked, or to what `text` spells in katakana."""
    named = candidates.named(asked, among)
    return np.maximum(named, candidates.spelled_in_katakana(text)) if is_loanword(text) else named
