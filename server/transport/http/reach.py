"""How a request finds its session where several processes hold sessions."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive

Read = Callable[[Receive, str, Iterable[tuple[bytes, bytes]]], Awaitable[bytes | Response]]
"""Reads a whole body for a holder within bounds, or returns the refusal (`bodies.Bodies.read`)."""


class Reach:
    """A process alone: it serves the sessions that it holds. `own` is its name among several."""

    @property
    def own(self) -> str | None:
        return None

    def others(self) -> set[str]:
        """Returns the other processes that are known, without asking them."""
        return set()

    async def new_name(self) -> str:
        """Returns a name for a new stream. Where several processes serve sessions, first waits a moment until the others can
        reach this one."""
        return secrets.token_hex(16)

    def wrap_messages(self, own: ASGIApp, read: Read) -> ASGIApp:
        """Wraps the application for messages of SSE streams."""
        return own

    def wrap_sessions(self, own: ASGIApp, read: Read) -> ASGIApp:
        """Wraps the application for Streamable HTTP."""
        return own
