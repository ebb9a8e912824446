"""The socket pair between supervisor and worker, and the sockets between workers.

The supervisor sends connections, a byte and a descriptor each; the worker sends reports. End of file means that the other is
gone.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.packages.reload_socket import Reload, ReloadReport, answer_reloads

CONNECTION = b"c"
REPORT = struct.Struct("!?I")


@dataclass(frozen=True, slots=True)
class Report:
    """Whether the worker takes connections, and how many it has."""

    takes: bool
    connections: int


class SupervisorEnd:
    """Never waits."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self._own = own
        self._received = b""

    def fileno(self) -> int:
        return self._own.fileno()

    def hand(self, connection: socket.socket) -> bool:
        """Sends a connection. False if the worker is hung or gone."""
        try:
            return socket.send_fds(self._own, [CONNECTION], [connection.fileno()]) > 0
        except OSError:
            return False

    def receive(self) -> Report | None:
        """Returns the newest report; None if there is none, or the worker is gone."""
        try:
            self._received += self._own.recv(64 * REPORT.size)
        except OSError:
            return None
        whole = len(self._received) // REPORT.size * REPORT.size
        reports, self._received = self._received[:whole], self._received[whole:]
        return Report(*REPORT.unpack(reports[-REPORT.size :])) if reports else None

    def close(self) -> None:
        self._own.close()


class WorkerEnd:
    """Never waits."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self._own = own

    def fileno(self) -> int:
        return self._own.fileno()

    def send(self, report: Report) -> None:
        """Drops the report if the supervisor does not read: another follows."""
        try:
            self._own.send(REPORT.pack(report.takes, report.connections))
        except OSError:
            return

    def take(self) -> socket.socket | None:
        """Returns a connection, or None when there is none now. Raises EOFError when the supervisor is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._own, len(CONNECTION), 1)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            raise EOFError from None
        if not data:
            raise EOFError
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        self._own.close()


def channel() -> tuple[SupervisorEnd, WorkerEnd]:
    above, below = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return SupervisorEnd(above), WorkerEnd(below)


ASK_SECONDS = 0.7
"""A peer that does not answer within it counts as one that is away. Its dependencies have half a second."""
RELOAD_SECONDS = 110.0
FIRST = 1
"""The number of the worker that answers `tools reload`."""
MOST_BYTES = 2**24
NOBODY = "No worker has answered in time: look at the server's log, and ask again."
Json = Any
Answer = Callable[[], Awaitable[Json]]


class Peers:
    """Asks all workers, this one included. `answers` has this worker's answer to each question."""

    def __init__(self, folder: Path, number: int, workers: int) -> None:
        self._folder = folder
        self._number = number
        self._numbers = range(1, workers + 1)
        self.answers: dict[str, Answer] = {}

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Answers the other workers' questions within the block."""
        path = self._socket(self._number)
        path.unlink(missing_ok=True)  # a predecessor's
        server = await asyncio.start_unix_server(self._answer, path)
        try:
            yield
        finally:
            server.close()

    async def ask_all(self, question: str, seconds: float = ASK_SECONDS) -> Mapping[int, Json]:
        """Returns the answers by worker number, None for workers that are away."""
        answers = await asyncio.gather(*(self._ask(number, question, seconds) for number in self._numbers))
        return dict(zip(self._numbers, answers, strict=True))

    def stored_answer(self, question: str, number: int) -> Path:
        """Returns the file in which a worker leaves an answer for its successor."""
        return self._folder / f"{question}-{number}.json"

    @property
    def number(self) -> int:
        return self._number

    async def answer_reloads(self, host: str, port: int, reload: Reload) -> None:
        """Reloads the packages of all workers when the first is asked."""

        async def own() -> Json:
            return (await reload()).as_json()

        async def everywhere() -> ReloadReport:
            reports = [
                ReloadReport.of_json(each) for each in (await self.ask_all("reload", RELOAD_SECONDS)).values() if each
            ]
            return next((each for each in reports if not each.well), reports[0] if reports else ReloadReport(problem=NOBODY))

        self.answers["reload"] = own
        if self._number == FIRST:
            await answer_reloads(host, port, everywhere)
        await asyncio.get_running_loop().create_future()

    async def _ask(self, number: int, question: str, seconds: float) -> Json:
        try:
            async with asyncio.timeout(seconds):
                if number == self._number:
                    return await self.answers[question]()
                return await self._asked(number, question)
        except (OSError, ValueError, KeyError):  # TimeoutError is one
            return None

    async def _asked(self, number: int, question: str) -> Json:
        reader, writer = await asyncio.open_unix_connection(self._socket(number), limit=MOST_BYTES)
        try:
            writer.write(f"{question}\n".encode())
            return json.loads(await reader.readline())
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                question = (await reader.readline()).decode().strip()
                writer.write(json.dumps(await self.answers[question]()).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError, KeyError):
            pass
        finally:
            writer.close()

    def _socket(self, number: int) -> Path:
        return self._folder / f"worker-{number}.sock"
