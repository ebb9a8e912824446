"""What an HTTP connection may turn into: by default nothing. A room of its own brings more."""

from __future__ import annotations

from typing import Any

from server.transport.http.beside import Beside
from server.transport.http.connection.connections import Connections


class Upgrades(Beside):
    """`most` is how many connections there may be beside those of HTTP; around them is what serves both requests and what
    they turn into."""

    most: int = 0

    def options(self, connections: Connections) -> dict[str, Any]:
        """Returns what uvicorn has to be told of it."""
        return {"ws": "none"}
