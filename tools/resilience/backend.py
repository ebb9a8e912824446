"""One backend as calls see it: guarded by a breaker, a bulkhead, bounded retries and an attempt deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from session.breaker import Breaker, BreakerPolicy, BreakerState
from session.deadline import Clock, Deadline
from tools.failures import BackendFailure, CircuitOpen, DependencyFailure, Throttled, TimedOut
from tools.resilience.retry import Backoff, RetryBudget, RetryPolicy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackendPolicy:
    """`places` calls run at once, further ones wait for a place within their deadline. Seconds throughout."""

    slow_seconds: float
    attempt_seconds: float
    places: int = 64
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def telling_seconds(self) -> float:
        """An attempt that was cut off sooner than this says nothing: its caller was in a hurry. One that was cut off later,
        for whatever reason, says that the backend is slow."""
        return self.slow_seconds / 3


class Backend:
    """Runs attempts at a backend so that a bad one costs its callers little and is left alone until it is better.

    Only failures and lateness count against it: what is wrong with the caller's question is not the backend's fault, and an
    attempt that was cut off after hardly any time says nothing. Every operation run here is a read, or a write that may be
    told twice, so all of them may be repeated; one that was throttled is not.
    """

    def __init__(
        self,
        name: str,
        policy: BackendPolicy,
        clock: Clock = time.monotonic,
        on_change: Callable[[str, BreakerState, str], None] | None = None,
    ) -> None:
        self.name = name
        self.breaker = Breaker(name, BreakerPolicy(policy.slow_seconds), clock, on_change=on_change)
        self._policy = policy
        self._clock = clock
        self._places = asyncio.Semaphore(policy.places)
        self._budget = RetryBudget()
        self._backoff = Backoff(policy.retry)

    async def call(self, attempt: Callable[[Deadline], Awaitable[T]], deadline: Deadline) -> T:
        """The first attempt that succeeds before the deadline. Raises `BackendFailure`, or what the attempt raised."""
        self._budget.earn()
        for number in range(1, self._policy.retry.attempts + 1):
            try:
                return await self._attempt(attempt, deadline)
            except CircuitOpen:
                raise
            except BackendFailure as failure:
                pause = self._backoff.pause(number)
                if isinstance(failure, Throttled) or not self._may_repeat(number, pause, deadline):
                    if self.breaker.state is not BreakerState.CLOSED:  # this one has opened it: nobody is let through before
                        failure.retry_after_ms = max(failure.retry_after_ms or 0, self._rest_ms())
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _may_repeat(self, number: int, pause: float, deadline: Deadline) -> bool:
        left = deadline.remaining() - pause
        return number < self._policy.retry.attempts and left > self._policy.retry.base and self._budget.spend()

    async def _attempt(self, attempt: Callable[[Deadline], Awaitable[T]], deadline: Deadline) -> T:
        if deadline.expired():
            raise TimedOut(f"There was no time left to ask the {self.name} backend.", dependency=self.name)
        if not self.breaker.admits():
            raise CircuitOpen(
                f"The {self.name} backend is left alone for a moment after failures.",
                dependency=self.name,
                retry_after_ms=self._rest_ms(),
            )
        started, era = self._clock(), self.breaker.era
        try:
            result = await self._bounded(attempt, deadline.within(self._policy.attempt_seconds))
        except (TimedOut, asyncio.CancelledError):
            # The call's own deadline, and callers that leave, cancel an attempt before its time is up: a backend that hangs
            # would never be blamed if only its own timeout counted.
            if self._clock() - started < self._policy.telling_seconds:
                self.breaker.ignored(era)
            else:
                self.breaker.failed(era, "no answer in time")
            raise
        except BackendFailure as failure:
            self.breaker.failed(era, f"{failure.name}, {failure.message}")
            raise
        except BaseException:
            self.breaker.ignored(era)
            raise
        self.breaker.succeeded(self._clock() - started, era)
        return result

    def _rest_ms(self) -> int:
        """Until the breaker lets a call through: the rest of its pause, or the time that the probe under way may take."""
        if self.breaker.state is BreakerState.OPEN:
            return self.breaker.retry_after_ms()
        return round(self._policy.attempt_seconds * 1000)

    async def _bounded(self, attempt: Callable[[Deadline], Awaitable[T]], deadline: Deadline) -> T:
        try:
            async with asyncio.timeout(deadline.remaining()), self._places:
                return await attempt(deadline)
        except TimeoutError:
            raise TimedOut(f"The {self.name} backend did not answer in time.", dependency=self.name) from None
        except (OSError, EOFError):
            # Adapters translate their drivers' errors; this is the network speaking past one of them.
            raise DependencyFailure(f"The {self.name} backend cannot be reached.", dependency=self.name) from None
