"""The processes of a run: the server with its Valkey, and the client."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.load.children import Child, python
from tests.load.open_loop.measured import CLIENT_LATE_MS, ClientTooLate, Measured
from tests.load.procfs import valkey_of
from tests.support.ports import free_port

STREAMS = 4
"""Agents beside the server, each with one stream for all of its customers."""
SEED = 20261122
WARMING_RATE = 60.0


@dataclass(frozen=True, slots=True)
class Rig:
    """`port` and processes of a server that is ready, and the client connected to it."""

    server: Child
    client: Child
    port: int
    watch: Mapping[str, int]
    client_late_ms: float = CLIENT_LATE_MS

    async def warm(self) -> None:
        """What many ask is asked once, and is cached then."""
        await self.once(WARMING_RATE, 1.0, 0.0, "warming")

    async def run(self, rate: float, seconds: float, settle: float, mix: str = "store", again: int = 1) -> Measured:
        """Keeps the rate for `settle`, which is not counted, and for `seconds`. A run in which the client was late, because
        the machine had other things to do, is made once more. Raises `ClientTooLate` after that."""
        measured = await self.once(rate, seconds, settle, mix)
        try:
            measured.refuse_when_client_was_late(self.client_late_ms)
        except ClientTooLate:
            if not again:
                raise
            return await self.run(rate, seconds, settle, mix, again - 1)
        return measured

    async def once(self, rate: float, seconds: float, settle: float, mix: str) -> Measured:
        name = uuid.uuid4().hex[:8]
        answer = await self.client.ask(
            "go",
            within=seconds + settle + 60,
            run=name,
            mix=mix,
            rate=rate,
            settle=settle,
            seconds=seconds,
            watch=dict(self.watch),
        )
        measured = Measured.of(rate, settle, answer)
        measured.refuse_when_wrong()
        return measured


@asynccontextmanager
async def rig(
    folder: Path,
    environment: Mapping[str, str],
    watch: Mapping[str, int] | None = None,
    client_late_ms: float = CLIENT_LATE_MS,
) -> AsyncIterator[Rig]:
    """`environment` is the server's, on top of its defaults; `watch` names further processes whose use is counted."""
    port = free_port()
    own = {"MANGA_PORT": str(port), "MANGA_LOG_TOOL_CALLS": "off"} | dict(environment)
    async with (
        python(folder, "server", "serve", "--with-parent", environment=own) as server,
        python(folder, "tests.load.open_loop.client", worker=True) as client,
    ):
        await server.serving(port)
        await client.ask("prepare", seed=SEED)
        await client.ask("connect", port=port, streams=STREAMS)
        valkey = valkey_of(server.pid)
        processes = {"server": server.pid} | ({"Valkey": valkey} if valkey else {}) | dict(watch or {})
        yield Rig(server, client, port, processes, client_late_ms)
        await client.ask("close")
