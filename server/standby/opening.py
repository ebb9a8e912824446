from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from server.application import Environment
from server.backends.opening import open_redis
from server.config.parsing import IN_REDIS, file_of
from server.config.settings import Settings
from server.runtime.lifecycle import Background
from server.standby.bundle import FULL, BundleError, BundleStore, FileStore, Manifest, RedisStore, UnreachableError
from session.redis.keyvalue import KeyValue
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis
from tools.store.backends.aws_address import S3Address
from tools.store.ports import Embedder


def open_place(url: str, redis: KeyValue | None, stack: AsyncExitStack) -> BundleStore:
    """Opens a bundle's storage at a URL until `stack` closes; `redis` is for a URL that means Redis. The storage need not be
    reachable yet. Raises ValueError for an unusable URL."""
    if file := file_of(url):
        return FileStore(file)
    if url.startswith("s3:"):
        from server.standby.s3 import S3Store

        place = S3Store(S3Address.parse(url))
        stack.push_async_callback(place.aclose)
        return place
    assert redis is not None
    return RedisStore(redis)


def open_standby(settings: Settings, env: Environment, stack: AsyncExitStack, background: Background) -> Environment:
    """Returns `env` with the standby catalogue, which loads in the background; `env` itself if none is configured."""
    if settings.standby_url is None:
        return env
    from server.standby.replica import Replica, StandbyMetrics, StandbyStores, probe_replica

    place = open_place(settings.standby_url, env.redis, stack)
    replica = Replica(place, settings.standby, env.ports.embedder, settings.data_dir)
    background.run("standby catalogue", replica.run)
    env.metrics.registry.register(StandbyMetrics(replica))
    env.metrics.lag.labels("standby").set_function(replica.lag)
    probe = partial(probe_replica, replica, env.clocks.wall)
    return replace(env, find_standby=StandbyStores(replica, env.clocks), probes={**env.probes, "standby": probe})


SEED = "run: python -m infra.seed --catalog FILE, with these settings"


async def diagnose(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack, deadline: Deadline) -> Diagnosis:
    """Diagnoses the bundle's storage (MANGA_STANDBY_URL), and whether the bundle's manifest fits the settings."""
    assert settings.standby_url is not None
    try:
        async with asyncio.timeout(deadline.earlier_by(0.5).remaining()):
            redis = await open_redis(settings, stack) if settings.standby_url == IN_REDIS else None
            head = await open_place(settings.standby_url, redis, stack).head()
    except TimeoutError:
        return Diagnosis(DEGRADED, "it does not answer", "check MANGA_STANDBY_URL")
    except UnreachableError as error:
        return Diagnosis(DEGRADED, str(error), "check MANGA_STANDBY_URL, and who may read there")
    if not head:
        return Diagnosis(DEGRADED, "there is no bundle", SEED)
    try:
        manifest = Manifest.read(head.partition(b"\n")[0])
    except BundleError as error:
        return Diagnosis(DEGRADED, str(error), SEED)
    detail = f"{manifest.titles:,} titles ({manifest.kind}), made {(time.time() - manifest.made) / 3600:.1f} h ago"
    if manifest.kind != settings.standby:
        return Diagnosis(DEGRADED, f"it holds {manifest.kind}, MANGA_STANDBY says {settings.standby}", SEED)
    from tools.store.backends.embedded.computed import FORMAT

    mine = embedder.name if embedder is not None and settings.standby == FULL else None
    if mine is not None and (manifest.embedder, manifest.computed) != (mine, FORMAT):
        return Diagnosis(DEGRADED, f"{detail}; its vectors are not of MANGA_EMBEDDER", SEED)
    return Diagnosis(OK, detail)
