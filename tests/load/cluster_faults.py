"""What callers of each client feel when a node of the cluster hangs for a second, and when one is killed for its replica."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from redis.crc import key_slot

from session.redis.address import RedisAddress
from session.redis.keyvalue import Command, KeyValue
from session.resilience.deadline import Deadline
from tests.load.cluster_clients import clients
from tests.stack.redis_servers import Cluster, Redis, started_cluster
from tests.support.redis_kinds import cluster_address
from tests.support.valkey import ask, connected

CALLERS = 8
"""For each node, one trip of `TRIP_SECONDS` after another."""
TRIP_SECONDS = 0.05
BETWEEN_SECONDS = 0.01
HANG_SECONDS = 1.0
PATIENCE_MS = 1000
OVER_SECONDS = 15.0


@dataclass(slots=True)
class Felt:
    """By the callers of one node: the longest trip in ms, how many failed or gave another's value, and the last failure."""

    longest_ms: float = 0.0
    trips: int = 0
    failed: int = 0
    wrong: int = 0
    last_failed: float = field(default_factory=time.monotonic)


class Callers:
    """Read the same keys of every node all the time, and know what stands there."""

    def __init__(self, redis: KeyValue, keys: Sequence[str]) -> None:
        self._redis = redis
        self._keys = keys
        self._tasks: list[asyncio.Task[None]] = []
        self.felt = [Felt() for _ in keys]

    async def __aenter__(self) -> Callers:
        for key in self._keys:
            await self._redis.trip([Command(("SET", key, key))], Deadline.after(5))
        pairs = zip(self._keys, self.felt, strict=True)
        self._tasks = [asyncio.create_task(self._read(*pair)) for pair in pairs for _ in range(CALLERS)]
        await asyncio.sleep(0.3)
        self.felt[:] = [self._anew(each) for each in self.felt]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @staticmethod
    def _anew(felt: Felt) -> Felt:
        felt.longest_ms, felt.trips, felt.failed = 0.0, 0, 0
        return felt

    async def _read(self, key: str, felt: Felt) -> None:
        while True:
            started = time.monotonic()
            try:
                (reply,) = await self._redis.trip([Command(("GET", key))], Deadline.after(TRIP_SECONDS))
                if isinstance(reply, Exception):
                    raise reply
                felt.wrong += reply != key.encode()
            except Exception:  # of three libraries, each with kinds of its own
                felt.failed += 1
                felt.last_failed = time.monotonic()
            felt.trips += 1
            felt.longest_ms = max(felt.longest_ms, (time.monotonic() - started) * 1000)
            await asyncio.sleep(BETWEEN_SECONDS)


async def faults() -> str:
    lines = [
        f"{'':10}{'':8}{'longest trip, ms':>20}{'failed elsewhere':>18}{'wrong':>7}{'whole again':>13}{'connections':>13}"
    ]
    for fault, happen in {"hangs": _hangs, "killed": _killed}.items():
        for name, reach in clients().items():
            with started_cluster(replica=True, patience_ms=PATIENCE_MS if fault == "killed" else 60_000) as cluster:
                lines.append(f"{fault:10}{name:8}" + await _one(cluster, reach, happen))
    return "\n".join(lines)


async def _one(
    cluster: Cluster,
    reach: Callable[[RedisAddress], Awaitable[KeyValue]],
    happen: Callable[[Redis], Awaitable[None]],
) -> str:
    keys = [_key_of(number, len(cluster.nodes)) for number in range(len(cluster.nodes))]
    redis = await reach(cluster_address(cluster.url))
    before = await _connections(cluster)
    async with Callers(redis, keys) as callers:
        over = time.monotonic() + OVER_SECONDS
        struck = time.monotonic()
        await happen(cluster.nodes[-1])
        while time.monotonic() < over and time.monotonic() - max(each.last_failed for each in callers.felt) < 1.0:
            await asyncio.sleep(0.05)
        *elsewhere, there = callers.felt
        again = max(each.last_failed for each in callers.felt) - struck
        opened = await _connections(cluster) - before
    with suppress(Exception):
        await redis.aclose()
    trips, failed = sum(each.trips for each in elsewhere), sum(each.failed for each in elsewhere)
    longest = f"{there.longest_ms:.0f} there, {max(each.longest_ms for each in elsewhere):.0f} else"
    wrong = sum(each.wrong for each in callers.felt)
    return f"{longest:>20}{f'{failed} of {trips}':>18}{wrong:7}{again:11.1f} s{opened:13}"


async def _hangs(node: Redis) -> None:
    node.child.pause()
    await asyncio.sleep(HANG_SECONDS)
    node.child.resume()


async def _killed(node: Redis) -> None:
    node.child.kill()


def _key_of(number: int, nodes: int) -> str:
    """A key in the middle of this node's share, as redis-cli shares the slots out."""
    middle = 16384 * (2 * number + 1) // (2 * nodes)
    return next(key for key in (f"{{{n}}}" for n in range(100_000)) if abs(key_slot(key.encode()) - middle) < 1000)


async def _connections(cluster: Cluster) -> int:
    """So many were opened to the nodes that are never touched by the fault."""
    opened = 0
    for node in cluster.nodes[:-1]:
        async with connected(RedisAddress.parse(node.url)) as direct:
            told = (await ask(direct, "INFO", "stats")).decode().split()
            opened += int(next(line for line in told if line.startswith("total_connections_received:")).split(":")[1])
    return opened
