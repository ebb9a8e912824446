"""The titles that a backend recalled, as ranking sees them.

One backend holds its whole catalogue and answers for every title, another has found a few hundred of them: both are ranked
by the same rules (`ranking.ranked`). A new backend implements this and nothing else of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery

AskedNames = Sequence[tuple[str, float]]
"""Sound keys that may be a title's name, each with what it counts."""


class Candidates(Protocol):
    """Every array has one row a title, numbers from 0 to 1. Between equals the earlier row goes first."""

    @property
    def prior(self) -> Floats:
        """How well known each title is."""
        ...

    @property
    def senses(self) -> tuple[Floats, Floats] | None:
        """Cosines, -1 to 1, of the query with each title's best passage and with its headline; None without vectors."""
        ...

    @property
    def by_same_author(self) -> Mask | None:
        """The works of the authors whom the query points to by one of their titles; None where it points to none."""
        ...

    def named(self, asked: AskedNames, among: Mask | None = None) -> Floats:
        """How near the nearest of the `asked` names is to a title's nearest name; 0 for titles not `among` those."""
        ...

    def spelled_in_katakana(self, text: str) -> Floats:
        """How near a text in katakana is to the Latin name that it may spell; asked for nothing else."""
        ...

    def beginning_with(self, keys: tuple[str, ...]) -> Floats:
        """How much of a title's name the nearest of the sound `keys` is, where one begins it; 0 elsewhere."""
        ...

    def name_keys(self, row: int) -> tuple[str, ...]:
        """The sound keys of one title's names."""
        ...

    def related_to(self, row: int) -> Mask:
        """The titles that the catalogue itself relates to this one."""
        ...

    def people(self, query: ParsedQuery) -> Floats:
        """How surely the query names an author of each title (`ranking.names.AskedAuthor`)."""
        ...

    def written_by(self, name: str) -> Mask:
        """The titles of authors who have this name (`titles.people.is_author`)."""
        ...

    def words(self, asked: Sequence[Sequence[str]]) -> Floats:
        """Share of the asked words' idf mass that a title's text covers. Each is one term, or several that translate it, any
        of which will do: they count as one word that is as frequent as all of them (Pirkola 1998)."""
        ...

    def in_vocabulary(self, terms: Sequence[str]) -> float | None:
        """Share of the terms' idf mass in terms that any title has; None if the backend can't say."""
        ...

    def tagged(self, tags: Sequence[str]) -> Mask:
        """The titles that carry one of the tags."""
        ...

    def of_genre(self, genre: str) -> Mask: ...
