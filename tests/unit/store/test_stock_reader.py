"""Stock as tools read it: cached for five seconds, and from a snapshot for a quarter of an hour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tools.store.failures import DependencyFailure
from tools.store.models import Availability, AvailabilityPage, Campaign, Health, Offer
from tools.store.stock import StockReader


@dataclass
class Shelves:
    """A StockPort over a dict; `late` ids are unanswered, and `meanwhile` happens while it is asked."""

    sold: set[str]
    late: set[str] = field(default_factory=set)
    down: bool = False
    asked: list[list[str]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        self.asked.append(list(title_ids))
        self.meanwhile()
        if self.down:
            raise DependencyFailure("down")
        rows = {i: a_row(i) for i in title_ids if i in self.sold - self.late}
        return AvailabilityPage({**rows, "uninvited": a_row("uninvited")}, tuple(i for i in title_ids if i in self.late))

    async def health(self, deadline: Deadline) -> Health:
        return Health(ok=True)


def a_row(title_id: str) -> Availability:
    return Availability(title_id, (Offer("physical", 500, 1),), (), "2026-01-01T00:00:00Z")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def port() -> Shelves:
    return Shelves({"a", "b", "c", "d"})


@pytest.fixture
def reader(port: Shelves, clock: HandClock) -> StockReader:
    return StockReader(port, clock)


def soon() -> Deadline:
    return Deadline.after(5)


async def test_stock_read_within_five_seconds_comes_from_the_cache(
    reader: StockReader, port: Shelves, clock: HandClock
) -> None:
    assert (await reader.read(["a", "x"], soon())).asked
    clock.advance(5)
    again = await reader.read(["x", "a"], soon())
    assert (set(again.rows), again.unknown, again.asked) == ({"a"}, ("x",), False)
    clock.advance(0.1)
    assert (await reader.read(["a"], soon())).asked
    assert port.asked == [["a", "x"], ["a"]]


async def test_unknown_id_is_not_asked_for_again_within_half_a_minute(port: Shelves, clock: HandClock) -> None:
    """The time is a little shorter at random, so that many ids do not expire at once."""
    reader = StockReader(port, clock, draw=lambda: 0.0)
    await reader.read(["x"], soon())
    clock.advance(29.9)
    again = await reader.read(["x", "a"], soon())
    assert (again.unknown, port.asked[-1]) == (("x",), ["a"])
    port.sold.add("x")
    clock.advance(0.2)
    assert set((await reader.read(["x"], soon())).rows) == {"x"}
    early = StockReader(port, clock, draw=lambda: 1.0)
    await early.read(["y"], soon())
    clock.advance(24.1)
    assert (await early.read(["y"], soon())).asked


async def test_reader_without_freshness_asks_each_time_and_remembers_for_outages(port: Shelves, clock: HandClock) -> None:
    reader = StockReader(port, clock, fresh=False)
    for _ in range(2):
        assert (await reader.read(["a", "x"], soon())).asked
    port.down = True
    assert set(reader.last_known(["a"])) == {"a"}
    assert (await reader.read_available(["a"], soon())).unanswered == ("a",)


async def test_adopted_rows_serve_outages_only(reader: StockReader, port: Shelves, clock: HandClock) -> None:
    reader.adopt(a_row("a"), 0.0)
    reader.adopt(a_row("b"), 890.0)
    reader.adopt(a_row("c"), 900.1)
    assert set(reader.last_known("abc")) == {"a", "b"}
    assert (await reader.read(["a"], soon())).asked
    clock.advance(11)
    assert set(reader.last_known("abc")) == {"a"}


async def test_reads_under_way_are_counted_also_when_they_fail(reader: StockReader, port: Shelves) -> None:
    seen: list[int] = []
    port.meanwhile = lambda: seen.append(reader.under_way)
    await reader.read(["a"], soon())
    port.down = True
    with pytest.raises(DependencyFailure):
        await reader.read(["b"], soon())
    assert (seen, reader.under_way) == ([1, 1], 0)


async def test_only_uncached_ids_are_asked_for_once_each(reader: StockReader, port: Shelves) -> None:
    await reader.read(["a"], soon())
    reading = await reader.read(["b", "a", "b"], soon())
    assert port.asked[-1] == ["b"]
    assert list(reading.rows) == ["b", "a"]


async def test_row_that_expires_during_a_read_is_still_answered(
    reader: StockReader, port: Shelves, clock: HandClock
) -> None:
    """Every id is in the answer: current, unknown or unanswered."""
    await reader.read(["a", "x"], soon())
    clock.advance(4.99)
    port.meanwhile = lambda: clock.advance(0.1)
    reading = await reader.read(["a", "b", "x"], soon())
    assert (set(reading.rows), reading.unknown, reading.unanswered) == ({"a", "b"}, ("x",), ())


async def test_id_that_was_late_is_unanswered_and_asked_for_again(reader: StockReader, port: Shelves) -> None:
    port.late = {"b"}
    reading = await reader.read(["a", "b"], soon())
    assert (set(reading.rows), reading.unanswered, reading.unknown) == ({"a"}, ("b",), ())
    port.late = set()
    assert set((await reader.read(["a", "b"], soon())).rows) == {"a", "b"}
    assert port.asked[-1] == ["b"]


async def test_read_fails_while_the_backend_is_down_and_read_available_returns_cached_rows(
    reader: StockReader, port: Shelves, clock: HandClock
) -> None:
    await reader.read(["a", "x"], soon())
    port.down = True
    with pytest.raises(DependencyFailure):
        await reader.read(["a", "b"], soon())
    reading = await reader.read_available(["b", "a", "x"], soon())
    assert (set(reading.rows), reading.unknown, reading.unanswered, reading.asked) == ({"a"}, ("x",), ("b",), True)
    assert not (await reader.read_available(["a"], soon())).asked


async def test_last_known_stock_is_at_most_fifteen_minutes_old(reader: StockReader, clock: HandClock) -> None:
    await reader.read(["a", "x"], soon())
    clock.advance(15 * 60)
    assert set(reader.last_known(["a", "x", "never"])) == {"a"}
    clock.advance(0.1)
    assert reader.last_known(["a"]) == {}


async def test_row_that_was_not_asked_for_is_not_cached(reader: StockReader) -> None:
    await reader.read(["a"], soon())
    assert reader.last_known(["uninvited"]) == {}


async def test_stock_cache_is_bounded_and_returns_rows_it_cannot_keep(port: Shelves, clock: HandClock) -> None:
    reader = StockReader(port, clock, capacity=2)
    reading = await reader.read(["a", "b", "c"], soon())
    assert set(reading.rows) == {"a", "b", "c"}, "what does not fit is answered all the same"
    assert len(reader._entries) == 2


async def test_stock_in_use_is_evicted_after_unused_stock(port: Shelves, clock: HandClock) -> None:
    reader = StockReader(port, clock, capacity=2)
    for title_id in ("a", "b", "a", "c"):
        await reader.read([title_id], soon())
    assert set(reader.last_known("abc")) == {"a", "c"}


def reduced_until(day: str) -> Availability:
    campaign = Campaign(day, name="Fair")
    return Availability("a", (Offer("digital", 300, None, 480, campaign),), (), "2026-11-22T00:00:00Z")


class OnCampaign(Shelves):
    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        return AvailabilityPage({"a": reduced_until("2026-11-22")})


async def test_campaign_ends_at_midnight_in_japan_even_for_cached_stock(clock: HandClock) -> None:
    """Midnight there is three in the afternoon in UTC."""
    moments = iter(["2026-11-22T14:59:59Z", "2026-11-22T15:00:00Z", "2026-11-22T15:00:00Z", "2026-11-22T14:59:59Z"])
    reader = StockReader(OnCampaign({"a"}), clock, now=lambda: datetime.fromisoformat(next(moments)))
    assert [(await reader.read(["a"], soon())).rows["a"].offers for _ in range(2)] == [
        reduced_until("2026-11-22").offers,
        (Offer("digital", 480),),
    ]
    assert reader.last_known(["a"])["a"].offers == (Offer("digital", 480),)
    assert reader.last_known(["a"])["a"].offers == reduced_until("2026-11-22").offers
