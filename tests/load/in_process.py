"""Variant D: the product's pipeline called in its own process, without MCP and without HTTP.

As a program a worker (see worker.py). It also answers the two questions that need calls by the ten thousand: does a call
cost more in an old session, and does it cost more when there are many?
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self
from unittest.mock import patch

from server import wiring
from server.application import Application
from server.backends.opening import open_redis
from server.call import CACHE, Call, Outcome, RequestMetadata
from server.config.settings import Settings
from session.redis.keyvalue import Reply, Step
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline
from tests.load.calls import ARGUMENTS, CALLS_A_TURN, TOOL, Turn, turns
from tests.load.worker import Worker

WARM_SECONDS = 20.0


class CountedTrips:
    """The real key-value store, with its trips counted."""

    def __init__(self, inner: Redis) -> None:
        self._inner = inner
        self.dialer = inner.dialer
        self.trips = 0

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        self.trips += 1
        return await self._inner.trip(steps, deadline)

    async def aclose(self) -> None:
        await self._inner.aclose()


class InProcess(Worker):
    def __init__(self, app: Application, counted: CountedTrips) -> None:
        self._app = app
        self._tool = app.registry.get(TOOL)
        self._counted = counted

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[Self]:
        opened: list[CountedTrips] = []

        async def counting(settings: Settings, stack: AsyncExitStack) -> CountedTrips:
            opened.append(CountedTrips(await open_redis(settings, stack)))
            return opened[0]

        with patch.object(wiring, "open_redis", counting):
            async with wiring.open_app(Settings.from_environment(os.environ)) as app:
                yield cls(app, *opened)

    async def warm(self) -> dict[str, Any]:
        """Until the answer comes from the cache: one that had to do without something (the first vector) is not kept."""
        deadline = Deadline.after(WARM_SECONDS)
        for turn in turns(f"warm-{uuid.uuid4().hex}", 0, 1):
            outcome, _ = await self._outcome(turn)
            if outcome.source == CACHE:
                break
            if deadline.expired():
                raise AssertionError(f"not from the cache: {outcome}")
            await asyncio.sleep(0.02)
        return {}

    async def go(self, callers: int, run: str, seconds: float = 0.0, calls: int = 0) -> dict[str, Any]:
        """Closed loop, as the clients' over the wire."""
        trips, began, used = self._counted.trips, time.perf_counter(), time.process_time()
        latencies: list[float] = []
        wrong: list[str] = []
        until = began + seconds

        async def caller(number: int) -> None:
            own = 0
            for turn in turns(run, number, callers):
                for _ in range(CALLS_A_TURN):
                    asked = time.perf_counter()
                    outcome, degraded = await self._outcome(turn)
                    latencies.append(time.perf_counter() - asked)
                    if outcome.source != CACHE or not outcome.has_succeeded or degraded:
                        wrong.append(f"{outcome.source}, {outcome.failure!r}, without {degraded}")
                    own += 1
                    if own >= calls and time.perf_counter() >= until:
                        return

        await asyncio.gather(*(caller(number) for number in range(callers)))
        return {
            "latencies": latencies,
            "seconds": time.perf_counter() - began,
            "cpu_ms": (time.process_time() - used) * 1000,
            "trips": self._counted.trips - trips,
            "wrong": len(wrong),
            "first_wrong": wrong[0] if wrong else None,
        }

    async def age(self, calls: int, sample: int) -> dict[str, Any]:
        """Medians of the first calls of a session and of the last ones of a session that has made so many, in turn. Each
        call is in a turn of its own, since turns are what a session could have too many of."""
        old = _alone(calls - sample)
        for turn in old:
            await self._call(turn)
        name = old[0].session
        took: list[tuple[float, float]] = []
        for number, young in enumerate(_alone(sample)):
            took.append((await self._call(young), await self._call(Turn(name, name, f"late-{number}"))))
        return {"young_ms": _median_ms([each for each, _ in took]), "old_ms": _median_ms([each for _, each in took])}

    async def fill(self, sessions: int) -> dict[str, Any]:
        """Makes so many sessions, each with one call in it."""
        everyone = turns(uuid.uuid4().hex, 0, 1, sessions)
        for _ in range(0, sessions, 16):
            await asyncio.gather(*(self._call(turn) for turn in itertools.islice(everyone, 16)))
        return {}

    async def round(self, sessions: int, calls: int) -> dict[str, Any]:
        """The median of calls that go round so many sessions."""
        step = sessions // 10 + 1
        took = [await self._call(turn) for turn in itertools.islice(turns(uuid.uuid4().hex, 0, step, sessions), calls)]
        return {"ms": _median_ms(took)}

    async def _call(self, turn: Turn) -> float:
        """How long it took. Raises `AssertionError` for a failure."""
        began = time.perf_counter()
        outcome, _ = await self._outcome(turn)
        took = time.perf_counter() - began
        if not outcome.has_succeeded:
            raise AssertionError(f"a call failed: {outcome.failure!r}")
        return took

    async def _outcome(self, turn: Turn) -> tuple[Outcome, set[str]]:
        assert self._tool is not None
        stated = RequestMetadata(session=turn.session, turn=turn.turn, user=turn.user)
        call = Call(uuid.uuid4().hex, self._tool, dict(ARGUMENTS), stated, time.monotonic(), transport="bench")
        return await self._app.pipeline.run(call), call.degraded


def _alone(calls: int) -> list[Turn]:
    """So many turns of a new session."""
    name = f"aged-{uuid.uuid4().hex}"
    return [Turn(name, name, f"turn-{number}") for number in range(calls)]


def _median_ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


if __name__ == "__main__":
    sys.exit(InProcess.main())
