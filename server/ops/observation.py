"""What is kept while somebody looks, from the first page to the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from server.call import Call
from server.ops.figures import BUSY, Figures
from server.ops.process import Process, scheme
from server.ops.replicas import Replicas
from server.ops.switched import switched
from server.ops.table import Table
from server.ops.waterfalls import Waterfalls
from server.telemetry.events import CallFinished
from session.resilience.breaker import Breaker, BreakerState

if TYPE_CHECKING:
    from server.application import Application

CALLS, SSE, WEBSOCKETS = "manga_calls_total", "manga_sse_streams", "manga_websockets"
Json = dict[str, Any]


class Observation:
    """Listens to calls from when it is made until its end."""

    def __init__(self, app: Application, process: Process) -> None:
        self._app, self._process = app, process
        clocks = app.clocks
        counted = _samples(app.metrics.registry, CALLS)
        total = sum(count for _, count in counted)
        shed = sum(count for labels, count in counted if labels["outcome"] == BUSY)
        self._figures = Figures(clocks.monotonic, clocks.wall, round(total), round(shed))
        self._waterfalls = Waterfalls(process.hashes, clocks.monotonic, clocks.wall)
        self._table = Table(app.dependencies)
        self._replicas = Replicas(process.name, app.reach, clocks.monotonic)
        self.tick()
        app.listeners.begin(self)  # last: whoever has begun to listen is there to be ended

    def __call__(self, event: CallFinished) -> None:
        self._figures(event)
        if event.timeline is not None:
            self._waterfalls(event)

    def wants(self, call: Call) -> bool:
        return self._waterfalls.wants(call)

    def tick(self) -> None:
        self._figures.tick()
        self._table.tick()
        self._replicas.tick()

    def end(self) -> None:
        self._app.listeners.end(self)
        self._table.end()

    def hello(self) -> Json:
        return self._process.hello()

    def calls(self) -> list[Json]:
        return self._waterfalls.take()

    def state(self) -> Json:
        app, figures = self._app, self._figures
        source = scheme(self._process.settings.flags_url) or "no document"
        return {
            "at": round(app.clocks.wall(), 3),
            "draining": app.lifecycle.draining,
            "calls": figures.calls(app.pipeline.shed.under_way),
            "tools": figures.tools(),
            "budget_left": figures.budget_left(),
            "breakers": [self._breaker(each) for each in self._breakers()],
            "dependencies": self._table.rows(),
            "sessions": {"active": self._waterfalls.active_sessions(), "streams": self._streams()},
            "replicas": self._replicas.rows(),
            "flags": switched(app.flags, app.registry, source, figures.shown_share),
            "errors": figures.errors(),
            "latency_history": figures.history(),
        }

    def _breakers(self) -> list[Breaker]:
        own = {name: backend.breaker for name, backend in self._app.backends.items()}
        probed = {name: breaker for name, (_, breaker) in self._app.dependencies.probes.items() if breaker is not None}
        return list((own | probed).values())

    def _breaker(self, breaker: Breaker) -> Json:
        closed = breaker.state is BreakerState.CLOSED
        return {
            "name": breaker.name,
            "state": breaker.state.value,
            "since_s": round(self._app.clocks.monotonic() - breaker.since, 1),
            "fault": None if closed else breaker.why or None,
            "retry_after_ms": breaker.retry_after_ms() if breaker.state is BreakerState.OPEN else None,
            "changes": breaker.era,
        }

    def _streams(self) -> Json:
        registry, protocol = self._app.metrics.registry, self._app.protocol
        listening = protocol.tool_list_changes.streams.open + len(protocol.subscriptions)
        return {"sse": _gauge(registry, SSE), "mcp": listening, "ws": _gauge(registry, WEBSOCKETS)}


def _samples(registry: CollectorRegistry, name: str) -> list[tuple[dict[str, str], float]]:
    """Asks those alone that know of it."""
    collected = registry.restricted_registry([name]).collect()
    return [(each.labels, each.value) for found in collected for each in found.samples if each.name == name]


def _gauge(registry: CollectorRegistry, name: str) -> int:
    return round(sum(value for _, value in _samples(registry, name)))
