"""The report of a reload, and how `python -m server tools reload` asks a running server for one: by a Unix socket that only
its own user can open."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

logger = logging.getLogger(__name__)

QUESTION = b"reload\n"
IO_SECONDS = 1.0
ANSWER_SECONDS = 120.0
"""Seconds for the reload itself, which bounds each package."""
MOST_CLIENTS = 128
"""Most clients that wait for an answer; others wait to be accepted. They share reloads, so a flood causes a few."""

NONE_INSTALLED = "no package that is installed brings tools (entry point group manga_tools.tools)"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PackageReport:
    """The tools that are new, replaced by another version, and withdrawn; or why the package was `refused`, and the version
    that `stays`."""

    package: str
    version: str
    loaded: Sequence[str] = ()
    replaced: Sequence[str] = ()
    withdrawn: Sequence[str] = ()
    refused: str | None = None
    stays: str | None = None

    def __str__(self) -> str:
        if self.refused is not None:
            stays = f"; version {self.stays} stays" if self.stays is not None else ""
            return f"{self.package} {self.version}: refused: {self.refused}{stays}"
        done = {"loaded": self.loaded, "replaced": self.replaced, "withdrawn": self.withdrawn}
        changes = "; ".join(f"{what} {', '.join(names)}" for what, names in done.items() if names)
        return f"{self.package} {self.version}: {changes or 'brings no tools'}"


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """`problem` is why no package could be read."""

    packages: Sequence[PackageReport] = field(default_factory=tuple)
    problem: str | None = None

    @property
    def well(self) -> bool:
        return self.problem is None and not self.refused_packages

    @property
    def refused_packages(self) -> list[PackageReport]:
        return [each for each in self.packages if each.refused is not None]

    def __str__(self) -> str:
        return self.problem or "\n".join(map(str, self.packages)) or NONE_INSTALLED

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ReloadReport:
        return cls([PackageReport(**each) for each in value["packages"]], value["problem"])


Reload = Callable[[], Awaitable[ReloadReport]]
Reloads = Callable[[Reload], Coroutine[Any, Any, None]]
"""Answers requests for a reload until cancelled."""


class NoServer(Exception):
    """No server answers at the socket that the message names."""


class Coalesced(Generic[T]):
    """Runs `work` one at a time; requests during a run share the next one. `tasks` owns the runs, so that a caller that is
    cancelled cancels none."""

    def __init__(self, work: Callable[[], Awaitable[T]], tasks: asyncio.TaskGroup) -> None:
        self._work = work
        self._tasks = tasks
        self._one_at_a_time = asyncio.Lock()
        self._next: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        """Raises what the work raises."""
        if self._next is None:
            self._next = self._tasks.create_task(self._run())
        return await asyncio.shield(self._next)

    async def _run(self) -> T:
        async with self._one_at_a_time:
            self._next = None
            return await self._work()


def socket_path(host: str, port: int) -> Path:
    """Returns the socket of the server at host and port. Raises OSError without a folder for temporary files."""
    return Path(tempfile.gettempdir()) / f"manga-tools-{os.getuid()}" / f"{host}-{port}.sock"


async def answer_reloads(host: str, port: int, reload: Reload) -> None:
    """Runs until cancelled. Without a socket it logs that and does nothing: the flags document can still ask for reloads."""
    try:
        path = await asyncio.to_thread(socket_path, host, port)  # tempfile tries to write to its folder
        listener = _listening(path)
    except OSError as error:
        why = error.strerror or str(error)
        logger.warning("`python -m server tools reload` cannot reach this server, there is no socket: %s", why)
        await asyncio.get_running_loop().create_future()
        return
    with closing(listener):
        try:
            await _answer_all(listener, reload)
        finally:
            with suppress(OSError):
                path.unlink()


async def ask_to_reload(host: str, port: int) -> ReloadReport:
    """Raises `NoServer`, and `TimeoutError` when the reload takes too long."""
    loop, path, answer = asyncio.get_running_loop(), socket_path(host, port), b""
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        try:
            _check_own(path.parent)
            async with asyncio.timeout(ANSWER_SECONDS):
                await loop.sock_connect(client, str(path))
                await loop.sock_sendall(client, QUESTION)
                while (part := await loop.sock_recv(client, 2**16)) and len(answer) < 2**20:
                    answer += part
            return ReloadReport.from_json(json.loads(answer))
        except TimeoutError:
            raise
        except (OSError, ValueError, KeyError, TypeError):  # a server of another version words it otherwise
            raise NoServer(str(path)) from None


def _listening(path: Path) -> socket.socket:
    """Opens the socket, in place of a killed server's: only one process has the port. Raises OSError for another user's
    folder."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if stat.S_IMODE(_check_own(path.parent).st_mode) != 0o700:
        path.parent.chmod(0o700)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _check_own(folder: Path) -> os.stat_result:
    """Raises OSError for another user's folder, or a link: in /tmp anybody can create it first."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(0, f"{folder} belongs to somebody else")
    return found


async def _answer_all(listener: socket.socket, reload: Reload) -> None:
    loop, room = asyncio.get_running_loop(), asyncio.Semaphore(MOST_CLIENTS)
    async with asyncio.TaskGroup() as tasks:
        shared = Coalesced(reload, tasks)
        while True:
            await room.acquire()
            client, _ = await loop.sock_accept(listener)
            answered = tasks.create_task(_answer(client, shared))
            answered.add_done_callback(lambda _: room.release())


async def _answer(client: socket.socket, reload: Reload) -> None:
    """Answers one client, however it behaves."""
    loop = asyncio.get_running_loop()
    with client, suppress(OSError):  # TimeoutError is one
        async with asyncio.timeout(IO_SECONDS):
            asked = await loop.sock_recv(client, len(QUESTION))
        if asked == QUESTION:
            report = json.dumps((await reload()).as_json()).encode()
            async with asyncio.timeout(IO_SECONDS):
                await loop.sock_sendall(client, report)
