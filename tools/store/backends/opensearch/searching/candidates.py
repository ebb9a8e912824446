"""What a search has recalled so far, and what the ranking is told of it. Pure, and quick: a millisecond for a hundred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tools.store.backends.opensearch.index.cards import Card
from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.index.statistics import Statistics
from tools.store.backends.opensearch.queries.nearest import cosine_of
from tools.store.backends.opensearch.searching.title_cache import Answer, Entry
from tools.store.search.arrays import Floats, Mask
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.authors import AskedAuthor
from tools.store.search.ranking.candidates import AskedNames
from tools.store.search.titles.name_table import NameTable
from tools.store.search.titles.people import AskedName


@dataclass(slots=True)
class Recalled:
    """Titles that were recalled, by id, and which of them satisfy the conditions.

    `senses`: cosines by id, None where meaning was not asked for.
    """

    conditions: Check
    entries: dict[str, Entry] = field(default_factory=dict)
    senses: dict[str, float] | None = None
    _admitted: dict[str, bool] = field(default_factory=dict)

    def allowed(self, ids: Sequence[str]) -> Mask:
        """Shape (ids,): which of these titles satisfy the conditions."""
        admitted = self._admitted
        for title_id in ids:
            if title_id not in admitted:
                admitted[title_id] = self.conditions.admit(self.entries[title_id].card.facts)
        return np.array([admitted[title_id] for title_id in ids], np.bool_)

    def take_senses(self, answer: Answer) -> None:
        """The scores of a search for vectors. Raises LookupError, TypeError and ValueError for what is none of ours."""
        senses = self.senses if self.senses is not None else {}
        for hit in answer["hits"]["hits"]:
            senses[str(hit["fields"][ID][0])] = cosine_of(float(hit["_score"]))
        self.senses = senses

    def ordered(self) -> list[str]:
        """Ids in the order of the catalogue file, which decides between equals."""
        return sorted(self.entries, key=lambda title_id: self.entries[title_id].card.place)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The title that a query points from ("like …", "by the author of …"). `direction`: where its vectors point."""

    title_id: str
    card: Card
    direction: Floats | None

    def spellings(self) -> frozenset[str]:
        """Of its authors' names."""
        return frozenset(spelling for author in self.card.keys.authors for spelling in author.spellings)


class RecalledTitles:
    """`tools.store.search.ranking.candidates.Candidates` in the order of `ids`.

    `senses`: cosines in that order, None without any; a stored sense is passage and headline in one. `anchor`: the title by
    whose authors the query asks for more.
    """

    def __init__(
        self,
        ids: Sequence[str],
        cards: Sequence[Card],
        statistics: Statistics,
        senses: Floats | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        self.ids, self.cards, self._statistics = ids, cards, statistics
        self.senses = None if senses is None else (senses, senses)
        self.prior = np.array([card.keys.prior for card in cards], np.float32)
        self._names = NameTable(card.keys.names for card in cards)
        self.by_same_author = None if anchor is None else self._with_spelling(anchor.spellings())

    @classmethod
    def of(cls, recalled: Recalled, statistics: Statistics, anchor: Anchor | None) -> RecalledTitles:
        ids, senses = recalled.ordered(), recalled.senses
        cosines = None if senses is None else np.array([senses.get(i, 0.0) for i in ids], np.float32)
        return cls(ids, [recalled.entries[i].card for i in ids], statistics, cosines, anchor)

    def named(self, asked: AskedNames, among: Mask | None = None) -> Floats:
        near = self._names.likeness(asked)
        return near if among is None else np.where(among, near, np.float32(0.0))

    def spelled_in_katakana(self, text: str) -> Floats:
        return self._names.spelled_in_katakana(text)

    def beginning_with(self, keys: tuple[str, ...]) -> Floats:
        return self._names.beginning_with(keys)

    def name_keys(self, row: int) -> tuple[str, ...]:
        return self.cards[row].keys.names.all

    def related_to(self, row: int) -> Mask:
        related = self.cards[row].related
        return np.array([title_id in related for title_id in self.ids], np.bool_)

    def people(self, query: ParsedQuery) -> Floats:
        asked = AskedAuthor(query)
        sureness = [max(map(asked.sureness, card.keys.authors), default=0.0) for card in self.cards]
        return np.array(sureness, np.float32)

    def written_by(self, name: str) -> Mask:
        asked = AskedName(name)
        return np.array([any(map(asked.fits, card.keys.authors)) for card in self.cards], np.bool_)

    def words(self, asked: Sequence[Sequence[str]]) -> Floats:
        return self._statistics.covered(asked, [card.prose for card in self.cards])

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        return self._statistics.in_vocabulary(terms)

    def tagged(self, tags: Sequence[str]) -> Mask:
        return np.array([not card.keys.tags.isdisjoint(tags) for card in self.cards], np.bool_)

    def of_genre(self, genre: str) -> Mask:
        return np.array([card.keys.genre == genre for card in self.cards], np.bool_)

    def _with_spelling(self, spellings: frozenset[str]) -> Mask:
        """Titles of which an author's name is spelled in one of these ways."""
        theirs = [any(not spellings.isdisjoint(keys.spellings) for keys in card.keys.authors) for card in self.cards]
        return np.array(theirs, np.bool_)
