"""The stages that admit calls. They limit concurrent calls, authenticate callers, check access rights, validate arguments,
refuse calls that would finish late, and enforce deadlines."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from server.call import Call, Handler, Outcome
from server.identity.caller_limits import CallerLimits, StatedIdentity, caller_of
from server.identity.request_metadata import Identifier, checked_expected_calls, checked_session
from server.identity.tool_access import ToolAccess
from session.resilience.clocks import Clock
from tools.schema.text import clean, clean_text
from tools.store.failures import CallerFailure, Failure, Forbidden, RateLimited, ServerBusy, TimedOut

LONGEST_WAIT_MS = 100.0
STANDING_SECONDS, CALM_SECONDS = 0.5, 2.0


class StandingQueue:
    """Detects a standing queue in front of the event loop (Nichols and Jacobson, "Controlling queue delay", ACM Queue 2012).
    Calls that waited longer than `LONGEST_WAIT_MS` are late; a short burst of late calls is admitted. If all calls are late
    for `STANDING_SECONDS`, late calls are refused until `CALM_SECONDS` pass without a refusal."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late_since: float | None = None
        self._late_at = 0.0
        self._strict_until = 0.0

    def should_refuse(self, waited_ms: float) -> bool:
        now = self._clock()
        if waited_ms <= LONGEST_WAIT_MS:
            self._late_since = None
            return False
        if self._late_since is None or now - self._late_at > STANDING_SECONDS:
            self._late_since = now
        self._late_at = now
        stands = now < self._strict_until or now - self._late_since > STANDING_SECONDS
        if stands:
            self._strict_until = now + CALM_SECONDS
        return stands


