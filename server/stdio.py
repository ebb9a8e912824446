"""One client over stdin and stdout: JSON lines on stdout, logs on stderr, the end at EOF."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from server.settings import Settings
from server.wiring import open_app


async def serve_stdio(settings: Settings) -> None:
    """Serves until stdin ends. The parent process is trusted to state the identity."""
    async with open_app(settings, local=True) as app, stdio_server() as (read, write):
        mcp = app.protocol.mcp
        await mcp.run(read, write, mcp.create_initialization_options())
