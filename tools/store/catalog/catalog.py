"""The catalogue, the records and stock as tools read them: with the day in every condition, without titles for adults where
the shop has none, and without asking again for ids that are not there."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from session.resilience.clocks import Clock, Now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
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

# Titles as tools read them by id: from the catalogue, or from the store's own records where that is late or away.
#
# Either is enough. In good times the catalogue alone is asked: what it says is what searches show, and one request is all
# a call costs. Where it fails, or has not answered within a part of the time, the records are asked besides and the first
# that knows something is believed ("hedged requests", Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013).


PATIENCE = 1 / 3
"""The share of the time left that the catalogue has for itself: 100 of the 300 ms of details."""
TitlesById = dict[str, Title]


@dataclass(frozen=True, slots=True)
class TitleReading:
    """A reading of titles: `titles` that exist; `from_records` if the store's records answered and the catalogue did not."""

    titles: TitlesById = field(default_factory=dict)
    from_records: bool = False


class TitleReader:
    """Reads titles over two guarded ports, each with a breaker of its own."""

    def __init__(self, catalog: CatalogPort, records: TitlesPort) -> None:
        self._catalog, self._records = catalog, records

    async def read(self, title_ids: Sequence[str], deadline: Deadline) -> TitleReading:
        """Raises the catalogue's `BackendFailure` when it does not answer and the records know none of the titles: that they
        lack one proves nothing, since they may not have been loaded yet."""
        asked = asyncio.ensure_future(self._catalog.get(title_ids, deadline))
        try:
            await asyncio.wait({asked}, timeout=max(0.0, deadline.remaining() * PATIENCE))
            if asked.done() and not _has_failed(asked):
                return TitleReading(asked.result())
            return await self._either(asked, title_ids, deadline)
        finally:
            await _end_request(asked)

    async def _either(
        self, catalog: asyncio.Future[TitlesById], title_ids: Sequence[str], deadline: Deadline
    ) -> TitleReading:
        records = asyncio.ensure_future(self._records.get(title_ids, deadline))
        try:
            await asyncio.wait({catalog, records}, return_when=asyncio.FIRST_COMPLETED)
            if not catalog.done() and not _knows(records):
                await asyncio.wait({catalog})
            if catalog.done() and not _has_failed(catalog):
                return TitleReading(catalog.result())
            await asyncio.wait({records})
            if _knows(records):
                return TitleReading(records.result(), from_records=True)
            return TitleReading(await catalog)
        finally:
            await _end_request(records)


def _has_failed(asked: asyncio.Future[TitlesById]) -> bool:
    """True if the backend failed. Other errors are raised where the result is taken."""
    return isinstance(asked.exception(), BackendFailure)


def _knows(asked: asyncio.Future[TitlesById]) -> bool:
    return asked.done() and not _has_failed(asked) and bool(asked.result())


async def _end_request(asked: asyncio.Future[TitlesById]) -> None:
    """Cancels a request that is not done, and waits for its end, so that the backend's work ends with the call."""
    if not asked.done():
        asked.cancel()
        await asyncio.wait({asked})
    if not asked.cancelled():
        asked.exception()  # looked at, whoever was believed


CAPACITY = 20_000
NATIVE = 4_000
"""Names in Japanese, which only some clients receive."""


class TitleNames:
    """The names of titles that were shown or asked for last. A name hardly ever changes, and shown titles update theirs."""

    def __init__(self, capacity: int = CAPACITY, native: int = NATIVE) -> None:
        self._names: Lru[str, str] = Lru(capacity)
        self._native: Lru[str, str] = Lru(native)

    def note(self, names: Iterable[tuple[str, str]]) -> None:
        for title_id, name in names:
            self._names.put(title_id, name)

    def recall_names(self, title_ids: Iterable[str]) -> dict[str, str]:
        return {title_id: name for title_id in title_ids if (name := self._names.use(title_id)) is not None}

    def note_native(self, names: Iterable[tuple[str, str | None]]) -> None:
        """Takes note of names in Japanese, of the titles that have one."""
        for title_id, name in names:
            if name:
                self._native.put(title_id, name)

    def native(self, title_ids: Iterable[str]) -> dict[str, str]:
        """The names in Japanese of those that were shown or asked for lately."""
        return {title_id: name for title_id in title_ids if (name := self._native.use(title_id)) is not None}

    async def read_names(self, title_ids: Sequence[str], titles: TitleReader, deadline: Deadline) -> Mapping[str, str]:
        """Their names; unknown ones are asked for, by the store's records where the catalogue is away. Late names are
        missing: no answer waits longer or fails for want of one."""
        missing = [title_id for title_id in title_ids if title_id not in self._names]
        if missing and not deadline.expired():
            try:
                found = (await titles.read(missing, deadline)).titles
            except BackendFailure:
                found = {}
            self.note((title_id, title.display) for title_id, title in found.items())
            self.note_native((title_id, title.ja) for title_id, title in found.items())
        return self.recall_names(title_ids)


ABSENT_SECONDS = 30.0
"""A title that is added is found after so long at the latest, and at once when a search has come upon it."""
JITTER = 0.2


class AbsentIds:
    """Ids that the catalogue lacked a moment ago: a model that repeats a wrong one costs the backend nothing."""

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
            self._until.put(title_id, self._clock() + ABSENT_SECONDS * (1 - JITTER * self._draw()))

    def discard(self, titles: Iterable[Title]) -> None:
        if self._until:
            for title in titles:
                self._until.pop(title.title_id)


class StoreCatalog:
    """A `CatalogPort` over a backend's. Adds to every condition the day in Japan by the wall clock `now`, and that nothing
    be for adults alone where `adult` is off; leaves out ids that are `absent`, where these are remembered."""

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
        """Matches names, adult titles' included: their records cannot be read here."""
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
    """The store's records without those of titles for adults alone."""

    port: TitlesPort

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return remove_adult(await self.port.get(title_ids, deadline))

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return without_adult(await self.port.popular(limit, deadline))

    async def health(self, deadline: Deadline) -> Health:
        return await self.port.health(deadline)


class StockWithoutAdult:
    """Stock without that of titles for adults alone. It knows titles by id, so each is read once from the catalogue or the
    records (`titles`, which leave out nothing). A title that cannot be read stays unanswered."""

    def __init__(self, port: StockPort, titles: TitleReader, capacity: int = 50_000) -> None:
        self._port, self._titles = port, titles
        self._adult: Lru[str, bool] = Lru(capacity)

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        adult = await self._find_adult(title_ids, deadline)
        fit = [title_id for title_id in title_ids if adult.get(title_id) is False]
        page = await self._port.availability(fit, deadline) if fit else AvailabilityPage({})
        unread = tuple(title_id for title_id in title_ids if title_id not in adult)
        return replace(page, unanswered=(*page.unanswered, *unread))

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)

    async def _find_adult(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, bool]:
        """The adult titles among those that could be read, by id. An unknown id is no adult title's; that is not
        remembered, since it may be added."""
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
