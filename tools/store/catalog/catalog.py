"""Wrappers of the catalogue, records and stock that tools use: they add the day to every query's conditions, exclude adult
titles if the shop shows none, and cache unknown ids."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from session.resilience.clocks import Clock, Now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import end_task
from tools.store.audience import Adult, is_adult, without_adult
from tools.store.failures import BackendFailure
from tools.store.models import (
    AvailabilityPage,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    NameMatches,
    Neighbour,
    ReaderQuery,
    Title,
)
from tools.store.models.values import day_in_japan
from tools.store.ports import CatalogPort, StockPort, TitlesPort

# Titles by id: from the catalogue, or from the store's own records while the catalogue is slow or down.
#
# Normally only the catalogue is asked: a call costs one request, and its answer agrees with searches. If it fails, or has
# not answered within a share of the time, the records are asked too, and the first answer with a title is used
# ("hedged requests", Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013).


PATIENCE = 1 / 3
"""Share of the remaining time after which the records are asked too: 100 of the 300 ms of title details."""
TitlesById = dict[str, Title]


@dataclass(frozen=True, slots=True)
class TitleReading:
    """The titles found among those requested, by id. `from_records` is True if the store's records answered and not the
    catalogue."""

    titles: TitlesById = field(default_factory=dict)
    from_records: bool = False


class TitleReader:
    """Reads titles by hedged requests: from the catalogue and, if it is slow or fails, from the store's records."""

    def __init__(self, catalog: CatalogPort, records: TitlesPort) -> None:
        self._catalog, self._records = catalog, records

    async def read(self, title_ids: Sequence[str], deadline: Deadline) -> TitleReading:
        """Returns the titles found by the source that answers. Raises the catalogue's `BackendFailure` if it fails and the
        records have none of the titles: records may not be loaded, so this does not prove that the titles are absent."""
        catalog = asyncio.ensure_future(self._catalog.get(title_ids, deadline))
        requests = [catalog]
        try:
            await asyncio.wait(requests, timeout=max(0.0, deadline.remaining() * PATIENCE))
            if not catalog.done() or _has_failed(catalog):
                records = asyncio.ensure_future(self._records.get(title_ids, deadline))
                requests.append(records)
                await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
                if not catalog.done() and not _knows(records):
                    await asyncio.wait([catalog])
                if not catalog.done() or _has_failed(catalog):
                    await asyncio.wait([records])
                    if _knows(records):
                        return TitleReading(records.result(), from_records=True)
            return TitleReading(await catalog)
        finally:
            if len(requests) > 1 or not catalog.done():
                await end_task(*requests)  # no backend work outlives the call


def _has_failed(asked: asyncio.Future[TitlesById]) -> bool:
    """Returns True if the request ended in a `BackendFailure`. Other errors are raised when its result is read."""
    return isinstance(asked.exception(), BackendFailure)


def _knows(asked: asyncio.Future[TitlesById]) -> bool:
    return asked.done() and not _has_failed(asked) and bool(asked.result())


class TitleNames:
    """An LRU cache of titles' names. Entries do not expire: names hardly ever change, and listing a title updates its
    entry. Names in Japanese have a smaller cache of their own, since only some clients receive them."""

    def __init__(self, capacity: int = 20_000) -> None:
        self._names: Lru[str, str] = Lru(capacity)
        self._japanese: Lru[str, str] = Lru(4_000)

    def note(self, title_id: str, name: str, japanese: str | None = None) -> None:
        self._names.put(title_id, name)
        if japanese:
            self._japanese.put(title_id, japanese)

    def recall_names(self, title_ids: Iterable[str]) -> dict[str, str]:
        return {title_id: name for title_id in title_ids if (name := self._names.use(title_id)) is not None}

    def japanese(self, title_ids: Iterable[str]) -> dict[str, str]:
        return {title_id: name for title_id in title_ids if (name := self._japanese.use(title_id)) is not None}

    async def read_names(self, title_ids: Sequence[str], titles: TitleReader, deadline: Deadline) -> Mapping[str, str]:
        """Returns names by title id; reads missing names through `titles` and caches them. Omits names that fail or come
        late, so that no call fails for lack of a name."""
        missing = [title_id for title_id in title_ids if title_id not in self._names]
        if missing and not deadline.expired():
            try:
                found = (await titles.read(missing, deadline)).titles
            except BackendFailure:
                found = {}
            for title_id, title in found.items():
                self.note(title_id, title.display, title.ja)
        return self.recall_names(title_ids)


ABSENT_SECONDS = 30.0
"""Seconds for which an id is cached as absent. A title added meanwhile is found after that, or once a search returns it."""


