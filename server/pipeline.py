"""The call pipeline: the ordered stages that every tool call passes. Read this module first.

A stage (`server/stages`) is middleware. It awaits `inner(call)`, which runs the stages after it, and does its own work
before or after that, or answers by itself. A stage stores its results for later stages in the `Call` (`server/call.py`). To
refuse a call it raises a `Failure` (`tools/store/failures.py`), which an earlier stage may catch. The innermost handler runs
the tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from server.call import Call, Handler, Outcome
from server.config.settings import Settings
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits
from server.identity.tool_access import ToolAccess
from server.stages.admission import AdmitStage, DeadlineStage, IdentityStage, ShedStage, ValidateStage
from server.stages.answer import CompleteStage, FallbackStage, StandbyLookup, ToolRunner, no_standby
from server.stages.cache import CacheStage
from server.stages.idempotency import IdempotencyStage
from server.stages.remember import ProfileQueue, RememberStage
from server.stages.session import CallPreferences, Recorded, RefusedCalls, SessionStage
from server.stages.shorten import ShortenStage
from server.stages.telemetry import GuardStage, TelemetryStage
from server.telemetry.audit import AuditLog
from server.telemetry.events import Observer, Sink
from session.memory import SessionMemory
from session.resilience.clocks import Clocks
from tools.store.store import Store


class Stage(Protocol):
    async def __call__(self, call: Call, inner: Handler) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class PipelineDependencies:
    sinks: Sequence[Sink]
    identifier: Identifier
    access: ToolAccess
    memory: SessionMemory
    caller_limits: CallerLimits
    store: Store
    profile_queue: ProfileQueue
    settings: Settings
    clocks: Clocks
    recorded: Recorded = lambda session, user: None
    find_standby: StandbyLookup = no_standby
    audit: AuditLog | None = None
    observers: Sequence[Observer] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The assembled pipeline. `run` answers a call and raises only CancelledError. `shed` counts running calls. `cache` and
    `profile_queue` must be closed after use. `stages` names the stages that have spans: all but telemetry."""

    run: Handler
    shed: ShedStage
    cache: CacheStage
    profile_queue: ProfileQueue
    store: Store
    stages: tuple[str, ...]


def build_pipeline(parts: PipelineDependencies) -> Pipeline:
    settings, monotonic, wall = parts.settings, parts.clocks.monotonic, parts.clocks.wall
    shed = ShedStage(settings.max_concurrent_calls, parts.caller_limits, monotonic)
    cache = CacheStage(parts.memory, settings.cache, wall)
    session = SessionStage(
        parts.memory,
        CallPreferences(parts.store),
        settings.call_timeout_ms,
        cache=settings.cache,
        wall=wall,
        recorded=parts.recorded,
    )
    refused = RefusedCalls(parts.memory, parts.identifier, monotonic, wall, parts.recorded)
    telemetry = TelemetryStage(parts.sinks, parts.audit, parts.observers)
    shorten = ShortenStage(parts.memory, settings.result_tokens, parts.store.currency)
    stages: dict[str, Stage] = {
        "telemetry": telemetry,  # sends one event per call, whatever its outcome
        "guard": GuardStage(refused.note),  # turns exceptions into outcomes: the only broad except around calls
        "shed": shed,  # refuses calls beyond the concurrency limit (load shedding)
        "identity": IdentityStage(parts.identifier, parts.access, parts.caller_limits),  # authenticates, authorises
        "validate": ValidateStage(),  # cleans and checks the arguments, before any backend is asked
        "session": session,  # one Redis trip opens turn, limits, memory; one records the call
        "shorten": shorten,  # cuts the result to its share of the turn's tokens; converts amounts
        "idempotency": IdempotencyStage(parts.memory),  # answers a repeated key with the recorded result
        "remember": RememberStage(parts.profile_queue, parts.clocks.now),  # queues views and searches for the profile
        "complete": CompleteStage(parts.store),  # adds price and stock to a live, cached or fallback result
        "fallback": FallbackStage(parts.store, wall, parts.find_standby),  # a backend failed: stale, standby or tool's own
        "cache": cache,  # fresh results; single flight for equal calls
        "admit": AdmitStage(monotonic),  # refuses a call whose tool's p95 latency exceeds its time left
        "deadline": DeadlineStage(),  # cancels the call at its deadline
    }
    handler: Handler = ToolRunner(parts.store, wall)
    for name, stage in reversed(stages.items()):
        handler = partial(run_stage, name=name, stage=stage, inner=handler)
    return Pipeline(handler, shed, cache, parts.profile_queue, parts.store, tuple(stages)[1:])


async def run_stage(call: Call, *, name: str, stage: Stage, inner: Handler) -> Outcome:
    """Runs one stage, inside a span named after the stage if the call records spans."""
    around = call.span
    if around is None:
        return await stage(call, inner)
    with around.begin("stage", name) as span:
        call.span = span
        try:
            outcome = await stage(call, inner)
        finally:
            call.span = around
        if outcome.failure is not None:
            span.end(outcome.failure.name)
        return outcome
