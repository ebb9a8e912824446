"""Deadlines, token buckets and work that is done again and again: their arithmetic, by a clock in the test's hand."""

from __future__ import annotations

import asyncio
import logging

import pytest

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.outage import Outage
from session.resilience.periodic import run_periodically
from session.resilience.rate_limit import LocalLimits, Rate
from tests.support.clocks import HandClock


def test_a_deadline_is_over_at_its_moment_and_has_never_less_than_nothing_left() -> None:
    clock = HandClock(0.0)
    deadline = Deadline.after(1.0, clock)
    clock.advance(0.75)
    assert (deadline.remaining(), deadline.expired()) == (0.25, False)
    clock.advance(0.25)
    assert (deadline.remaining(), deadline.expired()) == (0.0, True)
    clock.advance(5)
    assert (deadline.remaining(), deadline.expired()) == (0.0, True)


def test_a_deadline_that_is_passed_on_is_only_shortened() -> None:
    clock = HandClock(10.0)
    deadline = Deadline(12.0, clock)
    assert [deadline.within(seconds).at for seconds in (1.0, 2.0, 3.0)] == [11.0, 12.0, 12.0]
    assert deadline.less(0.5).at == 11.5
    assert deadline.sooner_of(Deadline(11.0)).at == 11.0
    assert deadline.sooner_of(Deadline(13.0)) is deadline
    assert deadline.sooner_of(Deadline(12.0)) is deadline


def test_a_bucket_says_in_how_many_ms_the_next_token_is_there() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=8, burst=2), clock)
    assert [limits.wait_ms("a") for _ in range(3)] == [0, 0, 125]
    clock.advance(0.0625)
    assert (limits.next_ms("a"), limits.wait_ms("a")) == (63, 63)
    clock.advance(0.0625)
    assert (limits.next_ms("a"), limits.next_ms("a")) == (0, 0), "asking takes none"
    assert [limits.wait_ms("a") for _ in range(2)] == [0, 125]
    assert limits.wait_ms("b") == 0


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=8, burst=2), clock)
    limits.wait_ms("a")
    clock.advance(3600)
    assert [limits.wait_ms("a") for _ in range(3)] == [0, 0, 125]


def test_a_crowd_has_the_rate_of_so_many() -> None:
    assert Rate(3, 5).times(4) == Rate(12, 20)
    assert Rate() == Rate(10, 40)


def test_a_token_that_is_due_is_not_refused_for_the_rounding_of_the_clock() -> None:
    clock = HandClock(0.0)
    limits = LocalLimits(Rate(per_second=10, burst=1), clock)
    assert limits.wait_ms("a") == 0
    for _ in range(10):
        clock.advance(0.01)  # ten of them are a little less than a tenth
    assert limits.wait_ms("a") == 0


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    lru: Lru[str, int] = Lru(2)
    lru.put("a", 1)
    lru.put("b", 2)
    assert lru.use("a") == 1
    lru.put("c", 3)
    assert (list(lru), list(reversed(lru)), list(lru.values())) == (["a", "c"], ["c", "a"], [1, 3])
    assert (lru.use("b"), lru.peek("b"), lru.pop("b")) == (None, None, None)


def test_looking_is_no_use_and_putting_again_is() -> None:
    lru: Lru[str, int] = Lru(2)
    lru.put("a", 1)
    lru.put("b", 2)
    assert lru.peek("a") == 1
    assert "a" in lru
    assert list(lru) == ["a", "b"]
    lru.put("a", 3)
    assert (list(lru), len(lru)) == (["b", "a"], 2)


def test_what_is_over_is_forgotten_from_the_oldest_on_and_no_further() -> None:
    lru: Lru[str, int] = Lru(9)
    for name, value in (("a", 1), ("b", 2), ("c", 9), ("d", 1)):
        lru.put(name, value)
    lru.pop_while(lambda value: value < 5)
    assert list(lru) == ["c", "d"]
    assert lru.pop("c") == 9
    lru.pop_while(lambda value: True)
    assert list(lru) == []


def test_an_outage_begins_with_so_many_failures_in_a_row(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock(0.0)
    outage = Outage(logging.getLogger("test"), "It", after=3, clock=clock)
    for what in ("failed", "failed", "over", "failed", "failed"):
        outage.failed("why") if what == "failed" else outage.over()
        assert outage.why is None
    with caplog.at_level(logging.INFO):
        outage.failed("the reason")
        outage.failed("another")
        assert outage.why == "the reason"
        clock.advance(2.5)
        outage.over()
        outage.over()
    assert [record.getMessage() for record in caplog.records] == ["It is lost: the reason", "It is back after 2.5 s"]
    assert outage.why is None


def test_a_failure_for_good_is_an_outage_at_once() -> None:
    outage = Outage(logging.getLogger("test"), "It", after=3)
    outage.failed("why", for_good=True)
    assert outage.why == "why"


@pytest.mark.virtual_time
@pytest.mark.parametrize(("fails", "pause"), [(False, 100.0), (True, 30.0)])
async def test_rounds_come_a_tenth_sooner_or_later_than_they_are_due(fails: bool, pause: float) -> None:
    """After one that failed by accident, half a minute later."""
    began: list[float] = []

    async def work() -> float:
        began.append(asyncio.get_running_loop().time())
        if len(began) > 200:
            raise asyncio.CancelledError
        if fails:
            raise LookupError("an accident")
        return pause

    with pytest.raises(asyncio.CancelledError):
        await run_periodically("work", work)
    gaps = [(after - before) / pause for before, after in zip(began, began[1:], strict=False)]
    assert 0.9 <= min(gaps) < 0.93
    assert 1.07 < max(gaps) <= 1.1 + 1e-9
