"""Protocol of Redis clients that send commands and scripts in one round trip, and a client with a circuit breaker."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from session.failures import MemoryCircuitOpen, MemoryRefused, MemoryUnavailable, NodeUnavailable
from session.resilience.breaker import CircuitBreaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, Span
from session.scripts import Script

TRIP_SECONDS = 0.05
Argument = str | bytes | int
Reply = Any
"""A RESP2 reply: bytes, int, a list of replies, or None."""


class Command(tuple[Argument, ...]):
    """One Redis command and its arguments, such as `Command(("GET", key))`."""

    __slots__ = ()


@dataclass(slots=True, repr=False, eq=False)
class Evaluation:
    """One atomic run of a Lua script, whose keys must be in one cluster slot."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[Argument]

    def by_digest(self) -> Command:
        return Command(("EVALSHA", self.script.digest, len(self.keys), *self.keys, *self.arguments))

    def by_text(self) -> Command:
        """Returns the EVAL command, which also caches the script, for a Redis that does not know the script's digest."""
        return Command(("EVAL", self.script.text, len(self.keys), *self.keys, *self.arguments))


Step = Command | Evaluation


class KeyValue(Protocol):
    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        """Sends all commands and scripts together and returns their replies in order, an error reply as a
        `MemoryRefused`. Commands with the same key run in order; a script that Redis does not know is sent again, and so
        runs after the other steps. Raises `MemoryUnavailable`, also if replies are missing at the deadline; the steps may
        then still take effect."""
        ...

    async def aclose(self) -> None: ...


READS = frozenset(("GET", "HGET", "HGETALL", "LRANGE"))


def absent_if_mistyped(step: Step, reply: Reply | Exception) -> Reply | Exception:
    """Returns the reply; None if the step reads a key of another type, which the next write replaces."""
    mistyped = isinstance(reply, MemoryRefused) and str(reply).startswith("WRONGTYPE")
    return None if mistyped and isinstance(step, Command) and step[0] in READS else reply


class GuardedRedis:
    def __init__(self, redis: KeyValue, breaker: CircuitBreaker, clock: Clock) -> None:
        self._redis = redis
        self._breaker = breaker
        self._clock = clock

    async def trip(
        self, steps: Sequence[Step], seconds: float = TRIP_SECONDS, span: Span | None = None, name: str = "trip"
    ) -> list[Reply]:
        """Sends the steps within `seconds` and returns their replies. Records a child of `span` called `name`. Raises
        `MemoryUnavailable`, also while the circuit breaker is open and for an error reply. An error reply counts as a
        failure for the breaker only if it is about the state of Redis. A key of another type than a command reads counts as
        absent."""
        with nullcontext() if span is None else span.begin("redis", name, steps=len(steps)):
            if not self._breaker.allow_call():
                raise MemoryCircuitOpen("the circuit breaker of Redis is open")
            started, era = self._clock(), self._breaker.era
            try:
                replies = await self._redis.trip(steps, Deadline.after(seconds, self._clock))
            except MemoryUnavailable as failure:
                too_short = seconds <= self._clock() - started < TRIP_SECONDS  # less time than a round trip may take
                if too_short or isinstance(failure, NodeUnavailable):
                    self._breaker.record_ignored(era)
                else:
                    self._breaker.record_failure(era, str(failure))
                raise
            except BaseException:
                self._breaker.record_ignored(era)
                raise
            replies = list(map(absent_if_mistyped, steps, replies))
            refusals = [reply for reply in replies if isinstance(reply, MemoryRefused)]
            if not refusals:
                self._breaker.record_success(self._clock() - started, era)
                return replies
            if any(refusal.of_redis_itself for refusal in refusals):
                self._breaker.record_failure(era, "Redis refused a command")
            else:
                self._breaker.record_ignored(era)
            raise MemoryUnavailable("Redis refused a command")
