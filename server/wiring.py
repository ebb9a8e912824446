"""The composition root: the only place that knows which implementation stands behind which port."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from server.backends import Ports, Prepared, Progress, open_ports, open_redis
from server.config.flags import Flags
from server.config.named_files import flags_watch, open_audit, read_flags
from server.config.settings import Settings
from server.guarded_store import guarded_store, stock_snapshot
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits
from server.identity.choice import open_identifier
from server.identity.tool_access import ToolAccess
from server.pipeline import Parts, Pipeline, build
from server.policies import POLICIES, REDIS
from server.runtime.background import Background
from server.runtime.health import Dependencies, Probe
from server.runtime.lifecycle import Lifecycle
from server.runtime.profile_queue import ProfileQueue
from server.telemetry.audit.log import AuditLog
from server.telemetry.breakers import Breakers
from server.telemetry.events import Sink
from server.telemetry.log.calls import LogLine
from server.telemetry.log.stderr import dropped_lines
from server.telemetry.metrics import Metrics
from server.telemetry.spans import Spans
from server.transport.mcp import Protocol
from server.version import VERSION
from session.local.turn_arithmetic import TurnArithmetic
from session.local.turn_shadows import TurnShadows
from session.memory import SessionMemory
from session.redis.keyvalue import KeyValue
from session.resilience.breaker import Breaker
from session.resilience.clocks import Clocks
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from tools.contract import Store, Tool
from tools.registry import TOOLS, Registry
from tools.store.guarded.backend import Backend
from tools.store.models import Health
from tools.store.stock.snapshot import StockSnapshot

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outside:
    """What the application is put together from: all that reaches out of it, or comes from there. `sinks` hear of each call
    beside the metrics; `probes` are of what has no breaker; `rate` is what one caller may ask for, where that is limited."""

    redis: KeyValue
    ports: Ports
    identifier: Identifier
    registry: Registry
    metrics: Metrics
    sinks: Sequence[Sink] = ()
    audit: AuditLog | None = None
    flags: Flags = field(default_factory=Flags)
    probes: Mapping[str, Probe] = field(default_factory=dict)
    rate: Rate = field(default_factory=Rate)
    clocks: Clocks = field(default_factory=Clocks)


@dataclass(frozen=True, slots=True)
class Application:
    """Everything that serves, wired. Transports take what they need of it. `prepared` waits until search by meaning, which
    follows behind the start, is there or is known not to come."""

    protocol: Protocol
    pipeline: Pipeline
    registry: Registry
    identifier: Identifier
    memory: SessionMemory
    turns: TurnShadows
    backends: Mapping[str, Backend]
    inventory: StockSnapshot
    dependencies: Dependencies
    lifecycle: Lifecycle
    metrics: Metrics
    prepared: Prepared


@asynccontextmanager
async def open_app(
    settings: Settings, *, local: bool = False, progress: Progress | None = None
) -> AsyncIterator[Application]:
    """The application, from its settings, until the block ends. `local` is for stdio, where the parent is trusted.

    Unreachable backends neither block nor stop it. Raises what a wrong file or setting raises.
    """
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        background = Background(stack, metrics.background_died)
        audit = open_audit(settings, stack)
        log_line = LogLine(settings.log_tool_calls)
        stack.callback(log_line.close)
        metrics.watch_lines(log=dropped_lines, audit=lambda: audit.dropped)
        registry = Registry([_with_freshness(tool, settings.cache_ttl_s) for tool in TOOLS])
        outside = Outside(
            identifier=await open_identifier(settings, stack, background, local=local),
            redis=await open_redis(settings, stack),
            ports=await open_ports(settings, stack, progress),
            registry=registry,
            flags=read_flags(settings, registry),
            metrics=metrics,
            sinks=(log_line, Spans()),
            audit=audit,
            probes={"background": background.health},
        )
        app = wire(settings, outside)
        stack.push_async_callback(app.pipeline.cache.aclose)
        stack.push_async_callback(app.pipeline.profile_queue.aclose)
        background.run("popular titles", app.pipeline.store.popular.keep_warm)
        background.run("inventory snapshot", app.inventory.keep)
        if watch := flags_watch(settings, registry, outside.flags, app.protocol.audience.tell_tools_changed):
            background.run("flags", watch)
        app.lifecycle.ready = True
        try:
            yield app
        finally:
            app.lifecycle.ready = False
            app.protocol.listen.close()


def wire(settings: Settings, outside: Outside) -> Application:
    """The application over what it was given: the one composition, of the server and of tests."""
    clocks, metrics = outside.clocks, outside.metrics
    access = ToolAccess(outside.registry, outside.flags)
    told = Breakers(metrics, clocks.monotonic).changed
    backends = {name: Backend(name, policy, clocks.monotonic, on_change=told) for name, policy in POLICIES.items()}
    redis_breaker = Breaker("redis", REDIS, clocks.monotonic, on_change=told)
    turns = TurnShadows(clocks.monotonic)
    rate = outside.rate if settings.rate_limit else None
    memory = _memory(settings, outside, redis_breaker, turns, rate)
    store = guarded_store(outside.ports, backends, memory, clocks, cache=settings.cache)
    limits = CallerLimits(rate, by_address=not settings.loopback, clock=clocks.monotonic)
    pipeline = build(
        Parts(
            sinks=(metrics, *outside.sinks),
            identifier=outside.identifier,
            access=access,
            memory=memory,
            caller_limits=limits,
            store=store,
            profile_queue=ProfileQueue(store.profiles, metrics.profile_event, clocks.monotonic),
            max_concurrent_calls=settings.max_concurrent_calls,
            call_timeout_ms=settings.call_timeout_ms,
            cache=settings.cache,
            clocks=clocks,
            audit=outside.audit,
        )
    )
    lifecycle = Lifecycle()
    metrics.under_way.set_function(lambda: pipeline.shed.under_way)
    metrics.ready.set_function(lambda: lifecycle.serves)
    protocol = Protocol(VERSION, outside.registry, access, outside.identifier, limits, pipeline, metrics.answer_sent)
    breakers = {name: backend.breaker for name, backend in backends.items()} | {"redis": redis_breaker}
    return Application(
        protocol=protocol,
        pipeline=pipeline,
        registry=outside.registry,
        identifier=outside.identifier,
        memory=memory,
        turns=turns,
        backends=backends,
        inventory=stock_snapshot(store, memory, outside.ports.stock, clocks),
        dependencies=Dependencies(_probes(outside, store, memory, breakers), clocks.monotonic),
        lifecycle=lifecycle,
        metrics=metrics,
        prepared=outside.ports.prepared,
    )


def _memory(settings: Settings, outside: Outside, breaker: Breaker, turns: TurnShadows, rate: Rate | None) -> SessionMemory:
    clock = outside.clocks.monotonic
    arithmetic = TurnArithmetic(settings.turn_budget_ms, turns, clock)
    return SessionMemory(outside.redis, breaker, arithmetic, rate, LocalLimits(rate or Rate(), clock), clock)


def _probes(
    outside: Outside, store: Store, memory: SessionMemory, breakers: Mapping[str, Breaker]
) -> dict[str, tuple[Probe, Breaker | None]]:
    async def redis(deadline: Deadline) -> Health:
        await memory.ping(deadline)
        return Health(ok=True)

    asked: dict[str, Probe] = {
        "catalog": store.catalog.health,
        "titles": store.records.health,
        "stock": store.stock_port.health,
        "orders": store.orders.health,
        "profile": store.profiles.health,
        "redis": redis,
        **({"embedder": outside.ports.embedder.health} if outside.ports.embedder else {}),
        **outside.probes,
    }
    return {name: (probe, breakers.get(name)) for name, probe in asked.items()}


def _with_freshness(tool: Tool, seconds: int) -> Tool:
    """MANGA_CACHE_TTL_S is about text of titles; results about a user keep their own, shorter life."""
    return replace(tool, cache=tool.cache.with_text_fresh_for(seconds)) if tool.cache else tool
