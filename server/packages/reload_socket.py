"""What a reload of the packages came to, and a way to the server that runs, for `python -m server tools reload`.

That way is a Unix socket that only its own user can open.
"""

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
READ_SECONDS = 1.0
WRITE_SECONDS = 1.0
ANSWER_SECONDS = 120.0
"""For the reload itself, which bounds each package."""
MOST_BYTES = 2**20
MOST_CLIENTS = 128
"""Who wait for an answer at once; others wait to be let in. They share a reload, so that a flood is a few of them."""

NONE_INSTALLED = "no package that is installed brings tools (entry point group manga_tools.tools)"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PackageReport:
    """The names of tools that are new, of those that another version took the place of, and of those that are gone; or why
    it was `refused`. `stays` is the version that goes on then."""

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
        told = "; ".join(f"{what} {', '.join(names)}" for what, names in done.items() if names)
        return f"{self.package} {self.version}: {told or 'brings no tools'}"


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """`problem` is why nothing could be looked at."""

    packages: Sequence[PackageReport] = field(default_factory=tuple)
    problem: str | None = None

    @property
    def well(self) -> bool:
        return self.problem is None and not self.refused

    @property
    def refused(self) -> list[PackageReport]:
        return [each for each in self.packages if each.refused is not None]

    def __str__(self) -> str:
        return self.problem or "\n".join(map(str, self.packages)) or NONE_INSTALLED

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> ReloadReport:
        return cls([PackageReport(**each) for each in value["packages"]], value["problem"])


Reload = Callable[[], Awaitable[ReloadReport]]
Reloads = Callable[[Reload], Coroutine[Any, Any, None]]
"""Has the packages reloaded for whoever asks, until it is cancelled."""


class NoServer(Exception):
    """Nobody answers; the message is where."""


class Coalesced(Generic[T]):
    """Runs one at a time. Whoever asks while one is under way shares the next, which begins after they have asked. `tasks`
    owns the runs: who goes away takes nothing from the others."""

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
    """Names the socket of the server that listens there. Raises OSError where there is no folder for temporary files."""
    return Path(tempfile.gettempdir()) / f"manga-tools-{os.getuid()}" / f"{host}-{port}.sock"


async def answer_reloads(host: str, port: int, reload: Reload) -> None:
    """Runs until cancelled; whoever asks during a reload shares the next. Where there can be no socket it says so and does
    nothing: the flags document still asks for reloads."""
    try:
        path = await asyncio.to_thread(socket_path, host, port)  # the first to ask for the folder tries to write there
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
    """Returns what it came to. Raises `NoServer`, and `TimeoutError` when that takes too long."""
    loop, path = asyncio.get_running_loop(), socket_path(host, port)
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        try:
            _check_own(path.parent)
            async with asyncio.timeout(ANSWER_SECONDS):
                await loop.sock_connect(client, str(path))
                await loop.sock_sendall(client, QUESTION)
                return ReloadReport.of_json(json.loads(await _all_of(client)))
        except TimeoutError:
            raise
        except (OSError, ValueError, KeyError, TypeError):  # a server of another version words it otherwise
            raise NoServer(str(path)) from None


def _listening(path: Path) -> socket.socket:
    """Opens it. What a server that was killed has left there goes: whoever has the port is the only one."""
    _private_folder(path.parent)
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


def _private_folder(folder: Path) -> None:
    """Makes it. Raises OSError for one that is somebody else's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if stat.S_IMODE(_check_own(folder).st_mode) != 0o700:
        folder.chmod(0o700)


def _check_own(folder: Path) -> os.stat_result:
    """Raises OSError for one that is somebody else's, or a link: in /tmp anybody can be there first."""
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
            answered = tasks.create_task(_answered(client, shared))
            answered.add_done_callback(lambda _: room.release())


async def _answered(client: socket.socket, reload: Reload) -> None:
    """Takes one, however it behaves."""
    loop = asyncio.get_running_loop()
    with client, suppress(OSError):  # TimeoutError is one
        async with asyncio.timeout(READ_SECONDS):
            asked = await loop.sock_recv(client, len(QUESTION))
        if asked == QUESTION:
            report = json.dumps((await reload()).as_json()).encode()
            async with asyncio.timeout(WRITE_SECONDS):
                await loop.sock_sendall(client, report)


async def _all_of(client: socket.socket) -> bytes:
    loop, found = asyncio.get_running_loop(), b""
    while (part := await loop.sock_recv(client, 2**16)) and len(found) < MOST_BYTES:
        found += part
    return found
