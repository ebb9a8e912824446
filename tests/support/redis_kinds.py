"""Redis however it is reached: by one shared connection or as a cluster, in clear or by TLS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from session.redis.address import RedisAddress
from session.redis.cluster import ClusteredRedis
from session.redis.keyvalue import KeyValue, Reply
from session.redis.multiplexed import MultiplexedRedis
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline
from tests.support.valkey import SOON, ask, connected

STACK_URLS = {"tcp": "redis_url", "tls": "redis_tls_url", "cluster of three": "redis_cluster_url"}
"""The fixtures of `tests.stack` behind each kind."""


def cluster_address(url: str) -> RedisAddress:
    """Of a cluster whose first node has that URL."""
    return RedisAddress.parse(url.replace("://", "+cluster://", 1))


@asynccontextmanager
async def reached(address: RedisAddress) -> AsyncIterator[Redis]:
    """Connected as the server would be."""
    own = ClusteredRedis(address) if address.cluster else MultiplexedRedis(address)
    await own.connect(Deadline.after(SOON))
    try:
        yield own
    finally:
        await own.aclose()


async def forget_everything(redis: KeyValue) -> None:
    """No key and no script is left on any node."""
    await on_each_node(redis, "FLUSHALL")
    await flush_scripts(redis)


async def flush_scripts(redis: KeyValue) -> None:
    await on_each_node(redis, "SCRIPT", "FLUSH")


async def all_keys(redis: KeyValue) -> list[bytes]:
    return [name for names in await on_each_node(redis, "KEYS", "*") for name in names]


async def on_each_node(redis: KeyValue, *command: str) -> list[Reply]:
    """One command to every master, or to the only one."""
    if not isinstance(redis, ClusteredRedis):
        return [await ask(redis, *command)]
    return [await ask(redis.connection_to(node), *command) for node in redis.primaries]


async def as_cluster_of_one(address: RedisAddress) -> RedisAddress:
    """A node that has all the slots."""
    async with connected(replace(address, cluster=False)) as node:
        if b"cluster_slots_assigned:16384" not in await ask(node, "CLUSTER", "INFO"):
            await ask(node, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        await cluster_is_ok(node)
    return replace(address, cluster=True)


async def cluster_is_ok(node: KeyValue, seconds: float = SOON) -> None:
    """Waits until a node finds every slot served."""
    deadline = Deadline.after(seconds)
    while b"cluster_state:ok" not in (told := await ask(node, "CLUSTER", "INFO")):
        assert not deadline.expired(), told
        await asyncio.sleep(0.02)
