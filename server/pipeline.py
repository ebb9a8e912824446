"""The call pipeline: the ordered stages that every tool call passes. Read this module first.

A stage (`server/stages`) is middleware. It awaits `inner(call)`, which runs the stages after it, and does its own work
before or after that, or answers by itself. A stage stores its results for later stages in the `Call` (`server/call.py`). To
refuse a call it raises a `Failure` (`tools/store/failures.py`), which an earlier stage may catch. The innermost handler runs
the tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from server.call import Call, Handler, Outcome
from server.config.settings import Settings
from server.identity.caller_limits import CallerLimits
from server.identity.tool_access import ToolAccess
from server.stages.admission import AdmitStage, DeadlineStage, IdentityStage, ShedStage, ValidateStage
from server.stages.answer import CompleteStage, FallbackStage, ToolRunner
from server.stages.cache import CacheStage
from server.stages.idempotency import IdempotencyStage
from server.stages.remember import ProfileQueue, RememberStage
from server.stages.session import CallPreferences, Recorded, RefusedCalls, SessionStage
from server.stages.shorten import ShortenStage
from server.stages.telemetry import GuardStage, TelemetryStage
from server.telemetry.events import Sink
from session.memory import SessionMemory
from session.resilience.clocks import Clock
from tools.store.store import Store

if TYPE_CHECKING:
    from server.application import Environment


Stage = Callable[[Call, Handler], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The assembled pipeline. `run` answers a call, and raises only CancelledError. `shed` counts running calls. `cache` and
    `profile_queue` must be closed after use. `stages` names the stages that have spans: all but telemetry."""

    run: Handler
    shed: ShedStage
    cache: CacheStage
    profile_queue: ProfileQueue
    store: Store
    stages: tuple[str, ...]
    clock: Clock


def build_pipeline(
    settings: Settings,
    env: Environment,
    store: Store,
    memory: SessionMemory,
    access: ToolAccess,
    limits: CallerLimits,
    recorded: Recorded,
) -> Pipeline:
    monotonic, wall = env.clocks.monotonic, env.clocks.wall
    sinks: tuple[Sink, ...] = (env.metrics, *env.sinks, env.listeners)
    observers = (*env.observers, env.listeners)
    shed, cache = ShedStage(settings.max_concurrent_calls, limits, monotonic), CacheStage(memory, settings.cache, wall)
    preferences, timeout_ms = CallPreferences(store), settings.call_timeout_ms
    session = SessionStage(
        memory, preferences, timeout_ms, cache=settings.cache, wall=wall, recorded=recorded, secret=settings.fleet_key or ""
    )
    shorten = ShortenStage(memory, settings.result_tokens, store.currency)
    refused = RefusedCalls(memory, env.identifier, monotonic, wall, recorded)
    profile_queue = ProfileQueue(store.profiles, env.metrics.count_profile_event, monotonic)
    stages: dict[str, Stage] = {
        "telemetry": TelemetryStage(sinks, env.audit, observers),  # sends one event per call, whatever its outcome
        "guard": GuardStage(refused.note),  # turns exceptions into outcomes: the only broad except around calls
        "shed": shed,  # refuses calls beyond the concurrency limit (load shedding)
        "identity": IdentityStage(env.identifier, access, limits),  # authenticates, authorises
        "validate": ValidateStage(),  # cleans and checks the arguments, before any backend is asked
        "session": session,  # one Redis trip opens turn, limits, memory; one records the call
        "shorten": shorten,  # cuts the result to its share of the turn's tokens; converts amounts
        "idempotency": IdempotencyStage(memory),  # answers a repeated key with the recorded result
        "remember": RememberStage(profile_queue, env.clocks.now),  # queues views and searches for the profile
        "complete": CompleteStage(store),  # adds price and stock to a live, cached or fallback result
        "fallback": FallbackStage(store, wall, env.find_standby),  # a backend failed: stale, standby or tool's own
        "cache": cache,  # fresh results; single flight for equal calls
        "admit": AdmitStage(monotonic),  # refuses a call whose tool's p95 latency exceeds its time left
        "deadline": DeadlineStage(),  # cancels the call at its deadline
    }
    handler: Handler = ToolRunner(store, wall)
    for name, stage in reversed(stages.items()):
        handler = partial(run_stage, name=name, stage=stage, inner=handler)
    return Pipeline(handler, shed, cache, profile_queue, store, tuple(stages)[1:], monotonic)


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
