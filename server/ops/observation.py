"""What is kept while somebody looks, from the first page to the last."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from server.call import Call
from server.config.settings import Settings
from server.flags.document import Flag
from server.flags.evaluation import Flags
from server.ops.figures import BUSY, Figures
from server.ops.table import Table
from server.ops.waterfalls import Hashes, Waterfalls
from server.telemetry.events import CallFinished
from server.transport.http.reach import Reach
from server.version import VERSION
from session.resilience.breaker import BreakerState, CircuitBreaker
from session.resilience.clocks import Clock
from tools.registry import Registry

if TYPE_CHECKING:
    from server.application import Application


SHOWN = ("call_timeout_ms", "cache", "cache_ttl_s", "max_concurrent_calls", "rate_limit", "workers", "standby", "adult")
PLACES = ("catalog_url", "store_url", "redis_url", "flags_url")
"""Of these only the scheme: an address may hold a password."""
Json = dict[str, Any]


@dataclass(slots=True)
class Process:
    """`worker` is its number among several that share a port."""

    settings: Settings
    app: Application
    worker: int | None = None
    hashes: Hashes = field(default_factory=Hashes)
    started_at: float = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.started_at = round(self.app.pipeline.store.now().timestamp(), 1)
        self.name = self.app.reach.own or secrets.token_hex(6)

    def hello(self) -> Json:
        settings = self.settings
        shown = {name: getattr(settings, name) for name in SHOWN}
        places = {name.removesuffix("_url"): scheme(getattr(settings, name)) for name in PLACES}
        server = {"version": VERSION, "replica": self.name, "worker": self.worker, "started_at": self.started_at}
        return {
            "server": {**server, "auth": settings.auth, "settings": {**shown, **places}},
            "stages": list(self.app.pipeline.stages),
            "tools": [_tool(each) for each in self.app.registry],
            "turn_budget_ms": settings.turn_budget_ms,
        }


def scheme(url: str | None) -> str | None:
    return url.partition(":")[0] if url else None


def _tool(tool: Any) -> Json:
    return {"name": tool.name, "timeout_ms": tool.timeout_ms, "fallback": tool.fallback.name if tool.fallback else None}


MOST_REPLICAS = 64
FORGOTTEN_SECONDS = 300.0
LOOK_SECONDS = 5.0


class Replicas:
    """Others are known as long as there is something between them and this one, and for five minutes after."""

    def __init__(self, own: str, reach: Reach, clock: Clock) -> None:
        self._own, self._reach, self._clock = own, reach, clock
        self._seen: dict[str, float] = {}
        self._looked_at = float("-inf")

    def tick(self) -> None:
        now = self._clock()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        seen = self._seen | dict.fromkeys(self._reach.others(), now)
        newest = sorted(((at, name) for name, at in seen.items() if now - at <= FORGOTTEN_SECONDS), reverse=True)[
            :MOST_REPLICAS
        ]
        self._seen = {name: at for at, name in newest}

    def rows(self) -> list[Json]:
        now = self._clock()
        others = [{"name": name, "seen_s_ago": round(now - at, 1), "self": False} for name, at in sorted(self._seen.items())]
        return [{"name": self._own, "seen_s_ago": 0.0, "self": True}, *others]


MOST_FLAGS = 100
Seen = Callable[[str], float | None]
"""The share of a tool's callers that had it, None where there was nobody."""


def switched(flags: Flags, registry: Registry, source: str, seen: Seen) -> list[Json]:
    """Lists what the document names, then the tools that are off by themselves."""
    named = [_named(name, flag, source, seen) for name, flag in list(flags.document.flags.items())[:MOST_FLAGS]]
    off = [tool for tool in registry if not tool.default_on and tool.flag not in flags.document.flags]
    return named + [{"name": tool.flag, "kind": "off", "on_share": 0.0, "source": "the tool itself"} for tool in off]


def _named(name: str, flag: Flag, source: str, seen: Seen) -> Json:
    if not flag:
        kind, share = "off", 0.0
    elif len(flag) == 1 and not flag[0].conditions:
        kind, share = "boolean" if flag[0].rollout >= 100 else "percent", flag[0].rollout / 100
    else:
        most = max(segment.rollout for segment in flag) / 100
        found = seen(name)
        kind, share = "segments", most if found is None else found
    return {"name": name, "kind": kind, "on_share": round(share, 3), "source": source}


CALLS, SSE, WEBSOCKETS = "manga_calls_total", "manga_sse_streams", "manga_websockets"


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

    def _breakers(self) -> list[CircuitBreaker]:
        own = {name: backend.breaker for name, backend in self._app.backends.items()}
        probed = {name: breaker for name, (_, breaker) in self._app.dependencies.probes.items() if breaker is not None}
        return list((own | probed).values())

    def _breaker(self, breaker: CircuitBreaker) -> Json:
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
