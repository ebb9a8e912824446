from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.opensearch.client import Client, IndexMissing, MalformedAnswer
from tools.store.backends.opensearch.definition import FORMAT, ID, Identity, Json
from tools.store.backends.opensearch.documents import Card, card_from, titles_from
from tools.store.backends.opensearch.dsl import column, with_ids
from tools.store.failures import DependencyFailure
from tools.store.identifiers import GENRES
from tools.store.models import CatalogTerms, Title
from tools.store.search.columns import Floats

_K1, _B = 1.2, 0.25
NUMBERS: Json = {
    "size": 0,
    "track_total_hits": True,
    "aggs": {
        "length": {"avg": {"field": "prose_length"}},
        "tags": {"terms": {"field": "tags", "size": 5_000}},
        "magazines": {"terms": {"field": "magazine", "size": 2_000}},
        "readerships": {"terms": {"field": "genre", "size": len(GENRES)}},
    },
}
"""The search whose answer `Statistics` reads."""


class Statistics:
    """The index's statistics for weighing words and tags, equal to those of the embedded catalogue. Words are weighed by
    BM25 (Robertson & Zaragoza 2009) with k1 = 1.2 and b = 0.25. Document frequencies are cached as queries need them."""

    def __init__(self, name: str, identity: Identity, answer: Mapping[str, Any]) -> None:
        """Reads the answer to the search `NUMBERS`. Raises LookupError and TypeError if it is malformed."""
        self.name, self.identity = name, identity
        self.titles = int(answer["hits"]["total"]["value"])
        self._length = max(1.0, float(answer["aggregations"]["length"]["value"] or 1.0))
        counts = {
            name: {str(each["key"]): int(each["doc_count"]) for each in answer["aggregations"][name]["buckets"]}
            for name in ("tags", "magazines", "readerships")
        }
        self.terms = CatalogTerms(**counts, titles=self.titles)
        self._found: Lru[str, int] = Lru(20_000)

    def unknown(self, terms: Iterable[str]) -> list[str]:
        return [term for term in terms if term not in self._found]

    def learn(self, terms: Sequence[str], answer: Mapping[str, Any]) -> None:
        buckets = answer["aggregations"]["df"]["buckets"]
        for i, term in enumerate(terms):
            self._found.put(term, int(buckets[str(i)]["doc_count"]))

    def measure_coverage(self, asked: Sequence[Sequence[str]], documents: Sequence[Mapping[str, float]]) -> Floats:
        """Returns an array of shape (documents,): BM25 scores divided by the query's total idf, more than 1 if terms repeat.
        `asked` has a group of alternative terms for each query word; `documents` are weighted terms. The terms in `asked`
        must have been learnt."""
        if not asked:
            return np.zeros(len(documents), np.float32)
        weights = [self._idf(*group) for group in asked]
        most = max(1e-6, sum(weights))
        groups: dict[str, list[int]] = defaultdict(list)
        for place, group in enumerate(asked):
            for term in group:
                groups[term].append(place)
        return np.array([self._score(groups, weights, document) / most for document in documents], np.float32)

    def _score(self, groups: Mapping[str, list[int]], weights: Sequence[float], document: Mapping[str, float]) -> float:
        """Returns a document's BM25 score. `groups` maps each term to the positions of the query words that it spells. Takes
        time only for shared terms, since a long Japanese query has eight hundred terms."""
        held: dict[int, float] = {}
        for term in groups.keys() & document.keys():
            for place in groups[term]:
                held[place] = max(held.get(place, 0.0), document[term])
        if not held:
            return 0.0
        norm = _K1 * (1.0 - _B + _B * sum(document.values()) / self._length)
        # In the order of the query, or sums would differ in their last digit from process to process.
        return sum(weights[place] * held[place] * (_K1 + 1.0) / (held[place] + norm) for place in sorted(held))

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        """Returns the share of the terms' total idf that falls on terms occurring in at least one title; 0 without terms.
        The terms must have been learnt."""
        asked = sum(map(self._idf, terms))
        return sum(self._idf(term) for term in terms if self._found.peek(term)) / asked if asked else 0.0

    def _idf(self, *terms: str) -> float:
        found = min(self.titles, sum(self._found.use(term) or 0 for term in terms))
        return math.log(1.0 + (self.titles - found + 0.5) / (found + 0.5))


