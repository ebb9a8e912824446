"""Token buckets in the process and in the Lua scripts, run by a real Valkey at the test's times."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session.redis.address import RedisAddress
from session.redis.keyvalue import Evaluation, Step
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, RESERVE_MS
from tests.support.clocks import HandClock
from tests.support.valkey import Clocked, ask

RATE = Rate(4, 3)
"""Its times are exact in binary."""


def test_burst_passes_and_then_the_rate_applies() -> None:
    clock = HandClock()
    limits = LocalLimits(RATE, clock)
    assert [limits.wait_ms("a") for _ in range(5)] == [0, 0, 0, 250, 250]
    clock.advance(0.125)
    assert limits.wait_ms("a") == 125
    clock.advance(0.125)
    assert [limits.wait_ms("a") for _ in range(2)] == [0, 250]
    assert limits.wait_ms("b") == 0, "everybody has a bucket of their own"


def test_a_bucket_never_holds_more_than_the_burst() -> None:
    clock = HandClock()
    limits = LocalLimits(RATE, clock)
    limits.wait_ms("a")
    clock.advance(3600)
    assert [limits.wait_ms("a") for _ in range(4)] == [0, 0, 0, 250]


def test_least_recently_used_bucket_is_evicted() -> None:
    limits = LocalLimits(RATE, HandClock(), capacity=2)
    for _ in range(3):
        limits.wait_ms("a")
    limits.wait_ms("b")
    assert limits.wait_ms("a") == 250
    limits.wait_ms("c")
    assert limits.wait_ms("a") == 250, "it was used last but one"
    assert len(limits._buckets) == 2


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as own:
        yield own


@pytest.fixture(scope="module")
def bucket(runner: asyncio.Runner, valkey: RedisAddress) -> Iterator[MultiplexedRedis]:
    redis = MultiplexedRedis(valkey)
    runner.run(redis.connect(Deadline.after(5)))
    yield redis
    runner.run(redis.aclose())


def as_user(rate: Rate) -> Step:
    return Evaluation(Script.load("limit"), ("{b}",), (rate.per_second, rate.burst, 1))


def as_session(rate: Rate) -> Step:
    turn = (1_800_000, "n:t", 1, 0, 0, 3000, -1, RESERVE_MS, FLOOR_MS, FORGET_MS)
    return Evaluation(Script.load("begin"), ("{b}", "{b}:turns"), (*turn, rate.per_second, rate.burst, 1, 0, -1))


@pytest.mark.parametrize("step", [as_user, as_session])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    per_second=st.integers(1, 50),
    burst=st.integers(1, 8),
    pauses_ms=st.lists(st.integers(0, 20) | st.sampled_from([99, 100, 101, 1000, 60_000]), min_size=20, max_size=80),
)
def test_redis_scripts_and_process_count_tokens_alike(  # type: ignore[no-untyped-def]
    runner: asyncio.Runner, bucket: MultiplexedRedis, step, per_second: int, burst: int, pauses_ms: list[int]
) -> None:
    rate, clock = Rate(per_second, burst), HandClock()
    limits, redis = LocalLimits(rate, clock), Clocked(bucket, clock, lasting=True)
    runner.run(ask(bucket, "DEL", "{b}", "{b}:turns"))
    for pause in pauses_ms:
        clock.now = round(clock.now + pause / 1000, 3)
        (reply,) = runner.run(redis.trip([step(rate)], Deadline.after(5)))
        there = reply[0] if isinstance(reply, list) else reply
        assert abs(there - limits.wait_ms("b")) <= 1, "one ms for rounding"
        assert 0 <= there <= 1000 / per_second + 1


@pytest.mark.parametrize("step", [as_user, as_session])
@pytest.mark.parametrize("per_second", [3, 7, 13])
def test_caller_that_waits_as_long_as_told_is_admitted(  # type: ignore[no-untyped-def]
    runner: asyncio.Runner, bucket: MultiplexedRedis, step, per_second: int
) -> None:
    """This holds in the scripts and in the process, and for waits that are no whole milliseconds."""
    rate, clock = Rate(per_second, 1), HandClock()
    limits, redis = LocalLimits(rate, clock), Clocked(bucket, clock, lasting=True)
    runner.run(ask(bucket, "DEL", "{b}", "{b}:turns"))

    def there() -> int:
        (reply,) = runner.run(redis.trip([step(rate)], Deadline.after(5)))
        return reply[0] if isinstance(reply, list) else reply

    for count in (there, lambda: limits.wait_ms("b")):
        assert count() == 0
        told = count()
        clock.now = round(clock.now + told / 1000, 3)
        assert count() == 0
        assert count() > 0, "and has taken what they waited for"