class AbsentIds:
    """A negative cache, for 24 to 30 seconds, of ids that the catalogue lacks, so that a model repeating a wrong id costs no
    backend call. `draw` returns random numbers from 0 to 1, for the jitter."""

    def __init__(
        self, clock: Clock = time.monotonic, draw: Callable[[], float] = random.random, capacity: int = 10_000
    ) -> None:
        self._clock, self._draw = clock, draw
        self._until: Lru[str, float] = Lru(capacity)

    def remove_from(self, title_ids: Sequence[str]) -> list[str]:
        now = self._clock()
        return [title_id for title_id in title_ids if (self._until.use(title_id) or now) <= now]

    def add(self, title_ids: Iterable[str]) -> None:
        for title_id in title_ids:
            self._until.put(title_id, self._clock() + ABSENT_SECONDS * (1 - 0.2 * self._draw()))

    def discard(self, titles: Iterable[Title]) -> None:
        if self._until:
            for title in titles:
                self._until.pop(title.title_id)


class StoreCatalog:
    """A `CatalogPort` around that of a backend. Adds the day in Japan, by the wall clock `now`, to the conditions of every
    query; excludes adult titles if `adult` is off; does not request ids that the negative cache `absent` has."""

    def __init__(self, port: CatalogPort, now: Now, adult: Adult = Adult.ON, absent: AbsentIds | None = None) -> None:
        self._port, self._now, self._absent = port, now, absent
        self._without_adult = adult is Adult.OFF

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        page = await self._port.search(replace(query, conditions=self._narrow_conditions(query.conditions)), deadline)
        self._note_present(page.titles)
        return replace(page, near=without_adult(page.near)) if self._without_adult else page

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        asked = title_ids if self._absent is None else self._absent.remove_from(title_ids)
        if not asked:
            return {}
        found = await self._port.get(asked, deadline)
        if self._without_adult:
            found = remove_adult(found)
        if self._absent is not None:
            self._absent.add(title_id for title_id in asked if title_id not in found)
        return found

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        titles = await self._port.popular(self._narrow_conditions(conditions), limit, deadline)
        self._note_present(titles)
        return titles

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        titles = await self._port.for_reader(replace(query, conditions=self._narrow_conditions(query.conditions)), deadline)
        self._note_present(titles)
        return titles

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        found = await self._port.nearest(text, limit, deadline)
        if found is None or not self._without_adult:
            return found
        return tuple(each for each in found if not is_adult(each.title))

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self._port.terms(deadline)

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """Matches names, including those of adult titles that `get` leaves out."""
        return await self._port.match_names(names, deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)

    def _narrow_conditions(self, conditions: Conditions) -> Conditions:
        no_adult = self._without_adult or conditions.no_adult
        return replace(conditions, day=day_in_japan(self._now()).isoformat(), no_adult=no_adult)

    def _note_present(self, titles: Iterable[Title]) -> None:
        if self._absent is not None:
            self._absent.discard(titles)


def remove_adult(titles: Mapping[str, Title]) -> dict[str, Title]:
    return {title_id: title for title_id, title in titles.items() if not is_adult(title)}


@dataclass(frozen=True, slots=True)
class TitlesWithoutAdult:
    port: TitlesPort

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return remove_adult(await self.port.get(title_ids, deadline))

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return without_adult(await self.port.popular(limit, deadline))

    async def health(self, deadline: Deadline) -> Health:
        return await self.port.health(deadline)


class StockWithoutAdult:
    """A `StockPort` without adult titles. Stock rows do not say which titles are adult, so each title is read once through
    `titles`, which must include adult titles. A title that cannot be read is `unanswered`."""

    def __init__(self, port: StockPort, titles: TitleReader) -> None:
        self._port, self._titles = port, titles
        self._adult: Lru[str, bool] = Lru(50_000)

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        adult = await self._find_adult(title_ids, deadline)
        fit = [title_id for title_id in title_ids if adult.get(title_id) is False]
        page = await self._port.availability(fit, deadline) if fit else AvailabilityPage({})
        unread = tuple(title_id for title_id in title_ids if title_id not in adult)
        return replace(page, unanswered=(*page.unanswered, *unread))

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)

    async def _find_adult(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, bool]:
        """Returns by id whether each title that could be read is adult. An id that the catalogue does not know counts as not
        adult; this is not cached, since the title may be added."""
        known = {title_id: adult for title_id in title_ids if (adult := self._adult.use(title_id)) is not None}
        missing = [title_id for title_id in title_ids if title_id not in known]
        if not missing:
            return known
        try:
            reading = await self._titles.read(missing, deadline)
        except BackendFailure:
            return known
        for title_id, title in reading.titles.items():
            self._adult.put(title_id, is_adult(title))
            known[title_id] = is_adult(title)
        return known if reading.from_records else dict.fromkeys(missing, False) | known
