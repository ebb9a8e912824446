"""One task: a Python process with its event loop and a worker thread, and what it does when a backend is away."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from server.stages.admission import StandingQueue
from tests.load.fleet.engine import Clock, Interpreter
from tests.load.fleet.inputs import Kind, Mode, Own

LOOP, THREAD, LANES = 0, 1, 2
Z99 = 2.3263478740408408
"""Of the normal distribution."""
BEFORE = 0.3
"""Of a call's own work: what is done before it is let in and asks anybody."""
ANSWERED, REFUSED, LOST = "answered", "refused", "lost"
Told = Callable[[str, bool], None]
"""Hears how a call ended, and whether something was missing from its answer."""


@dataclass(slots=True)
class World:
    """What all tasks share: the clock, the draws, and which backends are away."""

    clock: Clock
    draw: random.Random
    mode: Mode
    rules: Mapping[str, Any]
    away: set[str] = field(default_factory=set)

    def milliseconds(self, mean: float, spread: float) -> float:
        """Seconds of work, lognormal around a mean of so many ms."""
        return mean * math.exp(spread * self.draw.gauss(0, 1) - spread * spread / 2) / 1000

    def own_seconds(self, own: Own) -> float:
        spread = math.log(own.p99 / own.p50) / Z99
        return own.p50 * math.exp(spread * self.draw.gauss(0, 1)) / 1000

    def patience(self, backend: str) -> float:
        """Seconds after which a question to one that hangs is given up."""
        return float(self.rules["redis_trip_ms" if backend == "redis" else "opensearch_attempt_ms"]) / 1000


class Task:
    """`under_way` counts its calls. `dead` once its zone has gone."""

    def __init__(self, world: World, zone: int) -> None:
        self._world = world
        self.zone = zone
        self.dead = False
        self.under_way = 0
        self.processor = Interpreter(world.clock, LANES)
        self._queue = StandingQueue(lambda: world.clock.now)
        self._failures: dict[str, int] = {}

    def gives_up_on(self, backend: str) -> bool:
        """Tells whether its breaker is open."""
        away = backend in self._world.away
        return away and self._failures.get(backend, 0) >= self._world.rules["breaker_failures"]

    def call(self, kind: Kind, told: Told) -> None:
        _CallOnItsWay(self._world, self, kind, told).begin()

    def refuses(self, waited: float) -> bool:
        full = self.under_way >= self._world.rules["most_concurrent_calls"]
        return self._queue.should_refuse(1000 * waited) or full

    def opens(self, backend: str) -> None:
        """Has its breaker be open."""
        self._failures[backend] = self._world.rules["breaker_failures"]

    def failed(self, backend: str) -> None:
        self._failures[backend] = self._failures.get(backend, 0) + 1


class _CallOnItsWay:
    """Loop, backends with the loop between them, thread, loop: each waits its turn."""

    def __init__(self, world: World, task: Task, kind: Kind, told: Told) -> None:
        self._world, self._task, self._told = world, task, told
        self._arrived = world.clock.now
        self._kind = kind
        self._left = list(kind.asks)
        self._slices = len(kind.asks) + 1
        self._degraded = False

    def begin(self) -> None:
        self._loop(BEFORE, self._admitted)

    def _loop(self, share: float, then: Callable[[], None]) -> None:
        seconds = share * self._world.milliseconds(self._kind.loop_ms, self._kind.spread)
        self._task.processor.use(LOOP, seconds, lambda: self._unless_lost(then))

    def _unless_lost(self, then: Callable[[], None]) -> None:
        if self._task.dead:
            self._told(LOST, True)
        else:
            then()

    def _admitted(self) -> None:
        if self._task.refuses(self._world.clock.now - self._arrived):
            self._told(REFUSED, True)
            return
        self._task.under_way += 1
        self._next()

    def _next(self) -> None:
        if self._left:
            self._ask(self._left.pop(0))
        elif self._kind.thread_ms:
            self._think()
        else:
            self._loop((1 - BEFORE) / self._slices, self._answer)

    def _ask(self, backend: str) -> None:
        world, task = self._world, self._task
        if backend not in world.away:
            wait = world.own_seconds(world.mode.backends[backend])
        else:
            self._degraded = True
            wait = 0.0 if task.gives_up_on(backend) else world.patience(backend)
            task.failed(backend)
            if backend != "redis":
                self._left = [each for each in self._left if each == "redis"]  # the fallback answers
        go_on = (1 - BEFORE) / self._slices
        world.clock.after(wait, lambda: self._unless_lost(lambda: self._loop(go_on, self._next)))

    def _think(self) -> None:
        world = self._world
        seconds = world.milliseconds(self._kind.thread_ms, self._kind.spread)
        back = lambda: self._loop((1 - BEFORE) / self._slices, self._answer)  # noqa: E731
        piece = self._task.processor.use(THREAD, seconds, back)

        def without() -> None:
            self._degraded = True
            back()

        world.clock.after(world.mode.patience_ms / 1000, lambda: piece.give_up(without))

    def _answer(self) -> None:
        self._task.under_way -= 1
        self._told(ANSWERED, self._degraded)
