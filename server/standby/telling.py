"""What operators see of the standby catalogue: in /readyz and in /metrics."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from server.standby.replica import Replica
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from tools.store.models import Health


class StandbyHealth:
    """A probe; asks nobody."""

    def __init__(self, replica: Replica, wall: WallClock) -> None:
        self._replica, self._wall = replica, wall

    async def __call__(self, deadline: Deadline) -> Health:
        loaded, problem = self._replica.current, self._replica.problem
        if loaded is None:
            return Health(False, problem or "nothing is loaded yet", logged=True)
        manifest = loaded.manifest
        hours = max(0.0, self._wall() - manifest.made) / 3600
        told = f"{manifest.titles} titles ({manifest.kind}), {hours:.1f} h old, sha256 {manifest.digest[:12]}"
        return Health(True, told if problem is None else f"{told}; {problem}")


class StandbyMetrics(Collector):
    """Read when somebody asks."""

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
