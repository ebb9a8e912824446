"""Titles as tools read them by id: from the catalogue, or from the store's own records where that is late or away.

Either is enough. In good times the catalogue alone is asked: what it says is what searches show, and one request is all a
call costs. Where it fails, or has not answered within a part of the time, the records are asked besides and the first that
knows something is believed ("hedged requests", Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure
from tools.store.models import Title
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
