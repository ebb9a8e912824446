from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from server.application import Application
from server.call import Json
from server.config.settings import Settings
from server.flags.document import Flag, Flags, Segment
from server.ops.figures import BUSY, DEPENDENCIES, DOCTOR, CallStatistics
from server.ops.waterfalls import Waterfalls
from server.runtime.health import Dependencies
from server.telemetry.events import CallFinished
from server.transport.http.sse import SessionRouter
from server.version import VERSION
from session.resilience.breaker import BreakerState, CircuitBreaker
from session.resilience.clocks import Clock
from session.resilience.lru import Lru
from session.resilience.tasks import start_task
from tools.registry import Registry

SHOWN = ("call_timeout_ms", "cache", "cache_ttl_s", "max_concurrent_calls", "rate_limit", "workers", "standby", "adult")
URLS = ("catalog_url", "store_url", "redis_url", "flags_url")
"""Settings of which only the URL's scheme is shown: the rest may contain a password."""
REFRESH_SECONDS = 30.0


class Process:
    """Constant data of this process. `worker` is its number, None in a single process. `key` keys the hashes on the page."""

    def __init__(self, settings: Settings, app: Application, worker: int | None = None) -> None:
        self.settings, self.app, self.worker = settings, app, worker
        self.key = secrets.token_bytes()
        self.name = app.reach.own or secrets.token_hex(6)
        self.started_at = round(app.pipeline.store.now().timestamp(), 1)


def _scheme(url: str | None) -> str | None:
    return url.partition(":")[0] if url else None


class Replicas:
    """This replica, and up to 64 others that `reach` has known within the last five minutes. `tick` updates them."""

    def __init__(self, own: str, reach: SessionRouter, clock: Clock) -> None:
        self._own, self._reach, self._clock = own, reach, clock
        self._seen: Lru[str, float] = Lru(64)

    def tick(self) -> None:
        now = self._clock()
        for name in self._reach.others():
            self._seen.put(name, now)
        self._seen.pop_while(lambda at: now - at > 300)

    def rows(self) -> list[Json]:
        now = self._clock()
        seen = sorted(zip(self._seen, self._seen.values(), strict=True))
        others = [{"name": name, "seen_s_ago": round(now - at, 1), "self": False} for name, at in seen]
        return [{"name": self._own, "seen_s_ago": 0.0, "self": True}, *others]


