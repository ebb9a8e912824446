"""Replicas with one Redis and a flags source each: which clients are notified of a change, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from server.call import Principal
from server.flags import follower as following
from server.flags.document import Flags
from server.flags.follower import Follower
from server.identity.tool_access import ToolAccess
from server.transport.changes import SharedBus
from server.transport.listeners import SubscriberBus, ToolListChanges
from server.transport.tool_listing import ToolListing
from session.redis.address import RedisAddress
from session.redis.keyvalue import KeyValue
from session.redis.subscriber import Redis
from tests.support.flags import MemorySource
from tests.support.pipeline import registry_of
from tests.support.process import until
from tests.support.valkey import SOON, ask, connected, eventually, private_valkey
from tools.registry import TOOLS

OFF = b'{"get_recommendations": false}'
ON = b"{}"


class Replica:
    """As the server wires it: a source that is followed, a bus, and one client that hears of a changed list."""

    def __init__(self, redis: Redis) -> None:
        registry, flags = registry_of(TOOLS), Flags()
        self.source = MemorySource()
        self.bus = SharedBus(redis)
        self.follower = Follower(self.source, flags, registry)
        self.changes = ToolListChanges(ToolListing(ToolAccess(registry, flags)).digest, self.bus)
        self.changes.on_change(self.follower.read_soon)
        self.told = 0
        SubscriberBus(self.changes, Principal()).subscribe(self._tell)

    def _tell(self, _: object) -> None:
        self.told += 1

    def tasks(self) -> list[asyncio.Task[Any]]:
        works = (self.bus.run(), self.changes.run(), self.follower.watch(self.changes.publish_change))
        return [asyncio.create_task(work) for work in works]


@asynccontextmanager
async def replicas(address: RedisAddress, number: int = 2) -> AsyncIterator[list[Replica]]:
    async with AsyncExitStack() as stack, connected(address) as admin:
        own = [Replica(await stack.enter_async_context(connected(address))) for _ in range(number)]
        tasks = [task for each in own for task in each.tasks()]
        try:
            await listening(admin, number)
            yield own
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def listening(admin: KeyValue, number: int) -> None:
    """Until Redis counts so many who listen: it tells whoever asks, and nobody else."""

    async def all_listen() -> bool:
        return bool((await ask(admin, "PUBSUB", "NUMSUB", "manga:mcp:changes:1"))[1] == number)

    await until(all_listen, SOON, f"{number} who listen")


async def settled() -> None:
    """Longer than a word takes to all of them and the comparison behind it: what was not told by then is not."""
    await asyncio.sleep(0.3)


@pytest.fixture
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees anything by itself within a test: only who is told to look."""
    monkeypatch.setattr(following, "POLL_SECONDS", 3600.0)
    monkeypatch.setattr(following, "LEAST_SECONDS", 0.001)


@pytest.mark.usefixtures("rarely")
async def test_replica_that_sees_a_change_first_makes_all_others_look(valkey: RedisAddress) -> None:
    async with replicas(valkey, 3) as own:
        for number, content in enumerate((OFF, ON), 1):
            for each in own:
                each.source.content = content
            await own[0].changes.publish_change(True)
            await eventually(lambda number=number: [each.told for each in own] == [number] * 3)
        await settled()
        assert [each.told for each in own] == [2, 2, 2]


async def test_replicas_that_see_a_change_at_different_times_notify_each_client_once(valkey: RedisAddress) -> None:
    """The later replica looks when hinted, sees nothing new, and notifies its clients once it does."""
    async with replicas(valkey) as (early, late):
        early.source.content = OFF
        await eventually(lambda: early.told == 1)
        await settled()
        assert late.told == 0
        late.source.content = OFF
        await eventually(lambda: late.told == 1)
        await settled()
        assert (early.told, late.told) == (1, 1)


@pytest.mark.usefixtures("rarely")
async def test_a_change_message_lost_with_the_redis_connection_is_caught_up_on_reconnect(valkey: RedisAddress) -> None:
    """Redis stores no messages for absent subscribers, so a returning one checks everything."""
    with private_valkey() as redis:
        async with replicas(redis.address) as (one, other), connected(redis.address) as admin:
            one.source.content = other.source.content = OFF
            await ask(admin, "CLIENT", "KILL", "TYPE", "pubsub")
            await one.changes.publish_change(True)
            await eventually(lambda: (one.told, other.told) == (1, 1))


@pytest.mark.usefixtures("rarely")
async def test_change_while_redis_is_away_reaches_other_replicas_on_recovery() -> None:
    with private_valkey() as redis:
        async with replicas(redis.address) as (one, other):
            redis.kill()
            one.source.content = other.source.content = OFF
            one.follower.read_soon()
            await eventually(lambda: one.told == 1)
            assert other.told == 0
            redis.start_again()
            await eventually(lambda: other.told == 1)
            await settled()
            assert (one.told, other.told) == (1, 1)


async def test_replicas_without_redis_follow_their_own_sources() -> None:
    with private_valkey() as redis:
        async with replicas(redis.address) as own:
            redis.kill()
            for number, content in enumerate((OFF, ON, OFF), 1):
                for each in own:
                    each.source.content = content
                await eventually(lambda number=number: [each.told for each in own] == [number] * 2)
