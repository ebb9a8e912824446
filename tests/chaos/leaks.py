"""A thousand calls whose clients change their minds or vanish while a backend hangs: nothing of them may stay."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.chaos.faults import HANG
from tests.chaos.world import Json, World

TOOLS = {
    "opensearch": "search_manga_catalog",
    "dynamodb": "lookup_order",
    "redis": "search_manga_catalog",
    "bedrock": "search_manga_catalog",
}
CALLS = 1000
PRIMING = 80
SETTLE_SECONDS = 40.0
"""Longer than the drivers keep idle connections."""
CANCEL_SECONDS = 60.0
MOST_BYTES = 8 * 2**20
SLACK = 4
"""Connections may be kept for the next call, and a few more at one moment than at another."""


@dataclass(frozen=True, slots=True)
class Leaks:
    """What the server held before and after; `cancelled` as it counted them itself."""

    cancelled: int
    before: Json
    after: Json
    connections_before: int
    connections_after: int

    def missed(self) -> list[str]:
        grown = {
            "calls were cancelled": self.cancelled < CALLS,
            "tasks": self.after["tasks"] > self.before["tasks"],
            "descriptors": self.after["descriptors"] > self.before["descriptors"] + SLACK,
            "connections": self.connections_after > self.connections_before + SLACK,
            "bytes": self.after["rss"] > self.before["rss"] + MOST_BYTES,
        }
        return [f"{what}: {self.told()}" for what, holds in grown.items() if holds]

    def told(self) -> str:
        before, after = self.before, self.after
        return (
            f"{self.cancelled} cancelled calls; tasks {before['tasks']} → {after['tasks']}, "
            f"descriptors {before['descriptors']} → {after['descriptors']}, "
            f"connections to the backends {self.connections_before} → {self.connections_after}, "
            f"memory {before['rss'] / 2**20:.1f} → {after['rss'] / 2**20:.1f} MB"
        )


async def look_for_leaks(world: World, calls: int = CALLS) -> Leaks:
    """The conversations have been stopped before. Pools, caches and histories get their size in a first, uncounted round."""
    for backend in TOOLS:
        await _cancelled(world, backend, PRIMING)
    before = await _settled(world, None)
    connections = _connections(world)
    cancelled = 0
    for backend in TOOLS:
        cancelled += await _cancelled(world, backend, -(-calls // len(TOOLS)))
    if cancelled < calls:  # Bedrock and Redis are not waited for long, and some calls end before their clients leave
        cancelled += await _cancelled(world, "opensearch", calls - cancelled)
    after = await _settled(world, before)
    return Leaks(cancelled, before, after, connections, _connections(world))


async def _cancelled(world: World, backend: str, calls: int) -> int:
    """At least so many, by the server's own count; fewer only when it cannot be brought to it in time."""
    world.samples.catch_up()
    since = len(world.samples.read)
    await world.begin(backend, HANG)
    try:
        give_up = time.monotonic() + CANCEL_SECONDS
        while (missing := calls - _count(world, since)) > 0 and time.monotonic() < give_up:
            await world.clients.ask(f"cancel {max(80, missing)} {TOOLS[backend]}", "cancelled", CANCEL_SECONDS)
    finally:
        await world.end(backend, HANG)
    return _count(world, since)


def _count(world: World, since: int) -> int:
    world.samples.catch_up()
    return sum(each["outcome"] == "cancelled" for each in world.samples.of("call", since))


async def _settled(world: World, before: Json | None) -> Json:
    """What is held once it falls no more, or is as little as before."""
    give_up = time.monotonic() + SETTLE_SECONDS
    least = await world.holdings()
    fell_at = time.monotonic()
    while time.monotonic() < give_up:
        if (
            before is not None
            and least["tasks"] <= before["tasks"]
            and least["descriptors"] <= before["descriptors"] + SLACK
        ):
            break
        if before is None and time.monotonic() > fell_at + SETTLE_SECONDS / 2:
            break
        now = await world.holdings()
        if now["tasks"] < least["tasks"] or now["descriptors"] < least["descriptors"]:
            fell_at = time.monotonic()
        least = now
    return least


def _connections(world: World) -> int:
    return sum(proxy.connections for proxy in world.proxies.values())
