"""One open stream, as the others who share the room for streams see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext

from server.transport.http.bounds.slots import Slot
from server.transport.http.sse.messages import Incoming, Outgoing

STREAM = "manga.stream"
"""Where a POST's scope says which stream it belongs to."""


@dataclass(slots=True, eq=False, kw_only=True)
class SseStream(Slot):
    """`owner` is the principal that opened it; to cancel `scope` ends its conversation."""

    owner: AuthorizationContext | None
    incoming: Incoming
    outgoing: Outgoing
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def busy(self) -> bool:
        return bool(self.outgoing.under_way)
