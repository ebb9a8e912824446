"""Keeps the registry as the packages that are installed say."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Collection
from concurrent.futures import Future
from contextlib import redirect_stdout
from functools import partial
from typing import Any, TypeVar

from server.packages.loading import FreshImports, Loaded, Made, Package, Refused, forget, installed, load
from server.packages.reload_socket import PackageReport, ReloadReport
from server.runtime.background import run_on_thread
from session.resilience.deadline import Deadline
from tools.registry import Registry
from tools.store.models import Health

logger = logging.getLogger(__name__)

IMPORT_SECONDS = 10.0
DISCOVERY = "the packages"
T = TypeVar("T")


class Importer:
    """One package at a time. Nobody can stop a thread: one that hangs in an import is left alone, the modules that were
    there are put back, and nothing more is imported as long as it hangs."""

    def __init__(self, made: Made, seconds: float = IMPORT_SECONDS) -> None:
        self._made = made
        self._seconds = seconds
        self._hanging: tuple[Package, Future[Any]] | None = None

    async def installed(self) -> list[Package]:
        """Raises `Refused`."""
        try:
            return await self._in_time(run_on_thread(installed, "packages"))
        except Exception as error:
            raise Refused.by("the packages that are installed cannot be read: nothing was changed", error) from None

    async def load(self, package: Package, others: Collection[str]) -> Loaded:
        """`others` are modules that are somebody else's. Raises `Refused`, with everything as it was."""
        if self._hanging is not None and not self._hanging[1].done():
            raise Refused(f"the import of {self._hanging[0]} has not ended: mend that package and start the server again")
        imports = FreshImports()
        try:
            with redirect_stdout(sys.stderr):  # stdout is the protocol's, or a command's
                work = run_on_thread(partial(load, package, self._made, others, imports), f"import of {package}")
                return await self._in_time(work)
        except TimeoutError:
            imports.abandon()
            self._hanging = (package, work)
            raise Refused(f"its import takes more than {self._seconds:g} s: leave work to the handlers") from None
        except asyncio.CancelledError:
            imports.abandon()
            raise

    async def _in_time(self, work: Future[T]) -> T:
        """Raises `TimeoutError`."""
        waiting = asyncio.wrap_future(work)
        done, _ = await asyncio.wait({waiting}, timeout=self._seconds)
        if not done:
            waiting.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody waits to hear of it
            raise TimeoutError
        return waiting.result()


class Packages:
    """Loads, replaces and withdraws a package's tools together. One that is refused changes nothing: its last version stays,
    with its tools and its modules."""

    def __init__(self, registry: Registry, import_seconds: float = IMPORT_SECONDS) -> None:
        self._registry = registry
        self._importer = Importer(registry.made, import_seconds)
        self._servers = frozenset(sys.modules)
        self._loaded: dict[str, Loaded] = {}
        self._refused: dict[str, Refused] = {}
        self._one_at_a_time = asyncio.Lock()
        self._wanted = asyncio.Event()

    async def reload(self) -> ReloadReport:
        """Imports anew every package that is installed, and withdraws what is gone."""
        async with self._one_at_a_time:
            try:
                packages = await self._importer.installed()
            except Refused as refused:
                self._refuse(DISCOVERY, refused, refused.whole)
                return ReloadReport(problem=refused.whole)
            gone = sorted({*self._loaded, *self._refused} - {each.name for each in packages})
            withdrawn = [report for name in gone if (report := self._withdraw(name))]
            return ReloadReport([*withdrawn, *[await self._reload(each) for each in packages]])

    def reload_soon(self) -> None:
        """Has `keep` do it."""
        self._wanted.set()

    async def keep(self) -> None:
        """Runs until cancelled, and reloads when somebody wants it."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.reload()

    async def health(self, deadline: Deadline) -> Health:
        """How the last load went; asks nobody. What a package's own code has said is not for everybody."""
        told = "; ".join(f"{name}: {each.reason}" for name, each in self._refused.items())
        return Health(not told, told)

    async def _reload(self, package: Package) -> PackageReport:
        last = self._loaded.get(package.name)
        try:
            loaded = await self._importer.load(package, self._others(package.name))
            self._check_names(loaded)
        except Refused as refused:
            stays = last.package.version if last else None
            report = PackageReport(package.name, package.version, refused=refused.whole, stays=stays)
            self._refuse(package.name, refused, str(report))
            return report
        report = self._take(loaded, last)
        logger.info("tools of %s", report)
        return report

    def _others(self, name: str) -> frozenset[str]:
        """Returns the modules that were imported before any package was, and those of other packages. What one package has
        imported of another before that was loaded itself is none of them."""
        return self._servers.union(*(each.imports.roots for other, each in self._loaded.items() if other != name))

    def _check_names(self, loaded: Loaded) -> None:
        """Raises `Refused` for a name that is somebody else's."""
        package = loaded.package.name
        for name in loaded.names:
            other = self._registry.get(name) if name in self._registry else None
            if name in self._registry.built_in or (other is not None and other.package != package):
                loaded.imports.undo()
                whose = f"tool of {other.package}" if other is not None and other.package else "built-in tool"
                raise Refused(f"{name} is the name of a {whose}: give it another")

    def _take(self, loaded: Loaded, last: Loaded | None) -> PackageReport:
        package, names = loaded.package, loaded.names
        before = [name for name in last.names if name in self._registry] if last else []
        gone = [name for name in before if name not in names]
        self._registry.exchange(loaded.tools, gone)
        loaded.imports.keep()
        self._loaded[package.name] = loaded
        self._refused.pop(package.name, None)
        new, replaced = ([name for name in names if (name in before) is known] for known in (False, True))
        return PackageReport(package.name, package.version, new, replaced, gone)

    def _withdraw(self, name: str) -> PackageReport | None:
        """Returns None for one that had brought nothing."""
        self._refused.pop(name, None)
        last = self._loaded.pop(name, None)
        if last is None:
            return None
        self._registry.exchange([], last.names)
        forget(last.imports.roots)
        report = PackageReport(name, last.package.version, withdrawn=last.names)
        logger.info("tools of %s", report)
        return report

    def _refuse(self, name: str, refused: Refused, line: str) -> None:
        """Says it once, and not at each reload."""
        last = self._refused.get(name)
        self._refused[name] = refused
        if last is None or last.whole != refused.whole:
            logger.warning("tools of a package were not taken: %s", line)


async def open_packages(registry: Registry) -> Packages:
    """Loads what is installed. A broken package stops nothing."""
    packages = Packages(registry)
    await packages.reload()
    return packages
