from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive

Read = Callable[[Receive, str, Iterable[tuple[bytes, bytes]]], Awaitable[bytes | Response]]
"""Reads a whole body for a holder within limits, or returns the refusal (`bodies.Bodies.read`)."""


class SessionRouter:
    """Routes requests to the process that holds their session. This base class is for a single process, which holds all
    sessions. `own` is this process's name, None if it is the only process."""

    @property
    def own(self) -> str | None:
        return None

    def others(self) -> set[str]:
        """Returns the names of the other known processes, without a network round trip."""
        return set()

    async def new_name(self) -> str:
        """Returns a name for a new stream. Among several processes, an override first waits briefly until the others can
        reach this one."""
        return secrets.token_hex(16)

    def wrap(self, messages: ASGIApp, sessions: ASGIApp, read: Read) -> tuple[ASGIApp, ASGIApp]:
        """Returns the applications for SSE messages and for Streamable HTTP. With several processes, these forward requests
        for sessions of other processes, after reading the bodies with `read`."""
        return messages, sessions
