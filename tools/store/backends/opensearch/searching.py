"""One search, in two requests mostly: what words find, then what is near in meaning.

The query is embedded while the first is under way. The second finds the nearest titles and measures the ones that words
found; where it is late, the words' answer stands. Hits are named only: what this process has not read of them lately is
asked for after each (title_cache.py), the first time while the query is still being embedded.

Candidates are judged on the event loop, which takes one or two milliseconds: given to a thread, the loop would wait for the
interpreter's lock instead, and the thread for the loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch import queries
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.filters import Gate, filter_queries
from tools.store.backends.opensearch.judging import Judge, anchor_among
from tools.store.backends.opensearch.recalled import Anchor, Candidates, Judged
from tools.store.backends.opensearch.similar import Similar
from tools.store.backends.opensearch.statistics import Statistics
from tools.store.backends.opensearch.title_cache import Place, TitleCache, places
from tools.store.failures import BackendFailure
from tools.store.models import CatalogQuery, Ordering, Title
from tools.store.search.evidence import Floats
from tools.store.search.fusion import order
from tools.store.search.guessing import is_guess, near_names, ordering_of
from tools.store.search.orderings import in_order
from tools.store.search.query import ParsedQuery

Answers = dict[str, Mapping[str, Any]]
_KEPT_BACK = 0.03
"""Seconds kept from the second request, to answer without it."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The best titles, best first, and how many there are. `sensed`: meaning was used. `guessed` and `near` as in
    `CatalogPage`."""

    titles: tuple[Title, ...]
    total: int
    sensed: bool
    guessed: bool = False
    near: tuple[Title, ...] = ()


class Search:
    """The state of one search. `aliases` are names that the title it points from may be a nickname of."""

    def __init__(
        self,
        client: Client,
        shelf: TitleCache,
        statistics: Statistics,
        query: CatalogQuery,
        reading: ParsedQuery,
        aliases: Sequence[str],
    ) -> None:
        self._client, self._shelf, self._statistics = client, shelf, statistics
        self._query, self._reading, self._aliases = query, reading, aliases
        self._candidates = Candidates(Gate(query.filters))
        self._anchor: Anchor | None = None
        self._themed = 0
        self.index: str | None = None
        """Which index answered."""

    async def run(self, vector: asyncio.Task[Floats | None] | None, deadline: Deadline) -> Matches:
        """`vector` is the query's, under way; None where there is nothing to compare it with. Raises BackendFailure."""
        called = await self._first(deadline)
        if self._anchor is not None and self._reading.similar_to:
            return await self._similar(self._anchor, vector is not None, deadline)
        known = None if vector is None else await vector
        await self._second(called, known, vector is not None, deadline)
        judged, missing = self._judged()
        if missing:
            judged = await self._with_kin(missing, judged, deadline)
        return await self._found(judged)

    async def _first(self, deadline: Deadline) -> str | None:
        """What words find. The id of the title that the query names, if it is one's name."""
        searches = queries.lexical(self._reading, self._query.filters, self._aliases)
        terms = self._statistics.unknown((*self._reading.terms, *self._reading.translated))
        if terms:
            searches["frequencies"] = queries.frequencies(terms)
        answers = await self._ask(searches, deadline)
        if terms:
            self._statistics.learn(terms, answers.pop("frequencies"))
        if pointed := self._reading.same_author_as or self._reading.similar_to:
            self._anchor = anchor_among(pointed, self._aliases, answers.pop("anchor"))
        if "tags" in answers:
            self._themed = int(answers["tags"]["aggregations"]["all"]["doc_count"])
        self._candidates.take(await self._shelf.of(places(answers.values()), deadline))
        return self._judge().called(self._candidates)

    async def _second(self, called: str | None, vector: Floats | None, wanted: bool, deadline: Deadline) -> None:
        """What is near in meaning, and the series of what is called so. Late, where meaning was `wanted`, it is left out."""
        in_time = deadline.less(_KEPT_BACK) if wanted else deadline
        try:
            answers = await self._ask(self._more(vector), in_time)
            measured = [answers[name] for name in ("near", "senses") if name in answers]
            answers.pop("senses", None)
            found = await self._shelf.of([*self._kin(called), *places(answers.values())], in_time)
        except BackendFailure:
            if not wanted:
                raise
            return
        for answer in measured:
            self._candidates.take_senses(answer)
        self._candidates.take(found)

    def _more(self, vector: Floats | None) -> dict[str, queries.Json]:
        searches = {}
        if vector is not None:
            searches["near"] = queries.nearest(vector, filter_queries(self._query.filters), queries.RECALL)
            if self._candidates.entries:
                searches["senses"] = queries.sense_of(vector, list(self._candidates.entries))
        if self._anchor is not None and (spelled := self._anchor.spellings()):
            searches["works"] = queries.by_authors_of(sorted(spelled), self._query.filters)
        return searches

    def _kin(self, title_id: str | None) -> list[Place]:
        return [] if title_id is None else self._places(self._candidates.entries[title_id].card.kin)

    def _places(self, title_ids: Iterable[str]) -> list[Place]:
        """Those of titles that a card names, which are in the index it is of."""
        index = self.index
        return [] if index is None else [(index, i) for i in title_ids if i not in self._candidates.entries]

    def _judged(self) -> tuple[Judged, list[str]]:
        return self._judge().judged(self._candidates)

    def _judge(self) -> Judge:
        return Judge(self._reading, self._statistics, self._anchor)

    async def _with_kin(self, missing: Sequence[str], judged: Judged, deadline: Deadline) -> Judged:
        """Judged once more with the rest of the series; as it was when that is late."""
        try:
            found = await self._shelf.of(self._places(missing), deadline.less(_KEPT_BACK))
        except BackendFailure:
            return judged
        self._candidates.take(found)
        return self._judged()[0]

    async def _similar(self, anchor: Anchor, sensed: bool, deadline: Deadline) -> Matches:
        similar = Similar(anchor, self._statistics, self._query.filters)
        answers = await self._ask(similar.searches(sensed), deadline)
        self._candidates = Candidates(Gate(self._query.filters))
        self._candidates.take(await self._shelf.of(places(answers.values()), deadline))
        judged = similar.judged(self._candidates, answers)
        self._themed = 0
        return await self._found(judged)

    async def _found(self, judged: Judged) -> Matches:
        sensed, evidence = self._candidates.senses is not None, judged.evidence
        if evidence is not None and not judged.answers():
            return Matches((), 0, sensed, near=await self._titles(judged, near_names(evidence)))
        total = judged.answers() + max(0, self._themed - judged.themed()) * judged.all_themed_answer()
        ordering = self._reading.ordering
        if evidence is not None:
            ordering = ordering_of(self._reading, judged.scores, evidence)
        guessed = evidence is not None and is_guess(judged.scores, evidence)
        return Matches(await self._best(judged, ordering), total, sensed, guessed)

    async def _best(self, judged: Judged, ordering: Ordering | None) -> tuple[Title, ...]:
        if ordering is None:
            return await self._titles(judged, order(judged.scores, self._query.limit))
        titles = await self._titles(judged, order(judged.scores, len(judged.ids)))
        return in_order(titles, ordering)[: self._query.limit]

    async def _titles(self, judged: Judged, best: Iterable[int]) -> tuple[Title, ...]:
        return await self._shelf.titles([self._candidates.entries[judged.ids[place]] for place in best])

    async def _ask(self, searches: Mapping[str, queries.Json], deadline: Deadline) -> Answers:
        if not searches:
            return {}
        answers = await self._client.searches(list(searches.values()), deadline)
        self.index = next((str(hit["_index"]) for each in answers for hit in each["hits"]["hits"]), self.index)
        return dict(zip(searches, answers, strict=True))
