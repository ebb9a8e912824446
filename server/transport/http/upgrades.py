"""What an HTTP connection may turn into: by default nothing. A room of its own brings more."""

from __future__ import annotations

from typing import Any

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from server.transport.http.connection.connections import Connections


class Upgrades:
    """`most` is how many connections there may be beside those of HTTP."""

    most: int = 0

    def routes(self) -> list[BaseRoute]:
        """Lists what is served beside HTTP's own, behind the same gate."""
        return []

    def around(self, asgi: ASGIApp) -> ASGIApp:
        """Returns what serves both requests and what they turn into."""
        return asgi

    def options(self, connections: Connections) -> dict[str, Any]:
        """Returns what uvicorn has to be told of it."""
        return {"ws": "none"}

    async def close_all(self) -> None:
        """Ends what is open as it should end."""
