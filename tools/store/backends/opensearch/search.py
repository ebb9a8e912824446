"""One search, in two requests mostly: by words, then by meaning.

The query is embedded while the first is under way. The second finds the nearest titles and measures those that words found;
where it is late, the words' answer stands. Hits are ids only: titles that this process has not read lately are fetched after
each request, the first time while the query is still being embedded.

Recalled titles are ranked on the event loop, which takes one or two milliseconds: given to a thread, the loop would wait for
the interpreter's lock instead, and the thread for the loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.documents import Card, card_from, direction_from
from tools.store.backends.opensearch.dsl import (
    Json,
    by_authors_of,
    column,
    cosine_of,
    filter_queries,
    frequencies,
    nearest,
    sense_of,
)
from tools.store.backends.opensearch.queries import RECALL, anchor, called, lexical, like_tags
from tools.store.backends.opensearch.state import Answer, Entry, HitKey, Statistics, TitleCache, hit_keys
from tools.store.failures import BackendFailure
from tools.store.models import Author, CatalogPage, CatalogQuery
from tools.store.search.columns import Columns, Floats, Mask, Numbers, having
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import AskedAuthor, asked_names, pointed_from, surely_called
from tools.store.search.ranking.orderings import in_order
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.ranking.weights import Weights
from tools.store.search.taste import like_title, tag_shares
from tools.store.search.titles.names import ExactName, NameTable
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


AMONG_ALL = "among all: "
_SIMILAR = 2 * RECALL
_KEPT_BACK = 0.03
"""Seconds kept from the second request, to answer without it."""
Answers = dict[str, Answer]


def find_anchor(
    name: str, aliases: Iterable[str], answer: Answer, statistics: Statistics, weights: Weights
) -> Anchor | None:
    """The best known of the hits that is called `name` or one of `aliases` (sound keys), if one is."""
    hits = answer["hits"]["hits"]
    ids, cards = [column(hit, ID) for hit in hits], [card_from(column(hit, "card")) for hit in hits]
    row = pointed_from(name, aliases, candidates_of(ids, cards, statistics), weights)
    if row is None:
        return None
    return Anchor(ids[row], cards[row], direction_from(hits[row]["_source"].get("direction")))


class Search:
    """The state of one search. `aliases` are names that the title it points from may be a nickname of, `names` those that
    are looked up on the way. After `run`, `called` is the answer to that look-up, and `index` the index that answered."""

    def __init__(
        self,
        client: Client,
        cache: TitleCache,
        statistics: Statistics,
        query: CatalogQuery,
        parsed: ParsedQuery,
        aliases: Sequence[str],
        names: Mapping[str, ExactName],
        wants_meaning: bool,
    ) -> None:
        self._client, self._cache, self._statistics = client, cache, statistics
        self._query, self._parsed, self._aliases, self._names = query, parsed, aliases, names
        self._wants_meaning = wants_meaning
        self._filters = filter_queries(query.conditions)
        # Every 40 titles that are skipped recall 80 more, up to six times as many.
        self._size = RECALL * min(6, 1 + query.offset // (RECALL // 2))
        self._weights = Weights()
        self._recalled = Recalled(Check(query.conditions))
        self._anchor: Anchor | None = None
        self._with_all_themes = 0
        self.called: Mapping[str, Any] | None = None
        self.index: str | None = None

    async def run(self, vector: asyncio.Task[Floats | None] | None, deadline: Deadline) -> CatalogPage:
        """`vector` is the query's, under way; None where there is nothing to compare it with. Raises BackendFailure."""
        named = await self._recall_by_words(deadline)
        if self._anchor is not None and self._parsed.similar_to:
            return await self._find_similar(self._anchor, vector is not None, deadline)
        await self._recall_by_meaning(named, None if vector is None else await vector, vector is not None, deadline)
        ids, ranked = await self._rank()
        if ranked.leader is not None and await self._recall_series(ids[ranked.leader], deadline):
            ids, ranked = await self._rank()
        return await self._page(ids, ranked)

    async def _recall_by_words(self, deadline: Deadline) -> str | None:
        """Returns the id of the title that the query names, if it is one's name."""
        parsed = self._parsed
        searches = self._under_conditions(lambda filters, size: lexical(parsed, filters, size, self._query.conditions))
        if pointed := parsed.points_from:
            searches["anchor"] = anchor(pointed, self._aliases)
        terms = self._statistics.unknown((*parsed.terms, *parsed.translations))
        if terms:
            searches["frequencies"] = frequencies(terms)
        if self._names:
            searches["called"] = called(self._names)
        answers = await self._ask(searches, deadline)
        if terms:
            self._statistics.learn(terms, answers.pop("frequencies"))
        self.called = answers.pop("called", None)
        if pointed:
            found = answers.pop("anchor")
            self._anchor = find_anchor(pointed, self._aliases, found, self._statistics, self._weights)
        if "tags" in answers:
            self._with_all_themes = int(answers["tags"]["aggregations"]["all"]["doc_count"])
        self._recalled.entries.update(await self._cache.of(hit_keys(answers.values()), deadline))
        await _give_way()
        ids, titles = self._candidates()
        row = surely_called(titles.names.likeness(asked_names(parsed, self._weights)), titles.prior, self._weights)
        return None if row is None else ids[row]

    async def _recall_by_meaning(self, named: str | None, vector: Floats | None, wanted: bool, deadline: Deadline) -> None:
        """Recalls the nearest titles, works by the authors of the anchor, and the series of the title that is `named`. If
        that is late and meaning was `wanted`, it is left out."""
        spellings = frozenset() if self._anchor is None else self._anchor.spellings()

        def near(filters: Sequence[Json], size: int) -> dict[str, Json]:
            by_vector = {} if vector is None else {"near": nearest(vector, filters, size)}
            return by_vector | ({"works": by_authors_of(sorted(spellings), filters)} if spellings else {})

        in_time = deadline.less(_KEPT_BACK) if wanted else deadline
        try:
            searches = self._under_conditions(near)
            if vector is not None and self._recalled.entries:
                searches["senses"] = sense_of(vector, list(self._recalled.entries))
            answers = await self._ask(searches, in_time)
            measured = [answer for name, answer in answers.items() if name.endswith(("near", "senses"))]
            answers.pop("senses", None)
            found = await self._cache.of([*self._missing_series(named), *hit_keys(answers.values())], in_time)
        except BackendFailure:
            if not wanted:
                raise
            return
        for answer in measured:
            self._recalled.take_senses(answer)
        self._recalled.entries.update(found)

    async def _recall_series(self, leader: str, deadline: Deadline) -> bool:
        """Recalls the rest of the leader's series. True if any of it was missing and came in time."""
        missing = self._missing_series(leader)
        if not missing:
            return False
        try:
            self._recalled.entries.update(await self._cache.of(missing, deadline.less(_KEPT_BACK)))
        except BackendFailure:
            return False
        return True

    def _missing_series(self, title_id: str | None) -> list[HitKey]:
        """The titles of a series that are not recalled yet; they are in the index that the title is in."""
        if title_id is None or self.index is None:
            return []
        entries = self._recalled.entries
        return [(self.index, each) for each in entries[title_id].card.series if each not in entries]

    async def _find_similar(self, like: Anchor, sensed: bool, deadline: Deadline) -> CatalogPage:
        """Titles like one title, by its tags, its genre and, where `sensed`, its meaning. Nothing is like a title without
        tags."""
        statistics, genre = self._statistics, like.card.facts.genre
        shares = tag_shares(sorted(like.card.facts.tags), statistics.terms.tags, statistics.titles)

        def alike(filters: Sequence[Json], _: int) -> dict[str, Json]:
            if not shares:
                return {}
            searches = {"alike": like_tags(shares, genre, filters, _SIMILAR, self._weights)}
            if sensed and like.direction is not None:
                sharing = {"terms": {"tags": sorted(shares)}}
                searches["near"] = nearest(like.direction, [*filters, sharing], _SIMILAR)
            return searches

        answers = await self._ask(self._under_conditions(alike), deadline)
        self._recalled = Recalled(Check(self._query.conditions))
        self._recalled.entries.update(await self._cache.of(hit_keys(answers.values()), deadline))
        for name, answer in answers.items():
            if name.endswith("near"):
                self._recalled.take_senses(answer)
        ids, senses = self._recalled.ordered(), self._recalled.senses
        meaning = None
        if senses is not None:
            # A title that is not among the nearest is at most as near as the last of them.
            least = min(senses.values(), default=0.0) if len(senses) >= _SIMILAR else 0.0
            meaning = np.array([senses.get(title_id, least) for title_id in ids], np.float32)
        columns, allowed = columns_of(ids, self._recalled.cards(ids)), self._recalled.allowed(ids)
        scores = like_title(columns, shares, genre, like.title_id, meaning, self._weights, allowed)
        return await self._page(ids, Ranked(scores, ordering=self._parsed.ordering))

    async def _rank(self) -> tuple[Sequence[str], Ranked]:
        """The recalled ids, and how these rows are ranked."""
        await _give_way()
        ids, titles = self._candidates()
        allowed = self._recalled.allowed(ids)
        await _give_way()
        ranked = rank(self._parsed, titles, self._weights, allowed)
        await _give_way()
        return ids, ranked

    def _candidates(self) -> tuple[Sequence[str], Candidates]:
        ids, senses = self._recalled.ordered(), self._recalled.senses
        cosines = None if senses is None else np.array([senses.get(each, 0.0) for each in ids], np.float32)
        return ids, candidates_of(ids, self._recalled.cards(ids), self._statistics, cosines, self._anchor)

    async def _page(self, ids: Sequence[str], ranked: Ranked) -> CatalogPage:
        """Equal titles stand as in the catalogue file, in whose order the candidates are. Raises MalformedAnswer."""
        query, entries = self._query, [self._recalled.entries[title_id] for title_id in ids]
        total = count_matches(ranked, self._recalled.allowed(ids), self._with_all_themes)
        near = await self._cache.titles([entries[row] for row in ranked.near])
        if ranked.ordering is None:
            rows = query.page_of(ranked.best(query.offset + query.limit))
            best = await self._cache.titles([entries[row] for row in rows])
        else:
            answers = [entries[row] for row in np.flatnonzero(ranked.scores).tolist()]
            sold = [each.card.facts.sold_as(query.conditions.format, query.conditions.day) for each in answers]
            prices = [None if sale is None else sale.price for sale in sold]
            best = tuple(query.page_of(in_order(await self._cache.titles(answers), ranked.ordering, prices)))
        degraded = ("vector",) if self._wants_meaning and self._recalled.senses is None else ()
        return CatalogPage(best, total, degraded, ranked.guessed, near)

    def _under_conditions(self, make: Callable[[Sequence[Json], int], dict[str, Json]]) -> dict[str, Json]:
        """The searches under the conditions and, where there are any, among all titles too: the best of all set the floor
        for those that satisfy the conditions. `make` takes filters and a number of hits."""
        searches = make(self._filters, self._size)
        if self._filters:
            searches |= {AMONG_ALL + name: body for name, body in make([], RECALL // 2).items()}
        return searches

    async def _ask(self, searches: Mapping[str, Json], deadline: Deadline) -> Answers:
        if not searches:
            return {}
        answers = await self._client.searches(list(searches.values()), deadline)
        self.index = next((str(hit["_index"]) for each in answers for hit in each["hits"]["hits"]), self.index)
        return dict(zip(searches, answers, strict=True))


async def _give_way() -> None:
    """Lets the loop serve others between two pieces of work, each of which grows with the number of recalled titles."""
    await asyncio.sleep(0)
