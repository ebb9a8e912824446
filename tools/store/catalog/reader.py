"""Titles as tools read them by id: from the catalogue, or from the store's own records where that is late or away.

Either is enough. In good times the catalogue alone is asked: what it says is what searches show, and one request is all a
call costs. Where it fails, or has not answered within a part of the time, the records are asked besides and the first that
knows something is believed ("hedged requests", Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import BackendFailure
from tools.store.models import Title
from tools.store.ports import CatalogPort, TitlesPort

PATIENCE = 1 / 3
"""The share of the time left that the catalogue has for itself: 100 of the 300 ms of details."""
TitlesById = dict[str, Title]


@dataclass(frozen=True, slots=True)
class TitleReading:
    """`titles` that exist. `from_records`: the catalogue did not answer, and the store's records did."""

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
    """True if the backend is at fault. Unforeseen errors are raised where the result is taken."""
    return isinstance(asked.exception(), BackendFailure)


def _knows(asked: asyncio.Future[TitlesById]) -> bool:
    return asked.done() and not _has_failed(asked) and bool(asked.result())


async def _end_request(asked: asyncio.Future[TitlesById]) -> None:
    """Waits until the backend's work has ended with the call."""
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
        return self.recall_names(title_ids)