class IndexState:
    """Caches the statistics of the index behind the alias. Reads them again when hits come from another index, which shows
    that the alias has moved."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: Statistics | None = None
        self._asking = asyncio.Lock()

    async def statistics(self, deadline: Deadline, *, anew: bool = False) -> Statistics:
        """Returns the statistics of the index behind the alias, from the cache if possible. With `anew`, first asks whether
        the alias stands for another index by now. Raises BackendFailure, also for an index that this server's format does
        not fit; MalformedAnswer for an alias of several indices; LookupError or TypeError for other malformed answers."""
        if self._known is not None and not anew:
            return self._known
        async with self._asking:
            if self._known is None or anew:
                self._known = await self._ask(deadline)
            return self._known

    def note_index(self, name: str | None) -> None:
        if self._known is not None and name is not None and name != self._known.name:
            self._known = None

    async def _ask(self, deadline: Deadline) -> Statistics:
        name, identity = await self._identity(deadline)
        if self._known is not None and self._known.name == name:
            return self._known
        if identity.format != FORMAT:
            message = "The index is of another version of this server: load the catalogue again."
            raise DependencyFailure(message, dependency="catalog")
        return Statistics(name, identity, (await self._client.searches([NUMBERS], deadline))[0])

    async def _identity(self, deadline: Deadline) -> tuple[str, Identity]:
        mappings = await self._client.call("GET", f"/{self._client.address.alias}/_mapping", deadline=deadline)
        if len(mappings) != 1:
            raise IndexMissing if not mappings else MalformedAnswer("the alias stands for several indices")
        ((name, found),) = mappings.items()
        try:
            return name, Identity.from_meta(found["mappings"]["_meta"])
        except (LookupError, TypeError, ValueError) as error:
            message = "The index was not made by this server: load the catalogue."
            raise DependencyFailure(message, dependency="catalog") from error


MOST_AT_ONCE = 8
"""Most records that a call unpacks on the event loop, where a large one takes half a millisecond; more go to a thread."""
CAPACITY = 4_096
"""Titles in the cache, of some 12 KB each."""
Answer = Mapping[str, Any]
HitKey = tuple[str, str]
"""The name of an index, and a title's id."""


class CachedHit:
    """A cached title. Its record is unpacked on first access, since few of the ranked titles are shown."""

    def __init__(self, card: Card, packed: str) -> None:
        self.card = card
        self.unpacked: Title | None = None
        self._packed = packed

    @property
    def title(self) -> Title:
        if self.unpacked is None:
            (self.unpacked,) = titles_from([self._packed])
        return self.unpacked


class TitleCache:
    def __init__(self, client: Client, workers: Executor, capacity: int = CAPACITY) -> None:
        self._client, self._workers = client, workers
        self._entries: Lru[HitKey, CachedHit] = Lru(capacity)

    async def fetch_entries(self, places: Iterable[HitKey], deadline: Deadline) -> dict[str, CachedHit]:
        """Returns the titles by id, in the order of `places`, without titles that no longer exist. Fetches missing titles in
        one request. Raises BackendFailure, and LookupError, TypeError and ValueError for malformed answers."""
        found = {title_id: self._entries.use((index, title_id)) for index, title_id in dict.fromkeys(places)}
        missing = [title_id for title_id, entry in found.items() if entry is None]
        if missing:
            answer = (await self._client.searches([with_ids(missing)], deadline))[0]
            fresh = await asyncio.get_running_loop().run_in_executor(self._workers, _entries, answer)
            for place, entry in fresh.items():
                self._entries.put(place, entry)
            # By id: the alias may have moved to another index since the hits were found.
            found.update((title_id, entry) for (_, title_id), entry in fresh.items() if title_id in found)
        return {title_id: entry for title_id, entry in found.items() if entry is not None}

    async def titles(self, entries: Sequence[CachedHit]) -> tuple[Title, ...]:
        if sum(entry.unpacked is None for entry in entries) <= MOST_AT_ONCE:
            return tuple(entry.title for entry in entries)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, lambda: tuple(entry.title for entry in entries))

    async def unpack_titles(self, packed: Sequence[str]) -> tuple[Title, ...]:
        if len(packed) <= MOST_AT_ONCE:
            return titles_from(packed)
        return await asyncio.get_running_loop().run_in_executor(self._workers, titles_from, packed)


def hit_keys(answers: Iterable[Answer]) -> list[HitKey]:
    return [hit_key(hit) for answer in answers for hit in answer["hits"]["hits"]]


def hit_key(hit: Answer) -> HitKey:
    return str(hit["_index"]), column(hit, ID)


def _entries(answer: Answer) -> dict[HitKey, CachedHit]:
    return {hit_key(hit): CachedHit(card_from(column(hit, "card")), column(hit, "packed")) for hit in answer["hits"]["hits"]}
