"""Recalled titles as ranking and taste see them (`Candidates` and `TasteCandidates` of `tools.store.search`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.documents import Card
from tools.store.backends.opensearch.dsl import cosine_of
from tools.store.backends.opensearch.state import Statistics
from tools.store.backends.opensearch.title_cache import Answer, Entry
from tools.store.models import Author
from tools.store.search.arrays import Floats, Mask
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import AskedNames
from tools.store.search.ranking.names import AskedAuthor
from tools.store.search.ranking.ranked import Ranked
from tools.store.search.taste import Rarity
from tools.store.search.titles.name_table import NameTable
from tools.store.search.titles.people import AskedName, AuthorKeys


def count_matches(ranked: Ranked, allowed: Mask, with_all_themes: int) -> int:
    """The number of titles that match in all. `with_all_themes`: titles of the index that are allowed and have every theme
    of the query; if all of them that were recalled are answers, the others are answers too."""
    if ranked.evidence is None or ranked.nearest:
        return ranked.answers
    themed = (ranked.evidence.tags == 1.0) & allowed
    if not themed.any() or not np.all(ranked.scores[themed] > 0):
        return ranked.answers
    return ranked.answers + max(0, with_all_themes - int(np.count_nonzero(themed)))


@dataclass(slots=True)
class Recalled:
    """Recalled titles by id. `senses`: cosines by id, None where meaning was not asked for."""

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
        """Reads the cosines of a search for vectors. Raises LookupError, TypeError and ValueError for malformed answers."""
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
        """All spellings of its authors' names."""
        return frozenset(spelling for author in self.card.keys.authors for spelling in author.spellings)


class RecalledTitles:
    """`Candidates` in the order of `ids`.

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


class CardTaste:
    """`TasteCandidates` in the order of `entries`."""

    def __init__(self, entries: Sequence[tuple[str, Entry]], rarity: Rarity) -> None:
        self._ids: list[str] = [title_id for title_id, _ in entries]
        self._cards: list[Card] = [entry.card for _, entry in entries]
        self._units = [rarity.unit(card.keys.tags) for card in self._cards]
        self.prior = np.array([card.keys.prior for card in self._cards], np.float32)

    def sharing(self, tags: Mapping[str, float]) -> Floats:
        shared = [sum(weight * tags.get(tag, 0.0) for tag, weight in unit.items()) for unit in self._units]
        return np.array(shared, np.float32)

    def tagged(self, tags: Sequence[str]) -> Mask:
        return np.array([not card.keys.tags.isdisjoint(tags) for card in self._cards], np.bool_)

    def of_readerships(self, shares: Mapping[str, float]) -> Floats:
        return np.array([shares.get(card.facts.genre or "", 0.0) for card in self._cards], np.float32)

    def of_magazines(self, shares: Mapping[str, float]) -> Floats:
        return np.array([shares.get(card.facts.magazine or "", 0.0) for card in self._cards], np.float32)

    def of_authors(self, shares: Mapping[str, float]) -> Floats:
        spelled = {AuthorKeys.of(Author(name)).spellings[0]: share for name, share in shares.items()}
        return np.array([max((_share(a, spelled) for a in c.keys.authors), default=0.0) for c in self._cards], np.float32)

    def near_years(self, years: Mapping[int, float], span: float) -> Floats:
        return np.array([_near(card.facts.year, years, span) for card in self._cards], np.float32)

    def worth(self, fits: Mapping[str, float]) -> Floats:
        return np.array([fits.get(title_id, 0.0) for title_id in self._ids], np.float32)


def _share(author: AuthorKeys, spelled: Mapping[str, float]) -> float:
    return max((spelled.get(spelling, 0.0) for spelling in author.spellings), default=0.0)


def _near(year: int | None, years: Mapping[int, float], span: float) -> float:
    return 0.0 if year is None else sum(share * math.exp(-abs(year - each) / span) for each, share in years.items())
