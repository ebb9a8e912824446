"""Lines on their way to a place that may be slow, full or hung: whoever has something to say never waits for it."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

MOST_BYTES = 1024 * 1024
"""What may wait; a thousand lines of a call each take a third of it."""
BATCH_BYTES = 64 * 1024
NOT_TAKEN = "it does not take them as quickly as they come"

Written = Callable[[bool], None]
_Line = tuple[bytes, Written | None]


class Lines:
    """A bounded queue and the thread that writes what is in it. A line that finds no room, or that cannot be written, is
    dropped and counted.

    `lost` is told why when lines begin to be dropped, `found` how many were once one is written again. The thread is a
    daemon: a write that never returns holds up nobody, the end of the process included.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[bytes], None],
        lost: Callable[[str], None],
        found: Callable[[int], None],
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`write` takes whole lines on the thread; it may block, and raises OSError."""
        self._write, self._tell_lost, self._tell_found = write, lost, found
        self._most_bytes = most_bytes
        # Both may be entered again by whoever holds them: a finaliser that logs can run anywhere.
        self._queue: SimpleQueue[_Line | None] = SimpleQueue()
        self._lock = threading.RLock()
        self._waiting_bytes = 0
        self._lost_in_a_row = 0
        self._closed = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, line: bytes, written: Written | None = None) -> bool:
        """Tells whether there was room. `written` is told on the thread what became of the line."""
        with self._lock:
            room = not self._closed and self._waiting_bytes + len(line) <= self._most_bytes
            if room:
                self._waiting_bytes += len(line)
        if room:
            self._queue.put((line, written))
        else:
            self._drop(1, NOT_TAKEN)
        return room

    def close(self, seconds: float) -> None:
        """Takes no more, and gives what waits so long to be written."""
        self._closed = True
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._write(b"".join(line for line, _ in batch))
            except OSError as error:
                self._settle(batch, error)
            else:
                self._settle(batch, None)

    def _next(self) -> list[_Line]:
        """Returns what waits, as far as one write should hold; nothing at the end."""
        batch: list[_Line] = []
        size = 0
        line = self._queue.get()
        while line is not None:
            batch.append(line)
            size += len(line[0])
            if size >= BATCH_BYTES:
                return batch
            try:
                line = self._queue.get_nowait()
            except Empty:
                return batch
        if batch:
            self._queue.put(None)  # the end is for the next look
        return batch

    def _settle(self, batch: list[_Line], error: OSError | None) -> None:
        with self._lock:
            self._waiting_bytes -= sum(len(line) for line, _ in batch)
        if error is not None:
            self._drop(len(batch), error.strerror or type(error).__name__)
        elif lost := self._lost_in_a_row:
            self._lost_in_a_row = 0
            self._tell_found(lost)
        for _, written in batch:
            if written is not None:
                written(error is None)

    def _drop(self, lines: int, why: str) -> None:
        with self._lock:
            begins = self._lost_in_a_row == 0
            self._lost_in_a_row += lines
            self.dropped += lines
        if begins:
            self._tell_lost(why)


def write_all(fd: int, data: bytes) -> None:
    """Waits until all of it is taken. Raises OSError."""
    sent = 0
    while sent < len(data):
        sent += write_some(fd, data[sent:])


def write_some(fd: int, data: bytes) -> int:
    """Returns how many bytes were taken, at least one: waits for room also where the descriptor does not block, as others
    may have set it. Raises OSError."""
    while True:
        try:
            return os.write(fd, data)
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(fd, select.POLLOUT)
            waiting.poll()
