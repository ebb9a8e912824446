"""Recalled titles as ranking and taste see them (`Candidates` and `Columns` of `tools.store.search`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.documents import Card
from tools.store.backends.opensearch.dsl import cosine_of
from tools.store.backends.opensearch.state import Statistics
from tools.store.backends.opensearch.title_cache import Answer, Entry
from tools.store.models import Author
from tools.store.search.arrays import Floats, Mask
from tools.store.search.columns import Columns, Numbers, having
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import AskedAuthor
from tools.store.search.ranking.ranked import Ranked
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

    def cards(self, ids: Sequence[str]) -> list[Card]:
        return [self.entries[title_id].card for title_id in ids]

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
        return frozenset(spelling for author in self.card.facts.authors for spelling in author.spellings)


class CardValues(dict[str, dict[str, Numbers]]):
    """As `Columns.having`, each field read when it is first asked for."""

    def __init__(self, cards: Sequence[Card]) -> None:
        super().__init__()
        self._cards = cards

    def __missing__(self, field: str) -> dict[str, Numbers]:
        values: Iterable[Iterable[str | None]]
        if field == "tags":
            values = (card.facts.tags for card in self._cards)
        elif field == "author":
            values = ([key for author in card.facts.authors for key in author.spellings] for card in self._cards)
        else:
            values = ([getattr(card.facts, field)] for card in self._cards)
        found = self[field] = having(values)
        return found


def columns_of(ids: Sequence[str], cards: Sequence[Card]) -> Columns:
    """The rows are in the order of `ids`."""
    return Columns(
        numbers={title_id: row for row, title_id in enumerate(ids)},
        prior=np.array([card.prior for card in cards], np.float32),
        year=np.array([card.facts.year for card in cards], np.float64),
        having=CardValues(cards),
        related=[card.related for card in cards],
    )


@dataclass(frozen=True, slots=True)
class RecalledPeople:
    """`People` of cards."""

    cards: Sequence[Card]

    def named(self, query: ParsedQuery) -> Floats:
        asked = AskedAuthor(query)
        return np.array([max(map(asked.sureness, each.facts.authors), default=0.0) for each in self.cards], np.float32)

    def written_by(self, name: str) -> Mask:
        asked = AskedName(name)
        return np.array([any(map(asked.fits, each.facts.authors)) for each in self.cards], np.bool_)


@dataclass(frozen=True, slots=True)
class RecalledWords:
    """`Words` of cards."""

    cards: Sequence[Card]
    statistics: Statistics

    def covered(self, asked: Sequence[Sequence[str]]) -> Floats:
        return self.statistics.covered(asked, [card.prose for card in self.cards])

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        return self.statistics.in_vocabulary(terms)


def candidates_of(
    ids: Sequence[str],
    cards: Sequence[Card],
    statistics: Statistics,
    senses: Floats | None = None,
    anchor: Anchor | None = None,
) -> Candidates:
    """In the order of `ids`. `senses`: cosines in that order, None without any; a stored sense is passage and headline in
    one. `anchor`: the title by whose authors the query asks for more."""
    columns, names = columns_of(ids, cards), NameTable(card.names for card in cards)
    both = None if senses is None else (senses, senses)
    theirs = None if anchor is None else columns.any_of("author", anchor.spellings())
    return Candidates(columns, names, RecalledPeople(cards), RecalledWords(cards, statistics), both, theirs)


def spelled(name: str) -> str:
    """The first spelling of an author's name, by which `columns_of` knows the author."""
    return AuthorKeys.of(Author(name)).spellings[0]
