"""Turns that are answered by real backends, for a flame graph: a server in production mode that keeps no results."""

from __future__ import annotations

import os
import signal
import uuid
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from tests.load.children import python
from tests.load.flame.sampled import unfolded
from tests.load.flame.sampler import Stack
from tests.load.stack import CUSTOMERS
from tests.load.stack_servers import NOTHING_KEPT, backends
from tests.load.stack_turns import UNCACHED
from tests.support.ports import free_port

CLIENTS = 4
"""Fewer than would open a breaker where backends and server share two cores."""
LONG = 600.0
SAMPLED = "tests.load.flame.sampled"


async def stack(folder: Path, seconds: float) -> tuple[Counter[Stack], int, float]:
    """Samples of the main thread, calls, and the seconds they took."""
    file, port = folder / "stack", free_port()
    async with AsyncExitStack() as opened:
        there = await opened.enter_async_context(backends(folder))
        load = await opened.enter_async_context(python(folder, "tests.load.stack_turns", worker=True))
        serving = (SAMPLED, str(file), "server.commands.cli", "serve", "--with-parent")
        environment = there.settings() | NOTHING_KEPT | {"MANGA_PORT": str(port)}
        async with python(folder, *serving, environment=environment) as server:
            await server.serving(port)
            run = uuid.uuid4().hex[:8]
            await load.ask("connect", port=port, kind=UNCACHED, clients=CLIENTS, run=run, customers=CUSTOMERS)
            await load.ask("warm", within=LONG)
            os.kill(server.pid, signal.SIGUSR1)
            answer = await load.ask("go", seconds=seconds, within=LONG)
            await load.ask("close")
    return unfolded(file.read_text("utf-8")), sum(map(len, answer["calls"])), answer["seconds"]
