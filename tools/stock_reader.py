"""Stock as tools read it: five seconds old at most when live, and the last known for a quarter of an hour after."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from session.deadline import Clock, Deadline
from tools.failures import BackendFailure
from tools.models import Availability
from tools.ports import StockPort

FRESH_SECONDS = 5.0
LAST_KNOWN_SECONDS = 15 * 60.0


@dataclass(frozen=True, slots=True)
class StockReading:
    """`rows` are current, `unknown` are not sold here, `unanswered` did not come in time. `asked` tells a live read
    from one that the cache could answer alone."""

    rows: dict[str, Availability]
    unknown: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    asked: bool = False


@dataclass(slots=True)
class _Entry:
    row: Availability | None
    read_at: float


@dataclass(slots=True)
class StockReader:
    """A small cache in the process before the stock port. None of it is persisted: stock is too short-lived to be."""

    port: StockPort
    clock: Clock = time.monotonic
    capacity: int = 50_000
    _entries: OrderedDict[str, _Entry] = field(default_factory=OrderedDict)

    async def read(self, title_ids: Sequence[str], deadline: Deadline) -> StockReading:
        """Raises `BackendFailure` when nothing is fresh and the backend does not answer."""
        wanted = tuple(dict.fromkeys(title_ids))
        rows = self._fresh(wanted)
        missing = [title_id for title_id in wanted if title_id not in rows]
        unanswered: tuple[str, ...] = ()
        if missing:
            page = await self.port.availability(missing, deadline)
            unanswered = page.unanswered
            for title_id in set(missing).difference(unanswered):
                rows[title_id] = page.rows.get(title_id)
                self._keep(title_id, rows[title_id])
        return _reading(wanted, rows, unanswered, asked=bool(missing))

    async def read_what_is_there(self, title_ids: Sequence[str], deadline: Deadline) -> StockReading:
        """As `read`, but a backend that does not answer leaves its titles unanswered instead of failing the call."""
        try:
            return await self.read(title_ids, deadline)
        except BackendFailure:
            rows = self._fresh(title_ids)
            return _reading(title_ids, rows, tuple(i for i in title_ids if i not in rows), asked=True)

    def last_known(self, title_ids: Iterable[str]) -> dict[str, Availability]:
        """What was read of these titles within the last quarter of an hour; their `as_of` says when."""
        known = {title_id: self._within(title_id, LAST_KNOWN_SECONDS) for title_id in title_ids}
        return {title_id: entry.row for title_id, entry in known.items() if entry is not None and entry.row is not None}

    def _fresh(self, title_ids: Iterable[str]) -> dict[str, Availability | None]:
        """What need not be asked; None for a title that is not sold here."""
        entries = {title_id: self._within(title_id, FRESH_SECONDS) for title_id in title_ids}
        return {title_id: entry.row for title_id, entry in entries.items() if entry is not None}

    def _within(self, title_id: str, seconds: float) -> _Entry | None:
        entry = self._entries.get(title_id)
        return entry if entry is not None and self.clock() - entry.read_at <= seconds else None

    def _keep(self, title_id: str, row: Availability | None) -> None:
        self._entries[title_id] = _Entry(row, self.clock())
        self._entries.move_to_end(title_id)
        while len(self._entries) > self.capacity:
            self._entries.popitem(last=False)


def _reading(
    wanted: Iterable[str], found: Mapping[str, Availability | None], unanswered: tuple[str, ...], *, asked: bool
) -> StockReading:
    rows = {title_id: row for title_id in wanted if (row := found.get(title_id)) is not None}
    unknown = tuple(title_id for title_id, row in found.items() if row is None)
    return StockReading(rows, unknown, unanswered, asked)
