"""Loads the standby catalogue into this process and replaces it when a new bundle appears. Builds the store that tools
use with it, and reports its health and metrics."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from weakref import WeakKeyDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from server.stages.answer import Standby
from server.standby.bundle import FULL, RECORDS, BundleError, BundleStore, CutShortError, Manifest, UnreachableError, unpack
from session.resilience.breaker import Outage
from session.resilience.clocks import Clock, Clocks, WallClock
from session.resilience.deadline import Deadline, RetryPolicy
from session.resilience.tasks import run_periodically
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.computed import FORMAT
from tools.store.catalog.catalog import StoreCatalog, TitleReader
from tools.store.classification import TextClassifier
from tools.store.guarded import Backend, BackendPolicy, guard_port
from tools.store.models import Health
from tools.store.ports import Embedder
from tools.store.preferences import PreferenceReader
from tools.store.records.catalog_file import CatalogFileError
from tools.store.store import Store


@asynccontextmanager
async def load_gently() -> AsyncIterator[None]:
    """Keeps the event loop responsive while the block loads data: shortens the thread switch interval, and suspends garbage
    collection of the oldest generation. Afterwards the collector ignores the loaded objects, which reference counts free."""
    usual, thresholds = sys.getswitchinterval(), gc.get_threshold()
    # With Python's default of 5 ms, each iteration of the event loop would wait that long for the loading thread.
    sys.setswitchinterval(0.0005)
    gc.set_threshold(*thresholds[:2], 2**31 - 1)
    try:
        yield
        gc.collect(1)
        gc.freeze()
    finally:
        sys.setswitchinterval(usual)
        gc.set_threshold(*thresholds)


logger = logging.getLogger(__name__)
POLL_SECONDS = 30.0
RETRY_SECONDS = 5.0
"""Seconds between attempts while no bundle is loaded."""
GRACE_SECONDS = 6.0
"""Seconds from a bundle's replacement until it is closed: longer than any search in it takes."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Loaded:
    """A loaded bundle. `opened` closes its resources."""

    manifest: Manifest
    catalog: EmbeddedCatalog
    opened: AsyncExitStack


