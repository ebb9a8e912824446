"""The open connections, and which of them keep the server waiting: for the rest of a request, or to take an answer.

uvicorn waits for both without end, so that a client that sends a byte now and then, or reads none, holds a socket and what
belongs to it for as long as it likes (Slowloris; CWE-400, CWE-772).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from operator import itemgetter
from typing import Protocol

REQUEST_SECONDS = 30.0
"""From its first byte, for the first request from the connection on, to the end of its body: a megabyte at 35 KB/s."""
ANSWER_SECONDS = 30.0
"""How long bytes of an answer may wait for a client that reads none."""
FOR_PROBES = 8
"""Connections beyond all others: who asks whether a full server lives must not be told that it does not."""


class Connected(Protocol):
    """A connection as far as it is kept count of."""

    def ask_to_hurry(self) -> None:
        """Its request took too long: says so, and closes."""

    def drop(self) -> None:
        """Closes at once, whatever was still to be said."""

    def refuse(self) -> None:
        """There is no room for it: says so, and closes."""

    def serve_probes_only(self) -> None:
        """Refuses all but probes, whenever it is asked."""


class Connections:
    """At most `most` at once, and a few for probes. When one more comes, it takes the place of the one that has kept
    the server waiting for the longest: for another request, for the rest of one, or to take an answer. Nobody keeps
    others out by connecting and saying or hearing nothing, and whoever has just been answered does not lose its place
    to those who never asked."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._open: set[Connected] = set()
        self._idle: OrderedDict[Connected, float] = OrderedDict()
        self._owing: OrderedDict[Connected, float] = OrderedDict()
        self._reading: OrderedDict[Connected, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def held(self) -> int:
        """How many would not give their place to another."""
        return len(self._open) - len({*self._idle, *self._owing, *self._reading})

    def opened(self, connection: Connected) -> None:
        if len(self._open) >= self.most:
            longest = self._yielding()
            if longest is not None:
                self.closed(longest)
                longest.drop()
            elif len(self._open) >= self.most + FOR_PROBES:
                connection.refuse()
                return
            if len(self._open) >= self.most:
                connection.serve_probes_only()
        self._open.add(connection)
        self.awaited(connection)

    def _yielding(self) -> Connected | None:
        longest = [next(iter(since.items())) for since in (self._idle, self._owing, self._reading) if since]
        return min(longest, key=itemgetter(1))[0] if longest else None

    def idle(self, connection: Connected) -> None:
        """It has its answer, and may stay for another request, but not for ever: that is left to keep-alive."""
        self._idle[connection] = self._clock()

    def awaited(self, connection: Connected) -> None:
        """It owes a request, or the rest of one."""
        self._idle.pop(connection, None)
        self._owing.setdefault(connection, self._clock())

    def asked(self, connection: Connected) -> None:
        """Its request is whole."""
        self._idle.pop(connection, None)
        self._owing.pop(connection, None)

    def unread(self, connection: Connected) -> None:
        """It does not take its answer as quickly as that is written."""
        self._reading.setdefault(connection, self._clock())

    def taken(self, connection: Connected) -> None:
        """It has taken all of it."""
        self._reading.pop(connection, None)

    def closed(self, connection: Connected) -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._owing.pop(connection, None)
        self._reading.pop(connection, None)

    def close_overdue(self) -> None:
        """Ends those that took too long; to be called every second or so."""
        for connection in _overdue(self._owing, self._clock() - REQUEST_SECONDS):
            connection.ask_to_hurry()
            self.asked(connection)
            self.unread(connection)  # an answer that says so may find no reader either
        for connection in _overdue(self._reading, self._clock() - ANSWER_SECONDS):
            connection.drop()
            self.taken(connection)


def _overdue(since: OrderedDict[Connected, float], latest: float) -> list[Connected]:
    found = []
    for connection, began in since.items():
        if began > latest:
            break
        found.append(connection)
    return found
