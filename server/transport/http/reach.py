"""How a request finds the session that it names, where there may be more than one process that holds sessions."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Receive

Read = Callable[[Receive, str, Iterable[tuple[bytes, bytes]]], Awaitable[bytes | Response]]
"""Reads a whole body for a holder, with the headers that it came with, within bounds; or what to answer instead
(`bounds.bodies.Bodies.read`)."""


class Reach(Protocol):
    """Each of the two applications may come back in front of itself, with whatever passes requests on."""

    @property
    def own(self) -> str | None:
        """What this process is called among those that can be reached; None where there are no others."""
        ...

    def others(self) -> set[str]:
        """Names those of whom it is known that they are there, without asking them."""
        ...

    async def name(self) -> str:
        """Names a stream that opens now, once all who have to find it can."""
        ...

    def messages(self, own: ASGIApp, read: Read) -> ASGIApp:
        """In front of what takes the messages of SSE streams."""
        ...

    def sessions(self, own: ASGIApp, read: Read) -> ASGIApp:
        """In front of what serves Streamable HTTP."""
        ...


class OwnSessions:
    """This process serves those that it holds, and knows of no others."""

    own: str | None = None

    def others(self) -> set[str]:
        return set()

    async def name(self) -> str:
        return secrets.token_hex(16)

    def messages(self, own: ASGIApp, read: Read) -> ASGIApp:
        return own

    def sessions(self, own: ASGIApp, read: Read) -> ASGIApp:
        return own