class Replica:
    """Polls `place` and loads new bundles into `current`. A bundle that is damaged, of another kind or out of reach is
    logged once, and the last good one stays in use. A truncated one is fetched again. `embedder` embeds queries. `folder` is
    for temporary files, None for the system's."""

    def __init__(
        self,
        place: BundleStore,
        kind: str,
        embedder: Embedder | None,
        folder: Path | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.kind = kind
        self.current: Loaded | None = None
        self.refused = 0
        self._place, self._embedder, self._folder = place, embedder, folder
        self._seen: str | None = None
        self._refused: str | None = None
        self._why_refused: str | None = None
        self._clock, self._as_source_at = clock, clock()
        self._outage = Outage(logger, "the place of the standby catalogue")

    @property
    def problem(self) -> str | None:
        return self._outage.why or self._why_refused

    def lag(self) -> float:
        """Returns the seconds since a poll last found the replica to match the stored bundle, or since the start."""
        return self._clock() - self._as_source_at

    async def run(self) -> None:
        """Polls until cancelled, then closes the loaded bundle."""
        try:
            await run_periodically("standby catalogue", self._poll_place)
        finally:
            closing, self.current, self._seen = self.current, None, None  # a task that is restarted loads it anew
            if closing is not None:
                await closing.opened.aclose()

    async def look(self) -> bool:
        """Fetches and loads a new bundle. Returns False if none is loaded. Raises `UnreachableError` or `OSError`."""
        made = partial(TemporaryDirectory[str], prefix="standby-", dir=self._folder, ignore_cleanup_errors=True)
        scratch = await asyncio.to_thread(made)
        fetched, unpacked = Path(scratch.name) / "bundle", Path(scratch.name) / "unpacked"
        try:
            version = await self._place.fetch(self._seen, fetched)
            if version is None:
                return False
            try:
                manifest = await asyncio.to_thread(unpack, fetched, unpacked)
                await self._take(await self._open_bundle(manifest, unpacked))
            except (BundleError, CatalogFileError) as error:
                self._refuse(version, error)
                return False
            self._seen = version
        finally:
            await asyncio.to_thread(scratch.cleanup)
        return True

    def _refuse(self, version: str, error: Exception) -> None:
        self._seen = None if isinstance(error, CutShortError) else version
        if version != self._refused:
            self.refused += 1
            stays = "the last good one stays" if self.current else "there is none"
            logger.warning("the standby catalogue is refused: %s; %s", error, stays)
        self._refused, self._why_refused = version, f"the newest bundle is refused: {error}"

    async def _poll_place(self) -> float:
        try:
            await self.look()
        except (UnreachableError, OSError) as error:
            self._outage.record_failure(str(error))
        else:
            self._outage.record_recovery()
            if self.current is not None and self._refused is None:
                self._as_source_at = self._clock()
        return POLL_SECONDS if self.current is not None else RETRY_SECONDS

    async def _open_bundle(self, manifest: Manifest, folder: Path) -> Loaded:
        """Loads the bundle on threads; its files may go afterwards. Raises `BundleError` or `CatalogFileError`."""
        if manifest.kind != self.kind:
            raise BundleError(f"it holds {manifest.kind}, MANGA_STANDBY says {self.kind}")
        started, opened = time.monotonic(), AsyncExitStack()
        opening = EmbeddedCatalog.open(folder / RECORDS, self._choose_embedder(manifest), cache_dir=folder)
        async with load_gently():
            catalog = await opened.enter_async_context(opening)
        seconds = time.monotonic() - started
        logger.info("standby catalogue: %d titles (%s) loaded in %.1f s", len(catalog), manifest.kind, seconds)
        return Loaded(manifest, catalog, opened)

    def _choose_embedder(self, manifest: Manifest) -> Embedder | None:
        if self._embedder is None or self.kind != FULL:
            return None
        if (manifest.embedder, manifest.computed) == (self._embedder.name, FORMAT):
            return self._embedder
        logger.warning(
            "the standby catalogue is searched by words alone: its vectors are not of MANGA_EMBEDDER; seed it again"
        )
        return None

    async def _take(self, loaded: Loaded) -> None:
        self._refused = self._why_refused = None
        old, self.current = self.current, loaded
        if old is None:
            return
        try:
            await asyncio.sleep(GRACE_SECONDS)
        finally:
            await old.opened.aclose()
        titles = list(old.catalog.titles)
        del old
        while titles:  # frees a few at a time: all at once would block the event loop
            del titles[-500:]
            await asyncio.sleep(0)
        with suppress(AttributeError, OSError):  # makes glibc return free memory to the system (malloc_trim(3)), some 10 MB
            await asyncio.to_thread(ctypes.CDLL(None).malloc_trim, 0)


NAME = "standby_catalogue"
TOOLS = frozenset({"search_manga_catalog", "get_recommendations", "get_manga_details"})
"""The tools that the catalogue alone can answer; other tools have their own fallbacks."""
# A search takes some 10 ms of CPU: beyond eight at once, calls take the next fallback instead of queueing.
POLICY = BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3, bulkhead=8, retry=RetryPolicy(attempts=1))


class StandbyStores:
    """Finds the standby store for a tool (`StandbyLookup`). Builds one store for each loaded bundle."""

    def __init__(self, replica: Replica, clocks: Clocks) -> None:
        self._replica, self._clocks = replica, clocks
        self._backend = Backend(NAME, POLICY, clocks.monotonic)
        self._made: WeakKeyDictionary[Loaded, Store] = WeakKeyDictionary()

    def __call__(self, tool: str, store: Store) -> Standby | None:
        loaded = self._replica.current
        if loaded is None or tool not in TOOLS:
            return None
        if loaded not in self._made:
            catalog = StoreCatalog(guard_port(loaded.catalog, self._backend), self._clocks.now, store.adult)
            reader = store.reader.over(catalog)
            self._made[loaded] = replace(
                store,
                catalog=catalog,
                titles=TitleReader(catalog, store.records),
                reader=reader,
                preference_reader=PreferenceReader(reader, self._clocks.monotonic),
                classifying=TextClassifier(catalog, store.classifying.remote),
            )
        return Standby(NAME, self._made[loaded], loaded.manifest.made)


async def probe_replica(replica: Replica, wall: WallClock, deadline: Deadline) -> Health:
    loaded, problem = replica.current, replica.problem
    if loaded is None:
        return Health(False, problem or "nothing is loaded yet", logged=True)
    manifest = loaded.manifest
    hours = max(0.0, wall() - manifest.made) / 3600
    detail = f"{manifest.titles} titles ({manifest.kind}), {hours:.1f} h old, sha256 {manifest.digest[:12]}"
    return Health(True, detail if problem is None else f"{detail}; {problem}")


class StandbyMetrics(Collector):
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
