"""One search, in two requests mostly: what words find, then what is near in meaning.

The query is embedded while the first is under way. The second finds the nearest titles and measures the ones that words
found; where it is late, the words' answer stands. Hits are named only: what this process has not read of them lately is
asked for after each (title_cache.py), the first time while the query is still being embedded.

What was recalled is ranked on the event loop, which takes one or two milliseconds: given to a thread, the loop would wait
for the interpreter's lock instead, and the thread for the loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.candidates import Anchor, Matches, Recalled, RecalledTitles, total_of
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.documents import card_from, direction_from
from tools.store.backends.opensearch.dsl import Json, by_authors_of, column, filter_queries, frequencies, nearest, sense_of
from tools.store.backends.opensearch.queries import RECALL, anchor, called, lexical, like_facets
from tools.store.backends.opensearch.state import Statistics
from tools.store.backends.opensearch.title_cache import Answer, HitKey, TitleCache, hit_keys
from tools.store.failures import BackendFailure
from tools.store.models import CatalogQuery, Conditions, Facets, Ordering, Title
from tools.store.search.arrays import Floats, Mask
from tools.store.search.conditions.check import Check
from tools.store.search.likeness import likeness, likest
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.names import asked_names, pointed_from, surely_called
from tools.store.search.ranking.orderings import in_order
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.ranking.weights import Weights
from tools.store.search.titles.names import ExactName

AMONG_ALL = "among all: "
_OF_ALL = RECALL // 2
_DEEPER, _DEEPEST = RECALL // 2, 6
"""Each so many titles that are passed over, as much again is recalled, up to six times as much."""


class Searches:
    """`aliases` are keys that the title which the query points from may be known by."""

    def __init__(self, query: CatalogQuery, parsed: ParsedQuery, aliases: Sequence[str]) -> None:
        self._parsed, self._aliases = parsed, aliases
        self._asked = query.conditions
        self._allowed = filter_queries(query.conditions)
        self._size = RECALL * min(_DEEPEST, 1 + query.offset // _DEEPER)

    def by_words(self) -> dict[str, Json]:
        """By the name of what they find."""
        searches = lexical(self._parsed, self._allowed, self._size, self._asked)
        if self._allowed:
            every = lexical(self._parsed, [], _OF_ALL, self._asked)
            searches |= {AMONG_ALL + name: body for name, body in every.items()}
        if pointed := self._parsed.points_from:
            searches["anchor"] = anchor(pointed, self._aliases)
        return searches

    def by_meaning(self, vector: Floats | None, recalled: Collection[str], spellings: Collection[str]) -> dict[str, Json]:
        """What is near to `vector`, how near the `recalled` are, and the works of authors with these `spellings`."""
        searches: dict[str, Json] = {}
        if vector is not None:
            searches["near"] = nearest(vector, self._allowed, self._size)
            if self._allowed:
                searches[AMONG_ALL + "near"] = nearest(vector, [], _OF_ALL)
            if recalled:
                searches["senses"] = sense_of(vector, list(recalled))
        if spellings:
            searches["works"] = by_authors_of(sorted(spellings), self._allowed)
            if self._allowed:
                searches[AMONG_ALL + "works"] = by_authors_of(sorted(spellings), [])
        return searches


def anchor_among(
    name: str, aliases: Iterable[str], answer: Answer, statistics: Statistics, weights: Weights
) -> Anchor | None:
    """The best known of the hits that is called `name` or one of `aliases` (sound keys), if one is."""
    hits = answer["hits"]["hits"]
    ids, cards = [column(hit, ID) for hit in hits], [card_from(column(hit, "card")) for hit in hits]
    row = pointed_from(name, aliases, RecalledTitles(ids, cards, statistics), weights)
    if row is None:
        return None
    return Anchor(ids[row], cards[row], direction_from(hits[row]["_source"].get("direction")))


async def matches(
    query: CatalogQuery,
    titles: RecalledTitles,
    recalled: Recalled,
    ranked: Ranked,
    with_all_themes: int,
    cache: TitleCache,
) -> Matches:
    """Raises MalformedAnswer."""
    total = total_of(ranked, recalled.allowed(titles.ids), with_all_themes)
    sensed = recalled.senses is not None
    near = await cache.titles([recalled.entries[titles.ids[row]] for row in ranked.near])
    if ranked.ordering is not None:
        best = await _ordered(query, titles, recalled, ranked, ranked.ordering, cache)
        return Matches(best, total, sensed, ranked.guessed, near)
    rows = query.page_of(ranked.best(query.offset + query.limit))
    best = await cache.titles([recalled.entries[titles.ids[row]] for row in rows])
    return Matches(best, total, sensed, ranked.guessed, near)


async def _ordered(
    query: CatalogQuery, titles: RecalledTitles, recalled: Recalled, ranked: Ranked, ordering: Ordering, cache: TitleCache
) -> tuple[Title, ...]:
    """The page of all answers by the ordering; equal ones as in the catalogue file, in whose order candidates are."""
    answers = [recalled.entries[titles.ids[row]] for row in np.flatnonzero(ranked.scores).tolist()]
    asked = query.conditions
    sold = [entry.card.facts.sold_as(asked.format, asked.day) for entry in answers]
    prices = [None if sale is None else sale.price for sale in sold]
    return tuple(query.page_of(in_order(await cache.titles(answers), ordering, prices)))


_RECALL = 2 * RECALL


class Similar:
    """The search from one title to the ones like it."""

    def __init__(self, anchor: Anchor, statistics: Statistics, conditions: Conditions, weights: Weights) -> None:
        tags = dict.fromkeys(anchor.card.keys.tags, 1.0)
        self._anchor, self._filters, self._weights = anchor, filter_queries(conditions), weights
        self._facets = Facets(tags, (), anchor.card.keys.genre)
        self._shares = statistics.tag_shares(tags)

    def searches(self, sensed: bool) -> dict[str, Json]:
        """Nothing when the title has no tags: then nothing is like it."""
        searches = self._among(self._filters, sensed)
        if self._filters:
            # The best of all sets the floor for those that satisfy the conditions.
            searches |= {AMONG_ALL + name: body for name, body in self._among([], sensed).items()}
        return searches

    def _among(self, filters: Sequence[Json], sensed: bool) -> dict[str, Json]:
        by_tags = like_facets(self._shares, self._facets, filters, _RECALL, self._weights)
        if by_tags is None:
            return {}
        searches = {"alike": by_tags}
        if sensed and self._anchor.direction is not None:
            sharing = {"terms": {"tags": sorted(self._shares)}}
            searches["near"] = nearest(self._anchor.direction, [*filters, sharing], _RECALL)
        return searches

    def take(self, recalled: Recalled, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """What the answers to `searches` say besides naming titles; the title itself is not like it."""
        for name in ("near", AMONG_ALL + "near"):
            if name in answers:
                recalled.take_senses(answers[name])
        recalled.entries.pop(self._anchor.title_id, None)

    def scores(self, titles: RecalledTitles, senses: Mapping[str, float] | None, allowed: Mask) -> Floats:
        """How like the title each of the recalled ones is; 0 for those that are not half as like it as the best, and for
        those that are not `allowed`."""
        genre = self._facets.genre
        nobody, same = np.zeros(len(titles.ids), np.bool_), titles.of_genre(genre) if genre else np.bool_(False)
        alike = likeness(self._shared_tags(titles), nobody, nobody | same, titles.prior, self._weights)
        return likest(alike, None if senses is None else _meaning(senses, titles.ids), self._weights, allowed)

    def _shared_tags(self, titles: RecalledTitles) -> Floats:
        shared = [sum(self._shares.get(tag, 0.0) for tag in card.keys.tags) for card in titles.cards]
        return np.array(shared, np.float32)


def _meaning(senses: Mapping[str, float], ids: Sequence[str]) -> Floats:
    """Of a title that is not among the nearest is known only that it is no nearer than the last of them."""
    least = min(senses.values(), default=0.0) if len(senses) >= _RECALL else 0.0
    return np.array([senses.get(i, least) for i in ids], np.float32)


Answers = dict[str, Mapping[str, Any]]
_KEPT_BACK = 0.03
"""Seconds kept from the second request, to answer without it."""


class Search:
    """The state of one search. `aliases` are names that the title it points from may be a nickname of, `names` those that
    are looked for on the way."""

    def __init__(
        self,
        client: Client,
        cache: TitleCache,
        statistics: Statistics,
        query: CatalogQuery,
        parsed: ParsedQuery,
        aliases: Sequence[str],
        names: Mapping[str, ExactName],
    ) -> None:
        self._client, self._cache, self._statistics = client, cache, statistics
        self._query, self._parsed, self._aliases = query, parsed, aliases
        self._searches = Searches(query, parsed, aliases)
        self._weights = Weights()
        self._recalled = Recalled(Check(query.conditions))
        self._anchor: Anchor | None = None
        self._with_all_themes = 0
        self._names = names
        self.called: Mapping[str, Any] | None = None
        """What goes by exactly one of the names."""
        self.index: str | None = None
        """Which index answered."""

    async def run(self, vector: asyncio.Task[Floats | None] | None, deadline: Deadline) -> Matches:
        """`vector` is the query's, under way; None where there is nothing to compare it with. Raises BackendFailure."""
        named = await self._recall_by_words(deadline)
        if self._anchor is not None and self._parsed.similar_to:
            return await self._similar(self._anchor, vector is not None, deadline)
        await self._recall_by_meaning(named, None if vector is None else await vector, vector is not None, deadline)
        titles, ranked = await self._ranked()
        if ranked.leader is not None and await self._recall_series(titles.ids[ranked.leader], deadline):
            titles, ranked = await self._ranked()
        return await self._matches(titles, ranked)

    async def _recall_by_words(self, deadline: Deadline) -> str | None:
        """What words find. The id of the title that the query names, if it is one's name."""
        searches = self._searches.by_words()
        terms = self._statistics.unknown((*self._parsed.terms, *self._parsed.translations))
        if terms:
            searches["frequencies"] = frequencies(terms)
        if self._names:
            searches["called"] = called(self._names)
        answers = await self._ask(searches, deadline)
        if terms:
            self._statistics.learn(terms, answers.pop("frequencies"))
        self.called = answers.pop("called", None)
        if pointed := self._parsed.points_from:
            found = answers.pop("anchor")
            self._anchor = anchor_among(pointed, self._aliases, found, self._statistics, self._weights)
        if "tags" in answers:
            self._with_all_themes = int(answers["tags"]["aggregations"]["all"]["doc_count"])
        self._recalled.entries.update(await self._cache.of(hit_keys(answers.values()), deadline))
        await _turn()
        return self._named()

    def _named(self) -> str | None:
        titles = self._titles()
        names = titles.named(asked_names(self._parsed, self._weights))
        row = surely_called(names, titles.prior, self._weights)
        return None if row is None else titles.ids[row]

    async def _recall_by_meaning(self, named: str | None, vector: Floats | None, wanted: bool, deadline: Deadline) -> None:
        """What is near in meaning, and the series of what is `named`. Late, where meaning was `wanted`, it is left out."""
        in_time = deadline.less(_KEPT_BACK) if wanted else deadline
        try:
            spelled = frozenset() if self._anchor is None else self._anchor.spellings()
            answers = await self._ask(self._searches.by_meaning(vector, self._recalled.entries, spelled), in_time)
            measured = [answer for name, answer in answers.items() if name.endswith(("near", "senses"))]
            answers.pop("senses", None)
            found = await self._cache.of([*self._series(named), *hit_keys(answers.values())], in_time)
        except BackendFailure:
            if not wanted:
                raise
            return
        for answer in measured:
            self._recalled.take_senses(answer)
        self._recalled.entries.update(found)

    async def _recall_series(self, leader: str, deadline: Deadline) -> bool:
        """The rest of the leader's series; whether any of it was missing and came in time."""
        missing = self._series(leader)
        if not missing:
            return False
        try:
            self._recalled.entries.update(await self._cache.of(missing, deadline.less(_KEPT_BACK)))
        except BackendFailure:
            return False
        return True

    def _series(self, title_id: str | None) -> list[HitKey]:
        """The titles of a series that are not recalled yet; they are in the index that the title is in."""
        if title_id is None or self.index is None:
            return []
        entries = self._recalled.entries
        return [(self.index, each) for each in entries[title_id].card.series if each not in entries]

    async def _similar(self, anchor: Anchor, sensed: bool, deadline: Deadline) -> Matches:
        similar = Similar(anchor, self._statistics, self._query.conditions, self._weights)
        answers = await self._ask(similar.searches(sensed), deadline)
        self._recalled = Recalled(Check(self._query.conditions))
        self._recalled.entries.update(await self._cache.of(hit_keys(answers.values()), deadline))
        similar.take(self._recalled, answers)
        titles = self._titles()
        scores = similar.scores(titles, self._recalled.senses, self._recalled.allowed(titles.ids))
        return await self._matches(titles, Ranked(scores, ordering=self._parsed.ordering))

    async def _ranked(self) -> tuple[RecalledTitles, Ranked]:
        await _turn()
        titles = self._titles()
        allowed = self._recalled.allowed(titles.ids)
        await _turn()
        ranked = rank(self._parsed, titles, self._weights, allowed)
        await _turn()
        return titles, ranked

    def _titles(self) -> RecalledTitles:
        return RecalledTitles.of(self._recalled, self._statistics, self._anchor)

    async def _matches(self, titles: RecalledTitles, ranked: Ranked) -> Matches:
        return await matches(self._query, titles, self._recalled, ranked, self._with_all_themes, self._cache)

    async def _ask(self, searches: Mapping[str, Json], deadline: Deadline) -> Answers:
        if not searches:
            return {}
        answers = await self._client.searches(list(searches.values()), deadline)
        self.index = next((str(hit["_index"]) for each in answers for hit in each["hits"]["hits"]), self.index)
        return dict(zip(searches, answers, strict=True))


async def _turn() -> None:
    """Lets the loop serve others between two pieces of work, each of which is by how many titles were recalled."""
    await asyncio.sleep(0)
