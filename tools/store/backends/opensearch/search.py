"""One search, mostly in two requests: by words, then by meaning.

The query is embedded during the first request. The second finds the nearest titles and scores the titles that words found;
if it is late or fails, the result by words stands. Hits are ids only: titles not cached are fetched after each request.

Candidates are ranked on the event loop, in one or two milliseconds with a few yields: on a worker thread, loop and thread
would contend for the GIL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import ID, Json
from tools.store.backends.opensearch.documents import Card, card_from, direction_from
from tools.store.backends.opensearch.dsl import (
    by_authors_of,
    column,
    cosine_of,
    filter_queries,
    frequencies,
    nearest,
    sense_of,
)
from tools.store.backends.opensearch.queries import RECALL, aggregate_names, anchor, lexical, like_tags
from tools.store.backends.opensearch.state import Answer, CachedHit, HitKey, Statistics, TitleCache, hit_keys
from tools.store.failures import BackendFailure
from tools.store.models import Author, CatalogPage, CatalogQuery
from tools.store.search.columns import Columns, Floats, Mask, Numbers, having
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.candidates import Candidates, in_order
from tools.store.search.ranking.names import AskedAuthor, asked_names, confident_match, reference_row
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.taste import like_title, tag_shares
from tools.store.search.titles.document import AskedName, AuthorKeys
from tools.store.search.titles.names import ExactName, NameTable


def count_matches(ranked: Ranked, allowed: Mask, with_all_themes: int) -> int:
    """Returns the number of all matching titles. `with_all_themes` is the number of allowed titles in the index that have
    every theme of the query. If every fetched title with all themes matches, those not fetched are counted too."""
    if ranked.evidence is None or ranked.nearest:
        return ranked.answers
    themed = (ranked.evidence.tags == 1.0) & allowed
    if not themed.any() or not np.all(ranked.scores[themed] > 0):
        return ranked.answers
    return ranked.answers + max(0, with_all_themes - int(np.count_nonzero(themed)))


Cards = Mapping[str, Card]
"""Recalled titles by id, in the order of the catalogue file, which breaks ties."""


def cards_of(entries: Mapping[str, CachedHit]) -> Cards:
    in_order = sorted(entries.items(), key=lambda each: each[1].card.place)
    return {title_id: entry.card for title_id, entry in in_order}


@dataclass(frozen=True, slots=True)
class ReferenceTitle:
    """The title to which a query refers ("like …", "by the author of …"). `direction` is the unit vector of its meaning,
    None if the index has no vectors."""

    title_id: str
    card: Card
    direction: Floats | None

    def spellings(self) -> frozenset[str]:
        return frozenset(spelling for author in self.card.facts.authors for spelling in author.spellings)


class CardValues(dict[str, dict[str, Numbers]]):
    """A mapping like `Columns.having`, of which each field is computed on first access."""

    def __init__(self, cards: Collection[Card]) -> None:
        super().__init__()
        self._cards = cards

    def __missing__(self, field: str) -> dict[str, Numbers]:
        values: Iterable[Iterable[str | None]]
        if field in ("tags", "magazine"):
            values = (getattr(card.facts, field) for card in self._cards)
        elif field == "author":
            values = ([key for author in card.facts.authors for key in author.spellings] for card in self._cards)
        else:
            values = ([getattr(card.facts, field)] for card in self._cards)
        found = self[field] = having(values)
        return found


@dataclass(frozen=True, slots=True)
class CardColumns(Columns):
    """Columns of the candidates' cards. Looks for the wanted tags in each card, which is faster than an index of all tags
    for a single query."""

    cards: Collection[Card]

    def any_of(self, field: str, values: Iterable[str]) -> Mask:
        if field != "tags":
            return Columns.any_of(self, field, values)
        wanted = frozenset(values)
        return np.array([not wanted.isdisjoint(card.facts.tags) for card in self.cards], np.bool_)


def columns_of(cards: Cards) -> Columns:
    every = cards.values()
    return CardColumns(
        cards=every,
        numbers={title_id: row for row, title_id in enumerate(cards)},
        prior=np.array([card.prior for card in every], np.float32),
        year=np.array([card.facts.year for card in every], np.float64),
        having=CardValues(every),
        related=[card.related for card in every],
    )


@dataclass(frozen=True, slots=True)
class RecalledTitles:
    """Implements `People` and `Words` (`ranking.candidates`) for the recalled titles."""

    cards: Collection[Card]
    statistics: Statistics

    def measure_authorship(self, query: ParsedQuery) -> Floats:
        asked = AskedAuthor(query)
        return np.array([max(map(asked.sureness, each.facts.authors), default=0.0) for each in self.cards], np.float32)

    def written_by(self, name: str) -> Mask:
        asked = AskedName(name)
        return np.array([any(map(asked.fits, each.facts.authors)) for each in self.cards], np.bool_)

    def measure_coverage(self, asked: Sequence[Sequence[str]]) -> Floats:
        return self.statistics.measure_coverage(asked, [card.prose for card in self.cards])

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        return self.statistics.in_vocabulary(terms)


def candidates_of(
    cards: Cards, statistics: Statistics, senses: Mapping[str, float] | None = None, anchor: ReferenceTitle | None = None
) -> Candidates:
    """Makes candidates from cards. `senses` has the query's cosines by id (None: meaning is not compared); each serves for
    passage and headline, since a stored vector combines both. `anchor` is the title whose authors' works are requested."""
    columns, titles = columns_of(cards), RecalledTitles(cards.values(), statistics)
    cosines = None if senses is None else np.array([senses.get(title_id, 0.0) for title_id in cards], np.float32)
    theirs = None if anchor is None else columns.any_of("author", anchor.spellings())
    names = NameTable(card.names for card in cards.values())
    return Candidates(columns, names, titles, titles, None if cosines is None else (cosines, cosines), theirs)


