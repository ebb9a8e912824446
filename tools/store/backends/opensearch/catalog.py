"""The catalogue in OpenSearch: a `CatalogPort` that recalls there and ranks here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace

from session.resilience.deadline import Deadline
from tools.store.backends.embedding import QueryVectors, single_threaded_blas
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.candidates import Listing, Matches, Tasting
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.errors import answering
from tools.store.backends.opensearch.search import Search
from tools.store.backends.opensearch.state import IndexState, Statistics
from tools.store.backends.opensearch.title_cache import CalledNames, Neighbours, TitleCache
from tools.store.failures import BackendFailure
from tools.store.models import (
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    Neighbour,
    Ordering,
    ReaderQuery,
    Title,
)
from tools.store.ports import Embedder
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser, whole_names
from tools.store.search.text.characters import normalise
from tools.store.tags import Vocabulary

_THREADS = 2


class OpenSearchCatalog:
    """Get one from `open`. Nothing is asked of the cluster before the first call."""

    def __init__(
        self,
        client: Client,
        embedder: Embedder | None,
        workers: ThreadPoolExecutor,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self._client = client
        self._embedder = embedder
        self._vectors = None if embedder is None else QueryVectors(embedder)
        self._state = IndexState(client)
        self._cache = TitleCache(client, workers)
        self._listing, self._tasting = Listing(client, self._cache), Tasting(client, self._cache)
        self._called = CalledNames(client, self._state)
        self._neighbours = Neighbours(client, self._cache)
        self._parser = QueryParser.load(vocabulary)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, address: OpenSearchAddress, embedder: Embedder | None, vocabulary: Vocabulary | None = None
    ) -> AsyncIterator[OpenSearchCatalog]:
        """Without an embedder the search is lexical and says nothing of it.

        Raises ValueError for a certificate file that can't be used or AWS credentials that are not there.
        """
        single_threaded_blas()
        client = Client(address)
        workers = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="catalog")
        catalog = cls(client, embedder, workers, vocabulary)
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
            parsed = self._parser.parse(query.text, query.conditions.author)
            parsed = replace(parsed, ordering=query.ordering or parsed.ordering)
            await asyncio.sleep(0)  # reading a long query is work enough for one turn of the loop
            if parsed.empty:
                return _page(await self._best_known(query, parsed.ordering, deadline), ())
            found = await self._searched(query, parsed, await self._state.statistics(deadline), deadline)
            wanted = self._vectors is not None and not found.sensed
            return _page(found, ("vector",) if wanted else ())

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Raises BackendFailure."""
        async with answering(deadline):
            found = await self._listing.with_ids(title_ids, deadline)
            if not found.keys() >= set(title_ids):
                # An index of another format may lack what this server's would have: that is a failure and no absence.
                await self._state.statistics(deadline, anew=True)
            return found

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Raises BackendFailure."""
        async with answering(deadline):
            return (await self._best_known(CatalogQuery("", conditions, limit), None, deadline)).titles

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Raises BackendFailure."""
        async with answering(deadline):
            return await self._tasting.for_reader(query, await self._state.statistics(deadline), deadline)

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """Raises BackendFailure."""
        async with answering(deadline):
            if self._vectors is None or self._problem(await self._state.statistics(deadline)) is not None:
                return ()
            vector = await self._vectors.of(normalise(text), deadline)
            return None if vector is None else await self._neighbours.of(vector, limit, deadline)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        """Of the index that serves, as far as this process knows. Raises BackendFailure."""
        async with answering(deadline):
            return (await self._state.statistics(deadline)).terms

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        """Raises BackendFailure."""
        async with answering(deadline):
            return await self._called.find(names, deadline)

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

    async def _best_known(self, query: CatalogQuery, ordering: Ordering | None, deadline: Deadline) -> Matches:
        if query.conditions.stated or ordering is not None:
            # An index of another format has not the fields that these are asked of, and would answer wrongly.
            await self._state.statistics(deadline)
        return await self._listing.best_known(query, ordering, deadline)

    def _problem(self, statistics: Statistics) -> str | None:
        return None if self._embedder is None else statistics.identity.disagreement(self._embedder)

    async def _searched(
        self, query: CatalogQuery, parsed: ParsedQuery, statistics: Statistics, deadline: Deadline
    ) -> Matches:
        pointed = parsed.points_from
        aliases = self._parser.parse(pointed).aliases if pointed else ()
        names = self._called.unknown(whole_names(query.text), statistics.name)
        search = Search(self._client, self._cache, statistics, query, parsed, aliases, names)
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
        if search.called is not None:
            self._called.learn(search.called, names, search.index or statistics.name)
        return found


def _page(found: Matches, degraded: tuple[str, ...]) -> CatalogPage:
    return CatalogPage(found.titles, found.total, degraded, found.guessed, found.near)
