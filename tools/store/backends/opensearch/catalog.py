"""A `CatalogPort` over OpenSearch: the cluster finds candidate titles, and this process ranks them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import end_task
from tools.store.backends.embedding import QueryVectors, single_threaded_blas
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client, answering
from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.dsl import best_known, column, cosine_of, nearest, with_ids
from tools.store.backends.opensearch.queries import aggregate_names, index_of, matches_from, to_taste
from tools.store.backends.opensearch.search import Search, cards_of, columns_of, spell_author
from tools.store.backends.opensearch.state import Answer, IndexState, Statistics, TitleCache, hit_key, hit_keys
from tools.store.failures import BackendFailure
from tools.store.models import (
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    NameMatches,
    Neighbour,
    Ordering,
    ReaderQuery,
    Title,
)
from tools.store.ports import Embedder
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser, whole_names
from tools.store.search.ranking.ranked import order
from tools.store.search.taste import Rarity, Taste, profile_of
from tools.store.search.text.characters import normalise
from tools.store.search.titles.names import ExactName, exact_names
from tools.store.tags import Vocabulary


class OpenSearchCatalog:
    """A `CatalogPort` over a cluster, which the first call connects to. Create it with `open`. Every method except `health`
    raises BackendFailure if the cluster fails."""

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
        self._names: Lru[tuple[str, str], NameMatches] = Lru(20_000)  # most names match nothing
        self._parser = QueryParser(vocabulary)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, address: OpenSearchAddress, embedder: Embedder | None, vocabulary: Vocabulary | None = None
    ) -> AsyncIterator[OpenSearchCatalog]:
        """Opens the catalogue for the block. Without an embedder, search is lexical and not marked degraded. Raises
        ValueError for missing AWS credentials."""
        single_threaded_blas()
        client = Client(address)
        workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="catalog")
        catalog = cls(client, embedder, workers, vocabulary)
        try:
            yield catalog
        finally:
            if catalog._vectors is not None:
                await catalog._vectors.aclose()
            await client.aclose()
            workers.shutdown(wait=False, cancel_futures=True)

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Searches by words and meaning, or by words alone if there is no embedder that fits the index, or if the embedder
        or the k-NN search fails or is late."""
        async with answering(deadline):
            parsed = self._parser.parse(query.text, query.conditions.author, query.conditions.tags)
            parsed = replace(parsed, ordering=query.ordering or parsed.ordering)
            await asyncio.sleep(0)  # yields to the event loop, since parsing a long query takes a while
            if parsed.empty:
                return await self._find_best_known(query, parsed.ordering, deadline)
            return await self._find(query, parsed, await self._state.statistics(deadline), deadline)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        async with answering(deadline):
            found: dict[str, Title] = {}
            if asked := [each for each in dict.fromkeys(title_ids) if 0 < len(each) <= 512 and each.isprintable()]:
                answer = (await self._client.searches([with_ids(asked, (ID, "packed"))], deadline))[0]
                packed = {column(hit, ID): column(hit, "packed") for hit in answer["hits"]["hits"]}
                found = {title.title_id: title for title in await self._cache.unpack_titles(list(packed.values()))}
            if not found.keys() >= set(title_ids):
                # Raises for an index of another format, which may lack titles: they must not be reported as absent.
                await self._state.statistics(deadline, anew=True)
            return found

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        async with answering(deadline):
            return (await self._find_best_known(CatalogQuery("", conditions, limit), None, deadline)).titles

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Finds candidates in the cluster and ranks them here, by the same rule as every backend."""
        if query.limit < 1 or query.fits == {}:
            return ()
        async with answering(deadline):
            statistics = await self._state.statistics(deadline)
            rarity = Rarity(statistics.terms.tags, statistics.titles)
            profile = profile_of(query, rarity)
            answer = (await self._client.searches([to_taste(query, profile)], deadline))[0]
            found = await self._cache.fetch_entries(hit_keys([answer]), deadline)
            cards = cards_of(found)
            await asyncio.sleep(0)  # yields to the loop, since work grows with the recalled titles
            taste = Taste(columns_of(cards), rarity, spell_author)
            await asyncio.sleep(0)
            scores = taste.worth(query, profile)
            await asyncio.sleep(0)
            entries = [found[title_id] for title_id in cards]
            return await self._cache.titles([entries[row] for row in order(scores, query.limit).tolist()])

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """Returns the titles nearest to the text in meaning; () if there is no embedder or the index has no vectors made by
        it, None if the text could not be embedded in time."""
        async with answering(deadline):
            if self._vectors is None or self._problem(await self._state.statistics(deadline)) is not None:
                return ()
            vector = await self._vectors.embed_text(normalise(text), deadline)
            if vector is None:
                return None
            hits = (await self._client.searches([nearest(vector, [], limit)], deadline))[0]["hits"]["hits"]
            likeness = {hit_key(hit): cosine_of(float(hit["_score"])) for hit in hits}
            entries = await self._cache.fetch_entries(likeness, deadline)
            titles = await self._cache.titles(list(entries.values()))
            near = {title_id: value for (_, title_id), value in likeness.items()}
            return tuple(Neighbour(title, near[title.title_id]) for title in titles)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        async with answering(deadline):
            return (await self._state.statistics(deadline)).terms

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """Matches cached names from the cache, and all others in one request."""
        async with answering(deadline):
            asked = exact_names(names)
            index = (await self._state.statistics(deadline)).name
            found = {each: known for each in asked if (known := self._names.use((index, each))) is not None}
            if unknown := {each: name for each, name in asked.items() if each not in found}:
                found |= self._learn_names(
                    (await self._client.searches([aggregate_names(unknown)], deadline))[0], unknown, index
                )
            return {each: found[each] for each in asked if found[each] != NameMatches()}

    async def health(self, deadline: Deadline) -> Health:
        """Checks the index. Never raises: `detail` states a problem, such as an embedder that does not match the index."""
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

    async def _find_best_known(self, query: CatalogQuery, ordering: Ordering | None, deadline: Deadline) -> CatalogPage:
        if query.conditions.stated or ordering is not None:
            # Raises for an index of another format, which lacks fields of the conditions and would answer wrongly.
            await self._state.statistics(deadline)
        hits = (await self._client.searches([best_known(query, ordering)], deadline))[0]["hits"]
        return CatalogPage(
            await self._cache.unpack_titles([column(hit, "packed") for hit in hits["hits"]]), int(hits["total"]["value"])
        )

    async def _find(
        self, query: CatalogQuery, parsed: ParsedQuery, statistics: Statistics, deadline: Deadline
    ) -> CatalogPage:
        pointed = parsed.reference_title
        aliases = self._parser.parse(pointed).aliases if pointed else ()
        names = exact_names(whole_names(query.text))
        names = {each: name for each, name in names.items() if (statistics.name, each) not in self._names}
        wants_meaning = self._vectors is not None
        search = Search(self._client, self._cache, statistics, query, parsed, aliases, names, wants_meaning)
        vector = None
        if self._vectors is not None and self._problem(statistics) is None:
            vector = asyncio.create_task(self._vectors.embed_text(normalise(query.text), deadline), name="wait for a vector")
        try:
            page = await search.run(vector, deadline)
        finally:
            await end_task(vector)
        self._state.note_index(search.index)
        if search.names_answer is not None:
            self._learn_names(search.names_answer, names, search.index or statistics.name)
        return page

    def _learn_names(self, answer: Answer, asked: Mapping[str, ExactName], index: str) -> dict[str, NameMatches]:
        """Reads the answer to `aggregate_names(asked)` and caches its matches, under the index that the answer names or else
        under `index`. Raises LookupError, TypeError and ValueError for a malformed answer."""
        found = matches_from(answer, asked)
        answered = index_of(answer)
        self._state.note_index(answered)
        for each in asked:
            self._names.put((answered or index, each), found[each])
        return found
