"""Messages between processes arrive once and in order, and an ended process is known to be gone, over every relay."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import pytest

from server.transport.relay import carriers
from server.transport.relay.carriers import LARGEST_MESSAGE, RedisRelay, SocketRelay
from server.transport.relay.port import READY_SECONDS, ProcessEnded, Relay, Unreached
from session.keys import relay, relay_alive
from session.redis.address import RedisAddress
from session.redis.multiplexed import MultiplexedRedis
from tests.support.cases import cases
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.redis_kinds import all_keys, as_cluster_of_one, cluster_address, reached
from tests.support.relayed import Unsealed
from tests.support.valkey import PrivateValkey, ask, eventually, private_valkey

KINDS = ["redis", "cluster of one", "cluster of three", "sockets"]


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[PrivateValkey]:
    with private_valkey("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as own:
        yield own


class Process:
    """One end, and all that it hears."""

    def __init__(self, made: Relay) -> None:
        self.relay = made
        self.heard: list[bytes] = []
        self.missed = 0
        self.keeping = asyncio.create_task(made.run(self.heard.append, self._miss))

    def _miss(self) -> None:
        self.missed += 1

    async def end(self, *, said: bool) -> None:
        """As a process does that stops, or (not `said`) that is killed."""
        self.keeping.cancel()
        await asyncio.gather(self.keeping, return_exceptions=True)
        if said:
            await self.relay.aclose()


@asynccontextmanager
async def started(make: Callable[[], Relay]) -> AsyncIterator[Process]:
    own = Process(make())
    await own.relay.ready()
    try:
        yield own
    finally:
        await own.end(said=True)


@pytest.fixture(params=KINDS)
async def processes(
    request: pytest.FixtureRequest, tmp_path: Path, valkey: RedisAddress, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Process, Process]]:
    """Two, over connections of their own, that have been listening for long enough to know who has gone."""
    monkeypatch.setattr(carriers, "SETTLED_SECONDS", 0.0)
    async with AsyncExitStack() as stack:
        if request.param == "sockets":
            makers: list[Callable[[], Relay]] = [lambda: SocketRelay(tmp_path / "s")] * 2
        else:
            address = await address_of(request, valkey)
            both = [await stack.enter_async_context(reached(address)) for _ in range(2)]
            makers = [lambda redis=redis: RedisRelay(redis, time.monotonic, Unsealed()) for redis in both]
        one, two = [await stack.enter_async_context(started(make)) for make in makers]
        yield one, two


async def address_of(request: pytest.FixtureRequest, valkey: RedisAddress) -> RedisAddress:
    match request.param:
        case "redis":
            return valkey
        case "cluster of one":
            return await as_cluster_of_one(request.getfixturevalue("own_cluster").address)
        case _:
            return cluster_address(request.getfixturevalue("redis_cluster_url"))


async def test_messages_to_one_process_arrive_there_in_order_and_nowhere_else(
    processes: tuple[Process, Process],
) -> None:
    one, two = processes
    said = [b"%d" % number for number in range(300)]
    for each in said:
        await one.relay.send(two.relay.own, each)
    await eventually(lambda: len(two.heard) == len(said))
    assert two.heard == said
    assert one.heard == []


async def test_message_may_begin_with_any_byte(processes: tuple[Process, Process]) -> None:
    """A sealed message begins with random bytes."""
    one, two = processes
    said = [bytes([first]) + b"sealed" for first in range(256)]
    for each in said:
        await one.relay.send(two.relay.own, each)
    await one.relay.send(two.relay.own, b"the last")
    await eventually(lambda: two.heard[-1:] == [b"the last"])
    assert two.heard == [*said, b"the last"]


async def test_concurrent_messages_arrive_once_each(processes: tuple[Process, Process]) -> None:
    one, two = processes
    said = [b"%d" % number for number in range(500)]
    await asyncio.gather(*(one.relay.send(two.relay.own, each) for each in said))
    await eventually(lambda: len(two.heard) >= len(said))
    assert sorted(two.heard) == sorted(said)


async def test_largest_message_arrives_whole_and_leaves_no_key(processes: tuple[Process, Process]) -> None:
    one, two = processes
    large = bytes(range(256)) * (LARGEST_MESSAGE * 128 // 256)  # 4 MiB
    await one.relay.send(two.relay.own, large)
    await eventually(lambda: two.heard == [large])
    if isinstance(one.relay, RedisRelay):
        assert not [key for key in await all_keys(one.relay._redis) if b":message:" in key]


async def test_unknown_process_is_reported_as_gone(processes: tuple[Process, Process]) -> None:
    one, _ = processes
    with pytest.raises(ProcessEnded):
        await one.relay.send(secrets.token_hex(6), b"anybody")
    assert len(await one.relay.find_ended(["0" * 12])) == 1


async def test_large_message_to_an_unknown_process_is_not_stored(processes: tuple[Process, Process]) -> None:
    """Otherwise a client that invents names of processes would fill Redis."""
    one, _ = processes
    with pytest.raises(ProcessEnded):
        await one.relay.send(secrets.token_hex(6), bytes(8 * LARGEST_MESSAGE))
    if isinstance(one.relay, RedisRelay):
        assert not [key for key in await all_keys(one.relay._redis) if b":message:" in key]


async def test_process_that_announced_its_end_is_gone_at_once(processes: tuple[Process, Process]) -> None:
    one, two = processes
    await one.relay.send(two.relay.own, b"still there")
    await eventually(lambda: two.heard)
    await two.end(said=True)
    with pytest.raises(ProcessEnded):
        await one.relay.send(two.relay.own, b"anybody")
    assert await one.relay.find_ended([two.relay.own, one.relay.own]) == {two.relay.own}


async def test_killed_process_is_unreached_and_soon_reported_as_gone(processes: tuple[Process, Process]) -> None:
    one, two = processes
    await one.relay.send(two.relay.own, b"still there")
    await eventually(lambda: two.heard)
    await two.end(said=False)

    async def gone() -> bool:
        try:
            await one.relay.send(two.relay.own, b"anybody")
        except Unreached as failure:
            return isinstance(failure, ProcessEnded)
        return False

    async with asyncio.timeout(30):
        while not await gone():
            await asyncio.sleep(0.05)


async def test_unreached_process_with_a_live_key_is_not_gone(valkey: RedisAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may only be subscribing again."""
    monkeypatch.setattr(carriers, "SETTLED_SECONDS", 0.0)
    async with reached(valkey) as redis, started(lambda: RedisRelay(redis, time.monotonic, Unsealed())) as one:
        other = secrets.token_hex(6)
        await ask(redis, "SET", relay_alive(other), 1, "PX", 60_000)
        with pytest.raises(Unreached) as raised:
            await one.relay.send(other, b"anybody")
        assert not isinstance(raised.value, ProcessEnded)
        assert await one.relay.find_ended([other]) == set()


