"""The standby catalogue of these settings: opened as a store for tools, and diagnosed for doctor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from weakref import WeakKeyDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from server.application import Environment
from server.backends import open_redis
from server.config.parsing import IN_REDIS, file_of
from server.config.settings import Settings
from server.runtime.lifecycle import Background
from server.stages.answer import Standby
from server.standby.bundle import FULL, BundleError, FilePlace, Manifest, Place, RedisPlace, UnreachableError
from server.standby.replica import Loaded, Replica
from session.redis.keyvalue import KeyValue
from session.resilience.clocks import Clocks, WallClock
from session.resilience.deadline import Deadline, RetryPolicy
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis
from tools.store.backends.aws_address import S3Address
from tools.store.catalog.catalog import StoreCatalog, TitleReader
from tools.store.classification import TextClassifier
from tools.store.guarded import Backend, BackendPolicy, guard_port
from tools.store.models import Health
from tools.store.ports import CatalogPort, Embedder
from tools.store.preferences import PreferenceReader
from tools.store.store import Store

NAME = "standby_catalogue"
TOOLS = frozenset({"search_manga_catalog", "get_recommendations", "get_manga_details"})
"""The tools that the catalogue answers; others have fallbacks of their own."""
# A search takes some 10 ms of the processor: beyond eight at once calls go to the next rung instead of queueing.
POLICY = BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3, places=8, retry=RetryPolicy(attempts=1))


class StandbyStores:
    """A `StandbyLookup`. Makes one store for each bundle."""

    def __init__(self, replica: Replica, clocks: Clocks) -> None:
        self._replica, self._clocks = replica, clocks
        self._backend = Backend(NAME, POLICY, clocks.monotonic)
        self._made: WeakKeyDictionary[Loaded, Store] = WeakKeyDictionary()

    def __call__(self, tool: str, store: Store) -> Standby | None:
        loaded = self._replica.current
        if loaded is None or tool not in TOOLS:
            return None
        if loaded not in self._made:
            self._made[loaded] = self._build_store(loaded.catalog, store)
        return Standby(NAME, self._made[loaded], loaded.manifest.made)

    def _build_store(self, standby: CatalogPort, store: Store) -> Store:
        """`store` with the standby in place of the catalogue."""
        catalog = StoreCatalog(guard_port(standby, self._backend), self._clocks.now, store.adult)
        reader = store.reader.over(catalog)
        return replace(
            store,
            catalog=catalog,
            titles=TitleReader(catalog, store.records),
            reader=reader,
            preference_reader=PreferenceReader(reader, self._clocks.monotonic),
            classifying=TextClassifier(catalog, store.classifying.remote),
        )


def probe_replica(replica: Replica, wall: WallClock) -> Callable[[Deadline], Awaitable[Health]]:
    async def probe(deadline: Deadline) -> Health:
        loaded, problem = replica.current, replica.problem
        if loaded is None:
            return Health(False, problem or "nothing is loaded yet", logged=True)
        manifest = loaded.manifest
        hours = max(0.0, wall() - manifest.made) / 3600
        detail = f"{manifest.titles} titles ({manifest.kind}), {hours:.1f} h old, sha256 {manifest.digest[:12]}"
        return Health(True, detail if problem is None else f"{detail}; {problem}")

    return probe


class StandbyMetrics(Collector):
    """Metrics of the replica, read at each scrape."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        manifest = self._replica.current.manifest if self._replica.current else None
        about = "Titles in the standby catalogue; 0 while none is loaded."
        titles = GaugeMetricFamily("manga_standby_titles", about, labels=["kind", "digest"])
        titles.add_metric([self._replica.kind, manifest.digest[:12] if manifest else ""], manifest.titles if manifest else 0)
        yield titles
        if manifest:
            about = "When the standby catalogue was made, seconds since the epoch."
            yield GaugeMetricFamily("manga_standby_made_seconds", about, value=manifest.made)
        about = "Bundles that were refused: broken off, damaged, of another kind."
        yield CounterMetricFamily("manga_standby_refused", about, value=self._replica.refused)


async def open_place(url: str, redis: KeyValue | None, stack: AsyncExitStack) -> Place:
    """Opens a bundle's place, which need not answer yet, until the stack ends. Raises ValueError for a wrong address."""
    if file := file_of(url):
        return FilePlace(file)
    if url.startswith("s3:"):
        from server.standby.s3 import S3Place

        return await stack.enter_async_context(S3Place.open(S3Address.parse(url)))
    assert redis is not None
    return RedisPlace(redis)


async def open_standby(settings: Settings, env: Environment, stack: AsyncExitStack, background: Background) -> Environment:
    """Adds the standby to `env`, where one is configured. It is loaded in the background."""
    if settings.standby_url is None:
        return env
    from server.standby.opening import StandbyMetrics, StandbyStores, probe_replica
    from server.standby.replica import Replica

    place = await open_place(settings.standby_url, env.redis, stack)
    replica = Replica(place, settings.standby, env.ports.embedder, settings.data_dir)
    background.run("standby catalogue", replica.keep)
    env.metrics.registry.register(StandbyMetrics(replica))
    env.metrics.watch_lag("standby", replica.lag)
    probes = {**env.probes, "standby": probe_replica(replica, env.clocks.wall)}
    return replace(env, second=StandbyStores(replica, env.clocks), probes=probes)


SEED = "run: python -m infra.seed --catalog FILE, with these settings"


async def diagnose(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack, deadline: Deadline) -> Diagnosis:
    """Diagnoses the place and the first line of the bundle there. Never raises."""
    assert settings.standby_url is not None
    try:
        async with asyncio.timeout(deadline.less(0.5).remaining()):
            redis = await open_redis(settings, stack) if settings.standby_url == IN_REDIS else None
            place = await open_place(settings.standby_url, redis, stack)
            head = await place.head()
    except TimeoutError:
        return Diagnosis(DEGRADED, "it does not answer", "check MANGA_STANDBY_URL")
    except UnreachableError as error:
        return Diagnosis(DEGRADED, str(error), "check MANGA_STANDBY_URL, and who may read there")
    if not head:
        return Diagnosis(DEGRADED, "there is no bundle", SEED)
    try:
        return _judge(Manifest.read(head.partition(b"\n")[0]), settings.standby, embedder)
    except BundleError as error:
        return Diagnosis(DEGRADED, str(error), SEED)


def _judge(manifest: Manifest, kind: str, embedder: Embedder | None) -> Diagnosis:
    detail = f"{manifest.titles:,} titles ({manifest.kind}), made {(time.time() - manifest.made) / 3600:.1f} h ago"
    if manifest.kind != kind:
        return Diagnosis(DEGRADED, f"it holds {manifest.kind}, MANGA_STANDBY says {kind}", SEED)
    from tools.store.backends.embedded.computed import FORMAT

    mine = embedder.name if embedder is not None and kind == FULL else None
    if mine is not None and (manifest.embedder, manifest.computed) != (mine, FORMAT):
        return Diagnosis(DEGRADED, f"{detail}; its vectors are not of MANGA_EMBEDDER", SEED)
    return Diagnosis(OK, detail)
