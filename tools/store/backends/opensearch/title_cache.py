"""Titles that were read lately, by index and id, with the cards that they are ranked by."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.definition import ID
from tools.store.backends.opensearch.documents import Card, card_from, titles_from
from tools.store.backends.opensearch.dsl import column, with_ids
from tools.store.models import Title

MOST_AT_ONCE = 8
"""Records that are unpacked on the event loop: a full one takes half a millisecond."""
CAPACITY = 4_096
"""Titles, of some 12 KB each."""
Answer = Mapping[str, Any]
HitKey = tuple[str, str]
"""An index, and a title's id."""


class Entry:
    """One title. Few of the ranked titles are shown, so the record is unpacked when it is first needed."""

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
            (self._title,) = titles_from([self._packed])
        return self._title


class TitleCache:
    def __init__(self, client: Client, workers: Executor, capacity: int = CAPACITY) -> None:
        self._client, self._workers = client, workers
        self._entries: Lru[HitKey, Entry] = Lru(capacity)

    async def of(self, places: Iterable[HitKey], deadline: Deadline) -> dict[str, Entry]:
        """The titles by id, in that order; one that is not there any more is left out. Fetches those that are not kept, all
        in one request. Raises BackendFailure, and LookupError, TypeError and ValueError for malformed answers."""
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
        """Raises MalformedAnswer."""
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
    """Index and id of the hits of searches. Raises LookupError and TypeError for malformed hits."""
    return [(str(hit["_index"]), str(hit["fields"][ID][0])) for answer in answers for hit in answer["hits"]["hits"]]


def hit_key(hit: Answer) -> HitKey:
    return str(hit["_index"]), column(hit, ID)


def _entries(answer: Answer) -> dict[HitKey, Entry]:
    return {hit_key(hit): Entry(card_from(column(hit, "card")), column(hit, "packed")) for hit in answer["hits"]["hits"]}
