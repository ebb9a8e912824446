"""How long others wait meanwhile: `python -m tests.fuzz.watch PORT TOKEN PID`, a process of its own, so that nothing is
measured of whoever does harm. It asks until its stdin ends, and then says what it saw as JSON.

A wait is counted without the time in which the server, or this process, was ready to run and the machine had no processor
for it (Linux, `/proc/PID/task/*/schedstat`): tests run beside other things.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.fuzz.healthy import Healthy
from tests.support.raw import ask
from tests.support.serving import ROOT

EVERY_SECONDS = 0.05
ORDER = 2
"""Of `Healthy.CALLS`: a customer's order."""


@dataclass
class Waits:
    """Seconds that each request waited, by what was asked for, and how long the machine had no time for it."""

    healthz: list[float] = field(default_factory=list)
    order: list[float] = field(default_factory=list)
    not_run: float = 0.0

    @property
    def longest_ms(self) -> dict[str, float]:
        asked = {"healthz": self.healthz, "order": self.order}
        return {name: round(1000 * max(seconds, default=0.0), 1) for name, seconds in asked.items()}


class Watch:
    def __init__(self, port: int, token: str, pid: int) -> None:
        self._port = port
        self._pid = pid
        self._healthy = Healthy(port, token)
        self.waits = Waits()

    async def run(self, stop: asyncio.Event) -> None:
        await self._healthy.learn()
        while not stop.is_set():
            await self._timed(self.waits.healthz, ask(self._port, "GET", "/healthz"))
            await self._timed(self.waits.order, self._healthy.asked(ORDER))
            await asyncio.sleep(EVERY_SECONDS)

    async def _timed(self, waits: list[float], asking: Awaitable[object]) -> None:
        loop = asyncio.get_running_loop()
        began, server, own = loop.time(), _put_off(self._pid), _put_off(os.getpid())
        await asking
        not_run = _longest_since(server, self._pid) + _longest_since(own, os.getpid())
        waits.append(max(0.0, loop.time() - began - not_run))
        self.waits.not_run += not_run


def _put_off(pid: int) -> dict[str, float]:
    """Seconds for which each thread of a process has been ready and not running; nothing where nobody counts them."""
    seconds: dict[str, float] = {}
    with suppress(OSError):  # the process ends
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, IndexError, ValueError):  # the thread ends
                seconds[thread.name] = int((thread / "schedstat").read_text("ascii").split()[1]) / 1e9
    return seconds


def _longest_since(before: Mapping[str, float], pid: int) -> float:
    """Of the thread that was put off longest: one that holds the interpreter's lock meanwhile holds up all others."""
    return max((seconds - before.get(thread, 0.0) for thread, seconds in _put_off(pid).items()), default=0.0)


@asynccontextmanager
async def watching(port: int, token: str, pid: int) -> AsyncIterator[Waits]:
    """What is in it at the end is what the others waited for the server `pid`."""
    waits = Waits()
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "tests.fuzz.watch", str(port), token, str(pid))
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=ROOT)
    try:
        yield waits
    finally:
        said, _ = await asyncio.wait_for(child.communicate(b""), 30)
        seen = Waits(**json.loads(said))
        waits.healthz, waits.order, waits.not_run = seen.healthz, seen.order, seen.not_run


async def main(port: int, token: str, pid: int) -> Waits:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), stop.set)
    watch = Watch(port, token, pid)
    await watch.run(stop)
    return watch.waits


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))))
