"""The standby catalogue as a store for tools, with its health and metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from server.stages.answer import Standby
from server.standby.replica import Loaded, Replica
from session.resilience.clocks import Clocks, WallClock
from session.resilience.deadline import Deadline, RetryPolicy
from tools.store.catalog.catalog import StoreCatalog, TitleReader
from tools.store.classification import TextClassifier
from tools.store.guarded import Backend, BackendPolicy, guard_port
from tools.store.models import Health
from tools.store.ports import CatalogPort
from tools.store.preferences import PreferenceReader
from tools.store.store import Store

NAME = "standby_catalogue"
TOOLS = frozenset({"search_manga_catalog", "get_recommendations", "get_manga_details"})
"""The tools that the catalogue alone can answer; other tools have their own fallbacks."""
# A search takes some 10 ms of CPU: beyond eight at once, calls take the next fallback instead of queueing.
POLICY = BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3, bulkhead=8, retry=RetryPolicy(attempts=1))


class StandbyStores:
    """Finds the standby store for a tool. Builds one store for each loaded bundle."""

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
