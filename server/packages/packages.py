"""Keeps the registry in step with the installed packages."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Collection
from concurrent.futures import Future
from contextlib import redirect_stdout
from functools import partial
from typing import Any, TypeVar

from server.packages.loading import Compile, FreshImports, Loaded, Package, Refused, find_packages, load, unload
from server.packages.reload_socket import PackageReport, ReloadReport
from server.runtime.lifecycle import run_on_thread
from session.resilience.deadline import Deadline
from tools.registry import Registry
from tools.store.models import Health

logger = logging.getLogger(__name__)

IMPORT_SECONDS = 10.0
T = TypeVar("T")


class Importer:
    """Imports one package at a time. A thread cannot be stopped: if one hangs in an import, its modules are put back and
    nothing more is imported while it hangs."""

    def __init__(self, compile_tool: Compile, seconds: float = IMPORT_SECONDS) -> None:
        self._compile = compile_tool
        self._seconds = seconds
        self._hanging: tuple[Package, Future[Any]] | None = None

    async def find_packages(self) -> list[Package]:
        """Raises `Refused`."""
        try:
            return await self._wait_for(run_on_thread(find_packages, "packages"))
        except Exception as error:
            reason = "the packages that are installed cannot be read: nothing was changed"
            raise Refused.from_error(reason, error) from None

    async def load(self, package: Package, others: Collection[str]) -> Loaded:
        """`others` are modules of the server and of other packages. Raises `Refused` with everything as it was."""
        if self._hanging is not None and not self._hanging[1].done():
            raise Refused(f"the import of {self._hanging[0]} has not ended: mend that package and start the server again")
        imports = FreshImports()
        try:
            with redirect_stdout(sys.stderr):  # stdout is the protocol's, or a command's
                work = run_on_thread(partial(load, package, self._compile, others, imports), f"import of {package}")
                return await self._wait_for(work)
        except TimeoutError:
            imports.abandon()
            self._hanging = (package, work)
            raise Refused(f"its import takes more than {self._seconds:g} s: leave work to the handlers") from None
        except asyncio.CancelledError:
            imports.abandon()
            raise

    async def _wait_for(self, work: Future[T]) -> T:
        """Raises `TimeoutError`."""
        waiting = asyncio.wrap_future(work)
        done, _ = await asyncio.wait({waiting}, timeout=self._seconds)
        if not done:
            waiting.add_done_callback(lambda late: late.cancelled() or late.exception())
            raise TimeoutError
        return waiting.result()


class Packages:
    """Loads, replaces and withdraws a package's tools together. If a package is refused, the tools and modules of its last
    version stay."""

    def __init__(self, registry: Registry, import_seconds: float = IMPORT_SECONDS) -> None:
        self._registry = registry
        self._importer = Importer(registry.compile_tool, import_seconds)
        self._own_modules = frozenset(sys.modules)
        self._loaded: dict[str, Loaded] = {}
        self._refused: dict[str, Refused] = {}
        self._one_at_a_time = asyncio.Lock()
        self._wanted = asyncio.Event()

    async def reload(self) -> ReloadReport:
        """Imports every installed package anew, and withdraws the tools of removed ones."""
        async with self._one_at_a_time:
            try:
                packages = await self._importer.find_packages()
            except Refused as refused:
                self._refuse("the packages", refused, refused.whole)
                return ReloadReport(problem=refused.whole)
            gone = sorted({*self._loaded, *self._refused} - {each.name for each in packages})
            withdrawn = [report for name in gone if (report := self._withdraw(name))]
            return ReloadReport([*withdrawn, *[await self._reload(each) for each in packages]])

    def reload_soon(self) -> None:
        """Makes `keep` reload."""
        self._wanted.set()

    async def keep(self) -> None:
        """Reloads on demand until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.reload()

    async def health(self, deadline: Deadline) -> Health:
        """Returns the result of the last load, without what the packages' own code raised."""
        reasons = "; ".join(f"{name}: {each.reason}" for name, each in self._refused.items())
        return Health(not reasons, reasons)

    async def _reload(self, package: Package) -> PackageReport:
        last = self._loaded.get(package.name)
        try:
            # Modules that were imported before any package was, and those of other packages.
            others = (each.imports.roots for name, each in self._loaded.items() if name != package.name)
            loaded = await self._importer.load(package, self._own_modules.union(*others))
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
        """Raises `Refused` for the name of a built-in tool, or of another package's."""
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
        """Returns None for a package without tools."""
        self._refused.pop(name, None)
        last = self._loaded.pop(name, None)
        if last is None:
            return None
        self._registry.exchange([], last.names)
        unload(last.imports.roots)
        report = PackageReport(name, last.package.version, withdrawn=last.names)
        logger.info("tools of %s", report)
        return report

    def _refuse(self, name: str, refused: Refused, line: str) -> None:
        """Logs a refusal once, and not at each reload."""
        last = self._refused.get(name)
        self._refused[name] = refused
        if last is None or last.whole != refused.whole:
            logger.warning("tools of a package were not taken: %s", line)


async def open_packages(registry: Registry) -> Packages:
    """Loads the installed packages. A broken one stops nothing."""
    packages = Packages(registry)
    await packages.reload()
    return packages