def spell_author(name: str) -> str:
    """Returns the sound key of an author's Latin name, which is one of the author's keys in `columns_of`."""
    return AuthorKeys.from_author(Author(name)).spellings[0]


AMONG_ALL = "among all: "
_SIMILAR = 2 * RECALL
_RESERVED_SECONDS = 0.03
"""Seconds by which the second request ends before the deadline, so that there is time to answer without its result."""
Answers = dict[str, Answer]


@dataclass
class Search:
    """One search, to be run once, and its state. `_aliases` are further sound keys of the title to which the query refers.
    `_names` are looked up in the first request; `names_answer` then has the answer, None if there are no names. `index` is
    the name of the index that the hits came from, None if there are no hits. With `_wants_meaning`, the page is degraded if
    meaning could not be compared."""

    _client: Client
    _cache: TitleCache
    _statistics: Statistics
    _query: CatalogQuery
    _parsed: ParsedQuery
    _aliases: Sequence[str]
    _names: Mapping[str, ExactName]
    _wants_meaning: bool
    names_answer: Answer | None = None
    index: str | None = None
    _entries: dict[str, CachedHit] = field(default_factory=dict)
    _senses: dict[str, float] | None = None
    _anchor: ReferenceTitle | None = None
    _with_all_themes: int = 0

    def __post_init__(self) -> None:
        self._filters = filter_queries(self._query.conditions)
        # For every 40 titles that are skipped 80 more are found, up to 480 in all.
        self._size = RECALL * min(6, 1 + self._query.offset // (RECALL // 2))
        self._check = Check(self._query.conditions)

    async def run(self, vector: asyncio.Task[Floats | None] | None, deadline: Deadline) -> CatalogPage:
        """Runs the search. `vector` is the task that embeds the query; None leaves out meaning. Raises BackendFailure."""
        named = await self._recall_by_words(deadline)
        if self._anchor is not None and self._parsed.similar_to:
            return await self._find_similar(self._anchor, vector is not None, deadline)
        await self._recall_by_meaning(named, None if vector is None else await vector, vector is not None, deadline)
        cards, allowed, ranked = await self._rank()
        if ranked.leader is not None and await self._recall_series(list(cards)[ranked.leader], deadline):
            cards, allowed, ranked = await self._rank()
        return await self._page(cards, allowed, ranked)

    async def _recall_by_words(self, deadline: Deadline) -> str | None:
        """Finds candidates by words. Returns the id of the title that the query surely names; None if there is none."""
        parsed = self._parsed
        searches = self._under_conditions(lambda filters, size: lexical(parsed, filters, size, self._query.conditions))
        if pointed := parsed.reference_title:
            searches["anchor"] = anchor(pointed, self._aliases)
        terms = self._statistics.unknown((*parsed.terms, *parsed.translations))
        if terms:
            searches["frequencies"] = frequencies(terms)
        if self._names:
            searches["called"] = aggregate_names(self._names)
        answers = await self._ask(searches, deadline)
        if terms:
            self._statistics.learn(terms, answers.pop("frequencies"))
        self.names_answer = answers.pop("called", None)
        if pointed:
            self._anchor = self._find_reference_title(pointed, answers.pop("anchor")["hits"]["hits"])
        if "tags" in answers:
            self._with_all_themes = int(answers["tags"]["aggregations"]["all"]["doc_count"])
        self._entries.update(await self._cache.fetch_entries(hit_keys(answers.values()), deadline))
        await asyncio.sleep(0)
        cards = cards_of(self._entries)
        titles = candidates_of(cards, self._statistics)
        row = confident_match(titles.names.likeness(asked_names(parsed)), titles.prior)
        return None if row is None else list(cards)[row]

    def _find_reference_title(self, name: str, hits: Sequence[Mapping[str, Any]]) -> ReferenceTitle | None:
        """Returns the title of the hit that `name` or an alias surely names, of equals the best known; None if there is
        none."""
        cards = {column(hit, ID): card_from(column(hit, "card")) for hit in hits}
        row = reference_row(name, self._aliases, candidates_of(cards, self._statistics))
        if row is None:
            return None
        title_id = column(hits[row], ID)
        return ReferenceTitle(title_id, cards[title_id], direction_from(hits[row]["_source"].get("direction")))

    async def _recall_by_meaning(self, named: str | None, vector: Floats | None, wanted: bool, deadline: Deadline) -> None:
        """Finds the nearest titles (if `vector` is given), works by the authors of the referenced title, and the series of
        the title with the id `named`. If meaning is `wanted`, a failure or a late answer is ignored; else it is raised."""
        spellings = frozenset() if self._anchor is None else self._anchor.spellings()

        def search_near(filters: Sequence[Json], size: int) -> dict[str, Json]:
            by_vector = {} if vector is None else {"near": nearest(vector, filters, size)}
            return by_vector | ({"works": by_authors_of(sorted(spellings), filters)} if spellings else {})

        in_time = deadline.earlier_by(_RESERVED_SECONDS) if wanted else deadline
        try:
            searches = self._under_conditions(search_near)
            if vector is not None and self._entries:
                searches["senses"] = sense_of(vector, list(self._entries))
            answers = await self._ask(searches, in_time)
            measured = [answer for name, answer in answers.items() if name.endswith(("near", "senses"))]
            answers.pop("senses", None)
            found = await self._cache.fetch_entries([*self._missing_series(named), *hit_keys(answers.values())], in_time)
        except BackendFailure:
            if not wanted:
                raise
            return
        self._take_senses(measured)
        self._entries.update(found)

    async def _recall_series(self, leader: str, deadline: Deadline) -> bool:
        missing = self._missing_series(leader)
        if not missing:
            return False
        try:
            self._entries.update(await self._cache.fetch_entries(missing, deadline.earlier_by(_RESERVED_SECONDS)))
        except BackendFailure:
            return False
        return True

    def _missing_series(self, title_id: str | None) -> list[HitKey]:
        if title_id is None or self.index is None:
            return []
        series = self._entries[title_id].card.series
        return [(self.index, each) for each in series if each not in self._entries]

    def _take_senses(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            found = {column(hit, ID): cosine_of(float(hit["_score"])) for hit in answer["hits"]["hits"]}
            self._senses = {**(self._senses or {}), **found}

    async def _find_similar(self, like: ReferenceTitle, sensed: bool, deadline: Deadline) -> CatalogPage:
        """Finds titles similar to `like` by tags, genre and, if `sensed`, meaning; no title if `like` has no tags."""
        statistics, genre = self._statistics, like.card.facts.genre
        shares = tag_shares(sorted(like.card.facts.tags), statistics.terms.tags, statistics.titles)

        def alike(filters: Sequence[Json], _: int) -> dict[str, Json]:
            if not shares:
                return {}
            searches = {"alike": like_tags(shares, genre, filters, _SIMILAR)}
            if sensed and like.direction is not None:
                sharing = {"terms": {"tags": sorted(shares)}}
                searches["near"] = nearest(like.direction, [*filters, sharing], _SIMILAR)
            return searches

        answers = await self._ask(self._under_conditions(alike), deadline)
        self._entries = await self._cache.fetch_entries(hit_keys(answers.values()), deadline)
        self._take_senses(answer for name, answer in answers.items() if name.endswith("near"))
        self._entries.pop(like.title_id, None)
        cards, senses = cards_of(self._entries), self._senses
        meaning = None
        if senses is not None:
            # A title that is not among the nearest is at most as near as the last of them.
            least = min(senses.values(), default=0.0) if len(senses) >= _SIMILAR else 0.0
            meaning = np.array([senses.get(title_id, least) for title_id in cards], np.float32)
        allowed = self._mask_allowed(cards)
        scores = like_title(columns_of(cards), shares, genre, like.title_id, meaning, allowed)
        return await self._page(cards, allowed, Ranked(scores, ordering=self._parsed.ordering))

    async def _rank(self) -> tuple[Cards, Mask, Ranked]:
        await asyncio.sleep(0)
        cards = cards_of(self._entries)
        titles = candidates_of(cards, self._statistics, self._senses, self._anchor)
        await asyncio.sleep(0)
        allowed = self._mask_allowed(cards)
        await asyncio.sleep(0)
        ranked = rank(self._parsed, titles, allowed, for_children=self._query.conditions.for_children)
        await asyncio.sleep(0)
        return cards, allowed, ranked

    def _mask_allowed(self, cards: Cards) -> Mask:
        return np.array([self._check.admit(card.facts) for card in cards.values()], np.bool_)

    async def _page(self, cards: Cards, allowed: Mask, ranked: Ranked) -> CatalogPage:
        query, entries = self._query, [self._entries[title_id] for title_id in cards]
        total = count_matches(ranked, allowed, self._with_all_themes)
        near = await self._cache.titles([entries[row] for row in ranked.near])
        if ranked.ordering is None:
            rows = query.page_of(ranked.best(query.offset + query.limit))
            best = await self._cache.titles([entries[row] for row in rows])
        else:
            answers = [entries[row] for row in np.flatnonzero(ranked.scores).tolist()]
            sold = [each.card.facts.sold_as(query.conditions.format, query.conditions.day) for each in answers]
            prices = [None if sale is None else sale.price for sale in sold]
            best = tuple(query.page_of(in_order(await self._cache.titles(answers), ranked.ordering, prices)))
        degraded = ("vector",) if self._wants_meaning and self._senses is None else ()
        return CatalogPage(best, total, degraded, ranked.guessed, near)

    def _under_conditions(self, make: Callable[[Sequence[Json], int], dict[str, Json]]) -> dict[str, Json]:
        """Returns the searches made by `make(filters, size)` under the query's conditions. If there are conditions, adds the
        same searches among all titles, since the best scores of all set the threshold for a match."""
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
