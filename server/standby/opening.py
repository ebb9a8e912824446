"""The standby catalogue of these settings."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from server.application import Outside
from server.config.settings import Settings
from server.runtime.background import Background


async def open_standby(settings: Settings, outside: Outside, stack: AsyncExitStack, background: Background) -> Outside:
    """Returns `outside` with it, or as it was where there is none. It is loaded behind the start."""
    if settings.standby_url is None:
        return outside
    from server.standby.places.opening import open_place
    from server.standby.replica import Replica
    from server.standby.second import StandbyStore
    from server.standby.telling import StandbyHealth, StandbyMetrics

    place = await open_place(settings.standby_url, outside.redis, stack)
    replica = Replica(place, settings.standby, outside.ports.embedder, settings.data_dir)
    background.run("standby catalogue", replica.keep)
    outside.metrics.registry.register(StandbyMetrics(replica))
    outside.metrics.watch_lag("standby", replica.lag)
    probe = StandbyHealth(replica, outside.clocks.wall)
    second = StandbyStore(replica, outside.clocks)
    return replace(outside, second=second, probes={**outside.probes, "standby": probe})
