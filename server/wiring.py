"""The composition root: the only place that knows which implementation stands behind which port.

`open_app` is the order in which everything is opened, and in reverse closed; `wire` is what is made of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace

from server.application import Application, Outside
from server.backends import Progress, open_ports, open_redis
from server.backends.guarded_store import guarded_store, stock_snapshot
from server.backends.policies import POLICIES, REDIS
from server.config.named_files import flags_watch, open_audit, read_flags
from server.config.settings import Settings
from server.identity.caller_limits import CallerLimits
from server.identity.choice import open_identifier
from server.identity.tool_access import ToolAccess
from server.pipeline import Parts, build
from server.runtime.background import Background
from server.runtime.dependencies import dependencies
from server.runtime.health import Probe
from server.runtime.lifecycle import Lifecycle
from server.runtime.profile_queue import ProfileQueue
from server.telemetry.breakers import Breakers
from server.telemetry.log.calls import LogLine
from server.telemetry.log.stderr import dropped_lines
from server.telemetry.metrics import Metrics
from server.telemetry.spans import Spans
from server.transport.mcp import Protocol
from server.version import VERSION
from session.local.turn_arithmetic import TurnArithmetic
from session.local.turn_shadows import TurnShadows
from session.memory import SessionMemory
from session.resilience.breaker import Breaker
from session.resilience.rate_limit import LocalLimits, Rate
from tools.contract import Store, Tool
from tools.registry import TOOLS, Registry
from tools.store.guarded.backend import Backend


@asynccontextmanager
async def open_app(
    settings: Settings, *, local: bool = False, progress: Progress | None = None
) -> AsyncIterator[Application]:
    """Opens the application of these settings until the block ends. `local` is for stdio, where the parent is trusted.

    Unreachable backends neither block nor stop it. Raises what a wrong file or setting raises.
    """
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        background = Background(stack, metrics.background_died)
        outside = await _open_outside(settings, stack, metrics, background, progress, local=local)
        app = wire(settings, outside)
        stack.push_async_callback(app.pipeline.cache.aclose)
        stack.push_async_callback(app.pipeline.profile_queue.aclose)
        background.run("popular titles", app.pipeline.store.popular.keep_warm)
        background.run("inventory snapshot", app.inventory.keep)
        if watch := flags_watch(settings, app.registry, outside.flags, app.protocol.tool_list_changes.tell_tools_changed):
            background.run("flags", watch)
        stack.callback(app.protocol.subscriptions.close)
        stack.enter_context(app.lifecycle.serving())
        yield app


async def _open_outside(
    settings: Settings,
    stack: AsyncExitStack,
    metrics: Metrics,
    background: Background,
    progress: Progress | None,
    *,
    local: bool,
) -> Outside:
    audit = open_audit(settings, stack)
    log_line = stack.enter_context(closing(LogLine(settings.log_tool_calls)))
    metrics.watch_lines(log=dropped_lines, audit=lambda: audit.dropped)
    registry = Registry([_with_freshness(tool, settings.cache_ttl_s) for tool in TOOLS])
    return Outside(
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


def wire(settings: Settings, outside: Outside) -> Application:
    """Wires the application over what it was given: the one composition, of the server and of tests."""
    clock, metrics, registry = outside.clocks.monotonic, outside.metrics, outside.registry
    on_change = Breakers(metrics, clock).changed
    backends = {name: Backend(name, policy, clock, on_change=on_change) for name, policy in POLICIES.items()}
    breakers = {name: backend.breaker for name, backend in backends.items()}
    breakers["redis"] = Breaker("redis", REDIS, clock, on_change=on_change)
    turns, rate = TurnShadows(clock), outside.rate if settings.rate_limit else None
    memory = _memory(settings, outside, breakers["redis"], turns, rate)
    store = guarded_store(outside.ports, backends, memory, outside.clocks, cache=settings.cache)
    access = ToolAccess(registry, outside.flags)
    limits = CallerLimits(rate, by_address=not settings.loopback, clock=clock)
    pipeline = build(_parts(settings, outside, access, limits, memory, store))
    lifecycle = Lifecycle()
    metrics.watch(under_way=lambda: pipeline.shed.under_way, ready=lambda: lifecycle.serves)
    return Application(
        protocol=Protocol(VERSION, registry, access, outside.identifier, limits, pipeline, metrics.answer_sent),
        pipeline=pipeline,
        registry=registry,
        identifier=outside.identifier,
        memory=memory,
        turns=turns,
        backends=backends,
        inventory=stock_snapshot(store, memory, outside.ports.stock, outside.clocks),
        dependencies=dependencies(store, memory, _other_probes(outside), breakers, clock),
        lifecycle=lifecycle,
        metrics=metrics,
        prepared=outside.ports.prepared,
    )


def _memory(settings: Settings, outside: Outside, breaker: Breaker, turns: TurnShadows, rate: Rate | None) -> SessionMemory:
    clock = outside.clocks.monotonic
    arithmetic = TurnArithmetic(settings.turn_budget_ms, turns, clock)
    return SessionMemory(outside.redis, breaker, arithmetic, rate, LocalLimits(rate or Rate(), clock), clock)


def _parts(
    settings: Settings, outside: Outside, access: ToolAccess, limits: CallerLimits, memory: SessionMemory, store: Store
) -> Parts:
    metrics = outside.metrics
    return Parts(
        sinks=(metrics, *outside.sinks),
        identifier=outside.identifier,
        access=access,
        memory=memory,
        caller_limits=limits,
        store=store,
        profile_queue=ProfileQueue(store.profiles, metrics.profile_event, outside.clocks.monotonic),
        max_concurrent_calls=settings.max_concurrent_calls,
        call_timeout_ms=settings.call_timeout_ms,
        cache=settings.cache,
        clocks=outside.clocks,
        audit=outside.audit,
    )


def _other_probes(outside: Outside) -> dict[str, Probe]:
    """Returns those of what has no breaker."""
    embedder = outside.ports.embedder
    return {**({"embedder": embedder.health} if embedder else {}), **outside.probes}


def _with_freshness(tool: Tool, seconds: int) -> Tool:
    """MANGA_CACHE_TTL_S is about text of titles; results about a user keep their own, shorter life."""
    return replace(tool, cache=tool.cache.with_text_fresh_for(seconds)) if tool.cache else tool
