"""Three ways to a Redis cluster behind the one port of session memory: ours, redis-py's, and Valkey GLIDE's.

Those of others are as bare as they can be: no script is sent again by its text, errors are as they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import Any

from redis.asyncio.cluster import RedisCluster

from session.failures import MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.cluster import ClusteredRedis
from session.redis.keyvalue import Command, Evaluation, KeyValue, Reply, Step
from session.resilience.deadline import Deadline

CONNECT_SECONDS = 10.0


class RedisPy:
    """`redis.asyncio.cluster`: a pool of connections for each node, one of them for each trip at a time."""

    def __init__(self, client: RedisCluster) -> None:
        self._client = client

    @classmethod
    async def reach(cls, address: RedisAddress) -> RedisPy:
        return cls(await RedisCluster(address.host, address.port).initialize())

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        return await _within(deadline, self._send(_commands(steps)))

    async def _send(self, commands: Sequence[Command]) -> list[Reply | Exception]:
        if len(commands) == 1:
            return [await self._client.execute_command(*commands[0])]
        pipeline = self._client.pipeline()
        for command in commands:
            pipeline.execute_command(*command)
        return await pipeline.execute(raise_on_error=False)

    async def aclose(self) -> None:
        await self._client.aclose()


class Glide:
    """`valkey-glide`: a core in Rust with threads of its own, and one connection to each node."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    async def reach(cls, address: RedisAddress) -> Glide:
        import glide

        node = glide.NodeAddress(address.host, address.port)
        return cls(await glide.GlideClusterClient.create(glide.GlideClusterClientConfiguration([node])))

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        return await _within(deadline, self._send(_commands(steps), max(1, round(deadline.remaining() * 1000))))

    async def _send(self, commands: Sequence[Command], timeout_ms: int) -> list[Reply | Exception]:
        import glide

        batch = glide.ClusterBatch(is_atomic=False)
        for command in commands:
            batch.custom_command([part if isinstance(part, bytes) else str(part) for part in command])
        replies = await self._client.exec(batch, False, glide.ClusterBatchOptions(timeout=timeout_ms))
        return list(replies)

    async def aclose(self) -> None:
        await self._client.close()


async def ours(address: RedisAddress) -> ClusteredRedis:
    own = ClusteredRedis(address)
    await own.connect(Deadline.after(CONNECT_SECONDS))
    return own


def clients() -> dict[str, Callable[[RedisAddress], Awaitable[KeyValue]]]:
    """Those that are installed, by name, ours first."""
    known: dict[str, Callable[[RedisAddress], Awaitable[KeyValue]]] = {"ours": ours, "redis-py": RedisPy.reach}
    return known | ({"glide": Glide.reach} if find_spec("glide") else {})


def _commands(steps: Sequence[Step]) -> list[Command]:
    return [step.by_digest() if isinstance(step, Evaluation) else step for step in steps]


async def _within(deadline: Deadline, trip: Awaitable[list[Reply | Exception]]) -> list[Reply | Exception]:
    try:
        async with asyncio.timeout(deadline.remaining()):
            return await trip
    except Exception as failure:  # of two libraries, each with kinds of its own
        raise MemoryUnavailable(type(failure).__name__) from None
