"""The catalogue in OpenSearch: a `CatalogPort` that recalls there and ranks here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from session.resilience.deadline import Deadline
from tools.store.backends.blas import single_threaded_blas
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.errors import answering
from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.index.state import IndexState
from tools.store.backends.opensearch.index.statistics import Statistics
from tools.store.backends.opensearch.queries.conditions import filter_queries
from tools.store.backends.opensearch.queries.dsl import column
from tools.store.backends.opensearch.queries.likeness import like_facets
from tools.store.backends.opensearch.queries.lookups import best_known, with_ids
from tools.store.backends.opensearch.searching.matches import Matches
from tools.store.backends.opensearch.searching.search import Search
from tools.store.backends.opensearch.searching.title_cache import TitleCache, hit_keys
from tools.store.backends.query_vectors import QueryVectors
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, CatalogQuery, Facets, Filters, Health, Ordering, Title
from tools.store.ports import Embedder
from tools.store.search.conditions import Conditions
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.weights import Weights
from tools.store.search.text.characters import normalise

_THREADS = 2
_LONGEST_ID = 512


class OpenSearchCatalog:
    """Get one from `open`. Nothing is asked of the cluster before the first call."""

    def __init__(self, client: Client, embedder: Embedder | None, workers: ThreadPoolExecutor) -> None:
        self._client = client
        self._embedder = embedder
        self._vectors = None if embedder is None else QueryVectors(embedder)
        self._state = IndexState(client)
        self._cache = TitleCache(client, workers)
        self._parser = QueryParser.load()

    @classmethod
    @asynccontextmanager
    async def open(cls, address: OpenSearchAddress, embedder: Embedder | None) -> AsyncIterator[OpenSearchCatalog]:
        """Without an embedder the search is lexical and says nothing of it.

        Raises ValueError for a certificate file that can't be used or AWS credentials that are not there.
        """
        single_threaded_blas()
        client = Client(address)
        workers = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="catalog")
        catalog = cls(client, embedder, workers)
        try:
            yield catalog
        finally:
            if catalog._vectors is not None:
                await catalog._vectors.aclose()
            await client.aclose()
            workers.shutdown(wait=False, cancel_futures=True)

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Raises BackendFailure. Where the cluster or the embedder is late with meaning, words alone answer."""
        async with answering(deadline):
            parsed = self._parser.parse(query.text, query.filters.author)
            if parsed.empty:
                return await self._popular(query.filters, query.limit, deadline, parsed.ordering)
            statistics = await self._state.statistics(deadline)
            found = await self._searched(query, parsed, statistics, deadline)
            wanted = self._vectors is not None and not found.sensed
            return self._page(found, query.filters, ("vector",) if wanted else ())

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Raises BackendFailure."""
        asked = [i for i in dict.fromkeys(title_ids) if _can_be_an_id(i)]
        if not asked:
            return {}
        async with answering(deadline):
            answer = (await self._client.searches([with_ids(asked, (ID, "packed"))], deadline))[0]
            packed = {column(hit, ID): column(hit, "packed") for hit in answer["hits"]["hits"]}
            return {title.title_id: title for title in await self._cache.unpacked(list(packed.values()))}

    async def popular(self, filters: Filters, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Raises BackendFailure."""
        async with answering(deadline):
            return (await self._popular(filters, limit, deadline)).titles

    async def alike(self, facets: Facets, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Raises BackendFailure."""
        async with answering(deadline):
            statistics = await self._state.statistics(deadline)
            body = like_facets(statistics.tag_shares(facets.tags), facets, filter_queries(Filters()), limit, Weights())
            if body is None or limit < 1:
                return ()
            answer = (await self._client.searches([body], deadline))[0]
            found = await self._cache.of(hit_keys([answer]), deadline)
            return await self._cache.titles(list(found.values()))

    async def health(self, deadline: Deadline) -> Health:
        """Never raises: `detail` says what is wrong, an embedder that does not fit the index included."""
        try:
            async with answering(deadline):
                statistics = await self._state.statistics(deadline, anew=True)
        except BackendFailure as failure:
            return Health(False, failure.message)
        if problem := self._problem(statistics):
            return Health(False, f"searched by words alone: {problem}")
        state = "by words" if self._vectors is None else "by words and meaning"
        return Health(True, f"{statistics.titles} titles, searched {state}")

    def _problem(self, statistics: Statistics) -> str | None:
        return None if self._embedder is None else statistics.identity.disagreement(self._embedder)

    async def _searched(
        self, query: CatalogQuery, parsed: ParsedQuery, statistics: Statistics, deadline: Deadline
    ) -> Matches:
        pointed = parsed.points_from
        aliases = self._parser.parse(pointed).aliases if pointed else ()
        search = Search(self._client, self._cache, statistics, query, parsed, aliases)
        vector = None
        if self._vectors is not None and self._problem(statistics) is None:
            vector = asyncio.create_task(self._vectors.of(normalise(query.text), deadline), name="wait for a vector")
        try:
            found = await search.run(vector, deadline)
        finally:
            if vector is not None and not vector.done():
                vector.cancel()
                await asyncio.wait({vector})
        self._state.seen(search.index)
        return found

    async def _popular(
        self, filters: Filters, limit: int, deadline: Deadline, ordering: Ordering | None = None
    ) -> CatalogPage:
        answer = (await self._client.searches([best_known(filters, limit, ordering)], deadline))[0]
        titles = await self._cache.unpacked([column(hit, "packed") for hit in answer["hits"]["hits"]])
        return self._page(Matches(titles, int(answer["hits"]["total"]["value"]), True), filters, ())

    def _page(self, found: Matches, filters: Filters, degraded: tuple[str, ...]) -> CatalogPage:
        fitting = tuple(filter(Conditions(filters).satisfied_by, found.titles))
        total = found.total - (len(found.titles) - len(fitting))
        return CatalogPage(fitting, total, degraded, found.guessed, found.near)


def _can_be_an_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text.isprintable()
