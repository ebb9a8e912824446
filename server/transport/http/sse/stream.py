"""One open stream, as the others who share the room for streams see it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.shared.message import SessionMessage

from server.transport.http.bounds.slots import Slot
from server.transport.http.sse.messages import Incoming, Outgoing

STREAM = "manga.stream"
"""Where a POST's scope says which stream it belongs to."""
TRANSPORT = "manga.transport"
"""Where a scope says how a stream is served, if not by SSE."""


@dataclass(slots=True, eq=False, kw_only=True)
class SseStream(Slot):
    """`owner` is the principal that opened it; `batches` tells whether the version that was agreed on has them; to cancel
    `scope` ends its conversation."""

    owner: AuthorizationContext | None
    incoming: Incoming
    outgoing: Outgoing
    batches: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def busy(self) -> bool:
        return bool(self.outgoing.under_way)

    async def take(self, messages: list[SessionMessage], errors: list[types.JSONRPCError]) -> None:
        """Gives the server what it is to read, and the client what is answered in its place."""
        for message in messages:
            self.incoming.put(message)
        for error in errors:
            with suppress(anyio.ClosedResourceError):  # it has ended meanwhile
                await self.outgoing.send(SessionMessage(error))
