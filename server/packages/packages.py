"""Updates the registry from the installed packages, and reports each reload. `python -m server tools reload` requests a
reload from a running server, over a Unix socket that only the server's user can open."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from server.packages.loading import Loaded, Package, Refused, ReimportAttempt, find_packages, load, unload
from session.resilience.deadline import Deadline
from session.resilience.tasks import run_on_thread
from tools.registry import Registry
from tools.store.models import Health

QUESTION = b"reload\n"
IO_SECONDS = 1.0
ANSWER_SECONDS = 120.0
"""Timeout of a request for a reload, in seconds. Each package's import has its own (`IMPORT_SECONDS`)."""
MOST_CLIENTS = 128
"""Most clients served at once; further ones wait. Clients share reloads, so that a flood of clients causes few reloads."""

NONE_INSTALLED = "no package that is installed brings tools (entry point group manga_tools.tools)"


@dataclass(frozen=True, slots=True)
class PackageReport:
    """The result of one package. `loaded` tools are new, `replaced` tools were loaded again, and `withdrawn` tools are
    gone. If the package was refused, `refused` is the reason and `stays` the version that remains loaded."""

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
    """The result of a reload. `problem` is the reason if nothing was reloaded, such as an unreadable list; else None."""

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

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ReloadReport:
        return cls([PackageReport(**each) for each in value["packages"]], value["problem"])


Reload = Callable[[], Awaitable[ReloadReport]]
Reloads = Callable[[Reload], Coroutine[Any, Any, None]]
"""Serves requests for reloads until cancelled."""


class NoServer(Exception):
    """No server, or one of another version, answers at the socket that the message names."""


def socket_path(host: str, port: int) -> Path:
    """Returns the path of the server's socket. Raises OSError if there is no temporary folder."""
    return Path(tempfile.gettempdir()) / f"manga-tools-{os.getuid()}" / f"{host}-{port}.sock"


async def answer_reloads(host: str, port: int, reload: Reload) -> None:
    """Serves requests to reload until cancelled. Those that arrive during a reload share one following reload. If the socket
    cannot be opened, logs a warning and only waits."""
    one_at_a_time, begun, report = asyncio.Lock(), 0, ReloadReport()

    async def share_reload() -> ReloadReport:
        nonlocal begun, report
        begun_before = begun
        async with one_at_a_time:
            if begun == begun_before:
                begun += 1
                report = await reload()
            return report

    with ExitStack() as stack:
        try:
            path = await asyncio.to_thread(socket_path, host, port)  # on a thread: tempfile tests the folder by writing
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            _bind(listener, path)
        except OSError as error:
            why = error.strerror or str(error)
            logger.warning("`python -m server tools reload` cannot reach this server, there is no socket: %s", why)
            stack.close()
            await asyncio.get_running_loop().create_future()
            return
        try:
            loop, room = asyncio.get_running_loop(), asyncio.Semaphore(MOST_CLIENTS)
            async with asyncio.TaskGroup() as tasks:
                while True:
                    await room.acquire()
                    client, _ = await loop.sock_accept(listener)
                    tasks.create_task(_answer(client, share_reload)).add_done_callback(lambda _: room.release())
        finally:
            with suppress(OSError):
                path.unlink()


async def ask_to_reload(host: str, port: int) -> ReloadReport:
    """Requests a reload from the running server. Raises `NoServer`, or `TimeoutError` after `ANSWER_SECONDS`."""
    path = socket_path(host, port)
    try:
        _check_own(path.parent)
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(path, limit=2**20)
            with closing(writer):
                writer.write(QUESTION)
                return ReloadReport.from_json(json.loads(await reader.readline()))
    except TimeoutError:
        raise
    except (OSError, ValueError, KeyError, TypeError):  # or a server of another version with another format
        raise NoServer(str(path)) from None


def _bind(listener: socket.socket, path: Path) -> None:
    """Listens on a socket at `path`, and replaces one that a killed server has left. No other server can be using it, since
    `path` names the TCP port that this server holds. Raises OSError, also if the folder is another user's."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    _check_own(path.parent)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()
    listener.setblocking(False)


def _check_own(folder: Path) -> None:
    """Raises OSError if the folder is a link or another user's: anyone can create it in /tmp."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(0, f"{folder} belongs to somebody else")


async def _answer(client: socket.socket, reload: Reload) -> None:
    loop = asyncio.get_running_loop()
    with client, suppress(OSError):  # TimeoutError is an OSError
        async with asyncio.timeout(IO_SECONDS):
            asked = await loop.sock_recv(client, len(QUESTION))
        if asked == QUESTION:
            report = json.dumps(asdict(await reload())).encode()
            async with asyncio.timeout(IO_SECONDS):
                await loop.sock_sendall(client, report)


logger = logging.getLogger(__name__)
T = TypeVar("T")

IMPORT_SECONDS = 10.0


