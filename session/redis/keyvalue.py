"""The narrow door to Redis: several commands at once, one trip; and behind its breaker, where each is bounded in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from session.failures import MemoryCircuitOpen, MemoryRefused, MemoryUnavailable, NodeUnavailable
from session.resilience.breaker import CircuitBreaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, Span
from session.scripts import Script

TRIP_SECONDS = 0.05
Argument = str | bytes | int
Reply = Any
"""bytes, int, list of replies, or None, as RESP2 has them."""


class Command(tuple[Argument, ...]):
    """One command as Redis takes it: `Command(("GET", key))`."""

    __slots__ = ()


class Evaluation:
    """One run of a script: atomic, over keys of one cluster slot."""

    __slots__ = ("arguments", "keys", "script")

    def __init__(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> None:
        self.script = script
        self.keys = tuple(keys)
        self.arguments = tuple(arguments)

    def by_digest(self) -> Command:
        return Command(("EVALSHA", self.script.digest, len(self.keys), *self.keys, *self.arguments))

    def by_text(self) -> Command:
        """Runs and remembers the script in one go: what to send where the digest is unknown."""
        return Command(("EVAL", self.script.text, len(self.keys), *self.keys, *self.arguments))


Step = Command | Evaluation


class KeyValue(Protocol):
    """Redis, Valkey or a cluster of them."""

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        """Sends all steps together and waits for every reply; an error reply stands in its place as `MemoryRefused`.

        Steps are independent: nothing is said about their order across keys. Raises `MemoryUnavailable` when the
        replies are not all there at the deadline. What was sent may still take effect.
        """
        ...

    async def aclose(self) -> None: ...


class GuardedRedis:
    """Trips of `TRIP_SECONDS` unless they say otherwise."""

    def __init__(self, redis: KeyValue, breaker: CircuitBreaker, clock: Clock) -> None:
        self._redis = redis
        self._breaker = breaker
        self._clock = clock

    async def trip(
        self, steps: Sequence[Step], seconds: float | None = None, span: Span | None = None, name: str = "trip"
    ) -> list[Reply]:
        """One bounded trip behind the breaker, noted within `span`. With an error reply nothing of it is used, but only
        one that is about Redis itself counts against it: what is wrong with one call's command takes nobody else's memory
        away. Raises `MemoryUnavailable`."""
        if span is None:
            return await self._trip(steps, seconds)
        with span.begin("redis", name, steps=len(steps)):
            return await self._trip(steps, seconds)

    async def _trip(self, steps: Sequence[Step], seconds: float | None) -> list[Reply]:
        if not self._breaker.allow_call():
            raise MemoryCircuitOpen("Redis is being left alone")
        started, era = self._clock(), self._breaker.era
        allowed = TRIP_SECONDS if seconds is None else seconds
        try:
            replies = await self._redis.trip(steps, Deadline.after(allowed, self._clock))
        except NodeUnavailable:
            self._breaker.record_ignored(era)
            raise
        except MemoryUnavailable as failure:
            if allowed <= self._clock() - started < TRIP_SECONDS:
                self._breaker.record_ignored(era)  # this call was in a hurry, which is not Redis's fault
            else:
                self._breaker.record_failure(era, str(failure))
            raise
        except BaseException:
            self._breaker.record_ignored(era)
            raise
        self._judge(replies, self._clock() - started, era)
        return replies

    def _judge(self, replies: Sequence[Reply | Exception], seconds: float, era: int) -> None:
        """Tells the breaker what came of a trip. Raises `MemoryUnavailable` for an error reply."""
        refusals = [reply for reply in replies if isinstance(reply, MemoryRefused)]
        if not refusals:
            self._breaker.record_success(seconds, era)
            return
        if any(refusal.of_redis_itself for refusal in refusals):
            self._breaker.record_failure(era, "Redis refused a command")
        else:
            self._breaker.record_ignored(era)
        raise MemoryUnavailable("Redis refused a command")
