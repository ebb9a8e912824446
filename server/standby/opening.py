"""The standby catalogue of these settings."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from server.application import Environment
from server.config.settings import Settings
from server.config.urls import file_of
from server.runtime.background import Background
from server.standby.places import Place
from session.redis.keyvalue import KeyValue
from tools.store.backends.aws_address import S3Address


async def open_place(url: str, redis: KeyValue | None, stack: AsyncExitStack) -> Place:
    """Opens it until the stack ends; it need not answer yet. Raises ValueError for a wrong address."""
    if file := file_of(url):
        from server.standby.places import FilePlace

        return FilePlace(file)
    if url.startswith("s3:"):
        from server.standby.s3 import S3Place

        return await stack.enter_async_context(S3Place.open(S3Address.parse(url)))
    from server.standby.places import RedisPlace

    assert redis is not None  # who may be sent there has one
    return RedisPlace(redis)


async def open_standby(settings: Settings, env: Environment, stack: AsyncExitStack, background: Background) -> Environment:
    """Returns `env` with it, or as it was where there is none. It is loaded behind the start."""
    if settings.standby_url is None:
        return env
    from server.standby.replica import Replica
    from server.standby.second import StandbyHealth, StandbyMetrics, StandbyStores

    place = await open_place(settings.standby_url, env.redis, stack)
    replica = Replica(place, settings.standby, env.ports.embedder, settings.data_dir)
    background.run("standby catalogue", replica.keep)
    env.metrics.registry.register(StandbyMetrics(replica))
    env.metrics.watch_lag("standby", replica.lag)
    probe = StandbyHealth(replica, env.clocks.wall)
    second = StandbyStores(replica, env.clocks)
    return replace(env, second=second, probes={**env.probes, "standby": probe})
