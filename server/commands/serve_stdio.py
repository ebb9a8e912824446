"""`python -m server stdio`: one client, whose process has started this one."""

from __future__ import annotations

import asyncio

from server.config.settings import Settings
from server.runtime.signals import first_of, on_signals
from server.telemetry.log.stderr import leave
from server.transport.lines import BoundedLines, private_stdin
from server.transport.stdio import OpenCalls, talk
from server.wiring import open_app


async def serve_stdio(settings: Settings) -> None:
    """Serves until stdin ends or a signal comes. The parent process is trusted to state the identity."""
    stop = asyncio.Event()
    on_signals(stop)
    calls, budget = OpenCalls(), settings.turn_budget_ms / 1000
    async with open_app(settings, local=True) as app:
        lines = BoundedLines(private_stdin(), settings.max_body_bytes)
        talking = asyncio.create_task(talk(app.protocol.mcp, lines, calls, budget, stop), name="stdio")
        await first_of(talking, stop)
        if talking.done():
            talking.result()
        elif not calls.ended:
            await calls.all_answered(budget)
    if not talking.done():
        leave(0)  # a thread still waits for a line of stdin, or for room in stdout, and the interpreter would wait for it
