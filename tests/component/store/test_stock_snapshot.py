"""The inventory snapshot: loaded early, shared over Redis, and never older than a quarter of an hour."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zlib import crc32

import pytest

from session.redis.keyvalue import KeyValue
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tests.support.snapshots import Away, memory_over
from tests.support.store import Mood, Moody, Shelf
from tests.support.valkey import ask, eventually
from tools.store import stock as module
from tools.store.catalog.popular import PopularTitles
from tools.store.models import Availability, Offer
from tools.store.stock import PARTS, ROWS_A_PART, StockReader, StockSnapshot, rows_snapshot

POPULAR = [f"manga-{n:06}" for n in range(1, 7)]


@dataclass
class Process:
    """One process's view of stock; `passed` moves all of its clocks."""

    stock: Moody
    reader: StockReader
    snapshot: StockSnapshot
    monotonic: HandClock
    wall: HandClock

    def passed(self, seconds: float) -> None:
        self.monotonic.advance(seconds)
        self.wall.advance(seconds)

    def known(self) -> set[str]:
        return set(self.reader.last_known(POPULAR))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(module, "YIELD_SECONDS", 0.001)


async def process(shelf: Shelf, redis: KeyValue, *, popular: bool = True) -> Process:
    backends = shelf.in_moods()
    monotonic, wall = HandClock(), HandClock(time.time())
    titles = PopularTitles(backends.catalog)
    if popular:
        await titles.refresh()
    reader = StockReader(backends.stock, monotonic)
    kept = rows_snapshot(memory_over(redis))
    return Process(backends.stock, reader, StockSnapshot(backends.stock, reader, titles, kept, wall), monotonic, wall)


def a_row(title_id: str, seconds: float = 0.0, clock: float | None = None) -> Availability:
    moment = datetime.fromtimestamp((clock or time.time()) - seconds, UTC)
    return Availability(title_id, (Offer("physical", 500, 1),), (), moment.isoformat().replace("+00:00", "Z"))


