"""The composition root: the only place that knows which implementation stands behind which port."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from server.backends import Ports, Prepared, Progress, open_ports, open_redis
from server.background import Background, Work
from server.caller_limits import CallerLimits
from server.flags import Flags, FlagsError, FlagsFile
from server.health import Dependencies, Probe
from server.identity import Identifier
from server.identity.choice import open_identifier
from server.lifecycle import Lifecycle
from server.parsing import SettingError
from server.pipeline import Parts, Pipeline, build
from server.profile_queue import ProfileQueue
from server.protocol import Protocol
from server.settings import Settings
from server.telemetry.audit import AuditLog, audit_sink
from server.telemetry.breakers import Breakers
from server.telemetry.log_line import LogLine
from server.telemetry.metrics import Metrics
from server.telemetry.spans import Spans
from server.telemetry.stderr import dropped_lines
from server.tool_access import ToolAccess
from server.version import VERSION
from session.breaker import Breaker, BreakerPolicy
from session.deadline import Deadline
from session.keyvalue import KeyValue
from session.limits import LocalLimits, Rate
from session.memory import SessionMemory
from session.snapshots import Snapshots
from session.turn import TurnArithmetic, TurnShadows
from tools.contract import Store, Tool
from tools.models import Health
from tools.popular_titles import PopularTitles, kept_titles
from tools.ports import StockPort
from tools.registry import TOOLS, Registry
from tools.resilience.backend import Backend, BackendPolicy
from tools.resilience.ports import GuardedCatalog, GuardedOrders, GuardedProfiles, GuardedStock, GuardedTitles
from tools.resilience.retry import RetryPolicy
from tools.sparing_catalog import SparingCatalog
from tools.stock_reader import StockReader
from tools.stock_snapshot import StockSnapshot, kept_rows
from tools.title_reader import TitleReader

logger = logging.getLogger(__name__)

# What each backend is given: when it counts as slow, what one attempt may take, how many run at once.
POLICIES = {
    # Details have 0.3 s, half of what is slow for a search: who waited for all of that has waited long enough to tell.
    "catalog": BackendPolicy(slow_seconds=0.6, attempt_seconds=0.8, telling_share=0.4),
    "titles": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "stock": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "orders": BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3),
    "profile": BackendPolicy(slow_seconds=0.1, attempt_seconds=0.15),
}
# What is read behind the calls has longer, goes one at a time, and is no word on how a backend answers a call.
BEHIND = {
    "catalog": BackendPolicy(slow_seconds=5.0, attempt_seconds=5.0, places=1, retry=RetryPolicy(attempts=1)),
    "stock": BackendPolicy(slow_seconds=1.0, attempt_seconds=1.0, places=1, retry=RetryPolicy(attempts=1)),
}


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
        audit = _audit(settings, stack)
        log_line = LogLine(settings.log_tool_calls)
        stack.callback(log_line.close)
        identifier = await open_identifier(settings, stack, background, local=local)
        redis = await open_redis(settings, stack)
        ports = await open_ports(settings, stack, progress)
        app = _wire(settings, redis, ports, metrics, audit, log_line, identifier, background)
        stack.push_async_callback(app.pipeline.cache.aclose)
        stack.push_async_callback(app.pipeline.profile_queue.aclose)
        background.run("popular titles", app.pipeline.store.popular.keep_warm)
        background.run("inventory snapshot", _stock_snapshot(app.pipeline.store, app.memory, ports.stock).keep)
        if watch := _flags_watch(settings, app):
            background.run("flags", watch)
        app.lifecycle.ready = True
        try:
            yield app
        finally:
            app.lifecycle.ready = False
            app.protocol.listen.close()


def _wire(
    settings: Settings,
    redis: KeyValue,
    ports: Ports,
    metrics: Metrics,
    audit: AuditLog,
    log_line: LogLine,
    identifier: Identifier,
    background: Background,
) -> Application:
    registry = Registry([_with_freshness(tool, settings.cache_ttl_s) for tool in TOOLS])
    access = ToolAccess(registry, _flags(settings, registry))
    told = Breakers(metrics).changed
    backends = {name: Backend(name, policy, on_change=told) for name, policy in POLICIES.items()}
    # A trip that took too long has failed by itself. Shorter ones are never called slow: with many calls at once most of
    # what a clock sees is this process's own work, and a breaker that opened for it would take everyone's session away.
    redis_breaker = Breaker("redis", BreakerPolicy(slow_seconds=math.inf), on_change=told)
    turns = TurnShadows()
    rate = Rate() if settings.rate_limit else None
    arithmetic = TurnArithmetic(settings.turn_budget_ms, turns)
    memory = SessionMemory(redis, redis_breaker, arithmetic, rate, LocalLimits(rate or Rate()))
    store = _store(ports, backends, memory, cache=settings.cache)
    limits = CallerLimits(rate, by_address=not settings.loopback)
    pipeline = build(
        Parts(
            sinks=(metrics, log_line, Spans()),
            identifier=identifier,
            access=access,
            memory=memory,
            caller_limits=limits,
            store=store,
            profile_queue=ProfileQueue(store.profiles, metrics.profile_event),
            max_concurrent_calls=settings.max_concurrent_calls,
            call_timeout_ms=settings.call_timeout_ms,
            cache=settings.cache,
            audit=audit,
        )
    )
    lifecycle = Lifecycle()
    metrics.under_way.set_function(lambda: pipeline.shed.under_way)
    metrics.ready.set_function(lambda: lifecycle.serves)
    metrics.watch_lines(log=dropped_lines, audit=lambda: audit.dropped)
    breakers = {name: backend.breaker for name, backend in backends.items()}
    probes: dict[str, tuple[Probe, Breaker | None]] = {
        **_probes(store, memory, breakers | {"redis": redis_breaker}),
        **({"embedder": (ports.embedder.health, None)} if ports.embedder else {}),
        "background": (background.health, None),
    }
    return Application(
        protocol=Protocol(VERSION, registry, access, identifier, limits, pipeline, metrics.answer_sent),
        pipeline=pipeline,
        registry=registry,
        identifier=identifier,
        memory=memory,
        turns=turns,
        dependencies=Dependencies(probes),
        lifecycle=lifecycle,
        metrics=metrics,
        prepared=ports.prepared,
    )


def _store(ports: Ports, backends: Mapping[str, Backend], memory: SessionMemory, *, cache: bool) -> Store:
    """Without `cache` every question is asked; what is only for bad times is kept all the same."""
    guarded = GuardedCatalog(ports.catalog, backends["catalog"])
    catalog = SparingCatalog(guarded) if cache else guarded
    popular = PopularTitles(GuardedCatalog(ports.catalog, _behind("catalog")), kept_titles(Snapshots(memory)))
    stock = GuardedStock(ports.stock, backends["stock"])
    orders = GuardedOrders(ports.orders, backends["orders"])
    profiles = GuardedProfiles(ports.profiles, backends["profile"])
    records = GuardedTitles(ports.titles, backends["titles"])
    titles = TitleReader(catalog, records)
    return Store(catalog, StockReader(stock, fresh=cache), orders, popular, stock, profiles, titles, records)


def _behind(name: str) -> Backend:
    """A guard for background work alone: what becomes of that neither opens the breaker of the calls nor takes a place."""
    return Backend(name, BEHIND[name])


def _stock_snapshot(store: Store, memory: SessionMemory, port: StockPort) -> StockSnapshot:
    guarded = GuardedStock(port, _behind("stock"))
    return StockSnapshot(guarded, store.stock, store.popular, kept_rows(Snapshots(memory)))


def _probes(store: Store, memory: SessionMemory, breakers: Mapping[str, Breaker]) -> dict[str, tuple[Probe, Breaker]]:
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
    }
    return {name: (probe, breakers[name]) for name, probe in asked.items()}


def _with_freshness(tool: Tool, seconds: int) -> Tool:
    """MANGA_CACHE_TTL_S is about text of titles; results about a user keep their own, shorter life."""
    return replace(tool, cache=tool.cache.with_text_fresh_for(seconds)) if tool.cache else tool


def _audit(settings: Settings, stack: AsyncExitStack) -> AuditLog:
    try:
        sink = stack.enter_context(audit_sink(settings.audit_log))
    except OSError as error:
        raise SettingError(f"MANGA_AUDIT_LOG: the file cannot be written: {error.strerror}") from None
    audit = AuditLog(sink, required=settings.audit == "required")
    stack.callback(audit.close)
    return audit


def _flags(settings: Settings, registry: Registry) -> Flags:
    flags = Flags()
    if path := settings.flags_file():
        try:
            FlagsFile(path, [tool.name for tool in registry], flags).load()
        except (FlagsError, OSError) as error:
            why = error if isinstance(error, FlagsError) else f"{path} cannot be read: {error.strerror}"
            raise SettingError(f"MANGA_FLAGS_URL: {why}") from None
    return flags


def _flags_watch(settings: Settings, app: Application) -> Work | None:
    path = settings.flags_file()
    if path is None:
        return None
    names = [tool.name for tool in app.registry]
    file = FlagsFile(path, names, app.protocol.access.flags)
    return lambda: file.watch(app.protocol.audience.tell_tools_changed)
