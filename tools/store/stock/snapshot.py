"""The last known stock, in Redis, so that a new process has something to answer while the stock's backend is away.

It holds the popular titles, asked for or not, and titles that were asked for lately. Each process adds the rows that it read
and takes over those of the others, so that of many processes only a few ask the backend.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from zlib import crc32

from session.failures import MemoryUnavailable
from session.memory import Snapshots
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from session.resilience.tasks import run_periodically
from tools.store.catalog.popular import PopularTitles, TypedSnapshot
from tools.store.failures import Failure
from tools.store.models import Availability
from tools.store.ports import StockPort
from tools.store.stock.reader import LAST_KNOWN_SECONDS, StockReader

logger = logging.getLogger(__name__)

PARTS = 16
ROWS_A_PART = 64
ROUND_SECONDS = 60.0
RETRY_SECONDS = 2.0
WARM_SECONDS = 300.0
"""A popular title is read again when nobody has read it for so long."""
BATCH = 20
PAUSE_SECONDS = 0.3
ASK_SECONDS = 1.0
YIELD_SECONDS = 0.05
YIELDS = 20
SKEW_SECONDS = 60.0

RowsSnapshot = TypedSnapshot[tuple[Availability, ...]]


def rows_snapshot(snapshots: Snapshots, variant: str = "") -> RowsSnapshot:
    """`variant` keeps apart what other settings keep."""
    return TypedSnapshot(snapshots, f"stock{variant}", tuple[Availability, ...])


@dataclass(slots=True)
class StockSnapshot:
    """The last known stock in Redis, renewed by a task that the application owns. `port` reads stock for the snapshot alone.
    `_written`: the ids and times that each part
    was last seen to hold."""

    port: StockPort
    reader: StockReader
    popular: PopularTitles
    shared: RowsSnapshot
    clock: WallClock = time.time
    _written: dict[int, dict[str, str]] = field(default_factory=dict)

    async def keep(self) -> None:
        """Runs until cancelled."""
        await run_periodically("inventory snapshot", self._round)

    async def _round(self) -> float:
        there = await self.recall()
        warm = await self.warm()
        if there:
            await self.save()
        return ROUND_SECONDS if warm else RETRY_SECONDS

    async def recall(self) -> bool:
        """Takes over the rows of other processes. True if Redis answered."""
        try:
            for part in range(PARTS):
                rows = await self.shared.load(part) or ()
                self._written[part] = {row.title_id: row.as_of for row in rows}
                for row in rows[:ROWS_A_PART]:
                    if (age := self._age(row)) is not None:
                        self.reader.adopt(row, age)
        except MemoryUnavailable:
            return False
        return True

    async def warm(self) -> bool:
        """Reads popular titles that were not read for a while, a few at a time, behind live reads. True if anything is known
        of any of them."""
        due = [title_id for title_id in self.popular.index.by_id if self.reader.age(title_id) > WARM_SECONDS]
        for start in range(0, len(due), BATCH):
            await self._give_way()
            try:
                await self._read(due[start : start + BATCH])
            except Failure as failure:
                logger.debug("stock of popular titles not read: %s", failure.name)
                break
            await asyncio.sleep(PAUSE_SECONDS * random.uniform(0.5, 1.5))
        return any(self.reader.age(title_id) < math.inf for title_id in self.popular.index.by_id)

    async def _read(self, title_ids: Sequence[str]) -> None:
        self.reader.read_ahead(
            title_ids, await self.port.availability(title_ids, Deadline.after(ASK_SECONDS, self.reader.clock))
        )

    async def save(self) -> None:
        """Writes the parts that have newer rows."""
        for part, rows in self._parts().items():
            seen = {row.title_id: row.as_of for row in rows}
            if seen == self._written.get(part, {}):
                continue
            newest = min((age for row in rows if (age := self._age(row)) is not None), default=LAST_KNOWN_SECONDS)
            if await self.shared.save(rows, math.ceil(LAST_KNOWN_SECONDS - newest), part):
                self._written[part] = seen

    def _parts(self) -> dict[int, tuple[Availability, ...]]:
        """The popular titles, then those read last, as far as they fit."""
        popular = self.reader.last_known(tuple(self.popular.index.by_id))
        others = self.reader.recently_read(PARTS * ROWS_A_PART)
        parts: dict[int, dict[str, Availability]] = {}
        for row in (*popular.values(), *others):
            own = parts.setdefault(_part(row.title_id), {})
            if len(own) < ROWS_A_PART and self._age(row) is not None:
                own.setdefault(row.title_id, row)
        return {part: tuple(sorted(rows.values(), key=lambda row: row.title_id)) for part, rows in parts.items() if rows}

    async def _give_way(self) -> None:
        """Lets live reads go first, within reason: under a steady load there is no quiet moment."""
        for _ in range(YIELDS):
            if not self.reader.under_way:
                return
            await asyncio.sleep(YIELD_SECONDS)

    def _age(self, row: Availability) -> float | None:
        """Seconds since its `as_of`; None for a row that is too old, or of a time that cannot be."""
        try:
            as_of = datetime.fromisoformat(row.as_of)
        except ValueError:
            return None
        age = self.clock() - as_of.timestamp() if as_of.tzinfo is not None else math.inf
        return max(0.0, age) if -SKEW_SECONDS <= age < LAST_KNOWN_SECONDS else None


def _part(title_id: str) -> int:
    return crc32(title_id.encode("utf-8", "surrogatepass")) % PARTS