async def test_process_is_not_reported_as_gone_right_after_redis_recovered(valkey: RedisAddress) -> None:
    """The keys of processes may be lost with Redis."""
    async with reached(valkey) as redis, started(lambda: RedisRelay(redis, time.monotonic, Unsealed())) as one:
        with pytest.raises(Unreached) as raised:
            await one.relay.send(secrets.token_hex(6), b"anybody")
        assert not isinstance(raised.value, ProcessEnded)
        assert await one.relay.find_ended([secrets.token_hex(6)]) == set()


async def test_resubscribed_process_is_told_that_messages_may_be_missing(valkey: RedisAddress) -> None:
    async with reached(valkey) as redis, started(lambda: RedisRelay(redis, time.monotonic, Unsealed())) as one:
        assert one.missed == 1
        await ask(redis, "CLIENT", "KILL", "TYPE", "PUBSUB")
        await eventually(lambda: one.missed == 2)
        await ask(redis, "PUBLISH", relay(one.relay.own), b"again")
        await eventually(lambda: one.heard == [b"again"])


async def test_relay_without_redis_fails_quickly_and_reaches_nobody(tmp_path: Path) -> None:
    address = RedisAddress(path=str(tmp_path / "nobody.sock"))
    async with aclosing(MultiplexedRedis(address)) as redis:
        own = Process(RedisRelay(redis, time.monotonic, Unsealed()))
        await own.relay.ready()
        began = time.monotonic()
        for _ in range(100):
            await own.relay.ready()  # who has waited once in vain waits no more
        assert time.monotonic() - began < READY_SECONDS
        with pytest.raises(Unreached):
            await own.relay.send(secrets.token_hex(6), b"anybody")
        await own.end(said=True)


@cases("taking_no_writes", [("maxmemory", "1"), ("min-replicas-to-write", "1")], ids=["full", "read-only"])
async def test_live_process_is_not_gone_when_redis_refuses_writes(
    taking_no_writes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a Redis loses the keys of live processes; only a process that no longer subscribes is gone."""
    monkeypatch.setattr(carriers, "SETTLED_SECONDS", 0.0)
    with private_valkey() as own:
        async with AsyncExitStack() as stack:
            both = [await stack.enter_async_context(reached(own.address)) for _ in range(2)]
            one, two = [
                await stack.enter_async_context(started(lambda redis=redis: RedisRelay(redis, time.monotonic, Unsealed())))
                for redis in both
            ]
            await ask(both[0], "CONFIG", "SET", *taking_no_writes)

            async def forgotten() -> bool:
                return not await ask(both[0], "EXISTS", relay_alive(two.relay.own))

            await until(forgotten, 30, "its key has gone")
            assert await one.relay.find_ended([two.relay.own]) == set()
            await one.relay.send(two.relay.own, b"still there")
            await eventually(lambda: two.heard == [b"still there"])
            await two.end(said=False)

            async def gone() -> bool:
                return await one.relay.find_ended([two.relay.own]) == {two.relay.own}

            await until(gone, 30, "it has gone")


async def test_folder_that_cannot_be_created_is_waited_for_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in its place", "utf-8")
    own = SocketRelay(tmp_path / "file" / "relay")
    keeping = asyncio.create_task(own.run(lambda said: None, lambda: None))
    await own.ready()
    began = time.monotonic()
    for _ in range(100):
        await own.ready()
    assert time.monotonic() - began < READY_SECONDS
    assert (await asyncio.gather(keeping, return_exceptions=True))[0] is not None
