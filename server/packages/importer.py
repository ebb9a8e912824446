"""Imports packages beside the loop, each within a bound of time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection
from concurrent.futures import Future
from contextlib import redirect_stdout
from functools import partial
from typing import Any, TypeVar

from server.packages.imports import FreshImports
from server.packages.installed import Package, installed
from server.packages.loading import Loaded, Made, load
from server.packages.refusal import Refused
from server.runtime.threads import on_own_thread

T = TypeVar("T")

IMPORT_SECONDS = 10.0


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
            return await self._in_time(on_own_thread(installed, "packages"))
        except Exception as error:
            raise Refused.by("the packages that are installed cannot be read: nothing was changed", error) from None

    async def load(self, package: Package, others: Collection[str]) -> Loaded:
        """`others` are modules that are somebody else's. Raises `Refused`, with everything as it was."""
        if self._hanging is not None and not self._hanging[1].done():
            raise Refused(f"the import of {self._hanging[0]} has not ended: mend that package and start the server again")
        # stdout is the protocol's, or a command's: what is printed meanwhile goes elsewhere.
        with redirect_stdout(sys.stderr):
            return await self._loaded(package, others)

    async def _loaded(self, package: Package, others: Collection[str]) -> Loaded:
        imports = FreshImports()
        work = on_own_thread(partial(load, package, self._made, others, imports), f"import of {package}")
        try:
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
            waiting.add_done_callback(_seen)
            raise TimeoutError
        return waiting.result()


def _seen(late: asyncio.Future[Any]) -> None:
    if not late.cancelled():
        late.exception()
