"""The evidence of titles that an engine has already recalled: for engines that answer with hits and not with all scores.

Such an engine (OpenSearch) recalls by names, prose, authors and vectors, each generously. The hits, joined, are the
candidates; this gives each the same numbers that the embedded engine computes for its whole shelf, and `fusion`
does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.store.models import Title
from tools.store.search.document import prior
from tools.store.search.evidence import Evidence, Floats
from tools.store.search.name_table import NameTable
from tools.store.search.names import ALIAS_FACTOR, NameKeys, name_keys
from tools.store.search.naming import AskedAuthor
from tools.store.search.people import AuthorKeys, author_keys
from tools.store.search.query import ParsedQuery


@dataclass(frozen=True, slots=True)
class TitleKeys:
    """What a title's evidence is drawn from: an engine may keep it, since making the keys is the costly part."""

    names: NameKeys
    authors: tuple[AuthorKeys, ...]
    tags: frozenset[str]
    genre: str | None
    prior: float


def known(title: Title) -> TitleKeys:
    authors = tuple(author_keys(author) for author in title.authors)
    return TitleKeys(name_keys(title), authors, frozenset(title.tags), title.genre, prior(title))


def evidence_for(
    reading: ParsedQuery,
    titles: Sequence[Title | TitleKeys],
    words: Floats,
    meaning: Floats | None = None,
    headline: Floats | None = None,
    table: NameTable | None = None,
) -> Evidence:
    """Arrays in the order of `titles`. `words`, `meaning` and `headline` come from the engine, scaled as Evidence says;
    `table` is that of the titles' names, where somebody has it already."""
    asked = AskedAuthor(reading)
    seen = [title if isinstance(title, TitleKeys) else known(title) for title in titles]
    names = table or NameTable(each.names for each in seen)
    return Evidence(
        names=np.maximum(names.likeness(asked_names(reading)), names.spelled_in_katakana(reading.core)),
        people=np.array([_by(asked, each) for each in seen], np.float32),
        words=words,
        tags=np.array([_tagged(reading, each) for each in seen], np.float32),
        meaning=meaning,
        headline=headline,
        prior=np.array([each.prior for each in seen], np.float32),
    )


def asked_names(reading: ParsedQuery) -> list[tuple[str, float]]:
    """The sound keys that the query may be a name by, with what each counts."""
    return [(key, 1.0) for key in reading.names] + [(key, ALIAS_FACTOR) for key in reading.aliases]


def _by(asked: AskedAuthor, title: TitleKeys) -> float:
    return max((asked.sureness(keys) for keys in title.authors), default=0.0)


def _tagged(reading: ParsedQuery, title: TitleKeys) -> float:
    met = [not title.tags.isdisjoint(tags) for tags in reading.themes]
    if reading.genre is not None:
        met.append(title.genre == reading.genre)
    return sum(met) / len(met) if met else 0.0
