"""Token buckets refill when Redis's clock is put back or forward."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from session.redis.keyvalue import Evaluation, Reply, Step
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, RESERVE_MS
from tests.support.clocks import HandClock
from tests.support.valkey import Clocked

HOUR_MS = 3_600_000
RATE, BURST = 10, 5


def as_user() -> Step:
    return Evaluation(Script.load("limit"), ("{b}",), (RATE, BURST, 1))


def as_session() -> Step:
    turn = (1_800_000, "n:t", 1, 0, 0, 3000, -1, RESERVE_MS, FLOOR_MS, FORGET_MS)
    return Evaluation(Script.load("begin"), ("{b}", "{b}:turns"), (*turn, RATE, BURST, 1, 0, -1))


class Bucket:
    """One caller's bucket, over a Redis with a clock of its own."""

    def __init__(self, redis: MultiplexedRedis, step: Step) -> None:
        self.clock = HandClock(5000.0)
        self.redis = Clocked(redis, self.clock, lasting=True)
        self.step = step

    async def wait_ms(self) -> int:
        reply: Reply
        (reply,) = await self.redis.trip([self.step], Deadline.after(5))
        return reply[0] if isinstance(reply, list) else reply

    async def drain(self) -> None:
        while not await self.wait_ms():
            pass


@pytest.fixture(params=[as_user, as_session])
def bucket(request: pytest.FixtureRequest, redis: MultiplexedRedis) -> Bucket:
    make: Callable[[], Step] = request.param
    return Bucket(redis, make())


@pytest.mark.parametrize("step_ms", [-1, -HOUR_MS])
async def test_an_empty_bucket_refills_from_the_moment_the_clock_went_back(bucket: Bucket, step_ms: int) -> None:
    """One call passes, because the time since the last one is unknown; no further token is given."""
    await bucket.drain()
    bucket.redis.skew_ms += step_ms
    assert await bucket.wait_ms() == 0
    assert await bucket.wait_ms() == 100
    bucket.clock.advance(0.099)
    assert await bucket.wait_ms() == 1
    bucket.clock.advance(0.001)
    assert await bucket.wait_ms() == 0
    assert await bucket.wait_ms() == 100


async def test_partly_full_bucket_keeps_its_tokens_when_the_clock_goes_back(bucket: Bucket) -> None:
    assert await bucket.wait_ms() == 0
    bucket.redis.skew_ms -= HOUR_MS
    for _ in range(BURST - 1):
        assert await bucket.wait_ms() == 0
    assert await bucket.wait_ms() == 100


async def test_clock_that_jumps_forward_and_back_grants_at_most_one_extra_burst(bucket: Bucket) -> None:
    """Afterwards the bucket counts as usual."""
    await bucket.drain()
    bucket.redis.skew_ms += HOUR_MS
    for _ in range(BURST):
        assert await bucket.wait_ms() == 0
    assert await bucket.wait_ms() == 100
    bucket.redis.skew_ms -= HOUR_MS
    assert [await bucket.wait_ms() for _ in range(2)] == [0, 100]
    bucket.clock.advance(0.1)
    assert await bucket.wait_ms() == 0


async def test_clock_that_goes_back_repeatedly_makes_nobody_wait(bucket: Bucket) -> None:
    """Half a second, five tokens, passes between calls, while the clock put back each time shows none."""
    await bucket.drain()
    for _ in range(10):
        bucket.clock.advance(0.5)
        bucket.redis.skew_ms -= 501
        assert await bucket.wait_ms() == 0
