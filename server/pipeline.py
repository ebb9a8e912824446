"""The way of a call, from its arrival to its outcome.

A call goes through the stages in the order of the list in `build`, outermost first, and its outcome comes back through them
in reverse. Each stage is a file of `server/stages`. It does its part before the call goes on, after the outcome has come
back, or both; or it answers itself, and nothing further in ever runs. The innermost handler runs the tool.

The list is folded twice: a call that somebody watches takes the way on which each stage notes its time, all others the plain
one.

What a stage finds out stands in the `Call` for those further in (`server/call.py`); a stage that gives up raises a `Failure`
(`tools/store/failures.py`), which a stage further out may catch and answer differently.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from server.call import Call, Handler, Outcome
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits
from server.identity.tool_access import ToolAccess
from server.runtime.profile_queue import ProfileQueue
from server.stages.admit import Admit
from server.stages.cache import Cache
from server.stages.complete import Complete
from server.stages.deadline import EnforceDeadline
from server.stages.fallback import Ladder
from server.stages.guard import Guard
from server.stages.idempotency import Idempotency
from server.stages.identity import Identify
from server.stages.remember import Remember
from server.stages.run_tool import RunTool, Second, no_second
from server.stages.session import OpenSession, Recorded, Stated, unheard
from server.stages.shed import Shed
from server.stages.shorten import Shorten
from server.stages.telemetry import Audited, Telemetry
from server.stages.validate import Validate
from server.telemetry.audit import AuditLog
from server.telemetry.events import Observer, Sink
from session.memory import SessionMemory
from session.resilience.clocks import Clocks
from tools.store.store import Store


class Timed:
    """Goes by the name of the stage's file. What runs behind the call, as a refresh does, has nobody who watches it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.name = type(stage).__module__.rpartition(".")[2]

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        around = call.interval
        if around is None:
            return await self._stage(call, inner)
        with around.begin("stage", self.name) as interval:
            call.interval = interval
            try:
                outcome = await self._stage(call, inner)
            finally:
                call.interval = around
            if outcome.failure is not None:
                interval.end(outcome.failure.name)
            return outcome


class Stage(Protocol):
    """One step of the way. It awaits `inner(call)` for all the rest of it, or answers without."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What the stages are made of: each takes of it what it needs."""

    sinks: Sequence[Sink]
    identifier: Identifier
    access: ToolAccess
    memory: SessionMemory
    caller_limits: CallerLimits
    store: Store
    profile_queue: ProfileQueue
    max_concurrent_calls: int
    call_timeout_ms: int
    result_tokens: int
    cache: bool
    clocks: Clocks
    recorded: Recorded = unheard
    second: Second = no_second
    audit: AuditLog | None = None
    observers: Sequence[Observer] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`run` takes a call to its outcome and never raises but for cancellation. The others are at hand for the application,
    which asks what is under way, closes what flies or is still to be written, and keeps the store's fallbacks warm; and
    `stages` names those within telemetry, as a timeline does."""

    run: Handler
    shed: Shed
    cache: Cache
    profile_queue: ProfileQueue
    store: Store
    stages: tuple[str, ...]


def build(parts: Parts) -> Pipeline:
    """Puts the stages around the tool."""
    monotonic, wall = parts.clocks.monotonic, parts.clocks.wall
    shed = Shed(parts.max_concurrent_calls, parts.caller_limits, monotonic)
    cache = Cache(parts.memory, parts.cache, wall)
    session = OpenSession(
        parts.memory,
        Stated(parts.store),
        parts.call_timeout_ms,
        cache=cache.enabled,
        wall=wall,
        recorded=parts.recorded,
    )
    audited = Audited(parts.audit) if parts.audit else None
    stages: list[Stage] = [
        Telemetry(parts.sinks, audited, parts.observers),  # one event a call, whatever becomes of it
        Guard(),  # failures become outcomes; the only broad except
        shed,  # refuses what would only queue
        Identify(parts.identifier, parts.access, parts.caller_limits),  # who calls, and may they use this tool, and now
        Validate(),  # cleans and checks the arguments, before any backend is asked
        session,  # turn, limits, memory
        Shorten(parts.memory, parts.result_tokens),  # what the model can afford to read
        Idempotency(parts.memory),  # the same key again gets the same answer
        Remember(parts.profile_queue, parts.clocks.now),  # what a signed-in person looked at, behind the answer
        Complete(parts.store),  # price and stock onto whatever the rungs below answered
        Ladder(parts.store, wall, parts.second),  # stale, a second store, then the tool's fallback, when a backend fails
        cache,  # fresh results, and one flight for equal calls
        Admit(monotonic),  # is there time enough to begin?
        EnforceDeadline(),  # what is late is cancelled
    ]
    tool, (telemetry, *inner) = RunTool(parts.store, wall), stages
    timed = [Timed(each) for each in inner]
    way = partial(either, plain=fold(inner, tool), watched=fold(timed, tool))
    names = tuple(each.name for each in timed)
    return Pipeline(fold([telemetry], way), shed, cache, parts.profile_queue, parts.store, names)


def either(call: Call, plain: Handler, watched: Handler) -> Coroutine[Any, Any, Outcome]:
    """Telemetry, outside of both ways, has said whether somebody watches the call."""
    return plain(call) if call.interval is None else watched(call)


def fold(stages: Sequence[Stage], innermost: Handler) -> Handler:
    """Makes one handler of them, in which the first stage is the outermost."""
    handler = innermost
    for stage in reversed(stages):
        handler = partial(stage, inner=handler)
    return handler
