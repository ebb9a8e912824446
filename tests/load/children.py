"""Starting the processes of a measurement, talking to them, and ending every one of them."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 10.0
LONGEST_LINE = 64 * 2**20


class ChildFailed(RuntimeError):
    """A child ended or said nothing in time; the message holds the end of what it wrote to stderr."""


class Child:
    """A Python process of ours, its stderr in a file."""

    def __init__(self, process: asyncio.subprocess.Process, errors: Path) -> None:
        self._process = process
        self._errors = errors

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, do: str, *, within: float = 60.0, **arguments: Any) -> dict[str, Any]:
        """A command for a `Worker`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        return await self.answer(within)

    async def answer(self, within: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise self.failed("said nothing in time") from None
        if not line:
            raise self.failed("ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def listening(self, port: int) -> None:
        """Waits until the port takes connections."""
        for _ in range(int(START_SECONDS / 0.05)):
            if self._process.returncode is not None:
                raise self.failed("ended")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
        raise self.failed("did not listen")

    async def serving(self, port: int) -> None:
        """Waits until `GET /readyz` is answered with 200."""
        await self.listening(port)
        try:
            line = await self._asked_whether_ready(port)
        except (OSError, TimeoutError):
            raise self.failed("did not get ready") from None
        if b" 200 " not in line:
            raise self.failed(f"is not ready: {line!r}")

    async def _asked_whether_ready(self, port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        try:
            async with asyncio.timeout(START_SECONDS):
                return await reader.readline()
        finally:
            writer.close()

    def failed(self, what: str) -> ChildFailed:
        return ChildFailed(f"process {self.pid} {what}:\n{self._errors.read_text('utf-8', 'replace')[-3000:]}")


@asynccontextmanager
async def python(
    folder: Path, *arguments: str, worker: bool = False, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Child]:
    """`python -m ...` for as long as the block; a worker has said that it is ready before it begins."""
    errors = folder / f"{'-'.join(arguments).replace('/', '_')[:60]}.stderr"
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *arguments),
            cwd=ROOT,
            env={k: v for k, v in os.environ.items() if not k.startswith("MANGA_")} | dict(environment or {}),
            stdin=asyncio.subprocess.PIPE if worker else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if worker else stderr,
            stderr=stderr,
            limit=LONGEST_LINE,
        )
    child = Child(process, errors)
    try:
        if worker:
            await child.answer(START_SECONDS)
        yield child
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def end_with_parent() -> None:
    """Asks Linux for SIGTERM when the parent dies (prctl(2)), so that a killed benchmark leaves no server behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
