"""A catalogue that is not asked again for what it has just said not to have."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence

from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.models import (
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    Neighbour,
    ReaderQuery,
    Title,
)
from tools.store.ports import CatalogPort

ABSENT_SECONDS = 30.0
"""A title that is added is found after so long at the latest, and at once when a search has come upon it."""
JITTER = 0.2


class NegativeCache:
    """Remembers ids that are not there, so that a model that repeats a wrong one costs the backend nothing."""

    def __init__(
        self,
        port: CatalogPort,
        clock: Clock = time.monotonic,
        draw: Callable[[], float] = random.random,
        capacity: int = 10_000,
    ) -> None:
        self._port = port
        self._clock = clock
        self._draw = draw
        self._absent_until: Lru[str, float] = Lru(capacity)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        now = self._clock()
        asked = [title_id for title_id in title_ids if (self._absent_until.use(title_id) or now) <= now]
        if not asked:
            return {}
        found = await self._port.get(asked, deadline)
        self._note_absent(title_id for title_id in asked if title_id not in found)
        return found

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        page = await self._port.search(query, deadline)
        self._note_present(page.titles)
        return page

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        titles = await self._port.popular(conditions, limit, deadline)
        self._note_present(titles)
        return titles

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        titles = await self._port.for_reader(query, deadline)
        self._note_present(titles)
        return titles

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        return await self._port.nearest(text, limit, deadline)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self._port.terms(deadline)

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        return await self._port.called(names, deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)

    def _note_absent(self, title_ids: Iterable[str]) -> None:
        for title_id in title_ids:
            self._absent_until.put(title_id, self._clock() + ABSENT_SECONDS * (1 - JITTER * self._draw()))

    def _note_present(self, titles: Iterable[Title]) -> None:
        if self._absent_until:
            for title in titles:
                self._absent_until.pop(title.title_id)
