"""The open connections, and which of them keep the server waiting: for the rest of a request, or to take an answer.

uvicorn waits for both without end, so that a client that sends a byte now and then, or reads none, holds a socket and what
belongs to it for as long as it likes (Slowloris; CWE-400, CWE-772).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

REQUEST_SECONDS = 30.0
"""From its connection, or from the last answer, to the end of a request's body: a megabyte at 35 KB/s."""
ANSWER_SECONDS = 30.0
"""How long bytes of an answer may wait for a client that reads none."""


class Connected(Protocol):
    """A connection as far as it is kept count of."""

    def ask_to_hurry(self) -> None:
        """Its request took too long: says so, and closes."""

    def drop(self) -> None:
        """Closes at once, whatever was still to be said."""

    def refuse(self) -> None:
        """There is no room for it: says so, and closes."""


class Connections:
    """At most `most` at once. When one more comes, it takes the place of the one that has owed its request the longest,
    so that nobody keeps others out by connecting and saying nothing."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._open: set[Connected] = set()
        self._owing: OrderedDict[Connected, float] = OrderedDict()
        self._reading: OrderedDict[Connected, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Connected) -> None:
        if len(self._open) >= self._most:
            if not self._owing:
                connection.refuse()
                return
            longest, _ = self._owing.popitem(last=False)
            self.closed(longest)
            longest.drop()
        self._open.add(connection)
        self.awaited(connection)

    def awaited(self, connection: Connected) -> None:
        """A request is to come, or the rest of one."""
        self._owing[connection] = self._clock()
        self._owing.move_to_end(connection)

    def asked(self, connection: Connected) -> None:
        """Its request is whole."""
        self._owing.pop(connection, None)

    def unread(self, connection: Connected) -> None:
        """It does not take its answer as quickly as that is written."""
        self._reading.setdefault(connection, self._clock())

    def taken(self, connection: Connected) -> None:
        """It has taken all of it."""
        self._reading.pop(connection, None)

    def closed(self, connection: Connected) -> None:
        self._open.discard(connection)
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
