"""A process of the chaos world: started, waited for, ended."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.chaos.backends import ROOT
from tests.support.process import until

LISTENING = re.compile(r"listening on (http://\S+)")
START_SECONDS = 60.0


@asynccontextmanager
async def running_module(
    module: str,
    *arguments: str,
    environment: Mapping[str, str],
    log: Path,
    piped: bool = False,
    python: str = sys.executable,
) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(python, "-m", module, *arguments),
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE if piped else output,
            stderr=output,
            limit=2**22,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            with suppress(TimeoutError):
                async with asyncio.timeout(10):
                    await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def listening(server: asyncio.subprocess.Process, log: Path) -> str:
    def found() -> bool:
        assert server.returncode is None, log.read_text()[-4000:]
        return LISTENING.search(log.read_text()) is not None

    await until(found, START_SECONDS, "the server's start")
    told = LISTENING.search(log.read_text())
    assert told is not None
    return told[1]
