from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, RetryBudget, RetryPolicy
from tools.store.failures import BackendFailure, CircuitOpen, DependencyFailure, RequestRejected, Throttled, TimedOut

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackendPolicy:
    """The limits of a backend. A call of `slow_seconds` or more counts as slow; an attempt ends after `attempt_seconds`. At
    most `bulkhead` calls run at once; others wait within their deadline. An attempt that was cut off before `telling_share`
    of `slow_seconds` is no evidence of a slow backend, since its caller had little time. The share is below 1, since a tool
    may give the backend less time than `slow_seconds`."""

    slow_seconds: float
    attempt_seconds: float
    bulkhead: int = 64
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    telling_share: float = 0.8

    def shows_slowness(self, limit: float, used: float, *, left: bool) -> bool:
        """Returns True if an attempt that was cut off after `used` seconds is evidence of a slow backend. Time beyond
        `limit`, the attempt's limit in seconds, is ignored: this process was busy.

        If the caller cancelled the attempt (`left`), it counts only if it was slow or had used nine tenths of its limit,
        since a call's deadline often ends just before the attempt's."""
        used = min(used, limit)
        if used >= self.slow_seconds:
            return True
        return used >= self.telling_share * self.slow_seconds and (not left or used >= 0.9 * limit)


@dataclass(slots=True)
class AttemptTime:
    """The time of one attempt, without the wait for the bulkhead: `started` is None during that wait. `limit`: its limit in
    seconds."""

    clock: Clock
    limit: float
    started: float | None = None

    def begin(self, deadline: Deadline) -> None:
        self.started, self.limit = self.clock(), deadline.remaining()
        if deadline.span is not None:
            deadline.span.attributes["waited_ms"] = round((self.started - deadline.span.started) * 1000, 3)

    def used(self) -> float:
        """Returns the seconds used so far; 0 while the attempt waits for the bulkhead."""
        return 0.0 if self.started is None else self.clock() - self.started


