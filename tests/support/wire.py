"""A connection to an application without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from server.transport.http.connection import Connections
from tests.support.written import Written


def connected(made: Any, app: Any, connections: Connections, wire: Written | None = None) -> Written:
    """`made` is the class of the connection."""
    config = uvicorn.Config(app, lifespan="off", log_config=None)
    config.load()
    wire = wire or Written()
    wire.protocol = made(config, ServerState(), {}, all_connections=connections)
    wire.protocol.connection_made(wire)
    return wire


async def rounds() -> None:
    """Lets the application go on as far as it gets."""
    for _ in range(8):
        await asyncio.sleep(0)
