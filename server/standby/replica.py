"""The newest bundle that is whole, open for searching."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import shutil
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from server.standby.bundle import FULL, RECORDS, BrokenOffError, BundleError, Manifest, unpack
from server.standby.places import Place, UnreachableError
from session.resilience.breaker import Outage
from session.resilience.clocks import Clock
from session.resilience.tasks import run_periodically
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.computed import FORMAT
from tools.store.ports import Embedder
from tools.store.records.catalog_file import CatalogFileError

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter from the others; Python's own 0.005 each turn of the loop would wait."""
NEVER = 2**31 - 1
YOUNG = 1
"""What is older than a few rounds is not looked at."""


@asynccontextmanager
async def gently() -> AsyncIterator[None]:
    """While it lasts, other threads give the interpreter back ten times as soon, and the garbage collector looks at young
    objects alone: a round through a catalogue that is half loaded finds nothing and stops everything for long. Afterwards
    what was loaded is taken out of its rounds, as at the start of the server, without the garbage that calls have left
    meanwhile; it is freed by its counts all the same when nobody uses it any more."""
    usual, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*thresholds[:2], NEVER)
    try:
        yield
        gc.collect(YOUNG)
        gc.freeze()
    finally:
        sys.setswitchinterval(usual)
        gc.set_threshold(*thresholds)


def give_memory_back() -> None:
    """Has glibc return to the system what is free in pieces (malloc_trim(3)); some ten megabytes after a catalogue that was
    replaced. Elsewhere this does nothing. Blocking, without the interpreter."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


logger = logging.getLogger(__name__)
POLL_SECONDS = 30.0
RETRY_SECONDS = 5.0
"""While there is nothing yet."""
GRACE_SECONDS = 6.0
"""Longer than a call may take: who still searches the bundle that was replaced may end."""
FREED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Loaded:
    """An open bundle; `opened` holds what has to be closed with it."""

    manifest: Manifest
    catalog: EmbeddedCatalog
    opened: AsyncExitStack


class Replica:
    """`embedder` makes the vectors of queries, as that of the server does. What cannot be fetched, is not whole or is of
    another kind changes nothing: it is told once, and the last good one stays. One of another length is fetched again."""

    def __init__(
        self,
        place: Place,
        kind: str,
        embedder: Embedder | None,
        folder: Path | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.kind = kind
        self.current: Loaded | None = None
        self.refused = 0
        self._place, self._embedder, self._folder = place, embedder, folder
        self._seen: str | None = None
        self._refused: str | None = None
        self._why_refused: str | None = None
        self._clock, self._as_source_at = clock, clock()
        self._outage = Outage(logger, "the place of the standby catalogue")

    @property
    def problem(self) -> str | None:
        return self._outage.why or self._why_refused

    def lag(self) -> float:
        """Returns the seconds since this was last known to be what its place holds; before it ever was, since the start."""
        return self._clock() - self._as_source_at

    async def keep(self) -> None:
        """Runs until cancelled, and closes what is open then."""
        try:
            await run_periodically("standby catalogue", self._round)
        finally:
            if self.current is not None:
                await self.current.opened.aclose()

    async def look(self) -> bool:
        """Fetches what is new, and tells whether it was taken. Raises `UnreachableError`."""
        async with _scratch(self._folder) as folder:
            fetched, unpacked = folder / "bundle", folder / "unpacked"
            mark = await self._place.fetch(self._seen, fetched)
            if mark is None:
                return False
            self._seen = mark
            try:
                manifest = await asyncio.to_thread(unpack, fetched, unpacked)
                await self._take(await self._opened(manifest, unpacked))
            except OSError:
                self._seen = None  # a disk that is full now has room later
                raise
            except (BundleError, CatalogFileError) as error:
                self._refuse(mark, error)
                return False
        return True

    def _refuse(self, mark: str, error: Exception) -> None:
        """Says so once. What would be the same the next time is not asked for again."""
        if isinstance(error, BrokenOffError):
            self._seen = None
        if mark != self._refused:
            self.refused += 1
            stays = "the last good one stays" if self.current else "there is none"
            logger.warning("the standby catalogue is refused: %s; %s", error, stays)
        self._refused, self._why_refused = mark, f"the newest bundle is refused: {error}"

    async def _round(self) -> float:
        try:
            await self.look()
        except (UnreachableError, OSError) as error:
            self._outage.record_failure(str(error))
        else:
            self._outage.record_recovery()
            if self.current is not None and self._refused is None:
                self._as_source_at = self._clock()
        return POLL_SECONDS if self.current is not None else RETRY_SECONDS

    async def _opened(self, manifest: Manifest, folder: Path) -> Loaded:
        """Loads it on threads. Everything is in memory afterwards: the files may go."""
        if manifest.kind != self.kind:
            raise BundleError(f"it holds {manifest.kind}, MANGA_STANDBY says {self.kind}")
        started, opened = time.monotonic(), AsyncExitStack()
        opening = EmbeddedCatalog.open(folder / RECORDS, self._meant_by(manifest), cache_dir=folder)
        async with gently():
            catalog = await opened.enter_async_context(opening)
        seconds = time.monotonic() - started
        logger.info("standby catalogue: %d titles (%s) loaded in %.1f s", len(catalog), manifest.kind, seconds)
        return Loaded(manifest, catalog, opened)

    def _meant_by(self, manifest: Manifest) -> Embedder | None:
        """The embedder, where the vectors in the bundle are its own. None else: nobody computes them beside the calls."""
        mine = self._embedder.name if self._embedder is not None and self.kind == FULL else None
        if mine is None or (manifest.embedder, manifest.computed) == (mine, FORMAT):
            return self._embedder if mine is not None else None
        logger.warning(
            "the standby catalogue is searched by words alone: its vectors are not of MANGA_EMBEDDER; seed it again"
        )
        return None

    async def _take(self, loaded: Loaded) -> None:
        self._refused = self._why_refused = None
        old, self.current = self.current, loaded
        if old is None:
            return
        try:
            await asyncio.sleep(GRACE_SECONDS)
        finally:
            await old.opened.aclose()
        titles = list(old.catalog.titles)
        del old
        while titles:  # a few at a time: to free them all at once would hold the loop up
            del titles[-FREED_AT_ONCE:]
            await asyncio.sleep(0)
        await asyncio.to_thread(give_memory_back)


@asynccontextmanager
async def _scratch(parent: Path | None) -> AsyncIterator[Path]:
    """A folder for as long as it lasts."""
    folder = Path(await asyncio.to_thread(mkdtemp, prefix="standby-", dir=parent))
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
