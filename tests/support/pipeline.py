"""The pipeline as it is wired, over backends whose mood a test decides, and a real Valkey."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from jsonschema import Draft202012Validator

from server.application import Application, Environment
from server.backends.opening import Ports
from server.call import Call, Outcome, RequestMetadata
from server.config.settings import Settings, read_policies
from server.flags.document import Flags, parse
from server.identity.request_metadata import Identifier, TrustStated
from server.pipeline import Pipeline
from server.results import call_tool_result
from server.stages.answer import StandbyLookup, no_standby
from server.telemetry.audit import AuditLog
from server.telemetry.events import CallFinished, Observer
from server.wiring import wire, with_resources
from session.memory import SessionMemory
from session.redis.keyvalue import KeyValue
from session.resilience.breaker import BreakerState
from session.resilience.rate_limit import Rate
from tests.support.clocks import HandClock
from tests.support.counted_metrics import CountedMetrics
from tests.support.store import Backends
from tests.support.valkey import Clocked, Recorded
from tests.support.virtual_time import clocks_of, running_clock
from tools.contract import Tool
from tools.primitive_registry import Primitive, PrimitiveRegistry
from tools.primitives.resource import Extension
from tools.registry import TOOLS, Registered, Registry
from tools.store.guarded import Backend
from tools.store.ports import Classifier
from tools.store.store import Store


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

    def switch(self, **flags: Any) -> None:
        """The flags document from now on."""
        self.flags.document = parse(json.dumps(flags).encode())

    def exchange(self, name: str, **changed: Any) -> None:
        """Another tool, or another form, under a name of the registry from now on: what an upgrade does between processes."""
        found = self.registry.get(name)
        assert found is not None
        self.registry.exchange({name: replace(found, **changed)})

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
        block, *beside = result["content"]
        assert len(beside) == len(outcome.content)
        assert json.loads(block["text"]) == result["structuredContent"], "one text, which says what the structure says"
        assert outcome.value is None or call.tool.fits(outcome.value), "what a tool answers would be no use from the cache"
        return Answer(call, outcome, result)

    async def ask(self, tool: str, arguments: dict[str, Any] | None = None, /, **stated: Any) -> Answer:
        return await self.run(self.call(tool, arguments, **stated))

    def calls_of(self, method: str) -> int:
        here = self.backends
        ports = (
            here.catalog,
            here.titles,
            here.stock,
            here.releases,
            here.orders,
            here.profiles,
            here.preferences,
            here.pages,
        )
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
        return [block["text"] for block in self.result["content"] if block["type"] == "text"]


Opener = Callable[..., Any]
"""Opens kits; what it takes is what `open_kit` takes besides a Redis and the backends."""


@asynccontextmanager
async def opening_kits(redis: KeyValue, backends: Callable[[], Backends]) -> AsyncIterator[Opener]:
    """Opens kits until the block ends, each over the `backends` of the moment: each is a process of its own."""
    async with AsyncExitStack() as stack:

        async def enter(**how: Any) -> Kit:
            return await stack.enter_async_context(open_kit(redis, backends(), **how))

        yield enter


COMPILED = Registry()


def registered(name: str) -> Registered:
    """A tool of the store's own, with its validators."""
    found = COMPILED.get(name)
    assert found is not None, name
    return found


def registry_of(tools: Sequence[Tool], **how: Any) -> Registry:
    """With the validators of the store's own: compiling schemas takes longer than most tests."""
    return _Reusing(tools, **how)


class _Reusing(Registry):
    def _compile(self, tool: Tool) -> Registered:
        own = COMPILED.get(tool.name)
        if own is None or (own.tool.input_schema, own.tool.output_schema) != (tool.input_schema, tool.output_schema):
            return super()._compile(tool)
        return replace(own, tool=tool)


def _ports(backends: Backends) -> Ports:
    here = backends
    store = (here.titles, here.stock, here.releases, here.orders, here.profiles, here.preferences)
    return Ports(*store, here.catalog, here.pages)


@asynccontextmanager
async def open_kit(
    redis: KeyValue,
    backends: Backends,
    *,
    tools: Sequence[Tool] = TOOLS,
    primitives: Sequence[Primitive] | None = None,
    rate: Rate | None = None,
    identifier: Identifier | None = None,
    warm: bool = True,
    audit: AuditLog | None = None,
    observers: Sequence[Observer] = (),
    classifier: Classifier | None = None,
    second: StandbyLookup = no_standby,
    extensions: Sequence[Extension] = (),
    **settings: Any,
) -> AsyncIterator[Kit]:
    """As `server.wiring` puts it together, for a test that is marked `virtual_time`: everything, Valkey too, goes by the
    loop's clock. `rate` limits callers, `observers` want calls in detail, `classifier` is one that is configured, `second` is
    asked where the catalogue fails, `extensions` of the protocol are spoken, `warm` fills what is popular, and `settings`
    are those of the server."""
    clock, metrics, events = running_clock(), CountedMetrics(), list[CallFinished]()
    recorded = Recorded(Clocked(redis, clock))
    believed, clocks = identifier or TrustStated(), clocks_of(clock)
    read = Settings(rate_limit=rate is not None, **settings)
    policies = read_policies(read)
    ports = replace(_ports(backends), classifier=classifier)
    registry = registry_of(tools, setting=read.adult)
    env = Environment(recorded, ports, believed, registry, metrics, (events.append,), observers, audit, clocks=clocks)
    env = replace(
        env,
        find_standby=second,
        rate=rate or env.rate,
        primitives=with_resources(extensions, read.identifiers, policies)
        if primitives is None
        else PrimitiveRegistry((*primitives, *(each for extension in extensions for each in extension.resources))),
        extensions=extensions,
        policies=policies,
    )
    env.flags.document = parse(json.dumps({tool.name: True for tool in tools}).encode())  # experiments too
    app = wire(read, env)
    if warm:
        await _warm(app, recorded)
    try:
        yield Kit(app, backends, recorded, clock, env.flags, events, metrics.profile_events)
    finally:
        await _closed(app)


async def _warm(app: Application, recorded: Recorded) -> None:
    assert await app.pipeline.store.popular.refresh()
    recorded.trips.clear()


async def _closed(app: Application) -> None:
    await app.pipeline.profile_queue.aclose()
    await app.pipeline.cache.aclose()
