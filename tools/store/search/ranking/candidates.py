"""The titles that a backend recalled, as ranking sees them.

One backend holds its whole catalogue and answers for every title, another has found a few hundred of them: both are ranked
by the same rules (`ranking.ranked`). A new backend makes these of what it finds, and nothing else of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tools.store.search.columns import Columns, Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.titles.names import NameTable


class People(Protocol):
    """The authors of the candidates."""

    def measure_authorship(self, query: ParsedQuery) -> Floats:
        """How surely the query names an author of each title (`ranking.names.AskedAuthor`)."""
        ...

    def written_by(self, name: str) -> Mask:
        """The titles of authors who have this name (`titles.people.is_author`)."""
        ...


class Words(Protocol):
    """The texts of the candidates."""

    def measure_coverage(self, asked: Sequence[Sequence[str]]) -> Floats:
        """Share of the asked words' idf mass that a title's text covers. Each is one term, or several that translate it, any
        of which will do: they count as one word that is as frequent as all of them (Pirkola 1998)."""
        ...

    def in_vocabulary(self, terms: Sequence[str]) -> float | None:
        """Share of the terms' idf mass in terms that any title has; None if the backend can't say."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every array has one row a title, numbers from 0 to 1. Between equals the earlier row goes first. `senses`: cosines,
    -1 to 1, of the query with each title's best passage and with its headline; None without vectors. `by_same_author`: the
    works of the authors whom the query points to by one of their titles; None where it points to none. Read only; safe to
    share between threads."""

    columns: Columns
    names: NameTable
    people: People
    words: Words
    senses: tuple[Floats, Floats] | None = None
    by_same_author: Mask | None = None

    @property
    def prior(self) -> Floats:
        """How well known each title is."""
        return self.columns.prior

    def mask_tagged(self, tags: Sequence[str]) -> Mask:
        """The titles that carry one of the tags."""
        return self.columns.any_of("tags", tags)
