"""Discrete events: a clock, and places where work waits for its turn."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable

Then = Callable[[], None]


class Clock:
    """Seconds since the beginning. What is due at one moment happens in the order in which it was asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Then]] = []
        self._number = itertools.count()

    def after(self, seconds: float, then: Then) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._number), then))

    def run(self, until: float) -> None:
        """Lets everything happen that is due by then, and what follows from it."""
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, then = heapq.heappop(due)
            then()
        self.now = until


class Station:
    """`servers` that each do one thing at a time, first come, first served. `busy` adds up their seconds of work."""

    def __init__(self, clock: Clock, servers: int) -> None:
        self._clock = clock
        self.servers = servers
        self._at_work = 0
        self._queue: deque[tuple[float, Then]] = deque()
        self.busy = 0.0

    def use(self, seconds: float, then: Then) -> None:
        if self._at_work < self.servers:
            self._begin(seconds, then)
        else:
            self._queue.append((seconds, then))

    def _begin(self, seconds: float, then: Then) -> None:
        self._at_work += 1
        self.busy += seconds
        self._clock.after(seconds, lambda: self._done(then))

    def _done(self, then: Then) -> None:
        self._at_work -= 1
        if self._queue:
            self._begin(*self._queue.popleft())
        then()


class Piece:
    """Work that waits for its turn, or is at it."""

    __slots__ = ("begun", "left", "then")

    def __init__(self, seconds: float, then: Then) -> None:
        self.left = seconds
        self.then = then
        self.begun = False

    def give_up(self, instead: Then) -> None:
        """Has `instead` happen, and none of the work, unless that has begun."""
        if not self.begun:
            self.left, self.then = 0.0, _nothing
            instead()


class Interpreter:
    """One processor under one lock, as a Python process is: lanes (the event loop, a worker thread), each first come, first
    served, that share it equally while several have something to do (processor sharing). `busy` adds up the seconds of work."""

    def __init__(self, clock: Clock, lanes: int) -> None:
        self._clock = clock
        self._lanes: list[deque[Piece]] = [deque() for _ in range(lanes)]
        self._since = 0.0
        self._version = 0
        self.busy = 0.0

    def use(self, lane: int, seconds: float, then: Then) -> Piece:
        piece, waiting = Piece(seconds, then), self._lanes[lane]
        if not waiting:
            self._take_off_what_was_done()
            self._begin(piece)
        waiting.append(piece)
        if len(waiting) == 1:
            self._plan()
        return piece

    def _begin(self, piece: Piece) -> None:
        piece.begun = True
        self.busy += piece.left

    def _take_off_what_was_done(self) -> None:
        working = [lane for lane in self._lanes if lane]
        done = (self._clock.now - self._since) / max(1, len(working))
        for lane in working:
            lane[0].left -= done
        self._since = self._clock.now

    def _plan(self) -> None:
        self._version += 1
        working = [lane for lane in self._lanes if lane]
        if working:
            version, first = self._version, min(working, key=lambda lane: lane[0].left)
            self._clock.after(max(0.0, first[0].left * len(working)), lambda: self._finish(first, version))

    def _finish(self, lane: deque[Piece], version: int) -> None:
        if version != self._version:
            return  # something has changed since, and another moment was planned
        self._take_off_what_was_done()
        done = lane.popleft()
        if lane:
            self._begin(lane[0])
        self._plan()
        done.then()


def _nothing() -> None:
    """Nobody waits for it any more."""
