"""Routes requests to the process that holds their session, where several processes hold sessions."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive

Read = Callable[[Receive, str, Iterable[tuple[bytes, bytes]]], Awaitable[bytes | Response]]
"""Reads a whole body for a holder within limits, or returns the refusal (`bodies.Bodies.read`)."""


class SessionRouter:
    """Request routing of a single process, which serves its own sessions. `own` is its name among several, else None."""

    @property
    def own(self) -> str | None:
        return None

    def others(self) -> set[str]:
        """Returns the names of the other known processes, without a round trip."""
        return set()

    async def new_name(self) -> str:
        """Returns a name for a new stream. If several processes serve sessions, first waits a moment until the others can
        reach this one."""
        return secrets.token_hex(16)

    def wrap_messages(self, own: ASGIApp, read: Read) -> ASGIApp:
        """Returns the app for SSE messages; with several processes, one that forwards messages for their sessions."""
        return own

    def wrap_sessions(self, own: ASGIApp, read: Read) -> ASGIApp:
        """Returns the app for Streamable HTTP; with several processes, one that forwards requests of their sessions."""
        return own
