"""What a supervisor and a worker say to each other, over a pair of sockets.

Down go connections, a descriptor and a byte each; up goes a `Report` now and then. Whoever reads the end of the other
knows that it is gone.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

CONNECTION = b"c"
REPORT = struct.Struct("!?I")


@dataclass(frozen=True, slots=True)
class Report:
    """Whether the worker takes connections, and how many it has."""

    takes: bool
    connections: int


class SupervisorEnd:
    """Never waits."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self._own = own
        self._heard = b""

    def fileno(self) -> int:
        return self._own.fileno()

    def hand(self, connection: socket.socket) -> bool:
        """Passes it on. False for a worker that takes nothing: it is hung, or gone."""
        try:
            return socket.send_fds(self._own, [CONNECTION], [connection.fileno()]) > 0
        except OSError:
            return False

    def hear(self) -> Report | None:
        """Returns the last thing that was said; None when nothing was, or nobody says anything any more."""
        try:
            self._heard += self._own.recv(64 * REPORT.size)
        except OSError:
            return None
        whole = len(self._heard) // REPORT.size * REPORT.size
        told, self._heard = self._heard[:whole], self._heard[whole:]
        return Report(*REPORT.unpack(told[-REPORT.size :])) if told else None

    def close(self) -> None:
        self._own.close()


class WorkerEnd:
    """Never waits."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self._own = own

    def fileno(self) -> int:
        return self._own.fileno()

    def tell(self, report: Report) -> None:
        """A supervisor that does not listen is not waited for: there is another report in a second."""
        try:
            self._own.send(REPORT.pack(report.takes, report.connections))
        except OSError:
            return

    def take(self) -> socket.socket | None:
        """Returns a connection, or None when there is none now. Raises EOFError when the supervisor is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._own, len(CONNECTION), 1)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            raise EOFError from None
        if not data:
            raise EOFError
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        self._own.close()


def channel() -> tuple[SupervisorEnd, WorkerEnd]:
    above, below = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return SupervisorEnd(above), WorkerEnd(below)
