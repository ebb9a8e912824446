"""One search, in two requests mostly: what words find, then what is near in meaning.

The query is embedded while the first is under way. The second finds the nearest titles and measures the ones that words
found; where it is late, the words' answer stands. Hits are named only: what this process has not read of them lately is
asked for after each (title_cache.py), the first time while the query is still being embedded.

What was recalled is ranked on the event loop, which takes one or two milliseconds: given to a thread, the loop would wait
for the interpreter's lock instead, and the thread for the loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.index.statistics import Statistics
from tools.store.backends.opensearch.queries.called import called
from tools.store.backends.opensearch.queries.dsl import Json
from tools.store.backends.opensearch.queries.lookups import frequencies
from tools.store.backends.opensearch.searching.anchor import anchor_among
from tools.store.backends.opensearch.searching.candidates import Anchor, Recalled, RecalledTitles
from tools.store.backends.opensearch.searching.matches import Matches
from tools.store.backends.opensearch.searching.searches import Searches
from tools.store.backends.opensearch.searching.showing import matches
from tools.store.backends.opensearch.searching.similar import Similar
from tools.store.backends.opensearch.searching.title_cache import HitKey, TitleCache, hit_keys
from tools.store.failures import BackendFailure
from tools.store.models import CatalogQuery
from tools.store.search.arrays import Floats
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.names import asked_names, surely_called
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.ranking.weights import Weights
from tools.store.search.titles.called import ExactName

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
