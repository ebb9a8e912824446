"""The pipeline as it is wired, over backends whose mood a test decides, and a real Valkey."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from jsonschema import Draft202012Validator

from server.call import Call, Outcome, Stated
from server.caller_limits import CallerLimits
from server.flags import Flags
from server.identity import Identifier, TrustEverybody
from server.pipeline import Parts, Pipeline, build
from server.profile_queue import ProfileQueue
from server.results import call_tool_result
from server.telemetry.audit import AuditLog
from server.telemetry.events import CallFinished
from server.tool_access import ToolAccess
from server.wiring import POLICIES
from session.breaker import Breaker, BreakerPolicy, BreakerState
from session.deadline import Clock
from session.keyvalue import KeyValue
from session.limits import LocalLimits, Rate
from session.memory import SessionMemory
from session.turn import TurnArithmetic, TurnShadows
from tests.support.store import Backends
from tests.support.valkey import Recorded
from tools.contract import Store, Tool
from tools.popular_titles import PopularTitles
from tools.registry import TOOLS, Registry
from tools.resilience.backend import Backend
from tools.resilience.ports import GuardedCatalog, GuardedOrders, GuardedProfiles, GuardedStock, GuardedTitles
from tools.sparing_catalog import SparingCatalog
from tools.stock_reader import StockReader
from tools.title_reader import TitleReader


@dataclass(slots=True)
class Kit:
    """A pipeline, and everything around it that a test looks at."""

    pipeline: Pipeline
    registry: Registry
    backends: Backends
    guards: dict[str, Backend]
    redis: Recorded
    memory: SessionMemory
    store: Store
    flags: Flags
    events: list[CallFinished] = field(default_factory=list)
    profile_events: list[str] = field(default_factory=list)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **stated: Any) -> Call:
        """`stated` are fields of Stated, or of Call itself."""
        registered = self.registry.get(tool)
        assert registered is not None
        own = {
            name: stated.pop(name)
            for name in ("arrived", "address", "origin", "transport_session", "bearer")
            if name in stated
        }
        arrived = own.pop("arrived", time.monotonic())
        return Call(uuid.uuid4().hex, registered, dict(arguments or {}), Stated(**stated), arrived, **own)

    async def run(self, call: Call) -> Answer:
        outcome = await self.pipeline.run(call)
        result = call_tool_result(call, outcome)
        Draft202012Validator(call.tool.tool.output_schema).validate(result["structuredContent"])
        (block,) = result["content"]
        assert json.loads(block["text"]) == result["structuredContent"], "one text, which says what the structure says"
        assert outcome.value is None or call.tool.fits(outcome.value), "what a tool answers would be no use from the cache"
        return Answer(call, outcome, result)

    async def ask(self, tool: str, arguments: dict[str, Any] | None = None, /, **stated: Any) -> Answer:
        return await self.run(self.call(tool, arguments, **stated))

    def calls_of(self, method: str) -> int:
        here = self.backends
        ports = (here.catalog, here.titles, here.stock, here.orders, here.profiles)
        return sum(name == method for port in ports for name, _ in port.asked)

    def open_breakers(self) -> list[str]:
        return [name for name, guard in self.guards.items() if guard.breaker.state is not BreakerState.CLOSED]


@dataclass(slots=True)
class Answer:
    call: Call
    outcome: Outcome
    result: dict[str, Any]

    @property
    def value(self) -> dict[str, Any]:
        assert self.outcome.value is not None, self.outcome.failure and self.outcome.failure.message
        return self.outcome.value

    @property
    def failure(self) -> str | None:
        return self.outcome.failure.name if self.outcome.failure else None

    @property
    def meta(self) -> dict[str, Any]:
        return dict(self.result["_meta"]["com.mangaassist/call"])

    @property
    def note(self) -> str:
        """What the model is told beside the answer itself."""
        return str(self.result["structuredContent"].get("note", ""))

    @property
    def texts(self) -> list[str]:
        return [block["text"] for block in self.result["content"]]


COMPILED = Registry()


def registry_of(tools: Sequence[Tool]) -> Registry:
    """With the validators of the store's own: compiling schemas takes longer than most tests."""
    own = copy(COMPILED)
    object.__setattr__(own, "tools", tuple(tools))
    object.__setattr__(own, "_by_name", {tool.name: replace(COMPILED._by_name[tool.name], tool=tool) for tool in tools})
    return own


@asynccontextmanager
async def open_kit(
    redis: KeyValue,
    backends: Backends,
    *,
    tools: Sequence[Tool] = TOOLS,
    rate: Rate | None = None,
    address_rate: Rate | None = None,
    most: int = 50,
    cache: bool = True,
    budget_ms: int = 3000,
    call_timeout_ms: int = 5000,
    identifier: Identifier | None = None,
    timeout_ms: int | None = None,
    warm: bool = True,
    limits_clock: Clock = time.monotonic,
    audit: AuditLog | None = None,
) -> AsyncIterator[Kit]:
    """`timeout_ms` replaces every tool's own, so that what hangs is given up sooner, and what works is not on a busy machine.
    A backend's attempt has as long as its call; `limits_clock` is that of the limits in the process."""
    chosen = [replace(tool, timeout_ms=timeout_ms) if timeout_ms else tool for tool in tools]
    registry, flags = registry_of(chosen), Flags()
    guards = {name: Backend(name, replace(policy, attempt_seconds=5.0)) for name, policy in POLICIES.items()}
    guarded = GuardedCatalog(backends.catalog, guards["catalog"])
    catalog = SparingCatalog(guarded) if cache else guarded
    stock = GuardedStock(backends.stock, guards["stock"])
    records = GuardedTitles(backends.titles, guards["titles"])
    store = Store(
        catalog,
        StockReader(stock, fresh=cache),
        GuardedOrders(backends.orders, guards["orders"]),
        PopularTitles(catalog),
        stock,
        GuardedProfiles(backends.profiles, guards["profile"]),
        TitleReader(catalog, records),
        records,
    )
    if warm:
        assert await store.popular.refresh()
    recorded = Recorded(redis)
    memory = SessionMemory(
        recorded,
        Breaker("redis", BreakerPolicy(slow_seconds=10)),
        TurnArithmetic(budget_ms, TurnShadows()),
        rate,
        LocalLimits(rate or Rate()),
    )
    events: list[CallFinished] = []
    profile_events: list[str] = []
    pipeline = build(
        Parts(
            sinks=(events.append,),
            identifier=identifier or TrustEverybody(),
            access=ToolAccess(registry, flags),
            memory=memory,
            caller_limits=CallerLimits(address_rate or rate, by_address=address_rate is not None, clock=limits_clock),
            store=store,
            profile_queue=ProfileQueue(store.profiles, profile_events.append),
            max_concurrent_calls=most,
            call_timeout_ms=call_timeout_ms,
            cache=cache,
            audit=audit,
        )
    )
    try:
        yield Kit(pipeline, registry, backends, guards, recorded, memory, store, flags, events, profile_events)
    finally:
        await pipeline.profile_queue.aclose()
        await pipeline.cache.aclose()
