"""The composition root: the only place that knows which implementation stands behind which port."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from server.backends import Ports, Progress, open_ports, open_redis
from server.flags import Flags, FlagsError, FlagsFile
from server.health import Dependencies, Probe
from server.identity import Identifier, TrustEverybody, TrustTokens
from server.lifecycle import Lifecycle
from server.parsing import SettingError
from server.pipeline import Parts, Pipeline, build
from server.protocol import Protocol
from server.settings import Settings
from server.telemetry.log_line import LogLine
from server.telemetry.metrics import Metrics
from server.telemetry.spans import Spans
from server.tool_access import ToolAccess
from server.version import VERSION
from session.breaker import Breaker, BreakerPolicy
from session.deadline import Deadline
from session.keyvalue import KeyValue
from session.limits import LocalLimits, Rate
from session.memory import SessionMemory
from session.turn import TurnArithmetic, TurnShadows
from tools.contract import CachePolicy, Store, Tool
from tools.models import Health
from tools.popular_titles import PopularTitles
from tools.registry import TOOLS, Registry
from tools.resilience.backend import Backend, BackendPolicy
from tools.resilience.ports import GuardedCatalog, GuardedOrders, GuardedStock
from tools.stock_reader import StockReader

logger = logging.getLogger(__name__)

TEXT_FRESH_SECONDS = 300

# What each backend is given: when it counts as slow, what one attempt may take, how many run at once.
POLICIES = {
    "catalog": BackendPolicy(slow_seconds=0.6, attempt_seconds=0.8),
    "stock": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "orders": BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3),
}


@dataclass(frozen=True, slots=True)
class Application:
    """Everything that serves, wired. Transports take what they need of it."""

    protocol: Protocol
    pipeline: Pipeline
    registry: Registry
    identifier: Identifier
    memory: SessionMemory
    turns: TurnShadows
    dependencies: Dependencies
    lifecycle: Lifecycle
    metrics: Metrics


@asynccontextmanager
async def open_app(
    settings: Settings, *, local: bool = False, progress: Progress | None = None
) -> AsyncIterator[Application]:
    """The application, from its settings, until the block ends. `local` is for stdio, where the parent is trusted.

    Unreachable backends neither block nor stop it. Raises what a wrong file or setting raises.
    """
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        redis = await open_redis(settings, stack)
        ports = await open_ports(settings, stack, progress)
        app = _wire(settings, redis, ports, metrics, _identifier(settings, local=local))
        stack.push_async_callback(app.pipeline.cache.aclose)
        await _run_in_background(stack, "popular titles", app.pipeline.store.popular.keep_warm())
        if watch := _flags_watch(settings, app):
            await _run_in_background(stack, "flags", watch)
        app.lifecycle.ready = True
        try:
            yield app
        finally:
            app.lifecycle.ready = False
            app.protocol.listen.close()


def _wire(settings: Settings, redis: KeyValue, ports: Ports, metrics: Metrics, identifier: Identifier) -> Application:
    registry = Registry([_with_freshness(tool, settings.cache_ttl_s) for tool in TOOLS])
    access = ToolAccess(registry, _flags(settings, registry))
    backends = {name: Backend(name, policy, on_change=metrics.breaker_changed) for name, policy in POLICIES.items()}
    store = _guarded(ports, backends)
    # A trip that took too long has failed by itself. Shorter ones are never called slow: with many calls at once most of
    # what a clock sees is this process's own work, and a breaker that opened for it would take everyone's session away.
    redis_breaker = Breaker("redis", BreakerPolicy(slow_seconds=math.inf), on_change=metrics.breaker_changed)
    turns = TurnShadows()
    rate = Rate() if settings.rate_limit else None
    arithmetic = TurnArithmetic(settings.turn_budget_ms, turns)
    memory = SessionMemory(redis, redis_breaker, arithmetic, rate, LocalLimits(rate or Rate()))
    pipeline = build(
        Parts(
            sinks=(metrics, LogLine(settings.log_tool_calls), Spans()),
            identifier=identifier,
            access=access,
            memory=memory,
            address_limits=LocalLimits(Rate()) if rate and not settings.loopback else None,
            store=store,
            max_concurrent_calls=settings.max_concurrent_calls,
            call_timeout_ms=settings.call_timeout_ms,
            cache=settings.cache,
        )
    )
    metrics.under_way.set_function(lambda: pipeline.shed.under_way)
    breakers = {name: backend.breaker for name, backend in backends.items()}
    return Application(
        protocol=Protocol(VERSION, registry, access, identifier, pipeline),
        pipeline=pipeline,
        registry=registry,
        identifier=identifier,
        memory=memory,
        turns=turns,
        dependencies=Dependencies(_probes(store, memory, breakers | {"redis": redis_breaker})),
        lifecycle=Lifecycle(),
        metrics=metrics,
    )


def _guarded(ports: Ports, backends: Mapping[str, Backend]) -> Store:
    catalog = GuardedCatalog(ports.catalog, backends["catalog"])
    stock = GuardedStock(ports.stock, backends["stock"])
    orders = GuardedOrders(ports.orders, backends["orders"])
    return Store(catalog, StockReader(stock), orders, PopularTitles(catalog), stock)


def _probes(store: Store, memory: SessionMemory, breakers: Mapping[str, Breaker]) -> dict[str, tuple[Probe, Breaker]]:
    async def redis(deadline: Deadline) -> Health:
        await memory.ping(deadline)
        return Health(ok=True)

    asked: dict[str, Probe] = {
        "catalog": store.catalog.health,
        "stock": store.stock_port.health,
        "orders": store.orders.health,
        "redis": redis,
    }
    return {name: (probe, breakers[name]) for name, probe in asked.items()}


def _with_freshness(tool: Tool, seconds: int) -> Tool:
    """MANGA_CACHE_TTL_S is about text of titles; results about a user keep their own, shorter life."""
    policy = tool.cache
    if policy is None or policy.per_user or policy.fresh_seconds != TEXT_FRESH_SECONDS:
        return tool
    return replace(tool, cache=CachePolicy(seconds, max(seconds, policy.stale_seconds)))


def _identifier(settings: Settings, *, local: bool) -> Identifier:
    return TrustTokens(settings.tokens()) if settings.auth == "token" and not local else TrustEverybody()


def _flags(settings: Settings, registry: Registry) -> Flags:
    flags = Flags()
    if path := settings.flags_file():
        try:
            FlagsFile(path, [tool.name for tool in registry], flags).load()
        except (FlagsError, OSError) as error:
            why = error if isinstance(error, FlagsError) else "the file cannot be read"
            raise SettingError(f"MANGA_FLAGS_URL: {why}") from None
    return flags


def _flags_watch(settings: Settings, app: Application) -> Coroutine[Any, Any, None] | None:
    path = settings.flags_file()
    if path is None:
        return None
    names = [tool.name for tool in app.registry]
    return FlagsFile(path, names, app.protocol.access.flags).watch(app.protocol.audience.tell_tools_changed)


async def _run_in_background(stack: AsyncExitStack, name: str, work: Coroutine[Any, Any, None]) -> None:
    """A task that ends with the application."""
    task = asyncio.create_task(work, name=name)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)
