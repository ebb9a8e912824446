"""The pipeline as it is wired, over backends whose mood a test decides, and a real Valkey."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from jsonschema import Draft202012Validator

from server.application import Application, Outside
from server.backends import Ports
from server.call import Call, Outcome, RequestMetadata
from server.config.flags import Flags
from server.config.settings import Settings
from server.identity import Identifier, TrustEverybody
from server.pipeline import Pipeline
from server.results import call_tool_result
from server.telemetry.audit.log import AuditLog
from server.telemetry.events import CallFinished
from server.wiring import wire
from session.memory import SessionMemory
from session.redis.keyvalue import KeyValue
from session.resilience.breaker import BreakerState
from session.resilience.rate_limit import Rate
from tests.support.clocks import HandClock
from tests.support.counted_metrics import CountedMetrics
from tests.support.store import Backends
from tests.support.valkey import Clocked, Recorded
from tests.support.virtual_time import clocks_of, running_clock
from tools.contract import Store, Tool
from tools.registry import TOOLS, Registered, Registry
from tools.store.guarded.backend import Backend


@dataclass(slots=True)
class Kit:
    """An application, and everything around it that a test looks at. `clock` is everybody's."""

    app: Application
    backends: Backends
    redis: Recorded
    clock: HandClock
    flags: Flags
    events: list[CallFinished]
    profile_events: list[str]

    @property
    def pipeline(self) -> Pipeline:
        return self.app.pipeline

    @property
    def registry(self) -> Registry:
        return self.app.registry

    @property
    def memory(self) -> SessionMemory:
        return self.app.memory

    @property
    def store(self) -> Store:
        return self.app.pipeline.store

    @property
    def guards(self) -> Mapping[str, Backend]:
        return self.app.backends

    def exchange(self, name: str, **changed: Any) -> None:
        """Another tool, or another form, under a name of the registry from now on: what an upgrade does between processes."""
        self.registry._by_name[name] = replace(self.registry._by_name[name], **changed)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **stated: Any) -> Call:
        """`stated` are fields of Stated, or of Call itself."""
        registered = self.registry.get(tool)
        assert registered is not None
        own = {
            name: stated.pop(name)
            for name in ("arrived", "address", "origin", "transport_session", "bearer")
            if name in stated
        }
        arrived = own.pop("arrived", self.clock())
        return Call(
            uuid.uuid4().hex, registered, dict(arguments or {}), RequestMetadata(**stated), arrived, clock=self.clock, **own
        )

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


Opener = Callable[..., Any]
"""Opens kits; what it takes is what `open_kit` takes besides a Redis and the backends."""
COMPILED = Registry()


def registered(name: str) -> Registered:
    """A tool of the store's own, with its validators."""
    found = COMPILED.get(name)
    assert found is not None, name
    return found


def registry_of(tools: Sequence[Tool]) -> Registry:
    """With the validators of the store's own: compiling schemas takes longer than most tests."""
    own = copy(COMPILED)
    object.__setattr__(own, "tools", tuple(tools))
    object.__setattr__(own, "_by_name", {tool.name: replace(registered(tool.name), tool=tool) for tool in tools})
    return own


def _ports(backends: Backends) -> Ports:
    return Ports(backends.catalog, backends.titles, backends.stock, backends.orders, backends.profiles)


@asynccontextmanager
async def open_kit(
    redis: KeyValue,
    backends: Backends,
    *,
    tools: Sequence[Tool] = TOOLS,
    rate: Rate | None = None,
    identifier: Identifier | None = None,
    warm: bool = True,
    audit: AuditLog | None = None,
    **settings: Any,
) -> AsyncIterator[Kit]:
    """As `server.wiring` puts it together, for a test that is marked `virtual_time`: everything, Valkey too, goes by the
    loop's clock. `rate` limits callers, `warm` fills what is popular, and `settings` are those of the server."""
    clock, metrics, events = running_clock(), CountedMetrics(), list[CallFinished]()
    recorded = Recorded(Clocked(redis, clock))
    believed, clocks = identifier or TrustEverybody(), clocks_of(clock)
    outside = Outside(
        recorded, _ports(backends), believed, registry_of(tools), metrics, (events.append,), audit, clocks=clocks
    )
    outside = replace(outside, rate=rate or outside.rate)
    app = wire(Settings(rate_limit=rate is not None, **settings), outside)
    if warm:
        await _warm(app, recorded)
    try:
        yield Kit(app, backends, recorded, clock, outside.flags, events, metrics.profile_events)
    finally:
        await _closed(app)


async def _warm(app: Application, recorded: Recorded) -> None:
    assert await app.pipeline.store.popular.refresh()
    recorded.trips.clear()


async def _closed(app: Application) -> None:
    await app.pipeline.profile_queue.aclose()
    await app.pipeline.cache.aclose()
