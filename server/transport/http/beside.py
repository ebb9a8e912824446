"""What is served beside MCP and the probes: by default nothing. A room of its own brings more."""

from __future__ import annotations

from starlette.routing import BaseRoute
from starlette.types import ASGIApp


class Beside:
    """One such room, as those see it who put the application together, start it and stop it."""

    def routes(self) -> list[BaseRoute]:
        """Lists what is served beside HTTP's own, behind the same gate."""
        return []

    def around(self, asgi: ASGIApp) -> ASGIApp:
        """Returns what serves the requests of both."""
        return asgi

    async def close_all(self) -> None:
        """Ends what is open as it should end."""
