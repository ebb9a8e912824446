"""Which extensions of the protocol a client and this server share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp.server.session import ServerSession

from tools.primitives.extension import Extension

Json = dict[str, Any]


class Extensions:
    """Those that this server speaks. A client of the handshake era declares its own once, one of 2026 with each request."""

    def __init__(self, spoken: Iterable[Extension] = ()) -> None:
        self._spoken = {each.name: each for each in spoken}

    def understood(self, declared: Any) -> dict[str, Json]:
        """Keeps of what a client declares, in whatever form it came, what is used of it."""
        if not isinstance(declared, dict):
            return {}
        settings = {name: each.understood(declared[name]) for name, each in self._spoken.items() if name in declared}
        return {name: kept for name, kept in settings.items() if kept is not None}

    def shared_with(self, session: ServerSession) -> list[Extension]:
        """Lists those of which a client has declared something that can be used."""
        capabilities = session.client_capabilities
        return [self._spoken[name] for name in self.understood(capabilities.extensions if capabilities else None)]


NO_EXTENSIONS = Extensions()
