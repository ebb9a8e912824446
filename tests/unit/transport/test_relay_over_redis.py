"""When a process counts as ended, and how often and how long Redis is asked: by a Redis in the test's hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from server.transport.relay.carriers import LARGEST_MESSAGE, RedisRelay
from server.transport.relay.port import DeliveryUnknown, ProcessEnded, Unreached
from session.failures import MemoryRefused, MemoryUnavailable, Unanswered
from session.keys import relay, relay_alive, relay_message
from session.redis.keyvalue import Command, Reply
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.relayed import Unsealed
from tests.support.virtual_time import running_clock

pytestmark = pytest.mark.virtual_time

OTHER = "0123456789ab"


class Redis:
    """Answers each command as `replies` says, or fails; `asked` are the times, commands and seconds that each trip has."""

    def __init__(self, *, is_sharded: bool = False) -> None:
        self.is_sharded = is_sharded
        self.clock = running_clock()
        self.began = self.clock()
        self.asked: list[tuple[float, Command, float]] = []
        self.replies: Callable[[Command], Reply | Exception] = lambda command: 0
        self.failure: MemoryUnavailable | None = None

    async def trip(self, steps: Sequence[Any], deadline: Deadline) -> list[Reply | Exception]:
        now = round(self.clock() - self.began, 6)
        self.asked += [(now, step, round(deadline.remaining(), 6)) for step in steps]
        if self.failure is not None:
            raise self.failure
        return [self.replies(step) for step in steps]

    def commands(self) -> list[Command]:
        return [command for _, command, _ in self.asked]


def over(redis: Redis, *, listening: bool = True) -> RedisRelay:
    made = RedisRelay(redis, redis.clock, Unsealed())  # type: ignore[arg-type]  # no connection of its own is made here
    if listening:
        made._subscriber.listening.set()
    return made


async def test_no_process_counts_as_ended_until_three_seconds_after_an_outage() -> None:
    """Its key may have expired in it."""
    redis = Redis()
    own = over(redis)
    own._is_kept_alive = True
    for seconds, ended in ((0.0, set()), (3.0, set()), (0.25, {OTHER})):
        redis.clock.advance(seconds)
        assert await own.find_ended([OTHER]) == ended
    own._subscriber.listening.clear()
    assert await own.find_ended([OTHER]) == set()


async def test_process_has_ended_without_key_and_subscriber_for_as_long_as_its_own_key_is_not_kept() -> None:
    redis, there = Redis(), (0, 0)
    redis.replies = lambda command: there[command[0] != "EXISTS"]
    own = over(redis)
    redis.clock.advance(4.0)
    for seconds, (key, receivers), has_ended in [
        (0.0, (0, 0), False),
        (1.5, (0, 0), False),
        (0.25, (0, 0), True),
        (1.0, (1, 0), False),
        (9.0, (0, 0), False),
        (1.5, (0, 0), False),
        (1.0, (0, 1), False),
        (9.0, (0, 0), False),
        (2.0, (0, 0), True),
    ]:
        redis.clock.advance(seconds)
        there = (key, receivers)
        assert await own.find_ended([OTHER]) == ({OTHER} if has_ended else set()), (seconds, key, receivers)
    own._is_kept_alive = True
    assert await own.find_ended(["f" * 12]) == {"f" * 12}
    redis.failure = MemoryUnavailable("away")
    assert await own.find_ended([OTHER]) == set()
    assert {seconds for *_, seconds in redis.asked} == {0.5}


@cases("sharded", [False, True])
async def test_each_process_is_looked_for_by_its_key_and_its_channel(sharded: bool) -> None:
    redis = Redis(is_sharded=sharded)
    redis.replies = lambda command: int("1" * 12 in command[1])
    own = over(redis)
    own._is_kept_alive = True
    redis.clock.advance(4.0)
    assert await own.find_ended(["0" * 12, "1" * 12, "2" * 12]) == {"0" * 12, "2" * 12}
    publish = "SPUBLISH" if sharded else "PUBLISH"
    assert redis.commands()[:2] == [("EXISTS", relay_alive("0" * 12)), (publish, relay("0" * 12), b"")]


@cases(("settled", "kept"), [(False, True), (True, False)])
@cases("size", [1, LARGEST_MESSAGE, LARGEST_MESSAGE + 1])
async def test_process_that_hears_nothing_may_be_subscribing_again(settled: bool, kept: bool, size: int) -> None:
    """A large message is not stored for it."""
    redis = Redis()
    own = over(redis)
    own._is_kept_alive = kept
    redis.clock.advance(4.0 if settled else 0.0)
    redis.began = redis.clock()
    with pytest.raises(Unreached) as raised:
        await own.send(OTHER, b"x" * size)
    assert type(raised.value) is Unreached
    told = b"" if size > LARGEST_MESSAGE else b"x" * size
    times = sorted({time for time, command, _ in redis.asked if command == ("PUBLISH", relay(OTHER), told)})
    assert times == [pytest.approx(number / 50) for number in range(len(times))]
    assert 0.059 < redis.clock() - redis.began < 0.081
    assert "SET" not in {command[0] for command in redis.commands()}


async def test_process_that_has_ended_is_not_waited_for() -> None:
    redis = Redis()
    own = over(redis)
    own._is_kept_alive = True
    redis.clock.advance(4.0)
    with pytest.raises(ProcessEnded):
        await own.send(OTHER, b"x")
    assert (len(redis.asked), redis.clock() - redis.began) == (3, 4.0)


@cases(("size", "stored"), [(LARGEST_MESSAGE, False), (LARGEST_MESSAGE + 1, True)])
async def test_large_message_gets_a_key_for_ten_seconds_of_which_its_receiver_is_told(size: int, stored: bool) -> None:
    redis = Redis()
    redis.replies = lambda command: 1
    own = over(redis)
    await own.send(OTHER, b"x" * size)
    if not stored:
        assert redis.commands() == [("PUBLISH", relay(OTHER), b"x" * size)]
        return
    first, kept, pointer = redis.commands()
    assert first == ("PUBLISH", relay(OTHER), b"")
    assert (kept[0], *kept[2:]) == ("SET", b"x" * size, "PX", 10_000)
    assert str(kept[1]).startswith(relay_message(OTHER, ""))
    assert pointer == ("PUBLISH", relay(OTHER), b"@" + str(kept[1]).encode())


@cases(
    ("failure", "raised"), [(Unanswered("lost"), DeliveryUnknown), (MemoryUnavailable("away"), Unreached), (None, Unreached)]
)
async def test_refused_and_unanswered_commands_are_told_apart(
    failure: MemoryUnavailable | None, raised: type[Exception]
) -> None:
    """Only of an unanswered one it is unknown whether it has run."""
    redis = Redis()
    redis.failure, redis.replies = failure, lambda command: MemoryRefused("NOPERM")
    with pytest.raises(Unreached) as told:
        await over(redis).send(OTHER, b"x")
    assert type(told.value) is raised
    await over(redis).aclose()
    assert redis.commands()[-1][0] == "DEL"


async def test_own_key_is_set_long_before_it_expires() -> None:
    """A Redis that refuses it is asked again."""
    redis = Redis()
    own = over(redis)
    keeping = asyncio.create_task(own._keep_alive())
    known = []
    for failure in (None, MemoryUnavailable("away"), None):
        redis.failure = failure
        await asyncio.sleep(0.5)
        known.append(own._is_kept_alive)
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
    assert set(redis.commands()) == {("SET", relay_alive(own.own), 1, "PX", 1500)}
    assert [time for time, *_ in redis.asked] == [0.0, 0.4, 0.8, 1.2]
    assert known == [True, False, True]


async def test_what_is_heard_is_passed_on_but_for_empty_messages_and_large_ones_that_are_gone() -> None:
    """The beginning of a subscription is the beginning of not knowing who has ended."""
    redis = Redis()
    own = over(redis)
    stored = {relay_message(own.own, "there"): b"large"}
    redis.replies = lambda command: stored.pop(command[1].decode(), None) if command[0] == "GETDEL" else 0
    own._is_kept_alive = True
    redis.clock.advance(4.0)
    assert await own.find_ended([OTHER]) == {OTHER}
    heard, missed = list[bytes](), list[str]()

    async def listen(hear: Callable[[bytes], None], begun: Callable[[], None]) -> None:
        begun()
        pointers = [b"@" + relay_message(name, "there").encode() for name in (own.own, own.own, OTHER)]
        for message in (b"", b"x", *pointers, b"@"):
            hear(message)
        await asyncio.sleep(1.0)

    own._subscriber.listen = listen  # type: ignore[method-assign, assignment]
    await own._listen(heard.append, lambda: missed.append("missed"))
    assert heard == [b"x", b"@" + relay_message(OTHER, "there").encode(), b"@", b"large"]
    assert missed == ["missed"]
    assert await own.find_ended([OTHER]) == set()
