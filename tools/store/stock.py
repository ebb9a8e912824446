"""Caches stock for the tools: rows are fresh for five seconds and a fallback for 15 minutes. The cache has prices as
recorded; those of the day are computed on each read."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from zlib import crc32

from session.failures import MemoryUnavailable
from session.memory import SessionMemory
from session.resilience.clocks import Clock, Now, WallClock, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import run_periodically
from tools.store.catalog.popular import PopularTitles, TypedSnapshot
from tools.store.failures import BackendFailure, Failure
from tools.store.models import PAPER, SET, Availability, AvailabilityPage, Campaign, Offer
from tools.store.models.offer import FIXED, new_set_price, standing_price
from tools.store.models.values import day_in_japan
from tools.store.ports import StockPort


def price_for_day(row: Availability, day: str) -> Availability:
    """Returns the row with the prices of `day` (YYYY-MM-DD, in Japan). A running campaign gets its end date; any other
    campaign is removed, and the list price applies. New paper volumes and new sets have no campaigns: they cost the
    publisher's price, if it is recorded. A new set without one costs at least the sum of the released volumes. There are
    at most as many new sets as copies of the scarcest released volume."""
    offers = tuple(_of_new_books(offer, row) if offer.format in FIXED else _offer_on_day(offer, day) for offer in row.offers)
    return row if offers == row.offers else replace(row, offers=offers)


def _of_new_books(offer: Offer, row: Availability) -> Offer:
    if offer.format != SET:
        return replace(offer, price_jpy=standing_price(offer), list_price_jpy=None, campaign=None)
    today = row.day
    out = [v for v in row.volumes if v.format == PAPER and (v.release_date is None or v.release_date <= today)]
    if not out:
        return replace(offer, price_jpy=standing_price(offer), campaign=None)
    price, scarcest = new_set_price(offer, sum([v.price_jpy for v in out])), min([v.stock for v in out])
    sets = scarcest if offer.stock is None else min(scarcest, offer.stock)
    return replace(offer, price_jpy=price, stock=sets, campaign=None)


def _offer_on_day(offer: Offer, day: str) -> Offer:
    if offer.campaign is None:
        reduced = offer.list_price_jpy is not None and offer.list_price_jpy > offer.price_jpy
        return offer if reduced else replace(offer, list_price_jpy=None)
    end = offer.campaign.end(day)
    if end is not None:
        return replace(offer, campaign=Campaign(end, name=offer.campaign.name))
    regular = offer.list_price_jpy if offer.list_price_jpy is not None else offer.price_jpy
    return replace(offer, price_jpy=regular, list_price_jpy=None, campaign=None)


FRESH_SECONDS = 5.0
LAST_KNOWN_SECONDS = 15 * 60.0


@dataclass(frozen=True, slots=True)
class StockReading:
    """The result of reading stock: `rows` by title id. `unknown` ids are not sold; `unanswered` ids could not be read.
    `asked` is True if the backend was called."""

    rows: dict[str, Availability]
    unknown: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    asked: bool = False


@dataclass(slots=True)
class _Entry:
    """A cache entry. `row` is None for a title that is not sold. Times are seconds of the reader's clock. `sale` is the row
    with the prices of `day`."""

    row: Availability | None
    read_at: float
    fresh_until: float = -math.inf
    day: str = ""
    sale: Availability | None = None

    def on_day(self, day: str) -> Availability | None:
        """Returns the row with the prices of a day (YYYY-MM-DD, in Japan), computed once a day; None if it is not sold."""
        if self.row is not None and self.day != day:
            self.day, self.sale = day, price_for_day(self.row, day)
        return self.sale


@dataclass(slots=True)
class StockReader:
    """A cache of up to `capacity` titles in front of the stock port. If `fresh` is False, every read asks the port, and
    cached rows are only a fallback. `draw` returns random numbers from 0 to 1, for the jitter of lifetimes; `now` is the
    wall clock; `under_way` counts the reader's calls of the port in progress."""

    port: StockPort
    clock: Clock = time.monotonic
    capacity: int = 50_000
    fresh: bool = True
    draw: Callable[[], float] = random.random
    now: Now = utc_now
    under_way: int = field(default=0, init=False)
    _entries: Lru[str, _Entry] = field(init=False)

    def __post_init__(self) -> None:
        self._entries = Lru(self.capacity)

    async def read(self, title_ids: Sequence[str], deadline: Deadline) -> StockReading:
        """Reads fresh rows from the cache and all others from the port. Raises `BackendFailure` if the port fails."""
        wanted = tuple(dict.fromkeys(title_ids))
        found = self._fresh(wanted)
        missing = [title_id for title_id in wanted if title_id not in found]
        if missing:
            page = await self._ask(missing, deadline)
            for title_id in set(missing).difference(page.unanswered):
                found[title_id] = self._entry(page.rows.get(title_id))
                self._entries.put(title_id, found[title_id])
        return self._reading(wanted, found, asked=bool(missing))

    async def read_available(self, title_ids: Sequence[str], deadline: Deadline) -> StockReading:
        """Reads as `read` does, but returns the fresh rows if the port fails, with the other titles `unanswered`."""
        try:
            return await self.read(title_ids, deadline)
        except BackendFailure:
            return self._reading(title_ids, self._fresh(title_ids), asked=True)

    def read_ahead(self, title_ids: Sequence[str], page: AvailabilityPage) -> None:
        """Caches rows that were read in the background, as a fallback only, so that the next `read` still asks the port."""
        for title_id in set(title_ids).difference(page.unanswered):
            self._entries.put(title_id, _Entry(page.rows.get(title_id), self.clock()))

    def last_known(self, title_ids: Iterable[str]) -> dict[str, Availability]:
        """Returns the rows read within the last 15 minutes, by title id, with today's prices. Titles without such a row are
        absent."""
        return self._on_today({each: entry for each in title_ids if (entry := self._last_known(each)) is not None})

    def list_recorded(self, first: Iterable[str], most: int) -> list[Availability]:
        """Returns the rows read within the last 15 minutes, with prices as recorded: of the titles `first`, then of the
        `most` titles used last, most recent first."""
        known = map(self._last_known, (*first, *islice(reversed(self._entries), most)))
        return [entry.row for entry in known if entry is not None and entry.row is not None]

    def age(self, title_id: str) -> float:
        """Returns the seconds since this or another process read the title's stock; infinite if the title is not cached."""
        entry = self._entries.peek(title_id)
        return math.inf if entry is None else self.clock() - entry.read_at

    def adopt(self, row: Availability, age: float) -> None:
        """Caches a row that another process read `age` seconds ago, as a fallback. Ignores a row older than 15 minutes or
        than the cached row."""
        read_at = self.clock() - age
        entry = self._entries.peek(row.title_id)
        if age <= LAST_KNOWN_SECONDS and (entry is None or entry.read_at < read_at):
            self._entries.put(row.title_id, _Entry(row, read_at))

    async def _ask(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        self.under_way += 1
        try:
            return await self.port.availability(title_ids, deadline)
        finally:
            self.under_way -= 1

    def _fresh(self, title_ids: Iterable[str]) -> dict[str, _Entry]:
        if not self.fresh:
            return {}
        now = self.clock()
        entries = {title_id: self._entries.use(title_id) for title_id in title_ids}
        return {title_id: entry for title_id, entry in entries.items() if entry is not None and now <= entry.fresh_until}

    def _last_known(self, title_id: str) -> _Entry | None:
        entry = self._entries.peek(title_id)
        return entry if entry is not None and self.clock() - entry.read_at <= LAST_KNOWN_SECONDS else None

    def _entry(self, row: Availability | None) -> _Entry:
        """Makes the entry of a row read just now. The entry of a title that is not sold is fresh for 24 to 30 seconds, so
        that a model that repeats a wrong id costs the backend nothing."""
        now = self.clock()
        seconds = FRESH_SECONDS if row is not None else 30.0 - 6.0 * self.draw()
        return _Entry(row, now, now + seconds)

    def _reading(self, wanted: Sequence[str], found: Mapping[str, _Entry], *, asked: bool) -> StockReading:
        known = {title_id: found[title_id] for title_id in wanted if title_id in found}
        unknown = tuple(title_id for title_id, entry in known.items() if entry.row is None)
        unanswered = tuple(title_id for title_id in wanted if title_id not in found)
        return StockReading(self._on_today(known), unknown, unanswered, asked)

    def _on_today(self, found: Mapping[str, _Entry]) -> dict[str, Availability]:
        today = day_in_japan(self.now()).isoformat()
        return {title_id: row for title_id, entry in found.items() if (row := entry.on_day(today)) is not None}


# A snapshot of the last known stock in Redis: the fallback of a new process while the stock backend is down.
#
# It has the popular titles and those read lately. Each process adds the rows that it has read and takes over those of the
# others, so that only a few of many processes ask the backend.


logger = logging.getLogger(__name__)

PARTS = 16
ROWS_A_PART = 64
ROUND_SECONDS = 60.0
RETRY_SECONDS = 2.0
WARM_SECONDS = 300.0
"""Age in seconds at which the snapshot's task reads a popular title again."""
BATCH = 20
PAUSE_SECONDS = 0.3
ASK_SECONDS = 1.0
YIELD_SECONDS = 0.05
SKEW_SECONDS = 60.0

FORM_OF_ROWS = "ahiys5nxxi"
RowsSnapshot = TypedSnapshot[tuple[Availability, ...]]


def rows_snapshot(memory: SessionMemory, variant: str = "") -> RowsSnapshot:
    """Returns the Redis snapshot of stock rows. `variant` is part of its name, so that servers with different settings do
    not share a snapshot."""
    return TypedSnapshot(memory, f"stock{variant}", tuple[Availability, ...], FORM_OF_ROWS)


@dataclass(slots=True)
class StockSnapshot:
    """The last known stock in Redis (`shared`), renewed by a background task of the application. `port` is only for the
    reads of this task. `_written` has by part, then by title id, the `as_of` last seen in Redis."""

    port: StockPort
    reader: StockReader
    popular: PopularTitles
    shared: RowsSnapshot
    clock: WallClock = time.time
    _written: dict[int, dict[str, str]] = field(default_factory=dict)
    _pause: float = RETRY_SECONDS

    async def run(self) -> None:
        """Renews the snapshot every minute until cancelled; every 2 seconds while no stock of a popular title is known, or,
        while no popular titles are known, after pauses that double up to a minute."""
        await run_periodically("inventory snapshot", self._round)

    async def _round(self) -> float:
        there = await self.recall()
        warm = await self.warm()
        if there:
            await self.save()
        self._pause = RETRY_SECONDS if self.popular.index.titles else min(2 * self._pause, ROUND_SECONDS)
        return ROUND_SECONDS if warm else self._pause

    async def recall(self) -> bool:
        """Passes the rows stored in Redis, by this process too, to the reader, except outdated rows. Returns True if Redis
        answered."""
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
        """Reads popular titles not read for `WARM_SECONDS`, in batches that wait for live reads. Returns True if the stock
        of any popular title is known."""
        due = [title_id for title_id in self.popular.index.by_id if self.reader.age(title_id) > WARM_SECONDS]
        for start in range(0, len(due), BATCH):
            await self._yield_to_loop()
            try:
                batch = due[start : start + BATCH]
                page = await self.port.availability(batch, Deadline.after(ASK_SECONDS, self.reader.clock))
                self.reader.read_ahead(batch, page)
            except Failure as failure:
                logger.debug("stock of popular titles not read: %s", failure.name)
                break
            await asyncio.sleep(PAUSE_SECONDS * random.uniform(0.5, 1.5))
        return any(self.reader.age(title_id) < math.inf for title_id in self.popular.index.by_id)

    async def save(self) -> None:
        """Writes the parts whose rows differ from those last seen in Redis; a part that fails is written in the next
        round."""
        for part, rows in self._parts().items():
            seen = {row.title_id: row.as_of for row in rows}
            if seen == self._written.get(part, {}):
                continue
            newest = min((age for row in rows if (age := self._age(row)) is not None), default=LAST_KNOWN_SECONDS)
            if await self.shared.save(rows, math.ceil(LAST_KNOWN_SECONDS - newest), part):
                self._written[part] = seen

    def _parts(self) -> dict[int, tuple[Availability, ...]]:
        parts: dict[int, dict[str, Availability]] = {}
        for row in self.reader.list_recorded(self.popular.index.by_id, PARTS * ROWS_A_PART):
            own = parts.setdefault(crc32(row.title_id.encode("utf-8", "surrogatepass")) % PARTS, {})
            if len(own) < ROWS_A_PART and self._age(row) is not None:
                own.setdefault(row.title_id, row)
        return {part: tuple(sorted(rows.values(), key=lambda row: row.title_id)) for part, rows in parts.items() if rows}

    async def _yield_to_loop(self) -> None:
        """Waits until no live read is in progress, at most a second: under steady load there is always one."""
        for _ in range(20):
            if not self.reader.under_way:
                return
            await asyncio.sleep(YIELD_SECONDS)

    def _age(self, row: Availability) -> float | None:
        """Returns the seconds since the row's `as_of`; None if that is too old, over a minute in the future, or invalid."""
        try:
            as_of = datetime.fromisoformat(row.as_of)
        except ValueError:
            return None
        age = self.clock() - as_of.timestamp() if as_of.tzinfo is not None else math.inf
        return max(0.0, age) if -SKEW_SECONDS <= age < LAST_KNOWN_SECONDS else None