class DependencyStates:
    """The latest states of `/readyz`. `tick` reads them anew after `REFRESH_SECONDS`, or if a breaker has changed."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._eras: list[int] = []
        self._reading: asyncio.Task[Any] | None = None

    def tick(self) -> None:
        dependencies = self._dependencies
        eras = [breaker.era for _, breaker in dependencies.probes.values() if breaker is not None]
        is_due = dependencies.clock() - dependencies.asked_at >= REFRESH_SECONDS or self._eras != eras
        if is_due and (self._reading is None or self._reading.done()):
            self._eras = eras
            self._reading = start_task(dependencies.states(), "ops-dependencies")

    def end(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def rows(self) -> list[Json]:
        return [self._row(name, breaker) for name, (_, breaker) in self._dependencies.probes.items()]

    def _row(self, name: str, breaker: CircuitBreaker | None) -> Json:
        known = self._dependencies.latest.get(name, {})
        status = {"ok": "ok", "open": "degraded", "half_open": "degraded", "down": "down"}.get(
            known.get("state", ""), "unknown"
        )
        if status == "ok" and breaker is not None and breaker.state is not BreakerState.CLOSED:
            status = "degraded"
        advice = DEPENDENCIES.get(name, DOCTOR) if status in ("down", "degraded") else None
        return {"name": name, "status": status, "detail": known.get("detail"), "advice": advice}


def flag_rows(flags: Flags, registry: Registry, source: str, on_share: Callable[[str], float | None]) -> list[Json]:
    """Returns a row for each of the first 100 flags in the document, and for each tool that is off by default and has no
    flag. `source` is where the document comes from, for display. `on_share` is `CallStatistics.on_share`."""
    named = [_flag_row(name, flag, source, on_share) for name, flag in list(flags.document.flags.items())[:100]]
    off = [tool for tool in registry if not tool.default_on and tool.name not in flags.document.flags]
    return named + [{"name": tool.name, "kind": "off", "on_share": 0.0, "source": "the tool itself"} for tool in off]


def _flag_row(name: str, flag: Flag, source: str, on_share: Callable[[str], float | None]) -> Json:
    match flag:
        case ():
            kind, share = "off", 0.0
        case (Segment(conditions=()) as only,):
            kind, share = "boolean" if only.rollout >= 100 else "percent", only.rollout / 100
        case _:
            seen = on_share(name)
            kind, share = "segments", max(segment.rollout for segment in flag) / 100 if seen is None else seen
    return {"name": name, "kind": kind, "on_share": round(share, 3), "source": source}


class Observation:
    """A listener that observes calls and the process from its construction to `end`. Call `tick` at least once a second."""

    def __init__(self, process: Process) -> None:
        self._process, self._app = process, process.app
        app, clocks = process.app, process.app.clocks
        counted = self._samples("manga_calls_total")
        total = sum(count for _, count in counted)
        shed = sum(count for labels, count in counted if labels["outcome"] == BUSY)
        self._figures = CallStatistics(clocks.monotonic, clocks.wall, round(total), round(shed))
        self._waterfalls = Waterfalls(process.key, clocks.monotonic, clocks.wall)
        self.wants, self.calls = self._waterfalls.wants, self._waterfalls.take
        self._dependencies = DependencyStates(app.dependencies)
        self._replicas = Replicas(process.name, app.reach, clocks.monotonic)
        self.tick()
        app.listeners.begin(self)  # last: the listener may be called from now on

    def __call__(self, event: CallFinished) -> None:
        self._figures(event)
        self._waterfalls(event)

    def tick(self) -> None:
        self._figures.tick()
        self._dependencies.tick()
        self._replicas.tick()

    def end(self) -> None:
        self._app.listeners.end(self)
        self._dependencies.end()

    def hello(self) -> Json:
        app, process, settings = self._app, self._process, self._process.settings
        shown = {name: getattr(settings, name) for name in SHOWN}
        urls = {name.removesuffix("_url"): _scheme(getattr(settings, name)) for name in URLS}
        server = {"version": VERSION, "replica": process.name, "worker": process.worker, "started_at": process.started_at}
        return {
            "server": {**server, "auth": settings.auth, "settings": {**shown, **urls}},
            "stages": list(app.pipeline.stages),
            "tools": [
                {"name": each.name, "timeout_ms": each.timeout_ms, "fallback": each.fallback.name if each.fallback else None}
                for each in app.registry
            ],
            "turn_budget_ms": settings.turn_budget_ms,
        }

    def state(self) -> Json:
        app, figures = self._app, self._figures
        source = _scheme(self._process.settings.flags_url) or "no document"
        own = {name: backend.breaker for name, backend in app.backends.items()}
        probed = {name: breaker for name, (_, breaker) in app.dependencies.probes.items() if breaker is not None}
        listening = len(app.protocol.tool_list_changes.streams) + len(app.protocol.subscriptions)
        streams = {"sse": self._gauge("manga_sse_streams"), "mcp": listening, "ws": self._gauge("manga_websockets")}
        return {
            "at": round(app.clocks.wall(), 3),
            "draining": app.lifecycle.draining,
            "calls": figures.calls(app.pipeline.shed.under_way),
            "tools": figures.tools(),
            "budget_left": figures.budget_left(),
            "breakers": [self._breaker_row(each) for each in (own | probed).values()],
            "dependencies": self._dependencies.rows(),
            "sessions": {"active": self._waterfalls.active_sessions(), "streams": streams},
            "replicas": self._replicas.rows(),
            "flags": flag_rows(app.flags, app.registry, source, figures.on_share),
            "errors": figures.errors(),
            "latency_history": figures.history(),
        }

    def _breaker_row(self, breaker: CircuitBreaker) -> Json:
        return {
            "name": breaker.name,
            "state": breaker.state.value,
            "since_s": round(self._app.clocks.monotonic() - breaker.since, 1),
            "fault": None if breaker.state is BreakerState.CLOSED else breaker.why or None,
            "retry_after_ms": breaker.retry_after_ms() if breaker.state is BreakerState.OPEN else None,
            "changes": breaker.era,
        }

    def _samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        collected = self._app.metrics.registry.restricted_registry([name]).collect()
        return [(each.labels, each.value) for family in collected for each in family.samples if each.name == name]

    def _gauge(self, name: str) -> int:
        return round(sum(value for _, value in self._samples(name)))