async def test_stock_of_popular_titles_is_read_ahead_once(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own = await process(shelf, redis)
    assert await own.snapshot.warm()
    assert own.known() == set(POPULAR)
    assert len(own.stock.asked) == 1, "few calls"
    assert await own.snapshot.warm()
    assert len(own.stock.asked) == 1, "what is known is not asked for again"
    own.passed(301)
    await own.snapshot.warm()
    assert len(own.stock.asked) == 2


async def test_new_process_loads_the_stock_that_another_read(shelf: Shelf, redis: MultiplexedRedis) -> None:
    one, two = await process(shelf, redis), await process(shelf, redis, popular=False)
    await one.snapshot._round()
    two.stock.mood = Mood.FAILS
    await two.snapshot._round()
    assert two.known() == set(POPULAR)
    assert two.stock.asked == [], "what others have read need not be asked"
    assert two.reader.last_known(POPULAR) == one.reader.last_known(POPULAR)


async def test_stock_read_by_another_process_does_not_count_as_live(shelf: Shelf, redis: MultiplexedRedis) -> None:
    one, two = await process(shelf, redis), await process(shelf, redis)
    await one.snapshot._round()
    await two.snapshot.recall()
    assert (await two.reader.read(POPULAR, Deadline.after(5))).asked


async def test_stock_read_ahead_does_not_count_as_live(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own = await process(shelf, redis)
    await own.snapshot.warm()
    assert own.known() == set(POPULAR)
    assert (await own.reader.read(POPULAR, Deadline.after(5))).asked, "the customer who asks next gets what is live then"


async def test_requested_titles_are_stored_beside_the_popular_ones(shelf: Shelf, redis: MultiplexedRedis) -> None:
    one, two = await process(shelf, redis, popular=False), await process(shelf, redis, popular=False)
    await one.reader.read(["manga-000005", "manga-999999"], Deadline.after(5))
    await one.snapshot.save()
    await two.snapshot.recall()
    assert set(two.reader.last_known(["manga-000005", "manga-999999"])) == {"manga-000005"}


async def test_stored_stock_expires_fifteen_minutes_after_it_was_read(shelf: Shelf, redis: MultiplexedRedis) -> None:
    one, two = await process(shelf, redis), await process(shelf, redis)
    await one.snapshot._round()
    ttls = [await ask(redis, "TTL", key) for key in await ask(redis, "KEYS", "manga:mcp:snapshot:*")]
    assert ttls
    assert all(0 < ttl <= 900 for ttl in ttls)
    two.passed(890)
    await two.snapshot.recall()
    assert two.known() == set(POPULAR)
    two.passed(11)
    assert two.known() == set()
    await two.snapshot.recall()
    assert two.known() == set(), "read again from Redis it is as old as it was"


async def test_passing_through_several_processes_keeps_the_age_of_a_row(shelf: Shelf, redis: MultiplexedRedis) -> None:
    one = await process(shelf, redis)
    await one.snapshot._round()
    for n in range(1, 4):
        later = await process(shelf, redis)
        later.stock.mood = Mood.FAILS
        later.passed(n * 290)
        await later.snapshot._round()
        assert later.known() == set(POPULAR)
        assert later.reader.age(POPULAR[0]) == pytest.approx(n * 290, abs=5)


async def test_newer_row_replaces_an_older_one_and_never_the_reverse(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own = await process(shelf, redis, popular=False)
    now = own.wall()
    await own.snapshot.shared.save((a_row("manga-000001", 100, now),), 60, crc32(b"manga-000001") % PARTS)
    await own.snapshot.recall()
    assert own.reader.age("manga-000001") == pytest.approx(100, abs=1)
    await own.snapshot.shared.save((a_row("manga-000001", 50, now),), 60, crc32(b"manga-000001") % PARTS)
    await own.snapshot.recall()
    assert own.reader.age("manga-000001") == pytest.approx(50, abs=1)
    await own.reader.read(["manga-000001"], Deadline.after(5))
    await own.snapshot.recall()
    assert own.reader.age("manga-000001") == 0


@pytest.mark.parametrize("as_of", ["", "yesterday", "2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "9999-01-01T00:00:00Z"])
async def test_rows_with_an_impossible_timestamp_are_ignored(shelf: Shelf, redis: MultiplexedRedis, as_of: str) -> None:
    own = await process(shelf, redis, popular=False)
    wrong = replace(a_row("manga-000001"), as_of=as_of)
    for part in range(PARTS):
        await own.snapshot.shared.save((wrong, a_row("manga-000002")), 60, part)
    assert await own.snapshot.recall()
    assert own.known() == {"manga-000002"}


async def test_snapshot_size_is_bounded_with_popular_titles_first(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own, other = await process(shelf, redis), await process(shelf, redis)
    await own.snapshot.warm()
    for n in range(3 * PARTS * ROWS_A_PART):
        own.reader.adopt(a_row(f"manga-x{n:06}"), 0.0)
    await own.snapshot.save()
    stored = [await own.snapshot.shared.load(part) or () for part in range(PARTS)]
    assert max(map(len, stored)) <= ROWS_A_PART
    assert set(POPULAR) <= {row.title_id for rows in stored for row in rows}
    await other.snapshot.recall()
    assert other.known() == set(POPULAR)


async def test_unchanged_snapshot_is_not_written_again(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own = await process(shelf, redis)
    await own.snapshot._round()
    keys = await ask(redis, "KEYS", "manga:mcp:snapshot:*")
    for key in keys:
        await ask(redis, "PEXPIRE", key, 50_000)
    await own.snapshot._round()
    assert all([await ask(redis, "PTTL", key) <= 50_000 for key in keys])


async def test_failing_stock_is_asked_once_per_round_and_retried_soon_while_nothing_is_known(
    shelf: Shelf, redis: MultiplexedRedis
) -> None:
    own = await process(shelf, redis)
    own.stock.mood = Mood.FAILS
    assert await own.snapshot._round() == module.RETRY_SECONDS
    assert len(own.stock.asked) == 1
    own.stock.mood = Mood.WORKS
    assert await own.snapshot._round() == module.ROUND_SECONDS


async def test_rounds_become_rare_while_no_popular_title_is_known(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own = await process(shelf, redis, popular=False)
    pauses = [await own.snapshot._round() for _ in range(7)]
    assert pauses == sorted(pauses)
    assert (pauses[0] < 5.0, pauses[-1]) == (True, module.ROUND_SECONDS)
    await own.snapshot.popular.refresh()
    own.stock.mood = Mood.FAILS
    assert await own.snapshot._round() == module.RETRY_SECONDS


async def test_stock_snapshot_works_without_redis(shelf: Shelf) -> None:
    own = await process(shelf, Away())
    assert await own.snapshot._round() == module.ROUND_SECONDS
    assert own.known() == set(POPULAR)


async def test_reading_ahead_yields_to_live_reads_for_a_bounded_time(shelf: Shelf, redis: MultiplexedRedis) -> None:
    own = await process(shelf, redis)
    own.stock.gate = asyncio.Event()
    live = asyncio.create_task(own.reader.read(["manga-000001"], Deadline.after(5)))
    await eventually(lambda: own.reader.under_way == 1)
    warming = asyncio.create_task(own.snapshot.warm())
    await asyncio.sleep(0)
    assert len(own.stock.asked) == 1
    await eventually(lambda: len(own.stock.asked) == 2)
    own.stock.gate.set()
    await asyncio.gather(live, warming)
    assert own.known() == set(POPULAR)


async def test_stock_snapshot_is_kept_warm_until_cancelled(
    shelf: Shelf, redis: MultiplexedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    own = await process(shelf, redis)
    own.stock.mood = Mood.FAILS
    task = asyncio.create_task(own.snapshot.run())
    await eventually(lambda: len(own.stock.asked) > 2)
    own.stock.mood = Mood.WORKS
    await eventually(lambda: own.known() == set(POPULAR))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
