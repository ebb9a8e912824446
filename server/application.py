"""The application's parts, and the external dependencies from which `server/wiring.py` builds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mcp.server.subscriptions import InMemorySubscriptionBus, SubscriptionBus

from server.backends.opening import Ports
from server.flags.document import Flags
from server.identity.caller_limits import CallerLimits
from server.identity.request_metadata import Identifier
from server.pipeline import Pipeline
from server.runtime.fleet_key import FleetKey
from server.runtime.health import Dependencies, Probe
from server.runtime.lifecycle import Lifecycle
from server.stages.answer import StandbyLookup, no_standby
from server.telemetry.audit import AuditLog
from server.telemetry.events import Listeners, Observer, Sink
from server.telemetry.metrics import Metrics
from server.transport.http.sse import SessionRouter
from server.transport.mcp import Protocol
from session.memory import SessionMemory
from session.redis.subscriber import Redis
from session.resilience.clocks import Clocks
from session.resilience.rate_limit import Rate
from session.turn import Turns
from tools.primitive_registry import PrimitiveRegistry
from tools.primitives.resource import Extension
from tools.registry import Registry
from tools.store.guarded import Backend
from tools.store.models.order import Policies
from tools.store.stock import StockSnapshot


@dataclass(frozen=True, slots=True)
class Environment:
    """The external dependencies from which the application is wired.

    `sinks` receive the event of each finished call, `observers` choose the calls whose spans are recorded, and `listeners`
    are both, and can be added at run time. `probes` check dependencies that have no circuit breaker, and `rate` limits each
    caller. `policies` are the shop's texts on shipping and returns. `primitives` are the resources and prompts, including
    those of `extensions`. `find_standby` returns the standby store for a tool. `bus` carries events between processes,
    `reach` routes requests to the process that holds their session, and `key` is the secret that all processes share."""

    redis: Redis
    ports: Ports
    identifier: Identifier
    registry: Registry
    metrics: Metrics
    sinks: Sequence[Sink] = ()
    observers: Sequence[Observer] = ()
    audit: AuditLog | None = None
    flags: Flags = field(default_factory=Flags)
    probes: Mapping[str, Probe] = field(default_factory=dict)
    rate: Rate = field(default_factory=Rate)
    primitives: PrimitiveRegistry = field(default_factory=PrimitiveRegistry)
    extensions: Sequence[Extension] = ()
    policies: Policies = field(default_factory=Policies)
    find_standby: StandbyLookup = no_standby
    bus: SubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    reach: SessionRouter = field(default_factory=SessionRouter)
    key: FleetKey = field(default_factory=FleetKey)
    clocks: Clocks = field(default_factory=Clocks)
    listeners: Listeners = field(default_factory=Listeners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application(Environment):
    """The wired application. After the start, `ports.prepared` waits until semantic search is loaded or has failed to."""

    protocol: Protocol
    pipeline: Pipeline
    caller_limits: CallerLimits
    memory: SessionMemory
    turns: Turns
    backends: Mapping[str, Backend]
    inventory: StockSnapshot
    dependencies: Dependencies
    lifecycle: Lifecycle
