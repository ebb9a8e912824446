"""An event of one process is received once by every other, over every kind of Redis and its failures."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent, ToolsListChanged

from server.transport.changes import LARGEST_BYTES, SharedBus, encode_event
from session.keys import CHANGES
from session.redis import multiplexed as byte_side
from session.redis import subscriber
from session.redis.address import RedisAddress
from session.redis.cluster import ClusteredRedis
from session.redis.keyvalue import Command
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline
from tests.support.ports import free_port
from tests.support.redis_kinds import as_cluster_of_one, cluster_address, reached
from tests.support.valkey import PrivateValkey, ask, eventually, private_valkey

TOOLS = ToolsListChanged()
EVENTS: list[ServerEvent] = [TOOLS, PromptsListChanged(), ResourcesListChanged(), ResourceUpdated("manga://policies/返品")]
LOGGERS = ("session.redis.subscriber", "server.transport.changes")


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[PrivateValkey]:
    with private_valkey("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as own:
        yield own


@pytest.fixture(params=["unix", "tls", "cluster of one", "cluster of three"])
async def address(request: pytest.FixtureRequest, valkey: RedisAddress) -> RedisAddress:
    match request.param:
        case "unix":
            return valkey
        case "tls":
            return RedisAddress.parse(request.getfixturevalue("redis_tls_url"))
        case "cluster of one":
            return await as_cluster_of_one(request.getfixturevalue("own_cluster").address)
        case _:
            return cluster_address(request.getfixturevalue("redis_cluster_url"))


class Process:
    """One of several that share a Redis: its bus, and all that it hears there."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self.bus = SharedBus(redis)
        self.heard: list[ServerEvent] = []
        self.bus.subscribe(self.heard.append)

    async def listening(self) -> None:
        """Until it is subscribed, after which it looks at everything."""
        await eventually(lambda: self.heard == [TOOLS])
        self.heard.clear()


@asynccontextmanager
async def processes(address: RedisAddress, number: int = 2) -> AsyncIterator[list[Process]]:
    async with AsyncExitStack() as stack:
        own = [Process(await stack.enter_async_context(reached(address))) for _ in range(number)]
        tasks = [asyncio.create_task(each.bus.run()) for each in own]
        try:
            for each in own:
                await each.listening()
            yield own
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def publish_raw(redis: Redis, message: bytes) -> None:
    await redis.trip([Command(("PUBLISH", CHANGES, message))], Deadline.after(5))


async def test_every_process_receives_each_event_once(address: RedisAddress) -> None:
    """The publisher gets it at once without Redis, and the others over Redis."""
    async with processes(address, 3) as (one, *others):
        for event in EVENTS:
            await one.bus.publish(event)
        assert one.heard == EVENTS
        for other in others:
            await eventually(lambda other=other: len(other.heard) == len(EVENTS))
            assert set(other.heard) == set(EVENTS)
        last = ResourceUpdated("manga://last")
        await others[0].bus.publish(last)
        for each in (one, *others):
            await eventually(lambda each=each: each.heard[-1] == last)
            assert len(each.heard) == len(EVENTS) + 1


async def test_malformed_message_is_ignored_and_the_next_one_received(valkey: RedisAddress) -> None:
    """Any user of the Redis may write to the channel."""
    hostile = [
        b"", b"{", b"null", b"[]", b'"tools"', b"\xff\xfe", b"[" * 2000, b'{"from": 1}', b'{"from": "x", "list": ["tools"]}',
        b'{"from": "x", "list": "users"}', b'{"from": "x", "resource": {"a": 1}}', b'{"from": "x", "list": {}}',
        json.dumps({"from": "x", "resource": "y" * LARGEST_BYTES}).encode(), b"message", b"*3\r\n$7\r\nmessage\r\n",
    ]  # fmt: skip
    async with processes(valkey) as (one, other):
        for message in hostile:
            await publish_raw(one.redis, message)
        await one.bus.publish(TOOLS)
        await eventually(lambda: other.heard)
        assert (one.heard, other.heard) == ([TOOLS], [TOOLS])


async def test_change_message_contains_no_personal_data() -> None:
    told = json.loads(encode_event(TOOLS, "process"))
    assert told == {"from": "process", "list": "tools"}


ANOTHER = ResourceUpdated("manga://policies/shipping")


async def test_events_wait_while_redis_is_away_and_everything_is_checked_afterwards(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No publisher waits, and events that others may have missed are made up for."""
    for name in LOGGERS:
        caplog.set_level(logging.INFO, logger=name)
    with private_valkey() as own:
        async with processes(own.address) as (one, other):
            own.kill()
            event = ResourceUpdated("manga://policies/returns")
            await one.bus.publish(event)
            assert one.heard == [event]
            await eventually(lambda: caplog.text.count("the channel of changes in Redis is lost") == 2)
            assert other.heard == []
            own.start_again()
            await eventually(lambda: TOOLS in other.heard and TOOLS in one.heard)
            assert one.heard.count(event) == 1, (
                "what waited may come before the other listens again, and is never told twice"
            )
            await one.bus.publish(ANOTHER)
            await eventually(lambda: ANOTHER in other.heard)
    told = [record.message for record in caplog.records if "channel of changes" in record.message]
    assert [" is lost: " in each for each in told] == [True, True, False, False], told


async def test_hanging_redis_blocks_no_publisher_and_is_reconnected(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps connections open and sends nothing: the channel counts as lost, and is opened again."""
    monkeypatch.setattr(byte_side, "CONNECT_SECONDS", 0.1)
    for name in ("PING_SECONDS", "ANSWER_SECONDS"):
        monkeypatch.setattr(subscriber, name, 0.1)
    with private_valkey() as own:
        async with processes(own.address) as (one, other):
            own.hang()
            await one.bus.publish(TOOLS)
            assert one.heard == [TOOLS]
            await eventually(lambda: "the channel of changes in Redis is lost" in caplog.text, 15)
            own.go_on()
            await eventually(lambda: TOOLS in other.heard)


async def test_forbidden_channel_is_logged_once(valkey: RedisAddress, caplog: pytest.LogCaptureFixture) -> None:
    """An access list that names no channels forbids them; each process then works by itself."""
    with private_valkey() as own:
        async with reached(own.address) as admin:
            await ask(admin, "ACL", "SETUSER", "default", "resetchannels")
        async with reached(own.address) as redis:
            one = Process(redis)
            task = asyncio.create_task(one.bus.run())
            await one.bus.publish(TOOLS)
            assert one.heard == [TOOLS]
            await eventually(lambda: "does not let this user listen" in caplog.text and "publish" in caplog.text)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert len([record for record in caplog.records if record.name in LOGGERS]) == 2


async def test_subscriber_on_a_removed_cluster_node_moves_to_another(
    redis_cluster_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removed node still answers and receives no events."""
    monkeypatch.setattr(subscriber, "PING_SECONDS", 0.05)
    async with processes(cluster_address(redis_cluster_url)) as (one, other):
        assert isinstance(other.redis, ClusteredRedis)
        other.redis.nodes.nodes_cache.clear()
        await other.redis._close_unused()
        await other.listening()
        await one.bus.publish(TOOLS)
        await eventually(lambda: other.heard == [TOOLS])