class Packages:
    """Loads, replaces and withdraws each package's tools as a unit. If a package is refused, its last version stays loaded.
    Packages are imported one at a time. An import that hangs cannot be stopped: the package's earlier modules are restored,
    and no package is imported until the import ends."""

    def __init__(self, registry: Registry, import_seconds: float = IMPORT_SECONDS) -> None:
        self._registry, self._seconds = registry, import_seconds
        self._hanging: tuple[Package, Future[Any]] | None = None
        self._own_modules = frozenset(sys.modules)
        self._loaded: dict[str, Loaded] = {}
        self._refused: dict[str, Refused] = {}
        self._one_at_a_time = asyncio.Lock()
        self._wanted = asyncio.Event()

    async def reload(self) -> ReloadReport:
        """Imports every installed package again, and withdraws the tools of removed packages. Reports every package."""
        async with self._one_at_a_time:
            try:
                packages = await self._wait_for(run_on_thread(find_packages, "packages"))
            except Exception as error:
                refused = Refused.from_error("the packages that are installed cannot be read: nothing was changed", error)
                self._refuse("the packages", refused, refused.whole)
                return ReloadReport(problem=refused.whole)
            gone = sorted({*self._loaded, *self._refused} - {each.name for each in packages})
            withdrawn = [report for name in gone if (report := self._withdraw(name))]
            return ReloadReport([*withdrawn, *[await self._reload(each) for each in packages]])

    def reload_soon(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        """Reloads whenever `reload_soon` was called, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.reload()

    async def health(self, deadline: Deadline) -> Health:
        """Reports the refusals of the last reload, without the messages of packages' own exceptions."""
        reasons = "; ".join(f"{name}: {each.reason}" for name, each in self._refused.items())
        return Health(not reasons, reasons)

    async def _load(self, package: Package, others: Collection[str]) -> Loaded:
        if self._hanging is not None and not self._hanging[1].done():
            raise Refused(f"the import of {self._hanging[0]} has not ended: mend that package and start the server again")
        imports = ReimportAttempt()
        try:
            with redirect_stdout(sys.stderr):  # stdout is for the protocol, or for a command's output
                work = run_on_thread(
                    partial(load, package, self._registry.compile_tool, others, imports), f"import of {package}"
                )
                return await self._wait_for(work)
        except TimeoutError:
            imports.abandon()
            self._hanging = (package, work)
            raise Refused(f"its import takes more than {self._seconds:g} s: leave work to the handlers") from None
        except asyncio.CancelledError:
            imports.abandon()
            raise

    async def _wait_for(self, work: Future[T]) -> T:
        async with asyncio.timeout(self._seconds):
            return await asyncio.wrap_future(work)

    async def _reload(self, package: Package) -> PackageReport:
        last = self._loaded.get(package.name)
        try:
            # The server's modules, which were imported before any package's, and those of other packages.
            others = (each.imports.roots for name, each in self._loaded.items() if name != package.name)
            loaded = await self._load(package, self._own_modules.union(*others))
            self._check_names(loaded)
        except Refused as refused:
            stays = last.package.version if last else None
            report = PackageReport(package.name, package.version, refused=refused.whole, stays=stays)
            self._refuse(package.name, refused, str(report))
            return report
        report = self._take(loaded, last)
        logger.info("tools of %s", report)
        return report

    def _check_names(self, loaded: Loaded) -> None:
        package = loaded.package.name
        for name in loaded.names:
            other = self._registry.current(name)
            if name in self._registry.built_in or (other is not None and other.package != package):
                loaded.imports.undo()
                whose = f"tool of {other.package}" if other is not None and other.package else "built-in tool"
                raise Refused(f"{name} is the name of a {whose}: give it another")

    def _take(self, loaded: Loaded, last: Loaded | None) -> PackageReport:
        package, names = loaded.package, loaded.names
        before = [name for name in last.names if name in self._registry] if last else []
        gone = [name for name in before if name not in names]
        self._registry.exchange({each.tool.name: each for each in loaded.tools}, gone)
        loaded.imports.commit()
        self._loaded[package.name] = loaded
        self._refused.pop(package.name, None)
        new, replaced = ([name for name in names if (name in before) is known] for known in (False, True))
        return PackageReport(package.name, package.version, new, replaced, gone)

    def _withdraw(self, name: str) -> PackageReport | None:
        self._refused.pop(name, None)
        last = self._loaded.pop(name, None)
        if last is None:
            return None
        self._registry.exchange({}, last.names)
        unload(last.imports.roots)
        report = PackageReport(name, last.package.version, withdrawn=last.names)
        logger.info("tools of %s", report)
        return report

    def _refuse(self, name: str, refused: Refused, line: str) -> None:
        last = self._refused.get(name)
        self._refused[name] = refused
        if last is None or last.whole != refused.whole:
            logger.warning("tools of a package were not taken: %s", line)
