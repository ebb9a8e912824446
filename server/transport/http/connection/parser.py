"""HTTP/1.1 as h11 reads it, and what h11 lets pass."""

from __future__ import annotations

import re
from typing import Any

import h11

from server.transport.http.bounds.head_size import MOST_HEADER_BYTES, MOST_HEADERS, MOST_TARGET_BYTES

MOST_HEAD_BYTES = MOST_HEADER_BYTES + MOST_TARGET_BYTES
"""Of a head, or of what follows the last chunk, that is not whole yet."""
PIECE_BYTES = 8 * 1024
"""h11 bounds what is not whole, so that what comes in one piece passes: it is given small ones."""
MOST_CHUNKS = 1024
"""In one body. Each takes 7 µs: chunks of a byte cost a hundred times what other bytes do, before anybody has been asked
for a token."""
MOST_LINES = MOST_HEADERS + 2
HEAD_END = re.compile(rb"\n\r?\n")


class StrictParser(h11.Connection):
    """`refused` says what was wrong with a request that h11 would have taken."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MOST_HEAD_BYTES)
        self.refused: tuple[int, str] | None = None
        self._chunks = 0

    def next_event(self) -> Any:
        """Raises `h11.RemoteProtocolError`."""
        if self.their_state is h11.IDLE and _too_many_lines(self.trailing_data[0]):
            self._refuse(431, f"A request has at most {MOST_HEADERS} headers with {MOST_HEADER_BYTES} bytes.")
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                self._refuse(400, "Content-Length and Transfer-Encoding exclude each other.")
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > MOST_CHUNKS:
                self._refuse(400, f"A body comes in at most {MOST_CHUNKS} chunks.")
        return event

    def _refuse(self, status: int, sentence: str) -> None:
        self.refused = status, sentence
        raise h11.RemoteProtocolError(sentence, error_status_hint=status)


def _too_many_lines(received: bytes) -> bool:
    if len(received) <= MOST_LINES:
        return False
    end = HEAD_END.search(received)
    return received.count(b"\n", 0, end.end() if end else len(received)) > MOST_LINES
