"""Titles as tools read them by id: from the catalogue, or from the store's own records where that is late or away.

Either is enough. In good times the catalogue alone is asked: what it says is what searches show, and one request is all a
call costs. Where it fails, or has not answered within a part of the time, the records are asked besides and the first that
knows something is believed ("hedged requests", Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from session.resilience.clocks import Clock, Now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import BackendFailure
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
from tools.store.models.values import day_in_japan
from tools.store.ports import CatalogPort, TitlesPort

PATIENCE = 1 / 3
"""Of the time that is left, which the catalogue has for itself: 100 of the 300 ms of details."""
TitlesById = dict[str, Title]


@dataclass(frozen=True, slots=True)
class TitleReading:
    """`titles` that exist. `from_records`: the catalogue did not answer, and the store's records did."""

    titles: TitlesById = field(default_factory=dict)
    from_records: bool = False


class TitleReader:
    """Both ports come guarded, each by a breaker of its own."""

    def __init__(self, catalog: CatalogPort, records: TitlesPort) -> None:
        self._catalog, self._records = catalog, records

    async def read(self, title_ids: Sequence[str], deadline: Deadline) -> TitleReading:
        """Raises the catalogue's `BackendFailure` when it does not answer and the records know none of the titles: that they
        lack one proves nothing, since they may not have been loaded yet."""
        asked = asyncio.ensure_future(self._catalog.get(title_ids, deadline))
        try:
            await asyncio.wait({asked}, timeout=max(0.0, deadline.remaining() * PATIENCE))
            if asked.done() and not _failed(asked):
                return TitleReading(asked.result())
            return await self._either(asked, title_ids, deadline)
        finally:
            await _ended(asked)

    async def _either(
        self, catalog: asyncio.Future[TitlesById], title_ids: Sequence[str], deadline: Deadline
    ) -> TitleReading:
        records = asyncio.ensure_future(self._records.get(title_ids, deadline))
        try:
            await asyncio.wait({catalog, records}, return_when=asyncio.FIRST_COMPLETED)
            if not catalog.done() and not _knows(records):
                await asyncio.wait({catalog})
            if catalog.done() and not _failed(catalog):
                return TitleReading(catalog.result())
            await asyncio.wait({records})
            if _knows(records):
                return TitleReading(records.result(), from_records=True)
            return TitleReading(await catalog)
        finally:
            await _ended(records)


def _failed(asked: asyncio.Future[TitlesById]) -> bool:
    """Whether the backend is at fault; what nobody foresaw is raised by whoever takes the result."""
    return isinstance(asked.exception(), BackendFailure)


def _knows(asked: asyncio.Future[TitlesById]) -> bool:
    return asked.done() and not _failed(asked) and bool(asked.result())


async def _ended(asked: asyncio.Future[TitlesById]) -> None:
    """Nothing is left under way: the backend's work ends with the call."""
    if not asked.done():
        asked.cancel()
        await asyncio.wait({asked})
    if not asked.cancelled():
        asked.exception()  # looked at, whoever was believed


@dataclass(frozen=True, slots=True)
class CatalogOfToday:
    """Says in every condition which day it is, by the wall clock `now`."""

    port: CatalogPort
    now: Now

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        return await self.port.search(replace(query, conditions=self._today(query.conditions)), deadline)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self.port.get(title_ids, deadline)

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self.port.popular(self._today(conditions), limit, deadline)

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        return await self.port.for_reader(replace(query, conditions=self._today(query.conditions)), deadline)

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        return await self.port.nearest(text, limit, deadline)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self.port.terms(deadline)

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        return await self.port.called(names, deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self.port.health(deadline)

    def _today(self, conditions: Conditions) -> Conditions:
        return replace(conditions, day=day_in_japan(self.now()).isoformat())


CAPACITY = 20_000
NATIVE = 4_000
"""Names in Japanese, which only some clients are told of."""


class TitleNames:
    """The names of titles that were shown or asked for last. A name hardly ever changes, and what is shown is named anew."""

    def __init__(self, capacity: int = CAPACITY, native: int = NATIVE) -> None:
        self._names: Lru[str, str] = Lru(capacity)
        self._native: Lru[str, str] = Lru(native)

    def note(self, names: Iterable[tuple[str, str]]) -> None:
        for title_id, name in names:
            self._names.put(title_id, name)

    def known(self, title_ids: Iterable[str]) -> dict[str, str]:
        return {title_id: name for title_id in title_ids if (name := self._names.use(title_id)) is not None}

    def note_native(self, names: Iterable[tuple[str, str | None]]) -> None:
        """Takes note of names in Japanese, of the titles that have one."""
        for title_id, name in names:
            if name:
                self._native.put(title_id, name)

    def native(self, title_ids: Iterable[str]) -> dict[str, str]:
        """The names in Japanese of those that were shown or asked for lately."""
        return {title_id: name for title_id in title_ids if (name := self._native.use(title_id)) is not None}

    async def of(self, title_ids: Sequence[str], titles: TitleReader, deadline: Deadline) -> Mapping[str, str]:
        """Their names, asking for those that are not known, by the store's records where the catalogue is away. What does
        not come in time is missing: nobody waits for a name longer than that, and no answer fails for want of one."""
        missing = [title_id for title_id in title_ids if title_id not in self._names]
        if missing and not deadline.expired():
            try:
                found = (await titles.read(missing, deadline)).titles
            except BackendFailure:
                found = {}
            self.note((title_id, title.display) for title_id, title in found.items())
            self.note_native((title_id, title.ja) for title_id, title in found.items())
        return self.known(title_ids)


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
