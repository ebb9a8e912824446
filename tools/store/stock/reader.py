"""Stock as tools read it: five seconds old at most when live, and the last known for a quarter of an hour after. What is
kept is what is on record; what is read are the prices of the day."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from session.resilience.clocks import Clock, Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import BackendFailure
from tools.store.japan import day_in_japan
from tools.store.models import Availability, AvailabilityPage
from tools.store.ports import StockPort
from tools.store.stock.prices_of_day import PricesOfDay

FRESH_SECONDS = 5.0
LAST_KNOWN_SECONDS = 15 * 60.0
UNKNOWN_SECONDS = 30.0
"""What is not sold is not asked for again so soon: a model that repeats a wrong id costs the backend nothing."""
JITTER = 0.2


@dataclass(frozen=True, slots=True)
class StockReading:
    """`rows` are current, `unknown` are not sold here, `unanswered` did not come in time. `asked` tells a live read
    from one that the cache could answer alone."""

    rows: dict[str, Availability]
    unknown: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    asked: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """`row` is None for a title that is not sold here. Both times are of the reader's clock."""

    row: Availability | None
    read_at: float
    fresh_until: float


@dataclass(slots=True)
class StockReader:
    """A small cache in the process before the stock port. With `fresh` off everything is asked, and what was read is
    remembered for bad times alone. `now` is the wall clock, `under_way` counts the reads that wait for the backend."""

    port: StockPort
    clock: Clock = time.monotonic
    capacity: int = 50_000
    fresh: bool = True
    draw: Callable[[], float] = random.random
    now: Now = utc_now
    under_way: int = field(default=0, init=False)
    _entries: Lru[str, _Entry] = field(init=False)
    _prices: PricesOfDay = field(init=False)

    def __post_init__(self) -> None:
        self._entries = Lru(self.capacity)
        self._prices = PricesOfDay(self.capacity)

    async def read(self, title_ids: Sequence[str], deadline: Deadline) -> StockReading:
        """Raises `BackendFailure` when nothing is fresh and the backend does not answer."""
        wanted = tuple(dict.fromkeys(title_ids))
        rows = self._fresh(wanted)
        missing = [title_id for title_id in wanted if title_id not in rows]
        unanswered: tuple[str, ...] = ()
        if missing:
            page = await self._ask(missing, deadline)
            unanswered = page.unanswered
            for title_id in set(missing).difference(unanswered):
                rows[title_id] = page.rows.get(title_id)
                self._entries.put(title_id, self._entry(rows[title_id]))
        return self._reading(wanted, rows, unanswered, asked=bool(missing))

    async def read_what_is_there(self, title_ids: Sequence[str], deadline: Deadline) -> StockReading:
        """As `read`, but a backend that does not answer leaves its titles unanswered instead of failing the call."""
        try:
            return await self.read(title_ids, deadline)
        except BackendFailure:
            rows = self._fresh(title_ids)
            return self._reading(title_ids, rows, tuple(i for i in title_ids if i not in rows), asked=True)

    def read_ahead(self, title_ids: Sequence[str], page: AvailabilityPage) -> None:
        """What was read of these titles behind the calls, for bad times: whoever asks next still gets what is live then."""
        for title_id in set(title_ids).difference(page.unanswered):
            self._entries.put(title_id, _Entry(page.rows.get(title_id), self.clock(), fresh_until=-math.inf))

    def last_known(self, title_ids: Iterable[str]) -> dict[str, Availability]:
        """What was read of these titles within the last quarter of an hour; their `as_of` says when."""
        today, prices = self._today(), self._prices
        return {title_id: prices.of(row, today) for title_id in title_ids if (row := self._last_known(title_id)) is not None}

    def lately_read(self, most: int) -> list[Availability]:
        """What is last known of the titles that were read last, the last first, as it is on record."""
        lately = islice(reversed(self._entries), most)
        return [row for title_id in lately if (row := self._last_known(title_id)) is not None]

    def age(self, title_id: str) -> float:
        """Seconds since it was read, whoever read it; infinite when nothing is known."""
        entry = self._entries.peek(title_id)
        return math.inf if entry is None else self.clock() - entry.read_at

    def adopt(self, row: Availability, age: float) -> None:
        """What another process read `age` seconds ago: for bad times, and never as if it had been read here."""
        read_at = self.clock() - age
        entry = self._entries.peek(row.title_id)
        if age <= LAST_KNOWN_SECONDS and (entry is None or entry.read_at < read_at):
            self._entries.put(row.title_id, _Entry(row, read_at, fresh_until=-math.inf))

    async def _ask(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        self.under_way += 1
        try:
            return await self.port.availability(title_ids, deadline)
        finally:
            self.under_way -= 1

    def _fresh(self, title_ids: Iterable[str]) -> dict[str, Availability | None]:
        """What need not be asked; None for a title that is not sold here."""
        if not self.fresh:
            return {}
        now = self.clock()
        entries = {title_id: self._entries.use(title_id) for title_id in title_ids}
        return {title_id: entry.row for title_id, entry in entries.items() if entry is not None and now <= entry.fresh_until}

    def _last_known(self, title_id: str) -> Availability | None:
        entry = self._entries.peek(title_id)
        return entry.row if entry is not None and self.clock() - entry.read_at <= LAST_KNOWN_SECONDS else None

    def _entry(self, row: Availability | None) -> _Entry:
        now = self.clock()
        seconds = FRESH_SECONDS if row is not None else UNKNOWN_SECONDS * (1 - JITTER * self.draw())
        return _Entry(row, now, now + seconds)

    def _reading(
        self,
        wanted: Iterable[str],
        found: Mapping[str, Availability | None],
        unanswered: tuple[str, ...],
        *,
        asked: bool,
    ) -> StockReading:
        today, prices = self._today(), self._prices
        rows = {title_id: prices.of(row, today) for title_id in wanted if (row := found.get(title_id)) is not None}
        unknown = tuple(title_id for title_id, row in found.items() if row is None)
        return StockReading(rows, unknown, unanswered, asked)

    def _today(self) -> str:
        return day_in_japan(self.now()).isoformat()
