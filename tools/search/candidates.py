"""The evidence of titles that an engine has already recalled: for engines that answer with hits and not with all scores.

Such an engine (OpenSearch) runs three queries of its own over the fields of `index_fields`: grams or fuzzy terms of `names`,
terms of `prose` and `authors`, and the nearest vectors. Their hits, joined, are the candidates; this gives each the same
numbers that the embedded engine computes for its whole shelf, and `tools.search.fusion` does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tools.models import Title
from tools.search.document import prior, prose_terms
from tools.search.evidence import Evidence, Floats
from tools.search.loans import MIN_CONSONANTS, consonants, is_loan
from tools.search.names import ALIAS_FACTOR, NameKeys, likeness, loan_likeness, name_keys
from tools.search.naming import AskedAuthor
from tools.search.people import AuthorKeys, author_keys
from tools.search.query import Reading
from tools.search.romaji import sound_key


def index_fields(title: Title) -> dict[str, list[str]]:
    """What an engine indexes of a title beside its record, ready-made terms all: exact keys of `names`, `authors` (whole
    spellings and parts), and `prose` terms, each once.
    """
    named = name_keys(title)
    people = [author_keys(author) for author in title.authors]
    return {
        "names": [*named.whole, *named.main],
        "authors": sorted({key for keys in people for key in (*keys.spellings, *keys.parts)}),
        "prose": list(prose_terms(title)),
    }


@dataclass(frozen=True, slots=True)
class Known:
    """What a title's evidence is drawn from: an engine may keep it, since making the keys is the costly part."""

    names: NameKeys
    authors: tuple[AuthorKeys, ...]
    tags: frozenset[str]
    genre: str | None
    prior: float


def known(title: Title) -> Known:
    authors = tuple(author_keys(author) for author in title.authors)
    return Known(name_keys(title), authors, frozenset(title.tags), title.genre, prior(title))


def evidence_for(
    reading: Reading,
    titles: Sequence[Title | Known],
    words: Floats,
    meaning: Floats | None = None,
    headline: Floats | None = None,
    named: Sequence[float] | None = None,
) -> Evidence:
    """Arrays in the order of `titles`. `words`, `meaning` and `headline` come from the engine, scaled as Evidence says;
    `named` are the titles' `nearest_name`, where somebody has them already."""
    asked = AskedAuthor(reading)
    seen = [title if isinstance(title, Known) else known(title) for title in titles]
    if named is None:
        named = [nearest_name(reading, each.names) for each in seen]
    spelled = [spelled_in_katakana(reading.core, all_keys(each.names)) for each in seen]
    return Evidence(
        names=np.maximum(np.array(named, np.float32), np.array(spelled, np.float32)),
        people=np.array([_by(asked, each) for each in seen], np.float32),
        words=words,
        tags=np.array([_tagged(reading, each) for each in seen], np.float32),
        meaning=meaning,
        headline=headline,
        prior=np.array([each.prior for each in seen], np.float32),
    )


def _by(asked: AskedAuthor, title: Known) -> float:
    return max((asked.sureness(keys) for keys in title.authors), default=0.0)


def nearest_name(reading: Reading, names: NameKeys) -> float:
    """How near one of the names that the query may be is to one of these, 0 to 1: the costly part of the evidence."""
    asked = [(key, 1.0) for key in reading.names] + [(key, ALIAS_FACTOR) for key in reading.aliases]
    return max((factor * likeness(key, names) for key, factor in asked), default=0.0)


def all_keys(names: NameKeys) -> tuple[str, ...]:
    return (*names.whole, *names.main)


def spelled_in_katakana(core: str, keys: Sequence[str]) -> float:
    """How near a text in katakana is to the nearest Latin name that it may spell; 0 where it is none."""
    skeleton = _skeleton(core)
    if len(skeleton) < MIN_CONSONANTS:
        return 0.0
    alike = (key for key in keys if key.isascii() and consonants(key) == skeleton)
    return max((loan_likeness(sound_key(core), key) for key in alike), default=0.0)


@lru_cache(maxsize=256)
def _skeleton(core: str) -> str:
    """Asked for each candidate of a query: read once."""
    return consonants(core) if is_loan(core) else ""


def _tagged(reading: Reading, title: Known) -> float:
    met = [not set(tags).isdisjoint(title.tags) for tags in reading.themes]
    if reading.genre is not None:
        met.append(title.genre == reading.genre)
    return sum(met) / len(met) if met else 0.0