class FairBulkhead:
    """A bulkhead of `most` concurrent calls, shared fairly among origins (verified principals or IP addresses).

    One origin alone may hold all slots. While all are taken, an origin below its equal share is still admitted, and the
    others are refused until a slot is free or they are below their share (max-min fairness). So n origins hold at most
    1 + 1/2 + … + 1/n times `most` slots, or twice that number if each has many customers."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[StatedIdentity] = Counter()

    @property
    def taken(self) -> int:
        return self._held.total()

    def has_room_for(self, holder: StatedIdentity) -> bool:
        if self.taken < self._most:
            return True
        share = self._most // len({holder.origin, *(each.origin for each in self._held)})
        held = sum(number for each, number in self._held.items() if each.origin == holder.origin)
        if held < share:
            return True
        theirs = {*(each for each in self._held if each.origin == holder.origin), holder}
        return held < 2 * share and self._held[holder] < share // len(theirs)

    @contextmanager
    def held_by(self, holder: StatedIdentity) -> Iterator[None]:
        self._held[holder] += 1
        try:
            yield
        finally:
            self._held[holder] -= 1
            if not self._held[holder]:
                del self._held[holder]


class ShedStage:
    """Sheds load: answers SERVER_BUSY to late calls (`StandingQueue`), and to calls beyond `most` at once (`FairBulkhead`).
    Look-ups by key have `most` / 5 extra slots, since each costs a hundredth of a search. Refusals for overload or a rate
    limit count against the customer's limit for refused calls. `idle` is set while no admitted call runs."""

    def __init__(self, most: int, limits: CallerLimits, clock: Clock) -> None:
        self._limits = limits
        self._queue = StandingQueue(clock)
        self._places, self._look_ups = FairBulkhead(most), FairBulkhead(max(1, most // 5))
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def under_way(self) -> int:
        return self._places.taken + self._look_ups.taken

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        stated = StatedIdentity.from_call(call)
        self._limits.check_stated(stated)
        places = self._find_room(stated, call)
        if places is None:
            self._limits.note_refusal(stated)
            raise ServerBusy("The server has as many calls as it can answer in time.", retry_after_ms=100)
        try:
            with places.held_by(stated):
                self.idle.clear()
                return await inner(call)
        except RateLimited:
            self._limits.note_refusal(stated)
            raise
        finally:
            if not self.under_way:
                self.idle.set()

    def _find_room(self, stated: StatedIdentity, call: Call) -> FairBulkhead | None:
        if self._queue.should_refuse(call.elapsed_ms()):
            return None
        if self._places.has_room_for(stated):
            return self._places
        return self._look_ups if call.tool.tool.looks_up and self._look_ups.has_room_for(stated) else None


class IdentityStage:
    """Authenticates the caller, and checks access rights and rate limits. Sets the call's `principal`, `session`, `may_use`,
    `variant` and `expected_calls`. A `CallerFailure` before the session is read, except `RateLimited`, counts against the
    caller's limit for refused calls."""

    def __init__(self, identifier: Identifier, access: ToolAccess, limits: CallerLimits) -> None:
        self._identifier = identifier
        self._access = access
        self._limits = limits

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            await self._identify(call)
            return await inner(call)
        except RateLimited:
            raise
        except CallerFailure:
            if call.begin_result is None and (wait_ms := self._limits.charge_refusal(caller_of(call))):
                raise RateLimited("Too many calls were refused. Wait a moment.", retry_after_ms=wait_ms) from None
            raise

    async def _identify(self, call: Call) -> None:
        if call.metadata.user_conflict:
            raise Forbidden("The user in _meta and the user in the header are not the same.")
        call.principal = await self._identifier.identify(call.metadata, call.bearer)
        call.session = checked_session(call.metadata.session) or call.transport_session
        self._limits.admit(caller_of(call), call.cost)
        decision = self._access.decision(call.tool.tool, call.principal, call.session)
        call.variant = decision.variant
        call.may_use = partial(self._access.may_use, call.principal, call.session)
        self._access.check(call.tool.tool, call.principal, decision)
        call.expected_calls = checked_expected_calls(call.metadata.expected_calls)


USER = "user_id"
NOT_THE_CALLER = "user_id is not the customer of this conversation, so nothing personal is in this answer."


class ValidateStage:
    """Cleans and checks the arguments and fills in defaults. Raises `InvalidArguments` with all violations at once.
    Arguments for identity or budget that the tool does not declare are ignored, and noted on the call except for the
    caller's own `user_id`. A `user_id` that the tool declares sets `names_other_user` if it is not the caller's."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        given, validator = call.arguments, call.tool.validator
        call.arguments = validator.validate(given)
        call.validated = True
        named = call.arguments.pop(USER, None)
        if named is not None and not _is_caller(call, named):
            call.names_other_user = True
            call.notes.append(NOT_THE_CALLER)
        ignored = [
            name for name in validator.list_ignored(given) if name != USER or not _is_caller(call, clean(given.get(USER)))
        ]
        if ignored:
            call.notes.append(f"Ignored: {', '.join(ignored[:5])}. The caller is known without it; leave it out.")
        return await inner(call)


def _is_caller(call: Call, named: object) -> bool:
    return call.principal.user is not None and named == clean_text(call.principal.user)


HALF_WINDOW_SECONDS = 15.0
GROWTH, SMALLEST = 1.1, 0.0001


class LatencySketch:
    """Latency quantiles of the last 15 to 30 seconds, accurate to 5 %, in constant memory: logarithmic buckets as in
    DDSketch (Masson, Rim and Lee, VLDB 2019), in two half windows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._current: Counter[int] = Counter()
        self._previous: Counter[int] = Counter()
        self._turned_at = clock()

    def add(self, seconds: float) -> None:
        self._turn()
        self._current[max(0, math.ceil(math.log(max(seconds, SMALLEST) / SMALLEST, GROWTH)))] += 1

    def count(self) -> int:
        self._turn()
        return self._current.total() + self._previous.total()

    def quantile(self, share: float) -> float:
        """Returns the latency in seconds of the quantile `share` (0.95 for p95); 0 if there are no calls."""
        self._turn()
        both = self._current + self._previous
        rank = share * both.total()
        for bucket in sorted(both):
            rank -= both[bucket]
            if rank <= 0:
                return float(SMALLEST * GROWTH ** (bucket - 0.5))
        return 0.0

    def _turn(self) -> None:
        passed = self._clock() - self._turned_at
        if passed < HALF_WINDOW_SECONDS:
            return
        self._previous = self._current if passed < 2 * HALF_WINDOW_SECONDS else Counter()
        self._current = Counter()
        self._turned_at = self._clock()


PROBE_SECONDS = 1.0
LEAST_SAMPLES = 20


class AdmitStage:
    """Refuses a call with `TimedOut` if its tool's p95 latency, of at least `LEAST_SAMPLES` calls, exceeds the call's time
    left, so that a fallback answers at once. One call per tool and second is let through as a probe. If a probe takes less
    than half of its remaining time, the tool's recorded latencies are cleared."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sketches: dict[str, LatencySketch] = {}
        self._probed_at: dict[str, float] = {}

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        sketch = self._sketches.setdefault(call.name, LatencySketch(self._clock))
        left, started = call.required_deadline.remaining(), self._clock()
        probing = sketch.count() >= LEAST_SAMPLES and sketch.quantile(0.95) > left
        if probing:
            if started - self._probed_at.get(call.name, -PROBE_SECONDS) < PROBE_SECONDS:
                raise TimedOut("This would take longer than the time that is left.", retry_after_ms=1000)
            self._probed_at[call.name] = started
        try:
            outcome = await inner(call)
        except Failure:  # a timeout counts as a latency; a cancelled call measures nothing
            sketch.add(self._clock() - started)
            raise
        seconds = self._clock() - started
        if probing and seconds < left / 2:
            sketch = self._sketches[call.name] = LatencySketch(self._clock)
        sketch.add(seconds)
        return outcome


class DeadlineStage:
    """Cancels the inner stages at the call's deadline, or in a single flight at the flight's deadline. Raises `TimedOut`."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            async with asyncio.timeout((call.flight_deadline or call.required_deadline).remaining()):
                return await inner(call)
        except TimeoutError:
            raise TimedOut("This took too long and was stopped.", retry_after_ms=100) from None
