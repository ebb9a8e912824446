"""Which relay there is, by the settings."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from server.config.settings import Settings
from server.identity import Identifier
from server.runtime.background import Background
from server.runtime.fleet_key import FleetKey
from server.transport.http.reach import OwnSessions, Reach
from server.transport.relay.counts import Counts
from server.transport.relay.over_redis import RedisRelay
from server.transport.relay.over_sockets import SocketRelay
from server.transport.relay.post import Relay
from server.transport.relay.relayed import Relayed
from server.transport.relay.sealed import SealedRelay
from session.redis.subscriber import Redis

GRACE_SECONDS = 1.0
"""Beyond a turn, within which its owner answers a request: nobody waits longer for one that was lost on the way."""


def open_reach(
    settings: Settings,
    redis: Redis,
    key: FleetKey,
    identifier: Identifier,
    stack: AsyncExitStack,
    background: Background,
    registry: CollectorRegistry,
    *,
    local: bool,
) -> Reach:
    """Listens until the stack closes; where there is no other process to be reached, there is nothing to open. `local` is
    for stdio, whose only session is its own."""
    relay = None if local else _relay(settings, redis, key)
    if relay is None:
        return OwnSessions()
    relayed = Relayed(relay, settings.turn_budget_ms / 1000 + GRACE_SECONDS, Counts(registry), identifier)
    background.run("relay", relayed.keep)
    stack.push_async_callback(relayed.aclose)
    return relayed


def _relay(settings: Settings, redis: Redis, key: FleetKey) -> Relay | None:
    if settings.relay.startswith("unix:"):
        return SocketRelay(Path(urlsplit(settings.relay).path))
    if settings.relay == "off" or settings.redis_url.startswith("embedded"):
        return None
    return SealedRelay(RedisRelay(redis, time.monotonic), key)
