"""The titles that come nearest to a vector, with how near they come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.documents import Card, card_from, title_from, titles_from
from tools.store.backends.opensearch.dsl import column, cosine_of, nearest, with_ids
from tools.store.backends.opensearch.queries import called, called_from, index_of
from tools.store.backends.opensearch.state import IndexState
from tools.store.models import Called, Neighbour, Title
from tools.store.search.arrays import Floats
from tools.store.search.titles.names import ExactName, exact_names

MOST_AT_ONCE = 8
"""Records that are unpacked on the event loop: of a full one it takes half a millisecond."""
CAPACITY = 4_096
"""Titles, of some 12 KB each."""
Answer = Mapping[str, Any]
HitKey = tuple[str, str]
"""An index, and a title's id."""


class Entry:
    """One title. Few of those that are ranked are shown, so the record is unpacked when it first is."""

    def __init__(self, card: Card, packed: str) -> None:
        self.card = card
        self._packed = packed
        self._title: Title | None = None

    @property
    def unpacked(self) -> bool:
        return self._title is not None

    @property
    def title(self) -> Title:
        """Raises MalformedAnswer."""
        if self._title is None:
            self._title = title_from(self._packed)
        return self._title


class TitleCache:
    def __init__(self, client: Client, workers: Executor, capacity: int = CAPACITY) -> None:
        self._client, self._workers = client, workers
        self._entries: Lru[HitKey, Entry] = Lru(capacity)

    async def of(self, places: Iterable[HitKey], deadline: Deadline) -> dict[str, Entry]:
        """The titles by id, in that order; one that is not there any more is left out. Asks for those that are not kept, all
        in one request. Raises BackendFailure, and LookupError, TypeError and ValueError for answers that are none."""
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

    async def titles(self, entries: Sequence[Entry]) -> tuple[Title, ...]:
        """What they are to be shown by. Raises MalformedAnswer."""
        if sum(not entry.unpacked for entry in entries) <= MOST_AT_ONCE:
            return _shown(entries)
        return await asyncio.get_running_loop().run_in_executor(self._workers, _shown, entries)

    async def unpacked(self, packed: Sequence[str]) -> tuple[Title, ...]:
        """The titles of packed records. Raises MalformedAnswer."""
        if len(packed) <= MOST_AT_ONCE:
            return titles_from(packed)
        return await asyncio.get_running_loop().run_in_executor(self._workers, titles_from, packed)


def _shown(entries: Sequence[Entry]) -> tuple[Title, ...]:
    return tuple(entry.title for entry in entries)


def hit_keys(answers: Iterable[Answer]) -> list[HitKey]:
    """Where the hits of searches are. Raises LookupError and TypeError for hits that are none of ours."""
    return [(str(hit["_index"]), str(hit["fields"][ID][0])) for answer in answers for hit in answer["hits"]["hits"]]


def hit_key(hit: Answer) -> HitKey:
    return str(hit["_index"]), column(hit, ID)


def _entries(answer: Answer) -> dict[HitKey, Entry]:
    return {hit_key(hit): Entry(card_from(column(hit, "card")), column(hit, "packed")) for hit in answer["hits"]["hits"]}


CALLED_CAPACITY = 20_000
"""Names, most of which nothing goes by."""


class CalledNames:
    """Names that were looked for lately, by index."""

    def __init__(self, client: Client, state: IndexState, capacity: int = CALLED_CAPACITY) -> None:
        self._client, self._state = client, state
        self._known: Lru[tuple[str, str], Called] = Lru(capacity)

    def unknown(self, asked: Sequence[str], index: str) -> dict[str, ExactName]:
        """Those of the names that were not looked for in the index lately."""
        return {each: name for each, name in exact_names(asked).items() if (index, each) not in self._known}

    def learn(self, answer: Answer, asked: Mapping[str, ExactName], index: str) -> dict[str, Called]:
        """Takes the answer to `queries.called(asked)`, of the index unless it names another. Raises LookupError, TypeError
        and ValueError for one that is none."""
        found = called_from(answer, asked)
        answered = index_of(answer)
        self._state.seen(answered)
        for each in asked:
            self._known.put((answered or index, each), found[each])
        return found

    async def find(self, asked: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        """Asks for those that are not known, all in one request. Raises BackendFailure, and LookupError, TypeError and
        ValueError for an answer that is none."""
        names = exact_names(asked)
        index = (await self._state.statistics(deadline)).name
        unknown = self.unknown(asked, index)
        found = {each: known for each in names if (known := self._known.use((index, each))) is not None}
        if unknown:
            found |= self.learn((await self._client.searches([called(unknown)], deadline))[0], unknown, index)
        return {each: found[each] for each in names if found[each] != Called()}


class Neighbours:
    """Raises BackendFailure, and LookupError, TypeError and ValueError for answers that are none."""

    def __init__(self, client: Client, cache: TitleCache) -> None:
        self._client, self._cache = client, cache

    async def of(self, vector: Floats, limit: int, deadline: Deadline) -> tuple[Neighbour, ...]:
        """Nearest first. A title that has gone meanwhile is left out."""
        hits = (await self._client.searches([nearest(vector, [], limit)], deadline))[0]["hits"]["hits"]
        likeness = {hit_key(hit): cosine_of(float(hit["_score"])) for hit in hits}
        entries = await self._cache.of(likeness, deadline)
        titles = await self._cache.titles(list(entries.values()))
        near = {title_id: value for (_, title_id), value in likeness.items()}
        return tuple(Neighbour(title, near[title.title_id]) for title in titles)