class Backend:
    """Runs calls to a backend behind a circuit breaker, a bulkhead and bounded retries. Only failures and slowness count
    against the backend, not malformed requests or attempts cut off early. Operations must be idempotent, since failed calls
    are retried, except calls that the backend throttled or rejected."""

    def __init__(
        self,
        name: str,
        policy: BackendPolicy,
        clock: Clock = time.monotonic,
        on_change: Callable[[str, BreakerState, str], None] | None = None,
    ) -> None:
        self.name = name
        self.breaker = CircuitBreaker(name, BreakerPolicy(policy.slow_seconds), clock, on_change=on_change)
        self._policy = policy
        self._clock = clock
        self._places = asyncio.Semaphore(policy.bulkhead)
        self._budget = RetryBudget()

    async def call(self, attempt: Callable[[Deadline], Awaitable[T]], deadline: Deadline, operation: str = "call") -> T:
        """Returns the result of the first attempt that succeeds before the deadline. `operation` names each attempt's span.
        Raises `BackendFailure` (`TimedOut` at the deadline, `CircuitOpen`), or any other error of the attempt."""
        self._budget.earn()
        for number in range(1, self._policy.retry.attempts + 1):
            try:
                if deadline.span is None:
                    return await self._attempt(attempt, deadline)
                with deadline.span.begin("attempt", self.name, operation=operation, attempt=number) as span:
                    return await self._attempt(attempt, deadline.in_span(span))
            except (CircuitOpen, RequestRejected):
                raise
            except BackendFailure as failure:
                pause = self._policy.retry.pause(number)
                if isinstance(failure, Throttled) or not self._may_repeat(number, pause, deadline):
                    if self.breaker.state is not BreakerState.CLOSED:  # the breaker admits no call sooner
                        failure.retry_after_ms = max(failure.retry_after_ms or 0, self._retry_after_ms())
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _may_repeat(self, number: int, pause: float, deadline: Deadline) -> bool:
        left = deadline.remaining() - pause
        return number < self._policy.retry.attempts and left > self._policy.retry.base and self._budget.spend()

    async def _attempt(self, attempt: Callable[[Deadline], Awaitable[T]], deadline: Deadline) -> T:
        self._admit(deadline)
        era, given = self.breaker.era, deadline.within(self._policy.attempt_seconds)
        spent = AttemptTime(self._clock, given.remaining())
        try:
            result = await self._run_bounded(spent, attempt, given)
        except BaseException as error:
            self._count(error, spent, era)
            raise
        self.breaker.record_success(spent.used(), era)
        return result

    def _admit(self, deadline: Deadline) -> None:
        if deadline.expired():
            raise TimedOut(f"There was no time left to ask the {self.name} backend.", dependency=self.name)
        if not self.breaker.allow_call():
            raise CircuitOpen(
                f"The {self.name} backend is left alone for a moment after failures.",
                dependency=self.name,
                retry_after_ms=self._retry_after_ms(),
            )

    def _count(self, error: BaseException, spent: AttemptTime, era: int) -> None:
        """Records the error in the circuit breaker, as a failure only if the backend is at fault."""
        fault = None
        if isinstance(error, TimedOut | asyncio.CancelledError):
            left = isinstance(error, asyncio.CancelledError)
            if self._policy.shows_slowness(spent.limit, spent.used(), left=left):
                fault = "no answer in time"
        elif isinstance(error, BackendFailure) and not isinstance(error, RequestRejected):
            fault = f"{error.name}, {error.message}"
        if fault is None:
            self.breaker.record_ignored(era)
        else:
            self.breaker.record_failure(era, fault)

    def _retry_after_ms(self) -> int:
        """Returns the milliseconds until the circuit breaker may admit a call: the rest of its open period or, if it is half
        open, the limit of an attempt."""
        if self.breaker.state is BreakerState.OPEN:
            return self.breaker.retry_after_ms()
        return round(self._policy.attempt_seconds * 1000)

    async def _run_bounded(self, spent: AttemptTime, attempt: Callable[[Deadline], Awaitable[T]], deadline: Deadline) -> T:
        try:
            async with asyncio.timeout(deadline.remaining()), self._places:
                spent.begin(deadline)
                return await attempt(deadline)
        except TimeoutError:
            raise TimedOut(f"The {self.name} backend did not answer in time.", dependency=self.name) from None
        except (OSError, EOFError):
            # Adapters translate their drivers' errors; this is a network error that an adapter let through.
            raise DependencyFailure(f"The {self.name} backend cannot be reached.", dependency=self.name) from None


P = TypeVar("P")
NAMES = frozenset({"terms", "match_names"})
"""Look-ups that only help to parse a query. They may have a guard of their own, so that slow ones do not delay searches."""
UNGUARDED = frozenset({"health", "remember"})
"""Calls without a guard. `health` has to reach the backend: an open breaker would hide its recovery. `remember` writes
profile events in the background, one bounded batch at a time and without retries; it may take longer than a read."""


def guard_port(port: P, backend: Backend, names: Backend | None = None) -> P:
    """Returns `port` with its calls guarded by `backend`, except that `names`, if given, guards those in `NAMES`; those in
    `UNGUARDED` stay unguarded. Arguments have to be positional, the deadline last."""
    return cast(P, _GuardedPort(port, backend, names or backend))


class _GuardedPort:
    """A port with guarded calls. The last argument of each method is its deadline, which is shortened for each attempt."""

    def __init__(self, port: object, backend: Backend, names: Backend) -> None:
        self._port, self._backend, self._names = port, backend, names

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method.startswith("_"):
            raise AttributeError(method)  # no method of a port: Python's own look-ups, such as those of `copy`
        call: Callable[..., Awaitable[Any]] = getattr(self._port, method)
        if method in UNGUARDED:
            return call
        backend = self._names if method in NAMES else self._backend

        async def call_guarded(*arguments: Any) -> Any:
            *asked, deadline = arguments
            return await backend.call(lambda attempt: call(*asked, attempt), deadline, method)

        return call_guarded
