"""All titles as candidates: the catalogue is in memory, so every title is recalled, and the legs answer for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.lexical.index import LexicalIndex
from tools.store.backends.embedded.lexical.names import NamesLeg
from tools.store.backends.embedded.lexical.people import PeopleLeg
from tools.store.backends.embedded.lexical.sparse import SparseIndex
from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import AskedNames


@dataclass(frozen=True, slots=True)
class Legs:
    """What finds titles, each leg by its own means. Read only; safe to share between threads."""

    columns: TitleColumns
    names: NamesLeg
    people: PeopleLeg
    prose: SparseIndex

    @classmethod
    def of(cls, columns: TitleColumns, index: LexicalIndex) -> Legs:
        return cls(columns, NamesLeg(index.names, len(columns)), PeopleLeg(index.people, columns), index.prose)


class WholeCatalog:
    """`tools.store.search.ranking.candidates.Candidates` for one query: a candidate's row is its title's number.

    `senses`: the cosines with the query's vector, where there is one; `pointed`: the title by whose authors the query asks
    for more.
    """

    def __init__(self, legs: Legs, senses: tuple[Floats, Floats] | None = None, pointed: int | None = None) -> None:
        self._legs, self.senses = legs, senses
        self.prior = legs.columns.prior
        self.by_same_author = None if pointed is None else legs.people.works_of_authors(pointed)

    def named(self, asked: AskedNames, among: Mask | None = None) -> Floats:
        return self._legs.names.find(asked, among)

    def spelled_in_katakana(self, text: str) -> Floats:
        return self._legs.names.spelled_in_katakana(text)

    def beginning_with(self, keys: tuple[str, ...]) -> Floats:
        return self._legs.names.beginning_with(keys)

    def name_keys(self, row: int) -> tuple[str, ...]:
        return self._legs.names.keys_of(row)

    def related_to(self, row: int) -> Mask:
        columns = self._legs.columns
        found = columns.none()
        found[[columns.numbers[i] for i in columns.titles[row].related if i in columns.numbers]] = True
        return found

    def people(self, query: ParsedQuery) -> Floats:
        return self._legs.people.find(query)

    def written_by(self, name: str) -> Mask:
        return self._legs.people.exactly(name)

    def words(self, asked: Sequence[Sequence[str]]) -> Floats:
        return self._legs.prose.covered(asked)

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        return self._legs.prose.in_vocabulary(dict.fromkeys(terms, 1.0))

    def tagged(self, tags: Sequence[str]) -> Mask:
        return self._legs.columns.tagged(tags)

    def of_genre(self, genre: str) -> Mask:
        return self._legs.columns.of_genre(genre)
