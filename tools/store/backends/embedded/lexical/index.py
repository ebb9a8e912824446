"""The lexical index of a catalogue: names by character grams, prose by words, and what exact filters need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.columns import authors_of
from tools.store.backends.embedded.lexical.sparse import SparseIndex, build
from tools.store.models import Title
from tools.store.search.text.tokens import grams
from tools.store.search.titles.document import prose_terms
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AuthorKeys

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class NameRows:
    """One row a name, in the order of the titles: `keys[r]` is a sound key of title `titles[r]`; `main` marks parts before
    a subtitle."""

    keys: Sequence[str]
    titles: Ints
    main: NDArray[np.bool_]
    grams: SparseIndex


@dataclass(frozen=True, slots=True)
class PeopleRows:
    """One row a spelling of an author's name: its sound key, or one part of the Latin name (`part`), and the author's
    number (TitleColumns.authors).
    """

    keys: Sequence[str]
    authors: Ints
    part: NDArray[np.bool_]
    grams: SparseIndex


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """Everything that is costly to compute from the titles and worth keeping on disk."""

    names: NameRows
    people: PeopleRows
    prose: SparseIndex


def build_index(titles: Sequence[Title]) -> LexicalIndex:
    """Takes about 0.3 ms a title."""
    return LexicalIndex(_names(titles), _people(titles), build((prose_terms(t) for t in titles), b=0.25))


def _names(titles: Sequence[Title]) -> NameRows:
    keys: list[str] = []
    owners: list[int] = []
    main: list[bool] = []
    for number, title in enumerate(titles):
        named = NameKeys.of(title)
        for part, group in ((False, named.whole), (True, named.main)):
            keys.extend(group)
            owners.extend([number] * len(group))
            main.extend([part] * len(group))
    return NameRows(keys, np.array(owners, np.int32), np.array(main, np.bool_), gram_index(keys))


def _people(titles: Sequence[Title]) -> PeopleRows:
    keys: list[str] = []
    owners: list[int] = []
    parts: list[bool] = []
    for number, author in enumerate(authors_of(titles)):
        named = AuthorKeys.of(author)
        for part, group in ((False, named.spellings), (True, tuple(sorted(named.parts)))):
            keys.extend(group)
            owners.extend([number] * len(group))
            parts.extend([part] * len(group))
    whole = [key if not part else "" for key, part in zip(keys, parts, strict=True)]
    return PeopleRows(keys, np.array(owners, np.int32), np.array(parts, np.bool_), gram_index(whole))


def gram_index(keys: Sequence[str]) -> SparseIndex:
    """Rows by the set of their grams, each gram weighted by its idf alone."""
    return build((dict.fromkeys(grams(key), 1.0) if key else {} for key in keys), k1=0.0, b=0.0)
