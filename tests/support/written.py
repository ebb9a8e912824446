"""The other side of a connection, as bytes: no socket, so that all of it comes in one piece."""

from __future__ import annotations

import asyncio
from typing import Any


class Written(asyncio.Transport):
    """What was written, and whether the connection was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.protocol: Any = None

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: Any) -> None:
        if not self.closed:
            self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    @property
    def status(self) -> int:
        return int(self.written.split(b" ", 2)[1])
